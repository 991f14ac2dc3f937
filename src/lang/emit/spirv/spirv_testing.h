// SPDX-License-Identifier: MIT
// For tests of the SPIR-V emitter: the module of a kernel that is given as text.
#ifndef TSRI_LANG_EMIT_SPIRV_TESTING_H
#define TSRI_LANG_EMIT_SPIRV_TESTING_H

#include "core/alloc.h"
#include "lang/emit/emit.h"
#include "lang/lang_testing.h"

// Release it with tsri_emitted_deinit.
static inline tsri_emitted emit_spirv(const char *text, const char *args, const tsri_emit_options *options) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  if (make_kernel(text, args, &log, &kernel) != TSR_OK) test_fail(__FILE__, __LINE__, "%s", log);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("spirv"), kernel, options, &code));
  tsri_free(log);
  tsri_kernel_release(kernel);
  return code;
}

#endif
