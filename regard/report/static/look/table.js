// The same numbers as a table: for those who listen to a page, and for those who want to copy it.

import { axesOf, shown } from "./axes.js";
import { kindOf, measureOf } from "./data.js";
import { fill, make } from "./page.js";
import { mainHead, state } from "./state.js";
import { decimalsOf, figure, longName } from "./written.js";

const MOST_ROWS = 40; // of whole rows with all their cells; a table of 16,000 cells helps nobody

export function fillTable(place) {
  const head = mainHead();
  const values = shown(state, head);
  if (!values) return;
  const axes = axesOf(state);
  const large = values.rows > MOST_ROWS || values.columns > MOST_ROWS;
  fill(place, large ? longTable(head, axes, values) : squareTable(head, axes, values));
}

function caption(head, more) {
  return make("caption", {}, `${longName(state.kind, head)}: ${measureOf(state.measure).label}. ${more}`);
}

function squareTable(head, axes, values) {
  const decimals = decimalsOf(state.measure, state.kind);
  const titles = axes.columns.entries.map(({ label }) => make("th", { scope: "col", dir: "auto" }, label));
  const top = make("thead", {}, make("tr", {}, make("td"), ...titles));
  const rows = axes.rows.entries.map(({ label }, r) => make(
    "tr", {}, make("th", { scope: "row", dir: "auto" }, label),
    ...axes.columns.entries.map((_, c) => make("td", {}, figure(values.values[r * values.columns + c], decimals))),
  ));
  return make("table", {}, caption(head, "Rows look, columns are looked at."), top, make("tbody", {}, ...rows));
}

/** For long sentences: a line a row, with the keys it looks at most. */
function longTable(head, axes, values) {
  const decimals = decimalsOf(state.measure, state.kind);
  const kind = kindOf(state.kind);
  const lines = axes.rows.entries.map(({ label }, r) => {
    const strongest = axes.columns.entries
      .map((column, c) => ({ text: column.label, value: values.values[r * values.columns + c] }))
      .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 8);
    const cells = strongest.map(({ text, value }) => make("td", { dir: "auto" }, `${text} ${figure(value, decimals)}`));
    return make("tr", {}, make("th", { scope: "row", dir: "auto" }, `${r} ${label}`), ...cells);
  });
  const told = caption(head, `For each ${kind.rows} token the eight it looks at most, largest first.`);
  return make("table", { class: "long" }, told, make("tbody", {}, ...lines));
}
