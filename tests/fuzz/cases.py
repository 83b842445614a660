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
from tests.fuzz.tables import (
    BOMB_BYTES,
    BOMBS,
    CORPORA,
    DEV,
    ENCODED_SECRET,
    ENCODER_COMMANDS,
    ENDLESS,
    ENTITIES,
    FILE_COMMANDS,
    IMPORTED_COMMANDS,
    INDEX_COMMANDS,
    LABEL_COMMANDS,
    NAMES,
    NUMBERS,
    OPTIONS,
    OVER,
    RUN_COMMANDS,
    SEARCH_COMMANDS,
    SEARCH_FILES,
    SECRET,
    SETTING_VALUES,
    STORAGES,
    TEXT_FILES,
    XML_DAMAGE,
)


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
    table = run / "checksums.json"
    if not table.is_file() or table.stat().st_size > MAX_BYTES:  # a pipe would be waited for, 64 GB would be read
        return
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
        checksums = json.loads((run / "checksums.json").read_text())
        for name in checksums:
            path = run / name
            if path.is_file() and path.stat().st_size < MAX_BYTES:
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

    def seal() -> None:
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(made)}
        (made / "made_from.json").write_text(json.dumps({"weights": best, "checksum": checksum, "files": files}))

    seal()
    done = damage(rng.choice(_files(made)), rng)
    if (made / "made_from.json").is_file() and not done.startswith("made_from.json") and rng.random() < 0.5:
        (made / "made_from.json").unlink()
        seal()
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
    by_suffix = {".jsonl": mutate.json_of, ".csv": mutate.table_of, ".tsv": mutate.table_of}
    change = by_suffix.get(path.suffix, mutate.bytes_of) if rng.random() < 0.6 else mutate.bytes_of
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


def _labels_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """Files of labeled text and of predictions."""
    file, argv = rng.choice(LABEL_COMMANDS)
    _copy(seeds, folder, file, *(word for word in argv if (seeds / word).is_file() and word != file))
    done = _damage_corpus(folder / file, rng)
    return Case(number, name, folder, list(argv), f"{file}: {done}")


def _index_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """A search index: its arrays, its texts and what describes them."""
    kind = rng.choice(("index", "index8"))
    _copy(seeds, folder, "encoder", *SEARCH_FILES)
    shutil.copytree(seeds / kind, folder / "index")
    paths = sorted(path for path in (folder / "index").rglob("*") if path.is_file() and path.name != ".lock")
    done = []
    for path in rng.sample(paths, rng.choice((1, 1, 1, 2, 3))):
        is_array = path.suffix not in (".json", ".text") and rng.random() < 0.6
        done.append(f"{path.name}: {mutate.numbers_of(path, rng)}" if is_array else damage(path, rng))
    if rng.random() < 0.8:
        _reseal(folder / "index")
    return Case(number, name, folder, list(rng.choice(INDEX_COMMANDS)), f"{kind}: {'; '.join(done)}")


def _search_case(number: int, name: str, rng: random.Random, seeds: Path, folder: Path) -> Case:
    """Files of documents, queries, judgments and ranked lists."""
    file, argv = rng.choice(SEARCH_COMMANDS)
    _copy(seeds, folder, "encoder", "index", *SEARCH_FILES)
    return Case(number, name, folder, list(argv), f"{file}: {_damage_corpus(folder / file, rng)}")


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
    ("labels", _labels_case),
    ("index", _index_case),
    ("search", _search_case),
)
