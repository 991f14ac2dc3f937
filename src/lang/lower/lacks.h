// SPDX-License-Identifier: MIT
// Which operations each dialect lacks: it has none of that name, or one that means something else for some arguments
// (division by 0, NaN, the ends of the range) or is less accurate than ir_ops.h promises. An emitter writes the
// expansion (expand.h) of an operation that its dialect lacks, and spells the others.
#ifndef TSRI_LANG_LACKS_H
#define TSRI_LANG_LACKS_H

#include "lang/ir/ir.h"

// By type of the operands; bit 1 << tsri_ir_op.
typedef struct tsri_lacks {
  uint64_t f32, f64, i32, u32, i64;
  uint32_t rounding;  // bit 1 << tsr_dtype for f16 and bf16: f32 is not rounded to it by conversions there and back
} tsri_lacks;

// What `dialect` (a name of TSRI_DIALECTS) lacks on every device.
tsri_lacks tsri_lacks_of(const char *dialect);

// Adds an operation on floats that this device lacks.
void tsri_lacks_add(tsri_lacks *lacks, tsri_ir_op code);

// `dtype`: of the operands, or for SELECT of what is selected.
bool tsri_lacks_op(const tsri_lacks *lacks, tsri_ir_op code, tsr_dtype dtype);

#endif
