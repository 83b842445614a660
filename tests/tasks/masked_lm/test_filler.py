"""Filling masks: the model's own probabilities, the text around them untouched."""

import pytest
import torch

from regard.errors import DataError
from regard.inspection.text_readers import MaskedText, WholeText
from regard.tasks.masked_lm.filler import MaskFiller, encode_masks, tokenize_masks
from tests.tasks.masked_lm.conftest import EOS, MASK, SENTENCES


@pytest.fixture
def filler(trained, tokenizer) -> MaskFiller:
    return MaskFiller(trained.model, tokenizer, max_length=31)


def test_a_word_is_filled_in(filler):
    ((best, *_),) = filler.fill("a bird si[MASK] .", top_k=3)
    assert (best.token, best.text, best.sequence) == ("ngs", "ngs", "a bird sings .")
    ((best, *_),) = filler.fill("the dog hears [MASK] cat .", top_k=3)
    assert (best.token, best.text, best.sequence) == ("\u2581a", "a", "the dog hears a cat .")


def test_a_token_that_continues_a_word_is_joined_to_it(filler):
    ((best, *_),) = filler.fill("a bird si [MASK] .")
    assert best.sequence == "a bird sings ."


def test_several_masks_are_filled_each_with_the_others_left(filler):
    masks = filler.fill("[MASK] bird hears [MASK] cat and sings .", top_k=2)
    assert [len(candidates) for candidates in masks] == [2, 2]
    assert all(c.sequence == f"{c.text} bird hears [MASK] cat and sings ." for c in masks[0] if c.token[0] == "\u2581")
    assert masks[1][0].sequence == "[MASK] bird hears the cat and sings ." or masks[1][0].text != "the"


def test_probabilities_are_those_of_the_model(filler, tokenizer, trained):
    ((*candidates,),) = filler.fill("the cat sees [MASK] dog .", top_k=10**6)
    assert len(candidates) == tokenizer.vocab_size - len(tokenizer.special_ids)
    (ids,) = tokenizer.encode(["the cat sees a dog ."], 99)
    ids[ids.index(tokenizer.tokens.index("\u2581a"))] = MASK
    with torch.no_grad():
        logp = trained.loss.predict(trained.model(torch.tensor([ids]))[0, ids.index(MASK)])
    for candidate in candidates:
        assert candidate.probability == pytest.approx(
            float(logp[tokenizer.tokens.index(candidate.token)].exp()), abs=1e-6
        )
    assert [c.probability for c in candidates] == sorted((c.probability for c in candidates), reverse=True)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_mask_stands_where_the_word_was(filler, tokenizer, sentence):
    words = sentence.split(" ")
    (ids,) = tokenizer.encode([sentence], 99)
    starts = [i for i, starts in enumerate(tokenizer.starts_word(ids)) if starts]
    for number, begin in enumerate(starts):
        end = [*starts, ids.index(EOS)][number + 1]
        text = " ".join([*words[:number], "[MASK]", *words[number + 1 :]])
        assert encode_masks(text, filler.tokenizer, MASK, filler.max_length) == [*ids[:begin], MASK, *ids[end:]]


def test_every_mask_stands_where_its_word_was(filler, tokenizer):
    text = "[MASK] dog hears [MASK] cat and [MASK] ."
    assert tokenizer.convert_ids_to_tokens(encode_masks(text, tokenizer, MASK, filler.max_length)) == [
        "[MASK]", "▁do", "g", "▁he", "ars", "[MASK]", "▁ca", "t", "▁an", "d", "[MASK]", "▁.", "</s>"
    ]  # fmt: skip


def test_what_is_inspected_is_what_is_filled(filler, tokenizer):
    text = "[MASK] dog hears [MASK] cat and [MASK] ."
    read = MaskedText(tokenizer).read(text)
    assert list(read.ids) == encode_masks(text, tokenizer, MASK, filler.max_length)
    _, spans = tokenize_masks(text, tokenizer, MASK, filler.max_length)
    covered = [text[slice(*span)].strip() for span in spans]
    assert covered == ["[MASK]", "do", "g", "he", "ars", "[MASK]", "ca", "t", "an", "d", "[MASK]", ".", ""]
    assert MaskedText(tokenizer).read(SENTENCES[0]) == WholeText(tokenizer).read(SENTENCES[0])


def test_a_text_without_mask_is_refused_by_name(filler):
    with pytest.raises(DataError, match=r"no \[MASK\].*got 'a bird'"):
        filler.fill("a bird")


def test_a_mask_that_the_model_cannot_read_is_refused(trained, tokenizer):
    with pytest.raises(DataError, match=r"longer than 5 tokens.*one of its 2 \[MASK\]"):
        MaskFiller(trained.model, tokenizer, 5).fill("a [MASK] sings and hears the [MASK] .")
