"""The reports of language models, report.html: the verdict, scores beside opponents, samples and curves."""

from collections.abc import Mapping

import numpy as np

from regard.jobs.tasks.language.evaluation import LanguageEvaluation
from regard.jobs.tasks.language.masked_evaluation import MaskedEvaluation
from regard.jobs.tasks.language.samples import OPTIONS, sample_continuations, sample_fillings
from regard.jobs.tasks.language.task import LanguageTask
from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.metrics.score import limits_of
from regard.report import Paragraph, Section, Table, TableView, stacked_histograms
from regard.report.text import shorten
from regard.run import Run
from regard.tasks.generate import LanguageModel
from regard.tasks.masked_lm.filler import MaskFiller

MAX_TEXTS = 5
MAX_CHARACTERS = 160


def write_language_report(
    run: Run, model: LanguageModel, evaluation: LanguageEvaluation, set_name: str, epochs: float
) -> None:
    """Write report.html, with texts that the model generates, and those that it finds hardest to predict."""
    sampling = (
        f"Continuations of nothing and of the beginnings of {set_name} texts, at most {OPTIONS.max_new_tokens} tokens, "
        f"drawn with temperature {OPTIONS.temperature} and top-p {OPTIONS.top_p}."
    )
    samples = sample_continuations(model, [segment.text for segment in evaluation.segments])
    sections = (
        Section("Generated text", [Paragraph(sampling), TableView(samples)]),
        Section(f"Least predictable {evaluation.units}", [TableView(tabulate_hardest(evaluation))]),
    )
    num_bytes = sum(segment.num_bytes for segment in evaluation.segments)
    scored_set = ScoredSet(set_name, len(evaluation.segments), evaluation.units)
    report = TaskReport(scored_set, ("bits_per_byte",), sections, extent=f"{num_bytes:,} bytes")
    write_task_report(run, evaluation, report, epochs)


def write_masked_report(
    run: Run, filler: MaskFiller, evaluation: MaskedEvaluation, set_name: str, epochs: float
) -> None:
    """Write report.html, with masks that the model fills."""
    samples = sample_fillings(filler, [passage.text for passage in evaluation.passages])
    note = "A word of the first passages was hidden; the tokens that the model expects there, with probabilities."
    sections = (Section("Filled masks", [Paragraph(note), TableView(samples)]),)
    scored_set = ScoredSet(set_name, len(evaluation.passages))
    write_task_report(run, evaluation, TaskReport(scored_set, ("loss", "accuracy"), sections), epochs)


def show_distributions(task: LanguageTask, runs: Mapping[str, Run], set_name: str) -> ExampleSection | None:
    """How the main score is distributed over the documents or passages of a set, for each of several runs."""
    counted = {name: one for name, run in runs.items() if (one := task.count_stored(run, set_name, task.main_score))}
    if not counted:
        return None
    first = next(iter(counted.values()))
    rows = (
        {"value": value, "run": name}
        for name, one in counted.items()
        for value in (np.array(one.answers, np.float64) / one.counts.sizes).tolist()
    )
    title = f"{first.name[:1].upper()}{first.name[1:]} of each of the {first.num_examples} {first.units} of {set_name}"
    chart = stacked_histograms(
        Table.from_rows(rows),
        "value",
        "run",
        title=title,
        x_title=first.name,
        units=first.units,
        limits=limits_of(first.name),
    )
    return ExampleSection(first.units.capitalize(), [chart.with_name("examples")])


def tabulate_hardest(evaluation: LanguageEvaluation) -> Table:
    """The segments with the most bits per byte."""
    hardest = sorted(evaluation.segments, key=lambda one: -one.bits / one.num_bytes)[:MAX_TEXTS]
    return Table.from_rows(
        {"text": shorten(one.text, MAX_CHARACTERS), "bits per byte": one.bits / one.num_bytes, "bytes": one.num_bytes}
        for one in hardest
    )
