"""The kinds of findings of the doctor, in the order in which they are reported."""

import difflib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from regard.errors import ConfigError


class Action(Enum):
    """What is done about a finding: the corpus is refused, the pair is dropped, or the finding is only reported."""

    REFUSED = "refused"
    DROPPED = "dropped"
    NOTED = "noted"


@dataclass(frozen=True)
class FindingKind:
    """One kind of problem of a corpus."""

    name: str
    action: Action
    """The default action, in training text."""
    summary: str
    """The finding in a few words, after a count."""
    explanation: str
    remedy: str
    """How to fix it; "" if it is usually harmless."""
    applies_to_held_out: bool = False
    """Whether the action applies to dev and test, too. Other findings there are only noted: a changed test set is
    another test set."""
    unit: str = "pairs"
    """What `count` counts: pairs or files."""
    droppable: bool = True
    """Whether it is about single pairs of the training text, which can be dropped."""


_REFUSED = (
    FindingKind(
        "swapped",
        Action.REFUSED,
        "source and target sides swapped",
        "Most source sentences are in the target language, and vice versa: the model would learn to translate in the "
        "wrong direction, or be evaluated on it.",
        "name the two files in the other order, or swap data.source and data.target",
    ),
)

_DROPPED = (
    FindingKind(
        "blank",
        Action.DROPPED,
        "an empty side",
        "There is nothing to translate, or nothing to learn.",
        "fill in the missing side",
        applies_to_held_out=True,
    ),
    FindingKind(
        "metadata",
        Action.DROPPED,
        "a line of markup or metadata instead of a sentence",
        "A side is nothing but tags, or one element of a document's head such as <url>…</url>; such lines teach tags, "
        "and are often not translations of each other. Inline markup (<b>, <a>, <p>, …) is no reason.",
        "remove such lines from both files; if the sentences are inside tags (<seg>…</seg>), extract them",
    ),
    FindingKind(
        "wordless",
        Action.DROPPED,
        "words on one side, only punctuation on the other",
        "One side contains words, the other no letter and no digit: the translation was lost.",
        "add the translation, or remove the pair",
    ),
    FindingKind(
        "identical",
        Action.DROPPED,
        "both sides the same sentence",
        "Five words or more, including function words: the sentence was not translated, and teaches the model to copy. "
        "If most pairs of a corpus are identical, copying is the task, and they are kept.",
        "translate them, or remove them",
    ),
    FindingKind(
        "ratio",
        Action.DROPPED,
        "lengths that differ far more than usual",
        "The ratio of the lengths is far from the usual one of this corpus: the sides can hardly be translations "
        "of each other. A constant is added to both lengths, so that short sentences are not affected.",
        "check the alignment around these lines",
    ),
    FindingKind(
        "long",
        Action.DROPPED,
        "a very long line",
        "A line of many thousand characters is a page, not a sentence; a model for sentences cannot process it.",
        "split it into sentences on both sides",
    ),
    FindingKind(
        "language",
        Action.DROPPED,
        "a side in another language",
        "The function words or the script of a side belong to another language. Short sentences are not checked.",
        "translate these sentences, swap their sides, or remove them",
    ),
    FindingKind(
        "overlap",
        Action.DROPPED,
        "source occurs in train and in dev or test",
        "A sentence that was trained on is no test: its score measures memorization, not translation quality. Sources "
        "are compared without case, blanks and compatibility forms (Unicode NFKC). The pairs are dropped from train; "
        "dev and test stay as they are.",
        "remove these sentences from one of the files",
    ),
)

_NOTED = (
    FindingKind(
        "mislabeled",
        Action.NOTED,
        "a side in an unexpected language",
        "Most sentences of a side are in another language than its code, or than the training text.",
        "check the files, or the codes in data.source and data.target",
        droppable=False,
    ),
    FindingKind(
        "no_newline",
        Action.NOTED,
        "no line feed at the end",
        "The last line is read nevertheless, but `wc -l` counts one line fewer, and `cat` joins the next file to it.",
        "end the file with a line feed",
        unit="files",
        droppable=False,
    ),
    FindingKind(
        "near_overlap",
        Action.NOTED,
        "source nearly the same in train and in dev or test",
        "The two share three quarters of their sequences of four characters: what the model has memorized of one helps "
        "it with the other. Sources that are the same are counted as overlap, not here.",
        "remove these sentences from one of the files",
    ),
    FindingKind(
        "shared",
        Action.NOTED,
        "source occurs in dev and in test",
        "Dev selects the weights, so the score of these sentences is not that of unseen ones. Sources are compared as "
        "for overlap.",
        "remove these sentences from one of the files",
        droppable=False,
    ),
    FindingKind(
        "duplicate",
        Action.NOTED,
        "the same pair as an earlier one",
        "In a small corpus the frequency of a sentence is informative, so duplicates are kept. Drop them if they come "
        "from web crawling or from concatenated files.",
        "remove all but the first",
    ),
    FindingKind(
        "variant",
        Action.NOTED,
        "source with another translation earlier",
        "Often free translation; in a translation memory, an inconsistency.",
        "choose one translation where only one is right",
    ),
    FindingKind(
        "near_duplicate",
        Action.NOTED,
        "source nearly the same as an earlier one",
        "The two share three quarters of their sequences of four characters, or differ in case and blanks only. Many "
        "come from templates or from crawling; dev and test that are held out of such text resemble what was "
        "trained on. Compared are the first two million pairs.",
        "remove all but the first",
    ),
    FindingKind(
        "same",
        Action.NOTED,
        "both sides the same, but not a sentence",
        "Names, numbers, code and words like OK are the same in many languages.",
        "",
    ),
    FindingKind(
        "separator",
        Action.NOTED,
        "a line separator inside a line",
        "U+2028, U+2029, U+0085, a carriage return, a vertical tab or a form feed: programs that split lines there "
        "shift every pair after it. Regard does not.",
        "replace them by spaces",
    ),
    FindingKind(
        "control",
        Action.NOTED,
        "a control character",
        "Control characters are invisible and have no meaning in a sentence.",
        "delete them",
    ),
    FindingKind(
        "bom",
        Action.NOTED,
        "a byte order mark inside the text",
        "U+FEFF remains where files were concatenated; it makes one word look like two different ones.",
        "delete it",
    ),
    FindingKind(
        "mojibake",
        Action.NOTED,
        "characters damaged by a wrong encoding",
        "U+FFFD, or UTF-8 decoded as Latin-1 (é as two characters): the letters were lost before the file was written.",
        "create the file again from its source, as UTF-8",
    ),
    FindingKind(
        "unnormalized",
        Action.NOTED,
        "Unicode that is not in normal form C",
        "The same letter written in two ways (é as one character, or as e and an accent) makes two different words.",
        "normalize both files to NFC, and later the text to translate",
    ),
    FindingKind(
        "entity",
        Action.NOTED,
        "an HTML entity",
        "&amp; or &#39; in place of the character: the model will generate entities, too.",
        "decode them once on both sides, unless they are intended",
    ),
    FindingKind(
        "tokenized",
        Action.NOTED,
        "tokenized text, with spaces before punctuation",
        "“word .” instead of “word.”: the model will generate such text, too, and its BLEU cannot be compared with "
        "that of ordinary text.",
        "train on untokenized text; or score with --tokenize none, as papers on such corpora do",
    ),
    FindingKind(
        "placeholder",
        Action.NOTED,
        "placeholders that differ between the sides",
        "{name}, %s, %1$s, {{x}}, %name% or :name on one side only: the model learns to drop them. Their order may "
        "differ.",
        "correct the translation",
    ),
)

FINDING_KINDS = MappingProxyType({kind.name: kind for kind in (*_REFUSED, *_DROPPED, *_NOTED)})


def decide_action(kind: FindingKind, split: str, keep: Container[str], drop: Container[str]) -> Action:
    """What is done about a kind of finding in a split, where some kinds are to be kept and others dropped."""
    if kind.name in keep:
        return Action.NOTED
    action = Action.DROPPED if kind.name in drop else kind.action
    is_held_out = split != "train" and action is Action.DROPPED and not kind.applies_to_held_out
    return Action.NOTED if is_held_out else action


def check_names(
    names: Iterable[str], setting: str, choices: Iterable[str], kinds: Mapping[str, FindingKind] = FINDING_KINDS
) -> None:
    """Refuse a name that is not a kind of finding, or to which the setting does not apply."""
    allowed = sorted(choices)
    for name in names:
        if name in allowed:
            continue
        expected = f"expected one of {', '.join(allowed)}"
        if name in kinds:
            action = kinds[name].action.value
            raise ConfigError(f"{setting} does not apply to '{name}', which is {action} by default; {expected}")
        close_matches = difflib.get_close_matches(name, allowed, n=1)
        hint = f"did you mean '{close_matches[0]}'?" if close_matches else expected
        raise ConfigError(f"{setting}: unknown finding '{name}'; {hint}")
