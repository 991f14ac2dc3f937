// SPDX-License-Identifier: MIT
// Elements: x[3] is the number that is there now, as in NumPy, where `x[0], x[1] = x[1], x[0]` swaps two. Such an Array has a number and a dtype, and makes a tensor of
// them when an operator wants one.
//
// Numbers are read where the host has them. Elements of other devices are recorded copies, which nobody waits for; while gradients or a capture are
// recorded, they are views.
#include <string.h>

#include "binding.h"

static int recorders;  // ranges of gradients, and captures, that are open on any thread

void tsrpy_recording_begin(void) { recorders++; }
void tsrpy_recording_end(void) { recorders--; }
bool tsrpy_is_recording(void) { return recorders > 0; }

PyObject *tsrpy_number_take(tsr_device *device, tsr_dtype dtype, const void *bits) {
  tsrpy_array *element = tsrpy_array_new(NULL);
  if (!element) return NULL;
  element->device = device;
  element->dtype = dtype;
  memcpy(element->bits, bits, sizeof element->bits);
  return (PyObject *)element;
}

tsr_tensor *tsrpy_element_tensor(tsrpy_array *element) {
  element->tensor =
      tsr_from_data(element->device, element->dtype, TSR_SCALAR, element->bits, tsr_dtype_bytes(element->dtype));
  return element->tensor;
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
