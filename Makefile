# All set-up is included in every target: python3, a JDK and the package registries are all that a machine needs.
PYTHON ?= python3
SERVE ?= 1
# Options of the measurement on held-out pages: make evaluate EVALUATE='--directions fi-en --queries first20'
EVALUATE ?=
# Options of the papers' suite: make papers PAPERS=--quick; --help lists them
PAPERS ?=
# Options of pip-audit: make audit AUDIT='--vulnerability-service osv'
AUDIT ?=
# Options of the campaign: make campaign CAMPAIGN='--only kills soak --scale 0.1'; --help lists them
CAMPAIGN ?=
# Options of uv pip compile: make lock LOCK=--upgrade
LOCK ?=
# Options of the benchmark: make bench BENCH='--vocabulary 20000 500000 --rounds 15'; --help lists them
BENCH ?=
BIN := .venv/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo pictures evaluate papers bench campaign wheels release lint check test conformance site sbom audit format lock clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sinkrank needs Python 3.11 or later; name one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

# What each environment needs of requirements.lock: extras, groups or packages (deploy/locked.py).
.venv/uv.txt: NAMES := uv
.venv/runtime.txt: NAMES := base demo exact words
.venv/dev.txt: NAMES := dev
.venv/wheels.txt: NAMES := wheels
# What Sinkrank itself is built with: pip and uv would fetch the latest of it, without hashes.
.venv/build.txt: NAMES = hatchling $(shell $(PYTHON) -c \
  'from reranker.native.compiling import machine_compiler; print("" if machine_compiler() else "ziglang")')
.venv/%.txt: requirements.lock pyproject.toml deploy/locked.py | .venv/bin/python
	@$(BIN)/python deploy/locked.py $(NAMES) > $@

# Seconds without an answer. pip waits 15 and uv 10 for a connection, which is too short for some proxies.
export PIP_DEFAULT_TIMEOUT ?= 60
export UV_HTTP_TIMEOUT ?= 60
export UV_HTTP_CONNECT_TIMEOUT ?= 60

# uv installs in seconds what takes pip half a minute, from the same index. Where uv fails, pip installs.
LOCKED := --quiet --no-deps --require-hashes -r
.venv/.uv: .venv/uv.txt
	@echo "installing uv into .venv …" >&2
	-@$(BIN)/python -m pip install $(LOCKED) $<
	@touch $@

# $(call install,environment,options,name for messages). All is compiled here, as pip does it: a command starts in half
# the time, and tests, which take warnings for errors, do not meet those of compiling.
define install
echo "installing $(3) into $(1) …" >&2; index=$${PIP_INDEX_URL:-$$($(1)/bin/python -m pip config get global.index-url 2>/dev/null)}; \
  UV_COMPILE_BYTECODE=1 $(BIN)/uv pip install --system-certs --no-config --python $(1)/bin/python $${index:+--default-index "$$index"} $(2) 2>/dev/null || \
  $(1)/bin/python -m pip install $(2) || \
  { echo "could not install $(3): check the network, and HTTPS_PROXY and PIP_INDEX_URL if you need them; then run make again" >&2; exit 1; }
endef

# $(call install_sinkrank,environment)
define install_sinkrank
$(call install,$(1),$(LOCKED) .venv/build.txt,what Sinkrank is built with); \
  $(call install,$(1),--quiet --no-deps --no-build-isolation --editable .,Sinkrank)
endef

# The install compiles the C library too, and does so again where a source is newer.
NATIVE := hatch_build.py $(wildcard reranker/native/*.[ch] reranker/native/*/*.[ch]) reranker/native/compiling.py

.venv/.runtime: .venv/runtime.txt .venv/build.txt pyproject.toml $(NATIVE) .venv/.uv
	@$(call install,.venv,$(LOCKED) $<,$$(grep -c == $<) packages)
	@$(call install_sinkrank,.venv)
	@touch $@

.venv/.dev: .venv/dev.txt .venv/.runtime
	@$(call install,.venv,$(LOCKED) $<,$$(grep -c == $<) packages for development)
	@touch $@

demo: .venv/.runtime ## Fetch real pages, build, search, serve (SERVE=0 stops after the searches)
	@$(BIN)/sinkrank demo $(if $(filter 0,$(SERVE)),--no-serve)

pictures: .venv/.dev ## Take the README's pictures of the page, from the demo (needs Chromium)
	@$(BIN)/sinkrank demo --no-serve
	@$(BIN)/python -m tests.support.browser.screenshots --home .sinkrank

evaluate: .venv/.dev ## Measure every method on held-out pages (some ten minutes)
	@$(BIN)/python -m papers.held_out $(EVALUATE)

papers: .venv/.dev ## Measure every system of the papers (80 minutes; PAPERS=--quick takes two)
	@$(BIN)/python -m papers $(PAPERS)

bench: .venv/.runtime ## Time the transport beside its peers (some ten minutes)
	@$(BIN)/python -m benchmarks.rerank $(BENCH)

# Zig's compiler takes 440 MB, so all checkouts share it. Debian's Python for arm64: see CONTRIBUTING.md.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sinkrank
$(CACHE)/wheels/.ready: .venv/wheels.txt .venv/.uv
	@$(PYTHON) -m venv $(CACHE)/wheels
	@$(call install,$(CACHE)/wheels,$(LOCKED) $<,$$(grep -c == $<) packages)
	@touch $@

wheels: $(CACHE)/wheels/.ready ## Build the wheels of all platforms into dist/, and try those that run here
	@$(CACHE)/wheels/bin/python -m wheels --arm64-root $(CACHE)/arm64

release: wheels ## Build what is released into dist/; run the README's example on Python 3.11 and 3.13
	@$(CACHE)/wheels/bin/python -m wheels.release

campaign: .venv/.dev ## Kills, hostile input, failing engines, for an hour; report in build/
	@mkdir -p build
	@$(BIN)/python -m campaign --report build/campaign.md $(CAMPAIGN)

# tests/support/groups.py: tests of one engine stay in one process, so that it is started once, and long groups come first.
# tests/support/collection.py: the processes share the bytecode that they write, also where the shell tells Python to write none.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q --dist loadscope --no-loadscope-reorder -n

# mypy compares the sources themselves: a fresh clone is checked in seconds by what was kept of another.
MYPY_CACHE := $(CACHE)/mypy

lint: .venv/.dev ## Lint, format, types, the import contract and licences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --cache-dir "$(MYPY_CACHE)"
	$(BIN)/lint-imports --no-logo
	$(LICENCES) --summary

check: lint ## Lint and unit tests, some two minutes
	$(PYTEST) 2 -m unit

# Three processes for two cores: who tests an engine waits for it at times.
test: lint ## All but conformance, with real engines, some six minutes
	$(PYTEST) 3 -m "not conformance"

conformance: .venv/.dev ## Test suites and clients of others, every engine (an hour)
	$(PYTEST) 3 -m conformance

site: .venv/.dev ## Build the documentation into build/site
	$(BIN)/sphinx-build -W --keep-going -q docs build/site

# The licences that what is installed with Sinkrank may have are in pyproject.toml.
LICENCES := $(BIN)/pip-licenses --packages $$(sed -n 's/==.*//p' .venv/runtime.txt)

sbom: .venv/.dev ## List the dependencies (CycloneDX) and their licences, into build/
	@mkdir -p build
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements .venv/runtime.txt --pyproject pyproject.toml --sv 1.6 --output-reproducible \
	  -o build/sinkrank.cdx.json
	@$(LICENCES) --format=markdown --output-file=build/licences.md

audit: .venv/.dev ## Ask PyPI for known vulnerabilities of the pinned versions
	@failed=; for lock in $$(git ls-files '*requirements.lock'); do \
	  echo "$$lock"; $(BIN)/pip-audit --strict --disable-pip --progress-spinner=off -r "$$lock" $(AUDIT) || failed=1; \
	done; test -z "$$failed"

format: .venv/.dev ## Rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Not uv.lock: it names the address of each file, so that an install behind another index would go past that index.
# The annotations say what needs what: deploy/locked.py follows them.
lock: .venv/.dev ## Resolve the dependencies anew into requirements.lock (LOCK=--upgrade: the latest versions)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	  --annotation-style line --extra demo --extra exact --extra words \
	  --group dev --group wheels pyproject.toml -o requirements.lock $(LOCK)

clean: ## Remove the environment, what the demo made, and what tools and builds have left
	rm -rf .venv .sinkrank build dist reranker/native/*.so papers/systems/*.so *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage
	find . -name .git -prune -o -name node_modules -prune -o -type d -name __pycache__ -exec rm -rf {} +
