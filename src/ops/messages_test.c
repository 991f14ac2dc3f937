// SPDX-License-Identifier: MIT
// Which operator an error names: the one that was called, even if it is composed of others.
#include <limits.h>

#include "ops/ops_testing.h"

static void check_begins(const char *name, tsr_tensor *result) {
  CHECK(tsr_error(result) != TSR_OK);
  if (strncmp(tsr_last_error(), name, strlen(name)) == 0) return;
  test_fail(__FILE__, __LINE__, "the message begins with \"%s\": %s", name, tsr_last_error());
}

TEST(composed_operators_name_themselves_in_their_errors) {
  begin();
  tsr_tensor *row = tsr_ones(dev, TSR_F32, TSR_SHAPE(2)), *matrix = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 3));
  tsr_tensor *deep = tsr_ones(dev, TSR_I32, TSR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
  tsr_tensor *vast = tsr_expand(tsr_ones(dev, TSR_F32, TSR_SHAPE(1)), TSR_SHAPE(INT64_C(1) << 40));
  check_begins("repeat: ", tsr_repeat(row, INT64_MAX / 2, 0));
  check_begins("tile: ", tsr_tile(row, TSR_SHAPE(INT64_MAX / 2)));
  check_begins("outer: ", tsr_outer(vast, vast));
  check_begins("one_hot: ", tsr_one_hot(deep, 3, TSR_F32));
  check_begins("gemv: inner sizes differ", tsr_gemv(matrix, row));
  check_begins("matmul: sizes differ", tsr_matmul(row, tsr_ones(dev, TSR_F32, TSR_SHAPE(3))));
  check_begins("stack: ", tsr_stack(&deep, 1, 0));
  finish();
}

// Errors of memory come from the pool but carry the operator's name: in eager mode operators run when they are called.
TEST(composed_operators_name_themselves_when_memory_is_out) {
  CHECK_OK(tsr_config_set("eager", "1"));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .memory_limit = 1 << 20}, &dev));
  CHECK_OK(tsr_config_set("eager", NULL));
  test_scope = tsr_scope_begin(dev);
  const int64_t n = 1 << 22;
  tsr_tensor *x = tsr_expand(tsr_ones(dev, TSR_U8, TSR_SHAPE(1, 1)), TSR_SHAPE(2, n));
  tsr_tensor *at = tsr_zeros(dev, TSR_I32, TSR_SHAPE(2, 1));
  check_begins("roll: ", tsr_roll(x, 1, 1));
  check_begins("scatter_add: ", tsr_scatter_add(x, 1, at, at));
  check_begins("tril: ", tsr_tril(x, 0));
  check_begins("softmax: ", tsr_softmax(x, 1));
  check_begins("rms_norm: ", tsr_rms_norm(x, NULL, 0));
  check_begins("cumsum: ", tsr_cumsum(x, 1));
  check_begins("sort: ", tsr_sort(x, 1, false));
  check_begins("var: ", tsr_var(x, NULL, 0, false, 0));
  check_begins("std: ", tsr_std(x, NULL, 0, false, 0));
  check_begins("norm: ", tsr_norm(x, 2, NULL, 0, false));
  check_begins("logsumexp: ", tsr_logsumexp(x, NULL, 0, false));
  tsr_tensor *values = NULL;
  CHECK_STATUS(tsr_topk(x, 1, 1, true, &values, NULL), TSR_ERR_OUT_OF_MEMORY);
  CHECK(strncmp(tsr_last_error(), "topk: ", 6) == 0);
  finish();
}

TEST(a_failed_input_keeps_its_own_message) {
  begin();
  tsr_tensor *failed = tsr_reshape(tsr_ones(dev, TSR_F32, TSR_SHAPE(3)), TSR_SHAPE(2)),
             *row = count_up(TSR_F32, TSR_SHAPE(2));
  tsr_tensor *at = tsr_zeros(dev, TSR_I32, TSR_SHAPE(1));
  tsr_tensor *results[] = {tsr_repeat(failed, 2, 0),
                           tsr_tile(failed, TSR_SHAPE(2)),
                           tsr_outer(row, failed),
                           tsr_one_hot(failed, 2, TSR_F32),
                           tsr_gemv(failed, row),
                           tsr_matmul(row, failed),
                           tsr_take(failed, at),
                           tsr_scatter(row, 0, at, failed),
                           tsr_roll(failed, 1, 0),
                           tsr_softmax(failed, 0),
                           tsr_std(failed, NULL, 0, false, 0),
                           tsr_sort(failed, 0, true)};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) check_begins("reshape: ", results[i]);
  finish();
}

TEST(index_operators_answer_null_with_a_failed_tensor) {
  begin();
  tsr_tensor *at = tsr_zeros(dev, TSR_I32, TSR_SHAPE(1)), *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1));
  CHECK_FAILS(tsr_gather(NULL, 0, at), TSR_ERR_INVALID_ARGUMENT, "gather: tensor is NULL");
  CHECK_FAILS(tsr_index_select(NULL, 0, at), TSR_ERR_INVALID_ARGUMENT, "index_select: tensor is NULL");
  CHECK_FAILS(tsr_take(NULL, at), TSR_ERR_INVALID_ARGUMENT, "take: tensor is NULL");
  CHECK_FAILS(tsr_scatter(NULL, 0, at, x), TSR_ERR_INVALID_ARGUMENT, "scatter: tensor is NULL");
  CHECK_FAILS(tsr_scatter_add(NULL, 0, at, x), TSR_ERR_INVALID_ARGUMENT, "scatter_add: tensor is NULL");
  CHECK_FAILS(tsr_gather(x, 0, NULL), TSR_ERR_INVALID_ARGUMENT, "gather: tensor is NULL");
  CHECK_FAILS(tsr_one_hot(NULL, 1, TSR_F32), TSR_ERR_INVALID_ARGUMENT, "one_hot: tensor is NULL");
  finish();
}

TEST(expand_refuses_ranks_out_of_range) {
  begin();
  tsr_tensor *x = tsr_ones(dev, TSR_F32, TSR_SHAPE(2));
  const int32_t ranks[] = {INT32_MIN, -1, TSR_MAX_RANK + 1, INT32_MAX};
  for (int i = 0; i < 4; i++) {
    CHECK_FAILS(tsr_expand(x, (tsr_shape){.rank = ranks[i]}), TSR_ERR_SHAPE, "out of range, 0 to 8 are allowed");
  }
  finish();
}

TEST(group_size_writes_nothing_to_null) {
  tsr_kernel_group_size(NULL, NULL);
  uint32_t size[3] = {7, 7, 7};
  tsr_kernel_group_size(NULL, size);
  CHECK_EQ_UINT(size[0] + size[1] + size[2], 0);
}
