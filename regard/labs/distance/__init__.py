"""Far and fast.

Attention replaced recurrent networks for two reasons: the first word of a text is one step away from the last, and all
words are computed at once. These labs ask how far that carries, against networks that read step by step, and what it
costs. Operations are counted, since they are the same on every machine; seconds stand beside them and judge nothing.
"""

LABS = (
    "vanishing_gradient_by_distance",
    "long_range_retrieval",
    "gru_chrono_initialization",
    "parallel_and_autoregressive_decoding",
    "quadratic_attention_cost",
    "attention_rnn_convolution_speed",
)
