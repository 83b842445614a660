// Words of an output: the tokens of each, its text, and where sentences that are too long are cut.

const WITHOUT_BLANKS = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** The words of ids: { from, to, text }, tokens `from` up to `to`; the texts joined are the text of all ids. */
export function splitWords(tokenizer, ids) {
  const starts = ids.map((_, i) => i).filter((i) => i === 0 || startsWord(tokenizer, ids[i]));
  return starts.map((from, i) => {
    const to = starts[i + 1] ?? ids.length;
    const before = tokenizer.decode(ids.slice(0, from));
    return { from, to, text: tokenizer.decode(ids.slice(0, to)).slice(before.length) };
  });
}

/** Whether a token begins a word; in scripts without blanks, every token does. */
export function startsWord(tokenizer, id) {
  return tokenizer.startsWord(id) || WITHOUT_BLANKS.test(tokenizer.tokenText(id));
}

/** A text in parts of at most `limit` tokens, cut at blanks where there are any; joined, they are the text. */
export function splitLong(tokenizer, text, limit) {
  const parts = [];
  let rest = text;
  for (;;) {
    const tokens = tokenizer.encodeWithPlaces(rest);
    if (tokens.length <= limit) return rest || !parts.length ? [...parts, rest] : parts;
    const end = Math.max(tokens[limit - 1].end, 1);
    const blank = rest.slice(0, end).search(/\s\S*$/u);
    const cut = blank > 0 ? blank + 1 : end;
    parts.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
}
