"""A corpus, and training loops over it that are as small as they can be."""

from pathlib import Path

import torch

from regard.config import ModelConfig, TrainConfig
from regard.data.batch import Batches, TranslationCollator
from regard.data.store import Corpus, open_corpus, write_ids, write_texts
from regard.data.tokenizers.tokenizer import PAD, Tokenizers, train_tokenizer
from regard.formats import Pair
from regard.model.build import build, build_source_target_decoder
from regard.model.single_stack import SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.tasks.translate.loss import TranslationLoss
from regard.training.distributed.ddp import SingleProcess
from regard.training.ema import build_ema
from regard.training.loop import TrainingLoop
from regard.training.optim import build_optimizers
from regard.training.planning.budget import Budget
from regard.training.schedule import cosine

WORDS = ["ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "ga"]
STEPS = 7


def write_corpus(folder: Path) -> tuple[Corpus, Tokenizers]:
    """31 pairs whose targets are their sources backwards."""
    generator = torch.Generator().manual_seed(3)
    lines = [
        [WORDS[i] for i in torch.randint(11, (int(length),), generator=generator)]
        for length in torch.randint(1, 8, (31,), generator=generator)
    ]
    pairs = [Pair(" ".join(words), " ".join(reversed(words))) for words in lines]
    joint = train_tokenizer([pair.source for pair in pairs] * 3, 271, "bpe")
    tokenizers = Tokenizers(joint, joint)
    write_texts(folder, "x", pairs)
    write_ids(folder, "x", tokenizers)
    return open_corpus(folder, "x", tokenizers), tokenizers


def make_loop(
    corpus: tuple[Corpus, Tokenizers], c: TrainConfig, dropout: float = 0.0, stack: str = "encoder-decoder"
) -> TrainingLoop:
    torch.manual_seed(5)
    settings = ModelConfig(dim=22, heads=2, ffn=13, layers=1, dropout=dropout)
    size = corpus[1].source.vocab_size
    if stack == "decoder":
        model: EncoderDecoder | SourceTargetDecoder = build_source_target_decoder(settings, size, PAD).double()
    else:
        model = build(settings, size, size, joint=True, pad=PAD).double()
    return TrainingLoop(
        loss_module=TranslationLoss(model, 0.1),
        batches=Batches(corpus[0], TranslationCollator(corpus[1]), max_tokens=61, max_length=64, seed=c.seed),
        optimizers=build_optimizers(c, model),
        schedule=cosine(2),
        budget=Budget(STEPS, None),
        ema=build_ema(model, c.ema),
        processes=SingleProcess(torch.device("cpu")),
        accumulate_batches=c.accumulate_batches,
        clip_grad_norm=c.clip_grad_norm,
        seed=c.seed,
    )
