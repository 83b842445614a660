// Every action has a key; the help is made of the same list, so it cannot be wrong.

import { axesOf, entryOf } from "./axes.js";
import { facts, headsOf, kindOf, placeOf } from "./data.js";
import { byId, make } from "./page.js";
import { saveSvg, savePng } from "./save.js";
import { MOST_HEADS, ORDERS, change, pin, point, state } from "./state.js";
import { dark } from "./colour.js";

const LETTERS = { l: "lines", h: "heat", b: "both", t: "table" };
// Which keys, how they are written, what they do.
const ACTIONS = [
  { keys: ["ArrowUp", "ArrowDown"], told: "↑ ↓", what: "the token that looks", run: (key) => moveRow(key === "ArrowUp" ? -1 : 1) },
  { keys: ["ArrowLeft", "ArrowRight"], told: "← →", what: "the token that is looked at", run: (key) => moveColumn(key === "ArrowLeft" ? -1 : 1) },
  { keys: ["[", "]"], told: "[ ]", what: "layer below, above", run: (key) => stepLayer(key === "[" ? -1 : 1) },
  { keys: [",", "."], told: ", .", what: "head before, after", run: (key) => stepHead(key === "," ? -1 : 1) },
  { keys: ["c"], told: "c", what: "compare: keep this head and choose another beside it", run: compare },
  { keys: ["Backspace"], told: "⌫", what: "let go of the head chosen last", run: letGo },
  { keys: ["1", "2", "3"], told: "1 2 3", what: "encoder, decoder, cross", run: (key) => chooseKind(facts.kinds[key - 1]) },
  { keys: ["l", "h", "b", "t"], told: "l h b t", what: "lines, heat map, both, table", run: (key) => change({ view: LETTERS[key] }) },
  { keys: ["m", "M"], told: "m M", what: "next measure, previous measure", run: (key) => stepMeasure(key === "m" ? 1 : -1) },
  { keys: ["w"], told: "w", what: "pieces or whole words", run: () => change({ words: !state.words }) },
  { keys: ["s"], told: "s", what: "show or hide begin and end marks", run: () => change({ marks: !state.marks }) },
  { keys: ["r"], told: "r", what: "root scale: makes small numbers visible", run: () => change({ root: !state.root }) },
  { keys: ["f"], told: "f", what: "fit the heat map, or reading size", run: () => change({ fit: !state.fit }) },
  { keys: ["o"], told: "o", what: "order of the map: layer, role, importance", run: stepOrder },
  { keys: ["{", "}"], told: "{ }", what: "roles earlier in training, later", run: (key) => stepMoment(key === "{" ? -1 : 1) },
  { keys: ["p", "Enter"], told: "p ⏎", what: "pin what is in focus, or unpin it", run: pinFocus },
  { keys: ["Escape"], told: "Esc", what: "forget focus and pins; roles of now", run: clear },
  { keys: ["d"], told: "d", what: "dark or light", run: () => change({ theme: dark() ? "light" : "dark" }) },
  { keys: ["e", "i"], told: "e i", what: "save as SVG, as PNG", run: (key) => (key === "e" ? saveSvg() : savePng()) },
  { keys: ["?"], told: "?", what: "this list", run: () => byId("help").showModal() },
];

export function watchKeys() {
  const list = byId("keylist");
  for (const { told, what } of ACTIONS) {
    const keys = told.split(" ").map((key) => make("kbd", {}, key));
    list.append(make("dt", {}, ...keys), make("dd", {}, what));
  }
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("select, input:not([type=range]), dialog[open]") || event.ctrlKey || event.metaKey || event.altKey;
    const pressing = event.key === "Enter" && event.target.closest?.("button, summary, a");
    if (busy || pressing) return;
    if (event.target.closest?.("#map") && event.key.startsWith("Arrow")) return walkMap(event);
    if (event.target.closest?.("input") && !["{", "}", "Escape"].includes(event.key)) return; // a slider has keys of its own
    const action = ACTIONS.find(({ keys }) => keys.includes(event.key));
    if (!action) return;
    event.preventDefault();
    action.run(event.key);
  });
}

/** Arrows inside the map go from head to head, as in any grid. */
function walkMap(event) {
  event.preventDefault();
  const every = [...document.querySelectorAll("#map [role=row]")].map((row) => [...row.querySelectorAll("button")]);
  const rows = every.filter((row) => row.length);
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
  const at = entryOf(axesOf(state)[side], state[name]);
  const next = at < 0 ? (by > 0 ? 0 : entries.length - 1) : Math.max(0, Math.min(entries.length - 1, at + by));
  point(null, null);
  change({ [name]: entries[next].parts[0] });
}

function stepHead(by) {
  const all = headsOf(state.kind).map(placeOf);
  const at = all.indexOf(state.heads.at(-1));
  swap(all[(at + by + all.length) % all.length]);
}

function stepLayer(by) {
  const { heads } = kindOf(state.kind);
  const [layer, number] = state.heads.at(-1).split(".").map(Number);
  const next = (layer + by + heads.length) % heads.length;
  const found = heads[next].find((head) => head.head === number) ?? heads[next][0];
  if (found) swap(placeOf(found));
}

/** The last chosen head moves, the others stay. */
function swap(place) {
  change({ heads: [...state.heads.slice(0, -1).filter((other) => other !== place), place] });
}

function compare() {
  const all = headsOf(state.kind).map(placeOf);
  const free = all.slice(all.indexOf(state.heads.at(-1))).concat(all).find((place) => !state.heads.includes(place));
  if (free && state.heads.length < MOST_HEADS) change({ heads: [...state.heads, free] });
}

function stepMeasure(by) {
  const here = facts.measures.filter((measure) => measure.menu && measure.kinds[state.kind]).map(({ name }) => name);
  change({ measure: here[(here.indexOf(state.measure) + by + here.length) % here.length] });
}

function stepOrder() {
  change({ order: ORDERS[(ORDERS.indexOf(state.order) + 1) % ORDERS.length] });
}

function stepMoment(by) {
  const now = facts.history.steps.length;
  change({ moment: Math.max(0, Math.min(now, (state.moment ?? now) + by)) });
}

function chooseKind(kind) {
  if (kind) change({ kind: kind.name, q: null, k: null, pins: [] });
}

function letGo() {
  if (state.heads.length > 1) change({ heads: state.heads.slice(0, -1) });
}

function pinFocus() {
  if (state.q !== null || state.k !== null) pin(state.q, state.k);
}

function clear() {
  point(null, null);
  change({ q: null, k: null, pins: [], moment: null });
}
