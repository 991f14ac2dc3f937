// SPDX-License-Identifier: MIT
// Gradients: the ranges and calls of <tessera/grad.h>, of which tessera/_grad.py makes grad and value_and_grad. The ranges of <tessera/autocast.h>.
#include "binding.h"

static PyObject *grad_begin(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  if (!tsrpy_check(tsr_grad_begin())) return NULL;
  tsrpy_recording_begin();
  Py_RETURN_NONE;
}

static PyObject *grad_end(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsrpy_recording_end();
  if (!tsrpy_check(tsr_grad_end())) return NULL;
  Py_RETURN_NONE;
}

static bool check_array(PyObject *object) {
  if (tsrpy_is_array(object)) return true;
  PyErr_Format(PyExc_TypeError, "gradients are by arrays, not by %R", object);
  return false;
}

static PyObject *grad_watch(PyObject *module, PyObject *array) {
  (void)module;
  if (!check_array(array) || !tsrpy_check(tsr_grad_watch(tsrpy_tensor_of(array)))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *arrays_of(tsr_tensor **tensors, Py_ssize_t count) {
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *array = list ? tsrpy_array_take(tensors[i]) : NULL;
    if (!list) {
      tsr_release(tensors[i]);
    } else if (!array || PyList_SetItem(list, i, array) < 0) {
      Py_CLEAR(list);
    }
  }
  return list;
}

// gradients(y, xs, keeps): a list of arrays. xs is a list.
static PyObject *gradients(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *y = NULL, *xs = NULL;
  int keeps = 0;
  if (!PyArg_ParseTuple(args, "OO!p:gradients", &y, &PyList_Type, &xs, &keeps) || !check_array(y)) return NULL;
  Py_ssize_t count = PyList_Size(xs);
  tsr_tensor **tensors = PyMem_Calloc((size_t)count * 2 + 1, sizeof *tensors), **found = tensors + count;
  if (!tensors) return PyErr_NoMemory();
  PyObject *result = NULL;
  bool is_right = true;
  for (Py_ssize_t i = 0; is_right && i < count; i++) {
    PyObject *x = PyList_GetItem(xs, i);
    is_right = check_array(x);
    if (is_right) tensors[i] = tsrpy_tensor_of(x);
  }
  tsr_grad_desc desc = {.keep = keeps != 0, .zeros_if_unused = true};
  if (is_right && tsrpy_check(tsr_grad(tsrpy_tensor_of(y), &desc, tensors, (int)count, found))) {
    result = arrays_of(found, count);
  }
  PyMem_Free(tensors);
  return result;
}

// While a range is open, all operators are recorded: what the host computes at once of few elements is not converted.
static PyObject *autocast_begin(PyObject *module, PyObject *object) {
  (void)module;
  tsr_dtype dtype;
  if (!tsrpy_dtype_parse(object, &dtype) || !tsrpy_check(tsr_autocast_begin(dtype))) return NULL;
  tsrpy_recording_begin();
  Py_RETURN_NONE;
}

static PyObject *autocast_end(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsrpy_recording_end();
  if (!tsrpy_check(tsr_autocast_end())) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"autocast_begin", autocast_begin, METH_O, NULL},
    {"autocast_end", autocast_end, METH_NOARGS, NULL},
    {"grad_begin", grad_begin, METH_NOARGS, NULL},
    {"grad_end", grad_end, METH_NOARGS, NULL},
    {"grad_watch", grad_watch, METH_O, NULL},
    {"gradients", gradients, METH_VARARGS, NULL},
    {0},
};

bool tsrpy_grad_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
