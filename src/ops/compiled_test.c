// SPDX-License-Identifier: MIT
// Which operators run as machine code on the CPU, according to its counters.
#include "backends/cpu/cpu.h"
#include "backends/cpu/jit/jit.h"
#include "ops/ops_testing.h"

enum { ROWS = 5, COLUMNS = 1003 };  // more elements than kernels are interpreted for at first

#define REQUIRE_COMPILER()                                                   \
  if (strcmp(tsri_cpu_simd_level(NULL), "baseline") == 0) {                  \
    SKIP("this processor has no instructions that kernels are compiled to"); \
  }

// Evaluates the tensor and checks that machine code ran; with `entirely`, that nothing was interpreted.
static void check_compiled(const char *what, tsr_tensor *x, bool entirely) {
  jit_counts before = tsri_jit_counts();
  CHECK_OK(tsr_evaluate(x));
  jit_counts after = tsri_jit_counts();
  if (after.compiled == before.compiled) test_fail(__FILE__, __LINE__, "%s: nothing ran compiled", what);
  if (entirely && after.interpreted != before.interpreted) {
    test_fail(__FILE__, __LINE__, "%s: %ju runs were interpreted", what,
              (uintmax_t)(after.interpreted - before.interpreted));
  }
}

#define CHECK_COMPILED(call) check_compiled(#call, call, true)

TEST(element_wise_operators_run_compiled) {
  REQUIRE_COMPILER();
  begin();
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    tsr_tensor *x = tsr_randn(dev, dtypes[i], TSR_SHAPE(ROWS, COLUMNS), 1);
    tsr_tensor *y = tsr_randn(dev, dtypes[i], TSR_SHAPE(ROWS, COLUMNS), 2);
    CHECK_OK(tsr_evaluate(x));
    CHECK_OK(tsr_evaluate(y));
    CHECK_COMPILED(tsr_mul(tsr_add(x, y), x));
    CHECK_COMPILED(tsr_relu(tsr_sub(x, y)));
    CHECK_COMPILED(tsr_exp(x));
    CHECK_COMPILED(tsr_tanh(x));
    CHECK_COMPILED(tsr_sigmoid(x));
    CHECK_COMPILED(tsr_silu(x));
    CHECK_COMPILED(tsr_gelu(x));
    CHECK_COMPILED(tsr_gelu_tanh(x));
    CHECK_COMPILED(tsr_log(tsr_abs(x)));
    CHECK_COMPILED(tsr_where(tsr_gt(x, y), tsr_clamp(x, -1, 1), tsr_div(x, y)));
    CHECK_COMPILED(tsr_cast(tsr_mul(x, y), TSR_I32));
    if (dtypes[i] != TSR_F32) CHECK_COMPILED(tsr_cast(x, TSR_F32));
    tsr_tensor *row = tsr_ones(dev, dtypes[i], TSR_SHAPE(COLUMNS)),
               *column = tsr_ones(dev, dtypes[i], TSR_SHAPE(ROWS, 1));
    CHECK_OK(tsr_evaluate(row));
    CHECK_OK(tsr_evaluate(column));
    CHECK_COMPILED(tsr_add(x, row));
    CHECK_COMPILED(tsr_mul(x, column));
  }
  finish();
}

TEST(whole_numbers_and_truth_values_run_compiled) {
  REQUIRE_COMPILER();
  begin();
  tsr_tensor *x = tsr_arange(dev, TSR_I32, 0, ROWS * COLUMNS, 1),
             *y = tsr_full(dev, TSR_I32, TSR_SHAPE(ROWS * COLUMNS), 7);
  tsr_tensor *z = tsr_cast(x, TSR_U8);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_evaluate(z));
  CHECK_COMPILED(tsr_add(tsr_mul(x, y), x));
  CHECK_COMPILED(tsr_maximum(x, y));
  CHECK_COMPILED(tsr_logical_and(tsr_lt(x, y), tsr_ne(x, y)));
  CHECK_COMPILED(tsr_mul(tsr_cast(z, TSR_F32), tsr_cast(x, TSR_F32)));
  finish();
}

TEST(row_operators_run_compiled) {
  REQUIRE_COMPILER();
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 1), *w = tsr_ones(dev, TSR_F32, TSR_SHAPE(COLUMNS));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(w));
  check_compiled("softmax", tsr_softmax(tsr_mul_scalar(x, 2), 1), false);
  check_compiled("layer_norm", tsr_layer_norm(tsr_mul_scalar(x, 2), w, w, 1e-5), false);
  check_compiled("rms_norm", tsr_rms_norm(tsr_mul_scalar(x, 2), w, 1e-5), false);
  tsr_tensor *narrow = tsr_cast(x, TSR_BF16), *short_rows = tsr_randn(dev, TSR_F32, TSR_SHAPE(50, 100), 3);
  CHECK_OK(tsr_evaluate(narrow));
  CHECK_OK(tsr_evaluate(short_rows));
  check_compiled("sum of squares in bf16", tsr_sum(tsr_mul(narrow, narrow), (int[]){1}, 1, false), true);
  check_compiled("sum of exp", tsr_sum(tsr_exp(x), (int[]){1}, 1, false), false);
  finish();
}

TEST(nothing_runs_compiled_with_jit_off) {
  begin();
  CHECK_OK(tsr_config_set("jit", "off"));
  tsr_device *interpreting = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &interpreting));
  CHECK_OK(tsr_config_set("jit", NULL));
  jit_counts before = tsri_jit_counts();
  tsr_tensor *x = tsr_full(interpreting, TSR_F32, TSR_SHAPE(COLUMNS), 0.5);
  CHECK_OK(tsr_evaluate(tsr_mul(tsr_exp(x), x)));
  CHECK_EQ_UINT(tsri_jit_counts().compiled, before.compiled);
  tsr_device_release(interpreting);
  finish();
}
