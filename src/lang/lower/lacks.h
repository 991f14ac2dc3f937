// SPDX-License-Identifier: MIT
// Which operations each dialect lacks. An operation is lacking if the dialect has none of that name, if it has another
// meaning for some arguments (division by 0, NaN, the limits of the range), or if it is less accurate than ir_ops.h
// requires. For these an emitter writes the expansion (expand.h); the others it writes directly.
#ifndef TSRI_LANG_LACKS_H
#define TSRI_LANG_LACKS_H

#include "lang/lower/storage.h"

// The operations that are lacking, by type of the operands, as bits 1 << tsri_ir_op.
typedef struct tsri_lacks {
  uint64_t f32, f64, i32, u32, i64;
  uint32_t rounding;  // bit 1 << tsr_dtype for f16 and bf16: converting f32 to it and back does not round
  tsri_storage_lacks storage;
  // Properties of the dialect: subgroup collectives exist for values of up to this many bytes, if the device has subgroups; and whether there is a load that
  // gives all items of a work-group the same value (lower/collectives.h).
  uint8_t collective_bytes;
  uint8_t expression_height;  // limit on the height of expressions (lower/heights.h); 0: none
  bool is_lazy;               // has expressions with operands that are not always evaluated; without them: lower/lazy.h
  bool has_load_for_all;
  bool has_only_shuffles;    // of the subgroup collectives: all others are made of shuffles
  bool is_free_with_floats;  // its compilers may rewrite float operations (lower/hide.h)
  bool has_own_uniformity;   // refuses barriers unless it recognises that all items arrive (lower/uniform_conditions.h)
} tsri_lacks;

// The operations that `dialect` (a name of TSRI_DIALECTS) lacks on every device.
tsri_lacks tsri_lacks_of(const char *dialect);

// Adds the operations that a device may lack in addition: fma that rounds once, and correctly rounded division and square root of f32 (has_exact_divide), or
// division alone (has_exact_quotient).
void tsri_lacks_add(tsri_lacks *lacks, bool has_exact_fma, bool has_exact_divide, bool has_exact_quotient);

// Whether the operation is lacking. `dtype`: of the operands; for SELECT, of the selected values.
bool tsri_lacks_op(const tsri_lacks *lacks, tsri_ir_op code, tsr_dtype dtype);

#endif
