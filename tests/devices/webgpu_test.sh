#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# WebGPU through Dawn on SwiftShader: a sample of the conformance run passes, the conformance tests take the device in,
# and kernels that cannot run are refused with a message that says what to do.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# Half of the operators: tests/web/check_webgpu_test.py runs the other half, by the same emitter and on SwiftShader, too.
use_webgpu
check_sample webgpu 80 $(part 1/2)
grep -q '^gap: f64: the device has no 64-bit floats' "$work/out" || fail "the gaps are not listed"
check_gradients webgpu 7

# All tests of these programs, which run on every device, except one of host memory: WebGPU gives none out, and that of
# Vulkan on SwiftShader is not aligned as the test wants it.
for test in buffer tensor training; do
  program=$TSR_TEST_BUILD_DIR/tests/conformance_${test}_test ran=no
  [[ -x $program ]] || continue
  for name in $("$program" --list | sed 's/.*\.//' | grep -v '^mistakes_with_buffers_are_statuses$'); do
    "$program" "$name" >"$work/out" 2>"$work/err" || fail "$(basename "$program") $name exits with $?"
    grep -q 'on webgpu' "$work/out" "$work/err" && ran=yes
  done
  [[ $ran == yes ]] || fail "$(basename "$program") did not run on webgpu"
done

printf 'kernel copy(in f64 x[], out f64 y[]) { y[global.x] = x[global.x]; }\n' >"$work/copy.tk"
code=0
"$TSR_TEST_PROGRAM" kernel run --backend webgpu --items 4 "$work/copy.tk" 4=ones 4=out >"$work/out" 2>"$work/err" || code=$?
[[ $code -ne 0 ]] || fail "a kernel of f64 runs"
grep -q 'needs f64, which SwiftShader.* cannot compute with; use f32, or move' "$work/err" || fail "the refusal of f64 helps nobody"

code=0
TESSERA_WEBGPU_LIB=$work/none.so "$TSR_TEST_PROGRAM" check --backend webgpu --quick --op add >"$work/out" 2>"$work/err" || code=$?
[[ $code -eq 4 ]] || fail "a library that is not there gives $code"
grep -q 'the library that TESSERA_WEBGPU_LIB names cannot be used (.*none.so: ' "$work/err" || fail "the reason is not given"

check_examples webgpu 08_transformer
check_runtime webgpu queues the_profiler tuning limits captures
