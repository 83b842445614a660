"""The scripts of benchmarks/ are run from their folder, so its modules are imported by their own names."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "benchmarks"))
