"""The models that the plain path is tested with."""

from tests.model.conftest import ids, model, models

__all__ = ["ids", "model", "models"]
