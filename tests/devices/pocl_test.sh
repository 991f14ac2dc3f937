#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OpenCL on PoCL: a sample of the conformance run passes.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# Half of the operators, because PoCL takes a fifth of a second to compile a kernel. The kernels of the others are compiled by
# lang.emit_compile, and run through the same emitter on the stand-ins for Metal and ROCm.
use_pocl
check_sample opencl 200 $(part 2/4)
check_gradients opencl 1
check_examples opencl 08_transformer
check_runtime opencl queues tuning limits
