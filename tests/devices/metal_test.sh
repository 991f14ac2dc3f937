#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Metal on the stand-in for Apple's libraries (tests/standins): a sample of the conformance run passes; what is not there is said.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

says use_metal "" 'Stand-in for Metal 0'
says use_metal devices=2 'Stand-in for Metal 1'
says use_metal devices=0 'Metal is there but finds no GPU'
if (use_metal devices=0 && "$TSR_TEST_PROGRAM" check --backend metal --op add) >"$work/out" 2>"$work/err"; then fail "metal opens without a GPU"; fi
if (use_metal no_compiler && "$TSR_TEST_PROGRAM" check --backend metal --op add) >"$work/out" 2>"$work/err"; then fail "metal opens without a compiler"; fi

use_metal
check_sample metal 60
check_gradients metal 5
check_examples metal
check_queues metal
check_graphs metal 2 300

# GPUs with memory of their own; for these the backend uses neither SIMD groups nor matrix units.
use_metal discrete
check_sample metal 1000 --part 2/8
