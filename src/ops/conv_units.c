// SPDX-License-Identifier: MIT
// Chooses the tile of a convolution by matrix units, and launches it.
#include "ops/conv_units.h"

#include "graph/node.h"
#include "ops/conv_tiles.h"
#include "ops/window.h"

enum {
  MANY_CORES = 128,
  PAD = 8,
  FACTS = 5
};  // PAD: as in the kernel. FACTS: words of `places` and `table` for a step

// A part (the block of a subgroup) has rows x cols fragments; a tile is 2 x 2 parts. rate: relative speed of a core with such tiles.
typedef struct units_cut {
  int rows, cols, steps;  // fragments along k in shared memory at a time
  int rate;
} units_cut;

static const units_cut cuts[] = {{4, 4, 1, 200}, {2, 4, 1, 160}, {2, 2, 2, 110}, {1, 2, 2, 60}};

// A tile; the kernel's parameters have the same names.
typedef struct unit_tile {
  tsr_fragment_size fragment;
  int part_m, part_n, tile_m, tile_n, depth, group, subgroup;
} unit_tile;

static int64_t product_of(const int64_t *values) { return values[0] * values[1] * values[2]; }

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

static int64_t steps_of(const tsri_conv_op *op) { return op->channels * product_of(op->kernel); }

static int64_t columns_of(const tsri_conv_op *op) { return op->images * product_of(op->windows); }

// How many tiles the results of all groups of channels have.
static int64_t tiles_of(const tsri_conv_op *op, const unit_tile *t) {
  return chunks_of(op->out_channels, t->tile_m) * chunks_of(columns_of(op), t->tile_n) * op->groups;
}

static const tsr_fragment_size *fragment_for(const tsr_device *device, tsr_dtype dtype) {
  tsr_dtype wanted = dtype == TSR_F32 && device->allows_tf32 ? TSR_BF16 : dtype;
  for (uint32_t i = 0; i < device->limits.fragment_count && wanted != TSR_F32; i++) {
    if (device->limits.fragments[i].dtype == wanted) return &device->limits.fragments[i];
  }
  return NULL;
}

// Whether the device has the memory and items for the tile, and its items can share all work evenly; the kernel asserts that.
static bool fits(const tsr_device *device, const unit_tile *t, tsr_dtype dtype) {
  int pair = t->part_n / t->fragment.n % 2 == 0 ? 2 : 1, results = t->fragment.m * t->fragment.n * pair;
  size_t pieces = dtype == TSR_F32 ? 2 : 1,
         elements = (size_t)t->tile_m * (size_t)(t->depth + PAD) + (size_t)t->depth * (size_t)(t->tile_n + PAD);
  size_t bytes = pieces * elements * 2 + (size_t)(t->group / t->subgroup * results) * sizeof(float) +
                 (size_t)(2 * t->depth * FACTS) * sizeof(uint32_t);
  bool is_even = t->group % (t->tile_n / 2) == 0 && t->tile_m * t->depth % (2 * t->group) == 0 &&
                 t->tile_n * t->depth % (2 * t->group) == 0 && results % (t->subgroup * 4) == 0 && t->depth <= t->group;
  return is_even && bytes <= device->limits.shared_bytes && (uint32_t)t->group <= device->limits.max_group_size;
}

// The tile with the least estimated time: the number of rounds in which the cores compute all tiles, times the cost of a tile.
static bool choose_tile(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype, unit_tile *out_tile) {
  enum { STORE = 80 };  // fixed cost of a result besides its sum, in steps
  const tsr_fragment_size *size = fragment_for(device, dtype);
  int subgroup = tsr_device_subgroup_size(device);
  int64_t cores = device->info.compute_units > 0 ? device->info.compute_units : MANY_CORES;
  double least = 0;
  bool has_any = false;
  if (!size || subgroup == 0) return false;
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    const units_cut *c = &cuts[i];
    unit_tile t = {.fragment = *size,
                   .part_m = c->rows * size->m,
                   .part_n = c->cols * size->n,
                   .tile_m = 2 * c->rows * size->m,
                   .tile_n = 2 * c->cols * size->n,
                   .depth = c->steps * size->k,
                   .group = 4 * subgroup,
                   .subgroup = subgroup};
    double cost =
        (double)chunks_of(tiles_of(op, &t), cores) * t.tile_m * t.tile_n * (double)(steps_of(op) + STORE) / c->rate;
    if (!fits(device, &t, dtype) || (has_any && cost >= least)) continue;
    has_any = true;
    least = cost;
    *out_tile = t;
  }
  return has_any;
}

// Not where most of the smallest tile's rows would be empty (12 channels of a group: 365 us for 2 x 256 x 56^2 to 48, 7 x 7, on an H200, and 174 in tiles without
// matrix units), nor where so few tiles have long sums that those, which divide sums among work-groups, are faster: 64 x 32 x 7^2 to 32, 7 x 7, f16, has 49 and
// takes 52 us through OpenCL, 44 by the others.
bool tsri_conv_has_units(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { LEAST_ROWS = 24, LEAST_STEPS = 24, BUSY_SHARE = 2, WORK_OF_TILE = 1 << 15, MOST_GROUPS = 65535 };
  int64_t busy = TSRI_TUNED(tsri_tuning_of(device), matmul_tiles);  // tiles that keep the device busy
  double work = (double)steps_of(op) * (double)op->out_channels * (double)(op->groups * columns_of(op));
  bool has_phases = op->is_transposed && product_of(op->stride) != 1;
  unit_tile tile;
  if (has_phases || op->out_channels < LEAST_ROWS || steps_of(op) < LEAST_STEPS || op->groups > MOST_GROUPS)
    return false;
  return work >= (double)busy * WORK_OF_TILE && choose_tile(device, op, dtype, &tile) &&
         tiles_of(op, &tile) * BUSY_SHARE >= busy;
}

// Four neighbouring results are stored at once where they are neighbours in y, too.
static bool stores_quads(const tsri_conv_op *op, bool is_last) {
  return !is_last && op->windows[TSRI_CONV_AXES - 1] % 4 == 0;
}

tsr_status tsri_conv_run_units(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last) {
  unit_tile t;
  if (!choose_tile(run->device, op, run->dtype, &t)) return TSR_ERR_UNSUPPORTED;
  tsr_dtype carrier = run->dtype == TSR_F32 ? TSR_U32 : TSR_I16;
  tsri_call call;
  tsri_call_init_hooked(
      &call, run, "op_conv_units", "conv_units",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("E", t.fragment.dtype), TSRI_TYPE("W", carrier),
                TSRI_CONSTANT("BIAS", op->has_bias), TSRI_CONSTANT("LAST", is_last),
                TSRI_CONSTANT("TRANSPOSED", op->is_transposed), TSRI_CONSTANT("WIDE_Y", stores_quads(op, is_last)),
                TSRI_CONSTANT("AXES", tsri_conv_axes(op)), TSRI_CONSTANT("M", t.fragment.m),
                TSRI_CONSTANT("N", t.fragment.n), TSRI_CONSTANT("K", t.fragment.k), TSRI_CONSTANT("PART_M", t.part_m),
                TSRI_CONSTANT("PART_N", t.part_n), TSRI_CONSTANT("BM", t.tile_m), TSRI_CONSTANT("BN", t.tile_n),
                TSRI_CONSTANT("DEPTH", t.depth), TSRI_CONSTANT("SG", t.subgroup), TSRI_CONSTANT("WG", t.group)));
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_conv_give(&call, run, op, carrier);
  int64_t across = chunks_of(columns_of(op), t.tile_n), x = 0, y = 0;
  tsri_call_word(&call, "n", columns_of(op));
  tsri_call_word(&call, "k", steps_of(op));
  tsri_call_word(&call, "tiles_across", across);
  tsri_call_fold(run->device, across * chunks_of(op->out_channels, t.tile_m), &x, &y);
  return tsri_call_groups(&call, x, y, op->groups);
}
