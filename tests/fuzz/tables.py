"""Commands, options, names, URLs and replacements that cases are drawn from."""

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
SEARCH_FILES = ("docs.jsonl", "docs.tsv", "docs.csv", "queries.tsv", "queries.jsonl", "queries.txt", "qrels.txt", "qrels.tsv", "other.trec", "notes.md")  # fmt: skip
WITH_ENCODER = ["--encoder", "encoder"]
QUERIES = ["search", "index", "--queries", "queries.tsv", *WITH_ENCODER]
INDEX_COMMANDS: tuple[list[str], ...] = (
    ["search", "index", "the dog", *WITH_ENCODER],
    ["search", "index", "the dog", "--method", "bm25", "--json"],
    [*QUERIES, "--run", "out.trec"],
    [*QUERIES, "--judgments", "qrels.txt"],
    ["index", "index", "--add", "docs.tsv", *WITH_ENCODER],
    ["index", "index", "--add", "docs.jsonl", "--replace", *WITH_ENCODER],
    ["index", "index", "--delete", "d1"],
    ["index", "encoder", "docs.jsonl", "--out", "index", "--overwrite"],
    ["evaluate", "index", "docs.jsonl"],
)
SEARCH_COMMANDS: tuple[tuple[str, list[str]], ...] = (
    *((file, ["index", "encoder", file, "--out", "new"]) for file in ("docs.jsonl", "docs.tsv", "docs.csv")),
    ("docs.tsv", ["index", "encoder", "docs.tsv", "--out", "new", "--id-column", "1", "--text-column", "2"]),
    ("docs.jsonl", ["index", "index", "--add", "docs.jsonl", "--replace", *WITH_ENCODER]),
    *((file, ["search", "index", "--queries", file, "--method", "bm25"]) for file in ("queries.jsonl", "queries.txt")),
    ("queries.tsv", [*QUERIES, "--run", "out.trec"]),
    *((file, [*QUERIES, "--judgments", file]) for file in ("qrels.txt", "qrels.tsv")),
    ("queries.tsv", [*QUERIES, "--judgments", "qrels.txt"]),
    ("other.trec", [*QUERIES, "--judgments", "qrels.txt", "--compare-with", "other.trec", "--json"]),
    ("notes.md", ["pairs", "notes.md", "--out", "pairs.tsv"]),
    ("notes.md", ["index", "encoder", "notes.md", "docs.tsv", "--out", "new"]),
)
BOMBS = {
    "one line": (b"", b"x"),
    "zeros": (b"", b"\0"),
    "elements": (b"<tmx><header/><body>", b"<a/>"),
}
"""How a file begins, and what is repeated after it until it has BOMB_BYTES."""
BOMB_BYTES = 400_000_000
ENTITIES = b'<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa">]><tmx>&a;</tmx>'
CORPORA = ("pairs.tsv", "pairs.jsonl", "pairs.tmx", "pairs.po", "pairs.xlf", "second.xlf", "pairs.tsv.gz", "train.en")
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
CLASSIFY = ["--task", "classify", "--out", "compared"]
LABEL_COLUMNS = ["--text-column", "text", "--label-column", "label"]
PREDICTION_TABLES = ("predicted.csv", "predicted.tsv", "predicted.jsonl")
TAG_TABLES = ("predicted_tags.tsv", "predicted_tags.jsonl")
LABEL_COMMANDS: tuple[tuple[str, list[str]], ...] = (
    *(
        (file, ["doctor", file, "--task", "classify"])
        for file in ("labels.csv", "labels.tsv", "labels.jsonl", "labels.txt")
    ),
    ("labels.csv", ["doctor", "labels.csv", "--test", "labels.jsonl", "--task", "classify", "--fix", "fixed"]),
    ("tags.conll", ["doctor", "tags.conll", "--task", "tag", "--fix", "fixed"]),
    ("spans.jsonl", ["doctor", "spans.jsonl", "--dev", "tags.conll", "--task", "tag"]),
    *((file, ["doctor", file, "--task", "classify", *LABEL_COLUMNS]) for file in ("labels.csv", "labels.jsonl")),
    ("labels.tsv", ["doctor", "labels.tsv", "--task", "classify", "--text-column", "1", "--label-column", "2"]),
    *((file, ["doctor", "labels.tsv", "--dev", file, "--task", "classify", "--json"]) for file in ("labels.csv", "labels.jsonl")),
    *((file, ["doctor", file, "--task", "tag", "--json"]) for file in ("spans.jsonl", *TAG_TABLES)),
    *((file, ["compare", file, "--on", "labels.csv", *CLASSIFY]) for file in ("predicted.txt", *PREDICTION_TABLES)),
    *((file, ["compare", "predicted.txt", file, "--on", "labels.jsonl", *CLASSIFY, "--json"]) for file in PREDICTION_TABLES),
    *((file, ["compare", "predicted.csv", "--on", file, *CLASSIFY]) for file in ("labels.tsv", "labels.jsonl")),
    *((file, ["compare", file, "--on", "tags.conll", "--task", "tag", "--out", "compared"]) for file in TAG_TABLES),
    ("spans.jsonl", ["compare", "spans.jsonl", "--on", "spans.jsonl", "--task", "tag", "--out", "compared"]),
    ("labels.csv", ["compare", "predicted.txt", "--on", "labels.csv", "--task", "classify", "--out", "compared"]),
    ("predicted.conll", ["compare", "tags.conll", "predicted.conll", "--on", "tags.conll", "--task", "tag", "--json"]),
)  # fmt: skip
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
