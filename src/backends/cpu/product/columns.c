// SPDX-License-Identifier: MIT
// Products with few columns, for which a tile would leave most lanes of its vector registers unused. If a is contiguous along k, a vector holds several
// elements of each column (few_isa.inc); at SIMD levels without a kernel for that, each column is a matrix-vector product (vector.c). If a is contiguous along
// m, the transposed product, which has few rows, is computed (direct.c).
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum { MOST_NARROW = 2, LEAST_K = 32 };  // 16-bit elements are converted once for each column

// The most columns for which dot products are faster than tiles: more for a long k; fewer if a does not fit in a cache, so that it is read from memory for each
// column. Measured on Zen 4.
static int64_t most_columns(const tsri_product *p) {
  enum { SHORT = 64, LONG = 512, CACHE_BYTES = 1 << 20 };
  if (p->is_narrow) return MOST_NARROW;
  if (p->m * p->k * (int64_t)p->element > CACHE_BYTES) return p->k < LONG ? 4 : 8;
  return p->k < SHORT ? 5 : p->k < LONG ? 7 : 8;
}

// Whether columns of a are contiguous, and the result has so few columns that the transposed product is faster.
static bool is_turned(const tsri_product *p) {
  const tsri_product_kernels *kernels = p->kernels;
  return p->a.row == 1 && p->a.column != 1 && p->n <= kernels->tile_rows && p->n <= kernels->tile_columns / 4 &&
         p->m >= kernels->tile_columns;
}

// Whether rows of a are copied to a small array first, several at a time: to convert f16 and bf16, or to make elements contiguous.
static bool loads_rows(const tsri_product *p) { return p->is_narrow || p->a.column != 1; }

// Whether to use few_isa.inc. If rows must be copied first, only for short rows; for longer ones tiles are faster, because they pack. For bf16 the limit is
// lower still if the processor multiplies bf16 without converting it.
static bool is_grouped(const tsri_product *p) {
  enum { MOST_COLUMNS = 8, MOST_LOADED_K = TSRI_PRODUCT_STRETCH / 4, MOST_K_BEFORE_GROUPS = 64, MOST_STEP = 4 };
  int64_t most_loaded = p->is_narrow && p->groups ? MOST_K_BEFORE_GROUPS : MOST_LOADED_K;
  bool has_kernel = p->kernels->few_columns && p->sum_bytes == sizeof(float) && p->n <= MOST_COLUMNS;
  bool is_close = p->a.column >= 1 && p->a.column <= MOST_STEP && p->a.row > p->a.column;
  return has_kernel && is_close && (!loads_rows(p) || p->k <= most_loaded);
}

// Whether there are so few rows that packing b takes longer than multiplying it. Then direct.c is used, which reads b in place.
static bool has_few_rows(const tsri_product *p) {
  enum { LEAST_COLUMNS = 4 };
  return !p->is_narrow && p->b.column == 1 && p->n >= LEAST_COLUMNS && p->m <= p->kernels->tile_rows;
}

bool tsri_product_has_few_columns(const tsri_product *p) {
  if (!tsri_product_is_bare(p) || p->n < 2 || p->m < 2 || p->k < 2 || has_few_rows(p)) return false;
  return is_grouped(p) || is_turned(p) || (p->a.column == 1 && p->n <= most_columns(p) && p->k >= LEAST_K);
}

static size_t to_line(size_t bytes) { return (bytes + 63) / 64 * 64; }

static tsri_product column_of(const tsri_product *p, int64_t column) {
  tsri_product v = *p;
  v.n = 1;
  v.b.at += column * p->b.column * (int64_t)p->element;
  v.b.column = 0;
  v.c = p->scratch;
  v.scratch = p->scratch + to_line((size_t)p->m * p->element);
  return v;
}

// Describes the transposed product, whose result goes to scratch memory.
static tsri_product turned(const tsri_product *p) {
  tsri_product t = *p;
  t.m = p->n;
  t.n = p->m;
  t.a = (tsri_product_matrix){.at = p->b.at, .row = p->b.column, .column = p->b.row};
  t.b = (tsri_product_matrix){.at = p->a.at, .row = p->a.column, .column = p->a.row};
  t.c = p->scratch;
  t.scratch = p->scratch + to_line((size_t)(p->m * p->n) * p->element);
  return t;
}

static size_t scratch_of_turned(const tsri_product *t) {
  return t->is_narrow ? tsri_product_scratch_bytes(t) : tsri_product_direct_scratch_bytes(t);
}

// --- Grouped columns ------------------------------------------------------------------------------------------------------------

typedef struct grouped {
  const tsri_product *p;
  const float *b;  // packed for few_isa.inc
  int parts;
} grouped;

// How many elements of each column a vector holds.
static int64_t group_of(const tsri_product *p) {
  int64_t columns = p->n > 4 ? 8 : p->n > 2 ? 4 : 2;
  return p->kernels->tile_columns / 2 / columns;
}

static size_t grouped_bytes(const tsri_product *p) {
  int64_t group = group_of(p), vectors = (p->k + group - 1) / group;
  return (size_t)(vectors * p->kernels->tile_columns / 2) * sizeof(float);
}

// Packs column j, whose elements are `step` apart.
static void pack_column(const tsri_product *p, const float *column, int64_t step, int64_t j, float *to) {
  int64_t group = group_of(p), lanes = p->kernels->tile_columns / 2, k = 0;
  for (to += j * group; k < p->k; to += lanes) {
    int64_t end = k + group < p->k ? k + group : p->k;
    for (int64_t i = 0; k < end; i++, k++) to[i] = column[k * step];
  }
}

static void pack_groups(const tsri_product *p, float *to) {
  float wide[TSRI_PRODUCT_STRETCH / 4];
  memset(to, 0, grouped_bytes(p));
  for (int64_t j = 0; j < p->n; j++) {
    const char *column = p->b.at + j * p->b.column * (int64_t)p->element;
    if (p->is_narrow) p->storage->load(wide, column, p->b.row, (uint32_t)p->k);
    pack_column(p, p->is_narrow ? wide : (const float *)(const void *)column, p->is_narrow ? 1 : p->b.row, j, to);
  }
}

// Multiplies the rows `first` to `last` - 1 if loads_rows.
static void multiply_loaded_rows(const grouped *g, int64_t first, int64_t last) {
  const tsri_product *p = g->p;
  float rows[TSRI_PRODUCT_STRETCH], sums[TSRI_PRODUCT_STRETCH];
  int64_t at_once = TSRI_PRODUCT_STRETCH / (p->k > p->n ? p->k : p->n);
  bool are_together = p->a.row == p->k * p->a.column;
  for (int64_t i = first; i < last; i += at_once) {
    int64_t count = last - i < at_once ? last - i : at_once, loads = are_together ? 1 : count;
    for (int64_t r = 0; r < loads; r++) {
      p->storage->load(rows + r * p->k, p->a.at + (i + r) * p->a.row * (int64_t)p->element, p->a.column,
                       (uint32_t)(are_together ? count * p->k : p->k));
    }
    p->kernels->few_columns(rows, p->k, count, p->k, g->b, p->n, sums);
    p->storage->store(p->c + (size_t)(i * p->n) * p->element, sums, 1, (uint32_t)(count * p->n));
  }
}

static void multiply_part(void *user, int part) {
  const grouped *g = user;
  const tsri_product *p = g->p;
  int64_t first = p->m * part / g->parts, last = p->m * (part + 1) / g->parts;
  if (loads_rows(p)) {
    multiply_loaded_rows(g, first, last);
    return;
  }
  const float *a = (const float *)(const void *)p->a.at + first * p->a.row;
  p->kernels->few_columns(a, p->a.row, last - first, p->k, g->b, p->n, (float *)(void *)p->c + first * p->n);
}

static void run_grouped(const tsri_product *p) {
  enum { LEAST_ROWS = 32 };
  grouped g = {.p = p, .b = (const float *)(const void *)p->scratch};
  pack_groups(p, (float *)(void *)p->scratch);
  g.parts = tsri_cpu_parts(p->threads, (uint64_t)((p->m + LEAST_ROWS - 1) / LEAST_ROWS));
  tsri_parallel(p->threads, g.parts, multiply_part, &g);
}

// --- The product ----------------------------------------------------------------------------------------------------------------

// Scratch memory: the transposed result (or a column of it), and what its product needs.
size_t tsri_product_columns_scratch_bytes(const tsri_product *p) {
  if (is_grouped(p)) return grouped_bytes(p);
  tsri_product t = turned(p), v = column_of(p, 0);
  if (is_turned(p)) return to_line((size_t)(p->m * p->n) * p->element) + scratch_of_turned(&t);
  return to_line((size_t)p->m * p->element) + tsri_product_vector_scratch_bytes(&v);
}

#define SPREAD(bytes)                                                                   \
  case bytes:                                                                           \
    for (int64_t i = 0; i < count; i++) memcpy(to + i * step, from + i * bytes, bytes); \
    break;

// Copies `count` contiguous elements to places that are `step` bytes apart.
static void spread(char *to, int64_t step, const char *from, int64_t count, size_t element) {
  switch (element) {
    SPREAD(2)
    SPREAD(4)
    SPREAD(8)
    default:
      break;  // products have no other element sizes
  }
}

void tsri_product_run_columns(const tsri_product *p) {
  if (is_grouped(p)) {
    run_grouped(p);
    return;
  }
  tsri_product t = turned(p);
  if (is_turned(p)) (p->is_narrow ? tsri_product_run : tsri_product_run_direct)(&t);
  for (int64_t j = 0; j < p->n; j++) {
    tsri_product v = column_of(p, j);
    if (is_turned(p)) v.c = t.c + (size_t)(j * p->m) * p->element;
    else tsri_product_run_vector(&v);
    spread(p->c + (size_t)j * p->element, p->n * (int64_t)p->element, v.c, p->m, p->element);
  }
}
