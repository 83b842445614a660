// What is chosen: one object that every view draws from, written into the address so that a link shows the same.

import { facts, headOf, headsOf, kindOf, measureOf, placeOf } from "./data.js";

export const VIEWS = ["lines", "heat", "both", "table"];
export const ORDERS = ["layer", "role", "importance"];
export const THEMES = ["auto", "light", "dark"];
export const MOST_HEADS = 8; // as many as there are colours that every eye can tell apart
export const MOST_PINS = 3;

const listeners = new Set();
export const state = defaults();
/** What the pointer is over, {q, k} in pieces (null: none); never part of the address. */
export const hover = { q: null, k: null };

/** Be told of every change. */
export function whenChanged(listener) {
  listeners.add(listener);
}

export function change(patch) {
  Object.assign(state, patch);
  repair();
  const hash = written();
  if (location.hash !== hash) history.replaceState(null, "", hash);
  tell();
}

export function point(q, k) {
  if (hover.q === q && hover.k === k) return;
  hover.q = q;
  hover.k = k;
  tell({ pointing: true });
}

/** Where attention is now: under the pointer, else at the keyboard's cursor. */
export function focus() {
  return hover.q !== null || hover.k !== null ? hover : { q: state.q, k: state.k };
}

/** The head that moves when one steps from head to head: the last chosen. */
export function mainHead() {
  return headOf(state.kind, state.heads.at(-1));
}

export function chosenHeads() {
  return state.heads.map((place) => headOf(state.kind, place));
}

/** Choose one head, or with `more` add it to those chosen (or take it away again). */
export function choose(place, more) {
  if (!more) return change({ heads: [place] });
  const others = state.heads.filter((other) => other !== place);
  const taken = others.length < state.heads.length;
  change({ heads: taken && others.length ? others : [...others, place].slice(-MOST_HEADS) });
}

/** Pin a cell or a token, or unpin it. */
export function pin(q, k) {
  const name = `${q ?? ""}.${k ?? ""}`;
  const others = state.pins.filter((other) => other !== name);
  change({ pins: others.length < state.pins.length ? others : [...others, name].slice(-MOST_PINS), q, k });
}

export function pins() {
  return state.pins.map((name, i) => {
    const [q, k] = name.split(".").map((text) => (text === "" ? null : Number(text)));
    return { q, k, letter: "ABC"[i] };
  });
}

/** Take the state from the address. */
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d+$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  const list = (name) => (given.get(name) ?? "").split(",").filter((text) => text !== "");
  Object.assign(state, defaults());
  for (const name of ["kind", "view", "measure", "order", "theme"]) if (given.has(name)) state[name] = given.get(name);
  for (const name of ["words", "marks", "root", "fit"]) if (given.has(name)) state[name] = given.get(name) === "1";
  if (given.has("heads")) state.heads = list("heads");
  Object.assign(state, { q: number("q"), k: number("k"), moment: number("moment"), pins: list("pins") });
  repair();
  tell();
}

function defaults() {
  const kind = (facts.kinds.find((each) => each.name === "cross") ?? facts.kinds[0]).name;
  return {
    kind, heads: [firstHead(kind)], view: "both", measure: "weight", words: false, marks: true, root: false, fit: true,
    q: null, k: null, pins: [], order: "layer", theme: "auto", moment: null,
  };
}

/** The head one would like to see first: the best aligner, else the surest role, else the first of all. */
function firstHead(kind) {
  const aligner = headsOf(kind).find((head) => head.name === facts.aligner);
  if (aligner) return placeOf(aligner);
  const sure = headsOf(kind).filter((head) => head.role !== null && head.lift !== null);
  const best = sure.reduce((a, b) => (a && a.lift >= b.lift ? a : b), null);
  return placeOf(best ?? headsOf(kind)[0]);
}

/** An address may be typed by hand or come from another page: what does not exist here gives way. */
function repair() {
  const fresh = (name, allowed, otherwise) => {
    if (!allowed(state[name])) state[name] = otherwise();
  };
  fresh("kind", (kind) => kindOf(kind), () => facts.kinds[0].name);
  fresh("view", (view) => VIEWS.includes(view), () => "both");
  fresh("order", (order) => ORDERS.includes(order), () => "layer");
  fresh("theme", (theme) => THEMES.includes(theme), () => "auto");
  fresh("measure", (measure) => measureOf(measure)?.kinds[state.kind], () => "weight");
  if (state.moment >= facts.history.steps.length) state.moment = null; // the last of them is followed by now
  state.heads = [...new Set(state.heads)].filter((place) => headOf(state.kind, place)).slice(-MOST_HEADS);
  if (!state.heads.length) state.heads = [firstHead(state.kind)];
  const kind = kindOf(state.kind);
  const [rows, columns] = [kind.rows, kind.columns].map((side) => facts.sides[side].pieces.length);
  if (state.q >= rows) state.q = null;
  if (state.k >= columns) state.k = null;
  state.pins = state.pins.filter((name) => {
    const [q, k] = name.split(".");
    return /^\d*\.\d*$/.test(name) && name !== "." && Number(q) < rows && Number(k) < columns;
  }).slice(-MOST_PINS);
}

function written() {
  const plain = defaults();
  const given = new URLSearchParams({ kind: state.kind, heads: state.heads.join(",") });
  for (const name of ["view", "measure", "order", "theme"]) if (state[name] !== plain[name]) given.set(name, state[name]);
  for (const name of ["words", "marks", "root", "fit"]) if (state[name] !== plain[name]) given.set(name, state[name] ? "1" : "0");
  for (const name of ["q", "k", "moment"]) if (state[name] !== null) given.set(name, state[name]);
  if (state.pins.length) given.set("pins", state.pins.join(","));
  return `#${given.toString().replaceAll("%2C", ",")}`;
}

function tell(how = { pointing: false }) {
  for (const listener of listeners) listener(how);
}
