EXPECTED = {
    "attention_weights_sum_to_one": ("holds", "fast"),
    "attention_scaling_sqrt_dk": ("holds partly", "fast"),
}
