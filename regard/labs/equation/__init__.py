"""The equation.

softmax(QKᵀ/√d)V is one line, and nearly everything that is said about Transformers is said about it. These labs take it
at its word: what sums to one, what is masked, what is divided, what decides the weights and what does not, and what is
left of a text in one state.
"""

LABS = (
    "attention_weights_sum_to_one",
    "masked_weights_are_zero",
    "causal_mask_leak",
    "attention_weights_ignore_values",
    "query_key_asymmetry",
    "attention_relevance_is_learned",
    "attention_row_column_convention",
    "attention_scaling_sqrt_dk",
    "attention_output_rank",
    "cross_attention_keys_values",
    "output_softmax_probabilities",
)
