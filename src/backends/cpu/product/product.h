// SPDX-License-Identifier: MIT
// Matrix products: the functions of a SIMD level (loops over register tiles, implemented in kernels_isa.c for f32 and f64), and what the files of this folder
// share.
#ifndef TSRI_CPU_PRODUCT_H
#define TSRI_CPU_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/desc.h>
#include <tessera/dtype.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/math/math.h"

// A copy of `bytes` bytes from offset `from` of the source to offset `to` of a line.
typedef struct tsri_product_copy {
  int64_t from, to, bytes;
} tsri_product_copy;

// Functions on rows of quantised weights in one format. `first`, `count` and `n` are multiples of 32.
typedef struct tsri_quant_rows {
  int block, bytes;  // elements of a block, and its bytes
  // Decodes the elements `first` to `first` + `count` - 1 of a row.
  void (*decode)(const uint8_t *row, int64_t first, int64_t count, float *to);
  // The dot product of a row and x, both with n elements.
  float (*dot)(const uint8_t *row, const float *x, int64_t n);
} tsri_quant_rows;

// For rows.c: adds to a strip of sums, with `rows` rows (at least half of tile_rows, or all that exist) and tile_columns columns, the products of a panel of a
// with `rows` lines and `k` rows of b that are read in place, b_row elements apart. continues: starts from the sums that are there, else from 0. Prefetches the
// rows of b that are `ahead` rows further on; 0: none. wide: if not NULL, b is also stored there in the type of sums, with tile_columns elements for each row.
typedef void tsri_product_strip(int rows, int64_t k, const void *a, const void *b, int64_t b_row, int64_t ahead,
                                void *wide, void *sums, int64_t sums_step, bool continues);

// For dots.c: out[r * out_step + j] = the dot product of line r of a and line j of b, for `rows` lines of a (at most dots_rows) and four lines of b. Lines have
// n contiguous elements, at least a vector, and are a_step and b_step elements apart.
typedef void tsri_product_dots(int rows, const void *a, int64_t a_step, const void *b, int64_t b_step, int64_t n,
                               void *out, int64_t out_step);

// The functions of one SIMD level. A panel is the input of a register tile: for each k, `width` contiguous elements, where `width` is tile_rows (panels of a)
// or tile_columns (panels of b). Steps are in elements.
typedef struct tsri_product_kernels {
  int tile_rows, tile_columns;

  // c = a b, or if `adds` c += a b, for one tile and `k` steps of the sum, from a panel of each input. Only the first `rows` rows are required; the others may
  // be written or not.
  void (*tile)(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step, bool adds);

  // For conv/columns.c; NULL in the browser module. As tile, but row p of b begins at b + places[p] bytes.
  void (*tile_at)(int rows, int64_t k, const void *a, const void *b, const int64_t *places, void *c, int64_t c_step,
                  bool adds);

  // For direct.c; NULL in the browser module. As tile, but reads both inputs in place: element (i, p) of a is a[i * a_row + p * a_column]; a row of b has
  // `vectors` (1 or 2) contiguous vectors of tile_columns / 2 elements, and rows of b are b_row apart. Returns how many of the rows it has computed, at least
  // 1: call again for the others.
  int (*direct)(int rows, int vectors, int64_t k, const void *a, int64_t a_row, int64_t a_column, const void *b,
                int64_t b_row, void *c, int64_t c_step, bool adds);

  // For rows.c; NULL in the browser module. The table of f32 also has them for b of bf16 and f16 (NULL if the level has no conversion).
  tsri_product_strip *rows, *rows_of_bf16, *rows_of_f16;

  // For dots.c; otherwise as above.
  tsri_product_dots *few_dots, *few_dots_bf16, *few_dots_f16;
  int dots_rows;

  // Prefetches `rows` rows of `bytes` bytes, `step` bytes apart, into the second-level cache. Any address is allowed. NULL in the browser module.
  void (*fetch)(const char *at, int64_t rows, int64_t bytes, int64_t step);

  // For columns.c; NULL if the level has no such kernel. c = a b for `rows` rows that are contiguous along k, and n columns, 2 to 8. A vector of b has `group`
  // elements of each column, where `group` is 2, 4 or 8, the lanes of a vector divided by the columns; missing columns and elements along k are 0. Rows of c
  // are n apart.
  void (*few_columns)(const float *a, int64_t a_row, int64_t rows, int64_t k, const float *b, int64_t n, float *c);

  // Packs `lines` lines into panels, one after the other; lines that the last panel lacks become 0. Element k of line i is from[i * line_step + k * k_step].
  void (*pack)(void *panels, int width, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step);

  // Writes `lines` contiguous lines of `line_bytes` bytes. Each consists of the same `count` copies, which are contiguous in the line; line i copies from
  // `from` + places[i]. Whole vectors are copied: up to TSRI_PRODUCT_COPY_SLACK bytes beyond a copy are read, and beyond the last line written.
  void (*gather)(char *to, int64_t line_bytes, int64_t lines, const char *from, const int64_t *places,
                 const tsri_product_copy *copies, int count);

  // For outer.c; NULL in the browser module. Writes `rows` contiguous rows of `n` products of an element of a (`a_step` apart) and each element of b. Whole
  // vectors are read and written: up to a vector beyond the end of b, and of the last row.
  void (*outer)(void *to, int64_t rows, int64_t n, const void *a, int64_t a_step, const void *b);

  // Dot products of y with each of `count` rows of `n` elements, which are `step` apart.
  void (*dots)(const void *rows, int64_t step, int64_t count, const void *y, int64_t n, void *out);

  // y[j] += sum over i of x[i] * rows[i * step + j], for `count` rows.
  void (*add_rows)(void *y, int64_t n, const void *x, const void *rows, int64_t step, int64_t count);

  // As add_rows, for rows with fewer elements than a vector and a positive `step`: the sums stay in registers. Reads nothing after the last row. NULL in the
  // browser module.
  void (*add_short_rows)(void *y, int64_t n, const void *x, const void *rows, int64_t step, int64_t count);

  // Only in the table of f32: as dots and add_rows, for rows of bf16. NULL in the browser module.
  void (*dots_bf16)(const uint16_t *rows, int64_t step, int64_t count, const float *y, int64_t n, float *out);
  void (*add_rows_bf16)(float *y, int64_t n, const float *x, const uint16_t *rows, int64_t step, int64_t count);

  // Only in the table of f32: indexed by tsr_quant_format, with i8 last. NULL in the browser module.
  const tsri_quant_rows *quant;

  // row = activation(row + addend) for `n` elements; the addend may be NULL.
  void (*finish)(void *row, const void *addend, int64_t n, tsri_activation activation, const tsri_lane_math *math);
} tsri_product_kernels;

// Returns the functions. `sums` is TSR_F32 or TSR_F64; `simd_level` a result of tsri_cpu_simd_level.
const tsri_product_kernels *tsri_product_kernels_for(const char *simd_level, tsr_dtype sums);

// The arguments of a tile of tsri_product_groups.
typedef struct tsri_group_tile {
  int rows, columns;  // those required; the others may be written or not
  int64_t k;
  const void *a, *b;
  int64_t a_row, a_step;
  void *c;
  int64_t c_step;
  bool adds;
} tsri_group_tile;

// Tiles by instructions that multiply groups (four bytes of neighbouring elements along k, of each input) and add the products to one sum: vdpbf16ps for bf16,
// vpdpbusd for bytes, and AMX for both. Sums are f32 or i32. Panels hold elements unconverted, padded along k with zeros to a multiple of `unit`. For f32 and
// f16 (AMX) each element is split into parts of bf16 (groups_split.c).
typedef struct tsri_product_groups {
  int tile_rows, tile_columns;
  int unit;         // in elements
  int64_t k_block;  // elements along k per block, after which sums go to memory; a multiple of `unit`

  // Called before and after the tiles of a part, on its thread; NULL: nothing to do.
  void (*begin)(void);
  void (*end)(void);

  // Packs `lines` lines into panels of tile_rows lines (pack_a) or tile_columns lines (pack_b), one after the other. Element k of line i is from[i * line_step
  // + k * k_step].
  void (*pack_a)(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step);
  void (*pack_b)(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step);

  int64_t packed_bytes;  // bytes of an element in a panel whose layout only these functions know; 0: those of the dtype

  // As tsri_product_kernels.tile; k is a multiple of `unit`. In a, the first `unit` elements of row i are at a + i * a_row, and the next ones a_step bytes
  // further on; for a panel these are packed_row and packed_step. All rows of the tile are read.
  int64_t packed_row, packed_step;
  void (*tile)(const tsri_group_tile *tile);

  // NULL for bytes. The instructions for bf16 treat subnormal numbers as 0 and flush subnormal sums, which the CPU backend promises not to do. So `least` finds
  // the smallest magnitude (as bits) of elements other than 0 in a panel of `rows` rows of `bytes` bytes, `step` bytes apart. Tiles for which
  // tsri_product_may_flush is true are computed by exact_tile, with multiplications and additions of f32. For split elements exact_tile is NULL, and
  // tsri_product_split_tile computes such tiles.
  uint32_t (*least)(const void *at, int64_t rows, size_t bytes, int64_t step);
  void (*exact_tile)(const tsri_group_tile *tile);
} tsri_product_groups;

enum { TSRI_PRODUCT_NO_LEAST = 0x10000 };  // `least` of a panel of zeros

// Whether an element, or a sum of products of bf16, may be subnormal. A product of elements with the exponents x and y (as stored, with a bias of 127) is a
// multiple of 2^(x + y - 2 * (127 + 7)), and so is any sum of such products; so a sum that is not 0 is at least that large.
static inline bool tsri_product_may_flush(uint32_t least_a, uint32_t least_b) {
  enum { FRACTION_BITS = 7, BIAS = 127, LEAST_NORMAL = -126 };
  int x = (int)(least_a >> FRACTION_BITS), y = (int)(least_b >> FRACTION_BITS);
  return x == 0 || y == 0 || x + y - 2 * (BIAS + FRACTION_BITS) < LEAST_NORMAL;
}

// Returns the tiles for `dtype` among those that `units` (cpu.h) allows; NULL: none. Then products of f16 and bf16 are computed in f32.
const tsri_product_groups *tsri_product_groups_for(uint32_t units, tsr_dtype dtype, int64_t k);

// A matrix of the inputs. Steps are in elements.
typedef struct tsri_product_matrix {
  const char *at;
  int64_t row, column;
} tsri_product_matrix;

// c = activation(alpha a b + beta addend + bias) + residual for one pair of matrices. c and residual are row-major without gaps.
typedef struct tsri_product {
  const tsri_product_kernels *kernels;
  const tsri_product_groups *groups;  // NULL: use the tiles of `kernels`
  const tsri_quant_rows
      *quant;  // NULL: b is a matrix. Else its columns are rows of quantised blocks, which are contiguous
  const tsri_lane_storage *storage;  // conversions of `dtype`
  const tsri_lane_math *math;
  bool is_bf16;
  bool is_narrow;             // f16, bf16, bytes: sums are in separate memory, and are converted when a row is finished
  bool has_integers;          // bytes: sums are i32, whose low bytes are kept
  size_t element, sum_bytes;  // bytes of an element and of a sum
  int64_t m, n, k;
  int64_t k_ahead;  // columns of a and rows of b after those of this product, which the caller multiplies next
  tsri_product_matrix a, b;
  char *c;
  const char *bias, *residual;  // NULL: none
  bool is_scaled;               // sums are multiplied by alpha, and if beta is not 0, beta * addend is added
  double alpha, beta;
  tsri_product_matrix addend;
  tsri_activation activation;
  int threads;
  char *scratch;  // of tsri_product_scratch_bytes
} tsri_product;

// Bytes of a row of quantised weights.
static inline int64_t tsri_product_row_bytes(const tsri_product *p) { return p->k / p->quant->block * p->quant->bytes; }

// Whether the result is just products of floats, without bias, activation and so on.
static inline bool tsri_product_is_bare(const tsri_product *p) {
  return !p->bias && !p->residual && !p->is_scaled && p->activation == TSRI_ACTIVATION_NONE && !p->has_integers &&
         !p->quant;
}

// Whether sums can be stored in c as they are.
static inline bool tsri_product_is_plain(const tsri_product *p) {
  return !p->is_narrow && !p->is_scaled && !p->bias && !p->residual && p->activation == TSRI_ACTIVATION_NONE;
}

// Gives `n` elements of `row` (a bias or a residual) from element `at` on, in the type of sums: in place, or converted into `wide`. At most
// TSRI_PRODUCT_STRETCH elements. NULL: there is no row.
enum { TSRI_PRODUCT_STRETCH = 2048 };
const void *tsri_product_widen(const tsri_product *p, const char *row, int64_t at, int64_t n, float *wide);

// Finishes `n` sums, the first of which is for element `at` of c: adds the bias (converted), applies the activation, adds the residual, and stores the result's
// dtype.
void tsri_product_finish(const tsri_product *p, char *sums, const void *bias, int64_t at, int64_t n);

// As tsri_product_finish, for columns `first` to `last` - 1 of all rows. Their sums begin at `sums`, with rows `step` apart.
void tsri_product_finish_columns(const tsri_product *p, char *sums, int64_t step, int64_t first, int64_t last);

// Copies `rows` x `columns` elements of a tile that was computed in separate memory (with rows tile_columns apart) to `sums`, or adds them if `adds`. The
// tile's contents are undefined afterwards.
void tsri_product_take_tile(const tsri_product *p, void *tile, char *sums, int64_t sums_step, int64_t rows,
                            int64_t columns, bool adds);

// Adds `count` sums to others.
void tsri_product_add_sums(const tsri_product *p, char *to, const char *from, int64_t count);

enum { TSRI_PRODUCT_COPY_SLACK = 64 };

// MOST_WIDTH: lines of the widest panel of f32, that is, rows or columns of a register tile. MOST_TILE: elements of the largest tile.
enum { TSRI_PRODUCT_K_BLOCK = 256, TSRI_PRODUCT_MOST_WIDTH = 32, TSRI_PRODUCT_MOST_TILE = 16 * 32 };

// A tile of split elements: rows from `row` and columns from `column` on of the result, `depth` elements from `k` on along k, and the smallest magnitudes of
// both panels (tsri_product_groups.least).
typedef struct tsri_split_tile {
  int64_t row, column, k, depth;
  uint32_t least_a, least_b;
} tsri_split_tile;

// Bytes of scratch memory that tsri_product_run needs.
size_t tsri_product_scratch_bytes(const tsri_product *p);

// Computes the product. The sum over k is divided into blocks of TSRI_PRODUCT_K_BLOCK, each of which is summed starting from 0 and added to the blocks before:
// the same bits on any number of threads.
void tsri_product_run(const tsri_product *p);

// Whether tiles can read rows of a in place: elements are contiguous along k, and the rows of a tile are not in the same few sets of the first-level cache.
// (Addresses with a distance of 4 KiB are in the same set, which has room for eight lines or more.)
static inline bool tsri_product_lies_along_k(const tsri_product *p) {
  enum { MEETING_BYTES = 4096 };
  return p->a.column == 1 && p->a.row * (int64_t)p->element % MEETING_BYTES != 0;
}

// Whether vector.c computes the product, as a matrix-vector product at the speed of memory: m or n is 1.
bool tsri_product_has_vector(const tsri_product *p);
size_t tsri_product_vector_scratch_bytes(const tsri_product *p);
void tsri_product_run_vector(const tsri_product *p);

#if defined(__wasm__)
#include "backends/cpu/product/ways_wasm.inc"
#else
// Returns the tiles that split f32 or f16 into bf16, if `units` allows them and they are faster for a packed product of this size; else NULL.
const tsri_product_groups *tsri_product_split_for(uint32_t units, const tsri_product *p);

// Whether the product uses such tiles.
static inline bool tsri_product_is_split(const tsri_product *p) { return p->groups && p->groups->packed_bytes; }

// Computes a tile of such a product. Where the instructions would lose precision, it is computed by multiply-adds of f32.
void tsri_product_split_tile(const tsri_product *p, const tsri_group_tile *tile, const tsri_split_tile *at);

// Whether direct.c is best for the product, without packing: few rows, or a small matrix b.
bool tsri_product_is_direct(const tsri_product *p);
size_t tsri_product_direct_scratch_bytes(const tsri_product *p);
void tsri_product_run_direct(const tsri_product *p);

// Whether rows.c computes the product: few rows and many columns; it reads b once in the order of memory.
bool tsri_product_has_few_rows(const tsri_product *p);
size_t tsri_product_rows_scratch_bytes(const tsri_product *p);
void tsri_product_run_rows(const tsri_product *p);

// Whether dots.c computes the product: few rows, and a matrix b whose columns are contiguous.
bool tsri_product_has_few_dots(const tsri_product *p);
size_t tsri_product_dots_scratch_bytes(const tsri_product *p);
void tsri_product_run_dots(const tsri_product *p);

// Least rows of bf16 for which tiles of groups, which need packing, are faster than reading b in place (rows.c): 9 for AMX and 6 for vdpbf16ps.
static inline int64_t tsri_product_least_group_rows(const tsri_product *p) { return 4 + p->groups->tile_rows / 6; }

// Whether group_rows.c (rows of b are contiguous) or group_lines.c (its columns are) computes the product: bf16 or bytes with few rows.
bool tsri_product_has_few_groups(const tsri_product *p);
size_t tsri_product_few_groups_scratch_bytes(const tsri_product *p);
void tsri_product_run_few_groups(const tsri_product *p);
bool tsri_product_has_group_lines(const tsri_product *p);
size_t tsri_product_group_lines_scratch_bytes(const tsri_product *p);
void tsri_product_run_group_lines(const tsri_product *p);

// Whether deep.c is best for the product on `threads` threads: few sums, and many blocks of k, which threads take instead of parts of the result. Sums are
// added in the same order as by tsri_product_run.
bool tsri_product_is_deep(const tsri_product *p, int threads);
size_t tsri_product_deep_scratch_bytes(const tsri_product *p);
void tsri_product_run_deep(const tsri_product *p);

// Whether columns.c computes the product: a few columns.
bool tsri_product_has_few_columns(const tsri_product *p);
size_t tsri_product_columns_scratch_bytes(const tsri_product *p);
void tsri_product_run_columns(const tsri_product *p);

// Whether quant_rows.c computes the product: few rows of a and quantised weights, which are decoded into registers or the first-level cache.
bool tsri_product_has_quant_rows(const tsri_product *p);
size_t tsri_product_quant_scratch_bytes(const tsri_product *p);
void tsri_product_run_quant_rows(const tsri_product *p);

// Whether outer.c is best for the product: k is 1, and the result is just products.
bool tsri_product_is_outer(const tsri_product *p);
size_t tsri_product_outer_scratch_bytes(const tsri_product *p);
void tsri_product_run_outer(const tsri_product *p);
#endif

#endif
