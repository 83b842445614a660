// Named points of observation, with the names that regard/model/taps.py gives them, and a few more:
//
//   encoder.embed · encoder.layers.0.out · encoder.norm                                   states (T, D)
//   encoder.layers.0.self_attn.q, .k, .v        after rotation                            (H, T, K)
//   encoder.layers.0.self_attn.bias             what positions add to the scores, if any  (H, Tq, Tk)
//   encoder.layers.0.self_attn.scores, .weights                                           (H, Tq, Tk)
//   encoder.layers.0.self_attn.head_outputs                                               (H, Tq, K)
//   decoder.…, decoder.layers.0.cross_attn.…    the same                                  k, v of the source: (H, S, K)
//   output                                      logits                                    (T, V)

/** No observation: every tensor passes as it is. */
export class NoTaps {
  wants() {
    return false;
  }

  pass(name, value) {
    return value;
  }
}

export const NO_TAPS = new NoTaps();

/** Records the taps whose names match one of the patterns (* stands for anything), and alters those with a change. */
export class Taps {
  /** `changes`: [pattern, function of a tensor -> the tensor that is passed on instead]. */
  constructor(patterns = [], changes = []) {
    this.tensors = new Map();
    this._recorded = patterns.map(expression);
    this._changes = changes.map(([pattern, change]) => [expression(pattern), change]);
  }

  /** Whether a tap is recorded or altered: what nothing asks for need not be computed. */
  wants(name) {
    return this._recorded.some((one) => one.test(name)) || this._changes.some(([one]) => one.test(name));
  }

  /** What the model continues with, given what it has computed at a tap. */
  pass(name, value) {
    for (const [pattern, change] of this._changes) if (pattern.test(name)) value = change(value);
    if (this._recorded.some((one) => one.test(name)))
      this.tensors.set(name, { shape: [...value.shape], data: value.data.slice() });
    return value;
  }
}

/** A change for head_outputs (H, Tq, K): each head times its gate (H); 0 switches a head off. */
export function gateHeads(gates) {
  return ({ shape, data }) => {
    const size = shape[1] * shape[2];
    return { shape, data: data.map((number, i) => number * gates[Math.floor(i / size)]) };
  };
}

function expression(pattern) {
  return new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`);
}
