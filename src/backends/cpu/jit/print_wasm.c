// SPDX-License-Identifier: MIT
// A web page has no use for listings of machine code: the compiler is left out of its module.
#include "backends/cpu/jit/print.h"
#include "core/error.h"

const char *const tsri_jit_dialects[] = {NULL};

tsr_status tsri_jit_print(const void *words, size_t bytes, const char *dialect, char **out_text) {
  (void)words;
  (void)bytes;
  *out_text = NULL;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel_emit: WebAssembly has no compiler for '%s'", dialect);
}
