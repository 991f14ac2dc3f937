#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every operator with a driver that fails from some call on: each case ends with a status, and the run with its summary.
# With a time-out, a wait that fails leaves the work running: nothing it uses may be freed.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# survives BACKEND FAULT...: the conformance run goes to its end, and finds failures. Each fault has its share of the operators, unless
# `chosen` says which.
chosen=()
survives() {
  local backend=$1 fault code number=0 cases
  shift
  for fault in "$@"; do
    code=0
    number=$((number + 1))
    cases=(--sample 60 --part "$number/$#")
    [[ ${#chosen[@]} -eq 0 ]] || cases=("${chosen[@]}")
    TESSERA_TIMEOUT=1h TESSERA_FAULTS=$fault "$TSR_TEST_PROGRAM" check --backend "$backend" --quick "${cases[@]}" >"$work/out" 2>"$work/err" || code=$?
    printf '%s, %s: ' "$backend" "$fault"
    tail -n 1 "$work/out"
    [[ $code -eq 1 ]] || fail "$backend with $fault: the exit code is $code, not 1"
    tail -n 1 "$work/out" | grep -q 'cases passed, [1-9][0-9]* failed' || fail "$backend with $fault: there is no summary"
    if grep -q 'Sanitizer\|runtime error' "$work/err"; then fail "$backend with $fault: the sanitizer objects"; fi
  done
}

survives cpu build:3+ launch:4+ copy:9+ wait:30+ lost:50
(use_lavapipe && survives vulkan build:3+ launch:4+ copy:9+ wait:30+ lost:50)
(use_metal && survives metal build:3+ launch:4+ copy:9+ wait:30+ lost:50)
(use_pocl && survives opencl build:3+ copy:9+ wait:30+ lost:50)
# A sixteenth of the operators: every kernel is compiled here, by a compiler that takes a tenth of a second to start.
[[ -n ${TSR_TEST_SAMPLE:-} ]] || chosen=(--sample 2000 --part 3/16) # those of rocm_test.sh
(use_rocm && survives rocm build:3+ launch:4+ copy:9+ wait:30+ lost:50)
