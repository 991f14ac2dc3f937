#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ROCm on the stand-in that runs HIP text on the CPU: a sample of the conformance run passes on a GPU with wavefronts of 32 and on
# one with wavefronts of 64, both with matrix units.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

says use_rocm gfx=gfx90a 'Stand-in gfx90a 0'
says use_rocm 'devices=2 gfx=gfx942' 'Stand-in gfx942 1'
says use_rocm devices=0 'ROCm is there but finds no GPU'
says use_rocm init=3 "AMD's driver does not start: HIP 3"
says use_rocm gfx=gfx1399 'which this version of Tessera does not know'
says use_rocm gfx=gfx950 'install ROCm 6.5 or newer'

# A sixteenth of the operators each, unless all cases are wanted: every kernel is compiled here.
use_rocm gfx=gfx1100
# shellcheck disable=SC2046
check_sample rocm 2000 $(part 3/16)
use_rocm gfx=gfx90a
# shellcheck disable=SC2046
check_sample rocm 2000 $(part 11/16)
# Memory, views, captures and users' kernels, which are written once for all devices.
programs=(conformance_buffer_test conformance_tensor_test graph_capture_test)
[[ -z ${TSR_TEST_SAMPLE:-} ]] || programs+=(ops_kernel_test conformance_training_test)
for program in "${programs[@]}"; do
  "$TSR_TEST_BUILD_DIR/tests/$program" >"$work/out" 2>"$work/err" || fail "$program fails on the stand-in for ROCm"
done
printf '%s pass\n' "${programs[*]}"
check_graphs rocm 2 300
check_examples rocm
check_shapes rocm 10
check_queues rocm
[[ -z ${TSR_TEST_SAMPLE:-} ]] || check_gradients rocm 7
# The matrix units, in products and in attention.
check_sample rocm 100 --op 'matmul/f16/*,attention/f16/*'
# The script that runs all cases on an NVIDIA GPU, here on the CPU and for one operator.
[[ -z ${TSR_TEST_SAMPLE:-} ]] || "${BASH_SOURCE[0]%/*}/../../scripts/check-rocm-on-cuda" --driver '' --op neg --processes 2 --seconds 3000 \
  --build "$TSR_TEST_BUILD_DIR" --results "$work/on-cuda" || fail "scripts/check-rocm-on-cuda exits with $?"
