"""From pairs of sentences to batches of token ids."""
