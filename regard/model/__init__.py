"""The Transformer, from scratch. Tensors in, tensors out: no text here, and no disk but weights.

Read in this order: attention, masks, positions, layers, transformer, build; then taps, weights. This is the plain path;
`regard.runtime` computes the same numbers faster.

Letters, here and in the whole package:
    B sentences · S source, T target tokens (Tq, Tk in attention) · H heads · K head width · D model width ·
    F feed-forward width · V vocabulary
"""
