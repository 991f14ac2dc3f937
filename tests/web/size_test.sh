#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a page loads stays small: each module of the library under 600 KB, compressed as servers do it. The program, which has
# all cases of `tessera check` in it, is loaded by those who run that, and may have 700 KB.
set -euo pipefail
failed=0
for module in "$TSR_TEST_BUILD_DIR"/web/*.wasm; do
  most=600000
  case ${module##*/} in tessera_program*) most=700000 ;; esac
  bytes=$(gzip -9 -c "$module" | wc -c)
  printf '%-32s %7d bytes, %6d compressed\n' "${module##*/}" "$(wc -c <"$module")" "$bytes"
  [ "$bytes" -lt "$most" ] || failed=1
done
exit "$failed"
