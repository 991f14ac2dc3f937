// SPDX-License-Identifier: MIT
#include "ops/scatter.h"
#include "ops/operators.h"
#include "ops/promote.h"

static int combination_of(const tsri_kernel_run *run) { return (int)TSRI_GIVEN(run->node, scatter)->combination; }

static bool is_word(tsr_dtype dtype) { return dtype == TSR_I32 || dtype == TSR_U32; }

static bool is_atomic(const tsri_kernel_run *run) {
  return is_word(run->dtype) && combination_of(run) != TSRI_COMBINE_PRODUCT;
}

static void pass_sources(const tsri_kernel_run *run, tsri_call *call) {
  tsri_call_buffer(call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(call, "source", run->inputs[2], run->dtype);
  tsri_call_buffer(call, "y", run->output, run->dtype);
  tsri_call_word(call, "i_at", run->layouts[1].offset);
  tsri_call_word(call, "s_at", run->layouts[2].offset);
}

static void pass_sizes(const tsri_scatter *s, int64_t total, tsri_call *call) {
  tsri_call_word(call, "total", total);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "inner", s->inner);
  tsri_call_word(call, "size", s->size);
  tsri_call_word(call, "i_outer", s->i_outer);
  tsri_call_word(call, "i_step", s->i_step);
  tsri_call_word(call, "i_inner", s->i_inner);
}

tsr_status tsri_scatter_few(const tsri_kernel_run *run, const tsri_scatter *s) {
  enum { MOST_INDICES = 1024 };
  // Comparisons that take less time than another launch, or than shared memory.
  int64_t total = run->layouts[0].count, most = is_atomic(run) ? 1 << 22 : 1 << 26;
  if (s->n > MOST_INDICES || total > most / s->n) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "scatter_few",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("OP", combination_of(run))));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  pass_sources(run, &call);
  pass_sizes(s, total, &call);
  return tsri_call_items(&call, total);
}

tsr_status tsri_scatter_atomic(const tsri_kernel_run *run, const tsri_scatter *s) {
  if (!is_atomic(run)) return TSR_ERR_UNSUPPORTED;
  size_t offset = (size_t)run->layouts[0].offset * tsr_dtype_bytes(run->dtype);
  tsr_status status = tsr_buffer_copy(run->output, 0, run->inputs[0], offset, tsr_buffer_bytes(run->output));
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_atomic",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_CONSTANT("OP", combination_of(run))));
  int64_t total = s->outer * s->n * s->inner;
  pass_sources(run, &call);
  pass_sizes(s, total, &call);
  return tsri_call_items(&call, total);
}

// --- Ranges of targets -----------------------------------------------------------------------------------------------

enum { GROUP = 256, EACH = 4, LEAST_RANGE = 256, MOST_RANGE = 4096, PLACE_BITS = 20 };

// Shared memory of scatter_ranges.
static size_t shared_bytes(int64_t range, size_t wide) {
  return (size_t)range * (wide + 4) + GROUP * (wide + 4) + 4 * (2 * GROUP * EACH + 2 * GROUP);
}

// The most targets of a group that shared memory holds, or fewer if there are few rows, so that many groups share a row; 0 if there is no room for the least.
static int64_t range_of(const tsri_kernel_run *run, const tsri_scatter *s) {
  enum { FILLED = 256 };  // groups that a GPU should have to do at least
  size_t wide = tsr_dtype_bytes(tsri_accumulator(run->dtype));
  int64_t range = MOST_RANGE;
  while (range >= LEAST_RANGE && shared_bytes(range, wide) > run->device->limits.shared_bytes) range /= 2;
  if (range < LEAST_RANGE) return 0;
  while (range > LEAST_RANGE && (range / 2 >= s->size || s->outer * ((s->size + range - 1) / range) < FILLED))
    range /= 2;
  return range;
}

tsr_status tsri_scatter_ranges(const tsri_kernel_run *run, const tsri_scatter *s) {
  // An index that is read costs less than one that is sorted: some ten reads and writes.
  enum { MOST_PLACES = 1 << 18, FEW_READS = 100000000, FEW_RANGES = 4 };
  _Static_assert(MOST_PLACES <= 1 << PLACE_BITS, "an entry of the kernel's list has room for a place");
  int64_t range = s->inner == 1 && s->n <= MOST_PLACES ? range_of(run, s) : 0;
  if (range == 0 || run->device->limits.max_group_size < GROUP) return TSR_ERR_UNSUPPORTED;
  int64_t ranges = (s->size + range - 1) / range, all_ranges = s->outer * ranges;
  if (ranges > FEW_RANGES && s->outer * s->n * ranges > FEW_READS) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_ranges",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("OP", combination_of(run)),
                TSRI_CONSTANT("RANGE", range), TSRI_CONSTANT("WHOLE", ranges == 1), TSRI_CONSTANT("EACH", EACH),
                TSRI_CONSTANT("SG", tsri_call_subgroup(run->device, GROUP)), TSRI_CONSTANT("WG", GROUP)));
  pass_sources(run, &call);
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_word(&call, "all_ranges", all_ranges);
  tsri_call_word(&call, "ranges", ranges);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "size", s->size);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_call_word(&call, "i_row", s->i_outer);
  tsri_call_word(&call, "i_step", s->i_step);
  return tsri_call_many_groups(&call, all_ranges);
}
