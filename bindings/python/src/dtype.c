// SPDX-License-Identifier: MIT
// tessera.float32 and the others: one object for each dtype, with the names that the array API has for them.
#include "binding.h"

typedef struct dtype_object {
  PyObject_HEAD tsr_dtype dtype;
} dtype_object;

typedef struct dtype_name {
  tsr_dtype dtype;
  const char *name;  // in Python; NumPy's codes ("f4") and the library's names ("f32") are understood as well
} dtype_name;

static const dtype_name names[] = {
    {TSR_BOOL, "bool"},           {TSR_U8, "uint8"},    {TSR_I8, "int8"},     {TSR_I16, "int16"},
    {TSR_I32, "int32"},           {TSR_I64, "int64"},   {TSR_U32, "uint32"},  {TSR_F16, "float16"},
    {TSR_BF16, "bfloat16"},       {TSR_F32, "float32"}, {TSR_F64, "float64"}, {TSR_U16, "uint16"},
    {TSR_U64, "uint64"},          {TSR_I4, "int4"},     {TSR_U4, "uint4"},    {TSR_F8_E4M3, "float8_e4m3fn"},
    {TSR_F8_E5M2, "float8_e5m2"},
};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

typedef struct dtype_code {
  const char *code;
  tsr_dtype dtype;
} dtype_code;

// NumPy's other names. Its sizes are in bytes, so "i8" is int64 here although the library calls int8 that.
// As Python's float, "float" is float32, the default.
static const dtype_code codes[] = {
    {"b1", TSR_BOOL},  {"i1", TSR_I8},      {"i2", TSR_I16},     {"i4", TSR_I32},     {"i8", TSR_I64},
    {"u1", TSR_U8},    {"u2", TSR_U16},     {"u4", TSR_U32},     {"u8", TSR_U64},     {"f2", TSR_F16},
    {"f4", TSR_F32},   {"f8", TSR_F64},     {"?", TSR_BOOL},     {"b", TSR_I8},       {"h", TSR_I16},
    {"i", TSR_I32},    {"l", TSR_I64},      {"q", TSR_I64},      {"B", TSR_U8},       {"H", TSR_U16},
    {"I", TSR_U32},    {"L", TSR_U64},      {"Q", TSR_U64},      {"e", TSR_F16},      {"f", TSR_F32},
    {"d", TSR_F64},    {"bool_", TSR_BOOL}, {"byte", TSR_I8},    {"ubyte", TSR_U8},   {"short", TSR_I16},
    {"intc", TSR_I32}, {"int", TSR_I64},    {"int_", TSR_I64},   {"intp", TSR_I64},   {"uint", TSR_U64},
    {"half", TSR_F16}, {"float", TSR_F32},  {"float_", TSR_F32}, {"single", TSR_F32}, {"double", TSR_F64},
};

static PyTypeObject *dtype_type;
static PyObject *objects[NAME_COUNT];

static const dtype_name *find(tsr_dtype dtype) {
  for (int i = 0; i < NAME_COUNT; i++) {
    if (names[i].dtype == dtype) return &names[i];
  }
  return NULL;
}

static tsr_dtype dtype_of(PyObject *self) { return ((dtype_object *)self)->dtype; }

static PyObject *dtype_str(PyObject *self) { return PyUnicode_FromString(find(dtype_of(self))->name); }
static PyObject *dtype_repr(PyObject *self) {
  return PyUnicode_FromFormat(TSRPY_MODULE ".%s", find(dtype_of(self))->name);
}
static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return dtype_str(self);
}
static PyObject *get_itemsize(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(tsr_dtype_bytes(dtype_of(self)));
}
static PyObject *get_bits(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(tsr_dtype_bits(dtype_of(self)));
}
static PyObject *get_kind(PyObject *self, void *unused) {
  static const char *const kinds[] = {"b", "u", "i", "f"};  // by tsr_dtype_kind
  (void)unused;
  return PyUnicode_FromString(kinds[tsr_dtype_kind_of(dtype_of(self))]);
}

// NumPy's first code of a length for a dtype, after a mark of the byte order if the elements have several bytes.
static PyObject *code_of(PyObject *self, size_t length, bool has_order) {
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (codes[i].dtype != dtype_of(self) || strlen(codes[i].code) != length) continue;
    const char *order = !has_order ? "" : tsr_dtype_bytes(dtype_of(self)) > 1 ? "<" : "|";
    return PyUnicode_FromFormat("%s%s", order, codes[i].code);
  }
  return PyErr_Format(PyExc_AttributeError, "NumPy has no code for %s", find(dtype_of(self))->name);
}
static PyObject *get_str(PyObject *self, void *unused) {
  (void)unused;
  return code_of(self, 2, true);
}
static PyObject *get_char(PyObject *self, void *unused) {
  (void)unused;
  return code_of(self, 1, false);
}
static PyObject *get_type(PyObject *self, void *unused) {
  (void)unused;
  return Py_NewRef(self);
}

// Pickled by its name: tessera._dtype("float32").
static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *module = PyImport_ImportModule("tessera._core");
  PyObject *make = module ? PyObject_GetAttrString(module, "as_dtype") : NULL;
  Py_XDECREF(module);
  return make ? Py_BuildValue("N(s)", make, find(dtype_of(self))->name) : NULL;
}

static void dtype_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *dtype_compare(PyObject *a, PyObject *b, int how) {
  if (how != Py_EQ && how != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  tsr_dtype other = TSR_DTYPE_COUNT;
  if (PyObject_TypeCheck(b, dtype_type)) {
    other = dtype_of(b);
  } else if (!tsrpy_dtype_parse(b, &other)) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong((dtype_of(a) == other) == (how == Py_EQ));
}

// float32(x): an array of this dtype, as NumPy's types make numbers of it.
static PyObject *dtype_call(PyObject *self, PyObject *args, PyObject *keywords) {
  PyObject *object = NULL;
  if (keywords && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "a dtype takes no keywords");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "|O", &object)) return NULL;
  PyObject *zero = object ? NULL : PyLong_FromLong(0);
  tsr_device *device = tsrpy_device_current();
  tsr_tensor *tensor = device ? tsrpy_tensor_from(object ? object : zero, device, dtype_of(self)) : NULL;
  Py_XDECREF(zero);
  return tensor ? tsrpy_array_take(tensor) : NULL;
}

static Py_hash_t dtype_hash(PyObject *self) { return (Py_hash_t)dtype_of(self) + 1; }

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "The name, such as 'float32'.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element; 0 for int4 and uint4, of which two share a byte.", NULL},
    {"bits", get_bits, NULL, "Bits of an element.", NULL},
    {"kind", get_kind, NULL, "'b', 'i', 'u' or 'f', as in NumPy.", NULL},
    {"str", get_str, NULL, "NumPy's code with the byte order, such as '<f4'.", NULL},
    {"char", get_char, NULL, "NumPy's code of one letter, such as 'f'.", NULL},
    {"type", get_type, NULL, "The dtype itself, which makes numbers when it is called.", NULL},
    {0},
};
// isinstance(x, tessera.float32): whether x is an Array of this dtype without axes, as NumPy's numbers are.
static PyObject *dtype_instance_check(PyObject *self, PyObject *object) {
  const bool is_number = tsrpy_is_array(object) && tsrpy_rank_of(object) == 0;
  return PyBool_FromLong(is_number && tsrpy_dtype_of(object) == dtype_of(self));
}

static PyMethodDef methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL}, {"__instancecheck__", dtype_instance_check, METH_O, NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_doc, "The type of an array's elements."},
    {Py_tp_str, dtype_str},
    {Py_tp_repr, dtype_repr},
    {Py_tp_dealloc, dtype_dealloc},
    {Py_tp_richcompare, dtype_compare},
    {Py_tp_hash, dtype_hash},
    {Py_tp_call, dtype_call},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {.name = TSRPY_MODULE ".DType",
                           .basicsize = sizeof(dtype_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

bool tsrpy_dtype_init(PyObject *module) {
  dtype_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!dtype_type || PyModule_AddObjectRef(module, "DType", (PyObject *)dtype_type) < 0) return false;
  for (int i = 0; i < NAME_COUNT; i++) {
    dtype_object *object = PyObject_New(dtype_object, dtype_type);
    if (!object) return false;
    object->dtype = names[i].dtype;
    objects[i] = (PyObject *)object;
    if (PyModule_AddObjectRef(module, names[i].name, objects[i]) < 0) return false;
  }
  return true;
}

PyObject *tsrpy_dtype_object(tsr_dtype dtype) {
  static PyObject *by_dtype[TSR_DTYPE_COUNT];  // those that were asked for; borrowed from `objects`
  if (!by_dtype[dtype]) by_dtype[dtype] = objects[find(dtype) - names];
  return Py_NewRef(by_dtype[dtype]);
}

static bool parse_code(const char *code, tsr_dtype *out_dtype) {
  if (*code == '<' || *code == '=' || *code == '|') code++;  // byte orders; '>' is none of this machine
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (strcmp(codes[i].code, code) == 0) return *out_dtype = codes[i].dtype, true;
  }
  return false;
}

static bool parse_name(PyObject *name, tsr_dtype *out_dtype) {
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return PyErr_Clear(), false;
  for (int i = 0; i < NAME_COUNT; i++) {
    if (strcmp(names[i].name, text) == 0) return *out_dtype = names[i].dtype, true;
  }
  if (parse_code(text, out_dtype)) return true;
  for (int i = 0; i < NAME_COUNT; i++) {
    if (strcmp(tsr_dtype_name(names[i].dtype), text) == 0) return *out_dtype = names[i].dtype, true;
  }
  return false;
}

static bool parse_named(PyObject *object, const char *attribute, tsr_dtype *out_dtype) {
  PyObject *name = PyObject_GetAttrString(object, attribute);
  PyErr_Clear();
  bool found = name && PyUnicode_Check(name) && parse_name(name, out_dtype);
  Py_XDECREF(name);
  return found;
}

bool tsrpy_dtype_known(PyObject *object, tsr_dtype *out_dtype) {
  bool is_dtype = PyObject_TypeCheck(object, dtype_type);
  if (!is_dtype && !tsrpy_is_array(object)) return false;
  *out_dtype = is_dtype ? dtype_of(object) : tsrpy_dtype_of(object);
  return true;
}

bool tsrpy_dtype_parse(PyObject *object, tsr_dtype *out_dtype) {
  if (PyObject_TypeCheck(object, dtype_type)) {
    *out_dtype = dtype_of(object);
    return true;
  }
  if (object == (PyObject *)&PyBool_Type) return *out_dtype = TSR_BOOL, true;
  if (object == (PyObject *)&PyLong_Type) return *out_dtype = TSR_I64, true;
  if (object == (PyObject *)&PyFloat_Type) return *out_dtype = TSR_F32, true;
  if (PyUnicode_Check(object) ? parse_name(object, out_dtype)
                              : parse_named(object, "name", out_dtype) || parse_named(object, "__name__", out_dtype)) {
    return true;
  }
  PyErr_Format(PyExc_TypeError, "%R is not a dtype of tessera", object);
  return false;
}
