// SPDX-License-Identifier: MIT
// How often the kernels of fused operators round to 16 bits.
#include <tessera/tessera.h>

#include "runtime/program.h"
#include "support/devices.h"
#include "support/test.h"

static int roundings;

static bool is_rounding(const tsri_kernel *kernel, uint32_t expr) {
  const tsri_ir_expr *x = &kernel->exprs[expr];
  return x->kind == TSRI_EXPR_CONVERT && (x->dtype == TSR_F16 || x->dtype == TSR_BF16);
}

// Counts the conversions to 16 bits that statements or other expressions use. A store drops a conversion to its own dtype, but the unused expression stays in
// the list.
static void count_roundings(const tsri_kernel *kernel) {
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    const tsri_ir_expr *x = &kernel->exprs[i];
    for (uint32_t a = 0; a < tsri_ir_operands(x); a++) roundings += is_rounding(kernel, x->args[a]);
  }
  for (uint32_t i = 1; i < kernel->stmt_count; i++) roundings += is_rounding(kernel, kernel->stmts[i].value);
}

// 1 + 2^-9 is less than half a step of bf16 above 1, and 2.5 steps of f16.
static void check_chain(tsr_dtype dtype, bool goes_on, int wanted) {
  enum { N = 64 };
  static float x[N], is[N];
  for (int i = 0; i < N; i++) x[i] = 0.5f + 0x1p-10f;
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), x, sizeof x);
  tsr_tensor *y = tsr_cast(tsr_add(a, a), dtype);
  if (goes_on) y = tsr_neg(tsr_neg(tsr_cast(y, TSR_F32)));
  roundings = 0;
  tsri_built_watch = count_roundings;
  CHECK_OK(tsr_evaluate(y));
  tsri_built_watch = NULL;
  CHECK_EQ_INT(roundings, wanted);
  y = tsr_cast(y, TSR_F32);
  CHECK_OK(tsr_read(y, is, sizeof is));
  for (int i = 0; i < N; i++) CHECK(is[i] == (dtype == TSR_BF16 ? 1.0f : 1 + 0x1p-9f));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_cast_whose_result_is_stored_is_rounded_by_the_store_alone) {
  check_chain(TSR_BF16, false, 0);
  check_chain(TSR_F16, false, 0);
}

TEST(a_cast_that_other_operators_follow_is_rounded) {
  check_chain(TSR_BF16, true, 1);
  check_chain(TSR_F16, true, 1);
}
