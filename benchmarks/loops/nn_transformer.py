"""torch.nn.Transformer in the loop of a tutorial, telling each step: MATERIAL LAYERS DIM HEADS FFN BATCH"""

import math
import sys
from pathlib import Path

import torch
from token_files import PAD, load, padded, random_batches
from torch import Tensor, nn

SENTENCES = 256  # about 3,900 target tokens of this corpus


class Translator(nn.Module):
    def __init__(self, size: int, layers: int, dim: int, heads: int, ffn: int):
        super().__init__()
        self.dim = dim
        self.words = nn.Embedding(size, dim, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=dim**-0.5)
        self.inner = nn.Transformer(dim, heads, layers, layers, ffn, dropout=0.1, batch_first=True)
        self.out = nn.Linear(dim, size, bias=False)
        self.out.weight = self.words.weight
        self.drop = nn.Dropout(0.1)
        at, even = torch.arange(512)[:, None], torch.arange(0, dim, 2)
        angle = at * torch.exp(even * (-math.log(10_000.0) / dim))
        self.register_buffer("places", torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        return self.drop(self.words(ids) * math.sqrt(self.dim) + self.places[: ids.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        states = self.inner(
            self.embed(source),
            self.embed(target),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return self.out(states)


def main() -> None:
    layers, dim, heads, ffn = (int(word) for word in sys.argv[2:6])
    torch.manual_seed(1)
    pairs, size = load(Path(sys.argv[1]))
    model = Translator(size, layers, dim, heads, ffn).train()
    loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98))
    for batch in random_batches(pairs, SENTENCES):
        source, into, out = padded(batch)
        optimizer.zero_grad()
        loss(model(source, into).flatten(0, 1), out.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print("tokens", int((out != PAD).sum()), flush=True)


if __name__ == "__main__":
    main()
