// SPDX-License-Identifier: MIT
// Finds operations of f32 whose results are only used for f16 or bf16.
//
// A function of 16-bit tensors computes in f32 and rounds its result to 11 or 8 bits. Before that rounding, an operation may have a relative error of some
// 2^-15 without any effect, so a device's own exp or division can be used even if it is not accurate enough for f32 (expand.h, option `narrow`). This is valid
// if everything that the result flows into keeps relative errors small: products, quotients, roots, selections, and sums of numbers that are not negative. All
// other uses need the operation as the language defines it.
#ifndef TSRI_LANG_NARROW_H
#define TSRI_LANG_NARROW_H

#include "lang/ir/ir.h"

// For each expression of the kernel, whether it may be computed with that error.
//
// Ownership: the caller frees it with tsri_free. NULL: memory is out, or nothing in the kernel has 16 bits.
bool *tsri_narrow_find(const tsri_kernel *kernel);

#endif
