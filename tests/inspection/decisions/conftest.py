"""Classifiers whose decisions are known: log-odds that are sums over words."""

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.config.model import PositionsConfig
from regard.data.tokenizers.wordpiece import from_vocab
from regard.model.build import build_encoder
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.labels import LabelSet

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class SumPooling(nn.Module):
    """A word that is erased changes the contribution of no other."""

    def forward(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        return (states * attention_mask[:, :, None]).sum(dim=1)


def make_linear_classifier(log_odds: dict[str, float], pool: nn.Module | None = None) -> Classifier:
    """Two labels, no and yes; the log-odds of yes are the sum of those of the words: a bag of words.

    The one layer attends, but adds nothing to the residual stream.
    """
    torch.manual_seed(5)
    config = ModelConfig(
        dim=14,
        heads=2,
        ffn=11,
        layers=1,
        dropout=0.0,
        scale_embeddings=False,
        positions=PositionsConfig(kind="none"),
    )
    tokens = [*SPECIAL_TOKENS, *log_odds]
    model = build_encoder(config, len(tokens), 0, 2, "mean").double()
    model.encoder.norm = nn.Identity()
    layer = model.encoder.layers[0]
    with torch.no_grad():
        layer.self_attn.out_proj.weight.zero_()
        layer.self_attn.out_proj.bias.zero_()
        layer.feed_forward.down.weight.zero_()
        layer.feed_forward.down.bias.zero_()
        table = model.encoder.embedding.tokens.weight
        table.normal_()
        table[:, 0] = torch.tensor([0.0] * len(SPECIAL_TOKENS) + list(log_odds.values()))
        model.output.weight.zero_()
        model.output.weight[1, 0] = 1.0
        if model.output.bias is not None:
            model.output.bias.zero_()
    model.pool = pool or SumPooling()
    return Classifier(model.eval(), from_vocab(tokens, {}), LabelSet(("no", "yes"), (7, 5), 12), 31)
