// The state that every view draws from. The address stores it, so a link restores the same view.

import { facts, headOf, headsOf, kindOf, measureOf, headKey } from "./data.js";

export const VIEWS = ["lines", "heat", "both", "table"];
export const ORDERS = ["layer", "role", "importance"];
export const THEMES = ["auto", "light", "dark"];
export const MAX_HEADS = 8; // one per color that stays distinguishable
export const MAX_PINS = 3;

const listeners = new Set();
export const state = defaults();
/** The tokens {q, k} at the pointer (null: none); never part of the address. */
export const hover = { q: null, k: null };

/** Call a listener after every change. */
export function onChanged(listener) {
  listeners.add(listener);
}

export function change(patch) {
  Object.assign(state, patch);
  validateState();
  const hash = toHash();
  if (location.hash !== hash) history.replaceState(null, "", hash);
  notify();
}

export function point(q, k) {
  if (hover.q === q && hover.k === k) return;
  hover.q = q;
  hover.k = k;
  notify({ pointing: true });
}

/** The tokens in focus: at the pointer, else at the keyboard's cursor. */
export function focus() {
  return hover.q !== null || hover.k !== null ? hover : { q: state.q, k: state.k };
}

/** The head selected last; keys that step from head to head move it. */
export function mainHead() {
  return headOf(state.kind, state.heads.at(-1));
}

/** Whether the measure is one of all layers and heads together, so that no head has its own matrix. */
export function isShared() {
  return Boolean(measureOf(state.measure)?.kinds[state.kind]?.shared);
}

/** The heads that are drawn: one stands for all of them where they share a matrix. */
export function selectedHeads() {
  if (isShared()) return [mainHead()];
  return state.heads.map((key) => headOf(state.kind, key));
}

/** Select one head, or with `additive` toggle it among those selected. */
export function selectHead(key, additive) {
  if (!additive) return change({ heads: [key] });
  const others = state.heads.filter((other) => other !== key);
  const wasSelected = others.length < state.heads.length;
  change({ heads: wasSelected && others.length ? others : [...others, key].slice(-MAX_HEADS) });
}

/** Toggle the pin of a cell or a token. */
export function pin(q, k) {
  const name = `${q ?? ""}.${k ?? ""}`;
  const others = state.pins.filter((other) => other !== name);
  change({ pins: others.length < state.pins.length ? others : [...others, name].slice(-MAX_PINS), q, k });
}

export function pins() {
  return state.pins.map((name, i) => {
    const [q, k] = name.split(".").map((text) => (text === "" ? null : Number(text)));
    return { q, k, letter: "ABC"[i] };
  });
}

/** Read the state from the address. */
export function readAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d+$/.test(params.get(name) ?? "") ? Number(params.get(name)) : null);
  const list = (name) => (params.get(name) ?? "").split(",").filter((text) => text !== "");
  Object.assign(state, defaults());
  for (const name of ["kind", "view", "measure", "order", "theme"]) if (params.has(name)) state[name] = params.get(name);
  for (const name of ["words", "specialTokens", "root", "fit"]) if (params.has(name)) state[name] = params.get(name) === "1";
  if (params.has("heads")) state.heads = list("heads");
  Object.assign(state, { q: number("q"), k: number("k"), historyIndex: number("historyIndex"), pins: list("pins") });
  validateState();
  notify();
}

function defaults() {
  const kind = (facts.kinds.find(({ name }) => name === "cross") ?? facts.kinds[0]).name;
  return {
    kind, heads: [firstHead(kind)], view: "both", measure: "weight", words: false, specialTokens: true, root: false, fit: true,
    q: null, k: null, pins: [], order: "layer", theme: "auto", historyIndex: null,
  };
}

/** The head selected at first: the best alignment head, else the one with the largest lift of its role, else the first. */
function firstHead(kind) {
  const aligner = headsOf(kind).find((head) => head.name === facts.aligner);
  if (aligner) return headKey(aligner);
  const withRole = headsOf(kind).filter((head) => head.role !== null && head.lift !== null);
  const best = withRole.reduce((a, b) => (a && a.lift >= b.lift ? a : b), null);
  return headKey(best ?? headsOf(kind)[0]);
}

/** An address may be typed by hand or come from another page: replace what does not exist here. */
function validateState() {
  const ensure = (name, isValid, fallback) => {
    if (!isValid(state[name])) state[name] = fallback();
  };
  ensure("kind", (kind) => kindOf(kind), () => facts.kinds[0].name);
  ensure("view", (view) => VIEWS.includes(view), () => "both");
  ensure("order", (order) => ORDERS.includes(order), () => "layer");
  ensure("theme", (theme) => THEMES.includes(theme), () => "auto");
  ensure("measure", (measure) => measureOf(measure)?.kinds[state.kind], () => "weight");
  if (state.historyIndex >= facts.history.steps.length) state.historyIndex = null; // null: now
  state.heads = [...new Set(state.heads)].filter((key) => headOf(state.kind, key)).slice(-MAX_HEADS);
  if (!state.heads.length) state.heads = [firstHead(state.kind)];
  const kind = kindOf(state.kind);
  const [rows, columns] = [kind.rows, kind.columns].map((side) => facts.sides[side].tokens.length);
  if (state.q >= rows) state.q = null;
  if (state.k >= columns) state.k = null;
  state.pins = state.pins.filter((name) => {
    const [q, k] = name.split(".");
    return /^\d*\.\d*$/.test(name) && name !== "." && Number(q) < rows && Number(k) < columns;
  }).slice(-MAX_PINS);
}

function toHash() {
  const initial = defaults();
  const params = new URLSearchParams({ kind: state.kind, heads: state.heads.join(",") });
  for (const name of ["view", "measure", "order", "theme"]) if (state[name] !== initial[name]) params.set(name, state[name]);
  for (const name of ["words", "specialTokens", "root", "fit"]) if (state[name] !== initial[name]) params.set(name, state[name] ? "1" : "0");
  for (const name of ["q", "k", "historyIndex"]) if (state[name] !== null) params.set(name, state[name]);
  if (state.pins.length) params.set("pins", state.pins.join(","));
  return `#${params.toString().replaceAll("%2C", ",")}`;
}

function notify(event = { pointing: false }) {
  for (const listener of listeners) listener(event);
}
