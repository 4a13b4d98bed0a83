// The heads of sortable tables become buttons; without this program they are plain words.
const keyOf = (cell) => {
  const key = cell.dataset.key;
  if (key === undefined) return null;
  return cell.dataset.number === undefined ? key : Number(key);
};

function sortBy(table, place, down) {
  const rows = [...table.tBodies[0].rows];
  const keys = new Map(rows.map((row) => [row, keyOf(row.cells[place])]));
  const sign = down ? -1 : 1;
  // what has no value stays last either way
  const order = (a, b) => (keys.get(a) === null || keys.get(b) === null ? 1 : sign) * compare(keys.get(a), keys.get(b));
  table.tBodies[0].append(...rows.sort(order));
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = element("button", "sort", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortBy(table, place, down);
    });
    head.setAttribute("aria-sort", "none");
    head.replaceChildren(button);
  });
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
