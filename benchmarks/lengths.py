"""Copying and reversing, learned on short sequences and asked of long ones: small models, one loop for both kinds."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.model.build import build, build_decoder
from regard.model.single_stack import DecoderOnly
from regard.model.transformer import EncoderDecoder
from regard.runtime.incremental import IncrementalDecoder

SYMBOLS = 16
TURN = EOS + 1 + SYMBOLS  # what stands between the two halves
SIZE = TURN + 1
LONGEST, FARTHEST = 20, 60
BUCKETS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60))
BATCH, EACH = 64, 64
Model = EncoderDecoder | DecoderOnly


@dataclass(frozen=True)
class Task:
    """What is asked: the same symbols, or the same from the end."""

    name: str

    def answer(self, rows: Tensor) -> Tensor:
        return rows if self.name == "copy" else rows.flip(1)


def draw(rng: np.random.Generator, count: int, length: int) -> Tensor:
    """Sequences (count, length) of random symbols."""
    return torch.from_numpy(rng.integers(EOS + 1, EOS + 1 + SYMBOLS, (count, length)))


def new_model(architecture: str, c: ModelConfig, seed: int) -> Model:
    torch.manual_seed(seed)
    if architecture == "decoder":
        return build_decoder(c, SIZE, PAD)
    return build(c, SIZE, SIZE, joint=True, pad=PAD)


def loss(model: Model, rows: Tensor, answer: Tensor) -> Tensor:
    """Cross-entropy of the answer and its end. All rows are of one length, so there is no padding."""
    end, begin = torch.full((len(rows), 1), EOS), torch.full((len(rows), 1), BOS)
    gold = torch.cat((answer, end), dim=1)
    if isinstance(model, DecoderOnly):
        turn = torch.full((len(rows), 1), TURN)
        states = model(torch.cat((begin, rows, turn, answer), dim=1))[:, -gold.shape[1] :]
    else:
        states = model(torch.cat((rows, end), dim=1), torch.cat((begin, answer), dim=1))
    return F.cross_entropy(model.output(states).flatten(0, 1), gold.flatten())


@torch.inference_mode()
def exact(model: Model, task: Task, rows: Tensor) -> float:
    """Share of sequences (B, n) whose whole greedy answer, end included, is right."""
    count, length = rows.shape
    begin, end = torch.full((count, 1), BOS), torch.full((count, 1), EOS)
    batch, answer = IncrementalDecoder(model).new_batch(), []
    if isinstance(model, DecoderOnly):
        batch.admit(rows[:, :0])
        prompt = torch.cat((begin, rows, torch.full((count, 1), TURN)), dim=1)
    else:
        batch.admit(torch.cat((rows, end), dim=1))
        prompt = begin
    for column in prompt.T:
        logits = batch.step(column)
    for _ in range(length + 1):
        answer.append(logits.argmax(-1))  # (B,)
        logits = batch.step(answer[-1])
    gold = torch.cat((task.answer(rows), end), dim=1)
    return float((torch.stack(answer, dim=1) == gold).all(dim=1).float().mean())


def train(architecture: str, c: ModelConfig, task: Task, seed: int, steps: int) -> Model:
    """A model that has seen lengths from 1 to LONGEST."""
    model = new_model(architecture, c, seed)
    rng = np.random.default_rng([seed, 1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), fused=True)
    warm = steps // 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warm) * (1 + np.cos(np.pi * step / steps)) / 2
    )
    for _ in range(steps):
        rows = draw(rng, BATCH, int(rng.integers(1, LONGEST + 1)))
        optimizer.zero_grad()
        loss(model, rows, task.answer(rows)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def measure(architecture: str, c: ModelConfig, task: Task, seed: int, steps: int) -> dict[str, float]:
    """Exact match for every bucket of lengths, as "21-30": share."""
    model = train(architecture, c, task, seed, steps)
    rng = np.random.default_rng([seed, 2])
    return {
        f"{first}-{last}": float(np.mean([exact(model, task, draw(rng, EACH, n)) for n in range(first, last + 1, 3)]))
        for first, last in BUCKETS
    }
