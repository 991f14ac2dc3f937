// SPDX-License-Identifier: MIT
// From the checked form (ir.h) to lane bytecode (emit/lanes/code.h), which the CPU runs.
#ifndef TSRI_LANG_LANES_H
#define TSRI_LANG_LANES_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

#include "lang/ir/ir.h"

// Writes the kernel as lane bytecode: `*out_bytes` bytes of 32-bit words. The same kernel always gives the same words.
//
// Ownership: caller releases `*out_words` with tsri_free.
// Threads:   any.
// Errors:    TSR_ERR_UNSUPPORTED (more registers or instructions than the format allows), TSR_ERR_OUT_OF_MEMORY. Then
//            `*out_words` is NULL.
tsr_status tsri_lanes_compile(const tsri_kernel *kernel, uint32_t **out_words, size_t *out_bytes);

// Bytecode as text, one instruction per line, for people and tests. NULL: no memory, or `words` is too short for a header.
//
// Ownership: caller releases it with tsri_free.
char *tsri_lanes_print(const uint32_t *words, size_t bytes);

#endif
