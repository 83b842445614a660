"""What every test may ask for."""

import os
import runpy
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import hardware
from regard.config import parse_assignments
from regard.config.registries import ACTIVATIONS, POSITION_SCHEMES
from regard.formats.registry import FORMATS
from regard.run import Run
from tests.reviews import write_reviews
from tests.tiny_bert import write_bert

HERE = Path(__file__).parent
EXAMPLE_PLUGIN = HERE.parent / "examples" / "plugin.py"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
os.environ["OMP_NUM_THREADS"] = "1"  # tests run side by side: threads of one process would wait for the other's
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    torch.manual_seed(7)
    torch.set_flush_denormal(False)  # a training in an earlier test may have left it on, for all of the process


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # tests run side by side


@pytest.fixture(scope="session", autouse=True)
def _short_tries() -> None:
    hardware.TRY_SECONDS = 0.002  # half a second for each training otherwise; no test depends on the speed found


@pytest.fixture(scope="session")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.csv, dev.csv and test.csv: texts whose label is that of one of their words."""
    folder = tmp_path_factory.mktemp("reviews")
    for name, count in (("train", 311), ("dev", 31), ("test", 37)):
        write_reviews(folder / f"{name}.csv", count, seed=count)
    return folder


@pytest.fixture(scope="session")
def classifier(reviews: Path) -> Path:
    """A run that has learned to classify reviews; no test writes here but evaluate."""
    import regard
    from tests.jobs.conftest import TINY

    sets = {name: reviews / f"{name}.csv" for name in ("dev", "test")}
    options = {"task": "classify", "steps": 41, "settings": parse_assignments([*TINY, "train.learning_rate=0.01"])}
    with warnings.catch_warnings(action="ignore"):
        regard.train(reviews / "train.csv", out=reviews / "runs" / "reviews", **sets, **options)
    return reviews / "runs" / "reviews"


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.conll, dev.conll and test.conll."""
    from tests.jobs.tasks.conftest import write_files

    return write_files(tmp_path_factory.mktemp("sentences"))


@pytest.fixture(scope="session")
def tagger_run(tagged: Path) -> Path:
    """A run that has learned to tag the sentences."""
    from tests.jobs.tasks.conftest import train_tagger

    return train_tagger(tagged)


@pytest.fixture(scope="session")
def related(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train, dev and test: .tsv of pairs, .csv of pairs with similarities, .txt of single texts."""
    from tests.jobs.tasks.embedding.conftest import write_files

    return write_files(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def embedder_run(related: Path) -> Path:
    """A run that has learned the pairs; no test writes here but evaluate."""
    from tests.jobs.tasks.embedding.conftest import train_embedder

    return train_embedder(related)


@pytest.fixture(scope="session")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.jsonl, dev.jsonl and test.jsonl: documents with their summaries."""
    from tests.jobs.tasks.summarization.conftest import write_files

    return write_files(tmp_path_factory.mktemp("documents_and_summaries"))


@pytest.fixture(scope="session")
def summarizer_run(summaries: Path) -> Path:
    """A run that writes summaries after a few steps."""
    from tests.jobs.tasks.summarization.conftest import TRAININGS, train

    return train(summaries, "summarize", *TRAININGS["summarize"]).folder


@pytest.fixture(scope="session")
def extractor_run(summaries: Path) -> Path:
    """A run that has learned which sentences summarize a document."""
    from tests.jobs.tasks.summarization.conftest import TRAININGS, train

    return train(summaries, "extract", *TRAININGS["extract"]).folder


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of one document, and one of many."""
    from tests.jobs.tasks.language.conftest import write_documents

    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def causal_run(documents: dict[str, Path]) -> Run:
    """A causal language model after a few steps."""
    from tests.jobs.tasks.language.conftest import train

    return train("causal-lm", documents["one"], documents["one"].parent / "runs" / "causal-lm")


@pytest.fixture(scope="session")
def masked_run(documents: dict[str, Path]) -> Run:
    """A masked language model after a few steps."""
    from tests.jobs.tasks.language.conftest import train

    return train("masked-lm", documents["many"], documents["many"].parent / "runs" / "masked-lm")


@pytest.fixture(scope="session")
def denoiser_run(documents: dict[str, Path]) -> Run:
    """A denoiser of one language after a few steps."""
    from tests.jobs.tasks.language.conftest import train

    return train("denoise", documents["many"], documents["many"].parent / "runs" / "denoise")


@pytest.fixture(scope="session")
def run_of(causal_run: Run, masked_run: Run) -> Callable[[str], Run]:
    """The run of a task without labels."""
    return {"causal-lm": causal_run, "masked-lm": masked_run}.__getitem__


@pytest.fixture(scope="session")
def encoder_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an imported encoder with random weights; no test writes here."""
    from regard.jobs.convert import import_folder

    pytest.importorskip("tokenizers", reason="needs the tokenizers library: pip install 'regard[bert]'")
    folder = tmp_path_factory.mktemp("encoder")
    write_bert(folder / "bert")
    import_folder(folder / "bert", folder / "tiny")
    return folder / "tiny"


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is registered; what a test registers is gone after it."""
    for registry in (POSITION_SCHEMES, ACTIVATIONS, FORMATS):
        monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def example_plugin(registries: None) -> None:
    """What examples/plugin.py registers: positions `kerple`, the activation `squared-relu` and the format `.csv`."""
    runpy.run_path(str(EXAMPLE_PLUGIN))


@pytest.fixture
def corpora() -> Path:
    """The folder of real corpora, where there is one."""
    folder = Path(os.environ.get("REGARD_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real corpora are not here: set REGARD_DATA ({folder} does not exist)")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real browser, where there is one."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: make system")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def said() -> list[str]:
    """What the browser had to complain of, and what it asked the network for."""
    return []


@pytest.fixture
def opened(browser: Any, said: list[str]) -> Iterator[Callable[..., Any]]:
    """Opens a file without a network; at the end nobody may have complained or asked for anything."""
    contexts = []

    def open_file(path: Path, address: str = "", **settings: Any) -> Any:
        context = browser.new_context(offline=True, accept_downloads=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
        page.goto(path.as_uri() + address)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert said == []
