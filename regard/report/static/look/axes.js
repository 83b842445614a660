// Rows and columns as displayed: subword tokens or whole words, with or without special tokens.

import { facts, kindOf, matrix, measureOf, tokenMeans } from "./data.js";

const UNKNOWN_POSITION = "unknown: too few sentences of the corpus reach this position";
const UNKNOWN_LAYER = "unknown: this layer needs a corpus";

const MAX_CACHED = 400; // a moving pointer requests the same matrix many times per second
const matrixCache = new Map();

/** One entry per row (or column): its label and the tokens it consists of. */
export function axis(side, mergeWords, showSpecial) {
  const { tokens, word_ids: wordIds, special_tokens_mask: special, words } = facts.sides[side];
  const entries = [];
  const hidden = [];
  tokens.forEach((token, i) => {
    if (special[i] && !showSpecial) {
      hidden.push(i);
    } else if (mergeWords && wordIds[i] >= 0 && entries.length && entries.at(-1).word === wordIds[i]) {
      entries.at(-1).parts.push(i);
    } else {
      const continues = i > 0 && wordIds[i] >= 0 && wordIds[i] === wordIds[i - 1];
      const label = mergeWords && wordIds[i] >= 0 ? words[wordIds[i]] : tokenLabel(token, continues);
      entries.push({ label, parts: [i], word: wordIds[i], special: special[i] });
    }
  });
  return { entries, hidden };
}

/** Both axes of a kind in the current state. */
export function axesOf(state) {
  return cached(`${state.kind}/${state.words}/${state.specialTokens}`, () => {
    const kind = kindOf(state.kind);
    const [rows, columns] = [kind.rows, kind.columns].map((side) => axis(side, state.words, state.specialTokens));
    return { rows, columns };
  });
}

/** The entry that contains a token, or -1. */
export function entryOf(side, token) {
  return token === null ? -1 : side.entries.findIndex((entry) => entry.parts.includes(token));
}

/**
 * A head's matrix on the displayed axes; null while it is loading.
 * Rows of a word are the mean over its tokens, columns the sum, so rows still sum to 1.
 * Measures that are not shares (scores) are averaged over both.
 */
export function displayedMatrix(state, head, measure = state.measure) {
  const tokenMatrix = matrix(state.kind, measure, head);
  const name = `${head.name}/${measure}/${state.words}/${state.specialTokens}`;
  if (!tokenMatrix) return null;
  return cached(name, () => {
    const merged = mergeTokens(tokenMatrix, axesOf(state), measureOf(measure).keys === "sum");
    const unknown = unknownOf(state, head, measure);
    merged.values.forEach((_, i) => {
      if (unknown(Math.floor(i / merged.columns), i % merged.columns)) merged.values[i] = NaN; // not the mean of the rest
    });
    return merged;
  });
}

/** A predicate for cells: whether the terms of a score are unknown there: nothing was measured, or no sentence that long. */
export function unknownOf(state, head, measure = state.measure) {
  if (!facts.terms.includes(measure)) return () => false;
  const known = head.knownPositions ?? [0, 0];
  const { rows, columns } = axesOf(state);
  const masked = maskOf(state);
  const isBeyond = (entry, count) => entry.parts.some((token) => token >= count);
  return (row, column) => {
    const beyond = isBeyond(rows.entries[row], known[0]) || isBeyond(columns.entries[column], known[1]);
    return beyond && !masked(row, column);
  };
}

/** Why the terms of a cell that `unknownOf` has found are unknown. */
export function unknownReason(head) {
  return head.knownPositions ? UNKNOWN_POSITION : UNKNOWN_LAYER;
}

/** Queries and keys of a head's sentence whose terms are unknown, in words; empty where all are known. */
export function describeUnknown(state, head) {
  if (!head.knownPositions) return UNKNOWN_LAYER;
  const kind = kindOf(state.kind);
  const counts = [["queries", kind.rows], ["keys", kind.columns]].map(([name, side], i) => {
    const total = facts.sides[side].tokens.length;
    return head.knownPositions[i] < total ? `${total - head.knownPositions[i]} of ${total} ${name}` : null;
  }).filter(Boolean);
  return counts.length ? `unknown, and not counted: ${counts.join(" and ")}; too few sentences of the corpus are that long` : "";
}

function mergeTokens(tokenMatrix, axes, summed) {
  const rows = axes.rows.entries;
  const columns = axes.columns.entries;
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, r) => {
    columns.forEach((column, c) => {
      values[r * columns.length + c] = cell(tokenMatrix, row.parts, column.parts, summed);
    });
  });
  return { rows: rows.length, columns: columns.length, values };
}

/** A predicate for cells: whether a column comes after the row, so that the causal mask hides it. */
export function maskOf(state) {
  const { rows, columns } = axesOf(state);
  if (!kindOf(state.kind).causal) return () => false;
  return (row, column) => columns.entries[column].parts[0] > rows.entries[row].parts.at(-1);
}

/**
 * The mean of a column over the displayed rows: {value, atLeast}; its value is NaN where it is not known.
 * Where the page keeps only the largest keys of each row, the mean of all cells is stored for single tokens and all
 * queries. Otherwise the cells that are kept give a lower bound, unless those that are not may be negative.
 */
export function meanOfColumn(state, head, column) {
  const matrixShown = displayedMatrix(state, head);
  if (!matrixShown) return { value: NaN, atLeast: false };
  const { rows, columns, values } = matrixShown;
  const all = Array.from({ length: rows }, (_, r) => values[r * columns + column]).filter((value) => !Number.isNaN(value));
  const sum = all.reduce((a, b) => a + b, 0);
  const { signed, kinds } = measureOf(state.measure);
  if (!kinds[state.kind].top_k) return { value: all.length ? sum / all.length : NaN, atLeast: false };
  const axes = axesOf(state);
  const isSingle = (entry) => entry.parts.length === 1;
  if (!axes.rows.hidden.length && axes.rows.entries.every(isSingle) && isSingle(axes.columns.entries[column])) {
    const means = tokenMeans(state.kind, state.measure, head);
    return { value: means ? means[axes.columns.entries[column].parts[0]] : NaN, atLeast: false };
  }
  const isBound = !signed && !values.every(Number.isNaN);
  return { value: isBound ? sum / rows : NaN, atLeast: isBound };
}

/** Whether some tokens of a cell are not stored, because they are not among the largest keys of their rows. */
export function lacksTokens(state, head, row, column) {
  const tokenMatrix = matrix(state.kind, state.measure, head);
  if (!tokenMatrix || !measureOf(state.measure).kinds[state.kind].top_k) return false;
  const axes = axesOf(state);
  const isCausal = kindOf(state.kind).causal;
  return axes.rows.entries[row].parts.some((r) => axes.columns.entries[column].parts.some(
    (c) => Number.isNaN(tokenMatrix.values[r * tokenMatrix.columns + c]) && !(isCausal && c > r),
  ));
}

/** The mass of a row on hidden columns. */
export function hiddenMass(state, head, row) {
  const axes = axesOf(state);
  const tokenMatrix = matrix(state.kind, state.measure, head);
  if (!tokenMatrix || !axes.columns.hidden.length || !measureOf(state.measure).normalized) return 0;
  return cell(tokenMatrix, axes.rows.entries[row].parts, axes.columns.hidden, true);
}

function cached(name, compute) {
  if (!matrixCache.has(name)) {
    if (matrixCache.size >= MAX_CACHED) matrixCache.clear();
    matrixCache.set(name, compute());
  }
  return matrixCache.get(name);
}

function cell(tokenMatrix, rows, columns, summed) {
  const { values, columns: width } = tokenMatrix;
  if (rows.length === 1 && columns.length === 1) return values[rows[0] * width + columns[0]];
  let sum = 0;
  let count = 0;
  for (const r of rows) {
    for (const c of columns) {
      const value = values[r * width + c];
      if (Number.isNaN(value)) continue;
      sum += value;
      count += 1;
    }
  }
  return count === 0 ? NaN : sum / (summed ? rows.length : count);
}

/** A token without the tokenizer's word mark; a dot marks a token that continues a word. */
function tokenLabel(token, continues) {
  const plain = token.replace(/^(▁|##)/, "");
  if (plain === "") return "␣";
  return continues ? `·${plain}` : plain;
}
