// Embedding, stack, and the models made of stacks. Ids in, states and logits out.

import { EncodedSource, KVCache, NoCache } from "./cache.js";
import { NO_TAPS } from "./taps.js";
import { tensor } from "./tensor.js";
import { addRow } from "./weights.js";

/** Token embeddings, scaled, with position encodings.  Vaswani et al. 2017, section 3.4. */
export class TokenEmbedding {
  constructor(tokens, positions, scale, tokenTypes, norm) {
    this.tokens = tokens; // (V, D - width)
    this.positions = positions;
    this.scale = scale;
    this.tokenTypes = tokenTypes; // (types, D) or null; all tokens are of the first type
    this.norm = norm;
  }

  /** Ids (T) at these positions -> (T, D). */
  forward(ids, positionIds) {
    const width = this.tokens.columns;
    const dim = width + this.positions.width;
    const x = tensor([ids.length, dim]);
    const sums = new Float64Array(dim);
    for (let i = 0; i < ids.length; i++) {
      sums.fill(0);
      addRow(this.tokens, ids[i], this.scale, sums);
      const vector = this.positions.vector(positionIds[i]);
      const first = this.positions.width ? width : 0;
      if (vector) for (let c = 0; c < vector.length; c++) sums[first + c] += vector[c];
      if (this.tokenTypes) for (let c = 0; c < dim; c++) sums[c] += this.tokenTypes.data[c];
      x.data.set(sums, i * dim);
    }
    return this.norm.forward(x);
  }
}

/** Ids (T) -> states (T, D): an encoder, or a decoder with a source or without one. */
export class TransformerStack {
  constructor(name, embedding, layers, norm) {
    this.name = name;
    this.embedding = embedding;
    this.layers = layers;
    this.norm = norm;
    const schemes = [embedding.positions, ...layers.map((layer) => layer.self_attn.positions)];
    this.maxLength = Math.min(...schemes.map((scheme) => scheme.limit));
  }

  /** `pass`: { positionIds, mask (Tq, Tk) or null, cache, source or null, taps }. */
  forward(ids, pass) {
    let x = pass.taps.pass(`${this.name}.embed`, this.embedding.forward(ids, pass.positionIds));
    for (const layer of this.layers) x = layer.forward(x, pass);
    return pass.taps.pass(`${this.name}.norm`, this.norm.forward(x));
  }
}

/** One stack, or an encoder and a decoder; `output` projects states to logits. */
export class Model {
  constructor(kind, parts) {
    this.kind = kind; // encoder-decoder, source-target-decoder, encoder, decoder
    Object.assign(this, parts); // encoder, decoder, output, pad
  }

  /** What the decoder needs of source (S). */
  encode(source, taps = NO_TAPS) {
    const mask = paddingMask(source, this.pad);
    const positionIds = positionIdsOf(source);
    const pass = { positionIds, mask: mask && repeat(mask, source.length), cache: new NoCache(), source: null, taps };
    return new EncodedSource(this.encoder.forward(source, pass), mask, positionIds);
  }

  /** States (T, D) of target (T), given a source or none. */
  decode(target, source, taps = NO_TAPS) {
    const positionIds = positionIdsOf(target);
    const mask = causalPaddingMask(target, this.pad);
    return this.decoder.forward(target, { positionIds, mask, cache: new NoCache(), source, taps });
  }

  /** Logits (T, V) of states (T, D). */
  project(states, taps = NO_TAPS) {
    return taps.pass("output", this.output.forward(states));
  }

  /** The logits (T, V) of all tokens of one text, in a model of a single stack. */
  read(ids, taps = NO_TAPS) {
    const states = this.encoder ? this.encode(ids, taps).states : this.decode(ids, null, taps);
    return this.project(states, taps);
  }

  /** The logits (T, V) after each token of target (T), given source (S): all at once. */
  teacherForce(source, target, taps = NO_TAPS) {
    if (this.encoder) return this.project(this.decode(target, this.encode(source, taps), taps), taps);
    const states = this.decode([...source, ...target], null, taps);
    const [, dim] = states.shape;
    return this.project(tensor([target.length, dim], states.data.slice(source.length * dim)), taps);
  }
}

/** The decoder one token at a time, for R beams of one sentence: the numbers of `decode`, with a cache. */
export class IncrementalDecoder {
  /** `source`: what the encoder returned, or null. */
  constructor(model, source, taps = NO_TAPS) {
    this.model = model;
    this.source = source;
    this.taps = taps;
    this.cache = new KVCache();
  }

  /** Read the first tokens (T) at once: logits (count, V) after each of the last `count`. */
  prefill(ids, count) {
    const states = this._forward(ids, positionIdsOf(ids), causalPaddingMask(ids, -1));
    const [length, dim] = states.shape;
    return this._project(tensor([count, dim], states.data.slice((length - count) * dim)));
  }

  /** The last token of each beam (R) -> logits of the next (R, V). */
  step(lastTokens) {
    const positionIds = lastTokens.map(() => this.cache.length);
    return this._project(this._forward(lastTokens, positionIds, null));
  }

  /** Continue with these beams. */
  select(beams) {
    this.cache.select(beams);
  }

  _forward(ids, positionIds, mask) {
    this.cache.advance(ids.length);
    return this.model.decoder.forward(ids, { positionIds, mask, cache: this.cache, source: this.source, taps: this.taps });
  }

  _project(states) {
    return this.model.project(states, this.taps);
  }
}

function positionIdsOf(ids) {
  return Array.from(ids, (_, i) => i);
}

/** 1 for keys that are tokens, not padding: (T); null where all are. */
function paddingMask(ids, pad) {
  const mask = Uint8Array.from(ids, (id) => (id === pad ? 0 : 1));
  return mask.includes(0) ? mask : null;
}

/** Tokens attend to themselves and to those before them, not to padding: (T, T). */
function causalPaddingMask(ids, pad) {
  const mask = new Uint8Array(ids.length * ids.length);
  for (let i = 0; i < ids.length; i++) for (let j = 0; j <= i; j++) mask[i * ids.length + j] = ids[j] === pad ? 0 : 1;
  return mask;
}

function repeat(mask, count) {
  const rows = new Uint8Array(count * mask.length);
  for (let i = 0; i < count; i++) rows.set(mask, i * mask.length);
  return rows;
}
