"""What every test may ask for."""

import os
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    torch.manual_seed(7)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # tests run side by side


@pytest.fixture
def corpora() -> Path:
    """The folder of real corpora, where there is one."""
    folder = Path(os.environ.get("REGARD_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real corpora are not here: set REGARD_DATA ({folder} does not exist)")
    return folder
