"""Small models that read one text, in float64, a tokenizer, and words of prime numbers."""

from collections.abc import Callable

import torch

from regard.config import ModelConfig
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import train_tokenizer
from regard.data.tokenizers.wordpiece import WordPiece, from_vocab
from regard.model.build import build_decoder, build_encoder, build_text_encoder_decoder
from regard.tasks.text_forward import TextModel

WORDS = ["the", "kings", "sleep", "cats", "see", "a", "dog", ".", "été", "Paris"]
TEXTS = ["the kings sleep .", "cats see a dog", "Paris sleeps in été .", "a b c d e f g"] * 5
TOKENIZER = SentencePieceText(train_tokenizer(TEXTS, 307, "bpe", (MASK_TOKEN,)))
BUILDERS: dict[str, Callable[..., TextModel]] = {
    "encoder": build_encoder,
    "decoder": build_decoder,
    "encoder-decoder": build_text_encoder_decoder,
}


def make_wordpiece() -> WordPiece:
    return from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "king", "##s", "sleep", "cat", "."], {})


def make_stack(
    num_labels: int, stack: str = "encoder", vocab_size: int = TOKENIZER.vocab_size, pooling: str = "mean", **settings
) -> TextModel:
    torch.manual_seed(3)
    config = ModelConfig(**{"dim": 22, "heads": 2, "ffn": 13, "layers": 2, "dropout": 0.0, **settings})
    model = BUILDERS[stack](config, vocab_size, 0, num_labels, pooling).double()
    for parameter in model.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model
