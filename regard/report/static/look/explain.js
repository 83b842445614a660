// The panel on the right: what is known about the head, and what the value in focus is made of.

import { axesOf, describeUnknown, entryOf, displayedMatrix, unknownOf, unknownReason } from "./axes.js";
import { barList, interval, sparkline, split } from "./bars.js";
import { facts, headsOf, measureOf } from "./data.js";
import { evidence } from "./evidence.js";
import { byId, fill, make, note } from "./page.js";
import { focus, mainHead, pins, state } from "./state.js";
import { agreement, caveats, faithfulness, limits } from "./faithfulness.js";
import { decimalsOf, formatNumber, formatSigned, roleName, roundAbove } from "./format.js";

const MAX_KEYS = 7;
const HINT = "Point at a query on the left, or at a cell, to see what it attends to and why.";
const COST_AXIS = "Axis: nats per target token, the same for all heads of this kind.";
const closed = new Set(["What each measure shows"]); // titles of closed sections; the long one starts closed

export function drawExplanation({ pointing }) {
  const head = mainHead();
  const cell = cellInFocus(head);
  const empty = cell.row < 0 ? section("Explanation", hint(HINT)) : null;
  fill(
    byId("cell-explanation"),
    empty,
    section("Attends to", keys(head, cell)),
    section("Terms of the score", score(head, cell)),
    section("Norm of the contribution", norm(head, cell)),
    section("Through all layers", flow(cell)),
  );
  if (pointing) return; // the rest depends on the head alone
  fill(
    byId("head-explanation"),
    section("This head", about(head)),
    section("Cost of removal", cost(head)),
    section("Evidence", evidence(head)),
    section("Through training", training(head)),
    section("Faithfulness", faithfulness(head)),
    section("Do the measures agree?", agreement()),
    section("What each measure shows", limits()),
    section("Caveats", caveats()),
  );
}

/** {row, column} on the displayed axes: the focus, else the last pin; a row alone stands for its largest key. */
function cellInFocus(head) {
  const axes = axesOf(state);
  const focused = focus();
  const { q, k } = focused.q !== null || focused.k !== null ? focused : (pins().at(-1) ?? focused);
  const row = entryOf(axes.rows, q);
  const focusedColumn = entryOf(axes.columns, k);
  const weights = row >= 0 && focusedColumn < 0 ? displayedMatrix(state, head, "weight") : null;
  const column = weights ? largest(rowOf(weights, row)) : focusedColumn;
  return { axes, row, column };
}

function section(title, content) {
  if (!content) return null;
  const element = make("details", { open: !closed.has(title) }, make("summary", {}, title), ...[content].flat());
  element.addEventListener("toggle", () => (element.open ? closed.delete(title) : closed.add(title)));
  return element;
}

/** Tokens with text between or after them. */
function heading(token, between, other = "") {
  return make("p", { class: "pair" }, make("bdi", {}, token), between, make("bdi", {}, other));
}

function hint(text) {
  return make("p", { class: "hint" }, text);
}

function keys(head, { axes, row }) {
  const values = row >= 0 ? displayedMatrix(state, head) : null;
  if (!values) return null;
  const items = [...rowOf(values, row)].map((value, c) => ({ value, label: axes.columns.entries[c].label, c }))
    .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MAX_KEYS);
  const { signed: hasSign } = measureOf(state.measure);
  const title = heading(axes.rows.entries[row].label, ` · ${measureOf(state.measure).label.toLowerCase()}`);
  const decimals = decimalsOf(state.measure, state.kind);
  if (!items.length) return [title, hint(`No key has a value${unknownOf(state, head)(row, 0) ? `; ${unknownReason(head)}` : ""}.`)];
  return [title, barList(items, { top: measureOf(state.measure).top, hasSign, decimals })];
}

/** The terms that add up to the score before softmax. */
function score(head, { axes, row, column }) {
  if (!measureOf("score")?.kinds[state.kind] || row < 0 || column < 0) return null;
  const names = facts.terms.filter((name) => measureOf(name)?.kinds[state.kind]); // all of them, or none
  const valueOf = (name) => cellOf(displayedMatrix(state, head, name), row, column);
  const total = valueOf("score");
  const items = names.map((name) => ({ label: facts.termLabels[facts.terms.indexOf(name)], value: valueOf(name) }));
  if (Number.isNaN(total)) return hint("This cell is masked, or its score is not stored.");
  const complete = items.length > 0 && items.every(({ value }) => !Number.isNaN(value));
  const decimals = decimalsOf("score", state.kind);
  const pair = heading(axes.rows.entries[row].label, " → ", axes.columns.entries[column].label);
  const prefix = state.words ? "weight, summed over tokens:" : "softmax over the row: weight";
  const weight = make("p", { class: "equation" }, `${prefix} ${formatNumber(cellOf(displayedMatrix(state, head, "weight"), row, column))}`);
  const all = complete ? [...items, { label: "sum = score", value: total }] : [{ label: "score", value: total }];
  const { top } = measureOf("score"); // its terms have the same scale
  const missing = complete ? null : note(missingTerms(head, names, row, column));
  return [pair, barList(all, { top, hasSign: true, decimals, strong: all.length - 1 }), missing, weight, shares(head)];
}

function missingTerms(head, names, row, column) {
  const isUnknown = !head.knownPositions || (names.length > 0 && unknownOf(state, head, names[0])(row, column));
  return `The terms of this score are ${isUnknown ? unknownReason(head) : "left out to keep the page small"}.`;
}

function shares(head) {
  const unknown = head.knownPositions ? describeUnknown(state, head) : ""; // else `missingTerms` has said it
  if (!head.shares) return unknown ? note(`Terms ${unknown}.`) : null;
  const summary = head.shares.map((share, i) => ({ share, name: facts.termLabels[i] }))
    .filter(({ share }) => share !== null && Math.abs(share) >= 0.005)
    .sort((a, b) => b.share - a.share)
    .map(({ share, name }) => `${name} ${formatSigned(100 * share, 0)} %`);
  const leftOut = unknown ? ` Terms ${unknown}.` : "";
  return note(`Share of the variance of this head's scores: ${summary.join(", ")}.${leftOut}`);
}

/** A large weight on a short value vector contributes little. */
function norm(head, { row, column }) {
  if (!measureOf("norm")?.kinds[state.kind] || row < 0 || column < 0) return null;
  const weight = cellOf(displayedMatrix(state, head, "weight"), row, column);
  const contribution = cellOf(displayedMatrix(state, head, "norm"), row, column);
  const norms = displayedMatrix(state, head, "norm");
  const weights = displayedMatrix(state, head, "weight");
  if (!norms || !weights || Number.isNaN(contribution)) return null;
  const rank = (values) => 1 + [...rowOf(values, row)].filter((value) => value > cellOf(values, row, column)).length;
  const length = weight > 0.0005 && !state.words ? `${formatNumber(weight)} × ${formatNumber(contribution / weight, 2)} = ` : "";
  return [
    make("p", { class: "equation" }, `weight × norm of the value vector: ${length}${formatNumber(contribution)}`),
    note(`Rank by weight ${rank(weights)}, by norm ${rank(norms)}. Norms do not add up.`),
  ];
}

function flow({ axes, row }) {
  const available = measureOf("rollout")?.kinds[state.kind] && row >= 0;
  const values = available ? displayedMatrix(state, mainHead(), "rollout") : null;
  if (!values) return null;
  const items = [...rowOf(values, row)].map((value, c) => ({ value, label: axes.columns.entries[c].label }))
    .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => b.value - a.value).slice(0, 5);
  const parts = axes.rows.entries[row].parts;
  const mean = (list) => parts.reduce((sum, token) => sum + list[token], 0) / parts.length;
  const crosses = facts.sourceShare && state.kind !== "encoder";
  const share = crosses ? split(mean(facts.sourceShare), "source", "target prefix") : null;
  const mixing = facts.mixing[state.kind]?.[mainHead().layer];
  const percentage = mixing ? formatNumber(100 * mean(mixing), 0) : "";
  const mixingNote = mixing ? note(`Mixing ratio of this layer: ${percentage}% of the output comes from other tokens.`) : null;
  const title = heading(axes.rows.entries[row].label, " · rollout, all layers, all heads");
  return [title, share, barList(items, { top: measureOf("rollout").top }), mixingNote, contrast()];
}

/** Depth alone makes rows similar, so their difference is shown next to that of permuted weights. */
function contrast() {
  const entry = facts.contrast[state.kind];
  if (!entry) return null;
  const [observed, chance] = [entry.observed, entry.chance].map((value) => formatNumber(value, 2));
  return note(`Two rows differ by ${observed} on average (total variation); with permuted weights by ${chance}.`);
}

function about(head) {
  const badge = make("b", { class: head.role ? "badge large" : "badge large unsure" }, head.role ? head.letter : "?");
  const noInterval = head.best === "copy" ? "by its weights" : "too few sentences for an interval";
  const range = head.low === null ? noInterval : `${formatNumber(head.low, 2)} to ${formatNumber(head.high, 2)}`;
  const rows = [
    ["lift", head.lift === null ? null : `${formatNumber(head.lift, 2)} (${range})`],
    ["macro lift", number(head.macro_lift, 2)],
    ["random lift", number(head.baseline, 2)],
    ["argmax rate", percent(head.argmax_rate)],
    ["runner-up", head.runner_up ? `${head.runner_up} ${formatNumber(head.runner_up_lift, 2)}` : null],
    ["entropy", number(head.entropy, 2)],
    ["normalized entropy", number(head.normalized_entropy, 2)],
    ["effective keys", number(head.effective_keys, 1)],
    ["confidence", number(head.confidence, 2)],
    ["mean distance", head.mean_distance === null ? null : `${formatNumber(head.mean_distance, 1)} ± ${formatNumber(head.distance_std, 1)}`],
    ["explained by distance", percent(head.toeplitz)],
    ["importance", number(head.importance, 2)],
    [`divergence from ${facts.reference?.name}`, divergenceText(head)],
    ["copying", number(head.copying, 2)],
    ["AER", number(head.aer, 2)],
  ].filter(([, value]) => value !== null);
  const list = make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const measured = facts.corpus ? note(facts.corpus) : null;
  const trained = head.trained_to_align ? make("b", { class: "badge trained" }, "trained to align") : null;
  return [make("p", { class: "role" }, badge, make("strong", {}, roleName(head)), trained), trainingNote(head), list, measured];
}

/** Of a head that guided alignment has trained: which other head aligns best by itself. */
function trainingNote(head) {
  if (!head.trained_to_align) return null;
  const { best_untrained: other, best_untrained_aer: aer } = facts.alignment ?? {};
  const quality = aer === null || aer === undefined ? "" : `, AER ${formatNumber(aer, 2)}`;
  const rest = other ? ` The best alignment head that was not trained to align is ${other}${quality}.` : "";
  return note(`Guided alignment trained this head to align, so that its alignments are no finding.${rest}`);
}

/** The divergence of its weights from those of the reference model. */
function divergenceText(head) {
  const divergence = facts.reference?.divergence[head.name];
  return divergence === undefined ? null : `JSD ${formatNumber(divergence, 2)}`;
}

/** The end of the axis of costs: the same for all heads of a kind, so that their intervals can be compared. */
function costScale() {
  const ends = headsOf(state.kind).flatMap(({ cost: value, cost_low: low, cost_high: high }) => [value, low, high]);
  return roundAbove(Math.max(1e-6, ...ends.filter((value) => value !== null).map(Math.abs)));
}

function cost(head) {
  if (head.cost === null) return null;
  if (head.cost_low === null) return note(`${formatSigned(head.cost, 4)} nats per token, on too few sentences for an interval.`);
  const significant = head.cost_low > 0 || head.cost_high < 0;
  const direction = head.cost > 0 ? "rises" : "falls";
  const range = `${formatSigned(head.cost_low, 4)} to ${formatSigned(head.cost_high, 4)}`;
  const text = significant
    ? `Without this head the loss ${direction} by ${formatNumber(Math.abs(head.cost), 4)} nats per token (${range}).`
    : `No measurable cost: ${formatSigned(head.cost, 4)} nats per token, and the interval (${range}) contains zero.`;
  return [interval(head.cost, head.cost_low, head.cost_high, costScale()), note(text), note(COST_AXIS)];
}

function training(head) {
  const recorded = facts.history.heads[head.name] ?? {};
  const curves = Object.entries(recorded).map(([name, values]) => sparkline(facts.history.steps, values, name, historyScale(name)));
  return curves.some(Boolean) ? curves.filter(Boolean) : null;
}

/** The scale of a curve through training: that of all heads of the kind. */
function historyScale(name) {
  const heads = headsOf(state.kind).map((head) => facts.history.heads[head.name]?.[name] ?? []);
  const values = heads.flat().filter((value) => value !== null);
  const high = Math.max(0, ...values);
  return [Math.min(0, ...values), high > 0 ? roundAbove(high) : 1];
}

function rowOf({ columns, values }, row) {
  return values.subarray(row * columns, (row + 1) * columns);
}

function cellOf(values, row, column) {
  return values ? values.values[row * values.columns + column] : NaN;
}

function largest(row) {
  return row.reduce((best, value, i) => (value > row[best] ? i : best), 0);
}

function number(value, decimals) {
  return value === null || value === undefined ? null : formatNumber(value, decimals);
}

function percent(value) {
  return value === null || value === undefined ? null : `${formatNumber(100 * value, 0)} %`;
}
