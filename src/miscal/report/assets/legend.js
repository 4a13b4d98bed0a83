// The legend of the colouring: its categories with their rows, or the ends of its scale.
function drawLegend(place, colouring) {
  const palette = colouring.palette();
  place.replaceChildren(...(colouring.kind === "levels" ? levels(colouring, palette) : ramp(colouring, palette)));
}

function levels(colouring, palette) {
  const sizes = new Array(colouring.names.length).fill(0);
  colouring.code.forEach((code) => (sizes[code] += 1));
  return colouring.names.map((name, code) => level(name, palette[code], sizes[code])).filter(Boolean);
}

function level(name, colour, n) {
  if (!n) return null;
  const made = element("span", "level");
  made.append(swatch(colour), element("span", "level-name", name), element("span", "level-n", count(n)));
  return made;
}

function swatch(colour) {
  const made = element("span", "swatch");
  made.style.background = colour;
  return made;
}

function ramp(colouring, palette) {
  const bar = element("span", "ramp");
  bar.append(...palette.slice(0, -1).map(swatch));
  const [low, high] = colouring.ends;
  return [element("span", "end", low), bar, element("span", "end", high)];
}
