// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

// The numbers are PyTorch's: gates are in, forget, cell, out, and reset, update, new.
TEST(gates_are_in_the_order_of_pytorch) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 1, 1), 1, -2), *states = NULL, *hidden = NULL, *cell = NULL;
  tsr_tensor *four = list(TSR_F32, TSR_SHAPE(4, 1), 0.1, 0.2, 0.3, 0.4),
             *state_weights = list(TSR_F32, TSR_SHAPE(4, 1), 0.5, -0.5, 0.25, 1);
  CHECK_OK(tsr_lstm(x, four, state_weights, NULL, &states, &hidden, &cell));
  double c1 = 1 / (1 + exp(-0.1)) * tanh(0.3), h1 = 1 / (1 + exp(-0.4)) * tanh(c1);
  double c2 = 1 / (1 + exp(0.4 + 0.5 * h1)) * c1 + 1 / (1 + exp(0.2 - 0.5 * h1)) * tanh(-0.6 + 0.25 * h1);
  double h2 = 1 / (1 + exp(0.8 - h1)) * tanh(c2);
  CHECK_VALUES(states, TSR_F32, TSR_SHAPE(2, 1, 1), 1e-6, h1, h2);
  CHECK_VALUES(cell, TSR_F32, TSR_SHAPE(1, 1), 1e-6, c2);
  CHECK_OK(tsr_gru(x, tsr_slice(four, 0, 0, 3, 1), tsr_slice(state_weights, 0, 0, 3, 1), NULL, &states, &hidden));
  h1 = (1 - 1 / (1 + exp(-0.2))) * tanh(0.3);
  double z = 1 / (1 + exp(0.4 + 0.5 * h1)), n = tanh(-0.6 + 1 / (1 + exp(0.2 - 0.5 * h1)) * 0.25 * h1);
  CHECK_VALUES(hidden, TSR_F32, TSR_SHAPE(1, 1), 1e-6, (1 - z) * n + z * h1);
  finish();
}

TEST(a_reversed_layer_ends_with_the_first_step) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3, 1, 1), 1, 2, 3), *one = tsr_ones(dev, TSR_F32, TSR_SHAPE(1, 1));
  tsr_tensor *states = NULL, *hidden = NULL;
  tsr_recurrent_desc desc = {.reverse = true, .relu = true};
  CHECK_OK(tsr_rnn(x, one, one, &desc, &states, &hidden));
  CHECK_VALUES(states, TSR_F32, TSR_SHAPE(3, 1, 1), 0, 6, 5, 3);
  CHECK_VALUES(hidden, TSR_F32, TSR_SHAPE(1, 1), 0, 6);
  finish();
}

TEST(a_captured_layer_runs_on_new_inputs) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 1, 1)), *one = tsr_ones(dev, TSR_F32, TSR_SHAPE(1, 1));
  tsr_tensor *states = NULL;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_evaluate(one));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_capture_begin(dev));
  CHECK_OK(tsr_rnn(x, one, one, &(tsr_recurrent_desc){.relu = true}, &states, NULL));
  CHECK_OK(tsr_capture_end(&states, 1, &step));
  CHECK_OK(tsr_write(x, (const float[]){2, 3}, 8));
  CHECK_OK(tsr_capture_run(step));
  CHECK_VALUES(states, TSR_F32, TSR_SHAPE(2, 1, 1), 0, 2, 5);
  tsr_capture_release(step);
  finish();
}

// A layer of size `gates` (1: rnn, 3: gru, 4: lstm), its inputs, and all of its results in one row.
typedef struct layer_sizes {
  int gates;
  int64_t steps, batch, hidden;
  bool is_reverse, has_options;
} layer_sizes;

// Numbers from -most to most.
static tsr_tensor *around_zero(tsr_device *device, tsr_shape shape, double most, uint64_t seed) {
  return tsr_mul_scalar(tsr_sub_scalar(tsr_rand(device, TSR_F32, shape, seed), 0.5), 2 * most);
}

static tsr_tensor *run_layer(tsr_device *device, const layer_sizes *z, tsr_dtype dtype, uint64_t *out_launches) {
  int64_t rows = z->gates * z->hidden;
  double most = 2 / sqrt((double)z->hidden);
  tsr_shape state = TSR_SHAPE(z->batch, z->hidden);
  tsr_tensor *given[7] = {around_zero(device, TSR_SHAPE(z->steps, z->batch, 3), 1, 1),
                          around_zero(device, TSR_SHAPE(rows, 3), 1, 2),
                          around_zero(device, TSR_SHAPE(rows, z->hidden), most, 3),
                          around_zero(device, TSR_SHAPE(rows), 1, 4),
                          around_zero(device, TSR_SHAPE(rows), 1, 5),
                          around_zero(device, state, 1, 6),
                          around_zero(device, state, 1, 7)};
  for (int i = 0; i < 7; i++) {
    given[i] = tsr_cast(given[i], dtype);
    CHECK_OK(tsr_evaluate(given[i]));
  }
  tsr_recurrent_desc desc = {.reverse = z->is_reverse};
  if (z->has_options) {
    desc.bias_input = given[3], desc.bias_hidden = given[4], desc.hidden = given[5];
    if (z->gates == 4) desc.cell = given[6];
  }
  tsr_tensor *results[3] = {NULL, NULL, NULL};
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  if (z->gates == 1) CHECK_OK(tsr_rnn(given[0], given[1], given[2], &desc, &results[0], &results[1]));
  if (z->gates == 3) CHECK_OK(tsr_gru(given[0], given[1], given[2], &desc, &results[0], &results[1]));
  if (z->gates == 4) CHECK_OK(tsr_lstm(given[0], given[1], given[2], &desc, &results[0], &results[1], &results[2]));
  for (int i = 0; i < 3; i++) {
    if (results[i]) CHECK_OK(tsr_evaluate(results[i]));
    if (results[i]) results[i] = tsr_cast(tsr_reshape(results[i], TSR_SHAPE(-1)), TSR_F32);
  }
  CHECK_OK(tsr_device_get_counters(device, &after));
  *out_launches = after.launches - before.launches;
  return tsr_concat(results, z->gates == 4 ? 3 : 2, 0);
}

// Runs the layer on the device and, composed, on the CPU. Returns the launches that it took.
static uint64_t check_layer(tsr_device *device, const layer_sizes *z, tsr_dtype dtype, double bound) {
  enum { MOST = 70000 };
  static float is[MOST], wanted[MOST];
  int64_t count = (z->steps + (z->gates == 4 ? 2 : 1)) * z->batch * z->hidden;
  uint64_t launches = 0, others = 0;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  CHECK(count <= MOST);
  CHECK_OK(tsr_read(run_layer(device, z, dtype, &launches), is, (size_t)count * sizeof(float)));
  CHECK_OK(tsr_read(run_layer(cpu, z, dtype, &others), wanted, (size_t)count * sizeof(float)));
  for (int64_t i = 0; i < count; i++) CHECK_NEAR(is[i], wanted[i], bound);
  CHECK_OK(tsr_scope_end(other));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
  return launches;
}

static bool is_gpu(tsr_device *device) {
  return test_device_computes(device) && strcmp(tsr_device_backend(device), "cpu") != 0;
}

// Few weights: one launch, or one for each 1024 steps, beside those of the product, the weights' copy and the first states. More weights: one for each step.
static void layers_on(tsr_device *device) {
  static const layer_sizes sizes[] = {{1, 70, 5, 34, false, true},   {3, 60, 2, 64, true, false},
                                      {4, 40, 3, 64, false, false},  {4, 20, 9, 50, true, true},
                                      {3, 1500, 1, 8, false, true},  {4, 2100, 1, 4, true, true},
                                      {1, 12, 2, 400, true, true},   {3, 12, 3, 256, false, true},
                                      {4, 12, 2, 256, false, false}, {4, 11, 3, 190, true, true}};
  enum { FIRST_STEPWISE = 6, OTHERS = 8 };
  for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]) && is_gpu(device); i++) {
    uint64_t launches = check_layer(device, &sizes[i], TSR_F32, 2e-4), steps = (uint64_t)sizes[i].steps;
    CHECK(launches <= OTHERS + (i < FIRST_STEPWISE ? steps / 1024 : steps));
  }
  layer_sizes small = sizes[3];
  if (is_gpu(device)) check_layer(device, &small, TSR_F16, 2e-3);
}

TEST(layers_take_one_launch_or_one_for_each_step_on_gpus) { test_on_every_device(layers_on); }

TEST(recurrent_layers_refuse_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3, 4)), *w = tsr_zeros(dev, TSR_F32, TSR_SHAPE(8, 4));
  tsr_tensor *state_weights = tsr_zeros(dev, TSR_F32, TSR_SHAPE(8, 2)), *states = x, *hidden = x, *cell = x;
  CHECK_STATUS(tsr_gru(x, w, state_weights, NULL, &states, &hidden), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("gru: x is 2x3x4, weight_hidden is 8x2");
  CHECK(!states && !hidden);
  CHECK_STATUS(tsr_lstm(x, state_weights, state_weights, NULL, &states, &hidden, &cell), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("weight_input is 8x2, it must be 8x4");
  CHECK_STATUS(tsr_lstm(x, w, state_weights, &(tsr_recurrent_desc){.relu = true}, &states, &hidden, &cell),
               TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("does not read .relu");
  finish();
}
