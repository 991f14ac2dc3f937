#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a page loads stays small: each module under 600 KB, compressed as servers do it.
set -euo pipefail
most=600000
failed=0
for module in "$TSR_TEST_BUILD_DIR"/web/*.wasm; do
  bytes=$(gzip -9 -c "$module" | wc -c)
  printf '%-32s %7d bytes, %6d compressed\n' "${module##*/}" "$(wc -c <"$module")" "$bytes"
  [ "$bytes" -lt "$most" ] || failed=1
done
exit "$failed"
