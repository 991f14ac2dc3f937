// SPDX-License-Identifier: MIT
// Sets of parameters (<tessera/params.h>) and optimisers (<tessera/optim.h>). tessera/optim.py has the classes that people use.
#include <string.h>

#include "binding.h"

typedef struct params_object {
  PyObject_HEAD tsr_params *params;
} params_object;

typedef struct optim_object {
  PyObject_HEAD tsr_optim *optim;
} optim_object;

static PyTypeObject *params_type, *optim_type;

static tsr_params *params_of(PyObject *self) { return ((params_object *)self)->params; }
static tsr_optim *optim_of(PyObject *self) { return ((optim_object *)self)->optim; }

// The place of a name in a list that ends in NULL; -1 with an exception.
static int find_name(const char *const *names, const char *name, const char *what) {
  for (int i = 0; names[i]; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  PyErr_Format(PyExc_ValueError, "there is no %s '%s'", what, name);
  return -1;
}

// --- Sets of parameters ----------------------------------------------------------------------------------------------

// Takes over a reference to the set.
static PyObject *params_take(tsr_params *params) {
  params_object *object = PyObject_New(params_object, params_type);
  if (!object) {
    tsr_params_release(params);
    return NULL;
  }
  object->params = params;
  return (PyObject *)object;
}

static void params_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_params_release(params_of(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

// One row: (name, shape, initialiser, value, whether inputs come first).
static bool read_row(PyObject *row, tsr_param_desc *out_desc) {
  static const char *const inits[] = {"zeros",   "ones",           "constant",      "normal",     "truncated_normal",
                                      "uniform", "xavier_uniform", "xavier_normal", "he_uniform", "he_normal",
                                      NULL};  // by tsr_init
  PyObject *shape = NULL;
  const char *init = NULL;
  int inputs_first = 0;
  if (!PyArg_ParseTuple(row, "sOsdp", &out_desc->name, &shape, &init, &out_desc->value, &inputs_first)) return false;
  int at = find_name(inits, init, "initialiser");
  if (at < 0 || !tsrpy_shape_parse(shape, &out_desc->shape)) return false;
  out_desc->init = (tsr_init)at;
  out_desc->is_inputs_first = inputs_first != 0;
  return true;
}

// params_create(rows, dtype, device, seed)
static PyObject *params_create(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *rows = NULL, *dtype_object = NULL, *device_object = NULL;
  unsigned long long seed = 0;
  tsr_dtype dtype;
  if (!PyArg_ParseTuple(args, "O!OOK:params_create", &PyList_Type, &rows, &dtype_object, &device_object, &seed))
    return NULL;
  tsr_device *device = tsrpy_device_parse(device_object);
  if (!device || !tsrpy_dtype_parse(dtype_object, &dtype)) return NULL;
  Py_ssize_t count = PyList_Size(rows);
  tsr_param_desc *tensors = PyMem_Calloc((size_t)count + 1, sizeof *tensors);
  if (!tensors) return PyErr_NoMemory();
  bool is_right = true;
  for (Py_ssize_t i = 0; is_right && i < count; i++) is_right = read_row(PyList_GetItem(rows, i), &tensors[i]);
  tsr_params *params = NULL;
  is_right = is_right && tsrpy_check(tsr_params_create(device, dtype, tensors, (int)count, seed, &params));
  PyMem_Free(tensors);
  return is_right ? params_take(params) : NULL;
}

static PyObject *params_names(PyObject *self, void *unused) {
  (void)unused;
  int count = tsr_params_count(params_of(self));
  PyObject *names = PyList_New(count);
  for (int i = 0; names && i < count; i++) {
    PyObject *name = PyUnicode_FromString(tsr_params_name(params_of(self), i));
    if (!name || PyList_SetItem(names, i, name) < 0) Py_CLEAR(names);
  }
  return names;
}

static PyObject *params_find(PyObject *self, PyObject *name) {
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  return text ? tsrpy_array_take(tsr_params_find(params_of(self), text)) : NULL;
}

static PyObject *params_gradient(PyObject *self, PyObject *index) {
  long at = PyLong_AsLong(index);
  if (at == -1 && PyErr_Occurred()) return NULL;
  return tsrpy_array_take(tsr_params_gradient(params_of(self), (int)at));
}

static PyObject *params_watch(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!tsrpy_check(tsr_params_watch(params_of(self)))) return NULL;
  Py_RETURN_NONE;
}

// grad(y, adds, scale): scale is an Array, by which gradients are multiplied, or None.
static PyObject *params_grad(PyObject *self, PyObject *args) {
  PyObject *y = NULL, *scale = NULL;
  int adds = 0;
  if (!PyArg_ParseTuple(args, "O!pO:grad", tsrpy_array_type, &y, &adds, &scale)) return NULL;
  tsr_grad_desc desc = {.zeros_if_unused = true, .cotangent = tsrpy_is_array(scale) ? tsrpy_tensor_of(scale) : NULL};
  tsr_status status = adds ? tsr_params_grad_add(params_of(self), tsrpy_tensor_of(y), &desc)
                           : tsr_params_grad(params_of(self), tsrpy_tensor_of(y), &desc);
  if (!tsrpy_check(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *params_clone(PyObject *self, PyObject *unused) {
  (void)unused;
  tsr_params *made = NULL;
  return tsrpy_check(tsr_params_clone(params_of(self), &made)) ? params_take(made) : NULL;
}

static PyObject *params_to(PyObject *self, PyObject *object) {
  tsr_device *device = tsrpy_device_parse(object);
  tsr_params *made = NULL;
  return device && tsrpy_check(tsr_params_to(params_of(self), device, &made)) ? params_take(made) : NULL;
}

static PyObject *params_cast(PyObject *self, PyObject *object) {
  tsr_dtype dtype;
  tsr_params *made = NULL;
  if (!tsrpy_dtype_parse(object, &dtype)) return NULL;
  return tsrpy_check(tsr_params_cast(params_of(self), dtype, &made)) ? params_take(made) : NULL;
}

static PyObject *params_copy(PyObject *self, PyObject *source) {
  if (!PyObject_TypeCheck(source, params_type)) {
    PyErr_SetString(PyExc_TypeError, "copy: the source is no set of parameters");
    return NULL;
  }
  if (!tsrpy_check(tsr_params_copy(params_of(self), params_of(source)))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *params_elements(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(tsr_params_element_count(params_of(self)));
}
static PyObject *params_bytes(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(tsr_params_bytes(params_of(self)));
}
static PyObject *params_dtype(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_dtype_object(tsr_params_dtype(params_of(self)));
}
static PyObject *params_device(PyObject *self, void *unused) {
  (void)unused;
  return tsrpy_device_object(tsr_params_device(params_of(self)));
}

static PyMethodDef params_methods[] = {
    {"find", params_find, METH_O, NULL},
    {"gradient", params_gradient, METH_O, NULL},
    {"watch", params_watch, METH_NOARGS, NULL},
    {"grad", params_grad, METH_VARARGS, NULL},
    {"clone", params_clone, METH_NOARGS, NULL},
    {"to", params_to, METH_O, NULL},
    {"cast", params_cast, METH_O, NULL},
    {"copy", params_copy, METH_O, NULL},
    {0},
};
static PyGetSetDef params_properties[] = {
    {"names", params_names, NULL, NULL, NULL},   {"element_count", params_elements, NULL, NULL, NULL},
    {"nbytes", params_bytes, NULL, NULL, NULL},  {"dtype", params_dtype, NULL, NULL, NULL},
    {"device", params_device, NULL, NULL, NULL}, {0},
};

// --- Optimisers ------------------------------------------------------------------------------------------------------

static void optim_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_optim_release(optim_of(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

// Each group is (pattern, weight decay, factor of the rate). The texts are borrowed from `list`. NULL with an exception.
static tsr_optim_group *read_groups(PyObject *list) {
  Py_ssize_t count = PyList_Size(list);
  tsr_optim_group *groups = PyMem_Calloc((size_t)count + 1, sizeof *groups);
  if (!groups) return (tsr_optim_group *)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++) {
    tsr_optim_group *group = &groups[i];
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sdd", &group->pattern, &group->weight_decay, &group->rate_factor)) {
      PyMem_Free(groups);
      return NULL;
    }
  }
  return groups;
}

// optim_create(params, kind, numbers, flags, groups, schedule, loss_scale): numbers are rate, momentum, beta1, beta2, eps, weight decay, limits of values and norm.
static PyObject *optim_create(PyObject *module, PyObject *args) {
  static const char *const kinds[] = {"sgd", "adam", "adamw", "rmsprop", "lion", NULL};   // by tsr_optim_kind
  static const char *const schedules[] = {"constant", "step", "cosine", "linear", NULL};  // by tsr_schedule_kind
  (void)module;
  PyObject *params = NULL, *groups = NULL;
  const char *kind = NULL, *schedule = NULL;
  int nesterov = 0, decays_vectors = 0;
  long long warmup = 0, period = 0, interval = 0;
  tsr_optim_desc desc = {0};
  if (!PyArg_ParseTuple(args, "O!s(dddddddd)(pp)O!(sLLdd)(dddL):optim_create", params_type, &params, &kind, &desc.rate,
                        &desc.momentum, &desc.beta1, &desc.beta2, &desc.eps, &desc.weight_decay, &desc.clip_value,
                        &desc.clip_norm, &nesterov, &decays_vectors, &PyList_Type, &groups, &schedule, &warmup, &period,
                        &desc.schedule.gamma, &desc.schedule.least, &desc.loss_scale.first, &desc.loss_scale.growth,
                        &desc.loss_scale.backoff, &interval)) {
    return NULL;
  }
  int kind_at = find_name(kinds, kind, "optimiser"), schedule_at = find_name(schedules, schedule, "schedule");
  tsr_optim_group *read = kind_at < 0 || schedule_at < 0 ? NULL : read_groups(groups);
  if (!read) return NULL;
  desc.kind = (tsr_optim_kind)kind_at;
  desc.nesterov = nesterov != 0;
  desc.decays_vectors = decays_vectors != 0;
  desc.groups = read;
  desc.group_count = (int)PyList_Size(groups);
  desc.schedule.kind = (tsr_schedule_kind)schedule_at;
  desc.schedule.warmup = warmup;
  desc.schedule.period = period;
  desc.loss_scale.interval = interval;
  tsr_optim *optim = NULL;
  bool is_right = tsrpy_check(tsr_optim_create(params_of(params), &desc, &optim));
  PyMem_Free(read);
  optim_object *object = is_right ? PyObject_New(optim_object, optim_type) : NULL;
  if (object) {
    object->optim = optim;
  } else {
    tsr_optim_release(optim);
  }
  return (PyObject *)object;
}

static PyObject *optim_step(PyObject *self, PyObject *unused) {
  (void)unused;
  tsr_status status;
  tsrpy_note_elements(INT32_MAX);
  Py_BEGIN_ALLOW_THREADS status = tsr_optim_step(optim_of(self));
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *optim_set_rate(PyObject *self, PyObject *rate) {
  double value = PyFloat_AsDouble(rate);
  if (PyErr_Occurred() || !tsrpy_check(tsr_optim_set_rate(optim_of(self), value))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *optim_get_step(PyObject *self, PyObject *unused) {
  (void)unused;
  int64_t step = 0;
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_optim_get_step(optim_of(self), &step);
  Py_END_ALLOW_THREADS return tsrpy_check(status) ? PyLong_FromLongLong(step) : NULL;
}

static PyObject *optim_set_step(PyObject *self, PyObject *step) {
  long long value = PyLong_AsLongLong(step);
  if (PyErr_Occurred() || !tsrpy_check(tsr_optim_set_step(optim_of(self), value))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *optim_scale(PyObject *self, PyObject *unused) {
  (void)unused;
  return tsrpy_array_take(tsr_optim_scale(optim_of(self)));
}

static PyObject *optim_set_scale(PyObject *self, PyObject *scale) {
  double value = PyFloat_AsDouble(scale);
  if (PyErr_Occurred() || !tsrpy_check(tsr_optim_set_scale(optim_of(self), value))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *optim_state(PyObject *self, PyObject *name) {
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  tsr_params *state = tsr_optim_state(optim_of(self), text);
  if (!state) Py_RETURN_NONE;
  return params_take(tsr_params_retain(state));
}

static PyMethodDef optim_methods[] = {
    {"step", optim_step, METH_NOARGS, NULL},
    {"set_rate", optim_set_rate, METH_O, NULL},
    {"get_step", optim_get_step, METH_NOARGS, NULL},
    {"set_step", optim_set_step, METH_O, NULL},
    {"scale", optim_scale, METH_NOARGS, NULL},
    {"set_scale", optim_set_scale, METH_O, NULL},
    {"state", optim_state, METH_O, NULL},
    {0},
};

static PyType_Slot params_slots[] = {
    {Py_tp_dealloc, params_dealloc}, {Py_tp_methods, params_methods}, {Py_tp_getset, params_properties}, {0, NULL}};
static PyType_Spec params_spec = {.name = TSRPY_MODULE "._core.Params",
                                  .basicsize = sizeof(params_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = params_slots};
static PyType_Slot optim_slots[] = {{Py_tp_dealloc, optim_dealloc}, {Py_tp_methods, optim_methods}, {0, NULL}};
static PyType_Spec optim_spec = {.name = TSRPY_MODULE "._core.Optim",
                                 .basicsize = sizeof(optim_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = optim_slots};
static PyMethodDef functions[] = {
    {"params_create", params_create, METH_VARARGS, NULL},
    {"optim_create", optim_create, METH_VARARGS, NULL},
    {0},
};

bool tsrpy_train_init(PyObject *module) {
  params_type = (PyTypeObject *)PyType_FromSpec(&params_spec);
  optim_type = (PyTypeObject *)PyType_FromSpec(&optim_spec);
  return params_type && optim_type && PyModule_AddObjectRef(module, "Params", (PyObject *)params_type) == 0 &&
         PyModule_AddObjectRef(module, "Optim", (PyObject *)optim_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
