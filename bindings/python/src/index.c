// SPDX-License-Identifier: MIT
// x[…] with whole numbers, slices, Ellipsis and None: views. Keys with arrays, lists or bools go to tessera/_indexing.py.
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

static bool is_whole(PyObject *item) {
  if (PyLong_Check(item)) return !PyBool_Check(item);
  return PyIndex_Check(item) && !PySequence_Check(item) && !has_bool_dtype(item);
}

static bool is_basic(PyObject *item) {
  return item == Py_Ellipsis || item == Py_None || PySlice_Check(item) || (is_whole(item) && !tsrpy_is_array(item));
}

// A view while the key is gone through; it takes over each tensor it replaces.
typedef struct viewer {
  tsr_tensor *tensor;
  int axis;  // of the view, which the next item is about
} viewer;

static void replace(viewer *v, tsr_tensor *next) {
  tsr_release(v->tensor);
  v->tensor = next;
}

static bool take_whole(viewer *v, PyObject *item) {
  tsr_shape shape = tsr_tensor_shape(v->tensor);
  Py_ssize_t index = PyNumber_AsSsize_t(item, PyExc_IndexError), size = (Py_ssize_t)shape.dims[v->axis];
  if (index == -1 && PyErr_Occurred()) return false;
  if (index < -size || index >= size) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %zd", index, v->axis, size);
    return false;
  }
  if (index < 0) index += size;
  replace(v, tsr_slice(v->tensor, v->axis, index, index + 1, 1));
  replace(v, tsr_squeeze(v->tensor, v->axis));
  return true;
}

static bool take_slice(viewer *v, PyObject *item) {
  tsr_shape shape = tsr_tensor_shape(v->tensor);
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) return false;
  Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)shape.dims[v->axis], &start, &stop, step);
  if (count == 0) {
    replace(v, tsr_slice(v->tensor, v->axis, 0, 0, 1));
  } else if (count != shape.dims[v->axis] || step != 1) {
    replace(v, tsr_slice(v->tensor, v->axis, start, stop < 0 ? TSR_END : stop, step));
  }
  v->axis++;
  return true;
}

static bool take_item(viewer *v, PyObject *item, int skipped) {
  if (item == Py_Ellipsis) return v->axis += skipped, true;
  if (item == Py_None) {
    replace(v, tsr_unsqueeze(v->tensor, v->axis++));
    return true;
  }
  return PySlice_Check(item) ? take_slice(v, item) : take_whole(v, item);
}

// How many axes the Ellipsis stands for; -1 with an exception if the key has too many items.
static int axes_skipped(PyObject *key, Py_ssize_t count, int rank) {
  int used = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyTuple_GetItem(key, i);
    used += item != Py_Ellipsis && item != Py_None;
    ellipses += item == Py_Ellipsis;
  }
  if (ellipses <= 1 && used <= rank) return rank - used;
  if (ellipses > 1) {
    PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
  } else {
    PyErr_Format(PyExc_IndexError, "too many indices: the array has %d axes, but %d were indexed", rank, used);
  }
  return -1;
}

// The view that a tuple of basic items names, which the caller releases; NULL with an exception.
static tsr_tensor *basic_view(tsr_tensor *tensor, PyObject *key) {
  Py_ssize_t count = PyTuple_Size(key);
  int skipped = axes_skipped(key, count, tsr_tensor_shape(tensor).rank);
  if (skipped < 0) return NULL;
  viewer v = {.tensor = tsr_retain(tensor)};
  bool is_right = true;
  for (Py_ssize_t i = 0; is_right && i < count; i++) {
    is_right = take_item(&v, PyTuple_GetItem(key, i), skipped) && tsrpy_check(tsr_error(v.tensor));
  }
  if (is_right) return v.tensor;
  tsr_release(v.tensor);
  return NULL;
}

// The key as a tuple; `*out_is_basic`: without arrays, lists and bools.
static PyObject *key_tuple(PyObject *key, bool *out_is_basic) {
  PyObject *tuple = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
  *out_is_basic = true;
  Py_ssize_t count = tuple ? PyTuple_Size(tuple) : 0;
  for (Py_ssize_t i = 0; i < count; i++) *out_is_basic &= is_basic(PyTuple_GetItem(tuple, i));
  return tuple;
}

// x[3] and x[1:5], the most frequent keys, without a tuple.
static PyObject *subscript_one(PyObject *self, PyObject *item) {
  viewer v = {.tensor = tsr_retain(tsrpy_tensor_of(self))};
  if (PySlice_Check(item) ? take_slice(&v, item) : take_whole(&v, item)) return tsrpy_array_take(v.tensor);
  tsr_release(v.tensor);
  return NULL;
}

PyObject *tsrpy_subscript(PyObject *self, PyObject *key) {
  bool is_basic_key;
  bool is_one = PySlice_Check(key) || (PyLong_Check(key) && !PyBool_Check(key));
  if (is_one && tsr_tensor_shape(tsrpy_tensor_of(self)).rank > 0) return subscript_one(self, key);
  PyObject *tuple = key_tuple(key, &is_basic_key), *result = NULL;
  if (!tuple) return NULL;
  if (is_basic_key) {
    tsr_tensor *view = basic_view(tsrpy_tensor_of(self), tuple);
    result = view ? tsrpy_array_take(view) : NULL;
  } else {
    result = PyObject_CallFunctionObjArgs(advanced_get, self, tuple, NULL);
  }
  Py_DECREF(tuple);
  return result;
}

PyObject *tsrpy_sequence_item(PyObject *self, Py_ssize_t index) {
  if (tsr_tensor_shape(tsrpy_tensor_of(self)).rank == 0) {
    PyErr_SetString(PyExc_TypeError, "an array without axes cannot be iterated over");
    return NULL;
  }
  viewer v = {.tensor = tsr_retain(tsrpy_tensor_of(self))};
  PyObject *position = PyLong_FromSsize_t(index);
  bool is_right = position && take_whole(&v, position);
  Py_XDECREF(position);
  if (is_right) return tsrpy_array_take(v.tensor);
  tsr_release(v.tensor);
  return NULL;
}

// Writes a value, converted to the dtype of the view.
static bool assign(tsr_tensor *view, PyObject *value) {
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

int tsrpy_assign_subscript(PyObject *self, PyObject *key, PyObject *value) {
  if (!value) {
    PyErr_SetString(PyExc_ValueError, "elements of an array cannot be deleted");
    return -1;
  }
  bool is_basic_key, is_done = false;
  PyObject *tuple = key_tuple(key, &is_basic_key);
  if (!tuple) return -1;
  if (is_basic_key) {
    tsr_tensor *view = basic_view(tsrpy_tensor_of(self), tuple);
    is_done = view && assign(view, value);
    tsr_release(view);
  } else {
    PyObject *result = PyObject_CallFunctionObjArgs(advanced_set, self, tuple, value, NULL);
    is_done = result != NULL;
    Py_XDECREF(result);
  }
  Py_DECREF(tuple);
  return is_done ? 0 : -1;
}
