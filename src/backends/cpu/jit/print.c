// SPDX-License-Identifier: MIT
// The listing of `tessera kernel emit --dialect x86` and `arm64`.
#include "backends/cpu/jit/print.h"

#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/jit/jit.h"
#include "backends/cpu/jit/target.h"
#include "core/error.h"

const char *const tsri_jit_dialects[] = {"x86", "arm64", NULL};

// The best target of the dialect that this processor has; if it has none, the dialect's first target. NULL: no such dialect.
static const jit_target *target_for(const char *dialect) {
  const jit_target *found = NULL;
  for (int i = 0; i < JIT_TARGET_COUNT; i++) {
    const jit_target *target = tsri_jit_targets[i];
    if (strcmp(target->dialect, dialect) != 0) continue;
    if (!found || strcmp(tsri_cpu_simd_level(NULL), target->simd) == 0) found = target;
  }
  return found;
}

tsr_status tsri_jit_print(const void *words, size_t bytes, const char *dialect, char **out_text) {
  *out_text = NULL;
  const jit_target *target = target_for(dialect);
  if (!target) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_emit: there is no machine code '%s'", dialect);
  tsri_lanes_program *program = NULL;
  tsr_status status = tsri_lanes_prepare(words, bytes, &program);
  if (status != TSR_OK) return status;
  tsri_builder listing = {0};
  tsri_builder_add(&listing, "%s for %s\n", program->name, target->title);
  struct lane_jit *jit = tsri_jit_compile(program, target->simd, &listing);
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
