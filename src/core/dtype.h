// SPDX-License-Identifier: MIT
// Questions about dtypes that only the library asks.
#ifndef TSRI_DTYPE_H
#define TSRI_DTYPE_H

#include <stdbool.h>

#include <tessera/dtype.h>
#include <tessera/status.h>

// Whether two elements share a byte. No table by dtype has a row for these; only a tensor's record may have them.
static inline bool tsri_dtype_is_packed(tsr_dtype dtype) { return dtype == TSR_I4 || dtype == TSR_U4; }

// TSR_OK for a dtype that operators compute with or make.
//
// Errors: TSR_ERR_DTYPE (no dtype, or a packed one), with `caller` in the message.
tsr_status tsri_dtype_check(const char *caller, tsr_dtype dtype);

#endif
