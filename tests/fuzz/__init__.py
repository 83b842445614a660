"""Damaged and hostile inputs for every reader, run folder, config, study, import and option.

    python -m tests.fuzz --count 5000                 (`make fuzz`)
    python -m tests.fuzz --seed 1 --only 1234         one case again, with its command and output

    seeds.py     valid inputs, made once by the program itself
    mutate.py    ways to damage bytes, text, JSON, TOML, weights and databases
    cases.py     a number -> a folder with one damaged input, and a command that reads it
    tables.py    commands, options, names and URLs that cases are drawn from
    runner.py    a command in a forked process with limits on memory and time, and the verdict

A case is a function of the seed and its number. What must hold: no traceback, no signal, no hang, no growth of memory
beyond 2 GB, no secret and no control character in what is printed.
"""
