#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Vulkan on lavapipe: a sample of the conformance run passes, without a message of the validation layer.
set -euo pipefail
# shellcheck source=tests/devices/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# Every other case of the sample, because lavapipe compiles each kernel with LLVM. swiftshader_test.sh runs the others.
use_lavapipe
# shellcheck disable=SC2046
check_validated 60 $(part 1/2) || check_sample vulkan 60 $(part 1/2)
check_gradients vulkan 3
check_examples vulkan 09_resnet
check_runtime vulkan queues tuning limits
