# Every target builds .venv first when it is missing or when its recipe (pyproject.toml,
# constraints.txt) changed; otherwise the environment is left alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PACKAGE := build/package

.PHONY: help setup demo test test-slow test-again test-spark fuzz docs check bench lint results-pages package clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## build .venv with everything pinned in constraints.txt

# The stamp is written last, so an interrupted installation is taken up again.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mixpul needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# PIP_CONSTRAINT rather than -c: it also pins what builds the package.
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## AutoPU, MixPUL and rivals on a bundled data set; prints a leaderboard, writes a figure and a report
	$(BIN)/mixpul demo

test: check  ## what CI runs

check: lint  ## format, lint, types and tests
	$(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --max-worker-restart 2 --dist loadfile

test-slow: $(STAMP)  ## tests against the real thing that take minutes; CI runs them after `make test`
	$(BIN)/python -m pytest -m slow --numprocesses logical --maxprocesses 4 --max-worker-restart 2 --dist loadfile

test-again: $(STAMP)  ## those that failed last time, one after the other; CI tries them once more
	$(BIN)/python -m pytest -m "not spark" --last-failed --last-failed-no-failures none

test-spark: $(STAMP)  ## scoring on Spark and Ray; installs both (500 MB), and needs Java 17
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,ray,spark]'
	$(BIN)/python -m pytest -m spark tests

fuzz: $(STAMP)  ## damaged and forged model files, strange tables, broken images, for about an hour
	$(BIN)/python tests/fuzz_files.py
	$(BIN)/python tests/fuzz_tables.py

docs: $(STAMP)  ## the site, with its examples run and its links checked: build/docs/html/index.html
	$(BIN)/python docs/build_site.py build/docs

lint: $(STAMP)  ## format, lint and types only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)  ## speed as ratios measured in one run, peers, priors, then the quality table (long)
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/miners.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/parallel.py
	$(BIN)/python benchmarks/waiting.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/priors.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/suite.py --show
	$(BIN)/python benchmarks/quality.py

results-pages: $(STAMP)  ## README table and docs/results.md from the committed results
	$(BIN)/python benchmarks/quality.py --write

package:  ## wheel and sdist; checks both and runs the demo from each in an empty environment
	rm -rf dist $(PACKAGE)
	$(PYTHON) -m venv $(PACKAGE)/tools
	$(PACKAGE)/tools/bin/python -m pip install --quiet --disable-pip-version-check build twine
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(PACKAGE)/tools/bin/python -m build
	$(PACKAGE)/tools/bin/twine check --strict dist/*
	for file in dist/*; do \
	  $(PYTHON) -m venv --clear $(PACKAGE)/empty && \
	  PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(PACKAGE)/empty/bin/python -m pip install --quiet --disable-pip-version-check $$file && \
	  $(PACKAGE)/empty/bin/mixpul --version && \
	  $(PACKAGE)/empty/bin/mixpul demo --out $(PACKAGE)/demo || exit 1; \
	done

clean:  ## remove .venv, caches and what the demo wrote
	rm -rf $(VENV) build dist mixpul-demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
