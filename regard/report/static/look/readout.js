// The read-out: what is in focus, in words and numbers, always on the page.

import { axesOf, entryOf, hiddenMass, maskOf, shown } from "./axes.js";
import { headColour } from "./colour.js";
import { facts, measureOf, placeOf } from "./data.js";
import { byId, fill, make } from "./page.js";
import { chosenHeads, focus, mainHead, pin, pins, state } from "./state.js";
import { decimalsOf, figure, longName, ordinal, shortName, summary } from "./written.js";

const HINT = "Point at a token or a cell to read its number; click to pin it; press ? for the keys.";

export function drawReadout() {
  const head = mainHead();
  fill(byId("crumb"), make("strong", {}, longName(state.kind, head)), " ", make("span", { dir: "auto" }, summary(head)));
  fill(byId("now"), ...told(placeOn(focus())));
  fill(byId("pinned"), ...pins().map(pinned));
}

function placeOn({ q, k }) {
  const axes = axesOf(state);
  return { row: entryOf(axes.rows, q), column: entryOf(axes.columns, k) };
}

function pinned({ q, k, letter }) {
  const place = placeOn({ q, k });
  if (place.row < 0 && place.column < 0) return null; // it belongs to a mark that is hidden
  const given = { type: "button", class: "pin", title: "unpin", "aria-label": `unpin ${letter}`, onclick: () => pin(q, k) };
  const badge = make("button", given, letter);
  return make("p", {}, badge, ...told(place));
}

function told({ row, column }) {
  const axes = axesOf(state);
  const from = axes.rows.entries[row]?.label;
  const to = axes.columns.entries[column]?.label;
  if (row < 0 && column < 0) return [make("span", { class: "hint" }, HINT)];
  const single = row >= 0 && column < 0 && state.heads.length === 1;
  const alone = single ? axes.columns.entries[strongestOf(row)]?.label : undefined;
  const pair = make("span", { class: "pair" }, token(from ?? "every token"), " → ", token(to ?? alone ?? "its strongest"));
  return [pair, ...chosenHeads().map((head) => number(head, axes, row, column)), note(row, column)];
}

function token(text) {
  return make("bdi", {}, text);
}

/** A head's number for the place: of a cell its value, of a row its strongest key, of a column its mean. */
function number(head, axes, row, column) {
  const values = shown(state, head);
  const decimals = decimalsOf(state.measure, state.kind);
  const at = values ? valueAt(values, row, column) : { value: NaN };
  const label = make("small", {}, shortName(head));
  label.style.color = headColour(placeOf(head));
  const several = state.heads.length > 1;
  const key = several && at.column !== undefined ? axes.columns.entries[at.column].label : null;
  const where = key === null ? null : make("span", {}, token(key), " ");
  const mean = at.mean ? make("small", {}, "mean ") : null;
  const value = make("output", {}, figure(at.value, decimals));
  return make("span", { class: "value" }, several ? label : null, where, mean, value);
}

function valueAt({ rows, columns, values }, row, column) {
  if (row >= 0 && column >= 0) return { value: values[row * columns + column] };
  if (row >= 0) {
    const best = strongest(values.subarray(row * columns, (row + 1) * columns));
    return { value: values[row * columns + best], column: best };
  }
  const all = Array.from({ length: rows }, (_, r) => values[r * columns + column]).filter((value) => !Number.isNaN(value));
  return { value: all.reduce((a, b) => a + b, 0) / all.length, mean: true };
}

function strongestOf(row) {
  const values = shown(state, mainHead());
  return values ? strongest(values.values.subarray(row * values.columns, (row + 1) * values.columns)) : -1;
}

function strongest(row) {
  return row.reduce((best, value, i) => (Math.abs(value) > Math.abs(row[best]) || Number.isNaN(row[best]) ? i : best), 0);
}

/** Rank among the keys of the row, and what is hidden from it. */
function note(row, column) {
  const head = mainHead();
  const values = shown(state, head);
  if (!values || row < 0) return null;
  if (lacking(values)) return make("span", { class: "note" }, `${facts.against?.name ?? "the other model"} has no such head`);
  const all = [...values.values.subarray(row * values.columns, (row + 1) * values.columns)];
  const masked = maskOf(state);
  const parts = [];
  if (column >= 0 && masked(row, column)) parts.push("masked: this token may not look there, it comes later");
  else if (column >= 0 && Number.isNaN(all[column])) parts.push(absent());
  else if (column >= 0) {
    const open = all.filter((value, c) => !Number.isNaN(value) && !masked(row, c));
    parts.push(`${ordinal(1 + open.filter((value) => value > all[column]).length)} of ${open.length} keys`);
  }
  if (column < 0) parts.push("its strongest key");
  if (column < 0 && measureOf(state.measure).total) parts.push(`row sum ${figure(all.reduce((a, b) => a + (b || 0), 0))}`);
  const mass = hiddenMass(state, head, row);
  if (mass > 0.0005) parts.push(`${figure(mass)} goes to hidden tokens`);
  return make("span", { class: "note" }, parts.join(" · "));
}

/** Whether there is no number at all: the model that this one is compared with may lack a head. */
function lacking({ values }) {
  return ["then", "change"].includes(state.measure) && values.every(Number.isNaN);
}

function absent() {
  const { kept } = measureOf(state.measure).kinds[state.kind];
  if (facts.terms.includes(state.measure) && !mainHead().shares) return "not known: no corpus was read to tell terms by";
  return kept ? `not kept: only the ${kept} strongest keys of each row are in this page` : "no number: this token may not look there";
}
