"""Vectors of words are the states of their tokens, of each layer by its number."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.errors import DataError
from regard.inspection.word_states import WordReader, name_layers, read_layers
from tests.tasks.conftest import TOKENIZER, make_stack

LAYERS = 3
SENTENCES = ["the kings sleep .", "cats see a dog and sleepless kings"]


@dataclass(frozen=True)
class Word:
    sentence: str
    word: str

    @property
    def begin(self) -> int:
        return self.sentence.index(self.word)

    @property
    def end(self) -> int:
        return self.begin + len(self.word)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_each_layer_has_its_own_states(stack: str):
    model, outputs = make_stack(2, stack, layers=LAYERS).eval(), []
    for layer in model.stack.layers:
        layer.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    rows = TOKENIZER.encode(SENTENCES[:1], 64)
    with torch.inference_mode():
        states = read_layers(model, rows)
    assert list(states) == name_layers(model) == ["static", "with position", "layer 0", "layer 1", "layer 2"]
    for number, output in enumerate(outputs):
        assert_close(states[f"layer {number}"], output if isinstance(output, torch.Tensor) else output[0])
    assert_close(states["static"][0], model.stack.embedding.tokens.weight[rows[0]])


def count_common(first: list[int], second: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))


@pytest.mark.parametrize(
    "word", [Word(SENTENCES[0], "kings"), Word(SENTENCES[1], "sleepless"), Word(SENTENCES[0], ".")]
)
def test_a_word_is_the_mean_of_its_tokens_and_of_no_others(word: Word):
    model = make_stack(2, layers=LAYERS)
    reader = WordReader(model, TOKENIZER, 64)
    before, up_to, whole = (
        TOKENIZER.encode([text], 64)[0]
        for text in (word.sentence[: word.begin].rstrip(), word.sentence[: word.end], word.sentence)
    )
    tokens = slice(count_common(before, whole), count_common(up_to, whole) if up_to != whole else len(whole) - 1)
    vectors = reader.embed([word, Word(SENTENCES[1], "dog"), word])
    with torch.inference_mode():
        states = read_layers(model.eval(), [whole])
    for name, rows in vectors.items():
        assert np.allclose(rows[0], states[name][0, tokens].mean(dim=0).numpy()), name
        assert np.allclose(rows[0], rows[2])


def test_a_word_that_the_model_does_not_read_is_refused():
    word = Word(f"{'a ' * 40}dog", "dog")
    with pytest.raises(DataError, match="'dog' is not among the 31 tokens that the model reads of 'a a a"):
        WordReader(make_stack(2), TOKENIZER, 31).embed([word])
