// SPDX-License-Identifier: MIT
// Lane bytecode as a dialect, so that the CPU is launched like any other device.
#include "lang/emit/emit.h"

#include <stdio.h>

#include "lang/emit/lanes/lanes.h"

const tsri_emit_options tsri_emit_defaults_lanes = {
    .f64 = true, .f16 = true, .i64 = true, .exact_divide = true, .exact_fma = true, .subgroup_size = 32};

// The interpreter knows the sizes of its buffers and reports an index out of range itself, so no report and no element counts are passed.
tsr_status tsri_emit_lanes(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                           tsri_emitted *out) {
  (void)emitter;
  (void)options;
  uint32_t *words = NULL;
  tsr_status status = tsri_lanes_compile(kernel, &words, &out->data_bytes);
  if (status != TSR_OK) return status;
  out->data = words;
  out->has_report = false;
  out->buffer_count = kernel->buffer_count;
  out->params_bytes = kernel->params_bytes;
  snprintf(out->entry, sizeof out->entry, "%s", kernel->name);
  return TSR_OK;
}
