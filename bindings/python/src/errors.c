// SPDX-License-Identifier: MIT
// Statuses of the library as Python exceptions: built-in ones where they fit, else our own.
#include "binding.h"

static PyObject *error_type, *device_error_type, *kernel_error_type;

static PyObject *add_type(PyObject *module, const char *name, const char *doc, PyObject *base) {
  char whole[64];
  PyOS_snprintf(whole, sizeof whole, TSRPY_MODULE ".%s", name);
  PyObject *type = PyErr_NewExceptionWithDoc(whole, doc, base, NULL);
  if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
  return type;
}

bool tsrpy_errors_init(PyObject *module) {
  error_type = add_type(module, "Error", "What went wrong inside the library.", PyExc_RuntimeError);
  if (!error_type) return false;
  device_error_type =
      add_type(module, "DeviceError", "A device is not there, stopped working or did not finish in time.", error_type);
  kernel_error_type = add_type(module, "KernelError", "A kernel has a mistake; the message says where.", error_type);
  return device_error_type && kernel_error_type;
}

static PyObject *type_of(tsr_status status) {
  switch (status) {
    case TSR_ERR_INVALID_ARGUMENT:
    case TSR_ERR_SHAPE:
    case TSR_ERR_CONFIG:
    case TSR_ERR_NOT_FOUND:
      return PyExc_ValueError;
    case TSR_ERR_DTYPE:
      return PyExc_TypeError;
    case TSR_ERR_OUT_OF_MEMORY:
      return PyExc_MemoryError;
    case TSR_ERR_UNSUPPORTED:
      return PyExc_NotImplementedError;
    case TSR_ERR_IO:
      return PyExc_OSError;
    case TSR_ERR_BUILD:
      return kernel_error_type;
    case TSR_ERR_UNAVAILABLE:
    case TSR_ERR_LAUNCH:
    case TSR_ERR_TIMEOUT:
    case TSR_ERR_DEVICE_LOST:
      return device_error_type;
    default:
      return error_type;
  }
}

PyObject *tsrpy_raise_text(tsr_status status, const char *text) {
  PyErr_SetString(type_of(status), *text ? text : tsr_status_text(status));
  return NULL;
}

PyObject *tsrpy_raise(tsr_status status) { return tsrpy_raise_text(status, tsr_last_error()); }
