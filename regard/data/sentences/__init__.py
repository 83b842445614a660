"""Lines -> sentences, by a table of rules for many languages."""

from regard.data.sentences.rules import SentenceRules, base_language, rules_for
from regard.data.sentences.splitter import Sentence, fit_blank, split_sentences

__all__ = ["Sentence", "SentenceRules", "base_language", "fit_blank", "rules_for", "split_sentences"]
