"""All tokens at once in training, one after the other in generation."""

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.labs.effects import Counted
from regard.labs.finding import Finding
from regard.labs.operations import count_operations
from regard.model.attention import AttentionFunction, attend
from regard.model.build import ATTENDS, build_decoder, use_parts
from regard.model.single_stack import DecoderOnly
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.runtime.incremental import IncrementalDecoder

CLAIM = "A Transformer processes all tokens at once, in training and in inference."
SOURCE = "Vaswani et al. 2017, section 1; answers of an assignment"
CLAIMS = (93, 94)
PREDICT = "A text twice as long: how many times as many matrix products, one after the other, does training need?"
CHANGE = "LAYERS=6: what changes? CPU seconds are in the table: how far are they from the counts?"
TURN = {"LAYERS": (1, 2, 6)}

LENGTHS, WIDTH, LAYERS = (16, 32, 64, 128), 32, 2

Computation = Callable[[DecoderOnly, Tensor], object]


def read_at_once(model: DecoderOnly, ids: Tensor) -> Tensor:
    """The logits of all next tokens in one pass: what a step of training computes."""
    logits: Tensor = model.output(model(ids))
    return logits


def generate(model: DecoderOnly, ids: Tensor) -> None:
    """The same numbers one token at a time, with a key-value cache, as in generation."""
    batch = IncrementalDecoder(model).new_batch()
    batch.admit(ids[:, :0])
    for token in ids.unbind(1):
        batch.step(token)


def count(model: DecoderOnly, compute: Computation, length: int) -> dict[str, float]:
    ids = torch.ones(1, length, dtype=torch.long)
    start = time.process_time()
    with torch.no_grad(), count_operations() as operations:
        compute(model, ids)
    seconds = time.process_time() - start
    return {"products": operations.products, "multiplications": operations.multiplications, "CPU seconds": seconds}


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    with use_parts(ATTENDS, softmax=attend):
        c = ModelConfig(dim=WIDTH, layers=LAYERS, heads=2, ffn=4 * WIDTH, dropout=0.0)
        model = build_decoder(c, vocab_size=11, pad=0).eval()
    ways: dict[str, Computation] = {"at once (training)": read_at_once, "one by one (generation)": generate}
    counts = {(way, length): count(model, compute, length) for way, compute in ways.items() for length in LENGTHS}

    def growth(way: str) -> float:
        return counts[way, LENGTHS[-1]]["products"] / counts[way, LENGTHS[-2]]["products"]

    # 1.5: at once would be 1, one by one 2
    return Finding(
        [
            Counted(f"the growth of products in a row for a text twice as long, {way}", growth(way), most=1.5)
            for way in ways
        ],
        Table.from_rows(
            {"tokens": length, "tokens are read": way, **numbers} for (way, length), numbers in counts.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "tokens", "products", "tokens are read", log="xy")


def attend_one_by_one(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *rest: object) -> tuple[Tensor, None]:
    """The same result, one query after the other."""
    masks = [None] if mask is None else mask.split(1, dim=-2)
    queries = q.split(1, dim=-2)
    outputs = [attend(one, k, v, its_mask)[0] for one, its_mask in zip(queries, masks, strict=True)]
    return torch.cat(outputs, dim=-2), None


def broken(seeds: Sequence[int]) -> Finding:
    """Attention that lets one query wait for the other."""
    return run(seeds, attend=attend_one_by_one)
