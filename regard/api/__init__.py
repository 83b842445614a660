"""The public functions of Regard. `import regard` offers all of them as `regard.train`, `regard.load` …

Every command of the command line is one call here, and the command line makes that call. Functions take paths as
strings or `Path`s, raise `RegardError` for what the user can fix, and return frozen results that show themselves in a
notebook. Nothing is printed unless `progress=True`.
"""
