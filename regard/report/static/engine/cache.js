// What decoding keeps: keys and values of the tokens so far, and those of the source.

import { keyValues } from "./attention.js";
import { tensor } from "./tensor.js";

/** Nothing is kept: all tokens are given at once. */
export class NoCache {
  extend(name, kv) {
    return kv;
  }
}

/**
 * Keys and values of every token that was decoded, by attention. They are never moved: of R beams each has a path,
 * the rows that its tokens have in the cache, and to continue with other beams is to copy paths.
 */
export class KVCache {
  constructor() {
    this._stores = new Map();
    this._rows = 0; // tokens that are stored
    this.paths = [[]]; // one beam without tokens
  }

  /** Tokens of each beam. */
  get length() {
    return this.paths[0].length;
  }

  /** Make room in the paths for the next token of each beam, or for the first tokens of a single beam. */
  advance(count) {
    const single = this.paths.length === 1;
    this.paths.forEach((path, i) => {
      if (single) for (let t = 0; t < count; t++) path.push(this._rows + t);
      else path.push(this._rows + i);
    });
    this._rows += count;
    this._index = single && count > 1 ? null : Int32Array.from(this.paths.flat());
  }

  /** Add the keys and values of new tokens; what the queries of these tokens attend to. */
  extend(name, { k, v }) {
    if (!this._stores.has(name)) this._stores.set(name, { k: new Rows(k.shape[1]), v: new Rows(v.shape[1]) });
    const store = this._stores.get(name);
    const positionIds = Array.from({ length: this.length }, (_, i) => i);
    return keyValues(store.k.append(k), store.v.append(v), positionIds, this._index);
  }

  /** Continue with these beams. */
  select(beams) {
    this.paths = beams.map((beam) => [...this.paths[beam]]);
  }
}

/** Rows that grow in number; their memory doubles. */
class Rows {
  constructor(width) {
    this._width = width;
    this._count = 0;
    this._data = new Float32Array(32 * width);
  }

  append(rows) {
    const end = (this._count + rows.shape[0]) * this._width;
    if (end > this._data.length) {
      const larger = new Float32Array(Math.max(2 * this._data.length, end));
      larger.set(this._data.subarray(0, this._count * this._width));
      this._data = larger;
    }
    this._data.set(rows.data, this._count * this._width);
    this._count += rows.shape[0];
    return tensor([this._count, this._width], this._data);
  }
}

/** What the decoder knows of the source: the encoder's states (S, D), a mask (S) or null, and positions. */
export class EncodedSource {
  constructor(states, mask, positionIds) {
    this.states = states;
    this.mask = mask;
    this.positionIds = positionIds;
    this._keyValues = new Map();
  }

  /** Keys and values of the source in an attention, computed once. */
  keyValues(attention, taps) {
    if (!this._keyValues.has(attention.name))
      this._keyValues.set(attention.name, attention.projectKv(this.states, this.positionIds, taps));
    return this._keyValues.get(attention.name);
  }
}
