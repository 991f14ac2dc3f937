// SPDX-License-Identifier: MIT
// Methods and functions that small programs call all the time, without Python in between: reshape, ravel, flatten, astype, tolist, asarray, array, nonzero
// and count_nonzero.
//
// Each does the common form of its call. Everything else, keywords above all, goes to the function in Python that has the same name (set_general).
#include <string.h>

#include "binding.h"

typedef struct general {
  const char *name;
  PyObject *function;
} general;

static general generals[TSRPY_GENERAL_COUNT] = {
    [TSRPY_RESHAPE] = {"reshape", NULL},
    [TSRPY_RAVEL] = {"ravel", NULL},
    [TSRPY_FLATTEN] = {"flatten", NULL},
    [TSRPY_ASTYPE] = {"astype", NULL},
    [TSRPY_TOLIST] = {"tolist", NULL},
    [TSRPY_ASARRAY] = {"asarray", NULL},
    [TSRPY_ARRAY] = {"array", NULL},
    [TSRPY_NONZERO] = {"nonzero", NULL},
    [TSRPY_ZEROS] = {"zeros", NULL},
    [TSRPY_ONES] = {"ones", NULL},
    [TSRPY_FULL] = {"full", NULL},
    [TSRPY_ARANGE] = {"arange", NULL},
    [TSRPY_ZEROS_LIKE] = {"zeros_like", NULL},
    [TSRPY_ONES_LIKE] = {"ones_like", NULL},
    [TSRPY_FULL_LIKE] = {"full_like", NULL},
    [TSRPY_TRANSPOSE] = {"transpose", NULL},
    [TSRPY_SQUEEZE] = {"squeeze", NULL},
    [TSRPY_TAKE] = {"take", NULL},
    [TSRPY_FILL] = {"fill", NULL},
    [TSRPY_SORT] = {"sort", NULL},
    [TSRPY_ASCONTIGUOUSARRAY] = {"ascontiguousarray", NULL},
    [TSRPY_FROMBUFFER] = {"frombuffer", NULL},
    [TSRPY_COUNT_NONZERO] = {"count_nonzero", NULL},
    [TSRPY_RESULT_TYPE] = {"result_type", NULL},
    [TSRPY_CAN_CAST] = {"can_cast", NULL},
};

// set_general(dict): the functions in Python, by name.
static PyObject *set_general(PyObject *module, PyObject *functions) {
  (void)module;
  for (int i = 0; i < TSRPY_GENERAL_COUNT; i++) {
    PyObject *function = PyDict_Check(functions) ? PyDict_GetItemString(functions, generals[i].name) : NULL;
    if (!function) {
      PyErr_Format(PyExc_KeyError, "%s", generals[i].name);
      return NULL;
    }
    Py_XDECREF(generals[i].function);
    generals[i].function = Py_NewRef(function);
  }
  Py_RETURN_NONE;
}

void tsrpy_methods_deinit(void) {
  for (int i = 0; i < TSRPY_GENERAL_COUNT; i++) Py_CLEAR(generals[i].function);
}

PyObject *tsrpy_call_general(tsrpy_general at, PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names) {
  Py_ssize_t skipped = self ? 1 : 0, name_count = names ? PyTuple_Size(names) : 0;
  PyObject *all = PyTuple_New(skipped + count), *keywords = name_count ? PyDict_New() : NULL, *result = NULL;
  bool is_right = all && (!name_count || keywords);
  if (is_right && self) is_right = PyTuple_SetItem(all, 0, Py_NewRef(self)) == 0;
  for (Py_ssize_t i = 0; is_right && i < count; i++) {
    is_right = PyTuple_SetItem(all, skipped + i, Py_NewRef(args[i])) == 0;
  }
  for (Py_ssize_t i = 0; is_right && i < name_count; i++) {
    is_right = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]) == 0;
  }
  if (is_right) result = PyObject_Call(generals[at].function, all, keywords);
  Py_XDECREF(all);
  Py_XDECREF(keywords);
  return result;
}

// --- Methods ---------------------------------------------------------------------------------------------------------

// Sizes that are ints; false without an exception if anything else is among them.
static bool read_sizes(PyObject *const *sizes, Py_ssize_t count, tsr_shape *out_shape) {
  if (count > TSR_MAX_RANK) return false;
  *out_shape = (tsr_shape){.rank = (int32_t)count};
  for (Py_ssize_t i = 0; i < count; i++) {
    int overflow = 0;
    if (!PyLong_Check(sizes[i])) return false;
    out_shape->dims[i] = PyLong_AsLongLongAndOverflow(sizes[i], &overflow);
    if (overflow) return false;
  }
  return true;
}

bool tsrpy_read_shape(PyObject *const *args, Py_ssize_t count, tsr_shape *out_shape) {
  if (count != 1 || !PyTuple_Check(args[0])) return count > 0 && read_sizes(args, count, out_shape);
  PyObject *sizes[TSR_MAX_RANK];
  Py_ssize_t rank = PyTuple_Size(args[0]);
  for (Py_ssize_t i = 0; i < rank && i < TSR_MAX_RANK; i++) sizes[i] = PyTuple_GetItem(args[0], i);
  return read_sizes(sizes, rank, out_shape);
}

static PyObject *reshaped(PyObject *self, const tsr_shape *shape) {
  PyObject *few = tsrpy_is_held(self) ? tsrpy_view_by_shape((tsrpy_array *)self, shape) : NULL;
  return few || PyErr_Occurred() ? few : tsrpy_view_take(tsr_reshape(tsrpy_tensor_of(self), *shape));
}

PyObject *tsrpy_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_shape shape;
  if (names || !tsrpy_read_shape(args, count, &shape))
    return tsrpy_call_general(TSRPY_RESHAPE, self, args, count, names);
  return reshaped(self, &shape);
}

PyObject *tsrpy_ravel(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  static const tsr_shape flat = {.rank = 1, .dims = {-1}};
  if (names || count > 0) return tsrpy_call_general(TSRPY_RAVEL, self, args, count, names);
  return reshaped(self, &flat);
}

// The axes in reverse order.
PyObject *tsrpy_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  if (names || count > 0) return tsrpy_call_general(TSRPY_TRANSPOSE, self, args, count, names);
  int axes[TSR_MAX_RANK], rank = tsrpy_rank_of(self);
  for (int i = 0; i < rank; i++) axes[i] = rank - 1 - i;
  PyObject *few = tsrpy_is_held(self) ? tsrpy_view_by_axes((tsrpy_array *)self, axes) : NULL;
  return few || PyErr_Occurred() ? few : tsrpy_view_take(tsr_permute(tsrpy_tensor_of(self), axes, rank));
}

PyObject *tsrpy_squeeze(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  if (names || count > 0) return tsrpy_call_general(TSRPY_SQUEEZE, self, args, count, names);
  tsr_shape shape = {0}, own = tsrpy_shape_of(self);
  for (int i = 0; i < own.rank; i++) {
    if (own.dims[i] != 1) shape.dims[shape.rank++] = own.dims[i];
  }
  if (shape.rank == own.rank) return Py_NewRef(self);
  PyObject *few = tsrpy_is_held(self) ? tsrpy_view_by_shape((tsrpy_array *)self, &shape) : NULL;
  return few || PyErr_Occurred() ? few : tsrpy_view_take(tsr_squeeze_all(tsrpy_tensor_of(self)));
}

PyObject *tsrpy_take(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  static tsrpy_small_run *small;
  if (!small) small = tsrpy_small_find("take");
  PyObject *few = names || count != 1 ? NULL : small((PyObject *[]){self, args[0]});
  return few || PyErr_Occurred() ? few : tsrpy_call_general(TSRPY_TAKE, self, args, count, names);
}

PyObject *tsrpy_fill_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  bool is_few = !names && count == 1 && tsrpy_is_held(self) && (tsrpy_is_number(args[0]) || tsrpy_is_element(args[0]));
  if (is_few && tsrpy_view_assign((tsrpy_array *)self, NULL, 0, args[0])) Py_RETURN_NONE;
  return PyErr_Occurred() ? NULL : tsrpy_call_general(TSRPY_FILL, self, args, count, names);
}

PyObject *tsrpy_sort(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  static tsrpy_small_run *small;
  if (!small) small = tsrpy_small_find("sort");
  bool is_few = !names && count == 0 && tsrpy_is_held(self);
  PyObject *sorted = is_few ? small((PyObject *[]){self, NULL, NULL}) : NULL;
  if (!sorted) return PyErr_Occurred() ? NULL : tsrpy_call_general(TSRPY_SORT, self, args, count, names);
  tsrpy_held_write((tsrpy_array *)self, sorted);
  Py_DECREF(sorted);
  Py_RETURN_NONE;
}

PyObject *tsrpy_flatten(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_shape flat = {.rank = 1};
  if (names || count > 0) return tsrpy_call_general(TSRPY_FLATTEN, self, args, count, names);
  flat.dims[0] = tsrpy_count_of(self);
  PyObject *few = tsrpy_few_copy(self, tsrpy_dtype_of(self), &flat);
  return few || PyErr_Occurred() ? few : tsrpy_call_general(TSRPY_FLATTEN, self, args, count, names);
}

PyObject *tsrpy_astype(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_dtype dtype;
  if (names || count != 1) return tsrpy_call_general(TSRPY_ASTYPE, self, args, count, names);
  if (!tsrpy_dtype_parse(args[0], &dtype)) return NULL;
  PyObject *few = tsrpy_few_copy(self, dtype, NULL);
  if (few || PyErr_Occurred()) return few;
  tsr_tensor *own = tsrpy_tensor_of(self);
  return tsrpy_array_take(tsr_tensor_dtype(own) == dtype ? tsr_copy(own) : tsr_cast(own, dtype));
}

// --- Lists -----------------------------------------------------------------------------------------------------------

// Elements whose nested lists are made.
typedef struct nested {
  int rank;
  tsr_dtype dtype;
  int64_t dims[TSR_MAX_RANK];
  int64_t strides[TSR_MAX_RANK];  // in bytes
} nested;

// Puts what `number` makes of each element of the last axis into a list. The loop is the same for each dtype; the frequent ones are read where the compiler sees their type.
#define TSRPY_FILL_LIST(type, number)                               \
  for (Py_ssize_t i = 0; list && i < count; i++, at += step) {      \
    type element;                                                   \
    memcpy(&element, at, sizeof element);                           \
    PyObject *item = number;                                        \
    if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list); \
  }

static PyObject *make_last_list(const nested *n, const unsigned char *at) {
  const int64_t step = n->strides[n->rank - 1];
  const Py_ssize_t count = (Py_ssize_t)n->dims[n->rank - 1];
  PyObject *list = PyList_New(count);
  switch (n->dtype) {
    case TSR_F32:
      TSRPY_FILL_LIST(float, PyFloat_FromDouble((double)element))
      break;
    case TSR_F64:
      TSRPY_FILL_LIST(double, PyFloat_FromDouble(element))
      break;
    case TSR_I64:
      TSRPY_FILL_LIST(long long, PyLong_FromLongLong(element))
      break;
    case TSR_BOOL:
      TSRPY_FILL_LIST(unsigned char, Py_NewRef(element ? Py_True : Py_False))
      break;
    default:
      TSRPY_FILL_LIST(unsigned char, ((void)element, tsrpy_bits_number(n->dtype, at)))
  }
  return list;
}
#undef TSRPY_FILL_LIST

// The elements from `at` on as nested lists along the axes from `axis` on; NULL with an exception.
static PyObject *make_list(const nested *n, int axis, const unsigned char *at) {
  if (axis == n->rank - 1) return make_last_list(n, at);
  PyObject *list = PyList_New((Py_ssize_t)n->dims[axis]);
  for (Py_ssize_t i = 0; list && i < n->dims[axis]; i++, at += n->strides[axis]) {
    PyObject *item = make_list(n, axis + 1, at);
    if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

// Sizes, and the strides of elements in row-major order.
static void set_nested(nested *out, const tsr_shape *shape, tsr_dtype dtype) {
  int64_t stride = (int64_t)tsr_dtype_bytes(dtype);
  out->rank = shape->rank;
  out->dtype = dtype;
  for (int i = shape->rank; i-- > 0;) {
    out->dims[i] = shape->dims[i];
    out->strides[i] = stride;
    stride *= shape->dims[i];
  }
}

static PyObject *held_list(const tsrpy_array *array) {
  nested n;
  if (array->shape.rank == 0) return tsrpy_bits_number(array->dtype, array->bits);
  set_nested(&n, &array->shape, array->dtype);
  if (!array->root) return make_list(&n, 0, array->bits);
  for (int i = 0; i < n.rank; i++) n.strides[i] = array->view.strides[i];
  return make_list(&n, 0, array->root->bits + array->view.first);
}

PyObject *tsrpy_tolist(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  enum { FEW_BYTES = 1024 };
  if (names || count > 0) return tsrpy_call_general(TSRPY_TOLIST, self, args, count, names);
  if (tsrpy_is_held(self)) return held_list((tsrpy_array *)self);
  tsr_tensor *own = tsrpy_tensor_of(self);
  tsr_shape shape = tsr_tensor_shape(own);
  tsr_dtype dtype = tsr_tensor_dtype(own);
  size_t bytes = (size_t)tsr_tensor_count(own) * tsr_dtype_bytes(dtype);
  if (shape.rank == 0 || bytes == 0) return tsrpy_call_general(TSRPY_TOLIST, self, args, count, names);
  unsigned char few[FEW_BYTES], *many = bytes > FEW_BYTES ? PyMem_Malloc(bytes) : NULL;
  if (bytes > FEW_BYTES && !many) return PyErr_NoMemory();
  const unsigned char *elements = many ? many : few;
  PyObject *list = NULL;
  nested n;
  set_nested(&n, &shape, dtype);
  if (tsrpy_read(own, many ? many : few, bytes)) list = make_list(&n, 0, elements);
  PyMem_Free(many);
  return list;
}

// --- Functions -------------------------------------------------------------------------------------------------------

static PyObject *asarray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  bool has_dtype = count == 2 && args[1] != Py_None;
  if (count < 1 || count > 2 || names) return tsrpy_call_general(TSRPY_ASARRAY, NULL, args, count, names);
  if (tsrpy_is_array(args[0]) && !has_dtype) return Py_NewRef(args[0]);
  if (has_dtype) return tsrpy_call_general(TSRPY_ASARRAY, NULL, args, count, names);
  if (!tsrpy_is_number(args[0]) && !PyList_Check(args[0]))
    return tsrpy_call_general(TSRPY_ASARRAY, NULL, args, count, names);
  tsr_device *device = tsrpy_device_current();
  return device ? tsrpy_array_from(args[0], device) : NULL;
}

static PyObject *ascontiguousarray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  if (!names && count == 1 && tsrpy_is_held(args[0])) return Py_NewRef(args[0]);
  return tsrpy_call_general(TSRPY_ASCONTIGUOUSARRAY, NULL, args, count, names);
}

static PyObject *array(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  if (count == 1 && !names && PyList_Check(args[0])) return asarray(module, args, count, names);
  if (count != 1 || names || !tsrpy_is_array(args[0])) return tsrpy_call_general(TSRPY_ARRAY, NULL, args, count, names);
  PyObject *few = tsrpy_few_copy(args[0], tsrpy_dtype_of(args[0]), NULL);
  return few || PyErr_Occurred() ? few : tsrpy_array_take(tsr_copy(tsrpy_tensor_of(args[0])));
}

static bool is_zero(const unsigned char *element, tsr_dtype dtype) {
  double number = 1;  // no number but 0 becomes 0 in this
  return tsrpy_bits_float(dtype, element, &number) && number == 0;
}

// The indices of the elements that are not 0, one array of int32 for each axis, of a small array.
static PyObject *indices_of(PyObject *x, const int32_t *places, int count) {
  int32_t indices[TSRPY_SMALL];
  tsr_shape shape = tsrpy_shape_of(x);
  const tsr_shape found = TSR_SHAPE(count);
  PyObject *all = PyTuple_New(shape.rank);
  int64_t step = tsrpy_count_of(x);
  for (int axis = 0; all && axis < shape.rank; axis++) {
    step /= shape.dims[axis];
    for (int i = 0; i < count; i++) indices[i] = (int32_t)(places[i] / step % shape.dims[axis]);
    PyObject *own = tsrpy_few_take(tsrpy_device_of(x), TSR_I32, &found, count, indices);
    if (!own || PyTuple_SetItem(all, axis, own) < 0) Py_CLEAR(all);
  }
  return all;
}

static PyObject *nonzero(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  unsigned char elements[TSRPY_SMALL * 8];
  int32_t places[TSRPY_SMALL];
  PyObject *x = count == 1 && !names && tsrpy_is_array(args[0]) && tsrpy_rank_of(args[0]) > 0 ? args[0] : NULL;
  if (!x || tsrpy_is_recording() || (!tsrpy_is_held(x) && !tsrpy_is_small(tsrpy_tensor_of(x)))) {
    return tsrpy_call_general(TSRPY_NONZERO, NULL, args, count, names);
  }
  tsr_dtype dtype = tsrpy_dtype_of(x);
  size_t bytes = tsr_dtype_bytes(dtype);
  int all = (int)tsrpy_count_of(x), found = 0;
  if (!tsrpy_few_read(x, elements) && !tsrpy_read(tsrpy_tensor_of(x), elements, (size_t)all * bytes)) return NULL;
  for (int i = 0; i < all; i++) {
    if (!is_zero(elements + (size_t)i * bytes, dtype)) places[found++] = i;
  }
  return indices_of(x, places, found);
}

static PyObject *count_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  static tsrpy_small_run *small;
  PyObject *given[3] = {NULL};  // x, axis, keepdims
  (void)module;
  if (!small) small = tsrpy_small_find("count_nonzero");
  bool is_common = !names && count >= 1 && count <= 3;
  for (Py_ssize_t i = 0; is_common && i < count; i++) given[i] = args[i];
  PyObject *few = is_common ? small(given) : NULL;
  return few || PyErr_Occurred() ? few : tsrpy_call_general(TSRPY_COUNT_NONZERO, NULL, args, count, names);
}

// lacks_nan(x): True only if that is known at once.
static PyObject *lacks_nan(PyObject *module, PyObject *x) {
  (void)module;
  return PyBool_FromLong(tsrpy_lacks_nan(x));
}

static PyMethodDef functions[] = {
    {"set_general", set_general, METH_O, NULL},
    {"lacks_nan", lacks_nan, METH_O, NULL},
    {"asarray", TSRPY_FAST(asarray),
     "asarray(obj, /, dtype=None, *, device=None, copy=None)\n--\n\nAn array of numbers, nested lists, or of anything "
     "with a buffer or with `__dlpack__` or `__array__`.\n\nAn Array is returned as it is where dtype and device "
     "allow. The memory of others is copied, unless copy=False.\n\n>>> tessera.asarray([[1, 2], [3, 4]])"},
    {"array", TSRPY_FAST(array),
     "array(obj, dtype=None, *, copy=True, device=None, ndmin=0, order='K')\n--\n\nAs asarray, but an Array is "
     "copied, too.\n\n>>> tessera.array([[1, 2], [3, 4]], dtype=float)"},
    {"ascontiguousarray", TSRPY_FAST(ascontiguousarray),
     "ascontiguousarray(x, dtype=None)\n--\n\nThe array with its elements side by side in row-major order: itself, or "
     "a "
     "copy."},
    {"nonzero", TSRPY_FAST(nonzero),
     "nonzero(x, /)\n--\n\nThe indices (int32) of the elements that are not 0, one array for each axis. Waits for "
     "their number.\n\n>>> tessera.nonzero([0, 3, 0, 5])"},
    {"check_range", tsrpy_check_range, METH_VARARGS, NULL},
    {"count_nonzero", TSRPY_FAST(count_nonzero),
     "count_nonzero(x, /, axis=None, keepdims=False)\n--\n\nHow many elements are not 0.\n\n>>> "
     "tessera.count_nonzero([0, 3, 0, 5])"},
    {0},
};

bool tsrpy_methods_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
