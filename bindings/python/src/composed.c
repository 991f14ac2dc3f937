// SPDX-License-Identifier: MIT
// Functions of several operators that small programs call often: as in Python, but without its calls in between.
#include "binding.h"

// Calls an operator with two arguments, and drops the first one, which may be NULL.
static PyObject *then(const tsrpy_operator *operator, PyObject * first, PyObject *second) {
  PyObject *result = first && second ? tsrpy_operate_two(operator, first, second) : NULL;
  Py_XDECREF(first);
  return result;
}

// Both arguments of a function, converted to arrays; false with an exception.
static bool read_two(const char *name, PyObject *const *args, Py_ssize_t count, PyObject **out) {
  tsr_device *device = NULL;
  if (count != 2) {
    PyErr_Format(PyExc_TypeError, "%s takes 2 arguments, not %zd", name, count);
    return false;
  }
  for (int i = 0; i < 2; i++) {
    out[i] = tsrpy_is_array(args[i]) ? Py_NewRef(args[i]) : NULL;
    if (!out[i] && (device = tsrpy_device_current())) out[i] = tsrpy_array_from(args[i], device);
  }
  if (out[0] && out[1]) return true;
  for (int i = 0; i < 2; i++) Py_CLEAR(out[i]);
  return false;
}

// log2(2^a + 2^b), by logaddexp, whose base is e.
static PyObject *logaddexp2(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  static const tsrpy_operator *mul, *div, *logaddexp;
  static PyObject *scale;
  (void)module;
  if (!mul) mul = tsrpy_operator_find("mul");
  if (!div) div = tsrpy_operator_find("div");
  if (!logaddexp) logaddexp = tsrpy_operator_find("logaddexp");
  if (!scale && !(scale = PyFloat_FromDouble(0.6931471805599453))) return NULL;
  PyObject *inputs[2];
  if (!read_two("logaddexp2", args, count, inputs)) return NULL;
  PyObject *left = then(mul, inputs[0], scale), *right = then(mul, inputs[1], scale);
  PyObject *both = then(logaddexp, left, right);
  Py_XDECREF(right);
  return then(div, both, scale);
}

// `result`, and NaN where x is NaN. Takes over `result`, which may be NULL.
static PyObject *keep_nan(PyObject *x, PyObject *result) {
  static const tsrpy_operator *isnan, *where;
  if (!isnan) isnan = tsrpy_operator_find("isnan");
  if (!where) where = tsrpy_operator_find("where");
  if (!result || tsr_dtype_kind_of(tsrpy_dtype_of(x)) != TSR_KIND_FLOAT) return result;
  PyObject *is_nan = tsrpy_operate_one(isnan, x), *kept = NULL;
  if (is_nan) kept = tsrpy_operator_call(where, (PyObject *[]){is_nan, x, result}, 3, NULL);
  Py_XDECREF(is_nan);
  Py_DECREF(result);
  return kept;
}

// 0 below 0, 1 above, x2 at 0; NaN of NaN.
static PyObject *heaviside(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  static const tsrpy_operator *eq, *gt, *cast, *where;
  static PyObject *zero;
  (void)module;
  if (!eq) eq = tsrpy_operator_find("eq");
  if (!gt) gt = tsrpy_operator_find("gt");
  if (!cast) cast = tsrpy_operator_find("cast");
  if (!where) where = tsrpy_operator_find("where");
  if (!zero && !(zero = PyLong_FromLong(0))) return NULL;
  PyObject *inputs[2], *result = count == 2 ? tsrpy_few_heaviside(args[0], args[1]) : NULL;
  if (result || PyErr_Occurred() || !read_two("heaviside", args, count, inputs)) return result;
  PyObject *dtype = tsrpy_dtype_object(tsrpy_dtype_of(inputs[0])), *is_zero = tsrpy_operate_two(eq, inputs[0], zero);
  PyObject *is_above = is_zero ? tsrpy_operate_two(gt, inputs[0], zero) : NULL;
  PyObject *step = is_above ? tsrpy_operator_call(cast, (PyObject *[]){is_above, dtype}, 2, NULL) : NULL;
  PyObject *second = tsrpy_is_number(args[1]) ? args[1] : inputs[1];  // a number takes the dtype of x1
  if (step) result = tsrpy_operator_call(where, (PyObject *[]){is_zero, second, step}, 3, NULL);
  result = keep_nan(inputs[0], result);
  Py_XDECREF(dtype);
  Py_XDECREF(is_zero);
  Py_XDECREF(is_above);
  Py_XDECREF(step);
  for (int i = 0; i < 2; i++) Py_DECREF(inputs[i]);
  return result;
}

static PyMethodDef functions[] = {
    {"logaddexp2", (PyCFunction)(void (*)(void))logaddexp2, METH_FASTCALL,
     "logaddexp2(x1, x2, /)\n--\n\nlog2(2**x1 + 2**x2), without overflow.\n\n>>> tessera.logaddexp2([1.0], [1.0])"},
    {"heaviside", (PyCFunction)(void (*)(void))heaviside, METH_FASTCALL,
     "heaviside(x1, x2, /)\n--\n\n0 below 0, 1 above, x2 at 0.\n\n>>> tessera.heaviside([-1.0, 0.0, 2.0], 0.5)"},
    {"few_convolve", (PyCFunction)(void (*)(void))tsrpy_few_convolve, METH_FASTCALL, NULL},
    {0},
};

bool tsrpy_composed_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
