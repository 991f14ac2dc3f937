// SPDX-License-Identifier: MIT
// Gradients of pooling against plain loops, on every device, and gradients of these.
#include <string.h>

#include "ops/ops_testing.h"

#include "support/devices.h"

enum { IMAGES = 2, CHANNELS = 3, HEIGHT = 7, WIDTH = 8, COUNT = IMAGES * CHANNELS * HEIGHT * WIDTH };

// Many equal numbers, so that windows have several largest elements.
static float value_at(int i) { return (float)(i * 37 % 11 - i * 5 % 7); }

static int64_t or_else(int64_t value, int64_t other) { return value ? value : other; }

// Adds each window's element of g to the first largest element of the window. Elements are [image and channel, row, column].
static void expect(const tsr_pool_desc *d, const float *x, const float *g, int rows, int columns, float *out) {
  for (int i = 0; i < COUNT; i++) out[i] = 0;
  for (int i = 0; i < IMAGES * CHANNELS * rows * columns; i++) {
    int plane = i / (rows * columns), best = -1;
    int64_t top = i / columns % rows * or_else(d->stride[0], d->size[0]) - d->before[0];
    int64_t left = i % columns * or_else(d->stride[1], d->size[1]) - d->before[1];
    for (int64_t a = 0; a < d->size[0]; a++) {
      for (int64_t b = 0; b < d->size[1]; b++) {
        int64_t r = top + a * or_else(d->dilation[0], 1), c = left + b * or_else(d->dilation[1], 1);
        if (r < 0 || r >= HEIGHT || c < 0 || c >= WIDTH) continue;
        int at = (plane * HEIGHT + (int)r) * WIDTH + (int)c;
        if (best < 0 || x[at] > x[best]) best = at;
      }
    }
    if (best >= 0) out[best] += g[i];
  }
}

static tsr_tensor *gradient_of(tsr_tensor *x, const tsr_pool_desc *desc, const float *values, tsr_shape *out_shape) {
  tsr_tensor *gradient = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_max_pool(x, desc);
  *out_shape = tsr_tensor_shape(y);
  tsr_tensor *g =
      tsr_from_data(tsr_tensor_device(x), TSR_F32, *out_shape, values, (size_t)tsr_tensor_count(y) * sizeof(float));
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.cotangent = g}, &x, 1, &gradient));
  CHECK_OK(tsr_grad_end());
  return gradient;
}

static const tsr_pool_desc pools[] = {{.size = {2, 2}},
                                      {.size = {1, 4}, .stride = {2, 4}},
                                      {.size = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}},
                                      {.size = {2, 3}, .stride = {1, 1}, .dilation = {3, 2}, .after = {0, 1}},
                                      {.size = {1, 2}, .stride = {1, 2}, .before = {2, 3}},  // windows without elements
                                      {.size = {9, 9}, .stride = {1, 1}, .before = {1, 1}, .after = {2, 2}}};

// Other devices than the CPU compose the gradient of large windows, the last row, of operators that are checked by themselves.
static void check_pools(tsr_device *device) {
  enum { POOLS = sizeof pools / sizeof pools[0] };
  bool is_cpu = strcmp(tsr_device_backend(device), "cpu") == 0;
  if (!test_device_computes(device)) return;
  float x[COUNT], g[4 * COUNT], wanted[COUNT], got[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = value_at(i);
  for (int i = 0; i < 4 * COUNT; i++) g[i] = (float)(i % 13);
  for (int i = 0; i < (is_cpu ? POOLS : POOLS - 1); i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_shape shape;
    tsr_tensor *in = tsr_from_data(device, TSR_F32, TSR_SHAPE(IMAGES, CHANNELS, HEIGHT, WIDTH), x, sizeof x);
    tsr_tensor *out = gradient_of(in, &pools[i], g, &shape);
    CHECK_OK(tsr_read(out, got, sizeof got));
    expect(&pools[i], x, g, (int)shape.dims[2], (int)shape.dims[3], wanted);
    for (int k = 0; k < COUNT; k++) CHECK_NEAR(got[k], wanted[k], 0);
    CHECK_OK(tsr_scope_end(scope));
  }
}

TEST(the_gradient_of_max_pool_goes_to_the_first_largest_element_on_every_device) { test_on_every_device(check_pools); }

TEST(the_gradient_of_max_pool_is_the_same_with_channels_last) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 6, 7, 5), 1), *gradients[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *in = i ? tsr_contiguous(tsr_moveaxis(x, 1, -1)) : x;
    tsr_pool_desc desc = {.size = {3, 2}, .stride = {2, 2}, .channels_last = i == 1};
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_grad_watch(in));
    tsr_tensor *y = tsr_sum(tsr_square(tsr_max_pool(in, &desc)), NULL, 0, false);
    CHECK_OK(tsr_grad(y, NULL, &in, 1, &gradients[i]));
    CHECK_OK(tsr_grad_end());
  }
  tsr_tensor *difference = tsr_sub(tsr_moveaxis(gradients[1], -1, 1), gradients[0]);
  CHECK_VALUES(tsr_norm(difference, INFINITY, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 0);
  finish();
}

TEST(the_gradient_of_max_pool_has_a_gradient) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(1, 1, 6), 1, 3, 2, -4, -5, -2), *first = NULL, *second = NULL;
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_sum(tsr_pow_scalar(tsr_max_pool(x, &(tsr_pool_desc){.size = {2}}), 3), NULL, 0, false);
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.keep = true}, &x, 1, &first));
  CHECK_OK(tsr_grad(tsr_sum(first, NULL, 0, false), NULL, &x, 1, &second));
  CHECK_OK(tsr_grad_end());
  CHECK_VALUES(first, TSR_F64, TSR_SHAPE(1, 1, 6), 1e-12, 0, 27, 12, 0, 0, 12);
  CHECK_VALUES(second, TSR_F64, TSR_SHAPE(1, 1, 6), 1e-12, 0, 18, 12, 0, 0, -12);
  finish();
}

// Windows that divide an axis evenly are windows of a size.
TEST(adaptive_avg_pool_with_even_windows_has_a_gradient) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 1, 4)), *gradient = NULL;
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_avg_pool(x, &(tsr_pool_desc){.output = {2}});
  tsr_tensor *g = list(TSR_F32, TSR_SHAPE(1, 1, 2), 2, 6);
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.cotangent = g}, &x, 1, &gradient));
  CHECK_OK(tsr_grad_end());
  CHECK_VALUES(gradient, TSR_F32, TSR_SHAPE(1, 1, 4), 1e-6, 1, 1, 3, 3);
  finish();
}
