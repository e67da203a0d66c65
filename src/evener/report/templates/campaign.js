// Tables that sort by any column; whatever a link leads to is unfolded. Without this the page reads the same.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        const said = cell.dataset.v ?? cell.textContent.trim();
        return said === "" || Number.isNaN(Number(said)) ? said : Number(said);
      };
      const unknown = (value) => value === "" || value === "-";
      const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      const body = table.tBodies[0];
      [...body.rows]
        .map((row) => [key(row), row])
        .sort(([a], [b]) => unknown(a) - unknown(b) || (down ? order(b, a) : order(a, b)))
        .forEach(([, row]) => body.append(row));
    });
  });
}
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
