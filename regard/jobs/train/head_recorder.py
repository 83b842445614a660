"""Measures every attention head during training, on the same few dev sentences, into heads.jsonl."""

import torch

from regard.inspection.example import build_pair_example
from regard.inspection.heads.patterns import TokenCounts
from regard.inspection.heads.roles import analyze_heads
from regard.jobs.load import new_model
from regard.jobs.tasks.translation.data import TranslationData
from regard.jobs.train.head_history import HeadHistoryEntry, HeadSnapshot, NullHeadRecorder, append_entry
from regard.model.modules import device_of, evaluation_mode
from regard.model.transformer import EncoderDecoder
from regard.run import Run

HISTORY_SENTENCES = 24
"""Few, so that a measurement costs about as much as a few training steps."""
MAX_TOKENS = 64


class HeadRecorder(NullHeadRecorder):
    """Appends an entry every `interval` steps; training is not changed by it."""

    def __init__(self, run: Run, model: EncoderDecoder, data: TranslationData, interval: int):
        self.run, self.model, self.interval = run, model, interval
        self.untrained_model = self._build_untrained_model(data)
        examples = [
            build_pair_example(data.tokenizers, pair.source, pair.target)
            for pair in data.dev.pairs(4 * HISTORY_SENTENCES)
        ]
        short_examples = [
            example
            for example in examples
            if max(len(example.source), len(example.query_tokens("decoder"))) <= MAX_TOKENS
        ]
        self.examples = short_examples[:HISTORY_SENTENCES]
        self.token_counts = TokenCounts.from_examples(self.examples)
        self.joint_vocab = data.tokenizers.joint

    def _build_untrained_model(self, data: TranslationData) -> EncoderDecoder:
        """The baseline of roles; built apart, so that the random numbers of training stay the same."""
        with torch.random.fork_rng(devices=[]):
            model = new_model(self.run.load_config(), data.tokenizers)
        return model.to(device_of(self.model), next(self.model.parameters()).dtype).eval()

    def record_step(self, step: int) -> None:
        if step % self.interval or not self.examples:
            return
        with evaluation_mode(self.model):
            analyses = analyze_heads(
                self.model, self.examples, self.untrained_model, self.token_counts, joint_vocab=self.joint_vocab
            )
        heads = {
            str(analysis.head): HeadSnapshot(
                entropy=round(analysis.statistics.entropy, 4),
                confidence=round(analysis.statistics.confidence, 4),
                role=analysis.role.name if analysis.role else None,
                lift=round(analysis.best.lift, 4) if analysis.best else None,
            )
            for analysis in analyses
        }
        append_entry(self.run.head_history, HeadHistoryEntry(step, heads))
