// SPDX-License-Identifier: MIT
// Running sums and products. Each addition of a running sum depends on the one before it, so several independent sums are computed at the same time: those of
// the columns of a block or, if there is only one column, those of several segments of a row. The totals of the segments are computed first, while the block is
// in the first-level cache.
//
// Threads take blocks of columns or whole rows. A long row is computed by all threads: first the totals of its blocks, then the running sums. Blocks and
// segments depend only on the shape, so results have the same bits on any number of threads. Running products are computed one factor after the other, because
// the product of a segment may be infinite or 0 even if the running product is not.
#include "backends/cpu/rows/scan.h"

#include "backends/cpu/later.h"
#include "backends/cpu/rows/scan_lines.h"
#include "platform/parallel.h"

enum {
  MOST_COLUMNS = 512,
  LEAST_COLUMNS = 64,
  LONG_ROW = 1 << 16,
  BLOCK = 1 << 15,
  MOST_BLOCKS = 1024,
  WORTH_A_THREAD = 1 << 15
};

typedef struct scanning {
  const tsri_scan *s;
  const tsri_scan_lines *lines;
  size_t element;                  // bytes
  int64_t columns, column_blocks;  // columns in a block, and blocks for one outer index
  int threads, parts;
  // For one long row: its index, and the elements of a block.
  int64_t row, block;  // elements of a block
  int blocks;
  tsri_scan_sum sums[MOST_BLOCKS];  // the sum of each block, then the sum of all blocks before it
} scanning;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static void scan_part(void *user, int part) {
  const scanning *w = user;
  const tsri_scan *s = w->s;
  int64_t pieces = s->outer * w->column_blocks, first = pieces * part / w->parts, last = pieces * (part + 1) / w->parts;
  if (s->inner == 1 && !s->is_product) {
    size_t at = (size_t)(first * s->n) * w->element;
    w->lines->sum_rows(s->x + at, s->y + at, last - first, s->n);
    return;
  }
  for (int64_t i = first; i < last; i++) {
    int64_t column = i % w->column_blocks * w->columns, at = i / w->column_blocks * s->n * s->inner + column;
    const char *x = s->x + (size_t)at * w->element;
    char *y = s->y + (size_t)at * w->element;
    w->lines->columns(x, y, s->n, s->inner, at_most(w->columns, s->inner - column), s->is_product);
  }
}

// --- One long row ---------------------------------------------------------------------------------------------------------------

static const char *block_at(const scanning *w, int block, char **out_y, int64_t *out_n) {
  const tsri_scan *s = w->s;
  int64_t first = block * w->block, at = w->row * s->n + first;
  *out_n = at_most(w->block, s->n - first);
  *out_y = s->y + (size_t)at * w->element;
  return s->x + (size_t)at * w->element;
}

static void total_block(void *user, int block) {
  scanning *w = user;
  char *y;
  int64_t n;
  const char *x = block_at(w, block, &y, &n);
  w->sums[block] = w->lines->total(x, n);
}

static void scan_block(void *user, int block) {
  scanning *w = user;
  char *y;
  int64_t n;
  const char *x = block_at(w, block, &y, &n);
  w->lines->sum_row(x, y, n, w->sums[block]);
}

// On one thread: processes each block twice while it is in the cache. The sum before a block is made of block totals, as on several threads, so that the bits
// are the same.
static void scan_long_row(scanning *w) {
  bool is_alone = w->threads == 1;
  if (!is_alone) tsri_parallel(w->threads, w->blocks, total_block, w);
  tsri_scan_sum sum = {0};
  for (int i = 0; i < w->blocks; i++) {
    if (is_alone) total_block(w, i);
    tsri_scan_sum next = w->lines->join(sum, w->sums[i]);
    w->sums[i] = sum;
    sum = next;
    if (is_alone) scan_block(w, i);
  }
  if (!is_alone) tsri_parallel(w->threads, w->blocks, scan_block, w);
}

// Chooses blocks of MOST_COLUMNS columns, or smaller ones if a thread would be idle. The sums of a column have the same bits in a block of any size.
static void cut_columns(scanning *w) {
  const tsri_scan *s = w->s;
  int64_t share = (s->outer * s->inner + w->threads - 1) / w->threads;
  w->columns = at_most((share + LEAST_COLUMNS - 1) / LEAST_COLUMNS * LEAST_COLUMNS, MOST_COLUMNS);
  w->column_blocks = (s->inner + w->columns - 1) / w->columns;
}

void tsri_cpu_scan(const cpu_device *device, const tsri_scan *s) {
  if (s->outer == 0 || s->n == 0 || s->inner == 0) return;
  if (s->n == 1) {
    tsri_cpu_copy_now(device, s->y, s->x, (size_t)(s->outer * s->inner) * tsr_dtype_bytes(s->dtype));
    return;
  }
  scanning w = {.s = s, .lines = tsri_scan_lines_for(device->simd, s->dtype), .element = tsr_dtype_bytes(s->dtype)};
  w.threads = tsri_cpu_threads(device, (uint64_t)(s->outer * s->n * s->inner) / WORTH_A_THREAD);
  cut_columns(&w);
  if (s->inner == 1 && s->n >= LONG_ROW && !s->is_product) {
    w.block = (s->n + MOST_BLOCKS - 1) / MOST_BLOCKS;
    w.block = (w.block + BLOCK - 1) / BLOCK * BLOCK;
    w.blocks = (int)((s->n + w.block - 1) / w.block);
    for (w.row = 0; w.row < s->outer; w.row++) scan_long_row(&w);
    return;
  }
  w.parts = tsri_cpu_small_parts(w.threads, (uint64_t)(s->outer * w.column_blocks));
  tsri_parallel(w.threads, w.parts, scan_part, &w);
}
