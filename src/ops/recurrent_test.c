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
