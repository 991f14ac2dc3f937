// SPDX-License-Identifier: MIT
// Views of small arrays that hold their elements: x[1:], x.T, x.reshape(2, 2). A view reads and writes the memory of its root, the Array that has the elements, so that
// neither needs a tensor.
//
// When the root has got a tensor, each of its views gets one at its next use: a view of the parent's tensor, made in the same way as the view was. The parent is the Array
// from which the view was made: the root, or another view.
//
// A view has at least one element and one axis. Strides are in bytes and below 128 in size, as roots are that small.
#include "binding.h"

enum { MOST_PARENTS = 8 };  // a view of so many views is the library's: each keeps its parent alive

// Where the elements of an Array lie, seen from the first byte of its root.
typedef struct layout {
  int rank, first;
  int bytes;  // of an element
  int64_t dims[TSR_MAX_RANK];
  int strides[TSR_MAX_RANK];
} layout;

static int first_of(const tsrpy_array *array) { return array->root ? array->view.first : 0; }

static void set_row_major(layout *l) {
  int stride = l->bytes;
  for (int i = l->rank; i-- > 0;) {
    l->strides[i] = stride;
    stride *= (int)l->dims[i];
  }
}

static void layout_of(const tsrpy_array *array, layout *out) {
  out->rank = array->shape.rank;
  out->first = first_of(array);
  out->bytes = (int)tsr_dtype_bytes(array->dtype);
  for (int i = 0; i < out->rank; i++) out->dims[i] = array->shape.dims[i];
  if (!array->root) {
    set_row_major(out);
    return;
  }
  for (int i = 0; i < out->rank; i++) out->strides[i] = array->view.strides[i];
}

static bool is_row_major(const layout *l) {
  int stride = l->bytes;
  for (int i = l->rank; i-- > 0;) {
    if (l->dims[i] != 1 && l->strides[i] != stride) return false;
    stride *= (int)l->dims[i];
  }
  return true;
}

static unsigned char *memory_of(tsrpy_array *array) { return (array->root ? array->root : array)->bits; }

// A new view of `parent` with this layout; NULL with an exception. The caller fills in its keys or axes.
static tsrpy_array *new_view(tsrpy_array *parent, const layout *l, tsrpy_view_kind kind) {
  tsrpy_array *made = tsrpy_array_new(NULL);
  if (!made) return NULL;
  made->root = parent->root ? parent->root : parent;
  made->device = parent->device;
  made->dtype = parent->dtype;
  made->shape.rank = l->rank;
  for (int i = 0; i < l->rank; i++) {
    made->shape.dims[i] = l->dims[i];
    made->view.strides[i] = (int16_t)l->strides[i];
  }
  made->view.first = (int16_t)l->first;
  made->view.parent = (tsrpy_array *)Py_NewRef((PyObject *)parent);
  made->view.kind = (int8_t)kind;
  made->view.depth = (int8_t)(parent->root ? parent->view.depth + 1 : 1);
  made->view.item_count = 0;
  tsrpy_held_remember(made);
  return made;
}

// Whether views of an Array are made here.
static bool may_view(const tsrpy_array *array) {
  return !tsrpy_is_recording() && !(array->root && array->view.depth >= MOST_PARENTS);
}

// --- Making ----------------------------------------------------------------------------------------------------------

// Applies one item of a key to axis `axis` of `from`. False: it is out of range, or leaves no element.
static bool apply_item(const layout *from, int *axis, const tsr_key *item, layout *to, tsrpy_view_key *out_key) {
  if (to->rank == TSR_MAX_RANK) return false;
  *out_key = (tsrpy_view_key){.kind = (int8_t)item->kind, .step = 1};
  if (item->kind == TSR_KEY_NEW) {
    to->dims[to->rank] = 1;
    to->strides[to->rank++] = 0;
    return true;
  }
  if (*axis == from->rank) return false;
  const Py_ssize_t size = (Py_ssize_t)from->dims[*axis];
  const int stride = from->strides[(*axis)++];
  if (item->kind == TSR_KEY_AT) {
    int64_t index = item->start < 0 ? item->start + size : item->start;
    if (index < 0 || index >= size) return false;
    out_key->start = (int16_t)index;
    to->first += (int)index * stride;
    return true;
  }
  if (item->start == 0 && item->stop >= size && item->step == 1) {
    out_key->stop = (int16_t)size;
    to->dims[to->rank] = size;
    to->strides[to->rank++] = stride;
    return true;
  }
  Py_ssize_t start = (Py_ssize_t)item->start, stop = (Py_ssize_t)item->stop, step = (Py_ssize_t)item->step;
  const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  if (count == 0) return false;
  if (count == 1) {  // whatever the step is
    step = 1;
    stop = start + 1;
  }
  out_key->start = (int16_t)start;
  out_key->stop = (int16_t)stop;
  out_key->step = (int16_t)step;
  to->first += (int)start * stride;
  to->dims[to->rank] = count;
  to->strides[to->rank++] = (int)step * stride;
  return true;
}

// The layout of what a key names. False: the library does it, or says what is wrong.
static bool apply_key(const tsrpy_array *array, const tsr_key *items, int item_count, layout *out,
                      tsrpy_view_key *out_keys) {
  layout from;
  int axis = 0;
  if (item_count > TSR_MAX_RANK) return false;
  layout_of(array, &from);
  out->rank = 0;
  out->first = from.first;
  out->bytes = from.bytes;
  for (int i = 0; i < item_count; i++) {
    if (!apply_item(&from, &axis, &items[i], out, &out_keys[i])) return false;
  }
  for (; axis < from.rank; axis++) {
    if (out->rank == TSR_MAX_RANK) return false;
    out->dims[out->rank] = from.dims[axis];
    out->strides[out->rank++] = from.strides[axis];
  }
  return out->rank > 0;
}

PyObject *tsrpy_view_by_key(tsrpy_array *array, const tsr_key *items, int item_count) {
  layout l;
  tsrpy_view_key keys[TSR_MAX_RANK];
  if (!may_view(array) || !apply_key(array, items, item_count, &l, keys)) return NULL;
  tsrpy_array *made = new_view(array, &l, TSRPY_BY_KEY);
  if (!made) return NULL;
  made->view.item_count = (int8_t)item_count;
  for (int i = 0; i < item_count; i++) made->view.keys[i] = keys[i];
  return (PyObject *)made;
}

PyObject *tsrpy_view_by_axes(tsrpy_array *array, const int *axes) {
  layout from, l;
  if (!may_view(array) || array->shape.rank == 0) return NULL;
  layout_of(array, &from);
  l.rank = from.rank;
  l.first = from.first;
  l.bytes = from.bytes;
  for (int i = 0; i < l.rank; i++) {
    l.dims[i] = from.dims[axes[i]];
    l.strides[i] = from.strides[axes[i]];
  }
  tsrpy_array *made = new_view(array, &l, TSRPY_BY_AXES);
  if (!made) return NULL;
  made->view.item_count = (int8_t)l.rank;
  for (int i = 0; i < l.rank; i++) made->view.axes[i] = (int8_t)axes[i];
  return (PyObject *)made;
}

PyObject *tsrpy_view_by_shape(tsrpy_array *array, const tsr_shape *shape) {
  layout l;
  int64_t count = 1;
  int open = -1;  // the axis whose size is what is left
  if (!may_view(array) || array->shape.rank == 0 || shape->rank == 0) return NULL;
  layout_of(array, &l);
  if (array->root && !is_row_major(&l)) return NULL;
  l.rank = shape->rank;
  for (int i = 0; i < shape->rank; i++) {
    l.dims[i] = shape->dims[i];
    if (shape->dims[i] == -1 && open < 0) open = i;
    else if (shape->dims[i] <= 0 || shape->dims[i] > TSRPY_HELD_BYTES) return NULL;
    else count *= shape->dims[i];
    if (count > TSRPY_HELD_BYTES) return NULL;
  }
  const int64_t all = tsrpy_count_of_shape(&array->shape);
  if (open >= 0) l.dims[open] = all / count;
  if (open >= 0 ? all % count != 0 : all != count) return NULL;
  set_row_major(&l);
  return (PyObject *)new_view(array, &l, TSRPY_BY_SHAPE);
}

// --- Reading and writing ---------------------------------------------------------------------------------------------

// Copies elements of one layout to those of another one, both of the same sizes. In memory of their own: they do not overlap.
static void copy_elements(unsigned char *to, const int *to_strides, const unsigned char *from, const int *from_strides,
                          const int64_t *dims, int rank, size_t bytes) {
  if (rank > 1) {
    for (int64_t i = 0; i < dims[0]; i++, to += to_strides[0], from += from_strides[0]) {
      copy_elements(to, to_strides + 1, from, from_strides + 1, dims + 1, rank - 1, bytes);
    }
    return;
  }
  const int to_step = rank ? to_strides[0] : 0, from_step = rank ? from_strides[0] : 0;
  const int64_t count = rank ? dims[0] : 1;
  for (int64_t i = 0; i < count; i++, to += to_step, from += from_step) {
    if (bytes == 4) memcpy(to, from, 4);  // the compiler makes single moves of copies whose size it knows
    else if (bytes == 8) memcpy(to, from, 8);
    else memcpy(to, from, bytes);
  }
}

void tsrpy_view_read(const tsrpy_array *array, void *out_elements) {
  const unsigned char *from = array->root->bits + array->view.first;
  layout l, flat;
  layout_of(array, &l);
  flat = l;
  set_row_major(&flat);
  copy_elements(out_elements, flat.strides, from, l.strides, l.dims, l.rank, (size_t)l.bytes);
}

void tsrpy_view_write(tsrpy_array *array, const void *elements) {
  unsigned char *to = array->root->bits + array->view.first;
  layout l, flat;
  layout_of(array, &l);
  flat = l;
  set_row_major(&flat);
  copy_elements(to, l.strides, elements, flat.strides, l.dims, l.rank, (size_t)l.bytes);
}

// The elements of a value for an Array of a dtype, in memory of their own, with strides that broadcast them to `to`. False: it is something else.
static bool read_value(PyObject *value, tsr_dtype dtype, const layout *to, unsigned char *out_elements, int *strides) {
  for (int i = 0; i < to->rank; i++) strides[i] = 0;
  if (!tsrpy_is_array(value)) return tsrpy_number_bits(dtype, value, out_elements);
  const tsr_shape shape = tsrpy_shape_of(value);
  layout l = {.rank = shape.rank, .bytes = to->bytes};
  if (tsrpy_dtype_of(value) != dtype || l.rank > to->rank) return false;
  for (int i = 0; i < l.rank; i++) l.dims[i] = shape.dims[i];
  set_row_major(&l);
  for (int i = 0; i < l.rank; i++) {
    const int at = to->rank - l.rank + i;
    if (l.dims[i] != 1 && l.dims[i] != to->dims[at]) return false;
    strides[at] = l.dims[i] == 1 ? 0 : l.strides[i];
  }
  return tsrpy_few_read(value, out_elements);
}

bool tsrpy_view_assign(tsrpy_array *array, const tsr_key *items, int item_count, PyObject *value) {
  layout l;
  tsrpy_view_key keys[TSR_MAX_RANK];
  unsigned char elements[TSRPY_HELD_BYTES];
  int strides[TSR_MAX_RANK];
  if (tsrpy_is_recording() || !apply_key(array, items, item_count, &l, keys)) return false;
  if (!read_value(value, array->dtype, &l, elements, strides)) return false;
  copy_elements(memory_of(array) + l.first, l.strides, elements, strides, l.dims, l.rank, (size_t)l.bytes);
  return true;
}

// --- Tensors ---------------------------------------------------------------------------------------------------------

static tsr_tensor *view_by_keys(tsr_tensor *parent, const tsrpy_view_key *keys, int count) {
  tsr_key items[TSR_MAX_RANK];
  for (int i = 0; i < count; i++) {
    // A stop below 0 belongs to a range that goes backwards and includes the first element.
    const int64_t stop = keys[i].stop < 0 ? TSR_END : keys[i].stop;
    items[i] = (tsr_key){(tsr_key_kind)keys[i].kind, keys[i].start, stop, keys[i].step};
  }
  return tsr_view(parent, items, count);
}

tsr_tensor *tsrpy_view_tensor(tsrpy_array *array) {
  const tsrpy_view *view = &array->view;
  tsr_tensor *parent = tsrpy_tensor_of((PyObject *)view->parent);
  if (view->kind == TSRPY_BY_SHAPE) return tsr_reshape(parent, array->shape);
  if (view->kind == TSRPY_BY_KEY) return view_by_keys(parent, view->keys, view->item_count);
  int axes[TSR_MAX_RANK];
  for (int i = 0; i < view->item_count; i++) axes[i] = view->axes[i];
  return tsr_permute(parent, axes, view->item_count);
}
