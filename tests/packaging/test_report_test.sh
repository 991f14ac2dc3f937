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

# A build folder with 20 tests: 17 of one program, of which one fails, one is skipped, one ends its server and one does not end; and 3 commands.
folder=$work/build
mkdir -p "$folder/tests"
cat >"$folder/tests/some_tests" <<'PROGRAM'
#!/bin/bash
[ "$1" = --serve ] || exit 9
echo started >>"$(dirname "$0")/starts"
while read -r name output; do
  case $name in
    some.file.fails) echo "it is wrong: 2 and 3" >"$output"; echo 1 0.1 thread ;;
    some.file.is_skipped) echo "SKIPPED is_skipped: no reason" >"$output"; echo 77 0.1 thread ;;
    some.file.ends_the_server) exit 3 ;;
    some.file.does_not_end) sleep 100 ;;
    some.file.1[0-3]) echo "$SETTING" >"$output"; echo 0 0.1 thread ;;
    *) echo "$SETTING" >"$output"; echo 0 0.1 threads ;;
  esac
done
PROGRAM
chmod +x "$folder/tests/some_tests"
ln -s some_tests "$folder/tests/some_file_test"
{
  for claim in fails is_skipped ends_the_server does_not_end $(seq 13); do
    echo "add_test(some.file.$claim \"$folder/tests/some_file_test\" $claim)"
    echo "set_tests_properties(some.file.$claim PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 2 ENVIRONMENT \"SETTING=a value\")"
  done
  echo 'add_test(command.passes true)'
  echo 'add_test(command.fails false)'
  echo 'add_test(command.is_not_built no_such_program)'
} >"$folder/CTestTestfile.cmake"

echo "-- in a log there is a line for every tenth of the tests, and the failures with their output"
! "$scripts/run-tests" few "$folder" "$work/few.xml" >"$work/out" 2>&1 || fail "failing tests do not set the exit status"
[ "$(grep -c '^   few: [0-9]* of 20 tests, [0-9] failed, [01] skipped, [0-9]* s$' "$work/out")" = 10 ] || fail "there are not 10 lines of progress"
grep -q '^   few: 20 of 20 tests, 5 failed, 1 skipped' "$work/out" || fail "the end is not counted"
grep -q '^some.file.fails FAILED, exit status 1,' "$work/out" || fail "the failure is not shown"
grep -qx 'it is wrong: 2 and 3' "$work/out" || fail "the failure's output is not shown"
grep -q '^some.file.ends_the_server FAILED, cannot be run: the test program ended early' "$work/out" || fail "a program that ends is not noticed"
grep -q '^some.file.does_not_end FAILED, no end within 2 s' "$work/out" || fail "the time limit does not hold"
grep -q '^command.fails FAILED' "$work/out" || fail "a command that fails is not noticed"
grep -q '^command.is_not_built FAILED' "$work/out" || fail "a command that is not there is not noticed"
grep -q 'tests="20" failures="5" .*skipped="1"' "$work/few.xml" || fail "the report has other counts"
[ "$(grep -c '>a value' "$work/few.xml")" = 13 ] || fail "not all tests have what their environment should have"
[ "$(wc -l <"$folder/tests/starts")" -lt 10 ] || fail "the program is started for each test"
"$scripts/run-tests" few "$folder" "$work/few.xml" -R '(passes|file\.1)' >"$work/out" || fail "options do not select tests"
grep -q '^   few: 6 of 6 tests, 0 failed' "$work/out" || fail "options select other tests"

echo "-- tests that had one thread in another run are left out where only threads matter; commands stay in"
"$scripts/run-tests" few "$folder" "$work/threads.xml" --threads-in "$work/few.xml" -R '(passes|file\.[12])' >"$work/out" || fail "tests with threads fail"
grep -q '^   few: 3 of 3 tests, 0 failed' "$work/out" || fail "not those with threads, and one that did not run before"

if command -v script >/dev/null; then
  echo "-- on a terminal one line counts"
  script -qec "'$scripts/run-tests' few '$folder' '$work/few.xml' -R '(file\.fails|file\.1)'" /dev/null >"$work/out" </dev/null || true
  [ "$(wc -l <"$work/out")" = 4 ] || fail "there are not the failure's lines and the counter's"
  tail -n 1 "$work/out" | tr '\r' '\n' | grep -q '6 of 6 tests, 1 failed, 0 skipped' || fail "the counter does not end at the sum"
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
