// The readout: what is in focus, in words and numbers.

import { axesOf, entryOf, hiddenMass, lacksTokens, maskOf, meanOfColumn, displayedMatrix, unknownOf, unknownReason } from "./axes.js";
import { headColor } from "./color.js";
import { facts, measureOf, headKey } from "./data.js";
import { byId, fill, make } from "./page.js";
import { selectedHeads, focus, mainHead, pin, pins, state } from "./state.js";
import { decimalsOf, figureSummary, figureTitle, formatNumber, ordinal, shortName } from "./format.js";

const HINT = "Point at a token or a cell to read its value; click to pin it; press ? for keyboard shortcuts.";

export function drawReadout() {
  const head = mainHead();
  const title = make("strong", {}, figureTitle(state.kind, head));
  fill(byId("head-title"), title, " ", make("span", { dir: "auto" }, figureSummary(head)));
  fill(byId("now"), ...describe(entriesOf(focus())));
  fill(byId("pinned"), ...pins().map(pinnedLine));
}

function entriesOf({ q, k }) {
  const axes = axesOf(state);
  return { row: entryOf(axes.rows, q), column: entryOf(axes.columns, k) };
}

function pinnedLine({ q, k, letter }) {
  const cell = entriesOf({ q, k });
  if (cell.row < 0 && cell.column < 0) return null; // its tokens are hidden
  const attributes = { type: "button", class: "pin", title: "unpin", "aria-label": `unpin ${letter}`, onclick: () => pin(q, k) };
  const badge = make("button", attributes, letter);
  return make("p", {}, badge, ...describe(cell));
}

function describe({ row, column }) {
  const axes = axesOf(state);
  const from = axes.rows.entries[row]?.label;
  const to = axes.columns.entries[column]?.label;
  if (row < 0 && column < 0) return [make("span", { class: "hint" }, HINT)];
  const isSingleHead = row >= 0 && column < 0 && selectedHeads().length === 1;
  const strongestLabel = isSingleHead ? axes.columns.entries[strongestKey(row)]?.label : undefined;
  const pair = make("span", { class: "pair" }, token(from ?? "all tokens"), " → ", token(to ?? strongestLabel ?? "its largest"));
  return [pair, ...selectedHeads().map((head) => number(head, axes, row, column)), note(row, column)];
}

function token(text) {
  return make("bdi", {}, text);
}

/** A head's number: the value of a cell, the largest key of a row, or the mean of a column. */
function number(head, axes, row, column) {
  const values = displayedMatrix(state, head);
  const decimals = decimalsOf(state.measure, state.kind);
  const reading = values ? valueAt(values, head, row, column) : { value: NaN };
  const label = make("small", {}, shortName(head));
  label.style.color = headColor(headKey(head));
  const several = selectedHeads().length > 1;
  const key = several && reading.column !== undefined ? axes.columns.entries[reading.column].label : null;
  const keyLabel = key === null ? null : make("span", {}, token(key), " ");
  const mean = reading.mean ? make("small", {}, "mean ") : null;
  const value = make("output", {}, `${reading.atLeast ? "≥ " : ""}${formatNumber(reading.value, decimals)}`);
  return make("span", { class: "value" }, several ? label : null, keyLabel, mean, value);
}

function valueAt({ columns, values }, head, row, column) {
  if (row >= 0 && column >= 0) return { value: values[row * columns + column] };
  if (row >= 0) {
    const best = strongest(values.subarray(row * columns, (row + 1) * columns));
    return { value: values[row * columns + best], column: best };
  }
  return { ...meanOfColumn(state, head, column), mean: true };
}

function strongestKey(row) {
  const values = displayedMatrix(state, mainHead());
  return values ? strongest(values.values.subarray(row * values.columns, (row + 1) * values.columns)) : -1;
}

function strongest(row) {
  return row.reduce((best, value, i) => (Math.abs(value) > Math.abs(row[best]) || Number.isNaN(row[best]) ? i : best), 0);
}

/** The rank among the keys of the row, and the mass on hidden tokens. */
function note(row, column) {
  const head = mainHead();
  const values = displayedMatrix(state, head);
  if (!values || row < 0) return null;
  if (isMissingHead(values)) return make("span", { class: "note" }, `${facts.reference?.name ?? "the reference model"} has no such head`);
  const all = [...values.values.subarray(row * values.columns, (row + 1) * values.columns)];
  const masked = maskOf(state);
  const parts = [];
  const stored = measureOf(state.measure).kinds[state.kind].top_k ? "stored " : "";
  if (column >= 0 && masked(row, column)) parts.push("masked: the key comes after the query");
  else if (column >= 0 && Number.isNaN(all[column])) parts.push(missingReason(unknownOf(state, head)(row, column)));
  else if (column >= 0) {
    const allowed = all.filter((value, c) => !Number.isNaN(value) && !masked(row, c));
    parts.push(`${ordinal(1 + allowed.filter((value) => value > all[column]).length)} of ${allowed.length} ${stored}keys`);
    if (lacksTokens(state, head, row, column)) parts.push("of its stored tokens only");
  }
  if (column < 0) parts.push("largest value of the row");
  if (column < 0 && measureOf(state.measure).normalized) parts.push(`${stored}row sum ${formatNumber(all.reduce((a, b) => a + (b || 0), 0))}`);
  const mass = hiddenMass(state, head, row);
  if (mass > 0.0005) parts.push(`${stored && "≥ "}${formatNumber(mass)} on hidden tokens`);
  return make("span", { class: "note" }, parts.join(" · "));
}

/** Whether the reference model has no such head, so that no value is known. */
function isMissingHead({ values }) {
  return ["reference", "difference"].includes(state.measure) && values.every(Number.isNaN);
}

function missingReason(isUnknown) {
  const { top_k: topK } = measureOf(state.measure).kinds[state.kind];
  if (isUnknown) return unknownReason(mainHead());
  return topK ? `not stored: the page keeps the ${topK} largest keys of each row` : "no value: this key is masked";
}
