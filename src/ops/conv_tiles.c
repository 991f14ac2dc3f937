// SPDX-License-Identifier: MIT
// Convolutions by kernels/op_conv_tiles.tk: chooses the tile, and into how many parts sums are split, so that there is work for the whole device.
#include "ops/conv_tiles.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/promote.h"
#include "ops/window.h"

enum { FEW_RESULTS = 8192 };  // below this, joining takes more items per result
enum { NARROW = 16 };         // columns of the narrow tile

typedef struct conv_tile {
  int m, n, depth, item_m, item_n;
} conv_tile;

// The matrix product that a convolution is computed as (one for each of its groups), and how it is divided.
typedef struct conv_cut {
  int64_t rows, columns, k, positions, phases,
      count;  // columns, k (at most): of a phase; positions, count (elements): of the result
  conv_tile tile;
  int64_t tiles_across, tiles;  // tiles_across: of a phase; tiles: of a convolution group
  int64_t active;               // phases that have kernel elements; the results of others are 0 (or the bias)
  int64_t splits, depth;        // number of parts of k, and steps in each
  int teams;                    // teams of items that share the steps of a part
} conv_cut;

static int64_t product_of(const int64_t *values) { return values[0] * values[1] * values[2]; }

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

static int64_t common_divisor(int64_t a, int64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

// A transposed convolution with strides is computed as one convolution with stride 1 for each phase (kernels/op_conv_tiles.tk). Returns the distance between
// the kernel elements of a phase along an axis.
static int64_t tap_step(const tsri_conv_op *op, int axis) {
  return op->is_transposed ? op->stride[axis] / common_divisor(op->stride[axis], op->dilation[axis]) : 1;
}

// Length of the sum for one result, k of the matrix product: the maximum over all phases.
static int64_t steps_of(const tsri_conv_op *op) {
  int64_t steps = op->channels;
  for (int i = 0; i < TSRI_CONV_AXES; i++) steps *= chunks_of(op->kernel[i], tap_step(op, i));
  return steps;
}

bool tsri_conv_has_tiles(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { FEW_ROWS = 8, FEW_STEPS = 256, MOST_GROUPS = 65535, LITTLE_WORK = 1 << 17 };
  const tsri_tuning *tuning = tsri_tuning_of(device);
  int64_t k = steps_of(op);
  double work = (double)k * (double)op->out_channels * (double)(op->images * product_of(op->windows));
  bool is_worth_it = (op->out_channels >= FEW_ROWS || k >= FEW_STEPS) && work >= LITTLE_WORK;
  return TSRI_TUNED(tuning, conv_depth) != 0 && tsri_dtype_is_float(dtype) && op->groups <= MOST_GROUPS && is_worth_it;
}

// Items of a team.
static int items_of(const conv_tile *tile) { return tile->m / tile->item_m * (tile->n / tile->item_n); }

// Whether shared memory holds two strips of each matrix for every team and, if there are several teams, the sums of one team.
static bool fits(const tsr_device *device, const conv_tile *tile, size_t element, int teams) {
  enum { PAD = 4, FACTS = 5 };  // PAD of the kernel; words of `places` and `table` per step
  size_t bytes =
      (size_t)(2 * tile->depth) * ((size_t)(tile->m + tile->n + 2 * PAD) * element + FACTS * sizeof(uint32_t));
  size_t joined = teams > 1 ? (size_t)(tile->m * tile->n) * element : element;
  return bytes * (size_t)teams + joined <= device->limits.shared_bytes &&
         items_of(tile) * teams <= (int)device->limits.max_group_size;
}

// Chooses the largest tile that leaves enough tiles to keep the device busy and whose rows are mostly used. With few columns (as in the gradient by the weights
// of a first layer), a narrow tile. Long sums get deeper strips, which prefetch further ahead, except with the largest tile, which would run out of registers.
static conv_tile choose_tile(const tsr_device *device, const conv_cut *cut, int64_t groups, size_t element) {
  enum { LONG_SUM = 256 };
  const tsri_tuning *tuning = tsri_tuning_of(device);
  const int depth = TSRI_TUNED(tuning, conv_depth), deep = 2 * depth;
  if (cut->columns <= NARROW) return (conv_tile){NARROW, NARROW, depth < NARROW ? deep : NARROW, 4, 4};
  const conv_tile tiles[] = {{128, 128, depth, 8, 8}, {64, 128, deep, 8, 8}, {64, 128, depth, 8, 8},
                             {64, 64, depth, 4, 4},   {32, 64, deep, 8, 4},  {32, 64, depth, 4, 4},
                             {16, 64, depth, 4, 4}};
  enum { TILES = sizeof tiles / sizeof tiles[0] };
  for (int i = 0; i < TILES - 1; i++) {
    const conv_tile *t = &tiles[i];
    int64_t number = chunks_of(cut->rows, t->m) * chunks_of(cut->columns, t->n) * cut->active * groups;
    bool is_large = t->item_m > 4;
    if (is_large && (number < TSRI_TUNED(tuning, matmul_tiles) || element > sizeof(float))) continue;
    if (t->depth > depth && cut->k < LONG_SUM) continue;
    if (cut->rows * 4 >= t->m * 3 && fits(device, t, element, 1)) return *t;
  }
  return tiles[TILES - 1];
}

static int64_t active_tiles(const conv_cut *cut) { return cut->tiles / cut->phases * cut->active; }

// Splits sums if there are too few tiles for the device. Each part has at least a few strips.
static void split(const tsr_device *device, conv_cut *cut, int64_t groups) {
  enum {
    FEW_STRIPS = 16,
    GROUPS = 4,
    LARGE_GROUPS = 2,
    LARGE_TILE = 128,
    MANY = 2,
    MOST_PARTIAL = 1 << 24,
    MOST_Z = 65535
  };
  const tsri_tuning *tuning = tsri_tuning_of(device);
  // A small result (such as a gradient by weights) is cheap to join, so its sums may be split further.
  int64_t finer = cut->count < FEW_RESULTS ? MANY : 1;
  int64_t busy = (int64_t)TSRI_TUNED(tuning, matmul_tiles) * (cut->tile.m == LARGE_TILE ? LARGE_GROUPS : GROUPS);
  int64_t wanted = busy * finer / (active_tiles(cut) * groups);
  int64_t most = cut->k * finer / (FEW_STRIPS * cut->tile.depth);
  if (most > MOST_PARTIAL / cut->count) most = MOST_PARTIAL / cut->count;
  if (most > MOST_Z / groups) most = MOST_Z / groups;
  if (wanted > most) wanted = most;
  if (wanted < 2) wanted = 1;
  cut->depth = chunks_of(chunks_of(cut->k, wanted), cut->tile.depth) * cut->tile.depth;
  cut->splits = chunks_of(cut->k, cut->depth);
}

// Chooses how many teams share a tile, if one team per tile gives too few items for the device. Example: 392 tiles of 16 x 64, with 64 items each, are one and
// a half warps for each scheduler of an H200, which then waits most of the time.
static int choose_teams(const tsr_device *device, const conv_cut *cut, int64_t groups, size_t element) {
  enum { ITEMS_PER_TILE = 512, MOST_ITEMS = 256, FEW_STRIPS = 4 };
  int64_t busy = (int64_t)TSRI_TUNED(tsri_tuning_of(device), matmul_tiles) * ITEMS_PER_TILE;
  int64_t items = active_tiles(cut) * groups * cut->splits * items_of(&cut->tile),
          strips = cut->depth / cut->tile.depth;
  int teams = 1;
  while (items * teams < busy && strips / (2 * teams) >= FEW_STRIPS && items_of(&cut->tile) * teams * 2 <= MOST_ITEMS &&
         fits(device, &cut->tile, element, teams * 2)) {
    teams *= 2;
  }
  return teams;
}

// As split and choose_teams, for the narrow tile. It has few items, so many teams share a tile. Parts are sized so that all teams have equally many strips.
static void split_narrow(const tsr_device *device, conv_cut *cut, int64_t groups, size_t element) {
  enum { MOST_TEAMS = 8, GROUPS_PER_TILE = 2 };
  const tsri_tuning *tuning = tsri_tuning_of(device);
  cut->teams = 1;
  while (cut->teams < MOST_TEAMS && fits(device, &cut->tile, element, cut->teams * 2)) cut->teams *= 2;
  int64_t unit = (int64_t)cut->tile.depth * cut->teams;
  int64_t wanted = (int64_t)TSRI_TUNED(tuning, matmul_tiles) * GROUPS_PER_TILE / (cut->tiles * groups);
  int64_t strips = wanted < 2 ? chunks_of(cut->k, unit) : (cut->k / wanted + unit / 2) / unit;  // strips of each team
  cut->depth = (strips > 1 ? strips : 1) * unit;
  cut->splits = chunks_of(cut->k, cut->depth);
}

static conv_cut cut_of(const tsri_kernel_run *run, const tsri_conv_op *op) {
  size_t element = tsr_dtype_bytes(tsri_accumulator(run->dtype));
  conv_cut cut = {.rows = op->out_channels,
                  .positions = product_of(op->windows),
                  .k = steps_of(op),
                  .columns = op->images,
                  .phases = op->is_transposed ? product_of(op->stride) : 1,
                  .active = 1};
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    cut.active *= op->kernel[i] < tap_step(op, i) ? op->kernel[i] : tap_step(op, i);
    cut.columns *= chunks_of(op->windows[i], op->is_transposed ? op->stride[i] : 1);
  }
  cut.count = op->images * cut.positions * op->groups * op->out_channels;
  cut.tile = choose_tile(run->device, &cut, op->groups, element);
  cut.tiles_across = chunks_of(cut.columns, cut.tile.n);
  cut.tiles = cut.tiles_across * chunks_of(cut.rows, cut.tile.m) * cut.phases;
  if (cut.tile.n == NARROW) {
    split_narrow(run->device, &cut, op->groups, element);
    return cut;
  }
  split(run->device, &cut, op->groups);
  cut.teams = choose_teams(run->device, &cut, op->groups, element);
  return cut;
}

// --- Launches ---------------------------------------------------------------------------------------------------------

static void pass_bias(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op) {
  tsri_call_buffer(call, "bias", run->inputs[op->has_bias ? 2 : 1], run->dtype);
  tsri_call_word(call, "b_at", (int64_t)(op->bias.offset / tsr_dtype_bytes(run->dtype)));
  tsri_call_word(call, "b_step", op->bias_step);
  tsri_call_word(call, "out_channels", op->groups * op->out_channels);
}

void tsri_conv_give(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op, tsr_dtype carrier) {
  size_t element = tsr_dtype_bytes(run->dtype);
  pass_bias(call, run, op);
  tsri_call_buffer(call, "x", run->inputs[0], carrier);
  tsri_call_buffer(call, "w", run->inputs[1], carrier);
  tsri_call_word(call, "x_at", (int64_t)(op->x.offset / element));
  tsri_call_word(call, "w_at", (int64_t)(op->w.offset / element));
  tsri_call_word(call, "channels", op->channels);
  tsri_call_word(call, "group_channels", op->out_channels);
  tsri_call_word(call, "xn", op->x_image);
  tsri_call_word(call, "xc", op->x_channel);
  tsri_call_word(call, "wg", op->w_group);
  tsri_call_word(call, "wn", op->w_out);
  tsri_call_word(call, "wc", op->w_channel);
  const struct {
    const char *stem;
    const int64_t *values;
  } axes[] = {{"i", op->size},   {"k", op->kernel}, {"o", op->windows},  {"x", op->x_axes},
              {"w", op->w_axes}, {"s", op->stride}, {"d", op->dilation}, {"p", op->before}};
  for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
    tsri_window_pass(call, axes[i].stem, axes[i].values, TSRI_CONV_AXES, 0);
  }
}

int tsri_conv_axes(const tsri_conv_op *op) {
  int axes = TSRI_CONV_AXES;
  for (int i = 0; axes > 1 && op->size[i] * op->kernel[i] * op->windows[i] == 1 && op->before[i] == 0; i++) axes--;
  return axes;
}

// Whether four neighbouring results of an item are stored at once.
static bool stores_quads(const tsri_conv_op *op, bool is_last, tsr_dtype stored) {
  bool has_phases = op->is_transposed && product_of(op->stride) != 1;
  return !is_last && !has_phases && op->windows[TSRI_CONV_AXES - 1] % 4 == 0 && tsr_dtype_bytes(stored) <= 4;
}

#define TILE_ARGUMENTS                                                                                          \
  TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", sums), TSRI_TYPE("Y", partial ? sums : run->dtype),      \
            TSRI_CONSTANT("FUSED", tsri_dtype_is_float(run->dtype) && run->device->limits.has_exact_fma),       \
            TSRI_CONSTANT("BIAS", op->has_bias && !partial), TSRI_CONSTANT("LAST", is_last),                    \
            TSRI_CONSTANT("TRANSPOSED", op->is_transposed), TSRI_CONSTANT("UNIT", product_of(op->stride) == 1), \
            TSRI_CONSTANT("WIDE_Y", stores_quads(op, is_last, partial ? sums : run->dtype)),                    \
            TSRI_CONSTANT("AXES", tsri_conv_axes(op)), TSRI_CONSTANT("BM", t->m), TSRI_CONSTANT("BN", t->n),    \
            TSRI_CONSTANT("DEPTH", t->depth), TSRI_CONSTANT("RM", t->item_m), TSRI_CONSTANT("RN", t->item_n),   \
            TSRI_CONSTANT("TEAMS", cut->teams), TSRI_CONSTANT("WG", items_of(t) * cut->teams))

// Launches conv_tiles. `partial`: scratch buffer for the sums of the parts, or NULL if there is only one part and the result is complete.
static tsr_status run_tiles(const tsri_kernel_run *run, const tsri_conv_op *op, const conv_cut *cut, bool is_last,
                            tsr_buffer *partial) {
  tsr_dtype sums = tsri_accumulator(run->dtype);
  const conv_tile *t = &cut->tile;
  tsri_call call;
  if (partial) tsri_call_init(&call, run->device, "op_conv_tiles", "conv_tiles", TILE_ARGUMENTS);
  else tsri_call_init_hooked(&call, run, "op_conv_tiles", "conv_tiles", TILE_ARGUMENTS);
  tsri_call_buffer(&call, "y", partial ? partial : run->output, partial ? sums : run->dtype);
  const int64_t tap_steps[] = {tap_step(op, 0), tap_step(op, 1), tap_step(op, 2)};
  tsri_conv_give(&call, run, op, run->dtype);
  tsri_window_pass(&call, "e", tap_steps, TSRI_CONV_AXES, 0);
  tsri_call_word(&call, "n", cut->columns);
  tsri_call_word(&call, "k", cut->k);
  tsri_call_word(&call, "depth", cut->depth);
  tsri_call_word(&call, "splits", cut->splits);
  tsri_call_word(&call, "count", cut->count);
  tsri_call_word(&call, "tiles_across", cut->tiles_across);
  int64_t x = 0, y = 0;
  tsri_call_fold(run->device, cut->tiles, &x, &y);
  return tsri_call_groups(&call, x, y, op->groups * cut->splits);
}

static tsr_status join_parts(const tsri_kernel_run *run, const tsri_conv_op *op, const conv_cut *cut, bool is_last,
                             tsr_buffer *partial) {
  enum { ITEMS = 64, LANES = 16, MANY_ITEMS = 256, MANY_LANES = 64 };
  bool is_few = cut->count < FEW_RESULTS && run->device->limits.max_group_size >= MANY_ITEMS;
  int items = is_few ? MANY_ITEMS : ITEMS, most = is_few ? MANY_LANES : LANES, lanes = 1;
  while (lanes < most && lanes < cut->splits) lanes *= 2;  // at most one lane per part
  tsr_dtype sums = tsri_accumulator(run->dtype);
  tsri_call call;
  tsri_call_init_hooked(
      &call, run, "op_conv_tiles", "join_splits",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", sums), TSRI_CONSTANT("BIAS", op->has_bias),
                TSRI_CONSTANT("LAST", is_last), TSRI_CONSTANT("LANES", lanes), TSRI_CONSTANT("WG", items)));
  tsri_call_buffer(&call, "parts", partial, sums);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  pass_bias(&call, run, op);
  tsri_call_word(&call, "count", cut->count);
  tsri_call_word(&call, "splits", cut->splits);
  tsri_call_word(&call, "positions", cut->positions);
  tsri_call_word(&call, "o2", op->windows[TSRI_CONV_AXES - 1]);
  return tsri_call_many_groups(&call, chunks_of(cut->count, items / lanes));
}

tsr_status tsri_conv_run_tiles(const tsri_kernel_run *run, const tsri_conv_op *given, bool is_last) {
  tsri_conv_op without = *given;
  const tsri_conv_op *op = &without;
  for (int i = 0; i < TSRI_CONV_AXES - tsri_conv_axes(given); i++)
    without.stride[i] = 1;  // the kernel has no phases of these
  conv_cut cut = cut_of(run, op);
  if (cut.splits == 1) return run_tiles(run, op, &cut, is_last, NULL);
  tsr_buffer *partial = NULL;
  tsr_status status = tsri_call_scratch(run->device, cut.count * cut.splits, tsri_accumulator(run->dtype), &partial);
  if (status == TSR_OK) status = run_tiles(run, op, &cut, is_last, partial);
  if (status == TSR_OK) status = join_parts(run, op, &cut, is_last, partial);
  tsr_buffer_release(partial);
  return status;
}
