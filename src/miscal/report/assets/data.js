// The map's rows, column by column. null and -1 mean "there is none".
const MAP = JSON.parse(document.getElementById("map-data").textContent);
// What regimes are called and which colours are drawn with, from the same list as the rest of the page.
const LEGEND = MAP.legend;

const fieldOf = (i) => MAP.fields.delta[i];
const hiddenOf = (i) => (MAP.fields.hidden ? MAP.fields.hidden[i] : null);

const outcome = (i) => (MAP.correct[i] === null ? DASH : LEGEND.outcomes[MAP.correct[i]]);

const levelOf = (coded, i) => (coded.codes[i] < 0 ? "" : coded.levels[coded.codes[i]]);

// A metadata value as text.
function metaText(column, i) {
  if (column.levels) return levelOf(column, i);
  return column.values[i] === null ? "" : number(column.values[i]);
}
