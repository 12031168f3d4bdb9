# Everything runs in .venv, which is made when it is missing and brought up to date when requirements.lock or
# pyproject.toml is newer. Paths are relative throughout: make cannot handle a blank in an absolute one.

PYTHON ?=
WORKERS ?= 2
RUN := .venv/bin/python
READY := .venv/.ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check check-code check-units soak bench figures docs lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1@\2/p' Makefile | awk -F@ '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo
	@echo "  PYTHON=/path/to/python3.12 chooses the Python (3.11 or newer) that .venv is made from."
	@echo "  WORKERS=3 has so many processes run tests, each with a Spark of its own."

$(READY): requirements.lock pyproject.toml experiments/pyproject.toml tools/venv.sh
	@sh tools/venv.sh "$(PYTHON)"

demo: $(READY) ## a stream matched on Spark, and a whole overlay, on this machine
	.venv/bin/semcast demo

test: $(READY) ## every test that does not take minutes
	$(RUN) tools/kernels.py
	$(RUN) -m pytest -m "not slow" -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 30

check: $(READY) ## format, lint, types, layers, file sizes and unit tests: in under a minute
	@$(MAKE) --no-print-directory -j2 check-code check-units

check-code:
	$(RUN) -m ruff format --check --quiet --output-format concise .
	$(RUN) -m ruff check --quiet --output-format concise .
	$(RUN) -m mypy
	.venv/bin/lint-imports --no-logo
	$(RUN) tools/largest_files.py src experiments tests tools

check-units:
	$(RUN) -m pytest -q -n $(WORKERS) --dist loadfile tests/unit

soak: $(READY) ## the tests that take minutes
	$(RUN) -m pytest -m slow --timeout 3600 || { code=$$?; test $$code -eq 5 && echo "no test is marked slow"; }

bench: $(READY) ## matching, side by side with other engines
	.venv/bin/semcast bench matching

figures: $(READY) ## the papers' figures, into build/figures
	.venv/bin/semcast figures --out build/figures

docs: $(READY) ## the site of docs/, into build/site; a link or page that is missing fails
	$(RUN) tools/docs_site.py

lock: ## resolve requirements.lock anew; UPGRADE=--upgrade moves to the newest versions
	@sh tools/lock.sh "$(PYTHON)" $(UPGRADE)

clean: ## remove what was built and cached; .venv stays
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
