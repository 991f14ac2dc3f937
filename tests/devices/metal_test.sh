#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Metal on the stand-in for Apple's libraries (tests/standins): a sample of the conformance run passes; what is not there is said.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# says SWITCHES TEXT: `tessera devices` has this text.
says() {
  (use_metal "$1" && "$TSR_TEST_PROGRAM" devices --verbose >"$work/out" 2>"$work/err") || fail "tessera devices fails with $1"
  grep -q -- "$2" "$work/out" || fail "tessera devices does not say '$2' with $1"
}

says "" 'Stand-in for Metal 0'
says devices=2 'Stand-in for Metal 1'
if (use_metal devices=0 && "$TSR_TEST_PROGRAM" check --backend metal --op add) >"$work/out" 2>"$work/err"; then fail "metal opens without a GPU"; fi
if (use_metal no_compiler && "$TSR_TEST_PROGRAM" check --backend metal --op add) >"$work/out" 2>"$work/err"; then fail "metal opens without a compiler"; fi

use_metal
check_sample metal 60
check_gradients metal 5
check_examples metal
check_graphs metal 2 300

# GPUs with memory of their own, in which SIMD groups and matrix units are not used.
use_metal discrete
check_sample metal 1000 --part 2/8
