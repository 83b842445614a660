"""All assignments, in the order in which a Transformer is built."""

from regard.labs.checker.assignment import Assignment
from regard.labs.checker.assignments.attend import ATTEND
from regard.labs.checker.assignments.cross_entropy import CROSS_ENTROPY
from regard.labs.checker.assignments.decoder_layer import DECODER_LAYER
from regard.labs.checker.assignments.encoder_layer import ENCODER_LAYER
from regard.labs.checker.assignments.layer_norm import LAYER_NORM
from regard.labs.checker.assignments.masks import CAUSAL_MASK, PADDING_MASK
from regard.labs.checker.assignments.multi_head_attention import MULTI_HEAD_ATTENTION
from regard.labs.checker.assignments.relative import ALIBI_BIAS, RELATIVE_BIAS
from regard.labs.checker.assignments.rotary import ROTARY
from regard.labs.checker.assignments.search.beam_search import BEAM_SEARCH
from regard.labs.checker.assignments.search.greedy_search import GREEDY_SEARCH
from regard.labs.checker.assignments.sinusoid import SINUSOID

ASSIGNMENTS: dict[str, Assignment] = {
    assignment.name: assignment
    for assignment in (
        ATTEND,
        CAUSAL_MASK,
        PADDING_MASK,
        SINUSOID,
        LAYER_NORM,
        MULTI_HEAD_ATTENTION,
        ENCODER_LAYER,
        DECODER_LAYER,
        ROTARY,
        ALIBI_BIAS,
        RELATIVE_BIAS,
        CROSS_ENTROPY,
        GREEDY_SEARCH,
        BEAM_SEARCH,
    )
}
