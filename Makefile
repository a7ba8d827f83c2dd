# `make test` and `make demo` work from a bare clone: each creates its own virtual environment in
# .venv and installs all it needs.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
PAGE := src/translucid/serving/static

.PHONY: demo test check campaign ray sbom page page-types settings page-check chromium install clean
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

# Types, lint and the page are checked side by side. The browser tests have a run of their own: what
# drives the browser keeps an event loop running in its process, beside which tests that start one
# cannot run.
test: $(INSTALLED) chromium
	$(MAKE) --no-print-directory -j 2 check page-check
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore tests/browser
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/browser

demo: $(INSTALLED)
	$(BIN)/translucid demo

# Bad requests, kills, damage and load against the real thing (docs/reliability.md); not part of `test`.
campaign: $(INSTALLED)
	PYTHONPATH=tools $(BIN)/python -m campaign $(ARGUMENTS)

# The example that translates with Ray, on a real cluster of this machine, with workers that are killed.
# Ray and what it needs take 500 MB, so it has an environment of its own, and is not part of `test`.
ray: .venv-ray/installed
	.venv-ray/bin/python tools/ray_check.py $(ARGUMENTS)

.venv-ray/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet -c constraints.txt -e . 'ray[data]'
	touch $@

# The packages that the wheel needs, with versions and licences, as a CycloneDX document.
sbom: $(INSTALLED)
	$(BIN)/python tools/sbom.py

# Not `npm ci`, which insists on the packages of all other platforms, that a registry may lack.
web/node_modules: web/package.json web/package-lock.json
	cd web && npm install --no-save
	touch $@

# Build the explorer page into the package, where it is committed: users need no Node.
page: web/node_modules
	cd web && npm run build

# Write the types of the page from the server's OpenAPI document: after a change of the HTTP API.
page-types: $(INSTALLED)
	$(BIN)/python tools/page_types.py

# Write docs/settings.md from the config classes: after a change of a setting.
settings: $(INSTALLED)
	$(BIN)/python tools/settings_page.py

# Types, lint and unit tests of the page, and that the committed files are what its source gives.
page-check:
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory page-checked; else \
	  printf '\n*** npm was not found: THE SOURCE OF THE PAGE WAS NOT CHECKED. ***\n\n' >&2; fi

.PHONY: page-checked
page-checked: web/node_modules
	cd web && npm run check && npm test
	cd web && npm run build -- --outDir ../.page-check --emptyOutDir --logLevel warn
	diff -r .page-check $(PAGE) || { echo 'The committed page is not what web/ gives: run make page.' >&2; exit 1; }
	rm -rf .page-check

# The browser tests need Chromium; where it is missing and we may, it is installed.
chromium:
	@if command -v chromium > /dev/null || [ -n "$$CHROMIUM" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else printf '\n*** Chromium was not found: THE BROWSER TESTS WILL NOT RUN. ***\n%s\n\n' \
	  'Install it, or name it in the variable CHROMIUM.' >&2; fi

clean:
	rm -rf .venv .venv-ray .mypy_cache .ruff_cache .pytest_cache .hypothesis .page-check web/node_modules
