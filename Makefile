# SPDX-License-Identifier: MIT
# Short names for what is done often. The build itself is CMake (CMakePresets.json); this only calls it.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PORT ?= 8000
JOBS := $(shell nproc 2>/dev/null || echo 2)
RELEASE := build/release
WEB := build/wasm/web

.DEFAULT_GOAL := help
.PHONY: help run wasm serve test check-all check-gpu bench fuzz format lint install uninstall clean release

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: ## build Tessera, train a network, run it on every device here
	@scripts/setup run
	@$(MAKE) --no-print-directory release TARGET=tessera_program
	@$(RELEASE)/bin/tessera demo --image build/tessera-demo.png
	@echo "The program is $(RELEASE)/bin/tessera; 'make install' puts it on the path."

wasm: ## build Tessera for web pages, into build/wasm/web
	@scripts/setup wasm
	@cmake --preset wasm >/dev/null
	@cmake --build --preset wasm -j$(JOBS)
	@ls -l $(WEB)/*.wasm | awk '{printf "  %8d bytes  %s\n", $$5, $$NF}'

serve: wasm ## serve the example page on http://localhost:8000 (PORT=8000)
	@python3 -m http.server --bind 127.0.0.1 --directory $(WEB) $(PORT)

test: ## run every test, also with sanitizers, valgrind and a browser
	@scripts/setup test
	@scripts/test-all

check-all: ## lint, all cases of all tests, random programs, fuzzing: hours
	@scripts/setup test
	@scripts/lint
	@TSR_TEST_GRAPHS=10000 TSR_TEST_SAMPLE=1 TSR_TEST_ATTACK_SECONDS=600 scripts/test-all
	@scripts/fuzz $(FUZZ_SECONDS)

check-gpu: ## run the device tests and `tessera check` on every GPU here
	@scripts/check-gpu $(CHECK)

bench: ## run the benchmarks, beside NumPy and PyTorch if they are here
	@scripts/setup run
	@$(MAKE) --no-print-directory release
	@for program in $(RELEASE)/bench/*; do [ ! -x "$$program" ] || "$$program" || exit 1; done
	@$(RELEASE)/bin/tessera bench
	@if [ -x /usr/bin/python3 ]; then /usr/bin/python3 bench/cpu_vs_peers.py --program $(RELEASE)/bin/tessera; \
	else echo "bench: no /usr/bin/python3, so nothing is compared with NumPy and PyTorch"; fi

fuzz: ## run each fuzz target (FUZZ_SECONDS=60)
	@scripts/setup test
	@scripts/fuzz $(FUZZ_SECONDS)

format: ## lay out all C files with clang-format
	@scripts/c-files | xargs clang-format -i

lint: ## check layout, layers and clang-tidy's list
	@scripts/setup test
	@scripts/lint

install: ## install below PREFIX (/usr/local); DESTDIR is honoured
	@scripts/setup run
	@$(MAKE) --no-print-directory release TARGET="tessera_program tessera_shared tessera_static"
	@cmake --install $(RELEASE) --prefix "$(PREFIX)"
	@scripts/refresh-loader "$(PREFIX)"

uninstall: ## remove what 'make install' laid down below PREFIX
	@scripts/uninstall "$(PREFIX)"
	@scripts/refresh-loader "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build

release:
	@cmake --preset release >/dev/null
	@if [ ! -t 1 ]; then quiet="-- --quiet"; fi; \
	cmake --build --preset release -j$(JOBS) $(if $(TARGET),--target $(TARGET)) $$quiet
