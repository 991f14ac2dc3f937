// SPDX-License-Identifier: MIT
// Python numbers and nested sequences as tensors.
//
// A nested sequence is read in one pass into doubles or, as long as all of it is whole, into 64-bit integers. Sequences of arrays, or of objects with a buffer, are stacked.
#include <math.h>
#include <string.h>

#include "binding.h"

tsr_dtype tsrpy_number_dtype(PyObject *number) {
  if (PyBool_Check(number)) return TSR_BOOL;
  return PyLong_Check(number) ? TSR_I64 : TSR_F32;
}

tsr_dtype tsrpy_number_dtype_beside(PyObject *number, tsr_dtype dtype) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (PyBool_Check(number) || kind == TSR_KIND_FLOAT) return dtype;
  if (PyLong_Check(number)) return kind == TSR_KIND_BOOL ? TSR_I64 : dtype;
  return TSR_F32;
}

// Whether an integer dtype has this number.
static bool has_whole(tsr_dtype dtype, int64_t value) {
  int bits = tsr_dtype_bits(dtype);
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_UINT) return value >= 0 && (bits == 64 || value < (1LL << bits));
  return bits == 64 || (value >= -(1LL << (bits - 1)) && value < (1LL << (bits - 1)));
}

static bool fits(tsr_dtype dtype, PyObject *whole, int64_t *out_bits) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(whole, &overflow);
  bool is_inside = overflow == 0 && has_whole(dtype, value);
  if (overflow > 0 && dtype == TSR_U64) {
    unsigned long long large = PyLong_AsUnsignedLongLong(whole);
    is_inside = !PyErr_Occurred();
    PyErr_Clear();
    value = (long long)large;
  }
  *out_bits = value;
  if (!is_inside) PyErr_Format(PyExc_OverflowError, "%S does not fit in %s", whole, tsr_dtype_name(dtype));
  return is_inside;
}

tsr_tensor *tsrpy_number_tensor(tsr_device *device, tsr_dtype dtype, PyObject *number) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  int64_t bits = 0;
  tsr_tensor *tensor;
  if (kind == TSR_KIND_FLOAT || PyFloat_Check(number)) {
    double value = PyFloat_AsDouble(number);
    if (value == -1 && PyErr_Occurred()) return NULL;
    tensor = tsr_full(device, dtype, TSR_SCALAR, value);
  } else if (kind == TSR_KIND_BOOL) {
    tensor = tsr_full(device, dtype, TSR_SCALAR, PyObject_IsTrue(number));
  } else {
    if (!fits(dtype, number, &bits)) return NULL;
    // Bits of u64 beyond int64_t are brought there as i64 and cast, which keeps them.
    tsr_tensor *filled = tsr_full_int(device, dtype == TSR_U64 ? TSR_I64 : dtype, TSR_SCALAR, bits);
    tensor = tsr_cast(filled, dtype);
    tsr_release(filled);
  }
  if (tsrpy_check(tsr_error(tensor))) return tensor;
  tsr_release(tensor);
  return NULL;
}

bool tsrpy_number_bits(tsr_dtype dtype, PyObject *object, unsigned char bits[8]) {
  if (tsrpy_is_element(object)) {
    const tsrpy_array *element = (const tsrpy_array *)object;
    memcpy(bits, element->bits, TSRPY_ELEMENT_BYTES);
    return element->dtype == dtype;
  }
  if (!tsrpy_is_number(object) || tsr_dtype_bytes(dtype) == 0) return false;
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (kind == TSR_KIND_FLOAT || PyFloat_Check(object)) {
    double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) return false;
    if (dtype == TSR_F32) return memcpy(bits, &(float){(float)value}, sizeof(float)), true;
    return tsrpy_check(tsr_convert(dtype, bits, TSR_F64, &value, 1));
  }
  int64_t value = kind == TSR_KIND_BOOL ? PyObject_IsTrue(object) : 0;
  if (kind != TSR_KIND_BOOL && !fits(dtype, object, &value)) return false;
  return tsrpy_check(tsr_convert(dtype, bits, TSR_I64, &value, 1));
}

bool tsrpy_fill(tsr_tensor *view, PyObject *number) {
  tsr_dtype dtype = tsr_tensor_dtype(view);
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (kind == TSR_KIND_FLOAT || PyFloat_Check(number)) {
    double value = PyFloat_AsDouble(number);
    return !(value == -1 && PyErr_Occurred()) && tsrpy_check(tsr_fill(view, value));
  }
  int64_t bits = kind == TSR_KIND_BOOL ? PyObject_IsTrue(number) : 0;
  if (kind != TSR_KIND_BOOL && !fits(dtype, number, &bits)) return false;
  if (dtype != TSR_U64 || bits >= 0) return tsrpy_check(tsr_fill_int(view, bits));
  tsr_tensor *large = tsrpy_number_tensor(tsr_tensor_device(view), dtype, number);
  tsr_status status = large ? tsr_assign(view, large) : TSR_OK;
  tsr_release(large);
  return large && tsrpy_check(status);
}

// --- Nested sequences ------------------------------------------------------------------------------------------------

enum { FEW_READ = 32 };
typedef struct reader {
  tsr_shape shape;
  tsr_dtype_kind kind;  // of what was read so far: bool, integer, float
  int64_t *wholes;      // both are filled for each element, until a float comes that is none
  double *reals;
  size_t count, capacity;
  bool is_on_heap;  // the lists above; else they are the next two
  int64_t few_wholes[FEW_READ];
  double few_reals[FEW_READ];
  bool is_u64;      // an integer beyond int64_t was among them
  bool has_arrays;  // something with elements of its own: read otherwise
} reader;

static bool is_sequence(PyObject *object) {
  return PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object);
}

// A new reference; NULL with an exception.
static PyObject *item_of(PyObject *sequence, Py_ssize_t i) {
  if (PyList_Check(sequence)) return Py_XNewRef(PyList_GetItem(sequence, i));
  return PyTuple_Check(sequence) ? Py_XNewRef(PyTuple_GetItem(sequence, i)) : PySequence_GetItem(sequence, i);
}

static bool grow(reader *r) {
  if (r->count < r->capacity) return true;
  size_t capacity = r->capacity * 2;
  int64_t *wholes = PyMem_Realloc(r->is_on_heap ? r->wholes : NULL, capacity * sizeof *wholes);
  if (wholes) r->wholes = wholes;
  double *reals = PyMem_Realloc(r->is_on_heap ? r->reals : NULL, capacity * sizeof *reals);
  if (reals) r->reals = reals;
  if (wholes && reals) {
    if (!r->is_on_heap) {
      memcpy(wholes, r->few_wholes, sizeof r->few_wholes);
      memcpy(reals, r->few_reals, sizeof r->few_reals);
    }
    r->is_on_heap = true;
    r->capacity = capacity;
    return true;
  }
  if (!r->is_on_heap) {
    PyMem_Free(wholes);
    PyMem_Free(reals);
    r->wholes = r->few_wholes;
    r->reals = r->few_reals;
  }
  return PyErr_NoMemory() != NULL;
}

static bool read_number(reader *r, PyObject *object) {
  if (!tsrpy_is_number(object)) {
    if (PyObject_CheckBuffer(object)) return r->has_arrays = true;
    PyErr_Format(PyExc_TypeError, "%R is neither a number nor a list of them", object);
    return false;
  }
  if (!grow(r)) return false;
  int64_t whole = 0;
  double real = 0;
  if (PyFloat_Check(object)) {
    real = PyFloat_AsDouble(object);
    r->kind = TSR_KIND_FLOAT;
  } else {
    int overflow = 0;
    whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
      if (!fits(TSR_U64, object, &whole)) return false;
      r->is_u64 = true;
    }
    real = overflow ? (double)(uint64_t)whole : (double)whole;
    if (!PyBool_Check(object) && r->kind == TSR_KIND_BOOL) r->kind = TSR_KIND_INT;
  }
  r->wholes[r->count] = whole;
  r->reals[r->count++] = real;
  return true;
}

// The shape, from the first element of each sequence.
static bool find_shape(reader *r, PyObject *object) {
  if (!is_sequence(object)) return true;
  if (r->shape.rank == TSR_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "lists are nested more than %d deep", TSR_MAX_RANK);
    return false;
  }
  Py_ssize_t size = PySequence_Size(object);
  r->shape.dims[r->shape.rank++] = size;
  if (size <= 0) return size == 0;
  PyObject *first = item_of(object, 0);
  bool is_found = first && find_shape(r, first);
  Py_XDECREF(first);
  return is_found;
}

static bool read_axis(reader *r, PyObject *object, int axis) {
  if (r->has_arrays) return true;
  bool is_nested = is_sequence(object);
  if (is_nested != (axis < r->shape.rank) || (is_nested && PySequence_Size(object) != r->shape.dims[axis])) {
    if (!is_nested && PyObject_CheckBuffer(object)) return r->has_arrays = true;
    PyErr_SetString(PyExc_ValueError, "lists of different lengths, or numbers beside lists, make no array");
    return false;
  }
  if (!is_nested) return read_number(r, object);
  for (Py_ssize_t i = 0; i < r->shape.dims[axis]; i++) {
    PyObject *item = item_of(object, i);
    bool is_read = item && read_axis(r, item, axis + 1);
    Py_XDECREF(item);
    if (!is_read) return false;
  }
  return true;
}

// The dtype that the elements have by themselves.
static tsr_dtype dtype_read(const reader *r) {
  if (r->count == 0 || r->kind == TSR_KIND_FLOAT) return TSR_F32;
  if (r->kind == TSR_KIND_BOOL) return TSR_BOOL;
  return r->is_u64 ? TSR_U64 : TSR_I64;
}

// Whether an integer dtype has all that was read. False with an exception. Numbers beyond int64_t are kept as the bits of a uint64_t.
static bool wholes_fit(const reader *r, tsr_dtype dtype) {
  if (dtype == TSR_I64 && !r->is_u64) return true;
  for (size_t i = 0; i < r->count; i++) {
    bool is_beyond = r->wholes[i] < 0 && r->reals[i] > 0;
    if (is_beyond ? dtype == TSR_U64 : has_whole(dtype, r->wholes[i])) continue;
    PyErr_Format(PyExc_OverflowError, is_beyond ? "%llu does not fit in %s" : "%lld does not fit in %s",
                 (long long)r->wholes[i], tsr_dtype_name(dtype));
    return false;
  }
  return true;
}

// Converts what was read. False with an exception.
static bool convert_read(const reader *r, tsr_dtype dtype, void *out_elements) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  bool is_whole = r->kind != TSR_KIND_FLOAT && kind != TSR_KIND_FLOAT;
  if (r->count == 0) return true;
  if (is_whole && kind != TSR_KIND_BOOL && !wholes_fit(r, dtype)) return false;
  return tsrpy_check(is_whole ? tsr_convert(dtype, out_elements, TSR_I64, r->wholes, r->count)
                              : tsr_convert(dtype, out_elements, TSR_F64, r->reals, r->count));
}

static tsr_tensor *tensor_read(const reader *r, tsr_device *device, tsr_dtype dtype) {
  if (dtype == TSR_DTYPE_COUNT) dtype = dtype_read(r);
  size_t bytes = r->count * tsr_dtype_bytes(dtype);
  void *data = PyMem_Malloc(bytes ? bytes : 1);
  if (!data) {
    PyErr_NoMemory();
    return NULL;
  }
  tsr_tensor *tensor = convert_read(r, dtype, data) ? tsr_from_data(device, dtype, r->shape, data, bytes) : NULL;
  PyMem_Free(data);
  return tensor;
}

// A list of arrays along a new first axis.
static tsr_tensor *stack_items(PyObject *sequence, tsr_device *device, tsr_dtype dtype) {
  Py_ssize_t count = PySequence_Size(sequence), made = 0;
  tsr_tensor **items = PyMem_Calloc((size_t)count + 1, sizeof *items), *tensor = NULL;
  if (!items) {
    PyErr_NoMemory();
    return NULL;
  }
  for (; made < count; made++) {
    PyObject *item = PySequence_GetItem(sequence, made);
    items[made] = item ? tsrpy_tensor_from(item, device, dtype) : NULL;
    Py_XDECREF(item);
    if (!items[made]) break;
  }
  if (made == count) tensor = tsr_stack(items, (int)count, 0);
  while (made-- > 0) tsr_release(items[made]);
  PyMem_Free(items);
  return tensor;
}

static void begin_reading(reader *r) {
  r->shape.rank = 0;
  r->kind = TSR_KIND_BOOL;
  r->wholes = r->few_wholes;
  r->reals = r->few_reals;
  r->count = 0;
  r->capacity = FEW_READ;
  r->is_on_heap = r->is_u64 = r->has_arrays = false;
}

static void end_reading(reader *r) {
  if (!r->is_on_heap) return;
  PyMem_Free(r->wholes);
  PyMem_Free(r->reals);
}

static tsr_tensor *from_sequence(PyObject *object, tsr_device *device, tsr_dtype dtype) {
  reader r;
  begin_reading(&r);
  tsr_tensor *tensor = NULL;
  if (find_shape(&r, object) && read_axis(&r, object, 0)) {
    tensor = r.has_arrays ? stack_items(object, device, dtype) : tensor_read(&r, device, dtype);
  }
  end_reading(&r);
  return tensor;
}

// Takes over `tensor`.
static tsr_tensor *cast_to(tsr_tensor *tensor, tsr_device *device, tsr_dtype dtype) {
  if (!tensor) return NULL;
  tsr_tensor *there = tsr_to(tensor, device);
  tsr_release(tensor);
  if (dtype == TSR_DTYPE_COUNT) return there;
  tsr_tensor *result = tsr_cast(there, dtype);
  tsr_release(there);
  return result;
}

PyObject *tsrpy_array_from(PyObject *object, tsr_device *device) {
  reader r;
  tsr_tensor *tensor = NULL;
  if (!PyList_Check(object)) {
    tensor = tsrpy_tensor_from(object, device, TSR_DTYPE_COUNT);
    return tensor ? tsrpy_array_take(tensor) : NULL;
  }
  begin_reading(&r);
  PyObject *array = NULL;
  unsigned char elements[FEW_READ * 8];
  if (find_shape(&r, object) && read_axis(&r, object, 0)) {
    tsr_dtype dtype = dtype_read(&r);
    if (!r.has_arrays && r.count > 0 && r.count <= FEW_READ) {
      if (convert_read(&r, dtype, elements))
        array = tsrpy_few_take(device, dtype, &r.shape, (int64_t)r.count, elements);
    } else {
      tensor = r.has_arrays ? stack_items(object, device, TSR_DTYPE_COUNT) : tensor_read(&r, device, TSR_DTYPE_COUNT);
      array = tensor ? tsrpy_array_take(tensor) : NULL;
    }
  }
  end_reading(&r);
  return array;
}

tsr_tensor *tsrpy_tensor_from(PyObject *object, tsr_device *device, tsr_dtype dtype) {
  tsr_tensor *tensor = NULL;
  if (tsrpy_is_array(object)) {
    tensor = cast_to(tsr_retain(tsrpy_tensor_of(object)), device, dtype);
  } else if (tsrpy_is_number(object)) {
    tsr_dtype own = dtype != TSR_DTYPE_COUNT ? dtype : tsrpy_number_dtype(object);
    if (own == TSR_I64 && dtype == TSR_DTYPE_COUNT) {
      int64_t bits = 0;
      if (!fits(TSR_I64, object, &bits)) {
        PyErr_Clear();
        own = TSR_U64;
      }
    }
    tensor = tsrpy_number_tensor(device, own, object);
  } else if (is_sequence(object)) {
    tensor = from_sequence(object, device, dtype);
  } else if (PyObject_CheckBuffer(object)) {
    tensor = cast_to(tsrpy_tensor_from_buffer(object, device), device, dtype);
  } else {
    PyErr_Format(PyExc_TypeError, "%R is neither an array nor a number nor a list of them", object);
  }
  if (!tensor || tsrpy_check(tsr_error(tensor))) return tensor;
  tsr_release(tensor);
  return NULL;
}
