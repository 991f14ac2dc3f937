// SPDX-License-Identifier: MIT
// Devices. Each is opened once, when it is first asked for, and stays open: two opened devices over the same hardware would not share tensors.
#include <string.h>

#include "binding.h"

typedef struct device_object {
  PyObject_HEAD tsr_device *device;  // a reference
  PyObject *name;                    // "cuda:0"
  bool is_gpu;                       // and not an emulated one
} device_object;

static PyTypeObject *device_type;
static PyObject *opened;        // dict: name, Device
static PyObject *entered_name;  // "tessera.devices", the key in a thread's dict
static int entered_count;       // `with` statements that are open on any thread; more if a thread ended inside of one
static PyObject *best;          // the Device of tsrpy_device_current without any `with`; borrowed from `opened`

static device_object *cast(PyObject *self) { return (device_object *)self; }

static void device_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_device_release(cast(self)->device);
  Py_XDECREF(cast(self)->name);
  PyObject_Free(self);
  Py_DECREF(type);
}

// The object of an opened device, by its full name; takes over `device`. A device that is open already is used again.
static PyObject *remember(tsr_device *device) {
  tsr_device_info *info = PyMem_Calloc(1, sizeof *info);
  PyObject *name = NULL, *found = NULL;
  bool is_gpu = false;
  if (!info) {
    PyErr_NoMemory();
  } else if (tsrpy_check(tsr_device_get_info(device, info))) {
    name = PyUnicode_FromFormat("%s:%d", tsr_device_backend(device), info->index);
    is_gpu = !info->is_software && !tsrpy_is_cpu(device);
  }
  PyMem_Free(info);
  if (name) found = PyDict_GetItemWithError(opened, name);
  if (found || !name || PyErr_Occurred()) {
    tsr_device_release(device);
    Py_XDECREF(name);
    return found;
  }
  device_object *object = PyObject_New(device_object, device_type);
  if (!object) {
    tsr_device_release(device);
    Py_DECREF(name);
    return NULL;
  }
  *object = (device_object){.ob_base = object->ob_base, .device = device, .name = name, .is_gpu = is_gpu};
  bool is_kept = PyDict_SetItem(opened, name, (PyObject *)object) == 0;
  Py_DECREF(object);  // the dict holds it
  return is_kept ? (PyObject *)object : NULL;
}

static PyObject *open_named(const char *name) {
  tsr_device *device = NULL;
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_device_open(&(tsr_device_desc){.backend = name}, &device);
  Py_END_ALLOW_THREADS return tsrpy_check(status) ? remember(device) : NULL;
}

// Borrowed from `opened`.
static PyObject *find_named(PyObject *name) {
  PyObject *found = PyDict_GetItemWithError(opened, name);
  if (found || PyErr_Occurred()) return found;
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  if (!strchr(text, ':')) {  // "cpu" is "cpu:0"
    PyObject *first = PyUnicode_FromFormat("%s:0", text);
    found = first ? PyDict_GetItemWithError(opened, first) : NULL;
    Py_XDECREF(first);
    if (found || PyErr_Occurred()) return found;
  }
  return open_named(text);
}

// The devices of the `with` statements that are open on this thread, the innermost last. Borrowed; NULL with an exception.
static PyObject *entered_devices(void) {
  PyObject *state = PyThreadState_GetDict();
  PyObject *list = state ? PyDict_GetItemWithError(state, entered_name) : NULL;
  if (list || !state || PyErr_Occurred()) return list;
  list = PyList_New(0);
  if (!list || PyDict_SetItem(state, entered_name, list) < 0) Py_CLEAR(list);
  Py_XDECREF(list);  // the thread's dict holds it
  return list;
}

static PyObject *current_object(void) {
  if (entered_count == 0 && best) return best;
  PyObject *entered = entered_devices();
  Py_ssize_t count = entered ? PyList_Size(entered) : -1;
  if (count > 0) return PyList_GetItem(entered, count - 1);
  if (count < 0) return NULL;
  if (!best) best = open_named(NULL);
  return best;
}

tsr_device *tsrpy_device_current(void) {
  PyObject *object = current_object();
  return object ? cast(object)->device : NULL;
}

static PyObject *parse(PyObject *object) {
  if (!object || object == Py_None) return current_object();
  if (PyObject_TypeCheck(object, device_type)) return object;
  if (PyUnicode_Check(object)) return find_named(object);
  PyErr_Format(PyExc_TypeError, "a device is a tessera.Device or a name such as 'cuda:0', not %R", object);
  return NULL;
}

tsr_device *tsrpy_device_parse(PyObject *object) {
  PyObject *found = parse(object);
  return found ? cast(found)->device : NULL;
}

// Borrowed; NULL if the device was not opened here.
static PyObject *find_device(const tsr_device *device) {
  PyObject *name = NULL, *object = NULL;
  Py_ssize_t at = 0;
  while (PyDict_Next(opened, &at, &name, &object)) {
    if (cast(object)->device == device) return object;
  }
  return NULL;
}

PyObject *tsrpy_device_object(tsr_device *device) {
  PyObject *object = find_device(device);
  if (object) return Py_NewRef(object);
  PyErr_SetString(PyExc_RuntimeError, "the array is on a device that was not opened here");
  return NULL;
}

bool tsrpy_is_gpu(const tsr_device *device) {
  PyObject *object = find_device(device);
  return object && cast(object)->is_gpu;
}

static PyObject *device_str(PyObject *self) { return Py_NewRef(cast(self)->name); }
static PyObject *device_repr(PyObject *self) {
  return PyUnicode_FromFormat(TSRPY_MODULE ".device('%U')", cast(self)->name);
}

static PyObject *device_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *entered = entered_devices();
  if (!entered || PyList_Append(entered, self) < 0) return NULL;
  entered_count++;
  return Py_NewRef(self);
}

static PyObject *device_exit(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *entered = entered_devices();
  Py_ssize_t count = entered ? PyList_Size(entered) : 0;
  if (count < 1 || PyList_GetItem(entered, count - 1) != self) {
    PyErr_SetString(PyExc_RuntimeError, "this device is not the one that was entered last");
    return NULL;
  }
  if (PyList_SetSlice(entered, count - 1, count, NULL) < 0) return NULL;
  entered_count--;
  Py_RETURN_NONE;
}

static PyObject *device_synchronize(PyObject *self, PyObject *unused) {
  (void)unused;
  tsr_status status;
  if (!tsrpy_wait_device(cast(self)->device)) return NULL;
  Py_BEGIN_ALLOW_THREADS status = tsr_device_synchronize(cast(self)->device);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *device_has_dtype(PyObject *self, PyObject *object) {
  tsr_dtype dtype;
  if (!tsrpy_dtype_parse(object, &dtype)) return NULL;
  return PyBool_FromLong(tsr_device_has_dtype(cast(self)->device, dtype));
}

// One compares devices by name: "cpu" is "cpu:0".
static PyObject *device_compare(PyObject *a, PyObject *b, int how) {
  if (how != Py_EQ && how != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool is_same = a == b;
  if (!is_same && PyUnicode_Check(b)) {
    PyObject *first = PyUnicode_FromFormat("%U:0", b);
    if (!first) return NULL;
    is_same = PyUnicode_Compare(cast(a)->name, b) == 0 || PyUnicode_Compare(cast(a)->name, first) == 0;
    Py_DECREF(first);
  }
  return PyBool_FromLong(is_same == (how == Py_EQ));
}

static Py_hash_t device_hash(PyObject *self) { return PyObject_Hash(cast(self)->name); }

// Each device as a dict, and each backend without one with its reason.
static PyObject *report_rows(const tsr_discovery *discovery) {
  PyObject *rows = PyList_New(0);
  for (int i = 0; rows && i < discovery->backend_count; i++) {
    const tsr_backend_report *backend = &discovery->backends[i];
    int count = backend->device_count ? backend->device_count : 1;
    for (int j = 0; rows && j < count; j++) {
      const tsr_device_info *info = backend->device_count ? &backend->devices[j] : NULL;
      PyObject *row = info
                          ? Py_BuildValue("{s:N,s:s,s:s,s:O,s:K}", "device",
                                          PyUnicode_FromFormat("%s:%d", backend->name, info->index), "name", info->name,
                                          "driver", info->driver, "is_software", info->is_software ? Py_True : Py_False,
                                          "total_bytes", (unsigned long long)info->total_bytes)
                          : Py_BuildValue("{s:s,s:s}", "backend", backend->name, "reason", backend->reason);
      if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
      Py_XDECREF(row);
    }
  }
  return rows;
}

static PyObject *discover(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsr_discovery *discovery = NULL;
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_discover(&discovery);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  PyObject *rows = report_rows(discovery);
  tsr_discovery_release(discovery);
  return rows;
}

static PyObject *get_device(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *object = Py_None;
  if (!PyArg_ParseTuple(args, "|O:device", &object)) return NULL;
  return Py_XNewRef(parse(object));
}

static PyMethodDef methods[] = {
    {"__enter__", device_enter, METH_NOARGS, NULL},
    {"__exit__", device_exit, METH_VARARGS, NULL},
    {"synchronize", device_synchronize, METH_NOARGS,
     "synchronize($self, /)\n--\n\nWaits until all queued work is done."},
    {"has_dtype", device_has_dtype, METH_O,
     "has_dtype($self, dtype, /)\n--\n\nWhether it can compute with this dtype."},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A device that computes. `with device:` makes arrays there."},
    {Py_tp_str, device_str},
    {Py_tp_repr, device_repr},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_richcompare, device_compare},
    {Py_tp_hash, device_hash},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {.name = TSRPY_MODULE ".Device",
                           .basicsize = sizeof(device_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
static PyMethodDef functions[] = {
    {"device", get_device, METH_VARARGS,
     "device(name=None, /)\n--\n\nThe device of that name ('cuda', 'vulkan:1', 'cpu'), opened if it is not yet; "
     "without a name, the current one."},
    {"discover", discover, METH_NOARGS, NULL},
    {0},
};

bool tsrpy_device_init(PyObject *module) {
  device_type = (PyTypeObject *)PyType_FromSpec(&spec);
  opened = PyDict_New();
  entered_name = PyUnicode_InternFromString("tessera.devices");
  return device_type && opened && entered_name &&
         PyModule_AddObjectRef(module, "Device", (PyObject *)device_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
