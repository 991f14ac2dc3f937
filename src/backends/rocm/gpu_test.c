// SPDX-License-Identifier: MIT
// Tests that need an AMD GPU; skipped if there is none. An illegal access is not among them: ROCm ends the process then.
#define GPU_BACKEND "rocm"
#include "backends/common/gpu_testing.h"
