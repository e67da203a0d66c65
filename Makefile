# evener: each target does its own set-up. Nothing outside this folder but the user's cache and state folders.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps

.PHONY: demo test check docs lock clean

demo: $(STAMPS)/run            ## the whole story on this machine, with a report
	$(BIN)/evener demo

test: $(STAMPS)/dev            ## every test, on the real engine and a real model
	$(BIN)/evener engine install --backend cpu
	$(BIN)/evener models fetch demo
	$(BIN)/python -m pytest -q

check: $(STAMPS)/dev           ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMPS)/dev            ## reference pages from the code, then the site
	$(BIN)/python scripts/reference.py
	$(BIN)/mkdocs build --strict --quiet

lock:                          ## write requirements/*.txt anew (needs uv)
	requirements/lock.sh

clean:
	rm -rf $(VENV) $(STAMPS) site build dist

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evener needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# The dev set contains the run set: whichever came last is what the environment holds.
$(STAMPS)/run: requirements/run.txt pyproject.toml | $(VENV)/pyvenv.cfg
	@mkdir -p $(STAMPS)
	@test -e $(STAMPS)/dev || $(BIN)/pip install --quiet --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

$(STAMPS)/dev: requirements/dev.txt pyproject.toml | $(VENV)/pyvenv.cfg
	@mkdir -p $(STAMPS)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@
