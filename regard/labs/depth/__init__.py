"""Depth.

A layer of attention is easily stacked and not easily trained. Residual connections, norms and a warm-up are what makes
twelve of them work, and each comes with a reason in every lecture. These labs take out one at a time, at two layers and
at twelve, and look at what fails: the gradient, the signal, or nothing at all.
"""

LABS = (
    "layer_norm_formula",
    "layer_norm_placement",
    "layer_norm_gradient_by_depth",
    "rank_collapse_without_residuals",
    "residual_connections_by_depth",
    "warmup_and_post_norm",
    "feed_forward_by_position",
    "nonlinearity_of_attention",
)
