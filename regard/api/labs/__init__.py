"""Labs: claims about Transformers, measured; and functions to write, checked."""
