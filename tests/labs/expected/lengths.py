EXPECTED: dict[str, tuple[str, str]] = {
    "sinusoidal_extrapolation": ("does not hold", "slow"),
    "relative_rotary_alibi_extrapolation": ("holds partly", "slow"),
    "learned_positions_untrained_rows": ("holds", "fast"),
    "nope_length_extrapolation": ("holds", "slow"),
    "nope_two_back": ("does not hold", "slow"),
    "sinusoid_wavelengths": ("holds", "slow"),
}
