"""look.html without a browser: one file, no request, numbers and tokens inside it, bad data told in a sentence."""

import json
import re

import numpy as np
import pytest

from regard.errors import RegardError
from regard.report.look.bundle import bundle_script, csp_hash
from regard.report.look.page import render_look_page
from tests.report.look.look_sample import look_data

EVIL = "</script><img src=https://example.org/x.png onerror=alert(1)>\x00"


def facts(page):
    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL).group(1))


@pytest.fixture(scope="module")
def page():
    return render_look_page(look_data())


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
    found = facts(page)
    assert [(kind["name"], len(kind["heads"]), len(kind["heads"][0])) for kind in found["kinds"]] == [
        ("encoder", 3, 4),
        ("decoder", 3, 4),
        ("cross", 3, 4),
    ]
    names = [measure["name"] for measure in found["measures"]]
    by_head = ["weight", "change", "then", "norm", "signed", "score", "gradient"]
    assert names == [*by_head, "rollout", "beyond", "flow", *(f"term{i}" for i in range(6))]
    assert "Difference to step 400" in [measure["label"] for measure in found["measures"] if measure["signed"]]
    flow = next(measure for measure in found["measures"] if measure["name"] == "flow")
    assert list(flow["kinds"]) == ["encoder"]


def test_a_page_says_on_how_many_sentences_costs_were_measured(page):
    told = "Measured on 200 sentences of test (costs on 60 of them); random weights: "
    assert facts(page)["corpus"].startswith(told)
    data = look_data()
    data["corpus"]["costed"] = 200
    assert facts(render_look_page(data))["corpus"].startswith("Measured on 200 sentences of test; random weights: ")


def test_hostile_text_stays_text():
    data = look_data()
    data["run"] = data["sides"]["source"]["text"] = data["sides"]["source"]["pieces"][0] = EVIL
    data["caveats"] = [EVIL]
    page = render_look_page(data)
    assert "<img" not in page
    assert facts(page)["caveats"] == [EVIL.replace("\x00", "\ufffd")]


@pytest.mark.parametrize("place", ["script", "facts", "blobs", "style", "policy"])
def test_the_names_of_places_in_a_page_are_text_like_any_other(place, page):
    data, evil = look_data(), "{{" + place + "}}"
    data["run"] = data["sides"]["source"]["text"] = data["sides"]["source"]["pieces"][0] = evil
    made = render_look_page(data)
    assert facts(made)["sides"]["source"]["text"] == evil
    assert f"<title>{evil}: " in made and f"<h1>{evil}: " in made and f"<p>{evil} → " in made
    assert made.partition('<script type="module">')[2] == page.partition('<script type="module">')[2]
    assert made.partition("<title>")[0] == page.partition("<title>")[0]


def test_the_same_data_gives_the_same_bytes(page):
    assert render_look_page(look_data()) == page


def test_an_encoder_alone_has_one_kind():
    data = look_data()
    data["kinds"] = {"encoder": data["kinds"]["encoder"] | {"gradient": None}}
    data["flow"] = {"encoder": data["flow"]["encoder"]}
    del data["sides"]["target"], data["sides"]["read"]
    found = facts(render_look_page(data))
    assert [kind["name"] for kind in found["kinds"]] == ["encoder"]
    assert "gradient" not in [measure["name"] for measure in found["measures"]]


def test_weights_alone_are_enough():
    data = look_data()
    few = ("rows", "columns", "weights", "heads")
    data["kinds"] = {name: {key: kind[key] for key in few} for name, kind in data["kinds"].items()}
    for name in ("flow", "history", "caveats", "corpus", "alignment", "pruned"):
        del data[name]
    assert [measure["name"] for measure in facts(render_look_page(data))["measures"]] == ["weight"]


def test_terms_may_be_unknown_in_some_layers_or_all():
    data = look_data()
    encoder, cross = data["kinds"]["encoder"]["terms"], data["kinds"]["cross"]["terms"]
    encoder["values"][1:] = encoder["shares"][1:] = [None, None]
    cross["values"] = cross["shares"] = [None] * 3
    found = facts(render_look_page(data))
    term = next(measure for measure in found["measures"] if measure["name"] == "term0")
    assert set(term["kinds"]) == {"encoder", "decoder"}
    shares = [[head["shares"] is not None for head in layer] for layer in found["kinds"][0]["heads"]]
    assert shares == [[True] * 4, [False] * 4, [False] * 4]


def test_pruned_heads_leave_gaps():
    data = look_data()
    data["pruned"] = ["decoder.1.cross.2"]
    cross = data["kinds"]["cross"]
    for key in ("weights", "scores", "norms", "gradient"):
        cross[key][1] = np.delete(cross[key][1], 2, axis=0)
    for key in ("values", "shares"):
        cross["terms"][key][1] = np.delete(cross["terms"][key][1], 2, axis=0)
    del cross["heads"][1][2]
    found = facts(render_look_page(data))["kinds"][2]
    assert found["pruned"] == [[1, 2]]
    assert [(head["head"], head["index"]) for head in found["heads"][1]] == [(0, 0), (1, 1), (3, 2)]


def test_a_long_training_is_thinned_out():
    data = look_data()
    head = {"encoder.0.self.0": {"entropy": 1.0, "confidence": 0.5, "role": None, "lift": 1 / 3}}
    data["history"] = [{"step": step, "heads": head} for step in range(1000)]
    history = facts(render_look_page(data))["history"]
    assert history["steps"][0] == 0 and history["steps"][-1] == 999 and len(history["steps"]) <= 82
    assert set(history["heads"]["encoder.0.self.0"]["lift"]) == {0.333}


def test_wrong_data_is_named():
    with pytest.raises(RegardError, match="nothing to look at"):
        render_look_page({"kinds": {}})
    data = look_data()
    data["sides"]["source"]["pieces"] = ["a"] * 10_000
    with pytest.raises(RegardError, match="the text has 10,000 tokens and a page shows 1,024 at most"):
        render_look_page(data)
    data = look_data()
    data["kinds"]["cross"]["weights"][1] = np.zeros((3, 5))
    with pytest.raises(RegardError, match=r"cross\.1\.weights: expected 3 axes, got shape \(3, 5\)"):
        render_look_page(data)


def test_modules_are_inlined_in_order(tmp_path):
    (tmp_path / "main.js").write_text('import { twice } from "./b.js";\nexport const four = twice(2);\n')
    (tmp_path / "b.js").write_text("const factor = 2;\nexport function twice(x) { return factor * x; }\n")
    code = bundle_script(tmp_path, "main")
    assert code.index("// b.js") < code.index("// main.js")
    assert "const { twice } = module_b;" in code and "return { twice };" in code
    assert not re.search(r"^(import|export)", code, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('import { a } from "./main.js";\n', "modules import in a circle: main -> main"),
        ('import a from "./b.js";\n', "main.js: write imports as"),
        ("const a = '</script>';\n", "main.js: a closing script tag"),
    ],
)
def test_modules_that_cannot_be_inlined_are_refused(tmp_path, text, told):
    (tmp_path / "main.js").write_text(text)
    with pytest.raises(RegardError, match=told):
        bundle_script(tmp_path, "main")
