// SPDX-License-Identifier: MIT
// The extension module tessera._core. Its state is static: it is initialised once in a process.
#include "binding.h"

// The Array of a tensor that is taken over; few elements are held by the Array itself.
static PyObject *take_few(tsr_tensor *tensor) {
  PyObject *array = tsrpy_array_take(tensor);
  PyObject *few = array ? tsrpy_few_copy(array, tsrpy_dtype_of(array), NULL) : NULL;
  if (!few && !PyErr_Occurred()) return array;
  Py_XDECREF(array);
  return few;
}

// as_array(object, dtype, device, copy): what asarray and array are made of. copy: True, False or None.
static PyObject *as_array(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *object = NULL, *dtype_object = Py_None, *device_object = Py_None, *copy = Py_None;
  if (!PyArg_ParseTuple(args, "O|OOO:as_array", &object, &dtype_object, &device_object, &copy)) return NULL;
  tsr_dtype dtype = TSR_DTYPE_COUNT;
  if (dtype_object != Py_None && !tsrpy_dtype_parse(dtype_object, &dtype)) return NULL;
  bool is_array = tsrpy_is_array(object);
  tsr_device *device =
      is_array && device_object == Py_None ? tsrpy_device_of(object) : tsrpy_device_parse(device_object);
  if (!device) return NULL;
  bool is_same =
      is_array && device == tsrpy_device_of(object) && (dtype == TSR_DTYPE_COUNT || dtype == tsrpy_dtype_of(object));
  if (is_same && copy != Py_True) return Py_NewRef(object);
  tsr_tensor *tensor = tsrpy_tensor_from(object, device, dtype);
  if (!tensor) return NULL;
  bool is_shared = is_array && tsr_tensor_shares_memory(tensor, tsrpy_tensor_of(object));
  if (copy == Py_False && !is_shared) {
    tsr_release(tensor);
    PyErr_SetString(PyExc_ValueError, "copy=False, but this data cannot be used without a copy");
    return NULL;
  }
  if (!is_array) return take_few(tensor);
  if (copy != Py_True || !is_shared) return tsrpy_array_take(tensor);
  tsr_tensor *fresh = tsr_copy(tensor);
  tsr_release(tensor);
  return tsrpy_array_take(fresh);
}

static PyObject *as_dtype(PyObject *module, PyObject *object) {
  (void)module;
  tsr_dtype dtype;
  return tsrpy_dtype_parse(object, &dtype) ? tsrpy_dtype_object(dtype) : NULL;
}

static PyObject *promote(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *first = NULL, *second = NULL;
  tsr_dtype a, b;
  if (!PyArg_ParseTuple(args, "OO:promote", &first, &second)) return NULL;
  if (!tsrpy_dtype_parse(first, &a) || !tsrpy_dtype_parse(second, &b)) return NULL;
  return tsrpy_check(tsr_dtype_promote(a, b, &a)) ? tsrpy_dtype_object(a) : NULL;
}

// result_type of arrays and dtypes; names, types and numbers are left to Python.
static PyObject *result_type(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_dtype all, own;
  (void)module;
  bool is_common = !names && count > 0 && tsrpy_dtype_known(args[0], &all);
  for (Py_ssize_t i = 1; is_common && i < count; i++) {
    is_common = tsrpy_dtype_known(args[i], &own);
    if (is_common && !tsrpy_check(tsr_dtype_promote(all, own, &all))) return NULL;
  }
  return is_common ? tsrpy_dtype_object(all) : tsrpy_call_general(TSRPY_RESULT_TYPE, NULL, args, count, names);
}

static PyObject *can_cast(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_dtype from, to, both;
  (void)module;
  bool is_common = !names && count == 2 && tsrpy_dtype_known(args[0], &from) && !tsrpy_is_array(args[1]) &&
                   tsrpy_dtype_known(args[1], &to);
  if (!is_common) return tsrpy_call_general(TSRPY_CAN_CAST, NULL, args, count, names);
  return tsrpy_check(tsr_dtype_promote(from, to, &both)) ? PyBool_FromLong(both == to) : NULL;
}

static PyObject *promote_number(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *number = NULL, *beside = NULL;
  tsr_dtype dtype;
  if (!PyArg_ParseTuple(args, "OO:promote_number", &number, &beside) || !tsrpy_dtype_parse(beside, &dtype)) return NULL;
  return tsrpy_dtype_object(tsrpy_number_dtype_beside(number, dtype));
}

static PyObject *to_device(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *array = NULL, *device_object = NULL;
  if (!PyArg_ParseTuple(args, "O!O:to_device", tsrpy_array_type, &array, &device_object)) return NULL;
  tsr_device *device = tsrpy_device_parse(device_object);
  return device ? tsrpy_array_take(tsr_to(tsrpy_tensor_of(array), device)) : NULL;
}

static PyMethodDef functions[] = {
    {"as_array", as_array, METH_VARARGS, NULL},
    {"as_dtype", as_dtype, METH_O,
     "as_dtype(object, /)\n--\n\nThe dtype of a name, a type of Python or NumPy, or a dtype.\n\n>>> "
     "tessera.dtype('float32')"},
    {"promote", promote, METH_VARARGS, NULL},
    {"result_type", TSRPY_FAST(result_type),
     "result_type(*arrays_and_dtypes)\n--\n\nThe dtype that an operator computes in with these arrays, dtypes and "
     "numbers.\n\n>>> tessera.result_type(tessera.int8, tessera.float32)"},
    {"can_cast", TSRPY_FAST(can_cast),
     "can_cast(from_, to, /)\n--\n\nWhether values keep their kind and size when they are converted: `to` is what "
     "both promote to.\n\n>>> tessera.can_cast(tessera.int8, tessera.int16)"},
    {"promote_number", promote_number, METH_VARARGS, NULL},
    {"to_device", to_device, METH_VARARGS, NULL},
    {"from_dlpack", (PyCFunction)(void (*)(void))tsrpy_from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\nAnother library's array, without a copy where its memory is "
     "on the host.\n\n>>> tessera.from_dlpack(tessera.ones(3))"},
    {"set_advanced_indexing", tsrpy_set_advanced_indexing, METH_VARARGS, NULL},
    {0},
};

static void deinit(void *unused) {
  (void)unused;
  tsrpy_index_deinit();
  tsrpy_ufunc_deinit();
  tsrpy_array_deinit();
  tsrpy_methods_deinit();
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "tessera._core", .m_doc = "The part of tessera that is written in C.",
    .m_size = -1,          .m_methods = functions,    .m_free = deinit};

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (tsrpy_errors_init(module) && tsrpy_dtype_init(module) && tsrpy_device_init(module) && tsrpy_numbers_init() &&
      tsrpy_wait_init() && tsrpy_array_init(module) && tsrpy_methods_init(module) && tsrpy_create_init(module) &&
      tsrpy_composed_init(module) && tsrpy_few_parts_init(module) && tsrpy_ufunc_init(module) &&
      tsrpy_operators_init(module) && tsrpy_grad_init(module) && tsrpy_capture_init(module) &&
      tsrpy_config_init(module) && tsrpy_kernel_init(module) && tsrpy_train_init(module) &&
      tsrpy_profile_init(module) && PyModule_AddStringConstant(module, "version", tsr_version()) == 0) {
    return module;
  }
  Py_DECREF(module);
  return NULL;
}
