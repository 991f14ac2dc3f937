// SPDX-License-Identifier: MIT
// Element-wise functions of the namespace `tessera`: operators that also take NumPy's keywords (out, where, dtype) and have its methods (reduce, at, …).
//
// A call without keywords goes straight to the operator. Keywords and methods are the business of tessera/_elementwise.py.
#include "binding.h"

enum { MAX_INPUTS = 4 };

typedef struct ufunc_object {
  PyObject_HEAD const tsrpy_operator *operator;
  PyObject *name;  // in Python: "multiply" for the operator "mul"
} ufunc_object;

static PyTypeObject *ufunc_type;
static PyObject *keyword_call;  // function(ufunc, args, keywords)

static ufunc_object *cast(PyObject *self) { return (ufunc_object *)self; }

static void ufunc_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(cast(self)->name);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *ufunc_call(PyObject *self, PyObject *args, PyObject *keywords) {
  if (keywords && PyDict_Size(keywords) > 0)
    return PyObject_CallFunctionObjArgs(keyword_call, self, args, keywords, NULL);
  const tsrpy_operator *operator= cast(self)->operator;
  PyObject *inputs[MAX_INPUTS];
  Py_ssize_t count = PyTuple_Size(args);
  if (count > operator->parameter_count) return PyObject_CallFunctionObjArgs(keyword_call, self, args, Py_None, NULL);
  for (Py_ssize_t i = 0; i < count; i++) inputs[i] = PyTuple_GetItem(args, i);
  if (count == 2 && operator->parameter_count == 2) return tsrpy_operate_two(operator, inputs[0], inputs[1]);
  return tsrpy_operator_call(operator, inputs, count, NULL);
}

static PyObject *ufunc_repr(PyObject *self) { return PyUnicode_FromFormat("<ufunc '%U'>", cast(self)->name); }

static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return Py_NewRef(cast(self)->name);
}

static PyObject *get_inputs(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(cast(self)->operator->parameter_count);
}

static PyObject *get_operator(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(cast(self)->operator->name);
}

// The operator's text, with the function's own name in front.
static PyObject *get_doc(PyObject *self, void *unused) {
  (void)unused;
  const tsrpy_operator *operator= cast(self)->operator;
  PyObject *text = PyUnicode_FromString(operator->doc), *own = PyUnicode_FromString(operator->name);
  PyObject *result = NULL;
  if (text && own) {
    Py_ssize_t skipped = PyUnicode_GetLength(own), length = PyUnicode_GetLength(text);
    PyObject *rest = PyUnicode_Substring(text, skipped, length), *marker = PyUnicode_FromString("\n--\n");
    PyObject *gap = PyUnicode_FromString("\n"),
             *clean = rest && marker && gap ? PyUnicode_Replace(rest, marker, gap, 1) : NULL;
    if (clean) result = PyUnicode_FromFormat("%U%U", cast(self)->name, clean);
    Py_XDECREF(rest);
    Py_XDECREF(marker);
    Py_XDECREF(gap);
    Py_XDECREF(clean);
  }
  Py_XDECREF(text);
  Py_XDECREF(own);
  return result;
}

// Pickled by its name: an attribute of the module.
static PyObject *ufunc_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return Py_NewRef(cast(self)->name);
}

static PyGetSetDef properties[] = {
    {"__name__", get_name, NULL, NULL, NULL},
    {"__qualname__", get_name, NULL, NULL, NULL},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {"nin", get_inputs, NULL, "How many arrays it takes.", NULL},
    {"operator", get_operator, NULL, "The name of its operator in tessera.ops.", NULL},
    {0},
};
static PyMethodDef methods[] = {{"__reduce__", ufunc_reduce, METH_NOARGS, NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, ufunc_dealloc}, {Py_tp_call, ufunc_call}, {Py_tp_repr, ufunc_repr},
    {Py_tp_getset, properties},     {Py_tp_methods, methods}, {0, NULL},
};
static PyType_Spec spec = {.name = TSRPY_MODULE ".ufunc",
                           .basicsize = sizeof(ufunc_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

// make_ufunc(operator's name, name)
static PyObject *make_ufunc(PyObject *module, PyObject *args) {
  (void)module;
  const char *operator_name = NULL;
  PyObject *name = NULL;
  if (!PyArg_ParseTuple(args, "sU:make_ufunc", &operator_name, &name)) return NULL;
  const tsrpy_operator *operator= tsrpy_operator_find(operator_name);
  if (!operator|| operator->parameter_count> MAX_INPUTS) {
    PyErr_Format(PyExc_ValueError, "there is no element-wise operator '%s'", operator_name);
    return NULL;
  }
  ufunc_object *object = PyObject_New(ufunc_object, ufunc_type);
  if (!object) return NULL;
  object->operator= operator;
  tsrpy_operator_set_light(operator);
  object->name = Py_NewRef(name);
  return (PyObject *)object;
}

// set_keyword_call(function)
static PyObject *set_keyword_call(PyObject *module, PyObject *function) {
  (void)module;
  tsrpy_ufunc_deinit();
  keyword_call = Py_NewRef(function);
  Py_RETURN_NONE;
}

void tsrpy_ufunc_deinit(void) { Py_CLEAR(keyword_call); }

static PyMethodDef functions[] = {
    {"make_ufunc", make_ufunc, METH_VARARGS, NULL},
    {"set_keyword_call", set_keyword_call, METH_O, NULL},
    {0},
};

bool tsrpy_ufunc_init(PyObject *module) {
  ufunc_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return ufunc_type && PyModule_AddObjectRef(module, "ufunc", (PyObject *)ufunc_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
