"""A study of every task: it runs, is resumed, ranks, and speaks the words of its task alone. Its runs are compared."""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

from lxml import html
from rich.console import Console

import regard
from regard.api.studies import summarize_study
from regard.config import parse_assignments
from regard.display.study import StudyDisplay
from regard.display.views.tasks.comparison import format_task_comparison
from regard.tuning.events import StudyFinished, StudyStarted, TrialInterrupted
from regard.tuning.folder import StudyFolder
from regard.tuning.open_study import StudyOptions, load_study, open_or_create_study
from regard.tuning.results import rank_trials
from regard.tuning.space import Categorical
from regard.tuning.worker import StudyWorker, run_trials
from tests.jobs.conftest import TINY, files
from tests.jobs.tasks.language.conftest import MASKED, SMALL

__all__ = ["files"]


@dataclass(frozen=True)
class TaskStudy:
    """A study of two learning rates, and what it is about."""

    rates: tuple[float, float]
    steps: int
    metric: str
    """Its name on pages."""
    maximize: bool
    words: tuple[str, ...]
    """What its page says."""


TASKS = {
    "translate": TaskStudy((0.01, 0.003), 8, "loss", False, ("nats per target token", "dev sentences")),
    "classify": TaskStudy((0.01, 0.003), 31, "accuracy", True, ("% of texts", "on these texts", "to classify a text")),
    "tag": TaskStudy((0.01, 0.0007), 37, "F1", True, ("nats per word", "F1 of each type on dev", "to tag a sentence")),
    "causal-lm": TaskStudy((0.03, 0.02), 61, "bits per byte", False, ("segments of dev", "nats per token")),
    "denoise": TaskStudy((0.02, 0.01), 23, "loss", False, ("nats per target token", "hidden tokens restored")),
    "masked-lm": TaskStudy((0.02, 0.01), 101, "loss of masked tokens", False, ("passages", "nats per masked token")),
}
WORDS = {
    "translate": r"BLEU|chrF2?|TER|ROUGE-L|translat\w+|pairs?|sources?|greedy|beam",
    "classify": r"class(es|ify|ification|ifier)?|macro-F1|MCC|accuracy over texts|texts",
    "tag": r"tags?|tagging|tagger|types",
    "causal-lm": r"bits per byte|perplexity|documents?|segments",
    "masked-lm": r"mask(s|ed)?|passages?",
}
"""What only one task has; a sentence is what a translator and a tagger read."""
OWN = {"denoise": r"pairs?|sources?|greedy|translat\w+|passages?|mask(s|ed)?|texts"}
"""Words of others that are also a task's own."""
UNTRAINED = ("translate", "denoise")
"""They need more steps than a test can wait for."""


def make_options(task: str, request: pytest.FixtureRequest) -> StudyOptions:
    """The study of a task, as the command line makes it."""
    folders = {"translate": "files", "classify": "reviews", "tag": "tagged"}
    values: dict[str, Any] = {"task": task, "train.validate_every": 11, "train.save_every": 997, "train.patience": 0}
    if task in folders:
        folder = request.getfixturevalue(folders[task])
        endings = {"translate": ("en", "fr"), "classify": ("csv",), "tag": ("conll",)}[task]
        paths = {name: [str(folder / f"{name}.{end}") for end in endings] for name in ("train", "dev", "test")}
        values |= parse_assignments([one for one in TINY if "validation_sentences" not in one])
        values |= {"data.dev": paths["dev"], "data.test": paths["test"], "model.dropout": 0.0}
        values |= {"data.subword_regularization": 0.0}  # which needs more steps
    else:
        file = request.getfixturevalue("documents")["one" if task == "causal-lm" else "many"]
        paths = {"train": [str(file)]}
        values = (
            MASKED | {"masked_lm.mask_rate": 0.4, "train.batch_tokens": 401} if task == "masked-lm" else SMALL
        ) | values
    over = {"train.learning_rate": Categorical(TASKS[task].rates)}
    return StudyOptions(list(map(Path, paths["train"])), over, values, {"steps": TASKS[task].steps})


WORKERS: dict[str, StudyWorker] = {}
EVENTS: dict[str, list[object]] = {}


@pytest.fixture(params=TASKS)
def finished(request: pytest.FixtureRequest, tmp_path_factory, monkeypatch) -> tuple[str, StudyWorker]:
    """A study that was stopped in its first trial, and resumed; trained once for all tests."""
    task = request.param
    if task not in WORKERS:
        folder = tmp_path_factory.mktemp("studies") / "s"
        worker = open_or_create_study(make_options(task, request), folder)
        calls = iter(range(1000))
        EVENTS[task] = list(run_trials(worker, lambda: next(calls) > 4))
        worker.close()
        WORKERS[task] = load_study(folder)
        EVENTS[task] += list(run_trials(WORKERS[task], lambda: False))
    return task, WORKERS[task]


def words_of_others(task: str, text: str) -> list[str]:
    """The words of other tasks; settings, which `regard settings` describes, aside."""
    text = re.sub(r"(data|model|train|causal_lm|masked_lm)\.\w+|task|/\S+", "", text)
    others = "|".join(f"(?:{words})" for other, words in WORDS.items() if other != task)
    return [
        match[0]
        for match in re.finditer(rf"(?<![\w-])({others})(?![\w-])", text)
        if match[0] != task and not re.fullmatch(OWN.get(task, ""), match[0])
    ]


def read_page(path: Path) -> str:
    page = html.parse(str(path)).getroot()
    for part in page.xpath("//style | //script"):
        part.drop_tree()
    return " ".join(" ".join(page.itertext()).split())


def test_it_is_resumed_and_ranks_by_the_metric_of_its_task(finished):
    task, worker = finished
    assert [type(event) for event in EVENTS[task]].count(TrialInterrupted) == 1
    assert isinstance(EVENTS[task][-1], StudyFinished) and isinstance(EVENTS[task][0], StudyStarted)
    results = worker.results()
    assert [result.first_summary.steps for result in results] == [TASKS[task].steps] * 2
    assert EVENTS[task][0].metric == TASKS[task].metric and worker.study.maximize == TASKS[task].maximize
    if task not in UNTRAINED:
        ranking = rank_trials(worker.study, results)
        values = [result.value for result in ranking]
        assert values == sorted(values, reverse=TASKS[task].maximize) and values[0] != values[1]
        better = ranking[0].first_summary.value(worker.study.metric_key)
        assert better == values[0] and ranking[0].first_summary.name_score(worker.study.metric_key)


def test_its_page_table_and_lines_have_no_word_of_another_task(finished):
    task, worker = finished
    result = summarize_study(worker)
    page = read_page(result.report)
    for word in TASKS[task].words:
        assert word in page, word
    lines = show_events(EVENTS[task])
    assert f"score ({TASKS[task].metric})" in lines
    for text in (page, lines, str(result), str(result.as_table())):
        assert words_of_others(task, text) == []
    assert result.metric == worker.study.metric_key and (result.best is None) == (task in UNTRAINED)


def show_events(events: list[object]) -> str:
    """What a terminal shows that is no terminal."""
    display, sink = StudyDisplay(StudyFolder(Path("s"))), io.StringIO()
    display.console = Console(file=sink, width=300, color_system=None)
    with display:
        for event in events:
            display.handle(event)
    return sink.getvalue()


def test_its_runs_are_compared_in_the_words_of_their_task(finished, request, tmp_path: Path):
    task, worker = finished
    runs = [worker.study_folder.trial_folder(number) for number in (1, 2)]
    test = worker.study.base.data.test or [str(request.getfixturevalue("documents")["many"])]
    comparison = regard.compare(*runs, on=test, beam=1, out=tmp_path / "out")
    assert [system.name for system in comparison.systems] == ["0001", "0002"]
    page = read_page(tmp_path / "out" / "report.html")
    assert "Settings that differ" in page and "train.learning_rate" in page
    if task == "translate":
        assert words_of_others(task, page) == []
        return
    text = "\n".join(format_task_comparison(comparison, 100, verbose=True))
    decisive = comparison.baseline.scores[comparison.decisive]
    assert decisive.name in text and len(comparison.tests) >= 1
    assert words_of_others(task, page) == words_of_others(task, text) == []
    best = min if decisive.lower_is_better else max
    assert comparison.best is best(comparison.systems, key=lambda system: system.scores[comparison.decisive].value)


def test_a_word_of_another_task_is_seen():
    assert words_of_others("classify", "the BLEU of translations, 3 tags") == ["BLEU", "translations", "tags"]
    assert words_of_others("tag", "paired tests of tags; data.source; words") == []
