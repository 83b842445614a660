"""The loss of a masked language model: the cross-entropy of the tokens that were chosen, given the other ones."""

from regard.model.single_stack import EncoderOnly
from regard.tasks.token_targets import TokenTargetLoss


class MaskedLMLoss(TokenTargetLoss):
    """The cross-entropy of the masked tokens; with 15 % of them, the projection costs 15 %."""

    model: EncoderOnly
