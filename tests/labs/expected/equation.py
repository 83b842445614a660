EXPECTED = {
    "attention_weights_sum_to_one": ("holds", "fast"),
    "masked_weights_are_zero": ("holds", "fast"),
    "causal_mask_leak": ("holds", "fast"),
    "attention_weights_ignore_values": ("does not hold", "fast"),
    "query_key_asymmetry": ("does not hold", "fast"),
    "attention_relevance_is_learned": ("holds partly", "fast"),
    "attention_row_column_convention": ("does not hold", "fast"),
    "attention_scaling_sqrt_dk": ("holds partly", "fast"),
    "attention_output_rank": ("does not hold", "fast"),
    "cross_attention_keys_values": ("holds partly", "fast"),
    "output_softmax_probabilities": ("holds partly", "fast"),
}
