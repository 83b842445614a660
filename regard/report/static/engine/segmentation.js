// The two ways in which SentencePiece segments a normalized text. Both take characters and return texts of tokens.

const UNKNOWN_PENALTY = 10;

/** Byte-pair encoding: of all neighbors that form a token, those of the best score are merged first. */
export class BytePairEncoding {
  /** `scores`: text of a token -> score; `userDefined`: texts that are always tokens, the longest first. */
  constructor(scores, userDefined) {
    this.scores = scores;
    this.userDefined = userDefined;
    this.frozen = new Set(userDefined);
  }

  segment(characters) {
    const symbols = this._units(characters).map((text, i) => ({ text, before: i - 1, after: i + 1 }));
    if (symbols.length) symbols.at(-1).after = -1;
    const queue = new Queue();
    const propose = (left, right) => {
      if (left < 0 || right < 0 || this.frozen.has(symbols[left].text) || this.frozen.has(symbols[right].text)) return;
      const text = symbols[left].text + symbols[right].text;
      if (this.scores.has(text)) queue.push({ score: this.scores.get(text), left, right, text });
    };
    for (let i = 1; i < symbols.length; i++) propose(i - 1, i);
    for (let best = queue.pop(); best; best = queue.pop()) {
      const [left, right] = [symbols[best.left], symbols[best.right]];
      if (left.text === "" || right.text === "" || left.text + right.text !== best.text || left.after !== best.right) continue;
      left.text = best.text;
      left.after = right.after;
      if (right.after >= 0) symbols[right.after].before = best.left;
      right.text = "";
      propose(left.before, best.left);
      propose(best.left, left.after);
    }
    return symbols.filter(({ text }) => text !== "").map(({ text }) => text);
  }

  /** The characters, with those of a user-defined token as one. */
  _units(characters) {
    if (!this.userDefined.length) return characters;
    const text = characters.join("");
    const units = [];
    for (let at = 0; at < text.length; at += units.at(-1).length)
      units.push(this.userDefined.find((one) => text.startsWith(one, at)) ?? String.fromCodePoint(text.codePointAt(at)));
    return units;
  }
}

/** Pairs to merge: the best score first, of equal ones the leftmost. A binary heap. */
class Queue {
  constructor() {
    this._heap = [];
  }

  push(pair) {
    const heap = this._heap;
    let at = heap.push(pair) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(pair, heap[parent]); parent = (at - 1) >> 1) {
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = pair;
  }

  pop() {
    const heap = this._heap;
    const first = heap[0];
    const last = heap.pop();
    if (!heap.length) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (child >= heap.length || !isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a, b) {
  return a.score > b.score || (a.score === b.score && a.left < b.left);
}

/** The unigram model: the segmentation of the largest sum of scores, by Viterbi's algorithm.  Kudo 2018. */
export class Unigram {
  constructor(scores, userDefined) {
    const normal = [...scores].filter(([text]) => !userDefined.includes(text)).map(([, score]) => score);
    this.unknownScore = Math.fround(Math.min(...normal) - UNKNOWN_PENALTY);
    this.root = new Map();
    const largest = Math.max(...normal);
    for (const [text, score] of scores) {
      const bonus = new TextEncoder().encode(text).length * largest - 0.1; // so that it is always chosen
      this._add(text, userDefined.includes(text) ? bonus : score);
    }
  }

  segment(characters) {
    const best = characters.map(() => ({ score: 0, start: -1 })); // of paths that end after each character
    const scoreBefore = (i) => (i ? best[i - 1].score : 0);
    const offer = (end, start, score) => {
      const total = Math.fround(score + scoreBefore(start)); // in 32 bits, as the library adds: it decides ties
      if (best[end].start < 0 || total > best[end].score) best[end] = { score: total, start };
    };
    for (let start = 0; start < characters.length; start++) {
      let node = this.root;
      let isToken = false;
      for (let end = start; end < characters.length; end++) {
        node = node.get(characters[end]);
        if (!node) break;
        if (node.score === undefined) continue;
        offer(end, start, node.score);
        isToken ||= end === start;
      }
      if (!isToken) offer(start, start, this.unknownScore);
    }
    const tokens = [];
    for (let end = characters.length - 1; end >= 0; end = best[end].start - 1)
      tokens.push(characters.slice(best[end].start, end + 1).join(""));
    return tokens.reverse();
  }

  _add(text, score) {
    let node = this.root;
    for (const letter of text) {
      if (!node.has(letter)) node.set(letter, new Map());
      node = node.get(letter);
    }
    node.score = score;
  }
}
