"""look.html without a browser: one file, no request, numbers and tokens inside it, errors that name bad data."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from regard.errors import RegardError
from regard.report.look.bundle import bundle_script, csp_hash
from regard.report.look.data import HeadHistoryPoint, HistoryRecord, LookData
from regard.report.look.page import render_look_page
from tests.report.look.look_sample import look_data, prune, unmeasured, with_kind, with_source

EVIL = "</script><img src=https://example.org/x.png onerror=alert(1)>\x00"


def render(data: LookData) -> str:
    return render_look_page(data).html


def facts(page):
    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL).group(1))


@pytest.fixture(scope="module")
def page():
    return render(look_data())


def test_nothing_may_be_requested(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy
    assert re.findall(r"https?://[^\s\"'`<]+", page.replace("http://www.w3.org/2000/svg", "")) == []
    assert not re.search(r"\b(eval|fetch|XMLHttpRequest|WebSocket|innerHTML|import\()\b", page)


def test_the_policy_allows_this_script_and_this_style_alone(page):
    code = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL).group(1)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    assert csp_hash(code) in page and csp_hash(style) in page


def test_facts_say_what_there_is(page):
    content = facts(page)
    assert [(kind["name"], len(kind["heads"]), len(kind["heads"][0])) for kind in content["kinds"]] == [
        ("encoder", 3, 4),
        ("decoder", 3, 4),
        ("cross", 3, 4),
    ]
    names = [measure["name"] for measure in content["measures"]]
    by_head = ["weight", "difference", "reference", "norm", "output_share", "score", "gradient"]
    assert names == [*by_head, "rollout", "above_chance", "flow", *(f"term{i}" for i in range(6))]
    assert "Difference from step 400" in [measure["label"] for measure in content["measures"] if measure["signed"]]
    flow = next(measure for measure in content["measures"] if measure["name"] == "flow")
    assert list(flow["kinds"]) == ["encoder"]


def test_a_page_says_on_how_many_sentences_costs_were_measured(page):
    note = "Measured on 200 sentences of test (costs on 60 of them); random weights: "
    assert facts(page)["corpus"].startswith(note)
    data = look_data()
    data = replace(data, corpus=replace(data.corpus, ablation_sentences=200))
    assert facts(render(data))["corpus"].startswith("Measured on 200 sentences of test; random weights: ")


def test_hostile_text_stays_text():
    data = with_source(look_data(), text=EVIL, tokens=[EVIL, *look_data().sides["source"].tokens[1:]])
    page = render(replace(data, run=EVIL, caveats=[EVIL]))
    assert "<img" not in page
    assert facts(page)["caveats"] == [EVIL.replace("\x00", "\ufffd")]


@pytest.mark.parametrize("slot", ["script", "facts", "blobs", "style", "policy"])
def test_the_names_of_slots_in_a_page_are_text_like_any_other(slot, page):
    evil = "{{" + slot + "}}"
    data = with_source(look_data(), text=evil, tokens=[evil, *look_data().sides["source"].tokens[1:]])
    rendered = render(replace(data, run=evil))
    assert facts(rendered)["sides"]["source"]["text"] == evil
    assert f"<title>{evil}: " in rendered and f"<h1>{evil}: " in rendered and f"<p>{evil} → " in rendered
    assert rendered.partition('<script type="module">')[2] == page.partition('<script type="module">')[2]
    assert rendered.partition("<title>")[0] == page.partition("<title>")[0]


def test_the_same_data_gives_the_same_bytes(page):
    assert render(look_data()) == page


def encoder_only(data: LookData) -> LookData:
    flow = replace(data.flow, source=None, target=None, source_share=None, max_flow_source=None)
    flow = replace(flow, above_chance_source=None, above_chance_target=None)
    data = with_kind(data, "encoder", gradient=None, reference_weights=None, weight_difference=None)
    kinds, sides = {"encoder": data.kinds["encoder"]}, {"source": data.sides["source"]}
    return replace(data, kinds=kinds, sides=sides, flow=flow, reference=None)


def test_an_encoder_alone_has_one_kind():
    content = facts(render(encoder_only(look_data())))
    assert [kind["name"] for kind in content["kinds"]] == ["encoder"]
    assert not {"gradient", "reference", "difference"} & {measure["name"] for measure in content["measures"]}


def test_heads_that_were_not_measured_have_every_key():
    """The page need not ask which keys there are."""
    content = facts(render(unmeasured(look_data())))
    measured = facts(render(look_data()))["kinds"][0]["heads"][0][0]
    head = content["kinds"][0]["heads"][0][0]
    assert head.keys() == measured.keys() and head["lift"] is None and head["note"] == "heads were not measured"
    assert content["corpus"] == "" and content["aligner"] is None and content["evidence"] == {}


def test_terms_may_be_unknown_in_some_layers_or_all():
    data = look_data()
    terms = data.kinds["encoder"].terms
    known = replace(terms, values=[terms.values[0], None, None], shares=[terms.shares[0], None, None])
    unknown = replace(terms, values=[None] * 3, shares=[None] * 3)
    data = with_kind(with_kind(data, "encoder", terms=known), "cross", terms=unknown)
    content = facts(render(data))
    term = next(measure for measure in content["measures"] if measure["name"] == "term0")
    assert set(term["kinds"]) == {"encoder", "decoder"}
    shares = [[head["shares"] is not None for head in layer] for layer in content["kinds"][0]["heads"]]
    assert shares == [[True] * 4, [False] * 4, [False] * 4]


def test_pruned_heads_leave_gaps():
    cross = facts(render(prune(look_data(), "cross", 1, 2)))["kinds"][2]
    assert cross["pruned"] == [[1, 2]]
    assert [(head["head"], head["index"]) for head in cross["heads"][1]] == [(0, 0), (1, 1), (3, 2)]


def test_a_long_training_is_thinned_out():
    heads = {"encoder.0.self.0": HeadHistoryPoint(1.0, 0.5, None, "·", 1 / 3)}
    data = replace(look_data(), history=[HistoryRecord(step, heads) for step in range(1000)])
    history = facts(render(data))["history"]
    assert history["steps"][0] == 0 and history["steps"][-1] == 999 and len(history["steps"]) <= 82
    assert set(history["heads"]["encoder.0.self.0"]["lift"]) == {0.333}


def test_wrong_data_is_named():
    data = look_data()
    with pytest.raises(RegardError, match="nothing to show"):
        render(replace(data, kinds={}))
    with pytest.raises(RegardError, match="the text has 10,000 tokens and a page shows at most 1,024"):
        render(with_source(data, tokens=["a"] * 10_000))
    weights = [data.kinds["cross"].weights[0], np.zeros((3, 5)), data.kinds["cross"].weights[2]]
    with pytest.raises(RegardError, match=r"cross\.1\.weights: expected 3 axes, got shape \(3, 5\)"):
        render(with_kind(data, "cross", weights=weights))


def test_modules_are_inlined_in_order(tmp_path):
    (tmp_path / "main.js").write_text('import { twice } from "./b.js";\nexport const four = twice(2);\n')
    (tmp_path / "b.js").write_text("const factor = 2;\nexport function twice(x) { return factor * x; }\n")
    code = bundle_script(tmp_path, "main")
    assert code.index("// b.js") < code.index("// main.js")
    assert "const { twice } = module_b;" in code and "return { twice };" in code
    assert not re.search(r"^(import|export)", code, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('import { a } from "./main.js";\n', "modules import in a circle: main -> main"),
        ('import a from "./b.js";\n', "main.js: write imports as"),
        ("const a = '</script>';\n", "main.js: a closing script tag"),
    ],
)
def test_modules_that_cannot_be_inlined_are_refused(tmp_path, text, message):
    (tmp_path / "main.js").write_text(text)
    with pytest.raises(RegardError, match=message):
        bundle_script(tmp_path, "main")
