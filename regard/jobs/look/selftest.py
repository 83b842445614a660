"""The proofs behind `regard look`, for whoever wants to see them."""

from regard.inspection.selftest import SelfTestResult, run_selftests

__all__ = ["SelfTestResult", "run_selftests"]
