// SPDX-License-Identifier: MIT
// Operators of tessera.ops that are views, of Arrays that hold their elements: what functions in Python are made of needs no tensor either.
#include "small.h"

// NULL: the library makes the view.
static tsrpy_array *held_of(PyObject *object) { return object && tsrpy_is_held(object) ? (tsrpy_array *)object : NULL; }

// tensor, shape.
static PyObject *view_reshape(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  tsr_shape shape;
  if (!x || !given[1] || !tsrpy_read_shape(&given[1], 1, &shape)) return NULL;
  return tsrpy_view_by_shape(x, &shape);
}

// tensor, axis_a, axis_b: two axes swapped.
static PyObject *view_transpose(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  int a, b, axes[TSR_MAX_RANK];
  if (!x || !given[1] || !given[2]) return NULL;
  if (!tsrpy_read_axis(given[1], x->shape.rank, 0, &a) || !tsrpy_read_axis(given[2], x->shape.rank, 0, &b)) return NULL;
  for (int i = 0; i < x->shape.rank; i++) axes[i] = i == a ? b : i == b ? a : i;
  return tsrpy_view_by_axes(x, axes);
}

// tensor, from, to: one axis at another place.
static PyObject *view_moveaxis(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  int from, to, axes[TSR_MAX_RANK];
  if (!x || !given[1] || !given[2]) return NULL;
  const int rank = x->shape.rank;
  if (!tsrpy_read_axis(given[1], rank, 0, &from) || !tsrpy_read_axis(given[2], rank, 0, &to)) return NULL;
  for (int i = 0, next = 0; i < rank; i++) {
    if (next == from) next++;
    axes[i] = i == to ? from : next++;
  }
  return tsrpy_view_by_axes(x, axes);
}

// A key that takes all axes before `axis` whole, and then has one item.
static PyObject *view_along(tsrpy_array *x, int axis, tsr_key item) {
  tsr_key items[TSR_MAX_RANK];
  for (int i = 0; i < axis; i++) items[i] = TSR_RANGE(0, TSR_END);
  items[axis] = item;
  return tsrpy_view_by_key(x, items, axis + 1);
}

// tensor, axis.
static PyObject *view_flip(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  int axis;
  if (!x || !given[1] || !tsrpy_read_axis(given[1], x->shape.rank, 0, &axis)) return NULL;
  return view_along(x, axis, (tsr_key){TSR_KEY_RANGE, INT64_MAX, INT64_MIN, -1});
}

static PyObject *view_squeeze(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  int axis;
  if (!x || !given[1] || !tsrpy_read_axis(given[1], x->shape.rank, 0, &axis) || x->shape.dims[axis] != 1) return NULL;
  return view_along(x, axis, TSR_AT(0));
}

// The new axis may be the last one.
static PyObject *view_unsqueeze(PyObject *const *given) {
  tsrpy_array *x = held_of(given[0]);
  int axis;
  if (!x || !given[1] || !tsrpy_read_axis(given[1], x->shape.rank + 1, 0, &axis) || axis == TSR_MAX_RANK) return NULL;
  return view_along(x, axis, TSR_NEW_AXIS);
}

const tsrpy_small_entry tsrpy_view_operators[] = {
    {"reshape", view_reshape},
    {"transpose", view_transpose},
    {"moveaxis", view_moveaxis},
    {"flip", view_flip},
    {"squeeze", view_squeeze},
    {"unsqueeze", view_unsqueeze},
    {NULL, NULL},
};
