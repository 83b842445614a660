"""`regard` and `python` commands that share one warm interpreter: importing PyTorch takes longer than most of them do.

A real shell runs the blocks of a page. The commands that it finds first on its path hand their arguments to a process
that has imported everything; it forks, takes over the caller's folder, variables and standard streams, and runs the
program as it is. Where the system shows no such streams (/proc), the commands are the ordinary ones.
"""

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard import hardware

STUB = """#!/bin/bash
here=$(dirname "$0")
mkfifo "$here/reply.$$"
printf '%s\\0' "$(basename "$0")" "$@" > "$here/request.$$"
echo $$ > "$here/requests"
read -r code < "$here/reply.$$"
exit "$code"
"""
MODULES = ("torch", "sacrebleu", "altair", "rich", "regard.api.studies", "regard.api.inspecting", "regard.cli")


@contextmanager
def warm_commands(folder: Path) -> Iterator[str]:
    """The PATH on which a shell finds `regard` and `python`."""
    ordinary = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    if not Path("/proc/self/fd").exists():
        yield ordinary
        return
    for name in ("regard", "python"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    os.mkfifo(folder / "requests")
    server = subprocess.Popen([sys.executable, "-m", __name__, folder], cwd=Path(__file__).parent.parent.parent)
    try:
        yield f"{folder}:{ordinary}"
    finally:
        server.terminate()
        server.wait()


def serve(folder: Path) -> None:
    for module in MODULES:
        __import__(module)
    hardware.TRY_SECONDS = 0.002  # as in the process of the tests
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})  # one thread: tests run side by side
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # commands that have ended leave no trace
    requests = os.fdopen(os.open(folder / "requests", os.O_RDWR))  # open for writing, too: there is always a writer
    while caller := requests.readline():
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run(folder, int(caller))


def run(folder: Path, caller: int) -> None:
    name, *arguments = (folder / f"request.{caller}").read_text().split("\0")[:-1]
    os.chdir(f"/proc/{caller}/cwd")
    for number, flags in enumerate((os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)):
        os.dup2(os.open(f"/proc/{caller}/fd/{number}", flags), number)
    environment = Path(f"/proc/{caller}/environ").read_text().split("\0")[:-1]
    os.environ.clear()
    os.environ.update(dict(entry.split("=", 1) for entry in environment))
    code = 1
    try:
        code = run_program(name, arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with (folder / f"reply.{caller}").open("w") as reply:
            reply.write(f"{code}\n")
        os._exit(0)


def run_program(name: str, arguments: list[str]) -> int:
    sys.argv = arguments if name == "python" else [name, *arguments]
    try:
        if name == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            from regard.cli import main

            main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
