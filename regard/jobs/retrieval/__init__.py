"""Search as jobs: an index of a run's vectors, queries in, ranked documents and scores out."""
