// How word order enters the model, one class for each scheme of regard/model/positions. Position ids are arrays (T).

import { row, tensor } from "./tensor.js";

// A quarter of the lowest number in 32 bits, not -Infinity: a row that is all masked must stay finite.
const LOWEST = -3.4028234663852886e38 / 4;

/** No positions, and the interface of all schemes: identity unless a scheme overrides a method. */
export class Positions {
  /** Dimensions of D that the scheme reserves beside the token embedding. */
  width = 0;
  /** The longest sequence that the scheme has positions for. */
  limit = Infinity;
  /** Whether the scheme adds something to the head outputs. */
  addsToValues = false;
  /** Whether `bias` has an entry for each head of the model, pruned ones included. */
  byHead = false;

  /** What is added to, or stands beside, an embedding at this position: (D), or nothing. */
  vector() {
    return null;
  }

  /** Queries or keys (T, H·K) are rotated in place. */
  rotate() {}

  /** What to add to the scores of queries (Tq, H·K): (H, Tq, Tk); null for nothing. */
  bias() {
    return null;
  }

  /** What to add to the output (K) of a query at a position, given its weights (Tk). */
  addValueBias() {}
}

/** PE[p, 2t] = sin(p / base^(2t/D)), PE[p, 2t+1] = cos(…). Halves: all sines before all cosines.  Vaswani et al. 2017. */
export function sinusoid(position, dim, halves) {
  const count = Math.ceil(dim / 2);
  const waves = new Float32Array(2 * count);
  for (let t = 0; t < count; t++) {
    const angle = position * Math.exp(2 * t * (-Math.log(10000) / dim));
    waves[halves ? t : 2 * t] = Math.sin(angle);
    waves[halves ? count + t : 2 * t + 1] = Math.cos(angle);
  }
  return waves.subarray(0, dim);
}

/** Sinusoids of geometrically growing wavelength. */
export class Sinusoidal extends Positions {
  constructor(dim, halves) {
    super();
    this.dim = dim;
    this.halves = halves;
    this._known = new Map();
  }

  vector(position) {
    if (!this._known.has(position)) this._known.set(position, sinusoid(position, this.dim, this.halves));
    return this._known.get(position);
  }
}

/** A learned vector for each position up to a limit. */
export class Learned extends Positions {
  constructor(table) {
    super();
    this.table = table; // (positions, D)
    this.limit = table.shape[0];
  }

  vector(position) {
    requirePosition(position, this.limit);
    return row(this.table, position);
  }
}

/** The encodings of another absolute scheme, beside the embedding instead of added. */
export class Concatenated extends Positions {
  constructor(width, encoding) {
    super();
    this.width = width;
    this.limit = encoding.limit;
    this.encoding = encoding;
  }

  vector(position) {
    return this.encoding.vector(position);
  }
}

/** An embedding for each distance up to a limit, added to keys and optionally to values.  Shaw et al. 2018. */
export class Relative extends Positions {
  constructor(keys, values, heads) {
    super();
    this.keys = keys; // (2 · max_relative + 1, K)
    this.values = values;
    this.heads = heads;
    this.maxRelative = (keys.shape[0] - 1) / 2;
    this.addsToValues = values !== null;
  }

  bias(q, queryPositions, keyPositions) {
    const width = this.keys.shape[1];
    const scores = tensor([this.heads, queryPositions.length, keyPositions.length]);
    let at = 0;
    for (let h = 0; h < this.heads; h++)
      for (let i = 0; i < queryPositions.length; i++)
        for (const position of keyPositions) {
          const key = this._row(position - queryPositions[i]) * width;
          let sum = 0;
          const first = (i * this.heads + h) * width;
          for (let c = 0; c < width; c++) sum += q.data[first + c] * this.keys.data[key + c];
          scores.data[at++] = sum / Math.sqrt(width);
        }
    return scores;
  }

  addValueBias(output, weights, queryPosition, keyPositions) {
    const width = this.values.shape[1];
    for (let j = 0; j < keyPositions.length; j++) {
      const value = this._row(keyPositions[j] - queryPosition) * width;
      for (let c = 0; c < width; c++) output[c] += weights[j] * this.values.data[value + c];
    }
  }

  _row(distance) {
    return Math.min(Math.max(distance, -this.maxRelative), this.maxRelative) + this.maxRelative;
  }
}

/** What schemes share that add a number for each head and distance. */
class DistanceBias extends Positions {
  byHead = true;

  constructor(heads) {
    super();
    this.heads = heads;
  }

  bias(q, queryPositions, keyPositions) {
    const scores = tensor([this.heads, queryPositions.length, keyPositions.length]);
    let at = 0;
    for (let h = 0; h < this.heads; h++)
      for (const query of queryPositions) for (const key of keyPositions) scores.data[at++] = this.ofDistance(h, key - query);
    return scores;
  }
}

/** One learned bias for each head and distance. */
export class LearnedBias extends DistanceBias {
  constructor(table) {
    super(table.shape[0]);
    this.table = table; // (H, 2 · length - 1)
    this.limit = (table.shape[1] + 1) / 2;
  }

  ofDistance(head, distance) {
    requirePosition(Math.abs(distance), this.limit);
    return this.table.data[head * this.table.shape[1] + distance + this.limit - 1];
  }
}

/** Which bucket a distance falls into: near ones have their own, far ones share by logarithm.  Raffel et al. 2020. */
export function relativePositionBucket(distance, buckets, maxDistance, bidirectional) {
  let start = 0;
  if (bidirectional) {
    buckets = Math.floor(buckets / 2);
    start = distance > 0 ? buckets : 0;
    distance = Math.abs(distance);
  } else {
    distance = Math.max(-distance, 0);
  }
  const exact = Math.floor(buckets / 2);
  if (distance < exact) return start + distance;
  // In 32 bits, as the model was trained: at a power of the base, rounding decides which bucket it is.
  const ratio = Math.fround(Math.fround(Math.log(Math.fround(distance / exact))) / Math.fround(Math.log(maxDistance / exact)));
  return start + Math.min(exact + Math.trunc(Math.fround(ratio * (buckets - exact))), buckets - 1);
}

/** A learned bias for each head and bucket of distances. */
export class T5Bias extends DistanceBias {
  constructor(table, maxDistance, bidirectional) {
    super(table.shape[1]);
    this.table = table; // (buckets, H)
    this.maxDistance = maxDistance;
    this.bidirectional = bidirectional;
  }

  ofDistance(head, distance) {
    const bucket = relativePositionBucket(distance, this.table.shape[0], this.maxDistance, this.bidirectional);
    return this.table.data[bucket * this.heads + head];
  }
}

/** 2^(-8h/H) for H a power of two; else those of the power below, then every second one above it.  Press et al. 2022. */
function alibiSlopes(heads) {
  const below = 2 ** Math.floor(Math.log2(heads));
  const first = Array.from({ length: below }, (_, h) => 2 ** ((-8 * (h + 1)) / below));
  return [...first, ...Array.from({ length: heads - below }, (_, h) => 2 ** ((-4 * (2 * h + 1)) / below))];
}

/** Scores fall with the distance. Two-sided: half of the heads attend to the left only and half to the right only. */
export class ALiBi extends DistanceBias {
  constructor(heads, twoSided) {
    super(heads);
    const half = Math.ceil(heads / 2);
    const slopes = twoSided ? [...alibiSlopes(half), ...alibiSlopes(half)] : alibiSlopes(heads);
    this.slopes = Float32Array.from(slopes.slice(0, heads));
    this.leftHeads = twoSided ? half : null;
  }

  ofDistance(head, distance) {
    if (this.leftHeads !== null && (head < this.leftHeads ? distance > 0 : distance < 0)) return LOWEST;
    return -this.slopes[head] * Math.abs(distance);
  }
}

/** Pairs of dimensions rotated by angles p / base^(2t/K).  Su et al. 2021. */
export class Rotary extends Positions {
  constructor(rotaryDim, base, interleaved, headDim) {
    super();
    this.rotaryDim = rotaryDim;
    this.interleaved = interleaved;
    this.headDim = headDim;
    this.frequencies = Array.from({ length: rotaryDim / 2 }, (_, t) => Math.exp(2 * t * (-Math.log(base) / rotaryDim)));
  }

  rotate(x, positionIds) {
    const half = this.rotaryDim / 2;
    const [length, inner] = x.shape;
    for (let i = 0; i < length; i++)
      for (let t = 0; t < half; t++) {
        const angle = positionIds[i] * this.frequencies[t];
        const cos = Math.fround(Math.cos(angle));
        const sin = Math.fround(Math.sin(angle));
        const [first, second] = this.interleaved ? [2 * t, 2 * t + 1] : [t, t + half];
        for (let head = i * inner; head < (i + 1) * inner; head += this.headDim) {
          const x1 = x.data[head + first];
          const x2 = x.data[head + second];
          x.data[head + first] = x1 * cos - x2 * sin;
          x.data[head + second] = x1 * sin + x2 * cos;
        }
      }
  }
}

/** Another scheme, for a pruned layer: of what it has per head, the entries of the heads that were kept. */
export class SelectedHeads extends DistanceBias {
  constructor(scheme, headIds) {
    super(headIds.length);
    this.scheme = scheme;
    this.headIds = headIds;
    this.limit = scheme.limit;
  }

  ofDistance(head, distance) {
    return this.scheme.ofDistance(this.headIds[head], distance);
  }
}

function requirePosition(position, limit) {
  if (position >= limit) throw new RangeError(`a sentence of ${position + 1} tokens is too long: the model has positions for ${limit}`);
}
