"""The equation.

softmax(QKᵀ/√d)V is one line, and nearly everything that is said about Transformers is said about it. These labs take it
at its word: what sums to one, what is masked, what is divided, what decides the weights and what does not, what several
heads are for and what they cost, and how far a state can see.
"""

LABS = (
    "attention_weights_sum_to_one",
    "masked_weights_are_zero",
    "causal_mask_leak",
    "attention_weights_ignore_values",
    "query_key_asymmetry",
    "attention_row_column_convention",
    "attention_scaling_sqrt_dk",
    "multi_head_concatenation",
    "single_head_two_sources",
    "attention_heads_cost",
    "receptive_field_hard_attention",
    "cross_attention_keys_values",
)
