EXPECTED = {
    "multi_head_concatenation": ("holds", "fast"),
    "single_head_two_sources": ("does not hold", "slow"),
    "head_count_and_head_dim": ("holds partly", "fast"),
    "attention_heads_cost": ("holds partly", "fast"),
    "receptive_field_hard_attention": ("holds partly", "fast"),
}
