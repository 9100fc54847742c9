# Every target makes its own environment: python3 and make are all it takes.
PYTHON ?= python3
BIN := .venv/bin
# The tests run one process per core; one BLAS thread each keeps them from fighting.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: test test-integrations check format bench abuse study reproduce docs test-site build test-wheel clean

test: .venv/ready  ## the tests
	$(BIN)/pytest -n auto

test-integrations: .venv/integrations  ## tests with PyTorch, XGBoost, LightGBM, CPU builds, Dask and files
	$(BIN)/pytest tests/integrations src/kmpe/torch.py
	SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 $(BIN)/pytest tests/integrations/test_devices.py

# XGBoost without its GPU code, LightGBM, and the PyTorch of constraints.txt. SciPy and scikit-learn
# dispatch on arrays of other libraries where the environment says so before they are imported.
.venv/integrations: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt torch array-api-strict xgboost-cpu lightgbm
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dask,files]'
	touch $@

check: .venv/ready  ## all that must be green before a change lands
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --cov --cov-report=term

reproduce: .venv/ready  ## the paper's tables and figures, to out/report.html; ARGS=--quick: 4 minutes
	$(BIN)/kmpe reproduce $(ARGS)

format: .venv/ready  ## rewrite the files as the linter wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

bench: .venv/bench  ## every comparison in speed and memory; tables and plots in out/bench
	OPENBLAS_NUM_THREADS=$(shell nproc) $(BIN)/python -m benchmarks

.venv/bench: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

docs: .venv/docs  ## the site, to out/site/index.html; needs no network
	rm -rf out/site
	$(BIN)/sphinx-build -W --keep-going -q -b html -d out/doctrees docs out/site

test-site: docs  ## links, assets, pages in Chromium, the loss explorer beside kmpe
	$(BIN)/pytest -n auto docs

.venv/docs: .venv/integrations
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

build: .venv/build  ## wheel and sdist in dist, tried on the oldest and the newest Python here
	rm -rf dist build
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python tests/try_wheel.py dist

test-wheel: build  ## the tests, against the wheel in an empty environment
	$(BIN)/python tests/try_wheel.py dist --tests

.venv/build: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt build 'setuptools>=77'
	touch $@

abuse: .venv/ready  ## whatever users may bring, 200 000 fits in an hour or two; goes on when stopped
	$(BIN)/python -m benchmarks.abuse $(ARGS)

study: .venv/ready  ## coefficient errors over many noises, about twenty minutes; writes docs/noise.md
	$(BIN)/python benchmarks/noise_study.py --write docs

clean:  ## remove what the targets made
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage out build dist docs/api docs/gallery
