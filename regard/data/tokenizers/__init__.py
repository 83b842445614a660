"""Text <-> token ids: SentencePiece, WordPiece, byte-level BPE."""
