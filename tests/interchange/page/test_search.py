"""The engine of a page finds the hypotheses that the searches of regard.decode find, cut and looping ones included."""

import pytest
import torch

from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch, Limits
from regard.model.build import build, build_source_target_decoder
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper, PrefixStepper
from tests.interchange.page.test_forward import V, settings, write

SEARCH = """
finish(input.cases.map(({ file, simd, sources, limits }) => {
  const model = module_build.buildModel(open(file, simd));
  return sources.map((source) => {
    const bounds = new module_limits.Limits(limits);
    const special = { pad: 0, bos: 2, eos: 3 };
    const stepper = () => new module_stepper.ModelStepper(model, source, special, (ids) => ids.join());
    const { runToEnd, greedySearch, beamSearch } = module_search;
    return [
      runToEnd(greedySearch(stepper(), bounds)),
      ...input.beams.map((options) => runToEnd(beamSearch(stepper(), bounds, options))),
    ];
  });
}));
"""
BEAMS = [{"size": 1}, {"size": 3, "alpha": 0.6}, {"size": 5, "nbest": 5}]
CASES = {
    "sinusoidal": {},
    "t5": {"positions": {"kind": "t5", "buckets": 8, "max_distance": 9}},
    "rotary post": {"positions": {"kind": "rotary"}, "norm": "post"},
    "a short table": {"positions": {"kind": "learned", "length": 13}},
    "joined": {"architecture": "decoder", "positions": {"kind": "alibi"}},
}
LIMITS = {"factor": 1.5, "extra": 7, "loopRepeats": 3}


def test_searches_find_what_torch_finds(node, tmp_path):
    sources = [[*torch.randint(4, V, (length,)).tolist(), EOS] for length in (1, 2, 3, 5, 7, 9, 11)]
    limits = Limits(factor=1.5, extra=7, loop_repeats=3)
    searches = [GreedySearch(limits), *(BeamSearch(**options, limits=limits) for options in BEAMS)]
    expected, cases = [], []
    with torch.no_grad():
        for i, (label, case) in enumerate(CASES.items()):
            config = settings(case, output_bias=True)
            model = build_source_target_decoder(config, V, PAD) if label == "joined" else build(config, V, V, True, PAD)
            model.output.bias[EOS] = 6.0 if i % 2 else 4.0
            file = write(model, config, tmp_path / f"{i}.bin")
            cases.append({"file": file, "simd": i % 2 == 0, "sources": sources, "limits": LIMITS})
            make = PrefixStepper if label == "joined" else ModelStepper
            bare, decoder = [source[:-1] for source in sources], IncrementalDecoder(model)
            expected.append([search.search(make(decoder, bare, range(len(bare)))) for search in searches])
    results = node(SEARCH, {"cases": cases, "beams": BEAMS})
    cut = ended = 0
    for label, ours, theirs in zip(CASES, results, expected, strict=True):
        for number, found in enumerate(ours):
            for mine, other in zip(found, (one[number] for one in theirs), strict=True):
                assert [(tuple(h["ids"]), h["truncated"]) for h in mine] == [(h.ids, h.truncated) for h in other], label
                assert [h["score"] for h in mine] == pytest.approx([h.score for h in other], abs=1e-4), label
                cut += sum(h.truncated for h in other)
                ended += sum(not h.truncated for h in other)
    assert cut > 20 and ended > 20


PREFIX = """
const model = module_build.buildModel(open(input.file));
finish(input.prefixes.map((prefix) => {
  const stepper = new module_stepper.ModelStepper(model, input.source, { pad: 0, bos: 2, eos: 3 }, (ids) => ids.join());
  const options = { size: 3, nbest: 3, prefix };
  return module_search.runToEnd(module_search.beamSearch(stepper, new module_limits.Limits(), options));
}));
"""


@torch.no_grad()
def test_a_prefix_is_kept_and_scored_as_torch_scores_it(node, tmp_path):
    config = settings({}, output_bias=True)
    model = build(config, V, V, True, PAD)
    model.output.bias[EOS] = 1.0
    file = write(model, config, tmp_path / "model.bin")
    source, prefixes = [9, 8, 7, 11, EOS], [[7], [7, 5, 19], [5, 5, 8, 31, 6]]
    for prefix, hypotheses in zip(
        prefixes, node(PREFIX, {"file": file, "source": source, "prefixes": prefixes}), strict=True
    ):
        ended = [one["ids"] for one in hypotheses if not one["truncated"]]
        assert ended and all(ids[: len(prefix)] == prefix for ids in ended)
        for one in hypotheses[: len(ended)]:
            output = torch.tensor([*one["ids"], EOS])
            given = torch.cat((torch.tensor([BOS]), output[:-1]))
            logits = model.output(model(torch.tensor([source]), given[None]))[0]
            logits[:, [PAD, BOS]] = -torch.inf
            logp = logits.log_softmax(dim=-1).gather(1, output[:, None])
            assert one["score"] == pytest.approx(float(logp.sum()) / len(output), abs=1e-4)
