"""What the reports of all tasks have in common: whether the model works, alarms, every scored set, corpus, settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard import config as settings
from regard.data.doctor import Diagnosis
from regard.data.doctor.kinds import FINDING_KINDS
from regard.data.label_doctor import LABEL_KINDS
from regard.errors import RunError
from regard.jobs.evaluate import read_set_scores, scored_sets
from regard.jobs.tasks.reporting.curves import draw_learning_rate, flatten_settings
from regard.jobs.tasks.reporting.diagnosis import (
    diagnose_collapse,
    find_best_validation,
    had_steps_to_learn,
    replay_alarms,
)
from regard.jobs.tasks.reporting.headline import LearningOutcome
from regard.jobs.tasks.task import Task, TaskEvaluation, TrainingData
from regard.report import (
    Chart,
    DefinitionList,
    Folded,
    ItemList,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
)
from regard.run import Run
from regard.training import log
from regard.training.loop import Step
from regard.training.validate import Validation

VERSIONS = ("regard", "python", "torch", "platform")


class RunRecord:
    """What a finished run is reported from, besides its scores: its settings, its log and its data."""

    def __init__(self, run: Run, task: Task, epochs: float):
        self.run, self.task, self.epochs = run, task, epochs
        self.config = run.load_config()
        self.records: list[Step | Validation] = list(log.read(run.log))
        self.steps = [record for record in self.records if isinstance(record, Step)]
        self.validations = [record for record in self.records if isinstance(record, Validation)]
        has_data = run.tokens_manifest.exists()
        self.data: TrainingData | None = task.open_data(run, self.config) if has_data else None
        self.unigram_loss = None if self.data is None else task.baseline_loss(self.config, self.data)

    def judge(self, evaluation: TaskEvaluation) -> LearningOutcome:
        """Whether the model works, by its best validation and its predictions."""
        validation = find_best_validation(self.run, self.validations)
        failure = diagnose_collapse(self.task, validation, self.unigram_loss, evaluation)
        steps = len(self.steps)
        return LearningOutcome(
            failure or self.task.describe_failure(evaluation) or "",
            steps,
            had_steps_to_learn(self.run, steps, self.epochs, self.validations),
        )

    def alarms(self) -> list[Section]:
        """The alarms of training in words, each with its step; no section where there were none."""
        if self.unigram_loss is None:
            return []
        raised = replay_alarms(self.records, self.unigram_loss, self.config.train.warmup, self.task.alarm_words)
        items = [f"Step {step:,}: {text}" for step, text in raised]
        return [Section("Alarms", [ItemList(items, "alarms")])] if items else []

    def learning_rate(self) -> list[Chart]:
        """The learning rate of every step."""
        return [draw_learning_rate(self.steps)] if self.steps else []

    def other_sets(self, shown: str) -> list[PagePart]:
        """The scores of every other set that the run was evaluated on."""
        rows, damaged = dict[str, Mapping[str, Value]](), list[PagePart]()
        for name in scored_sets(self.run):
            try:
                stored = read_set_scores(self.run, name)
            except RunError as error:
                damaged.append(Paragraph(str(error)))
                continue
            if name != shown:
                rows[name] = {score.name: score.format_margin(score.digits) for score in stored.scores.values()}
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        table = Table.from_rows({"set": name, **{one: row.get(one) for one in columns}} for name, row in rows.items())
        caption = "Other sets that this run was evaluated on; ± is half the width of the 95% interval."
        return [*([TableView(table, caption)] if rows else []), *damaged]

    def corpus(self) -> Section:
        """What the run was trained on, and on which machine."""
        facts: dict[str, Value] = {}
        notes: list[PagePart] = []
        if self.data is not None:
            corpora = {"training": self.data.train, "dev": self.data.dev, "test": self.data.test}
            facts |= {f"{name} {self.task.example}s": len(one) for name, one in corpora.items() if one is not None}
            facts |= {"vocabulary": self.data.vocab_size}
            notes += [Paragraph(f"Held out of the training files: {', '.join(self.data.held_out)}.")] * bool(
                self.data.held_out
            )
            notes += [ItemList(list(self.data.notes))] if self.data.notes else []
        findings = [finding.format_line() for finding in diagnosis.findings] if (diagnosis := self._doctor()) else []
        notes += [Folded(f"What `regard doctor` found: {len(findings)}", [ItemList(findings)])] if findings else []
        return Section("Corpus and machine", [DefinitionList(facts | self._machine()), *notes])

    def settings(self) -> Section:
        """The settings that differ from the defaults, and on request the others."""
        values = flatten_settings(self.config)
        defaults = flatten_settings(settings.build({"task": self.config.task}))
        differing = {name: value for name, value in values.items() if value != defaults.get(name)}
        rest = {name: value for name, value in values.items() if name not in differing}
        return Section(
            "Settings",
            [
                Paragraph("Settings that differ from the defaults: what was set, and what was chosen for this corpus."),
                DefinitionList(differing),
                Folded(f"{len(rest)} settings with their defaults", [DefinitionList(rest)]),
            ],
        )

    def _machine(self) -> dict[str, Value]:
        versions: Mapping[str, Any] = self.run.read_json(self.run.versions) if self.run.versions.exists() else {}
        machine: dict[str, Value] = {name: str(versions[name]) for name in VERSIONS if name in versions}
        return {"CPU threads": self.config.train.threads or None, **machine}

    def _doctor(self) -> Diagnosis | None:
        """What was found in the training data; None where it is not known."""
        if not self.run.doctor.exists():
            return None
        table = self.run.read_json(self.run.doctor)
        try:
            return Diagnosis.from_dict(table, LABEL_KINDS if table.get("unit") == "texts" else FINDING_KINDS)
        except ValueError:
            return None


def join_sections(
    record: RunRecord, scores: Section, own: Sequence[Section], training: Sequence[PagePart]
) -> list[Section]:
    """The sections of a report in their order."""
    return [
        *record.alarms(),
        scores,
        *own,
        Section("Training", training),
        record.corpus(),
        record.settings(),
    ]
