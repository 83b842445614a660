"""The equation.

softmax(QKᵀ/√d)V is one line, and nearly everything that is said about Transformers is said about it. These labs take it
at its word: what sums to one, what is masked, what is divided, and what several heads are for.
"""

LABS = ("attention_weights_sum_to_one", "attention_scaling_sqrt_dk")
