// SPDX-License-Identifier: MIT
// Inputs of a case: random elements under a view, and the same elements in row-major order for the reference.
//
// First the memory behind the view is filled. The elements are then read from it with the view's offset and strides,
// which are computed here, independently of the library. So the library's views are tested as well.
#include "check_grad.h"

// A tensor's memory (`base`, row-major) and how the view accesses it.
typedef struct placing {
  tsr_shape base;
  int64_t offset, strides[TSR_MAX_RANK];
} placing;

static const char *const view_names[CHECK_VIEW_COUNT] = {"",          " transposed", " permuted",    " sliced",
                                                         " reversed", " expanded",   " at an offset"};

static void row_major(tsr_shape shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape.dims[i];
  }
}

// A view that needs more axes than the shape has becomes CHECK_PLAIN.
static check_view possible_view(tsr_shape shape, check_view view) {
  int needed = view == CHECK_TRANSPOSED || view == CHECK_PERMUTED ? 2 : view == CHECK_PLAIN ? 0 : 1;
  return shape.rank >= needed ? view : CHECK_PLAIN;
}

static void swap_axes(placing *p, int a, int b) {
  int64_t size = p->base.dims[a];
  p->base.dims[a] = p->base.dims[b];
  p->base.dims[b] = size;
}

static placing place(tsr_shape shape, check_view view) {
  placing p = {.base = shape};
  int64_t strides[TSR_MAX_RANK] = {0};
  int last = shape.rank - 1;
  if (view == CHECK_TRANSPOSED) swap_axes(&p, last - 1, last);
  if (view == CHECK_PERMUTED) {
    for (int i = 0; i < last - i; i++) swap_axes(&p, i, last - i);
  }
  if (view == CHECK_SLICED) {  // one extra element before and after; every second one along the last axis
    p.base.dims[last] = 2 * shape.dims[last] + 2;
    if (last > 0) p.base.dims[0] += 2;
  }
  if (view == CHECK_EXPANDED && shape.dims[0] > 0) p.base.dims[0] = 1;
  if (view == CHECK_OFFSET) p.base.dims[0]++;
  row_major(p.base, strides);
  for (int i = 0; i < shape.rank; i++) p.strides[i] = strides[i];
  if (view == CHECK_TRANSPOSED) {
    p.strides[last] = strides[last - 1];
    p.strides[last - 1] = strides[last];
  }
  if (view == CHECK_PERMUTED) {
    for (int i = 0; i <= last; i++) p.strides[i] = strides[last - i];
  }
  if (view == CHECK_SLICED) {
    p.offset = 1 + (last > 0 ? strides[0] : 0);
    p.strides[last] = 2;
  }
  if (view == CHECK_REVERSED) {
    p.offset = (shape.dims[last] - 1) * strides[last];
    p.strides[last] = -strides[last];
    if (last > 0) p.offset += (shape.dims[0] - 1) * strides[0];
    if (last > 0) p.strides[0] = -strides[0];
  }
  if (view == CHECK_EXPANDED) p.strides[0] = 0;
  if (view == CHECK_OFFSET) p.offset = strides[0];
  return p;
}

static tsr_tensor *apply_slices(tsr_tensor *base, tsr_shape shape) {
  int last = shape.rank - 1;
  tsr_tensor *rows = last > 0 ? tsr_slice(base, 0, 1, shape.dims[0] + 1, 1) : base;
  return tsr_slice(rows, last, 1, 1 + 2 * shape.dims[last], 2);
}

static tsr_tensor *apply_view(tsr_tensor *base, tsr_shape shape, check_view view) {
  int axes[TSR_MAX_RANK], last = shape.rank - 1;
  switch (view) {
    case CHECK_TRANSPOSED:
      return tsr_transpose(base, -2, -1);
    case CHECK_PERMUTED:
      for (int i = 0; i <= last; i++) axes[i] = last - i;
      return tsr_permute(base, axes, shape.rank);
    case CHECK_SLICED:
      return apply_slices(base, shape);
    case CHECK_REVERSED:
      return tsr_flip(last > 0 ? tsr_flip(base, 0) : base, -1);
    case CHECK_EXPANDED:
      return tsr_expand(base, shape);
    case CHECK_OFFSET:
      return tsr_slice(base, 0, 1, shape.dims[0] + 1, 1);
    default:
      return base;
  }
}

static int64_t position(const placing *p, tsr_shape shape, int64_t at) {
  int64_t index[TSR_MAX_RANK], where = p->offset;
  check_unravel(shape, at, index);
  for (int i = 0; i < shape.rank; i++) where += index[i] * p->strides[i];
  return where;
}

static void describe(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view) {
  char text[TSR_SHAPE_TEXT_BYTES];
  check_note(run, "%s %s%s", tsr_dtype_name(dtype), tsr_shape_format(shape, text, sizeof text), view_names[view]);
}

static tsr_tensor *memory_of(check_run *run, tsr_dtype dtype, tsr_shape shape, const check_value *values) {
  if (run->grad) return check_grad_memory(run, dtype, shape, values);
  size_t bytes = tsr_dtype_bytes(dtype), count = (size_t)check_count(shape);
  unsigned char *data = check_alloc(run, count, bytes);
  for (size_t i = 0; i < count; i++) check_encode(dtype, values[i], data + i * bytes);
  return tsr_from_data(check_device(run), dtype, shape, data, count * bytes);
}

// `base` holds the memory's elements; the tensor's elements are read from it. Values are rounded to the dtype first.
static check_tensor *finish(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, const placing *p,
                            check_value *base) {
  check_tensor *t = check_alloc(run, 1, sizeof *t);
  for (int64_t i = 0; i < check_count(p->base) && check_is_float(dtype); i++) {
    base[i].real = check_round(dtype, base[i].real);
  }
  *t = (check_tensor){.dtype = dtype, .shape = shape, .count = check_count(shape)};
  t->values = check_alloc(run, (size_t)t->count, sizeof *t->values);
  for (int64_t i = 0; i < t->count; i++) t->values[i] = base[position(p, shape, i)];
  t->tensor = apply_view(memory_of(run, dtype, p->base, base), shape, view);
  describe(run, dtype, shape, view);
  check_idle_begin(run);
  return t;
}

check_tensor *check_input(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, check_domain domain) {
  view = possible_view(shape, view);
  placing p = place(shape, view);
  int64_t count = check_count(p.base);
  check_value *base = check_alloc(run, (size_t)count, sizeof *base);
  for (int64_t i = 0; i < count; i++) base[i] = check_random_value(run, dtype, domain);
  return finish(run, dtype, shape, view, &p, base);
}

check_tensor *check_input_of(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view,
                             const check_value *values) {
  view = possible_view(shape, view == CHECK_EXPANDED ? CHECK_PLAIN : view);
  placing p = place(shape, view);
  check_value *base = check_alloc(run, (size_t)check_count(p.base), sizeof *base);
  int64_t count = check_count(shape);
  for (int64_t i = 0; i < count; i++) {
    base[position(&p, shape, i)] = run->grad ? check_grad_near(run, dtype, values[i]) : values[i];
  }
  return finish(run, dtype, shape, view, &p, base);
}

check_tensor *check_indices(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, int64_t least,
                            int64_t most) {
  view = possible_view(shape, view);
  placing p = place(shape, view);
  int64_t count = check_count(p.base);
  check_value *base = check_alloc(run, (size_t)count, sizeof *base);
  for (int64_t i = 0; i < count; i++) {
    int64_t value = least + (int64_t)check_random(run, (uint64_t)(most - least) + 1);
    base[i].whole = value < check_least(dtype) ? check_least(dtype) : value;
  }
  return finish(run, dtype, shape, view, &p, base);
}

check_expected *check_expect(check_run *run, tsr_dtype dtype, tsr_shape shape) {
  check_expected *wanted = check_alloc(run, 1, sizeof *wanted);
  *wanted = (check_expected){.dtype = dtype, .shape = shape, .count = check_count(shape), .terms = 1};
  wanted->values = check_alloc(run, (size_t)wanted->count, sizeof *wanted->values);
  return wanted;
}
