"""Tagged sentences as they are stored: words and tags in two strings."""

from regard.formats import Pair
from regard.formats.labeled import TaggedSentence
from regard.tasks.stored_parts import join_parts, split_parts


def store_sentence(sentence: TaggedSentence) -> Pair:
    """The words and the tags of a sentence as two strings."""
    return Pair(join_parts(sentence.words), join_parts(sentence.tags), sentence.location)


def restore_sentence(pair: Pair) -> TaggedSentence:
    """The sentence that `store_sentence` has stored."""
    words = split_parts(pair.source) if pair.target else ()
    return TaggedSentence(words, restore_tags(pair.target), pair.location)


def restore_tags(target: str) -> tuple[str, ...]:
    """The tags of a stored sentence; none where it has no words."""
    return split_parts(target) if target else ()
