// SPDX-License-Identifier: MIT
#include "ops/scatter_lines.h"
#include "ops/promote.h"

enum { LEAST_GROUP = 32, MOST_GROUP = 256, GROUP_BYTES = 16384 };

// --- How the work is shared out --------------------------------------------------------------------------------------

// Sets the number of parts, with which there are as many items as an H200 holds: 132 cores, each of which has some 200 KB of shared memory and holds at most 1,024 of
// these items. The sums of all parts are written and read once: a part has twice as many elements as there are targets, so that this is little in comparison, or
// all sums together are so few that it takes no time.
static void cut_into_parts(const tsri_scatter_sizes *z, size_t item_bytes, tsri_lines_cut *out) {
  enum { CORES = 132, CORE_BYTES = 208 << 10, CORE_ITEMS = 1024, LEAST_LENGTH = 32, FEW_SUMS = 1 << 19 };
  int64_t held = CORE_BYTES / (int64_t)item_bytes, lines = z->outer * z->inner;
  int64_t parts = CORES * (held < CORE_ITEMS ? held : CORE_ITEMS) / (lines * out->ranges);
  int64_t long_ones = z->n / (2 * z->size), few_sums = FEW_SUMS / (lines * z->size),
          most = long_ones > few_sums ? long_ones : few_sums;
  if (parts > most) parts = most;
  if (parts > z->n / LEAST_LENGTH) parts = z->n / LEAST_LENGTH;
  if (parts < 1) parts = 1;
  out->length = (z->n + parts - 1) / parts;
  out->parts = (z->n + out->length - 1) / out->length;
}

static int group_for(size_t item_bytes, int most) {
  int group = LEAST_GROUP;
  while (2 * group <= most && 2 * (size_t)group * item_bytes <= GROUP_BYTES) group *= 2;
  return group;
}

// How many elements an item reads at once: the largest of these numbers that is neither above `wanted` nor above n, since a read ends within the line.
static int each_for(int64_t n, int wanted) {
  static const int numbers[] = {16, 12, 8, 6, 4, 3, 2};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i] <= wanted && numbers[i] <= n) return numbers[i];
  }
  return 1;
}

// Columns: the lines of neighbouring items are neighbours in memory. The targets that do not fit into shared memory are divided into ranges; every range reads
// all indices, so 32-bit integers and extremes are left to atomics then, and rows that have one index each to the sort.
static bool cut_columns(const tsri_scatter *s, const tsri_scatter_sizes *z, size_t wide, int most_group,
                        tsri_lines_cut *out) {
  enum { MOST_RANGES = 2, SPARSE = 4, FEW_TARGETS = 128, MOST_BYTES = 49152 };
  int64_t room = s->device->limits.shared_bytes, lines = z->outer * z->inner;
  int64_t most = (room < MOST_BYTES ? room : MOST_BYTES) / (int64_t)(LEAST_GROUP * wide);
  bool adds = s->combination == TSRI_COMBINE_SUM || s->combination == TSRI_COMBINE_PRODUCT;
  bool is_word = s->dtype == TSR_I32 || s->dtype == TSR_U32, is_list = z->strides[1][2] == 0;
  out->ranges = (z->size + most - 1) / most;
  // With fewer elements than targets, most of the time would go into copying x through shared memory.
  if (SPARSE * z->n < z->size || (out->ranges > 1 && (!adds || is_word || is_list))) return false;
  if (out->ranges > MOST_RANGES) return false;
  out->range = tsri_scatter_rounded((z->size + out->ranges - 1) / out->ranges);
  if (out->range > most) out->range = most;
  out->ranges = (z->size + out->range - 1) / out->range;
  out->group = group_for((size_t)out->range * wide, most_group);
  out->each = out->range > FEW_TARGETS ? 16 : 8;
  cut_into_parts(z, (size_t)out->range * wide, out);
  return out->parts * lines * z->size < TSRI_CALL_MAX_ELEMENTS &&
         out->parts * lines * out->ranges < TSRI_CALL_MAX_ELEMENTS;
}

// Short rows, if there are many: items read their own rows, which a core's first-level cache holds until all of their elements are read.
static bool cut_short_rows(const tsri_scatter_sizes *z, size_t wide, size_t room, int most_group, tsri_lines_cut *out) {
  enum { LEAST_ROWS = 4096, MOST_N = 32, MOST_TARGETS = 64 };
  if (z->outer < LEAST_ROWS || z->n > MOST_N || z->size > MOST_TARGETS) return false;
  out->is_row = true;
  out->ranges = out->parts = 1;
  out->range = tsri_scatter_rounded(z->size) +
               1;  // an odd number of elements apart, the sums of neighbouring items are in different banks
  out->group = group_for((size_t)out->range * wide, most_group);
  out->each = z->n > 16 && z->n <= 24 ? 12 : 16;  // in one round if possible, else in two
  out->length = z->n;
  return (size_t)out->range * (size_t)out->group * wide <= room;
}

bool tsri_scatter_lines_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_lines_cut *out) {
  enum { SOFTWARE_EACH = 4 };  // drivers in software take long to compile large kernels
  size_t wide = tsr_dtype_bytes(tsri_accumulator(s->dtype));
  int most_group = (int)s->device->limits.max_group_size;
  if (most_group > MOST_GROUP) most_group = MOST_GROUP;
  *out = (tsri_lines_cut){.range = 0};
  bool takes = z->inner == 1 ? cut_short_rows(z, wide, s->device->limits.shared_bytes, most_group, out)
                             : cut_columns(s, z, wide, most_group, out);
  out->each = each_for(z->n, s->device->info.is_software ? SOFTWARE_EACH : out->each);
  return takes && most_group >= LEAST_GROUP;
}

// --- Launches --------------------------------------------------------------------------------------------------------

static void pass_lines(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call) {
  tsri_scatter_pass_x(run, z, call);
  tsri_call_word(call, "x_inner", z->strides[0][2]);
  tsri_call_word(call, "lines", z->outer * z->inner);
  tsri_call_word(call, "inner", z->inner);
}

static tsr_status join_lines(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                             const tsri_lines_cut *cut, tsr_buffer *sums) {
  bool is_part = cut->parts > 1;
  int64_t total = z->outer * z->inner * cut->ranges * cut->parts;
  int bits = run->dtype == TSR_BF16 ? 1 : run->dtype == TSR_F16 ? 2 : 0;
  tsr_dtype wide = tsri_accumulator(run->dtype), to = is_part ? wide : run->dtype, from = bits ? TSR_U16 : run->dtype;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_lines",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("Y", to), TSRI_TYPE("I", run->input_dtypes[1]),
                TSRI_TYPE("A", wide), TSRI_TYPE("S", from), TSRI_TYPE("B", bits ? TSR_U32 : wide),
                TSRI_CONSTANT("BITS", bits), TSRI_CONSTANT("OP", s->combination), TSRI_CONSTANT("RANGE", cut->range),
                TSRI_CONSTANT("IS_PART", is_part), TSRI_CONSTANT("IS_ROW", cut->is_row),
                TSRI_CONSTANT("EACH", cut->each), TSRI_CONSTANT("WG", cut->group)));
  pass_lines(run, z, &call);
  tsri_scatter_pass_sources(run, z, from, &call);
  tsri_call_word(&call, "i_inner", z->strides[1][2]);
  tsri_call_word(&call, "s_inner", z->strides[2][2]);
  tsri_call_buffer(&call, "y", is_part ? sums : run->output, to);
  tsri_call_word(&call, "total", total);
  tsri_call_word(&call, "ranges", cut->ranges);
  tsri_call_word(&call, "length", cut->length);
  return tsri_call_items(&call, total);
}

static tsr_status join_parts(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                             const tsri_lines_cut *cut, tsr_buffer *sums) {
  enum { FEW_PARTS = 16, TEAM = 8, GROUP = 256 };
  int team = cut->parts > FEW_PARTS ? TEAM : 1;
  int64_t total = s->x->count, each = GROUP / team;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_lines_join",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                TSRI_CONSTANT("OP", s->combination), TSRI_CONSTANT("TEAM", team), TSRI_CONSTANT("WG", GROUP)));
  pass_lines(run, z, &call);
  tsri_call_buffer(&call, "parts", sums, tsri_accumulator(run->dtype));
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "total", total);
  tsri_call_word(&call, "size", z->size);
  tsri_call_word(&call, "count", cut->parts);
  tsri_call_word(&call, "share", (cut->parts + team - 1) / team);
  return tsri_call_many_groups(&call, (total + each - 1) / each);
}

tsr_status tsri_scatter_lines_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_lines_cut *cut) {
  if (cut->parts == 1) return join_lines(run, s, z, cut, NULL);
  tsr_buffer *sums = NULL;
  tsr_status status = tsri_call_scratch(run->device, cut->parts * s->x->count, tsri_accumulator(run->dtype), &sums);
  if (status == TSR_OK) status = join_lines(run, s, z, cut, sums);
  if (status == TSR_OK) status = join_parts(run, s, z, cut, sums);
  tsr_buffer_release(sums);
  return status;
}
