#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/test-all with programs that only pretend to build and to test: builds run beside the tests of earlier presets, one that fails counts as a failed test
# and does not stop the later ones, and none goes on after test-all was ended.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

fail() {
  printf 'FAIL: %s\n' "$1" >&2
  cat "$work/out" >&2
  exit 1
}

mkdir -p "$tree/scripts" "$work/bin"
cp "$TSR_TEST_SOURCE_DIR"/scripts/{test-all,build-all} "$tree/scripts"

# Building the preset asan fails; $SLOW seconds for each of the others. What was built, and when tests ran, is written to $work/log.
cat >"$work/bin/cmake" <<'PROGRAM'
#!/bin/bash
[ "$1" = --build ] || exit 0
sleep "$SLOW"
echo "built $3" >>"$LOG"
[ "$3" != asan ] || { echo "the compiler's words"; exit 1; }
PROGRAM
cat >"$tree/scripts/run-tests" <<'PROGRAM'
#!/bin/bash
for i in $(seq 100); do [ "$1" != release ] || grep -q tsan "$LOG" || sleep 0.1; done
echo "tested $1" >>"$LOG"
echo '<testsuite name="x" tests="10" failures="0" disabled="0" skipped="1">' >"$3"
PROGRAM
for program in "$tree"/scripts/{lint-layers,lint-headers,count-backends,list-skips,c-files} "$work/bin"/{ninja,ccache,clang-format,clang-19,aarch64-linux-gnu-gcc,qemu-aarch64}; do
  printf '#!/bin/bash\n' >"$program"
done
chmod +x "$tree"/scripts/* "$work"/bin/*
export LOG=$work/log PATH=$work/bin:$PATH

code=0
SLOW=0.1 "$tree/scripts/test-all" >"$work/out" 2>&1 || code=$?
[ $code = 1 ] || fail "a build failed, and the exit status is $code"
grep -q "the compiler's words" "$work/out" || fail "what the compiler says is not shown"
grep -q 'FAILED  asan: the build' "$work/out" || fail "the failed build is not named"
# release, tsan, wasm, arm64, fuzz, memcheck, packaging and timing have nine tests each that pass; then come clang and four checks of files.
[ "$(tail -n 1 "$work/out")" = "77 passed, 1 failed, 8 skipped" ] || fail "the sum is: $(tail -n 1 "$work/out")"
grep -n . "$LOG" >"$work/order"
built=$(sed -n 's/:built tsan$//p' "$work/order") tested=$(sed -n 's/:tested release$//p' "$work/order")
[ "$built" -lt "$tested" ] || fail "nothing is built while tests run: $(cat "$LOG")"

: >"$LOG"
SLOW=2 "$tree/scripts/test-all" >"$work/out" 2>&1 &
sleep 0.5
kill $!
wait $! 2>/dev/null || true
sleep 4
[ ! -s "$LOG" ] || fail "after it was ended, builds went on: $(cat "$LOG")"
