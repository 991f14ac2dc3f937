#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The operator that docs/adding-an-operator.md builds from nothing: its row, kernel, function and cases compile as they stand there.
set -euo pipefail
page=$TSR_TEST_SOURCE_DIR/docs/adding-an-operator.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# block PATTERN: the block with a line that matches, without its fences.
block() {
  awk -v pattern="$1" '
    /^```/ {if (inside && found) {printf "%s", text; exit} inside = !inside; text = ""; found = 0; next}
    inside {text = text $0 "\n"; if ($0 ~ pattern) found = 1}' "$page"
}

# A copy of the headers whose list of operators has the row of the page.
cp -r "$TSR_TEST_SOURCE_DIR/include" "$TSR_TEST_SOURCE_DIR/src" "$work"
mkdir "$work/tools" "$work/kernels"
cp -r "$TSR_TEST_SOURCE_DIR/tools/tessera" "$work/tools"
block '^TSRI_OPERATOR\(searchsorted' >"$work/row"
[ -s "$work/row" ] || fail "the page has no row of searchsorted"
sed -i "/^\/\/ clang-format off/r $work/row" "$work/src/ops/operators.def"
echo 'tsr_tensor *tsr_searchsorted(tsr_tensor *sorted, tsr_tensor *values, bool right);' >>"$work/include/tessera/ops.h"

# compiles FILE PATTERN: the block with that pattern, as that file
compiles() {
  block "$2" >"$work/$1"
  [ -s "$work/$1" ] || fail "the page has no $1"
  cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I "$work/src" -I "$work/include" "$work/$1" || fail "$1 does not compile"
}
compiles src/ops/search.c 'tsri_run_search\(const'
compiles tools/tessera/check_search.c '^void check_searchsorted'

block '^kernel search' >"$work/kernels/op_search.tk"
[ -s "$work/kernels/op_search.tk" ] || fail "the page has no kernel"
cd "$work"
"$TSR_TEST_PROGRAM" kernel check kernels/op_search.tk || fail "the kernel has mistakes"
line=$(block '^tessera kernel run' | grep '^tessera kernel run')
# shellcheck disable=SC2086  # the words of the command
out=$("$TSR_TEST_PROGRAM" ${line#tessera }) || fail "this does not run: $line"
grep -q '\[1 0 4\]' <<<"$out" || fail "it finds other places: $out"
