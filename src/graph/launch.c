// SPDX-License-Identifier: MIT
// Runs one fusion: binds the buffers it reads, finds or builds its kernel, and launches it in pieces where 32-bit
// indices or the device's binding size cannot reach all elements.
#include "graph/launch.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "graph/codegen.h"
#include "graph/epilogue.h"
#include "graph/kernels.h"
#include "graph/native.h"
#include "graph/transfer.h"
#include "runtime/bytes_text.h"
#include "runtime/steps.h"

// Everything that one launch needs.
typedef struct fused_launch {
  tsr_device *device;
  tsri_graph_state *state;
  tsri_fused fused;
  tsri_codegen codegen;
  tsri_argument leaves[TSRI_MAX_LEAVES];  // the buffers are borrowed
  // Row-major copies of leaves (pack_leaf); NULL: the leaf is read where it is.
  tsr_buffer *packed[TSRI_MAX_LEAVES];
} fused_launch;

// --- Binding --------------------------------------------------------------------------------------------------------

// Kernels that read four elements at a time (load4) need bindings aligned to four elements of 8 bytes.
static size_t binding_alignment(const fused_launch *launch) {
  enum { WIDE_BYTES = 32 };
  size_t alignment = tsri_binding_alignment(launch->device);
  return TSRI_TUNED(tsri_tuning_of(launch->device), fused_bytes) > 0 && alignment < WIDE_BYTES ? WIDE_BYTES : alignment;
}

// Binds a small buffer in place of an input of a reduction over zero elements, which has no memory. The kernel does not read it.
static tsr_status bind_filler(fused_launch *launch, uint32_t index) {
  enum { FILLER_BYTES = 256 };
  tsr_status status =
      launch->packed[index] ? TSR_OK : tsr_buffer_create(launch->device, FILLER_BYTES, 0, &launch->packed[index]);
  launch->codegen.has_base[index] = false;
  launch->leaves[index] = (tsri_argument){.buffer = launch->packed[index], .element_count = 1};
  return status;
}

// Binds the leaf's memory from its lowest element on, rounded down to the alignment the device requires.
static tsr_status bind_leaf(fused_launch *launch, uint32_t index) {
  const tsri_leaf *leaf = &launch->fused.leaves[index];
  if (index == launch->codegen.in_place_leaf) return TSR_OK;  // bound with the results, from its first element on
  if (leaf->layout.count == 0) return bind_filler(launch, index);
  tsr_buffer *buffer = launch->packed[index] ? launch->packed[index] : tsri_value_buffer(leaf->value);
  int64_t low = 0, high = 0, element = (int64_t)tsr_dtype_bytes(leaf->dtype);
  tsri_layout_span(&leaf->layout, &low, &high);
  size_t first = buffer->offset + (size_t)(low * element);
  size_t aligned = first / binding_alignment(launch) * binding_alignment(launch);
  if (aligned < buffer->offset) aligned = buffer->offset;
  int64_t below = (int64_t)(first - aligned) / element;
  int64_t base = leaf->layout.offset - low + below;
  if (high - low + 1 + below > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: an input reaches over %lld elements at once, more than 2^31-1",
                     launch->fused.root->op->name, (long long)(high - low + 1));
  }
  launch->codegen.has_base[index] = base != 0;
  launch->codegen.base[index] = (uint32_t)base;
  launch->leaves[index] = (tsri_argument){
      .buffer = buffer, .offset = aligned - buffer->offset, .element_count = (uint64_t)(high - low + 1 + below)};
  return TSR_OK;
}

static tsr_status bind_leaves(fused_launch *launch) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < launch->fused.leaf_count && status == TSR_OK; i++) status = bind_leaf(launch, i);
  return status;
}

// Binds the leaves that are read after a reduction.
static tsr_status bind_outer_leaves(fused_launch *launch) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < launch->fused.leaf_count && status == TSR_OK; i++) {
    if (launch->fused.leaves[i].space == TSRI_OUTER) status = bind_leaf(launch, i);
  }
  return status;
}

// --- Kernel ---------------------------------------------------------------------------------------------------------

static void log_fusion(const fused_launch *launch) {
  if (!tsri_log_wants(TSR_LOG_PLAN)) return;
  const tsri_plan *plan = launch->fused.plan;
  tsri_builder line = {0};
  for (uint32_t i = 0; i < launch->fused.fusion->node_count; i++) {
    tsri_builder_add(&line, " %s", plan->nodes[plan->members[launch->fused.fusion->first + i]].node->op->name);
  }
  char shape[TSR_SHAPE_TEXT_BYTES];
  tsri_log(TSR_LOG_PLAN, "kernel of%s: %u operator%s, reads %u, result %s of %s", line.text ? line.text : "",
           launch->fused.fusion->node_count, launch->fused.fusion->node_count == 1 ? "" : "s", launch->fused.leaf_count,
           tsr_shape_format(launch->fused.root->shape, shape, sizeof shape), tsr_dtype_name(launch->fused.root->dtype));
  tsri_builder_deinit(&line);
}

static tsr_status find_kernel(fused_launch *launch, const tsri_built **out_built) {
  const tsri_codegen *codegen = &launch->codegen;
  *out_built = tsri_kernel_cache_find(launch->state->kernels, codegen->key, codegen->key_words);
  if (*out_built) return TSR_OK;
  tsri_builder builder = {0};
  tsri_codegen_text(codegen, &builder);
  if (builder.has_failed) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the text of a fused kernel");
  tsri_kernel_source source = {.text = builder.text, .bytes = builder.bytes, .file = "fused", .is_generated = true};
  tsr_status status = tsri_generated_kernel(launch->state, codegen->key, codegen->key_words, &source, out_built);
  tsri_builder_deinit(&builder);
  return status;
}

// Folds the numbers of work-groups to the device's limits: if there are too many in x, the rest continues in y. Forms that use y themselves are not folded:
// their kernels loop over y, or have few groups in y.
static void fold_groups(const tsr_device *device, uint64_t x, uint64_t y, uint32_t groups[3]) {
  uint64_t most_x = device->limits.max_groups[0], most_y = device->limits.max_groups[1];
  if (x > most_x && y == 1) {
    y = (x + most_x - 1) / most_x;
    x = (x + y - 1) / y;
  }
  groups[0] = (uint32_t)x;
  groups[1] = (uint32_t)(y < most_y ? y : most_y);
  groups[2] = 1;
}

// Whether the launch may go into the launch cache (repeat.h): the fusion is the whole plan, and launched in one piece.
static bool is_cacheable(const fused_launch *launch) {
  const tsri_fused *fused = &launch->fused;
  return launch->codegen.form == TSRI_FORM_FLAT && fused->fusion->node_count == fused->plan->node_count &&
         fused->kept.count == fused->root->count;
}

// Launches one kernel. In TSRI_STAGE_PARTS it writes `parts` from part `parts_at` on, otherwise `output`.
static tsr_status launch_stage(fused_launch *launch, tsr_buffer *parts, uint64_t parts_at, tsr_buffer *output,
                               size_t output_offset, uint64_t output_count) {
  const tsri_built *built = NULL;
  tsri_argument arguments[TSRI_MAX_LEAVES + 2];
  uint64_t block[TSRI_LANG_MAX_PARAMS];
  uint32_t groups[3], used = 0;
  uint64_t x = 0, y = 0;
  tsr_status status = tsri_codegen_prepare(&launch->codegen);
  if (status == TSR_OK) status = find_kernel(launch, &built);
  if (status != TSR_OK) return status;
  for (uint32_t i = 0; i < launch->fused.leaf_count; i++) {
    bool is_argument = tsri_codegen_reads(&launch->codegen, i) && i != launch->codegen.in_place_leaf;
    if (is_argument) arguments[used++] = launch->leaves[i];
  }
  uint64_t part_count = (uint64_t)launch->fused.kept.count * launch->codegen.parts;
  if (launch->codegen.stage == TSRI_STAGE_TOTAL) arguments[used++] = (tsri_argument){parts, 0, part_count};
  if (launch->codegen.stage == TSRI_STAGE_PARTS) {
    size_t offset = (size_t)parts_at * tsr_dtype_bytes(tsri_codegen_part_dtype(&launch->codegen));
    arguments[used++] = (tsri_argument){parts, offset, part_count};
  } else {
    arguments[used++] = (tsri_argument){output, output_offset, output_count};
  }
  tsri_kernel_hold(built);
  tsri_codegen_fill(&launch->codegen, built->kernel, 0, block);
  tsri_codegen_groups(&launch->codegen, &x, &y);
  fold_groups(launch->device, x, y, groups);
  status = tsri_built_launch(launch->device, built, groups, arguments, block);
  if (status != TSR_OK) return status;
  if (is_cacheable(launch)) tsri_repeat_keep(&launch->state->repeats, &launch->fused, built, groups);
  tsri_steps_add_launch(built, groups, arguments, block, 0, /*is_generated=*/true);
  return TSR_OK;
}

static tsr_status launch_reduction_in_parts(fused_launch *launch, tsr_buffer *output, size_t output_offset) {
  tsr_buffer *parts = NULL;
  uint64_t count = (uint64_t)launch->fused.kept.count;
  size_t bytes = (size_t)count * launch->codegen.parts * tsr_dtype_bytes(tsri_codegen_part_dtype(&launch->codegen));
  tsr_status status = tsri_buffer_create_temporary(launch->device, bytes, &parts);
  if (status == TSR_OK) status = launch_stage(launch, parts, 0, output, output_offset, count);
  if (status == TSR_OK) {
    tsri_codegen_total(&launch->codegen);
    status = launch_stage(launch, parts, 0, output, output_offset, count);
  }
  tsr_buffer_release(parts);
  return status;
}

// --- Pieces and packing ---------------------------------------------------------------------------------------------

// Limit for the results of one launch: indices have 32 bits, and strides may reach further than the results.
enum { MOST_RESULTS = 1 << 30 };

static tsr_status launch_piece(fused_launch *launch, tsr_buffer *output, int64_t first) {
  size_t offset = (size_t)first * tsr_dtype_bytes(launch->fused.root->dtype);
  tsr_status status = bind_leaves(launch);
  if (status != TSR_OK) return status;
  launch->codegen.output_at = first;
  status = tsri_native_reduce(&launch->codegen, &launch->leaves[0], output, first);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (launch->codegen.stage != TSRI_STAGE_WHOLE) return launch_reduction_in_parts(launch, output, offset);
  return launch_stage(launch, NULL, 0, output, offset, (uint64_t)launch->fused.kept.count);
}

// Computes the results from element `first` of `output` on.
typedef tsr_status (*launch_function)(fused_launch *launch, tsr_buffer *output, int64_t first);

// Computes the results by `compute` into a temporary buffer, then copies them to `output`, from element `first` on.
static tsr_status launch_and_copy(fused_launch *launch, launch_function compute, tsr_buffer *output, int64_t first) {
  size_t element = tsr_dtype_bytes(launch->fused.root->dtype), bytes = (size_t)launch->fused.kept.count * element;
  tsr_buffer *results = NULL;
  tsr_status status = tsri_buffer_create_temporary(launch->device, bytes, &results);
  if (status == TSR_OK) status = compute(launch, results, 0);
  if (status == TSR_OK) status = tsri_buffer_copy(output, (size_t)first * element, results, 0, bytes);
  tsr_buffer_release(results);
  return status;
}

// Whether the device can bind `output` from element `first` on.
static bool can_bind_output(const fused_launch *launch, int64_t first) {
  return (size_t)first * tsr_dtype_bytes(launch->fused.root->dtype) % binding_alignment(launch) == 0;
}

static tsr_status launch_piece_anywhere(fused_launch *launch, tsr_buffer *output, int64_t first) {
  return can_bind_output(launch, first) ? launch_piece(launch, output, first)
                                        : launch_and_copy(launch, launch_piece, output, first);
}

// A layout with the same span (tsri_layout_span) as leaf `index` has over the joined extents.
static tsri_layout span_layout(const tsri_fused *fused, uint32_t index, int64_t offset) {
  tsri_layout layout = {.offset = offset, .count = 1};
  const tsri_extent *extents[] = {&fused->kept, &fused->reduced};
  int64_t low = offset, high = offset;
  for (int i = 0; i < 2; i++) {
    for (int axis = 0; axis < extents[i]->rank; axis++) {
      int64_t reach = (extents[i]->dims[axis] - 1) * extents[i]->strides[index][axis];
      if (reach < 0) low += reach;
      else high += reach;
    }
  }
  // Two axes of two elements, one with a negative and one with a positive stride, have exactly this span.
  layout.shape = TSR_SHAPE(2, 2);
  layout.strides[0] = low - offset;
  layout.strides[1] = high - offset;
  layout.count = 4;
  return layout;
}

// Limit for the elements of a leaf that one launch can reach: indices have 32 bits, and a binding has at most
// max_binding_bytes.
static int64_t most_elements(const fused_launch *launch, tsr_dtype dtype) {
  enum { ALIGNMENT = 256 };  // a binding may begin up to this many bytes before the first element
  uint64_t bytes = launch->device->limits.max_binding_bytes, element = tsr_dtype_bytes(dtype);
  uint64_t most = INT32_MAX - ALIGNMENT;
  if (bytes && (bytes - ALIGNMENT) / element < most) most = (bytes - ALIGNMENT) / element;
  return (int64_t)most;
}

static int64_t span_of(const tsri_layout *layout) {
  int64_t low = 0, high = 0;
  if (layout->count == 0) return 0;
  tsri_layout_span(layout, &low, &high);
  return high - low + 1;
}

// The number of steps along the extent's first axis for which one launch can reach all leaves of the space; 0 if not even one step.
static int64_t steps_in_reach(const fused_launch *launch, const tsri_extent *extent, tsri_space space) {
  int64_t steps = extent->dims[0];
  for (uint32_t i = 0; i < launch->fused.leaf_count; i++) {
    const tsri_leaf *leaf = &launch->fused.leaves[i];
    int64_t stride = extent->strides[i][0] < 0 ? -extent->strides[i][0] : extent->strides[i][0];
    int64_t span = span_of(&leaf->layout), most = most_elements(launch, leaf->dtype);
    if (leaf->space != space || span <= most) continue;
    int64_t one = span - (extent->dims[0] - 1) * stride;  // elements spanned by a single step
    if (one > most) return 0;
    if (stride > 0 && (most - one) / stride + 1 < steps) steps = (most - one) / stride + 1;
  }
  return steps;
}

// A copy of `launch`, limited to `count` steps from `at` on of the first axis of its kept or reduced extent. After
// this, leaf->layout is valid for tsri_layout_span() only; strides come from the extents.
static fused_launch cut_piece(const fused_launch *launch, bool is_kept, int64_t at, int64_t count) {
  fused_launch piece = *launch;
  tsri_extent *extent = is_kept ? &piece.fused.kept : &piece.fused.reduced;
  tsri_space space = launch->fused.heavy ? TSRI_INNER : TSRI_OUTER;
  int64_t row = extent->count / extent->dims[0];
  extent->dims[0] = count;
  extent->count = count * row;
  for (uint32_t i = 0; i < launch->fused.leaf_count; i++) {
    tsri_leaf *leaf = &piece.fused.leaves[i];
    if (leaf->space == space) {
      leaf->layout = span_layout(&piece.fused, i, leaf->layout.offset + at * extent->strides[i][0]);
    } else if (is_kept && leaf->layout.count > 1 && tsri_layout_is_contiguous(&leaf->layout)) {
      leaf->layout.offset += at * row;  // leaves after a reduction are read in order, or are a single number
    }
  }
  return piece;
}

// Splits axis 0 of the kept axes into chunks of at most `rows`, rounded down so that every chunk's output offset is a
// multiple of the binding alignment.
static tsr_status launch_pieces(fused_launch *launch, tsr_buffer *output, int64_t first, int64_t rows) {
  int64_t all = launch->fused.kept.dims[0], row = launch->fused.kept.count / all, unit = 1;
  size_t alignment = binding_alignment(launch), row_bytes = (size_t)row * tsr_dtype_bytes(launch->fused.root->dtype);
  tsr_status status = TSR_OK;
  while ((size_t)unit * row_bytes % alignment != 0) unit *= 2;  // alignments are powers of two
  if (rows > unit) rows -= rows % unit;
  for (int64_t at = 0; at < all && status == TSR_OK; at += rows) {
    fused_launch piece = cut_piece(launch, true, at, all - at < rows ? all - at : rows);
    piece.codegen.fused = &piece.fused;
    status = launch_piece_anywhere(&piece, output, first + at * row);
  }
  return status;
}

// The number of parts into which each piece of a reduction is divided: enough to keep the device busy, and such that the output offset of every piece's parts
// is a multiple of the binding alignment.
static uint32_t parts_of_piece(const fused_launch *launch) {
  enum { BUSY = 256 };
  size_t alignment = binding_alignment(launch);
  uint64_t count = (uint64_t)launch->fused.kept.count,
           element = tsr_dtype_bytes(tsri_codegen_part_dtype(&launch->codegen));
  uint32_t parts = 1;
  while (parts < BUSY && (parts * count < BUSY || parts * count * element % alignment != 0)) parts *= 2;
  return parts;
}

// Reduces more elements than one launch can reach. Each launch reduces `steps` indices of the first reduced axis to a few parts; a last launch reduces all
// parts to the results.
static tsr_status launch_reduced_pieces(fused_launch *launch, tsr_buffer *output, int64_t steps) {
  int64_t all = launch->fused.reduced.dims[0], pieces = (all + steps - 1) / steps;
  uint64_t count = (uint64_t)launch->fused.kept.count, each = parts_of_piece(launch);
  size_t element = tsr_dtype_bytes(tsri_codegen_part_dtype(&launch->codegen));
  tsr_buffer *parts = NULL;
  tsr_status status =
      tsri_buffer_create_temporary(launch->device, (size_t)((uint64_t)pieces * each * count) * element, &parts);
  launch->codegen.stage = TSRI_STAGE_PARTS;
  launch->codegen.team = 0;
  launch->codegen.slices = 1;
  launch->codegen.parts = (uint32_t)each;
  for (int64_t i = 0; i < pieces && status == TSR_OK; i++) {
    fused_launch piece = cut_piece(launch, false, i * steps, all - i * steps < steps ? all - i * steps : steps);
    piece.codegen.fused = &piece.fused;
    status = bind_leaves(&piece);
    if (status == TSR_OK) status = launch_stage(&piece, parts, (uint64_t)i * each * count, output, 0, count);
  }
  launch->codegen.parts = (uint32_t)((uint64_t)pieces * each);
  tsri_codegen_total(&launch->codegen);
  if (status == TSR_OK) status = bind_outer_leaves(launch);
  if (status == TSR_OK) status = launch_stage(launch, parts, 0, output, 0, count);
  tsr_buffer_release(parts);
  return status;
}

static bool is_in_reach(const fused_launch *launch) {
  int64_t results = launch->fused.kept.count;
  if (results > MOST_RESULTS || results > most_elements(launch, launch->fused.root->dtype)) return false;
  for (uint32_t i = 0; i < launch->fused.leaf_count; i++) {
    const tsri_leaf *leaf = &launch->fused.leaves[i];
    if (span_of(&leaf->layout) > most_elements(launch, leaf->dtype)) return false;
  }
  return true;
}

static bool can_join_parts(const tsri_node *heavy) {
  return heavy && heavy->op->reduce != TSRI_REDUCE_ARGMAX && heavy->op->reduce != TSRI_REDUCE_ARGMIN;
}

// `first` is the element of `output` at which the results begin; it is 0 for reductions.
static tsr_status launch_fused(fused_launch *launch, tsr_buffer *output, int64_t first) {
  const tsri_fused *fused = &launch->fused;
  if (is_in_reach(launch)) return launch_piece_anywhere(launch, output, first);
  if (fused->kept.rank > 0) {
    int64_t row = fused->kept.count / fused->kept.dims[0], most = most_elements(launch, fused->root->dtype);
    int64_t rows = steps_in_reach(launch, &fused->kept, fused->heavy ? TSRI_INNER : TSRI_OUTER);
    if (most > MOST_RESULTS) most = MOST_RESULTS;
    if (rows > most / row) rows = most / row;
    if (rows > 0) return launch_pieces(launch, output, first, rows);
  }
  if (can_join_parts(fused->heavy) && fused->reduced.rank > 0) {
    int64_t steps = steps_in_reach(launch, &fused->reduced, TSRI_INNER);
    if (steps > 0) return launch_reduced_pieces(launch, output, steps);
  }
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                   "%s: an input lies too far apart for %s, whose kernels see %s at once; copy it with tsr_contiguous "
                   "on another device, or work on parts of it",
                   fused->root->op->name, launch->device->info.name,
                   tsri_format_bytes((uint64_t)most_elements(launch, TSR_U8)).text);
}

// The leaf that reads the elements of `output` which the results replace (tsri_fusion.is_in_place).
static uint32_t find_in_place_leaf(const fused_launch *launch, const tsr_buffer *output) {
  uint32_t leaf = 0;
  while (tsri_value_buffer(launch->fused.leaves[leaf].value) != output) leaf++;
  return leaf;
}

// Whether a launch may fail after some of its work items have stored their results: the CPU stops a kernel at the device's time-out. Other devices
// finish a kernel that they have begun, whatever the wait for it returns.
static bool may_stop_midway(const tsr_device *device) {
  return tsri_device_is_cpu(device) && device->timeout_ns != UINT64_MAX;
}

// As launch_fused, for a fusion that reads the elements it replaces. A kernel that is launched once reads and writes the same binding. Elements that need
// several launches, an offset that cannot be bound, and a kernel that may stop midway are computed into a temporary buffer first: if a launch fails,
// `output` is as it was, so that the next read can run the assignment again.
static tsr_status launch_in_place(fused_launch *launch, tsr_buffer *output, int64_t first) {
  bool is_one_launch = is_in_reach(launch) && can_bind_output(launch, first) && !may_stop_midway(launch->device);
  if (!is_one_launch) return launch_and_copy(launch, launch_fused, output, first);
  launch->codegen.in_place_leaf = find_in_place_leaf(launch, output);
  return launch_piece(launch, output, first);
}

static tsr_status launch_results(fused_launch *launch, tsr_buffer *output, int64_t first) {
  return (launch->fused.fusion->is_in_place ? launch_in_place : launch_fused)(launch, output, first);
}

// Copies a leaf into row-major order. The caller measures the fusion again.
static tsr_status pack_leaf(fused_launch *launch, uint32_t index) {
  tsri_leaf *leaf = &launch->fused.leaves[index];
  tsri_view view = {.buffer = tsri_value_buffer(leaf->value), .dtype = leaf->dtype, .layout = leaf->layout};
  tsr_status status = tsri_copy_contiguous(&view, &launch->packed[index]);
  if (status == TSR_OK) leaf->layout = tsri_packed_layout(&leaf->layout);
  return status;
}

// Copies strided inputs into row-major order. Used where a kernel has too few parameters for all strides.
static tsr_status pack_leaves(fused_launch *launch) {
  for (uint32_t i = 0; i < launch->fused.leaf_count; i++) {
    if (launch->packed[i] || tsri_layout_is_contiguous(&launch->fused.leaves[i].layout)) continue;
    tsr_status status = pack_leaf(launch, i);
    if (status != TSR_OK) return status;
  }
  tsri_fused_measure(&launch->fused);
  return TSR_OK;
}

// Whether packing the leaf (copying it to row-major order) is faster than reading it through its strides. It is if neighbours along the last axis are in
// different cache lines; or if that axis is short and the strides are not those of one axis, so that each row computes its indices anew.
static bool is_worth_packing(const fused_launch *launch, uint32_t index) {
  enum { LINE_BYTES = 64 };
  const tsri_extent *kept = &launch->fused.kept;
  const int64_t *strides = kept->strides[index];
  int last = kept->rank - 1;
  int64_t step = strides[last] < 0 ? -strides[last] : strides[last];
  if (step * (int64_t)tsr_dtype_bytes(launch->fused.leaves[index].dtype) > LINE_BYTES) return true;
  bool is_even = true;
  for (int i = 0; i < last; i++) is_even = is_even && strides[i] == strides[i + 1] * kept->dims[i + 1];
  return !is_even && kept->dims[last] < TSRI_TUNED(tsri_tuning_of(launch->device), fused_packed);
}

// Packs the leaves of an element-wise fusion for which is_worth_packing is true. A leaf for whose copy there is no memory is read through its strides.
static tsr_status pack_slow_leaves(fused_launch *launch) {
  enum { FEW = 256 };  // results, for fewer of which the launch that packs takes longer than it saves
  const tsri_fused *fused = &launch->fused;
  bool is_on = TSRI_TUNED(tsri_tuning_of(launch->device), fused_packed) > 0;
  if (!is_on || fused->heavy || fused->kept.rank == 0 || fused->kept.count < FEW) return TSR_OK;
  bool is_changed = false;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (!is_worth_packing(launch, i)) continue;
    tsr_status status = pack_leaf(launch, i);
    if (status != TSR_OK && status != TSR_ERR_OUT_OF_MEMORY) return status;
    is_changed = is_changed || status == TSR_OK;
  }
  if (is_changed) tsri_fused_measure(&launch->fused);
  return TSR_OK;
}

static bool has_strided_leaf(const tsri_fused *fused) {
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (!tsri_layout_is_contiguous(&fused->leaves[i].layout)) return true;
  }
  return false;
}

static tsr_status run_fused(fused_launch *launch, tsr_buffer *output, int64_t first) {
  log_fusion(launch);
  tsr_status status = pack_slow_leaves(launch);
  if (status != TSR_OK) return status;
  tsri_codegen_init(&launch->fused, tsri_tuning_of(launch->device), &launch->codegen);
  status = launch_results(launch, output, first);
  if (status != TSR_ERR_UNSUPPORTED || !has_strided_leaf(&launch->fused)) return status;
  status = pack_leaves(launch);
  tsri_codegen_init(&launch->fused, tsri_tuning_of(launch->device), &launch->codegen);
  return status == TSR_OK ? launch_results(launch, output, first) : status;
}

// --- Operators with kernels of their own ----------------------------------------------------------------------------

// The inputs of an operator with its own kernel; `memory` holds the arrays if there are more than TSRI_MAX_LEAVES.
typedef struct kernel_inputs {
  tsr_buffer **buffers;
  tsri_layout *layouts;
  tsr_dtype *dtypes;
  void *memory;
  tsr_buffer *few_buffers[TSRI_MAX_LEAVES];
  tsri_layout few_layouts[TSRI_MAX_LEAVES];
  tsr_dtype few_dtypes[TSRI_MAX_LEAVES];
} kernel_inputs;

static bool kernel_inputs_init(kernel_inputs *inputs, uint32_t count) {
  inputs->buffers = inputs->few_buffers;
  inputs->layouts = inputs->few_layouts;
  inputs->dtypes = inputs->few_dtypes;
  inputs->memory = NULL;
  if (count <= TSRI_MAX_LEAVES) return true;
  inputs->memory = tsri_malloc(count * (sizeof *inputs->layouts + sizeof *inputs->buffers + sizeof *inputs->dtypes));
  if (!inputs->memory) return false;
  inputs->layouts = inputs->memory;
  inputs->buffers = (tsr_buffer **)(inputs->layouts + count);
  inputs->dtypes = (tsr_dtype *)(inputs->buffers + count);
  return true;
}

static tsr_status run_kernel_op(tsr_device *device, const tsri_plan *plan, const tsri_node *node,
                                tsr_buffer *const *outputs, const tsri_epilogue *epilogue) {
  kernel_inputs inputs;
  if (!kernel_inputs_init(&inputs, node->input_count)) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a list of %u inputs", node->op->name,
                     node->input_count);
  }
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t number = tsri_plan_number(plan, node->inputs[i].value);
    const tsri_value *value = number == TSRI_NONE ? node->inputs[i].value : &plan->nodes[number].node->value;
    inputs.buffers[i] = tsri_value_buffer(value);
    // The kernel's load hook computes this input: bind some buffer, which is not read.
    if (!inputs.buffers[i] && epilogue) inputs.buffers[i] = epilogue->leaves[0].buffer;
    inputs.layouts[i] = node->inputs[i].layout;
    inputs.dtypes[i] = node->inputs[i].dtype;
  }
  tsri_kernel_run run = {
      .device = device,
      .node = node,
      .input_count = (int)node->input_count,
      .inputs = inputs.buffers,
      .layouts = inputs.layouts,
      .input_dtypes = inputs.dtypes,
      .output = outputs[0],
      .dtype = node->dtype,
      .shape = node->shape,
      .output_count = (int)node->result_count,
      .outputs = outputs,
      .epilogue = epilogue,
  };
  tsr_status status = node->op->run(&run);
  tsri_free(inputs.memory);
  return status;
}

// Runs an operator with its own kernel and the element-wise operators around it in that kernel's hooks.
static tsr_status run_with_epilogue(fused_launch *launch, tsr_buffer *const *outputs) {
  log_fusion(launch);
  tsr_status status = tsri_native_heavy(launch->fused.plan, launch->fused.fusion, outputs[0]);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsri_codegen_init(&launch->fused, tsri_tuning_of(launch->device), &launch->codegen);
  status = bind_leaves(launch);
  if (status == TSR_OK) status = tsri_codegen_prepare(&launch->codegen);
  tsri_epilogue epilogue = {.codegen = &launch->codegen, .leaves = launch->leaves};
  return status == TSR_OK ? run_kernel_op(launch->device, launch->fused.plan, launch->fused.heavy, outputs, &epilogue)
                          : status;
}

static bool is_only_copies(const tsri_fused *fused) {
  bool is_only = true;
  for (uint32_t i = 0; i < fused->fusion->node_count && is_only; i++) {
    is_only = fused->plan->nodes[fused->plan->members[fused->fusion->first + i]].node->op == &tsri_op_copy;
  }
  return is_only;
}

// A fusion of nothing but copies is one copy of bytes: the device's own copy, or the kernels of strided.c.
static tsr_status run_copies(const tsri_fused *fused, tsr_buffer *output, int64_t first) {
  if (fused->fusion->is_in_place) return TSR_OK;  // each element would be copied to itself
  const tsri_leaf *leaf = &fused->leaves[0];
  tsri_view from = {.buffer = tsri_value_buffer(leaf->value), .dtype = leaf->dtype, .layout = leaf->layout};
  tsri_view to = {.buffer = output, .dtype = leaf->dtype, .layout = tsri_packed_layout(&leaf->layout)};
  to.layout.offset = first;
  return tsri_copy_view(&from, &to);
}

static tsr_status launch_all(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                             tsr_buffer *const *outputs, int64_t first) {
  fused_launch launch;
  launch.device = plan->nodes[fusion->root].node->value.device;
  launch.state = state;
  memset(launch.packed, 0, sizeof launch.packed);
  tsr_status status = tsri_fused_init(plan, fusion, &launch.fused);
  bool is_hook = launch.fused.heavy && launch.fused.heavy->op->kind == TSRI_OP_KERNEL;
  if (status == TSR_OK && is_only_copies(&launch.fused)) return run_copies(&launch.fused, outputs[0], first);
  if (status == TSR_OK) status = is_hook ? run_with_epilogue(&launch, outputs) : run_fused(&launch, outputs[0], first);
  for (int i = 0; i < TSRI_MAX_LEAVES; i++) tsr_buffer_release(launch.packed[i]);
  return status;
}

tsr_status tsri_launch_fusion(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                              tsr_buffer *const *outputs) {
  const tsri_node *root = plan->nodes[fusion->root].node;
  if (root->op->kind != TSRI_OP_KERNEL || fusion->node_count > 1) return launch_all(state, plan, fusion, outputs, 0);
  tsri_log(TSR_LOG_PLAN, "operator %s with its own kernel", root->op->name);
  tsr_status status = tsri_native_heavy(plan, fusion, outputs[0]);
  return status == TSR_ERR_UNSUPPORTED ? run_kernel_op(root->value.device, plan, root, outputs, NULL) : status;
}

tsr_status tsri_launch_fusion_at(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsr_buffer *output, int64_t first) {
  if (first == 0) return tsri_launch_fusion(state, plan, fusion, &output);
  return launch_all(state, plan, fusion, &output, first);
}
