// What the points can be coloured by. A colouring is {label, kind, code: row -> palette index, palette, names}.
const SHADES = LEGEND.field.length;
const MAX_LEVELS = LEGEND.categories.length;
const SEQUENCE = LEGEND.numbers.length;

const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
// The colours of these names, and last the one of rows that have no value.
const cssPalette = (names) => [...names, "none"].map(cssColour);

function fieldColouring({ key, name, low, high }) {
  const values = MAP.fields[key];
  const limit = MAP.limits[key];
  const code = values.map((value) => {
    if (value === null) return SHADES;
    const share = (Math.min(Math.max(value / limit, -1), 1) + 1) / 2;
    return Math.min(Math.floor(share * SHADES), SHADES - 1);
  });
  const most = Math.round(100 * limit);
  const ends = [`${low}, ${MINUS}${most} points or less`, `${high}, +${most} points or more`];
  return { label: name, kind: "field", code, values, ends, palette: () => cssPalette(LEGEND.field) };
}

function regimeColouring(label, code, regimes) {
  const palette = () => regimes.map((each) => cssColour(each.colour));
  return { label, kind: "levels", code, palette, names: regimes.map((each) => each.name) };
}

// Categories: the commonest get a colour each, the rest share one.
function levelColouring(label, coded) {
  const shown = Math.min(coded.levels.length, MAX_LEVELS);
  const names = coded.levels.slice(0, shown);
  const more = coded.levels.length - shown;
  names.push(more > 0 ? `other (${count(more)} values)` : "none");
  const code = coded.codes.map((value) => (value < 0 || value >= shown ? shown : value));
  return { label, kind: "levels", code, names, palette: () => cssPalette(LEGEND.categories.slice(0, shown)) };
}

function numberColouring(label, values) {
  const known = values.filter((value) => value !== null);
  const low = known.reduce((a, b) => Math.min(a, b), Infinity);
  const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const code = values.map((value) => {
    if (value === null) return SEQUENCE;
    return high > low ? Math.min(Math.floor((SEQUENCE * (value - low)) / (high - low)), SEQUENCE - 1) : 0;
  });
  const ends = known.length ? [number(Number(low.toPrecision(4))), number(Number(high.toPrecision(4)))] : [DASH, DASH];
  return { label, kind: "number", code, ends, palette: () => cssPalette(LEGEND.numbers) };
}

function outcomeColouring() {
  const coded = { levels: LEGEND.outcomes, codes: MAP.correct.map((value) => (value === null ? -1 : value)) };
  return levelColouring("Outcome", coded);
}

function colourings() {
  const drawn = LEGEND.fields.filter(({ key }) => MAP.fields[key]);
  // The field that the page opens with stands first.
  drawn.sort((a, b) => (b.key === MAP.first) - (a.key === MAP.first));
  const list = [...drawn.map(fieldColouring), regimeColouring("Regime", MAP.regime, LEGEND.regimes)];
  if (MAP.hidden_regime) list.push(regimeColouring("Regime by what is hidden", MAP.hidden_regime, LEGEND.hidden_regimes));
  list.push(numberColouring(capital(LEGEND.probability), MAP.confidence), outcomeColouring());
  if (MAP.split.levels.length) list.push(levelColouring("Split", MAP.split));
  for (const column of MAP.meta) {
    list.push(column.levels ? levelColouring(column.name, column) : numberColouring(column.name, column.values));
  }
  return list;
}

// What matters is drawn last, on top: strong values of the field; elsewhere the rows' own order.
function drawingOrder(colouring) {
  const order = Array.from({ length: MAP.n }, (_, i) => i);
  if (colouring.kind !== "field") return order;
  return order.sort((a, b) => Math.abs(colouring.values[a]) - Math.abs(colouring.values[b]));
}
