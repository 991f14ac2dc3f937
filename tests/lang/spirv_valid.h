// SPDX-License-Identifier: MIT
// Checks the output of the SPIR-V emitter with spirv-val.
#ifndef TESSERA_TEST_SPIRV_VALID_H
#define TESSERA_TEST_SPIRV_VALID_H

#include <stdbool.h>

#include "lang/ir/ir.h"

bool spirv_has_validator(void);

// Emits the kernel for a device with all features, one with some and one with none, and fails the test if a module is
// not valid. Only the first device must be able to run every kernel.
void spirv_check(const tsri_kernel *kernel);

// As spirv_check, for many similar kernels: all modules are emitted, but only one in three is validated, one per
// kernel. TSR_TEST_SAMPLE=1 validates all.
void spirv_check_sample(const tsri_kernel *kernel);

// Number of modules validated so far.
int spirv_checked(void);

#endif
