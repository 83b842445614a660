"""The files of a run's shortlist: the lists, and a record of what they change.

shortlist.safetensors   the target tokens of every source token
shortlist.json          how many of the translations of dev stay as they were with it
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from regard.atomic import atomic_write, sha256
from regard.data.shortlist import MAX_FILE_BYTES, Shortlist, read_shortlist, write_shortlist
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.decode import BeamSearch, GreedySearch, Search
from regard.errors import RunError
from regard.files import Count, Finite, read_bytes
from regard.run import Run

MIN_UNCHANGED, MAX_BLEU_CHANGE = 0.99, 0.1
"""A shortlist is used by default where at least this share of translations stays, and BLEU moves by at most this."""
MAX_SHARE = 0.4
"""Of the vocabulary that a list may have on average: longer ones gain nothing (benchmarks/shortlist.py)."""


class ShortlistDecision(NamedTuple):
    """Whether a shortlist is used, and why."""

    is_used: bool
    reason: str


@dataclass(frozen=True)
class ShortlistTrial:
    """The same sentences translated with a shortlist and without, by the same engine in the same batches."""

    engine: str
    quantize: str
    search: str
    sentences: Count
    unchanged: Finite
    """Share of the translations that stay."""
    bleu_change: Finite
    speedup: Finite

    @property
    def passes(self) -> bool:
        return self.unchanged >= MIN_UNCHANGED and abs(self.bleu_change) <= MAX_BLEU_CHANGE

    def describe(self) -> str:
        """What it changes, in a few words."""
        return f"{self.unchanged:.1%} of {self.sentences:,} translations stay, BLEU {self.bleu_change:+.2f}"


@dataclass(frozen=True)
class ShortlistRecord:
    """How a shortlist was made, and what it changes."""

    min_probability: Finite
    mean_tokens: Finite
    """Of a sentence of dev."""
    vocab_size: Count
    covered: Finite
    """Share of the sentences whose greedy translation without a shortlist has no token beyond their own list."""
    weights: str
    """The checksum of the weights that it was tried with."""
    trials: tuple[ShortlistTrial, ...]

    def judge(self, engine: str, quantize: str, search: str) -> ShortlistDecision:
        """Whether the lists are used by default, with this engine, precision and kind of search."""
        fitting = [one for one in self.trials if (one.engine, one.quantize, one.search) == (engine, quantize, search)]
        if not fitting:
            return ShortlistDecision(False, "it was not tried with this engine and search")
        share = self.mean_tokens / max(1, self.vocab_size)
        if share > MAX_SHARE:
            return ShortlistDecision(
                False, f"its lists have {share:.0%} of the vocabulary, which would hardly be faster"
            )
        if self.covered < MIN_UNCHANGED:
            return ShortlistDecision(
                False, f"{self.covered:.1%} of the translations stay where sentences come one at a time"
            )
        return ShortlistDecision(fitting[0].passes, fitting[0].describe())


def save_shortlist(run: Run, shortlist: Shortlist) -> None:
    """Write the lists. A record of others is removed first: no trial may speak for lists that it has not tried."""
    run.shortlist_record.unlink(missing_ok=True)
    with atomic_write(run.shortlist) as path:
        write_shortlist(shortlist, path)
    run.record_checksums(run.shortlist)


def save_record(run: Run, record: ShortlistRecord) -> None:
    run.write_json(run.shortlist_record, asdict(record))


def load_shortlist(run: Run, tokenizers: Tokenizers) -> Shortlist:
    """The shortlist of a run."""
    require_shortlist(run)
    try:
        raw = read_bytes(run.verify(run.shortlist), MAX_FILE_BYTES)
    except OSError as error:
        raise RunError(f"{run.shortlist}: cannot be read ({error.strerror or error})") from None
    return read_shortlist(raw, run.shortlist, tokenizers)


def require_shortlist(run: Run) -> None:
    """Refuse a run without one."""
    if not run.shortlist.exists():
        raise RunError(f"{run.folder}: has no shortlist; make one with `regard shortlist {run.folder}`")


def read_record(run: Run) -> ShortlistRecord:
    return run.read_json(run.shortlist_record, ShortlistRecord)


def name_search(search: Search) -> str:
    """The kind of a search, as trials name it; another kind was not tried."""
    names = {GreedySearch: "greedy", BeamSearch: "beam"}
    return names.get(type(search), type(search).__name__)


def decide(run: Run, mode: str, engine: str, quantize: str, search: Search) -> ShortlistDecision:
    """Whether to use the shortlist of a run: on, off, or auto, which asks the trials of this engine and precision."""
    if mode == "on":
        require_shortlist(run)
    if mode != "auto":
        return ShortlistDecision(mode == "on", f"--shortlist {mode}")
    if not run.shortlist.exists() or not run.shortlist_record.exists():
        return ShortlistDecision(False, "the run has none")
    if quantize == "none":
        return ShortlistDecision(False, "float32 is exact")
    record = read_record(run)
    if record.weights != sha256(run.best_weights()):
        return ShortlistDecision(False, "it was tried with other weights")
    return record.judge(engine, quantize, name_search(search))
