// Numbers as the rest of the page writes them.
const MINUS = "\u2212";
const DASH = "\u2013";

function points(value) {
  if (value === null) return DASH;
  const text = Math.abs(100 * value).toFixed(MAP.decimals);
  if (Number(text) === 0) return text;
  return (value > 0 ? "+" : MINUS) + text;
}

const percent = (value) => (value === null ? DASH : `${(100 * value).toFixed(MAP.decimals)}\u202f%`);
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const count = (value) => value.toLocaleString("en-US");
const number = (value) => String(value).replace("-", MINUS);
