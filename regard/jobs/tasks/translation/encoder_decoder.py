"""What the tasks share whose model translates one text into another: data, batches, model and loss."""

import math
from typing import Any

from torch import nn

from regard.config import Config
from regard.data import ibm_model1
from regard.data.batch import Batches
from regard.data.unigram import unigram_loss
from regard.formats import Pair
from regard.jobs.live.previews import MAX_TOKENS, MIN_TOKENS, AttentionExample
from regard.jobs.load import new_translation_model, require_memory
from regard.jobs.tasks.attention_task import MAX_CANDIDATES, AttentionTask
from regard.jobs.tasks.task import LossFactory, TextSize
from regard.jobs.tasks.translation import data as translation_data
from regard.jobs.tasks.translation import prepare
from regard.jobs.tasks.translation.data import TranslationData
from regard.jobs.train.head_history import NullHeadRecorder
from regard.model.single_stack import SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from regard.tasks.loss import LossModule, ProgressValue
from regard.tasks.translate.guided_alignment import GuidedAlignment, guided_heads
from regard.tasks.translate.loss import TranslationLoss
from regard.training.planning.cost import MeanLengths


class EncoderDecoderTask(AttentionTask):
    """A source text -> a target text, by an encoder-decoder. A subclass says what the texts, scores and words are."""

    def measure_texts(self, run: Run, config: Config) -> TextSize:
        return prepare.count_directions(prepare.measure_training_text(run), config)

    def open_data(self, run: Run, config: Config) -> TranslationData:
        return translation_data.open_training_data(run, config)

    def count_examples(self, data: TranslationData) -> float:
        return len(data.trained_on)

    def max_batch_rows(self, config: Config) -> float:
        return math.inf

    def mean_lengths(self, data: TranslationData) -> MeanLengths:
        pairs, sides = len(data.trained_on), (data.trained_on.source_ids, data.trained_on.target_ids)
        return MeanLengths(*(len(side.values) / pairs + 1 for side in sides))  # EOS included

    def require_memory(self, config: Config, data: TranslationData) -> None:
        require_memory(config, data.tokenizers)

    def build_model(self, config: Config, data: TranslationData) -> EncoderDecoder | SourceTargetDecoder:
        return new_translation_model(config, data.tokenizers)

    def build_loss_factory(self, config: Config, data: TranslationData, padding_free: bool) -> LossFactory:
        guided_alignment = _build_guided_alignment(config, data) if config.train.guided_alignment else None

        def build_loss(model: nn.Module) -> LossModule:
            assert isinstance(model, EncoderDecoder | SourceTargetDecoder)
            return TranslationLoss(model, config.train.label_smoothing, padding_free, guided_alignment)

        return build_loss

    def build_batches(self, config: Config, data: TranslationData) -> Batches:
        return translation_data.build_batches(config, data)

    def build_head_recorder(
        self, run: Run, config: Config, model: EncoderDecoder, data: TranslationData
    ) -> NullHeadRecorder:
        from regard.jobs.train.head_recorder import HeadRecorder  # imports the whole of regard.inspection

        return HeadRecorder(run, model, data, config.train.head_stats_every)

    def find_attention_example(self, data: TranslationData) -> AttentionExample | None:
        """The first dev pair whose sides both have a readable length; its target is read, not written."""
        sides = (data.dev.source_ids, data.dev.target_ids)
        pairs = ([side[n].tolist() for side in sides] for n in range(min(len(data.dev), MAX_CANDIDATES)))
        pair = next((one for one in pairs if all(MIN_TOKENS <= len(ids) <= MAX_TOKENS for ids in one)), None)
        if pair is None:
            return None
        source, target = pair
        columns = data.tokenizers.source.convert_ids_to_tokens(source)
        return AttentionExample(source, target, data.tokenizers.target.convert_ids_to_tokens(target), columns)

    def baseline_loss(self, config: Config, data: TranslationData) -> float:
        return unigram_loss(data.train.target_ids, data.dev.target_ids, data.vocab_size)

    def calibrate(self, run: Run, predictor: Any, data: TranslationData) -> None:
        """Nothing to fit."""

    def select_dev(self, data: TranslationData, max_examples: int) -> list[Pair]:
        """Spread over dev, the same for every trial: beam search takes long."""
        return data.dev.pairs()[:: -(-len(data.dev) // max_examples)]


def _build_guided_alignment(config: Config, data: TranslationData) -> GuidedAlignment:
    table = ibm_model1.fit_corpus(data.trained_on, data.tokenizers.source.vocab_size)
    return GuidedAlignment(table, ProgressValue(config.train.guided_alignment), guided_heads(config))
