// SentencePiece: text <-> ids, by the file that the library writes.

import { Normalizer, SPACE } from "./normalizer.js";
import { readFields, readText } from "./protobuf.js";
import { BytePairEncoding, Unigram } from "./segmentation.js";

const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [1, 2, 3, 4, 6]; // types of tokens
const ALGORITHMS = { 1: Unigram, 2: BytePairEncoding };
const MALFORMED = "\ufffd";

export class SentencePiece {
  /** The content of a .model file; ids that no text shows are dropped in `decode`. */
  constructor(file, hidden = []) {
    const fields = readFields(file);
    const messageOf = (number) => Object.fromEntries(readFields(fields.find(([n]) => n === number)?.[1] ?? new Uint8Array()));
    const [trainer, rules] = [messageOf(2), messageOf(3)];
    this.tokens = fields.filter(([number]) => number === 1).map(([, message]) => readToken(message));
    this.hidden = new Set(hidden);
    this._unknown = this.tokens.findIndex(({ type }) => type === UNKNOWN);
    this._unknownText = trainer[44] ? readText(trainer[44]) : " \u2047 ";
    this._removesLeading = [rules[3] ?? 1, rules[4] ?? 1];
    this._readTokens(Boolean(trainer[35]));
    const Algorithm = ALGORITHMS[trainer[3] ?? 1];
    if (!Algorithm) throw new Error("the tokenizer is neither BPE nor unigram");
    this._algorithm = new Algorithm(this._scores, this._userDefined);
    const spec = {
      charsmap: rules[2],
      addDummyPrefix: Boolean(rules[3] ?? 1),
      removeExtraWhitespaces: Boolean(rules[4] ?? 1),
      escapeWhitespaces: Boolean(rules[5] ?? 1),
      whitespaceAsSuffix: Boolean(trainer[24]),
    };
    this._normalizer = new Normalizer(spec, this._userDefined);
  }

  /** The ids of a text, without marks of its beginning and end. */
  encode(text) {
    return this.encodeWithPlaces(text).map(({ id }) => id);
  }

  /** The ids of a text, each with its token and the place { begin, end } in the text that it covers. */
  encodeWithPlaces(text) {
    const characters = this._normalizer.normalize(text);
    const tokens = [];
    let at = 0;
    for (const token of this._algorithm.segment(characters.map(({ letter }) => letter))) {
      const covered = characters.slice(at, (at += [...token].length));
      const place = { begin: covered[0].begin, end: covered.at(-1).end };
      const id = this._ids.get(token);
      if (id !== undefined) tokens.push({ id, ...place, known: true });
      else if (this._bytes) for (const byte of new TextEncoder().encode(token)) tokens.push({ id: this._bytes[byte], ...place, known: false });
      else if (tokens.at(-1)?.id === this._unknown) tokens.at(-1).end = place.end; // a run of unknown ones is one token
      else tokens.push({ id: this._unknown, ...place, known: false });
    }
    return tokens;
  }

  /** The text of ids. */
  decode(ids) {
    let text = "";
    let bytes = [];
    let atBeginning = true;
    const [hasPrefix, removesExtra] = this._removesLeading;
    const flush = () => {
      text += decodeUtf8(bytes);
      bytes = [];
    };
    for (const id of ids) {
      if (this.hidden.has(id)) continue;
      const token = this.tokens[id];
      if (token.type === BYTE) {
        bytes.push(token.byte);
        atBeginning = false;
        continue;
      }
      flush();
      if (token.type === CONTROL) continue;
      if (token.type === UNKNOWN) {
        text += this._unknownText;
        atBeginning = false;
        continue;
      }
      const leads = atBeginning && (hasPrefix || removesExtra) && token.text.startsWith(SPACE);
      text += (leads ? token.text.slice(1) : token.text).replaceAll(SPACE, " ");
      if (text !== "" || !removesExtra) atBeginning = false; // further blanks may follow the first
    }
    flush();
    return text;
  }

  /** The text of a token, with U+2581 for a space. */
  tokenText(id) {
    return this.tokens[id].text;
  }

  /** Whether a token begins a word. */
  startsWord(id) {
    return this.tokens[id].text.startsWith(SPACE);
  }

  _readTokens(hasBytes) {
    this._scores = new Map();
    this._ids = new Map();
    this._userDefined = [];
    this._bytes = hasBytes ? [] : null;
    this.tokens.forEach((token, id) => {
      if (token.type === NORMAL || token.type === USER_DEFINED) {
        this._scores.set(token.text, token.score);
        this._ids.set(token.text, id);
      }
      if (token.type === USER_DEFINED) this._userDefined.push(token.text);
      if (token.type === BYTE) {
        token.byte = parseInt(token.text.slice(3, 5), 16); // <0x0A>
        if (hasBytes) this._bytes[token.byte] = id;
      }
    });
    this._userDefined.sort((a, b) => b.length - a.length);
  }
}

function readToken(message) {
  const { 1: text, 2: score = 0, 3: type = NORMAL } = Object.fromEntries(readFields(message));
  return { text: readText(text ?? new Uint8Array()), score, type };
}

/** The text of UTF-8; each byte that is part of no character is U+FFFD. */
function decodeUtf8(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
    try {
      text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes.slice(at, at + length)));
      at += length;
    } catch (error) {
      text += MALFORMED;
      at += 1;
    }
  }
  return text;
}
