#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a page loads stays small, compressed as servers do it: the library's module under 600 KB. Its twin for engines without JSPI may be 30 %
# larger, since every function that may wait can also be left and entered again. The program, which has all cases of `tessera check` in
# it and so grows with the number of operators, is loaded by those who run that.
set -euo pipefail
failed=0
for module in "$TSR_TEST_BUILD_DIR"/web/*.wasm; do
  case ${module##*/} in
    tessera_program_asyncify.wasm) most=1000000 ;;
    tessera_program.wasm | tessera_asyncify.wasm) most=780000 ;;
    *) most=600000 ;;
  esac
  bytes=$(gzip -9 -c "$module" | wc -c)
  printf '%-32s %7d bytes, %6d compressed, of %d\n' "${module##*/}" "$(wc -c <"$module")" "$bytes" "$most"
  [ "$bytes" -lt "$most" ] || failed=1
done
exit "$failed"
