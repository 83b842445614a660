"""A run as one HTML page: what it refuses, and in a real browser, offline, what a person does with it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from regard.config import parse_assignments
from regard.data.tokenizers.tokenizer import BOS, EOS, SPACE
from regard.decode import BeamSearch
from regard.errors import ConfigError, ModelError, RegardError
from regard.model.taps import record
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper, Translator
from tests.jobs.conftest import TINY

SENTENCES = ["I love dogs.", "The girls were singing.", "My old friend is not here."]
BEAM = BeamSearch(4, nbest=4)
READY = "#target[aria-busy=false]"


@pytest.fixture(scope="module")
def run(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator after a few steps: it has learned to end a sentence, and little else."""
    folder = tmp_path_factory.mktemp("page") / "runs" / "tiny"
    train, dev, test = ([files / f"{name}.{side}" for side in ("en", "fr")] for name in ("train", "dev", "test"))
    changes = [*TINY, "model.layers=2", "train.learning_rate=0.01"]
    regard.train(train, dev=dev, test=test, out=folder, steps=211, settings=parse_assignments(changes))
    return folder


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return regard.load(run).translator


@pytest.fixture(scope="module")
def page_file(run: Path) -> Path:
    """With float32 weights, whose numbers are those of torch."""
    note = "Made for <b>tests</b> & nothing else. {{script}}"
    return regard.export(run, to="html", quantize="none", title="Ours <script>", note=note)


@pytest.fixture
def page(opened: Callable[..., Any], page_file: Path) -> Any:
    return opened(page_file)


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def type_text(page: Any, text: str) -> None:
    page.fill("#source", text)
    page.wait_for_selector(READY, timeout=60_000)


def best(translator: Translator, text: str) -> str:
    return translator.candidates([text], BEAM)[0][0].text


def best_ids(translator: Translator, text: str) -> list[int]:
    sources = translator.tokenizers.source.encode([text])
    decoder = IncrementalDecoder(translator.encoder_decoder)
    stepper = ModelStepper(decoder, sources, [0], surface=translator.tokenizers.target.decode)
    return list(BEAM.search(stepper)[0][0].ids)


def words_of(translator: Translator, ids: list[int]) -> list[slice]:
    tokens = translator.tokenizers.target.convert_ids_to_tokens(ids)
    starts = [i for i, token in enumerate(tokens) if i == 0 or token.startswith(SPACE)]
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)]


def inspect(translator: Translator, text: str, ids: list[int]) -> tuple[Tensor, Tensor]:
    """The probability of each token of a translation, and its attention to the source, the mean of all heads."""
    source = torch.tensor([[*translator.tokenizers.source.encode([text])[0], EOS]])
    with record(translator.model, "decoder.layers.0.cross_attn.weights") as taps:
        states = translator.model(source, torch.tensor([[BOS, *ids]]))
    probabilities = translator.model.output(states)[0, :-1].softmax(dim=-1).gather(1, torch.tensor(ids)[:, None])[:, 0]
    return probabilities, taps["decoder.layers.0.cross_attn.weights"][0].mean(dim=0)[:-1]


def test_the_page_says_what_it_is(page: Any, page_file: Path):
    assert page_file == page_file.parent / "tiny.html"
    assert page.title() == page.inner_text("h1") == "Ours <script>"
    summary = page.inner_text("#summary")
    assert re.search(
        r"Trained on \d+ pairs of sentences · BLEU [\d.]+ ± [\d.]+ on the sentences of test · 20\d\d-", summary
    )
    assert page.inner_text("#source-language"), page.inner_text("#target-language") == ("English", "French")
    assert page.inner_text("footer p >> nth=0") == "Made for <b>tests</b> & nothing else. {{script}}"
    page.click("summary")
    assert "parameters, sinusoidal positions" in page.inner_text("#about")
    policy = page.get_attribute("meta[http-equiv]", "content")
    assert "default-src 'none'" in policy and "connect-src 'none'" in policy and "unsafe-inline" not in policy


def test_a_text_is_translated_as_regard_translates_it(page: Any, translator: Translator):
    lines = f"{SENTENCES[0]}  {SENTENCES[1]}\n\n  {SENTENCES[2]}\n"
    first, second, third = (best(translator, sentence) for sentence in SENTENCES)
    type_text(page, lines)
    assert page.text_content("#target") == f"{first}  {second}\n\n  {third}\n"
    type_text(page, SENTENCES[2])
    assert page.text_content("#target") == third


def test_the_plain_path_translates_alike(opened: Callable[..., Any], page_file: Path, translator: Translator):
    page = opened(page_file, "?simd=0")
    type_text(page, SENTENCES[1])
    assert page.text_content("#target") == best(translator, SENTENCES[1])
    assert "without WebAssembly SIMD" in page.inner_text("#notes")


def test_a_word_shows_its_probability_and_where_it_comes_from(page: Any, translator: Translator):
    text = SENTENCES[2]
    type_text(page, text)
    ids = best_ids(translator, text)
    assert page.text_content("#target") == translator.tokenizers.target.decode(ids)
    probabilities, attention = inspect(translator, text, ids)
    words = words_of(translator, ids)
    assert page.locator(".word").count() == len(words) > 1
    spans = translator.tokenizers.source.spans(text, translator.tokenizers.source.encode([text])[0])
    found = []
    for i, tokens in enumerate(words):
        element = page.locator(".word").nth(i)
        assert element.get_attribute("title") == f"{100 * float(probabilities[tokens].min()):.0f} % sure"
        element.hover()
        strongest = int(attention[tokens].mean(dim=0)[: len(spans)].argmax())
        begin, end = spans[strongest]
        marks = page.locator("#mirror mark").all_inner_texts()
        if covered := text[begin:end].strip():  # a blank alone is not marked
            assert covered in marks
            found.append(covered)
    assert found


def test_another_word_is_kept_and_the_rest_translated_anew(page: Any):
    type_text(page, SENTENCES[2])
    before = page.text_content("#target")
    page.locator(".word").nth(1).click()
    page.wait_for_selector("#menu:not([hidden]) button")
    first_group = page.locator("#menu h3").first.inner_text()
    assert first_group == f"Instead of “{page.locator('.word').nth(1).inner_text()}”"
    other = page.locator("#menu button bdi").first.inner_text()
    page.locator("#menu button").first.click()
    page.wait_for_selector(READY)
    after = page.text_content("#target")
    assert after.replace(" ", "").startswith(before.split()[0] + other) and after != before


def test_another_sentence_is_chosen_by_keys(page: Any, translator: Translator):
    type_text(page, SENTENCES[0])
    texts = [candidate.text for candidate in translator.candidates([SENTENCES[0]], BEAM)[0]]
    page.press("#source", "Tab")
    page.locator(".word").first.press("Enter")
    page.wait_for_selector("#menu:not([hidden]) h3")
    shown = page.locator("#menu bdi").all_inner_texts()
    assert shown[-len(texts) :] == texts and len(texts) > 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("#menu[hidden]", state="attached")
    page.wait_for_selector(READY)
    assert page.text_content("#target") == texts[-1]
    page.locator(".word").first.press("ArrowRight")
    assert (
        page.evaluate("document.activeElement === document.querySelectorAll('.word')[1]") or len(texts[-1].split()) == 1
    )


def test_a_file_is_given_back(page: Any, translator: Translator, tmp_path: Path):
    lines = [sentence for sentence in SENTENCES for _ in range(2)]
    (tmp_path / "talk.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with page.expect_download(timeout=60_000) as download:
        page.set_input_files("#file", tmp_path / "talk.txt")
    assert download.value.suggested_filename == "talk.fr.txt"
    translations = [best(translator, line) for line in lines]
    assert Path(download.value.path()).read_text(encoding="utf-8") == "\n".join(translations) + "\n"
    (tmp_path / "image.txt").write_bytes(b"\xff\xfe\x00")
    page.set_input_files("#file", tmp_path / "image.txt")
    page.wait_for_selector("#notes :text('image.txt is not text in UTF-8')")


HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "one\u2028two\u2029three\u0000four",
    "\u202ereversed\u202c \u2066isolated\u2069 \u05e9\u05dc\u05d5\u05dd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 漢字 ሰላም \ud800 \U000e0041",
]


def test_nothing_in_a_text_is_executed_and_a_sentence_says_what_is_unknown(page: Any):
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for text in HOSTILE:
        page.evaluate(
            """text => {
              const area = document.getElementById("source");
              area.value = text;
              area.dispatchEvent(new Event("input"));
            }""",
            text,
        )
        page.wait_for_selector(READY, timeout=60_000)
        assert page.locator("#target script, #target img, #mirror img").count() == 0
        for word in page.locator(".word").all()[:3]:
            word.hover()
    assert "The model has never seen" in page.inner_text("#notes") and "漢" in page.inner_text("#notes")


def test_a_long_text_is_interrupted_by_the_next_one(page: Any, translator: Translator):
    long = " ".join(f"The girls were singing {number} songs." for number in range(131))
    assert len(long) > 4000
    page.fill("#source", long)
    page.wait_for_selector("#target[aria-busy=true] .word", timeout=60_000)  # the first sentence is there
    type_text(page, SENTENCES[0])
    assert page.text_content("#target") == best(translator, SENTENCES[0])
    type_text(page, "a" * 4000)
    assert "translated in parts" in page.inner_text("#notes")


def test_a_phone_and_the_dark_have_their_layout(opened: Callable[..., Any], page_file: Path):
    page = opened(page_file, viewport={"width": 390, "height": 800}, color_scheme="dark")
    type_text(page, SENTENCES[1])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    source, target = page.locator("#source").bounding_box(), page.locator("#target").bounding_box()
    assert target["y"] > source["y"] + source["height"] - 1
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) != dark
    page.locator(".word").first.click()
    box = page.wait_for_selector("#menu:not([hidden])").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_the_translation_is_copied(opened: Callable[..., Any], page_file: Path):
    page = opened(page_file, permissions=["clipboard-read", "clipboard-write"])
    type_text(page, SENTENCES[0])
    page.keyboard.press("Control+Shift+C")
    page.wait_for_selector("#copy:text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content("#target")


def test_a_page_that_is_too_large_is_refused(run: Path, tmp_path: Path):
    out = tmp_path / "page.html"
    with pytest.raises(
        ConfigError, match=r"the page would have 0\.\d MB with [\d,]+ parameters, above --max-mb 0\.01, into"
    ):
        regard.export(run, to="html", out=out, max_mb=0.01)
    with pytest.raises(ConfigError, match="--max-mb 0: must be above 0"):
        regard.export(run, to="html", out=out, max_mb=0)
    with pytest.raises(ConfigError, match="is a folder"):
        regard.export(run, to="html", out=tmp_path)
    with pytest.raises(ConfigError, match="--quantize int4: a page supports none, int8"):
        regard.export(run, to="html", out=out, quantize="int4")
    with pytest.raises(ConfigError, match="--title and --note are for --to html"):
        regard.export(run, to="marian", out=out, title="x")
    assert not out.exists()


def test_other_runs_are_refused_by_name(classifier: Path, tmp_path: Path):
    with pytest.raises(RegardError, match=r"is a classifier.* cannot be exported as a page"):
        regard.export(classifier, to="html", out=tmp_path / "page.html")


def test_an_imported_model_is_refused_with_the_reason(files: Path, tmp_path: Path):
    train, dev = ([files / f"{name}.{side}" for side in ("en", "fr")] for name in ("dev", "test"))
    changes = [*TINY, "model.norm=post", "model.positions.sinusoid_layout=halves"]
    with torch.enable_grad():
        run = regard.train(train, dev=dev, out=tmp_path / "run", steps=2, settings=parse_assignments(changes))
    imported = regard.import_model(regard.export(run, to="marian"), out=tmp_path / "imported")
    with pytest.raises(
        ModelError, match=r"an imported Marian model .* cannot be exported as a page: its ids come from a table"
    ):
        regard.export(imported, to="html", out=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
