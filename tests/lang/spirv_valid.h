// SPDX-License-Identifier: MIT
// The judgement of spirv-val on what the SPIR-V emitter writes.
#ifndef TESSERA_TEST_SPIRV_VALID_H
#define TESSERA_TEST_SPIRV_VALID_H

#include <stdbool.h>

#include "lang/ir/ir.h"

bool spirv_has_validator(void);

// Emits the kernel for a device with all features, one with some and one with none, and fails the test if a module is
// not valid. Only the first has to be able to run every kernel.
void spirv_check(const tsri_kernel *kernel);

// The same for many kernels that are much alike: all modules are emitted, but only one in three is validated, of each kernel
// one; TSR_TEST_SAMPLE=1 validates all.
void spirv_check_sample(const tsri_kernel *kernel);

// Modules validated so far.
int spirv_checked(void);

#endif
