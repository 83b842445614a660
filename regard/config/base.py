"""What all groups of settings share, and the largest values: what is larger is a slip, and would be allocated."""

from pydantic import BaseModel, ConfigDict

MAX_DIM = 65_536
MAX_LAYERS = 1_000
MAX_HEADS = 4_096
MAX_POSITIONS = 10_000_000
MAX_STEPS = 1_000_000_000
MAX_MINUTES = 5_256_000  # ten years
MAX_EPOCHS = 1_000_000
MAX_TOKENS = 1e15
MAX_THREADS = 4_096


class Settings(BaseModel):
    """A group of settings: unknown names are refused, values never change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )
