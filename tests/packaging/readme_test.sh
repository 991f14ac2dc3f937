#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README's program compiles without warnings and runs.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk '/^```c$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' "$TSR_TEST_SOURCE_DIR/README.md" >"$scratch/hello.c"
[ -s "$scratch/hello.c" ] || { echo "README.md has no C program" >&2; exit 1; }
cc -std=c17 -Wall -Wextra -Werror -I "$TSR_TEST_SOURCE_DIR/include" "$scratch/hello.c" "$TSR_TEST_LIBRARY" \
  -Wl,-rpath,"$(dirname "$TSR_TEST_LIBRARY")" -o "$scratch/hello"
TESSERA_BACKEND=cpu "$scratch/hello" | tee "$scratch/output"
[ -s "$scratch/output" ] || { echo "README's program printed nothing" >&2; exit 1; }
