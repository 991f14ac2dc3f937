// SPDX-License-Identifier: MIT
// Element-wise functions of the namespace `tessera`: operators that also take NumPy's keywords (out, where, dtype) and have its methods (reduce, at, …).
//
// A call without keywords goes straight to the operator. Keywords and methods are the business of tessera/_elementwise.py.
#include <string.h>

#include "binding.h"

#include <structmember.h>

enum { MAX_INPUTS = 4 };

// Python's vectorcall, as all versions from 3.9 on have it; the limited API of 3.11 does not name it yet.
typedef PyObject *(*ufunc_vectorcall)(PyObject *self, PyObject *const *args, size_t count, PyObject *names);
#define TSRPY_HAS_VECTORCALL (1UL << 11)
static const size_t ARGUMENTS_OFFSET = (size_t)1 << (8 * sizeof(size_t) - 1);  // a flag in vectorcall's `count`

typedef struct ufunc_object {
  PyObject_HEAD const tsrpy_operator *operator;
  PyObject *name;  // in Python: "multiply" for the operator "mul"
  ufunc_vectorcall vectorcall;
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

// A call with inputs alone.
static PyObject *call_plain(const tsrpy_operator *operator, PyObject * const * inputs, Py_ssize_t count) {
  if (count == 1 && operator->parameter_count == 1) return tsrpy_operate_one(operator, inputs[0]);
  if (count == 2 && operator->parameter_count == 2) return tsrpy_operate_two(operator, inputs[0], inputs[1]);
  return tsrpy_operator_call(operator, inputs, count, NULL);
}

static PyObject *ufunc_call(PyObject *self, PyObject *args, PyObject *keywords) {
  if (keywords && PyDict_Size(keywords) > 0)
    return PyObject_CallFunctionObjArgs(keyword_call, self, args, keywords, NULL);
  const tsrpy_operator *operator= cast(self)->operator;
  PyObject *inputs[MAX_INPUTS];
  Py_ssize_t count = PyTuple_Size(args);
  if (count > operator->parameter_count) return PyObject_CallFunctionObjArgs(keyword_call, self, args, Py_None, NULL);
  for (Py_ssize_t i = 0; i < count; i++) inputs[i] = PyTuple_GetItem(args, i);
  return call_plain(operator, inputs, count);
}

// The arguments of a vectorcall as a tuple and a dict (NULL: no names). False with an exception.
static bool pack_arguments(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **out_args,
                           PyObject **out_keywords) {
  Py_ssize_t name_count = names ? PyTuple_Size(names) : 0;
  *out_args = PyTuple_New(count);
  *out_keywords = name_count ? PyDict_New() : NULL;
  bool is_right = *out_args && (!name_count || *out_keywords);
  for (Py_ssize_t i = 0; is_right && i < count; i++) {
    is_right = PyTuple_SetItem(*out_args, i, Py_NewRef(args[i])) == 0;
  }
  for (Py_ssize_t i = 0; is_right && i < name_count; i++) {
    is_right = PyDict_SetItem(*out_keywords, PyTuple_GetItem(names, i), args[count + i]) == 0;
  }
  return is_right;
}

// Writes a result that holds its elements into `out`, if both have one dtype and shape. False: _elementwise.py does it.
static bool write_few(PyObject *out, PyObject *result) {
  tsrpy_array *target = (tsrpy_array *)out;
  const tsrpy_array *source = (const tsrpy_array *)result;
  if (tsrpy_has_bits(target)) return tsrpy_held_write(target, result);
  if (source->tensor || source->root || tsrpy_is_recording()) return false;
  tsr_shape shape = tsr_tensor_shape(target->tensor);
  if (tsr_tensor_dtype(target->tensor) != source->dtype || shape.rank != source->shape.rank ||
      memcmp(shape.dims, source->shape.dims, (size_t)shape.rank * sizeof shape.dims[0]) != 0) {
    return false;
  }
  size_t bytes = (size_t)tsrpy_count_of_shape(&shape) * tsr_dtype_bytes(source->dtype);
  return tsr_write(target->tensor, source->bits, bytes) == TSR_OK;
}

static PyObject *call_vector(PyObject *self, PyObject *const *args, size_t flagged_count, PyObject *names) {
  Py_ssize_t count = (Py_ssize_t)(flagged_count & ~ARGUMENTS_OFFSET);
  const tsrpy_operator *operator= cast(self)->operator;
  if (!names && count <= operator->parameter_count) return call_plain(operator, args, count);
  if (!names && count == operator->parameter_count + 1 && tsrpy_is_array(args[count - 1])) {  // the last one is `out`
    PyObject *out = args[count - 1], *result = call_plain(operator, args, count - 1);
    if (!result) return NULL;
    bool is_written = write_few(out, result);
    Py_DECREF(result);
    if (is_written) return Py_NewRef(out);
  }
  PyObject *all = NULL, *keywords = NULL;
  bool is_packed = pack_arguments(args, count, names, &all, &keywords);
  PyObject *result = is_packed ? ufunc_call(self, all, keywords) : NULL;
  Py_XDECREF(all);
  Py_XDECREF(keywords);
  return result;
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
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ufunc_object, vectorcall), READONLY, NULL}, {0}};
static PyMethodDef methods[] = {{"__reduce__", ufunc_reduce, METH_NOARGS, NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, ufunc_dealloc},
    {Py_tp_call, ufunc_call},
    {Py_tp_repr, ufunc_repr},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = TSRPY_MODULE ".ufunc",
    .basicsize = sizeof(ufunc_object),
    .flags = (unsigned int)(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | TSRPY_HAS_VECTORCALL),
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
  object->vectorcall = call_vector;
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
