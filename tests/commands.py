"""Commands in forked processes that have everything imported: alone, in a group, killed, or with every state recorded.

The states are those of a folder before each file operation: what a kill at that moment would leave. Before every
operation that changes something (and at every other event that Python audits) the folder is copied if it differs from
the last copy. Nothing that the process holds in memory is in the copy, and no lock.
"""

import contextlib
import functools
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from regard import exchange, hardware

ROOT = Path(__file__).parent.parent

TINY = ["model.dim=16", "model.heads=2", "model.ffn=32", "model.layers=1", "data.vocab_size=300"]
TINY += ["model.norm=post", "model.positions.sinusoid_layout=halves"]  # as Marian has them
TINY += ["train.batch_tokens=256", "train.warmup=2", "train.threads=1", "train.validation_sentences=3"]
TINY += ["train.validate_every=3", "train.save_every=2", "train.average_checkpoints=2", "train.schedule=inverse-sqrt"]
TINY_SETTINGS = [word for setting in TINY for word in ("--set", setting)]
"""Options of a model that is trained in a second."""
IMPORTS = ("regard.cli", "regard.tuning.pages.study", "regard.baselines", "altair", "pycrfsuite")
IMPORTS += ("sklearn.dummy", "sklearn.feature_extraction.text", "sklearn.linear_model")
"""What commands import, some of it late."""
CRASHED = 99  # exit code of a command that raised
FOREIGN_EVENTS = ("object.", "sys._getframe", "import", "compile", "exec", "marshal.", "code.__new__", "gc.")


class CommandServer:
    """A process that has everything imported and forks for each command.

    Not the process of the tests itself: where charts were drawn before, threads hold locks that a fork never gets.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def run(self, request: "Request") -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@functools.cache
def _server() -> CommandServer:
    """Started once; it ends with the process of the tests, which closes its input."""
    return CommandServer()


def serve() -> None:
    """Run the commands of a CommandServer."""
    import torch

    for module in IMPORTS:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    hardware.TRY_SECONDS = 0.002  # as in the process of the tests
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])  # imports the compiler of torch
    for line in sys.stdin:
        print(_fork(Request(**json.loads(line))), flush=True)


@dataclass(frozen=True)
class Request:
    """A command, and how it is run."""

    argv: Sequence[str]
    folder: str
    output: str
    states: str | None = None
    has_exchange: bool = True
    ranks: int = 1
    kill_before: tuple[str, int] | None = None
    input: str = os.devnull
    errors: str | None = None
    environment: dict[str, str] | None = None

    def prepare(self) -> None:
        """What is changed in the process before the command."""
        if not self.has_exchange:
            exchange.swap_names = lambda first, second: False
        if self.states is not None:
            sys.addaudithook(_Recorder(Path(self.folder), Path(self.states)))
        if self.kill_before is not None:
            sys.addaudithook(_Killer(*self.kill_before))

    def redirect(self) -> None:
        """Put the files of the request in the place of the standard streams, and its environment."""
        os.dup2(os.open(self.input, os.O_RDONLY), 0)
        for stream, path in ((1, self.output), (2, self.errors or self.output)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
        sys.stdout, sys.stderr = (os.fdopen(os.dup(stream), "w", encoding="utf-8") for stream in (1, 2))
        if self.environment is not None:
            os.environ.clear()
            os.environ.update(self.environment)


def run_command(
    argv: Sequence[str],
    folder: Path,
    output: Path,
    states: Path | None = None,
    has_exchange: bool = True,
    ranks: int = 1,
    kill_before: tuple[str, int] | None = None,
) -> int:
    """Run a command in a forked process, in a folder; its exit code. What it prints is appended to a file.

    The states of the folder are copied to `states`. Without an exchange, folders are replaced by two renames. Several
    ranks are processes of one group, as torchrun would start them. With `kill_before`, a name and a number n, the
    process kills itself when a complete file is about to get this name for the nth time.
    """
    paths = (str(folder), str(output), states and str(states))
    return _server().run(Request(list(argv), *paths, has_exchange, ranks, kill_before))


def regard(
    *arguments: object, stdin: str = "", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What a command prints and how it ends; as subprocess.run of the program, but nothing is imported again."""
    argv = [str(argument) for argument in arguments]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("input", "output", "errors")]
        for path, text in zip(paths, (stdin, "", ""), strict=True):
            path.write_text(text, encoding="utf-8")
        given, output, errors = map(str, paths)
        environment = dict(os.environ) if env is None else env
        request = Request(argv, str(cwd or Path.cwd()), output, input=given, errors=errors, environment=environment)
        code = _server().run(request)
        printed = [path.read_text(encoding="utf-8") for path in paths[1:]]
    return subprocess.CompletedProcess(argv, code, *printed)


def _fork(request: Request) -> int:
    children = set()
    for environment in _group_environments(request.ranks) if request.ranks > 1 else [{}]:
        if not (child := os.fork()):
            os.environ.update(environment)
            code = CRASHED
            with contextlib.suppress(BaseException):
                code = _run(request)
            os._exit(code)
        children.add(child)
    code = 0
    while children:
        child, status = os.wait()
        children.remove(child)
        if status and not code:
            code = os.waitstatus_to_exitcode(status)
            for other in children:  # they would wait for the dead one
                os.kill(other, signal.SIGKILL)
    return code


def _group_environments(ranks: int) -> list[dict[str, str]]:
    """The variables that torchrun sets for each process of a group on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    return [{**group, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]


def _run(request: Request) -> int:
    from regard.cli import main

    request.redirect()
    os.chdir(request.folder)
    request.prepare()
    try:
        main(list(request.argv))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return CRASHED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def record_states(
    argv: Sequence[str], folder: Path, states: Path, output: Path, has_exchange: bool = True
) -> list[Path]:
    """Run a command to its end; copies of the folder before each of its file operations, and of the end."""
    states.mkdir()
    assert run_command(argv, folder, output, states, has_exchange) == 0, output.read_text()
    copy_tree(folder, states / "end")
    return sorted(states.iterdir())


class _Killer:
    """An audit hook that ends its process at once, as kill -9 would."""

    def __init__(self, name: str, count: int):
        self._name, self._left = name, count

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and os.fspath(arguments[1]).endswith(f"/{self._name}"):  # type: ignore[call-overload]
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


class _Recorder:
    """An audit hook that copies a folder whenever it has changed."""

    def __init__(self, folder: Path, states: Path):
        self._folder, self._states = folder, states
        self._last: object = None
        self._busy = False
        self._count = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._busy or event.startswith(FOREIGN_EVENTS):
            return
        self._busy = True
        try:
            state = describe(self._folder)
            if state != self._last:
                self._last = state
                copy_tree(self._folder, self._states / f"{self._count:05d}")
                self._count += 1
        finally:
            self._busy = False


def describe(folder: Path) -> list[tuple[object, ...]]:
    """Every entry below a folder, such that any change to it shows."""
    entries: list[tuple[object, ...]] = []
    waiting = [os.fspath(folder)]
    while waiting:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as children:
            for child in children:
                with contextlib.suppress(FileNotFoundError):
                    status = child.stat(follow_symlinks=False)
                    is_folder = child.is_dir(follow_symlinks=False)
                    entries.append((child.path, status.st_ino, status.st_mode, *_content(status, is_folder)))
                    if is_folder:
                        waiting.append(child.path)
    return entries


def _content(status: os.stat_result, is_folder: bool) -> tuple[int, ...]:
    return () if is_folder else (status.st_size, status.st_mtime_ns)


def copy_tree(source: Path, target: Path) -> None:
    """A copy of a folder in which links stay links, hard ones too."""
    copied: dict[int, str] = {}

    def copy(original: str, copy_path: str) -> str:
        inode = os.lstat(original).st_ino
        with contextlib.suppress(FileNotFoundError):
            if inode in copied:
                os.link(copied[inode], copy_path, follow_symlinks=False)
            else:
                shutil.copy2(original, copy_path, follow_symlinks=False)
                copied[inode] = copy_path
        return copy_path

    shutil.copytree(source, target, symlinks=True, copy_function=copy)


def restore(state: Path, folder: Path) -> None:
    """Make a folder what it was in this state."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_tree(state, folder)


if __name__ == "__main__":
    serve()
