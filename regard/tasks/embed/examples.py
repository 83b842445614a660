"""Related texts as they are stored: all texts of an example in one string, its similarity in another."""

from regard.formats import Pair
from regard.formats.related import RelatedTexts
from regard.tasks.stored_parts import join_parts, split_parts


def store_example(example: RelatedTexts) -> Pair:
    """The texts and the similarity of an example as two strings."""
    texts = [example.text, *([] if example.positive is None else [example.positive]), *example.negatives]
    similarity = "" if example.similarity is None else repr(example.similarity)
    return Pair(join_parts(texts), similarity, example.location)


def restore_example(pair: Pair) -> RelatedTexts:
    """The example that `store_example` has stored."""
    text, *others = split_parts(pair.source)
    similarity = float(pair.target) if pair.target else None
    return RelatedTexts(text, others[0] if others else None, tuple(others[1:]), similarity, pair.location)
