// SPDX-License-Identifier: MIT
// Chooses the tiles of kernels/op_distance.tk and launches them.
#include "ops/distance_tiles.h"

#include "ops/promote.h"

enum { TILE_DEPTH = 8 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t tile_count(const tsri_distance_sizes *s, const tsri_distance_tile *t) {
  return s->batch * divide_up(s->m, t->m) * divide_up(s->n, t->n);
}

static size_t tile_shared_bytes(const tsri_distance_tile *t, size_t element) {
  enum { PAD = 4 };  // same as in the kernel
  return (size_t)(2 * TILE_DEPTH * (t->m + t->n + 2 * PAD)) * element;
}

// An estimate of the time that all tiles take, in no particular unit. Tiles are computed in rounds, one tile per core in each; the cores are guessed from
// matmul_tiles. In each step along k, an item has item_m * item_n pairs of elements, of two instructions each, for which it loads item_m + item_n elements from
// shared memory, in vectors of four. A core starts four instructions per cycle, but a vector load of a subgroup occupies its shared memory for up to four
// cycles.
static double tile_cost(const tsri_distance_sizes *s, const tsri_distance_tile *t, int cores) {
  int pairs = t->item_m * t->item_n, loads = t->item_m + t->item_n;
  return (double)divide_up(tile_count(s, t), cores) * t->m * t->n * (1 + 2.0 * loads / pairs);
}

// Takes the tile with the lowest estimate. None (false) on the CPU, whose items have no registers for many sums; for
// short rows, where writing y takes most of the time; and where most of even the smallest tile would lie outside of y.
bool tsri_distance_choose_tile(tsr_device *device, const tsri_distance_sizes *s, tsr_dtype dtype,
                               tsri_distance_tile *out_tile) {
  static const tsri_distance_tile tiles[] = {{128, 64, 8, 8}, {64, 64, 8, 4}, {32, 32, 4, 4}};
  enum { TILE_KINDS = sizeof tiles / sizeof tiles[0], LEAST_ROW = 2 * TILE_DEPTH, MOST_WASTE = 3 };
  const tsri_tuning *tuning = tsri_call_tuning(device);
  const tsri_distance_tile *smallest = &tiles[TILE_KINDS - 1];
  if (!TSRI_TUNED(tuning, matmul_blocks) || s->k < LEAST_ROW) return false;
  double results = (double)s->batch * (double)s->m * (double)s->n;
  if ((double)tile_count(s, smallest) * smallest->m * smallest->n > MOST_WASTE * results) return false;
  double least = 0;
  for (int i = 0; i < TILE_KINDS; i++) {
    const tsri_distance_tile *t = &tiles[i];
    uint32_t items = (uint32_t)(t->m / t->item_m * (t->n / t->item_n));
    size_t shared_bytes = tile_shared_bytes(t, tsr_dtype_bytes(tsri_accumulator(dtype)));
    if (items > device->limits.max_group_size || shared_bytes > device->limits.shared_bytes) continue;
    double cost = tile_cost(s, t, TSRI_TUNED(tuning, matmul_tiles));
    if (least > 0 && cost >= least) continue;
    least = cost;
    *out_tile = *t;
  }
  return least > 0;
}

static bool is_by_four(int64_t x, int64_t y, int64_t z, int64_t w) {
  return x % 4 == 0 && y % 4 == 0 && z % 4 == 0 && w % 4 == 0;
}

tsr_status tsri_distance_launch_tiles(const tsri_kernel_run *run, const tsri_distance_sizes *s,
                                      const tsri_distance_tile *t) {
  const tsri_layout *a = &run->layouts[0], *b = &run->layouts[1];
  tsr_dtype dtype = run->input_dtypes[0];
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  int steps = TSRI_TUNED(tuning, matmul_steps);
  if (steps < 1 || TILE_DEPTH % steps != 0) steps = 1;
  bool b_is_along_k = b->strides[2] == 1 || b->strides[1] != 1;
  // Whether four neighbouring elements can be read at once, along k in a, and in b along the axis with stride 1.
  bool is_wide_a = is_by_four(a->offset, s->k, 0, 0), is_wide_b = false;
  if (b_is_along_k) is_wide_b = b->strides[2] == 1 && is_by_four(b->offset, b->strides[0], b->strides[1], s->k);
  else is_wide_b = is_by_four(b->offset, b->strides[0], b->strides[2], s->n);
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_distance", "distance_tiles",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_accumulator(dtype)),
                TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma), TSRI_CONSTANT("B_ALONG_K", b_is_along_k),
                TSRI_CONSTANT("WIDE_A", is_wide_a), TSRI_CONSTANT("WIDE_B", is_wide_b),
                TSRI_CONSTANT("WIDE_Y", tsr_dtype_bytes(dtype) <= 4 && s->n % 4 == 0), TSRI_CONSTANT("BM", t->m),
                TSRI_CONSTANT("BN", t->n), TSRI_CONSTANT("DEPTH", TILE_DEPTH), TSRI_CONSTANT("RM", t->item_m),
                TSRI_CONSTANT("RN", t->item_n), TSRI_CONSTANT("STEPS", steps),
                TSRI_CONSTANT("WG", t->m / t->item_m * (t->n / t->item_n))));
  tsri_distance_pass(run, s, &call);
  tsri_call_word(&call, "tiles_m", divide_up(s->m, t->m));
  tsri_call_word(&call, "tiles_n", divide_up(s->n, t->n));
  tsri_call_word(&call, "tiles", tile_count(s, t));
  return tsri_call_many_groups(&call, tile_count(s, t));
}
