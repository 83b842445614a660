"""What a run was made with."""

import platform
import sys
from importlib.metadata import version

import regard

PACKAGES = ("torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")


def collect_versions() -> dict[str, str]:
    """This program, what it stands on, and the machine."""
    return {
        "regard": regard.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        **{name: version(name) for name in PACKAGES},
    }
