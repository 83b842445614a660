"""BLEU against minutes, recipe by recipe: which settings reach a BLEU in the fewest minutes.

    python benchmarks/speedrun.py FOLDER --cost                      milliseconds of a step, of all recipes in turns
    python benchmarks/speedrun.py FOLDER --minutes 15 --seeds 1 2    trainings
    python benchmarks/speedrun.py FOLDER --write                     table, chart, docs/results/recipes.md

The corpora and the recipes are in speedrun.toml; --corpora and --recipes choose some of them. Files are looked up below
--data, or REGARD_DATA. A recipe is compared with what Regard chooses by itself for the files and the minutes, which is
chosen once for each corpus and stays.

Other programs on the machine change nothing: a curve is recorded over steps, and its minutes are the steps times the
cost of a step. That is measured apart, on a quiet machine: a few dozen steps of every recipe in turns, their medians
(--clock cpu counts the processor's time instead, divided by the threads, where the machine is never quiet). A budget of
minutes is as many steps as it pays for, and the schedule ends with them. Preparing the data, validating and scoring
take no minutes here; a teacher and its translations do.

Results are in results/speedrun.json, without any text of a corpus; FOLDER holds the runs, and may be removed. What is
there is not done again, and a training that was stopped goes on, so call it again. The default comes first, since the
others are compared with it, sentence by sentence.
"""

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from environment import RESULTS
from speed_curves import StepCost, median_cost
from speed_page import write_page
from speed_recipes import BASE, Recipe, SpeedCorpus, Values, choose_base, describe_base, load_table, make_config

from regard import config as settings
from regard.config import Config
from regard.decode import BeamSearch
from regard.errors import ConfigError
from regard.jobs.evaluate import read_sentences
from regard.jobs.train.events import TrainingEvent, TrainingProgress
from regard.jobs.train.fit import resume_run, train_run
from regard.jobs.translate.distill import distill
from regard.jobs.translate.worker_pool import RuntimeOptions
from regard.metrics import Tokenization, corpus_bleu
from regard.metrics.paired import bleu_difference
from regard.model import weights
from regard.run import Run, open_run, write_text
from regard.training import log

SKIPPED_STEPS = 3
"""The first steps, which allocate memory."""
CLOCKS = ("wall", "cpu")
"""What the cost of a step is measured by: the time that passes, or the processor's time for each thread."""
SENTENCES = 10_000
"""Of dev, which are translated greedily at each validation: all of them."""


@dataclass(frozen=True)
class Results:
    """Everything measured so far, in one file: what is written is merged with what another process has written."""

    path: Path

    def read(self) -> dict[str, dict[str, Any]]:
        stored = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        return {"bases": {}, "costs": {}, "cells": {}} | stored

    def put(self, section: str, name: str, value: Any) -> None:
        table = self.read()
        table[section][name] = value
        write_text(self.path, json.dumps(table, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class Work:
    """A corpus and its minutes."""

    corpus: SpeedCorpus
    minutes: float
    files: list[str]
    folder: Path
    base: Values
    more: tuple[str, ...]
    results: Results

    @property
    def name(self) -> str:
        return f"{self.corpus.name}/{self.minutes:g}"

    @property
    def cost_name(self) -> str:
        return f"{self.corpus.name}/{describe_base(self.base, self.more)}"

    def config(self, recipe: Recipe, *more: str) -> Config:
        return make_config(self.files, self.base, recipe, [*self.more, *more])

    def cost(self, recipe: Recipe) -> StepCost:
        costs = self.results.read()["costs"].get(self.cost_name, {})
        if recipe.name not in costs:
            raise SystemExit(
                f"{self.cost_name}: what a step of {recipe.name!r} costs is not known; call it with --cost"
            )
        return StepCost(tuple(costs[recipe.name]["milliseconds"]))


def open_work(corpus: SpeedCorpus, minutes: float, given: argparse.Namespace, results: Results) -> Work:
    """The files of a corpus, and the settings of its default, which are chosen once."""
    files = corpus.settings(given.data, given.folder / corpus.name / "data")
    name = f"{corpus.name}/{minutes:g}"
    if name not in results.read()["bases"]:
        results.put("bases", name, choose_base(files, minutes, given.set))
    base = results.read()["bases"][name]
    more = (*given.set, f"train.threads={given.threads}")
    return Work(corpus, minutes, files, given.folder / corpus.name / f"{minutes:g}", base, more, results)


def measure_costs(work: Work, recipes: list[Recipe], given: argparse.Namespace) -> None:
    """Milliseconds of a step of every recipe: those of the default, which are measured first, times a ratio to them."""
    costs = {} if given.again else dict(work.results.read()["costs"].get(work.cost_name, {}))
    missing = [recipe for recipe in recipes if recipe.name not in costs and recipe.name != BASE]
    if not missing and BASE in costs:
        return
    base = Recipe(BASE)
    rows = _steps_in_turns(work, [base, *missing], given.cost_steps)
    clocks = {name: dict(zip(CLOCKS, zip(*row, strict=True), strict=True)) for name, row in rows.items()}
    medians = {name: median_cost(row[given.clock], 1).mean for name, row in clocks.items()}
    for recipe in [base, *missing]:
        cost = median_cost(clocks[recipe.name][given.clock], recipe.parts)
        ratio = cost.scaled(1 / medians[BASE])
        anchor = costs.get(BASE, {"milliseconds": [medians[BASE]]})["milliseconds"][0]
        measured = {name: round(statistics.median(clocks[recipe.name][name]), 3) for name in CLOCKS}
        if recipe.name not in costs:
            cost = ratio.scaled(anchor)
            costs[recipe.name] = {"milliseconds": cost.parts, "measured": measured, "date": str(date.today())}
        print(f"{work.cost_name}: {recipe.name}: {ratio.mean:.2f} of the default; measured {measured} ms a step")
    work.results.put("costs", work.cost_name, costs)


def _steps_in_turns(work: Work, recipes: list[Recipe], steps: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of the steps of several trainings by both clocks, one step of each after the other."""
    folder = work.folder / "cost"
    limits = [f"train.steps={steps + SKIPPED_STEPS}", "train.validate_every=100000", "train.save_every=100000"]
    trainings = {r.name: _progress(folder / _file_name(r.name), work.config(r, *limits)) for r in recipes}
    rows: dict[str, list[tuple[float, float]]] = {recipe.name: [] for recipe in recipes}
    for training in trainings.values():
        next(training)  # which prepares the data, and takes the first step
    for _ in range(steps + SKIPPED_STEPS - 1):
        for name, training in trainings.items():
            begin = time.process_time()
            event = next(training)
            processor = 1000 * (time.process_time() - begin) / torch.get_num_threads()
            rows[name].append((1000 * event.step.seconds, processor))
    for training in trainings.values():
        training.close()
    shutil.rmtree(folder)
    return {name: row[SKIPPED_STEPS - 1 :] for name, row in rows.items()}


def _progress(folder: Path, config: Config) -> Iterator[TrainingProgress]:
    return (event for event in train_run(folder, config, True, lambda: False) if isinstance(event, TrainingProgress))


def train_cell(work: Work, recipe: Recipe, seed: int, points: int) -> dict[str, Any]:
    """A training within the minutes, from the start or from where it was stopped."""
    earlier = _teach(work, recipe.teacher, seed, points) if recipe.teacher else Lesson(work)
    cost = work.cost(recipe)
    steps = cost.steps_within(work.minutes - earlier.minutes)
    folder = work.folder / f"{_file_name(recipe.name)}.{seed}"
    run, processor = _train(folder, _limited(earlier.work, recipe, steps, seed, points))
    return {
        "steps": steps,
        "epochs": round(_epochs(run), 2),
        "curve": [*earlier.curve, *_curve(run, cost, steps, earlier.minutes)],
        "milliseconds": cost.parts,
        "wall_milliseconds": 1000 * statistics.median(step.seconds for step in log.read_steps(run.log)),
        "cpu_milliseconds": processor,
        "parameters": sum(tensor.numel() for tensor in weights.read(run.best_weights()).values()),
        "settings": list(recipe.overrides(work.base)),
        "date": str(date.today()),
        "versions": {name: version(name) for name in ("regard", "torch")},
        **_score(work, run, seed),
    }


@dataclass(frozen=True)
class Lesson:
    """What came before a training: its files, the minutes that it took, and the curve until then."""

    work: Work
    minutes: float = 0.0
    curve: tuple[list[float | None], ...] = ()


def _teach(work: Work, share: float, seed: int, points: int) -> Lesson:
    """Train the base recipe for a share of the minutes, and add its translations to the pairs."""
    base = Recipe(BASE)
    cost = work.cost(base)
    steps = cost.steps_within(share * work.minutes)
    folder = work.folder / f"teacher-{share:g}.{seed}"
    run, _ = _train(folder, _limited(work, base, steps, seed, points))
    pairs, timing = folder.with_suffix(f".{seed}.jsonl"), folder.with_suffix(f".{seed}.minutes")
    if not timing.exists():
        for partial in work.folder.glob(f"{pairs.name}.*.partial"):  # whose time is not known
            partial.unlink()
        begin = time.process_time()
        distill([folder], pairs, BeamSearch(), RuntimeOptions(workers=1))
        write_text(timing, str((time.process_time() - begin) / torch.get_num_threads() / 60))
    train = f"data.train={json.dumps([str(pairs)])}"
    files = [train, *(setting for setting in work.files if not setting.startswith("data.train="))]
    minutes = cost.minutes_at(steps, steps) + float(timing.read_text(encoding="utf-8"))
    return Lesson(replace(work, files=files), minutes, tuple(_curve(run, cost, steps)))


def _limited(work: Work, recipe: Recipe, steps: int, seed: int, points: int) -> Config:
    """The settings of a training of this many steps, which is validated this often."""
    every = max(1, steps // points)
    limits = [f"train.steps={steps}", f"train.seed={seed}", f"train.validation_sentences={SENTENCES}"]
    return work.config(recipe, *limits, f"train.validate_every={every}", f"train.save_every={max(1, every // 2)}")


def _curve(run: Run, cost: StepCost, steps: int, offset: float = 0.0) -> list[list[float | None]]:
    """Step, minutes, dev loss and greedy BLEU of every validation."""
    return [
        [v.step, round(offset + cost.minutes_at(v.step, steps), 4), v.loss, v.score.value if v.score else None]
        for v in log.read_validations(run.log)
    ]


def _train(folder: Path, config: Config) -> tuple[Run, float]:
    """Train to the end; the run, and the median of the processor's milliseconds a step in this session."""
    milliseconds, last = [0.0], time.process_time()  # none where the run was finished before
    for event in _events(folder, config):
        if isinstance(event, TrainingProgress):
            now = time.process_time()
            milliseconds.append(1000 * (now - last))
            last = now
    return open_run(folder), statistics.median(milliseconds)


def _events(folder: Path, config: Config) -> Iterator[TrainingEvent]:
    run = Run(folder)
    if run.latest.exists() and _same_settings(open_run(folder).load_config(), config):
        return resume_run(folder, {}, lambda: False)
    return train_run(folder, config, True, lambda: False)


def _same_settings(stored: Config, config: Config) -> bool:
    """Whether a stored run was begun with these settings; those that training chose itself may be more."""
    names = settings.explicit_settings(config)
    flat = [settings.flatten(one.model_dump(mode="json")) for one in (stored, config)]
    return all(flat[0].get(name) == flat[1].get(name) for name in names)


def _epochs(run: Run) -> float:
    steps = log.read_steps(run.log)
    last = steps[-1].data_position
    longest = max(step.data_position.batch for step in steps)
    return last.epoch + last.batch / longest


def _score(work: Work, run: Run, seed: int) -> dict[str, Any]:
    """Dev BLEU by beam search, and the difference from the default of the same seed, as long as its run is there."""
    translations, references = _lines(work, run)
    tokenization = Tokenization(work.corpus.tokenize)
    bleu = corpus_bleu(translations, references, tokenization)
    scores: dict[str, Any] = {"bleu": bleu.value, "low": bleu.low, "high": bleu.high, "signature": bleu.signature}
    base = Run(work.folder / f"{BASE}.{seed}")
    if base.folder != run.folder and base.sentence_scores("dev").exists():
        others, same_references = _lines(work, base)
        if same_references == references:
            difference = bleu_difference(translations, others, references, tokenization)
            scores["against"] = {name: getattr(difference, name) for name in ("value", "low", "high")}
    return scores


def _lines(work: Work, run: Run) -> tuple[list[str], list[str]]:
    """The translations and the references of dev."""
    sentences = read_sentences(run, "dev")
    sides = ([one.translation for one in sentences], [one.reference for one in sentences])
    translations, references = ([text.lower() if work.corpus.lowercase else text for text in side] for side in sides)
    return translations, references


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name)


def usable(work: Work, recipes: list[Recipe]) -> list[Recipe]:
    """The recipes whose settings exist; what is wrong with the others is printed."""
    known = []
    for recipe in recipes:
        try:
            work.config(recipe)
        except ConfigError as error:
            print(f"{work.name}: {recipe.name!r} is left out: {error}")
        else:
            known.append(recipe)
    return known


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("REGARD_DATA", ".")))
    parser.add_argument("--table", type=Path, help="another file of corpora and recipes than speedrun.toml")
    parser.add_argument("--corpora", nargs="*", help="only these")
    parser.add_argument("--recipes", nargs="*", help="only these, and the default")
    parser.add_argument("--minutes", type=float, nargs="*", default=[15.0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for every cell")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--points", type=int, default=24, help="validations of a training")
    parser.add_argument("--cost", action="store_true", help="measure steps instead of training")
    parser.add_argument("--cost-steps", type=int, default=60)
    parser.add_argument("--clock", choices=CLOCKS, default=CLOCKS[0])
    parser.add_argument("--again", action="store_true", help="with --cost: measure also what is known")
    parser.add_argument("--results", type=Path, default=RESULTS / "speedrun.json")
    parser.add_argument("--write", action="store_true", help="write the tables and the chart of what is there")
    return parser.parse_args()


def main() -> None:
    given = parse()
    results = Results(given.results)
    corpora, recipes = load_table(given.table) if given.table else load_table()
    chosen = [recipes[name] for name in dict.fromkeys([BASE, *(given.recipes or recipes)])]
    if given.write:
        write_page(results.read(), list(recipes), given.results)
        return
    for name in given.corpora or corpora:
        for minutes in given.minutes:
            work = open_work(corpora[name], minutes, given, results)
            known = usable(work, chosen)
            if given.cost:
                measure_costs(work, known, given)
                continue
            for seed in given.seeds:
                for recipe in known:
                    cell = f"{work.name}/{recipe.name}/{seed}"
                    if cell not in results.read()["cells"]:
                        results.put("cells", cell, train_cell(work, recipe, seed, given.points))
                        measured = results.read()["cells"][cell]
                        print(f"{cell}: {measured['steps']} steps, dev BLEU {measured['bleu']:.2f}", flush=True)


if __name__ == "__main__":
    main()
