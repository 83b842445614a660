"""A run to inspect: its model, its tokenizer, and sentences to measure on."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from regard.config import Config, Head
from regard.data.corpora import GoldPair, english_french
from regard.data.corpora.gold import read_row
from regard.data.store import open_corpus
from regard.decode import GreedySearch
from regard.errors import ConfigError, DataError, ModelError, RegardError
from regard.formats import Pair, files, read_lines, read_pairs
from regard.inspection.example import (
    MAX_TOKENS,
    Example,
    build_pair_example,
    build_single_stack_example,
    with_whitespace_words,
)
from regard.inspection.heads.alignment import has_gold, parse_pharaoh
from regard.inspection.heads.patterns import TokenCounts
from regard.inspection.text_readers import ModelOfTexts, TextReader
from regard.inspection.trace import Model, attention_sites
from regard.jobs.load import load, load_text_tokenizer, new_encoder, new_model
from regard.jobs.run_kind import find_task, has_cross_attention, is_imported, refuse
from regard.jobs.tasks.registry import get_task, open_predictor, task_of
from regard.jobs.tasks.single_text import SingleTextTask
from regard.jobs.train.training_data import find_training_store
from regard.model.modules import device_of
from regard.model.single_stack import TextEncoderDecoder
from regard.run import Run, open_run
from regard.tasks.text_forward import SingleStack
from regard.tasks.translate.translator import Translator

DEFAULT_EXAMPLES = 200
"""Sentences of the dev set that heads are measured on by default, by `look` and by `heads`."""
GRAMMAR_SEED = 20_260
NumberedPair = tuple[int, Pair]
"""A line number, from 0, and its pair."""


class TokenTable(Protocol):
    """A tokenizer that names its tokens."""

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class InspectedRun:
    """A trained model with its tokenizer and configuration."""

    run: Run
    config: Config
    task: Translator | ModelOfTexts
    reader: TextReader | None = None
    """How a model of one stack reads a text; None for a translator."""

    @property
    def model(self) -> Model:
        return self.task.encoder_decoder if isinstance(self.task, Translator) else self.task.model

    @property
    def translates(self) -> bool:
        return isinstance(self.task, Translator)

    @property
    def joint_vocab(self) -> bool:
        """Whether an id means the same token on both sides."""
        return not isinstance(self.task, Translator) or self.task.tokenizers.joint

    @property
    def tokenizer(self) -> TokenTable:
        """The tokenizer of what the model reads."""
        tokenizer: TokenTable = (
            self.task.tokenizers.source if isinstance(self.task, Translator) else self.task.tokenizer
        )
        return tokenizer

    def make_example(self, source: str, target: str | None = None, gold: GoldPair | None = None) -> Example:
        """A tokenized sentence; without a target, a translator translates the source."""
        if not source.strip():
            raise DataError("there is no sentence to inspect: the text is empty")
        if not isinstance(self.task, Translator):
            assert self.reader is not None
            example = build_single_stack_example(self.reader.read(source), self.task.model.causal, gold)
        else:
            self._require_length(len(self.task.tokenizers.source.encode([source])[0]) + 1, source)
            target_text = self.task.translate([source])[0] if target is None else target
            example = build_pair_example(self.task.tokenizers, source, target_text, gold)
            self._require_length(len(example.query_tokens("decoder")), target_text)
        self._require_length(len(example.source), source)
        return example

    def build_random_model(self) -> Model:
        """The same model with random weights."""
        if not isinstance(self.task, Translator):
            return new_single_stack(self.run, self.config).to(device_of(self.model)).eval()
        return new_model(self.config, self.task.tokenizers).to(next(self.model.parameters()).device).eval()

    def count_tokens(self) -> TokenCounts | None:
        """Token frequencies in the training text, if the run has stored it."""
        store = find_training_store(self.run)
        if not isinstance(self.task, Translator) or not store.tokens_manifest.exists():
            return None
        corpus = open_corpus(store.store, "train", self.task.tokenizers)
        sides: list[Any] = []
        for ids in (corpus.source_ids, corpus.target_ids):
            token_ids, frequencies = np.unique(np.asarray(ids.values), return_counts=True)
            sides.append(Counter(dict(zip(token_ids.tolist(), frequencies.tolist(), strict=True))))
        return TokenCounts(*sides)

    def find_head(self, name: str) -> tuple[str, int]:
        """The attention of a head and its index there; an unknown name raises an error that lists what exists."""
        try:
            head = Head.parse(name)
        except ValueError as error:
            raise ModelError(str(error)) from None
        sites_by_name = {site.name: site for site in attention_sites(self.model)}
        if head.attention_name not in sites_by_name:
            raise ModelError(f"there is no head {name}: this model has {_describe_sites(list(sites_by_name))}")
        head_ids = sites_by_name[head.attention_name].attention.head_ids
        if head.number not in head_ids:
            ids_text = (
                f"{head_ids[0]} to {head_ids[-1]}"
                if len(head_ids) == head_ids[-1] + 1
                else ", ".join(map(str, head_ids))
            )
            raise ModelError(f"there is no head {name}: {head.attention_name} has heads {ids_text}")
        return head.attention_name, head_ids.index(head.number)

    def _require_length(self, num_targets: int, text: str) -> None:
        if num_targets > MAX_TOKENS:
            raise DataError(
                f"'{text[:40]}…' has {num_targets:,} tokens; at most {MAX_TOKENS} can be inspected, because every head "
                f"holds a square matrix of them. Inspect a part of it."
            )


def open_inspected_run(folder: Path, device: str = "cpu") -> InspectedRun:
    """Open a run of any task, or an imported encoder or language model."""
    run = open_run(folder)
    config = run.load_config()
    if config.joins_source_and_target:
        raise refuse(run, config, "be inspected: it is a decoder alone, without cross-attention")
    if has_cross_attention(config):
        return InspectedRun(run, config, load(folder, device, task=config.task))
    if config.model.architecture == "encoder-decoder":
        raise refuse(run, config, "be inspected: it reads a text in two stacks")
    predictor = open_predictor(folder, find_task(config), device)
    return InspectedRun(run, config, predictor, _single_text_task(config).make_reader(run, predictor))


def new_single_stack(run: Run, config: Config) -> SingleStack:
    """The model of a run with one stack, randomly initialized."""
    if is_imported(config):
        return new_encoder(config, load_text_tokenizer(run).pad_id)
    task = _single_text_task(config)
    model = task.new_model(config, task.open_tokenizer(run), task.read_labels(run))
    assert not isinstance(model, TextEncoderDecoder)  # which is not inspected
    return model


def _single_text_task(config: Config) -> SingleTextTask:
    task = get_task(find_task(config))
    assert isinstance(task, SingleTextTask)
    return task


def reject_options(options: Mapping[str, object], reason: str) -> None:
    """Raise an error for the first option that is set."""
    if rejected := [name for name, value in options.items() if value]:
        raise ConfigError(f"{rejected[0]} {reason}")


def load_file_examples(
    inspected_run: InspectedRun, paths: Sequence[str], max_examples: int
) -> tuple[list[Example], str]:
    """Examples from files: aligned text, a .tsv (with gold, if it is a built-in corpus), or text for an encoder."""
    corpus_name = " ".join(Path(path).name for path in paths)
    if (
        len(paths) == 1
        and files.format_suffix(Path(paths[0])) == ".tsv"
        and (gold := _read_gold_pairs(Path(paths[0]), max_examples))
    ):
        return [
            replace(_make_gold_example(inspected_run, pair), line=line) for line, pair in enumerate(gold)
        ], corpus_name
    pairs = (
        _read_run_pairs(inspected_run, paths) if inspected_run.translates else _read_source_lines(inspected_run, paths)
    )
    usable_pairs = ((n, pair) for n, pair in enumerate(pairs) if _has_text(inspected_run, pair))
    selected_pairs = list(islice(usable_pairs, max_examples))
    deque(usable_pairs, maxlen=0)  # read to the end: a missing line, which shifts all pairs, shows only there
    return _require_examples(inspected_run, selected_pairs, corpus_name)


def _has_text(inspected_run: InspectedRun, pair: Pair) -> bool:
    """Whether no side that the model reads is empty."""
    return bool(pair.source.strip()) and (bool(pair.target.strip()) or not inspected_run.translates)


def load_aligned_examples(
    inspected_run: InspectedRun, paths: Sequence[str], gold: Path, max_examples: int
) -> tuple[list[Example], str]:
    """Examples from aligned text with gold links, one line per pair; words are split at spaces, as in such files."""
    pairs, links = list(_read_run_pairs(inspected_run, paths)), list(read_lines(gold))
    if len(pairs) != len(links):
        raise DataError(
            f"{gold}: {len(links):,} lines of links for {len(pairs):,} pairs of {' '.join(paths)}; expected one each"
        )
    examples: list[Example] = []
    for number, (pair, line) in enumerate(zip(pairs, links, strict=True), start=1):
        if len(examples) == max_examples:
            break
        numbered_pairs = [(number - 1, pair)] if _has_text(inspected_run, pair) else []
        examples += [
            _add_links(example, line, f"{gold}:{number}") for example in _fit_examples(inspected_run, numbered_pairs)
        ]
    if examples and not has_gold(examples):
        raise DataError(f"{gold}: no links in the lines that were read; expected links such as 0-0 1-2")
    _require_any(examples, " ".join(paths))
    return examples, f"{' '.join(Path(path).name for path in paths)} with gold links"


def _add_links(example: Example, line: str, location: str) -> Example:
    assert example.target is not None and example.decoder_input is not None
    sure, possible = parse_pharaoh(line, location)
    source, decoder_input, target = (
        with_whitespace_words(side) for side in (example.source, example.decoder_input, example.target)
    )
    for s, t in sure | possible:
        if s >= len(source.words) or t >= len(target.words):
            raise DataError(
                f"{location}: link {s}-{t} is outside its pair of {len(source.words)} and {len(target.words)} words, "
                f"counted from 0 and split at spaces; expected the files that the links were made for"
            )
    return Example(source, decoder_input, target, tuple(sorted(sure)), tuple(sorted(possible)), line=example.line)


def load_default_examples(
    inspected_run: InspectedRun, max_examples: int = DEFAULT_EXAMPLES
) -> tuple[list[Example], str]:
    """Default sentences to measure on: the run's dev set, else the built-in corpus."""
    store = find_training_store(inspected_run.run)
    if isinstance(inspected_run.task, Translator) and store.tokens_manifest.exists():
        corpus = open_corpus(store.store, "dev", inspected_run.task.tokenizers)
        view = task_of(inspected_run.config).inspected_pair
        stored = enumerate(map(view, corpus.pairs(max_examples)))
        pairs = [(n, pair) for n, pair in stored if _has_text(inspected_run, pair)]
        return _require_examples(inspected_run, pairs, "the run's dev set")
    if not inspected_run.translates and store.texts_manifest.exists():
        texts = _single_text_task(inspected_run.config).list_dev_texts(store)
        numbered = enumerate(Pair(text, "") for text in texts if text.strip())
        examples = islice(_fit_examples(inspected_run, numbered), max_examples)
        return _require_any(list(examples), "the run's dev set"), "the run's dev set"
    return make_grammar_examples(inspected_run, max_examples), "the built-in corpus"


def _read_run_pairs(inspected_run: InspectedRun, paths: Sequence[str]) -> Iterator[Pair]:
    return read_pairs(list(paths), inspected_run.config.data.source, inspected_run.config.data.target)


def _read_source_lines(inspected_run: InspectedRun, paths: Sequence[str]) -> Iterator[Pair]:
    """The lines of one file, for a model of one stack."""
    if len(paths) != 1:
        raise DataError(
            f"{inspected_run.run.folder}: a model of one stack reads one file of text, and {len(paths)} were given"
        )
    return (Pair(line, "") for line in read_lines(Path(paths[0])))


def _require_examples(
    inspected_run: InspectedRun, pairs: Sequence[NumberedPair], corpus_name: str
) -> tuple[list[Example], str]:
    """Examples of the pairs that are not too long, and the name of the corpus; an error if there are none."""
    return _require_any(list(_fit_examples(inspected_run, pairs)), corpus_name), corpus_name


def _require_any(examples: list[Example], corpus_name: str) -> list[Example]:
    if not examples:
        raise DataError(
            f"{corpus_name}: nothing to measure on; expected text with at most {MAX_TOKENS} tokens per sentence"
        )
    return examples


def make_grammar_examples(inspected_run: InspectedRun, max_examples: int | None = None) -> list[Example]:
    """English sentences with gold grammar and their French translations.

    For another target language the model translates them itself, without gold alignments. A run with another source
    language cannot be measured on them.
    """
    source_language, target_language = (
        _base_language(code) for code in (inspected_run.config.data.source, inspected_run.config.data.target)
    )
    if source_language not in ("", "en"):
        raise DataError(
            f"{inspected_run.run.folder}: the source language is '{source_language}', the built-in corpus is English. "
            f"Give pairs to measure on, as in regard heads RUN test.{source_language} test.{target_language or 'en'}, "
            f"or use regard look --no-measure"
        )
    pairs = list(english_french.generate(max_examples or DEFAULT_EXAMPLES, GRAMMAR_SEED))
    if not isinstance(inspected_run.task, Translator) or target_language in ("", "fr"):
        return [_make_gold_example(inspected_run, pair) for pair in pairs]
    translations = inspected_run.task.translate([pair.source for pair in pairs], GreedySearch(scored=False))
    translated_pairs = [
        replace(pair, target=text or pair.target, target_links=())
        for pair, text in zip(pairs, translations, strict=True)
    ]
    return [replace(_make_gold_example(inspected_run, pair), alignment=None) for pair in translated_pairs]


def _base_language(code: str) -> str:
    """`en` for `en_GB`."""
    return code.lower().replace("_", "-").partition("-")[0]


def _make_gold_example(inspected_run: InspectedRun, pair: GoldPair) -> Example:
    return inspected_run.make_example(pair.source, pair.target if inspected_run.translates else None, pair)


def _fit_examples(inspected_run: InspectedRun, pairs: Iterable[NumberedPair]) -> Iterator[Example]:
    """Examples of the pairs that are short enough."""
    for line, pair in pairs:
        try:
            example = inspected_run.make_example(pair.source, pair.target if inspected_run.translates else None)
        except DataError:
            continue
        yield replace(example, line=line)


def _read_gold_pairs(path: Path, max_examples: int) -> list[GoldPair]:
    """The rows of a built-in corpus; empty if the table is of another kind."""
    gold_pairs = []
    for line in read_lines(path):
        try:
            gold_pairs.append(read_row(line))
        except RegardError:
            return []
        if len(gold_pairs) == max_examples:
            break
    return gold_pairs


def _describe_sites(names: Sequence[str]) -> str:
    """The attention sites of a model in short: encoder.0.self to encoder.3.self, …"""
    kinds: dict[str, list[str]] = {}
    for name in names:
        stack, _, kind = name.split(".")
        kinds.setdefault(f"{stack}.{kind}", []).append(name)
    return ", ".join(f"{group[0]} to {group[-1]}" if len(group) > 1 else group[0] for group in kinds.values())


__all__ = [
    "InspectedRun",
    "load_aligned_examples",
    "load_default_examples",
    "load_file_examples",
    "make_grammar_examples",
    "open_inspected_run",
    "reject_options",
]
