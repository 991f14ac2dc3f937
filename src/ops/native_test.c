// SPDX-License-Identifier: MIT
// Which operators the CPU runs by native code of its own: they build no kernel.
#include "graph/kernels.h"
#include "graph/node.h"
#include "ops/ops_testing.h"

enum { ROWS = 5, COLUMNS = 1003 };

static size_t kernel_bytes(void) { return tsri_kernel_cache_bytes(tsri_graph_of(dev)->kernels); }

static void check_native(const char *what, tsr_tensor *x, bool is_native) {
  size_t before = kernel_bytes();
  CHECK_OK(tsr_evaluate(x));
  if ((kernel_bytes() == before) != is_native) {
    test_fail(__FILE__, __LINE__, "%s: %s", what, is_native ? "a kernel was built" : "no kernel was built");
  }
}

static uint64_t launches(void) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(dev, &counters));
  return counters.launches;
}

#define CHECK_NATIVE(call) check_native(#call, call, true)

TEST(operators_on_rows_and_columns_run_natively) {
  begin();
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F16};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    tsr_tensor *x = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 1), dtypes[i]);
    CHECK_OK(tsr_evaluate(x));
    for (int axis = 0; axis < 2; axis++) {
      CHECK_NATIVE(tsr_argmax(x, &axis, 1, false));
      CHECK_NATIVE(tsr_argmin(x, &axis, 1, true));
      CHECK_NATIVE(tsr_softmax(x, axis));
      CHECK_NATIVE(tsr_log_softmax(x, axis));
    }
    CHECK_NATIVE(tsr_layer_norm(x, NULL, NULL, 1e-5));
    CHECK_NATIVE(tsr_rms_norm(x, NULL, 1e-5));
    CHECK_NATIVE(tsr_argmax(x, NULL, 0, false));
    CHECK_NATIVE(tsr_gemm(2, x, tsr_transpose(x, 0, 1), 0, NULL));
    tsr_tensor *values = NULL, *indices = NULL;
    CHECK_OK(tsr_topk(x, 9, 1, true, &values, &indices));
    uint64_t before = launches();
    CHECK_NATIVE(values);
    CHECK_EQ_UINT(launches() - before, 2);  // the order of 9 elements, then gather: no whole row is sorted
  }
  finish();
}

TEST(what_is_computed_on_the_way_into_softmax_or_argmax_is_a_kernel) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 1);
  CHECK_OK(tsr_evaluate(x));
  check_native("softmax of exp", tsr_softmax(tsr_exp(x), 1), false);
  check_native("argmax of exp", tsr_argmax(tsr_exp(x), (int[]){1}, 1, false), false);
  finish();
}
