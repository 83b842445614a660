"""Translation: a source text -> a target text, by an encoder-decoder."""
