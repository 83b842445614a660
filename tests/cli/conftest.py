from tests.jobs.conftest import files

__all__ = ["files"]
