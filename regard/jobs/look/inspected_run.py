"""A run as something to look into: its model, how it reads text, and sentences to measure on."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import Config, Head
from regard.data.corpora import GoldPair, english_french
from regard.data.corpora.gold import read_row
from regard.data.store import open_corpus
from regard.decode import GreedySearch
from regard.errors import DataError, ModelError, RegardError
from regard.formats import Pair, files, read_lines, read_pairs
from regard.inspection.example import LONGEST, Example, by_spaces, pair_example, text_example
from regard.inspection.heads.alignment import has_gold, read_pharaoh
from regard.inspection.heads.patterns import Counts
from regard.inspection.trace import Model, sites
from regard.jobs.load import load, load_encoder, new_encoder, new_model
from regard.jobs.prune import training_store
from regard.run import Run, open_run
from regard.tasks.embed import Embedder
from regard.tasks.translate import Translator

ENOUGH = 100
"""Sentences of a run's own dev set that heads are measured on where nobody gives others."""
GRAMMAR_SEED = 20_260
Numbered = tuple[int, Pair]
"""A pair, and which of its files' it is."""


@dataclass(frozen=True)
class Subject:
    """A trained model and how it reads."""

    run: Run
    config: Config
    reader: Translator | Embedder

    @property
    def model(self) -> Model:
        return self.reader.model

    @property
    def translates(self) -> bool:
        return isinstance(self.reader, Translator)

    @property
    def joint(self) -> bool:
        """Whether an id is the same piece wherever it is read or written."""
        return not isinstance(self.reader, Translator) or self.reader.tokenizers.joint

    def example(self, source: str, target: str | None = None, gold: GoldPair | None = None) -> Example:
        """A sentence as the model reads it; a translator that is given no target writes its own."""
        if not source.strip():
            raise DataError("there is no sentence to look at: the text is empty")
        if isinstance(self.reader, Embedder):
            example = text_example(self.reader.tokenizer, source, LONGEST * 1000, gold)
        else:
            self._fits(len(self.reader.tokenizers.source.encode([source])[0]) + 1, source)
            written = self.reader.translate([source])[0] if target is None else target
            example = pair_example(self.reader.tokenizers, source, written, gold)
            self._fits(len(example.rows("decoder")), written)
        self._fits(len(example.source), source)
        return example

    def random(self) -> Model:
        """The same model before anybody trained it."""
        if isinstance(self.reader, Embedder):
            return new_encoder(self.config, self.reader.tokenizer.pad_id).eval()
        return new_model(self.config, self.reader.tokenizers).to(next(self.model.parameters()).device).eval()

    def counts(self) -> Counts | None:
        """How often each piece stands in the training text, where the run has kept it."""
        store = training_store(self.run)
        if not isinstance(self.reader, Translator) or not store.tokens_manifest.exists():
            return None
        corpus = open_corpus(store.store, "train", self.reader.tokenizers)
        sides: list[Any] = []
        for ids in (corpus.source_ids, corpus.target_ids):
            known, often = np.unique(np.asarray(ids.values), return_counts=True)
            sides.append(Counter(dict(zip(known.tolist(), often.tolist(), strict=True))))
        return Counts(*sides)

    def head(self, name: str) -> tuple[str, int]:
        """The attention of a head and its row there; a name that fits none is told which there are."""
        try:
            wanted = Head.parse(name)
        except ValueError as error:
            raise ModelError(str(error)) from None
        every = {site.name: site for site in sites(self.model)}
        if wanted.attention_name not in every:
            raise ModelError(f"there is no head {name}: this model has {_range(list(every))}")
        numbers = every[wanted.attention_name].attention.head_ids
        if wanted.number not in numbers:
            there = (
                f"{numbers[0]} to {numbers[-1]}" if len(numbers) == numbers[-1] + 1 else ", ".join(map(str, numbers))
            )
            raise ModelError(f"there is no head {name}: {wanted.attention_name} has heads {there}")
        return wanted.attention_name, numbers.index(wanted.number)

    def _fits(self, pieces: int, text: str) -> None:
        if pieces > LONGEST:
            raise DataError(
                f"'{text[:40]}…' is {pieces:,} pieces long; {LONGEST} is the most that can be looked at, since every "
                f"head holds a square of them. Look at a part of it."
            )


def open_subject(folder: Path, device: str = "cpu") -> Subject:
    """A run of either kind."""
    run = open_run(folder)
    config = run.load_config()
    if config.model.architecture == "encoder":
        return Subject(run, config, load_encoder(folder, device))
    return Subject(run, config, load(folder, device))


def given_examples(subject: Subject, texts: Sequence[str], most: int) -> tuple[list[Example], str]:
    """The examples of files: aligned text, a .tsv (with gold, if it is a built-in corpus), or text for an encoder."""
    what = " ".join(Path(text).name for text in texts)
    if len(texts) == 1 and files.suffix(Path(texts[0])) == ".tsv" and (gold := _gold(Path(texts[0]), most)):
        return [replace(_of_gold(subject, pair), line=line) for line, pair in enumerate(gold)], what
    pairs = _pairs(subject, texts) if subject.translates else _lines(subject, texts)
    whole = ((n, pair) for n, pair in enumerate(pairs) if _told(subject, pair))
    chosen = list(islice(whole, most))
    deque(whole, maxlen=0)  # to the end: only there do two files show that a line is missing, and all pairs are shifted
    return _some(subject, chosen, what)


def _told(subject: Subject, pair: Pair) -> bool:
    """Whether there is something on every side that the model reads."""
    return bool(pair.source.strip()) and (bool(pair.target.strip()) or not subject.translates)


def aligned_examples(subject: Subject, texts: Sequence[str], gold: Path, most: int) -> tuple[list[Example], str]:
    """The examples of aligned text with gold links, a line a pair; words are what spaces cut, as in such files."""
    pairs, links = list(_pairs(subject, texts)), list(read_lines(gold))
    if len(pairs) != len(links):
        raise DataError(
            f"{gold}: {len(links):,} lines of links for {len(pairs):,} pairs of {' '.join(texts)}; expected one each"
        )
    found: list[Example] = []
    for number, (pair, line) in enumerate(zip(pairs, links, strict=True), start=1):
        if len(found) == most:
            break
        told = [(number - 1, pair)] if _told(subject, pair) else []
        found += [_with_links(one, line, f"{gold}:{number}") for one in _fitting(subject, told)]
    if found and not has_gold(found):
        raise DataError(f"{gold}: there is no link in the lines that were read; expected links such as 0-0 1-2")
    if not found:
        raise DataError(f"{' '.join(texts)}: nothing to measure on; expected text, at most {LONGEST} pieces a sentence")
    return found, f"{' '.join(Path(text).name for text in texts)} with gold links"


def _with_links(example: Example, line: str, where: str) -> Example:
    assert example.target is not None and example.read is not None
    sure, possible = read_pharaoh(line, where)
    source, read, target = (by_spaces(side) for side in (example.source, example.read, example.target))
    for s, t in sure | possible:
        if s >= len(source.words) or t >= len(target.words):
            raise DataError(
                f"{where}: link {s}-{t} is outside its pair of {len(source.words)} and {len(target.words)} words, "
                f"counted from 0, as spaces cut them; expected the files that the links were made for"
            )
    return Example(source, read, target, tuple(sorted(sure)), tuple(sorted(possible)), line=example.line)


def own_examples(subject: Subject, most: int = ENOUGH) -> tuple[list[Example], str]:
    """Sentences to measure on where none are given: the run's dev set, else the built-in corpus."""
    store = training_store(subject.run)
    if isinstance(subject.reader, Translator) and store.tokens_manifest.exists():
        corpus = open_corpus(store.store, "dev", subject.reader.tokenizers)
        pairs = [(n, pair) for n, pair in enumerate(corpus.pairs(most)) if _told(subject, pair)]
        return _some(subject, pairs, "the run's dev set")
    return grammar_examples(subject, most), "the built-in corpus"


def _pairs(subject: Subject, texts: Sequence[str]) -> Iterator[Pair]:
    return read_pairs(list(texts), subject.config.data.source, subject.config.data.target)


def _lines(subject: Subject, texts: Sequence[str]) -> Iterator[Pair]:
    """The lines of one file, for a model that writes nothing."""
    if len(texts) != 1:
        raise DataError(f"{subject.run.folder}: an encoder alone reads one file of text, and {len(texts)} were given")
    return (Pair(line, "") for line in read_lines(Path(texts[0])))


def _some(subject: Subject, pairs: Sequence[Numbered], what: str) -> tuple[list[Example], str]:
    """The pairs that can be measured on, and where they come from."""
    found = _fitting(subject, pairs)
    if not found:
        raise DataError(f"{what}: nothing to measure on; expected text, and of at most {LONGEST} pieces a sentence")
    return found, what


def grammar_examples(subject: Subject, most: int | None = None) -> list[Example]:
    """English sentences that know their grammar; a translator into another language than French writes its own.

    What it writes has no gold alignment. A run that reads another language cannot be measured on them.
    """
    reads, writes = (_language(code) for code in (subject.config.data.source, subject.config.data.target))
    if reads not in ("", "en"):
        raise DataError(
            f"{subject.run.folder}: the run reads '{reads}', and the built-in corpus is English: give pairs to measure "
            f"on, as in regard heads RUN test.{reads} test.{writes or 'en'}, or look with --no-measure"
        )
    pairs = list(english_french.generate(most or ENOUGH, GRAMMAR_SEED))
    if not isinstance(subject.reader, Translator) or writes in ("", "fr"):
        return [_of_gold(subject, pair) for pair in pairs]
    written = subject.reader.translate([pair.source for pair in pairs], GreedySearch(scored=False))
    own = [
        replace(pair, target=text or pair.target, target_links=()) for pair, text in zip(pairs, written, strict=True)
    ]
    return [replace(_of_gold(subject, pair), alignment=None) for pair in own]


def _language(code: str) -> str:
    """en of en_GB."""
    return code.lower().replace("_", "-").partition("-")[0]


def _of_gold(subject: Subject, pair: GoldPair) -> Example:
    return subject.example(pair.source, pair.target if subject.translates else None, pair)


def _fitting(subject: Subject, pairs: Sequence[Numbered]) -> list[Example]:
    """Examples of the pairs that are not too long."""
    found = []
    for line, pair in pairs:
        try:
            example = subject.example(pair.source, pair.target if subject.translates else None)
        except DataError:
            continue
        found.append(replace(example, line=line))
    return found


def _gold(path: Path, most: int) -> list[GoldPair]:
    """The rows of a built-in corpus; nothing if it is another kind of table."""
    found = []
    for line in read_lines(path):
        try:
            found.append(read_row(line))
        except RegardError:
            return []
        if len(found) == most:
            break
    return found


def _range(names: Sequence[str]) -> str:
    """Every attention of a model in a few words: encoder.0.self to encoder.3.self, …"""
    kinds: dict[str, list[str]] = {}
    for name in names:
        stack, _, kind = name.split(".")
        kinds.setdefault(f"{stack}.{kind}", []).append(name)
    return ", ".join(f"{own[0]} to {own[-1]}" if len(own) > 1 else own[0] for own in kinds.values())


__all__ = [
    "Subject",
    "aligned_examples",
    "given_examples",
    "grammar_examples",
    "open_subject",
    "own_examples",
]
