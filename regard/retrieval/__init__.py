"""Search in documents: BM25 over terms, inner products of vectors, and both fused; an index on disk, memory-mapped."""
