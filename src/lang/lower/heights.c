// SPDX-License-Identifier: MIT
#include "lang/lower/heights.h"

#include "core/error.h"
#include "lang/lower/hoist_build.h"

typedef struct measures {
  uint32_t most;
  uint32_t *of;  // by expression of the original: its height after parts of it became variables
} measures;

static uint32_t height_above(const tsri_ir_expr *x, const uint32_t *of) {
  uint32_t count = tsri_ir_operands(x), height = 0;
  for (uint32_t i = 0; i < count; i++) height = of[x->args[i]] + 1 > height ? of[x->args[i]] + 1 : height;
  return height;
}

static uint32_t lower_expr(hoister *h, uint32_t index, list *before) {
  const measures *heights = h->context;
  tsri_ir_expr x = h->w.exprs[index];
  uint32_t count = tsri_ir_operands(&x);
  bool becomes_branch = false;
  for (uint32_t i = tsri_ir_plain_operands(&x) ? count : 1; i < count; i++) {
    becomes_branch |= h->before[x.args[i]].first != 0;
  }
  heights->of[index] = becomes_branch ? 0 : height_above(&x, heights->of);
  if (heights->of[index] <= heights->most) return 0;
  heights->of[index] = 0;
  for (uint32_t i = 0; i < count; i++) x.args[i] = h->places[x.args[i]];
  return tsri_hoist_value(h, before, put(&h->w, x));
}

tsr_status tsri_lower_heights(const tsri_kernel *kernel, uint32_t most, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.expr = lower_expr};
  measures heights = {.most = most, .of = tsri_calloc(kernel->expr_count + 1u, sizeof *heights.of)};
  uint32_t highest = 0;
  *out_kernel = NULL;
  if (!heights.of) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to measure its expressions", kernel->variant);
  }
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    heights.of[i] = height_above(&kernel->exprs[i], heights.of);
    if (heights.of[i] > highest) highest = heights.of[i];
  }
  tsr_status status = highest > most ? tsri_hoist(kernel, &pass, NULL, &heights, out_kernel) : TSR_OK;
  tsri_free(heights.of);
  return status;
}
