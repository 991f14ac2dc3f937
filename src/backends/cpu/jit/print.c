// SPDX-License-Identifier: MIT
// The listing of `tessera kernel emit --dialect x86`.
#include "backends/cpu/jit/print.h"

#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/jit/jit.h"
#include "core/error.h"

tsr_status tsri_jit_print(const void *words, size_t bytes, char **out_text) {
  *out_text = NULL;
  tsri_lanes_program *program = NULL;
  tsr_status status = tsri_lanes_prepare(words, bytes, &program);
  if (status != TSR_OK) return status;
  const char *level = strcmp(tsri_cpu_simd_level(NULL), "avx512") == 0 ? "avx512" : "avx2";
  tsri_builder listing = {0};
  tsri_builder_add(&listing, "%s for %s\n", program->name, tsri_cpu_simd_title(level));
  struct lane_jit *jit = tsri_jit_compile(program, level, &listing);
  if (!jit) tsri_builder_add(&listing, "nothing of it is compiled\n");
  tsri_jit_release(jit);
  tsri_lanes_release(program);
  if (listing.has_failed) {
    tsri_builder_deinit(&listing);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_emit: no host memory for it");
  }
  *out_text = listing.text;
  return TSR_OK;
}
