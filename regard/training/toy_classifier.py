"""Classifiers of toy texts: an encoder with labels as its output."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import ToyBatch
from regard.model.build import build_encoder
from regard.model.single_stack import EncoderOnly
from regard.training.toy import train_toy


def label_log_probs(model: EncoderOnly, ids: Tensor) -> Tensor:
    """Log-probabilities of the labels of texts: (B, T) -> (B, labels)."""
    return model.output(model.pool(model(ids), ids != model.pad)).log_softmax(dim=-1)


def train_toy_classifier(
    config: ModelConfig, vocab_size: int, draw_batch: Callable[[], ToyBatch], steps: int, learning_rate: float = 3e-3
) -> EncoderOnly:
    """A fresh encoder of two labels, which the state of the first token predicts; 0 is padding."""
    model = build_encoder(config, vocab_size, 0, num_labels=2)

    def loss() -> Tensor:
        ids, labels = draw_batch()
        return F.nll_loss(label_log_probs(model, ids), labels)

    train_toy(model, loss, steps, learning_rate)
    return model


@torch.no_grad()
def erasure_costs_of_tokens(model: EncoderOnly, ids: Tensor) -> Tensor:
    """What the predicted label loses in log p without each token but the first: (B, T) -> (B, T - 1)."""
    whole, answers = label_log_probs(model, ids).max(dim=-1)
    shorter = [torch.cat((ids[:, :t], ids[:, t + 1 :]), dim=1) for t in range(1, ids.shape[1])]
    return torch.stack([whole - label_log_probs(model, rows).gather(1, answers[:, None])[:, 0] for rows in shorter], 1)
