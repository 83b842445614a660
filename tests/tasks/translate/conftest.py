"""The tiny loss module of the tests of training."""

from tests.training.conftest import loss_module

__all__ = ["loss_module"]
