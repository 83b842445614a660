"""Heads through training: what each does, every so many updates, on the same few sentences of dev."""

import json

import torch

from regard.inspection.example import build_pair_example
from regard.inspection.heads.patterns import TokenCounts
from regard.inspection.heads.roles import analyze_heads
from regard.jobs.load import new_model
from regard.jobs.train.prepare import TrainingData
from regard.model.transformer import EncoderDecoder, device_of
from regard.run import Run, write_text
from regard.training import log

HISTORY_SENTENCES = 24
"""Sentences: few, so that a look costs about as much as some updates."""
MAX_TOKENS = 64


class HeadHistory:
    """Adds a line to heads.jsonl whenever it is time to; training is not changed by it."""

    def __init__(self, run: Run, model: EncoderDecoder, data: TrainingData, interval: int):
        self.run, self.model, self.interval = run, model, interval
        self.untrained_model = self._build_untrained_model(data) if interval else None
        pairs = data.dev.pairs(4 * HISTORY_SENTENCES) if interval else []
        examples = [build_pair_example(data.tokenizers, pair.source, pair.target) for pair in pairs]
        short_examples = [
            example
            for example in examples
            if max(len(example.source), len(example.query_tokens("decoder"))) <= MAX_TOKENS
        ]
        self.examples = short_examples[:HISTORY_SENTENCES]
        self.token_counts = TokenCounts.from_examples(self.examples)

    def _build_untrained_model(self, data: TrainingData) -> EncoderDecoder:
        """What roles are held against; made aside, so that training draws what it would have drawn."""
        with torch.random.fork_rng(devices=[]):
            model = new_model(self.run.load_config(), data.tokenizers)
        return model.to(device_of(self.model), next(self.model.parameters()).dtype).eval()

    def record_step(self, step: int) -> None:
        """Measure all heads if this update is one to look after."""
        if not self.interval or step % self.interval or not self.examples:
            return
        training = self.model.training
        facts = analyze_heads(self.model, self.examples, self.untrained_model, self.token_counts)
        self.model.train(training)
        heads = {
            str(entry.head): {
                "entropy": round(entry.statistics.entropy, 4),
                "confidence": round(entry.statistics.confidence, 4),
                "role": entry.role.name if entry.role else None,
                "lift": round(entry.best.lift, 4) if entry.best else None,
            }
            for entry in facts
        }
        with self.run.head_history.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"step": step, "heads": heads}) + "\n")

    def truncate_after(self, step: int) -> None:
        """Drop what a run that was killed has written beyond the checkpoint it goes on from."""
        if self.interval and self.run.head_history.exists():
            records = [record for record in log.read(self.run.head_history) if record["step"] <= step]
            write_text(self.run.head_history, "".join(json.dumps(record) + "\n" for record in records))
