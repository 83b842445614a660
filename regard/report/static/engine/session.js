// What a page asks of a model: a translation, what else it could have said, and everything inside.

import { buildModel } from "./build.js";
import { readContainer } from "./container.js";
import { Limits } from "./limits.js";
import { beamSearch, greedySearch, logProbabilities, runToEnd, topk } from "./search.js";
import { SentencePiece } from "./sentencepiece.js";
import { ModelStepper } from "./stepper.js";
import { NO_TAPS, Taps } from "./taps.js";
import { Weights } from "./weights.js";
import { splitLong, splitWords, startsWord } from "./words.js";

const MAX_WORD_TOKENS = 12; // of a candidate: more are no word

/** A translator that was opened from the bytes of a container. */
export class TranslationSession {
  /** `simd`: false for the plain path, which is slower. */
  constructor(bytes, simd = true) {
    this.weights = new Weights(readContainer(bytes), simd);
    const { header } = this.weights;
    const hidden = [header.pad, header.bos, header.eos];
    this.model = buildModel(this.weights);
    this.special = { pad: header.pad, bos: header.bos, eos: header.eos };
    this.source = new SentencePiece(this.weights.file("source"), hidden);
    this.target = header.files.target ? new SentencePiece(this.weights.file("target"), hidden) : this.source;
    const positions = (this.model.encoder ?? this.model.decoder).maxLength - 1;
    this.maxSourceTokens = Math.min(header.max_source_tokens ?? Infinity, positions);
    this.aligner = header.aligner ?? { layer: Math.max(0, this.model.decoder.layers.length - 2), head: null };
  }

  /** The ids of a source, with its end. */
  encodeSource(text) {
    return [...this.source.encode(text), this.special.eos];
  }

  /** A text in parts that the model has room for. */
  splitLong(text) {
    return splitLong(this.source, text, this.maxSourceTokens - 1);
  }

  /** What of a text the vocabulary does not have, each character once. */
  unknownCharacters(text) {
    const unknown = this.source.encodeWithPlaces(text).filter(({ known }) => !known);
    const letters = unknown.flatMap(({ begin, end }) => [...text.slice(begin, end)]);
    return [...new Set(letters)].filter((letter) => letter.trim());
  }

  /**
   * A search, as a generator that yields the beams after every token and returns hypotheses { ids, score, truncated }.
   * `prefix`: ids that the translation begins with. `taps`: see taps.js; its changes alter every step.
   */
  search(sourceIds, { beam = 5, nbest = 1, alpha = 1, prefix = [], taps = NO_TAPS } = {}) {
    const surface = (ids) => this.target.decode(ids);
    const stepper = new ModelStepper(this.model, sourceIds, this.special, surface, taps);
    const limits = new Limits();
    if (beam === 1) return greedySearch(stepper, limits, prefix);
    return beamSearch(stepper, limits, { size: beam, alpha, nbest, prefix });
  }

  /** The best hypotheses of a text. */
  translate(text, options) {
    return runToEnd(this.search(this.encodeSource(text), options));
  }

  /**
   * One forward pass over a source and an output, both as ids: what is recorded and altered is up to the patterns and
   * changes of taps. A source token that is replaced by `special.pad` is hidden from all others.
   * Returns { taps: Map, logits (T + 1, V) }: row i has the logits before token i, the last one those of the end.
   */
  forward(sourceIds, targetIds, patterns = [], changes = []) {
    const taps = new Taps(patterns, changes);
    const logits = this.model.teacherForce(sourceIds, [this.special.bos, ...targetIds], taps);
    return { taps: taps.tensors, logits };
  }

  /** The `count` best candidates for each token of an output and for its end: { id, token, probability }. */
  candidatesOf(logits, count = 5) {
    return Array.from({ length: logits.shape[0] }, (_, i) => {
      const logp = logProbabilities(logits, i);
      const best = topk(logp, count);
      return best.map((id) => ({ id, token: this.target.tokenText(id), probability: Math.exp(logp[id]) }));
    });
  }

  /** An output in words: { text, from, to, probability, sources: [{ begin, end, weight }] }, the best source first. */
  describe(text, targetIds) {
    const tokens = this.source.encodeWithPlaces(text);
    const sourceIds = [...tokens.map(({ id }) => id), this.special.eos];
    const kind = this.model.encoder ? "cross" : "self";
    const name = `decoder.layers.${this.aligner.layer}.${kind}_attn.weights`;
    const { taps, logits } = this.forward(sourceIds, targetIds, [name]);
    const alignment = alignmentOf(taps.get(name), this.aligner.head, kind === "self" ? sourceIds.length : 0);
    const probabilities = targetIds.map((id, i) => Math.exp(logProbabilities(logits, i)[id]));
    return splitWords(this.target, targetIds).map((word) => ({
      ...word,
      probability: Math.min(...probabilities.slice(word.from, word.to)),
      sources: alignedPlaces(alignment.slice(word.from, word.to), tokens),
    }));
  }

  /** What else could follow the first tokens of a translation: { ids, text, probability }, whole words, best first. */
  alternatives(text, prefix, count = 8) {
    const stepper = new ModelStepper(this.model, this.encodeSource(text), this.special, (ids) => ids);
    const logits = stepper.start(prefix);
    const logp = logProbabilities(logits, logits.shape[0] - 1);
    let open = topk(logp, count).filter((id) => id !== this.special.eos).map((id) => ({ ids: [id], logp: logp[id] }));
    const done = [];
    let beams = open.map(() => 0);
    for (let length = 1; open.length; length++) {
      stepper.select(beams);
      const next = stepper.step(open.map(({ ids }) => ids.at(-1)));
      beams = [];
      open = open.filter((word, i) => {
        const row = logProbabilities(next, i);
        const [best] = topk(row, 1);
        if (best === this.special.eos || startsWord(this.target, best) || length >= MAX_WORD_TOKENS) {
          done.push(word);
          return false;
        }
        beams.push(i);
        word.ids.push(best);
        word.logp += row[best];
        return true;
      });
    }
    const before = this.target.decode(prefix);
    const words = done.map(({ ids, logp }) => {
      const whole = this.target.decode([...prefix, ...ids]);
      return { ids, text: whole.slice(before.length).trim(), probability: Math.exp(logp) };
    });
    return words.filter(({ text }, i) => text && words.findIndex((one) => one.text === text) === i).sort((a, b) => b.probability - a.probability);
  }
}

/** Weights (H, T + 1, Tk) -> for each of the T tokens of an output, those of one head or the mean of all (S). */
function alignmentOf({ shape, data }, head, sources) {
  const [heads, rows, keys] = shape;
  const width = sources || keys;
  const used = Array.from({ length: heads }, (_, h) => h).filter((h) => head === null || h === head);
  // The row that predicts a token, not the one that reads it, is the row of the token before.
  return Array.from({ length: rows - sources - 1 }, (_, i) => {
    const means = new Float64Array(width);
    for (const h of used) for (let j = 0; j < width; j++) means[j] += data[(h * rows + sources + i) * keys + j] / used.length;
    return means;
  });
}

/** The places of a source that the tokens of a word attend to, the largest weight first. */
function alignedPlaces(rows, tokens) {
  const places = tokens.map(({ begin, end }, j) => ({ begin, end, weight: rows.reduce((sum, row) => sum + row[j], 0) / rows.length }));
  return places.sort((a, b) => b.weight - a.weight).slice(0, 6);
}
