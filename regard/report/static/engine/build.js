// From the settings of a model and its weights to the model: the only module that reads the settings.

import { ACTIVATIONS } from "./activations.js";
import { Attention, NORMALIZERS } from "./attention.js";
import { FeedForward, GatedFeedForward, Identity, Layer, LayerNorm, PostNorm, PreNorm, RMSNorm } from "./layers.js";
import { ALiBi, Concatenated, Learned, LearnedBias, Positions, Relative, Rotary, SelectedHeads, Sinusoidal, T5Bias } from "./positions.js";
import { Model, TokenEmbedding, TransformerStack } from "./transformer.js";

/** Where a scheme enters: at the embeddings. */
const EMBEDDING_SCHEMES = {
  sinusoidal: (b, c) => sinusoidal(b.c.dim, c),
  learned: (b) => new Learned(b.tensor("embedding.positions.table")),
  concatenated: (b, c) =>
    new Concatenated(c.width, c.table === "learned" ? new Learned(b.tensor("embedding.positions.encoding.table")) : sinusoidal(c.width, c)),
};

/** Where a scheme enters: in every self-attention. */
const ATTENTION_SCHEMES = {
  relative: (b, c, path, heads) => new Relative(b.tensor(`${path}.keys`), c.values ? b.tensor(`${path}.values`) : null, heads.length),
  bias: (b, c, path) => new LearnedBias(b.tensor(`${path}.table`)),
  t5: (b, c, path) => new T5Bias(b.tensor(`${path}.table`), c.max_distance, b.name === "encoder"),
  alibi: (b, c) => new ALiBi(b.c.heads, c.sides === "two-sided" && b.name === "encoder"),
  rotary: (b, c) => {
    const headDim = b.c.dim / b.c.heads;
    const rotaryDim = 2 * Math.floor((headDim * c.partial_rotary_factor) / 2);
    return new Rotary(rotaryDim, c.base, c.rotary_layout === "interleaved", headDim);
  },
};

/** The model of a container's header, whose tensors are in `weights`. */
export function buildModel(weights) {
  const { model: c, kind, pad } = weights.header;
  const encoder = kind.startsWith("encoder") ? new StackBuilder(weights, c, "encoder").build(false) : null;
  const decoder = kind.endsWith("decoder") ? new StackBuilder(weights, c, "decoder").build(encoder !== null) : null;
  return new Model(kind, { encoder, decoder, output: weights.linear("output"), pad });
}

class StackBuilder {
  constructor(weights, c, name) {
    this.weights = weights;
    this.c = c;
    this.name = name;
    this.positions = c[name].positions ?? c.positions;
  }

  build(hasSource) {
    const depth = this.c[`${this.name}_layers`] ?? this.c.layers;
    const layers = Array.from({ length: depth }, (_, i) => this._layer(i, hasSource));
    return new TransformerStack(this.name, this._embedding(), layers, this.c.norm === "pre" ? this._norm("norm") : new Identity());
  }

  /** A tensor of this stack. */
  tensor(path) {
    const found = this.weights.find(`${this.name}.${path}`);
    if (!found) throw new Error(`the model has no weights ${this.name}.${path}`);
    return found;
  }

  _embedding() {
    const { c } = this;
    const makePositions = EMBEDDING_SCHEMES[this.positions.kind];
    const positions = makePositions ? makePositions(this, this.positions) : new Positions();
    const tokenTypes = c.token_types ? this.tensor("embedding.token_types.table") : null;
    const norm = c.embedding_norm ? this._norm("embedding.norm") : new Identity();
    const scale = c.scale_embeddings ? Math.sqrt(c.dim) : 1;
    return new TokenEmbedding(this.tensor("embedding.tokens.weight"), positions, scale, tokenTypes, norm);
  }

  _layer(i, hasSource) {
    const path = `layers.${i}`;
    const parts = {
      self_attn: this._attention(path, "self", i),
      self_attn_residual: this._residual(`${path}.self_attn_residual`),
      cross_attn: hasSource ? this._attention(path, "cross", i) : null,
      cross_attn_residual: hasSource ? this._residual(`${path}.cross_attn_residual`) : null,
      feed_forward: this._feedForward(`${path}.feed_forward`),
      feed_forward_residual: this._residual(`${path}.feed_forward_residual`),
    };
    return new Layer(`${this.name}.${path}`, parts);
  }

  _attention(layer, kind, i) {
    const path = `${layer}.${kind}_attn`;
    const heads = this._keptHeads(`${this.name}.${i}.${kind}`);
    const projections = Object.fromEntries(["q", "k", "v", "out"].map((one) => [one, this._linear(`${path}.${one}_proj`)]));
    // Source and target positions are not on one axis: cross-attention has none.
    const positions = kind === "self" ? this._attentionPositions(`${path}.positions`, heads) : new Positions();
    return new Attention(`${this.name}.${path}`, heads.length, projections, positions, NORMALIZERS[this.c.attention]);
  }

  _attentionPositions(path, heads) {
    const make = ATTENTION_SCHEMES[this.positions.kind];
    if (!make) return new Positions();
    const pruned = heads.length < this.c.heads;
    const whole = ["bias", "t5", "alibi"].includes(this.positions.kind);
    const scheme = make(this, this.positions, pruned && whole ? `${path}.scheme` : path, heads);
    return pruned && scheme.byHead ? new SelectedHeads(scheme, heads) : scheme;
  }

  /** The numbers of the heads that pruning has kept in an attention. */
  _keptHeads(attention) {
    const all = Array.from({ length: this.c.heads }, (_, number) => number);
    return all.filter((number) => !this.c.pruned.includes(`${attention}.${number}`));
  }

  _feedForward(path) {
    const [up, down] = [this._linear(`${path}.up`), this._linear(`${path}.down`)];
    if (this.c.activation === "swiglu") return new GatedFeedForward(up, this._linear(`${path}.gate`), down);
    return new FeedForward(up, down, ACTIVATIONS[this.c.activation]);
  }

  _residual(path) {
    return new { pre: PreNorm, post: PostNorm }[this.c.norm](this._norm(`${path}.norm`));
  }

  _norm(path) {
    const weight = this.tensor(`${path}.weight`);
    if (this.c.norm_kind === "rms") return new RMSNorm(weight, this.c.norm_epsilon);
    return new LayerNorm(weight, this.tensor(`${path}.bias`), this.c.norm_epsilon);
  }

  _linear(path) {
    this.tensor(`${path}.weight`);
    return this.weights.linear(`${this.name}.${path}`);
  }
}

function sinusoidal(dim, c) {
  return new Sinusoidal(dim, c.sinusoid_layout === "halves");
}
