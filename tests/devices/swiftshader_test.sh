#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Vulkan on SwiftShader, which has only the features that Vulkan requires: a sample of the conformance run passes, without a message
# of the validation layer; kernels that cannot run are refused with a message that says what to do.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# The cases of the sample that lavapipe_test.sh leaves out, because SwiftShader compiles slowly: one half of them under the validation layer.
use_swiftshader
check_sample vulkan 60 $(part 2/4)
grep -q '^gap: f64: the device has no 64-bit floats' "$work/out" || fail "the gaps are not listed"
check_gradients vulkan 5
check_validated 60 $(part 4/4) || true

# refuses DTYPE INSTEAD: a kernel of this dtype fails, and the message says to use INSTEAD.
refuses() {
  local code=0
  printf 'kernel copy(in %s x[], out %s y[]) { y[global.x] = x[global.x]; }\n' "$1" "$1" >"$work/copy.tk"
  "$TSR_TEST_PROGRAM" kernel run --backend vulkan --items 4 "$work/copy.tk" 4=ones 4=out >"$work/out" 2>"$work/err" || code=$?
  [[ $code -ne 0 ]] || fail "a kernel of $1 runs"
  grep -q "needs $1, which SwiftShader.* cannot compute with; use $2, or move" "$work/err" || fail "the refusal of $1 helps nobody"
}
refuses f64 f32

# SwiftShader has no 64-bit integers either: the emitter makes each of two 32-bit words.
printf 'kernel square(in i64 x[], out i64 y[]) { y[global.x] = (x[global.x] + 3000000000) * 3 / 2; }\n' >"$work/square.tk"
"$TSR_TEST_PROGRAM" kernel run --backend vulkan --items 4 "$work/square.tk" 4=ones 4=out >"$work/out" 2>"$work/err" ||
  fail "a kernel of i64 does not run"
grep -q 4500000001 "$work/out" || fail "a kernel of i64 gives something else"
