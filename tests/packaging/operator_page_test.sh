#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The operator that docs/adding-an-operator.md builds from nothing: the page shows its row, kernel, function and cases as they stand in the
# tree, and its commands work.
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

# shows FILE PATTERN: the block with that pattern is that file.
shows() {
  block "$2" >"$work/block"
  [ -s "$work/block" ] || fail "the page has no $1"
  diff -u "$work/block" "$TSR_TEST_SOURCE_DIR/$1" || fail "the page shows another $1 than there is"
}
shows src/ops/search.c 'tsri_run_search\(const'
shows tools/tessera/check_search.c '^void check_searchsorted'
shows kernels/op_search.tk '^kernel search'

# shows_lines FILE PATTERN: each line of the block with that pattern stands in that file.
shows_lines() {
  block "$2" >"$work/block"
  [ -s "$work/block" ] || fail "the page has no lines of $1"
  while read -r line; do
    [ -z "$line" ] || grep -qF -- "$line" "$TSR_TEST_SOURCE_DIR/$1" || fail "$1 does not have: $line"
  done <"$work/block"
}
shows_lines src/ops/operators.def '^TSRI_OPERATOR\(searchsorted'
shows_lines src/saved/again.c '^static tsr_tensor \*again_search'

cd "$TSR_TEST_SOURCE_DIR"
"$TSR_TEST_PROGRAM" kernel check kernels/op_search.tk || fail "the kernel has mistakes"
line=$(block '^tessera kernel run' | grep '^tessera kernel run')
# shellcheck disable=SC2086  # the words of the command
out=$("$TSR_TEST_PROGRAM" ${line#tessera }) || fail "this does not run: $line"
grep -q '\[1 0 4\]' <<<"$out" || fail "it finds other places: $out"
