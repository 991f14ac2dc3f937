#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every function a public header declares is in the shared library, and every exported one is declared.
set -euo pipefail

declared=$(cat "$TSR_TEST_SOURCE_DIR"/include/tessera/*.h | sed 's://.*::' | tr '\n' ' ' |
  grep -oE 'TSR_API [^;(]*\(' | grep -oE 'tsr_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u)
exported=$(nm -D --defined-only "$TSR_TEST_LIBRARY" | awk '{print $NF}' | sort -u)

undefined=$(comm -23 <(echo "$declared") <(echo "$exported"))
undeclared=$(comm -13 <(echo "$declared") <(echo "$exported"))
[ -z "$undefined" ] || echo "FAIL: declared, not in the library:" $undefined >&2
[ -z "$undeclared" ] || echo "FAIL: in the library, not declared:" $undeclared >&2
[ -z "$undefined$undeclared" ]
