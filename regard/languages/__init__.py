"""What is known about languages: their codes and scripts, which one a text is in, and where its words are."""

from regard.languages.codes import are_confusable, are_variants, normalize_code
from regard.languages.identify import identify_texts, main_script, rank_languages
from regard.languages.segment import is_unspaced, split_unspaced
from regard.languages.words import count_words, split_words, word_spans

__all__ = [
    "are_confusable",
    "are_variants",
    "count_words",
    "identify_texts",
    "is_unspaced",
    "main_script",
    "normalize_code",
    "rank_languages",
    "split_unspaced",
    "split_words",
    "word_spans",
]
