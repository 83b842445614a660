"""The tokenizer of a page gives the ids, and the text of ids, that the SentencePiece library gives."""

import io
import random
from pathlib import Path

import pytest
import sentencepiece

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizer, train_tokenizer

WORDS = (
    *("The", "children", "were", "singing", "in", "the", "café;", "naïve", "façade", "—", "3,5", "m²", "of", "ﬁne"),
    *("Ｗｉｄｅ", "½", "km…", "Straße", "ΑΒΓ", "привет", "東京", "한국"),
)
SPACES = (" ", "  ", "\t", "\u00a0", "\u2003", "\u200b", "\u2028", "\u2029", "\u2581", "\n", "\r\n")
MARKS = ("\u202e", "\u2066", "\ufeff", "\x00", "\x7f", "\u00ad", "\ufffd", "\ue000", "\U000e0041", "\U0001d54f")
NAMES = ("<s>", "</s>", "<unk>", "<pad>", "<0x41>", "<br>")
LETTERS = ("e\u0301", "A\u030a", "\u1100\u1161\u11a8", "が", "ｶﾞ", "ﷺ", "🏳️‍🌈", "👩🏽‍🔬", "İ", "ß", "ﬀ", "①", "㍿")
REPEATED = ("aaa", "aaaaa", "-----", "......", "hahaha", "eee")  # the same pair several times: the leftmost is merged
ODDITIES = (*SPACES, *MARKS, *NAMES, *LETTERS, *REPEATED)
TRAINED = {
    "regard bpe": None,
    "regard unigram": None,
    "unigram nmt_nfkc": {"model_type": "unigram"},
    "bpe nfkc_cf": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True},
    "symbols": {"model_type": "bpe", "user_defined_symbols": ["<br>", "ing", "東京"], "add_dummy_prefix": False},
    "suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True, "normalization_rule_name": "identity"},
}
TOKENIZE = """
const file = new Uint8Array(fs.readFileSync(input.file));
const tokenizer = new module_sentencepiece.SentencePiece(file, input.hidden);
finish([input.lines.map((line) => tokenizer.encode(line)), input.rows.map((row) => tokenizer.decode(row))]);
"""


def nasty_lines(count: int, seed: int) -> list[str]:
    """Words of several scripts, oddities of Unicode, and characters at random, in any order."""
    rng = random.Random(seed)

    def part() -> str:
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(WORDS) + rng.choice(["", " ", " ", "  "])
        if kind < 0.8:
            return rng.choice(ODDITIES)
        point = rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x250, 0xD800), rng.randrange(0xE000, 0x110000)])
        return chr(point)

    return ["", " ", "   ", "\u2581", *("".join(part() for _ in range(rng.randrange(1, 23))) for _ in range(count - 4))]


def train(options: dict | None, name: str) -> bytes:
    texts = [line for line in nasty_lines(503, seed=3) if line.strip() and "\n" not in line and "\x00" not in line]
    if options is None:
        return train_tokenizer(texts, 700, name.split()[1], control_symbols=["[MASK]"]).model
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        vocab_size=1200,
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    return out.getvalue()


def assert_same_as_the_library(node, tmp_path: Path, name: str, count: int) -> None:
    model = train(TRAINED[name], name)
    (tmp_path / "tokenizer.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    lines, rng = nasty_lines(count, seed=11), random.Random(5)
    size = processor.get_piece_size()
    rows = [[rng.randrange(size) for _ in range(rng.randrange(7))] for _ in range(count // 3)]
    hidden = [PAD, BOS, EOS] if TRAINED[name] is None else []
    data = {"file": str(tmp_path / "tokenizer.model"), "lines": lines, "rows": rows, "hidden": hidden}
    ids, texts = node(TOKENIZE, data, entry="sentencepiece")
    for line, ours in zip(lines, ids, strict=True):
        assert ours == processor.encode(line), repr(line)
    decode = Tokenizer(model).decode if hidden else processor.decode
    for row, ours in zip(rows, texts, strict=True):
        assert ours == decode(row), [processor.id_to_piece(i) for i in row]


@pytest.mark.parametrize("name", TRAINED)
def test_nasty_unicode_has_the_ids_of_the_library(node, tmp_path, name):
    assert_same_as_the_library(node, tmp_path, name, 601)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_ten_thousand_nasty_lines_have_the_ids_of_the_library(node, tmp_path, name):
    assert_same_as_the_library(node, tmp_path, name, 10_000)
