"""Heads through training: what each does, every so many updates, on the same few sentences of dev."""

import json

import torch

from regard.inspection.example import pair_example
from regard.inspection.heads.patterns import Counts
from regard.inspection.heads.roles import head_facts
from regard.jobs.load import new_model
from regard.jobs.train.prepare import Data
from regard.model.transformer import EncoderDecoder, device_of
from regard.run import Run, write_text
from regard.training import log

WATCHED = 24
"""Sentences: few, so that a look costs about as much as some updates."""
LONGEST = 64


class HeadWatch:
    """Adds a line to heads.jsonl whenever it is time to; training is not changed by it."""

    def __init__(self, run: Run, model: EncoderDecoder, data: Data, every: int):
        self.run, self.model, self.every = run, model, every
        self.untrained = self._untrained(data) if every else None
        pairs = data.dev.pairs(4 * WATCHED) if every else []
        made = [pair_example(data.tokenizers, pair.source, pair.target) for pair in pairs]
        fitting = [one for one in made if max(len(one.source), len(one.rows("decoder"))) <= LONGEST]
        self.examples = fitting[:WATCHED]
        self.counts = Counts.of(self.examples)

    def _untrained(self, data: Data) -> EncoderDecoder:
        """What roles are held against; made aside, so that training draws what it would have drawn."""
        with torch.random.fork_rng(devices=[]):
            model = new_model(self.run.load_config(), data.tokenizers)
        return model.to(device_of(self.model), next(self.model.parameters()).dtype).eval()

    def look(self, step: int) -> None:
        """Measure all heads if this update is one to look after."""
        if not self.every or step % self.every or not self.examples:
            return
        training = self.model.training
        facts = head_facts(self.model, self.examples, self.untrained, self.counts)
        self.model.train(training)
        heads = {
            str(one.head): {
                "entropy": round(one.numbers.entropy, 4),
                "confidence": round(one.numbers.confidence, 4),
                "role": one.role.name if one.role else None,
                "lift": round(one.best.lift, 4) if one.best else None,
            }
            for one in facts
        }
        with self.run.head_history.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"step": step, "heads": heads}) + "\n")

    def forget_after(self, step: int) -> None:
        """Drop what a run that was killed has written beyond the checkpoint it goes on from."""
        if self.every and self.run.head_history.exists():
            kept = [record for record in log.read(self.run.head_history) if record["step"] <= step]
            write_text(self.run.head_history, "".join(json.dumps(record) + "\n" for record in kept))
