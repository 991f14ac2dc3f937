// SPDX-License-Identifier: MIT
// Tests that need a real GPU; skipped if there is none. Each test runs in its own process, because a kernel that
// crashes makes the process's context unusable.
#define GPU_BACKEND "cuda"
#include "backends/common/gpu_testing.h"
#include "backends/cuda/fixture.h"

TEST(an_illegal_access_loses_the_device_and_says_so) {
  tsr_device *device = open_gpu(), *again = NULL;
  tsr_kernel *kernel = NULL;
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(64));
  float values[64];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = stray}, &kernel));
  tsr_arg args[] = {tsr_arg_tensor(y), tsr_arg_int(INT64_C(4000000000))};
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){64, 1, 1}, args, 2));
  CHECK_STATUS(tsr_device_synchronize(device), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("CUDA 7");
  printf("  %s\n", tsr_last_error());
  CHECK_STATUS(tsr_read(y, values, sizeof values), TSR_ERR_DEVICE_LOST);
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &again);
  printf("  opened again: %s %s\n", tsr_status_name(status), status == TSR_OK ? "" : tsr_last_error());
  if (status == TSR_OK) check_that_it_works(again);
  tsr_kernel_release(kernel);
  tsr_release(y);
  tsr_device_release(again);
  tsr_device_release(device);
}

TEST(large_copies_both_ways_bring_every_byte) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  static const size_t sizes[] = {1, 65537, 1 << 20, (3 << 20) + 7, (65 << 20) + 3, (size_t)1 << 29};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unsigned char *in = fixture_pattern(sizes[i]), *out = calloc(1, sizes[i]);
    tsri_buffer *buffer = fixture_buffer(&f, sizes[i], NULL);
    fixture_write(&f, buffer, 0, in, sizes[i]);
    fixture_read(&f, buffer, 0, out, sizes[i]);
    CHECK_BYTES(out, in, sizes[i]);
    f.backend->buffer_destroy(f.device, buffer);
    free(in);
    free(out);
  }
  fixture_close(&f);
}

TEST(fills_and_copies_are_right_on_a_gpu) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  enum { BYTES = 1 << 20 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  unsigned char *out = malloc(BYTES), *in = fixture_pattern(BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  for (size_t width = 1; width <= 8; width *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      CHECK_OK(f.backend->fill(f.queue, buffer, offset, 80000, pattern, width));
      fixture_read(&f, buffer, offset, out, 80000);
      for (size_t i = 0; i < 80000; i++) CHECK_EQ_INT(out[i], pattern[i % width]);
    }
  }
  fixture_write(&f, buffer, 0, in, BYTES);
  CHECK_OK(f.backend->copy(f.queue, buffer, BYTES / 2, buffer, 100, BYTES / 2));
  fixture_read(&f, buffer, BYTES / 2, out, BYTES / 2);
  CHECK_BYTES(out, in + 100, BYTES / 2);
  free(in);
  free(out);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

// --- Products of bytes ----------------------------------------------------------------------------------------------------

enum { SIDE_M = 256, SIDE_K = 512, SIDE_N = 384 };

// Computes the product on a device. is_turned: b is stored transposed.
static void multiply_bytes(tsr_device *device, const int8_t *a, const int8_t *b, bool is_turned, int8_t *out) {
  tsr_tensor *x = tsr_from_data(device, TSR_I8, TSR_SHAPE(SIDE_M, SIDE_K), a, SIDE_M * SIDE_K);
  tsr_shape stored = is_turned ? TSR_SHAPE(SIDE_N, SIDE_K) : TSR_SHAPE(SIDE_K, SIDE_N);
  tsr_tensor *w = tsr_from_data(device, TSR_I8, stored, b, SIDE_K * SIDE_N);
  tsr_tensor *right = is_turned ? tsr_transpose(w, 0, 1) : tsr_retain(w), *y = tsr_matmul(x, right);
  CHECK_OK(tsr_read(y, out, SIDE_M * SIDE_N));
  tsr_release(x);
  tsr_release(w);
  tsr_release(right);
  tsr_release(y);
}

TEST(products_of_bytes_are_those_of_the_cpu_and_run_by_cublaslt) {
  tsr_device *gpu = open_gpu(), *cpu = NULL;
  int8_t *a = malloc(SIDE_M * SIDE_K), *b = malloc(SIDE_K * SIDE_N);
  int8_t *got = malloc(SIDE_M * SIDE_N), *wanted = malloc(SIDE_M * SIDE_N);
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &cpu));
  for (int i = 0; i < SIDE_M * SIDE_K; i++) a[i] = (int8_t)rand();
  for (int i = 0; i < SIDE_K * SIDE_N; i++) b[i] = (int8_t)rand();
  for (int is_turned = 0; is_turned < 2; is_turned++) {
    tsr_device_counters before, after;
    CHECK_OK(tsr_device_get_counters(gpu, &before));
    multiply_bytes(gpu, a, b, is_turned, got);
    CHECK_OK(tsr_device_get_counters(gpu, &after));
    CHECK_EQ_INT(after.launches - before.launches, is_turned ? 2 : 3);  // a copy along k, the product, the low bytes
    multiply_bytes(cpu, a, b, is_turned, wanted);
    CHECK_BYTES(got, wanted, SIDE_M * SIDE_N);
  }
  tsr_device_release(gpu);
  tsr_device_release(cpu);
  free(a);
  free(b);
  free(got);
  free(wanted);
}

// The product of f8 matrices with small whole elements, whose sums are exact: rounded to f8, each has one right answer.
static void multiply_f8(tsr_device *device, tsr_dtype dtype, bool is_turned, unsigned char *out) {
  float *values = malloc(sizeof(float) * SIDE_K * (SIDE_M > SIDE_N ? SIDE_M : SIDE_N));
  for (int i = 0; i < SIDE_M * SIDE_K; i++) values[i] = (float)(i % 7 - 3);
  tsr_tensor *wide_a =
      tsr_from_data(device, TSR_F32, TSR_SHAPE(SIDE_M, SIDE_K), values, sizeof(float) * SIDE_M * SIDE_K);
  for (int i = 0; i < SIDE_N * SIDE_K; i++) values[i] = (float)(i % 5 - 2);
  tsr_shape shape = is_turned ? TSR_SHAPE(SIDE_N, SIDE_K) : TSR_SHAPE(SIDE_K, SIDE_N);
  tsr_tensor *wide_b = tsr_from_data(device, TSR_F32, shape, values, sizeof(float) * SIDE_N * SIDE_K);
  tsr_tensor *a = tsr_cast(wide_a, dtype), *b = tsr_cast(wide_b, dtype);
  tsr_tensor *right = is_turned ? tsr_transpose(b, 0, 1) : tsr_retain(b), *y = tsr_matmul(a, right), *z = tsr_relu(y);
  CHECK_OK(tsr_read(is_turned ? y : z, out, SIDE_M * SIDE_N));
  tsr_tensor *all[] = {wide_a, wide_b, a, b, right, y, z};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tsr_release(all[i]);
  free(values);
}

TEST(products_of_f8_are_those_of_the_cpu) {
  tsr_device *gpu = open_gpu(), *cpu = NULL;
  unsigned char *got = malloc(SIDE_M * SIDE_N), *wanted = malloc(SIDE_M * SIDE_N);
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &cpu));
  for (int i = 0; i < 4; i++) {
    tsr_dtype dtype = i < 2 ? TSR_F8_E4M3 : TSR_F8_E5M2;
    multiply_f8(gpu, dtype, i % 2, got);
    multiply_f8(cpu, dtype, i % 2, wanted);
    CHECK_BYTES(got, wanted, SIDE_M * SIDE_N);
  }
  tsr_device_release(gpu);
  tsr_device_release(cpu);
  free(got);
  free(wanted);
}
