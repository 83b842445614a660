"""Compile the decoder for this machine: `python -m regard.runtime.native.build`.

With `--all`, for every level of instructions, as for a folder that different machines share.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from regard.errors import RunError
from regard.runtime.native.library import (
    FLAGS,
    HERE,
    LEVEL_FLAGS,
    NEEDED_FEATURES,
    SOURCE,
    library_path,
    supported_levels,
)


def compile_decoder(level: str, compiler: str) -> Path:
    """Compile for a level of instructions, and remove what other versions of the source were compiled to."""
    path = library_path(level)
    if path.exists():
        return path
    try:
        with tempfile.TemporaryDirectory(dir=HERE, prefix=".build-") as folder:
            output = Path(folder) / path.name
            command = [compiler, *FLAGS, *LEVEL_FLAGS[level], str(SOURCE), "-o", str(output)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                reason = next((line for line in done.stderr.split("\n") if "error" in line), "no reason")
                raise RunError(f"{SOURCE}: {compiler} could not compile it ({reason:.200}); torch translates instead")
            output.replace(path)
    except OSError as error:
        raise RunError(f"{path}: could not be written ({error.strerror or error}); torch translates instead") from None
    prefix = path.name.rpartition("-")[0]
    for old in HERE.glob(f"{prefix}-*.native"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def find_compiler() -> str | None:
    """The C++ compiler of the variable CXX, or the first that is installed."""
    candidates = (os.environ.get("CXX"), "c++", "g++", "clang++")
    return next((path for name in candidates if name and (path := shutil.which(name))), None)


def main(argv: Sequence[str] = ()) -> str:
    """Compile, and say what came of it: nothing here is an error, since torch can do all of it."""
    compiler = find_compiler()
    if compiler is None:
        return "no C++ compiler (c++, g++, clang++ or $CXX): torch translates instead of native code"
    if os.name != "posix":
        return "native code is for Linux and macOS: torch translates instead"
    levels = list(supported_levels())
    try:
        paths = [compile_decoder(level, compiler) for level in (NEEDED_FEATURES if "--all" in argv else levels[:1])]
    except RunError as error:
        return str(error)
    return f"compiled: {', '.join(path.name for path in paths)}"


if __name__ == "__main__":
    sys.stderr.write(main(sys.argv[1:]) + "\n")
