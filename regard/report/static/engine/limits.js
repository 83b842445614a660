// Limits as in regard/decode/limits.py: a maximum output length, and a stop for outputs that repeat in a loop.

const MAX_CYCLE_LENGTH = 8;

export class Limits {
  constructor({ factor = 2, extra = 16, loopRepeats = 4 } = {}) {
    this.factor = factor;
    this.extra = extra;
    this.loopRepeats = loopRepeats;
  }

  /** The maximum output length, eos included. */
  maxLength(stepper) {
    return Math.min(Math.trunc(stepper.sourceLength * this.factor) + this.extra, stepper.maxOutputLength);
  }

  /** Whether an output ends in a loop. One no longer than its source is exempt, so that a list can be copied. */
  isLooping(ids, sourceLength) {
    return ids.length > sourceLength && cycleLength(ids, this.loopRepeats) > 0;
  }

  /** An output that ends in a loop, reduced to one repetition. */
  trimLoop(ids) {
    const period = cycleLength(ids, this.loopRepeats);
    let end = ids.length;
    while (period && end >= 2 * period && repeats(ids, end, period)) end -= period;
    return ids.slice(0, end);
  }
}

/** The shortest period that ids repeat this often at their end; 0 if none. */
function cycleLength(ids, loopRepeats) {
  const longest = Math.min(MAX_CYCLE_LENGTH, Math.floor(ids.length / loopRepeats));
  for (let period = 1; period <= longest; period++) {
    let same = true;
    for (let i = ids.length - period * loopRepeats; i < ids.length - period; i++) same &&= ids[i] === ids[i + period];
    if (same) return period;
  }
  return 0;
}

/** Whether the last `period` of the first `end` ids repeat those before them. */
function repeats(ids, end, period) {
  for (let i = end - period; i < end; i++) if (ids[i] !== ids[i - period]) return false;
  return true;
}
