// The layers around attention: norms, feed-forward, residuals, and the layer made of them.

import { silu } from "./activations.js";
import { add, row, tensor } from "./tensor.js";

/** (x - mean) / √(variance + ε) · weight + bias.  Ba et al. 2016. */
export class LayerNorm {
  constructor(weight, bias, epsilon) {
    this.weight = weight;
    this.bias = bias;
    this.epsilon = epsilon;
  }

  forward(x) {
    return mapRows(x, (from, to) => {
      let sum = 0;
      for (const number of from) sum += number;
      const mean = sum / from.length;
      let squares = 0;
      for (const number of from) squares += (number - mean) * (number - mean);
      const scale = 1 / Math.sqrt(squares / from.length + this.epsilon);
      for (let c = 0; c < from.length; c++) to[c] = (from[c] - mean) * scale * this.weight.data[c] + this.bias.data[c];
    });
  }
}

/** x / √(mean of squares + ε) · weight.  Zhang and Sennrich 2019. */
export class RMSNorm {
  constructor(weight, epsilon) {
    this.weight = weight;
    this.epsilon = epsilon;
  }

  forward(x) {
    return mapRows(x, (from, to) => {
      let squares = 0;
      for (const number of from) squares += number * number;
      const scale = 1 / Math.sqrt(squares / from.length + this.epsilon);
      for (let c = 0; c < from.length; c++) to[c] = from[c] * scale * this.weight.data[c];
    });
  }
}

/** No norm. */
export class Identity {
  forward(x) {
    return x;
  }
}

/** down(f(up(x))): the same two linear layers for every token. */
export class FeedForward {
  constructor(up, down, activation) {
    this.up = up;
    this.down = down;
    this.activation = activation;
  }

  forward(x) {
    const inner = this.up.forward(x); // (T, D) -> (T, F)
    for (let i = 0; i < inner.data.length; i++) inner.data[i] = this.activation(inner.data[i]);
    return this.down.forward(inner);
  }
}

/** down(silu(gate(x)) · up(x)), known as SwiGLU.  Shazeer 2020. */
export class GatedFeedForward {
  constructor(up, gate, down) {
    this.up = up;
    this.gate = gate;
    this.down = down;
  }

  forward(x) {
    const inner = this.up.forward(x);
    const gates = this.gate.forward(x);
    for (let i = 0; i < inner.data.length; i++) inner.data[i] *= silu(gates.data[i]);
    return this.down.forward(inner);
  }
}

/** x + f(norm(x)): the residual stream is never normalized. */
export class PreNorm {
  constructor(norm) {
    this.norm = norm;
  }

  forward(x, sublayer) {
    return add(x, sublayer(this.norm.forward(x)));
  }
}

/** norm(x + f(x)).  Vaswani et al. 2017, section 5.4. */
export class PostNorm {
  constructor(norm) {
    this.norm = norm;
  }

  forward(x, sublayer) {
    return this.norm.forward(add(x, sublayer(x)));
  }
}

/** Self-attention, cross-attention where there is a source, feed-forward, each inside a residual. */
export class Layer {
  constructor(name, parts) {
    this.name = name;
    Object.assign(this, parts); // self_attn, cross_attn (or null), feed_forward, and the residual of each
  }

  /** x (T, D) -> (T, D). `pass` holds what the layers of one forward pass share: see transformer.js. */
  forward(x, pass) {
    const { mask, positionIds, cache, source, taps } = pass;
    x = this.self_attn_residual.forward(x, (h) => {
      const kv = cache.extend(this.self_attn.name, this.self_attn.projectKv(h, positionIds, taps));
      return this.self_attn.forward(h, kv, mask, positionIds, taps);
    });
    if (this.cross_attn)
      x = this.cross_attn_residual.forward(x, (h) => {
        const kv = source.keyValues(this.cross_attn, taps);
        const sourceMask = source.mask && repeatRow(source.mask, h.shape[0]);
        return this.cross_attn.forward(h, kv, sourceMask, positionIds, taps);
      });
    x = this.feed_forward_residual.forward(x, (h) => this.feed_forward.forward(h));
    return taps.pass(`${this.name}.out`, x);
  }
}

/** A tensor (T, D) whose rows are written by a function of each row. */
function mapRows(x, write) {
  const result = tensor(x.shape);
  for (let i = 0; i < x.shape[0]; i++) write(row(x, i), row(result, i));
  return result;
}

/** A mask of keys (Tk) for every query: (Tq, Tk). */
function repeatRow(mask, count) {
  const repeated = new Uint8Array(count * mask.length);
  for (let i = 0; i < count; i++) repeated.set(mask, i * mask.length);
  return repeated;
}
