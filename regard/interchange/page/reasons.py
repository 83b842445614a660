"""Which models the engine in a page can run, and the reasons why it cannot run others."""

from regard.config import ModelConfig
from regard.errors import ModelError
from regard.model.build import ACTIVATIONS
from regard.model.positions.build import SCHEMES


def require_engine_parts(config: ModelConfig) -> None:
    """Refuse parts of plug-ins, which exist in Python alone."""
    if config.activation not in (*ACTIVATIONS, "swiglu"):
        raise ModelError(
            f"model.activation={config.activation}: a plug-in registered it, and a page has no Python; built in are "
            f"{', '.join((*ACTIVATIONS, 'swiglu'))}"
        )
    for positions in (config.positions, config.encoder.positions, config.decoder.positions):
        if positions is not None and positions.kind not in SCHEMES:
            raise ModelError(
                f"model.positions.kind={positions.kind}: a plug-in registered it, and a page has no Python; built in "
                f"are {', '.join(SCHEMES)}"
            )
