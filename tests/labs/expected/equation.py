EXPECTED = {
    "attention_weights_sum_to_one": ("holds", "fast"),
    "masked_weights_are_zero": ("holds", "fast"),
    "causal_mask_leak": ("holds", "fast"),
    "attention_weights_ignore_values": ("does not hold", "fast"),
    "query_key_asymmetry": ("does not hold", "fast"),
    "attention_row_column_convention": ("does not hold", "fast"),
    "attention_scaling_sqrt_dk": ("holds partly", "fast"),
    "multi_head_concatenation": ("holds", "fast"),
    "single_head_two_sources": ("does not hold", "slow"),
    "attention_heads_cost": ("holds partly", "fast"),
    "receptive_field_hard_attention": ("holds partly", "fast"),
    "cross_attention_keys_values": ("holds partly", "fast"),
}
