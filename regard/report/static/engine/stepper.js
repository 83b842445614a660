// A model that decodes one text, as the searches see it.

import { NO_TAPS } from "./taps.js";
import { IncrementalDecoder } from "./transformer.js";

/** What is never part of an output has no probability. */
function forbid(logits, ids) {
  const [rows, size] = logits.shape;
  for (let i = 0; i < rows; i++) for (const id of ids) logits.data[i * size + id] = -Infinity;
  return logits;
}

/** A translation of a source, by an encoder and a decoder or by a decoder alone. */
export class ModelStepper {
  /** `source` (S) with its eos; `special`: { pad, bos, eos }; `surface`: the text of ids. */
  constructor(model, source, special, surface, taps = NO_TAPS) {
    const encoded = model.encoder ? model.encode(source, taps) : null;
    this.sourceLength = source.length;
    this.eos = special.eos;
    this.surface = surface;
    this.maxOutputLength = encoded ? model.decoder.maxLength : Math.max(1, model.decoder.maxLength - source.length);
    this._before = encoded ? [special.bos] : [...source, special.bos];
    this._forbidden = [special.pad, special.bos];
    this._decoder = new IncrementalDecoder(model, encoded, taps);
  }

  /** Begin with one beam, whose output begins with these ids: logits after the mark of the beginning and after each. */
  start(prefix) {
    return forbid(this._decoder.prefill([...this._before, ...prefix], prefix.length + 1), this._forbidden);
  }

  /** The last token of each beam (R) -> logits of the next one (R, V). */
  step(lastTokens) {
    return forbid(this._decoder.step(lastTokens), this._forbidden);
  }

  /** Continue with these beams. */
  select(beams) {
    this._decoder.select(beams);
  }
}

/** A text that a language model continues. */
export class PromptStepper {
  /** `forbidden`: ids that no output has. */
  constructor(model, { eos, forbidden, surface, maxLength }, taps = NO_TAPS) {
    this.sourceLength = 0;
    this.eos = eos;
    this.surface = surface;
    this.maxOutputLength = Math.min(maxLength, model.decoder.maxLength);
    this._forbidden = forbidden;
    this._decoder = new IncrementalDecoder(model, null, taps);
  }

  start(prefix) {
    return forbid(this._decoder.prefill(prefix, 1), this._forbidden);
  }

  step(lastTokens) {
    return forbid(this._decoder.step(lastTokens), this._forbidden);
  }

  select(beams) {
    this._decoder.select(beams);
  }
}
