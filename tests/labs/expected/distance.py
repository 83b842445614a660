EXPECTED: dict[str, tuple[str, str]] = {
    "vanishing_gradient_by_distance": ("holds", "fast"),
    "long_range_retrieval": ("holds", "slow"),
    "gru_chrono_initialization": ("does not hold", "slow"),
    "parallel_and_autoregressive_decoding": ("holds partly", "fast"),
    "quadratic_attention_cost": ("holds partly", "fast"),
    "attention_rnn_convolution_speed": ("holds partly", "fast"),
}
