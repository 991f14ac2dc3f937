// SPDX-License-Identifier: MIT
// Arrays that hold their elements, without a tensor: single elements, and small arrays that the host has computed. A tensor is made of them when an operator wants one.
//
// x[3] is the number that is there now, as in NumPy, where `x[0], x[1] = x[1], x[0]` swaps two.
//
// Numbers are read where the host has them. Elements of other devices are recorded copies, which nobody waits for; while gradients or a capture are
// recorded, they are views.
#include <string.h>

#include "binding.h"

static int recorders;  // ranges of gradients, and captures, that are open on any thread

// All Arrays with axes that hold their elements. Before a capture begins they all get tensors: a tensor that was made during the capture would get its old elements again in
// each replay, although the program may have written others since. Guarded by the GIL.
static tsrpy_array *held;

void tsrpy_recording_begin(void) {
  if (recorders++ > 0) return;
  while (held) tsrpy_held_tensor(held);
}
void tsrpy_recording_end(void) { recorders--; }
bool tsrpy_is_recording(void) { return recorders > 0; }

// --- Holding ---------------------------------------------------------------------------------------------------------

void tsrpy_held_remember(tsrpy_array *array) {
  array->previous = NULL;
  array->next = held;
  if (held) held->previous = array;
  held = array;
}

void tsrpy_held_forget(tsrpy_array *array) {
  if (array->shape.rank == 0) return;
  if (array->previous) array->previous->next = array->next;
  else held = array->next;
  if (array->next) array->next->previous = array->previous;
}

PyObject *tsrpy_few_take(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape, int64_t count,
                         const void *elements) {
  size_t bytes = (size_t)count * tsr_dtype_bytes(dtype);
  if (recorders > 0 || bytes > TSRPY_HELD_BYTES || bytes == 0 || !tsrpy_is_cpu(device)) {
    return tsrpy_array_take(elements ? tsr_from_data(device, dtype, *shape, elements, bytes)
                                     : tsr_zeros(device, dtype, *shape));
  }
  tsrpy_array *array = tsrpy_array_new(NULL);
  if (!array) return NULL;
  array->device = device;
  array->dtype = dtype;
  array->shape.rank = shape->rank;
  for (int i = 0; i < shape->rank; i++) array->shape.dims[i] = shape->dims[i];
  if (elements) memcpy(array->bits, elements, bytes);
  else memset(array->bits, 0, bytes);
  if (shape->rank > 0) tsrpy_held_remember(array);
  return (PyObject *)array;
}

bool tsrpy_few_read(PyObject *self, void *out_elements) {
  tsrpy_array *array = (tsrpy_array *)self;
  const size_t bytes = (size_t)tsrpy_count_of(self) * tsr_dtype_bytes(tsrpy_dtype_of(self));
  if (bytes > TSRPY_HELD_BYTES || bytes == 0) return false;
  if (!tsrpy_has_bits(array)) return tsr_peek_all(array->tensor, out_elements, bytes);
  tsrpy_bits_read(array, out_elements, bytes);
  return true;
}

PyObject *tsrpy_few_copy(PyObject *self, tsr_dtype dtype, const tsr_shape *shape) {
  tsrpy_array *array = (tsrpy_array *)self;
  unsigned char elements[TSRPY_HELD_BYTES], converted[TSRPY_HELD_BYTES];
  const void *from = elements;
  tsr_dtype own = tsrpy_dtype_of(self);
  tsr_shape own_shape = tsrpy_shape_of(self);
  int64_t count = tsrpy_count_of(self);
  size_t bytes = tsr_dtype_bytes(own), wider = tsr_dtype_bytes(dtype) > bytes ? tsr_dtype_bytes(dtype) : bytes;
  if (recorders > 0 || count == 0 || count > TSRPY_HELD_BYTES || bytes == 0 || tsr_dtype_bytes(dtype) == 0) return NULL;
  if ((size_t)count * wider > TSRPY_HELD_BYTES) return NULL;
  if (tsrpy_has_bits(array)) {
    if (array->root) tsrpy_view_read(array, elements);
    else from = array->bits;
  } else if (!tsr_peek_all(array->tensor, elements, (size_t)count * bytes)) {
    return NULL;
  }
  if (own != dtype) {
    if (!tsrpy_check(tsr_convert(dtype, converted, own, from, (size_t)count))) return NULL;
    from = converted;
  }
  return tsrpy_few_take(tsrpy_device_of(self), dtype, shape ? shape : &own_shape, count, from);
}

bool tsrpy_held_write(tsrpy_array *target, PyObject *source) {
  unsigned char elements[TSRPY_HELD_BYTES];
  const tsr_shape *shape = &target->shape, other = tsrpy_shape_of(source);
  if (target->dtype != tsrpy_dtype_of(source) || target->device != tsrpy_device_of(source)) return false;
  if (shape->rank != other.rank || memcmp(shape->dims, other.dims, (size_t)other.rank * sizeof other.dims[0]) != 0) {
    return false;
  }
  if (!tsrpy_few_read(source, elements)) return false;
  tsrpy_bits_write(target, elements, (size_t)tsrpy_count_of_shape(shape) * tsr_dtype_bytes(target->dtype));
  return true;
}

unsigned char *tsrpy_held_place(tsrpy_array *array, const int64_t *index, int axis_count) {
  int64_t place = 0, bytes = array->root ? array->view.first : 0;
  if (axis_count != array->shape.rank) return NULL;
  for (int i = 0; i < axis_count; i++) {
    int64_t size = array->shape.dims[i], at = index[i] < 0 ? index[i] + size : index[i];
    if (at < 0 || at >= size) return NULL;
    if (array->root) bytes += at * array->view.strides[i];
    else place = place * size + at;
  }
  return array->root ? array->root->bits + bytes : array->bits + (size_t)place * tsr_dtype_bytes(array->dtype);
}

PyObject *tsrpy_number_take(tsr_device *device, tsr_dtype dtype, const void *bits) {
  tsrpy_array *element = tsrpy_array_new(NULL);
  if (!element) return NULL;
  element->device = device;
  element->dtype = dtype;
  element->shape.rank = 0;
  memcpy(element->bits, bits, TSRPY_ELEMENT_BYTES);
  return (PyObject *)element;
}

tsr_tensor *tsrpy_held_tensor(tsrpy_array *array) {
  tsrpy_held_forget(array);
  if (array->root) {
    tsrpy_array *parent = array->view.parent;
    array->tensor = tsrpy_view_tensor(array);
    array->root = NULL;
    Py_DECREF((PyObject *)parent);
    return array->tensor;
  }
  size_t bytes = (size_t)tsrpy_count_of_shape(&array->shape) * tsr_dtype_bytes(array->dtype);
  array->tensor = tsr_from_data(array->device, array->dtype, array->shape, array->bits, bytes);
  return array->tensor;
}

void tsrpy_views_settle(tsrpy_array *array) {
  tsrpy_array *at = held;
  while (at) {  // making a tensor takes the view, and maybe its parents, off the list
    bool is_child = at->root && at->view.parent == array;
    if (is_child) tsrpy_held_tensor(at);
    at = is_child ? held : at->next;
  }
}

// Runs what the tensor needs, if its device is the host's. False with an exception.
static bool compute_on_host(tsr_tensor *tensor) {
  if (!tsrpy_is_cpu(tsr_tensor_device(tensor))) return true;
  tsr_status status = TSR_OK;
  if (!tsrpy_wait_tensor(tensor, true)) return false;
  Py_BEGIN_ALLOW_THREADS status = tsr_evaluate(tensor);
  Py_END_ALLOW_THREADS return tsrpy_check(status);
}

bool tsrpy_raise_index(tsr_status status) {
  if (status != TSR_ERR_SHAPE) return tsrpy_check(status);
  const char *text = tsr_last_error(), *rest = strstr(text, ": ");
  PyErr_SetString(PyExc_IndexError, rest ? rest + 2 : text);
  return false;
}

static PyObject *copy_at(tsr_tensor *tensor, const int64_t *index, int axis_count) {
  tsr_key items[TSR_MAX_RANK];
  for (int i = 0; i < axis_count; i++) items[i] = TSR_AT(index[i]);
  tsr_tensor *view = tsr_view(tensor, items, axis_count);
  if (!tsrpy_raise_index(tsr_error(view))) {
    tsr_release(view);
    return NULL;
  }
  if (recorders > 0) return tsrpy_view_take(view);
  tsr_tensor *copy = tsr_copy(view);
  tsr_release(view);
  return tsrpy_array_take(copy);
}

PyObject *tsrpy_element_now(tsr_tensor *tensor, const int64_t *index, int axis_count) {
  unsigned char bits[8] = {0};
  if (recorders > 0 || !tsr_peek(tensor, index, axis_count, bits)) return NULL;
  return tsrpy_number_take(tsr_tensor_device(tensor), tsr_tensor_dtype(tensor), bits);
}

PyObject *tsrpy_element_at(tsr_tensor *tensor, const int64_t *index, int axis_count) {
  if (recorders == 0 && !compute_on_host(tensor)) return NULL;
  PyObject *element = tsrpy_element_now(tensor, index, axis_count);
  return element || PyErr_Occurred() ? element : copy_at(tensor, index, axis_count);
}

// --- As numbers ------------------------------------------------------------------------------------------------------

bool tsrpy_bits_float(tsr_dtype dtype, const void *bits, double *out_value) {
  float single = 0;
  switch (dtype) {
    case TSR_F32:
      memcpy(&single, bits, sizeof single);
      *out_value = (double)single;
      return true;
    case TSR_F64:
      memcpy(out_value, bits, sizeof *out_value);
      return true;
    case TSR_BOOL:
      *out_value = *(const unsigned char *)bits != 0;
      return true;
    default:
      return tsrpy_check(tsr_convert(TSR_F64, out_value, dtype, bits, 1));
  }
}

bool tsrpy_bits_whole(tsr_dtype dtype, const void *bits, int64_t *out_value) {
  if (dtype != TSR_I64) return tsrpy_check(tsr_convert(TSR_I64, out_value, dtype, bits, 1));
  memcpy(out_value, bits, sizeof *out_value);
  return true;
}

PyObject *tsrpy_bits_number(tsr_dtype dtype, const void *bits) {
  double real = 0;
  int64_t whole = 0;
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT) {
    return tsrpy_bits_float(dtype, bits, &real) ? PyFloat_FromDouble(real) : NULL;
  }
  if (!tsrpy_bits_whole(dtype, bits, &whole)) return NULL;
  if (dtype == TSR_BOOL) return PyBool_FromLong(whole != 0);
  return dtype == TSR_U64 ? PyLong_FromUnsignedLongLong((uint64_t)whole) : PyLong_FromLongLong(whole);
}
