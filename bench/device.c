// SPDX-License-Identifier: MIT
// Measures the costs of a device apart from its kernels: small operators, cached memory, copies in both directions;
// and matrix products.
//
//   device [backend [part ...]]      default: the best device here, and all parts: small copies layers products
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

#include "backends/cuda/loader.h"
#include "graph/graph.h"

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

// Median time of a call, after one call that is not counted.
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
  pair *both = user;
  for (int i = 0; i < ADDS; i++) tsr_release(tsr_add(both->a, both->b));
  must(tsr_device_synchronize(both->device));
}

static void take_and_give(void *user) {
  pair *both = user;
  for (int i = 0; i < PAIRS; i++) {
    tsr_buffer *buffer = NULL;
    must(tsr_buffer_create(both->device, 4 << 20, 0, &buffer));
    tsr_buffer_release(buffer);
  }
}

// The driver's share for CUDA: launches an empty kernel as often. Printed if the backend is CUDA.
static const char empty_kernel[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry empty(.param .u64 p) { ret; }\n";

typedef struct launches {
  cu_function function;
  cu_stream stream;
} launches;

static void launch_many(void *user) {
  launches *queued = user;
  cu_address nothing = 0;
  void *parameters[] = {&nothing};
  for (int i = 0; i < ADDS; i++) {
    if (tsri_cu.LaunchKernel(queued->function, 1, 1, 1, 128, 1, 1, 0, queued->stream, parameters, NULL) != CU_SUCCESS)
      return;
  }
  (void)tsri_cu.StreamSynchronize(queued->stream);
}

static void measure_launches(void) {
  cu_context context = NULL;
  cu_module module = NULL;
  launches queued = {NULL, NULL};
  if (tsri_cu.DevicePrimaryCtxRetain(&context, 0) != CU_SUCCESS || tsri_cu.CtxPushCurrent(context) != CU_SUCCESS ||
      tsri_cu.ModuleLoadData(&module, empty_kernel) != CU_SUCCESS ||
      tsri_cu.ModuleGetFunction(&queued.function, module, "empty") != CU_SUCCESS ||
      tsri_cu.StreamCreate(&queued.stream, CU_STREAM_NON_BLOCKING) != CU_SUCCESS) {
    return;
  }
  printf("cuLaunchKernel alone, %d in a row            %8.2f us each\n", ADDS, median_us(launch_many, &queued) / ADDS);
}

static void measure_small(const char *backend) {
  pair both = {0};
  must(tsr_config_set("eager", "on"));  // every operator is evaluated when it is called
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &both.device));
  both.a = tsr_ones(both.device, TSR_F32, TSR_SHAPE(4));
  both.b = tsr_ones(both.device, TSR_F32, TSR_SHAPE(4));
  printf("add of 4 elements, evaluated, %d in a row   %8.2f us each\n", ADDS, median_us(add_many, &both) / ADDS);
  if (strcmp(tsr_device_backend(both.device), "cuda") == 0) measure_launches();
  printf("cached allocation and free of 4 MiB            %8.3f us\n", median_us(take_and_give, &both) / PAIRS);
  tsr_release(both.a);
  tsr_release(both.b);
  tsr_device_release(both.device);
  must(tsr_config_set("eager", NULL));
}

// --- Copies -----------------------------------------------------------------------------------------------------------------

enum { COPY_BYTES = 256 << 20 };

typedef struct transfer {
  tsr_buffer *buffer;
  char *host;
} transfer;

static void upload(void *user) {
  transfer *move = user;
  must(tsr_buffer_upload(move->buffer, 0, move->host, COPY_BYTES));
}

static void download(void *user) {
  transfer *move = user;
  must(tsr_buffer_download(move->buffer, 0, move->host, COPY_BYTES));
}

// Host memory from which CUDA copies directly; NULL for other backends. It is freed with the process.
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

// The driver's share of a copy.
typedef struct raw_copy {
  cu_address to;
  const char *from;
} raw_copy;

static void upload_raw(void *user) {
  raw_copy *copy = user;
  (void)tsri_cu.MemcpyHtoDAsync(copy->to, copy->from, COPY_BYTES, NULL);
  (void)tsri_cu.StreamSynchronize(NULL);
}

static void print_copy(const char *what, double us) {
  printf("%-46s %8.2f ms  %6.1f GB/s\n", what, us / 1e3, (double)COPY_BYTES / us / 1e3);
}

static void measure_copies(tsr_device *device) {
  transfer move = {.host = malloc(COPY_BYTES)};
  if (!move.host) must(TSR_ERR_OUT_OF_MEMORY);
  memset(move.host, 1, COPY_BYTES);
  must(tsr_buffer_create(device, COPY_BYTES, 0, &move.buffer));
  print_copy("host to device, 256 MiB, pageable", median_us(upload, &move));
  print_copy("device to host, 256 MiB, pageable", median_us(download, &move));
  free(move.host);
  move.host = pinned_memory(device);
  if (move.host) print_copy("device to host, 256 MiB, pinned", median_us(download, &move));
  if (move.host) print_copy("host to device, 256 MiB, pinned", median_us(upload, &move));
  raw_copy raw = {.from = move.host};
  if (move.host && tsri_cu.MemAlloc(&raw.to, COPY_BYTES) == CU_SUCCESS) {
    print_copy("the same by cuMemcpyHtoDAsync alone", median_us(upload_raw, &raw));
  }
  tsr_buffer_release(move.buffer);
}

// --- Products -----------------------------------------------------------------------------------------------------------------

typedef struct product {
  tsr_device *device;
  tsr_tensor *a, *b;
  int count;
} product;

// In eager mode each product is queued when it is called.
static void multiply(void *user) {
  product *prod = user;
  tsr_tensor *last = NULL;
  for (int i = 0; i < prod->count; i++) {
    tsr_release(last);
    last = tsr_matmul(prod->a, prod->b);
    must(tsr_error(last));
  }
  must(tsr_device_synchronize(prod->device));
  tsr_release(last);
}

// Products that are typical of networks: a matrix times a vector, and a layer with bias and activation.
typedef struct layer {
  const char *name;
  tsr_dtype dtype;
  int64_t m, n, k;
  bool is_whole;  // with bias and gelu_tanh
} layer;

typedef struct layer_run {
  const layer *shape;
  tsr_device *device;
  tsr_tensor *x, *w, *bias;
} layer_run;

enum { LAYERS = 10 };

static void run_layer(void *user) {
  layer_run *mlp = user;
  for (int i = 0; i < LAYERS; i++) {
    tsr_tensor *y = tsr_matmul(mlp->x, mlp->w);
    if (mlp->shape->is_whole) {
      tsr_tensor *sum = tsr_add(y, mlp->bias), *whole = tsr_gelu_tanh(sum);
      tsr_release(y);
      tsr_release(sum);
      y = whole;
    }
    must(tsri_graph_run(y));  // queued, not waited for
    tsr_release(y);
  }
  must(tsr_device_synchronize(mlp->device));
}

static void measure_layers(tsr_device *device) {
  static const layer layers[] = {
      {"matrix 14336 x 4096 times vector, f32", TSR_F32, 14336, 1, 4096, false},
      {"matrix 14336 x 4096 times vector, bf16", TSR_BF16, 14336, 1, 4096, false},
      {"layer 8192 x 4096 x 4096 + bias, gelu_tanh, bf16", TSR_BF16, 8192, 4096, 4096, true},
  };
  for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
    const layer *l = &layers[i];
    layer_run mlp = {.shape = l, .device = device};
    mlp.x = tsr_full(device, l->dtype, TSR_SHAPE(l->m, l->k), 0.5);
    mlp.w = tsr_full(device, l->dtype, TSR_SHAPE(l->k, l->n), 0.25);
    mlp.bias = tsr_full(device, l->dtype, TSR_SHAPE(l->n), 1.0);
    must(tsri_graph_run(mlp.x));
    must(tsri_graph_run(mlp.w));
    must(tsri_graph_run(mlp.bias));
    printf("%-50s %8.1f us\n", l->name, median_us(run_layer, &mlp) / LAYERS);
    tsr_release(mlp.x);
    tsr_release(mlp.w);
    tsr_release(mlp.bias);
  }
}

static void measure_products(const char *backend) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_F16};
  static const int64_t sizes[] = {512, 1024, 2048, 4096, 8192};
  product prod = {0};
  must(tsr_config_set("eager", "on"));
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &prod.device));
  for (int d = 0; d < 3; d++) {
    printf("matmul %-4s TFLOP/s:", tsr_dtype_name(dtypes[d]));
    for (int s = 0; s < 5; s++) {
      double n = (double)sizes[s], flops = 2 * n * n * n;
      prod.count = sizes[s] <= 1024 ? 50 : 5;
      prod.a = tsr_full(prod.device, dtypes[d], TSR_SHAPE(sizes[s], sizes[s]), 0.5);
      prod.b = tsr_full(prod.device, dtypes[d], TSR_SHAPE(sizes[s], sizes[s]), 0.25);
      double us = median_us(multiply, &prod) / prod.count;
      printf("  %lld: %.1f", (long long)sizes[s], flops / us / 1e6);
      fflush(stdout);
      tsr_release(prod.a);
      tsr_release(prod.b);
    }
    printf("\n");
  }
  tsr_device_release(prod.device);
  must(tsr_config_set("eager", NULL));
}

static bool is_asked(int argc, char **argv, const char *part) {
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], part) == 0) return true;
  }
  return argc <= 2;
}

int main(int argc, char **argv) {
  const char *backend = argc > 1 ? argv[1] : NULL;
  tsr_device *device = NULL;
  tsr_device_info info;
  must(tsr_device_open(&(tsr_device_desc){.backend = backend}, &device));
  must(tsr_device_get_info(device, &info));
  printf("%s: %s\n", tsr_device_backend(device), info.name);
  bool is_gpu = info.type != TSR_DEVICE_CPU && !info.is_software;
  if (is_asked(argc, argv, "small")) measure_small(backend);
  if (is_asked(argc, argv, "copies")) measure_copies(device);
  if (is_gpu && is_asked(argc, argv, "layers")) measure_layers(device);
  tsr_device_release(device);
  if (is_gpu && is_asked(argc, argv, "products")) measure_products(backend);
  return 0;
}
