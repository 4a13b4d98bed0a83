// The legend of the colouring; categories are buttons that select their rows.
function drawLegend(place, colouring, selection) {
  const palette = colouring.palette();
  if (colouring.kind === "levels") place.replaceChildren(...levelButtons(colouring, palette, selection));
  else place.replaceChildren(...ramp(colouring, palette));
}

function levelButtons(colouring, palette, selection) {
  const sizes = new Array(colouring.names.length).fill(0);
  colouring.code.forEach((code) => (sizes[code] += 1));
  return colouring.names.map((name, code) => levelButton(colouring, palette[code], selection, name, code, sizes[code])).filter(Boolean);
}

function levelButton(colouring, colour, selection, name, code, n) {
  if (!n) return null;
  const button = element("button", "level");
  button.type = "button";
  button.title = `Select the ${count(n)} rows with ${colouring.label}: ${name}`;
  button.append(swatch(colour), element("span", "level-name", name), element("span", "level-n", count(n)));
  button.addEventListener("click", (event) => {
    const rows = [];
    colouring.code.forEach((each, i) => each === code && rows.push(i));
    selection.choose(rows, howOf(event), `${colouring.label}: ${name}`);
  });
  return button;
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
