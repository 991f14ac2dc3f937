// SPDX-License-Identifier: MIT
// The model's reductions, running sums, sorting and matrix products.
#include <math.h>
#include <stdlib.h>

#include "attack/model_ops.h"

static tsr_dtype sum_dtype(tsr_dtype dtype) {
  bool stays = model_is_float(dtype) || dtype == TSR_I64 || dtype == TSR_U32;
  return stays ? dtype : TSR_I32;
}

// A reduction in progress: the result so far, an upper bound for every partial result in any order, and the number of
// elements.
typedef struct fold {
  reduce_op op;
  tsr_dtype from, to;
  model_number result;
  double bound;
  int64_t seen;
  model_number best;  // argmax, argmin
} fold;

static void fold_start(fold *f) {
  bool is_float = model_is_float(f->to);
  f->bound = f->op == REDUCE_prod ? 1 : 0;
  f->seen = 0;
  f->result.whole = f->op == REDUCE_all || f->op == REDUCE_prod;
  if (f->op == REDUCE_max) f->result.whole = model_lowest(f->to);
  if (f->op == REDUCE_min) f->result.whole = model_highest(f->to);
  if (!is_float) return;
  f->result.real = f->op == REDUCE_prod ? 1 : f->op == REDUCE_max ? -INFINITY : f->op == REDUCE_min ? INFINITY : 0;
}

// Whether x replaces the best value so far: the first NaN wins, otherwise the first largest or smallest.
static bool is_better(const fold *f, model_number x) {
  if (f->seen == 0) return true;
  if (!model_is_float(f->from)) return f->op == REDUCE_argmax ? x.whole > f->best.whole : x.whole < f->best.whole;
  if (isnan(f->best.real)) return false;
  if (isnan(x.real)) return true;
  return f->op == REDUCE_argmax ? x.real > f->best.real : x.real < f->best.real;
}

static void fold_whole(fold *f, int64_t x) {
  int64_t *r = &f->result.whole;
  if (f->op == REDUCE_sum) *r = model_wrap(f->to, (int64_t)((uint64_t)*r + (uint64_t)x));
  if (f->op == REDUCE_prod) *r = model_wrap(f->to, (int64_t)((uint64_t)*r * (uint64_t)x));
  if (f->op == REDUCE_max && x > *r) *r = x;
  if (f->op == REDUCE_min && x < *r) *r = x;
}

static void fold_real(fold *f, double x) {
  double *r = &f->result.real, size = isfinite(x) ? fabs(x) : 0;
  if (f->op == REDUCE_sum) {
    *r += x;
    f->bound += size;
  }
  if (f->op == REDUCE_prod) {
    *r *= x;
    f->bound *= size > 1 ? size : 1;
  }
  if (isnan(*r)) return;
  if (f->op == REDUCE_max && (isnan(x) || x > *r)) *r = x;
  if (f->op == REDUCE_min && (isnan(x) || x < *r)) *r = x;
}

static bool fold_add(fold *f, model_number x) {
  model_number truth, number;
  model_convert(TSR_BOOL, &truth, f->from, x);
  if (f->op == REDUCE_any) f->result.whole |= truth.whole;
  if (f->op == REDUCE_all) f->result.whole &= truth.whole;
  if (f->op >= REDUCE_argmax && is_better(f, x)) {
    f->best = x;
    f->result.whole = f->seen;
  }
  f->seen++;
  if (f->op >= REDUCE_any) return true;
  if (!model_convert(f->to, &number, f->from, x)) return false;
  if (model_is_float(f->to)) fold_real(f, number.real);
  else fold_whole(f, number.whole);
  return f->op > REDUCE_prod || !model_is_float(f->to) || f->bound <= model_exact_limit(f->to);
}

static tsr_dtype reduced_dtype(reduce_op op, tsr_dtype dtype) {
  if (op == REDUCE_sum || op == REDUCE_prod) return sum_dtype(dtype);
  if (op == REDUCE_any || op == REDUCE_all) return TSR_BOOL;
  return op >= REDUCE_argmax ? TSR_I32 : dtype;
}

static bool compute_reduce(const step *s, model_tensor x, model_tensor *out) {
  unsigned over = 0;
  for (int i = 0; i < s->axis_count; i++) {
    if (s->axes[i] >= x.shape.rank) return false;
    over |= 1u << s->axes[i];
  }
  if (s->axis_count == 0) over = (1u << x.shape.rank) - 1;
  tsr_shape kept = x.shape, dropped = {.rank = 0};
  int64_t inner = 1;
  for (int i = 0; i < x.shape.rank; i++) {
    if (over >> i & 1u) {
      kept.dims[i] = 1;
      inner *= x.shape.dims[i];
    } else {
      dropped.dims[dropped.rank++] = x.shape.dims[i];
    }
  }
  fold f = {.op = (reduce_op)s->op, .from = model_dtype(x), .to = reduced_dtype((reduce_op)s->op, model_dtype(x))};
  if (f.op >= REDUCE_argmax && inner == 0) return false;
  *out = model_create(f.to, s->flag ? kept : dropped);
  tsr_shape inside = x.shape;
  for (int i = 0; i < inside.rank; i++) inside.dims[i] = over >> i & 1u ? x.shape.dims[i] : 1;
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t at[TSR_MAX_RANK], within[TSR_MAX_RANK];
    model_position(kept, i, at);
    fold_start(&f);
    for (int64_t j = 0; j < inner; j++) {
      model_position(inside, j, within);
      for (int axis = 0; axis < x.shape.rank; axis++) within[axis] += at[axis];
      if (!fold_add(&f, *model_at_position(x, within))) return false;
    }
    out->storage->numbers[i] = f.result;
  }
  return true;
}

// --- Lines along an axis ----------------------------------------------------------------------------------------------

// The position of the first element of line `i` along `axis`.
static void line_start(tsr_shape shape, int axis, int64_t i, int64_t *out_at) {
  shape.dims[axis] = 1;
  model_position(shape, i, out_at);
}

static int64_t line_count(tsr_shape shape, int axis) {
  shape.dims[axis] = 1;
  return model_count(shape);
}

static bool compute_cumsum(const step *s, model_tensor x, model_tensor *out) {
  int axis = s->axes[0];
  if (axis >= x.shape.rank) return false;
  fold f = {.op = REDUCE_sum, .from = model_dtype(x), .to = sum_dtype(model_dtype(x))};
  *out = model_create(f.to, x.shape);
  int64_t lines = x.shape.dims[axis] ? line_count(x.shape, axis) : 0;
  for (int64_t i = 0; i < lines; i++) {
    int64_t at[TSR_MAX_RANK];
    line_start(x.shape, axis, i, at);
    fold_start(&f);
    for (at[axis] = 0; at[axis] < x.shape.dims[axis]; at[axis]++) {
      if (!fold_add(&f, *model_at_position(x, at))) return false;
      *model_at_position(*out, at) = f.result;
    }
  }
  return true;
}

// Whether a comes before b in sorted order; NaN is last in both directions.
static bool stands_before(tsr_dtype dtype, model_number a, model_number b, bool is_descending) {
  if (!model_is_float(dtype)) return is_descending ? a.whole > b.whole : a.whole < b.whole;
  if (isnan(a.real) || isnan(b.real)) return !isnan(a.real) && isnan(b.real);
  return is_descending ? a.real > b.real : a.real < b.real;
}

// Stable insertion sort of one line; `order` receives the positions.
static void sort_line(model_tensor x, int axis, int64_t *at, bool is_descending, int64_t *order) {
  for (int64_t i = 0; i < x.shape.dims[axis]; i++) {
    int64_t j = i;
    at[axis] = i;
    model_number number = *model_at_position(x, at);
    for (; j > 0; j--) {
      at[axis] = order[j - 1];
      if (!stands_before(model_dtype(x), number, *model_at_position(x, at), is_descending)) break;
      order[j] = order[j - 1];
    }
    order[j] = i;
  }
}

static bool compute_sort(const step *s, model_tensor x, model_tensor *out) {
  int axis = s->axes[0];
  if (axis >= x.shape.rank) return false;
  bool is_order = s->kind == STEP_argsort;
  *out = model_create(is_order ? TSR_I32 : model_dtype(x), x.shape);
  int64_t size = x.shape.dims[axis], lines = size ? line_count(x.shape, axis) : 0;
  int64_t *order = malloc((size_t)(size + 1) * sizeof *order);
  if (!order) abort();
  for (int64_t i = 0; i < lines; i++) {
    int64_t at[TSR_MAX_RANK];
    line_start(x.shape, axis, i, at);
    sort_line(x, axis, at, s->flag, order);
    for (int64_t j = 0; j < size; j++) {
      at[axis] = order[j];
      model_number number = is_order ? (model_number){.whole = order[j]} : *model_at_position(x, at);
      at[axis] = j;
      *model_at_position(*out, at) = number;
    }
  }
  free(order);
  return true;
}

bool model_compute_reduction(const step *s, const model_tensor *inputs, model_tensor *out) {
  if (s->kind == STEP_reduce) return compute_reduce(s, inputs[0], out);
  if (s->kind == STEP_cumsum) return compute_cumsum(s, inputs[0], out);
  return compute_sort(s, inputs[0], out);
}

// --- Products -----------------------------------------------------------------------------------------------------------

// Adds a * b to `sum`, for one element of a product.
static bool add_product(tsr_dtype dtype, model_number a, model_number b, model_number *sum, double *bound) {
  if (!model_is_float(dtype)) {
    sum->whole = model_wrap(dtype, (int64_t)((uint64_t)sum->whole + (uint64_t)a.whole * (uint64_t)b.whole));
    return true;
  }
  double product = a.real * b.real;
  sum->real += product;
  if (isfinite(product)) *bound += fabs(product);
  return *bound <= model_exact_limit(dtype);
}

// The product of two matrices, or of two batches with the same leading sizes.
static bool compute_matmul(const model_tensor *inputs, model_tensor *out) {
  model_tensor a = inputs[0], b = inputs[1];
  tsr_dtype dtype = model_promote(model_dtype(a), model_dtype(b));
  int rank = a.shape.rank;
  if (rank < 2 || rank != b.shape.rank || dtype == TSR_BOOL) return false;
  if (model_dtype(a) == TSR_BOOL || model_dtype(b) == TSR_BOOL) return false;
  for (int i = 0; i < rank - 2; i++) {
    if (a.shape.dims[i] != b.shape.dims[i]) return false;
  }
  int64_t inner = a.shape.dims[rank - 1];
  if (inner != b.shape.dims[rank - 2]) return false;
  tsr_shape shape = a.shape;
  shape.dims[rank - 1] = b.shape.dims[rank - 1];
  *out = model_create(dtype, shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    int64_t left[TSR_MAX_RANK], right[TSR_MAX_RANK];
    model_position(shape, i, left);
    model_position(shape, i, right);
    double bound = 0;
    for (int64_t k = 0; k < inner; k++) {
      model_number x, y;
      left[rank - 1] = right[rank - 2] = k;
      if (!model_convert(dtype, &x, model_dtype(a), *model_at_position(a, left))) return false;
      if (!model_convert(dtype, &y, model_dtype(b), *model_at_position(b, right))) return false;
      if (!add_product(dtype, x, y, &out->storage->numbers[i], &bound)) return false;
    }
  }
  return true;
}

static bool compute_outer(const model_tensor *inputs, model_tensor *out) {
  if (inputs[0].shape.rank != 1 || inputs[1].shape.rank != 1) return false;
  if (model_dtype(inputs[0]) == TSR_BOOL || model_dtype(inputs[1]) == TSR_BOOL) return false;
  model_tensor column = inputs[0];
  column.shape = TSR_SHAPE(inputs[0].shape.dims[0], 1);
  column.strides[1] = 1;
  step product = {.kind = STEP_binary, .op = BINARY_mul};
  return model_compute_elementwise(&product, (model_tensor[]){column, inputs[1]}, out);
}

// The product of a row and a column.
static bool compute_dot(const model_tensor *inputs, model_tensor *out) {
  model_tensor row = inputs[0], column = inputs[1];
  if (row.shape.rank != 1 || column.shape.rank != 1) return false;
  row.shape = TSR_SHAPE(1, row.shape.dims[0]);
  row.strides[1] = row.strides[0];
  column.shape = TSR_SHAPE(column.shape.dims[0], 1);
  column.strides[1] = 1;
  if (!compute_matmul((model_tensor[]){row, column}, out)) return false;
  out->shape = TSR_SCALAR;
  return true;
}

bool model_compute_product(const step *s, const model_tensor *inputs, model_tensor *out) {
  if (s->kind == STEP_dot) return compute_dot(inputs, out);
  return s->kind == STEP_matmul ? compute_matmul(inputs, out) : compute_outer(inputs, out);
}
