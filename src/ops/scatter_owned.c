// SPDX-License-Identifier: MIT
#include "ops/scatter_owned.h"
#include "ops/promote.h"

enum { GROUP = 256, LARGE_GROUP = 1024, MOST_HELD = 4096 };

// --- How the work is shared out --------------------------------------------------------------------------------------

// Whether x is row-major, and each row of the source contiguous.
static bool is_in_rows(const tsri_scatter_sizes *z) {
  const int64_t *x = z->strides[0], *source = z->strides[2];
  bool is_x = (z->size == 1 || x[1] == z->inner) && (z->outer == 1 || x[0] == z->size * z->inner);
  return is_x && (z->inner == 1 || (x[2] == 1 && source[2] == 1));
}

// Whether all elements of a row have the same index.
static bool is_list(const tsri_scatter_sizes *z) { return z->strides[1][0] == 0 && z->strides[1][2] == 0; }

// Every work-group reads all indices, so there is a limit for them. All rows of a target have one owner, so it is lower for sums, and lists with many rows for each
// target are left to kernels that share these among work-groups. Drivers in software take a second to compile this kernel, which only pays for longer lists.
static bool is_short_list(const tsri_scatter *s, const tsri_scatter_sizes *z) {
  enum { MOST_PLACES = 16384, MOST_ROWS = 8192, MOST_PER_TARGET = 64, LEAST_IN_SOFTWARE = 64 };
  if (s->device->info.is_software && z->n < LEAST_IN_SOFTWARE) return false;
  if (s->combination == TSRI_COMBINE_REPLACE) return z->n <= MOST_PLACES && z->inner == 1 && z->outer == 1;
  return z->n <= MOST_ROWS && z->inner > 1 && z->n / z->size <= MOST_PER_TARGET;
}

static bool is_even(int64_t a, int64_t b) { return a % 4 == 0 && b % 4 == 0; }

// Divides the columns: a work item of a team has one to four of them.
static void cut_columns(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_owned_cut *out) {
  enum { MOST_LANES = 64, MOST_COLUMNS = 4 };
  out->is_quads = is_even(z->inner, s->source->offset) && is_even(z->strides[2][0], z->strides[2][1]);
  if (out->is_quads) out->columns = MOST_COLUMNS;
  while (out->lanes * out->columns < z->inner && out->lanes < MOST_LANES) out->lanes *= 2;
  while (out->lanes * out->columns < z->inner && out->columns < MOST_COLUMNS) out->columns *= 2;
  out->chunks = (z->inner + out->lanes * out->columns - 1) / (out->lanes * out->columns);
}

// Divides the targets. The device's own copy of a large x is faster than the kernel's. Where the kernel copies, blocks have at least LEAST_BYTES, but not many more, so
// that targets with neighbouring numbers have different owners.
static void cut_targets(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_owned_cut *out) {
  enum { LEAST_BYTES = 128, MOST_COPIED = 16 << 20, MANY_CORES = 128 };  // MANY_CORES: where the driver does not tell
  const int64_t cores = s->device->info.compute_units > 0 ? s->device->info.compute_units : MANY_CORES;
  const int64_t bytes = (int64_t)tsr_dtype_bytes(s->dtype);
  out->copies = s->x->count * bytes <= MOST_COPIED;
  while (out->copies && out->chunks == 1 && (z->inner << out->block_bits) * bytes < LEAST_BYTES) out->block_bits++;
  int64_t blocks = ((z->size - 1) >> out->block_bits) + 1;
  while (2 * out->chunks * z->outer << out->owner_bits <= cores && blocks >> out->owner_bits > 0) out->owner_bits++;
  out->owned = ((blocks - 1) >> out->owner_bits) + 1;
  int64_t apart = z->outer == 1 ? 0 : z->size * z->inner;
  out->quad = is_even(z->inner << out->block_bits, s->x->offset) && is_even(apart, 0) ? 4 : 1;
}

// Divides the 32 bits of a key among the target's local number and the position in the list.
static bool cut_keys(const tsri_limits *limits, size_t wide, tsri_owned_cut *out) {
  enum { MOST_LOCAL_BITS = 20, MOST_POSITION_BITS = 31, ROOM = 256 };
  int local_bits = 0;
  while (out->owned << out->block_bits >> local_bits > 0) local_bits++;
  out->position_bits = local_bits == 0 ? MOST_POSITION_BITS : 32 - local_bits;
  size_t others = wide * (size_t)(out->group * out->columns) + ROOM;
  while (out->held > out->group && 4 * (size_t)out->held + others > limits->shared_bytes) out->held /= 2;
  return 4 * (size_t)out->held + others <= limits->shared_bytes && local_bits <= MOST_LOCAL_BITS;
}

bool tsri_scatter_owned_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_owned_cut *out) {
  const tsri_limits *limits = &s->device->limits;
  if (!is_in_rows(z) || !is_list(z) || !is_short_list(s, z)) return false;
  if (s->x->count > INT32_MAX || limits->max_group_size < GROUP) return false;
  bool is_large = tsri_tuning_of(s->device)->row_group >= LARGE_GROUP && limits->max_group_size >= LARGE_GROUP;
  *out = (tsri_owned_cut){.lanes = 1,
                          .columns = 1,
                          .group = is_large ? LARGE_GROUP : GROUP,
                          .held = s->device->info.is_software ? GROUP : MOST_HELD};
  cut_columns(s, z, out);
  cut_targets(s, z, out);
  return cut_keys(limits, tsr_dtype_bytes(tsri_accumulator(s->dtype)), out);
}

// --- Launches --------------------------------------------------------------------------------------------------------

static tsr_status copy_x(const tsri_kernel_run *run) {
  size_t offset = (size_t)run->layouts[0].offset * tsr_dtype_bytes(run->dtype);
  return tsr_buffer_copy(run->output, 0, run->inputs[0], offset, tsr_buffer_bytes(run->output));
}

static void pass_inputs(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call) {
  tsri_call_buffer(call, "x", run->inputs[0], run->dtype);
  tsri_call_word(call, "x_at", run->layouts[0].offset);
  tsri_call_buffer(call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_word(call, "i_at", run->layouts[1].offset);
  tsri_call_word(call, "i_step", z->strides[1][1]);
  tsri_call_buffer(call, "source", run->inputs[2], run->dtype);
  tsri_call_word(call, "s_at", run->layouts[2].offset);
  tsri_call_word(call, "s_outer", z->strides[2][0]);
  tsri_call_word(call, "s_step", z->strides[2][1]);
}

tsr_status tsri_scatter_owned_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_owned_cut *cut) {
  enum { READS = 4, ROUNDS = 4, EACH = 8 };
  bool is_small = run->device->info.is_software;  // drivers in software take long to compile large kernels
  tsr_status status = cut->copies ? TSR_OK : copy_x(run);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_owned",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("OP", s->combination),
                           TSRI_CONSTANT("COPIES", cut->copies), TSRI_CONSTANT("QUAD", cut->quad),
                           TSRI_CONSTANT("QUADS", cut->is_quads), TSRI_CONSTANT("LANES", cut->lanes),
                           TSRI_CONSTANT("COLUMNS", cut->columns), TSRI_CONSTANT("HELD", cut->held),
                           TSRI_CONSTANT("READS", is_small ? 1 : READS), TSRI_CONSTANT("ROUNDS", is_small ? 1 : ROUNDS),
                           TSRI_CONSTANT("EACH", is_small ? 1 : EACH), TSRI_CONSTANT("WG", cut->group)));
  pass_inputs(run, z, &call);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  int64_t groups = cut->chunks * z->outer << cut->owner_bits;
  tsri_call_word(&call, "all", groups);
  tsri_call_word(&call, "chunks", cut->chunks);
  tsri_call_word(&call, "n", z->n);
  tsri_call_word(&call, "inner", z->inner);
  tsri_call_word(&call, "size", z->size);
  tsri_call_word(&call, "owned", cut->owned);
  tsri_call_word(&call, "piece", z->inner << cut->block_bits);
  tsri_call_word(&call, "owner_bits", cut->owner_bits);
  tsri_call_word(&call, "block_bits", cut->block_bits);
  tsri_call_word(&call, "position_bits", cut->position_bits);
  return tsri_call_many_groups(&call, groups);
}
