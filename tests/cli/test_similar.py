"""`regard similar` and `regard pairs` as people type them."""

import json
from pathlib import Path

import pytest

import regard
from regard import config as settings
from regard.cli import main
from regard.run import Run, write_text, write_versions
from tests.cli.test_classify import typed
from tests.cli.test_cli import regard as run_program

TEXTS = ("the red cat runs", "some cat that is red races", "some cow that is blue hums")


def refused(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    err = capfd.readouterr().err
    assert end.value.code == 2 and err.count("\n") == 1 and err.startswith("error: ")
    return err


def test_a_text_is_compared_with_each_of_the_others(embedder_run: Path, capfd):
    lines = typed(capfd, "similar", embedder_run, *TEXTS).splitlines()
    expected = regard.similar(embedder_run, TEXTS[0], list(TEXTS[1:]))
    assert list(map(float, lines)) == pytest.approx(expected, abs=1e-4) and float(lines[0]) > float(lines[1])
    rows = [json.loads(line) for line in typed(capfd, "similar", embedder_run, *TEXTS, "--json").splitlines()]
    assert rows[1]["text"] == TEXTS[0] and rows[1]["text_pair"] == TEXTS[2]
    assert rows[1]["similarity"] == pytest.approx(expected[1], abs=1e-6)


def test_tables_and_standard_input_have_a_pair_in_each_line(embedder_run: Path, related: Path, tmp_path: Path, capfd):
    out = tmp_path / "out.txt"
    typed(capfd, "similar", embedder_run, "--data", related / "test.tsv", "--out", out)
    lines = (related / "test.tsv").read_text().splitlines()
    assert len(out.read_text().splitlines()) == len(lines) == 29
    done = run_program("similar", embedder_run, stdin=f"{lines[0]}\n\n{lines[1]}\n")
    first, blank, second, end = done.stdout.split("\n")
    assert done.returncode == 0 and [first, second] == out.read_text().splitlines()[:2] and blank == end == ""


def test_what_cannot_be_compared_is_refused_in_a_sentence(embedder_run: Path, related: Path, tmp_path: Path, capfd):
    assert "nothing to compare 'one' with" in refused(capfd, "similar", embedder_run, "one")
    assert "leave out one of them" in refused(capfd, "similar", embedder_run, "a", "b", "--data", "x.tsv")
    assert "has one text; expected two" in refused(capfd, "similar", embedder_run, "--data", related / "test.txt")
    assert "text 2 is empty: there is nothing to compare" in refused(capfd, "similar", embedder_run, "a", " ", "b")
    assert "text 1 is empty" in refused(capfd, "similar", embedder_run, "", "b")
    run = Run(tmp_path)
    write_versions(run)
    for name, table in (("translator", {}), ("classifier", {"task": "classify", "model": {"architecture": "encoder"}})):
        write_text(run.config, settings.dump(settings.build(table)))
        assert refused(capfd, "similar", tmp_path, "a", "b").startswith(f"error: {tmp_path}: is a {name} (--task")


def test_pairs_are_made_of_documents(tmp_path: Path, capfd):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(
        "# Cats\n\nCats sleep all day long. They eat at night.\n\n## Food\n\nFish is what they like.\n"
    )
    (notes / "b.txt").write_text("A note\n\nIt says nothing much at all.\n")
    lines = typed(capfd, "pairs", notes).splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Cats", "Food", "Cats sleep all day long.", "A note"]
    out = tmp_path / "pairs.tsv"
    typed(capfd, "pairs", notes, "--kind", "heading", "--out", out)
    assert out.read_text() == "Food\tFish is what they like.\n"
    assert "expected one of title, heading, sentence" in refused(capfd, "pairs", notes, "--kind", "page")
    (notes / "b.txt").write_text("Nothing.\n")
    assert "no pairs of the kind title" in refused(capfd, "pairs", notes / "b.txt", "--kind", "title")
    assert "no such file" in refused(capfd, "pairs", notes / "c.txt")
