// Every action has a keyboard shortcut; the help dialog is built from the same list.

import { axesOf, entryOf } from "./axes.js";
import { facts, headsOf, kindOf, headKey } from "./data.js";
import { byId, make } from "./page.js";
import { saveSvg, savePng } from "./save.js";
import { MAX_HEADS, ORDERS, change, pin, point, state } from "./state.js";
import { dark } from "./color.js";

const LETTERS = { l: "lines", h: "heat", b: "both", t: "table" };
// The keys, their label, and what they do.
const ACTIONS = [
  { keys: ["ArrowUp", "ArrowDown"], label: "↑ ↓", what: "move the query", run: (key) => moveRow(key === "ArrowUp" ? -1 : 1) },
  { keys: ["ArrowLeft", "ArrowRight"], label: "← →", what: "move the key", run: (key) => moveColumn(key === "ArrowLeft" ? -1 : 1) },
  { keys: ["[", "]"], label: "[ ]", what: "previous, next layer", run: (key) => stepLayer(key === "[" ? -1 : 1) },
  { keys: [",", "."], label: ", .", what: "previous, next head", run: (key) => stepHead(key === "," ? -1 : 1) },
  { keys: ["c"], label: "c", what: "compare: add another head", run: compare },
  { keys: ["Backspace"], label: "⌫", what: "remove the head added last", run: removeLastHead },
  { keys: ["1", "2", "3"], label: "1 2 3", what: "encoder, decoder, cross", run: (key) => selectKind(facts.kinds[key - 1]) },
  { keys: ["l", "h", "b", "t"], label: "l h b t", what: "lines, heat map, both, table", run: (key) => change({ view: LETTERS[key] }) },
  { keys: ["m", "M"], label: "m M", what: "next measure, previous measure", run: (key) => stepMeasure(key === "m" ? 1 : -1) },
  { keys: ["w"], label: "w", what: "tokens or whole words", run: () => change({ words: !state.words }) },
  { keys: ["s"], label: "s", what: "show or hide special tokens", run: () => change({ specialTokens: !state.specialTokens }) },
  { keys: ["r"], label: "r", what: "square-root color scale: makes small values visible", run: () => change({ root: !state.root }) },
  { keys: ["f"], label: "f", what: "fit the heat map to the window", run: () => change({ fit: !state.fit }) },
  { keys: ["o"], label: "o", what: "order of the map: layer, role, importance", run: stepOrder },
  { keys: ["{", "}"], label: "{ }", what: "roles at an earlier, later training step", run: (key) => stepHistory(key === "{" ? -1 : 1) },
  { keys: ["p", "Enter"], label: "p ⏎", what: "pin what is in focus, or unpin it", run: pinFocus },
  { keys: ["Escape"], label: "Esc", what: "clear focus and pins; current roles", run: clear },
  { keys: ["d"], label: "d", what: "dark or light", run: () => change({ theme: dark() ? "light" : "dark" }) },
  { keys: ["e", "i"], label: "e i", what: "save as SVG, as PNG", run: (key) => (key === "e" ? saveSvg() : savePng()) },
  { keys: ["?"], label: "?", what: "this list", run: () => byId("help").showModal() },
];

export function watchKeys() {
  const list = byId("keylist");
  for (const { label, what } of ACTIONS) {
    const keys = label.split(" ").map((key) => make("kbd", {}, key));
    list.append(make("dt", {}, ...keys), make("dd", {}, what));
  }
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("select, input:not([type=range]), dialog[open]") || event.ctrlKey || event.metaKey || event.altKey;
    const pressing = event.key === "Enter" && event.target.closest?.("button, summary, a");
    if (busy || pressing) return;
    if (event.target.closest?.("#map") && event.key.startsWith("Arrow")) return moveInMap(event);
    if (event.target.closest?.("input") && !["{", "}", "Escape"].includes(event.key)) return; // a slider has its own keys
    const action = ACTIONS.find(({ keys }) => keys.includes(event.key));
    if (!action) return;
    event.preventDefault();
    action.run(event.key);
  });
}

/** Arrow keys inside the map move from head to head, as in any grid. */
function moveInMap(event) {
  event.preventDefault();
  const allRows = [...document.querySelectorAll("#map [role=row]")].map((row) => [...row.querySelectorAll("button")]);
  const rows = allRows.filter((row) => row.length);
  const r = rows.findIndex((row) => row.includes(event.target));
  const c = rows[r]?.indexOf(event.target);
  const [dr, dc] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const row = rows[Math.max(0, Math.min(rows.length - 1, r + dr))];
  row[Math.max(0, Math.min(row.length - 1, c + dc))].focus();
}

function moveRow(by) {
  move("rows", "q", by);
}

function moveColumn(by) {
  move("columns", "k", by);
}

function move(side, name, by) {
  const { entries } = axesOf(state)[side];
  const current = entryOf(axesOf(state)[side], state[name]);
  const start = by > 0 ? 0 : entries.length - 1;
  const next = current < 0 ? start : Math.max(0, Math.min(entries.length - 1, current + by));
  point(null, null);
  change({ [name]: entries[next].parts[0] });
}

function stepHead(by) {
  const all = headsOf(state.kind).map(headKey);
  const current = all.indexOf(state.heads.at(-1));
  replaceLastHead(all[(current + by + all.length) % all.length]);
}

function stepLayer(by) {
  const { heads } = kindOf(state.kind);
  const [layer, number] = state.heads.at(-1).split(".").map(Number);
  const next = (layer + by + heads.length) % heads.length;
  const head = heads[next].find((other) => other.head === number) ?? heads[next][0];
  if (head) replaceLastHead(headKey(head));
}

/** Replace the head selected last; the others stay. */
function replaceLastHead(key) {
  change({ heads: [...state.heads.slice(0, -1).filter((other) => other !== key), key] });
}

function compare() {
  const all = headsOf(state.kind).map(headKey);
  const free = all.slice(all.indexOf(state.heads.at(-1))).concat(all).find((key) => !state.heads.includes(key));
  if (free && state.heads.length < MAX_HEADS) change({ heads: [...state.heads, free] });
}

function stepMeasure(by) {
  const names = facts.measures.filter((measure) => measure.menu && measure.kinds[state.kind]).map(({ name }) => name);
  change({ measure: names[(names.indexOf(state.measure) + by + names.length) % names.length] });
}

function stepOrder() {
  change({ order: ORDERS[(ORDERS.indexOf(state.order) + 1) % ORDERS.length] });
}

function stepHistory(by) {
  const last = facts.history.steps.length; // one past the last record: now
  change({ historyIndex: Math.max(0, Math.min(last, (state.historyIndex ?? last) + by)) });
}

function selectKind(kind) {
  if (kind) change({ kind: kind.name, q: null, k: null, pins: [] });
}

function removeLastHead() {
  if (state.heads.length > 1) change({ heads: state.heads.slice(0, -1) });
}

function pinFocus() {
  if (state.q !== null || state.k !== null) pin(state.q, state.k);
}

function clear() {
  point(null, null);
  change({ q: null, k: null, pins: [], historyIndex: null });
}
