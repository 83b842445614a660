"""The compiled decoder, which is compiled if it was not."""

import ctypes

import pytest

from regard.runtime.native import build, library


def compiled(level: str) -> ctypes.CDLL:
    """The decoder for a level of instructions."""
    compiler = build.find_compiler()
    if compiler is None and not library.library_path(level).exists():
        pytest.skip("no C++ compiler")
    return library.open_library(build.compile_decoder(level, compiler or ""))


@pytest.fixture(scope="session")
def native_library() -> ctypes.CDLL:
    return compiled(next(library.supported_levels()))
