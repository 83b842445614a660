"""What all groups of settings share."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A group of settings: unknown names are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)
