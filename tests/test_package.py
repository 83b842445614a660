"""The public face."""

import subprocess
import sys

import regard


def test_public_names_are_these_and_work():
    assert sorted(regard.__all__) == [
        "RegardError",
        "__version__",
        "load",
        "register_activation",
        "register_format",
        "register_position_scheme",
    ]
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    assert dir(regard) == sorted(regard.__all__)


def test_importing_regard_imports_nothing_heavy():
    code = (
        "import sys, regard, regard.cli; print([m for m in ('torch', 'numpy', 'altair', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
