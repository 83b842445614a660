"""A demo in a few minutes: generate a corpus, train a translator on it, score it and inspect its attention."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from regard import config as settings
from regard.config import Config, Head
from regard.data.corpora import GoldPair, english_french, write_rows
from regard.evaluation import Evaluation
from regard.exchange import write_folder
from regard.formats import Pair
from regard.inspection.example import build_pair_example
from regard.inspection.heads.alignment import AlignmentRanking, extract_links, rank_alignment_heads
from regard.jobs.evaluate import score_run, tabulate_scores
from regard.jobs.load import load
from regard.jobs.look.cross_attention import compute_cross_attention
from regard.jobs.look.heads import find_trained_aligners
from regard.jobs.train.events import TrainingEvent, TrainingFinished
from regard.jobs.train.fit import StopCallback, train_run
from regard.progress import stage
from regard.report import TableView, TranslationCard, TranslationCards, render_fragment
from regard.run import Run, write_text
from regard.staged_run import require_free

SHOWN_SENTENCES = 4


@dataclass(frozen=True)
class DemoPreset:
    """The size of the demo and its settings."""

    train_pairs: int
    held_out_pairs: int
    values: Mapping[str, int | float | str]
    """Settings by dotted name."""


SMALL_MODEL = {"model.dim": 128, "model.layers": 2, "model.ffn": 512, "data.vocab_size": 1500}
FULL_PRESET = DemoPreset(
    30_000,
    500,
    {
        **SMALL_MODEL,
        "train.steps": 2000,
        "train.batch_tokens": 1024,
        "train.learning_rate": 0.003,
        "train.warmup": 200,
        "train.schedule": "cosine",
        "train.validate_every": 500,
        "train.save_every": 250,
        "train.head_stats_every": 200,
    },
)
QUICK_PRESET = DemoPreset(
    2_000,
    50,
    {**SMALL_MODEL, "train.steps": 30, "train.validate_every": 15, "train.save_every": 15, "train.warmup": 10},
)


@dataclass(frozen=True)
class AlignedTranslation:
    """A translation and the cross-attention of its words."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    links: list[tuple[int, int]]
    translation: str
    reference: str


@dataclass(frozen=True, repr=False)
class DemoResult:
    """The results of the demo."""

    run: Run
    test: Evaluation
    compositional: Evaluation
    aligners: AlignmentRanking
    trained_aligners: tuple[Head, ...]
    """The head that guided alignment has trained to align."""
    translations: list[AlignedTranslation]

    def __repr__(self) -> str:
        return f"<DemoResult {self.run.folder}: {self.test.scores['bleu']}>"

    def _repr_html_(self) -> str:
        scores = {
            "unseen sentences": self.test.scores["bleu"],
            "unseen combinations": self.compositional.scores["bleu"],
        }
        cards = [TranslationCard(" ".join(t.source_words), t.translation, t.reference) for t in self.translations]
        return render_fragment(
            [TableView(tabulate_scores(scores), caption="BLEU"), TranslationCards(cards, "en", "fr")]
        )


def run_demo(
    folder: Path, preset: DemoPreset, seed: int, overwrite: bool, should_stop: StopCallback
) -> Iterator[TrainingEvent | DemoResult]:
    """Train on the built-in English-French corpus, and evaluate on unseen sentences and unseen combinations."""
    require_free(folder, overwrite)  # before the corpus of an existing run is overwritten
    with stage("generating the corpus"):
        splits = english_french.split(
            preset.train_pairs, preset.held_out_pairs, preset.held_out_pairs, preset.held_out_pairs, seed
        )
    corpus = folder.with_name(folder.name + "-corpus")
    config = _build_config(corpus, preset, seed)
    sets = {
        "train": splits.train,
        "dev": splits.dev,
        "test": splits.test,
        "compositional": splits.compositional,
    }
    with write_folder(corpus) as staged:
        for name, pairs in sets.items():
            write_text(staged / f"{name}.tsv", "".join(f"{row}\n" for row in write_rows(pairs)))
    test: Evaluation | None = None
    for event in train_run(folder, config, overwrite, should_stop):
        yield event
        if isinstance(event, TrainingFinished):
            test = event.evaluation
    if test is None:  # interrupted
        return
    run, translator = Run(folder), load(folder)
    compositional = score_run(run, translator, list(map(_to_pair, splits.compositional)), "compositional")
    cross_attentions = compute_cross_attention(
        translator, [s.source for s in test.sentences[:SHOWN_SENTENCES]], _first_translations(test)
    )
    translations = [
        AlignedTranslation(
            cross_attention.source_words,
            cross_attention.target_words,
            cross_attention.word_weights.tolist(),
            sorted(extract_links(cross_attention.word_weights)),
            s.translation,
            s.reference,
        )
        for cross_attention, s in zip(cross_attentions, test.sentences, strict=False)
    ]
    examples = [build_pair_example(translator.tokenizers, pair.source, pair.target, pair) for pair in splits.test]
    aligners = rank_alignment_heads(translator.encoder_decoder, examples)
    yield DemoResult(run, test, compositional, aligners, find_trained_aligners(run), translations)


def _build_config(corpus: Path, preset: DemoPreset, seed: int) -> Config:
    data = {name: [str(corpus / f"{name}.tsv")] for name in ("train", "dev", "test")}
    base_config = settings.build({"data": {**data, "source": "en", "target": "fr"}, "train": {"seed": seed}})
    return settings.with_values(base_config, preset.values)


def _first_translations(evaluation: Evaluation) -> list[str]:
    return [s.translation for s in evaluation.sentences[:SHOWN_SENTENCES]]


def _to_pair(gold: GoldPair) -> Pair:
    return Pair(gold.source, gold.target)
