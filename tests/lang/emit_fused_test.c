// SPDX-License-Identifier: MIT
// Kernels that the graph generates, with the sizes that operators choose: every kernel that is built for the
// expressions below is valid SPIR-V, for the CPU and, if there is one, for a Vulkan device.
#include <string.h>

#include "core/alloc.h"
#include "lang/spirv_valid.h"
#include "runtime/program.h"
#include "support/devices.h"
#include "support/test.h"

// Each kernel is checked once; kernels with the same variant differ only if their files do.
static char *seen[4096];
static int seen_count;

static bool is_new(const tsri_kernel *kernel) {
  char *text = tsri_ir_print(kernel);
  CHECK(text != NULL);
  for (int i = 0; i < seen_count; i++) {
    if (strcmp(seen[i], text) != 0) continue;
    tsri_free(text);
    return false;
  }
  CHECK(seen_count < (int)(sizeof seen / sizeof *seen));
  seen[seen_count++] = text;
  return true;
}

static void watch(const tsri_kernel *kernel) {
  if (is_new(kernel)) spirv_check_sample(kernel);
}

static void forget(void) {
  while (seen_count > 0) tsri_free(seen[--seen_count]);
}

// --- Expressions --------------------------------------------------------------------------------------------------------

static void run(tsr_tensor *result) {
  static unsigned char data[1 << 17];
  size_t bytes = (size_t)tsr_tensor_count(result) * tsr_dtype_bytes(tsr_tensor_dtype(result));
  CHECK(bytes <= sizeof data);
  if (tsr_error(result) != TSR_ERR_DTYPE)
    CHECK_OK(tsr_read(result, data, bytes));  // not every operator takes every
                                              // dtype
}

static tsr_tensor *filled(tsr_device *device, tsr_dtype dtype, tsr_shape shape, uint64_t seed) {
  return tsr_cast(tsr_randint(device, TSR_I32, shape, 0, 2, seed), dtype);
}

static void elementwise(tsr_device *device, tsr_dtype dtype) {
  tsr_tensor *a = filled(device, dtype, TSR_SHAPE(5, 37), 1), *b = filled(device, dtype, TSR_SHAPE(5, 37), 2);
  tsr_tensor *row = filled(device, dtype, TSR_SHAPE(37), 3), *turned = filled(device, dtype, TSR_SHAPE(37, 5), 4);
  run(tsr_relu(tsr_add(tsr_mul(a, b), row)));
  run(tsr_where(tsr_lt(a, b), a, tsr_transpose(turned, 0, 1)));
  run(tsr_mod(tsr_floor_div(a, tsr_add_scalar(b, 1)), tsr_add_scalar(row, 1)));
  run(tsr_bitwise_xor(tsr_shift_left(a, b), tsr_shift_right(row, a)));
  run(tsr_tanh(tsr_exp(tsr_div(a, tsr_add_scalar(b, 1)))));
  run(tsr_pow(tsr_clamp(a, 0, 1), b));
  run(tsr_contiguous(tsr_slice(tsr_flip(a, 1), 1, 0, TSR_END, 3)));
  for (int i = 1; i < TSR_DTYPE_COUNT; i += 4) {  // neighbouring pairs and some more: casts are tested elsewhere
    run(tsr_cast(tsr_maximum(a, b), (tsr_dtype)(((int)dtype + i) % TSR_DTYPE_COUNT)));
  }
}

static void reductions(tsr_device *device, tsr_dtype dtype) {
  tsr_tensor *x = filled(device, dtype, TSR_SHAPE(9, 301), 5), *doubled = tsr_add(x, x);
  run(tsr_sum(tsr_mul(x, doubled), NULL, 0, false));
  run(tsr_sum(doubled, (int[]){0}, 1, false));
  run(tsr_max(doubled, (int[]){1}, 1, true));
  run(tsr_argmax(x, (int[]){0}, 1, false));
  run(tsr_var(x, (int[]){1}, 1, false, 1));
  run(tsr_logsumexp(x, (int[]){0}, 1, false));
  run(tsr_cumsum(x, 1));
  run(tsr_sort(x, 1, false));
  run(tsr_softmax(doubled, -1));
  run(tsr_exp(tsr_layer_norm(x, NULL, NULL, 1e-5)));
}

static void products(tsr_device *device, tsr_dtype dtype) {
  static const int64_t sizes[][3] = {{1, 40, 1}, {3, 5, 7}, {1, 64, 70}, {64, 64, 64}, {100, 33, 130}, {128, 128, 64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    tsr_tensor *a = filled(device, dtype, TSR_SHAPE(sizes[i][0], sizes[i][1]), 6);
    tsr_tensor *b = filled(device, dtype, TSR_SHAPE(sizes[i][1], sizes[i][2]), 7);
    tsr_tensor *bias = filled(device, dtype, TSR_SHAPE(sizes[i][2]), 8);
    run(tsr_matmul(a, b));
    run(tsr_relu(tsr_add(tsr_matmul(tsr_transpose(tsr_contiguous(tsr_transpose(a, 0, 1)), 0, 1), b), bias)));
  }
}

// Every `step`-th dtype from `first` on; TSR_TEST_SAMPLE=1: all.
static void check_on(tsr_device *device, int first, uint32_t step) {
  step = test_sample(step);
  for (int d = first % (int)step; d < TSR_DTYPE_COUNT; d += (int)step) {
    if (!tsr_device_has_dtype(device, (tsr_dtype)d)) continue;
    tsr_scope *scope = tsr_scope_begin(device);
    elementwise(device, (tsr_dtype)d);
    reductions(device, (tsr_dtype)d);
    products(device, (tsr_dtype)d);
    CHECK_OK(tsr_scope_end(scope));
  }
}

TEST(kernels_that_the_graph_writes_are_valid) {
  tsr_device *device = NULL;
  if (!spirv_has_validator()) SKIP("spirv-val is not installed (package spirv-tools)");
  tsri_built_watch = watch;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &device));
  check_on(device, 0, 2);
  tsr_device_release(device);
  if (tsr_device_open(&(tsr_device_desc){.backend = "vulkan"}, &device) == TSR_OK) {
    check_on(device, 1, 4);  // half of those that the CPU did not get: lavapipe compiles each kernel
    tsr_device_release(device);
  }
  tsri_built_watch = NULL;
  printf("  %d kernels, %d modules\n", seen_count, spirv_checked());
  CHECK(seen_count > 250);
  forget();
}
