// The rows chosen and the row pointed at; both panes, the legend and the table listen.
function makeSelection() {
  const chosen = new Uint8Array(MAP.n);
  const listeners = { chosen: [], hover: [] };
  const tell = (what) => listeners[what].forEach((listen) => listen());
  const state = {
    chosen,
    size: 0,
    hover: -1,
    pane: null,
    label: "",
    on: (what, listen) => listeners[what].push(listen),
    rows: () => Array.from({ length: MAP.n }, (_, i) => i).filter((i) => chosen[i]),
    // The pane pointed in shows the row's words; from the table there is none.
    point(i, pane = null) {
      if (i === state.hover && pane === state.pane) return;
      Object.assign(state, { hover: i, pane });
      tell("hover");
    },
    // how: "replace", "add" or "remove"
    choose(rows, how = "replace", label = "") {
      if (how === "replace") chosen.fill(0);
      for (const i of rows) chosen[i] = how === "remove" ? 0 : 1;
      state.size = chosen.reduce((total, value) => total + value, 0);
      state.label = how === "replace" ? label : "";
      tell("chosen");
    },
    clear: () => state.choose([]),
  };
  return state;
}
