// SPDX-License-Identifier: MIT
// The targets that kernels are compiled for.
#include "backends/cpu/jit/target.h"

const jit_target *const tsri_jit_targets[JIT_TARGET_COUNT] = {&tsri_jit_avx2, &tsri_jit_avx512, &tsri_jit_neon};
