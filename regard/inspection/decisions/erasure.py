"""Texts without some of their words, and what that costs the decision of a classifier.

Li, Monroe and Jurafsky 2016, Understanding neural networks through representation erasure; DeYoung et al. 2020 (ERASER)
call the same quantity comprehensiveness.
"""

from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

import numpy as np
from torch import Tensor

from regard.inspection.example import TokenizedText
from regard.inspection.heads.statistics import FloatArray
from regard.languages import is_unspaced, word_spans
from regard.tasks.classify.classifier import Classifier
from regard.tasks.text_forward import InputText


def erase_words(text: str, numbers: Collection[int]) -> str:
    """The text without its words of these numbers; the blanks around a word become one."""
    spans = word_spans(text)
    erased_spans = [(0, 0), *(spans[n] for n in sorted(numbers)), (len(text), len(text))]
    separator = "" if is_unspaced(text) else " "
    result = ""
    for (_, start), (end, _) in pairwise(erased_spans):
        result = _join(result, text[start:end], separator)
    return result


def erase_word(side: TokenizedText, number: int) -> InputText:
    """The text, or the pair of texts, without the word of this number."""
    if side.text_pair is None:
        return erase_words(side.text, [number])
    if number < side.num_first_words:
        return erase_words(side.text, [number]), side.text_pair
    return side.text, erase_words(side.text_pair, [number - side.num_first_words])


def _join(before: str, after: str, separator: str) -> str:
    if not before or before[-1].isspace():
        return before + after.lstrip()
    # Without a separator, what stood on both sides of a mark would become one word.
    return before + (separator if before[-1].isalnum() and after[:1].isalnum() else "") + after


def erasure_costs(
    classifier: Classifier, sides: Sequence[TokenizedText], label_ids: Sequence[int], log_probs: Tensor
) -> list[FloatArray]:
    """log p(label | text) - log p(label | text without the word), for each word of each text.

    The text is encoded again without the word. Above 0: the word supports the label. `log_probs` (N, C) are those of
    the whole texts.
    """
    texts = [erase_word(side, n) for side in sides for n in range(len(side.words))]
    return _split_costs(classifier.log_probs(texts), sides, label_ids, log_probs)


def masking_costs(
    classifier: Classifier, sides: Sequence[TokenizedText], label_ids: Sequence[int], log_probs: Tensor
) -> list[FloatArray] | None:
    """The same with the tokens of the word replaced by [MASK], so that no other token moves.

    None where the vocabulary has no such token. A classifier that was never trained on [MASK] has not learned to ignore
    it: what is measured is then also its surprise.
    """
    mask_id = classifier.tokenizer.mask_id
    if mask_id is None:
        return None
    rows = [
        [mask_id if n in shares else token for token, shares in zip(side.ids, side.covered_words(), strict=True)]
        for side in sides
        for n in range(len(side.words))
    ]
    return _split_costs(classifier.log_probs_of_ids(rows), sides, label_ids, log_probs)


def _split_costs(
    erased_log_probs: Tensor, sides: Sequence[TokenizedText], label_ids: Sequence[int], log_probs: Tensor
) -> list[FloatArray]:
    """The costs of the words of each text; `erased_log_probs` (words of all texts, C) are one after the other."""
    bounds = pairwise(accumulate((len(side.words) for side in sides), initial=0))
    return [
        np.asarray(row[label] - erased_log_probs[start:end, label], np.float64)
        for (start, end), label, row in zip(bounds, label_ids, log_probs, strict=True)
    ]
