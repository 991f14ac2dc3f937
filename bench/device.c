// SPDX-License-Identifier: MIT
// What a device costs beside its kernels: small operators, cached memory, copies both ways; and matrix products.
//
//   device [backend]      default: the best device here
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

#include "backends/cuda/loader.h"

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must(tsr_status status) {
  if (status == TSR_OK) return;
  fprintf(stderr, "bench device: %s\n", tsr_last_error());
  exit(1);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { REPEATS = 9 };

// Median time of a call, after one that is not counted.
static double median_us(void (*body)(void *), void *user) {
  double times[REPEATS];
  body(user);
  for (int i = 0; i < REPEATS; i++) {
    double start = now_us();
    body(user);
    times[i] = now_us() - start;
  }
  qsort(times, REPEATS, sizeof times[0], by_value);
  return times[REPEATS / 2];
}

// --- Small operators ----------------------------------------------------------------------------------------------------

enum { ADDS = 20000, PAIRS = 100000 };

typedef struct pair {
  tsr_device *device;
  tsr_tensor *a, *b;
} pair;

static void add_many(void *user) {
  pair *own = user;
  for (int i = 0; i < ADDS; i++) tsr_release(tsr_add(own->a, own->b));
  must(tsr_device_synchronize(own->device));
}

static void take_and_give(void *user) {
  pair *own = user;
  for (int i = 0; i < PAIRS; i++) {
    tsr_buffer *buffer = NULL;
    must(tsr_buffer_create(own->device, 4 << 20, 0, &buffer));
    tsr_buffer_release(buffer);
  }
}

static void measure_small(const char *backend) {
  pair own = {0};
  must(tsr_config_set("eager", "on"));  // every operator is evaluated as it is called
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &own.device));
  own.a = tsr_ones(own.device, TSR_F32, TSR_SHAPE(4));
  own.b = tsr_ones(own.device, TSR_F32, TSR_SHAPE(4));
  printf("add of 4 elements, evaluated, %d in a row   %8.2f us each\n", ADDS, median_us(add_many, &own) / ADDS);
  printf("cached allocation and free of 4 MiB            %8.3f us\n", median_us(take_and_give, &own) / PAIRS);
  tsr_release(own.a);
  tsr_release(own.b);
  tsr_device_release(own.device);
  must(tsr_config_set("eager", NULL));
}

// --- Copies -----------------------------------------------------------------------------------------------------------------

enum { COPY_BYTES = 256 << 20 };

typedef struct transfer {
  tsr_buffer *buffer;
  char *host;
} transfer;

static void upload(void *user) {
  transfer *own = user;
  must(tsr_buffer_upload(own->buffer, 0, own->host, COPY_BYTES));
}

static void download(void *user) {
  transfer *own = user;
  must(tsr_buffer_download(own->buffer, 0, own->host, COPY_BYTES));
}

// Host memory that CUDA copies from directly; NULL with other backends. It goes with the process.
static char *pinned_memory(const tsr_device *device) {
  cu_context context = NULL;
  void *memory = NULL;
  if (strcmp(tsr_device_backend(device), "cuda") != 0) return NULL;
  if (tsri_cu.DevicePrimaryCtxRetain(&context, 0) != CU_SUCCESS || tsri_cu.CtxPushCurrent(context) != CU_SUCCESS ||
      tsri_cu.MemHostAlloc(&memory, COPY_BYTES, 0) != CU_SUCCESS) {
    return NULL;
  }
  memset(memory, 1, COPY_BYTES);
  return memory;
}

static void print_copy(const char *what, double us) {
  printf("%-46s %8.2f ms  %6.1f GB/s\n", what, us / 1e3, (double)COPY_BYTES / us / 1e3);
}

static void measure_copies(tsr_device *device) {
  transfer own = {.host = malloc(COPY_BYTES)};
  if (!own.host) must(TSR_ERR_OUT_OF_MEMORY);
  memset(own.host, 1, COPY_BYTES);
  must(tsr_buffer_create(device, COPY_BYTES, 0, &own.buffer));
  print_copy("host to device, 256 MiB, pageable", median_us(upload, &own));
  print_copy("device to host, 256 MiB, pageable", median_us(download, &own));
  free(own.host);
  own.host = pinned_memory(device);
  if (own.host) print_copy("host to device, 256 MiB, pinned", median_us(upload, &own));
  if (own.host) print_copy("device to host, 256 MiB, pinned", median_us(download, &own));
  tsr_buffer_release(own.buffer);
}

// --- Products -----------------------------------------------------------------------------------------------------------------

typedef struct product {
  tsr_device *device;
  tsr_tensor *a, *b;
  int count;
} product;

// In eager mode each product is queued as it is called.
static void multiply(void *user) {
  product *own = user;
  tsr_tensor *last = NULL;
  for (int i = 0; i < own->count; i++) {
    tsr_release(last);
    last = tsr_matmul(own->a, own->b);
    must(tsr_error(last));
  }
  must(tsr_device_synchronize(own->device));
  tsr_release(last);
}

static void measure_products(const char *backend) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_F16};
  static const int64_t sizes[] = {512, 1024, 2048, 4096, 8192};
  product own = {0};
  must(tsr_config_set("eager", "on"));
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &own.device));
  for (int d = 0; d < 3; d++) {
    printf("matmul %-4s TFLOP/s:", tsr_dtype_name(dtypes[d]));
    for (int s = 0; s < 5; s++) {
      double n = (double)sizes[s], flops = 2 * n * n * n;
      own.count = sizes[s] <= 1024 ? 50 : 5;
      own.a = tsr_full(own.device, dtypes[d], TSR_SHAPE(sizes[s], sizes[s]), 0.5);
      own.b = tsr_full(own.device, dtypes[d], TSR_SHAPE(sizes[s], sizes[s]), 0.25);
      double us = median_us(multiply, &own) / own.count;
      printf("  %lld: %.1f", (long long)sizes[s], flops / us / 1e6);
      fflush(stdout);
      tsr_release(own.a);
      tsr_release(own.b);
    }
    printf("\n");
  }
  tsr_device_release(own.device);
  must(tsr_config_set("eager", NULL));
}

int main(int argc, char **argv) {
  const char *backend = argc > 1 ? argv[1] : NULL;
  tsr_device *device = NULL;
  tsr_device_info info;
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &device));
  must(tsr_device_get_info(device, &info));
  printf("%s: %s\n", tsr_device_backend(device), info.name);
  measure_small(backend);
  measure_copies(device);
  tsr_device_release(device);
  if (info.type != TSR_DEVICE_CPU && !info.is_software) measure_products(backend);
  return 0;
}
