"""Files -> texts that belong together: pairs, pairs with hard negatives, pairs with a similarity, or single texts."""

from regard.formats.related.columns import RelatedColumns
from regard.formats.related.examples import RelatedTexts
from regard.formats.related.reader import read_related_texts

__all__ = ["RelatedColumns", "RelatedTexts", "read_related_texts"]
