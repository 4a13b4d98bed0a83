// Puts the map together; the drawing for print stays in its place if anything fails.
function start() {
  const root = document.getElementById("map-live");
  if (!root || !MAP.n) return;
  const selection = makeSelection();
  const controls = { tool: "box" };
  const panes = MAP.panes.map((positions) => makePane(root.querySelector(`[data-pane="${positions.name}"]`), positions, selection));
  document.documentElement.classList.add("live");
  listenToHover(panes, selection, document.getElementById("tip"), document.getElementById("spoken"));
  for (const pane of panes) {
    listenToPointer(pane, controls);
    listenToKeys(pane);
    listenToZoom(pane);
    new ResizeObserver(pane.resize).observe(pane.figure);
  }
  selection.on("chosen", () => panes.forEach((pane) => pane.draw()));
  listenToTools(root, panes, controls);
  listenToColours(root, panes, selection);
  listenToSearch(root, selection);
  listenToCards(selection, root);
  makeTable(document.getElementById("chosen-rows"), selection);
  listenToChosen(document.getElementById("chosen"), selection);
  const clear = root.querySelector("#clear");
  clear.addEventListener("click", selection.clear);
  selection.on("chosen", () => (clear.disabled = !selection.size));
}

function listenToZoom(pane) {
  const buttons = pane.figure.querySelectorAll("[data-zoom]");
  const acts = { in: () => pane.zoom(1.6), out: () => pane.zoom(1 / 1.6), reset: () => pane.look(1, 0.5, 0.5) };
  buttons.forEach((button) => button.addEventListener("click", acts[button.dataset.zoom]));
  pane.onView = () => buttons.forEach((button) => (button.disabled = button.dataset.zoom !== "in" && pane.view.scale === 1));
  pane.onView();
}

// On a touch screen the first tool is the one that leaves scrolling alone.
function listenToTools(root, panes, controls) {
  const buttons = [...root.querySelectorAll("[data-tool]")];
  const take = (tool) => {
    controls.tool = tool;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.tool === tool)));
    panes.forEach((pane) => (pane.top.dataset.tool = tool));
  };
  buttons.forEach((button) => button.addEventListener("click", () => take(button.dataset.tool)));
  take(window.matchMedia("(pointer: coarse)").matches ? "pan" : "box");
}

function listenToColours(root, panes, selection) {
  const list = colourings();
  const choice = root.querySelector("#colour");
  const legend = root.querySelector("#legend");
  list.forEach((colouring, k) => choice.append(new Option(colouring.label, k)));
  const apply = () => {
    const colouring = list[choice.value];
    const order = drawingOrder(colouring);
    panes.forEach((pane) => {
      Object.assign(pane, { code: colouring.code, colours: colouring.palette(), order });
      pane.resize();
    });
    drawLegend(legend, colouring, selection);
  };
  choice.addEventListener("change", apply);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

function listenToSearch(root, selection) {
  const field = root.querySelector("#search");
  if (!field) return;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    const rows = [];
    if (wanted) MAP.text.forEach((text, i) => text.toLowerCase().includes(wanted) && rows.push(i));
    selection.choose(rows, "replace", wanted ? `text contains \u201c${wanted}\u201d` : "");
  });
}

// The cards of the subregimes show their rows on the map.
function listenToCards(selection, root) {
  document.querySelectorAll("[data-subregime]").forEach((button) => {
    const parts = button.dataset.field === "hidden" ? MAP.hidden_subregime : MAP.subregime;
    const code = parts.levels.indexOf(button.dataset.subregime);
    button.hidden = code < 0;
    button.addEventListener("click", () => {
      const rows = [];
      parts.codes.forEach((each, i) => each === code && rows.push(i));
      selection.choose(rows, "replace", button.dataset.subregime);
      openTo(root.id);
    });
  });
}

start();
