"""Documents and ids: nothing is lost."""

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.data.documents.tokenizer import ESCAPE, DocumentTokenizer, split_for_training
from regard.data.tokenizers.tokenizer import MAX_SENTENCE_BYTES, SPACE, UNK, train_tokenizer
from regard.errors import DataError

LINES = ["the cat sees the dog", "  GREMIO:", "le chat voit le chien", "l'été\tde l'élève", "a b c d e f g"] * 5
UNICODE = st.characters(exclude_categories=["Cs"])
TEXT = st.text(st.one_of(st.sampled_from(f" \n\r\t{SPACE}{ESCAPE}se\x00\x85\u2028"), UNICODE))
TOKENIZERS = [DocumentTokenizer(train_tokenizer(LINES, 320, kind).model) for kind in ("bpe", "unigram")]


@settings(max_examples=500, deadline=None)
@given(TEXT)
@example(" \n\n  x\r\n\ty \n")
@example(f"{SPACE}{ESCAPE}s{ESCAPE}e")
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_what_is_encoded_comes_back(tokenizer: DocumentTokenizer, text: str):
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text
    assert UNK not in ids
    assert tokenizer.decode([tokenizer.bos_id, *ids, tokenizer.eos_id]) == text


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_spans_cover_the_text_in_order(text: str):
    (ids,) = TOKENIZERS[0].encode([text])
    spans = TOKENIZERS[0].spans(text, ids)
    assert len(spans) == len(ids)
    assert {i for a, b in spans for i in range(a, b)} == set(range(len(text)))
    assert spans == sorted(spans)


@settings(max_examples=300, deadline=None)
@given(TEXT, st.integers(0, 97))
@example(f"{SPACE}x\n {ESCAPE}", 0)
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_tokens_give_the_bytes_of_the_text_one_by_one(tokenizer: DocumentTokenizer, text: str, begin: int):
    (ids,) = tokenizer.encode([text])
    row = [tokenizer.bos_id, *ids]
    begin = 1 + begin % len(row)
    decode_token = tokenizer.byte_decoder(row[:begin])
    prompt = "" if SPACE in text or ESCAPE in text else tokenizer.decode(row[:begin])
    if "\ufffd" in prompt or (not prompt and begin > 1):  # the prompt ends inside a character
        return
    assert prompt + b"".join(map(decode_token, row[begin:])).decode() == text
    assert decode_token(tokenizer.eos_id) == decode_token(UNK) == b""


def test_a_line_has_the_same_tokens_wherever_it_is():
    tokenizer = TOKENIZERS[0]
    line, other = tokenizer.encode(["the cat sees", " x"])
    assert tokenizer.encode(["the cat sees\n x\n\nthe cat sees"]) == [
        [*line, *(newline := [tokenizer.newline_id]), *other, *newline, *newline, *line]
    ]


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("aé日 \n"), min_size=100), st.integers(1, 400))
def test_tokenizers_are_trained_on_all_of_the_text_in_lines_that_are_not_too_long(text: str, repeats: int):
    text *= repeats
    lines = list(split_for_training([text, "x"]))
    assert "".join(lines) == text.replace("\n", "") + "x"
    assert all(len(line.encode()) <= MAX_SENTENCE_BYTES and "\n" not in line for line in lines)


def test_long_lines_are_cut_at_blanks():
    lines = list(split_for_training(["word " * MAX_SENTENCE_BYTES]))
    assert len(lines) > 4 and all(line.strip().split(" ")[0] == "word" for line in lines if line.strip())
    assert {len(line) % 5 for line in lines[1:-1]} == {0}


def test_a_tokenizer_without_bytes_is_refused(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(tmp_path / "x"), vocab_size=30, minloglevel=2
    )
    with pytest.raises(DataError, match="cannot encode line ends; train it with byte fallback"):
        DocumentTokenizer((tmp_path / "x.model").read_bytes())
