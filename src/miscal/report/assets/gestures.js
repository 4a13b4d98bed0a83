// Pointer and keyboard on a pane. tool: "box", "lasso" or "pan".
const CLICK = 4;

function inside(shape, x, y) {
  let odd = false;
  for (let a = 0, b = shape.length - 1; a < shape.length; b = a, a += 1) {
    const [ax, ay] = shape[a];
    const [bx, by] = shape[b];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

const boxShape = ([ax, ay], [bx, by]) => [[ax, ay], [bx, ay], [bx, by], [ax, by]];

function rowsInside(pane, shape) {
  const rows = [];
  for (let i = 0; i < MAP.n; i += 1) {
    if (pane.has(i) && inside(shape, pane.screenX(i), pane.screenY(i))) rows.push(i);
  }
  return rows;
}

const howOf = (event) => (event.shiftKey ? "add" : event.altKey ? "remove" : "replace");

function listenToPointer(pane, controls) {
  const { top, selection } = pane;
  let start = null;
  let moved = false;
  const place = (event) => {
    const box = top.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  top.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = place(event);
    moved = false;
    top.setPointerCapture(event.pointerId);
  });
  top.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!start) return selection.point(pane.nearest(...at), pane);
    if (!moved && Math.hypot(at[0] - start[0], at[1] - start[1]) < CLICK) return undefined;
    if (!moved) selection.point(-1);
    drag(pane, controls.tool, start, at, moved);
    if (controls.tool === "pan") start = at;
    moved = true;
    return undefined;
  });
  top.addEventListener("pointerup", (event) => {
    if (!start) return;
    if (moved) finish(pane, event);
    else tap(pane, place(event), event);
    start = null;
  });
  const cancel = () => {
    start = null;
    pane.shape = null;
    pane.drawTop();
  };
  top.addEventListener("pointercancel", cancel);
  // A finger leaves the screen after every tap; what it tapped stays shown.
  top.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !start && selection.point(-1));
  top.addEventListener("dblclick", (event) => pane.zoom(2, ...place(event)));
  top.addEventListener("wheel", (event) => {
    // A plain wheel scrolls the page; with Ctrl (and a pinch on a touchpad) it zooms.
    if (!event.ctrlKey) return;
    event.preventDefault();
    pane.zoom(Math.exp(-event.deltaY / 200), ...place(event));
  }, { passive: false });
}

function drag(pane, tool, start, at, moved) {
  if (tool === "pan") return pane.pan(at[0] - start[0], at[1] - start[1]);
  if (tool === "box") pane.shape = boxShape(start, at);
  else pane.shape = moved ? [...pane.shape, at] : [start, at];
  return pane.drawTop();
}

function finish(pane, event) {
  const { shape } = pane;
  pane.shape = null;
  if (shape) pane.selection.choose(rowsInside(pane, shape), howOf(event));
  else pane.drawTop();
}

// A tap reads the point under it; with shift it is added to the selection; beside all points it clears.
function tap(pane, at, event) {
  const i = pane.nearest(...at, event.pointerType === "touch" ? 24 : 14);
  pane.selection.point(i, pane);
  if (i >= 0 && event.pointerType !== "touch") pane.selection.choose([i], howOf(event));
  else if (i < 0 && pane.selection.size) pane.selection.clear();
}

// Arrow keys step from row to row, Enter adds or removes the row, Escape clears, + - 0 zoom.
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function listenToKeys(pane) {
  const { top, selection } = pane;
  top.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
    if (STEPS[event.key]) selection.point(neighbour(pane, selection.hover, STEPS[event.key]), pane);
    else if (zooms[event.key]) pane.zoom(zooms[event.key]);
    else if (event.key === "0") pane.look(1, 0.5, 0.5);
    else if (event.key === "Escape") selection.clear();
    else if (event.key === "Enter" || event.key === " ") toggle(selection);
    else return;
    event.preventDefault();
  });
  top.addEventListener("blur", () => selection.point(-1));
}

function toggle(selection) {
  const i = selection.hover;
  if (i >= 0) selection.choose([i], selection.chosen[i] ? "remove" : "add");
}

// The nearest row in a direction: distance along it, with distance across counted double.
function neighbour(pane, from, [dx, dy]) {
  if (from < 0) return pane.nearest(pane.width / 2, pane.height / 2, Infinity);
  let best = from;
  let least = Infinity;
  for (let i = 0; i < MAP.n; i += 1) {
    if (i === from || !pane.has(i)) continue;
    const x = pane.screenX(i) - pane.screenX(from);
    const y = pane.screenY(i) - pane.screenY(from);
    const along = x * dx + y * dy;
    const cost = along + 2 * Math.abs(x * dy - y * dx);
    if (along > 0.5 && cost < least) [best, least] = [i, cost];
  }
  return best;
}
