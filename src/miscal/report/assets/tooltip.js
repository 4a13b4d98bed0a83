// What the page says about the row pointed at, beside the pointer and to a screen reader.
const MAX_META = 5;

function rowFacts(i) {
  const facts = [
    ["field", fieldOf(i) === null ? DASH : `${points(fieldOf(i))} points, ${LEGEND.regimes[MAP.regime[i]].name}`],
    ...(hiddenOf(i) === null ? [] : [["of it hidden", `${points(hiddenOf(i))} points`]]),
    [LEGEND.probability, `${percent(MAP.confidence[i])}, ${LEGEND.told.replace("{}", outcome(i))}`],
    [`corrected ${LEGEND.probability}`, percent(MAP.corrected[i])],
  ];
  for (const column of MAP.meta.slice(0, MAX_META)) facts.push([column.name, metaText(column, i) || DASH]);
  return facts;
}

function fillTip(tip, i) {
  const head = element("div", "tip-head", [`Row ${count(MAP.row[i])}`, levelOf(MAP.split, i)].filter(Boolean).join(" \u00b7 "));
  const parts = [head];
  if (MAP.text && MAP.text[i]) parts.push(element("p", "tip-text", MAP.text[i]));
  const list = element("dl");
  for (const [name, value] of rowFacts(i)) list.append(element("dt", "", name), element("dd", "", value));
  tip.replaceChildren(...parts, list);
}

function placeTip(tip, pane, i) {
  const box = pane.top.getBoundingClientRect();
  const x = box.left + pane.screenX(i);
  const y = box.top + pane.screenY(i);
  const left = x + 14 + tip.offsetWidth > document.documentElement.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
  const above = y + 14 + tip.offsetHeight > window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, above ? y - 14 - tip.offsetHeight : y + 14)}px`;
}

// Returns what shows a row in a pane, and hides it where there is none.
function makeTip(tip, spoken) {
  return (i, pane) => {
    tip.hidden = i < 0 || !pane || !pane.has(i);
    if (tip.hidden) return;
    fillTip(tip, i);
    placeTip(tip, pane, i);
    if (pane.top === document.activeElement) spoken.textContent = tip.innerText;
  };
}
