// Rows and columns as they are shown: pieces or whole words, with or without the marks of begin and end.

import { facts, kindOf, matrix, measureOf } from "./data.js";

const MOST_REMEMBERED = 400; // a pointer that moves asks for the same matrix many times a second
const memory = new Map();

/** One entry a row (or column): its label and the pieces it is made of. */
export function axis(side, words, marks) {
  const { pieces, word, special, words: texts } = facts.sides[side];
  const entries = [];
  let hidden = [];
  pieces.forEach((piece, i) => {
    if (special[i] && !marks) {
      hidden.push(i);
    } else if (words && word[i] >= 0 && entries.length && entries.at(-1).word === word[i]) {
      entries.at(-1).parts.push(i);
    } else {
      const text = words && word[i] >= 0 ? texts[word[i]] : written(piece, i > 0 && word[i] >= 0 && word[i] === word[i - 1]);
      entries.push({ label: text, parts: [i], word: word[i], special: special[i] });
    }
  });
  return { entries, hidden };
}

/** Both axes of a kind in the present state. */
export function axesOf(state) {
  return remembered(`${state.kind}/${state.words}/${state.marks}`, () => {
    const kind = kindOf(state.kind);
    return { rows: axis(kind.rows, state.words, state.marks), columns: axis(kind.columns, state.words, state.marks) };
  });
}

/** The entry that holds a piece, or -1. */
export function entryOf(side, piece) {
  return piece === null ? -1 : side.entries.findIndex((entry) => entry.parts.includes(piece));
}

/**
 * A head's matrix on the shown axes; null while it is being read.
 * A word looks as its pieces do on average, and is looked at as its pieces are together: rows still sum to 1.
 * Measures that are no shares (scores) are averaged both ways.
 */
export function shown(state, head, measure = state.measure) {
  const pieces = matrix(state.kind, measure, head);
  const name = `${head.name}/${measure}/${state.words}/${state.marks}`;
  return pieces && remembered(name, () => merged(pieces, axesOf(state), measureOf(measure).keys === "sum"));
}

export function merged(pieces, axes, summed) {
  const rows = axes.rows.entries;
  const columns = axes.columns.entries;
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, r) => {
    columns.forEach((column, c) => {
      values[r * columns.length + c] = cell(pieces, row.parts, column.parts, summed);
    });
  });
  return { rows: rows.length, columns: columns.length, values };
}

/** A test for cells: whether a row may not look at a column, because it comes later. */
export function maskOf(state) {
  const { rows, columns } = axesOf(state);
  if (!kindOf(state.kind).causal) return () => false;
  return (row, column) => columns.entries[column].parts[0] > rows.entries[row].parts.at(-1);
}

/** How much of a row goes to columns that are hidden. */
export function hiddenMass(state, head, row) {
  const axes = axesOf(state);
  const pieces = matrix(state.kind, state.measure, head);
  if (!pieces || !axes.columns.hidden.length || !measureOf(state.measure).total) return 0;
  return cell(pieces, axes.rows.entries[row].parts, axes.columns.hidden, true);
}

function remembered(name, make) {
  if (!memory.has(name)) {
    if (memory.size >= MOST_REMEMBERED) memory.clear();
    memory.set(name, make());
  }
  return memory.get(name);
}

function cell(pieces, rows, columns, summed) {
  if (rows.length === 1 && columns.length === 1) return pieces.values[rows[0] * pieces.columns + columns[0]];
  let sum = 0;
  let count = 0;
  for (const r of rows) {
    for (const c of columns) {
      const value = pieces.values[r * pieces.columns + c];
      if (Number.isNaN(value)) continue;
      sum += value;
      count += 1;
    }
  }
  return count === 0 ? NaN : sum / (summed ? rows.length : count);
}

/** A piece for people: no mark of the tokeniser, but a dot where it goes on with the word before. */
function written(piece, goesOn) {
  const plain = piece.replace(/^(▁|##)/, "");
  if (plain === "") return "␣";
  return goesOn ? `·${plain}` : plain;
}
