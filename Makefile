# All set-up is included in every target: python3, a JDK and the package registries are all that a machine needs.
PYTHON ?= python3
SERVE ?= 1
# Options of `sinkrank evaluate`: make evaluate EVALUATE='--directions fi-en --queries first20'
EVALUATE ?=
# Options of the papers' suite: make papers PAPERS=--quick; --help lists them
PAPERS ?=
# A vulnerability database, and lock files if not all: make audit AUDIT=path/to/osv/all.zip
AUDIT ?=
# Options of the campaign: make campaign CAMPAIGN='--only kills soak --scale 0.1'; --help lists them
CAMPAIGN ?=
# Options of the benchmark: make bench BENCH='--vocabulary 20000 500000 --rounds 15'; --help lists them
BENCH ?=
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo evaluate papers bench campaign lint check test conformance site sbom audit format lock clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sinkrank needs Python 3.11 or later; name one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

# uv installs in seconds what takes pip half a minute, from the same index. Where uv fails, pip installs.
LOCKED := --quiet --no-deps --require-hashes -r
.venv/.uv: requirements-install.lock | .venv/bin/python
	-@$(BIN)/python -m pip install $(LOCKED) requirements-install.lock
	@touch $@

# $(call install,environment,options). All is compiled here, as pip does it: a command starts in half the time, and tests,
# which take warnings for errors, do not meet those of compiling.
define install
index=$${PIP_INDEX_URL:-$$($(1)/bin/python -m pip config get global.index-url 2>/dev/null)}; \
  UV_COMPILE_BYTECODE=1 $(BIN)/uv pip install --native-tls --no-config --python $(1)/bin/python $${index:+--default-index "$$index"} $(2) 2>/dev/null || \
  $(1)/bin/python -m pip install $(2)
endef

# The install compiles the C library too, and does so again where a source is newer.
NATIVE := hatch_build.py $(wildcard reranker/native/*.[ch] reranker/native/*/*.[ch]) reranker/native/compiling.py

.venv/.runtime: requirements.lock pyproject.toml $(NATIVE) .venv/.uv
	@$(call install,.venv,$(LOCKED) requirements.lock)
	@$(call install,.venv,--quiet --no-deps --editable .)
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.runtime
	@$(call install,.venv,$(LOCKED) requirements-dev.lock)
	@touch $@

demo: .venv/.runtime ## Fetch real pages, build, search, serve (SERVE=0 stops after the searches)
	@$(BIN)/sinkrank demo $(if $(filter 0,$(SERVE)),--no-serve)

evaluate: .venv/.runtime ## Measure every method on held-out pages (some ten minutes)
	@$(BIN)/sinkrank evaluate $(EVALUATE)

papers: .venv/.dev ## Measure every system of the papers (80 minutes; PAPERS=--quick takes two)
	@$(BIN)/python -m papers $(PAPERS)

# The peers have an environment of their own: what they need must not meet the tests.
.venv/bench/.ready: requirements-bench.lock pyproject.toml .venv/.uv
	@$(PYTHON) -m venv .venv/bench
	@$(call install,.venv/bench,$(LOCKED) requirements-bench.lock)
	@$(call install,.venv/bench,--quiet --no-deps --editable .)
	@touch $@

bench: .venv/bench/.ready ## Time the transport beside its peers (some ten minutes)
	@.venv/bench/bin/python -m benchmarks.rerank $(BENCH)

campaign: .venv/.dev ## Kills, hostile input, failing engines, for an hour; report in build/
	@mkdir -p build
	@$(BIN)/python -m campaign --report build/campaign.md $(CAMPAIGN)

# tests/groups.py: tests of one engine stay in one process, so that it is started once, and long groups come first.
# tests/collection.py: the processes share the bytecode that they write, also where the shell tells Python to write none.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q --dist loadscope --no-loadscope-reorder -n

# mypy compares the sources themselves: a fresh clone is checked in seconds by what was kept of another.
MYPY_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sinkrank/mypy

lint: .venv/.dev ## Lint, format, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --cache-dir "$(MYPY_CACHE)"
	$(BIN)/lint-imports --no-logo

check: lint ## Lint and unit tests, some two minutes
	$(PYTEST) 2 -m unit

# Three processes for two cores: who tests an engine waits for it at times.
test: lint ## All but conformance, with real engines, some six minutes
	$(PYTEST) 3 -m "not conformance"

conformance: .venv/.dev ## Test suites and clients of others, every engine (an hour)
	$(PYTEST) 3 -m conformance

site: .venv/.dev ## Build the documentation into build/site
	$(BIN)/sphinx-build -W --keep-going -q docs build/site

sbom: .venv/.dev ## List the dependencies as CycloneDX JSON, into build/sinkrank.cdx.json
	@$(BIN)/python -m supply_chain.sbom build/sinkrank.cdx.json

audit: .venv/.dev ## Look for known vulnerabilities in an OSV database (AUDIT=folder or zip), offline
	@$(BIN)/python -m supply_chain.audit $(AUDIT)

format: .venv/.dev ## Rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/.dev ## Resolve the dependencies anew into the lock files
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --no-annotate --extra evaluation --extra exact --extra otel --extra words --extra zstd pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --no-annotate -c requirements.lock --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --no-annotate -c requirements.lock --group bench pyproject.toml -o requirements-bench.lock
	echo uv | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --no-annotate -c requirements-dev.lock - -o requirements-install.lock

clean: ## Remove the environment, what the demo made, and what tools and builds have left
	rm -rf .venv .sinkrank build dist reranker/native/*.so papers/systems/*.so *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage
	find . -name .git -prune -o -name node_modules -prune -o -type d -name __pycache__ -exec rm -rf {} +
