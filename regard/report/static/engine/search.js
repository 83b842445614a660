// Greedy and beam search, as in regard/decode, for one sentence. Both are generators: they yield what they hold after
// every token, so that a caller may show it or stop, and return hypotheses { ids, score, truncated }, best first.

/** log softmax of row i of logits (R, V). */
export function logProbabilities(logits, i) {
  const size = logits.shape[1];
  const row = logits.data.subarray(i * size, (i + 1) * size);
  let largest = -Infinity;
  for (let j = 0; j < size; j++) if (row[j] > largest) largest = row[j];
  let sum = 0;
  for (let j = 0; j < size; j++) sum += Math.exp(row[j] - largest);
  const total = largest + Math.log(sum);
  const logp = new Float64Array(size);
  for (let j = 0; j < size; j++) logp[j] = row[j] - total;
  return logp;
}

/** The indices of the k largest numbers, the largest first; of equal ones, the first. */
export function topk(numbers, k) {
  const best = [];
  for (let i = 0; i < numbers.length; i++) {
    if (best.length === k && !(numbers[i] > numbers[best[k - 1]])) continue;
    let at = best.length;
    while (at > 0 && numbers[i] > numbers[best[at - 1]]) at--;
    best.splice(at, 0, i);
    if (best.length > k) best.pop();
  }
  return best;
}

/** The result of a search, without its steps. */
export function runToEnd(search) {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}

/** The most probable token at each step; the score is the mean log-probability of a token, eos counted. */
export function* greedySearch(stepper, limits, prefix = []) {
  const maxLength = limits.maxLength(stepper);
  const ids = [...prefix];
  const logits = stepper.start(prefix);
  let total = scorePrefix(logits, prefix);
  let logp = logProbabilities(logits, logits.shape[0] - 1);
  for (;;) {
    const [token] = topk(logp, 1);
    total += logp[token];
    if (token === stepper.eos) return [{ ids, score: total / (ids.length + 1), truncated: false }];
    ids.push(token);
    yield [{ ids, score: total / ids.length }];
    if (limits.isLooping(ids, stepper.sourceLength) || ids.length >= maxLength)
      return [{ ids: limits.trimLoop(ids), score: total / ids.length, truncated: true }];
    logp = logProbabilities(stepper.step([token]), 0);
  }
}

/**
 * Keep the k best prefixes. The score of a hypothesis is log-probability / length^alpha, with eos counted.
 *
 * Those that end in eos come first, then those that were cut; of several with the same text the best is kept.
 */
export function* beamSearch(stepper, limits, { size = 5, alpha = 1, nbest = 1, prefix = [] } = {}) {
  const maxLength = limits.maxLength(stepper);
  const finished = new HypothesisPool(size * (1 + (nbest > 1)));
  const abandoned = new HypothesisPool(size);
  let logits = stepper.start(prefix);
  let beams = [{ ids: [...prefix], score: scorePrefix(logits, prefix) }];
  logits = lastRow(logits);
  for (let length = prefix.length + 1; ; length++) {
    const penalty = length ** alpha;
    const candidates = bestCandidates(beams, logits, size);
    candidates.slice(0, size).forEach(({ parent, token, score }) => {
      if (token === stepper.eos) finished.add({ ids: beams[parent].ids, score: score / penalty, truncated: false });
    });
    // At most k of the 2k end in eos, so k can be continued.
    const kept = candidates.filter(({ token }) => token !== stepper.eos).slice(0, size);
    let next = kept.map(({ parent, token, score }) => ({ ids: [...beams[parent].ids, token], score, parent }));
    const stops = ({ ids }) => length >= maxLength || limits.isLooping(ids, stepper.sourceLength);
    for (const { ids, score } of next.filter(stops))
      abandoned.add({ ids: limits.trimLoop(ids), score: score / penalty, truncated: true });
    next = next.filter((beam) => !stops(beam));
    const bestActive = next.length ? next[0].score / penalty : -Infinity;
    if (bestActive === -Infinity || finished.scoreOf(size - 1) >= bestActive) break;
    yield next;
    stepper.select(next.map(({ parent }) => parent));
    beams = next;
    logits = stepper.step(next.map(({ ids }) => ids.at(-1)));
  }
  return distinct([...finished.hypotheses, ...abandoned.hypotheses], stepper.surface, nbest);
}

/** The best hypotheses of those that are no longer extended. */
class HypothesisPool {
  constructor(size) {
    this.size = size;
    this.hypotheses = []; // best first
  }

  add(hypothesis) {
    let at = this.hypotheses.length;
    while (at > 0 && hypothesis.score > this.hypotheses[at - 1].score) at--;
    this.hypotheses.splice(at, 0, hypothesis);
    this.hypotheses.length = Math.min(this.hypotheses.length, this.size);
  }

  scoreOf(i) {
    return this.hypotheses[i]?.score ?? -Infinity;
  }
}

/** The 2k best continuations of beams whose next tokens have logits (R, V), best first. */
function bestCandidates(beams, logits, size) {
  const candidates = [];
  beams.forEach(({ score }, parent) => {
    const logp = logProbabilities(logits, parent);
    for (const token of topk(logp, 2 * size)) candidates.push({ parent, token, score: score + logp[token] });
  });
  const alive = candidates.filter(({ score }) => score > -Infinity);
  return alive.sort((a, b) => b.score - a.score).slice(0, 2 * size);
}

/** The first `count` hypotheses of different texts, in their order. */
function distinct(hypotheses, surface, count) {
  if (count === 1) return hypotheses.slice(0, 1);
  const first = new Map();
  for (const hypothesis of hypotheses) {
    const text = surface(hypothesis.ids);
    if (!first.has(text) && first.size < count) first.set(text, hypothesis);
  }
  return [...first.values()];
}

/** The log-probability of a prefix, whose logits (prefix + 1, V) are those before each of its tokens and after all. */
function scorePrefix(logits, prefix) {
  return prefix.reduce((sum, token, i) => sum + logProbabilities(logits, i)[token], 0);
}

function lastRow(logits) {
  const [rows, size] = logits.shape;
  return { shape: [1, size], data: logits.data.subarray((rows - 1) * size) };
}
