"""Texts that are hard to cut into bytes, and a byte-level tokenizer trained on a few of them."""

import functools
import json

from regard.data.corpora import english_french
from regard.data.tokenizers.byte_level_bpe import EOS_TOKEN

SENTENCES = [pair.target for pair in english_french.split(200, 17, 13, 5, seed=3).train]
NASTY = [
    "",
    " ",
    "   two  blanks\tand\ta tab ",
    "line\nline\r\nline\n\n",
    "naïve café, ça été; Œuvre",
    "日本語の文です。漢字",
    "שלום עולם‏ العَرَبِيَّة",
    "👩‍👩‍👧‍👦 🇫🇷 👍🏽 🙂",
    "e\u0301 \u0301 \u200d \ufeff \u00ad",
    "\x00\x01\x7f\x80\xa0",
    "\U0010ffff\ue000\ufffd\ufffe",
    "don't we'll THEY'RE I'd 'tis",
    "3.14159 1,000,000 ½ ² ₂ ٣",
    "Ġ Ċ ĉ Ń ÿ",  # the characters that stand for bytes in a vocabulary
    "a<|endoftext|>b <|endoftext|>",
    "a" * 97 + "-" * 53,
    "ठीक है ไทย ខ្មែរ",
    "𝒳 𝔘𝔫𝔦 ∑∫≤ →",
    "\u2028\u2029\x85\x0b\x0c",
]


@functools.cache
def byte_level_json(vocab_size: int = 307) -> bytes:
    """The tokenizer.json of a tokenizer trained on sentences, whose longest merges are short."""
    import tokenizers

    bpe = tokenizers.ByteLevelBPETokenizer()
    bpe.train_from_iterator(
        SENTENCES, vocab_size=vocab_size, min_frequency=2, special_tokens=[EOS_TOKEN], show_progress=False
    )
    return json.dumps(json.loads(bpe.to_str()), ensure_ascii=False).encode()


def vocab_and_merges(tokenizer_json: bytes) -> tuple[dict[str, int], str]:
    """The content of GPT-2's older files."""
    model = json.loads(tokenizer_json)["model"]
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
    return model["vocab"], "\n".join(["#version: 0.2", *merges, ""])
