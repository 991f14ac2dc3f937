// SPDX-License-Identifier: MIT
// A block of a ResNet on an image, and the classes that it finds: two convolutions with norms, a shortcut that is convolved to the same
// shape, and a mean over the plane. Weights and image are random numbers, the same on every device.
#include <stdio.h>

#include <tessera/tessera.h>

enum { IN = 8, OUT = 16, IMAGE = 32, CLASSES = 5 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// Kernels of `size` by `size`, scaled so that sums stay about as large as what is summed.
static tsr_tensor *kernels(tsr_device *device, int64_t out, int64_t in, int64_t size, uint64_t seed) {
  tsr_tensor *numbers = tsr_randn(device, TSR_F32, TSR_SHAPE(out, in, size, size), seed);
  return tsr_mul_scalar(numbers, 1.0 / (double)(size * 3));
}

// A convolution with a norm by running statistics, as a trained model has it.
static tsr_tensor *conv_norm(tsr_tensor *x, tsr_tensor *weight, int64_t stride) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_conv_desc desc = {.stride = {stride, stride}, .padding = TSR_PADDING_SAME};
  tsr_tensor *y = tsr_conv(x, weight, NULL, &desc);
  tsr_shape channels = TSR_SHAPE(OUT);
  tsr_tensor *mean = tsr_full(device, TSR_F32, channels, 0.1), *variance = tsr_full(device, TSR_F32, channels, 1.5);
  return tsr_batch_norm(y, mean, variance, NULL, NULL, 1e-5);
}

static tsr_tensor *residual_block(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *inner = tsr_relu(conv_norm(x, kernels(device, OUT, IN, 3, 1), 2));
  tsr_tensor *branch = conv_norm(inner, kernels(device, OUT, OUT, 3, 2), 1);
  tsr_tensor *shortcut = conv_norm(x, kernels(device, OUT, IN, 1, 3), 2);
  return tsr_relu(tsr_add(branch, shortcut));
}

static tsr_status classify(tsr_device *device) {
  float scores[CLASSES];
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *image = tsr_rand(device, TSR_F32, TSR_SHAPE(1, IN, IMAGE, IMAGE), 4);
  tsr_tensor *features = tsr_reshape(tsr_avg_pool(residual_block(image), NULL), TSR_SHAPE(1, OUT));
  tsr_tensor *weight = tsr_randn(device, TSR_F32, TSR_SHAPE(CLASSES, OUT), 5);
  tsr_status status = tsr_read(tsr_softmax(tsr_linear(features, weight, NULL, NULL), 1), scores, sizeof scores);
  for (int i = 0; i < CLASSES && status == TSR_OK; i++) printf("class %d: %.3f\n", i, (double)scores[i]);
  tsr_scope_end(scope);
  return status;
}

int main(void) {
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_status status = classify(device);
  if (status != TSR_OK) return fail();
  tsr_device_release(device);
  return 0;
}
