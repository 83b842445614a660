"""Whether the lines that are translated are split into sentences, and how."""

from dataclasses import dataclass

from regard.config import Config
from regard.data.sentences import Sentence, SentenceRules, rules_for, split_sentences
from regard.data.text_statistics import TextStatistics
from regard.errors import ConfigError

SPLIT_MODES = ("auto", "always", "never")
MAX_SHARE = 0.2
"""Share of the training lines with several sentences from which on a model is expected to translate such lines."""


@dataclass(frozen=True)
class SentenceSplitting:
    """Lines are split by rules; without rules they are translated whole."""

    rules: SentenceRules | None = None
    reason: str = ""
    """Why lines are translated whole, if it was not asked for."""

    def split(self, line: str) -> list[Sentence]:
        """The sentences of a line, or the whole line."""
        return [Sentence(line)] if self.rules is None else split_sentences(line, self.rules)


def choose_splitting(mode: str, config: Config, statistics: TextStatistics) -> SentenceSplitting:
    """Split lines into sentences, unless training has shown the model lines of several sentences.

    `mode` is auto, always or never. With auto, lines are translated whole if at least `MAX_SHARE` of the training
    lines hold several sentences, concatenated pairs (data.concat_augment) included.
    """
    if mode not in SPLIT_MODES:
        raise ConfigError(f"--split-sentences {mode}: expected {', '.join(SPLIT_MODES[:-1])} or {SPLIT_MODES[-1]}")
    share, extra = statistics.multi_sentence_share, config.data.concat_augment
    share = (share + extra) / (1 + extra)
    if mode == "never":
        return SentenceSplitting()
    if mode == "auto" and share >= MAX_SHARE:
        return SentenceSplitting(reason=f"{share:.0%} of the training lines hold several sentences")
    return SentenceSplitting(rules_for(config.data.source))
