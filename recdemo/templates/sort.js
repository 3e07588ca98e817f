// A click on the head of a column sorts its table; numbers the largest first, "-" last.
function keyOf(row, place, numeric) {
  const text = row.cells[place].textContent.trim();
  return numeric ? Number.parseFloat(text.replaceAll(",", "")) : text;
}

function sortBy(table, head) {
  const place = head.cellIndex;
  const numeric = head.classList.contains("number");
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric;
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, place, numeric), row]);
  rows.sort(([a], [b]) => {
    if (!numeric) return a.localeCompare(b) * (down ? -1 : 1);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return (a - b) * (down ? -1 : 1);
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head));
    head.append(button);
  }
}
