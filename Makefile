# `make run` and `make test` need Python 3.11+ and nothing else; the environment lives in .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
USER_READY := $(VENV)/.user
DEV_READY := $(VENV)/.dev

.PHONY: help run test lint typecheck pytest bench figures clean

help:
	@echo "make run      set up and run the demo: Bi-ZOL against VZO on the tracking problem"
	@echo "make test     set up and run ruff, mypy --strict and pytest"
	@echo "make bench    set up and run the benchmarks: overhead, coverage of certificates"
	@echo "make figures  set up and redraw the pictures in docs/"
	@echo "make clean    remove the environment and caches"

run: $(USER_READY)
	@$(BIN)/bizol demo

test: lint typecheck pytest

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(DEV_READY)
	$(BIN)/mypy --strict

pytest: $(DEV_READY)
	$(BIN)/pytest --cov --cov-report=term-missing:skip-covered

bench: $(DEV_READY)
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/coverage.py

figures: $(DEV_READY)
	$(BIN)/bizol demo --plot docs/demo.svg

$(BIN)/python:
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "bizol needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)

$(USER_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(USER_READY)

clean:
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
