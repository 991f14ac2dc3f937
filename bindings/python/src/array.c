// SPDX-License-Identifier: MIT
// The type Array: a tensor whose life ends with the last reference to it. What is computed lies in other files; this one has its properties, its conversion to
// Python numbers and text.
#include <stdlib.h>
#include <string.h>

#include "binding.h"

PyTypeObject *tsrpy_array_type;

// Memory of arrays that are gone, for the next ones: most live for one expression. Each keeps its reference to the type. Guarded by the GIL.
enum { MOST_SPARE = 64 };
static PyObject *spare[MOST_SPARE];
static int spare_count;

tsrpy_array *tsrpy_array_new(tsr_tensor *tensor) {
  tsrpy_array *array = NULL;
  if (spare_count > 0) {
    array = (tsrpy_array *)spare[--spare_count];
    Py_SET_REFCNT((PyObject *)array, 1);
  } else {
    array = PyObject_New(tsrpy_array, tsrpy_array_type);
    if (!array) return NULL;
  }
  array->tensor = tensor;
  array->root = NULL;
  array->shape_tuple = NULL;
  return array;
}

static PyObject *take(tsr_tensor *tensor) {
  tsr_status status = tsr_error(tensor);
  tsrpy_array *array = NULL;
  if (status != TSR_OK) tsrpy_raise(status);
  else array = tsrpy_array_new(tensor);
  if (!array) tsr_release(tensor);
  return (PyObject *)array;
}

PyObject *tsrpy_view_take(tsr_tensor *view) { return view ? take(view) : NULL; }

bool tsrpy_is_cpu(const tsr_device *device) {
  static const char *cpu;  // the name's address, once it is known
  const char *name = tsr_device_backend(device);
  if (!cpu && strcmp(name, "cpu") == 0) cpu = name;
  return name == cpu;
}

PyObject *tsrpy_array_take(tsr_tensor *tensor) {
  PyObject *array = take(tensor);
  if (array) tsrpy_note_elements(tsr_tensor_count(tensor));
  return array;
}

static void array_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsrpy_array *array = (tsrpy_array *)self;
  PyObject *parent = array->root ? (PyObject *)array->view.parent : NULL;
  if (array->tensor) tsr_release(array->tensor);
  else tsrpy_held_forget(array);
  Py_XDECREF(array->shape_tuple);
  if (spare_count < MOST_SPARE) {
    spare[spare_count++] = self;
  } else {
    PyObject_Free(self);
    Py_DECREF(type);
  }
  Py_XDECREF(parent);
}

// --- Properties ------------------------------------------------------------------------------------------------------

PyObject *tsrpy_shape_tuple(tsr_shape shape) {
  PyObject *tuple = PyTuple_New(shape.rank);
  for (int i = 0; tuple && i < shape.rank; i++) {
    PyObject *size = PyLong_FromLongLong(shape.dims[i]);
    if (!size || PyTuple_SetItem(tuple, i, size) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static bool parse_sizes(PyObject *sequence, tsr_shape *out_shape) {
  Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  if (count > TSR_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "a shape has at most %d sizes, not %zd", TSR_MAX_RANK, count);
    return false;
  }
  *out_shape = (tsr_shape){.rank = (int32_t)count};
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(sequence, i), *whole = item ? PyNumber_Index(item) : NULL;
    Py_XDECREF(item);
    if (!whole) return false;
    out_shape->dims[i] = PyLong_AsLongLong(whole);
    Py_DECREF(whole);
    if (out_shape->dims[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

bool tsrpy_shape_parse(PyObject *object, tsr_shape *out_shape) {
  if (PyIndex_Check(object) && !PySequence_Check(object)) {
    PyObject *tuple = PyTuple_Pack(1, object);
    bool is_read = tuple && parse_sizes(tuple, out_shape);
    Py_XDECREF(tuple);
    return is_read;
  }
  if (PySequence_Check(object) && !PyUnicode_Check(object)) return parse_sizes(object, out_shape);
  PyErr_Format(PyExc_TypeError, "a shape is a whole number or a tuple of them, not %R", object);
  return false;
}

static PyObject *get_shape(PyObject *self, void *unused) {
  (void)unused;
  tsrpy_array *array = (tsrpy_array *)self;
  if (!array->shape_tuple) array->shape_tuple = tsrpy_shape_tuple(tsrpy_shape_of(self));
  return Py_XNewRef(array->shape_tuple);
}
// x.shape = …: the same memory with another shape, which x alone sees.
static int set_shape(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  tsr_shape shape;
  if (!value) {
    PyErr_SetString(PyExc_AttributeError, "the shape of an array cannot be deleted");
    return -1;
  }
  if (!tsrpy_shape_parse(value, &shape)) return -1;
  tsrpy_views_settle((tsrpy_array *)self);
  tsr_tensor *own = tsrpy_tensor_of(self), *made = tsr_reshape(own, shape);
  if (!tsrpy_check(tsr_error(made)) || (tsr_tensor_count(own) > 0 && !tsr_tensor_shares_memory(own, made))) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "these strides need a copy: use reshape()");
    tsr_release(made);
    return -1;
  }
  ((tsrpy_array *)self)->tensor = made;
  Py_CLEAR(((tsrpy_array *)self)->shape_tuple);
  tsr_release(own);
  return 0;
}
static PyObject *get_dtype(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_dtype_object(tsrpy_dtype_of(self));
}
static PyObject *get_device(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_device_object(tsrpy_device_of(self));
}
static PyObject *get_ndim(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(tsrpy_rank_of(self));
}
static PyObject *get_size(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(tsrpy_count_of(self));
}
// In bytes, as NumPy has them.
static PyObject *get_strides(PyObject *self, void *unused) {
  (void)unused;
  tsr_tensor *tensor = tsrpy_tensor_of(self);
  int rank = tsr_tensor_shape(tensor).rank;
  int64_t bytes = (int64_t)tsr_dtype_bytes(tsr_tensor_dtype(tensor));
  PyObject *tuple = PyTuple_New(rank);
  for (int i = 0; tuple && i < rank; i++) {
    PyObject *stride = PyLong_FromLongLong(tsr_tensor_stride(tensor, i) * bytes);
    if (!stride || PyTuple_SetItem(tuple, i, stride) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}
static PyObject *get_itemsize(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(tsr_dtype_bytes(tsrpy_dtype_of(self)));
}

// The axes in reverse order, as NumPy has it.
static PyObject *get_transposed(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_transpose(self, NULL, 0, NULL);
}
static PyObject *get_matrix_transposed(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_array_take(tsr_transpose(tsrpy_tensor_of(self), -2, -1));
}

static Py_ssize_t array_length(PyObject *self) {
  const tsrpy_array *array = (const tsrpy_array *)self;
  if (!array->tensor && array->shape.rank > 0) return (Py_ssize_t)array->shape.dims[0];
  tsr_shape shape = tsrpy_shape_of(self);
  if (shape.rank > 0) return (Py_ssize_t)shape.dims[0];
  PyErr_SetString(PyExc_TypeError, "len() of an array without axes");
  return -1;
}

static PyObject *array_iterate(PyObject *self) {
  if (tsrpy_rank_of(self) > 0) return PySeqIter_New(self);
  PyErr_SetString(PyExc_TypeError, "an array without axes cannot be iterated over");
  return NULL;
}

// --- As Python numbers -----------------------------------------------------------------------------------------------

// The bytes of the only element, if they can be had without a wait: what is there is read without giving up the GIL, which would take longer than the reading.
static bool peek(PyObject *self, tsr_dtype *out_dtype, unsigned char bits[8]) {
  const tsrpy_array *array = (const tsrpy_array *)self;
  if (tsrpy_is_element(self)) memcpy(bits, array->bits, TSRPY_ELEMENT_BYTES);
  else if (!tsr_peek(tsrpy_tensor_of(self), NULL, 0, bits)) return false;
  *out_dtype = tsrpy_dtype_of(self);
  return true;
}

// read_float and read_whole read the only element; they wait for it. False with an exception.
static bool read_float(PyObject *self, double *out_value) {
  tsr_dtype dtype;
  unsigned char bits[8];
  if (peek(self, &dtype, bits)) return tsrpy_bits_float(dtype, bits, out_value);
  tsr_tensor *tensor = tsrpy_tensor_of(self);
  tsr_status status;
  if (tsrpy_is_instant(tensor)) return tsrpy_check(tsr_item(tensor, out_value));
  if (!tsrpy_wait_tensor(tensor, true)) return false;
  Py_BEGIN_ALLOW_THREADS status = tsr_item(tensor, out_value);
  Py_END_ALLOW_THREADS return tsrpy_check(status);
}

// u64 as its bits, which Python then reads without a sign.
static bool read_whole(PyObject *self, int64_t *out_value) {
  tsr_tensor *tensor = tsrpy_tensor_of(self);
  tsr_status status;
  if (!tsrpy_wait_tensor(tensor, true)) return false;
  Py_BEGIN_ALLOW_THREADS tsr_tensor *signed_bits =
      tsr_tensor_dtype(tensor) == TSR_U64 ? tsr_cast(tensor, TSR_I64) : tsr_retain(tensor);
  status = tsr_item_int(signed_bits, out_value);
  tsr_release(signed_bits);
  Py_END_ALLOW_THREADS return tsrpy_check(status);
}

PyObject *tsrpy_only_item(PyObject *self) {
  tsr_dtype dtype;
  unsigned char bits[8];
  if (peek(self, &dtype, bits)) return tsrpy_bits_number(dtype, bits);
  dtype = tsr_tensor_dtype(tsrpy_tensor_of(self));
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT) {
    double value = 0;
    return read_float(self, &value) ? PyFloat_FromDouble(value) : NULL;
  }
  int64_t value = 0;
  return read_whole(self, &value) ? tsrpy_bits_number(dtype == TSR_U64 || dtype == TSR_BOOL ? dtype : TSR_I64, &value)
                                  : NULL;
}

// item(), item(3) of all elements in row-major order, item(0, 2).
static PyObject *item_of(PyObject *self, PyObject *args) {
  Py_ssize_t count = PyTuple_Size(args);
  PyObject *from = NULL, *element = NULL, *item = NULL;
  if (count == 1 && PyLong_Check(PyTuple_GetItem(args, 0)) && tsrpy_rank_of(self) != 1) {
    from = tsrpy_array_take(tsr_reshape(tsrpy_tensor_of(self), TSR_SHAPE(-1)));
  } else {
    from = Py_NewRef(self);
    if (count == 1) args = PyTuple_GetItem(args, 0);
  }
  if (from) element = tsrpy_subscript(from, args);
  if (element) item = tsrpy_only_item(element);
  Py_XDECREF(from);
  Py_XDECREF(element);
  return item;
}

static PyObject *array_item(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  unsigned char bits[8];
  tsrpy_array *array = (tsrpy_array *)self;
  if (names) {
    PyErr_SetString(PyExc_TypeError, "item takes no keywords");
    return NULL;
  }
  if (count == 0) return tsrpy_only_item(self);
  if (count == 1 && PyLong_Check(args[0])) {
    int64_t index = PyLong_AsSsize_t(args[0]);
    if (index == -1 && PyErr_Occurred()) return NULL;
    unsigned char *place = tsrpy_has_bits(array) ? tsrpy_held_place(array, &index, 1) : NULL;
    if (place) return tsrpy_bits_number(array->dtype, place);
    if (array->tensor && tsr_peek(array->tensor, &index, 1, bits)) {
      return tsrpy_bits_number(tsr_tensor_dtype(array->tensor), bits);
    }
  }
  PyObject *tuple = PyTuple_New(count), *item = NULL;
  for (Py_ssize_t i = 0; tuple && i < count; i++) {
    if (PyTuple_SetItem(tuple, i, Py_NewRef(args[i])) < 0) Py_CLEAR(tuple);
  }
  if (tuple) item = item_of(self, tuple);
  Py_XDECREF(tuple);
  return item;
}

// Elements can be keys of dicts, as NumPy's can: an array without axes has the hash of its number.
static Py_hash_t array_hash(PyObject *self) {
  if (tsrpy_rank_of(self) > 0) {
    PyErr_SetString(PyExc_TypeError, "unhashable: an array with axes can be changed");
    return -1;
  }
  PyObject *item = tsrpy_only_item(self);
  Py_hash_t hash = item ? PyObject_Hash(item) : -1;
  Py_XDECREF(item);
  return hash;
}

static int array_bool(PyObject *self) {
  const tsrpy_array *array = (const tsrpy_array *)self;
  if (tsrpy_is_element(self) && array->dtype == TSR_BOOL) return array->bits[0] != 0;
  if (tsrpy_count_of(self) != 1) {
    PyErr_SetString(PyExc_ValueError,
                    "the truth value of an array with other than one element is ambiguous: use any() or all()");
    return -1;
  }
  double value = 0;  // no number but 0 becomes 0 in this
  return read_float(self, &value) ? value != 0 : -1;
}

// float(x) and int(x) of an array with other than one element are TypeErrors, as in NumPy.
static bool check_one(PyObject *self) {
  if (tsrpy_count_of(self) == 1) return true;
  PyErr_SetString(PyExc_TypeError, "only arrays of one element can be converted to Python numbers");
  return false;
}

static PyObject *array_float(PyObject *self) {
  double value = 0;
  return check_one(self) && read_float(self, &value) ? PyFloat_FromDouble(value) : NULL;
}

static PyObject *array_int(PyObject *self) {
  const tsrpy_array *array = (const tsrpy_array *)self;
  if (tsrpy_is_element(self) && array->dtype == TSR_I64) return tsrpy_bits_number(TSR_I64, array->bits);
  PyObject *item = check_one(self) ? tsrpy_only_item(self) : NULL, *whole = item ? PyNumber_Long(item) : NULL;
  Py_XDECREF(item);
  return whole;
}

static PyObject *array_index(PyObject *self) {
  tsr_dtype dtype = tsrpy_dtype_of(self);
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if ((kind == TSR_KIND_INT || kind == TSR_KIND_UINT) && tsrpy_rank_of(self) == 0) return tsrpy_only_item(self);
  PyErr_SetString(PyExc_TypeError, "only integer arrays without axes can be used as an index");
  return NULL;
}

// --- Text ------------------------------------------------------------------------------------------------------------

static PyObject
    *formatter;  // function(array, indent, has_commas), where other options than NumPy's own are wanted; else NULL

// set_formatter(function or None)
static PyObject *set_formatter(PyObject *module, PyObject *function) {
  (void)module;
  Py_CLEAR(formatter);
  if (function != Py_None) formatter = Py_NewRef(function);
  Py_RETURN_NONE;
}

// Elements as text, after `indent` columns.
static PyObject *format(PyObject *array, int indent, bool has_commas) {
  tsr_tensor *tensor = tsrpy_tensor_of(array);
  if (formatter && tsr_tensor_shape(tensor).rank > 0) {
    return PyObject_CallFunction(formatter, "OiO", array, indent, has_commas ? Py_True : Py_False);
  }
  size_t bytes = 0;
  char *text = NULL;
  tsr_status status;
  if (!tsrpy_wait_tensor(tensor, true)) return NULL;
  Py_BEGIN_ALLOW_THREADS status = tsr_format_elements(tensor, indent, has_commas, NULL, 0, &bytes);
  text = status == TSR_OK ? malloc(bytes) : NULL;
  if (text) status = tsr_format_elements(tensor, indent, has_commas, text, bytes, NULL);
  Py_END_ALLOW_THREADS PyObject *result = NULL;
  if (tsrpy_check(status)) result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
  free(text);
  return result;
}

static PyObject *array_str(PyObject *self) { return format(self, 0, false); }

// Whether " dtype=…)" and the comma before it still fit on the last line of "array(elements".
static bool dtype_fits(PyObject *elements, PyObject *name) {
  enum { LINE_WIDTH = 75 };
  Py_ssize_t length = PyUnicode_GetLength(elements), end = PyUnicode_FindChar(elements, '\n', 0, length, -1);
  Py_ssize_t column = end < 0 ? length + (Py_ssize_t)strlen("array(") : length - end - 1;
  return column + (Py_ssize_t)strlen(", dtype=)") + PyUnicode_GetLength(name) <= LINE_WIDTH;
}

// Like NumPy's: array([1., 2.]), with the dtype where it is not the default one of its kind.
static PyObject *repr_with(PyObject *self, PyObject *elements, PyObject *name) {
  tsr_dtype dtype = tsr_tensor_dtype(tsrpy_tensor_of(self));
  if (tsr_tensor_count(tsrpy_tensor_of(self)) == 0) {
    PyObject *shape = get_shape(self, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat("array([], shape=%R, dtype=%U)", shape, name) : NULL;
    Py_XDECREF(shape);
    return text;
  }
  if (dtype == TSR_F32 || dtype == TSR_I64 || dtype == TSR_BOOL) return PyUnicode_FromFormat("array(%U)", elements);
  return PyUnicode_FromFormat(dtype_fits(elements, name) ? "array(%U, dtype=%U)" : "array(%U,\n      dtype=%U)",
                              elements, name);
}

static PyObject *array_repr(PyObject *self) {
  if (tsrpy_rank_of(self) == 0) return array_str(self);  // as NumPy's numbers: in lists and tuples of results
  tsr_tensor *tensor = tsrpy_tensor_of(self);
  PyObject *elements = format(self, 6, true), *dtype = tsrpy_dtype_object(tsr_tensor_dtype(tensor));
  PyObject *name = PyObject_Str(dtype), *text = elements && name ? repr_with(self, elements, name) : NULL;
  Py_XDECREF(elements);
  Py_XDECREF(name);
  Py_DECREF(dtype);
  return text;
}

// --- Waiting ---------------------------------------------------------------------------------------------------------

static PyObject *array_evaluate(PyObject *self, PyObject *unused) {
  (void)unused;
  tsr_status status;
  if (tsrpy_is_held(self)) return Py_NewRef(self);
  if (tsrpy_is_instant(tsrpy_tensor_of(self))) {
    return tsrpy_check(tsr_evaluate(tsrpy_tensor_of(self))) ? Py_NewRef(self) : NULL;
  }
  if (!tsrpy_wait_tensor(tsrpy_tensor_of(self), false)) return NULL;
  Py_BEGIN_ALLOW_THREADS status = tsr_evaluate(tsrpy_tensor_of(self));
  Py_END_ALLOW_THREADS return tsrpy_check(status) ? Py_NewRef(self) : NULL;
}

// Elements are always in row-major order, whatever `order` says.
static PyObject *array_copy(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)args;
  Py_ssize_t name_count = names ? PyTuple_Size(names) : 0;
  bool is_order = name_count == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "order") == 0;
  if (count + name_count > 1 || (name_count == 1 && !is_order)) {
    PyErr_SetString(PyExc_TypeError, "copy takes an order, and nothing else");
    return NULL;
  }
  PyObject *few = tsrpy_few_copy(self, tsrpy_dtype_of(self), NULL);
  return few || PyErr_Occurred() ? few : tsrpy_array_take(tsr_copy(tsrpy_tensor_of(self)));
}

static PyObject *array_shares_memory(PyObject *self, PyObject *other) {
  if (!tsrpy_is_array(other)) {
    PyErr_SetString(PyExc_TypeError, "shares_memory: the other one is no tessera.Array");
    return NULL;
  }
  return PyBool_FromLong(tsr_tensor_shares_memory(tsrpy_tensor_of(self), tsrpy_tensor_of(other)));
}

// --- Reductions over everything ----------------------------------------------------------------------------------------

// x.sum() and other reductions without arguments go straight to the operator; with arguments to the functions of tessera/_statistics.py.
typedef struct reduction {
  const char *name;
  tsr_tensor *(*function)(tsr_tensor *x, const int *axes, int count, bool keep_dims);
  bool keeps_integers;  // its result has the dtype of its input, or bool, for any dtype
  PyObject *general;
  tsrpy_small_run *small;  // where tsrpy_few_reduce leaves it; NULL: nowhere
} reduction;

static reduction reductions[] = {
    [TSRPY_SUM] = {"sum", tsr_sum, false, NULL, NULL}, [TSRPY_MEAN] = {"mean", tsr_mean, false, NULL, NULL},
    [TSRPY_MAX] = {"max", tsr_max, true, NULL, NULL},  [TSRPY_MIN] = {"min", tsr_min, true, NULL, NULL},
    [TSRPY_ANY] = {"any", tsr_any, true, NULL, NULL},  [TSRPY_ALL] = {"all", tsr_all, true, NULL, NULL},
};
enum { REDUCTION_COUNT = sizeof reductions / sizeof reductions[0] };

static PyObject *reduce(reduction *r, PyObject *self, PyObject *args, PyObject *keywords) {
  bool is_plain = PyTuple_Size(args) == 0 && (!keywords || PyDict_Size(keywords) == 0) && tsrpy_count_of(self) > 0;
  PyObject *few = is_plain ? tsrpy_few_reduce((tsrpy_reduction)(r - reductions), self) : NULL;
  if (few || PyErr_Occurred()) return few;
  if (is_plain && r->small) few = r->small((PyObject *[]){self, NULL, NULL});
  if (few || PyErr_Occurred()) return few;
  tsr_tensor *x = tsrpy_tensor_of(self);
  if (is_plain && (r->keeps_integers || tsr_dtype_kind_of(tsr_tensor_dtype(x)) == TSR_KIND_FLOAT)) {
    tsrpy_note_elements(tsr_tensor_count(x));
    return tsrpy_array_take(r->function(x, NULL, 0, false));
  }
  PyObject *own = PyTuple_Pack(1, self), *all = own ? PySequence_Concat(own, args) : NULL, *result = NULL;
  if (all) result = PyObject_Call(r->general, all, keywords);
  Py_XDECREF(own);
  Py_XDECREF(all);
  return result;
}

#define TSRPY_REDUCTION(name, index)                                                  \
  static PyObject *array_##name(PyObject *self, PyObject *args, PyObject *keywords) { \
    return reduce(&reductions[index], self, args, keywords);                          \
  }
TSRPY_REDUCTION(sum, TSRPY_SUM)
TSRPY_REDUCTION(mean, TSRPY_MEAN)
TSRPY_REDUCTION(max, TSRPY_MAX)
TSRPY_REDUCTION(min, TSRPY_MIN)
TSRPY_REDUCTION(any, TSRPY_ANY)
TSRPY_REDUCTION(all, TSRPY_ALL)
#undef TSRPY_REDUCTION

// set_reductions(dict): the functions that take arguments, by name.
static PyObject *set_reductions(PyObject *module, PyObject *functions) {
  (void)module;
  for (int i = 0; i < REDUCTION_COUNT; i++) {
    PyObject *general = PyDict_Check(functions) ? PyDict_GetItemString(functions, reductions[i].name) : NULL;
    if (!general) {
      PyErr_Format(PyExc_KeyError, "%s", reductions[i].name);
      return NULL;
    }
    Py_XDECREF(reductions[i].general);
    reductions[i].general = Py_NewRef(general);
  }
  Py_RETURN_NONE;
}

static PyGetSetDef properties[] = {
    {"shape", get_shape, set_shape, "The sizes of the axes, a tuple.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"device", get_device, NULL, "Where the elements are.", NULL},
    {"ndim", get_ndim, NULL, "The number of axes.", NULL},
    {"size", get_size, NULL, "The number of elements.", NULL},
    {"strides", get_strides, NULL, "Bytes from an element to the next along each axis.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"T", get_transposed, NULL, "A view with the axes in reverse order.", NULL},
    {"mT", get_matrix_transposed, NULL, "A view with the last two axes swapped.", NULL},
    {0},
};
static PyMethodDef methods[] = {
    {"item", TSRPY_FAST(array_item),
     "item($self, *index)\n--\n\nThe only element, or one at an index, as a Python number. Waits for it."},
    {"reshape", TSRPY_FAST(tsrpy_reshape),
     "reshape($self, /, *shape, order='C')\n--\n\nThe same elements with another shape: reshape(2, 3) or reshape((2, "
     "3)). With order='F' the first axis goes fastest."},
    {"ravel", TSRPY_FAST(tsrpy_ravel),
     "ravel($self, /, order='C')\n--\n\nAll elements in row-major order along one axis; with order='F' the first axis "
     "goes fastest."},
    {"flatten", TSRPY_FAST(tsrpy_flatten),
     "flatten($self, /, order='C')\n--\n\nAll elements along one axis, in memory of their own."},
    {"transpose", TSRPY_FAST(tsrpy_transpose),
     "transpose($self, /, *axes)\n--\n\nA view with the axes in this order, or in reverse."},
    {"squeeze", TSRPY_FAST(tsrpy_squeeze),
     "squeeze($self, /, axis=None)\n--\n\nA view without these axes, whose sizes are 1; None means all of that size."},
    {"take", TSRPY_FAST(tsrpy_take),
     "take($self, indices, axis=None, out=None, mode='raise')\n--\n\nThe slices along an axis that the indices name; "
     "without an axis, "
     "elements "
     "in row-major order."},
    {"fill", TSRPY_FAST(tsrpy_fill_all), "fill($self, /, value)\n--\n\nSets every element to a number, in place."},
    {"sort", TSRPY_FAST(tsrpy_sort),
     "sort($self, /, axis=-1, kind=None)\n--\n\nSorts the elements along an axis, in place."},
    {"astype", TSRPY_FAST(tsrpy_astype),
     "astype($self, /, dtype, order='K', casting='unsafe', subok=True, copy=True)\n--\n\nThe elements converted to a "
     "dtype."},
    {"tolist", TSRPY_FAST(tsrpy_tolist),
     "tolist($self, /)\n--\n\nThe elements as nested lists of Python numbers. Waits for them."},
    {"copy", TSRPY_FAST(array_copy), "copy($self, /, order=None)\n--\n\nThe same elements in memory of their own."},
    {"evaluate", array_evaluate, METH_NOARGS,
     "evaluate($self, /)\n--\n\nQueues everything the array needs, without waiting. Returns the array."},
    {"shares_memory", array_shares_memory, METH_O,
     "shares_memory($self, other, /)\n--\n\nWhether writing to one could change the other."},
    {"__dlpack__", (PyCFunction)(void (*)(void))tsrpy_to_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", tsrpy_dlpack_device, METH_NOARGS, NULL},
    {"sum", (PyCFunction)(void (*)(void))array_sum, METH_VARARGS | METH_KEYWORDS,
     "sum($self, /, axis=None, dtype=None, out=None, keepdims=False, *, initial=None, where=None)\n--\n\nThe sum over "
     "axes; None means all. Integers are added in 64 bits.\n\n>>> tessera.ones(3).sum()"},
    {"mean", (PyCFunction)(void (*)(void))array_mean, METH_VARARGS | METH_KEYWORDS,
     "mean($self, /, axis=None, dtype=None, out=None, keepdims=False, *, where=None)\n--\n\nThe mean over axes; None "
     "means all."},
    {"max", (PyCFunction)(void (*)(void))array_max, METH_VARARGS | METH_KEYWORDS,
     "max($self, /, axis=None, out=None, keepdims=False, *, initial=None, where=None)\n--\n\nThe largest element over "
     "axes."},
    {"min", (PyCFunction)(void (*)(void))array_min, METH_VARARGS | METH_KEYWORDS,
     "min($self, /, axis=None, out=None, keepdims=False, *, initial=None, where=None)\n--\n\nThe smallest element over "
     "axes."},
    {"any", (PyCFunction)(void (*)(void))array_any, METH_VARARGS | METH_KEYWORDS,
     "any($self, /, axis=None, out=None, keepdims=False, *, where=None)\n--\n\nWhether any element is not 0."},
    {"all", (PyCFunction)(void (*)(void))array_all, METH_VARARGS | METH_KEYWORDS,
     "all($self, /, axis=None, out=None, keepdims=False, *, where=None)\n--\n\nWhether all elements are not 0."},
    {0},
};

static PyMethodDef functions[] = {
    {"set_formatter", set_formatter, METH_O, NULL},
    {"set_reductions", set_reductions, METH_O, NULL},
    {0},
};

void tsrpy_array_deinit(void) {
  while (spare_count > 0) {
    PyObject_Free(spare[--spare_count]);
    Py_DECREF((PyObject *)tsrpy_array_type);
  }
  Py_CLEAR(formatter);
  for (int i = 0; i < REDUCTION_COUNT; i++) Py_CLEAR(reductions[i].general);
}

bool tsrpy_array_init(PyObject *module) {
  reductions[TSRPY_ANY].small = tsrpy_small_find("any");
  reductions[TSRPY_ALL].small = tsrpy_small_find("all");
  static PyType_Slot slots[80] = {
      {Py_tp_doc, "Elements of one type on a device, along any number of axes up to 8."},
      {Py_tp_dealloc, array_dealloc},
      {Py_tp_str, array_str},
      {Py_tp_repr, array_repr},
      {Py_tp_richcompare, tsrpy_compare},
      {Py_tp_iter, array_iterate},
      {Py_tp_hash, array_hash},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_mp_length, array_length},
      {Py_mp_subscript, tsrpy_subscript},
      {Py_mp_ass_subscript, tsrpy_assign_subscript},
      {Py_sq_length, array_length},
      {Py_sq_item, tsrpy_sequence_item},
      {Py_bf_getbuffer, tsrpy_buffer_get},
      {Py_bf_releasebuffer, tsrpy_buffer_release},
      {Py_nb_bool, array_bool},
      {Py_nb_float, array_float},
      {Py_nb_int, array_int},
      {Py_nb_index, array_index},
  };
  int used = 0;
  while (slots[used].slot != 0) used++;
  tsrpy_number_slots(slots + used);
  static PyType_Spec spec = {.name = TSRPY_MODULE ".Array",
                             .basicsize = sizeof(tsrpy_array),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             .slots = slots};
  tsrpy_array_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return tsrpy_array_type && PyModule_AddObjectRef(module, "Array", (PyObject *)tsrpy_array_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
