"""The notebook of examples/ runs from the first cell to the last, and is committed without outputs."""

import json
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "examples" / "tour.ipynb"


def test_no_outputs_are_committed():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 10
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.usefixtures("one_core")
def test_every_cell_runs_and_results_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'regard[dev]'")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {
        kind
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        for kind in output.get("data", {})
    }
    assert "text/html" in outputs
    errors = [output for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") == "stderr"]
    assert errors == []
