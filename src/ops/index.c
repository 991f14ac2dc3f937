// SPDX-License-Identifier: MIT
// Reading and writing by index: gather, index_select, take, scatter, scatter_add and its variants, one_hot.
#include "core/error.h"
#include "ops/axes.h"
#include "ops/checked.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scatter.h"
#include "ops/sort.h"
#include "ops/walk.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

static tsr_status check_index_list(const char *caller, const tsr_tensor *indices) {
  tsr_status status = tsri_tensor_check(caller, indices);
  if (status != TSR_OK) return status;
  tsr_dtype_kind kind = tsr_dtype_kind_of(indices->dtype);
  if (kind == TSR_KIND_INT || kind == TSR_KIND_UINT) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: indices are integers, not %s", caller, tsr_dtype_name(indices->dtype));
}

static tsr_status check_indices(const char *caller, const tsr_tensor *x, const tsr_tensor *indices) {
  tsr_status status = tsri_tensor_check(caller, x);
  return status == TSR_OK ? check_index_list(caller, indices) : status;
}

// Checks that `part` is not larger than `whole` along any axis, except along `axis`.
static tsr_status check_inside(const char *caller, const char *part_name, tsr_shape part, tsr_shape whole, int axis) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  if (part.rank != whole.rank) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: ranks differ, the tensor is %s, %s is %s", caller,
                     tsr_shape_format(whole, a, sizeof a), part_name, tsr_shape_format(part, b, sizeof b));
  }
  for (int i = 0; i < whole.rank; i++) {
    if (i == axis || part.dims[i] <= whole.dims[i]) continue;
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d: %lld and %lld; the tensor is %s, %s is %s", caller, i,
                     (long long)whole.dims[i], (long long)part.dims[i], tsr_shape_format(whole, a, sizeof a), part_name,
                     tsr_shape_format(part, b, sizeof b));
  }
  return TSR_OK;
}

// --- Native operators ------------------------------------------------------------------------------------------------

// Describes a native operator without buffers. `walk` iterates over the indices; its operand 0 has the strides of the
// indexed tensor, its operand `index_operand` those of the indices (-1: the indices are row-major).
static tsri_native_op native_op(tsri_native_kind kind, const tsri_kernel_run *run, const tsri_walk *walk,
                                int index_operand) {
  tsri_native_op op = {.kind = kind, .dtype = run->dtype, .result = run->dtype};
  tsri_index_op *index = &op.is.index;
  index->rank = walk->rank;
  index->index_dtype = run->input_dtypes[1];
  int64_t step = 1;
  for (int i = walk->rank - 1; i >= 0; i--) {
    index->dims[i] = walk->dims[i];
    index->strides[i] = walk->strides[0][i];
    index->index_strides[i] = index_operand < 0 ? step : walk->strides[index_operand][i];
    step *= walk->dims[i];
  }
  return op;
}

static tsri_place place_of(const tsri_kernel_run *run, int input) {
  tsri_place place = {.offset = (size_t)run->layouts[input].offset * tsr_dtype_bytes(run->input_dtypes[input])};
  tsri_place_bind(&place, run->inputs[input]);
  return place;
}

// gather_native and scatter_native return TSR_ERR_UNSUPPORTED, without a message, if the device has no such operator.
static tsr_status gather_native(const tsri_kernel_run *run, const tsri_walk *walk, int64_t size, int64_t step) {
  tsri_native_op op = native_op(TSRI_NATIVE_GATHER, run, walk, 1);
  op.is.index.size = size;
  op.is.index.step = step;
  op.is.index.x = place_of(run, 0);
  op.is.index.indices = place_of(run, 1);
  tsri_place_bind(&op.is.index.y, run->output);
  return tsri_device_run_op(run->device, &op, (tsr_buffer *const[]){run->output, run->inputs[0], run->inputs[1]}, 3);
}

static tsr_status scatter_add_native(const tsri_kernel_run *run, const tsri_walk *walk, int64_t size, int64_t step) {
  bool is_sum = TSRI_GIVEN(run->node, scatter)->combination == TSRI_COMBINE_SUM;
  if (!is_sum || !tsri_layout_is_contiguous(&run->layouts[1])) return TSR_ERR_UNSUPPORTED;
  tsri_native_op op = native_op(TSRI_NATIVE_SCATTER_ADD, run, walk, -1);
  op.is.index.size = size;
  op.is.index.step = step;
  op.is.index.count = run->layouts[0].count;
  op.is.index.x = place_of(run, 0);
  op.is.index.indices = place_of(run, 1);
  op.is.index.source = place_of(run, 2);
  tsri_place_bind(&op.is.index.y, run->output);
  tsr_buffer *const buffers[] = {run->output, run->inputs[0], run->inputs[1], run->inputs[2]};
  return tsri_device_run_op(run->device, &op, buffers, 4);
}

// --- gather ----------------------------------------------------------------------------------------------------------

// How the kernel gather copies: `unit` is the dtype of a copied unit, which may hold several elements or a part of one; `each` is how many neighbouring units
// an item copies.
typedef struct gather_plan {
  tsri_walk walk;        // operand 0: x without the indexed axis, operand 1: the indices
  int64_t step, offset;  // of x, in units: stride along the indexed axis, first element
  tsr_dtype unit;
  int each;
  bool has_rows;  // neighbouring units share an index and are neighbours in x
} gather_plan;

static bool all_divide(const tsri_walk *walk, int operand, int64_t by) {
  bool divide = true;
  for (int i = 0; i + 1 < walk->rank; i++) divide = divide && walk->strides[operand][i] % by == 0;
  return divide;
}

// Copies in units of 32 bits instead of elements of 8, 16 or 64 bits, if rows, strides and offset are whole numbers of such units. Elements of 64 bits are
// only divided if their units can then be copied four at a time.
static void widen_units(const tsri_kernel_run *run, gather_plan *p) {
  size_t bytes = tsr_dtype_bytes(run->dtype);
  tsri_walk *walk = &p->walk;
  int last = walk->rank - 1;
  int64_t parts = 4 / (int64_t)bytes,
          more = (int64_t)bytes / 4;  // units of 4 bytes: elements per unit, or units per element; the other one is 0
  int64_t whole = more == 2 ? 2 : parts > 0 ? parts : 1;
  if (walk->dims[last] % whole || p->step % whole || p->offset % whole || !all_divide(walk, 0, whole)) return;
  size_t most = (size_t)TSRI_CALL_MAX_ELEMENTS * sizeof(uint32_t);
  if (tsr_buffer_bytes(run->inputs[0]) >= most || tsr_buffer_bytes(run->output) >= most) return;
  int64_t by = parts > 0 ? parts : 1, times = parts > 0 ? 1 : more;
  for (int i = 0; i < last; i++) walk->strides[0][i] = walk->strides[0][i] / by * times;
  walk->dims[last] = walk->dims[last] / by * times;
  walk->count = walk->count / by * times;
  p->step = p->step / by * times;
  p->offset = p->offset / by * times;
  p->unit = TSR_U32;
}

static void plan_gather(const tsri_kernel_run *run, gather_plan *p) {
  tsri_walk *walk = &p->walk;
  int last = walk->rank - 1;
  bool is_wide = tsri_call_tuning(run->device)->reduce_wide != 0;
  p->unit = tsri_call_carrier(run->device, run->dtype);
  p->each = 1;
  p->has_rows = is_wide && walk->strides[0][last] == 1 && walk->strides[1][last] == 0;
  if (p->has_rows) {
    widen_units(run, p);
    bool is_aligned = p->step % 4 == 0 && p->offset % 4 == 0 && all_divide(walk, 0, 4);
    if (is_aligned && walk->dims[last] % 4 == 0) p->each = 4;
  } else if (is_wide && walk->strides[1][last] == 1) {
    int each = tsr_dtype_bytes(run->dtype) == 8 ? 2 : 4;  // 16 bytes, which are stored at a time
    if (walk->dims[last] % each == 0 && run->layouts[1].offset % each == 0 && all_divide(walk, 1, each)) p->each = each;
  }
}

static tsr_status launch_gather(const tsri_kernel_run *run, const gather_plan *p, int64_t size) {
  const tsri_walk *walk = &p->walk;
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_index", "gather",
      TSRI_WITH(TSRI_TYPE("T", p->unit), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANK", walk->rank),
                TSRI_CONSTANT("EACH", p->each), TSRI_CONSTANT("QUADS", p->has_rows && p->each > 1),
                TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  tsri_call_buffer(&call, "x", run->inputs[0], p->unit);
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "y", run->output, p->unit);
  tsri_call_word(&call, "n", walk->count);
  tsri_call_word(&call, "x_at", p->offset);
  tsri_call_word(&call, "i_at", run->layouts[1].offset);
  tsri_call_word(&call, "size", size);
  tsri_call_word(&call, "step", p->step);
  tsri_call_word(&call, "inner", walk->strides[0][walk->rank - 1]);
  tsri_walk_pass_dims(walk, &call);
  tsri_walk_pass_strides(walk, 0, "a", &call);
  tsri_walk_pass_strides(walk, 1, "b", &call);
  return tsri_call_rounds(&call, walk->count / p->each);
}

// Inputs: x and the indices, which have the shape of the result. For take (is_list), x is one-dimensional and the result may have any rank.
tsr_status tsri_run_gather(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0], *indices = &run->layouts[1];
  if (indices->count == 0) return TSR_OK;
  int axis = (int)TSRI_GIVEN(run->node, gather)->axis;
  bool is_list = TSRI_GIVEN(run->node, gather)->is_list != 0;
  tsr_status status = tsri_check_indices(run, is_list ? -1 : axis, x->shape.dims[axis]);
  if (status != TSR_OK) return status;
  if (x->count == 0) return tsri_call_zero(run);  // every index is out of range: gives 0
  status = tsri_call_check("gather", x);
  if (status == TSR_OK) status = tsri_call_check("gather", indices);
  if (status != TSR_OK) return status;
  int64_t strides[TSR_MAX_RANK] = {0};
  for (int i = 0; i < x->shape.rank && !is_list; i++) strides[i] = i == axis ? 0 : x->strides[i];
  gather_plan plan = {.step = x->strides[axis], .offset = x->offset};
  tsri_walk_init(&plan.walk, run->shape, 2, (const int64_t *[]){strides, indices->strides});
  status = gather_native(run, &plan.walk, x->shape.dims[axis], x->strides[axis]);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  plan_gather(run, &plan);
  return launch_gather(run, &plan, x->shape.dims[axis]);
}

// `indices` must have the shape of the result.
static tsr_tensor *record_gather(const tsri_op *op, tsr_tensor *x, tsr_tensor *indices, int axis) {
  tsr_tensor *inputs[2] = {x, indices};
  tsr_device *device = NULL;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, indices);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, 2, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, x->dtype, indices->layout.shape, inputs, 2,
                            TSRI_GIVE(op, gather, .axis = axis, .is_list = op == TSRI_BODY(take)));
}

tsr_tensor *tsr_gather(tsr_tensor *x, int axis, tsr_tensor *indices) {
  tsr_status status = check_indices("gather", x, indices);
  if (status == TSR_OK) status = tsri_axis("gather", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK) status = check_inside("gather", "indices", indices->layout.shape, x->layout.shape, axis);
  return status == TSR_OK ? record_gather(TSRI_BODY(gather), x, indices, axis) : tsri_tensor_fail(status);
}

tsr_tensor *tsr_index_select(tsr_tensor *x, int axis, tsr_tensor *indices) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = check_indices("index_select", x, indices);
  if (status == TSR_OK) status = tsri_axis("index_select", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && indices->layout.shape.rank != 1) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "index_select: indices are a list, not %s",
                       tsr_shape_format(indices->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout view = {.shape = x->layout.shape, .offset = indices->layout.offset};
  view.shape.dims[axis] = indices->layout.shape.dims[0];
  view.strides[axis] = indices->layout.strides[0];
  status = tsri_shape_check("index_select", view.shape, &view.count);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *expanded = tsri_tensor_view(indices, &view);
  tsr_tensor *result = record_gather(TSRI_BODY(index_select), x, expanded, axis);
  tsr_release(expanded);
  return result;
}

tsr_tensor *tsr_take(tsr_tensor *x, tsr_tensor *indices) {
  tsr_status status = check_indices("take", x, indices);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *list = tsr_reshape(x, TSR_SHAPE(x->layout.count));
  tsr_tensor *result = record_gather(TSRI_BODY(take), list, indices, 0);
  tsr_release(list);
  return tsri_tensor_named("take", result);
}

// --- scatter ---------------------------------------------------------------------------------------------------------
//
// Inputs: x, indices, source. They are contiguous, unless a kernel reads views (tsri_scatter_takes) or indices are broadcast along rows.

// Passes the strides from which the kernel computes the target of element i of the indices: the element's own position in x, except along the axis, where its
// index is the position.
static void pass_target(const tsri_kernel_run *run, const tsri_walk *walk, tsri_call *call) {
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  int64_t strides[TSR_MAX_RANK];
  tsri_row_major(run->shape, strides);
  tsri_call_word(call, "n", walk->count);
  tsri_call_word(call, "i_at", run->layouts[1].offset);
  tsri_call_word(call, "size", run->shape.dims[axis]);
  tsri_call_word(call, "step", strides[axis]);
  tsri_walk_pass_dims(walk, call);
  tsri_walk_pass_strides(walk, 0, "a", call);
}

static void walk_target(const tsri_kernel_run *run, tsri_walk *out_walk) {
  int64_t strides[TSR_MAX_RANK];
  tsri_row_major(run->shape, strides);
  strides[TSRI_GIVEN(run->node, scatter)->axis] = 0;
  tsri_walk_init(out_walk, run->layouts[1].shape, 1, (const int64_t *[]){strides});
}

static tsr_status check_scatter(const tsri_kernel_run *run) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_call_check("scatter", &run->layouts[i]);
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  return status == TSR_OK ? tsri_check_indices(run, axis, run->shape.dims[axis]) : status;
}

static tsr_status copy_x(const tsri_kernel_run *run) {
  size_t offset = (size_t)run->layouts[0].offset * tsr_dtype_bytes(run->dtype);
  return tsr_buffer_copy(run->output, 0, run->inputs[0], offset, tsr_buffer_bytes(run->output));
}

static tsr_status pick_winners(const tsri_kernel_run *run, tsr_buffer *winners) {
  tsr_dtype carrier = tsri_call_carrier(run->device, run->dtype);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "scatter_pick", TSRI_WITH(TSRI_TYPE("T", carrier)));
  tsri_call_buffer(&call, "x", run->inputs[0], carrier);
  tsri_call_buffer(&call, "source", run->inputs[2], carrier);
  tsri_call_buffer(&call, "winners", winners, TSR_U32);
  tsri_call_buffer(&call, "y", run->output, carrier);
  tsri_call_word(&call, "n", run->layouts[0].count);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_call_word(&call, "s_at", run->layouts[2].offset);
  return tsri_call_items(&call, run->layouts[0].count);
}

// Launches scatter_mark: sets the winner of each target, or with `clears` makes it 0.
static tsr_status mark_winners(const tsri_kernel_run *run, tsr_buffer *winners, bool clears) {
  tsri_walk walk;
  walk_target(run, &walk);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "scatter_mark",
                 TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANK", walk.rank),
                           TSRI_CONSTANT("CLEARS", clears)));
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "winners", winners, TSR_U32);
  pass_target(run, &walk, &call);
  return tsri_call_items(&call, walk.count);
}

// Copies x and writes the winners over it.
static tsr_status place_winners(const tsri_kernel_run *run, tsr_buffer *winners) {
  tsr_dtype carrier = tsri_call_carrier(run->device, run->dtype);
  tsri_walk walk;
  walk_target(run, &walk);
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_index", "scatter_place",
      TSRI_WITH(TSRI_TYPE("T", carrier), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANK", walk.rank)));
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "source", run->inputs[2], carrier);
  tsri_call_buffer(&call, "winners", winners, TSR_U32);
  tsri_call_buffer(&call, "y", run->output, carrier);
  tsri_call_word(&call, "s_at", run->layouts[2].offset);
  pass_target(run, &walk, &call);
  tsr_status status = copy_x(run);
  return status == TSR_OK ? tsri_call_items(&call, walk.count) : status;
}

// Whether few elements are written to a large tensor. Then x is copied, and only the winners of the places that are named are cleared and read. Otherwise the
// winners of all places are filled with 0 and read, which takes a launch less.
static bool has_few_targets(const tsri_kernel_run *run) {
  enum { MANY_PLACES = 1 << 20, SHARE = 4 };
  int64_t places = run->layouts[0].count;
  return places >= MANY_PLACES && run->layouts[1].count <= places / SHARE;
}

tsr_status tsri_run_scatter(const tsri_kernel_run *run) {
  tsr_status status = check_scatter(run);
  if (status != TSR_OK || run->layouts[0].count == 0) return status;
  if (run->layouts[1].count == 0) return copy_x(run);
  if (tsri_scatter_unsorted(run, TSRI_COMBINE_REPLACE, &status)) return status;
  tsr_buffer *winners = NULL;
  bool is_few = has_few_targets(run);
  status = tsri_call_scratch(run->device, run->layouts[0].count, TSR_U32, &winners);
  if (status == TSR_OK && is_few) status = mark_winners(run, winners, true);
  else if (status == TSR_OK)
    status = tsr_buffer_fill(winners, 0, tsr_buffer_bytes(winners), &(uint32_t){0}, sizeof(uint32_t));
  if (status == TSR_OK) status = mark_winners(run, winners, false);
  if (status == TSR_OK) status = is_few ? place_winners(run, winners) : pick_winners(run, winners);
  tsr_buffer_release(winners);
  return status;
}

// Scratch buffers of scatter_add, scatter_mul, scatter_max and scatter_min: the target of each element, the sorted targets, and the permutation that sorts
// them.
typedef struct sorted_keys {
  tsr_buffer *keys, *order;
  tsr_buffer *sorted;  // NULL if a native operator sorted: it gives only the permutation
} sorted_keys;

// Whether all elements of a row have the same index, so that the indices are a list that was broadcast to the shape of the source.
static bool has_one_index_per_row(const tsri_layout *indices, tsr_shape target, int axis) {
  bool has = true;
  for (int i = 0; i < target.rank; i++) {
    if (i == axis) continue;
    has = has && indices->shape.dims[i] == target.dims[i] && (indices->shape.dims[i] <= 1 || indices->strides[i] == 0);
  }
  return has;
}

static tsr_status write_row_keys(const tsri_kernel_run *run, tsr_buffer *keys) {
  const tsri_layout *indices = &run->layouts[1];
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "scatter_row_keys", TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[1])));
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "keys", keys, TSR_U32);
  tsri_call_word(&call, "n", indices->shape.dims[axis]);
  tsri_call_word(&call, "i_at", indices->offset);
  tsri_call_word(&call, "step", indices->strides[axis]);
  tsri_call_word(&call, "size", run->shape.dims[axis]);
  return tsri_call_items(&call, indices->shape.dims[axis]);
}

static tsr_status write_keys(const tsri_kernel_run *run, tsr_buffer *keys) {
  tsri_walk walk;
  walk_target(run, &walk);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_index", "scatter_keys",
                 TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANK", walk.rank)));
  tsri_call_buffer(&call, "indices", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(&call, "keys", keys, TSR_U32);
  pass_target(run, &walk, &call);
  tsri_call_word(&call, "outside", run->layouts[0].count);
  return tsri_call_items(&call, walk.count);
}

// Computes and sorts the keys: one key for each element, or for each row if is_by_rows.
static tsr_status sort_keys(const tsri_kernel_run *run, bool is_by_rows, sorted_keys *keys) {
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  int64_t count = is_by_rows ? run->layouts[1].shape.dims[axis] : run->layouts[1].count;
  tsr_status status = tsri_call_scratch(run->device, count, TSR_U32, &keys->keys);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, count, TSR_I32, &keys->order);
  if (status != TSR_OK) return status;
  status = is_by_rows ? write_row_keys(run, keys->keys) : write_keys(run, keys->keys);
  if (status != TSR_OK) return status;
  tsri_sort sort = {.device = run->device,
                    .dtype = TSR_U32,
                    .x = keys->keys,
                    .rows = 1,
                    .n = count,
                    .keep = count,
                    .order = keys->order};
  // Counts the bits of the largest key. Keys are row numbers along the axis, or element numbers of the result; elements with an index out of range have the
  // number after the last.
  for (int64_t last = is_by_rows ? run->shape.dims[axis] : run->layouts[0].count; last > 0; last /= 2) sort.key_bits++;
  status = tsri_sort_rows_natively(&sort);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsri_call_scratch(run->device, count, TSR_U32, &keys->sorted);
  sort.values = keys->sorted;
  return status == TSR_OK ? tsri_sort_rows(&sort) : status;
}

// The source as rows with one key each, as kernels/op_index.tk takes them; single elements are rows with one column.
typedef struct scatter_rows {
  int64_t outer, n, inner, size;
  int64_t outside;            // key of elements whose index is out of range
  int64_t each, chunks;       // rows per item, and items for all rows of a column
  tsr_buffer *leads, *tails;  // each item's part of a run that began before, or continues after, its rows
} scatter_rows;

static scatter_rows rows_of(const tsri_kernel_run *run, bool is_by_rows) {
  enum { FEW = 16, MANY = 64, LONG_RUN = 256 };
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  scatter_rows rows = {.outer = 1, .n = run->layouts[1].count, .inner = 1, .size = run->layouts[0].count};
  if (is_by_rows) {
    rows.n = run->layouts[1].shape.dims[axis];
    rows.size = run->shape.dims[axis];
    for (int i = axis + 1; i < run->shape.rank; i++) rows.inner *= run->shape.dims[i];
    for (int i = 0; i < axis; i++) rows.outer *= run->shape.dims[i];
  }
  rows.outside = rows.size;
  rows.each = rows.n / rows.size >= LONG_RUN ? MANY : FEW;
  rows.chunks = (rows.n + rows.each - 1) / rows.each;
  return rows;
}

static void pass_rows(const tsri_kernel_run *run, const scatter_rows *rows, const sorted_keys *keys, const char *kernel,
                      tsri_call *call) {
  tsr_dtype wide = tsri_accumulator(run->dtype);
  tsri_call_init(call, run->device, "op_index", kernel,
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", wide),
                           TSRI_CONSTANT("OP", TSRI_GIVEN(run->node, scatter)->combination),
                           TSRI_CONSTANT("SORTED", keys->sorted != NULL), TSRI_CONSTANT("EACH", rows->each)));
  tsri_call_buffer(call, "keys", keys->sorted ? keys->sorted : keys->keys, TSR_U32);
  tsri_call_buffer(call, "order", keys->order, TSR_I32);
  tsri_call_buffer(call, "y", run->output, run->dtype);
  tsri_call_buffer(call, "leads", rows->leads, wide);
  tsri_call_buffer(call, "tails", rows->tails, wide);
  tsri_call_word(call, "total", rows->outer * rows->chunks * rows->inner);
  tsri_call_word(call, "chunks", rows->chunks);
  tsri_call_word(call, "n", rows->n);
  tsri_call_word(call, "inner", rows->inner);
  tsri_call_word(call, "size", rows->size);
  tsri_call_word(call, "outside", rows->outside);
}

static tsr_status join_runs(const tsri_kernel_run *run, scatter_rows *rows, const sorted_keys *keys) {
  int64_t items = rows->outer * rows->chunks * rows->inner;
  tsr_status status = tsri_call_scratch(run->device, items, tsri_accumulator(run->dtype), &rows->leads);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, items, tsri_accumulator(run->dtype), &rows->tails);
  if (status != TSR_OK) return status;
  tsri_call call;
  pass_rows(run, rows, keys, "scatter_join", &call);
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "source", run->inputs[2], run->dtype);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_call_word(&call, "s_at", run->layouts[2].offset);
  status = tsri_call_items(&call, items);
  if (status != TSR_OK || rows->chunks == 1) return status;
  pass_rows(run, rows, keys, "scatter_finish", &call);
  return tsri_call_items(&call, items);
}

tsr_status tsri_run_scatter_add(const tsri_kernel_run *run) {
  tsr_status status = check_scatter(run);
  if (status != TSR_OK || run->layouts[0].count == 0) return status;
  if (run->layouts[1].count == 0) return copy_x(run);
  tsri_walk walk;
  walk_target(run, &walk);
  int axis = (int)TSRI_GIVEN(run->node, scatter)->axis;
  int64_t strides[TSR_MAX_RANK];
  tsri_row_major(run->shape, strides);
  status = scatter_add_native(run, &walk, run->shape.dims[axis], strides[axis]);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (tsri_scatter_unsorted(run, (int)TSRI_GIVEN(run->node, scatter)->combination, &status)) return status;
  bool is_by_rows = has_one_index_per_row(&run->layouts[1], run->shape, axis);
  status = copy_x(run);
  if (status != TSR_OK) return status;
  sorted_keys keys = {NULL, NULL, NULL};
  scatter_rows rows = rows_of(run, is_by_rows);
  status = sort_keys(run, is_by_rows, &keys);
  if (status == TSR_OK) status = join_runs(run, &rows, &keys);
  tsr_buffer_release(rows.leads);
  tsr_buffer_release(rows.tails);
  tsr_buffer_release(keys.keys);
  tsr_buffer_release(keys.sorted);
  tsr_buffer_release(keys.order);
  return status;
}

static tsr_status check_source(const char *caller, const tsr_tensor *x, const tsr_tensor *indices,
                               const tsr_tensor *source, int *axis) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = check_indices(caller, x, indices);
  if (status == TSR_OK) status = tsri_tensor_check(caller, source);
  if (status == TSR_OK) status = tsri_axis(caller, *axis, x->layout.shape.rank, axis);
  if (status == TSR_OK) status = check_inside(caller, "indices", indices->layout.shape, x->layout.shape, *axis);
  if (status != TSR_OK) return status;
  if (!tsri_shape_equal(indices->layout.shape, source->layout.shape)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: indices and source differ, indices are %s, source is %s", caller,
                     tsr_shape_format(indices->layout.shape, a, sizeof a),
                     tsr_shape_format(source->layout.shape, b, sizeof b));
  }
  if (indices->layout.count > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld indices; 2^31 - 1 at most", caller,
                     (long long)indices->layout.count);
  }
  return TSR_OK;
}

// Whether a kernel computes it, because the device has no native operator (which would need row-major inputs).
static bool is_by_kernels(const tsri_op *op, const tsr_device *device, tsr_dtype dtype, tsr_dtype index_dtype) {
  const tsri_native_op native = {
      .kind = TSRI_NATIVE_SCATTER_ADD, .dtype = dtype, .result = dtype, .is.index.index_dtype = index_dtype};
  return op->run == tsri_run_scatter_add && !tsri_device_takes(device, &native);
}

// How the inputs of a scatter are read.
typedef enum scatter_form {
  AS_COPIES,  // row-major copies of all
  WITH_LIST,  // the same, but indices that are broadcast along rows stay a view: the kernels that join sorted rows read them once
  AS_VIEWS,  // no copies
  TURNED     // row-major copies with the axis moved to the end, where kernels need not sort
} scatter_form;

static scatter_form choose_form(const tsri_op *op, const tsri_scatter *s, tsr_dtype index_dtype) {
  if (!is_by_kernels(op, s->device, s->dtype, index_dtype)) return AS_COPIES;
  if (tsri_scatter_takes(s)) return AS_VIEWS;
  if (has_one_index_per_row(s->indices, s->x->shape, s->axis)) return WITH_LIST;
  return tsri_scatter_takes_turned(s) ? TURNED : AS_COPIES;
}

// A tensor as the form has it: number 0 x, 1 indices, 2 source.
static tsr_tensor *in_form(tsr_tensor *given, scatter_form form, int axis, int number) {
  if (form == AS_VIEWS || (form == WITH_LIST && number == 1)) return tsr_retain(given);
  if (form != TURNED) return tsr_contiguous(given);
  tsr_tensor *view = tsri_axis_to_end(given, axis);
  return tsri_then(tsr_contiguous(view), view);
}

static tsr_tensor *record_scatter(const tsri_op *op, tsr_tensor *const *given, int axis, int combination,
                                  tsr_device *device) {
  const tsri_layout *x = &given[0]->layout;
  const tsri_scatter described = {device, given[0]->dtype, combination, axis, x, &given[1]->layout, &given[2]->layout};
  scatter_form form = choose_form(op, &described, given[1]->dtype);
  tsr_tensor *inputs[3];
  for (int i = 0; i < 3; i++) inputs[i] = in_form(given[i], form, axis, i);
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  int along = form == TURNED ? x->shape.rank - 1 : axis;
  tsr_tensor *result = status == TSR_OK
                           ? tsri_record_kernel(op, device, given[0]->dtype, inputs[0]->layout.shape, inputs, 3,
                                                TSRI_GIVE(op, scatter, .axis = along, .combination = combination))
                           : tsri_tensor_fail(status);
  tsri_release_all(inputs, 3);
  if (form != TURNED || tsr_error(result) != TSR_OK) return result;
  tsr_tensor *view = tsri_then(tsri_axis_from_end(result, axis), result);
  return tsri_then(tsr_contiguous(view), view);
}

static tsr_tensor *scatter(const tsri_op *op, tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source,
                           int combination) {
  tsr_status status = check_source(op->name, x, indices, source, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_device *device = NULL;
  status = tsri_record_device(op->name, (tsr_tensor *const[]){x, indices, source}, 3, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *cast = tsr_cast(source, x->dtype);
  status = tsri_tensor_check(op->name, cast);
  tsr_tensor *result = status == TSR_OK
                           ? record_scatter(op, (tsr_tensor *[]){x, indices, cast}, axis, combination, device)
                           : tsri_tensor_fail(status);
  tsr_release(cast);
  return tsri_tensor_named(op->name, result);
}

tsr_tensor *tsr_scatter(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source) {
  return scatter(TSRI_BODY(scatter), x, axis, indices, source, TSRI_COMBINE_SUM);
}

tsr_tensor *tsr_scatter_add(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source) {
  return scatter(TSRI_BODY(scatter_add), x, axis, indices, source, TSRI_COMBINE_SUM);
}

tsr_tensor *tsr_scatter_mul(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source) {
  return scatter(TSRI_BODY(scatter_mul), x, axis, indices, source, TSRI_COMBINE_PRODUCT);
}

tsr_tensor *tsr_scatter_max(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source) {
  return scatter(TSRI_BODY(scatter_max), x, axis, indices, source, TSRI_COMBINE_LARGEST);
}

tsr_tensor *tsr_scatter_min(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source) {
  return scatter(TSRI_BODY(scatter_min), x, axis, indices, source, TSRI_COMBINE_SMALLEST);
}

// --- one_hot ---------------------------------------------------------------------------------------------------------

tsr_tensor *tsr_one_hot(tsr_tensor *indices, int64_t classes, tsr_dtype dtype) {
  tsr_status status = check_index_list("one_hot", indices);
  if (status == TSR_OK && (classes < 0 || classes > INT32_MAX)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "one_hot: %lld classes; 0 to 2^31 - 1 are allowed", (long long)classes);
  }
  if (status == TSR_OK) status = tsri_dtype_check("one_hot", dtype);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  // u32 indices are compared with positions as u32, which holds all positions: some devices lack i64.
  bool is_unsigned = tsr_dtype_kind_of(indices->dtype) == TSR_KIND_UINT;
  tsr_dtype as = tsr_dtype_bytes(indices->dtype) == 8 ? indices->dtype : is_unsigned ? TSR_U32 : TSR_I32;
  tsr_tensor *last = tsr_unsqueeze(indices, -1),
             *positions = tsr_arange(indices->value->device, TSR_I32, 0, (double)classes, 1);
  status = tsri_tensor_check("one_hot", last);
  if (status == TSR_OK) status = tsri_tensor_check("one_hot", positions);
  tsri_operand_ref refs[2] = {{last, as}, {positions, as}};
  tsr_tensor *result =
      status == TSR_OK ? tsri_record_elementwise(TSRI_BODY(one_hot), dtype, refs, 2, NULL) : tsri_tensor_fail(status);
  tsr_release(last);
  tsr_release(positions);
  return tsri_tensor_named("one_hot", result);
}
