# `make run` and `make test` need Python 3.11+ and nothing else; the environment lives in .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
USER_READY := $(VENV)/.user
DEV_READY := $(VENV)/.dev
BENCH_READY := $(VENV)/.bench
GALLERY_READY := $(VENV)/.gallery

.PHONY: help run test lint typecheck pytest bench measure record gallery clean

help:
	@echo "make run      set up and reproduce the paper's Section V into reproduction/ (index.html)"
	@echo "make test     set up and run ruff, mypy --strict and pytest"
	@echo "make bench    set up and run the benchmark against other solvers into peers/ (hours; it goes on where it was;"
	@echo "              with QUICK=1 a small form in a minute, into peers/quick/)"
	@echo "make measure  set up and measure: overhead, certificates, reproduction, queries needed, reliability, followers"
	@echo "make record   set up, reproduce from scratch, and make that the committed record and the table and figure in docs/"
	@echo "make gallery  set up, measure the examples and draw their pictures into docs/gallery/"
	@echo "make clean    remove the environment, the caches and reproduction/"

run: $(USER_READY)
	@$(BIN)/bizol reproduce --out reproduction

test: lint typecheck pytest

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(DEV_READY)
	$(BIN)/mypy --strict

# Two workers share the cores: more threads for linear algebra would only wait for each other.
pytest: $(DEV_READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile --cov --cov-report=term-missing:skip-covered

bench: OUT := peers$(if $(QUICK),/quick)
bench: $(BENCH_READY)
	$(BIN)/python -m benchmarks.peers.run --out $(OUT) $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.peers.profiles --runs $(OUT)/runs.jsonl --out $(OUT) $(if $(QUICK),--split all)

measure: $(DEV_READY)
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/reproduction.py
	$(BIN)/python -m benchmarks.queries
	$(BIN)/python -m benchmarks.reliability
	$(BIN)/python -m benchmarks.followers

record: $(DEV_READY)
	rm -rf reproduction
	$(BIN)/bizol reproduce --out reproduction
	$(BIN)/bizol reproduce --quick --out reproduction/quick
	$(BIN)/python -m bizol.reproduction.record reproduction/record.json reproduction/quick/record.json
	cp reproduction/figures/figure-4.svg reproduction/tables/table-1.md docs/

gallery: $(GALLERY_READY)
	$(BIN)/python -m benchmarks.gallery --pictures docs/gallery
	$(BIN)/python -m benchmarks.gallery

$(BIN)/python:
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "bizol needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)

$(USER_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plots]"
	@touch $@

$(DEV_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(USER_READY)

$(BENCH_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

$(GALLERY_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[gallery]"
	@touch $@

clean:
	rm -rf $(VENV) reproduction .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
