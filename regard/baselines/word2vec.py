"""word2vec: one vector for each form of a word, learned from the words around it.  Mikolov et al. 2013.

By gensim, if it is installed (pip install 'regard[word2vec]'). A word has the same vector in every sentence.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.errors import ConfigError
from regard.languages.words import split_words

DIMENSIONS, WINDOW, EPOCHS = 100, 5, 5
MISSING = "not computed: needs gensim; pip install 'regard[word2vec]'"


class Word2Vec:
    """Static vectors of the words of some texts, in lower case; the same for the same texts."""

    name = "word2vec"

    def __init__(self, texts: Sequence[str], seed: int = 1):
        try:
            from gensim.models import Word2Vec as SkipGram
        except ImportError:
            raise ConfigError(MISSING) from None
        sentences = [split_words(text.lower()) for text in texts]
        self._vectors = SkipGram(
            sentences, vector_size=DIMENSIONS, window=WINDOW, epochs=EPOCHS, min_count=1, sg=1, workers=1, seed=seed
        ).wv

    def embed(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The mean vector of the parts of each word; zeros where none was seen: (words, D)."""
        return np.array([self._mean(split_words(word.lower())) for word in words])

    def _mean(self, parts: Sequence[str]) -> NDArray[np.float64]:
        known = [np.asarray(self._vectors[part], np.float64) for part in parts if part in self._vectors]
        return np.mean(known, axis=0) if known else np.zeros(DIMENSIONS)
