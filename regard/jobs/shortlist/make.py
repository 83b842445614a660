"""Make the shortlist of a run: count which tokens translate each other, choose how many, and try them on dev.

The threshold is chosen on one half of dev, and what it changes is measured on the other.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from regard.atomic import sha256
from regard.data.lexicon import Lexicon, count_lexicon, sample_corpus, spread
from regard.data.shortlist import Shortlist, build_shortlist
from regard.data.store import IdRow, open_corpus
from regard.data.tokenizers.tokenizer import EOS, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Search
from regard.errors import DataError, RunError
from regard.formats import Pair, read_pairs
from regard.jobs.load import load_tokenizers
from regard.jobs.run_kind import has_cross_attention, refuse, require_task
from regard.jobs.shortlist.record import ShortlistRecord, ShortlistTrial, name_search, save_record, save_shortlist
from regard.jobs.translate.engine_choice import ChosenEngine, open_with_lists
from regard.jobs.translate.worker_pool import RuntimeOptions, TranslationBackend
from regard.metrics import choose_tokenization, corpus_bleu
from regard.progress import stage, track
from regard.run import Run, open_run

THRESHOLDS = (0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.00005, 0.0)
"""Probabilities from which on a token is on the list, the shortest lists first."""
AIMED_COVERAGE = 0.995
"""Share of the translations of the first half of dev that the lists must allow; less is asked of the other half."""
MAX_DEV = 1000  # sentences
MAX_PAIRS = 2_000_000  # of files
HELD_OUT_EVERY = 20  # pairs of files
SEARCHES: tuple[Search, ...] = (GreedySearch(scored=False), BeamSearch())


@dataclass(frozen=True)
class ParallelText:
    """What a shortlist is made from."""

    rows: list[IdRow]
    """Sentence pairs that are counted."""
    dev: list[Pair]
    """Others that it is tried on."""


def make_shortlist(folder: Path, files: Sequence[str] = ()) -> ShortlistRecord:
    """Make and try the shortlist of a run, from its own training text or from these files; both are stored in it."""
    run = open_run(folder)
    config = run.load_config()
    require_task(run, config, "translate")
    if not has_cross_attention(config):
        raise refuse(run, config, "have a shortlist")
    tokenizers = load_tokenizers(run, config)
    text = _read_files(run, files, tokenizers) if files else _read_store(run, tokenizers)
    lexicon = count_lexicon(text.rows, tokenizers.source.vocab_size, tokenizers.target.vocab_size)
    weights = sha256(run.best_weights())
    with open_with_lists(folder, RuntimeOptions(shortlist="off")) as plain:
        first, second = _translate_greedily(plain.backend, text.dev)
        threshold, shortlist = choose_shortlist(lexicon, tokenizers, first)
        save_shortlist(run, shortlist)
        with open_with_lists(folder, RuntimeOptions(shortlist="on")) as restricted:
            engine = restricted.choice
            trials = [_try(plain.backend, restricted.backend, engine, text.dev[1::2], search) for search in SEARCHES]
    sizes = [len(shortlist.select([*source, EOS])) for source, _ in second]
    record = ShortlistRecord(
        min_probability=threshold,
        mean_tokens=round(float(np.mean(sizes)), 1),
        vocab_size=shortlist.target_size,
        covered=coverage(shortlist, second),
        weights=weights,
        trials=tuple(trials),
    )
    save_record(run, record)
    return record


def choose_shortlist(lexicon: Lexicon, tokenizers: Tokenizers, rows: Sequence[IdRow]) -> tuple[float, Shortlist]:
    """The shortest lists that allow nearly all of these translations of sources; all tokens if none do."""
    for threshold in track(THRESHOLDS, "choosing the lists"):
        shortlist = build_shortlist(lexicon, tokenizers, threshold)
        if coverage(shortlist, rows) >= AIMED_COVERAGE:
            break
    return threshold, shortlist


def coverage(shortlist: Shortlist, rows: Sequence[IdRow]) -> float:
    """Share of translations whose tokens are all on the lists of their own sources."""
    covered = [set(target) <= set(shortlist.select([*source, EOS]).tolist()) for source, target in rows]
    return sum(covered) / max(1, len(covered))


def _read_store(run: Run, tokenizers: Tokenizers) -> ParallelText:
    if not run.tokens_manifest.exists():
        raise RunError(f"{run.folder}: holds no training text; name pairs of sentences: regard shortlist RUN FILES")
    corpora = [open_corpus(run.store, name, tokenizers) for name in ("train", "dev")]
    return ParallelText(sample_corpus(corpora[0]), _spread_pairs(corpora[1].pairs()))


def _read_files(run: Run, files: Sequence[str], tokenizers: Tokenizers) -> ParallelText:
    data = run.load_config().data
    pairs = track(read_pairs(files, data.source, data.target, data.max_line_bytes), "reading pairs")
    every = [pair for pair in islice(pairs, MAX_PAIRS) if pair.source.strip() and pair.target.strip()]
    if len(every) < 2 * HELD_OUT_EVERY:
        raise DataError(f"{files[0]}: has {len(every):,} pairs of sentences; a shortlist needs thousands")
    counted = [pair for i, pair in enumerate(every) if i % HELD_OUT_EVERY]
    sources = tokenizers.source.encode([pair.source for pair in counted])
    targets = tokenizers.target.encode([pair.target for pair in counted])
    chosen = spread(np.array([list(map(len, sources)), list(map(len, targets))]))
    return ParallelText([(sources[i], targets[i]) for i in chosen], _spread_pairs(every[::HELD_OUT_EVERY]))


def _spread_pairs(pairs: list[Pair]) -> list[Pair]:
    """MAX_DEV pairs at most, spread over all."""
    count = min(MAX_DEV, len(pairs))
    return [pairs[i * len(pairs) // count] for i in range(count)]


def _translate_greedily(backend: TranslationBackend, pairs: Sequence[Pair]) -> Iterator[list[IdRow]]:
    """The sources and translations of both halves of the pairs, as ids."""
    sources = [pair.source for pair in pairs]
    texts = [candidates[0].text for candidates in backend.candidates(sources, GreedySearch(scored=False))]
    ids = zip(backend.tokenizers.source.encode(sources), backend.tokenizers.target.encode(texts), strict=True)
    rows: list[IdRow] = [*ids]
    yield from (rows[::2], rows[1::2])


def _try(
    plain: TranslationBackend,
    restricted: TranslationBackend,
    engine: ChosenEngine,
    pairs: Sequence[Pair],
    search: Search,
) -> ShortlistTrial:
    """Translate with a shortlist and without, and compare."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenization = choose_tokenization("", references)
    outputs, seconds = [], []
    for backend in (plain, restricted):
        start = time.perf_counter()
        with stage(f"trying the lists ({name_search(search)})"):
            outputs.append([candidates[0].text for candidates in backend.candidates(sources, search)])
        seconds.append(time.perf_counter() - start)
    before, after = (corpus_bleu(texts, references, tokenization).value for texts in outputs)
    unchanged = sum(one == other for one, other in zip(*outputs, strict=True)) / len(pairs)
    speedup = round(seconds[0] / seconds[1], 3)
    return ShortlistTrial(
        engine.name, engine.quantize, name_search(search), len(pairs), unchanged, after - before, speedup
    )
