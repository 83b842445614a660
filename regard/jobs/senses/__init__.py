"""Whether a word has the same sense in two sentences, by the vectors of a model."""
