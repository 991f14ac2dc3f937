#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make test` shows: a counter that is short in a log too, failures in full, and skips grouped by their reason.
set -euo pipefail
scripts=$TSR_TEST_SOURCE_DIR/scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'FAIL: %s\n' "$1" >&2
  cat "$work/out" >&2
  exit 1
}

# A run of 1000 tests as ctest prints it: number 7 fails, number 500 skips itself.
ctest_output() {
  echo "Test project /somewhere"
  for i in $(seq 1000); do
    printf '        Start %3d: core.test_%d\n' "$i" "$i"
    case $i in
      7) printf '%4d/1000 Test #%d: core.test_%d ....***Failed    0.01 sec\nit is wrong: 2 and 3\n\n' "$i" "$i" "$i" ;;
      500) printf '%4d/1000 Test #%d: core.test_%d ....***Skipped   0.00 sec\n' "$i" "$i" "$i" ;;
      *) printf '%4d/1000 Test #%d: core.test_%d ....   Passed    0.00 sec\n' "$i" "$i" "$i" ;;
    esac
  done
  printf '\n99%% tests passed, 1 tests failed out of 1000\n\nTotal Test time (real) =   9.00 sec\n\nThe following tests did not run:\n\t500 - core.test_500 (Skipped)\n'
}

echo "-- in a log there is a line for every tenth of the tests, and the failure with its output"
ctest_output | "$scripts/test-progress" release >"$work/out"
[ "$(wc -l <"$work/out")" = 12 ] || fail "there are not 10 lines of progress and 2 of the failure"
grep -q '^   release: 100 of 1000 tests, 1 failed, 0 skipped, [0-9]* s$' "$work/out" || fail "the first tenth is not counted"
grep -q '^   release: 1000 of 1000 tests, 1 failed, 1 skipped, [0-9]* s$' "$work/out" || fail "the end is not counted"
grep -q 'core.test_7 .*Failed' "$work/out" || fail "the failure is not shown"
grep -qx 'it is wrong: 2 and 3' "$work/out" || fail "the failure's output is not shown"

if command -v script >/dev/null; then
  echo "-- on a terminal one line counts"
  ctest_output >"$work/in"
  script -qec "'$scripts/test-progress' release <'$work/in'" /dev/null >"$work/out" </dev/null
  [ "$(wc -l <"$work/out")" = 3 ] || fail "there are not the failure's two lines and the counter's"
  tail -n 1 "$work/out" | tr '\r' '\n' | grep -q '1000 of 1000 tests, 1 failed, 1 skipped' || fail "the counter does not end at the sum"
fi

echo "-- skips are grouped by reason; what a run hides is not said of the machine"
report() { # FILE NAME=REASON...
  local file=$1
  shift
  printf '<?xml version="1.0"?>\n<testsuite name="x" tests="%d">\n' $# >"$file"
  for pair in "$@"; do
    printf '<testcase name="%s" status="notrun"><skipped message="77"/><system-out>RUN\nSKIPPED %s: %s\nmore</system-out></testcase>\n' \
      "${pair%%=*}" "${pair%%=*}" "${pair#*=}" >>"$file"
  done
  printf '<testcase name="good" status="run"><system-out>SKIPPED good: not at all</system-out></testcase>\n</testsuite>\n' >>"$file"
}
report "$work/release.xml" "a=there is no NVIDIA GPU here" "b=there is no NVIDIA GPU here" "c=root may read &quot;every&quot; file"
report "$work/tsan.xml" "d=there is no OpenCL device here" "e=there is no Vulkan device here" "a=there is no NVIDIA GPU here"
"$scripts/list-skips" "$work/release.xml" "$work/tsan.xml" >"$work/out"
grep -qx '     3  there is no NVIDIA GPU here (release, tsan)' "$work/out" || fail "the GPU's skips are not one group"
grep -qx '     1  root may read "every" file (release)' "$work/out" || fail "the text is not as it was said"
grep -qx "     2  need a driver; the thread sanitizer's run hides drivers on purpose, the others use them (tsan)" "$work/out" || fail "hidden drivers are not said to be hidden"
! grep -q 'OpenCL device\|not at all' "$work/out" || fail "this should not be listed"
[ "$(wc -l <"$work/out")" = 4 ] || fail "there are not a heading and three groups"
report "$work/none.xml"
"$scripts/list-skips" "$work/none.xml" >"$work/out"
[ ! -s "$work/out" ] || fail "nothing was skipped"
