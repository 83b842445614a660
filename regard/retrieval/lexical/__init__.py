"""Lexical search: the terms of texts, an inverted index of them on disk, and BM25."""
