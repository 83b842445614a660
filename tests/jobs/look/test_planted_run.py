"""Planted heads of every role are recovered by `regard heads`: here nothing but the weights of a run is planted."""

import csv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from regard.cli import main
from regard.data.corpora import write_rows
from regard.data.tokenizers.tokenizer import Tokenizer
from regard.inspection.heads.patterns import RELATIONS
from regard.inspection.planted import possible_roles
from regard.model.transformer import EncoderDecoder
from tests.jobs.look import constructed

BRIEF = (
    "model.norm_kind=rms",  # it only rescales: what is written into a dimension is read there
    "model.scale_embeddings=false",
    "model.ffn=16",
    "data.vocab_size=600",
    "train.steps=1",
    "train.validation_sentences=0",
    "train.threads=1",
)
ROLES = {
    "encoder.0.self": ["previous", "next", "separator", "self", "offset -2"],
    "encoder.1.self": ["offset +2", "offset -3", "offset +3", "duplicate", "induction"],
    "encoder.2.self": ["rare", "local", "block", "vertical", "copy"],
    "encoder.3.self": ["", "", "", "", ""],
    "decoder.0.self": ["previous", "separator", "self", "offset -2", "offset -3"],
    "decoder.0.cross": ["alignment", "rare", "separator", "diagonal", "vertical"],
    "decoder.1.self": ["duplicate", "induction", "rare", "local", "block"],
    "decoder.1.cross": ["", "", "", "", ""],
    "decoder.2.self": ["vertical", "copy", "", "", ""],
    "decoder.2.cross": ["copy", "", "", "", ""],
}
"""The roles of the heads of each attention, in their order; those without one stay unchanged."""
GRAMMAR = [*RELATIONS, "", ""]


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    """Pairs to train on and pairs to measure on, with their gold: links of words alone, or all that is known."""
    folder = tmp_path_factory.mktemp("texts")
    for seed, (name, count) in enumerate({"train": 300, "dev": 10, "test": 10, "pairs": 24}.items()):
        pairs = list(constructed.generate_pairs(count, seed))
        contents = {
            "en": [pair.source for pair in pairs],
            "fr": [pair.target for pair in pairs],
            "links": [" ".join(f"{s}-{t}" for s, t in pair.alignment) for pair in pairs],
            "tsv": write_rows(pairs),
        }
        for kind, lines in contents.items():
            (folder / f"{name}.{kind}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture
def make_run(texts, tmp_path):
    """Trains a run for one step, and writes the weights of its model by hand."""

    def make(change: Callable[[EncoderDecoder, Tokenizer], None], *sizes: str) -> Path:
        data = {name: [str(texts / f"{name}.en"), str(texts / f"{name}.fr")] for name in ("train", "dev", "test")}
        constructed.train_briefly(tmp_path / "run", data, [*BRIEF, *sizes])
        constructed.rewrite(tmp_path / "run", change)
        return tmp_path / "run"

    return make


def measured_roles(run: Path, *options: object) -> dict[str, str]:
    """The role of each head, as the command writes it."""
    table = run.with_name("heads.csv")
    with pytest.raises(SystemExit) as stopped:
        main(["heads", str(run), *map(str, options), "--csv", str(table)])
    assert not stopped.value.code
    with table.open(encoding="utf-8", newline="") as file:
        return {row["head"]: row["role"] for row in csv.DictReader(file)}


def named(attention: str, roles: Sequence[str]) -> dict[str, str]:
    return {f"{attention}.{h}": role for h, role in enumerate(roles)}


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_no_role_is_forgotten(kind):
    possible = {*possible_roles(kind), "copy"}
    planted = [roles for name, roles in ROLES.items() if kind == ("cross" if "cross" in name else name.split(".")[0])]
    assert {role for roles in planted for role in roles if role} == possible - {*RELATIONS}
    assert {role for role in GRAMMAR if role} >= possible & {*RELATIONS}


def test_heads_of_every_role_are_recovered_from_a_run(make_run, texts):
    heads, lines = constructed.HEADS, (texts / "train.en").read_text(encoding="utf-8").splitlines()
    sizes = (f"model.dim={heads * constructed.WIDTH}", f"model.heads={heads}", "model.encoder_layers=4")
    change = partial(constructed.write_roles, lines=lines, plan=ROLES)
    run = make_run(change, *sizes, "model.decoder_layers=3", "model.positions.kind=learned")
    roles_by_head = measured_roles(run, texts / "pairs.en", texts / "pairs.fr", "--gold", texts / "pairs.links")
    assert roles_by_head == {head: role for name, roles in ROLES.items() for head, role in named(name, roles).items()}


def test_heads_of_every_relation_are_recovered_from_a_run(make_run, texts):
    sizes = ("model.dim=48", "model.heads=12", "model.layers=1")
    run = make_run(partial(constructed.write_grammar, plan=GRAMMAR), *sizes, "model.positions.kind=none")
    assert measured_roles(run, texts / "pairs.tsv") == {
        **named("encoder.0.self", GRAMMAR),
        **named("decoder.0.self", GRAMMAR),
        **named("decoder.0.cross", [""] * 12),
    }
