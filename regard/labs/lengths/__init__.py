"""Beyond the training length.

Texts that are asked about are sooner or later longer than those of the training. A formula such as the sinusoid gives a
vector for every position, and it is often said that a model therefore knows what to do there. These labs train on 16
tokens and ask at 24 to 1024: what is defined for every length is not yet learned for it.
"""

LABS = (
    "sinusoidal_extrapolation",
    "relative_rotary_alibi_extrapolation",
    "learned_positions_untrained_rows",
    "nope_length_extrapolation",
    "nope_two_back",
    "sinusoid_wavelengths",
)
