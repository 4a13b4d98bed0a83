// The chosen rows in words and as a table.
const FIRST_ROWS = 50;

function tableColumns() {
  const columns = [
    { name: "Row", text: (i) => count(MAP.row[i]), key: (i) => MAP.row[i], numeric: true },
    { name: "Field", text: (i) => points(fieldOf(i)), key: fieldOf, numeric: true, title: `Field in percentage points; negative means ${endOf("delta")}` },
    { name: capital(LEGEND.probability), text: (i) => percent(MAP.confidence[i]), key: (i) => MAP.confidence[i], numeric: true },
    { name: "Corrected", text: (i) => percent(MAP.corrected[i]), key: (i) => MAP.corrected[i], numeric: true },
    { name: capital(LEGEND.outcome), text: outcome, key: (i) => MAP.correct[i] },
  ];
  if (MAP.fields.hidden) columns.push({ name: "Hidden", text: (i) => points(hiddenOf(i)), key: hiddenOf, numeric: true, title: `Hidden field in percentage points; negative means ${endOf("hidden")}` });
  if (MAP.split.levels.length) columns.push({ name: "Split", text: (i) => levelOf(MAP.split, i), key: (i) => levelOf(MAP.split, i) });
  if (MAP.text) columns.splice(2, 0, { name: "Text", text: (i) => MAP.text[i], key: (i) => MAP.text[i], wide: true });
  for (const column of MAP.meta) {
    columns.push({ name: column.name, text: (i) => metaText(column, i) || DASH, key: (i) => metaKey(column, i), numeric: !column.levels });
  }
  return columns;
}

function makeTable(place, selection) {
  const columns = tableColumns();
  const view = { sort: columns[1], down: false, most: FIRST_ROWS };
  const table = place.querySelector("table");
  const draw = () => {
    const rows = selection.rows().sort((a, b) => (view.down ? -1 : 1) * compare(view.sort.key(a), view.sort.key(b)));
    place.hidden = rows.length === 0;
    table.tHead.replaceChildren(headRow(columns, view, draw));
    table.tBodies[0].replaceChildren(...rows.slice(0, view.most).map((i) => bodyRow(columns, i, selection)));
    drawMore(place.querySelector(".more"), rows.length, view, draw);
    place.querySelector("textarea").value = rows.map((i) => MAP.row[i]).join(", ");
  };
  selection.on("chosen", () => {
    view.most = FIRST_ROWS;
    draw();
  });
}

function headRow(columns, view, draw) {
  const row = element("tr");
  columns.forEach((column, place) => {
    const cell = element("th", column.numeric ? "number" : "");
    const button = element("button", "sort", column.name);
    const sorted = view.sort === column;
    cell.scope = "col";
    cell.setAttribute("aria-sort", sorted ? (view.down ? "descending" : "ascending") : "none");
    button.type = "button";
    button.title = column.title || column.name;
    button.addEventListener("click", () => {
      const head = button.closest("thead");
      Object.assign(view, { sort: column, down: sorted && !view.down });
      draw();
      // The heads were drawn anew: whoever sorts by keyboard stays where they are.
      head.querySelectorAll("button")[place].focus();
    });
    cell.append(button);
    row.append(cell);
  });
  return row;
}

function bodyRow(columns, i, selection) {
  const row = element("tr");
  for (const column of columns) {
    const text = column.text(i);
    const cell = element("td", column.numeric ? "number" : column.wide ? "wide" : "", text);
    if (!column.numeric) cell.title = text;
    row.append(cell);
  }
  row.addEventListener("mouseenter", () => selection.point(i));
  row.addEventListener("mouseleave", () => selection.point(-1));
  return row;
}

function drawMore(button, n, view, draw) {
  button.hidden = n <= view.most;
  button.textContent = `Show more (${count(Math.min(view.most, n))} of ${count(n)} rows shown)`;
  button.onclick = () => {
    view.most += 200;
    draw();
  };
}

// One sentence about the chosen rows: a description, not a test.
function describe(selection) {
  const rows = selection.rows();
  if (!rows.length) return "";
  const label = selection.label ? ` (${selection.label})` : "";
  const verb = (n) => (n === 1 ? "is" : "are");
  return `${count(rows.length)} of ${count(MAP.n)} rows ${verb(rows.length)} selected${label}${ofTest(rows, verb)}.`;
}

// Where the run set test rows apart, how many of the rows are among them.
function ofTest(rows, verb) {
  if (!MAP.split.levels.length) return "";
  const test = rows.filter((i) => levelOf(MAP.split, i) === "test").length;
  return `; ${test ? count(test) : "none"} of them ${verb(test)} in the test set`;
}

function figures(selection) {
  const rows = selection.rows();
  const residual = mean(rows, residualOf);
  return [
    [LEGEND.rate, percent(mean(rows, (i) => MAP.correct[i]))],
    [LEGEND.probability, percent(mean(rows, (i) => MAP.confidence[i]))],
    ["mean residual", residual === null ? DASH : `${points(residual)} points`],
    ["mean field", `${points(mean(rows, fieldOf))} points`],
    ...(MAP.fields.hidden ? [["of it hidden", `${points(mean(rows, hiddenOf))} points`]] : []),
  ];
}

// The metadata values that are most over-represented among the chosen rows.
function typical(selection) {
  const found = [];
  for (const column of MAP.meta.filter((each) => each.levels)) {
    const here = new Array(column.levels.length).fill(0);
    const all = new Array(column.levels.length).fill(0);
    column.codes.forEach((code, i) => {
      if (code < 0) return;
      all[code] += 1;
      here[code] += selection.chosen[i];
    });
    here.forEach((n, code) => found.push({
      name: `${column.name} = ${column.levels[code]}`, here: n / selection.size, all: all[code] / MAP.n,
    }));
  }
  found.sort((a, b) => b.here - b.all - (a.here - a.all));
  return found.filter((each) => each.here - each.all >= 0.05).slice(0, 3);
}

function listenToChosen(place, selection) {
  selection.on("chosen", () => {
    place.querySelector(".sentence").textContent = selection.size ? describe(selection) : place.dataset.empty;
    const list = place.querySelector(".facts");
    const common = place.querySelector(".common");
    list.replaceChildren();
    common.textContent = "";
    if (!selection.size) return;
    for (const [name, value] of figures(selection)) list.append(element("dt", "", name), element("dd", "", value));
    const found = typical(selection).map((each) => `${each.name} (${percent(each.here)} against ${percent(each.all)})`);
    if (found.length) common.textContent = `More common in the selection than on the whole map: ${found.join("; ")}.`;
  });
}
