"""Heads.

Several heads share the width of one. These labs ask what they are for, what they cost, what one of them can do alone,
and how far they see together.
"""

LABS = (
    "multi_head_concatenation",
    "single_head_two_sources",
    "head_count_and_head_dim",
    "attention_heads_cost",
    "receptive_field_hard_attention",
)
