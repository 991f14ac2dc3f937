#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each public header compiles alone (and twice in a row) as C17 and as C++17, with gcc and clang, without a warning.
set -euo pipefail
top=$TSR_TEST_SOURCE_DIR
flags=(-fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$top/include")
failed=0 count=0

# try COMPILER LANGUAGE STANDARD INCLUDE
try() {
  count=$((count + 1))
  printf '#include %s\n#include %s\nextern int not_empty;\n' "$4" "$4" | "$1" -x "$2" -std="$3" "${flags[@]}" - || {
    echo "FAIL: $4 with $1 as $3" >&2
    failed=1
  }
}

# Macros that make arguments, in a program.
try_macros() {
  count=$((count + 1))
  printf '#include <tessera/tessera.h>\ntsr_tensor *f(tsr_tensor *x);\ntsr_tensor *f(tsr_tensor *x) {\n  return %s;\n}\n' \
    'tsr_sum(tsr_reshape(tsr_permute(x, TSR_AXES(1, 0)), TSR_SHAPE(2, 3)), TSR_AXES(0, -1), false)' |
    "$1" -x "$2" -std="$3" "${flags[@]}" - || {
    echo "FAIL: TSR_AXES and TSR_SHAPE with $1 as $3" >&2
    failed=1
  }
}

compilers=()
for pair in gcc:g++ clang:clang++; do
  if command -v "${pair%:*}" >/dev/null && command -v "${pair#*:}" >/dev/null; then compilers+=("$pair"); fi
done
if [ ${#compilers[@]} -lt 2 ]; then
  echo "SKIPPED packaging.headers: needs gcc, g++, clang and clang++"
  exit 77
fi

for pair in "${compilers[@]}"; do
  try_macros "${pair%:*}" c c17
  try_macros "${pair#*:}" c++ c++11
  for header in "$top"/include/tessera/*.h "$top"/src/backends/backend.h; do
    case $header in
      */src/*) include="\"$header\"" ;;
      *) include="<tessera/${header##*/}>" ;;
    esac
    try "${pair%:*}" c c17 "$include"
    try "${pair#*:}" c++ c++17 "$include"
  done
done
[ "$failed" = 0 ] && echo "$count compilations, no warning"
exit "$failed"
