"""The groups of options in help texts, and the options that several commands share."""

from typing import Any

import typer

FILES, TIME, MODEL, TRAINING, SEARCH = "Files", "Time", "Model", "Training", "Search"
MEASUREMENT, OUTPUT, ADVANCED, GENERAL = "Measurement", "Output", "Advanced", "General"
GROUPS = (FILES, TIME, MODEL, TRAINING, SEARCH, MEASUREMENT, OUTPUT, ADVANCED, GENERAL)
"""The groups, in the order of every help text."""

MAX_BEAM, MAX_TOP_K, MAX_SENTENCES, MAX_WORKERS = 200, 1_000_000, 100_000, 64
MAX_FINETUNE_STEPS, MAX_SEED = 10_000_000, 2**32 - 1
MAX_TOKENS, MAX_SAMPLES = 1_000_000, 100_000
"""Limits beyond which a number is a slip of the keyboard that would occupy the machine for days."""
MULTI_VALUE_OPTIONS = ("--dev", "--test", "--on", "--add")
"""Options that take one file or several: `--dev dev.en dev.fr` is parsed as `--dev dev.en --dev dev.fr`."""
PAIR = "FILE [FILE]"


def argument(metavar: str, help_text: str, default: Any = ...) -> Any:
    """A positional argument, which is required unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=help_text)


def option(group: str, metavar: str, help_text: str, *names: str, default: Any = None, **limits: Any) -> Any:
    """An option with a value. `metavar` is the word for the value: FILE, FOLDER, NUMBER, TEXT …"""
    return typer.Option(default, *names, metavar=metavar, help=help_text, rich_help_panel=group, **limits)


def flag(group: str, help_text: str, *names: str, default: bool = False) -> Any:
    """An option without a value."""
    return typer.Option(default, *names, help=help_text, rich_help_panel=group)


RUN = argument("RUN", "Run folder, as `regard train` and `regard import` create it.")
DEV = option(FILES, PAIR, "Validation pairs, which select the best checkpoint: two aligned files, or one .tsv.")
TEST = option(FILES, PAIR, "Test pairs, on which the finished model is scored.")
TASK = option(
    MODEL,
    "NAME",
    "What to train for: translate, classify, tag, causal-lm, masked-lm, embed or denoise. If unset, what files of "
    "labels or tags are for; otherwise translate.",
)
TEXT = option(FILES, "NAME", "Column of the texts in a table; unset, by its name.", "--text", "--text-column")
TEXT_PAIR = option(
    FILES,
    "NAME",
    "Column of the second texts, where pairs of texts are classified or embedded.",
    "--text-pair",
    "--text-pair-column",
)
LABEL = option(FILES, "NAME", "Column of the labels, or of similarities.", "--label", "--label-column")
SOURCE = option(FILES, "CODE", "Language code of the source side, such as en.")
TARGET = option(FILES, "CODE", "Language code of the target side, such as fr.")
MINUTES = option(TIME, "NUMBER", "Training time in minutes; of a resumed run, in total.")
STEPS = option(TIME, "NUMBER", "Number of optimizer steps.")
EPOCHS = option(TIME, "NUMBER", "Number of passes over the training pairs, as in --epochs 1.5.")
SET = option(MODEL, "NAME=VALUE", "Change any of the settings that `regard settings` lists. May be repeated.", "--set")
BEAM = option(SEARCH, "NUMBER", "Beam width; 1 is greedy search.", default=5, min=1, max=MAX_BEAM)
ALPHA = option(
    SEARCH, "NUMBER", "Length penalty: candidates are ranked by log-probability / length^alpha.", default=1.0
)
SPLIT_SENTENCES = option(
    SEARCH,
    "KIND",
    "Translate lines sentence by sentence: always, never, or auto: unless the model was trained on lines of several.",
    default="auto",
)
DEVICE = option(ADVANCED, "DEVICE", "Where to compute: auto, cpu, cuda, cuda:1 or mps.", default="auto")
CPU_DEVICE = option(ADVANCED, "DEVICE", "Where to compute: cpu, cuda, cuda:1 or mps.", default="cpu")
OVERWRITE = flag(OUTPUT, "Replace an existing run.", "--overwrite")
