# On a bare clone every target sets up what it needs; it takes make and Python 3.11 or newer.
PYTHON ?= python3
ARGS ?=
LEVELS ?=
TORCH ?= 2.13.0
BIN := .venv/bin
DEMO := .venv/.stamp-demo
STAMP := .venv/.stamp
PEERS := .venv/.peers
DOCS := .venv-docs/.stamp
BLENDER := .venv-blender/.stamp

.DEFAULT_GOAL := help
.PHONY: help setup library demo test test-all test-slow test-gpu test-learning test-browser test-blender test-processors browser blender lint docs bench peers mutants fuzz recordings campaign wheel release-check clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## make .venv with everything that tests and benchmarks need

demo: $(DEMO) library ## make a recording, solve it, compare with the truth, write a report
	@$(BIN)/exactik demo $(ARGS)

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

library: $(DEMO) ## compile the kernels for this processor, unless that is done (ARGS="x86-64-v3 x86-64-v2" for others)
	@$(BIN)/python -m exactik.compile.aot $(if $(filter library,$(MAKECMDGOALS)),$(ARGS))

test: $(STAMP) library ## run the quick tests (ARGS="-k hessian" to choose)
	@$(PYTEST) $(ARGS)

test-all: $(STAMP) library ## run all tests but those that are slow, or need a browser or a GPU
	@$(PYTEST) -m "not slow and not browser" $(ARGS)

test-processors: $(STAMP) library ## run the quick tests as other processors do, with their BLAS and their instructions
	@$(BIN)/python -m exactik.compile.aot x86-64-v2
	@for processor in OPENBLAS_CORETYPE=Haswell OPENBLAS_CORETYPE=SkylakeX OPENBLAS_CORETYPE=Zen \
			EXACTIK_COMPILED=x86-64-v2; do \
		echo "$$processor:"; \
		env $$processor $(MAKE) --no-print-directory test || exit 1; \
	done

test-slow: $(STAMP) library ## run the slow tests
	$(BIN)/python -m pytest -m slow $(ARGS)

test-gpu: $(STAMP) ## run the tests that need a GPU of NVIDIA's
	$(BIN)/python -m pytest -m gpu $(ARGS)

test-learning: $(STAMP) library ## run the tests of gradients, with PyTorch and JAX, which this installs
	@$(BIN)/python -m pip install -qq --disable-pip-version-check jax 'torch==$(TORCH)'
	$(BIN)/python -m pytest tests/learning $(ARGS)

test-browser: $(STAMP) library browser ## pose and play in a real browser, with a mouse
	$(BIN)/python -m pytest -m browser $(ARGS)

test-blender: $(STAMP) library $(BLENDER) ## run the tests that need Blender, as the package bpy, which this installs
	@EXACTIK_BLENDER=$(CURDIR)/.venv-blender/bin/python $(BIN)/python -m pytest tests/rivals -k blender $(ARGS)

browser: ## install the Chromium of Debian's packages, unless it is there (or EXACTIK_CHROMIUM is set)
	@test -n "$$EXACTIK_CHROMIUM" || test -x /usr/bin/chromium || { \
		echo "Installing Chromium ..."; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core \
			>/dev/null; } || \
		{ echo "Install Chromium, or say where it is: make $(MAKECMDGOALS) EXACTIK_CHROMIUM=…" >&2; exit 1; }

lint: $(STAMP) ## check style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

docs: $(DOCS) ## build the documentation site into site/; fails on a broken link or anchor (ARGS=--serve to look at it)
	@.venv-docs/bin/python tools/site.py $(ARGS)

bench: $(PEERS) library ## run the benchmarks, beside other tools (ARGS=robots to choose)
	@$(BIN)/python -m benchmarks $(ARGS)

peers: $(STAMP) ## measure other tools, each in its own environment, and write docs/benchmarks.md
	@$(BIN)/python -m benchmarks.peers $(ARGS)

mutants: $(STAMP) library ## make faults in how recordings are solved and see which test notices (ARGS="--area solver", ARGS="tracking --only gaps")
	@$(BIN)/python tools/mutants.py $(ARGS)

fuzz: $(STAMP) ## damage files, meshes and whole scenes and see that each ends in a result or a sentence (ARGS="--only scene")
	@$(BIN)/python -m tests.support.fuzz_runs build/fuzz $(ARGS)

recordings: $(STAMP) library ## solve and judge every recording of a person in ../shared (ARGS=--spoiled)
	@$(BIN)/python tools/recordings.py --write $(ARGS)

campaign: $(STAMP) library ## solve 400 recordings with known truth, and see how far qualities and error bars hold (ARGS="--jobs 16")
	@$(BIN)/python tools/campaign.py --write $(ARGS)

wheel: $(STAMP) ## build a wheel for this kind of machine into dist/ and try it in a fresh environment (LEVELS="x86-64-v3 x86-64-v2")
	@rm -f dist/*.whl
	@EXACTIK_LEVELS="$(LEVELS)" $(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist .
	@$(BIN)/python tools/wheel_check.py dist/*.whl

blender: wheel ## pack the Blender extension, with the wheels that it needs, into dist/
	@$(BIN)/python extensions/blender/build.py dist/*.whl dist

release-check: $(STAMP) ## build sdist and wheel, check them, and install them into fresh environments of Python 3.11 to 3.13
	@$(BIN)/python tools/release_check.py $(ARGS)

clean: ## remove build outputs and caches, but not .venv
	rm -rf build dist site .pytest_cache .ruff_cache .hypothesis
	find src papers tests tools benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

# The package alone; everything else is added to the same .venv. What builds it is installed there as
# well, so that pip makes no environment for that, with a second Numba; and bytecode is made of what is
# imported, not of all.
$(DEMO): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "exactik needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "Setting up .venv ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --no-compile editables 'hatchling>=1.27'
	@$(PIP) --no-compile --no-build-isolation -e '.[jit]'
	@touch $@

$(STAMP): $(DEMO) papers/pyproject.toml
	@echo "Adding what tests and benchmarks need, which takes a minute or two the first time ..."
	@$(PIP) -e '.[dev]' -e papers
	@touch $@

$(PEERS): $(STAMP)
	@echo "Installing the tools that the benchmarks compare with ..."
	@$(PIP) -e '.[peers]' || \
		echo "Some could not be installed; their rows will be missing." >&2
	@touch $@

# Its Python is that of Blender, 3.11; and the checkout is installed beside it.
$(BLENDER): pyproject.toml
	@echo "Setting up .venv-blender with Blender's bpy, 0.4 GB ..."
	@$(PYTHON) -m venv .venv-blender
	@.venv-blender/bin/python -m pip install -qq --disable-pip-version-check 'bpy==4.5.*' -e . || { \
		echo "bpy 4.5 is for Python 3.11, and '$(PYTHON)' may be another: try make PYTHON=python3.11" >&2; \
		exit 1; }
	@touch $@

$(DOCS): pyproject.toml
	@echo "Setting up .venv-docs ..."
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install -qq --disable-pip-version-check $$($(PYTHON) -c \
		'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@
