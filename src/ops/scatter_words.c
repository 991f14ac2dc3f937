// SPDX-License-Identifier: MIT
#include "ops/scatter_words.h"

enum { GROUP = 256, EACH = 4 };

static bool is_in_any_order(const tsri_scatter *s) {
  bool is_float = s->dtype == TSR_F32 || s->dtype == TSR_F16 || s->dtype == TSR_BF16;
  bool is_extreme = s->combination == TSRI_COMBINE_LARGEST || s->combination == TSRI_COMBINE_SMALLEST;
  return s->combination == TSRI_COMBINE_REPLACE || (is_extreme && is_float);
}

bool tsri_scatter_words_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_words_cut *out) {
  enum { LEAST_TEAM = 4, LEAST_GROUPS = 64, MANY_WORDS = 4096, MOST_WORDS = 8192 };
  if (!is_in_any_order(s) || z->inner != 1 || z->size > MOST_WORDS) return false;
  *out = (tsri_words_cut){.range = tsri_scatter_rounded(z->size), .team = LEAST_TEAM};
  while (out->team < GROUP && (out->team * EACH < z->n || GROUP / out->team * out->range > MANY_WORDS)) out->team *= 2;
  size_t bytes = 4 * (size_t)(GROUP / out->team * out->range);
  return z->outer * out->team >= (int64_t)LEAST_GROUPS * GROUP && bytes <= s->device->limits.shared_bytes &&
         s->device->limits.max_group_size >= GROUP;
}

tsr_status tsri_scatter_words_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_words_cut *cut) {
  int64_t teams = GROUP / cut->team;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_words",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_CONSTANT("OP", s->combination), TSRI_CONSTANT("RANGE", cut->range),
                           TSRI_CONSTANT("TEAM", cut->team), TSRI_CONSTANT("EACH", EACH), TSRI_CONSTANT("WG", GROUP)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_scatter_pass_sources(run, z, run->dtype, &call);
  tsri_scatter_pass_result(run, z, &call);
  tsri_call_word(&call, "rows", z->outer);
  return tsri_call_many_groups(&call, (z->outer + teams - 1) / teams);
}
