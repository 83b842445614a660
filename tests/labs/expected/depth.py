EXPECTED: dict[str, tuple[str, str]] = {
    "layer_norm_formula": ("holds", "fast"),
    "layer_norm_placement": ("does not hold", "fast"),
    "layer_norm_gradient_by_depth": ("holds", "slow"),
    "rank_collapse_without_residuals": ("holds partly", "fast"),
    "residual_connections_by_depth": ("holds partly", "slow"),
    "warmup_and_post_norm": ("holds", "slow"),
    "feed_forward_by_position": ("holds", "fast"),
    "nonlinearity_of_attention": ("does not hold", "fast"),
}
