"""What a denoiser reads and how its losses are counted, with a model that has learned nothing."""

import pytest
import torch

from regard.config import ModelConfig
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.errors import DataError
from regard.model.build import build
from regard.tasks.denoise.denoiser import Denoiser
from regard.tasks.denoise.noise import NoisyText, make_target, sentinel_of
from tests.tasks.denoise.test_spans import TOKENIZER

TEXT = f"the {MASK_TOKEN} sleep {MASK_TOKEN} . {MASK_TOKEN}"


def make_denoiser(target: str = "spans") -> Denoiser:
    torch.manual_seed(3)
    config = ModelConfig(dim=22, heads=2, ffn=13, layers=2, dropout=0.0)
    model = build(config, TOKENIZER.vocab_size, TOKENIZER.vocab_size, True, PAD).double()
    return Denoiser(model, TOKENIZER, make_target(target, TOKENIZER), 29)


def find(name: str) -> int:
    return TOKENIZER.tokenizer.find_control_symbol(name)


@pytest.mark.parametrize("target", ["text", "spans"])
def test_masks_are_those_that_the_model_has_learned_in_their_order(target: str, monkeypatch: pytest.MonkeyPatch):
    denoiser, sources = make_denoiser(target), []
    monkeypatch.setattr(denoiser, "generate", lambda rows, search=None: sources.extend(rows) or [[] for _ in rows])
    denoiser.restore([TEXT, TEXT.replace("the", "a")])
    denoiser.restore([TEXT], language="fr")
    names = [MASK_TOKEN] * 3 if target == "text" else list(map(sentinel_of, range(3)))
    for source in sources:  # the masks of each text begin anew
        assert [i for i in source if i in denoiser.target.masks] == list(map(find, names))
    assert sources[2] == [find("[fr]"), *sources[0]] and EOS not in sources[0]
    with pytest.raises(DataError, match="the model has no mark of the language 'de'"):
        denoiser.restore([TEXT], language="de")
    with pytest.raises(DataError, match=r"the text has no \[MASK\], which marks"):
        denoiser.restore(["the kings"])


def test_losses_are_those_of_every_target_and_of_the_end():
    denoiser = make_denoiser()
    texts = [
        NoisyText([7, 8, 9], [11, 12, 13, 14], [False, True, True, False]),
        NoisyText([10, 11, 12, 13, 14], [15], [True]),
    ]
    for text, forced in zip(texts, denoiser.teacher_force(texts), strict=True):
        with torch.inference_mode():
            source, target = torch.tensor([[*text.source, EOS]]), torch.tensor([[BOS, *text.target]])
            log_probs = denoiser.model.output(denoiser.model(source, target))[0].log_softmax(dim=-1)
        expected = [*text.target, EOS]
        nats = -log_probs[range(len(expected)), expected].sum()
        assert forced.nats == pytest.approx(float(nats), rel=1e-5)
        hits = [h and int(row.argmax()) == i for h, row, i in zip(text.is_hidden, log_probs, text.target, strict=False)]
        assert forced.num_correct == sum(hits)
