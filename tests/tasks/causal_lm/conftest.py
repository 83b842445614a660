"""Documents in a store, and small models."""

import numpy as np
import pytest

from regard.config import ModelConfig
from regard.data.documents.tokenizer import DocumentTokenizer, split_for_training
from regard.data.store import open_corpus, write_ids, write_texts
from regard.data.tokenizers.tokenizer import Tokenizers, train_tokenizer
from regard.formats import Pair

WORDS = ["the", "cat", "sees", "a", "dog", "and", "rain", "falls", "on", "old\n", "roofs.\n", "\n"]
SMALL = ModelConfig(dim=12, heads=3, ffn=20, layers=2, dropout=0.1)


@pytest.fixture(scope="session")
def documents():
    """Texts of different lengths: shorter than a window, as long as one, and much longer."""
    rng = np.random.default_rng(5)
    return [" ".join(rng.choice(WORDS, length)) for length in (1, 3, 7, 11, 12, 13, 25, 60, 151, 2, 29, 17)]


@pytest.fixture(scope="session")
def document_tokenizer(documents) -> DocumentTokenizer:
    return DocumentTokenizer(train_tokenizer(split_for_training(documents), 300, "bpe").model)


@pytest.fixture(scope="session")
def document_corpus(documents, document_tokenizer, tmp_path_factory):
    folder, tokenizers = tmp_path_factory.mktemp("store"), Tokenizers(document_tokenizer, document_tokenizer)
    write_texts(folder, "x", [Pair("", text) for text in documents])
    write_ids(folder, "x", tokenizers)
    return open_corpus(folder, "x", tokenizers)
