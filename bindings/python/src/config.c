// SPDX-License-Identifier: MIT
// Settings from code (<tessera/config.h>). tessera/_config.py makes one function of these two.
#include "binding.h"

// config_set(name, value): `value` None removes what was set.
static PyObject *config_set(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL, *value = NULL;
  if (!PyArg_ParseTuple(args, "sz:config_set", &name, &value)) return NULL;
  if (!tsrpy_check(tsr_config_set(name, value))) return NULL;
  Py_RETURN_NONE;
}

// config_load(): the values in force, as a dict from name to value.
static PyObject *config_load(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsr_config *config = NULL;
  if (!tsrpy_check(tsr_config_load(&config))) return NULL;
  PyObject *values = PyDict_New();
  for (int i = 0; values && i < config->setting_count; i++) {
    const tsr_setting *setting = &config->settings[i];
    PyObject *value = PyUnicode_DecodeFSDefault(setting->value);  // a path may be no UTF-8
    if (!value || PyDict_SetItemString(values, setting->name, value) < 0) Py_CLEAR(values);
    Py_XDECREF(value);
  }
  tsr_config_release(config);
  return values;
}

static PyMethodDef functions[] = {
    {"config_set", config_set, METH_VARARGS, NULL},
    {"config_load", config_load, METH_NOARGS, NULL},
    {0},
};

bool tsrpy_config_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
