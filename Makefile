# Needs python3 (3.11 or newer), make and a package index. Everything else goes into .venv.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-portable test-oldest test-newest dist bench liquidsvm docs lint format clean FORCE

BIN := .venv/bin
PYTHON := python3
SPREAD := -n auto --maxprocesses=4 --dist loadgroup
NUMERICAL := $(addprefix tests/,core kernels grams machines criteria searches)
# One BLAS thread per test process: the processes share the cores.
RUN := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

demo: .venv/.has-demo  ## tune the embedded data, print a table, write report.html
	$(BIN)/foldless demo

test: .venv/.has-dev  ## every law, and the examples in the docstrings
	$(RUN) $(BIN)/python -m pytest -q $(SPREAD)

test-portable: .venv/.has-dev  ## the numerical tests with the BLAS kernels of four kinds of processors
	$(BIN)/python .ci/portable.py $(SPREAD) $(NUMERICAL)

test-oldest:  ## every test with the oldest versions that pyproject.toml allows, in .venv-oldest
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) .ci/lower_bounds.py > .venv-oldest/lower_bounds.txt
	.venv-oldest/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv-oldest/bin/python -m pip install -q --disable-pip-version-check -c .venv-oldest/lower_bounds.txt -e '.[cli,report,dask]' --group test
	$(RUN) .venv-oldest/bin/python -m pytest -q $(SPREAD)

test-newest:  ## every test with the newest versions of everything, in .venv-newest; PYTHON=python3.13 chooses another Python
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv-newest/bin/python -m pip install -q --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[cli,report,dask]' --group test
	$(RUN) .venv-newest/bin/python -m pytest -q $(SPREAD)

dist: .venv/.has-dev  ## build wheel and sdist, install each elsewhere, try them
	.ci/dist $(BIN)/python

bench: .venv/.has-bench  ## measure a table: make bench TABLE=speed DATA=DIR; without TABLE, list them
	$(BIN)/python -m bench $(or $(TABLE),--list) $(if $(DATA),--data "$(DATA)") $(OPTIONS)

liquidsvm:  ## the environment of one contender of the bench, .venv-liquidsvm
	$(PYTHON) -m venv --clear .venv-liquidsvm
	.venv-liquidsvm/bin/python -m pip install -q --disable-pip-version-check numpy 'setuptools<80' wheel
	.venv-liquidsvm/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation liquidSVM

docs: .venv/.has-docs  ## the manual, in docs/_build/html
	$(RUN) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

lint: .venv/.has-dev  ## layout, likely bugs, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.has-dev  ## rewrite the layout
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

clean:  ## remove the environment, caches and what was built
	rm -rf .venv .venv-liquidsvm .venv-oldest .venv-newest .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist docs/_build docs/auto_examples docs/generated docs/reference.rst report.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. .venv/.home names this directory once an installation is complete, and is absent while one
# runs: an interrupted or moved environment is therefore recognised, and made again from nothing.
ifneq ($(shell cat .venv/.home 2>/dev/null),$(CURDIR))
.venv/.has-demo .venv/.has-dev .venv/.has-docs .venv/.has-bench: FORCE
endif

EXTRAS := cli,report,dask
.venv/.has-demo: EXTRAS := cli,report
# Groups of pyproject.toml need pip 25.1; the demo has none, and takes any pip.
.venv/.has-dev: GROUP := dev
.venv/.has-docs: GROUP := docs
.venv/.has-bench: GROUP := bench
.venv/.has-demo .venv/.has-dev .venv/.has-docs .venv/.has-bench: pyproject.toml
	@python3 -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("foldless needs Python 3.11 or newer; python3 is %d.%d. Put a newer python3 first on PATH." % v[:2])'
	@[ "$$(cat .venv/.home 2>/dev/null)" = "$(CURDIR)" ] && $(BIN)/python -c '' 2>/dev/null || python3 -m venv --clear .venv
	@echo "installing foldless[$(EXTRAS)]$(if $(GROUP), and the group $(GROUP)) into .venv (once; again when pyproject.toml changes)"
	@rm -f .venv/.home
	$(if $(GROUP),$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1')
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[$(EXTRAS)]' $(if $(GROUP),--group $(GROUP))
	@touch $@ $(if $(filter %-dev %-docs %-bench,$@),.venv/.has-demo)
	@printf '%s\n' "$(CURDIR)" > .venv/.home
