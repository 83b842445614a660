"""In 8-bit integers the engine gives the outputs of torch with the same integers and the same rounding."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.testing import assert_close

import regard
from regard.config import parse_assignments
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.interchange.page import pack_model
from regard.jobs.load import load
from regard.metrics.bleu import corpus_bleu
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from tests.interchange.page.reference import as_in_page
from tests.interchange.page.test_forward import V, settings, tensor_of, write

GREEDY = """
const model = module_build.buildModel(open(input.file, input.simd));
finish(input.sources.map((source) => {
  if (input.target) return numbers(model.teacherForce(source, input.target));
  const stepper = new module_stepper.ModelStepper(model, source, { pad: 0, bos: 2, eos: 3 }, (ids) => ids.join());
  return module_search.runToEnd(module_search.greedySearch(stepper, new module_limits.Limits()))[0];
}));
"""


def rows(ids: list[list[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=PAD)


def count_other_choices(model: EncoderDecoder, sources: list[list[int]], outputs: list[dict]) -> int:
    """Sentences in which torch, given the same beginning, would choose another token somewhere."""
    given = rows([[BOS, *one["ids"]] for one in outputs])
    chosen = rows([[*one["ids"], PAD if one["truncated"] else EOS] for one in outputs])
    logits = model.output(model(rows(sources), given))
    logits[:, :, [PAD, BOS]] = -torch.inf
    return int(((logits.argmax(dim=-1) != chosen) & (chosen != PAD)).any(dim=1).sum())


@torch.no_grad()
@pytest.mark.parametrize("simd", [True, False])
@pytest.mark.parametrize(
    "case",
    [
        {},
        {"norm": "post", "activation": "gelu", "positions": {"kind": "rotary"}},
        {"norm_kind": "rms", "activation": "swiglu", "positions": {"kind": "t5"}},
    ],
    ids=["pre", "post", "rms"],
)
def test_integers_choose_what_torch_chooses(node, tmp_path: Path, case, simd):
    config = settings(case, output_bias=True)
    model = build(config, V, V, True, PAD)
    model.output.bias[EOS] = 3.0
    file = write(model, config, tmp_path / "model.bin", "int8")
    sources = [[*torch.randint(4, V, (int(length),)).tolist(), EOS] for length in torch.randint(1, 13, (61,))]
    outputs = node(GREEDY, {"file": file, "simd": simd, "sources": sources})
    float_choices = count_other_choices(model, sources, outputs)
    page_model = as_in_page(model)
    assert count_other_choices(page_model, sources, outputs) == 0
    # Whole logits, too: a wrong scale may choose the same tokens.
    data = {"file": file, "simd": simd, "sources": sources[:7], "target": [BOS, 5, 7, 11, 13]}
    for source, logits in zip(sources, node(GREEDY, data), strict=False):
        expected = page_model.output(page_model(torch.tensor([source]), torch.tensor([data["target"]])))[0]
        assert_close(tensor_of(logits).double(), expected, rtol=1e-5, atol=1e-5)
    assert float_choices > 0 and any(not one["truncated"] for one in outputs)


def translate_test_set(node, run: Run, tmp_path: Path, lines: list[str], quantize: str) -> tuple[list, list]:
    translator = load(run.folder, "cpu")
    (tmp_path / "model.bin").write_bytes(pack_model(translator.model, run.load_config().model, quantize=quantize))
    sources = [[*ids, EOS] for ids in translator.tokenizers.source.encode(lines)]
    outputs = node(GREEDY, {"file": str(tmp_path / "model.bin"), "simd": True, "sources": sources})
    return sources, outputs


@torch.no_grad()
def assert_thousand_sentences_agree(node, run: Run, tmp_path: Path, corpora: Path) -> None:
    folder = corpora / "multi30k" / "tok"
    lines, references = (
        (folder / f"test_2016_flickr.lc.norm.tok.{side}").read_text(encoding="utf-8").splitlines()[:1000]
        for side in ("en", "fr")
    )
    translator = load(run.folder, "cpu")
    decode, scores = translator.tokenizers.target.decode, {}
    for quantize in ("none", "int8"):
        sources, outputs = translate_test_set(node, run, tmp_path, lines, quantize)
        model = load(run.folder, "cpu").model
        model = as_in_page(model) if quantize == "int8" else model
        parts = [slice(i, i + 100) for i in range(0, 1000, 100)]
        others = sum(count_other_choices(model, sources[part], outputs[part]) for part in parts)
        assert others == 0, quantize
        scores[quantize] = corpus_bleu([decode(one["ids"]) for one in outputs], references).value
    print(scores)
    assert abs(scores["int8"] - scores["none"]) < 0.3, scores


@pytest.mark.slow
def test_a_thousand_sentences_are_those_of_torch(node, tmp_path: Path, corpora: Path):
    folder = corpora / "multi30k" / "tok"
    train, dev = ([folder / f"{name}.lc.norm.tok.{side}" for side in ("en", "fr")] for name in ("train", "val"))
    small = ["model.dim=96", "model.ffn=192", "model.layers=2", "data.vocab_size=3000", "train.learning_rate=0.002"]
    regard.train(train, dev=dev, out=tmp_path / "run", steps=700, settings=parse_assignments(small))
    assert_thousand_sentences_agree(node, Run(tmp_path / "run"), tmp_path, corpora)
