"""What the doctor knows to look for: one row a kind, in the order in which a pair is looked at."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from regard.errors import ConfigError


class Action(Enum):
    """What becomes of a pair, or of the whole corpus."""

    REFUSED = "refused"
    DROPPED = "dropped"
    NOTED = "noted"


@dataclass(frozen=True)
class FindingKind:
    """One thing that can be wrong with a corpus."""

    name: str
    action: Action
    """What is done by default, in training text."""
    summary: str
    """The finding in a few words, to stand after a count."""
    explanation: str
    remedy: str
    applies_to_held_out: bool = False
    """Done to dev and test too. Other findings there are only noted: a changed test set is another test set."""
    unit: str = "pairs"
    """What is counted."""
    droppable: bool = True
    """Whether it speaks of single pairs of the training text, which can be dropped or kept."""


_REFUSED = (
    FindingKind(
        "swapped",
        Action.REFUSED,
        "source and target sides exchanged",
        "Most source sentences are in the target language, and the other way round: the model would learn to translate "
        "backwards, or be judged on the wrong direction.",
        "give the two files in the other order, or exchange data.source and data.target",
    ),
)

_DROPPED = (
    FindingKind(
        "blank",
        Action.DROPPED,
        "a side with nothing on it",
        "There is nothing to translate, or nothing to learn.",
        "fill in the missing side",
        applies_to_held_out=True,
    ),
    FindingKind(
        "metadata",
        Action.DROPPED,
        "a line of markup or metadata instead of a sentence",
        "A side is nothing but tags, or one element of a document's head such as <url>…</url>; such lines teach tags, "
        "and are often not each other's translation. Tags that mark words up (<b>, <a>, <p>, …) are no reason.",
        "leave such lines out of both files; where the sentences stand inside tags (<seg>…</seg>), take them out",
    ),
    FindingKind(
        "wordless",
        Action.DROPPED,
        "words on one side, only signs on the other",
        "One side holds words, the other no letter and no digit: the translation was lost.",
        "put the translation in, or leave the pair out",
    ),
    FindingKind(
        "overlap",
        Action.DROPPED,
        "source occurs in dev or test",
        "A sentence that was trained on is no test: its score says what the model remembers, not what it can.",
        "leave these sentences out of one of the files",
    ),
    FindingKind(
        "identical",
        Action.DROPPED,
        "both sides the same sentence",
        "Five words or more, function words among them: not translated, and it teaches the model to copy. "
        "Where most pairs of a corpus are like that, copying is the task, and they are kept.",
        "translate them, or leave them out",
    ),
    FindingKind(
        "ratio",
        Action.DROPPED,
        "one side far too long for the other",
        "The lengths are many times further apart than is usual in this corpus: the sides can hardly be translations "
        "of each other. A constant is added to both lengths, so that short sentences are not judged harshly.",
        "check the alignment around these places, or raise the ratio",
    ),
    FindingKind(
        "long",
        Action.DROPPED,
        "a very long line",
        "A line of many thousand characters is a page, not a sentence; a model for sentences cannot take it.",
        "split it into sentences on both sides, or raise the longest length",
    ),
    FindingKind(
        "language",
        Action.DROPPED,
        "a side in another language",
        "The function words or the script of a side belong to another language. Short sentences are not judged.",
        "translate these sentences, exchange their sides, or leave them out",
    ),
)

_NOTED = (
    FindingKind(
        "mislabeled",
        Action.NOTED,
        "a side not in the language it should be in",
        "Most sentences of a side look like another language than its code says, or than the training text is in.",
        "check the files, or the codes in data.source and data.target",
        droppable=False,
    ),
    FindingKind(
        "no_newline",
        Action.NOTED,
        "no line feed at the end",
        "The last line is read all the same, but `wc -l` counts one line less, and `cat` glues the next file to it.",
        "end the file with a line feed",
        unit="files",
        droppable=False,
    ),
    FindingKind(
        "seen",
        Action.NOTED,
        "source also occurs in the training text",
        "A score on these says what the model remembers; the training pairs are dropped unless they are kept.",
        "leave these sentences out of one of the files",
        droppable=False,
    ),
    FindingKind(
        "shared",
        Action.NOTED,
        "source also occurs in the dev set",
        "Dev decides which weights are kept, so a score on these is not that of sentences nobody has looked at.",
        "leave these sentences out of one of the files",
        droppable=False,
    ),
    FindingKind(
        "duplicate",
        Action.NOTED,
        "the same pair as an earlier one",
        "In a small corpus how often something is said is worth learning, so copies stay. Drop them where they come "
        "from crawling or from files that were joined.",
        "leave out all but the first",
    ),
    FindingKind(
        "variant",
        Action.NOTED,
        "source translated otherwise earlier",
        "Often free translation; where one wording is wanted, an inconsistent translation memory.",
        "decide on one translation where only one is right",
    ),
    FindingKind(
        "same",
        Action.NOTED,
        "both sides the same, though no sentence",
        "Names, numbers, code and words like OK are the same in many languages.",
        "do nothing, as a rule",
    ),
    FindingKind(
        "separator",
        Action.NOTED,
        "a line separator inside a line",
        "U+2028, U+2029, U+0085, a carriage return, a vertical tab or a form feed: programs that cut lines there "
        "shift every pair after it. Regard does not.",
        "replace them by spaces",
    ),
    FindingKind(
        "control",
        Action.NOTED,
        "a control character",
        "They cannot be seen and mean nothing in a sentence.",
        "delete them",
    ),
    FindingKind(
        "bom",
        Action.NOTED,
        "a byte order mark inside the text",
        "U+FEFF is left where files were joined; it makes a word look like another word.",
        "delete it",
    ),
    FindingKind(
        "mojibake",
        Action.NOTED,
        "characters damaged by a wrong encoding",
        "U+FFFD, or UTF-8 read as Latin-1 (é as two characters): the letters were lost before the file came here.",
        "make the file again from its origin, as UTF-8",
    ),
    FindingKind(
        "unnormalized",
        Action.NOTED,
        "Unicode that is not in normal form C",
        "The same letter written in two ways (é as one character or as e and an accent) becomes two words.",
        "normalise both files to NFC, and what will be translated later",
    ),
    FindingKind(
        "entity",
        Action.NOTED,
        "an HTML entity",
        "&amp; or &#39; in place of the character: the model will write entities, too.",
        "decode them once on both sides, unless they are wanted",
    ),
    FindingKind(
        "tokenized",
        Action.NOTED,
        "words and signs apart, as a tokeniser leaves them",
        "“word .” instead of “word.”: the model will write like that, too, and BLEU of such text cannot be compared "
        "with BLEU of ordinary text.",
        "train on the text as people write it; or score with --tokenize none, as papers on such corpora do",
    ),
    FindingKind(
        "placeholder",
        Action.NOTED,
        "placeholders that differ between the sides",
        "{name}, %s, %1$s or {{x}} on one side only: the model learns to lose them.",
        "correct the translation",
    ),
)

FINDING_KINDS = MappingProxyType({kind.name: kind for kind in (*_REFUSED, *_DROPPED, *_NOTED)})


def check_names(names: Iterable[str], setting: str, choices: Iterable[str]) -> None:
    """Refuse a name that no kind has, or for which the setting means nothing."""
    allowed = sorted(choices)
    for name in names:
        if name not in allowed:
            close_matches = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean '{close_matches[0]}'?" if close_matches else f"expected one of {', '.join(allowed)}"
            raise ConfigError(f"{setting}: no finding '{name}' that this could be said of; {hint}")
