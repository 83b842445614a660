"""The engine of a page in node: its modules as one script, as a page has them, and a program of the test after them."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.report.look.bundle import bundle_script, static_resource

NODE = shutil.which("node")
TIMEOUT = 1200  # seconds
PROGRAM = """
const fs = require("node:fs");
const input = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const open = (name, simd = true) =>
  new module_weights.Weights(module_container.readContainer(new Uint8Array(fs.readFileSync(name))), simd);
const numbers = ({ shape, data }) => ({ shape: [...shape], data: Array.from(data) });
const finish = (value) => fs.writeFileSync(process.argv[3], JSON.stringify(value));
"""


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Any]:
    """Runs a program after the modules of the engine; it reads `input` and ends with `finish(value)`."""
    if NODE is None:
        pytest.skip("node is not installed")

    def run(program: str, data: object, entry: str = "session") -> Any:
        script, given, result = (tmp_path / name for name in ("engine.js", "input.json", "result.json"))
        bundle = bundle_script(static_resource("engine"), entry)
        script.write_text(f"{bundle}\n{PROGRAM}\n{program}", encoding="utf-8")
        given.write_text(json.dumps(data), encoding="utf-8")
        command = [NODE, script, given, result]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return json.loads(result.read_text(encoding="utf-8"))

    return run
