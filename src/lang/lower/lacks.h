// SPDX-License-Identifier: MIT
// Which operations each dialect lacks. An operation is lacking if the dialect has none of that name, if it has another
// meaning for some arguments (division by 0, NaN, the limits of the range), or if it is less accurate than ir_ops.h
// requires. For these an emitter writes the expansion (expand.h); the others it writes directly.
#ifndef TSRI_LANG_LACKS_H
#define TSRI_LANG_LACKS_H

#include "lang/lower/storage.h"

// By type of the operands; bit 1 << tsri_ir_op.
typedef struct tsri_lacks {
  uint64_t f32, f64, i32, u32, i64;
  uint32_t rounding;  // bit 1 << tsr_dtype for f16 and bf16: converting f32 to it and back does not round
  tsri_storage_lacks storage;
  // What a dialect has: subgroup collectives of values of up to this many bytes where the device has subgroups, and a load
  // that gives all items of a work-group the same value (lower/collectives.h).
  uint8_t collective_bytes;
  uint8_t expression_height;  // expressions may be this high (lower/heights.h); 0: any
  bool is_lazy;               // has operands of expressions that may go unevaluated; without them: lower/lazy.h
  bool has_load_for_all;
  bool has_only_shuffles;    // of the subgroup collectives: all others are made of shuffles
  bool is_free_with_floats;  // its compilers may rewrite operations on floats (lower/hide.h)
  bool has_own_uniformity;  // refuses barriers where it does not see that all items arrive (lower/uniform_conditions.h)
} tsri_lacks;

// The operations that `dialect` (a name of TSRI_DIALECTS) lacks on every device.
tsri_lacks tsri_lacks_of(const char *dialect);

// Adds what a device may lack besides: fma that rounds once, and division and square root of f32 that are rounded correctly
// (has_exact_divide), or division alone (has_exact_quotient).
void tsri_lacks_add(tsri_lacks *lacks, bool has_exact_fma, bool has_exact_divide, bool has_exact_quotient);

// `dtype` is the dtype of the operands; for SELECT, of the selected values.
bool tsri_lacks_op(const tsri_lacks *lacks, tsri_ir_op code, tsr_dtype dtype);

#endif
