// SPDX-License-Identifier: MIT
// Learns which of two spirals a point belongs to: a network of three layers, trained by gradient descent with momentum, in a captured step. Prints
// the loss, and the plane as the network sees it.
//
//   07_spirals [STEPS]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { POINTS = 400, WIDTH = 32, LAYERS = 3, TENSORS = 2 * LAYERS, COLUMNS = 64, ROWS = 24 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

static void draw_spirals(float *points, int32_t *labels) {
  for (int i = 0; i < POINTS; i++) {
    float along = (float)(i / 2) / (POINTS / 2.0f), angle = 9 * along + (i % 2 ? 3.14159265f : 0);
    points[2 * i] = (0.1f + 0.85f * along) * cosf(angle);
    points[2 * i + 1] = (0.1f + 0.85f * along) * sinf(angle);
    labels[i] = i % 2;
  }
}

// Weights and biases, one pair per layer; `momentum` has the same shapes, with zeros.
static void make_parameters(tsr_device *device, tsr_tensor **parameters, tsr_tensor **momentum) {
  const int64_t sizes[LAYERS + 1] = {2, WIDTH, WIDTH, 2};
  for (int i = 0; i < LAYERS; i++) {
    tsr_shape shape = TSR_SHAPE(sizes[i], sizes[i + 1]), row = TSR_SHAPE(sizes[i + 1]);
    tsr_tensor *weight = tsr_randn(device, TSR_F32, shape, (uint64_t)i + 1);
    parameters[2 * i] = tsr_mul_scalar(weight, i == 0 ? 2 : sqrt(2.0 / (double)sizes[i]));
    parameters[2 * i + 1] = tsr_zeros(device, TSR_F32, row);
    momentum[2 * i] = tsr_zeros(device, TSR_F32, shape);
    momentum[2 * i + 1] = tsr_zeros(device, TSR_F32, row);
  }
}

static tsr_tensor *network(tsr_tensor *x, tsr_tensor *const *parameters) {
  for (int i = 0; i < LAYERS; i++) {
    x = tsr_add(tsr_matmul(x, parameters[2 * i]), parameters[2 * i + 1]);
    if (i + 1 < LAYERS) x = tsr_tanh(x);
  }
  return x;
}

// Records one step: the loss, its gradients, and new parameters in the place of the old ones.
static tsr_status record_step(tsr_tensor *x, tsr_tensor *labels, tsr_tensor **parameters, tsr_tensor **momentum,
                              tsr_tensor **out_loss) {
  tsr_tensor *gradients[TENSORS];
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  for (int i = 0; i < TENSORS && status == TSR_OK; i++) status = tsr_grad_watch(parameters[i]);
  *out_loss = tsr_cross_entropy(network(x, parameters), labels, 1, NULL);
  if (status == TSR_OK) status = tsr_grad(*out_loss, NULL, parameters, TENSORS, gradients);
  tsr_grad_end();
  for (int i = 0; i < TENSORS && status == TSR_OK; i++) {
    status = tsr_assign(momentum[i], tsr_add(tsr_mul_scalar(momentum[i], 0.9), gradients[i]));
    if (status == TSR_OK) status = tsr_assign(parameters[i], tsr_sub(parameters[i], tsr_mul_scalar(momentum[i], 0.1)));
  }
  return status;
}

static tsr_status train(tsr_device *device, int steps, tsr_tensor **parameters) {
  static float points[2 * POINTS];
  static int32_t labels[POINTS];
  draw_spirals(points, labels);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(POINTS, 2), points, sizeof points);
  tsr_tensor *y = tsr_from_data(device, TSR_I32, TSR_SHAPE(POINTS), labels, sizeof labels);
  tsr_tensor *momentum[TENSORS], *loss = NULL;
  tsr_capture *step = NULL;
  make_parameters(device, parameters, momentum);
  for (int i = 0; i < TENSORS; i++) tsr_evaluate(parameters[i]);  // so that the capture does not draw them again
  tsr_status status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  status = record_step(x, y, parameters, momentum, &loss);
  tsr_tensor *outputs[2 * TENSORS + 1] = {loss};
  for (int i = 0; i < TENSORS; i++) {
    outputs[1 + 2 * i] = parameters[i];
    outputs[2 + 2 * i] = momentum[i];
  }
  tsr_status ended = tsr_capture_end(outputs, status == TSR_OK ? 2 * TENSORS + 1 : 0, &step);
  if (status == TSR_OK) status = ended;
  for (int i = 1; i <= steps && status == TSR_OK; i++) {
    double now = 0;
    status = tsr_capture_run(step);
    if (status == TSR_OK && (i % (steps / 5 > 0 ? steps / 5 : 1) == 0)) {
      status = tsr_item(loss, &now);
      printf("step %5d  loss %.4f\n", i, now);
    }
  }
  tsr_capture_release(step);
  return status;
}

static tsr_status show(tsr_device *device, tsr_tensor *const *parameters) {
  static float places[ROWS * COLUMNS * 2];
  static int32_t seen[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    places[2 * i] = 2.0f * (float)(i % COLUMNS) / (COLUMNS - 1) - 1;
    places[2 * i + 1] = 1 - 2.0f * (float)(i / COLUMNS) / (ROWS - 1);
  }
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS * COLUMNS, 2), places, sizeof places);
  tsr_tensor *which = tsr_argmax(network(x, parameters), (const int[]){1}, 1, false);
  tsr_status status = tsr_read(which, seen, sizeof seen);
  for (int i = 0; i < ROWS && status == TSR_OK; i++) {
    for (int j = 0; j < COLUMNS; j++) putchar(seen[i * COLUMNS + j] ? '#' : '.');
    putchar('\n');
  }
  return status;
}

int main(int argc, char **argv) {
  tsr_device *device = NULL;
  int steps = argc > 1 ? atoi(argv[1]) : 1500;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *parameters[TENSORS];
  tsr_status status = train(device, steps, parameters);
  if (status == TSR_OK) status = show(device, parameters);
  if (status != TSR_OK) return fail();
  tsr_scope_end(scope);
  tsr_device_release(device);
  return 0;
}
