// SPDX-License-Identifier: MIT
// Questions about dtypes that only the library asks.
#ifndef TSRI_DTYPE_H
#define TSRI_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>
#include <tessera/status.h>

// Whether two elements share a byte (i4, u4). Tables indexed by dtype have no entries for these dtypes: only a tensor's record may have such a dtype.
static inline bool tsri_dtype_is_packed(tsr_dtype dtype) { return dtype == TSR_I4 || dtype == TSR_U4; }

// As tsr_dtype_bytes, but inline and only for dtypes that are not packed.
extern const uint8_t tsri_dtype_sizes[TSR_DTYPE_COUNT];
static inline size_t tsri_dtype_bytes(tsr_dtype dtype) { return tsri_dtype_sizes[dtype]; }

// TSR_OK for a dtype that operators compute with or make.
//
// Errors: TSR_ERR_DTYPE (not a dtype, or a packed dtype), with `caller` in the message.
tsr_status tsri_dtype_check(const char *caller, tsr_dtype dtype);

#endif
