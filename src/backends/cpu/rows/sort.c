// SPDX-License-Identifier: MIT
// Elements are converted to items, which are sorted and converted back (sort_keys.h, sort_items.h). If there are many rows, threads take whole rows. A long row
// is divided into blocks, which threads sort and then merge. The result of a stable sort is unique, so it does not depend on the division.
#include "backends/cpu/rows/sort.h"

#include <string.h>

#include "backends/cpu/rows/sort_keys.h"
#include "backends/cpu/rows/sort_vectors.h"
#include "core/error.h"
#include "platform/parallel.h"

enum { WORTH_A_THREAD = 1 << 13, LEAST_BLOCK = 1 << 15, MOST_BLOCKS = 64, MOST_SCRATCH = 1 << 26 };

typedef struct sorting {
  const tsri_row_sort *s;
  const tsri_sort_keys *keys;
  tsri_sort_items sort;  // sorts items
  int threads, parts;
  char *scratch;
  size_t item, element, result;  // bytes of an item, an element and a result
  bool is_in_place;              // items are in the memory of the result
  size_t row_scratch;            // bytes of scratch memory for a row
  // For one long row: its index, its items, and where they are merged to. width: number of blocks in a sorted run.
  int64_t row, width;  // width: blocks in a sorted run
  int blocks;
  char *items, *spare;
} sorting;

static const char *row_of(const sorting *w, int64_t row) { return w->s->x + (size_t)(row * w->s->n) * w->element; }

static char *result_of(const sorting *w, int64_t row) { return w->s->out + (size_t)(row * w->s->n) * w->result; }

// --- Many rows ------------------------------------------------------------------------------------------------------------------

static void sort_part(void *user, int part) {
  const sorting *w = user;
  const tsri_row_sort *s = w->s;
  size_t bytes = (size_t)s->n * w->item;
  char *scratch = w->scratch + w->row_scratch * (size_t)part, *spare = scratch + (w->is_in_place ? 0 : bytes);
  int64_t last = s->rows * (part + 1) / w->parts;
  for (int64_t row = s->rows * part / w->parts; row < last; row++) {
    char *items = w->is_in_place ? result_of(w, row) : scratch;
    w->keys->make(row_of(w, row), s->n, 0, s->is_descending, items);
    const void *sorted = w->sort(items, spare, s->n, w->keys->first_digit, w->keys->digits);
    w->keys->take(sorted, s->n, row_of(w, row), s->is_descending, result_of(w, row));
  }
}

// --- One long row ---------------------------------------------------------------------------------------------------------------

static int64_t block_start(const sorting *w, int64_t block) { return w->s->n * block / w->blocks; }

static void sort_block(void *user, int block) {
  const sorting *w = user;
  int64_t first = block_start(w, block), n = block_start(w, block + 1) - first;
  char *items = w->items + (size_t)first * w->item, *spare = w->spare + (size_t)first * w->item;
  w->keys->make(row_of(w, w->row) + (size_t)first * w->element, n, first, w->s->is_descending, items);
  void *sorted = w->sort(items, spare, n, w->keys->first_digit, w->keys->digits);
  if (sorted != items) memcpy(items, sorted, (size_t)n * w->item);
}

// Part numbers count through all pairs of runs, with equally many parts for each pair.
static void merge_part(void *user, int part) {
  const sorting *w = user;
  int64_t pairs = w->blocks / (2 * w->width), in_pair = w->parts / pairs, pair = part / in_pair, at = part % in_pair;
  int64_t start = block_start(w, pair * 2 * w->width), middle = block_start(w, (pair * 2 + 1) * w->width),
          end = block_start(w, (pair + 1) * 2 * w->width), n = end - start;
  size_t offset = (size_t)start * w->item;
  w->keys->sorter->merge_part(w->items + offset, middle - start, end - middle, w->spare + offset, n * at / in_pair,
                              n * (at + 1) / in_pair);
}

static void sort_long_row(sorting *w) {
  char *items = w->items, *spare = w->spare;
  tsri_parallel(w->threads, w->blocks, sort_block, w);
  for (w->width = 1; w->width < w->blocks; w->width *= 2) {
    w->parts = w->blocks;
    tsri_parallel(w->threads, w->parts, merge_part, w);
    char *merged = w->spare;
    w->spare = w->items;
    w->items = merged;
  }
  w->keys->take(w->items, w->s->n, row_of(w, w->row), w->s->is_descending, result_of(w, w->row));
  w->items = items;
  w->spare = spare;
}

// --- The operator ---------------------------------------------------------------------------------------------------------------

// Number of blocks of a long row: a power of two, so that runs are merged in pairs; a few for each thread, to balance the load.
static int blocks_for(int threads, int64_t n) {
  int blocks = 1;
  if (threads == 1) return blocks;
  while (blocks < 2 * threads && blocks < MOST_BLOCKS && n / (2 * blocks) >= LEAST_BLOCK) blocks *= 2;
  return blocks;
}

static tsr_status no_memory(size_t bytes) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "sort: no host memory for %zu bytes of keys", bytes);
}

tsr_status tsri_cpu_sort_rows(cpu_device *device, const tsri_row_sort *s) {
  if (s->rows == 0 || s->n == 0) return TSR_OK;
  if (s->n == 1) {
    if (s->wants_order) memset(s->out, 0, (size_t)s->rows * sizeof(int32_t));
    else memcpy(s->out, s->x, (size_t)s->rows * tsr_dtype_bytes(s->dtype));
    return TSR_OK;
  }
  sorting w = {
      .s = s, .keys = tsri_sort_keys_for(device->simd, s->dtype, s->wants_order), .element = tsr_dtype_bytes(s->dtype)};
  w.sort = tsri_sort_items_for(device->simd, w.keys->sorter);
  w.item = w.keys->sorter->bytes;
  w.result = s->wants_order ? sizeof(int32_t) : w.element;
  w.threads = tsri_cpu_threads(device, (uint64_t)(s->rows * s->n) / WORTH_A_THREAD);
  w.blocks = s->rows < 2 * w.threads ? blocks_for(w.threads, s->n) : 1;
  size_t bytes = 2 * (size_t)s->n * w.item;
  if (w.blocks > 1) {
    w.items = tsri_cpu_scratch(device, bytes);
    if (!w.items) return no_memory(bytes);
    w.spare = w.items + bytes / 2;
    for (w.row = 0; w.row < s->rows; w.row++) sort_long_row(&w);
    return TSR_OK;
  }
  w.parts = tsri_cpu_parts(w.threads, (uint64_t)s->rows);
  w.is_in_place = !s->wants_order && w.item == w.result;
  w.row_scratch = w.is_in_place ? bytes / 2 : bytes;
  if (w.parts > w.threads && w.row_scratch * (size_t)w.parts > MOST_SCRATCH) w.parts = w.threads;
  w.scratch = tsri_cpu_scratch(device, w.row_scratch * (size_t)w.parts);
  if (!w.scratch) return no_memory(w.row_scratch * (size_t)w.parts);
  tsri_parallel(w.threads, w.parts, sort_part, &w);
  return TSR_OK;
}
