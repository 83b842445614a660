"""What `regard look` does: inspect one sentence, a corpus, or the position encodings of a run."""

import importlib
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.atomic import open_output
from regard.errors import ConfigError
from regard.hardware import configure_cpu
from regard.inspection.positions import StackPositions
from regard.jobs.look.compare_attention import load_reference
from regard.jobs.look.heads import HeadTable, measure_heads
from regard.jobs.look.inspected_run import (
    DEFAULT_EXAMPLES,
    InspectedRun,
    load_default_examples,
    load_file_examples,
    open_inspected_run,
    reject_options,
)
from regard.jobs.look.page import build_look_data, compute_common_means
from regard.jobs.look.positions import (
    analyze_positions,
    draw_positions,
    flatten_position_arrays,
    tabulate_position_scores,
    tabulate_preferred_distances,
)
from regard.jobs.run_kind import describe
from regard.jobs.tasks.registry import task_of
from regard.progress import stage
from regard.report import Chart, Table, head_heatmap, render_look_page, to_csv
from regard.report.look.data import LookData
from regard.report.look.export import flatten_arrays, tabulate_head
from regard.report.text import escape_html
from regard.run import open_run

FILE_NAME = re.compile(r"\S+\.[A-Za-z]{2,5}")  # a word with a suffix, which is no sentence
SENTENCE_OPTIONS = ("--head", "--svg", "--png", "--csv", "--npz", "--no-measure", "--compare-with")
"""Options that need one sentence."""
TEXT_OPTIONS = ("--out", "--no-measure", "--compare-with")
"""Options that need text."""
HEAD_OPTIONS = ("--svg", "--png", "--csv")
"""Options that need one head of a sentence."""
DECISION_OPTIONS = ("--data", "--words", "--label")
"""Options that need a classifier."""


@dataclass(frozen=True)
class LookOptions:
    """What to inspect."""

    run: Path
    texts: Sequence[str] = ()
    """A sentence, a sentence and its translation, or files; empty with `positions`, and for a classifier."""
    sentences: int = DEFAULT_EXAMPLES
    measure: bool = True
    """Whether heads are measured on a corpus."""
    head: str | None = None
    compare_with: str | None = None
    positions: bool = False
    num_positions: int = 24
    data: Sequence[str] = ()
    """Files of labeled texts that a classifier is measured on."""
    words: Path | None = None
    """A file of words, one per line: whether a classifier relies on them."""
    label: str | None = None
    """The label that a classifier's decision is explained for; the predicted one if unset."""
    outputs: Collection[str] = ()
    """The options whose files will be written: --out, --svg, --png, --csv, --npz."""

    def require_unset(self, options: Sequence[str], reason: str) -> None:
        """Raise an error for the first of these options that is set."""
        values = {
            "--head": self.head,
            "--no-measure": not self.measure,
            "--compare-with": self.compare_with is not None,
            "--positions": self.positions,
            "--data": bool(self.data),
            "--words": self.words is not None,
            "--label": self.label is not None,
            **dict.fromkeys(self.outputs, True),
        }
        reject_options({name: values.get(name) for name in options}, reason)


@dataclass(frozen=True)
class OutputFile:
    """The content of a file, and sentences about what it leaves out."""

    content: bytes
    notes: Sequence[str] = ()


Outputs = dict[str, Callable[[], OutputFile]]
"""Files by their option, made when they are needed."""


def write_outputs(outputs: Outputs, paths: Mapping[str, Path]) -> tuple[str, ...]:
    """Write files by their option; what they leave out."""
    notes: list[str] = []
    for option, path in paths.items():
        output = outputs[option]()
        with open_output(path) as file:
            file.write(output.content)
        notes += output.notes
    return tuple(notes)


@dataclass(frozen=True, repr=False)
class Inspection:
    """What was inspected, and files to write."""

    outputs: Outputs
    sentence: LookData | None = None
    """One sentence; None if a corpus or the positions were inspected."""
    heads: HeadTable | None = None
    """The heads on a corpus; None if they were not measured."""
    positions: tuple[StackPositions, ...] = ()
    figure: str = ""
    """The title of the figure of one head."""
    notes: tuple[str, ...] = ()
    """What the written files leave out."""

    def write(self, paths: Mapping[str, Path]) -> "Inspection":
        """Write files by their option; the inspection with notes on them."""
        return replace(self, notes=write_outputs(self.outputs, paths))

    def as_dict(self) -> dict[str, Any]:
        """The texts, every head, and the preferred distance of each head where positions were inspected."""
        return {
            "texts": {name: side.text for name, side in self.sentence.sides.items()} if self.sentence else {},
            "measured_on": self.heads.describe_sentences() if self.heads else None,
            "heads": list(self.heads.as_table().rows()) if self.heads else [],
            "positions": list(tabulate_preferred_distances(self.positions).rows()) if self.positions else [],
        }

    def __repr__(self) -> str:
        return f"<Inspection>\n{self}"

    def __str__(self) -> str:
        texts = [side.text for side in self.sentence.sides.values()] if self.sentence else []
        heads = [f"heads measured on {self.heads.describe_sentences()}"] if self.heads else []
        schemes = [f"{stack.stack}: positions {stack.scheme}" for stack in self.positions]
        return "\n".join([*texts, *heads, *schemes, *self.notes])

    def _repr_html_(self) -> str:
        table = self.heads._repr_html_() if self.heads else ""
        return f"<pre>{escape_html(str(self))}</pre>{table}"


def inspect_run(request: LookOptions, device: str = "cpu") -> Any:
    """Inspect what is requested, as it suits the task of the run: an `Inspection`, or the result of another task."""
    module = importlib.import_module(task_of(open_run(request.run).load_config()).inspector)
    return module.inspect(request, device)


def inspect(request: LookOptions, device: str = "cpu") -> Inspection:
    """Inspect attention. A request that makes no sense raises an error before the run is loaded."""
    inspect_part = _choose_inspection(request)
    configure_cpu(0)
    return inspect_part(open_inspected_run(request.run, device), request)


def _choose_inspection(request: LookOptions) -> Callable[[InspectedRun, LookOptions], Inspection]:
    request.require_unset(DECISION_OPTIONS, f"needs a classifier, and {request.run} is none: leave it out")
    if not (request.texts or request.positions):
        raise ConfigError('nothing to inspect: use regard look RUN "a sentence", or regard look RUN test.en test.fr')
    if request.positions:
        if request.texts:
            raise ConfigError("--positions inspects positions without any text: leave out the text")
        request.require_unset(TEXT_OPTIONS, "needs text, and --positions has none: leave it out")
        return _inspect_positions
    if are_files(request.texts):
        reason = 'needs one sentence, and files were given: quote it, as in regard look RUN "I love dogs."'
        request.require_unset(SENTENCE_OPTIONS, reason)
        return _inspect_corpus
    if len(request.texts) > 2:
        raise ConfigError(f"{len(request.texts)} texts: expected a sentence, or a sentence and its translation, quoted")
    if request.head is None:
        request.require_unset(HEAD_OPTIONS, "shows one head: choose it with --head, as in --head encoder.0.self.0")
    return _inspect_sentence


def are_files(texts: Sequence[str]) -> bool:
    """Whether texts are files rather than sentences. A missing file next to an existing one is an error."""
    missing = [text for text in texts if not _is_file(text)]
    if missing and len(missing) < len(texts):
        existing = next(text for text in texts if _is_file(text))
        raise ConfigError(f"{missing[0]}: no such file, but {existing} is one; expected files, or quoted sentences")
    if missing and all(FILE_NAME.fullmatch(text) for text in missing):
        raise ConfigError(f"{missing[0]}: no such file; expected files, or quoted sentences")
    return not missing


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file name: it is a sentence
        return False


def _inspect_sentence(inspected_run: InspectedRun, request: LookOptions) -> Inspection:
    if len(request.texts) == 2 and not inspected_run.translates:
        folder = inspected_run.run.folder
        kind = describe(inspected_run.config)
        raise ConfigError(f"{folder}: is {kind}, which reads one text, and two were given; leave out the second")
    location = inspected_run.find_head(request.head) if request.head else None
    data, table = _sentence_data(inspected_run, request)
    outputs: Outputs = {"--out": partial(_page, data), "--npz": partial(_npz, partial(flatten_arrays, data))}
    if location is None:
        return Inspection(outputs, data, table)
    attention_name, head_index = location
    stack, layer, attention = attention_name.split(".")
    head = ("cross" if attention == "cross" else stack, int(layer), head_index)
    chart = head_heatmap(data, *head)
    outputs |= {**_figures(lambda: chart), "--csv": partial(csv_file, partial(tabulate_head, data, *head))}
    return Inspection(outputs, data, table, figure=chart.title)


def _sentence_data(inspected_run: InspectedRun, request: LookOptions) -> tuple[LookData, HeadTable | None]:
    example = inspected_run.make_example(request.texts[0], request.texts[1] if len(request.texts) > 1 else None)
    reference = None if request.compare_with is None else load_reference(inspected_run, example, request.compare_with)
    if not request.measure:
        return build_look_data(inspected_run, example, reference=reference), None
    examples, corpus_name = load_default_examples(inspected_run, request.sentences)
    table = measure_heads(inspected_run, examples, corpus_name)
    means = compute_common_means(inspected_run, examples)
    return build_look_data(inspected_run, example, table, means, reference), table


def _inspect_corpus(inspected_run: InspectedRun, request: LookOptions) -> Inspection:
    """The heads on a corpus. A page shows its first sentence; what it says about heads comes from all of them."""
    examples, corpus_name = load_file_examples(inspected_run, request.texts, request.sentences)
    table = measure_heads(inspected_run, examples, corpus_name)

    def render() -> OutputFile:
        means = compute_common_means(inspected_run, examples)
        return _page(build_look_data(inspected_run, examples[0], table, means))

    return Inspection({"--out": render}, heads=table)


def _inspect_positions(inspected_run: InspectedRun, request: LookOptions) -> Inspection:
    """The position encodings. A figure shows one layer: that of the head, else the first."""
    layer = int(inspected_run.find_head(request.head)[0].split(".")[1]) if request.head else 0
    stack_positions = analyze_positions(inspected_run, request.num_positions)
    outputs: Outputs = {
        **_figures(partial(draw_positions, inspected_run, stack_positions, layer)),
        "--csv": partial(csv_file, partial(tabulate_position_scores, stack_positions)),
        "--npz": partial(_npz, partial(flatten_position_arrays, stack_positions)),
    }
    return Inspection(outputs, positions=tuple(stack_positions))


def _page(data: LookData) -> OutputFile:
    with stage("rendering the page"):
        page = render_look_page(data)
    return OutputFile(page.html.encode(), page.notes)


def _figures(draw: Callable[[], Chart]) -> Outputs:
    return {
        "--svg": lambda: OutputFile(draw().to_svg().encode()),
        "--png": lambda: OutputFile(draw().to_png()),
    }


def csv_file(tabulate: Callable[[], Table]) -> OutputFile:
    return OutputFile(to_csv(tabulate()).encode())


def _npz(collect: Callable[[], Mapping[str, Any]]) -> OutputFile:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **collect())
    return OutputFile(buffer.getvalue())
