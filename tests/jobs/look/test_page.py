"""The commands that look inside, on a run that was trained in a second."""

import json
import re
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

import regard
from regard.cli import app, main
from regard.data.corpora import english_french, write_rows
from regard.decode import GreedySearch
from regard.errors import DataError
from regard.formats import read_pairs
from regard.inspection.heads.alignment import compare_links, parse_pharaoh
from regard.inspection.heads.faithfulness import rank_correlation
from regard.jobs.load import load
from regard.jobs.look.heads import measure_heads
from regard.jobs.look.inspected_run import (
    DEFAULT_EXAMPLES,
    load_default_examples,
    load_file_examples,
    make_grammar_examples,
    open_inspected_run,
)
from regard.jobs.look.page import build_look_data, compute_common_means, list_caveats
from regard.jobs.prune import PruneOptions, PruneResult, prune_run
from regard.jobs.train.fit import train_run
from regard.report.look.data import AttentionData, LookData
from regard.report.look.export import flatten_arrays, tabulate_head
from regard.run import Run

SENTENCE = "The old king saw the red houses."
FAITHFULNESS = "#head-explanation details:has(> summary:text-is('Faithfulness'))"


@pytest.fixture(scope="module")
def run(tmp_path_factory, files) -> Path:
    from regard import config as settings
    from tests.jobs.conftest import TINY

    folder = tmp_path_factory.mktemp("inside") / "run"
    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    changes = [
        "train.steps=12",
        "train.validate_every=6",
        "train.save_every=6",
        "train.head_stats_every=4",
        "model.layers=2",
    ]
    list(train_run(folder, settings.override(settings.build({"data": data}), [*TINY, *changes]), False, lambda: False))
    return folder


@pytest.fixture(scope="module")
def gold(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("gold") / "gold.tsv"
    path.write_text("".join(line + "\n" for line in write_rows(english_french.generate(12, 5))), encoding="utf-8")
    return path


def refuses(capsys, *argv: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in argv])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error[error.index("error: ") :]  # after the progress, which a slow machine shows


def says(capsys, *argv: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in argv])
    assert not stopped.value.code, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_data_of_a_page_keeps_to_its_contract(run, gold):
    subject = open_inspected_run(run)
    examples, what = load_file_examples(subject, [str(gold)], 10)
    table = measure_heads(subject, examples, what, ablation_sentences=4)
    data = build_look_data(
        subject,
        subject.make_example(SENTENCE, "Le vieux roi a vu les maisons rouges."),
        table,
        compute_common_means(subject, examples),
    )
    assert set(data.kinds) == {"encoder", "decoder", "cross"} and data.corpus.sentences == 10
    sides = {kind: (attention.rows, attention.columns) for kind, attention in data.kinds.items()}
    assert sides == {
        "encoder": ("source", "source"),
        "decoder": ("decoder_input", "decoder_input"),
        "cross": ("target", "source"),
    }
    assert data.reference is None
    assert all(0 < contrast.observed < 1 and 0 < contrast.chance < 1 for contrast in data.flow.contrast.values())
    for attention in data.kinds.values():
        check_arrays(data, attention)
        for head in (head for layer in attention.heads for head in layer):
            for item in head.evidence:  # the query names a row; in cross-attention the output token
                assert (item.rows == item.columns) == (".self." in head.name)
            assert {item.rank for item in head.evidence} in ({"best", "median", "worst"}, set())
            assert 0 <= head.faithfulness.permutation_tvd <= 1 and head.faithfulness.most_similar_head != head.name
        for layer, (w, product) in enumerate(zip(attention.weights, attention.gradient, strict=True)):
            gradient = torch.from_numpy(product / w.clip(min=1e-30))
            attn_mask = torch.from_numpy(attention.scores[layer]) > -1e9
            for h, head in enumerate(attention.heads[layer]):  # with the gradient, not with the weight times it
                expected = rank_correlation(torch.from_numpy(w[h]), gradient[h], attn_mask[h])
                assert head.faithfulness.gradient_correlation == pytest.approx(expected, abs=0.02)
        assert attention.head_divergence.shape == (4, 4)
        assert attention.head_divergence.diagonal() == pytest.approx(0)
    assert data.flow.source_share + data.flow.target.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert data.alignment.best.startswith("decoder.") and 0 <= data.alignment.aer <= 1
    assert data.corpus.ablation_sentences == 4
    assert table.describe_sentences() == "10 sentences of gold.tsv (costs on 4 of them)"
    assert [record.step for record in data.history] == [4, 8, 12]
    names = set(flatten_arrays(data))
    assert {"cross.1.weights", "cross.head_divergence", "flow.agreement", "tokens.decoder_input"} <= names
    num_targets = len(data.sides["decoder_input"].tokens)
    assert len(tabulate_head(data, "decoder", 0, 1)) == num_targets * (num_targets + 1) // 2


def test_look_and_heads_say_the_same_of_every_head(run):
    """Same sentences, same thresholds, same function: whatever either command prints of a head, so does the other."""
    table, inspection = regard.heads(run, sentences=7), regard.look(run, SENTENCE, sentences=7)
    assert inspection.heads.describe_sentences() == table.describe_sentences()
    assert list(inspection.heads.as_table().rows()) == list(table.as_table().rows())
    roles = {str(facts.head): facts.role.name if facts.role else None for facts in table.facts}
    shown = [head for attention in inspection.sentence.kinds.values() for layer in attention.heads for head in layer]
    assert {head.name: head.role for head in shown} == roles
    commands = vars(typer.main.get_command(app))["commands"]
    defaults = [
        option.default for name in ("look", "heads") for option in commands[name].params if option.name == "sentences"
    ]
    assert defaults == [DEFAULT_EXAMPLES, DEFAULT_EXAMPLES]


def check_arrays(data: LookData, attention: AttentionData) -> None:
    rows, columns = len(data.sides[attention.rows].tokens), len(data.sides[attention.columns].tokens)
    for layer, w in enumerate(attention.weights):
        assert w.shape == (2, rows, columns) and w.sum(axis=-1) == pytest.approx(1, abs=1e-5)
        scores, terms = attention.scores[layer], attention.terms.values[layer]
        assert terms.shape == (2, 6, rows, columns)
        known_queries, known_keys = attention.terms.known_positions[layer]
        allowed = ~np.isnan(scores)
        known = allowed.copy()
        known[:, known_queries:], known[:, :, known_keys:] = False, False
        assert known.any() and np.array_equal(~np.isnan(terms), np.broadcast_to(known[:, None], terms.shape))
        assert np.abs(terms.sum(axis=1) - scores)[known].max() < 1e-4 and not w[~allowed].any()
        assert attention.terms.shares[layer].sum(axis=1) == pytest.approx(1, abs=1e-4)
        assert attention.norms[layer] == pytest.approx(w * attention.value_norms[layer][:, None], rel=1e-4)
        assert attention.gradient[layer].shape == w.shape


def test_looks_through_training_do_not_change_it(run, files, tmp_path):
    from regard import config as settings

    quiet = settings.override(Run(run).load_config(), ["train.head_stats_every=0"])
    list(train_run(tmp_path / "quiet", quiet, False, lambda: False))
    names = [Run(folder).weights(12).read_bytes() for folder in (run, tmp_path / "quiet")]
    assert names[0] == names[1]
    assert not Run(tmp_path / "quiet").head_history.exists()
    (first, *_) = [json.loads(line) for line in Run(run).head_history.read_text().strip().split("\n")]
    assert set(first["heads"]["encoder.0.self.1"]) == {"entropy", "confidence", "role", "lift"}


def test_look_tells_and_writes_one_head_in_every_form(run, tmp_path, capsys):
    out = {kind: tmp_path / f"head.{kind}" for kind in ("svg", "png", "csv", "npz")}
    options = [part for kind, path in out.items() for part in (f"--{kind}", path)]
    told = says(capsys, "look", run, SENTENCE, "--sentences", "6", "--head", "decoder.1.cross.0", *options)
    told = " ".join(told.split())
    assert "measured on 6 sentences of the run's dev set" in told
    assert "aligned by " in told and "decoder.1.cross.0" in told and "scores of cross attention" in told
    assert "attribution methods agree best for " in told
    assert out["svg"].read_text().startswith("<svg") and out["png"].read_bytes()[:4] == b"\x89PNG"
    header, first = out["csv"].read_text().split("\n")[:2]
    assert header.startswith("query,key,from,to,weight,score,norm,content·content")
    says(capsys, "look", run, SENTENCE, "--no-measure", "--head", "decoder.0.self.1", "--csv", out["csv"])
    itself = [line.split(",") for line in out["csv"].read_text().split("\n")[1:] if line]
    assert all(row[2] == row[3] for row in itself if row[0] == row[1]) and itself[0][2] == "<s>"
    with np.load(out["npz"]) as kept:
        assert float(first.split(",")[4]) == pytest.approx(float(kept["cross.1.weights"][0, 0, 0]), abs=1e-6)


def test_the_page_of_a_run_reads_as_its_arrays(run, gold, tmp_path, capsys, opened):
    path, npz = tmp_path / "look.html", tmp_path / "look.npz"
    says(capsys, "look", run, SENTENCE, "--sentences", "6", "--out", path, "--npz", npz)
    with np.load(npz) as kept:
        weights = kept["cross.1.weights"][1]
    best = int(weights[2].argmax())
    page = opened(path, f"#kind=cross&heads=1.1&view=heat&q=2&k={best}")
    page.wait_for_selector("body[data-ready]")
    assert page.locator("#readout output").first.inner_text() == f"{weights[2, best]:.3f}"
    assert page.locator("#map button").count() == 4
    says(capsys, "look", run, gold, "--sentences", "6", "--out", path)
    assert "Measured on 6 sentences of gold.tsv" in path.read_text(encoding="utf-8")


def test_nothing_is_said_of_terms_that_no_corpus_was_read_for(run, tmp_path, capsys, opened):
    path, npz, csv = (tmp_path / f"look.{kind}" for kind in ("html", "npz", "csv"))
    wishes = ("--no-measure", "--out", path, "--npz", npz, "--csv", csv, "--head", "encoder.1.self.0")
    told = says(capsys, "look", run, SENTENCE, *wishes)
    assert "scores of encoder attention, layer 0 only: " in told and "scores of cross" not in told
    with np.load(npz) as kept:
        assert "encoder.0.terms" in kept and "encoder.1.terms" not in kept and "cross.0.shares" not in kept
    assert csv.read_text().split("\n")[0] == "query,key,from,to,weight,score,norm,output_share"
    page = opened(path, "#kind=encoder&heads=1.0&view=heat&q=1&k=1")
    page.wait_for_selector("body[data-ready]")
    assert "are unknown: this layer needs a corpus" in page.locator("#cell-explanation").inner_text()
    panel = page.locator(FAITHFULNESS).inner_text()
    assert "positions alone" not in panel.lower() and "JSD" in panel


def test_heads_are_told_in_a_table_with_the_best_aligner(run, gold, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # narrower tables leave columns out
    out = ["--csv", tmp_path / "heads.csv", "--pharaoh", tmp_path / "links.txt"]
    told = says(capsys, "heads", run, gold, "--sentences", "8", *out)
    assert ["head", "role", "lift", "95%"] in [line.split()[:4] for line in told.split("\n")]
    assert re.match(r"\d+ of 12 heads have a reliable role", told)
    told = " ".join(told.split())
    assert "best alignment head: decoder." in told and "against gold, precision 0." in told
    assert "; all heads averaged: AER 0." in told
    links = (tmp_path / "links.txt").read_text().split("\n")
    assert len(links) == 9 and all(re.fullmatch(r"\d+-\d+( \d+-\d+)*", line) for line in links[:-1])
    assert "grammar:" in told and len((tmp_path / "heads.csv").read_text().strip().split("\n")) == 1 + 12
    corpus = says(capsys, "look", run, gold, "--sentences", "8")
    assert "measured on 8 sentences of gold.tsv" in " ".join(corpus.split())


def test_a_head_alone_has_a_column_of_its_own(run, gold, tmp_path, capsys):
    told = says(capsys, "heads", run, gold, "--sentences", "6", "--keep-only", "--csv", tmp_path / "heads.csv")
    assert " keep only" in told and "keep only: increase of the loss without all other heads" in " ".join(told.split())
    header, *rows_ = [line.split(",") for line in (tmp_path / "heads.csv").read_text().strip().split("\n")]
    assert all(float(row[header.index("keep only")]) > -1 for row in rows_) and len(rows_) == 12
    assert {"normalized entropy", "distance std", "macro lift", "keep only low"} <= set(header)
    assert " keep only" not in says(capsys, "heads", run, gold, "--sentences", "6")


@pytest.fixture
def spaced(tmp_path) -> dict[str, Path]:
    """Pairs as spaces cut them, with links: sure ones, and one that is only possible."""
    texts = {
        "en": "the cat sleeps .\na dog !\n",
        "fr": "le chat dort .\nun chien !\n",
        "links": "0-0 1-1 2-2 3p3\n0-0\n",
    }
    for name, text in texts.items():
        (tmp_path / f"pairs.{name}").write_text(text, encoding="utf-8")
    return {name: tmp_path / f"pairs.{name}" for name in texts}


def test_gold_of_ones_own_judges_the_aligners(run, spaced, capsys, tmp_path):
    pairs = [spaced["en"], spaced["fr"]]
    told = " ".join(
        says(capsys, "heads", run, *pairs, "--gold", spaced["links"], "--pharaoh", tmp_path / "out").split()
    )
    assert "measured on 2 sentences of pairs.en pairs.fr with gold links" in told
    found = [parse_pharaoh(line, "out")[0] for line in (tmp_path / "out").read_text().split("\n")[:2]]
    counts = compare_links(found[0], [(0, 0), (1, 1), (2, 2)], [(3, 3)]) + compare_links(found[1], [(0, 0)])
    rates = f"AER {counts.aer:.3f} against gold, precision {counts.precision:.2f}, recall {counts.recall:.2f}"
    assert rates in told and counts.links == 7


def test_every_pair_has_its_line_of_links_and_words_are_cut_by_spaces(run, tmp_path, capsys):
    """What is written can be read as gold: for the same files, blank pairs and glued marks and all."""
    texts = {"en": "The cat sleeps.\n\nA dog!\nyes\n", "fr": "Le chat dort.\nrien\nL'animal!\n\n"}
    for name, text in texts.items():
        (tmp_path / f"glued.{name}").write_text(text, encoding="utf-8")
    pairs, links = [tmp_path / "glued.en", tmp_path / "glued.fr"], tmp_path / "links"
    says(capsys, "heads", run, *pairs, "--pharaoh", links)
    first, second, third, *rest = links.read_text(encoding="utf-8").split("\n")
    assert second == "" and rest == [""] and third in ("0-0", "1-0", "0-0 1-0")
    assert {t for _, t in parse_pharaoh(first, "links")[0]} == {0, 1, 2}
    links.write_text(f"{first}\n\n{third}\n\n", encoding="utf-8")
    told = " ".join(says(capsys, "heads", run, *pairs, "--gold", links).split())
    assert "measured on 2 sentences" in told and "AER" in told


def test_grammar_is_no_gold_of_ones_own(run, spaced, monkeypatch, capsys):
    monkeypatch.setattr("regard.jobs.look.inspected_run.DEFAULT_EXAMPLES", 7)
    wish = ["heads", run, spaced["en"], spaced["fr"], "--gold", spaced["links"]]
    rates = [next(line for line in says(capsys, *wish, *more).split("\n") if "AER" in line and "best" in line)
             for more in ([], ["--grammar"])]  # fmt: skip
    assert rates[0] == rates[1]


def test_a_head_that_only_copies_has_no_sentences_for_it(run, tmp_path, capsys, monkeypatch):
    """Few short sentences may show no pattern, and then copying is all that is known of a head."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("regard.inspection.heads.roles.MIN_LIFT", 0.0)
    monkeypatch.setattr("regard.inspection.heads.roles.max_random_copying", lambda *_: 0.0)
    monkeypatch.setattr("regard.inspection.heads.roles.BASELINE_MARGIN", 9.0)
    told = says(capsys, "look", run, "Go", "--sentences", "3", "--out", tmp_path / "go.html")
    rows_ = [line.split() for line in told.split("\n") if line.startswith(("encoder.", "decoder."))]
    copying = [row[0] for row in rows_ if row[1] == "copy"]
    assert copying and all(row[3] == "–" for row in rows_ if row[1] == "copy")  # no sentence, no interval
    figure = ["--head", copying[0], "--svg", tmp_path / "go.svg"]
    assert f"{copying[0]}: copy (lift 0." in says(capsys, "look", run, "Go", "--sentences", "3", *figure)


def test_gold_that_does_not_fit_is_refused(run, spaced, capsys):
    pairs = [spaced["en"], spaced["fr"]]
    for text, match in (
        ("0-0\n", "1 lines of links for 2 pairs"),
        ("0-0\n0-0 3-1\n", "link 3-1 is outside its pair of 3 and 3 words"),
        ("0-0\nx\n", "'x' is not a link"),
        ("\n\n", "no links in the lines that were read"),
    ):
        spaced["links"].write_text(text)
        assert match in refuses(capsys, "heads", run, *pairs, "--gold", spaced["links"])
    assert "--gold needs the pairs that the links belong to" in refuses(capsys, "heads", run, "--gold", spaced["links"])


def test_a_model_is_compared_with_what_it_was_and_with_another(run, files, tmp_path, capsys):
    told = says(
        capsys, "look", run, SENTENCE, "--no-measure", "--compare-with", "start", "--npz", tmp_path / "start.npz"
    )
    assert "compared with before training, most changed: " in told
    with np.load(tmp_path / "start.npz") as arrays:
        names = ("weights", "reference_weights", "weight_difference")
        weights, reference, difference = (arrays[f"encoder.1.{name}"] for name in names)
        assert np.abs(weights - reference - difference).max() < 1e-6 and np.abs(difference).max() > 1e-4
    best = json.loads(Run(run).best.read_text())
    step = best["step"] if best["weights"].startswith("weights") else 12
    told = says(
        capsys, "look", run, SENTENCE, "--no-measure", "--compare-with", str(step), "--npz", tmp_path / "same.npz"
    )
    assert f"compared with step {step}, most changed" in told
    if best["weights"].startswith("weights"):
        with np.load(tmp_path / "same.npz") as arrays:
            assert not arrays["cross.0.weight_difference"].any()
    small = tmp_path / "small"
    says(
        capsys,
        "prune",
        run,
        "--keep",
        "50%",
        "--dev",
        files / "dev.en",
        files / "dev.fr",
        "--out",
        small,
        "--finetune-steps",
        "0",
    )
    says(capsys, "look", small, SENTENCE, "--no-measure", "--compare-with", str(run), "--out", tmp_path / "page.html")
    assert f"Difference from {run.name}" in (tmp_path / "page.html").read_text(encoding="utf-8")
    says(capsys, "look", run, SENTENCE, "--no-measure", "--compare-with", str(small), "--npz", tmp_path / "pruned.npz")
    with np.load(tmp_path / "pruned.npz") as arrays:
        reference = [arrays[name] for name in arrays if name.endswith(".reference_weights")]
    assert sum(int(np.isnan(layer).all(axis=(1, 2)).sum()) for layer in reference) == 6
    assert "has no initial weights" in refuses(
        capsys, "look", small, SENTENCE, "--no-measure", "--compare-with", "start"
    )


def test_grammar_is_asked_beside_sentences_that_do_not_know_it(run, files, monkeypatch, capsys):
    monkeypatch.setattr("regard.inspection.heads.roles.BASELINE_SENTENCES", 5)
    monkeypatch.setattr("regard.jobs.look.inspected_run.DEFAULT_EXAMPLES", 7)
    told = says(capsys, "heads", run, files / "dev.en", files / "dev.fr", "--sentences", "8", "--grammar")
    assert "measured on 15 sentences of dev.en dev.fr and the built-in corpus" in told
    assert "grammar:" in told and "against gold" in told


def with_languages(subject, source: str, target: str):
    """The same run with other languages in its configuration."""
    data = subject.config.data.model_copy(update={"source": source, "target": target})
    return replace(subject, config=subject.config.model_copy(update={"data": data}))


def test_the_built_in_corpus_is_english_and_its_gold_is_french(run):
    subject = open_inspected_run(run)
    assert all(example.alignment for example in make_grammar_examples(with_languages(subject, "en_GB", "fr"), 3))
    german = make_grammar_examples(with_languages(subject, "en", "de"), 3)
    assert [example.alignment for example in german] == [None] * 3 and german[0].source_links
    with pytest.raises(DataError, match="the source language is 'fr', the built-in corpus is English"):
        make_grammar_examples(with_languages(subject, "fr", "en"), 3)


def test_a_pruned_model_that_diverges_is_reported_with_what_to_do(run, files, tmp_path, monkeypatch):
    pairs = list(read_pairs([str(files / "dev.en"), str(files / "dev.fr")]))[:5]
    monkeypatch.setattr("regard.jobs.prune.RECOVERY_LR_FACTOR", 1e30)
    with pytest.raises(DataError, match=r"fine-tuning after pruning diverged.*--finetune-steps 0"):
        list(prune_run(run, tmp_path / "x", pairs, PruneOptions("50%", finetune_steps=9, device="cpu")))


def test_a_pruned_run_is_smaller_and_does_all_that_a_run_does(run, files, tmp_path, capsys):
    from regard.formats import Pair
    from regard.jobs.train.events import Note

    pairs = list(read_pairs([str(files / "dev.en"), str(files / "dev.fr")]))[:12]
    out = tmp_path / "half"
    long = Pair("word " * 600, "mot")
    first, *_, last = prune_run(run, out, [long, *pairs], PruneOptions("50%", finetune_steps=2, device="cpu"))
    assert first == Note("1 of 13 pairs are longer than 512 tokens and left out")
    with pytest.raises(DataError, match="no dev pair has at most 512 tokens"):
        next(prune_run(run, tmp_path / "none", [long], PruneOptions("50%")))
    assert isinstance(last, PruneResult) and last.sizes[1].heads == 6 and last.curve[0].num_heads == 12
    assert last.sizes[0].parameters - last.sizes[1].parameters == 6 * (4 * 32 * 16 + 3 * 16)
    assert last.sizes[1].flops < last.sizes[0].flops
    assert Run(out).load_config().model.pruned == tuple(sorted(last.removed))
    assert json.loads(Run(out).pruning.read_text())["after"] == last.after.as_dict()
    assert isinstance(load(out).translate([SENTENCE])[0], str)
    assert load_default_examples(open_inspected_run(out), 5)[1] == "the run's dev set"  # of the run it was cut from
    says(capsys, "evaluate", out, str(files / "test.en"), str(files / "test.fr"), "--beam", "1")
    more = ["--set", "train.steps=2", "--set", "train.threads=1", "--set", "train.validation_sentences=2"]
    says(
        capsys,
        "train",
        str(files / "train.en"),
        str(files / "train.fr"),
        "--from",
        out,
        "--out",
        tmp_path / "on",
        *more,
    )
    assert Run(tmp_path / "on").load_config().model.pruned == tuple(sorted(last.removed))
    assert "cannot express this run: " in refuses(capsys, "export", out, "--to", "marian", "--out", tmp_path / "m")
    assert "was imported or pruned, not trained" in refuses(capsys, "report", out)


def test_pruning_without_mending_is_masking(run, files, tmp_path):
    from dataclasses import replace

    pairs = list(read_pairs([str(files / "dev.en"), str(files / "dev.fr")]))[:11]
    outputs = load(run).translate([pair.source for pair in pairs], GreedySearch())
    pairs = [replace(pair, target=output) for pair, output in zip(pairs, outputs, strict=True)]  # so BLEU is not 0
    for method in ("importance", "gates"):
        *_, last = prune_run(run, tmp_path / method, pairs, PruneOptions("8", method, finetune_steps=0, device="cpu"))
        assert last.after.value == pytest.approx(last.curve[-1].bleu.value) and last.finetune_steps == 0
        assert last.difference.value == pytest.approx(last.after.value - last.before.value)
        print(last.before, last.after, last.difference)
        assert last.difference.low is None or last.difference.low <= last.difference.value <= last.difference.high


def test_embed_words_tells_every_layer(run, tmp_path, capsys):
    text = tmp_path / "text.tsv"
    lines = ("a\tThe king saw a red house.", "a\tThe house was old.", "b\tMy house is green.", "b\tA horse ran.")
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = {kind: tmp_path / f"w.{kind}" for kind in ("svg", "csv", "points")}
    wanted = [word for kind, path in out.items() for word in (f"--{kind}", path)]
    told = says(capsys, "senses", run, "house", text, *wanted)
    assert "'house' in 3 sentences" in told and "static" in told and "layer 1" in told and "sense AUC" in told
    assert (tmp_path / "w.svg").read_text().startswith("<svg")
    assert len((tmp_path / "w.points").read_text().strip().split("\n")) == 1 + 3 * 4
    head, *rows = (tmp_path / "w.csv").read_text().strip().split("\n")
    assert len(rows) == 4 and "self_similarity raw" in head and "max_explained_variance standardized" in head


def test_look_shows_positions_in_every_form(run, tmp_path, capsys):
    out = {kind: tmp_path / f"places.{kind}" for kind in ("svg", "png", "csv", "npz")}
    options = [part for kind, path in out.items() for part in (f"--{kind}", path)]
    told = says(capsys, "look", run, "--positions", "--num-positions", "7", "--head", "decoder.1.self.0", *options)
    assert "encoder.embed: 7 positions × 32 (dimension); distance explains 100%" in told
    assert "decoder.1.self.1" in told
    svg = out["svg"].read_text()
    assert "Gram matrix" in svg and "decoder.1.self.0" in svg and "decoder.0.self.0" not in svg
    assert "decoder.embed" not in svg and out["png"].read_bytes()[:4] == b"\x89PNG"  # both stacks share the table
    header, first, *rest = out["csv"].read_text().strip().split("\n")
    assert header == "head,query,key,score,weight" and 1 + len(rest) == 2 * 2 * (7 * 7 + 7 * 8 // 2)
    with np.load(out["npz"]) as kept:
        assert kept["encoder.embed.table"].shape == (7, 32) and kept["encoder.embed.gram"].shape == (7, 7)
        assert float(first.split(",")[3]) == pytest.approx(float(kept["encoder.0.self.scores"][0, 0, 0]))


@pytest.mark.slow
def test_every_selftest_passes(capsys, monkeypatch):
    from regard.inspection import selftest
    from regard.inspection.selftest import SelfTestResult

    told = says(capsys, "look", "--selftest")
    assert "FAIL" not in told and told.count("pass  ") >= 18
    monkeypatch.setattr(selftest, "run_selftests", lambda: iter([SelfTestResult("a planted fault", "seen", False)]))
    with pytest.raises(SystemExit) as stopped:
        main(["look", "--selftest"])
    assert stopped.value.code == 1 and "FAIL  a planted fault" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "match"),
    [
        (["look", "RUN", SENTENCE, "--head", "decoder.0.cross.7"], "decoder.0.cross has heads 0 to 1"),
        (["look", "RUN", SENTENCE, "--head", "decoder.9.cross.0"], "encoder.0.self to encoder.1.self"),
        (["look", "RUN", SENTENCE, "--head", "nonsense"], "is not the name of a head"),
        (["look", "RUN", SENTENCE, "--svg", "x.svg"], "--svg shows one head"),
        (["look", "RUN", "word " * 10_000], "tokens; at most 512 can be inspected"),
        (["look", "RUN", "   "], "the text is empty"),
        (["look", "RUN"], "nothing to inspect"),
        (["look", "RUN", "a", "b", "c"], "expected a sentence"),
        (["look", "RUN", SENTENCE, "--positions"], "leave out the text"),
        (["look", "RUN", "--positions", "--num-positions", "1"], "--num-positions 1: expected 2 to 512"),
        (["look", "RUN", "GOLD", "--head", "decoder.0.cross.7"], "--head needs one sentence, and files were given"),
        (["look", "RUN", "GOLD", "--svg", "x.svg"], "--svg needs one sentence"),
        (["look", "RUN", "GOLD", "--csv", "x.csv"], "--csv needs one sentence"),
        (["look", "RUN", "GOLD", "--npz", "x.npz"], "--npz needs one sentence"),
        (["look", "RUN", "GOLD", "--no-measure"], "--no-measure needs one sentence"),
        (["look", "RUN", "--positions", "--out", "x.html"], "--out needs text, and --positions has none"),
        (["look", "RUN", "tset.en", "GOLD"], "tset.en: no such file, but "),
        (["look", "RUN", "tset.en", "tset.fr"], "tset.en: no such file; expected files, or quoted sentences"),
        (["look", "RUN", "GOLD", "tset.fr"], "tset.fr: no such file, but "),
        (["heads", "RUN", "BLANK", "BLANK"], "nothing to measure on"),
        (["look", "nowhere", SENTENCE], "no such run"),
        (["heads", "RUN", "GOLD", "--sentences", "2", "--csv", "."], ".: is a folder; give the name of a file"),
        (["heads", "RUN", "SHORT", "LONG", "--sentences", "1"], "aligned files have the same number"),
        (["heads", "RUN", "--ablate", "often"], "zero, mean, resample"),
        (["look", "RUN", SENTENCE, "--compare-with", "7"], "--compare-with 7: "),
        (["look", "RUN", SENTENCE, "--compare-with", "nowhere"], "expected a step, `start`, or the folder of a run"),
        (["look", "RUN", "GOLD", "--compare-with", "start"], "--compare-with needs one sentence"),
        (["prune", "RUN", "--keep", "200%", "--dev", "GOLD", "--out", "OUT"], "--keep 200%"),
        (["prune", "RUN", "--method", "luck", "--dev", "GOLD", "--out", "OUT"], "importance, gates"),
        (["prune", "RUN", "--dev", "GOLD", "--out", "RUN"], "cannot be pruned in place"),
        (["senses", "RUN", "", "GOLD"], "the word is ''; expected one word, without blanks"),
        (["senses", "RUN", "the girl", "GOLD"], "the word is 'the girl'; expected one word, without blanks"),
        (["senses", "RUN", "end", "CUT"], "occurs in 1 of 2 sentences, as far as the model reads them ("),
        (["senses", "RUN", "zebra", "GOLD"], "the word 'zebra' occurs in no sentence"),
    ],
)
def test_bad_wishes_are_answered_in_one_sentence(argv, match, run, gold, tmp_path, capsys):
    blank = tmp_path / "blank.txt"
    blank.write_text("  \n \n", encoding="utf-8")
    places = {"RUN": str(run), "GOLD": str(gold), "OUT": str(tmp_path / "out"), "BLANK": str(blank)}
    (tmp_path / "cut.txt").write_text(f"{'the girl ' * 900}end\nthe end\n", encoding="utf-8")
    places["CUT"] = str(tmp_path / "cut.txt")
    for name, lines in (("SHORT", 2), ("LONG", 3)):
        places[name] = str(tmp_path / name)
        (tmp_path / name).write_text("The girl eats.\n" * lines, encoding="utf-8")
    error = refuses(capsys, *(places.get(part, part) for part in argv))
    assert match in error and error.count("\n") == 1


def test_caveats_are_about_measures_that_the_page_has():
    unmeasured = types.SimpleNamespace(costs={})
    measured = types.SimpleNamespace(costs={"decoder.0.cross.0": 0.1})
    assert len(list_caveats(None)) == 1 and len(list_caveats(unmeasured)) == 2
    assert not any("removal" in text or "Removing" in text for text in list_caveats(unmeasured))
    assert sum("removal" in text or "Removing" in text for text in list_caveats(measured)) == 2
