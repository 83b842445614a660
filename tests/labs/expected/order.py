EXPECTED = {
    "bag_of_words_without_positions": ("holds", "fast"),
    "decoder_without_positions": ("holds partly", "fast"),
    "mask_token_keeps_position": ("holds", "fast"),
    "sinusoidal_position_encoding": ("holds", "fast"),
    "sinusoidal_dot_product_distance": ("holds partly", "fast"),
    "learned_position_parameters": ("holds partly", "fast"),
    "positions_added_or_in_attention": ("holds partly", "fast"),
    "position_cross_terms": ("holds partly", "fast"),
    "relative_bias_vs_concatenation": ("holds partly", "fast"),
    "relative_bias_causal_parameters": ("holds partly", "fast"),
    "shaw_relative_vs_bias": ("does not hold", "fast"),
    "rotary_relative_scores": ("holds", "fast"),
}
