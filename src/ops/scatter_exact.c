// SPDX-License-Identifier: MIT
#include "ops/scatter_exact.h"

enum { GROUP = 256, LARGE_GROUP = 1024, LEAST_RANGE = 256, MOST_RANGE = 4096, MOST_BINS = 1024, EACH = 8 };

// --- How the work is shared out --------------------------------------------------------------------------------------

bool tsri_scatter_is_exact(const tsri_scatter *s, const tsri_scatter_sizes *z) {
  enum { MOST_INDICES = 1 << 26 };
  bool is_float = s->dtype == TSR_F32 || s->dtype == TSR_F16 || s->dtype == TSR_BF16;
  return is_float && s->combination == TSRI_COMBINE_SUM && z->inner == 1 && z->n <= MOST_INDICES;
}

// Largest power of two of targets for which shared memory has room, with three words for each.
int64_t tsri_scatter_exact_range(const tsr_device *device) {
  int64_t range = MOST_RANGE;
  while (range >= LEAST_RANGE && 12 * (uint64_t)range > device->limits.shared_bytes) range /= 2;
  return range < LEAST_RANGE || device->limits.max_group_size < GROUP ? 0 : range;
}

// Work-group size: `wanted` items, or GROUP if the device does not support that many, or supports them only for kernels with few registers (row_group of the
// tuning).
static int group_of(const tsr_device *device, int wanted) {
  int most = tsri_tuning_of(device)->row_group;
  return (int)device->limits.max_group_size < wanted || most < wanted ? GROUP : wanted;
}

// The largest range (at most `most`) that gives at least `filled` work-groups.
static int64_t range_for(const tsri_scatter_sizes *z, int64_t most, int64_t filled) {
  int64_t range = most;
  while (range > LEAST_RANGE && z->outer * ((z->size + range - 1) / range) < filled) range /= 2;
  return range;
}

// Divides the work into whole rows, if they fit in shared memory: as many per work-group as leave enough work-groups to fill a GPU.
static bool cut_whole_rows(const tsri_scatter_sizes *z, int64_t most, tsri_exact_cut *out) {
  enum { FILLED = 1024, MOST_JOINED = 1024 };
  if (z->size > most) return false;
  *out =
      (tsri_exact_cut){.range = LEAST_RANGE, .ranges = 1, .per = z->outer / FILLED, .group = GROUP, .each = EACH / 2};
  if (out->per > MOST_JOINED / z->size) out->per = MOST_JOINED / z->size;
  if (out->per < 1) out->per = 1;
  while (out->range < out->per * z->size) out->range *= 2;
  // With up to one and a half rounds of EACH / 2 elements per item, a second round that only some items read costs less than loading EACH elements at once:
  // 1023 rows of 1025 take 19.7 us through Vulkan on an H200 with 4 elements at once, and 23.4 with 8.
  if (2 * out->per * z->n > 3 * (int64_t)GROUP * out->each) out->each = EACH;
  return true;
}

// Divides the work into ranges of rows. Each work-group reads all indices of its row, which is cheaper than sorting them into bins if there are few of them.
static bool cut_parts(const tsr_device *device, const tsri_scatter_sizes *z, int64_t most, tsri_exact_cut *out) {
  enum { FILLED = 128, FEW_READS = 1 << 21 };
  int group = group_of(device, LARGE_GROUP);
  int64_t range = range_for(z, most, FILLED);
  *out =
      (tsri_exact_cut){.range = range, .ranges = (z->size + range - 1) / range, .per = 1, .group = group, .each = EACH};
  return z->outer * z->n * out->ranges <= FEW_READS;
}

// How many work-groups keep a GPU busy if each sums a part of a row.
enum { BUSY = 264 };

// Divides rows that are too long for one work-group into halves: both read all indices of the row, which is cheaper than sorting them into two bins.
// Work-groups are so large that those which share a core's memory have some 2,048 items. On an H200 4097 x 4099 bf16 takes 249 us through CUDA and 368 through
// Vulkan, and 277 and 606 by scatter_ranges, whose items wait for each other at barriers; 2000 x 8000 takes 236 and 317 (512 items), and 248 and 542.
static bool cut_halves(const tsr_device *device, const tsri_scatter_sizes *z, int64_t most, tsri_exact_cut *out) {
  enum { SMALL_BYTES = 32768 };
  int64_t half = ((z->size + 1) / 2 + LEAST_RANGE - 1) / LEAST_RANGE * LEAST_RANGE;
  int group = 12 * half > SMALL_BYTES ? group_of(device, 2 * GROUP) : GROUP;
  *out = (tsri_exact_cut){.range = half, .ranges = 2, .per = 1, .group = group, .each = EACH};
  return z->size > most && half <= most && 2 * z->outer >= BUSY;
}

// Divides the work into bins, if there are three ranges or more.
static bool cut_bins(const tsr_device *device, const tsri_scatter_sizes *z, int64_t most, tsri_exact_cut *out) {
  enum { FEW_RANGES = 2 };
  int group = group_of(device, 2 * GROUP);
  // scatter_binned has four words of shared memory for each of its items, beside the three words for each target.
  while (most >= LEAST_RANGE && 12 * most + 16 * group > (int64_t)device->limits.shared_bytes) most /= 2;
  if (most < LEAST_RANGE) return false;
  int64_t range = range_for(z, most, BUSY), tile = (int64_t)group * EACH, tiles = (z->n + tile - 1) / tile;
  *out =
      (tsri_exact_cut){.range = range, .ranges = (z->size + range - 1) / range, .per = 1, .group = group, .each = EACH};
  out->is_binned = true;
  return out->ranges > FEW_RANGES && out->ranges <= MOST_BINS && 2 * z->outer * tiles * tile < TSRI_CALL_MAX_ELEMENTS &&
         z->outer * tiles * out->ranges < TSRI_CALL_MAX_ELEMENTS &&
         4 * (MOST_BINS + (2 + EACH) * (uint32_t)group) <= device->limits.shared_bytes;
}

bool tsri_scatter_exact_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_exact_cut *out) {
  enum { FEW_ROWS = 64, SHORT = 8 * GROUP, MOST_FOR_GROUP = 1 << 16 };
  int64_t most = tsri_scatter_exact_range(s->device);
  if (!tsri_scatter_is_exact(s, z) || most == 0) return false;
  // Few long rows are divided among work-groups even if each fits into one.
  bool is_shared = z->outer < FEW_ROWS && z->n > SHORT;
  if (!is_shared && cut_whole_rows(z, most, out)) return true;
  // Many indices for few targets are left to scatter_parts.h: here, one work-group would have to process all elements of its targets.
  bool has_few_targets = z->n / ((z->size + LEAST_RANGE - 1) / LEAST_RANGE) > MOST_FOR_GROUP;
  return !has_few_targets && (cut_parts(s->device, z, most, out) || cut_halves(s->device, z, most, out) ||
                              cut_bins(s->device, z, most, out));
}

// --- Launches --------------------------------------------------------------------------------------------------------

// room: bits of a sum below the last bit of the largest element. Of 64 bits, one is for the sign, 24 for the mantissa, and log2(n) for the growth of a sum of n
// elements.
int64_t tsri_scatter_exact_room(int64_t n) {
  int64_t room = 38;
  for (; n > 0; n /= 2) room--;
  return room;
}

static tsr_status run_ranges(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut) {
  bool is_once = cut->per * z->n <= (int64_t)cut->group * cut->each;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_exact",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("Y", tsri_scatter_result(run, z)),
                           TSRI_CONSTANT("ALONE", z->is_alone), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_CONSTANT("RANGE", cut->range), TSRI_CONSTANT("WHOLE", cut->ranges == 1),
                           TSRI_CONSTANT("JOINED", cut->per > 1), TSRI_CONSTANT("ONCE", is_once),
                           TSRI_CONSTANT("EACH", cut->each), TSRI_CONSTANT("WG", cut->group)));
  tsri_call_word(&call, "room", tsri_scatter_exact_room(z->n));
  return tsri_scatter_launch_ranges(run, z, cut->ranges, cut->per, &call);
}

// How a binned scatter stores its elements between the two launches, and the buffers for that.
typedef struct binned {
  int64_t tile, tiles;  // elements of a tile; tiles of a row
  int words;            // words of an entry: 1 if elements have 16 bits
  tsr_buffer *found, *lists;
} binned;

static tsr_status fill_bins(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut,
                            const binned *b) {
  tsr_dtype bits = b->words == 1 ? TSR_U16 : TSR_U32;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_bins",
      TSRI_WITH(TSRI_TYPE("S", bits), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("WORDS", b->words),
                TSRI_CONSTANT("RANGE", cut->range), TSRI_CONSTANT("BINS", MOST_BINS), TSRI_CONSTANT("EACH", cut->each),
                TSRI_CONSTANT("SG", tsri_scatter_subgroup(run->device, cut->group)), TSRI_CONSTANT("WG", cut->group)));
  tsri_scatter_pass_sources(run, z, bits, &call);
  tsri_call_buffer(&call, "found", b->found, TSR_U32);
  tsri_call_buffer(&call, "lists", b->lists, TSR_U32);
  tsri_call_word(&call, "all_tiles", z->outer * b->tiles);
  tsri_call_word(&call, "tiles", b->tiles);
  tsri_call_word(&call, "bins", cut->ranges);
  return tsri_call_many_groups(&call, z->outer * b->tiles);
}

static tsr_status add_bins(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut,
                           const binned *b) {
  // How many elements of a bin an item keeps: enough for the mean size of a bin and an eighth more.
  enum { MOST_HELD = 8 };
  int64_t mean = z->n / cut->ranges, held = (mean + mean / 8 + cut->group - 1) / cut->group;
  if (held < 1 || run->device->info.is_software) held = 1;  // drivers in software take long to compile large kernels
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_binned",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("Y", tsri_scatter_result(run, z)),
                TSRI_CONSTANT("ALONE", z->is_alone), TSRI_CONSTANT("RANGE", cut->range),
                TSRI_CONSTANT("MANY", b->tiles > cut->group), TSRI_CONSTANT("WORDS", b->words),
                TSRI_CONSTANT("IS_HALF", run->dtype == TSR_F16),
                TSRI_CONSTANT("HELD", held > MOST_HELD ? MOST_HELD : held),
                TSRI_CONSTANT("SG", tsri_scatter_subgroup(run->device, cut->group)), TSRI_CONSTANT("WG", cut->group)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_call_buffer(&call, "found", b->found, TSR_U32);
  tsri_call_buffer(&call, "lists", b->lists, TSR_U32);
  tsri_scatter_pass_result(run, z, &call);
  tsri_call_word(&call, "rows", z->outer);
  tsri_call_word(&call, "bins", cut->ranges);
  tsri_call_word(&call, "tiles", b->tiles);
  tsri_call_word(&call, "tile", b->tile);
  tsri_call_word(&call, "size", z->size);
  tsri_call_word(&call, "room", tsri_scatter_exact_room(z->n));
  return tsri_call_many_groups(&call, z->outer * cut->ranges);
}

static tsr_status run_binned(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut) {
  binned b = {.tile = (int64_t)cut->group * cut->each, .words = run->dtype == TSR_F32 ? 2 : 1};
  b.tiles = (z->n + b.tile - 1) / b.tile;
  int64_t all = z->outer * b.tiles;
  tsr_status status = tsri_call_scratch(run->device, b.words * all * b.tile, TSR_U32, &b.found);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, all * cut->ranges, TSR_U32, &b.lists);
  if (status == TSR_OK) status = fill_bins(run, z, cut, &b);
  if (status == TSR_OK) status = add_bins(run, z, cut, &b);
  tsr_buffer_release(b.found);
  tsr_buffer_release(b.lists);
  return status;
}

tsr_status tsri_scatter_exact_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut) {
  return cut->is_binned ? run_binned(run, z, cut) : run_ranges(run, z, cut);
}
