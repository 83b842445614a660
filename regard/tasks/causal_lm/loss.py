"""The loss of a causal language model: the cross-entropy of each token, given those before it in its window."""

from regard.model.single_stack import DecoderOnly
from regard.tasks.token_targets import TokenTargetLoss


class CausalLMLoss(TokenTargetLoss):
    """The cross-entropy of the next tokens. In validation, those that an earlier window has scored have no label."""

    model: DecoderOnly
