# One command is enough on a machine with Python >= 3.11: every target makes .venv when it is
# missing and installs what it needs into it, and no more. `make` alone lists the targets.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := src tests benchmarks paper docs

# Each test worker gets one BLAS thread: two workers with two threads each would fight for cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install chromium lint types tests test coverage lower core wheel docs linkcheck renew \
        bench reproduce benchmark paper demo format clean

help:
	@echo "make demo       compare two groups of patients (built-in data) and write a report"
	@echo "make test       lint, types, every test and every example in docstrings and docs"
	@echo "make coverage   the tests with branch coverage, as text and in htmlcov/"
	@echo "make docs       the documentation site in docs/_build/html, warnings are errors"
	@echo "make renew      write the outputs of all examples again, as the code prints them now"
	@echo "make linkcheck  ask every address outside that the documentation names"
	@echo "make lower      the tests with the oldest dependencies allowed"
	@echo "make core       the library without its extras: it imports, compares arrays, and says"
	@echo "                which extra is missing for the rest"
	@echo "make wheel      build wheel and sdist, check them, install and run the wheel elsewhere"
	@echo "make bench      run every script in benchmarks/, one after the other"
	@echo "make reproduce  the paper's tables and figures again, in paper/out (COSPAN_DATA: MNIST)"
	@echo "make benchmark  the angle beside six classifiers on real tables (hours); results are kept"
	@echo "make paper      kept results into paper/angle.md: tables and figures"
	@echo "make format     let ruff sort imports, fix and lay out the code"
	@echo "make install    .venv with everything that work on cospan needs"
	@echo "make clean      remove virtual environments, caches and built files"

# ---- environments --------------------------------------------------------------------------------
# A stamp for each group of extras: `make demo` must not wait for what only the tests need.

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cospan needs Python >= 3.11; say which one with: make test PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.has-%: pyproject.toml | .venv/bin/python
	$(PIP) -e '.[$*]'
	touch $@

# Nothing is compiled ahead: what the demo imports is compiled as it is imported.
.venv/.has-demo: pyproject.toml | .venv/bin/python
	$(PIP) --no-compile -e '.[demo]'
	touch $@

install: .venv/.has-dev

# ---- checks --------------------------------------------------------------------------------------

# The report is tested in a real browser. Debian's packages are fetched where that is allowed.
chromium:
	@if command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  { apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      chromium chromium-driver >/dev/null; } || \
	  echo "chromium could not be installed: the tests that need a browser will be skipped"; \
	else \
	  echo "chromium and chromedriver are missing and apt-get may not be used here:" \
	       "the tests that need a browser will be skipped"; \
	fi

lint: .venv/.has-lint
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: .venv/.has-lint .venv/.has-test
	$(BIN)/mypy

PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS)
EVERYTHING := --doctest-glob='*.md' tests src docs $(wildcard *.md)

tests: .venv/.has-test chromium
	$(PYTEST) $(EVERYTHING)

# One after the other also under make -j: a lint error should show before ten minutes of tests.
test:
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types
	$(MAKE) --no-print-directory tests

coverage: .venv/.has-test chromium
	$(PYTEST) --cov --cov-branch --cov-report=term --cov-report=html $(EVERYTHING)

# The oldest versions that pyproject.toml allows, in an environment of their own. The scripts of
# paper/ are no part of the package and ask for a newer scikit-learn.
lower:
	test -x .venv-lower/bin/python || $(PYTHON) -m venv .venv-lower
	.venv-lower/bin/python tests/lower_bounds.py > .venv-lower/pins.txt
	.venv-lower/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r .venv-lower/pins.txt
	.venv-lower/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(ONE_THREAD) .venv-lower/bin/python -m pytest -q -n $(WORKERS) tests --ignore=tests/test_paper.py

# Without extras, from the wheel, outside the repository.
core: build/wheel/built
	rm -rf build/core && $(PYTHON) -m venv build/core
	build/core/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cd build/core && $(ONE_THREAD) bin/python -W error $(CURDIR)/tests/without_extras.py

# ---- what is published ---------------------------------------------------------------------------

build/wheel/built: pyproject.toml $(shell find src -type f -not -name '*.pyc' 2>/dev/null) | .venv/bin/python
	$(PIP) 'build>=1.2' 'twine>=6.0'
	rm -rf build/wheel && $(BIN)/python -m build --outdir build/wheel .
	$(BIN)/python -m twine check --strict build/wheel/*.whl build/wheel/*.tar.gz
	touch $@

wheel: build/wheel/built
	rm -rf build/elsewhere && $(PYTHON) -m venv build/elsewhere
	build/elsewhere/bin/python -m pip install --quiet --disable-pip-version-check \
	  "$$(ls build/wheel/*.whl)[app]"
	cd build/elsewhere && bin/cospan --version && bin/cospan demo -o demo.html --quiet

# Warnings are errors (-W), and all of them are shown before it ends (--keep-going).
docs: .venv/.has-docs
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

linkcheck: .venv/.has-docs
	$(ONE_THREAD) $(BIN)/python -m sphinx -b linkcheck -q docs docs/_build/linkcheck

renew: .venv/.has-test
	$(ONE_THREAD) $(BIN)/python docs/renew.py

# ---- the rest ------------------------------------------------------------------------------------

bench: .venv/.has-bench
	set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script; done

reproduce: .venv/.has-bench
	set -e; for script in reproduce embeddings sensitivity; do \
	  echo "== paper/$$script.py"; $(BIN)/python paper/$$script.py; done

# What is kept in paper/results is not run again. HALF=evaluation is for once, at the end.
HALF ?= design

benchmark: .venv/.has-bench
	$(ONE_THREAD) $(BIN)/python paper/benchmark.py --half $(HALF)
	$(ONE_THREAD) $(BIN)/python paper/audit.py

paper: .venv/.has-bench
	$(BIN)/python paper/write_up.py

demo: .venv/.has-demo
	$(BIN)/cospan demo

format: .venv/.has-lint
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:
	rm -rf .venv .venv-lower .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* htmlcov \
	  build dist out paper/out docs/_build docs/api docs/gallery_built docs/sg_execution_times.rst
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
