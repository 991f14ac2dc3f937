// SPDX-License-Identifier: MIT
// Kernels of the kernel language (<tessera/kernel.h>). tessera/_kernel.py has the function that makes them.
#include "binding.h"

enum { MAX_ARGS = 64 };

typedef struct kernel_object {
  PyObject_HEAD tsr_kernel *kernel;
} kernel_object;

static PyTypeObject *kernel_type;

static tsr_kernel *kernel_of(PyObject *self) { return ((kernel_object *)self)->kernel; }

static void kernel_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_kernel_release(kernel_of(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

// build_kernel(source, kernel or None, defines, is_checked): defines is a list of texts such as "T=f32".
static PyObject *build_kernel(PyObject *module, PyObject *args) {
  (void)module;
  const char *source = NULL, *name = NULL;
  PyObject *defines = NULL;
  int is_checked = 0;
  if (!PyArg_ParseTuple(args, "szO!p:build_kernel", &source, &name, &PyList_Type, &defines, &is_checked)) return NULL;
  Py_ssize_t count = PyList_Size(defines);
  const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
  kernel_object *object = texts ? PyObject_New(kernel_object, kernel_type) : NULL;
  if (!object) {
    PyMem_Free(texts);
    return PyErr_NoMemory();
  }
  object->kernel = NULL;
  bool is_right = true;
  for (Py_ssize_t i = 0; is_right && i < count; i++) {
    is_right = (texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(defines, i), NULL)) != NULL;
  }
  tsr_kernel_desc desc = {
      .source = source, .kernel = name, .defines = texts, .define_count = (int)count, .is_checked = is_checked != 0};
  if (is_right) is_right = tsrpy_check(tsr_kernel_build(&desc, &object->kernel));
  PyMem_Free(texts);
  if (is_right) return (PyObject *)object;
  Py_DECREF(object);
  return NULL;
}

static bool read_arg(PyObject *object, tsr_arg *out_arg) {
  if (tsrpy_is_array(object)) {
    *out_arg = tsr_arg_tensor(tsrpy_tensor_of(object));
  } else if (PyFloat_Check(object)) {
    *out_arg = tsr_arg_float(PyFloat_AsDouble(object));
  } else if (PyIndex_Check(object)) {
    PyObject *whole = PyNumber_Index(object);
    *out_arg = tsr_arg_int(whole ? PyLong_AsLongLong(whole) : 0);
    Py_XDECREF(whole);
  } else {
    PyErr_Format(PyExc_TypeError, "a kernel takes arrays and numbers, not %R", object);
  }
  return !PyErr_Occurred();
}

static bool read_named_args(PyObject *named, tsr_arg *args, int *count) {
  PyObject *name = NULL, *value = NULL;
  Py_ssize_t at = 0;
  while (named && PyDict_Next(named, &at, &name, &value)) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text || *count == MAX_ARGS || !read_arg(value, &args[*count])) return false;
    args[*count] = tsr_arg_named(text, args[*count]);
    ++*count;
  }
  return true;
}

// launch(items, args, named): items are those of x, y and z.
static PyObject *kernel_launch(PyObject *self, PyObject *given) {
  unsigned long long x = 0, y = 1, z = 1;
  PyObject *tuple = NULL, *named = NULL;
  if (!PyArg_ParseTuple(given, "(KKK)O!O!:launch", &x, &y, &z, &PyTuple_Type, &tuple, &PyDict_Type, &named))
    return NULL;
  tsr_arg args[MAX_ARGS];
  Py_ssize_t positional = PyTuple_Size(tuple);
  int count = 0;
  if (positional + PyDict_Size(named) > MAX_ARGS) {
    PyErr_Format(PyExc_TypeError, "a kernel takes at most %d arguments", MAX_ARGS);
    return NULL;
  }
  for (; count < positional; count++) {
    if (!read_arg(PyTuple_GetItem(tuple, count), &args[count])) return NULL;
  }
  if (!read_named_args(named, args, &count)) return NULL;
  tsr_grid grid = tsr_grid_for(kernel_of(self), x, y, z);
  tsr_status status;
  tsrpy_note_elements(TSRPY_UNKNOWN_WORK);
  Py_BEGIN_ALLOW_THREADS status = tsr_kernel_launch(kernel_of(self), grid, args, count);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  Py_RETURN_NONE;
}

// The parameters as (name, "in", "out", "inout" or "number", dtype).
static PyObject *get_parameters(PyObject *self, void *unused) {
  static const char *const accesses[] = {"number", "in", "out", "inout"};  // by tsr_access
  (void)unused;
  int count = tsr_kernel_param_count(kernel_of(self));
  PyObject *list = PyList_New(count);
  for (int i = 0; list && i < count; i++) {
    tsr_kernel_param param;
    PyObject *row = tsrpy_check(tsr_kernel_get_param(kernel_of(self), i, &param))
                        ? Py_BuildValue("(ssN)", param.name, accesses[param.access], tsrpy_dtype_object(param.dtype))
                        : NULL;
    if (!row || PyList_SetItem(list, i, row) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(tsr_kernel_name(kernel_of(self)));
}

// The text that devices of a dialect get: emit("opencl").
static PyObject *kernel_emit(PyObject *self, PyObject *dialect) {
  const char *name = PyUnicode_Check(dialect) ? PyUnicode_AsUTF8AndSize(dialect, NULL) : NULL;
  if (!name) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "emit: a dialect is named by a text");
    return NULL;
  }
  size_t bytes = 0;
  if (!tsrpy_check(tsr_kernel_emit(kernel_of(self), name, NULL, 0, &bytes))) return NULL;
  char *text = PyMem_Malloc(bytes + 1);
  if (!text) return PyErr_NoMemory();
  PyObject *result =
      tsrpy_check(tsr_kernel_emit(kernel_of(self), name, text, bytes, NULL)) ? PyUnicode_FromString(text) : NULL;
  PyMem_Free(text);
  return result;
}

static PyMethodDef methods[] = {
    {"launch", kernel_launch, METH_VARARGS, NULL},
    {"emit", kernel_emit, METH_O, "emit($self, dialect, /)\n--\n\nThe kernel's text in a dialect, such as 'opencl'."},
    {0},
};
static PyGetSetDef properties[] = {
    {"parameters", get_parameters, NULL, "(name, 'in', 'out', 'inout' or 'number', dtype) of each parameter.", NULL},
    {"name", get_name, NULL, "The name with its compile-time parameters.", NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, kernel_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, properties}, {0, NULL}};
static PyType_Spec spec = {.name = TSRPY_MODULE "._core.Kernel",
                           .basicsize = sizeof(kernel_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
static PyMethodDef functions[] = {{"build_kernel", build_kernel, METH_VARARGS, NULL}, {0}};

bool tsrpy_kernel_init(PyObject *module) {
  kernel_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return kernel_type && PyModule_AddObjectRef(module, "Kernel", (PyObject *)kernel_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
