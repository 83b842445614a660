"""Translation behind the protocol of a task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.metrics.chrf import CHRF

from regard.config import Config
from regard.data.batch import batches_by_length
from regard.data.lexicon import MAX_CELLS
from regard.data.store import Corpus
from regard.decode import GreedySearch
from regard.evaluation import Evaluation
from regard.formats import Pair, read_pairs
from regard.jobs.evaluate import evaluate_translator, read_scores, read_sentences, write_scores
from regard.jobs.load import load
from regard.jobs.run_kind import use_command
from regard.jobs.tasks.task_metric import LOSS, TOKENIZATION_SETTINGS, PredictionWords, ReportWords, TaskMetric
from regard.jobs.tasks.translation import prepare
from regard.jobs.tasks.translation.data import TranslationData
from regard.jobs.tasks.translation.encoder_decoder import EncoderDecoderTask
from regard.jobs.text_statistics import write_statistics
from regard.jobs.train.init_from import is_same_task
from regard.metrics import Tokenization, choose_tokenization, corpus_bleu
from regard.metrics.corpus_sums import SIZE_COLUMN, score_sums, sentence_statistics
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.model.single_stack import SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from regard.tasks.loss import LossModule
from regard.tasks.translate.translator import Translator
from regard.training.alarms import AlarmWords
from regard.training.planning.recipes import RECIPES, choose_recipe
from regard.training.planning.sizing import SizingInputs, SuggestedSetting, suggest_settings
from regard.training.validate import NUM_SAMPLES, DevPredictions, PredictedSample, Validator

if TYPE_CHECKING:
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table

MAX_MISTAKES = 20
MIN_SHORTLIST_VOCABULARY, MAX_SHORTLIST_SHARE = 10_000, 0.03
"""Tokens from which on a shortlist is made at the end of training, and the share of all minutes that it may take."""
SECONDS_PER_CELL, SECONDS_OF_TRIALS = 1e-6, 10.0
"""Of counting a shortlist, and of trying it."""
MIN_PAIRS_TO_ALIGN = 1000  # fewer are too few for IBM Model 1


METRICS = {
    "loss": replace(LOSS, digits=2, bound_to=TOKENIZATION_SETTINGS),
    "bleu": TaskMetric("BLEU", checkpoint_metric="bleu"),
    "chrf": TaskMetric("chrF2", checkpoint_metric="bleu", stand_in="BLEU"),
    "accuracy": TaskMetric("accuracy", validated_as="accuracy", bound_to=TOKENIZATION_SETTINGS),
}
COUNTED_METRICS: Mapping[str, Callable[[Tokenization], SacreMetric]] = {
    "bleu": Tokenization.make_bleu,
    "chrf": lambda tokenization: CHRF(),
}
"""Those that are computed from statistics of sentences; the loss of single sentences is not stored."""


@dataclass(frozen=True)
class GreedyTranslations:
    """Greedy translations of the first dev sentences, scored by BLEU."""

    translator: Translator
    dev: Corpus
    sentences: int
    tokenization: Tokenization

    def __call__(self) -> DevPredictions:
        pairs = self.dev.pairs(self.sentences)
        if not pairs:
            return DevPredictions()
        translations = self.translator.translate([pair.source for pair in pairs], GreedySearch(scored=False))
        num_sources = len({pair.source for pair in pairs})
        distinct_ratio = len(set(translations)) / num_sources if num_sources > 4 else None
        bleu = corpus_bleu(translations, [pair.target for pair in pairs], self.tokenization)
        score = replace(bleu, signature=f"{bleu.signature}, by greedy decoding")
        shown = zip(pairs[:NUM_SAMPLES], translations, strict=False)
        samples = [PredictedSample.of(pair.source, translation, pair.target) for pair, translation in shown]
        return DevPredictions(score, distinct_ratio, len(pairs), samples)


@dataclass(frozen=True)
class TranslateTask(EncoderDecoderTask):
    """A source text -> a target text, by an encoder-decoder, or by a decoder that reads both."""

    name: str = "translate"
    example: str = "pair"
    unit: str = "target token"
    target: str = "token"
    main_score: str = "bleu"
    data_settings: tuple[str, ...] = ()

    @property
    def prediction_words(self) -> PredictionWords:
        return PredictionWords("translate", "translation", "sentence", "greedy decoding", "translations")

    @property
    def report_words(self) -> ReportWords:
        return ReportWords("Translates", "translate", "sentences")

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        return METRICS

    @property
    def alarm_words(self) -> AlarmWords:
        return AlarmWords()

    def require_files(self, config: Config) -> None:
        prepare.require_training_files(config)

    def write_texts(self, run: Run, config: Config) -> None:
        prepare.write_texts(run, config)
        write_statistics(run, config)

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        if _continues_translator(config):
            return suggest_settings(inputs, config)
        is_alone = config.model.architecture == "decoder"  # without cross-attention
        useless = {"train.guided_alignment"} if is_alone or inputs.pairs < MIN_PAIRS_TO_ALIGN else frozenset()
        recipes = [recipe.without(useless) for recipe in RECIPES]
        return suggest_settings(inputs, config, partial(choose_recipe, recipes))

    def tokenize(self, run: Run, config: Config) -> None:
        prepare.tokenize_corpora(run, config)

    def build_predictor(
        self, model: EncoderDecoder | SourceTargetDecoder, config: Config, data: TranslationData
    ) -> Translator:
        return Translator(model, data.tokenizers)

    def build_validator(
        self, loss_module: LossModule, predictor: Translator, config: Config, data: TranslationData
    ) -> Validator:
        translations = GreedyTranslations(
            predictor, data.dev, config.train.validation_sentences, _choose_tokenization(config, data)
        )
        return Validator(
            loss_module,
            lambda: (batch for _, batch in batches_by_length(data.dev, config.train.batch_tokens)),
            translations,
        )

    def load_predictor(self, folder: Path, device: str) -> Translator:
        return load(folder, device)

    def evaluate(self, run: Run, predictor: Translator, pairs: Sequence[Pair], set_name: str = "") -> Evaluation:
        return evaluate_translator(run, predictor, pairs)

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        c = config.data
        return read_pairs(files, c.source, c.target, c.max_line_bytes)

    def require_readable(self, files: Sequence[str], config: Config) -> None:
        self.read_examples(files, config)  # which looks at the files before it reads them

    def describe_failure(self, evaluation: Evaluation) -> str | None:
        """That translations suit any sentence; where they do not, the loss may still tell of a failure."""
        bleu = evaluation.scores.get("bleu")
        if bleu is None or evaluation.baselines.is_below(bleu):
            return None
        chance = evaluation.baselines.shuffled_translations.value
        return f"its BLEU of {bleu.value:.1f} is no better than the {chance:.1f} of shuffled translations"

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        if metric not in COUNTED_METRICS or not run.sentence_scores(set_name).exists():
            return None
        sentences = read_sentences(run, set_name)
        references, translations = ([getattr(one, side) for one in sentences] for side in ("reference", "translation"))
        counter = COUNTED_METRICS[metric](_stored_tokenization(run, references))
        statistics = sentence_statistics(counter, translations, references)
        counts = TableCounts(statistics, statistics[:, SIZE_COLUMN])
        name = METRICS[metric].name
        return CountedScore(name, counts, partial(score_sums, counter), references, translations, "sentences")

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        from regard.jobs.tasks.translation.sentence_charts import show_sentences  # draws

        stored = {
            name: read_sentences(run, set_name) for name, run in runs.items() if run.sentence_scores(set_name).exists()
        }
        if not stored:
            return None
        name, sentences = next(iter(stored.items()))
        tokenization = _stored_tokenization(runs[name], [one.reference for one in sentences])
        return show_sentences(stored, set_name, tokenization)

    def evaluate_new(self, run: Run, predictor: Translator, pairs: Sequence[Pair]) -> Evaluation:
        return self.evaluate(run, predictor, pairs)

    def tabulate_mistakes(self, evaluation: Evaluation) -> "Table":
        """The sentences with the lowest chrF2."""
        from regard.report import Table  # with all that draws, which training does not need

        worst = sorted(evaluation.sentences, key=lambda sentence: sentence.chrf)[:MAX_MISTAKES]
        return Table.from_rows(asdict(sentence) for sentence in worst)

    def write_scores(self, run: Run, name: str, evaluation: Evaluation, files: Sequence[str] = ()) -> None:
        write_scores(run, name, evaluation, files)

    def restore_evaluation(self, run: Run, set_name: str) -> Evaluation | None:
        if not (run.scores(set_name).exists() and run.sentence_scores(set_name).exists()):
            return None
        stored, sentences = read_scores(run, set_name), read_sentences(run, set_name)
        tokenization = _stored_tokenization(run, [one.reference for one in sentences])
        return Evaluation(stored.scores, sentences, stored.baselines, stored.loss, stored.pads_counted, tokenization)

    def write_report(
        self, run: Run, predictor: Translator, evaluation: Evaluation, set_name: str, epochs: float
    ) -> None:
        from regard.jobs.report import write_report  # draws attention, for which it imports regard.inspection

        write_report(run, run.load_config(), predictor, evaluation, set_name, epochs)

    def describe_data(self, config: Config) -> str:
        return f"{config.data.source or 'source'} → {config.data.target or 'target'}"

    def next_commands(self, folder: str) -> list[str]:
        return [use_command(self.name, folder), f'regard look {folder} "a sentence" --out look.html']

    def plan_notes(self, config: Config, data: TranslationData) -> list[str]:
        description = _choose_tokenization(config, data).describe()
        return [description] if description else []

    def closing_seconds(self, config: Config, data: TranslationData) -> float:
        return shortlist_seconds(data) if _makes_shortlist(config, data) else 0.0

    def close(self, run: Run, config: Config, data: TranslationData) -> list[str]:
        if not _makes_shortlist(config, data):
            return []
        from regard.jobs.shortlist.make import make_shortlist  # which opens engines

        decisions = {trial.search: trial for trial in make_shortlist(run.folder).trials}
        return [f"shortlist, {name} search: {trial.describe()}" for name, trial in decisions.items()]


def shortlist_seconds(data: TranslationData) -> float:
    """How long a shortlist takes, about: counting it, and a thousand sentences of dev, four times."""
    lengths = [
        len(side.values) / max(1, len(data.train)) + 1 for side in (data.train.source_ids, data.train.target_ids)
    ]
    cells = min(MAX_CELLS, len(data.train) * lengths[0] * lengths[1])
    return SECONDS_PER_CELL * cells + SECONDS_OF_TRIALS


def _makes_shortlist(config: Config, data: TranslationData) -> bool:
    """Whether a shortlist is made at the end: from alignments that can be counted, where it may pay, in little time.

    Of a small vocabulary the lists that change next to nothing are more than half of it (benchmarks/shortlist.py).
    """
    minutes = config.train.minutes
    is_short = minutes is None or shortlist_seconds(data) <= MAX_SHORTLIST_SHARE * 60 * minutes
    return bool(config.train.guided_alignment) and data.vocab_size >= MIN_SHORTLIST_VOCABULARY and is_short


def _stored_tokenization(run: Run, references: Sequence[str]) -> Tokenization:
    """The tokenization that the sentences of a run were scored with."""
    return choose_tokenization(run.load_config().data.target if run.config.exists() else "", references)


def _continues_translator(config: Config) -> bool:
    """Whether the initial run is a translator, which attends to its source already, or cannot be asked any more."""
    if not config.train.init_from:
        return False
    initial = Run(Path(config.train.init_from))
    return not initial.config.exists() or is_same_task(initial.load_config(), config)


def _choose_tokenization(config: Config, data: TranslationData) -> Tokenization:
    return choose_tokenization(config.data.target, data.dev.target)


TASK = TranslateTask()
