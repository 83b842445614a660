// The same numbers as a table: for screen readers, and for copying.

import { axesOf, displayedMatrix } from "./axes.js";
import { kindOf, measureOf } from "./data.js";
import { fill, make } from "./page.js";
import { mainHead, state } from "./state.js";
import { decimalsOf, formatNumber, figureTitle } from "./format.js";

const MAX_ROWS = 40; // a larger matrix shows only the largest keys of each row

export function drawTable(element) {
  const head = mainHead();
  const values = displayedMatrix(state, head);
  if (!values) return;
  const axes = axesOf(state);
  const large = values.rows > MAX_ROWS || values.columns > MAX_ROWS;
  fill(element, large ? longTable(head, axes, values) : squareTable(head, axes, values));
}

function caption(head, more) {
  return make("caption", {}, `${figureTitle(state.kind, head)}: ${measureOf(state.measure).label}. ${more}`);
}

function squareTable(head, axes, values) {
  const decimals = decimalsOf(state.measure, state.kind);
  const titles = axes.columns.entries.map(({ label }) => make("th", { scope: "col", dir: "auto" }, label));
  const top = make("thead", {}, make("tr", {}, make("td"), ...titles));
  const rows = axes.rows.entries.map(({ label }, r) => make(
    "tr", {}, make("th", { scope: "row", dir: "auto" }, label),
    ...axes.columns.entries.map((_, c) => make("td", {}, formatNumber(values.values[r * values.columns + c], decimals))),
  ));
  return make("table", {}, caption(head, "Rows are queries, columns are keys."), top, make("tbody", {}, ...rows));
}

/** For long sentences: one line per query, with its largest keys. */
function longTable(head, axes, values) {
  const decimals = decimalsOf(state.measure, state.kind);
  const kind = kindOf(state.kind);
  const lines = axes.rows.entries.map(({ label }, r) => {
    const strongest = axes.columns.entries
      .map((column, c) => ({ text: column.label, value: values.values[r * values.columns + c] }))
      .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 8);
    const cells = strongest.map(({ text, value }) => make("td", { dir: "auto" }, `${text} ${formatNumber(value, decimals)}`));
    return make("tr", {}, make("th", { scope: "row", dir: "auto" }, `${r} ${label}`), ...cells);
  });
  const title = caption(head, `The eight largest keys of each ${kind.rows.replace("_", " ")} token, largest first.`);
  return make("table", { class: "long" }, title, make("tbody", {}, ...lines));
}
