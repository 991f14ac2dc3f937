// SPDX-License-Identifier: MIT
// Learns which of two spirals a point belongs to: a network of three layers, trained by gradient descent with momentum, in a captured step. Prints
// the loss, and draws the plane as the network sees it.
//
//   07_spirals [STEPS [PICTURE]]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "canvas.h"
#include "png.h"

enum { POINTS = 400, WIDTH = 32, SIDE = 480 };

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

static tsr_status make_network(tsr_device *device, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "first.weight", .shape = TSR_SHAPE(WIDTH, 2), .init = TSR_INIT_NORMAL, .value = 2},
      {.name = "first.bias", .shape = TSR_SHAPE(WIDTH)},
      {.name = "second.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_HE_NORMAL},
      {.name = "second.bias", .shape = TSR_SHAPE(WIDTH)},
      {.name = "last.weight", .shape = TSR_SHAPE(2, WIDTH), .init = TSR_INIT_HE_NORMAL},
      {.name = "last.bias", .shape = TSR_SHAPE(2)},
  };
  return tsr_params_create(device, TSR_F32, tensors, sizeof tensors / sizeof tensors[0], 1, out_params);
}

// [points, 2] to [points, 2]: two numbers for each point, the larger one tells the spiral.
static tsr_tensor *network(tsr_tensor *x, const tsr_params *p) {
  x = tsr_tanh(tsr_linear(x, tsr_params_find(p, "first.weight"), tsr_params_find(p, "first.bias"), NULL));
  x = tsr_tanh(tsr_linear(x, tsr_params_find(p, "second.weight"), tsr_params_find(p, "second.bias"), NULL));
  return tsr_linear(x, tsr_params_find(p, "last.weight"), tsr_params_find(p, "last.bias"), NULL);
}

// Records one step: the loss, its gradients, and new parameters in the place of the old ones. The scope releases what the forward pass recorded before the
// parameters change; the caller releases the loss.
static tsr_status record_step(tsr_tensor *x, tsr_tensor *labels, tsr_params *params, tsr_optim *optim,
                              tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(params));
  status = tsr_params_watch(params);
  *out_loss = tsr_keep(tsr_cross_entropy(network(x, params), labels, 1, NULL));
  if (status == TSR_OK) status = tsr_params_grad(params, *out_loss, NULL);
  tsr_scope_end(scope);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

static tsr_status train(tsr_device *device, const float *points, const int32_t *labels, int steps, tsr_params *params) {
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(POINTS, 2), points, 2 * POINTS * sizeof *points);
  tsr_tensor *y = tsr_from_data(device, TSR_I32, TSR_SHAPE(POINTS), labels, POINTS * sizeof *labels);
  tsr_tensor *loss = NULL;
  tsr_optim *optim = NULL;
  tsr_capture *step = NULL;
  tsr_status status =
      tsr_optim_create(params, &(tsr_optim_desc){.kind = TSR_SGD, .rate = 0.1, .momentum = 0.9}, &optim);
  if (status == TSR_OK) status = tsr_capture_begin(device);
  if (status == TSR_OK) {
    status = record_step(x, y, params, optim, &loss);
    tsr_status ended = tsr_capture_end(&loss, status == TSR_OK ? 1 : 0, &step);
    if (status == TSR_OK) status = ended;
  }
  for (int i = 1; i <= steps && status == TSR_OK; i++) {
    double now = 0;
    status = tsr_capture_run(step);
    if (status == TSR_OK && (i % (steps / 5 > 0 ? steps / 5 : 1) == 0)) {
      status = tsr_item(loss, &now);
      printf("step %5d  loss %.4f\n", i, now);
    }
  }
  tsr_release(loss);
  tsr_capture_release(step);
  tsr_optim_release(optim);
  return status;
}

// Every pixel gets a colour between two, by how sure the network is; the points it learned from lie above.
static bool draw(const char *path, const float *sure, const float *points, const int32_t *labels) {
  canvas c;
  bool is_drawn = canvas_init(&c, SIDE, SIDE, 0);
  if (is_drawn) {
    for (int i = 0; i < SIDE * SIDE; i++) {
      canvas_blend(&c, i % SIDE, i / SIDE, canvas_mix(0xF6C28B, 0x8FB8DE, sure[i]), 1);
    }
    for (int i = 0; i < POINTS; i++) {
      float px = (points[2 * i] + 1) * SIDE / 2, py = (1 - points[2 * i + 1]) * SIDE / 2;
      canvas_line(&c, px, py, px, py, 6, labels[i] ? 0x1F4E8C : 0xB4530A);
    }
    is_drawn = png_write(path, c.pixels, SIDE, SIDE, 3);
  }
  canvas_deinit(&c);
  return is_drawn;
}

// How probable the second spiral is at each pixel.
static tsr_status look(tsr_device *device, const tsr_params *params, float *sure) {
  static float places[2 * SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) {
    places[2 * i] = 2 * ((float)(i % SIDE) + 0.5f) / SIDE - 1;
    places[2 * i + 1] = 1 - 2 * ((float)(i / SIDE) + 0.5f) / SIDE;
  }
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(SIDE * SIDE, 2), places, sizeof places);
  tsr_tensor *second = tsr_slice(tsr_softmax(network(x, params), 1), 1, 1, 2, 1);
  return tsr_read(second, sure, SIDE * SIDE * sizeof *sure);
}

int main(int argc, char **argv) {
  static float points[2 * POINTS], sure[SIDE * SIDE];
  static int32_t labels[POINTS];
  int steps = argc > 1 ? atoi(argv[1]) : 1500;
  const char *path = argc > 2 ? argv[2] : "spirals.png";
  tsr_device *device = NULL;
  tsr_params *params = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  draw_spirals(points, labels);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_status status = make_network(device, &params);
  if (status == TSR_OK) status = train(device, points, labels, steps, params);
  if (status == TSR_OK) status = look(device, params, sure);
  tsr_params_release(params);
  tsr_scope_end(scope);
  tsr_device_release(device);
  if (status != TSR_OK) return fail();
  if (!draw(path, sure, points, labels)) return 1;
  printf("the plane as the network sees it: %s\n", path);
  return 0;
}
