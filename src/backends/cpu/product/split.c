// SPDX-License-Identifier: MIT
// Products of split elements by AMX (groups_split.c): which products these are, which of their tiles may lose precision, and how those are computed.
#include <math.h>

#include "backends/cpu/product/groups.h"

enum { LINES = 32 };  // rows and columns of a tile, at most

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

// --- Tiles ----------------------------------------------------------------------------------------------------------------

// Whether a sum of products of parts may be subnormal. An element whose first part has the exponent x (as stored, with a bias of 127) is a multiple of 2^(x -
// 127 - 24), as the part may have been rounded up to the next exponent. So products of parts, and their sums, are multiples of 2^(x + y - 2 * (127 + 24)).
static bool may_flush(uint32_t least_a, uint32_t least_b) {
  enum { FRACTION_BITS = 7, LAST_BIT = 24, BIAS = 127, LEAST_NORMAL = -126 };
  int x = (int)(least_a >> FRACTION_BITS), y = (int)(least_b >> FRACTION_BITS);
  return x + y - 2 * (BIAS + LAST_BIT) < LEAST_NORMAL;
}

// Whether flushed numbers do not matter to these sums: each of less than 2^13 additions for a sum loses less than 2^-126, in all less than 2^-33 of the sums
// that are accepted.
static bool hides_flushed(const tsri_group_tile *t) {
  const float least = 0x1p-80f;
  bool hides = true;
  for (int i = 0; i < t->rows; i++) {
    const float *row = (const float *)t->c + i * t->c_step;
    for (int j = 0; j < t->columns; j++) hides &= fabsf(row[j]) >= least;
  }
  return hides;
}

enum { DEPTH = 64 };  // elements along k of a panel of f32

// Packs a panel of f32 for the kernels' tile: `count` lines with `depth` elements along k.
static void pack_f32(const tsri_product *p, float *panel, int width, int64_t count, int64_t depth, const char *from,
                     int64_t line_step, int64_t k_step) {
  float lines[LINES * DEPTH];
  for (int64_t i = 0; i < count; i++) {
    p->storage->load(lines + i * DEPTH, from + i * line_step * (int64_t)p->element, k_step, (uint32_t)depth);
  }
  p->kernels->pack(panel, width, count, depth, lines, DEPTH, 1);
}

// Computes the columns `first` to `first` + `columns` - 1 of the tile's sums by multiply-adds of f32. The rows of `sums` have tile_columns elements.
static void multiply_add(const tsri_product *p, const tsri_split_tile *at, int64_t rows, int64_t first, int64_t columns,
                         float *sums) {
  int height = p->kernels->tile_rows, width = p->kernels->tile_columns;
  float a[LINES * DEPTH], b[LINES * DEPTH];
  int64_t element = (int64_t)p->element;
  for (int64_t k = 0; k < at->depth; k += DEPTH) {
    int64_t depth = at_most(at->depth - k, DEPTH);
    const char *from = p->b.at + ((at->k + k) * p->b.row + (at->column + first) * p->b.column) * element;
    pack_f32(p, b, width, columns, depth, from, p->b.column, p->b.row);
    for (int64_t i = 0; i < rows; i += height) {
      int64_t count = at_most(rows - i, height);
      from = p->a.at + ((at->row + i) * p->a.row + (at->k + k) * p->a.column) * element;
      pack_f32(p, a, height, count, depth, from, p->a.row, p->a.column);
      p->kernels->tile((int)count, depth, a, b, sums + i * width, width, k > 0);
    }
  }
}

static void add_rows(const tsri_group_tile *t, int64_t first, int64_t columns, const float *sums, int64_t step) {
  for (int i = 0; i < t->rows; i++) {
    float *to = (float *)t->c + i * t->c_step + first;
    for (int64_t j = 0; j < columns; j++) to[j] = t->adds ? to[j] + sums[i * step + j] : sums[i * step + j];
  }
}

static void run_exact_tile(const tsri_product *p, const tsri_group_tile *t, const tsri_split_tile *at) {
  enum { MOST_ROWS = 2 * LINES };  // the kernels' last tile may have rows beyond those of this one
  float sums[MOST_ROWS * LINES];
  int64_t width = p->kernels->tile_columns;
  for (int64_t first = 0; first < t->columns; first += width) {
    int64_t columns = at_most(t->columns - first, width);
    multiply_add(p, at, t->rows, first, columns, sums);
    add_rows(t, first, columns, sums, width);
  }
}

// Tiles with an element that is too large or too small are computed by multiply-adds. If elements are so small that sums may be flushed, the sums of this block
// are computed separately and checked.
void tsri_product_split_tile(const tsri_product *p, const tsri_group_tile *tile, const tsri_split_tile *at) {
  float sums[LINES * LINES];
  bool has_parts = at->least_a != 0 && at->least_b != 0;
  if (has_parts && !may_flush(at->least_a, at->least_b)) {
    p->groups->tile(tile);
    return;
  }
  tsri_group_tile trial = *tile;
  trial.c = sums;
  trial.c_step = LINES;
  trial.adds = false;
  if (has_parts) p->groups->tile(&trial);
  if (has_parts && hides_flushed(&trial)) add_rows(tile, 0, tile->columns, sums, LINES);
  else run_exact_tile(p, tile, at);
}

// --- The choice -------------------------------------------------------------------------------------------------------------

#if TSRI_HAS_GROUPS
static int64_t whole(int64_t x, int64_t piece) { return (x + piece - 1) / piece * piece; }

// Compares the estimated time with and without splitting, in units of 1/32 of a multiply-add of f32 by AVX-512: `split_work` for a multiplication of split
// elements, and `packing_work` for splitting an element. AMX multiplies whole registers, 16 lines with 32 elements along k.
static bool is_worth_splitting(const tsri_product *p, double split_work, double packing_work) {
  enum { WORK = 32, SIDE = 16, UNIT = 32 };
  double lines = (double)(p->m + p->n), m = (double)p->m, n = (double)whole(p->n, SIDE), k = (double)p->k;
  return split_work * (double)whole(p->m, SIDE) * n * (double)whole(p->k, UNIT) + packing_work * lines * k <
         WORK * m * n * k;
}
#endif

// For f32 the numbers are larger than those of AMX at full speed (15 and 300), so that only large products are split: those that are not slower on sixteen
// threads of a Xeon that halves the speed of AMX most of the time. On one thread smaller products would be faster, too (1000^3 takes 8.9 ms instead of 13.3),
// but not on eight (3.1 instead of 2.9). The choice must not depend on the number of threads, so that bits do not.
const tsri_product_groups *tsri_product_split_for(uint32_t units, const tsri_product *p) {
#if TSRI_HAS_GROUPS
  enum { LEAST_F32_DEPTH = 256 };
  const double least_f32_work = 0x1p32;
  double work = (double)p->m * (double)p->n * (double)p->k;
  bool is_large = work >= least_f32_work && p->k >= LEAST_F32_DEPTH;
  bool is_f32 = !p->is_narrow && p->sum_bytes == sizeof(float) && is_large;
  bool is_f16 = p->is_narrow && !p->is_bf16 && !p->has_integers && p->element == 2;
  if (p->quant || !(units & TSRI_CPU_AMX)) return NULL;
  if (is_f32 && is_worth_splitting(p, 16, 4000)) return &tsri_product_f32_amx;
  if (is_f16 && is_worth_splitting(p, 12, 400)) return &tsri_product_f16_amx;
#endif
  (void)units, (void)p;
  return NULL;
}
