// Puts the map together; the drawing for print stays in its place if anything fails.
function start() {
  const root = document.getElementById("map-live");
  if (!root || !MAP.n) return;
  const pointed = { row: -1, pane: null };
  const panes = MAP.panes.map((positions) => makePane(root.querySelector(`[data-pane="${positions.name}"]`), positions, pointed));
  const show = makeTip(document.getElementById("tip"), document.getElementById("spoken"));
  const point = (row, pane = null) => {
    if (row === pointed.row && pane === pointed.pane) return;
    Object.assign(pointed, { row, pane });
    panes.forEach((each) => each.drawRing());
    show(row, pane);
  };
  document.documentElement.classList.add("live");
  window.addEventListener("scroll", () => point(-1), { passive: true });
  for (const pane of panes) {
    listenToPane(pane, point);
    listenToKeys(pane, pointed, point);
    new ResizeObserver(pane.resize).observe(pane.figure);
  }
  listenToColours(root, panes);
}

function listenToColours(root, panes) {
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
    drawLegend(legend, colouring);
  };
  choice.addEventListener("change", apply);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

start();
