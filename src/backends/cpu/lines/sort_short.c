// SPDX-License-Identifier: MIT
// Sorts many short rows: their keys (rows/sort_keys.h) go through a sorting network, TSRI_NETWORK_ROWS rows at a time.
#include <string.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/lines/network_lines.h"
#include "backends/cpu/rows/sort_keys.h"
#include "platform/parallel.h"

// LONGEST: longer rows are radix sorted (rows/sort.c). FEWEST: fewer rows are sorted one by one.
enum { LONGEST = 256, FEWEST = 4, WORTH_A_THREAD = 1 << 13 };

typedef struct short_sort {
  const tsri_sort_op *op;
  const tsri_sort_keys *keys;
  tsri_network_sort sort;
  const char *from;
  char *to;
  size_t element;  // bytes
  int parts;
} short_sort;

bool tsri_cpu_has_short_sort(tsr_dtype dtype, const tsri_sort_op *op) {
  bool is_short = op->n > 1 && op->n <= LONGEST && op->rows >= FEWEST;
  return is_short && !op->wants_order && tsri_sort_keys_for("baseline", dtype, false)->sorter == &tsri_sorter_u32;
}

// Sorts `count` rows from `row` on, at most TSRI_NETWORK_ROWS. If there are fewer, the unused lanes are sorted as well and ignored.
static void sort_rows(const short_sort *w, int64_t row, int64_t count) {
  uint32_t keys[LONGEST * TSRI_NETWORK_ROWS], line[LONGEST];
  int64_t n = w->op->n;
  size_t bytes = (size_t)n * w->element;
  if (count < TSRI_NETWORK_ROWS) memset(keys, 0, (size_t)(n * TSRI_NETWORK_ROWS) * sizeof *keys);
  for (int64_t r = 0; r < count; r++) {
    w->keys->make(w->from + (size_t)(row + r) * bytes, n, 0, w->op->is_descending, line);
    for (int64_t i = 0; i < n; i++) keys[i * TSRI_NETWORK_ROWS + r] = line[i];
  }
  w->sort(keys, n);
  for (int64_t r = 0; r < count; r++) {
    for (int64_t i = 0; i < n; i++) line[i] = keys[i * TSRI_NETWORK_ROWS + r];
    w->keys->take(line, n, w->from + (size_t)(row + r) * bytes, w->op->is_descending,
                  w->to + (size_t)(row + r) * bytes);
  }
}

static void sort_part(void *user, int part) {
  const short_sort *w = user;
  int64_t last = w->op->rows * (part + 1) / w->parts;
  for (int64_t row = w->op->rows * part / w->parts; row < last; row += TSRI_NETWORK_ROWS) {
    sort_rows(w, row, last - row < TSRI_NETWORK_ROWS ? last - row : TSRI_NETWORK_ROWS);
  }
}

void tsri_cpu_sort_short(const cpu_device *device, tsr_dtype dtype, const tsri_sort_op *op) {
  short_sort w = {.op = op,
                  .keys = tsri_sort_keys_for(device->simd, dtype, false),
                  .sort = tsri_network_sort_for(device->simd),
                  .from = tsri_cpu_place(op->from),
                  .to = tsri_cpu_place(op->to),
                  .element = tsr_dtype_bytes(dtype)};
  int threads = tsri_cpu_threads(device, (uint64_t)(op->rows * op->n / WORTH_A_THREAD));
  w.parts = tsri_cpu_parts(threads, (uint64_t)(op->rows + TSRI_NETWORK_ROWS - 1) / TSRI_NETWORK_ROWS);
  tsri_parallel(threads, w.parts, sort_part, &w);
}
