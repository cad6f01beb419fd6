# Both commands that a stranger needs are here: `make demo` and `make test`. They make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SANITIZED := .venv-sanitized
REFERENCES := .venv-references
PYLATE := .venv-pylate
FRAMEWORKS := .venv-frameworks
TRAINING := .venv-train
# One process a core; a file's tests stay together, because they share what is slow to make.
IN_PARALLEL := --numprocesses auto --dist loadfile

NATIVE := $(wildcard native/*/*) CMakeLists.txt pyproject.toml
# An editable installation knows the modules that were there when it was made; a folder changes when one comes or goes.
FOLDERS := $(shell find src -type d -not -name __pycache__)

.PHONY: demo test test-train test-all test-parity test-forged lint sanitize wheel clean
.PHONY: bench-environments bench-token-search bench-growth bench-fixed
.PHONY: bench-encode bench-encode-memory bench-int8-quality bench-updates bench-lexical bench-dense bench-hybrid bench-small-adds bench-training bench-cross-search bench-pair-scoring

DATA ?= ../shared/data
BENCH := .bench
BENCH_PYTHON := $(BENCH)/envs/asterism/bin/python

demo: $(VENV)/.installed
	$(BIN)/asterism demo --to build/stdlib.ast

test: lint
	$(BIN)/python -m pytest $(IN_PARALLEL) -m "not slow and not reference"

# Training has an environment of its own: everything else must work without torch.
test-train: $(TRAINING)/.installed
	$(TRAINING)/bin/python -m pytest $(IN_PARALLEL) tests/training

# torch first: this version has a CPU wheel, others bring gigabytes for GPUs.
$(TRAINING)/.installed: $(NATIVE) $(FOLDERS)
	$(PYTHON) -m venv $(TRAINING)
	$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[train,dev]"
	touch $@

test-all: lint sanitize test-forged test-parity test-train
	$(BIN)/python -m pytest $(IN_PARALLEL) -m "not reference"

# Our encoders against the published libraries themselves, of which `make test` has golden outputs, and our adapters
# inside theirs. PyLate needs another torch, so that its own environment repeats the tests that need it. LangChain and
# LlamaIndex need no torch; half of LangChain's own suites is asynchronous.
test-parity: $(REFERENCES)/.installed $(PYLATE)/.installed $(FRAMEWORKS)/.installed
	HF_HUB_OFFLINE=1 $(REFERENCES)/bin/python -m pytest -m reference
	HF_HUB_OFFLINE=1 $(PYLATE)/bin/python -m pytest -m reference -k pylate
	HF_HUB_OFFLINE=1 $(FRAMEWORKS)/bin/python -m pytest -m reference tests/unit/adapters tests/docs \
	--asyncio-mode auto --override-ini asyncio_default_fixture_loop_scope=function

$(REFERENCES)/.installed $(PYLATE)/.installed $(FRAMEWORKS)/.installed: $(wildcard tests/parity/requirements-*.txt) $(NATIVE) $(FOLDERS)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
	--requirement tests/parity/requirements-$(patsubst .venv-%,%,$(@D)).txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Editable: Python files count at once, a change of native code builds again.
$(VENV)/.installed: $(BIN)/python $(NATIVE) $(FOLDERS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

# The same tests on code that watches its own memory accesses. In one process, and nothing between it and the terminal: a
# finding ends the process and must be read.
sanitize: $(SANITIZED)/.installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/bin/python -m pytest --capture sys -m "not slow and not reference" -p no:cacheprovider \
	tests/unit tests/parity tests/property tests/faults \
	--ignore tests/unit/encoders --ignore tests/unit/evaluation --ignore tests/parity/test_encoders_equal_references.py \
	--ignore tests/parity/test_default_model.py --ignore tests/unit/retriever \
	--ignore tests/unit/cli --ignore tests/unit/models --ignore tests/unit/adapters \
	--ignore tests/faults/test_killed_writers.py --ignore tests/faults/test_hostile_checkpoints.py

# Indexes with other content and right checksums, on the same code: about twenty minutes.
FORGED ?= 5000
test-forged: $(SANITIZED)/.installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	$(SANITIZED)/bin/python -m tests.faults.run_forgeries build/forged $(FORGED) 1

$(SANITIZED)/.installed: $(NATIVE) $(shell find src/asterism -name "*.py")
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]" \
	--config-settings=cmake.define.ASTERISM_SANITIZE=ON --config-settings=build-dir=build/sanitized
	touch $@

# A wheel in dist/ for each Python, tested where no compiler is: make wheel PYTHONS="python3.10 python3.13".
PYTHONS ?= $(PYTHON)
wheel:
	$(PYTHON) scripts/build_wheels.py $(PYTHONS)

# What the papers claim, on trained models: at most 90 minutes each.
experiments-%: $(TRAINING)/.installed
	$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check matplotlib
	$(TRAINING)/bin/python experiments/$*/run.py --data $(DATA) --work build/experiments

# Benchmarks: the peers' environments take several GB, the whole comparison about two hours.
bench-environments:
	benchmarks/peers/setup.sh $(BENCH)/envs

bench-token-search: bench-environments
	$(BENCH_PYTHON) benchmarks/token_search.py --data $(DATA) --work $(BENCH)

$(BENCH_PYTHON):
	benchmarks/peers/setup.sh $(BENCH)/envs asterism

bench-growth: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/token_growth.py --vectors $(BENCH)/vectors --work $(BENCH)

bench-encode: bench-environments
	$(BENCH_PYTHON) benchmarks/encode.py --data $(DATA) --work $(BENCH)

bench-encode-memory: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/encode_memory.py --data $(DATA)

bench-int8-quality: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/int8_quality.py --data $(DATA)

bench-updates: $(BENCH_PYTHON)
	$(BENCH)/envs/asterism/bin/asterism index $(DATA)/debian_desc_en --to $(BENCH)/debian.ast
	$(BENCH_PYTHON) benchmarks/updates.py --index $(BENCH)/debian.ast --data $(DATA)/debian_desc_en --extra $(DATA)/scifact

# The first time most of it is encoding.
bench-dense: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/dense.py --data $(DATA) --work $(BENCH)

# Most of the first run is encoding the documents.
bench-hybrid: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/hybrid.py --data $(DATA)/insuranceqa_en --work $(BENCH)

bench-small-adds: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/small_adds.py

bench-pair-scoring:
	benchmarks/peers/setup.sh $(BENCH)/envs asterism encode
	$(BENCH_PYTHON) benchmarks/pair_scoring.py --data $(DATA) --work $(BENCH)

bench-cross-search: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/cross_search.py

bench-fixed: $(BENCH_PYTHON)
	$(BENCH_PYTHON) benchmarks/fixed_vectors.py --vectors $(BENCH)/vectors --work $(BENCH)

# Seismic alone takes ten minutes to build. At a million documents: add --documents 1000000.
bench-lexical:
	benchmarks/peers/setup.sh $(BENCH)/envs lexical
	$(BENCH)/envs/lexical/bin/python benchmarks/lexical.py --data $(DATA) --work $(BENCH)

bench-training:
	benchmarks/peers/setup.sh $(BENCH)/envs training pylate-training
	$(BENCH)/envs/training/bin/python benchmarks/training.py --data $(DATA) --work $(BENCH)

clean:
	rm -rf $(VENV) $(SANITIZED) $(REFERENCES) $(PYLATE) $(FRAMEWORKS) $(TRAINING) build dist
