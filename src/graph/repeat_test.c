// SPDX-License-Identifier: MIT
// The launch cache: which launches are cached, and that different launches have different keys.
#include "graph/repeat.h"

#include <string.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

// Whether the cache has a launch for this pending tensor's node.
static bool is_kept(tsr_tensor *tensor) {
  tsri_graph_state *state = tsri_graph_of(tensor->value->device);
  tsri_mutex_lock(&state->lock);
  const tsri_node *node = tsri_pending_node(tensor->value);
  CHECK(node != NULL);
  bool found = tsri_repeat_find(&state->repeats, node) != NULL;
  tsri_mutex_unlock(&state->lock);
  return found;
}

static void check_four(tsr_tensor *tensor, float a, float b, float c, float d) {
  float wanted[4] = {a, b, c, d}, values[4];
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  CHECK_BYTES(values, wanted, sizeof wanted);
}

static tsr_tensor *four(tsr_device *device, float first) {
  float values[4] = {first, first + 1, first + 2, first + 3};
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
}

TEST(an_operator_is_launched_in_its_form_from_the_second_time_on) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10), *c = four(device, 100);
  tsr_tensor *first = tsr_add(a, b);
  CHECK(!is_kept(first));
  check_four(first, 10, 12, 14, 16);
  tsr_tensor *second = tsr_add(c, a);  // the same operator on other buffers
  CHECK(is_kept(second));
  check_four(second, 100, 102, 104, 106);
  tsr_tensor *square = tsr_add(tsr_reshape(a, TSR_SHAPE(2, 2)), tsr_reshape(b, TSR_SHAPE(2, 2)));
  CHECK(is_kept(square));  // contiguous inputs of any shape share an entry
  check_four(square, 10, 12, 14, 16);
  CHECK_EQ_INT(tsr_tensor_shape(square).rank, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_tensor_with_itself_is_another_form) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  for (int i = 0; i < 3; i++) {
    check_four(tsr_sub(b, a), 10, 10, 10, 10);
    check_four(tsr_sub(a, a), 0, 0, 0, 0);
    check_four(tsr_sub(a, b), -10, -10, -10, -10);
    check_four(tsr_add(b, b), 20, 22, 24, 26);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(numbers_dtypes_and_counts_are_part_of_a_form) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 1), *whole = tsr_arange(device, TSR_I32, 1, 5, 1);
  tsr_tensor *longer = tsr_arange(device, TSR_F32, 0, 300, 1);
  for (int i = 0; i < 3; i++) {
    check_four(tsr_mul_scalar(a, 2), 2, 4, 6, 8);
    check_four(tsr_mul_scalar(a, -3), -3, -6, -9, -12);
    int32_t integers[4];
    CHECK_OK(tsr_read(tsr_mul_scalar(whole, 2), integers, sizeof integers));
    CHECK_BYTES(integers, ((int32_t[]){2, 4, 6, 8}), sizeof integers);
    check_four(tsr_add(a, whole), 2, 4, 6, 8);
    check_four(tsr_add(a, a), 2, 4, 6, 8);
    float values[300];
    CHECK_OK(tsr_read(tsr_mul_scalar(longer, 2), values, sizeof values));
    for (int j = 0; j < 300; j++) CHECK(values[j] == 2.0f * (float)j);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(inputs_out_of_order_and_inputs_yet_to_be_computed_are_planned) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10), *long_one = tsr_arange(device, TSR_F32, 0, 8, 1);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_tensor *views[] = {tsr_flip(a, 0), tsr_slice(long_one, 0, 2, 6, 1), tsr_slice(long_one, 0, 0, TSR_END, 2)};
  float firsts[] = {13, 12, 10}, steps[] = {0, 2, 3};
  for (int i = 0; i < 3; i++) {
    tsr_tensor *sum = tsr_add(views[i], b);
    CHECK(!is_kept(sum));
    check_four(sum, firsts[i], firsts[i] + steps[i], firsts[i] + 2 * steps[i], firsts[i] + 3 * steps[i]);
  }
  tsr_tensor *chain = tsr_add(tsr_neg(a), b);
  CHECK(!is_kept(chain));
  check_four(chain, 10, 10, 10, 10);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(host_memory_that_runs_out_leaves_the_operator_to_be_tried_again) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_tensor *sum = tsr_add(a, b);
  CHECK(is_kept(sum));
  tsri_alloc_fail_at(1, false);
  CHECK_STATUS(tsr_evaluate(sum), TSR_ERR_OUT_OF_MEMORY);
  tsri_alloc_fail_at(0, false);
  check_four(sum, 10, 12, 14, 16);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static int plan_lines;

static void count_plans(tsr_log_level level, const char *message, void *user) {
  (void)user;
  plan_lines += level == TSR_LOG_PLAN && strstr(message, "kernel of add") != NULL;
}

TEST(who_logs_plans_sees_every_one) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = four(device, 0), *b = four(device, 10);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_set_log(TSR_LOG_PLAN, count_plans, NULL);
  plan_lines = 0;
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  check_four(tsr_add(a, b), 10, 12, 14, 16);
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  CHECK_EQ_INT(plan_lines, 2);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}
