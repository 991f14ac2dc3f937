// SPDX-License-Identifier: MIT
// Arrays of elements that a device cannot keep in memory as they are: 8-bit and 16-bit ones.
//
// A buffer of them becomes one of words, u32, with 4 or 2 elements in each, the first in the low end. A store of part of a
// word changes its bits by atomic operations, because other items may write the rest of it at the same time.
// A shared or local array of them holds values instead, which a store first rounds to the element's type.
#ifndef TSRI_LANG_STORAGE_H
#define TSRI_LANG_STORAGE_H

#include <tessera/status.h>

#include "lang/ir/ir.h"

#define TSRI_STORAGE_BYTES  (1u << TSR_BOOL | 1u << TSR_U8 | 1u << TSR_I8)
#define TSRI_STORAGE_HALVES (1u << TSR_I16 | 1u << TSR_F16 | 1u << TSR_BF16)

// Elements, bit 1 << tsr_dtype, that the device lacks.
typedef struct tsri_storage_lacks {
  uint32_t in_buffers, in_shared, in_locals;
} tsri_storage_lacks;

// The kernel without arrays of the lacking types, except local ones of bool. Also drops conversions of a stored value to the
// array's own type, because a store does the same.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_lower_storage(const tsri_kernel *kernel, tsri_storage_lacks lacks, tsri_kernel **out_kernel);

#endif
