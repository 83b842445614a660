import ast

from scripts.mutants.operators import faults
from scripts.mutants.sampling import describe

SOURCE = b'''"""A docstring with 3 numbers."""

__all__ = ["f"]
LIMIT: int = 5


class Box:
    @property
    def size(self) -> int:
        return self.a[0] + 1

    @size.setter
    def size(self, n: "int" = 2) -> None:
        self.a = n


def f(x, y):
    """Another one, 7."""
    if x < y and not x:
        raise ValueError(f"\xc3\xa9 {x + 1}", x - 1)
    return g(max(x, 2), y.detach(), key=True)
'''


def after(function: str) -> set[str]:
    return {describe(fault, SOURCE)[1] for fault in faults("f.py", SOURCE) if fault.function == function}


def test_every_fault_is_a_program_that_differs():
    tree = ast.dump(ast.parse(SOURCE))
    for fault in faults("f.py", SOURCE):
        assert ast.dump(ast.parse(fault.apply(SOURCE))) != tree


def test_the_faults_of_a_function():
    assert after("f") == {
        "if (x <= y) and not x:",
        "if (x >= y) and not x:",
        "if (x < y or not x):",
        "if x < y and x:",
        "if (not (x < y and (not x))):",
        'raise ValueError(x - 1, f"é {x + 1}")'.replace('f"é', "f'é").replace('1}"', "1}'"),
        'raise ValueError(f"é {x + 1}", (x + 1))',
        'raise ValueError(f"é {x + 1}", x - 2)',
        'raise ValueError(f"é {x + 1}", x - 0)',
        "pass",
        "return g(y.detach(), max(x, 2), key=True)",
        "return g(max(x, 2), y.detach())",
        "return g(min(x, 2), y.detach(), key=True)",
        "return g(max(x, 3), y.detach(), key=True)",
        "return g(max(x, 1), y.detach(), key=True)",
        "return g(max(x, 2), y, key=True)",
        "return g(max(x, 2), y.detach(), key=False)",
    }


def test_a_property_and_its_setter_are_two():
    places = {
        (fault.occurrence, describe(fault, SOURCE)[0]) for fault in faults("f.py", SOURCE) if "." in fault.function
    }
    assert places == {(0, "return self.a[0] + 1"), (1, "self.a = n")}


def test_what_runs_at_import_belongs_to_no_function():
    assert after("") == {
        "LIMIT: int = 6",
        "LIMIT: int = 4",
        'def size(self, n: "int" = 3) -> None:',
        'def size(self, n: "int" = 1) -> None:',
    }
