"""A lab as a notebook: its code, joined, is the lab; Jupyter runs it, with the same verdict."""

import json

import pytest

from regard.labs.catalog import all_labs, find_lab
from regard.labs.lab import load_lab
from regard.labs.suite.notebook import write_notebook

NAMES = ("attention_weights_sum_to_one", "attention_scaling_sqrt_dk")


def notebook_of(name: str) -> dict:
    return json.loads(write_notebook(load_lab(find_lab(name))))


def code_of(notebook: dict) -> str:
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


@pytest.mark.parametrize("name", [lab.name for lab in all_labs()])
def test_the_code_compiles_and_no_line_of_the_lab_is_lost(name):
    code = code_of(notebook_of(name))
    compile(code, name, "exec")
    text = find_lab(name).read_text(encoding="utf-8")
    body = text.partition('"""\n')[2] if text.startswith('"""') else text
    lines = [line for line in body.split("\n") if line.strip()]
    assert [line for line in code.split("\n") if line.strip() in {one.strip() for one in lines}] == lines


@pytest.mark.parametrize("name", NAMES)
def test_the_code_finds_what_the_lab_finds(name):
    namespace: dict = {"get_ipython": None}
    exec(compile(code_of(notebook_of(name)), name, "exec"), namespace)
    expected = load_lab(find_lab(name)).run().finding
    assert namespace["finding"].verdict is expected.verdict
    assert namespace["finding"].sentence == expected.sentence


def test_it_is_valid_and_has_no_outputs():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install 'regard[dev]'")
    notebook = notebook_of(NAMES[0])
    nbformat.validate(notebook)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells) > 8
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
    assert "**Predict.**" in "".join(cells[0]["source"])


@pytest.mark.slow
def test_jupyter_runs_it_and_shows_the_verdict_and_the_picture(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'regard[dev]'")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.reads(json.dumps(notebook_of(NAMES[1])), as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    expected = load_lab(find_lab(NAMES[1])).run().finding
    assert len(shown) == 2
    assert expected.headline.split(": ")[1][:20] in shown[0]
    assert "<svg" in shown[1]
