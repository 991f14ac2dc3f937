// SPDX-License-Identifier: MIT
// The gradient by the weights as one operator: the same as by the convolution that gives it elsewhere, in both orders of memory.
#include "ops/conv_weight.h"

#include "ops/ops_testing.h"

// The gradient that tsr_grad gives where the device has no operator of its own.
static tsr_tensor *by_composition(tsr_tensor *x, tsr_tensor *w, tsr_tensor *g, const tsr_conv_desc *desc) {
  tsr_tensor *found = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(w));
  CHECK_OK(tsr_grad(tsr_conv(x, w, NULL, desc), &(tsr_grad_desc){.cotangent = g}, &w, 1, &found));
  tsr_grad_end();
  return found;
}

static void compare(bool is_last, int64_t stride, int64_t dilation) {
  tsr_conv_desc desc = {.stride = {stride, stride},
                        .dilation = {dilation, dilation},
                        .before = {1, 2},
                        .after = {1, 2},
                        .channels_last = is_last};
  tsr_tensor *x = tsr_randn(dev, TSR_F32, is_last ? TSR_SHAPE(2, 7, 6, 3) : TSR_SHAPE(2, 3, 7, 6), 1);
  tsr_tensor *w = tsr_randn(dev, TSR_F32, TSR_SHAPE(4, 3, 3, 2), 2), *y = tsr_conv(x, w, NULL, &desc);
  tsr_tensor *g = tsr_randn(dev, TSR_F32, tsr_tensor_shape(y), 3), *wanted = by_composition(x, w, g, &desc);
  tsri_conv_attributes given = {
      .stride = {stride, stride}, .dilation = {dilation, dilation}, .before = {1, 2}, .groups = 1, .is_last = is_last};
  if (is_last) {
    x = tsr_moveaxis(x, -1, 1);
    g = tsr_moveaxis(g, -1, 1);
  }
  tsr_tensor *found = tsri_conv_weight(x, g, &given, (const int64_t[]){3, 2});
  CHECK_EQ_INT(tsr_tensor_shape(found).dims[1], 3);
  tsr_tensor *difference = tsr_norm(tsr_sub(found, wanted), INFINITY, NULL, 0, false);
  double value = 1;
  CHECK_OK(tsr_item(difference, &value));
  CHECK_NEAR(value, 0, 1e-5);
}

TEST(the_gradient_by_the_weights_is_that_of_the_composition) {
  begin();
  for (int i = 0; i < 8; i++) compare(i % 2 == 0, 1 + i / 2 % 2, 1 + i / 4);
  finish();
}

TEST(a_gradient_of_nothing_is_zero) {
  begin();
  tsri_conv_attributes given = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 1, 4, 4)), *g = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 1, 3, 3));
  tsr_tensor *found = tsri_conv_weight(x, g, &given, (const int64_t[]){2, 2});
  CHECK_VALUES(found, TSR_F32, TSR_SHAPE(1, 1, 2, 2), 0, 0, 0, 0, 0);
  finish();
}
