// SPDX-License-Identifier: MIT
#include "ops/scatter.h"
#include "graph/transfer.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scatter_lines.h"
#include "ops/scatter_owned.h"
#include "ops/scatter_turned.h"
#include "ops/scatter_words.h"

// --- Which kernel ----------------------------------------------------------------------------------------------------

typedef enum scatter_method {
  SORTED,  // no kernel of kernels/op_scatter.tk
  FEW,     // each element of the result loops over all indices that may name it
  OWNED,   // rows that have an index each, or a put: work-groups own targets (scatter_owned.h)
  LINES,   // few targets, or short rows: a work item joins the elements of a line (scatter_lines.h)
  ATOMIC,  // 32-bit integers whose sum, maximum or minimum does not depend on the order
  EXACT,   // float sums along the last axis that do not depend on the order (scatter_exact.h)
  PARTS,   // as EXACT, for many elements and few targets (scatter_parts.h)
  WORDS,   // rows in shared memory, where the order does not matter (scatter_words.h)
  RANGES,  // single elements along the last axis; a work-group has a range of a row's targets
  TURNED,  // as EXACT or PARTS, for other axes (scatter_turned.h)
  EXTREME  // floats of up to 32 bits whose maximum or minimum is found by atomics
} scatter_method;

enum { GROUP = 256, EACH = 4, LEAST_RANGE = 256, MOST_RANGE = 4096, PLACE_BITS = 20 };

// How RANGES divides the work: `range` targets of a row for each work-group, or `per` whole rows.
typedef struct range_cut {
  int64_t range, ranges, per;
} range_cut;

// The method that `choose` found, and its parameters.
typedef struct scatter_choice {
  tsri_scatter_sizes sizes;
  range_cut cut;
  tsri_owned_cut owned;
  tsri_lines_cut lines;
  tsri_exact_cut exact;
  tsri_parts_cut parts;
  tsri_turned_cut turned;
  tsri_words_cut words;
} scatter_choice;

static bool is_atomic(const tsri_scatter *s) {
  return (s->dtype == TSR_I32 || s->dtype == TSR_U32) && s->combination != TSRI_COMBINE_PRODUCT;
}

static bool is_extreme(const tsri_scatter *s) {
  bool is_narrow = s->dtype == TSR_F32 || s->dtype == TSR_F16 || s->dtype == TSR_BF16;
  return is_narrow && (s->combination == TSRI_COMBINE_LARGEST || s->combination == TSRI_COMBINE_SMALLEST);
}

// Whether FEW is fast enough, by an estimate: an item takes some 85 ns to examine one index; a comparison takes 1 ps over the whole device.
static bool has_few(const tsri_scatter *s, const tsri_scatter_sizes *z) {
  enum { MOST_BEFORE_ATOMICS = 32, MOST_BEFORE_RANGES = 64, MOST_BEFORE_SORT = 512 };
  int64_t most = is_atomic(s) ? MOST_BEFORE_ATOMICS : z->inner == 1 ? MOST_BEFORE_RANGES : MOST_BEFORE_SORT;
  int64_t compared = is_atomic(s) || z->inner == 1 ? 1 << 22 : 1 << 26;
  return z->n <= most && s->x->count <= compared / z->n;
}

// Bytes of shared memory that scatter_ranges uses.
static size_t shared_bytes(int64_t range, bool is_whole, size_t wide) {
  size_t lists = is_whole ? 2 : (size_t)GROUP * (EACH + 1 + 2);
  return ((size_t)range + GROUP) * (wide + 4) + 4 * lists;
}

static int64_t most_range(const tsr_device *device, bool is_whole, size_t wide) {
  int64_t range = MOST_RANGE;
  while (range >= LEAST_RANGE && shared_bytes(range, is_whole, wide) > device->limits.shared_bytes) range /= 2;
  return range;
}

// Divides the work into whole rows, if they fit in shared memory: as many per work-group as leave enough work-groups to fill a GPU.
static bool cut_whole_rows(const tsri_scatter_sizes *z, int64_t most, range_cut *out) {
  enum { FILLED = 1024 };
  if (z->size > most) return false;
  *out = (range_cut){.range = LEAST_RANGE, .ranges = 1, .per = z->outer / FILLED};
  if (out->per > most / z->size) out->per = most / z->size;
  if (out->per < 1) out->per = 1;
  while (out->range < out->per * z->size) out->range *= 2;
  return true;
}

// Divides the work into ranges of rows: as large as fit in shared memory, or smaller ones, so that there are enough work-groups.
static bool cut_parts(const tsri_scatter_sizes *z, int64_t most, range_cut *out) {
  // Each range reads all indices of its row. Reading an index costs less than sorting it, which takes some ten reads and writes.
  enum { FILLED = 256, MOST_PLACES = 1 << 18, FEW_READS = 100000000, FEW_RANGES = 4 };
  _Static_assert(MOST_PLACES <= 1 << PLACE_BITS, "an entry of the kernel's list has room for a place");
  int64_t range = most;
  while (range > LEAST_RANGE && z->outer * ((z->size + range - 1) / range) < FILLED) range /= 2;
  *out = (range_cut){.range = range, .ranges = (z->size + range - 1) / range, .per = 1};
  return z->n <= MOST_PLACES && (out->ranges <= FEW_RANGES || z->outer * z->n * out->ranges <= FEW_READS);
}

static bool cut_ranges(const tsri_scatter *s, const tsri_scatter_sizes *z, range_cut *out) {
  enum { FEW_ROWS = 64, SHORT = 8 * GROUP };
  size_t wide = tsr_dtype_bytes(tsri_accumulator(s->dtype));
  if (z->inner != 1 || s->device->limits.max_group_size < GROUP) return false;
  int64_t whole = most_range(s->device, true, wide), part = most_range(s->device, false, wide);
  if (whole < LEAST_RANGE || part < LEAST_RANGE) return false;
  // Few long rows are divided among work-groups even if each fits into one.
  bool is_shared = z->outer < FEW_ROWS && z->n > SHORT;
  return (!is_shared && cut_whole_rows(z, whole, out)) || cut_parts(z, part, out);
}

static scatter_method choose_replacing(const tsri_scatter *s, scatter_choice *c) {
  if (tsri_scatter_owned_cut(s, &c->sizes, &c->owned)) return OWNED;
  if (c->sizes.inner != 1) return SORTED;
  if (tsri_scatter_lines_cut(s, &c->sizes, &c->lines)) return LINES;
  return tsri_scatter_words_cut(s, &c->sizes, &c->words) ? WORDS : SORTED;
}

static scatter_method choose(const tsri_scatter *s, scatter_choice *c) {
  if (!tsri_call_tuning(s->device)->reduce_wide || !tsri_scatter_find_sizes(s, &c->sizes)) return SORTED;
  if (s->combination == TSRI_COMBINE_REPLACE) return choose_replacing(s, c);
  enum { FEWER = 64 };  // indices, up to which FEW takes a few microseconds
  bool is_few = has_few(s, &c->sizes);
  if (is_few && c->sizes.n <= FEWER) return FEW;
  if (tsri_scatter_owned_cut(s, &c->sizes, &c->owned)) return OWNED;
  if (tsri_scatter_lines_cut(s, &c->sizes, &c->lines)) return LINES;
  if (is_few) return FEW;
  if (is_atomic(s)) return ATOMIC;
  if (tsri_scatter_exact_cut(s, &c->sizes, &c->exact)) return EXACT;
  if (tsri_scatter_parts_cut(s, &c->sizes, &c->parts)) return PARTS;
  if (tsri_scatter_words_cut(s, &c->sizes, &c->words)) return WORDS;
  if (cut_ranges(s, &c->sizes, &c->cut)) return RANGES;
  if (tsri_scatter_turned_cut(s, &c->sizes, &c->turned)) return TURNED;
  return is_extreme(s) ? EXTREME : SORTED;
}

bool tsri_scatter_takes(const tsri_scatter *s) {
  scatter_choice choice;
  return choose(s, &choice) != SORTED;
}

// The row-major layout of a copy with `axis` as the last axis.
static tsri_layout turned_layout(const tsri_layout *layout, int axis) {
  tsri_layout turned = *layout;
  tsr_shape *shape = &turned.shape;
  for (int i = axis; i + 1 < shape->rank; i++) shape->dims[i] = layout->shape.dims[i + 1];
  shape->dims[shape->rank - 1] = layout->shape.dims[axis];
  return tsri_packed_layout(&turned);
}

bool tsri_scatter_takes_turned(const tsri_scatter *s) {
  if (s->device->is_checked || s->axis == s->x->shape.rank - 1) return false;
  tsri_layout x = turned_layout(s->x, s->axis), indices = turned_layout(s->indices, s->axis),
              source = turned_layout(s->source, s->axis);
  return tsri_scatter_takes(
      &(tsri_scatter){s->device, s->dtype, s->combination, s->x->shape.rank - 1, &x, &indices, &source});
}

// --- Launches --------------------------------------------------------------------------------------------------------

static void pass_columns(const tsri_scatter_sizes *z, int64_t total, tsri_call *call) {
  tsri_call_word(call, "total", total);
  tsri_call_word(call, "inner", z->inner);
  tsri_call_word(call, "i_inner", z->strides[1][2]);
  tsri_call_word(call, "s_inner", z->strides[2][2]);
}

static tsr_status run_few(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_few",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("OP", s->combination)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_call_word(&call, "x_inner", z->strides[0][2]);
  tsri_scatter_pass_sources(run, z, run->dtype, &call);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  pass_columns(z, s->x->count, &call);
  return tsri_call_items(&call, s->x->count);
}

static tsr_status run_atomic(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z) {
  tsri_view from = {.buffer = run->inputs[0], .dtype = run->dtype, .layout = run->layouts[0]};
  tsri_layout to = tsri_packed_layout(&run->layouts[0]);
  tsr_status status = tsri_copy_strided(&from, run->output, &to);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_atomic",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("OP", s->combination)));
  tsri_scatter_pass_sources(run, z, run->dtype, &call);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  pass_columns(z, s->indices->count, &call);
  return tsri_call_items(&call, s->indices->count);
}

static tsr_status order_x(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                          tsr_buffer *words) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_ordered",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("OP", s->combination)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_call_word(&call, "x_inner", z->strides[0][2]);
  tsri_call_word(&call, "size", z->size);
  tsri_call_word(&call, "inner", z->inner);
  tsri_call_word(&call, "total", s->x->count);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  return tsri_call_items(&call, s->x->count);
}

static tsr_status join_extremes(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                tsr_buffer *words) {
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_extreme",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("OP", s->combination)));
  tsri_scatter_pass_sources(run, z, run->dtype, &call);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  pass_columns(z, s->indices->count, &call);
  return tsri_call_items(&call, s->indices->count);
}

static tsr_status store_floats(const tsri_kernel_run *run, int64_t count, tsr_buffer *words) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_floats", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_call_buffer(&call, "words", words, TSR_U32);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "total", count);
  return tsri_call_items(&call, count);
}

static tsr_status run_extreme(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z) {
  tsr_buffer *words = NULL;
  tsr_status status = tsri_call_scratch(run->device, s->x->count, TSR_U32, &words);
  if (status == TSR_OK) status = order_x(run, s, z, words);
  if (status == TSR_OK) status = join_extremes(run, s, z, words);
  if (status == TSR_OK) status = store_floats(run, s->x->count, words);
  tsr_buffer_release(words);
  return status;
}

static tsr_status run_ranges(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                             const range_cut *cut) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_ranges",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]),
                           TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("OP", s->combination),
                           TSRI_CONSTANT("RANGE", cut->range), TSRI_CONSTANT("WHOLE", cut->ranges == 1),
                           TSRI_CONSTANT("EACH", EACH), TSRI_CONSTANT("SG", tsri_call_subgroup(run->device, GROUP)),
                           TSRI_CONSTANT("WG", GROUP)));
  return tsri_scatter_launch_ranges(run, z, cut->ranges, cut->per, &call);
}

bool tsri_scatter_unsorted(const tsri_kernel_run *given, int combination, tsr_status *out_status) {
  tsri_kernel_run copy = *given;
  const tsri_kernel_run *run = &copy;
  // Elements that replace others are copied bit by bit.
  if (combination == TSRI_COMBINE_REPLACE) copy.dtype = tsri_call_carrier(given->device, given->dtype);
  const tsri_scatter s = {.device = run->device,
                          .dtype = run->dtype,
                          .combination = combination,
                          .axis = (int)TSRI_GIVEN(run->node, scatter)->axis,
                          .x = &run->layouts[0],
                          .indices = &run->layouts[1],
                          .source = &run->layouts[2]};
  scatter_choice c;
  switch (choose(&s, &c)) {
    case FEW:
      *out_status = run_few(run, &s, &c.sizes);
      break;
    case OWNED:
      *out_status = tsri_scatter_owned_run(run, &s, &c.sizes, &c.owned);
      break;
    case LINES:
      *out_status = tsri_scatter_lines_run(run, &s, &c.sizes, &c.lines);
      break;
    case ATOMIC:
      *out_status = run_atomic(run, &s, &c.sizes);
      break;
    case EXACT:
      *out_status = tsri_scatter_exact_run(run, &c.sizes, &c.exact);
      break;
    case PARTS:
      *out_status = tsri_scatter_parts_run(run, &c.sizes, &c.parts);
      break;
    case TURNED:
      *out_status = tsri_scatter_turned_run(run, &c.sizes, &c.turned);
      break;
    case WORDS:
      *out_status = tsri_scatter_words_run(run, &s, &c.sizes, &c.words);
      break;
    case RANGES:
      *out_status = run_ranges(run, &s, &c.sizes, &c.cut);
      break;
    case EXTREME:
      *out_status = run_extreme(run, &s, &c.sizes);
      break;
    default:
      return false;
  }
  return true;
}
