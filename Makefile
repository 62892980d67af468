# One command is enough on a machine with Python >= 3.11: every target makes .venv when it is
# missing and installs the package with everything its tests need.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
STAMP := .venv/.installed
SOURCES := src tests benchmarks

# Each test worker gets one BLAS thread: two workers with two threads each would fight for cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help install chromium lint types tests test lower bench demo format clean

help:
	@echo "make test    lint, types, every test and every example in docstrings and docs"
	@echo "make lower   the tests with the oldest dependencies allowed"
	@echo "make bench   run every script in benchmarks/, one after the other"
	@echo "make demo    compare two digits of the built-in data set and write a report"
	@echo "make format  let ruff sort imports, fix and lay out the code"
	@echo "make clean   remove the virtual environment and every cache"

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cospan needs Python >= 3.11; say which one with: make test PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

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

lint: $(STAMP)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP) chromium
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --doctest-glob='*.md' \
	  tests src docs $(wildcard *.md)

# One after the other also under make -j: a lint error should show before ten minutes of tests.
test: $(STAMP)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types
	$(MAKE) --no-print-directory tests

# The oldest versions that pyproject.toml allows, in an environment of their own.
lower:
	test -x .venv-lower/bin/python || $(PYTHON) -m venv .venv-lower
	.venv-lower/bin/python tests/lower_bounds.py > .venv-lower/pins.txt
	.venv-lower/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r .venv-lower/pins.txt
	.venv-lower/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(ONE_THREAD) .venv-lower/bin/python -m pytest -q -n $(WORKERS) tests

bench: $(STAMP)
	set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script; done

demo: $(STAMP)
	$(BIN)/cospan demo

format: $(STAMP)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:
	rm -rf .venv .venv-lower .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist out
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
