// SPDX-License-Identifier: MIT
#include "ops/fragment_tile.h"

enum { PAD = 8, MANY_CORES = 128 };  // PAD: as in the kernel

// A part (the block of a subgroup) has rows x cols fragments; a tile is 2 x 2 parts. rate: relative speed of a core with such tiles. On an H200, f16 products
// that fill the device run at 314 TFLOP/s with the first row of the table and at 216 with the second. store: fixed cost of a result besides its sum, as a
// number of products at that speed. 4097 x 4099 of bf16 with k of 16, 64 and 256 takes 56, 57 and 93 us through OpenCL with the first row, 41, 49 and 99 with
// the second, and 32, 45 and 99 with the third. The last two rows are for thin products, of at most THIN fragments of rows or columns: 6 x 13824 x 5120 takes
// 58 us with eight steps on Vulkan, 76 with four.
// is_for_f32: for f32 as two bf16. 8448 x 1016 x 2048 takes 337 us through OpenCL with the first such row, 453 with the second; 40 x 8078 x 5114 takes 266 and
// 112. Parts of 4 x 2, 2 x 2, 1 x 4 and 3 x 2 fragments were slower.
typedef struct cut {
  int rows, cols, steps;  // fragments along k in shared memory at a time
  int rate, store;
  bool is_for_thin, is_for_f32;
} cut;

enum { THIN = 4, FEW_F32 = 32 };  // FEW_F32: rows or columns

static const cut cuts[] = {{4, 4, 4, 314, 239, false, false}, {2, 4, 2, 216, 120, false, false},
                           {2, 4, 1, 200, 92, false, false},  {1, 2, 8, 143, 66, true, false},
                           {1, 2, 4, 110, 50, true, false},   {4, 4, 1, 104, 79, false, true},
                           {2, 4, 2, 78, 43, false, true}};

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int tsri_fragment_tile_items(const tsri_fragment_tile *t) {
  return t->tile_m / t->part_m * (t->tile_n / t->part_n) * t->subgroup_size;
}

int tsri_fragment_tile_run(const tsri_fragment_tile *t) { return 8 / t->pieces; }

// One factor's tile in shared memory: number of lines, and elements of a line.
typedef struct lines {
  int count, length;
} lines;

static lines lines_of(const tsri_fragment_tile *t, bool is_left) {
  bool is_along_k = is_left != (is_left ? t->a_by_columns : t->b_by_columns);
  int side = is_left ? t->tile_m : t->tile_n;
  return is_along_k ? (lines){side, t->depth} : (lines){t->depth, side};
}

static int stored_together(const tsri_fragment_tile *t) { return t->part_n / t->fragment.n % 2 == 0 ? 2 : 1; }

size_t tsri_fragment_tile_shared_bytes(const tsri_fragment_tile *t) {
  size_t bytes = 0;
  for (int i = 0; i < 2; i++) {
    lines side = lines_of(t, i == 0);
    bytes += (size_t)side.count * (size_t)(side.length + PAD) * 2 * (size_t)t->pieces;
  }
  int subgroups = tsri_fragment_tile_items(t) / t->subgroup_size;
  return bytes + (size_t)(subgroups * t->fragment.m * t->fragment.n * stored_together(t)) * sizeof(float);
}

// Whether all items do the same share of every step; the kernel asserts that.
static bool is_even(const tsri_fragment_tile *t) {
  int items = tsri_fragment_tile_items(t), run = tsri_fragment_tile_run(t);
  for (int i = 0; i < 2; i++) {
    lines side = lines_of(t, i == 0);
    int runs = side.length / run;
    if (runs == 0 || side.length % run != 0 || items % runs != 0 || side.count % (items / runs) != 0) return false;
  }
  return t->fragment.m * t->fragment.n * stored_together(t) % (t->subgroup_size * 4) == 0;
}

static bool fits(const tsr_device *device, const tsri_fragment_tile *t) {
  const tsri_limits *limits = &device->limits;
  return is_even(t) && (uint32_t)tsri_fragment_tile_items(t) <= limits->max_group_size &&
         tsri_fragment_tile_shared_bytes(t) <= limits->shared_bytes;
}

// Estimates the time of the product, in arbitrary units: the number of rounds in which the cores compute all tiles, times the cost of a tile. Steps beyond k in
// the last strip are computed, too, so they count.
static double cost_of(const tsr_device *device, const tsri_product_op *p, const tsri_fragment_tile *t, const cut *c) {
  int64_t cores = device->info.compute_units > 0 ? device->info.compute_units : MANY_CORES;
  int64_t tiles = round_up(p->m, t->tile_m) * round_up(p->n, t->tile_n);
  for (int i = 0; i < p->batch_rank; i++) tiles *= p->batch_dims[i];
  double products = (double)(round_up(p->k, t->depth) * t->depth + c->store);
  return (double)round_up(tiles, cores) * t->tile_m * t->tile_n * products / c->rate;
}

static const tsr_fragment_size *fragment_for(const tsr_device *device, tsr_dtype dtype) {
  for (uint32_t i = 0; i < device->limits.fragment_count; i++) {
    if (device->limits.fragments[i].dtype == dtype) return &device->limits.fragments[i];
  }
  return NULL;
}

bool tsri_fragment_tile_choose(const tsr_device *device, const tsri_product_op *p, tsr_dtype dtype,
                               tsri_fragment_tile *out_tile) {
  bool is_f32 = dtype == TSR_F32;
  const tsr_fragment_size *size =
      is_f32 && !device->allows_tf32 ? NULL : fragment_for(device, is_f32 ? TSR_BF16 : dtype);
  // A thin product is limited by memory, not by the matrix units, so these are used even if only a quarter of a fragment's rows are filled.
  // In f32, 16 rows of 4096 with k of 4096 take 52 to 117 us by matrix units and 37 in tiles of plain f32.
  if (is_f32 && (p->m <= FEW_F32 || p->n <= FEW_F32)) return false;
  if (!size || 4 * p->m < size->m || 2 * p->n < size->n || p->k < size->k) return false;
  bool is_thin = p->m <= (int64_t)THIN * size->m || p->n <= (int64_t)THIN * size->n, has_any = false;
  double least = 0;
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    const cut *c = &cuts[i];
    tsri_fragment_tile t = {.fragment = *size,
                            .pieces = is_f32 ? 2 : 1,
                            .part_m = c->rows * size->m,
                            .part_n = c->cols * size->n,
                            .tile_m = 2 * c->rows * size->m,
                            .tile_n = 2 * c->cols * size->n,
                            .depth = c->steps * size->k,
                            .subgroup_size = tsr_device_subgroup_size(device),
                            .a_by_columns = p->a.column != 1 && p->a.row == 1,
                            .b_by_columns = p->b.column != 1 && p->b.row == 1};
    if (t.subgroup_size == 0 || c->is_for_f32 != is_f32 || !fits(device, &t) || (c->is_for_thin && !is_thin)) continue;
    double cost = cost_of(device, p, &t, c);
    if (has_any && cost >= least) continue;
    has_any = true;
    least = cost;
    *out_tile = t;
  }
  return has_any;
}
