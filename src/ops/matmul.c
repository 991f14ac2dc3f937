// SPDX-License-Identifier: MIT
// Matrix products by the kernels of kernels/op_matmul.tk, whose sizes come from graph/tuning.def; or, on a device with matrix units, by kernels/op_product.tk,
// in tiles that fragment_tile.c chooses. Products that the device computes natively do not come here (graph/native.c). Inputs are read through their strides,
// so views need no copy.
#include <math.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/fragment_tile.h"
#include "ops/matmul_f8.h"
#include "ops/matmul_i8.h"
#include "ops/matmul_padded.h"
#include "ops/matmul_split.h"
#include "ops/operators.h"
#include "ops/product.h"
#include "ops/promote.h"
#include "runtime/native_op.h"

// --- Choosing the kernel ---------------------------------------------------------------------------------------------

typedef enum method { NAIVE, LONG, SKINNY, TILED, BLOCKS, FRAGMENTS } method;

// Thresholds for the choice of a method. TILED, BLOCKS and FRAGMENTS: a work-group computes a tile of results. LONG: a work-group computes one or several
// results of a column. SKINNY: a work-group computes several rows of some neighbouring columns. NAIVE: an item computes one result.
enum {
  SMALL_SIDE = 16,
  FEW_RESULTS = 1024,
  LONG_SUM = 512,
  LONG_VECTOR_SUM = 128,
  LONG_FOR_TILE = 2048,
  NAIVE_GROUP = 64
};

// SKINNY: SKINNY_COLUMNS items of a work-group have four columns each; the other items share the sums of these columns. MOST_ROWS: rows of a that a work-group
// of LONG or SKINNY takes at a time.
enum { SKINNY_GROUP = 256, SKINNY_SPLIT_GROUP = 64, SKINNY_COLUMNS = 8, MOST_ROWS = 8, UNIT_ROWS = 4 };

// A tile of the result (m x n), the depth of its strips along k, and the part of the tile that an item computes.
typedef struct tile {
  int m, n, depth, item_m, item_n;
} tile;

typedef struct way {
  method method;
  tile tile;                 // of TILED and BLOCKS
  tsri_fragment_tile units;  // of FRAGMENTS
  int steps;                 // of BLOCKS: unrolled steps of a strip
  int group;                 // of LONG and SKINNY: work-group size
  int deep;                  // of LONG: loads before their values are used
  int rows;                  // of LONG and SKINNY
  int64_t part;              // of SKINNY, BLOCKS and FRAGMENTS: products in each part of a sum. 0: sums are not split
  bool stores_sums;          // of these: y has the accumulator's dtype
  bool is_once;              // of LONG: reads a without keeping it in the first-level cache
  bool is_loose;             // of LONG: reads a in quads although rows begin at any element
  bool is_wide_a, is_wide_b, is_even_a,
      is_even_b;  // of FRAGMENTS, for f32: whether a and b are read two elements at a time
  // whether a and b are read several elements at a time: four by LONG, SKINNY and BLOCKS, eight by FRAGMENTS
} way;

typedef tsri_product_op product;

// Index of the operand's first element in its buffer.
static int64_t first_of(const tsri_matrix *side, tsr_dtype dtype) {
  return (int64_t)(side->at.offset / tsr_dtype_bytes(dtype));
}

static bool is_by(int count, int64_t at, int64_t step, const int64_t *batch, int batch_rank) {
  bool fits = at % count == 0 && step % count == 0;
  for (int i = 0; i < batch_rank; i++) fits = fits && batch[i] % count == 0;
  return fits;
}

// Whether `count` neighbouring elements can be read at once along the axis with stride 1: it has `size` elements, and `other`, the stride of the other axis,
// and all offsets are multiples of `count`.
static bool is_wide_by(int count, const tsri_matrix *side, tsr_dtype dtype, int64_t step, int64_t size, int64_t other,
                       int batch_rank) {
  return step == 1 && size % count == 0 && is_by(count, first_of(side, dtype), other, side->batch, batch_rank);
}

static bool is_wide(const tsri_matrix *side, tsr_dtype dtype, int64_t step, int64_t size, int64_t other,
                    int batch_rank) {
  return is_wide_by(4, side, dtype, step, size, other, batch_rank);
}

// As is_wide_by, along the axis (of `rows` or of `cols` elements) that is contiguous.
static bool is_wide_any(int count, const tsri_matrix *side, tsr_dtype dtype, int64_t rows, int64_t cols,
                        int batch_rank) {
  if (side->column == 1) return is_wide_by(count, side, dtype, 1, cols, side->row, batch_rank);
  return is_wide_by(count, side, dtype, side->row, rows, side->column, batch_rank);
}

static size_t tile_shared_bytes(const tile *t, size_t element) {
  enum { PAD = 4 };  // same as in the kernel
  return (size_t)(2 * t->depth * (t->m + t->n + 2 * PAD)) * element;
}

// Tiles for at most 16, 32 and 64 rows; with rows and columns exchanged, for few columns. In f32 on an H200, through OpenCL, 16 x 4096 with k of 4096 takes 72
// us in tiles of 64 x 64 and 30 in these; 32 rows take 73 and 43.
static const tile thin_tiles[] = {{16, 64, 16, 4, 4}, {32, 128, 16, 4, 8}, {64, 128, 8, 8, 8}};

// Whether a tile has 8 x 8 results per item, as the thin tile with 64 rows.
static bool has_many_sums(const tile *t) { return t->item_m * t->item_n == 64; }

// The smallest thin tile with room for the rows (or columns). The one with 64 rows only if its work-groups have some 30 steps each even if sums are split:
// through Vulkan, 64 x 4096 with k of 4096 takes 97 us in it, and 83 in the small tiles of choose_tile; 48 rows with k of 14336 take 218 and 242.
static bool choose_thin_tile(const product *p, size_t element, size_t room, tile *out_tile) {
  enum { LEAST_WORK = 1 << 25 };
  int64_t few = p->m < p->n ? p->m : p->n, many = p->m < p->n ? p->n : p->m;
  for (size_t i = 0; i < sizeof thin_tiles / sizeof thin_tiles[0]; i++) {
    const tile *t = &thin_tiles[i];
    if (few > t->m || many < t->n || tile_shared_bytes(t, element) > room) continue;
    if (has_many_sums(t) && (element > 4 || many * p->k <= LEAST_WORK)) return false;
    *out_tile = p->m < p->n ? *t : (tile){t->n, t->m, t->depth, t->item_n, t->item_m};
    return true;
  }
  return false;
}

// Chooses a thin tile; or the large tile, if there are enough tiles of that size and the accumulator is not wider than f32; or the small tile; or, if shared
// memory is too small for these, a still smaller one.
static tile choose_tile(const tsr_device *device, const tsri_tuning *tuning, const product *p, tsr_dtype dtype) {
  tile large = {TSRI_TUNED(tuning, matmul_m), TSRI_TUNED(tuning, matmul_n), TSRI_TUNED(tuning, matmul_depth),
                TSRI_TUNED(tuning, matmul_item_m), TSRI_TUNED(tuning, matmul_item_n)};
  tile small = {TSRI_TUNED(tuning, matmul_small_m), TSRI_TUNED(tuning, matmul_small_n),
                TSRI_TUNED(tuning, matmul_small_depth), TSRI_TUNED(tuning, matmul_small_item_m),
                TSRI_TUNED(tuning, matmul_small_item_n)};
  size_t element = tsr_dtype_bytes(tsri_accumulator(dtype)), room = device->limits.shared_bytes;
  tile thin;
  if (TSRI_TUNED(tuning, matmul_blocks) && choose_thin_tile(p, element, room, &thin)) return thin;
  int64_t tiles = ((p->m + large.m - 1) / large.m) * ((p->n + large.n - 1) / large.n);
  for (int i = 0; i < p->batch_rank; i++) tiles *= p->batch_dims[i];
  int64_t split_tiles = p->k >= LONG_FOR_TILE ? TSRI_TUNED(tuning, matmul_split_tiles) : 0;
  int64_t least = split_tiles > 0 ? split_tiles : TSRI_TUNED(tuning, matmul_tiles);
  if (element <= 4 && tiles >= least && tile_shared_bytes(&large, element) <= room) return large;
  return tile_shared_bytes(&small, element) <= room ? small : (tile){32, 32, 8, 4, 4};
}

// Whether there are few results with sums that are not long, such as those of a classifier. Then a work-group of at least 32 items shares each sum: with one
// item per result, too few loads would be in flight. With one item each, 128 x 10 results of 128 products take 6 us on an H200.
static bool is_small_and_thin(const product *p) {
  enum { SHORT_SUM = 64, FEW = 8192 };
  return p->k >= SHORT_SUM && p->m * p->n <= FEW && p->batch_rank == 0;
}

// Work-group size for a sum of k products, of which an item takes four at a time: a power of two from 32 to `most`.
static int items_for_sum(int64_t k, int most) {
  int items = 32;
  while (items < most && items * 4 < k) items *= 2;
  return items;
}

// Work-group size for long sums. It is doubled while there are too few work-groups to keep the device busy and each item still has some 64 products.
static int long_group(const tsr_device *device, const tsri_tuning *tuning, const product *p, int rows) {
  enum { BUSY_ITEMS_PER_TILE = 1024, MOST = 256, LEAST_PRODUCTS = 64 };
  int64_t most = device->limits.max_group_size < MOST ? (int64_t)device->limits.max_group_size : MOST;
  int64_t busy = (int64_t)TSRI_TUNED(tuning, matmul_tiles) * BUSY_ITEMS_PER_TILE,
          group = TSRI_TUNED(tuning, gemv_group);
  int64_t groups = (p->m + rows - 1) / rows * p->n;
  for (int i = 0; i < p->batch_rank; i++) groups *= p->batch_dims[i];
  while (group * 2 <= most && groups * group < busy && group * 2 * LEAST_PRODUCTS <= p->k) group *= 2;
  return (int)group;
}

static bool reads_both_along_k(const product *p) { return p->a.column == 1 && p->b.row == 1; }

// How many rows of a a work-group of LONG or SKINNY takes at a time.
static int rows_at_once(const product *p) { return p->m < MOST_ROWS ? (int)p->m : MOST_ROWS; }

// Whether few rows are multiplied with a matrix whose rows are contiguous, so that reading the matrix takes most of the time. From UNIT_ROWS rows on, matrix
// units are faster: 13824 x 5120 of bf16 takes 58 us with 4 to 8 rows on an H200, through Vulkan, and without them 76, 88 and 107 with 4, 6 and 8 rows.
static bool is_skinny(const tsr_device *device, const product *p, bool has_units) {
  bool has_tiles = p->k >= LONG_SUM && p->n >= thin_tiles[0].n;
  int most = has_tiles ? TSRI_TUNED(tsri_tuning_of(device), matmul_skinny) : SMALL_SIDE - 1;
  if (has_units) most = UNIT_ROWS - 1;
  return p->m <= most && p->n >= 4 * SKINNY_COLUMNS && p->k >= 4 * SKINNY_COLUMNS && p->b.column == 1 &&
         device->limits.max_group_size >= SKINNY_GROUP;
}

// Work-group size of SKINNY. If there would be few work-groups, small ones are used and sums are split, which gives more work-groups. In f32 on an H200,
// through Vulkan, 4 x 5120 with k of 13824 takes 108 us with split sums and work-groups of 64, and 192 with 160 work-groups of 256; 6 x 4096 with k of 4096
// takes 39 and 55. Fewer than 4 rows were not measured.
static int skinny_group(const product *p, tsr_dtype dtype) {
  enum { FEW_GROUPS = 256, LEAST_ROWS = 4 };
  int64_t groups = (p->n + SKINNY_COLUMNS * 4 - 1) / (SKINNY_COLUMNS * 4) * ((p->m + MOST_ROWS - 1) / MOST_ROWS);
  bool is_split = p->m >= LEAST_ROWS && p->k >= LONG_FOR_TILE && groups < FEW_GROUPS && tsri_matmul_can_split(p, dtype);
  return is_split ? SKINNY_SPLIT_GROUP : SKINNY_GROUP;
}

// Whether a has at least `mib` MiB. `mib` 0: never.
static bool is_large(const product *p, tsr_dtype dtype, int mib) {
  return mib > 0 && (double)p->m * (double)p->k * (double)tsr_dtype_bytes(dtype) >= (double)mib * (1 << 20);
}

// Adjusts LONG with is_loose. READS: quads loaded before their values are used. With more of them, CUDA's assembler keeps none in flight (it uses 32 registers
// instead of 42). Then work-groups of one subgroup, of which a core runs only few at a time, are too small, so they are enlarged.
static void loosen(const tsr_device *device, const product *p, way *how) {
  enum { READS = 2, MOST = 128, LEAST_PRODUCTS = 16 };
  if (how->deep > READS) how->deep = READS;
  while (how->group < MOST && (uint32_t)how->group * 2 <= device->limits.max_group_size &&
         p->k >= (int64_t)how->group * LEAST_PRODUCTS)
    how->group *= 2;
}

// Chooses the method. LONG reads along k, so elements should be contiguous along k (or there are few columns). In the other kernels, neighbouring items read
// neighbouring elements of rows of b.
static way choose(const tsr_device *device, const product *p, tsr_dtype dtype) {
  const tsri_tuning *tuning = tsri_tuning_of(device);
  way chosen = {.method = NAIVE};
  bool is_gpu = TSRI_TUNED(tuning, matmul_blocks) != 0, is_thin = p->m < SMALL_SIDE || p->n < SMALL_SIDE;
  bool reads_along_k = p->b.row == 1 || p->n < SMALL_SIDE;
  bool is_few = p->m * p->n <= FEW_RESULTS && reads_along_k;
  // For a matrix times a vector, NAIVE's items (one row each) would read addresses that are far apart, so LONG is used earlier.
  int64_t long_sum = is_gpu && (p->m == 1 || p->n == 1) ? LONG_VECTOR_SUM : LONG_SUM;
  bool is_thin_along_k = is_gpu && is_thin && reads_both_along_k(p);
  // Factors of few results lie in the first-level cache, whichever their order: 2 x 6 with k of 215, with an item for each result, takes 11 us on an H200.
  bool is_cached = is_gpu && is_thin && is_few;
  if ((p->k >= long_sum && (is_few || is_thin_along_k)) || ((is_thin_along_k || is_cached) && is_small_and_thin(p))) {
    chosen.method = LONG;
    chosen.rows =
        is_gpu && p->m < p->n ? rows_at_once(p) : 1;  // if a is tall, there are enough rows for one work-group per row
    chosen.group = p->k >= long_sum ? long_group(device, tuning, p, chosen.rows)
                                    : items_for_sum(p->k, TSRI_TUNED(tuning, gemv_group));
    chosen.deep = TSRI_TUNED(tuning, gemv_unroll);
    chosen.is_once = p->n == 1 && is_large(p, dtype, tuning->gemv_once_mib);
    chosen.is_wide_a = chosen.is_wide_b = is_gpu && is_wide(&p->a, dtype, p->a.column, p->k, p->a.row, p->batch_rank) &&
                                          is_wide(&p->b, dtype, p->b.row, p->k, p->b.column, p->batch_rank);
    chosen.is_loose = is_gpu && !chosen.is_wide_a && chosen.rows == 1 && p->m >= p->n && reads_both_along_k(p) &&
                      p->k >= 8 * chosen.group && tsr_dtype_bytes(dtype) <= 4;
    if (chosen.is_loose) loosen(device, p, &chosen);
  } else if (is_gpu && is_skinny(device, p, tsri_fragment_tile_choose(device, p, dtype, &chosen.units))) {
    chosen.method = SKINNY;
    chosen.group = skinny_group(p, dtype);
    chosen.rows = rows_at_once(p);
    chosen.is_wide_a = is_wide(&p->a, dtype, p->a.column, p->k, p->a.row, p->batch_rank);
    chosen.is_wide_b = is_wide(&p->b, dtype, p->b.column, p->n, p->b.row, p->batch_rank);
  } else if (tsri_fragment_tile_choose(device, p, dtype, &chosen.units)) {
    int run = tsri_fragment_tile_run(&chosen.units);
    chosen.method = FRAGMENTS;
    chosen.is_wide_a = is_wide_any(run, &p->a, dtype, p->m, p->k, p->batch_rank);
    chosen.is_wide_b = is_wide_any(run, &p->b, dtype, p->k, p->n, p->batch_rank);
    chosen.is_even_a = dtype == TSR_F32 && !chosen.is_wide_a && is_wide_any(2, &p->a, dtype, p->m, p->k, p->batch_rank);
    chosen.is_even_b = dtype == TSR_F32 && !chosen.is_wide_b && is_wide_any(2, &p->b, dtype, p->k, p->n, p->batch_rank);
  } else if (!is_thin || (is_gpu && p->k >= LONG_SUM)) {  // also tiles that are not full, with split sums
    chosen.method = is_gpu ? BLOCKS : TILED;
    chosen.tile = choose_tile(device, tuning, p, dtype);
    bool fits = TSRI_TUNED(tuning, matmul_steps) > 0 && chosen.tile.depth % TSRI_TUNED(tuning, matmul_steps) == 0;
    chosen.steps = fits ? TSRI_TUNED(tuning, matmul_steps) : 1;
    chosen.is_wide_a = is_wide_any(4, &p->a, dtype, p->m, p->k, p->batch_rank);
    chosen.is_wide_b = is_wide_any(4, &p->b, dtype, p->k, p->n, p->batch_rank);
  }
  return chosen;
}

// --- Launching -------------------------------------------------------------------------------------------------------

// The two innermost batch axes, which one launch covers.
typedef struct product_part {
  int64_t outer, inner;            // sizes
  int64_t a_at, b_at, c_at, y_at;  // index of its first element in a, b, c and y
} product_part;

// Whether BLOCKS reads its factors as words of two 16-bit elements.
static bool reads_words(tsr_dtype dtype, const way *how) {
  return how->method == BLOCKS && (dtype == TSR_F16 || dtype == TSR_BF16) && how->is_wide_a && how->is_wide_b;
}

// The dtype as which a factor is bound. FRAGMENTS copies bits: words of an f32 or of two smaller elements, or single ones of these as i16.
static tsr_dtype carrier(tsr_dtype dtype, const way *how, bool is_wide) {
  if (reads_words(dtype, how)) return TSR_U32;
  if (how->method != FRAGMENTS) return dtype;
  return is_wide || dtype == TSR_F32 ? TSR_U32 : TSR_I16;
}

// The dtype of y. Partial sums of split sums are stored in the accumulator's dtype.
static tsr_dtype stored_dtype(const tsri_kernel_run *run, const way *how) {
  return how->part || how->stores_sums ? tsri_accumulator(run->dtype) : run->dtype;
}

// Binds the matrices. `filler` is bound in place of a matrix that is empty or missing; kernels do not read it.
static void pass_matrices(const tsri_kernel_run *run, const way *how, tsr_buffer *filler, tsri_call *call) {
  static const char *const names[] = {"a", "b", "c"};
  const tsr_dtype dtypes[] = {carrier(run->dtype, how, how->is_wide_a), carrier(run->dtype, how, how->is_wide_b),
                              run->dtype};
  for (int i = 0; i < 3; i++) {
    bool is_there = i < run->input_count && run->layouts[i].count > 0;
    tsri_call_buffer(call, names[i], is_there ? run->inputs[i] : filler, dtypes[i]);
  }
  tsri_call_buffer(call, "y", run->output, stored_dtype(run, how));
}

static int64_t batch_stride(const tsri_matrix *side, const product *p, int from_end) {
  return p->batch_rank >= from_end ? side->batch[p->batch_rank - from_end] : 0;
}

static void pass_strides(const product *p, const product_part *part, tsri_call *call) {
  const tsri_matrix *all[3] = {&p->a, &p->b, &p->c};
  const int64_t at[3] = {part->a_at, part->b_at, part->c_at};
  static const struct {
    const char *at, *row, *col, *outer, *inner;
  } names[3] = {{"a_at", "a_row", "a_col", "a_outer", "a_inner"},
                {"b_at", "b_row", "b_col", "b_outer", "b_inner"},
                {"c_at", "c_row", "c_col", "c_outer", "c_inner"}};
  tsri_call_word(call, "m", p->m);
  tsri_call_word(call, "n", p->n);
  tsri_call_word(call, "k", p->k);
  for (int i = 0; i < 3; i++) {
    tsri_call_word(call, names[i].at, at[i]);
    tsri_call_word(call, names[i].row, all[i]->row);
    tsri_call_word(call, names[i].col, all[i]->column);
  }
  tsri_call_word(call, "batch_inner", part->inner);
  for (int i = 0; i < 3; i++) {
    tsri_call_word(call, names[i].outer, batch_stride(all[i], p, 2));
    tsri_call_word(call, names[i].inner, batch_stride(all[i], p, 1));
  }
}

// Whether y can be stored four elements at a time.
static bool stores_quads(const product *p) { return p->beta == 0 && p->n % 4 == 0; }

static void start_fragments(const tsri_kernel_run *run, const product *p, const way *how, tsri_call *call) {
  const tsri_fragment_tile *t = &how->units;
  bool has_edges = p->m % t->tile_m != 0 || p->n % t->tile_n != 0;
  tsri_call_init_hooked(
      call, run, "op_product", "matmul_fragments",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("E", t->fragment.dtype), TSRI_TYPE("Y", stored_dtype(run, how)),
                TSRI_TYPE("WA", carrier(run->dtype, how, how->is_wide_a)),
                TSRI_TYPE("WB", carrier(run->dtype, how, how->is_wide_b)),
                TSRI_CONSTANT("SCALED", p->alpha != 1 || p->beta != 0), TSRI_CONSTANT("WIDE_A", how->is_wide_a),
                TSRI_CONSTANT("WIDE_B", how->is_wide_b), TSRI_CONSTANT("EVEN_A", how->is_even_a),
                TSRI_CONSTANT("EVEN_B", how->is_even_b), TSRI_CONSTANT("WIDE_Y", stores_quads(p)),
                TSRI_CONSTANT("A_COLUMNS", t->a_by_columns), TSRI_CONSTANT("B_COLUMNS", t->b_by_columns),
                TSRI_CONSTANT("EDGES", has_edges), TSRI_CONSTANT("TAIL", p->k % t->depth != 0),
                TSRI_CONSTANT("SPLIT", how->part > 0), TSRI_CONSTANT("M", t->fragment.m),
                TSRI_CONSTANT("N", t->fragment.n), TSRI_CONSTANT("K", t->fragment.k),
                TSRI_CONSTANT("PART_M", t->part_m), TSRI_CONSTANT("PART_N", t->part_n), TSRI_CONSTANT("BM", t->tile_m),
                TSRI_CONSTANT("BN", t->tile_n), TSRI_CONSTANT("DEPTH", t->depth),
                TSRI_CONSTANT("SG", t->subgroup_size)));
}

// Whether BLOCKS loads the strips that end before the last step without conditions (INSIDE).
static bool reads_inside(const tsr_device *device, const way *how) {
  int inside = TSRI_TUNED(tsri_tuning_of(device), matmul_inside);
  return inside == 2 ? !(how->is_wide_a && how->is_wide_b) : inside != 0;
}

// Compile-time arguments that the kernels other than FRAGMENTS have in common.
#define TYPES_AND_FLAGS                                                                             \
  TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),                         \
      TSRI_CONSTANT("FUSED", tsri_dtype_is_float(run->dtype) && run->device->limits.has_exact_fma), \
      TSRI_CONSTANT("SCALED", p->alpha != 1 || p->beta != 0)
#define STORED_AND_SPLIT TSRI_TYPE("Y", stored_dtype(run, how)), TSRI_CONSTANT("SPLIT", how->part > 0)

static void start_call(const tsri_kernel_run *run, const product *p, const way *how, tsri_call *call) {
  const tile *t = &how->tile;
  switch (how->method) {
    case FRAGMENTS:
      start_fragments(run, p, how, call);
      break;
    case BLOCKS:
      tsri_call_init_hooked(
          call, run, "op_matmul", "matmul_blocks",
          TSRI_WITH(TYPES_AND_FLAGS, STORED_AND_SPLIT, TSRI_CONSTANT("A_ALONG_K", p->a.row != 1 || p->a.column == 1),
                    TSRI_CONSTANT("B_ALONG_N", p->b.row != 1 || p->b.column == 1),
                    TSRI_CONSTANT("WIDE_A", how->is_wide_a), TSRI_CONSTANT("WIDE_B", how->is_wide_b),
                    TSRI_TYPE("W", carrier(run->dtype, how, true)),
                    TSRI_CONSTANT("WORDS", reads_words(run->dtype, how)),
                    TSRI_TYPE("H", reads_words(run->dtype, how) ? TSR_U32 : tsri_accumulator(run->dtype)),
                    TSRI_CONSTANT("BRAIN", run->dtype == TSR_BF16),
                    TSRI_CONSTANT("WIDE_Y", tsr_dtype_bytes(run->dtype) <= 4 && stores_quads(p)),
                    TSRI_CONSTANT("BM", t->m), TSRI_CONSTANT("BN", t->n), TSRI_CONSTANT("DEPTH", t->depth),
                    TSRI_CONSTANT("RM", t->item_m), TSRI_CONSTANT("RN", t->item_n), TSRI_CONSTANT("STEPS", how->steps),
                    TSRI_CONSTANT("INSIDE", reads_inside(run->device, how)),
                    TSRI_CONSTANT("WG", t->m / t->item_m * (t->n / t->item_n))));
      break;
    case TILED:
      tsri_call_init_hooked(call, run, "op_matmul", "matmul_tiled",
                            TSRI_WITH(TYPES_AND_FLAGS, TSRI_CONSTANT("A_ALONG_K", p->a.column == 1),
                                      TSRI_CONSTANT("B_ALONG_N", p->b.column == 1), TSRI_CONSTANT("DEPTH", t->depth)));
      break;
    case LONG:
      tsri_call_init_hooked(call, run, "op_matmul", "matmul_long",
                            TSRI_WITH(TYPES_AND_FLAGS, TSRI_CONSTANT("WIDE", how->is_wide_a),
                                      TSRI_CONSTANT("ONCE", how->is_once), TSRI_CONSTANT("DEEP", how->deep),
                                      TSRI_CONSTANT("ROWS", how->rows), TSRI_CONSTANT("WG", how->group)));
      break;
    case SKINNY:
      tsri_call_init_hooked(call, run, "op_matmul", "matmul_skinny",
                            TSRI_WITH(TYPES_AND_FLAGS, STORED_AND_SPLIT, TSRI_CONSTANT("WIDE_A", how->is_wide_a),
                                      TSRI_CONSTANT("WIDE_B", how->is_wide_b), TSRI_CONSTANT("ROWS", how->rows),
                                      TSRI_CONSTANT("COLUMNS", SKINNY_COLUMNS), TSRI_CONSTANT("WG", how->group)));
      break;
    default:
      tsri_call_init_hooked(call, run, "op_matmul", "matmul_naive",
                            TSRI_WITH(TYPES_AND_FLAGS, TSRI_CONSTANT("WG", NAIVE_GROUP)));
  }
}

static void groups_for(const tsr_device *device, const product *p, const way *how, int64_t *out_x, int64_t *out_y) {
  if (how->method == FRAGMENTS) {
    *out_x = (p->n + how->units.tile_n - 1) / how->units.tile_n;
    *out_y = (p->m + how->units.tile_m - 1) / how->units.tile_m;
  } else if (how->method == TILED || how->method == BLOCKS) {
    *out_x = (p->n + how->tile.n - 1) / how->tile.n;
    *out_y = (p->m + how->tile.m - 1) / how->tile.m;
  } else if (how->method == SKINNY) {
    *out_x = (p->n + SKINNY_COLUMNS * 4 - 1) / (SKINNY_COLUMNS * 4);
    *out_y = (p->m + how->rows - 1) / how->rows;
  } else {
    int64_t items = how->method == LONG ? (p->m + how->rows - 1) / how->rows * p->n : p->m * p->n;
    tsri_call_fold(device, how->method == LONG ? items : (items + NAIVE_GROUP - 1) / NAIVE_GROUP, out_x, out_y);
  }
}

static bool can_split(const way *how) {
  return how->method == SKINNY || how->method == BLOCKS || how->method == FRAGMENTS;
}

// How many products of a sum the kernel takes at a time: a split must be a multiple of this.
static int step_of(const way *how) {
  if (how->method == SKINNY) return how->group / SKINNY_COLUMNS * 4;
  return how->method == BLOCKS ? how->tile.depth : how->units.depth;
}

// How many items keep the device busy, as a factor of what the tuning says. Matrix units keep a core busy with fewer items. In tiles with room for 64 rows, 64
// x 13824 with k of 5120 takes 355, 265 and 281 us through Vulkan with factors of 1, 1.5 and 2, and 258, 230 and 232 through OpenCL.
static double busy_share(const product *p, const way *how) {
  if (how->method == FRAGMENTS) return 0.5;
  return how->method == BLOCKS && has_many_sums(&how->tile) && (p->m <= 64 || p->n <= 64) ? 1.5 : 1;
}

static int items_of_group(const way *how) {
  if (how->method == SKINNY) return how->group;
  if (how->method == FRAGMENTS) return tsri_fragment_tile_items(&how->units);
  return how->tile.m / how->tile.item_m * (how->tile.n / how->tile.item_n);
}

static tsr_status launch(const tsri_kernel_run *run, const product *p, const product_part *part, const way *how,
                         tsr_buffer *filler) {
  int64_t count = part->outer * part->inner, most = run->device->limits.max_groups[2], x = 0, y = 0;
  if (most < 1) most = 65535;
  groups_for(run->device, p, how, &x, &y);
  tsr_status status = TSR_OK;
  for (int64_t first = 0; first < count && status == TSR_OK; first += most) {
    tsri_call call;
    start_call(run, p, how, &call);
    pass_matrices(run, how, filler, &call);
    pass_strides(p, part, &call);
    tsri_call_word(&call, "first", first);
    tsri_call_word(&call, "y_at", part->y_at);
    if (can_split(how)) tsri_call_word(&call, "part", how->part);
    tsri_call_real(&call, "alpha", p->alpha);
    tsri_call_real(&call, "beta", p->beta);
    status = tsri_call_groups(&call, x, y, count - first < most ? count - first : most);
  }
  return status;
}

// Computes the product with split sums: a first launch stores the partial sums in a scratch buffer, a second one adds them up.
static tsr_status launch_split(const tsri_kernel_run *run, const product *p, const product_part *part, way how,
                               const tsri_matmul_split *split, tsr_buffer *filler) {
  product q = tsri_matmul_split_product(p, split);
  product_part parts = *part;
  parts.outer = split->parts;
  how.part = split->depth;
  tsri_kernel_run inner = *run;  // stores partial sums, without the fused operators
  inner.epilogue = NULL;
  inner.output = NULL;
  tsr_status status = tsri_call_scratch(run->device, split->parts * part->inner * p->m * p->n,
                                        tsri_accumulator(run->dtype), &inner.output);
  if (status == TSR_OK) status = launch(&inner, &q, &parts, &how, filler);
  if (status == TSR_OK) status = tsri_matmul_split_join(run, p, split->parts, inner.output);
  tsr_buffer_release(inner.output);
  return status;
}

static tsr_status run_part(const tsri_kernel_run *run, const product *p, const product_part *part, tsr_buffer *filler) {
  way how = choose(run->device, p, run->dtype);
  int64_t x = 0, y = 0;
  groups_for(run->device, p, &how, &x, &y);
  if (can_split(&how)) {
    int64_t items = x * y * part->outer * part->inner * items_of_group(&how);
    tsri_matmul_split split =
        tsri_matmul_split_choose(run->device, p, run->dtype, items, step_of(&how), busy_share(p, &how));
    if (split.parts > 1) return launch_split(run, p, part, how, &split, filler);
  }
  return launch(run, p, part, &how, filler);
}

// Computes all entries of the batch. A launch covers two batch axes; this function iterates over the others.
static tsr_status run_parts(const tsri_kernel_run *run, const product *p, tsr_buffer *filler) {
  int rank = p->batch_rank;
  product_part part = {.outer = rank > 1 ? p->batch_dims[rank - 2] : 1,
                       .inner = rank > 0 ? p->batch_dims[rank - 1] : 1};
  int64_t parts = 1;
  for (int i = 0; i < rank - 2; i++) parts *= p->batch_dims[i];
  tsr_status status = TSR_OK;
  for (int64_t i = 0; i < parts && status == TSR_OK; i++) {
    part.a_at = first_of(&p->a, run->dtype);
    part.b_at = first_of(&p->b, run->dtype);
    part.c_at = first_of(&p->c, run->dtype);
    part.y_at = i * part.outer * part.inner * p->m * p->n;
    int64_t rest = i;
    for (int axis = rank - 3; axis >= 0; axis--) {
      int64_t index = rest % p->batch_dims[axis];
      rest /= p->batch_dims[axis];
      part.a_at += index * p->a.batch[axis];
      part.b_at += index * p->b.batch[axis];
      part.c_at += index * p->c.batch[axis];
    }
    status = run_part(run, p, &part, filler);
  }
  return status;
}

static tsr_status run_all(const tsri_kernel_run *run, const product *p) {
  tsr_buffer *filler = NULL;
  tsr_status status = tsri_call_scratch(run->device, 1, run->dtype, &filler);
  if (status == TSR_OK) status = run_parts(run, p, filler);
  tsr_buffer_release(filler);
  return status;
}

// Computes the product that `p` describes with the given factors and result buffer, without the run's fused operators. For tsri_matmul_padded.
static tsr_status run_copies(const tsri_kernel_run *run, const product *p, tsr_buffer *const *factors,
                             tsr_buffer *result) {
  tsri_kernel_run copies = *run;
  copies.input_count = 2;
  copies.inputs = factors;
  copies.output = result;
  copies.epilogue = NULL;
  return run_all(&copies, p);
}

// Computes a product whose y has the accumulator's dtype. There is one launch, and no fused operator.
static tsr_status run_sums(const tsri_kernel_run *run, const product *p) {
  way how = choose(run->device, p, run->dtype);
  if (!can_split(&how)) return TSR_ERR_UNSUPPORTED;
  how.stores_sums = true;
  const product_part part = {.outer = 1,
                             .inner = p->batch_rank > 0 ? p->batch_dims[0] : 1,
                             .a_at = first_of(&p->a, run->dtype),
                             .b_at = first_of(&p->b, run->dtype)};
  return launch(run, p, &part, &how, run->inputs[0]);
}

tsr_status tsri_multiply_matrices(tsr_device *device, const tsri_native_op *op, tsr_buffer *a, tsr_buffer *b,
                                  tsr_buffer *y) {
  tsri_native_op native = *op;
  tsri_product_op *p = &native.is.product;
  tsr_buffer *buffers[3] = {y, a, b};
  tsri_place_bind(&p->y, y);
  tsri_place_bind(&p->a.at, a);
  tsri_place_bind(&p->b.at, b);
  tsr_status status = tsri_device_run_op(device, &native, buffers, 3);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  const tsri_layout there[2] = {{.count = 1}, {.count = 1}};
  const tsri_kernel_run run = {
      .device = device, .input_count = 2, .inputs = buffers + 1, .layouts = there, .output = y, .dtype = op->dtype};
  return op->result != op->dtype ? run_sums(&run, &op->is.product) : run_all(&run, &op->is.product);
}

// --- The operator ----------------------------------------------------------------------------------------------------

// Computes the product by a native operator on copies: padded, or of another dtype with conversions before and after. TSR_ERR_UNSUPPORTED, without a message,
// if there is none.
static tsr_status run_in_parts(const tsri_kernel_run *run, const tsri_native_op *op) {
  tsr_status status = tsri_matmul_padded(run, *op, run_copies);
  if (status != TSR_ERR_UNSUPPORTED || run->epilogue) return status;
  if (run->dtype == TSR_I8) return tsri_matmul_i8(run, *op);
  return tsri_dtype_is_f8(run->dtype) ? tsri_matmul_f8(run, *op) : TSR_ERR_UNSUPPORTED;
}

// Inputs: a, b and, for gemm with beta other than 0, c. All have rank 2 or more and the dtype of the result.
tsr_status tsri_run_matmul(const tsri_kernel_run *run) {
  tsri_native_op op;
  tsri_layout result;
  bool has_terms = tsri_product_of(run->node, &op);
  tsr_status status = tsri_layout_init("matmul", run->shape, run->dtype, &result, NULL);
  for (int i = 0; i < run->input_count && status == TSR_OK; i++) status = tsri_call_check("matmul", &run->layouts[i]);
  if (status == TSR_OK) status = tsri_call_check("matmul", &result);
  if (status != TSR_OK || result.count == 0) return status;
  status = has_terms ? run_in_parts(run, &op) : TSR_ERR_UNSUPPORTED;
  return status == TSR_ERR_UNSUPPORTED ? run_all(run, &op.is.product) : status;
}

static tsr_status check_dtypes(const char *caller, const tsr_tensor *a, const tsr_tensor *b) {
  if (a->dtype != TSR_BOOL || b->dtype != TSR_BOOL) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes numbers, not bool; cast to i32 to count", caller);
}

// Shape of the product of two tensors that have rank 2 or more.
static tsr_status product_shape(const char *caller, tsr_shape a, tsr_shape b, tsr_shape *out_shape) {
  char left[TSR_SHAPE_TEXT_BYTES], right[TSR_SHAPE_TEXT_BYTES];
  if (a.dims[a.rank - 1] != b.dims[b.rank - 2]) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: inner sizes differ, a is %s, b is %s", caller,
                     tsr_shape_format(a, left, sizeof left), tsr_shape_format(b, right, sizeof right));
  }
  tsr_shape batch_a = a, batch_b = b;
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  tsr_status status = tsri_shape_broadcast(caller, batch_a, batch_b, out_shape);
  if (status != TSR_OK) return status;
  if (out_shape->rank + 2 > TSR_MAX_RANK)
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: rank %d", caller, out_shape->rank + 2);
  out_shape->dims[out_shape->rank++] = a.dims[a.rank - 2];
  out_shape->dims[out_shape->rank++] = b.dims[b.rank - 1];
  return tsri_shape_check(caller, *out_shape, &(int64_t){0});
}

// On a GPU, copies a factor that is contiguous along neither axis: kernels would read a whole cache line for each element.
static tsr_tensor *with_lines(tsr_tensor *x) {
  const tsri_layout *layout = &x->layout;
  if (tsr_error(x) != TSR_OK || !tsri_call_tuning(x->value->device)->reduce_wide) return x;
  bool is_scattered = false;
  for (int i = layout->shape.rank - 2; i < layout->shape.rank; i++) {
    if (layout->shape.dims[i] == 1) continue;
    if (layout->strides[i] == 0 || layout->strides[i] == 1) return x;
    is_scattered = true;
  }
  return is_scattered ? tsri_then(tsr_contiguous(x), x) : x;
}

// Records a product of `count` usable inputs of any dtype, which are cast; the first two have rank 2 or more.
static tsr_tensor *record(const tsri_op *op, tsr_dtype dtype, tsr_shape shape, tsr_tensor *const *inputs, int count,
                          tsri_product_attributes factors) {
  tsr_tensor *cast[3];
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < count; i++) {
    cast[i] = tsr_cast(inputs[i], dtype);
    if (i < 2) cast[i] = with_lines(cast[i]);
    if (status == TSR_OK) status = tsri_tensor_check(op->name, cast[i]);
  }
  if (status == TSR_OK) status = tsri_record_device(op->name, cast, count, &device);
  tsr_tensor *result =
      status == TSR_OK ? tsri_record_kernel(op, device, dtype, shape, cast, count, TSRI_GIVE_ALL(op, product, &factors))
                       : tsri_tensor_fail(status);
  for (int i = 0; i < count; i++) tsr_release(cast[i]);
  return tsri_tensor_named(op->name, result);
}

static tsr_status check_pair(const char *caller, const tsr_tensor *a, const tsr_tensor *b) {
  tsr_status status = tsri_tensor_check(caller, a);
  if (status == TSR_OK) status = tsri_tensor_check(caller, b);
  return status == TSR_OK ? check_dtypes(caller, a, b) : status;
}

// Makes a vector a matrix with one row or one column.
static tsr_tensor *as_matrix(tsr_tensor *x, int new_axis) {
  return x->layout.shape.rank == 1 ? tsr_unsqueeze(x, new_axis) : tsr_retain(x);
}

// Whether a matrix times a vector has so few and so long sums that only a reduction with split sums keeps a GPU busy.
static bool has_few_long_sums(const tsr_tensor *a, const tsr_tensor *b, tsr_dtype dtype) {
  enum { FEW_SUMS = 256, LONG_SUMS = 65536 };
  const tsr_shape x = a->layout.shape, y = b->layout.shape;
  if (x.rank != 2 || y.rank != 2 || (x.dims[0] != 1 && y.dims[1] != 1) || !tsri_dtype_is_float(dtype)) return false;
  return x.dims[0] * y.dims[1] <= FEW_SUMS && x.dims[1] >= LONG_SUMS && tsri_call_tuning(a->value->device)->reduce_wide;
}

// Whether each matrix of a batch, whose lines along k are contiguous, is multiplied with its own vector. Then a reduction is faster: a work-group takes as many
// short lines as fit. 256 times 1 x 512 with k of 64 takes 8.5 us in f32 on an H200, and 38 in a matrix product with an item or a work-group for each result.
static bool has_vectors(const tsr_tensor *a, const tsr_tensor *b, tsr_shape shape, tsr_dtype dtype) {
  enum { LEAST_TERMS = 16 };
  const tsr_shape x = a->layout.shape, y = b->layout.shape;
  int64_t m = x.dims[x.rank - 2], k = x.dims[x.rank - 1], n = y.dims[y.rank - 1], batch = 1;
  for (int i = 0; i < shape.rank - 2; i++) batch *= shape.dims[i];
  if (batch < 2 || k < LEAST_TERMS || (m != 1 && n != 1) || !tsri_dtype_is_float(dtype)) return false;
  const tsri_layout *matrices = n == 1 ? &a->layout : &b->layout;
  int64_t step = matrices->strides[matrices->shape.rank - (n == 1 ? 1 : 2)];
  return step == 1 && matrices->count == batch * m * n * k && tsri_call_tuning(a->value->device)->reduce_wide;
}

// Computes the product as a reduction: multiplies a, [.., 1 or m, k], and b, [.., k, n or 1], which broadcast, and sums along k. If b is contiguous along k,
// both are transposed, so that lines along k are rows.
static tsr_tensor *product_by_sums(tsr_tensor *a, tsr_tensor *b, tsr_dtype dtype) {
  int rank = b->layout.shape.rank;
  bool has_rows = b->layout.shape.dims[rank - 1] == 1;
  if (!has_rows && b->layout.strides[rank - 2] == 1) {
    tsr_tensor *rows = tsr_transpose(b, -2, -1), *vector = tsr_transpose(a, -2, -1);
    tsr_tensor *turned = product_by_sums(rows, vector, dtype), *result = tsr_transpose(turned, -2, -1);
    tsri_release_all((tsr_tensor *[]){rows, vector, turned}, 3);
    return result;
  }
  tsr_tensor *vector = tsr_transpose(has_rows ? b : a, -2, -1),
             *factors[2] = {has_rows ? a : vector, has_rows ? vector : b};
  tsr_tensor *products =
      tsri_then(tsri_elementwise_to(TSRI_OPERATOR_mul, tsri_accumulator(dtype), factors, NULL), vector);
  tsr_status status = tsri_tensor_check("matmul", products);
  if (status != TSR_OK) return products;
  uint32_t axes = 1u << (products->layout.shape.rank - (has_rows ? 1 : 2));
  return tsri_then(tsri_record_reduce(TSRI_BODY(dot), dtype, products, axes, true), products);
}

// Whether an outer product (k is 1) is faster as an element-wise product that broadcasts, on a GPU. On an H200, 1000 x 16384 in f32 takes 22.7 us so, 29.0 by
// cuBLASLt, 43 in tiles through OpenCL and 81 through WebGPU; 10^6 x 7 takes 19, 36, 69 and 73. If lines are long and no multiple of four, elements are stored
// one by one: 4097 x 4099 takes 44 us in bf16 and 53 in f32, by cuBLASLt 31, in tiles 57 and 54 through OpenCL, and 153 in bf16 through WebGPU.
static bool is_outer(const tsr_tensor *a, const tsr_tensor *b, tsr_dtype dtype) {
  const tsr_shape x = a->layout.shape, y = b->layout.shape;
  const tsri_tuning *tuning = tsri_call_tuning(a->value->device);
  if (x.dims[x.rank - 1] != 1 || !tuning->reduce_wide) return false;
  int64_t n = y.dims[y.rank - 1];
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = dtype, .result = dtype};
  return n % 4 == 0 || n < tuning->fused_row || !tsri_device_takes(a->value->device, &op);
}

static tsr_tensor *product_of(tsr_tensor *a, tsr_tensor *b) {
  tsr_shape shape;
  tsr_status status = tsri_tensor_check("matmul", a);
  if (status == TSR_OK) status = tsri_tensor_check("matmul", b);
  if (status == TSR_OK) status = product_shape("matmul", a->layout.shape, b->layout.shape, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(matmul), tsri_promote(a->dtype, b->dtype));
  if (has_few_long_sums(a, b, dtype) || has_vectors(a, b, shape, dtype)) return product_by_sums(a, b, dtype);
  if (is_outer(a, b, dtype)) return tsri_elementwise_to(TSRI_OPERATOR_mul, dtype, (tsr_tensor *[]){a, b}, NULL);
  return record(TSRI_BODY(matmul), dtype, shape, (tsr_tensor *[]){a, b}, 2, (tsri_product_attributes){.alpha = 1});
}

tsr_tensor *tsri_product_in(tsr_dtype dtype, tsr_tensor *a, tsr_tensor *b) {
  tsr_shape shape;
  tsr_status status = tsri_tensor_check("matmul", a);
  if (status == TSR_OK) status = tsri_tensor_check("matmul", b);
  if (status == TSR_OK) status = product_shape("matmul", a->layout.shape, b->layout.shape, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return record(TSRI_BODY(matmul), dtype, shape, (tsr_tensor *[]){a, b}, 2, (tsri_product_attributes){.alpha = 1});
}

tsr_tensor *tsr_matmul(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = check_pair("matmul", a, b);
  char left[TSR_SHAPE_TEXT_BYTES], right[TSR_SHAPE_TEXT_BYTES];
  if (status == TSR_OK && (a->layout.shape.rank == 0 || b->layout.shape.rank == 0)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "matmul: a scalar is no matrix, a is %s, b is %s; multiply with mul",
                       tsr_shape_format(a->layout.shape, left, sizeof left),
                       tsr_shape_format(b->layout.shape, right, sizeof right));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool has_row = a->layout.shape.rank == 1, has_col = b->layout.shape.rank == 1;
  if (has_row && has_col) return tsri_tensor_named("matmul", tsr_dot(a, b));
  // Compare the sizes before a vector becomes a matrix, so that the message has the caller's shapes.
  int64_t k = a->layout.shape.dims[a->layout.shape.rank - 1];
  if ((has_row || has_col) && k != b->layout.shape.dims[has_col ? 0 : b->layout.shape.rank - 2]) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "matmul: inner sizes differ, a is %s, b is %s",
                                      tsr_shape_format(a->layout.shape, left, sizeof left),
                                      tsr_shape_format(b->layout.shape, right, sizeof right)));
  }
  tsr_tensor *x = as_matrix(a, 0), *y = as_matrix(b, 1), *result = product_of(x, y);
  tsr_release(x);
  tsr_release(y);
  if (!has_row && !has_col) return tsri_tensor_named("matmul", result);
  tsr_tensor *squeezed = tsr_squeeze(result, has_row ? -2 : -1);
  tsr_release(result);
  return tsri_tensor_named("matmul", squeezed);
}

// For integer products, alpha and beta must be integers.
static tsr_status check_factor(const char *what, double value, tsr_dtype dtype) {
  if (tsri_dtype_is_float(dtype) || (value == trunc(value) && fabs(value) <= 2147483647.0)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "gemm: %s is %g, and a product of %s takes whole numbers of 32 bits", what, value,
                   tsr_dtype_name(dtype));
}

static tsr_status gemm_shape(const tsr_tensor *a, const tsr_tensor *b, const tsr_tensor *c, tsr_shape *out_shape) {
  char left[TSR_SHAPE_TEXT_BYTES], right[TSR_SHAPE_TEXT_BYTES];
  if (a->layout.shape.rank < 2 || b->layout.shape.rank < 2) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "gemm: takes matrices, a is %s, b is %s",
                     tsr_shape_format(a->layout.shape, left, sizeof left),
                     tsr_shape_format(b->layout.shape, right, sizeof right));
  }
  tsr_status status = product_shape("gemm", a->layout.shape, b->layout.shape, out_shape);
  if (status != TSR_OK || !c) return status;
  tsr_shape both;
  status = tsri_shape_broadcast("gemm", *out_shape, c->layout.shape, &both);
  if (status != TSR_OK || tsri_shape_equal(both, *out_shape)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "gemm: c is %s, which does not broadcast to the product's %s",
                   tsr_shape_format(c->layout.shape, right, sizeof right),
                   tsr_shape_format(*out_shape, left, sizeof left));
}

tsr_tensor *tsr_gemm(double alpha, tsr_tensor *a, tsr_tensor *b, double beta, tsr_tensor *c) {
  tsr_shape shape;
  tsr_status status = check_pair("gemm", a, b);
  if (status == TSR_OK && c) status = tsri_tensor_check("gemm", c);
  if (status == TSR_OK) status = gemm_shape(a, b, c, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote(a->dtype, b->dtype);
  if (c) dtype = tsri_promote(dtype, c->dtype);
  dtype = tsri_autocast(TSRI_BODY(gemm), dtype);
  status = check_factor("alpha", alpha, dtype);
  if (status == TSR_OK) status = check_factor("beta", beta, dtype);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool has_c = c && beta != 0;
  tsr_tensor *full = has_c ? tsr_expand(c, shape) : NULL;
  tsr_tensor *result = record(TSRI_BODY(gemm), dtype, shape, (tsr_tensor *[]){a, b, full}, has_c ? 3 : 2,
                              (tsri_product_attributes){.alpha = alpha, .beta = has_c ? beta : 0});
  tsr_release(full);
  return result;
}

// --- Vectors ---------------------------------------------------------------------------------------------------------

static tsr_status check_ranks(const char *caller, const tsr_tensor *a, int rank_a, const tsr_tensor *b, int rank_b) {
  tsr_status status = check_pair(caller, a, b);
  if (status != TSR_OK || (a->layout.shape.rank == rank_a && b->layout.shape.rank == rank_b)) return status;
  char left[TSR_SHAPE_TEXT_BYTES], right[TSR_SHAPE_TEXT_BYTES];
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes a %s and a vector, these are %s and %s", caller,
                   rank_a == 2 ? "matrix" : "vector", tsr_shape_format(a->layout.shape, left, sizeof left),
                   tsr_shape_format(b->layout.shape, right, sizeof right));
}

tsr_tensor *tsr_gemv(tsr_tensor *a, tsr_tensor *x) {
  tsr_status status = check_ranks("gemv", a, 2, x, 1);
  return status == TSR_OK ? tsri_tensor_named("gemv", tsr_matmul(a, x)) : tsri_tensor_fail(status);
}

// Multiplies and sums in one kernel; f16 and bf16 are computed in f32 and rounded at the end.
tsr_tensor *tsr_dot(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = check_ranks("dot", a, 1, b, 1);
  if (status == TSR_OK && a->layout.count != b->layout.count) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "dot: sizes differ, a has %lld, b has %lld", (long long)a->layout.count,
                       (long long)b->layout.count);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote(a->dtype, b->dtype);
  tsr_tensor *products = tsri_elementwise_to(TSRI_OPERATOR_mul, tsri_accumulator(dtype), (tsr_tensor *[]){a, b}, NULL);
  status = tsri_tensor_check("dot", products);
  tsr_tensor *result =
      status == TSR_OK ? tsri_record_reduce(TSRI_BODY(dot), dtype, products, 1, false) : tsri_tensor_fail(status);
  tsr_release(products);
  return tsri_tensor_named("dot", result);
}

tsr_tensor *tsr_outer(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = check_ranks("outer", a, 1, b, 1);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *column = tsr_unsqueeze(a, 1), *result = tsr_mul(column, b);
  tsr_release(column);
  return tsri_tensor_named("outer", result);
}
