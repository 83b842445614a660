"""The reports of language models, report.html: the verdict, scores beside opponents, samples and curves."""

from regard.jobs.tasks.language.evaluation import LanguageEvaluation
from regard.jobs.tasks.language.masked_evaluation import MaskedEvaluation
from regard.jobs.tasks.language.samples import OPTIONS, sample_continuations, sample_fillings
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.report import Paragraph, Section, Table, TableView
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
    subtitle = f"{num_bytes:,} bytes of {set_name} in {len(evaluation.segments):,} {evaluation.units}"
    write_task_report(run, evaluation, TaskReport(subtitle, ("bits_per_byte",), sections), epochs)


def write_masked_report(
    run: Run, filler: MaskFiller, evaluation: MaskedEvaluation, set_name: str, epochs: float
) -> None:
    """Write report.html, with masks that the model fills."""
    samples = sample_fillings(filler, [passage.text for passage in evaluation.passages])
    note = "A word of the first passages was hidden; the tokens that the model expects there, with probabilities."
    sections = (Section("Filled masks", [Paragraph(note), TableView(samples)]),)
    subtitle = f"{len(evaluation.passages):,} passages of {set_name}"
    write_task_report(run, evaluation, TaskReport(subtitle, ("loss", "accuracy"), sections), epochs)


def tabulate_hardest(evaluation: LanguageEvaluation) -> Table:
    """The segments with the most bits per byte."""
    hardest = sorted(evaluation.segments, key=lambda one: -one.bits / one.num_bytes)[:MAX_TEXTS]
    return Table.from_rows(
        {"text": one.text[:MAX_CHARACTERS], "bits per byte": one.bits / one.num_bytes, "bytes": one.num_bytes}
        for one in hardest
    )
