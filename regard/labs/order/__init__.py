"""Order.

Attention has no order of its own: permute what goes in, and what comes out is permuted alike. Where a token stands has
to be written into its vector or into the scores. These labs ask who is blind without it, what the usual encodings are,
what two of them have in common, and what is said of them but does not hold.
"""

LABS = (
    "bag_of_words_without_positions",
    "decoder_without_positions",
    "mask_token_keeps_position",
    "sinusoidal_position_encoding",
    "sinusoidal_dot_product_distance",
    "learned_position_parameters",
    "positions_added_or_in_attention",
    "position_cross_terms",
    "relative_bias_vs_concatenation",
    "relative_bias_causal_parameters",
    "shaw_relative_vs_bias",
    "rotary_relative_scores",
)
