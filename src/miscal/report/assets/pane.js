// One view of the rows: a canvas of points and, over it, a canvas for the ring around the row pointed at.
const MARGIN = 10;

function makePane(figure, positions, pointed) {
  const base = figure.querySelector(".points");
  const top = figure.querySelector(".overlay");
  const pane = { figure, top, width: 0, height: 0 };

  pane.screenX = (i) => MARGIN + ((pane.width - 2 * MARGIN) * positions.x[i]) / MAP.grid;
  pane.screenY = (i) => MARGIN + (pane.height - 2 * MARGIN) * (1 - positions.y[i] / MAP.grid);
  pane.has = (i) => positions.x[i] >= 0 && positions.y[i] >= 0;
  pane.radius = Math.min(4.2, Math.max(1.5, 60 / Math.sqrt(MAP.n)));

  pane.resize = () => {
    const box = base.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    pane.width = box.width;
    pane.height = box.height;
    for (const canvas of [base, top]) {
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    pane.draw();
  };

  pane.draw = () => {
    const context = base.getContext("2d");
    context.clearRect(0, 0, pane.width, pane.height);
    if (!pane.colours) return;
    context.globalAlpha = 0.8;
    for (const i of pane.order.filter(pane.has)) {
      context.fillStyle = pane.colours[pane.code[i]];
      context.beginPath();
      context.arc(pane.screenX(i), pane.screenY(i), pane.radius, 0, 2 * Math.PI);
      context.fill();
    }
    pane.drawRing();
  };

  pane.drawRing = () => {
    const context = top.getContext("2d");
    context.clearRect(0, 0, pane.width, pane.height);
    const i = pointed.row;
    if (i < 0 || !pane.has(i)) return;
    context.beginPath();
    context.arc(pane.screenX(i), pane.screenY(i), pane.radius + 4, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = cssColour("ink");
    context.stroke();
  };

  // The nearest row within reach of a place on the screen, or -1.
  pane.nearest = (x, y, reach) => {
    let best = -1;
    let closest = reach * reach;
    for (let i = 0; i < MAP.n; i += 1) {
      if (!pane.has(i)) continue;
      const distance = (pane.screenX(i) - x) ** 2 + (pane.screenY(i) - y) ** 2;
      if (distance < closest) [best, closest] = [i, distance];
    }
    return best;
  };
  return pane;
}

// A pointer reads the row under it; what a finger taps stays shown. Arrow keys step from row to row.
function listenToPane(pane, point) {
  const { top } = pane;
  const read = (event) => {
    const box = top.getBoundingClientRect();
    point(pane.nearest(event.clientX - box.left, event.clientY - box.top, event.pointerType === "touch" ? 24 : 14), pane);
  };
  top.addEventListener("pointermove", read);
  top.addEventListener("pointerup", read);
  top.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(-1));
  top.addEventListener("blur", () => point(-1));
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function listenToKeys(pane, pointed, point) {
  pane.top.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !STEPS[event.key]) return;
    point(neighbour(pane, pointed.row, STEPS[event.key]), pane);
    event.preventDefault();
  });
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
