// SPDX-License-Identifier: MIT
// Measures how long the memory pool takes for a cached block, compared with malloc and free of the same sizes.
//
// It uses one thread and a backend without memory, so only the pool's own work is timed. Aim: below 200 ns for taking
// and returning a cached block of 4 MiB.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/platform.h"
#include "runtime/pool.h"

enum { REPEATS = 21, PAIRS = 200000, WINDOW = 64, SIZE_COUNT = 1024 };

struct tsri_buffer {
  size_t bytes;
};

static tsr_status buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  (void)device;
  *out_buffer = malloc(sizeof **out_buffer);
  if (!*out_buffer) return TSR_ERR_OUT_OF_MEMORY;
  (*out_buffer)->bytes = bytes;
  return TSR_OK;
}

static void buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  free(buffer);
}

static const tsri_backend backend = {
    .abi = TSRI_BACKEND_ABI, .name = "bench", .buffer_create = buffer_create, .buffer_destroy = buffer_destroy};

static void fail(const char *what) {
  fprintf(stderr, "bench pool: %s\n", what);
  exit(1);
}

// The two allocators with the same signature, so that both have the same call overhead.
typedef struct allocator {
  const char *name;
  void *(*take)(void *self, size_t bytes);
  void (*give)(void *self, void *memory);
  void *self;
} allocator;

static void *pool_take(void *self, size_t bytes) {
  tsri_block *block = NULL;
  if (tsri_pool_take(self, bytes, 0, &block) != TSR_OK) fail(tsr_last_error());
  return block;
}

static void pool_give(void *self, void *block) { tsri_pool_give(self, block); }

static void *malloc_take(void *self, size_t bytes) {
  (void)self;
  void *memory = malloc(bytes);
  if (!memory) fail("malloc failed");
  return memory;
}

static void malloc_give(void *self, void *memory) {
  (void)self;
  free(memory);
}

static void *volatile seen;  // uses the result, so that the compiler cannot drop the malloc

static void run_pairs(const allocator *a, size_t bytes) {
  for (int i = 0; i < PAIRS; i++) {
    seen = a->take(a->self, bytes);
    a->give(a->self, seen);
  }
}

// `WINDOW` blocks are live; each step returns the oldest one and takes one of another size.
static void run_mixed(const allocator *a, const size_t *sizes) {
  void *live[WINDOW];
  for (int i = 0; i < WINDOW; i++) live[i] = a->take(a->self, sizes[i]);
  for (int i = 0; i < PAIRS; i++) {
    a->give(a->self, live[i % WINDOW]);
    live[i % WINDOW] = a->take(a->self, sizes[(i + WINDOW) % SIZE_COUNT]);
  }
  for (int i = 0; i < WINDOW; i++) a->give(a->self, live[i]);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Median nanoseconds of taking and returning one block. `sizes` NULL: all blocks have `bytes`. The first run only
// warms up.
static double median_ns(const allocator *a, size_t bytes, const size_t *sizes) {
  double ns[REPEATS] = {0};
  for (int r = -1; r < REPEATS; r++) {
    uint64_t start = tsri_clock_ns();
    if (sizes) run_mixed(a, sizes);
    else run_pairs(a, bytes);
    if (r >= 0) ns[r] = (double)(tsri_clock_ns() - start) / PAIRS;
  }
  qsort(ns, REPEATS, sizeof ns[0], compare_doubles);
  return ns[REPEATS / 2];
}

// 64 B to 8 MiB; all orders of magnitude are equally likely.
static void fill_sizes(size_t *sizes) {
  uint64_t state = 1;
  for (int i = 0; i < SIZE_COUNT; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t top = (size_t)64 << (state >> 60) % 17;
    sizes[i] = top + (size_t)(state >> 20) % top;
  }
}

int main(void) {
  tsri_pool *pool = NULL;
  tsri_pool_desc desc = {.backend = &backend, .device_name = "bench", .alignment = 64};
  if (tsri_pool_create(&desc, &pool) != TSR_OK) fail(tsr_last_error());
  const allocator allocators[] = {{"pool", pool_take, pool_give, pool}, {"malloc", malloc_take, malloc_give, NULL}};
  static size_t sizes[SIZE_COUNT];
  fill_sizes(sizes);
  const struct {
    const char *name;
    size_t bytes;
    const size_t *sizes;
  } rows[] = {{"4 MiB", (size_t)4 << 20, NULL}, {"256 B", 256, NULL}, {"64 B to 8 MiB, 64 live", 0, sizes}};

  printf("ns per take and give, one thread, median of %d runs of %d\n", REPEATS, PAIRS);
  printf("%-24s %10s %10s\n", "size", allocators[0].name, allocators[1].name);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    printf("%-24s", rows[i].name);
    for (int a = 0; a < 2; a++) {
      printf(" %10.1f", median_ns(&allocators[a], rows[i].bytes, rows[i].sizes));
    }
    printf("\n");
  }
  tsr_memory_stats stats;
  tsri_pool_get_stats(pool, &stats);
  printf("pool: %" PRIu64 " requests, %.2f %% hits\n", stats.allocations,
         100.0 * (double)stats.hits / (double)stats.allocations);
  tsri_pool_destroy(pool);
  return 0;
}
