// SPDX-License-Identifier: MIT
// Views, joins and indexing in the model.
#include <math.h>

#include "attack/model_ops.h"

// --- Views --------------------------------------------------------------------------------------------------------------

static void drop_axis(model_tensor *tensor, int axis) {
  for (int i = axis; i + 1 < tensor->shape.rank; i++) {
    tensor->shape.dims[i] = tensor->shape.dims[i + 1];
    tensor->strides[i] = tensor->strides[i + 1];
  }
  tensor->shape.rank--;
}

static void put_axis(model_tensor *tensor, int axis) {
  for (int i = tensor->shape.rank; i > axis; i--) {
    tensor->shape.dims[i] = tensor->shape.dims[i - 1];
    tensor->strides[i] = tensor->strides[i - 1];
  }
  tensor->shape.dims[axis] = 1;
  tensor->strides[axis] = 1;
  tensor->shape.rank++;
}

static void swap_axes(model_tensor *tensor, int a, int b) {
  int64_t size = tensor->shape.dims[a], stride = tensor->strides[a];
  tensor->shape.dims[a] = tensor->shape.dims[b];
  tensor->strides[a] = tensor->strides[b];
  tensor->shape.dims[b] = size;
  tensor->strides[b] = stride;
}

// `numbers`: start (within the axis), stop and step; a stop of -1 is before the first element.
static bool slice(const step *s, model_tensor *view) {
  int axis = s->axes[0];
  int64_t start = s->numbers[0], stop = s->numbers[1], by = s->numbers[2], size = view->shape.dims[axis], count = 0;
  if (start < 0 || start >= size || stop > size || stop < -1) return false;
  for (int64_t at = start; by > 0 ? at < stop : at > stop; at += by) count++;
  view->offset += start * view->strides[axis];
  view->strides[axis] *= by;
  view->shape.dims[axis] = count;
  return true;
}

static bool expand(const step *s, model_tensor *view) {
  int added = s->shape.rank - view->shape.rank;
  if (added < 0) return false;
  for (int i = s->shape.rank - 1; i >= 0; i--) {
    int64_t size = i < added ? 1 : view->shape.dims[i - added];
    int64_t stride = i < added ? 0 : view->strides[i - added];
    if (size != 1 && size != s->shape.dims[i]) return false;
    view->strides[i] = size == 1 && s->shape.dims[i] != 1 ? 0 : stride;
  }
  view->shape = s->shape;
  return true;
}

static bool permute(const step *s, model_tensor *view) {
  model_tensor from = *view;
  unsigned seen = 0;
  if (s->axis_count != view->shape.rank) return false;
  for (int i = 0; i < s->axis_count; i++) {
    if (s->axes[i] >= s->axis_count) return false;
    seen |= 1u << s->axes[i];
    view->shape.dims[i] = from.shape.dims[s->axes[i]];
    view->strides[i] = from.strides[s->axes[i]];
  }
  return seen == (1u << s->axis_count) - 1;
}

static bool make_view(const step *s, model_tensor *view) {
  int rank = view->shape.rank;
  if (s->kind == STEP_expand) return expand(s, view);
  if (s->kind == STEP_permute) return permute(s, view);
  if (s->kind == STEP_squeeze_all) {
    for (int i = rank - 1; i >= 0; i--) {
      if (view->shape.dims[i] == 1) drop_axis(view, i);
    }
    return true;
  }
  int axis = s->axes[0];
  if (s->kind == STEP_unsqueeze) {
    if (rank == TSR_MAX_RANK || axis > rank) return false;
    put_axis(view, axis);
    return true;
  }
  if (axis >= rank || (s->kind == STEP_transpose && s->axes[1] >= rank)) return false;
  switch (s->kind) {
    case STEP_transpose:
      swap_axes(view, axis, s->axes[1]);
      return true;
    case STEP_slice:
      return slice(s, view);
    case STEP_squeeze:
      if (view->shape.dims[axis] != 1) return false;
      drop_axis(view, axis);
      return true;
    default:  // flip
      if (view->shape.dims[axis] > 0) view->offset += (view->shape.dims[axis] - 1) * view->strides[axis];
      view->strides[axis] = -view->strides[axis];
      return true;
  }
}

bool model_view(const step *s, model_tensor input, model_tensor *out) {
  model_tensor view = input;
  if (!make_view(s, &view)) return false;
  *out = model_retain(view);
  return true;
}

// --- Joining ------------------------------------------------------------------------------------------------------------

// Copies `part` into `whole`, with its first element at `at`.
static bool place(model_tensor whole, model_tensor part, const int64_t *at) {
  int64_t count = model_count(part.shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t position[TSR_MAX_RANK];
    model_position(part.shape, i, position);
    for (int axis = 0; axis < part.shape.rank; axis++) position[axis] += at[axis];
    if (!model_convert(model_dtype(whole), model_at_position(whole, position), model_dtype(part), *model_at(part, i))) {
      return false;
    }
  }
  return true;
}

static bool concat(const model_tensor *parts, int count, int axis, model_tensor *out) {
  tsr_shape shape = parts[0].shape;
  tsr_dtype dtype = model_dtype(parts[0]);
  if (axis >= shape.rank) return false;
  for (int k = 1; k < count; k++) {
    tsr_shape one = parts[k].shape;
    if (one.rank != shape.rank) return false;
    int64_t size = one.dims[axis];
    one.dims[axis] = shape.dims[axis];
    if (!model_shapes_equal(one, shape)) return false;
    shape.dims[axis] += size;
    dtype = model_promote(dtype, model_dtype(parts[k]));
  }
  *out = model_create(dtype, shape);
  int64_t at[TSR_MAX_RANK] = {0};
  for (int k = 0; k < count; k++) {
    if (!place(*out, parts[k], at)) return false;
    at[axis] += parts[k].shape.dims[axis];
  }
  return true;
}

static bool stack(const step *s, const model_tensor *inputs, model_tensor *out) {
  model_tensor parts[STEP_MAX_INPUTS];
  for (int k = 0; k < s->input_count; k++) {
    parts[k] = inputs[k];
    if (parts[k].shape.rank == TSR_MAX_RANK || s->axes[0] > parts[k].shape.rank) return false;
    put_axis(&parts[k], s->axes[0]);
  }
  for (int k = 1; k < s->input_count; k++) {
    if (!model_shapes_equal(parts[k].shape, parts[0].shape)) return false;
  }
  return concat(parts, s->input_count, s->axes[0], out);
}

// Every element of the result is `fill` or an element of x; `source` gives its position.
typedef bool (*source_fn)(const step *s, model_tensor x, int64_t *at);

static bool rearrange(const step *s, model_tensor x, tsr_shape shape, source_fn source, model_tensor *out) {
  model_number fill = {.whole = 0};
  tsr_dtype dtype = model_dtype(x);
  if (!model_convert(dtype, &fill, TSR_F64, (model_number){.real = s->real})) return false;
  *out = model_create(dtype, shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t at[TSR_MAX_RANK];
    model_position(shape, i, at);
    out->storage->numbers[i] = source(s, x, at) ? *model_at_position(x, at) : fill;
  }
  return true;
}

static bool repeat_source(const step *s, model_tensor x, int64_t *at) {
  (void)x;
  at[s->axes[0]] /= s->numbers[0];
  return true;
}

static bool tile_source(const step *s, model_tensor x, int64_t *at) {
  (void)s;
  for (int i = 0; i < x.shape.rank; i++) at[i] %= x.shape.dims[i];
  return true;
}

static bool roll_source(const step *s, model_tensor x, int64_t *at) {
  int64_t size = x.shape.dims[s->axes[0]];
  at[s->axes[0]] = ((at[s->axes[0]] - s->numbers[0]) % size + size) % size;
  return true;
}

static bool pad_source(const step *s, model_tensor x, int64_t *at) {
  for (int i = 0; i < x.shape.rank; i++) {
    at[i] -= s->numbers[i];
    if (at[i] < 0 || at[i] >= x.shape.dims[i]) return false;
  }
  return true;
}

static bool triangle_source(const step *s, model_tensor x, int64_t *at) {
  int64_t beyond = at[x.shape.rank - 1] - at[x.shape.rank - 2] - s->numbers[0];
  return s->kind == STEP_tril ? beyond <= 0 : beyond >= 0;
}

bool model_compute_joined(const step *s, const model_tensor *inputs, model_tensor *out) {
  model_tensor x = inputs[0];
  tsr_shape shape = x.shape;
  int axis = s->axes[0];
  switch (s->kind) {
    case STEP_concat:
      return concat(inputs, s->input_count, axis, out);
    case STEP_stack:
      return stack(s, inputs, out);
    case STEP_repeat:
      if (axis >= shape.rank) return false;
      shape.dims[axis] *= s->numbers[0];
      return rearrange(s, x, shape, repeat_source, out);
    case STEP_tile:
      if (s->shape.rank != shape.rank) return false;
      for (int i = 0; i < shape.rank; i++) shape.dims[i] *= s->shape.dims[i];
      return rearrange(s, x, shape, tile_source, out);
    case STEP_roll:
      return axis < shape.rank && rearrange(s, x, shape, roll_source, out);
    case STEP_pad:
      if (s->axis_count != shape.rank) return false;
      for (int i = 0; i < shape.rank; i++) shape.dims[i] += s->numbers[i] + s->numbers[shape.rank + i];
      return rearrange(s, x, shape, pad_source, out);
    default:
      return shape.rank >= 2 && rearrange(s, x, shape, triangle_source, out);
  }
}

// --- Indexing -----------------------------------------------------------------------------------------------------------

static bool is_index(model_tensor tensor) {
  return !model_is_float(model_dtype(tensor)) && model_dtype(tensor) != TSR_BOOL;
}

// Converts an index to 0 to size - 1; negative ones count from the end. False: out of range.
static bool resolve(int64_t index, int64_t size, int64_t *out) {
  *out = index < 0 ? index + size : index;
  return *out >= 0 && *out < size;
}

// Whether `part` has the rank of `whole` and, except along the axis, no larger sizes.
static bool fits_inside(tsr_shape part, tsr_shape whole, int axis) {
  if (part.rank != whole.rank || axis >= whole.rank) return false;
  for (int i = 0; i < whole.rank; i++) {
    if (i != axis && part.dims[i] > whole.dims[i]) return false;
  }
  return true;
}

static bool gather(const step *s, model_tensor x, model_tensor indices, model_tensor *out) {
  int axis = s->axes[0];
  if (!is_index(indices) || !fits_inside(indices.shape, x.shape, axis)) return false;
  *out = model_create(model_dtype(x), indices.shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t at[TSR_MAX_RANK];
    model_position(indices.shape, i, at);
    if (resolve(model_at(indices, i)->whole, x.shape.dims[axis], &at[axis])) {
      out->storage->numbers[i] = *model_at_position(x, at);
    }
  }
  return true;
}

static bool index_select(const step *s, model_tensor x, model_tensor indices, model_tensor *out) {
  int axis = s->axes[0];
  if (!is_index(indices) || indices.shape.rank != 1 || axis >= x.shape.rank) return false;
  tsr_shape shape = x.shape;
  shape.dims[axis] = indices.shape.dims[0];
  *out = model_create(model_dtype(x), shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t at[TSR_MAX_RANK];
    model_position(shape, i, at);
    if (resolve(model_at(indices, at[axis])->whole, x.shape.dims[axis], &at[axis])) {
      out->storage->numbers[i] = *model_at_position(x, at);
    }
  }
  return true;
}

static bool take(model_tensor x, model_tensor indices, model_tensor *out) {
  if (!is_index(indices)) return false;
  *out = model_create(model_dtype(x), indices.shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t at = 0;
    if (resolve(model_at(indices, i)->whole, model_count(x.shape), &at)) out->storage->numbers[i] = *model_at(x, at);
  }
  return true;
}

// Adds in the dtype. False if the sum is not exact.
static bool add_into(tsr_dtype dtype, model_number *sum, model_number number) {
  if (!model_is_float(dtype)) {
    sum->whole = model_wrap(dtype, (int64_t)((uint64_t)sum->whole + (uint64_t)number.whole));
    return true;
  }
  sum->real += number.real;
  return model_is_exact(dtype, sum->real);
}

static bool scatter(const step *s, const model_tensor *inputs, model_tensor *out) {
  model_tensor x = inputs[0], indices = inputs[1], source = inputs[2];
  int axis = s->axes[0];
  tsr_dtype dtype = model_dtype(x);
  bool adds = s->kind == STEP_scatter_add;
  if (!is_index(indices) || !fits_inside(indices.shape, x.shape, axis) || (adds && dtype == TSR_BOOL)) return false;
  if (!model_shapes_equal(indices.shape, source.shape)) return false;
  *out = model_copy(x);
  int64_t count = model_count(indices.shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t at[TSR_MAX_RANK];
    model_number number;
    model_position(indices.shape, i, at);
    if (!model_convert(dtype, &number, model_dtype(source), *model_at(source, i))) return false;
    if (!resolve(model_at(indices, i)->whole, x.shape.dims[axis], &at[axis])) continue;
    model_number *place_at = model_at_position(*out, at);
    if (!adds) *place_at = number;
    else if (!add_into(dtype, place_at, number)) return false;
  }
  return true;
}

static bool one_hot(const step *s, model_tensor indices, model_tensor *out) {
  if (!is_index(indices) || indices.shape.rank == TSR_MAX_RANK) return false;
  tsr_shape shape = indices.shape;
  shape.dims[shape.rank++] = s->numbers[0];
  *out = model_create(s->dtype, shape);
  int64_t count = model_count(indices.shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t index = model_at(indices, i)->whole;
    if (index < 0 || index >= s->numbers[0]) continue;
    model_number *number = &out->storage->numbers[i * s->numbers[0] + index];
    if (model_is_float(s->dtype)) number->real = 1;
    else number->whole = 1;
  }
  return true;
}

bool model_compute_indexed(const step *s, const model_tensor *inputs, model_tensor *out) {
  switch (s->kind) {
    case STEP_gather:
      return gather(s, inputs[0], inputs[1], out);
    case STEP_index_select:
      return index_select(s, inputs[0], inputs[1], out);
    case STEP_take:
      return take(inputs[0], inputs[1], out);
    case STEP_one_hot:
      return one_hot(s, inputs[0], out);
    default:
      return scatter(s, inputs, out);
  }
}

// --- All that makes elements --------------------------------------------------------------------------------------------

static bool create(const step *s, model_tensor *out) {
  tsr_shape shape = s->shape;
  if (s->kind == STEP_arange) shape = TSR_SHAPE((s->numbers[1] - s->numbers[0] + s->numbers[2] - 1) / s->numbers[2]);
  if (s->kind == STEP_eye) shape = TSR_SHAPE(s->numbers[0], s->numbers[1]);
  *out = model_create(s->dtype, shape);
  if (s->kind == STEP_from_data) model_fill(*out, s->seed);
  for (int64_t i = 0; i < out->storage->count && s->kind != STEP_from_data; i++) {
    double real = (double)s->numbers[0];
    if (s->kind == STEP_arange) real = (double)(s->numbers[0] + i * s->numbers[2]);
    if (s->kind == STEP_eye) real = i % shape.dims[1] - i / shape.dims[1] == s->numbers[2];
    if (!model_convert(s->dtype, &out->storage->numbers[i], TSR_F64, (model_number){.real = real})) return false;
  }
  return true;
}

bool model_compute(const step *s, const model_tensor *inputs, model_tensor *out) {
  out->storage = NULL;
  if (s->kind <= STEP_eye) return create(s, out);
  if (s->kind <= STEP_cast) return model_compute_elementwise(s, inputs, out);
  if (s->kind <= STEP_cumsum || s->kind == STEP_sort || s->kind == STEP_argsort)
    return model_compute_reduction(s, inputs, out);
  if (s->kind <= STEP_triu) return model_compute_joined(s, inputs, out);
  if (s->kind <= STEP_one_hot) return model_compute_indexed(s, inputs, out);
  return model_compute_product(s, inputs, out);
}
