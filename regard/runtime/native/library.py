"""The compiled decoder: for which level of instructions, where its file is, and its functions."""

import ctypes
import functools
import hashlib
import os
import platform
from collections.abc import Collection, Iterator
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE / "decoder.cpp"
HEADERS = tuple(HERE / f"{name}.h" for name in ("vectors", "linear", "layers", "search"))
CPU_FILE = Path("/proc/cpuinfo")
FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-shared", "-Wno-psabi"),
    *("-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"),
)
LEVEL_FLAGS = {
    "avx512": ("-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512"),
    "avx2": ("-march=x86-64-v3",),
    "plain": (),
}
"""Levels of instructions, the fastest first, and what compiles for them; `plain` runs everywhere."""
NEEDED_FEATURES = {
    "avx512": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx2", "fma", "bmi2", "f16c"},
    "avx2": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"},
    "plain": set(),
}
INT, FLOAT, POINTER = ctypes.c_int32, ctypes.c_float, ctypes.c_void_p


class LayerParts(ctypes.Structure):
    """The numbers of a layer's parts; -1: it has none."""

    _fields_ = [
        (name, INT)
        for name in (
            *("heads", "head_dim", "qkv", "out", "self_norm", "rotary_width", "interleaved", "cos", "sin", "bias"),
            *("cross_heads", "cross_head_dim", "cross_q", "cross_out", "cross_norm"),
            *("up", "down", "ffn_norm", "activation", "post_norm"),
        )
    ]


class StackParts(ctypes.Structure):
    """The numbers of a stack's parts."""

    _fields_ = [(name, INT) for name in ("tokens", "positions", "embedding_norm", "final_norm")]


class SearchOptions(ctypes.Structure):
    """A beam search: `finished` hypotheses are kept, scores are normalized over the vocabulary or not."""

    _fields_ = [
        *((name, INT) for name in ("beams", "finished", "normalized", "loop_repeats", "longest_cycle")),
        ("alpha", FLOAT),
    ]


SIGNATURES = {
    "native_new": (POINTER, INT, INT, INT, INT),
    "native_free": (None, POINTER),
    "native_linear": (INT, POINTER, INT, INT, POINTER, POINTER, POINTER, POINTER),
    "native_norm": (INT, POINTER, INT, FLOAT, INT, POINTER, POINTER),
    "native_table": (INT, POINTER, INT, INT, INT, POINTER),
    "native_stack": (None, POINTER, INT, ctypes.POINTER(StackParts)),
    "native_layer": (None, POINTER, INT, ctypes.POINTER(LayerParts)),
    "native_projections": (None, POINTER, INT, INT),
    "native_search": (
        *(None, POINTER, INT, POINTER, POINTER, POINTER, ctypes.POINTER(SearchOptions)),
        *(INT, INT, POINTER, POINTER, POINTER, POINTER),
    ),
}
"""The result and the arguments of every function."""


def supported_levels(cpu_file: Path = CPU_FILE) -> Iterator[str]:
    """The levels of instructions that this machine can run, the fastest first."""
    features = _read_features(cpu_file) if platform.machine().lower() in ("x86_64", "amd64") else ()
    return (level for level, needed in NEEDED_FEATURES.items() if needed <= set(features))


def library_path(level: str) -> Path:
    """The file that the source is compiled to; its name changes with the source, so that no old one is loaded.

    It does not end in .so, which Python would take for a module of its own.
    """
    parts = [*(path.read_bytes() for path in (SOURCE, *HEADERS)), repr((FLAGS, LEVEL_FLAGS[level])).encode()]
    version = hashlib.sha256(b"\n".join(parts)).hexdigest()[:12]
    return HERE / f"decoder-{platform.system().lower()}-{platform.machine().lower()}-{level}-{version}.native"


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """The compiled decoder for the fastest level that is there; None where it was not compiled for this machine."""
    paths = (library_path(level) for level in supported_levels() if os.name == "posix")
    return next((open_library(path) for path in paths if path.exists()), None)


def open_library(path: Path) -> ctypes.CDLL:
    """The functions of a compiled decoder, with the types of their arguments."""
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _read_features(cpu_file: Path) -> Collection[str]:
    """What the processor says that it can do; nothing where that is unknown."""
    try:
        with cpu_file.open(encoding="utf-8", errors="replace") as lines:
            return next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ())
    except OSError:
        return ()
