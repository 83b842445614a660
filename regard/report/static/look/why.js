// The panel on the right: what the head is, and why the number in focus is what it is.

import { axesOf, entryOf, shown } from "./axes.js";
import { barList, interval, sparkline, split } from "./bars.js";
import { facts, kindOf, measureOf } from "./data.js";
import { evidence } from "./evidence.js";
import { byId, fill, make, note } from "./page.js";
import { focus, mainHead, pins, state } from "./state.js";
import { agreement, caveats, limits, trust } from "./trust.js";
import { decimalsOf, figure, roleName, signed } from "./written.js";

const MOST_KEYS = 7;
const HINT = "Point at a token on the left, or at a cell, to see what it looks at and why.";
const folded = new Set(["What may be read from what"]); // titles of closed sections; a long one starts closed

export function drawWhy({ pointing }) {
  const head = mainHead();
  const cell = cellInFocus(head);
  const nowhere = cell.row < 0 ? section("Why", hint(HINT)) : null;
  fill(
    byId("cellwhy"),
    nowhere,
    section("Where it looks", keys(head, cell)),
    section("Why this score", score(head, cell)),
    section("How much it hands over", norm(head, cell)),
    section("Through all layers", flow(cell)),
  );
  if (pointing) return; // what follows depends on the head alone
  fill(
    byId("headwhy"),
    section("This head", about(head)),
    section("What it costs to remove", cost(head)),
    section("Evidence", evidence(head)),
    section("Through training", training(head)),
    section("How far to trust it", trust(head)),
    section("Do the measures agree?", agreement()),
    section("What may be read from what", limits()),
    section("Read with care", caveats()),
  );
}

/** {row, column} on the shown axes: the focus, else the last pin; a row alone stands for its strongest key. */
function cellInFocus(head) {
  const axes = axesOf(state);
  const now = focus();
  const { q, k } = now.q !== null || now.k !== null ? now : (pins().at(-1) ?? now);
  const row = entryOf(axes.rows, q);
  const given = entryOf(axes.columns, k);
  const weights = row >= 0 && given < 0 ? shown(state, head, "weight") : null;
  const column = weights ? largest(rowOf(weights, row)) : given;
  return { axes, row, column };
}

function section(title, content) {
  if (!content) return null;
  const made = make("details", { open: !folded.has(title) }, make("summary", {}, title), ...[content].flat());
  made.addEventListener("toggle", () => (made.open ? folded.delete(title) : folded.add(title)));
  return made;
}

/** Tokens with what stands between or after them. */
function heading(token, between, other = "") {
  return make("p", { class: "pair" }, make("bdi", {}, token), between, make("bdi", {}, other));
}

function hint(text) {
  return make("p", { class: "hint" }, text);
}

function keys(head, { axes, row }) {
  const values = row >= 0 ? shown(state, head) : null;
  if (!values) return null;
  const items = [...rowOf(values, row)].map((value, c) => ({ value, label: axes.columns.entries[c].label, c }))
    .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MOST_KEYS);
  const { signed: hasSign } = measureOf(state.measure);
  const title = heading(axes.rows.entries[row].label, ` · ${measureOf(state.measure).label.toLowerCase()}`);
  const decimals = decimalsOf(state.measure, state.kind);
  return [title, barList(items, { top: Math.abs(items[0]?.value ?? 1), hasSign, decimals })];
}

/** The terms that add up to the score before softmax. */
function score(head, { axes, row, column }) {
  if (!measureOf("score")?.kinds[state.kind] || row < 0 || column < 0) return null;
  const names = facts.terms.filter((name) => measureOf(name)?.kinds[state.kind]); // all of them, or none
  const read = (name) => cellOf(shown(state, head, name), row, column);
  const total = read("score");
  const items = names.map((name) => ({ label: facts.termLabels[facts.terms.indexOf(name)], value: read(name) }));
  if (Number.isNaN(total)) return hint("This cell is masked, or its score was not kept.");
  const whole = items.length > 0 && items.every(({ value }) => !Number.isNaN(value));
  const decimals = decimalsOf("score", state.kind);
  const pair = heading(axes.rows.entries[row].label, " → ", axes.columns.entries[column].label);
  const came = state.words ? "weight, its pieces together:" : "softmax over the row: weight";
  const weight = make("p", { class: "equation" }, `${came} ${figure(cellOf(shown(state, head, "weight"), row, column))}`);
  const all = whole ? [...items, { label: "sum = score", value: total }] : [{ label: "score", value: total }];
  const top = Math.max(...all.map(({ value }) => Math.abs(value)));
  const why = head.shares ? "are not in this page, to keep it small" : "are not known: no corpus was read to tell them by";
  const short = whole ? null : note(`The terms of this score ${why}.`);
  return [pair, barList(all, { top, hasSign: true, decimals, strong: all.length - 1 }), short, weight, shares(head)];
}

function shares(head) {
  if (!head.shares) return null;
  const told = head.shares.map((share, i) => ({ share, name: facts.termLabels[i] }))
    .filter(({ share }) => share !== null && Math.abs(share) >= 0.005)
    .sort((a, b) => b.share - a.share)
    .map(({ share, name }) => `${name} ${signed(100 * share, 0)} %`);
  return note(`Over the whole sentence this head's scores vary by: ${told.join(", ")}.`);
}

/** A large weight on a short vector hands over little. */
function norm(head, { row, column }) {
  if (!measureOf("norm")?.kinds[state.kind] || row < 0 || column < 0) return null;
  const weight = cellOf(shown(state, head, "weight"), row, column);
  const handed = cellOf(shown(state, head, "norm"), row, column);
  const norms = shown(state, head, "norm");
  const weights = shown(state, head, "weight");
  if (!norms || !weights || Number.isNaN(handed)) return null;
  const rank = (values) => 1 + [...rowOf(values, row)].filter((value) => value > cellOf(values, row, column)).length;
  const length = weight > 0.0005 && !state.words ? `${figure(weight)} × ${figure(handed / weight, 2)} = ` : "";
  return [
    make("p", { class: "equation" }, `weight × length of its vector: ${length}${figure(handed)}`),
    note(`Rank by weight ${rank(weights)}, by what is handed over ${rank(norms)}. Lengths do not add up.`),
  ];
}

function flow({ axes, row }) {
  const known = measureOf("rollout")?.kinds[state.kind] && row >= 0;
  const values = known ? shown(state, mainHead(), "rollout") : null;
  if (!values) return null;
  const items = [...rowOf(values, row)].map((value, c) => ({ value, label: axes.columns.entries[c].label }))
    .filter(({ value }) => !Number.isNaN(value)).sort((a, b) => b.value - a.value).slice(0, 5);
  const parts = axes.rows.entries[row].parts;
  const mean = (list) => parts.reduce((sum, piece) => sum + list[piece], 0) / parts.length;
  const crosses = facts.sourceShare && state.kind !== "encoder";
  const share = crosses ? split(mean(facts.sourceShare), "source", "target so far") : null;
  const mixing = facts.mixing[state.kind]?.[mainHead().layer];
  const part = mixing ? figure(100 * mean(mixing), 0) : "";
  const mixed = mixing ? note(`In this layer ${part} % of what leaves the token was mixed in from others.`) : null;
  const title = heading(axes.rows.entries[row].label, " · rollout");
  return [title, share, barList(items, { top: items[0]?.value ?? 1 }), mixed, contrast()];
}

/** Depth alone makes rows alike, so how far they differ is told beside chance. */
function contrast() {
  const known = facts.contrast[state.kind];
  if (!known) return null;
  const [own, chance] = known.map((value) => figure(value, 2));
  return note(`Two rows of it differ by ${own} on average; were weights dealt out at random, by ${chance}.`);
}

function about(head) {
  const badge = make("b", { class: head.role ? "badge large" : "badge large unsure" }, head.role ? head.letter : "?");
  const none = head.best === "copy" ? "by its weights" : "too few sentences for an interval";
  const from = head.low === null ? none : `${figure(head.low, 2)} to ${figure(head.high, 2)}`;
  const rows = [
    ["lift over chance", head.lift === null ? null : `${figure(head.lift, 2)} (${from})`],
    ["sentences averaged", number(head.by_sentence, 2)],
    ["with random weights", number(head.baseline, 2)],
    ["largest weight on it", percent(head.argmax)],
    ["runner-up", head.runner_up ? `${head.runner_up} ${figure(head.runner_up_lift, 2)}` : null],
    ["effective keys", number(head.effective_keys, 1)],
    ["evenness, 0 to 1", number(head.evenness, 2)],
    ["mean largest weight", number(head.confidence, 2)],
    ["mean distance", head.distance === null ? null : `${figure(head.distance, 1)} ± ${figure(head.deviation, 1)}`],
    ["by distance alone", percent(head.toeplitz)],
    ["importance", number(head.importance, 2)],
    [`from ${facts.against?.name}`, apart(head)],
    ["copying, −1 to 1", number(head.copying, 2)],
    ["alignment error rate", number(head.aer, 2)],
  ].filter(([, value]) => value !== null);
  const list = make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const measured = facts.corpus ? note(facts.corpus) : null;
  return [make("p", { class: "role" }, badge, make("strong", {}, roleName(head))), list, measured];
}

/** How differently it looks from the model that it is compared with. */
function apart(head) {
  const moved = facts.against?.moved[head.name];
  return moved === undefined ? null : `${figure(moved, 2)} apart`;
}

function cost(head) {
  if (head.cost === null) return null;
  if (head.cost_low === null) return note(`${signed(head.cost, 4)} nats a piece, on too few sentences for an interval.`);
  const sure = head.cost_low > 0 || head.cost_high < 0;
  const way = head.cost > 0 ? "rises" : "falls";
  const range = `${signed(head.cost_low, 4)} to ${signed(head.cost_high, 4)}`;
  const told = sure
    ? `Without this head the loss ${way} by ${figure(Math.abs(head.cost), 4)} nats a piece (${range}).`
    : `No measurable cost: ${signed(head.cost, 4)} nats a piece, and the interval (${range}) holds zero.`;
  return [interval(head.cost, head.cost_low, head.cost_high), note(told)];
}

function training(head) {
  const known = facts.history.heads[head.name] ?? {};
  const curves = Object.entries(known).map(([name, values]) => sparkline(facts.history.steps, values, name)).filter(Boolean);
  return curves.length ? curves : null;
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
  return value === null || value === undefined ? null : figure(value, decimals);
}

function percent(value) {
  return value === null || value === undefined ? null : `${figure(100 * value, 0)} %`;
}
