"""The structure of the package: imports go down its layers, names are unique, files and folders stay small."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import regard
from regard.config import Config, TaskName
from scripts import forward_lines, unused

ROOT = Path(regard.__file__).parent
FLOORS = (
    "errors files atomic exchange checkpoint_records config run staged_run hardware progress plugins languages",
    "formats metrics kernels report",
    "model data decode evaluation",
    "runtime baselines retrieval",
    "tasks",
    "training inspection interchange",
    "jobs",
    "tuning labs",
    "display",
    "api",
    "cli server",
    "__init__ __main__",
)
FLOOR = {room: n for n, rooms in enumerate(FLOORS) for room in rooms.split()}
LINES, STATEMENTS, PARAMETERS, FILES = 400, 60, 8, 12
OPTION_PARAMETERS = 24  # of functions whose parameters are options that people type: commands and the public API
UNLIMITED = {"cli", "formats"}  # one file per command, one per format


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def rooms_imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "regard":
            names = [f"regard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "regard" and len(parts) > 1 and parts[1] in FLOOR:
                yield parts[1]


def wrong(path: Path, tree: ast.Module) -> list[str]:
    here = room(path)
    return [
        f"{path.name}: {here} (floor {FLOOR[here]}) may not import {there} (floor {FLOOR[there]})"
        for there in rooms_imported(tree)
        if not (there == here or FLOOR[there] < FLOOR[here] or FLOOR[here] == 0 == FLOOR[there])
    ]


@functools.cache
def files() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(ROOT.rglob("*.py"))]


def test_imports_only_go_down():
    assert [fault for path, tree in files() for fault in wrong(path, tree)] == []


def test_a_planted_fault_is_found():
    tree = ast.parse("from regard.training.loop import Step\nfrom regard import jobs\nimport regard.errors")
    assert wrong(ROOT / "model" / "bad.py", tree) == [
        "bad.py: model (floor 2) may not import training (floor 5)",
        "bad.py: model (floor 2) may not import jobs (floor 6)",
    ]


def test_every_room_has_a_floor():
    assert {room(path) for path, _ in files()} <= set(FLOOR)


def test_budgets_hold():
    over = []
    for path, tree in files():
        if path.read_text(encoding="utf-8").count("\n") > LINES:
            over.append(f"{path}: too long")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                parameters = len(node.args.args) + len(node.args.kwonlyargs) + len(node.args.posonlyargs)
                if node.end_lineno - node.lineno >= STATEMENTS:
                    over.append(f"{path}:{node.lineno} {node.name}: too long")
                limit = OPTION_PARAMETERS if room(path) in ("cli", "api") else PARAMETERS
                if parameters > limit + ("self" in [a.arg for a in node.args.args]):
                    over.append(f"{path}:{node.lineno} {node.name}: too many parameters")
    assert over == []


def test_folders_hold_few_files():
    folders = {path.parent for path, _ in files()}
    counts = {folder: len(list(folder.glob("*.py"))) - 1 for folder in folders if folder.name not in UNLIMITED}
    assert {str(folder): count for folder, count in counts.items() if count > FILES} == {}


def repeated_classes(trees: list[tuple[Path, ast.Module]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for path, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path}:{node.lineno}")
    return {name: where for name, where in places.items() if len(where) > 1}


def test_one_noun_names_one_class():
    assert repeated_classes(files()) == {}
    planted = [(Path("a.py"), ast.parse("class Memory: ...")), (Path("b.py"), ast.parse("class Memory: ..."))]
    assert repeated_classes(planted) == {"Memory": ["a.py:1", "b.py:1"]}


def test_nothing_is_called_by_tests_alone():
    assert unused.unused() == []


def test_one_forward_pass_is_a_short_read():
    counts = forward_lines.forward_lines()
    assert len(counts) <= 6 and sum(counts.values()) <= 300, counts


def test_tests_stand_where_the_names_of_their_modules_say():
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path()}
    rooms = (ROOT, ROOT.parent)  # tests/docs is about docs/
    assert [str(folder) for folder in folders if not any((room / folder).is_dir() for room in rooms)] == []


def borrowed(tree: ast.Module) -> list[int]:
    """Lines that take a Transformer ready-made. CTranslate2's descriptions of one (…Spec) hold no computation."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (node.attr.startswith("Transformer") or node.attr == "MultiheadAttention")
        and not node.attr.endswith("Spec")
    ]


def test_the_architecture_is_ours():
    assert [f"{path}:{line}" for path, tree in files() for line in borrowed(tree)] == []
    fault = "nn.Transformer()\nnn.TransformerEncoderLayer\nspecs.TransformerSpec\nnn.MultiheadAttention"
    assert sorted(borrowed(ast.parse(fault))) == [1, 2, 4]


def test_no_pickle_and_no_splitlines_anywhere():
    banned = {"pickle", "splitlines"}
    found = [
        f"{path}:{node.lineno}"
        for path, tree in files()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in banned)
        or (isinstance(node, ast.Import) and any(alias.name in banned for alias in node.names))
    ]
    assert found == []


def pickled(tree: ast.Module) -> list[int]:
    """Lines where torch reads or writes what may be code: `load` is allowed only where it is told to run none."""
    restricted = {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(k.arg == "weights_only" and getattr(k.value, "value", None) is True for k in node.keywords)
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and getattr(node.value, "id", "") == "torch"
        and (node.attr == "save" or (node.attr == "load" and node not in restricted))
    ]


def test_torch_reads_nothing_that_could_run():
    assert [f"{path}:{line}" for path, tree in files() for line in pickled(tree)] == []
    fault = "torch.load(a, weights_only=True)\ntorch.load(a)\ntorch.load(a, weights_only=False)\ntorch.save(a, b)"
    assert sorted(pickled(ast.parse(fault))) == [2, 3, 4]


def test_only_doors_print():
    found = [
        f"{path}:{node.lineno}"
        for path, tree in files()
        if room(path) not in ("cli", "serve")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("print", "exit", "quit", "input")
    ]
    assert found == []


TASK_NAMES = frozenset(get_args(TaskName))
BLIND_TO_TASKS = ("training", "tuning", "report", "jobs/train", "jobs/report.py", "jobs/evaluate.py", "display")
BLIND_TO_NAMES = (*BLIND_TO_TASKS, "jobs/look")
"""Inspecting a decision imports classification, which is what it explains."""
TASK_SECTIONS = {f"{name.replace('-', '_')}" for name in TASK_NAMES} & Config.model_fields.keys()
TASK_PACKAGES = tuple(
    f"regard.{path.relative_to(ROOT).as_posix().replace('/', '.')}"
    for folder in ("tasks", "jobs/tasks")
    for path in (ROOT / folder).iterdir()
    if path.is_dir() and path.name not in ("reporting", "__pycache__")
)
OF_ONE_TASK = {
    "display/views/tasks/filling.py": "regard.tasks.masked_lm",
    "jobs/evaluate.py": "regard.tasks.translate",
    "jobs/report.py": "regard.tasks.translate",
    "jobs/train/estimate.py": "regard.jobs.tasks.translation",
    "jobs/train/head_recorder.py": "regard.jobs.tasks.translation",
    "tuning/pages/comparison.py": "regard.jobs.tasks.translation",
}
"""What shows or measures the predictions of one task alone, and which task this is."""


def named_tasks(folder: str) -> list[str]:
    """Where a file names a task in a string: what a task needs of its own is asked of the task."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"
        for path, tree in files()
        if path.relative_to(ROOT).as_posix().startswith(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in TASK_NAMES
    ]


def imported_modules(tree: ast.Module) -> list[str]:
    """The modules that a file imports, wherever it does."""
    return [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    ]


def used_tasks(folder: str) -> list[str]:
    """Where a file reads the settings of a task, or imports from it."""
    found = []
    for path, tree in files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(folder):
            sections = [
                node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in TASK_SECTIONS
            ]
            found += [f"{name}:{node.lineno} .{node.attr}" for node in sections]
            packages = {
                package
                for module in imported_modules(tree)
                for package in TASK_PACKAGES
                if f"{module}.".startswith(f"{package}.")
            }
            found += [f"{name} {package}" for package in sorted(packages) if OF_ONE_TASK.get(name) != package]
    return found


def test_training_and_what_follows_know_no_task_by_name():
    assert [found for folder in BLIND_TO_NAMES for found in named_tasks(folder)] == []
    assert named_tasks("jobs/tasks/registry.py"), "the table of tasks has their names"


def test_training_and_what_follows_read_no_settings_of_a_task_and_import_none():
    assert [found for folder in BLIND_TO_TASKS for found in used_tasks(folder)] == []
    assert {".classify", ".masked_lm"} <= {found.split()[1] for found in used_tasks("jobs/tasks")}
    assert {"regard.tasks.classify", "regard.tasks.embed"} <= {found.split()[1] for found in used_tasks("jobs/tasks")}
