"""A number -> a folder with one damaged input, and a command that reads it."""

import contextlib
import functools
import gzip
import hashlib
import json
import os
import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import mutate
from tests.fuzz.runner import Case
from tests.fuzz.seeds import SETTINGS

DEV = ["dev.en", "dev.fr"]
TEXT_FILES = ("train.en", "train.fr", "dev.en", "dev.fr", "input.txt")
SECRET = "hunter2/sEcReT"
ENCODED_SECRET = "hunter2%2FsEcReT"
RUN_COMMANDS: tuple[list[str], ...] = (
    ["translate", "run", "input.txt", "--beam", "2"],
    ["translate", "run", "input.txt", "--beam", "1", "--scores"],
    ["train", "--resume", "run", "--steps", "6"],
    ["evaluate", "run", *DEV, "--beam", "1"],
    ["look", "run", "The dog runs.", "--sentences", "2", "--out", "look.html"],
    ["heads", "run", "--sentences", "2"],
    ["report", "run"],
    ["prune", "run", "--keep", "2", "--finetune-steps", "0", "--out", "pruned"],
    ["export", "run", "--to", "ctranslate2", "--out", "exported"],
    ["export", "run", "--to", "marian", "--out", "exported"],
    ["train", *DEV, "--from", "run", "--steps", "1", "--out", "new"],
    ["compare", "run", "dev.fr", "--on", *DEV, "--beam", "1", "--out", "compared"],
    ["bench", "run", "--seconds", "0.01"],
    ["train", *TEXT_FILES[:2], "--out", "run", "--overwrite", "--steps", "1", *SETTINGS],
)
IMPORTED_COMMANDS: tuple[list[str], ...] = (
    ["translate", "imported", "input.txt", "--beam", "1"],
    ["export", "imported", "--to", "marian", "--out", "exported"],
    ["evaluate", "imported", *DEV, "--beam", "1"],
    ["heads", "imported", *DEV, "--sentences", "2"],
    ["train", *DEV, "--from", "imported", "--steps", "1", "--out", "new"],
)
ENCODER_COMMANDS: tuple[list[str], ...] = (
    ["senses", "encoder", "dog", "senses.tsv"],
    ["look", "encoder", "the dog", "--out", "look.html"],
    ["report", "encoder"],
    ["export", "encoder", "--to", "marian", "--out", "exported"],
)
BOMBS = {
    "one line": (b"", b"x"),
    "zeros": (b"", b"\0"),
    "elements": (b"<tmx><header/><body>", b"<a/>"),
}
"""How a file begins, and what is repeated after it until it has BOMB_BYTES."""
BOMB_BYTES = 400_000_000
ENTITIES = b'<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa">]><tmx>&a;</tmx>'


def make(number: int, seed: int, seeds: Path, root: Path) -> Case:
    """The case of a number: targets take turns."""
    rng = random.Random(f"{seed}:{number}")
    folder = root / f"case{number}"
    folder.mkdir(parents=True)
    name, target = TARGETS[number % len(TARGETS)]
    return target(number, name, rng, seeds, folder)


def _copy(seeds: Path, folder: Path, *names: str) -> None:
    for name in names:
        source = seeds / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copyfile(source, folder / name)


MAX_BYTES = 1 << 26  # of a file that is damaged once more


def _files(folder: Path) -> list[Path]:
    """Those that a command reads and that are still files: pictures and pages are only written."""
    written = {".svg", ".png", ".html", ""}
    regular = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in regular if path.suffix not in written and path.stat().st_size < MAX_BYTES)


def damage(path: Path, rng: random.Random) -> str:
    """Damage a file by what is known of its kind, or by what is not."""
    if rng.random() < 0.2:
        return f"{path.name}: {mutate.kind_of(path, rng)}"
    by_suffix: dict[str, Callable[[Path, random.Random], str]] = {
        ".json": mutate.json_of,
        ".jsonl": mutate.json_of,
        ".toml": mutate.toml_of,
        ".safetensors": mutate.weights_of,
        ".db": mutate.database_of,
    }
    change = by_suffix.get(path.suffix, mutate.bytes_of) if rng.random() < 0.75 else mutate.bytes_of
    try:
        return f"{path.name}: {change(path, rng)}"
    except (ValueError, LookupError, RecursionError, struct.error, sqlite3.Error):  # it was damaged before
        return f"{path.name}: {mutate.bytes_of(path, rng)}"


def _reseal(run: Path) -> None:
    """Checksums that fit the damage: a hostile run is a consistent one."""
    if not (run / "checksums.json").is_file():  # a pipe would be waited for
        return
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
        checksums = json.loads((run / "checksums.json").read_text())
        for name in checksums:
            path = run / name
            if path.is_file() and path.stat().st_size < 1 << 24:
                checksums[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        (run / "checksums.json").write_text(json.dumps(checksums))


def _run_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    _copy(seeds, folder, "run", *TEXT_FILES)
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        done.append(damage(rng.choice(_files(folder / "run")), rng))
    if rng.random() < 0.8:
        _reseal(folder / "run")
    argv = rng.choice(RUN_COMMANDS)
    return Case(number, name, folder, list(argv), "; ".join(done), prints_text=argv[0] == "translate")


def _imported_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    if rng.random() < 0.5:
        _copy(seeds, folder, "imported", *TEXT_FILES)
        run, argv = folder / "imported", list(rng.choice(IMPORTED_COMMANDS))
    else:
        _copy(seeds, folder, "encoder", "senses.tsv")
        run, argv = folder / "encoder", list(rng.choice(ENCODER_COMMANDS))
    done = damage(rng.choice(_files(run)), rng)
    _reseal(run)
    return Case(number, name, folder, argv, done, prints_text=argv[0] == "translate")


def _engine_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """The cached CTranslate2 model of a run: what is damaged there is not only what Regard reads."""
    _copy(seeds, folder, "run", "input.txt")
    shutil.copytree(seeds / "ct2", folder / "run" / "ctranslate2" / "none")
    best = json.loads((folder / "run" / "best.json").read_text())["weights"]
    checksum = json.loads((folder / "run" / "checksums.json").read_text())[best]
    made = folder / "run" / "ctranslate2" / "none"
    checksums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(made)}
    (made / "made_from.json").write_text(json.dumps({"weights": best, "checksum": checksum, "files": checksums}))
    done = damage(rng.choice(_files(made)), rng)
    argv = ["translate", "run", "input.txt", "--engine", "ctranslate2", "--beam", "1"]
    return Case(number, name, folder, argv, done, prints_text=True)


def _config_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    _copy(seeds, folder, "config.toml", *TEXT_FILES)
    change = rng.choice((mutate.toml_of, mutate.toml_of, mutate.toml_of, mutate.bytes_of, mutate.kind_of))
    done = change(folder / "config.toml", rng)
    argv = rng.choice((["train", "config.toml", "--steps", "1", "--out", "new"], ["estimate", "config.toml"]))
    return Case(number, name, folder, argv, done)


def _study_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    _copy(seeds, folder, "study.toml", "study", *TEXT_FILES[:4])
    if rng.random() < 0.5:
        change = rng.choice((mutate.toml_of, mutate.toml_of, mutate.condition_of, mutate.bytes_of, mutate.kind_of))
        done = change(folder / "study.toml", rng)
        argv = ["tune", "study.toml", "--steps-each", "1", "--trials", "1", "--out", "new"]
    else:
        done = damage(rng.choice([folder / "study" / "study.db"] * 3 + _files(folder / "study")), rng)
        argv = rng.choice((["report", "study"], ["tune", "study"], ["tune", "--worker", "sqlite:///study/study.db"]))
    return Case(number, name, folder, argv, done)


def _import_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    kind = rng.choice(("marian", "bert", "pickled"))
    _copy(seeds, folder, kind)
    done = damage(rng.choice(_files(folder / kind)), rng)
    return Case(number, name, folder, ["import", kind, "--out", "new"], done)


CORPORA = ("pairs.tsv", "pairs.jsonl", "pairs.tmx", "pairs.po", "pairs.xlf", "second.xlf", "pairs.tsv.gz", "train.en")


def _corpus_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    file = rng.choice(CORPORA)
    _copy(seeds, folder, "run", *TEXT_FILES)
    _copy(seeds, folder, *([file] if file not in TEXT_FILES else []))
    if rng.random() < 0.08:
        file, done = _bomb(folder, rng)
    else:
        done = _damage_corpus(folder / file, rng)
    pair = [file, "train.fr"] if file == "train.en" else [file]
    codes = ["--source", "en", "--target", "fr"]
    argv = rng.choice(
        (
            ["doctor", *pair, *codes],
            ["doctor", *pair, *codes, "--fix", "fixed"],
            ["train", *pair, "--steps", "1", "--out", "new", *codes, *SETTINGS],
            ["evaluate", "run", *pair, "--beam", "1"],
            ["translate", "run", file, "--out", f"out{''.join(Path(file).suffixes)}", "--beam", "1"],
            ["heads", "run", *pair, "--sentences", "2"],
            ["look", "run", *pair, "--sentences", "2", "--out", "look.html"],
            ["compare", "run", "dev.fr", "--on", *pair, "--beam", "1", "--out", "c"],
        )
    )
    return Case(number, name, folder, argv, f"{file}: {done}", prints_text=argv[0] == "translate")


def _bomb(folder: Path, rng: random.Random) -> tuple[str, str]:
    kind = rng.choice((*BOMBS, "entities"))
    file = {"elements": "bomb.tmx.gz", "entities": "bomb.tmx"}.get(kind) or rng.choice(
        ("bomb.tsv.gz", "bomb.jsonl.gz", "bomb.po.gz", "bomb.txt.gz")
    )
    (folder / file).write_bytes(ENTITIES if kind == "entities" else _compressed(kind))
    return file, f"a bomb of {kind}"


@functools.cache
def _compressed(kind: str) -> bytes:
    """Never all of it in memory: a forked process has the pages of its parent."""
    begin, unit = BOMBS[kind]
    block = unit * (1_000_000 // len(unit))
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [compressor.compress(begin), *(compressor.compress(block) for _ in range(BOMB_BYTES // len(block)))]
    return b"".join((*parts, compressor.flush()))


XML_DAMAGE = (
    (b"<body>", b"<body>" + b"<a>" * 5000),
    (b"<source>", b"<source>" + b"<g>" * 1000),
    (b"<seg>", b"<seg>" + b"<hi>" * 1000 + b"</hi>" * 1000),
    (b"<source>", b"<source>&xxe;"),
    (b"<xliff", b'<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><xliff'),
    (b"<tmx", b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]><tmx'),
    (b"en", b"\x1b[31m"),
    (b"<segment>", b"<segment><segment>"),
    (b'hex="0007"', b'hex="D800"'),
    (b"utf-8", b"utf-7"),
    (b"utf-8", b"utf-32"),
    (b"utf-8", b"hex"),
    (b"utf-8", b"rot13"),
    (b"msgstr", b"msgstr[999999999999]"),
    (b"nplurals=2", b"nplurals=999999999"),
    (b"msgid", b"msgctxt"),
    (b"UTF-8", b"idna"),
    (b"UTF-8", b"UTF-16"),
    (b"UTF-8", b"\x1b[31m"),
)


def _damage_corpus(path: Path, rng: random.Random) -> str:
    if path.suffix in (".tmx", ".xlf", ".po") and rng.random() < 0.4:
        raw = path.read_bytes()
        old, new = rng.choice([change for change in XML_DAMAGE if change[0] in raw])
        path.write_bytes(raw.replace(old, new, rng.choice((1, -1))))
        return f"{old[:20]!r} -> {new[:20]!r}"
    if path.suffix == ".gz" and rng.random() < 0.5:
        path.write_bytes(
            gzip.compress(rng.choice(list(mutate.BYTE_CHANGES.values()))(gzip.decompress(path.read_bytes()), rng))
        )
        return "compressed damage"
    change = mutate.json_of if path.suffix == ".jsonl" and rng.random() < 0.6 else mutate.bytes_of
    return (mutate.kind_of if rng.random() < 0.15 else change)(path, rng)


def _file_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """Files that options name, which belong to no run: gold links, senses, a tokenizer, and what stands at --out."""
    _copy(seeds, folder, "run", "encoder", "links.txt", "senses.tsv", *TEXT_FILES, "imported")
    shutil.copyfile(folder / "imported" / "tokenizer.source.model", folder / "tokenizer.model")
    file, argv = rng.choice(FILE_COMMANDS)
    if file.startswith("out"):
        (folder / file).write_text("mine")
        done = mutate.kind_of(folder / file, rng)
    else:
        done = damage(folder / file, rng)
    return Case(number, name, folder, list(argv), f"{file}: {done}", prints_text=argv[0] == "translate")


FILE_COMMANDS: tuple[tuple[str, list[str]], ...] = (
    ("links.txt", ["heads", "run", *DEV, "--sentences", "5", "--gold", "links.txt"]),
    ("senses.tsv", ["senses", "encoder", "dog", "senses.tsv"]),
    ("tokenizer.model", ["evaluate", "run", *DEV, "--beam", "1", "--tokenize", "flores200:tokenizer.model"]),
    ("input.txt", ["translate", "run", "input.txt", "--beam", "1", "--json"]),
    ("input.txt", ["look", "run", "input.txt", "--out", "look.html"]),
    ("dev.fr", ["compare", "run", "dev.fr", "--on", *DEV, "--beam", "1", "--out", "compared"]),
    ("out", ["translate", "run", "input.txt", "--beam", "1", "--out", "out"]),
    ("out", ["export", "run", "--to", "ctranslate2", "--out", "out"]),
    ("out", ["import", "imported", "--out", "out"]),
    ("out", ["train", *TEXT_FILES[:2], "--out", "out", "--overwrite", "--steps", "1", *SETTINGS]),
    ("out", ["prune", "run", "--keep", "2", "--finetune-steps", "0", "--out", "out"]),
    ("out", ["tune", *TEXT_FILES[:2], "--over", "model.dropout=0.1,0.2", "--steps-each", "1", "--trials", "1", "--out", "out"]),
    ("out", ["heads", "run", "--sentences", "2", "--csv", "out"]),
    ("out", ["doctor", *TEXT_FILES[:2], "--fix", "out"]),
    ("out", ["corpus", "--pairs", "3", "--out", "out"]),
)  # fmt: skip
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "100000",
    "999999999999",
    "9" * 400,
    "x",
    "",
    "1.5",
    "\x1b[1m",
    "²",
)
OPTIONS: tuple[tuple[list[str], tuple[str, ...]], ...] = (
    (["translate", "run", "input.txt"], ("--beam", "--alpha", "--nbest", "--temperature", "--top-k", "--top-p", "--seed", "--workers", "--long", "--quantize", "--device", "--engine", "--split-sentences", "--issues")),
    (["translate", "run", "input.txt", "--sample"], ("--temperature", "--top-k", "--top-p", "--seed")),
    (["evaluate", "run", *DEV], ("--beam", "--alpha", "--tokenize", "--device")),
    (["heads", "run"], ("--sentences", "--ablate", "--device", "--gold")),
    (["look", "run", "The dog.", "--out", "l.html"], ("--sentences", "--num-positions", "--head", "--device", "--compare-with")),
    (["prune", "run", "--out", "p", "--finetune-steps", "0"], ("--keep", "--method", "--device")),
    (["prune", "run", "--out", "p", "--keep", "2"], ("--finetune-steps",)),
    (["train", *TEXT_FILES[:2], "--out", "new", *SETTINGS, "--steps", "1"], ("--minutes", "--epochs", "--learning-rate", "--batch-tokens", "--seed", "--threads", "--source", "--track")),
    (["train", *TEXT_FILES[:2], "--out", "new", *SETTINGS], ("--steps", "--minutes", "--epochs")),
    (["estimate", *TEXT_FILES[:2], *SETTINGS], ("--minutes", "--steps", "--epochs")),
    (["tune", *TEXT_FILES[:2], "--over", "model.dropout=0.1,0.2", "--out", "new", *SETTINGS, "--steps-each", "1", "--trials", "1"], ("--minutes-each", "--epochs-each", "--tokens-each", "--sampler", "--seeds", "--only", "--metric")),
    (["tune", *TEXT_FILES[:2], "--over", "model.dropout=0.1,0.2", "--out", "new", *SETTINGS], ("--steps-each", "--trials")),
    (["bench"], ("--seconds",)),
    (["compare", "run", "dev.fr", "--on", *DEV], ("--beam", "--alpha", "--device")),
    (["corpus"], ("--pairs", "--seed", "--out")),
    (["demo", "--out", "run"], ("--seed",)),
    (["train", "--resume", "run"], ("--steps", "--minutes", "--epochs", "--threads", "--track", "--seed")),
    (["export", "run", "--out", "e"], ("--to", "--quantize")),
    (["doctor", *TEXT_FILES[:2]], ("--keep", "--drop", "--source", "--target")),
    (["senses", "encoder", "dog", "senses.tsv"], ("--device", "--csv")),
)  # fmt: skip
ENDLESS = {"--steps", "--minutes", "--epochs", "--steps-each", "--trials", "--seeds", "--minutes-each", "--epochs-each", "--tokens-each", "--finetune-steps"}  # fmt: skip
"""Options of which 100,000 is a long wish, not a fault."""
SETTING_VALUES = (
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1000000000",
    "9" * 30,
    "1" * 5000,
    "[1]",
    "{}",
    "''",
    "[" * 3000,
    "1e-300",
    "\x1b[1m",
)
OVER = (
    "1..9999999999",
    "log 1e-300..1e300",
    "0..1 by 1e-300",
    "9" * 5000,
    "nan,1",
    "1..2..3",
    "a" * 10_000,
    "[,]",
    "1..9 by 0",
)


def _option_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    _copy(seeds, folder, "run", "encoder", "senses.tsv", *TEXT_FILES)
    argv, names = rng.choice(OPTIONS)
    kind = rng.random()
    if kind < 0.2:
        argv = ["train", *TEXT_FILES[:2], "--out", "new", *SETTINGS, "--steps", "1"]
        extra = ["--set", f"{rng.choice(_setting_names())}={rng.choice(SETTING_VALUES)}"]
    elif kind < 0.3:
        argv = ["tune", *TEXT_FILES[:2], "--out", "new", *SETTINGS, "--steps-each", "1", "--trials", "1"]
        setting = rng.choice(("model.dropout", "model.dim", "train.learning_rate", "model.layers", "data.max_length"))
        extra = ["--over", f"{setting}={rng.choice(OVER)}"]
    else:
        option = rng.choice(names)
        extra = [option, rng.choice([value for value in NUMBERS if value != "100000" or option not in ENDLESS])]
    return Case(number, name, folder, [*argv, *extra], " ".join(extra)[:80], prints_text=argv[0] == "translate")


def _setting_names() -> list[str]:
    from regard.config import describe

    return [
        setting.name for setting in describe() if setting.name not in ("train.steps", "train.device", "train.shard")
    ]


NAMES = (
    b"\xff\xfe.en",
    b"a\x1b[31mb.en",
    b"a\nb.en",
    b"\xed\xa0\x80.en",
    b"a\x7f\xc2\x9b.en",
    "\u202e.en".encode(),
    b"-x.en",
    b"%s{0}[red].en",
)


def _name_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """Names of files and folders that are not UTF-8 or hold control characters."""
    _copy(seeds, folder, "run", "marian", "study.toml", *TEXT_FILES, "pairs.tsv", "pairs.po")
    odd = os.fsdecode(rng.choice(NAMES))
    missing = rng.random() < 0.2
    if not missing:
        shutil.copyfile(folder / "train.en", folder / odd)
        shutil.copytree(folder / "run", folder / f"{odd}.run")
        shutil.copyfile(folder / "pairs.tsv", folder / f"{odd}.tsv")
        shutil.copyfile(folder / "pairs.po", folder / f"{odd}.po")
        shutil.copytree(folder / "marian", folder / f"{odd}.marian")
    here = f"./{odd}"
    argv = rng.choice(
        (
            ["doctor", here, "train.fr"],
            ["doctor", f"{here}.tsv", "--fix", f"{here}.fixed"],
            ["train", here, "train.fr", "--out", f"{here}.new", "--steps", "1", *SETTINGS],
            ["train", *TEXT_FILES[:2], "--out", f"{here}.new", "--steps", "1", *SETTINGS],
            ["train", "--resume", f"{here}.run", "--steps", "5"],
            ["evaluate", "run", f"{here}.tsv", "--beam", "1"],
            ["translate", f"{here}.run", here, "--out", f"{here}.out", "--beam", "1"],
            ["translate", "run", f"{here}.po", "--out", f"{here}.out.po", "--beam", "1"],
            ["look", f"{here}.run", "The dog.", "--out", f"{here}.html"],
            ["heads", f"{here}.run", "--sentences", "2", "--csv", f"{here}.csv"],
            ["compare", f"{here}.run", "run", "--on", *DEV, "--beam", "1", "--out", f"{here}.c"],
            ["import", f"{here}.marian", "--out", f"{here}.imported"],
            ["export", f"{here}.run", "--to", "ctranslate2", "--out", f"{here}.ct2"],
            [
                "tune",
                here,
                "train.fr",
                "--over",
                "model.dropout=0.1,0.2",
                "--out",
                f"{here}.study",
                "--steps-each",
                "1",
                "--trials",
                "1",
                *SETTINGS,
            ],
            ["tune", f"{here}.toml"],
            ["report", f"{here}.run"],
            ["train", here, "train.fr", "--out", "new", "--steps", "1", *SETTINGS, "--track", "tensorboard"],
            ["train", *TEXT_FILES[:2], "--from", f"{here}.run", "--steps", "1", "--out", "new"],
            ["look", "run", odd, "--out", "look.html"],
            ["translate", "run", here, "--issues", f"{here}.issues", "--beam", "1", "--json"],
            ["heads", "run", f"{here}.tsv", "--sentences", "2", "--pharaoh", f"{here}.links"],
            ["doctor", f"{here}.tsv", "--json"],
            ["prune", f"{here}.run", "--keep", "2", "--finetune-steps", "0", "--out", f"{here}.pruned"],
        )
    )
    return Case(number, name, folder, argv, repr(odd), prints_text=argv[0] == "translate")


STORAGES = (
    "postgresql://user:{s}@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?password={s}",
    "postgresql://127.0.0.1:1/db?sslpassword={s}&user=u",
    "postgresql:/user:{s}@127.0.0.1:1/db",
    "postgresql:user:{s}@127.0.0.1:1/db",
    "user:{s}@127.0.0.1:1/db",
    "//user:{s}@127.0.0.1:1/db",
    "postgresql://user:{s}@127.0.0.1:port/db",
    "postgresql://user:{s}@[::1/db",
    "mysql://user:{s}@127.0.0.1:1/db",
    "postgresql+nothing://user:{s}@127.0.0.1:1/db",
    "sqlite:///a.db?password={s}",
    "sqlite:///missing/folder/a.db?key={s}",
    "postgresql://127.0.0.1:1/db?options=-c%20password%3D{s}",
    "host=127.0.0.1 port=1 password={s}",
    "postgresql://127.0.0.1:1/db?PASSWORD={s}",
    "postgresql://127.0.0.1:1/{s}@x?passfile=/tmp/x",
    "https://user:{s}@127.0.0.1:1/db",
    "sqlite://user:{s}@host/a.db",
    "\x1b[31m://user:{s}@host",
    "postgresql://user:p@{s}@127.0.0.1:1/db",
    "POSTGRESQL://user:{s}@127.0.0.1:1/db",
    " postgresql://user:{s}@127.0.0.1:1/db\n",
    "postgresql://127.0.0.1:1/db#password={s}",
    "postgresql://127.0.0.1:1/db;password={s}",
    "jdbc:postgresql://127.0.0.1:1/db?user=u&password={s}",
    "postgresql:///db?host=127.0.0.1&port=1&password={s}",
    "postgresql://user:/#?{s}@127.0.0.1:1/db",
    "postgresql://user%3A{s}@127.0.0.1:1/db",
    "postgresql://user;{s}@127.0.0.1:1/db",
    "sqlite:///a.db;key={s}",
    "sqlite:///study/study.db?key={s}",
    "password={s}",
)  # fmt: skip


def _storage_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """A storage with a password in any place: it appears nowhere."""
    _copy(seeds, folder, "study", "study.toml", *TEXT_FILES[:4])
    secret = rng.choice((SECRET.replace("/", ""), ENCODED_SECRET))
    url = rng.choice(STORAGES).format(s=secret)
    secrets = (secret, SECRET.partition("/")[0])
    tiny = ["--steps-each", "1", "--trials", "1"]
    argv = rng.choice(
        (
            ["tune", "study.toml", *tiny, "--out", "new", "--storage", url],
            ["tune", "--worker", url],
            ["tune", "--worker", url, "--study", "s", "--verbose"],
            ["report", "study", "--storage", url],
            ["tune", "study", "--storage", url],
            ["tune", "secret.toml", *tiny, "--out", "new"],
        )
    )
    (folder / "secret.toml").write_text(f"storage = {json.dumps(url)}\n" + (folder / "study.toml").read_text())
    return Case(number, name, folder, argv, url, secrets=secrets, inputs=frozenset({"secret.toml"}))


TARGETS = (
    ("run", _run_case),
    ("corpus", _corpus_case),
    ("run", _run_case),
    ("config", _config_case),
    ("study", _study_case),
    ("import", _import_case),
    ("option", _option_case),
    ("run", _run_case),
    ("corpus", _corpus_case),
    ("imported", _imported_case),
    ("name", _name_case),
    ("storage", _storage_case),
    ("engine", _engine_case),
    ("file", _file_case),
)
