// SentencePiece's normalization: characters are replaced by a table in the model, blanks become U+2581.

import { readText } from "./protobuf.js";

export const SPACE = "\u2581";
const MALFORMED = "\ufffd";

/** The table of a model, `precompiled_charsmap`: a trie of UTF-8 sequences and the texts that replace them. */
class CharacterMap {
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const trieBytes = view.getUint32(0, true);
    this._units = Uint32Array.from({ length: trieBytes / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this._texts = bytes.subarray(4 + trieBytes);
  }

  /** The longest sequence that is replaced at a byte: { length, text }; null if there is none. */
  longestMatch(bytes, start) {
    // A double-array trie as darts-clone stores it: a unit has a label, an offset to its children, and whether a value
    // follows.
    let longest = null;
    let at = offsetOf(this._units[0]);
    for (let i = start; i < bytes.length; i++) {
      at ^= bytes[i];
      const unit = this._units[at];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== bytes[i]) break;
      at ^= offsetOf(unit);
      if ((unit >>> 8) & 1) longest = { length: i + 1 - start, at: this._units[at] & 0x7fffffff };
    }
    return longest && { length: longest.length, text: this._text(longest.at) };
  }

  _text(start) {
    return readText(this._texts.subarray(start, this._texts.indexOf(0, start)));
  }
}

export class Normalizer {
  /** `spec`: { charsmap, addDummyPrefix, removeExtraWhitespaces, escapeWhitespaces, whitespaceAsSuffix }. */
  constructor(spec, userDefined) {
    this.spec = spec;
    this._map = spec.charsmap?.length ? new CharacterMap(spec.charsmap) : null;
    this._userDefined = userDefined; // texts that are kept as they are
  }

  /** The characters of a normalized text, and for each the place (begin, end) in the text that it comes from. */
  normalize(text) {
    const { addDummyPrefix, removeExtraWhitespaces, whitespaceAsSuffix } = this.spec;
    const chunks = this._chunks(text);
    if (removeExtraWhitespaces) while (chunks.length && chunks[0].text === " ") chunks.shift();
    if (!chunks.length) return [];
    const characters = [];
    const space = this.spec.escapeWhitespaces ? SPACE : " ";
    const push = (letter, begin, end) => characters.push({ letter: letter === " " ? space : letter, begin, end });
    if (addDummyPrefix && !whitespaceAsSuffix) push(" ", chunks[0].begin, chunks[0].begin);
    let afterSpace = removeExtraWhitespaces;
    for (const { text: replaced, begin, end } of chunks) {
      const rest = afterSpace ? replaced.replace(/^ +/, "") : replaced;
      for (const letter of rest) push(letter, begin, end);
      if (rest) afterSpace = removeExtraWhitespaces && rest.endsWith(" ");
    }
    if (removeExtraWhitespaces) while (characters.at(-1)?.letter === space) characters.pop();
    if (addDummyPrefix && whitespaceAsSuffix) push(" ", text.length, text.length);
    return characters;
  }

  /** A text in the parts that are replaced at once. */
  _chunks(text) {
    const bytes = new TextEncoder().encode(text);
    const chunks = [];
    let begin = 0; // in the text, as JavaScript counts
    for (let at = 0; at < bytes.length; ) {
      const letter = String.fromCodePoint(text.codePointAt(begin));
      const kept = this._userDefined.find((symbol) => text.startsWith(symbol, begin));
      const match = kept ? null : this._map?.longestMatch(bytes, at);
      const replacement = kept ?? match?.text ?? (isSurrogate(letter) ? MALFORMED : letter);
      const length = kept ? byteLength(kept) : match?.length ?? byteLength(letter);
      let end = begin;
      for (const stop = at + length; at < stop; ) {
        const one = String.fromCodePoint(text.codePointAt(end));
        at += byteLength(one);
        end += one.length;
      }
      chunks.push({ text: replacement, begin, end });
      begin = end;
    }
    return chunks;
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

function byteLength(text) {
  return new TextEncoder().encode(text).length;
}

function isSurrogate(letter) {
  return letter.length === 1 && letter >= "\ud800" && letter <= "\udfff";
}
