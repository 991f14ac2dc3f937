// SPDX-License-Identifier: MIT
// Measures the costs of the lazy graph: recording, planning, compiling, launching; and compares a fused chain with the
// memory bandwidth.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { REPEATS = 15 };

// Median over several runs of the time that `body` takes per step.
static double median(void (*body)(tsr_device *device, int steps), tsr_device *device, int steps) {
  double times[REPEATS];
  body(device, steps);
  for (int i = 0; i < REPEATS; i++) {
    double start = now_ns();
    body(device, steps);
    times[i] = (now_ns() - start) / steps;
  }
  qsort(times, REPEATS, sizeof times[0], by_value);
  return times[REPEATS / 2];
}

static tsr_tensor *small, *large_a, *large_b, *large_c;

static void record(tsr_device *device, int steps) {
  (void)device;
  for (int i = 0; i < steps; i++) tsr_release(tsr_add(small, small));
}

static void add_and_read(tsr_device *device, int steps) {
  (void)device;
  float values[4];
  for (int i = 0; i < steps; i++) {
    tsr_tensor *sum = tsr_add(small, small);
    if (tsr_read(sum, values, sizeof values) != TSR_OK) abort();
    tsr_release(sum);
  }
}

// Ten operators; `kind` changes the expression, so that it needs a new kernel.
static tsr_tensor *ten(tsr_tensor *x, unsigned kind) {
  for (int i = 0; i < 10; i++, kind >>= 1) x = kind & 1 ? tsr_mul_scalar(x, 1.5) : tsr_add_scalar(x, 0.5);
  return x;
}

static unsigned next_kind;

static void compile_ten(tsr_device *device, int steps) {
  float values[4];
  for (int i = 0; i < steps; i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    if (tsr_read(ten(small, next_kind++), values, sizeof values) != TSR_OK) abort();
    tsr_scope_end(scope);
  }
}

static void cached_ten(tsr_device *device, int steps) {
  float values[4];
  for (int i = 0; i < steps; i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    if (tsr_read(ten(small, 0), values, sizeof values) != TSR_OK) abort();
    tsr_scope_end(scope);
  }
}

static void fused_chain(tsr_device *device, int steps) {
  for (int i = 0; i < steps; i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *y = tsr_relu(tsr_add(tsr_mul(large_a, large_b), large_c));
    float first;
    if (tsr_read(tsr_slice(y, 0, 0, 1, 1), &first, sizeof first) != TSR_OK) abort();
    tsr_scope_end(scope);
  }
}

int main(void) {
  enum { LARGE = 10000000 };
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  small = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  large_a = tsr_full(device, TSR_F32, TSR_SHAPE(LARGE), 1.5);
  large_b = tsr_full(device, TSR_F32, TSR_SHAPE(LARGE), -0.5);
  large_c = tsr_full(device, TSR_F32, TSR_SHAPE(LARGE), 2);
  printf("graph on %s\n", tsr_device_backend(device));
  printf("  record and release one operator      %8.0f ns\n", median(record, device, 20000));
  printf("  add two 4-element tensors and read   %8.0f ns\n", median(add_and_read, device, 20000));
  printf("  ten operators, new kernel            %8.1f us\n", median(compile_ten, device, 50) / 1e3);
  printf("  ten operators, cached kernel         %8.2f us\n", median(cached_ten, device, 2000) / 1e3);
  double ns = median(fused_chain, device, 3);
  printf("  relu(a*b+c), 1e7 f32                 %8.2f ms  %.1f GB/s\n", ns / 1e6, 16.0 * LARGE / ns);
  tsr_release(small);
  tsr_release(large_a);
  tsr_release(large_b);
  tsr_release(large_c);
  tsr_device_release(device);
  return 0;
}
