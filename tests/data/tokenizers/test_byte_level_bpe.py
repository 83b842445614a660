"""Byte-level BPE: any text is given back exactly, with the ids that the transformers library gives it."""

import json
import random

import pytest

from regard.data.tokenizers.byte_level_bpe import EOS_TOKEN, ByteLevelBPE, byte_characters, from_merges
from regard.errors import DataError
from tests.data.byte_level import NASTY, SENTENCES, byte_level_json, vocab_and_merges

pytest.importorskip("tokenizers", reason="needs the tokenizers library: pip install 'regard[bert]'")


@pytest.fixture(scope="module")
def tokenizer() -> ByteLevelBPE:
    return ByteLevelBPE(byte_level_json())


def random_texts(count: int) -> list[str]:
    """Characters of every length in UTF-8, among blanks and letters."""
    chance = random.Random(7)
    ranges = ((0x20, 0x7E), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF))
    return ["".join(chr(chance.randint(*chance.choice(ranges))) for _ in range(29)) for _ in range(count)]


def test_every_text_is_given_back(tokenizer: ByteLevelBPE):
    texts = [text for text in (*NASTY, *SENTENCES[:50], *random_texts(100)) if EOS_TOKEN not in text]
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert tokenizer.decode(ids) == text
        assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()
        assert tokenizer.encode([text]) == [ids]


def test_ids_and_texts_are_those_of_transformers(tokenizer: ByteLevelBPE, tmp_path):
    transformers = pytest.importorskip("transformers")
    vocab, merges = vocab_and_merges(byte_level_json())
    (tmp_path / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (tmp_path / "merges.txt").write_text(merges, encoding="utf-8")
    theirs = transformers.GPT2TokenizerFast.from_pretrained(str(tmp_path))
    texts = [*NASTY, *SENTENCES[:50], *random_texts(100)]
    expected = [theirs(text)["input_ids"] for text in texts]
    assert tokenizer.encode(texts) == from_merges(vocab, merges).encode(texts) == expected
    chance = random.Random(5)
    for _ in range(300):  # bytes in an order that no text has
        ids = [chance.randrange(tokenizer.vocab_size) for _ in range(chance.randrange(13))]
        assert tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert tokenizer.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert tokenizer.eos_id == theirs.eos_token_id and tokenizer.vocab_size == len(theirs)


def test_the_end_of_a_document_is_one_token_without_text(tokenizer: ByteLevelBPE):
    (ids,) = tokenizer.encode([f"a{EOS_TOKEN}b"])
    assert ids == [*tokenizer.encode(["a"])[0], tokenizer.eos_id, *tokenizer.encode(["b"])[0]]
    assert tokenizer.decode(ids) == "ab" and tokenizer.token_bytes(tokenizer.eos_id) == b""
    assert tokenizer.token_bytes(tokenizer.vocab_size) == b"" and tokenizer.bos_id == tokenizer.eos_id


def test_a_segmentation_is_never_sampled():
    parts = json.loads(byte_level_json())
    parts["model"]["dropout"] = 0.7
    sampling = ByteLevelBPE(json.dumps(parts).encode())
    assert sampling.encode(SENTENCES[:29]) == ByteLevelBPE(byte_level_json()).encode(SENTENCES[:29])


def test_nothing_is_put_around_a_text():
    parts, eos = json.loads(byte_level_json()), {"SpecialToken": {"id": EOS_TOKEN, "type_id": 0}}
    parts["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [eos, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {EOS_TOKEN: {"id": EOS_TOKEN, "ids": [0], "tokens": [EOS_TOKEN]}},
    }
    framing = ByteLevelBPE(json.dumps(parts).encode())
    assert framing.encode(SENTENCES[:7]) == ByteLevelBPE(byte_level_json()).encode(SENTENCES[:7])


def test_there_is_a_row_for_the_largest_id():
    vocab, merges = vocab_and_merges(byte_level_json())
    with_gap = vocab | {"q": 401}
    tokenizer = from_merges(with_gap, merges)
    assert tokenizer.vocab_size == 402 and tokenizer.encode(["q"]) == [[401]] and tokenizer.decode([401]) == "q"


def test_bytes_have_printable_characters_of_their_own():
    characters = byte_characters()
    assert len(set(characters)) == 256 and all(character.isprintable() for character in characters)
    assert [characters[byte] for byte in b"\x00\n aA~\x7f\xff"] == list("ĀĊĠaA~ġÿ")


def test_tokens_that_were_added_as_text_are_that_text():
    parts = json.loads(byte_level_json())
    token = {"id": 311, "content": "日 本", "special": False, "lstrip": False, "rstrip": False} | dict.fromkeys(
        ("single_word", "normalized"), False
    )
    parts["added_tokens"].append(token)
    added = ByteLevelBPE(json.dumps(parts).encode())
    assert added.vocab_size > 300 and added.decode(added.encode(["a日 本b"])[0]) == "a日 本b"
    assert "日 本" in added.convert_ids_to_tokens(added.encode(["a日 本b"])[0])


def test_what_is_no_byte_level_tokenizer_is_refused():
    vocab, merges = vocab_and_merges(byte_level_json())
    parts = json.loads(byte_level_json())
    for content, message in (
        (b"", r"tokenizer\.json: not a valid tokenizer"),
        (b"[]", r"tokenizer\.json: not a valid tokenizer"),
        (b"\xff", r"tokenizer\.json: not a valid tokenizer"),
        (b"{}", r"a model of type None and a decoder of type None; expected 'BPE' and 'ByteLevel'"),
        (json.dumps(parts | {"decoder": {"type": "WordPiece"}}).encode(), r"decoder of type 'WordPiece'; expected"),
        (json.dumps(parts | {"model": {"type": "WordPiece"}}).encode(), r"model of type 'WordPiece' and"),
        (json.dumps(parts | {"model": {"type": "BPE", "vocab": 3}}).encode(), r"not a valid tokenizer"),
    ):
        with pytest.raises(DataError, match=message):
            ByteLevelBPE(content)
    for words, lines, message in (
        ({token: i for token, i in vocab.items() if token != EOS_TOKEN}, merges, r"has no token <\|endoftext\|>"),
        ({token: i for token, i in vocab.items() if token != "q"}, "", r"has no token q, which byte-level BPE needs"),
        (vocab, "#version: 0.2\na b c\n", r"merges\.txt, line 2: expected two tokens"),
        (vocab, "zz qq\n", r"vocab\.json, merges\.txt: not a valid tokenizer"),
        (vocab | {"x": -1}, merges, r"vocab\.json, merges\.txt: not a valid tokenizer"),
    ):
        with pytest.raises(DataError, match=message):
            from_merges(words, lines)


def test_half_a_surrogate_pair_is_no_text(tokenizer: ByteLevelBPE):
    with pytest.raises(DataError, match=r"a text has '\\ud83d' at character 3, which is no text"):
        tokenizer.encode(["fine", "ab\ud83dc"])
