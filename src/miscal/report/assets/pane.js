// One view of the rows: a canvas of points and, over it, a canvas for what moves.
const MARGIN = 10;

function makePane(figure, positions, selection) {
  const base = figure.querySelector(".points");
  const top = figure.querySelector(".overlay");
  const pane = {
    figure, top, positions, selection,
    view: { scale: 1, x: 0.5, y: 0.5 },
    width: 0, height: 0, shape: null, onView: () => {},
  };

  // Positions on the screen: the unit square, zoomed about view.x and view.y.
  pane.screenX = (i) => MARGIN + (pane.width - 2 * MARGIN) * (0.5 + pane.view.scale * (positions.x[i] / MAP.grid - pane.view.x));
  pane.screenY = (i) => MARGIN + (pane.height - 2 * MARGIN) * (0.5 - pane.view.scale * (positions.y[i] / MAP.grid - pane.view.y));
  pane.has = (i) => positions.x[i] >= 0 && positions.y[i] >= 0;
  pane.radius = () => Math.min(4.2, Math.max(1.5, 60 / Math.sqrt(MAP.n)) * Math.pow(pane.view.scale, 0.35));

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
    drawPoints(pane, context);
    pane.drawTop();
  };

  pane.drawTop = () => {
    const context = top.getContext("2d");
    context.clearRect(0, 0, pane.width, pane.height);
    drawRing(pane, context);
    drawShape(pane, context);
  };

  // The nearest row within reach of a place on the screen, or -1.
  pane.nearest = (x, y, reach = 14) => {
    let best = -1;
    let closest = reach * reach;
    for (let i = 0; i < MAP.n; i += 1) {
      if (!pane.has(i)) continue;
      const distance = (pane.screenX(i) - x) ** 2 + (pane.screenY(i) - y) ** 2;
      if (distance < closest) [best, closest] = [i, distance];
    }
    return best;
  };

  pane.zoom = (factor, x = pane.width / 2, y = pane.height / 2) => {
    const { view } = pane;
    const scale = Math.min(60, Math.max(1, view.scale * factor));
    const fromX = ((x - MARGIN) / (pane.width - 2 * MARGIN) - 0.5) * (1 / view.scale - 1 / scale);
    const fromY = (0.5 - (y - MARGIN) / (pane.height - 2 * MARGIN)) * (1 / view.scale - 1 / scale);
    pane.look(scale, view.x + fromX, view.y + fromY);
  };

  pane.pan = (dx, dy) => {
    const { view } = pane;
    const x = view.x - dx / (pane.width - 2 * MARGIN) / view.scale;
    pane.look(view.scale, x, view.y + dy / (pane.height - 2 * MARGIN) / view.scale);
  };

  // The window stays inside the unit square.
  pane.look = (scale, x, y) => {
    const half = 0.5 / scale;
    const keep = (value) => Math.min(1 - half, Math.max(half, value));
    pane.view = { scale, x: keep(x), y: keep(y) };
    pane.onView();
    pane.draw();
  };
  return pane;
}

function drawPoints(pane, context) {
  const { chosen, size } = pane.selection;
  const radius = pane.radius();
  for (const pass of size ? [0, 1] : [0]) {
    context.globalAlpha = size ? (pass ? 0.95 : 0.1) : 0.8;
    let last = null;
    for (const i of pane.order) {
      if (!pane.has(i) || (size && chosen[i] !== pass)) continue;
      const colour = pane.colours[pane.code[i]];
      if (colour !== last) context.fillStyle = last = colour;
      drawDot(context, pane.screenX(i), pane.screenY(i), radius);
    }
  }
  context.globalAlpha = 1;
}

function drawDot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawRing(pane, context) {
  const i = pane.selection.hover;
  if (i < 0 || !pane.has(i)) return;
  context.beginPath();
  context.arc(pane.screenX(i), pane.screenY(i), pane.radius() + 4, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = cssColour("ink");
  context.stroke();
}

function drawShape(pane, context) {
  if (!pane.shape) return;
  context.beginPath();
  pane.shape.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.globalAlpha = 0.08;
  context.fillStyle = cssColour("ink");
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1.25;
  context.setLineDash([4, 3]);
  context.strokeStyle = cssColour("ink");
  context.stroke();
  context.setLineDash([]);
}
