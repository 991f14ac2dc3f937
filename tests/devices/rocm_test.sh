#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ROCm on the stand-in that runs HIP text on the CPU: a sample of the conformance run passes on a GPU with wavefronts of 32 and on
# one with wavefronts of 64, both with matrix units.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# A sixteenth of the operators each, unless all cases are wanted: every kernel is compiled here.
part() { [[ -n ${TSR_TEST_SAMPLE:-} ]] || printf -- '--part %s/16' "$1"; }

use_rocm gfx=gfx1100
# shellcheck disable=SC2046
check_sample rocm 2000 $(part 3)
use_rocm gfx=gfx90a
# shellcheck disable=SC2046
check_sample rocm 2000 $(part 11)
# The matrix units, in products and in attention.
check_sample rocm 100 --op 'matmul/f16/*,attention/f16/*'
