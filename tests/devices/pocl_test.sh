#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OpenCL on PoCL: a sample of the conformance run passes.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

use_pocl
check_sample opencl 200
check_gradients opencl 1
check_examples opencl
check_queues opencl
