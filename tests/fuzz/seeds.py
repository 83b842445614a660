"""Valid inputs of every kind, made once by the program itself, as small as they can be."""

import contextlib
import gc
import gzip
import json
import shutil
import sys
import warnings
from pathlib import Path

from regard import hardware
from tests.fuzz import runner
from tests.tiny_bert import write_bert

PRELOADED = (
    "torch", "sacrebleu", "altair", "rich", "optuna", "sqlalchemy", "lxml.etree", "sentencepiece", "tokenizers",
    "ctranslate2", "safetensors.torch", "torch._dynamo", "vl_convert", "scipy.stats", "scipy.sparse.csgraph", "regard.cli",
)  # fmt: skip
TINY = {
    "data.vocab_size": "300",
    "model.dim": "16",
    "model.heads": "2",
    "model.ffn": "16",
    "model.layers": "1",
    "train.batch_tokens": "512",
    "train.warmup": "2",
    "train.validate_every": "2",
    "train.save_every": "2",
    "train.validation_sentences": "2",
    "train.threads": "1",
}
SETTINGS = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
MODULES = ".modules"


def preload(names: tuple[str, ...] = PRELOADED) -> None:
    """Import everything that a command would import late; what cannot be imported is left to the command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                __import__(name)
    hardware.TRY_SECONDS = 0.002  # as in the process of the tests


def build(target: Path) -> None:
    """Make all seeds in a folder; elsewhere at first, since a study knows its folder, and copies must not find it."""
    folder = target.with_name(f"{target.name}.making")
    folder.mkdir(parents=True)
    _write_corpora(folder)
    run = ["train.en", "train.fr", "--dev", "dev.en", "dev.fr", "--source", "en", "--target", "fr", *SETTINGS]
    _command(folder, "train", *run, "--steps", "4", "--out", "run", "--set", "train.head_stats_every=2")
    _command(folder, "evaluate", "run", "dev.en", "dev.fr", "--beam", "1")
    _command(folder, "export", "run", "--to", "ctranslate2", "--out", "ct2")
    post_norm = ["--set", "model.norm=post", "--set", "model.positions.sinusoid_layout=halves"]
    _command(folder, "train", *run, *post_norm, "--steps", "1", "--out", "post")
    _command(folder, "export", "post", "--to", "marian", "--out", "marian")
    _command(folder, "import", "marian", "--out", "imported")
    _check(runner.call(lambda: _write_pickle(folder / "marian", folder / "pickled"), folder), folder, "pickled")
    _check(runner.call(lambda: write_bert(folder / "bert"), folder), folder, "bert")
    _command(folder, "import", "bert", "--out", "encoder")
    _command(folder, "index", "encoder", "docs.jsonl", "--out", "index", "--language", "en")
    _command(folder, "index", "encoder", "docs.jsonl", "--out", "index8", "--language", "en", "--precision", "int8")
    _command(folder, "search", "index", "the dog")
    (folder / "config.toml").write_text(_config(folder), encoding="utf-8")
    (folder / "study.toml").write_text(_study(), encoding="utf-8")
    _command(folder, "tune", "study.toml", "--out", "study")
    for pictures in list(folder.rglob("charts")):
        shutil.rmtree(pictures)  # which no command reads
    folder.rename(target)


def load_modules(folder: Path) -> None:
    """Import what the commands that made the seeds had imported."""
    preload(tuple(sorted(set((folder / MODULES).read_text().split()))))
    gc.collect()
    gc.freeze()  # else the first collection in a forked process copies every page


def _command(folder: Path, *argv: str) -> None:
    from regard.cli import main

    def run() -> None:
        try:
            main(list(argv))
        finally:
            with (folder / MODULES).open("a") as file:
                file.write("\n".join(name for name in sys.modules if not name.startswith(("__main__", "tests"))) + "\n")

    _check(runner.call(run, folder), folder, argv[0])


def _check(code: int, folder: Path, what: str) -> None:
    if code:
        raise RuntimeError(f"{what}: exit code {code}\n{(folder / '.stderr').read_text()}")


def _write_corpora(folder: Path) -> None:
    from regard.data.corpora import english_french
    from regard.formats import jsonl, text

    splits = english_french.split(80, 7, 5, 0, seed=3)
    for name in ("train", "dev", "test"):
        text.write(folder / f"{name}.en", folder / f"{name}.fr", getattr(splits, name))
    pairs = splits.train[:23]
    jsonl.write(folder / "pairs.jsonl", pairs)
    (folder / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs), encoding="utf-8")
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress((folder / "pairs.tsv").read_bytes()))
    (folder / "input.txt").write_text("".join(f"{p.source}\n" for p in pairs[:3]), encoding="utf-8")
    _write_labels(folder)
    _write_search(folder)
    (folder / "links.txt").write_text("0-0 1-1\n" * len(splits.dev), encoding="utf-8")
    (folder / "senses.tsv").write_text("".join(f"{'ab'[i % 2]}\tthe dog {i}\n" for i in range(8)), encoding="utf-8")
    (folder / "pairs.po").write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: fr\\nPlural-Forms: nplurals=2; plural=n>1;\\n"\n\n'
        + "".join(
            f'#, c-format\nmsgid "{p.source}"\nmsgstr "{p.target if i % 2 else ""}"\n\n' for i, p in enumerate(pairs)
        )
        + 'msgid "a dog"\nmsgid_plural "%d dogs"\nmsgstr[0] ""\nmsgstr[1] ""\n',
        encoding="utf-8",
    )
    units = "".join(
        f'<trans-unit id="{i}"><source>{p.source} <x id="1"/></source>{f"<target>{p.target}</target>" if i % 2 else ""}</trans-unit>\n'
        for i, p in enumerate(pairs)
    )
    (folder / "pairs.xlf").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f'<file source-language="en" target-language="fr" original="a" datatype="plaintext"><body>\n{units}</body></file></xliff>',
        encoding="utf-8",
    )
    (folder / "second.xlf").write_text(
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr"><file id="f">\n'
        + "".join(
            f'<unit id="u{i}"><segment><source>{p.source} <cp hex="0007"/></source>{f"<target>{p.target}</target>" if i % 2 else ""}</segment></unit>\n'
            for i, p in enumerate(pairs)
        )
        + "</file></xliff>",
        encoding="utf-8",
    )
    (folder / "pairs.tmx").write_text(
        '<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
        + "".join(
            f'<tu><tuv xml:lang="en"><seg>{p.source}</seg></tuv><tuv xml:lang="fr"><seg>{p.target}<ph x="1">a</ph></seg></tuv></tu>\n'
            for p in pairs
        )
        + "</body></tmx>",
        encoding="utf-8",
    )


def _write_labels(folder: Path) -> None:
    """Texts with labels, sentences of tagged words, and predictions of both."""
    rows = [(f'the dog {n} runs, "or" not', "good" if n % 2 else "bad") for n in range(12)]
    table = "".join('"{}",{}\n'.format(text.replace('"', '""'), label) for text, label in rows)
    (folder / "labels.csv").write_text(f"text,label\n{table}", encoding="utf-8")
    (folder / "labels.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    objects = [{"text": text, "text_pair": text[::-1], "label": [label]} for text, label in rows]
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in objects), encoding="utf-8")
    (folder / "labels.txt").write_text("".join(f"__label__{label} {text}\n" for text, label in rows), encoding="utf-8")
    _write_predictions(folder, [label for _, label in rows])
    words = "Alex B-x\nsings O\n\nNew B-y\nYork I-y\n\n" * 6
    for name in ("tags.conll", "predicted.conll"):
        (folder / name).write_text(words, encoding="utf-8")
    (folder / "predicted_tags.tsv").write_text(words.replace(" ", "\t"), encoding="utf-8")
    sentences = [[line.split() for line in block.split("\n")] for block in words.strip().split("\n\n")]
    columns = [dict(zip(("tokens", "tags"), zip(*sentence, strict=True), strict=True)) for sentence in sentences]
    (folder / "predicted_tags.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in columns), encoding="utf-8")
    spans = {"text": "Alex sings in New York.", "spans": [{"start": 0, "end": 4, "label": "x"}, [14, 22, "y"]]}
    (folder / "spans.jsonl").write_text(f"{json.dumps(spans)}\n" * 12, encoding="utf-8")


def _write_search(folder: Path) -> None:
    """Documents, queries, judgments, a ranked list, and a text with headings."""
    docs = [(f"d{n}", "a dog" if n % 3 else "", f"the dog {n} sees {'cats ' * (20 * (n % 2) + 1)}") for n in range(9)]
    columns = ("id", "title", "text")
    objects = [dict(zip(columns, row, strict=True)) for row in docs]
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in objects), encoding="utf-8")
    rows = [(f"new{name}", *rest) for name, *rest in docs]
    (folder / "docs.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "docs.csv").write_text("".join(",".join(row) + "\n" for row in (columns, *docs)), encoding="utf-8")
    queries = [(f"q{n}", f"which dog sees {n} cats") for n in range(5)]
    (folder / "queries.tsv").write_text("".join("\t".join(row) + "\n" for row in queries), encoding="utf-8")
    (folder / "queries.txt").write_text("".join(f"{text}\n" for _, text in queries), encoding="utf-8")
    asked = [dict(zip(("_id", "text"), row, strict=True)) for row in queries]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in asked), encoding="utf-8")
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 d{n} {n % 3}\n" for n in range(5)), encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\n", encoding="utf-8")
    ranked = [f"q{n} Q0 d{rank} {rank} {1 / rank} other\n" for n in range(5) for rank in range(1, 8)]
    (folder / "other.trec").write_text("".join(ranked), encoding="utf-8")
    (folder / "notes.md").write_text("# Dogs\n\nThe dog sees five cats. The cats see it.\n\n" * 9, encoding="utf-8")


def _write_predictions(folder: Path, labels: list[str]) -> None:
    """The same predictions one a line and as tables, with a probability for each class."""
    rows = [{"id": n, "prediction": label, "probability": 0.5 + n / 100} for n, label in enumerate(labels)]
    (folder / "predicted.txt").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    (folder / "predicted.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for suffix, separator in ((".csv", ","), (".tsv", "\t")):
        lines = [separator.join(map(str, line)) for line in (rows[0], *(row.values() for row in rows))]
        (folder / f"predicted{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_pickle(source: Path, folder: Path) -> None:
    """A Marian folder whose weights are the older pickle file."""
    import torch

    from regard.model import weights

    shutil.copytree(source, folder)
    torch.save(weights.read(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _config(folder: Path) -> str:
    from regard import config as settings

    changes = [f"{name}={value}" for name, value in TINY.items()]
    data = {"train": ["train.en", "train.fr"], "dev": ["dev.en", "dev.fr"], "source": "en", "target": "fr"}
    config = settings.override(settings.build({"data": data}), [*changes, "train.steps=2"])
    return settings.dump(config)


def _study() -> str:
    base = "".join(f"{name} = {value}\n" for name, value in TINY.items())
    return (
        'name = "s"\nsampler = "grid"\nmetric = "loss"\nseeds = 1\ntrials = 2\ndev_sentences = 3\n'
        'conditions = ["model.dim % model.heads == 0"]\n\n[each]\nsteps = 2\n\n[space]\n"model.dropout" = [0.1, 0.2]\n\n'
        '[base]\ndata.train = ["train.en", "train.fr"]\ndata.dev = ["dev.en", "dev.fr"]\n'
        'data.source = "en"\ndata.target = "fr"\n' + base
    )
