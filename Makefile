# `make test` and `make demo` work from a bare clone: each creates its own virtual environment in
# .venv and installs all it needs.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: demo test check install clean
.DELETE_ON_ERROR:

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

demo: $(INSTALLED)
	$(BIN)/translucid demo

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
