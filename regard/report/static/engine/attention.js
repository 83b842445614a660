// Attention: the equation, and the module that holds its weights.

import { joinHeads, splitHeads, tensor } from "./tensor.js";

/**
 * Keys and values as rows (N, H·K). Of these rows, query i attends to `index` (Tq, Tk); null: all queries to all rows.
 * `positionIds` (Tk).
 */
export function keyValues(k, v, positionIds, index = null) {
  return { k, v, positionIds, index };
}

/** How well each query matches each key: q kᵀ / √K + bias, (H, Tq, Tk). */
export function score(q, kv, heads, bias) {
  const [length, inner] = q.shape;
  const width = inner / heads;
  const keys = kv.positionIds.length;
  const scores = tensor([heads, length, keys]);
  const divisor = Math.sqrt(width);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < length; i++) {
      const query = i * inner + h * width;
      const first = (h * length + i) * keys;
      for (let j = 0; j < keys; j++) {
        const key = keyRow(kv, i, j) * inner + h * width;
        let sum = 0;
        for (let c = 0; c < width; c++) sum += q.data[query + c] * kv.k.data[key + c];
        scores.data[first + j] = sum / divisor + (bias ? bias.data[first + j] : 0);
      }
    }
  return scores;
}

/** Softmax over the keys that a query may attend to (mask 1); exactly 0 for the others, and for a row without any. */
export function maskedSoftmax(scores, mask) {
  return eachRow(scores, mask, (row, allowed, weights) => {
    let largest = -Infinity;
    for (let j = 0; j < row.length; j++) if (allowed(j) && row[j] > largest) largest = row[j];
    const exponents = new Float64Array(row.length);
    let sum = 0;
    for (let j = 0; j < row.length; j++) if (allowed(j)) sum += exponents[j] = Math.exp(row[j] - largest);
    if (sum) for (let j = 0; j < row.length; j++) weights[j] = exponents[j] / sum;
  });
}

/** All weight on the best key that a query may attend to, the first of several. */
export function hardAttention(scores, mask) {
  return eachRow(scores, mask, (row, allowed, weights) => {
    let best = -1;
    for (let j = 0; j < row.length; j++) if (allowed(j) && (best < 0 || row[j] > row[best])) best = j;
    if (best >= 0) weights[best] = 1;
  });
}

export const NORMALIZERS = { softmax: maskedSoftmax, argmax: hardAttention };

/** weights · v: what each head takes for each query, (H, Tq, K). */
export function weightedValues(weights, kv) {
  const [heads, length, keys] = weights.shape;
  const inner = kv.v.shape[1];
  const width = inner / heads;
  const output = tensor([heads, length, width]);
  const sums = new Float64Array(width);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < length; i++) {
      sums.fill(0);
      for (let j = 0; j < keys; j++) {
        const weight = weights.data[(h * length + i) * keys + j];
        if (weight === 0) continue;
        const value = keyRow(kv, i, j) * inner + h * width;
        for (let c = 0; c < width; c++) sums[c] += weight * kv.v.data[value + c];
      }
      output.data.set(sums, (h * length + i) * width);
    }
  return output;
}

/** Multi-head attention. Queries come from one sequence; keys and values from the same one or another. */
export class Attention {
  constructor(name, heads, projections, positions, normalizer) {
    this.name = name;
    this.heads = heads;
    this.projections = projections; // q, k, v, out
    this.positions = positions;
    this.normalizer = normalizer;
  }

  /** Keys and values of a sequence x (Tk, D) at these positions. */
  projectKv(x, positionIds, taps) {
    const k = this.projections.k.forward(x);
    this.positions.rotate(k, positionIds);
    return keyValues(this._tap(taps, "k", k), this._tap(taps, "v", this.projections.v.forward(x)), positionIds);
  }

  /** What each token of x (Tq, D), at these positions, takes from what it attends to: (Tq, D). */
  forward(x, kv, mask, positionIds, taps) {
    const projected = this.projections.q.forward(x);
    this.positions.rotate(projected, positionIds);
    const q = this._tap(taps, "q", projected);
    const added = this.positions.bias(q, positionIds, kv.positionIds);
    const bias = added && taps.pass(`${this.name}.bias`, added);
    const scores = taps.pass(`${this.name}.scores`, score(q, kv, this.heads, bias));
    const weights = taps.pass(`${this.name}.weights`, this.normalizer(scores, mask));
    const output = weightedValues(weights, kv);
    if (this.positions.addsToValues) this._addValueBias(output, weights, positionIds, kv.positionIds);
    return this.projections.out.forward(joinHeads(taps.pass(`${this.name}.head_outputs`, output)));
  }

  _addValueBias(output, weights, queryPositions, keyPositions) {
    const [heads, length, keys] = weights.shape;
    const width = output.shape[2];
    for (let row = 0; row < heads * length; row++)
      this.positions.addValueBias(
        output.data.subarray(row * width, (row + 1) * width),
        weights.data.subarray(row * keys, (row + 1) * keys),
        queryPositions[row % length],
        keyPositions,
      );
  }

  /** Rows (T, H·K), observed as (H, T, K). */
  _tap(taps, name, rows) {
    const path = `${this.name}.${name}`;
    return taps.wants(path) ? joinHeads(taps.pass(path, splitHeads(rows, this.heads))) : rows;
  }
}

function keyRow(kv, query, key) {
  return kv.index ? kv.index[query * kv.positionIds.length + key] : key;
}

/** A tensor like scores (H, Tq, Tk), each row written by a function of its scores; mask (Tq, Tk) or null. */
function eachRow(scores, mask, write) {
  const [heads, length, keys] = scores.shape;
  const weights = tensor(scores.shape);
  for (let row = 0; row < heads * length; row++) {
    const first = row * keys;
    const allowed = mask ? (j) => mask[(row % length) * keys + j] === 1 : () => true;
    write(scores.data.subarray(first, first + keys), allowed, weights.data.subarray(first, first + keys));
  }
  return weights;
}
