"""Small faults planted at random, to see whether the tests of their own room notice: `make mutants`.

`operators` lists the faults of a file, `sampling` draws some of a room by a seed, `baseline` finds which test executes
which line, `trial` runs those tests on each fault, `workshop` keeps what is known, `report` counts. CONTRIBUTING.md
says how to read the result.
"""
