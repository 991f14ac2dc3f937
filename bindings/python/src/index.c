// SPDX-License-Identifier: MIT
// x[…] with whole numbers, slices, Ellipsis and None: views. Keys with arrays, lists or bools go to tessera/_indexing.py.
#include <string.h>

#include "binding.h"

static PyObject *advanced_get, *advanced_set;

PyObject *tsrpy_set_advanced_indexing(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *get = NULL, *set = NULL;
  if (!PyArg_ParseTuple(args, "OO", &get, &set)) return NULL;
  tsrpy_index_deinit();
  advanced_get = Py_NewRef(get);
  advanced_set = Py_NewRef(set);
  Py_RETURN_NONE;
}

void tsrpy_index_deinit(void) {
  Py_CLEAR(advanced_get);
  Py_CLEAR(advanced_set);
}

// Whether an object that is no int says that it is a bool, as NumPy's do: x[numpy.True_] is a mask.
static bool has_bool_dtype(PyObject *item) {
  PyObject *dtype = PyObject_GetAttrString(item, "dtype");
  PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
  PyErr_Clear();
  bool is_bool = kind && PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, "b") == 0;
  Py_XDECREF(kind);
  Py_XDECREF(dtype);
  return is_bool;
}

static bool is_whole(PyObject *item) { return PyIndex_Check(item) && !PySequence_Check(item) && !has_bool_dtype(item); }

// Whether an Array is an integer without axes whose value can be read without waiting for another device, so that it can be used like an int. On other devices a gather is
// recorded instead, which needs no wait.
static bool is_number_now(PyObject *item) {
  if (tsrpy_rank_of(item) != 0) return false;
  tsr_dtype_kind kind = tsr_dtype_kind_of(tsrpy_dtype_of(item));
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) return false;
  return tsrpy_is_element(item) || tsrpy_is_small(tsrpy_tensor_of(item));
}

static bool is_basic(PyObject *item) {
  if (PyLong_Check(item)) return !PyBool_Check(item);
  if (tsrpy_is_array(item)) return is_number_now(item);
  return item == Py_Ellipsis || item == Py_None || PySlice_Check(item) || is_whole(item);
}

// A key while it is read, for tsr_view.
enum { MAX_ITEMS = 2 * TSR_MAX_RANK };
typedef struct reader {
  int rank;  // of the array
  tsr_key items[MAX_ITEMS];
  int count;
} reader;

static bool add_item(reader *r, tsr_key item) {
  if (r->count == MAX_ITEMS) {
    PyErr_Format(PyExc_IndexError, "too many indices: %d are the most", MAX_ITEMS);
    return false;
  }
  r->items[r->count++] = item;
  return true;
}

static bool read_whole(reader *r, PyObject *item) {
  Py_ssize_t index = PyLong_Check(item) ? PyLong_AsSsize_t(item) : PyNumber_AsSsize_t(item, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) {
    PyErr_Format(PyExc_IndexError, "index %R is out of bounds", item);
    return false;
  }
  return add_item(r, TSR_AT(index));
}

// Python's slices mean the same as the library's ranges, except that a backward slice whose stop is beyond the end is empty.
static bool read_slice(reader *r, PyObject *item) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) return false;
  if (step < 0 && stop == TSR_END) stop--;
  return add_item(r, (tsr_key){TSR_KEY_RANGE, start, stop, step});
}

// Whole axes in place of an Ellipsis, of a key that has `count` items.
static bool read_ellipsis(reader *r, PyObject *key, Py_ssize_t count) {
  int used = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyTuple_GetItem(key, i);
    used += item != Py_Ellipsis && item != Py_None;
    ellipses += item == Py_Ellipsis;
  }
  if (ellipses > 1) {
    PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
    return false;
  }
  int skipped = r->rank - used;
  bool is_read = true;
  for (int i = 0; i < skipped && is_read; i++) is_read = add_item(r, TSR_RANGE(0, TSR_END));
  return is_read;
}

static bool read_item(reader *r, PyObject *item) {
  if (item == Py_None) return add_item(r, TSR_NEW_AXIS);
  return PySlice_Check(item) ? read_slice(r, item) : read_whole(r, item);
}

static bool read_tuple(reader *r, PyObject *key) {
  Py_ssize_t count = PyTuple_Size(key);
  bool is_read = true;
  for (Py_ssize_t i = 0; i < count && is_read; i++) {
    PyObject *item = PyTuple_GetItem(key, i);
    is_read = item == Py_Ellipsis ? read_ellipsis(r, key, count) : read_item(r, item);
  }
  return is_read;
}

// x[3], x[1:5] and x[None], the most frequent keys, need no tuple.
static bool is_one(PyObject *key) {
  return PySlice_Check(key) || key == Py_None || (PyLong_Check(key) && !PyBool_Check(key));
}

// Reads a key: one item (is_one), or a tuple of basic items. False with an exception.
static bool read_key(reader *r, PyObject *self, PyObject *key) {
  r->rank = tsrpy_rank_of(self);
  r->count = 0;
  return PyTuple_Check(key) ? read_tuple(r, key) : read_item(r, key);
}

// One number of a key: an int, or an element of integers. False: it is something else.
static bool read_number(PyObject *item, int64_t *out_index) {
  int overflow = 0;
  if (tsrpy_is_element(item)) {
    const tsrpy_array *element = (const tsrpy_array *)item;
    return is_number_now(item) && tsrpy_bits_whole(element->dtype, element->bits, out_index);
  }
  if (!PyLong_Check(item) || PyBool_Check(item)) return false;
  *out_index = PyLong_AsLongLongAndOverflow(item, &overflow);
  return !overflow;
}

// Reads a key of whole numbers alone: how many there are, or 0 if the key is something else.
static int read_numbers(PyObject *key, int64_t *index) {
  bool is_tuple = PyTuple_Check(key);
  Py_ssize_t count = is_tuple ? PyTuple_Size(key) : 1;
  if (count > TSR_MAX_RANK) return 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!read_number(is_tuple ? PyTuple_GetItem(key, i) : key, &index[i])) return 0;
  }
  return (int)count;
}

// The view that items of a key name, as an Array; what the library refuses is an IndexError.
static PyObject *make_view(PyObject *self, const tsr_key *items, int count) {
  PyObject *few = tsrpy_is_held(self) ? tsrpy_view_by_key((tsrpy_array *)self, items, count) : NULL;
  if (few || PyErr_Occurred()) return few;
  tsr_tensor *view = tsr_view(tsrpy_tensor_of(self), items, count);
  tsrpy_array *array = tsrpy_raise_index(tsr_error(view)) ? tsrpy_array_new(view) : NULL;
  if (!array) tsr_release(view);
  return (PyObject *)array;
}

// As make_view, for a key of Python. NULL with an exception.
static PyObject *view_by(PyObject *self, PyObject *key) {
  reader r;
  return read_key(&r, self, key) ? make_view(self, r.items, r.count) : NULL;
}

static bool is_basic_tuple(PyObject *tuple) {
  Py_ssize_t count = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!is_basic(PyTuple_GetItem(tuple, i))) return false;
  }
  return true;
}

static bool is_basic_key(PyObject *key) { return PyTuple_Check(key) ? is_basic_tuple(key) : is_basic(key); }

static PyObject *key_tuple(PyObject *key) { return PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key); }

// x[mask] with a mask of x's shape, and x[indices] with integers, without Python in between. NULL without an exception: the key is something else.
static PyObject *choose_large(tsr_tensor *x, tsr_tensor *key) {
  tsr_dtype dtype = tsr_tensor_dtype(key);
  tsr_shape shape = tsr_tensor_shape(x), wanted = tsr_tensor_shape(key);
  if (tsr_tensor_device(x) != tsr_tensor_device(key) || shape.rank == 0 || wanted.rank == 0) return NULL;
  if (dtype == TSR_BOOL) {
    if (shape.rank != wanted.rank || memcmp(shape.dims, wanted.dims, (size_t)shape.rank * sizeof shape.dims[0]) != 0) {
      return NULL;
    }
    tsr_tensor *chosen = NULL;
    if (!tsrpy_wait_tensor(key, true)) return NULL;
    Py_BEGIN_ALLOW_THREADS chosen = tsr_masked_select(x, key);
    Py_END_ALLOW_THREADS return tsrpy_array_take(chosen);
  }
  if ((dtype != TSR_I64 && dtype != TSR_I32) || wanted.rank == TSR_MAX_RANK) return NULL;
  tsr_tensor *indices = tsr_unsqueeze(key, wanted.rank), *chosen = tsr_gather_nd(x, indices);
  tsr_release(indices);
  return tsrpy_array_take(chosen);
}

// x[key] with arrays, lists or bools in the key.
static PyObject *choose(PyObject *self, PyObject *key) {
  PyObject *chosen = tsrpy_choose(self, key);
  if (chosen || PyErr_Occurred()) return chosen;
  if (tsrpy_is_array(key)) chosen = choose_large(tsrpy_tensor_of(self), tsrpy_tensor_of(key));
  if (chosen || PyErr_Occurred()) return chosen;
  PyObject *tuple = key_tuple(key);
  if (tuple) chosen = PyObject_CallFunctionObjArgs(advanced_get, self, tuple, NULL);
  Py_XDECREF(tuple);
  return chosen;
}

// Reads a tuple of ints, slices, None and an Ellipsis, the most frequent ones, in one go. False: it has something else, or there is an exception.
static bool read_plain_tuple(reader *r, PyObject *key, bool *out_is_numbers) {
  Py_ssize_t count = PyTuple_Size(key);
  bool is_read = count <= TSR_MAX_RANK;
  *out_is_numbers = true;
  for (Py_ssize_t i = 0; i < count && is_read; i++) {
    PyObject *item = PyTuple_GetItem(key, i);
    bool is_number = Py_IS_TYPE(item, &PyLong_Type);
    *out_is_numbers = *out_is_numbers && is_number;
    if (is_number) is_read = read_whole(r, item);
    else if (PySlice_Check(item)) is_read = read_slice(r, item);
    else if (item == Py_None) is_read = add_item(r, TSR_NEW_AXIS);
    else is_read = item == Py_Ellipsis && read_ellipsis(r, key, count);
  }
  return is_read;
}

// The element at an index of an Array that holds its elements. NULL: there is none.
static PyObject *held_element(PyObject *self, const int64_t *index, int count) {
  tsrpy_array *array = (tsrpy_array *)self;
  unsigned char bits[TSRPY_ELEMENT_BYTES] = {0}, *place = NULL;
  if (tsrpy_has_bits(array)) place = tsrpy_held_place(array, index, count);
  if (!place) return NULL;
  const size_t bytes = tsr_dtype_bytes(array->dtype);
  if (bytes == 4) memcpy(bits, place, 4);  // the compiler makes single moves of copies whose size it knows
  else if (bytes == 8) memcpy(bits, place, 8);
  else memcpy(bits, place, bytes);
  return tsrpy_number_take(array->device, array->dtype, bits);
}

// x[indices] of a list with few elements. NULL: not so, or there is an exception.
static PyObject *take_few(PyObject *self, PyObject *key) {
  static tsrpy_small_run *take;
  if (!take) take = tsrpy_small_find("take");
  return tsrpy_is_array(key) && tsrpy_rank_of(self) == 1 && tsrpy_rank_of(key) > 0 ? take((PyObject *[]){self, key})
                                                                                   : NULL;
}

// x[3] and x[1, 2] with a number for each axis: an element. NULL with an exception.
static PyObject *element_by(PyObject *self, const int64_t *index, int count) {
  PyObject *element = held_element(self, index, count);
  if (element || PyErr_Occurred()) return element;
  element = tsrpy_element_now(tsrpy_tensor_of(self), index, count);
  return element || PyErr_Occurred() ? element : tsrpy_element_at(tsrpy_tensor_of(self), index, count);
}

// x[3]: an element, or a view of the rest.
static PyObject *subscript_number(PyObject *self, int64_t index) {
  return tsrpy_rank_of(self) == 1 ? element_by(self, &index, 1) : make_view(self, &TSR_AT(index), 1);
}

// x[key] for a tuple of ints, slices, None and an Ellipsis. NULL: it has something else, or there is an exception.
static PyObject *subscript_tuple(PyObject *self, PyObject *key) {
  reader r;
  int64_t index[TSR_MAX_RANK];
  r.rank = tsrpy_rank_of(self);
  r.count = 0;
  bool is_numbers = false;
  if (!read_plain_tuple(&r, key, &is_numbers)) return NULL;
  if (!is_numbers || r.count != r.rank) return make_view(self, r.items, r.count);
  for (int i = 0; i < r.count; i++) index[i] = r.items[i].start;
  return element_by(self, index, r.count);
}

// x[key] for keys with elements of other arrays as numbers, with lists, masks and arrays.
static PyObject *subscript_other(PyObject *self, PyObject *key) {
  int64_t index[TSR_MAX_RANK];
  int count = read_numbers(key, index);
  PyObject *found = NULL;
  if (count > 0 && count == tsrpy_rank_of(self)) return element_by(self, index, count);
  if (count == 0) found = take_few(self, key);
  if (found || PyErr_Occurred()) return found;
  if (!is_basic_key(key)) return choose(self, key);
  PyObject *tuple = key_tuple(key), *view = tuple ? view_by(self, tuple) : NULL;
  Py_XDECREF(tuple);
  return view;
}

PyObject *tsrpy_subscript(PyObject *self, PyObject *key) {
  int overflow = 0;
  if (Py_IS_TYPE(key, &PyLong_Type)) {
    int64_t index = PyLong_AsLongLongAndOverflow(key, &overflow);
    if (!overflow) return subscript_number(self, index);
  }
  if (PySlice_Check(key) || key == Py_None) return view_by(self, key);
  PyObject *found = Py_IS_TYPE(key, &PyTuple_Type) ? subscript_tuple(self, key) : NULL;
  return found || PyErr_Occurred() ? found : subscript_other(self, key);
}

PyObject *tsrpy_sequence_item(PyObject *self, Py_ssize_t index) {
  PyObject *held = held_element(self, &(int64_t){index}, 1);
  if (held || PyErr_Occurred()) return held;
  if (tsrpy_rank_of(self) == 1 && !tsrpy_is_held(self)) {
    PyObject *element = tsrpy_element_now(tsrpy_tensor_of(self), &(int64_t){index}, 1);
    if (element || PyErr_Occurred()) return element;
  }
  tsr_shape shape = tsrpy_shape_of(self);
  if (shape.rank == 0 || index >= shape.dims[0] || index < 0) {  // the end of each iteration: no text is made
    PyErr_SetString(PyExc_IndexError, "index out of bounds");
    return NULL;
  }
  if (shape.rank == 1) return tsrpy_element_at(tsrpy_tensor_of(self), &(int64_t){index}, 1);
  return make_view(self, &TSR_AT(index), 1);
}

// Writes a value, converted to the dtype of the view.
static bool assign(tsr_tensor *view, PyObject *value) {
  if (tsrpy_is_number(value)) return tsrpy_fill(view, value);
  tsr_dtype dtype = tsrpy_is_array(value) ? TSR_DTYPE_COUNT : tsr_tensor_dtype(view);
  tsr_tensor *source = tsrpy_tensor_from(value, tsr_tensor_device(view), dtype);
  if (!source) return false;
  // Leading axes of size 1 may be more than the view has, as in NumPy.
  tsr_shape shape = tsr_tensor_shape(source), target = tsr_tensor_shape(view);
  while (shape.rank > target.rank && shape.dims[0] == 1) {
    tsr_tensor *fewer = tsr_squeeze(source, 0);
    tsr_release(source);
    source = fewer;
    shape = tsr_tensor_shape(source);
  }
  tsr_status status = tsr_assign(view, source);
  tsr_release(source);
  return tsrpy_check(status);
}

// x[key] = value by the library, for a basic key. False with an exception.
static bool assign_view(PyObject *self, const reader *r, PyObject *value) {
  tsr_tensor *view = tsr_view(tsrpy_tensor_of(self), r->items, r->count);
  bool is_done = tsrpy_raise_index(tsr_error(view)) && assign(view, value);
  tsr_release(view);
  return is_done;
}

// As assign_view, for a key of Python that is one item, or a tuple of basic items.
static bool assign_basic(PyObject *self, PyObject *key, PyObject *value) {
  reader r;
  if (!read_key(&r, self, key)) return false;
  if (tsrpy_is_held(self) && tsrpy_view_assign((tsrpy_array *)self, r.items, r.count, value)) return true;
  return !PyErr_Occurred() && assign_view(self, &r, value);
}

// x[key] = value with arrays, lists or bools in the key.
static bool assign_chosen(PyObject *self, PyObject *key, PyObject *value) {
  if (tsrpy_choose_assign(self, key, value)) return true;
  PyObject *tuple = PyErr_Occurred() ? NULL : key_tuple(key);
  PyObject *result = tuple ? PyObject_CallFunctionObjArgs(advanced_set, self, tuple, value, NULL) : NULL;
  Py_XDECREF(tuple);
  Py_XDECREF(result);
  return result != NULL;
}

// x[3] = number and x[1, 2] = number. False: it is something else; with an exception if it is wrong.
static bool assign_number(PyObject *self, PyObject *key, PyObject *value) {
  int64_t index[TSR_MAX_RANK];
  unsigned char bits[TSRPY_ELEMENT_BYTES], *place = NULL;
  int count = read_numbers(key, index);
  if (count == 0 || count != tsrpy_rank_of(self) || !tsrpy_number_bits(tsrpy_dtype_of(self), value, bits)) return false;
  if (tsrpy_is_held(self)) place = tsrpy_held_place((tsrpy_array *)self, index, count);
  if (!place) return tsrpy_raise_index(tsr_assign_at(tsrpy_tensor_of(self), index, count, bits));
  memcpy(place, bits, tsr_dtype_bytes(tsrpy_dtype_of(self)));
  return true;
}

int tsrpy_assign_subscript(PyObject *self, PyObject *key, PyObject *value) {
  if (!value) {
    PyErr_SetString(PyExc_ValueError, "elements of an array cannot be deleted");
    return -1;
  }
  if (assign_number(self, key, value)) return 0;
  if (PyErr_Occurred()) return -1;
  if (is_one(key)) return assign_basic(self, key, value) ? 0 : -1;
  if (!is_basic_key(key)) return assign_chosen(self, key, value) ? 0 : -1;
  PyObject *tuple = key_tuple(key);
  bool is_done = tuple && assign_basic(self, tuple, value);
  Py_XDECREF(tuple);
  return is_done ? 0 : -1;
}
