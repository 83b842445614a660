"""Tokens under other ids: only the ids differ."""

import io

import pytest
import sentencepiece

from regard.data.tokenizers.remapped_sentencepiece import SPECIAL_TOKENS, RemappedSentencePiece
from regard.data.tokenizers.tokenizer import EOS, UNK, Tokenizer, Tokenizers

ENGLISH = ["the cat sees the dog", "the dogs see a cat", "a b c d e f g h i j k l m n o p q r s t u v w x y z"] * 5
FRENCH = ["le chat voit le chien", "les chiens voient un chat", "l'été de l'élève"] * 5


def model(texts: list[str], size: int) -> bytes:
    """As Marian's are: end and unknown first, no padding, letters normalized."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=out, vocab_size=size, model_type="unigram", hard_vocab_limit=False,
        eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    return out.getvalue()


def names(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(2, processor.get_piece_size())]


@pytest.fixture(scope="module")
def both() -> Tokenizers:
    english, french = model(ENGLISH, 61), model(FRENCH, 67)
    table = (*SPECIAL_TOKENS, *dict.fromkeys([*reversed(names(french)), *names(english), ">>fra<<"]))
    return Tokenizers(RemappedSentencePiece(english, table), RemappedSentencePiece(french, table))


def test_a_text_is_cut_as_the_model_cuts_it_and_comes_back(both: Tokenizers):
    for tokenizer, texts in ((both.source, ENGLISH), (both.target, FRENCH)):
        plain = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
        for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
            assert tokenizer.convert_ids_to_tokens(ids) == plain.encode(text, out_type=str)
            assert tokenizer.decode([*ids, EOS]) == text
            assert min(ids) > EOS


def test_one_table_serves_both_sides(both: Tokenizers):
    assert both.joint and both.source.vocab_size == both.target.vocab_size == len(both.source.id_to_token)
    assert not Tokenizers(RemappedSentencePiece(both.source.model, both.source.id_to_token[:-1]), both.target).joint
    same = Tokenizer(both.source.model)
    assert Tokenizers(same, same).joint and not Tokenizers(same, Tokenizer(both.source.model)).joint


def test_what_the_table_has_not_is_unknown_and_the_end_cannot_be_typed(both: Tokenizers):
    assert UNK in both.source.encode(["日"])[0]
    assert EOS not in both.source.encode(["a </s> b <pad> <s>"])[0]


def test_pieces_of_the_other_language_are_words_too(both: Tokenizers):
    foreign = both.target.encode(["chat voit l'été"])[0]
    assert "é" not in names(both.source.model)
    assert both.source.decode([*both.source.encode(["the"])[0], *foreign]) == "the chat voit l'été"


def test_a_language_named_in_front_is_one_piece(both: Tokenizers):
    ids, plain = both.source.encode([">>fra<< the cat", "the cat"])
    assert ids == [both.source.id_to_token.index(">>fra<<"), *plain]
    assert both.source.spans(">>fra<< the cat", ids)[0] == (0, 7)
    assert both.source.encode([">>zzz<< the cat"])[0] == [UNK, *plain]


def test_spans_are_the_pieces_themselves_or_what_they_were_made_of(both: Tokenizers):
    text = "the  cat … sees"  # two spaces, and one letter that becomes three
    ids = both.source.encode([text])[0]
    spans = both.source.spans(text, ids)
    assert len(spans) == len(ids)
    assert {i for a, b in spans for i in range(a, b)} >= {i for i, letter in enumerate(text) if letter != " "}
    cat = next(span for token, span in zip(both.source.convert_ids_to_tokens(ids), spans, strict=True) if "c" in token)
    assert text[cat[0] : cat[1]].strip().startswith("c")


def test_sampled_pieces_are_of_the_same_language_and_say_the_same(both: Tokenizers):
    own = names(both.target.model)
    parts = [token[i:j] for token in own for i, j in ((0, 1), (0, 2), (1, 9), (2, 9)) if len(token) > 2]
    foreign = dict.fromkeys(part for part in parts if part and part not in both.target.id_to_token)
    assert foreign  # halves that only another language's model could have
    tokenizer = RemappedSentencePiece(both.target.model, (*both.target.id_to_token, *foreign))
    plain = tokenizer.encode(FRENCH)
    sampled = tokenizer.sample_segmentation(plain, 0.5, seed=5)
    assert sampled != plain
    assert [tokenizer.decode(ids) for ids in sampled] == FRENCH
    assert {token for ids in sampled for token in tokenizer.convert_ids_to_tokens(ids)} <= set(own)
