// SPDX-License-Identifier: MIT
// The profiler (<tessera/profile.h>), of which tessera/_profile.py makes
// context managers.
#include <string.h>

#include "binding.h"

typedef struct profile_object {
  PyObject_HEAD tsr_profile *profile;
} profile_object;

static PyTypeObject *profile_type;

static tsr_profile *profile_of(PyObject *self) { return ((profile_object *)self)->profile; }

static void profile_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_profile_release(profile_of(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

// profile_begin(record_limit, is_full)
static PyObject *profile_begin(PyObject *module, PyObject *args) {
  (void)module;
  unsigned long long limit = 0;
  int is_full = 0;
  if (!PyArg_ParseTuple(args, "Kp:profile_begin", &limit, &is_full)) return NULL;
  tsr_profile_desc desc = {.record_limit = limit, .is_full = is_full != 0};
  if (!tsrpy_check(tsr_profile_begin(&desc))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *profile_end(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  profile_object *object = PyObject_New(profile_object, profile_type);
  if (!object) return NULL;
  object->profile = NULL;
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_profile_end(&object->profile);
  Py_END_ALLOW_THREADS if (tsrpy_check(status)) return (PyObject *)object;
  Py_DECREF(object);
  return NULL;
}

// A text of the library as str: names of devices may have any bytes.
static PyObject *text(const char *bytes) { return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace"); }

static PyObject *record_dict(const tsr_profile_record *r) {
  static const char *const kinds[] = {
#define TSRPY_X(name, word, meaning) word,
      TSR_PROFILE_KINDS(TSRPY_X)
#undef TSRPY_X
  };
  return Py_BuildValue(
      "{s:s,s:s,s:N,s:N,s:N,s:N,s:i,s:i,s:i,s:K,s:K,s:K,s:K,s:K,s:K,s:d}", "kind", kinds[r->kind], "clock",
      r->clock == TSR_CLOCK_DEVICE      ? "device"
      : r->clock == TSR_CLOCK_ESTIMATED ? "estimated"
                                        : "host",
      "name", text(r->name), "operators", text(r->operators), "result", text(r->result), "label", text(r->label),
      "device", r->device, "queue", r->queue, "thread", r->thread, "start_ns", (unsigned long long)r->start_ns,
      "duration_ns", (unsigned long long)r->duration_ns, "host_start_ns", (unsigned long long)r->host_start_ns,
      "host_ns", (unsigned long long)r->host_ns, "bytes", (unsigned long long)r->bytes, "operations",
      (unsigned long long)r->operations, "share", r->share);
}

static PyObject *device_dict(const tsr_profile_device *d) {
  return Py_BuildValue("{s:N,s:N,s:O,s:d,s:d,s:K,s:K,s:K,s:N}", "backend", text(d->backend), "name", text(d->name),
                       "has_clock", d->has_clock ? Py_True : Py_False, "bytes_per_second", d->bytes_per_second,
                       "operations_per_second", d->operations_per_second, "peak_bytes",
                       (unsigned long long)d->peak_bytes, "taken_count", (unsigned long long)d->taken_count,
                       "taken_bytes", (unsigned long long)d->taken_bytes, "rejected", text(d->rejected));
}

static PyObject *get_summary(PyObject *self, void *unused) {
  (void)unused;
  tsr_profile_summary s;
  if (!tsrpy_check(tsr_profile_get_summary(profile_of(self), &s))) return NULL;
  return Py_BuildValue("{s:i,s:i,s:K,s:K,s:K,s:K}", "record_count", s.record_count, "device_count", s.device_count,
                       "duration_ns", (unsigned long long)s.duration_ns, "dropped_count",
                       (unsigned long long)s.dropped_count, "lost_count", (unsigned long long)s.lost_count,
                       "untimed_count", (unsigned long long)s.untimed_count);
}

static PyObject *record_at(const tsr_profile *profile, int i) {
  tsr_profile_record record;
  return tsrpy_check(tsr_profile_get_record(profile, i, &record)) ? record_dict(&record) : NULL;
}

static PyObject *device_at(const tsr_profile *profile, int i) {
  tsr_profile_device device;
  return tsrpy_check(tsr_profile_get_device(profile, i, &device)) ? device_dict(&device) : NULL;
}

static PyObject *list_of(const tsr_profile *profile, int count, PyObject *(*at)(const tsr_profile *, int)) {
  PyObject *list = PyList_New(count);
  for (int i = 0; list && i < count; i++) {
    PyObject *row = at(profile, i);
    if (!row || PyList_SetItem(list, i, row) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *get_records(PyObject *self, void *unused) {
  (void)unused;
  tsr_profile_summary s;
  if (!tsrpy_check(tsr_profile_get_summary(profile_of(self), &s))) return NULL;
  return list_of(profile_of(self), s.record_count, record_at);
}

static PyObject *get_devices(PyObject *self, void *unused) {
  (void)unused;
  tsr_profile_summary s;
  if (!tsrpy_check(tsr_profile_get_summary(profile_of(self), &s))) return NULL;
  return list_of(profile_of(self), s.device_count, device_at);
}

static PyObject *profile_write(PyObject *self, PyObject *path) {
  const char *name = PyUnicode_AsUTF8AndSize(path, NULL);
  if (!name || !tsrpy_check(tsr_profile_write(profile_of(self), name))) return NULL;
  Py_RETURN_NONE;
}

static PyObject *label_begin(PyObject *module, PyObject *label) {
  (void)module;
  const char *name = PyUnicode_AsUTF8AndSize(label, NULL);
  if (!name) return NULL;
  tsr_label_begin(name);
  Py_RETURN_NONE;
}

static PyObject *label_end(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsr_label_end();
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"write", profile_write, METH_O, NULL}, {0}};
static PyGetSetDef properties[] = {
    {"summary", get_summary, NULL, NULL, NULL},
    {"records", get_records, NULL, NULL, NULL},
    {"devices", get_devices, NULL, NULL, NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, profile_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, properties}, {0, NULL}};
static PyType_Spec spec = {.name = TSRPY_MODULE "._core.Profile",
                           .basicsize = sizeof(profile_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
static PyMethodDef functions[] = {
    {"profile_begin", profile_begin, METH_VARARGS, NULL},
    {"profile_end", profile_end, METH_NOARGS, NULL},
    {"label_begin", label_begin, METH_O, NULL},
    {"label_end", label_end, METH_NOARGS, NULL},
    {0},
};

bool tsrpy_profile_init(PyObject *module) {
  profile_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return profile_type && PyModule_AddObjectRef(module, "Profile", (PyObject *)profile_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
