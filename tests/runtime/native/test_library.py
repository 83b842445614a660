"""Which library is loaded, and what is said where none can be."""

from pathlib import Path

import pytest

from regard.runtime.native import build, library

FLAGS = "fpu avx2 fma bmi1 bmi2 f16c movbe abm"
WIDE = f"{FLAGS} avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni"


@pytest.mark.parametrize(
    ("machine", "flags", "levels"),
    [
        ("x86_64", WIDE, ["avx512", "avx2", "plain"]),
        ("x86_64", WIDE.replace("avx512_vnni", "avx512_vbmi"), ["avx2", "plain"]),
        ("AMD64", FLAGS, ["avx2", "plain"]),
        ("x86_64", "fpu sse2", ["plain"]),
        ("aarch64", WIDE, ["plain"]),
    ],
)
def test_a_processor_runs_what_it_says(tmp_path: Path, monkeypatch, machine: str, flags: str, levels: list[str]):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n", encoding="utf-8")
    monkeypatch.setattr(library.platform, "machine", lambda: machine)
    assert list(library.supported_levels(tmp_path / "cpuinfo")) == levels
    assert list(library.supported_levels(tmp_path / "none")) == ["plain"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source that compiles at once, in place of the real one."""
    source = tmp_path / "decoder.cpp"
    source.write_text("int main() { return 0; }\n", encoding="utf-8")
    monkeypatch.setattr(library, "HEADERS", ())
    for module in (build, library):
        monkeypatch.setattr(module, "HERE", tmp_path)
        monkeypatch.setattr(module, "SOURCE", source)
    return tmp_path


@pytest.mark.skipif(build.find_compiler() is None, reason="no C++ compiler")
def test_a_changed_source_is_compiled_again_and_the_old_library_removed(elsewhere: Path):
    message = build.main()
    (first,) = elsewhere.glob("*.native")
    time = first.stat().st_mtime_ns
    assert message == f"compiled: {first.name}" == build.main() and first.stat().st_mtime_ns == time
    (elsewhere / "decoder.cpp").write_text("int other() { return 1; }\n", encoding="utf-8")
    build.main()
    (second,) = elsewhere.glob("*.native")
    assert second != first and {path.name for path in elsewhere.iterdir()} == {"decoder.cpp", second.name}


def test_without_a_compiler_torch_translates(elsewhere: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(elsewhere))
    monkeypatch.delenv("CXX", raising=False)
    assert build.main() == "no C++ compiler (c++, g++, clang++ or $CXX): torch translates instead of native code"
    broken = elsewhere / "broken"
    broken.write_text("#!/bin/sh\necho 'error: no such option' >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    assert "could not compile it (error: no such option); torch translates instead" in build.main()
    assert not list(elsewhere.glob("*.native"))
