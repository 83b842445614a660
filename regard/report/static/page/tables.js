// Tables that are sorted by a click or a key on a heading, and filtered by words and by conditions such as layers>=3.

/** A heading as it is written in a condition: without blanks and signs. */
const plain = (name) => name.toLowerCase().replace(/[^\p{L}\p{N}_.]/gu, "");

const CONDITION = /^(.+?)(>=|<=|>|<|=)(-?[\d.,]+)$/;

/** The number that a cell begins with; null for a text, and where there is none. */
export function numberOf(text) {
  const match = /^[<+−-]?\s?[\d,]*\.?\d+(?:e[+-]?\d+)?/i.exec(text.trim());
  if (match === null) return null;
  const value = Number(match[0].replace(/[<+,\s]/g, "").replace("−", "-"));
  return Number.isFinite(value) ? value : null;
}

function cells(row) {
  return [...row.cells].map((cell) => cell.textContent.trim());
}

function compare(first, second, direction) {
  const [a, b] = [numberOf(first), numberOf(second)];
  const missing = (text) => text === "" || text === "–";
  if (missing(first) || missing(second)) return Number(missing(first)) - Number(missing(second)); // last in both orders
  if (a !== null && b !== null) return direction * (a - b);
  return direction * first.localeCompare(second, undefined, { numeric: true });
}

/** Whether a row passes one word of the filter. */
export function passes(texts, names, word) {
  const condition = CONDITION.exec(word);
  const column = condition === null ? -1 : names.findIndex((name) => plain(name) === plain(condition[1]));
  if (column < 0) return texts.some((text) => text.toLowerCase().includes(word.toLowerCase()));
  const value = numberOf(texts[column]);
  const bound = Number(condition[3].replace(",", "."));
  if (value === null) return false;
  return { ">": value > bound, "<": value < bound, ">=": value >= bound, "<=": value <= bound, "=": value === bound }[
    condition[2]
  ];
}

function setUpSorting(table, heads, body) {
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => compare(a.cells[column].textContent.trim(), b.cells[column].textContent.trim(), direction));
      body.append(...rows);
    });
  });
}

function setUpFilter(table, heads, body) {
  const names = heads.map((head) => head.textContent.trim());
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  input.type = "search";
  const numeric = names.find((_, n) => heads[n].classList.contains("number")) ?? names[0];
  input.placeholder = `words, or ${plain(numeric)}>=2`;
  label.className = "filter";
  label.append("Filter ", input, " ", count);
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const words = input.value.trim().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !words.every((word) => passes(cells(row), names, word));
      shown += Number(!row.hidden);
    }
    count.textContent = words.length === 0 ? "" : `${shown} of ${body.rows.length} rows`;
  });
}

export function setUpTable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  setUpFilter(table, heads, body);
  setUpSorting(table, heads, body);
}
