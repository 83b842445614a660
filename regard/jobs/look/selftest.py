"""The proofs behind `regard look`, for whoever wants to see them."""

from regard.inspection.selftest import Proof, proofs

__all__ = ["Proof", "proofs"]
