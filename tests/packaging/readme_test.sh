#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README's program compiles without warnings, runs, and needs as many kernels as README says.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk '/^```c$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' "$TSR_TEST_SOURCE_DIR/README.md" >"$scratch/hello.c"
[ -s "$scratch/hello.c" ] || { echo "README.md has no C program" >&2; exit 1; }
cc -std=c17 -Wall -Wextra -Werror -I "$TSR_TEST_SOURCE_DIR/include" "$scratch/hello.c" "$TSR_TEST_LIBRARY" \
  -Wl,-rpath,"$(dirname "$TSR_TEST_LIBRARY")" -o "$scratch/hello"
TESSERA_BACKEND=cpu TESSERA_LOG=plan "$scratch/hello" 2>"$scratch/log" | tee "$scratch/output"
[ -s "$scratch/output" ] || { echo "README's program printed nothing" >&2; exit 1; }
kernels=$(grep -c '^tessera: plan:' "$scratch/log")
[ "$kernels" = 3 ] || { echo "README's program ran $kernels kernels instead of three:" >&2; cat "$scratch/log" >&2; exit 1; }
