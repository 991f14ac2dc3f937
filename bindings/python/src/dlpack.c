// SPDX-License-Identifier: MIT
// DLPack capsules, both ways.
//
// The library may drop what it imported on any thread, and while it holds its own locks. The producer's deleter usually takes the GIL, which another thread may
// hold while it waits for those locks. So the library gets a struct of ours, whose deleter only puts the producer's on a list; Python calls it later.
#include <stdatomic.h>
#include <stdlib.h>

#include "binding.h"
#include "ops/dlpack_abi.h"

static const char NAME[] = "dltensor", USED_NAME[] = "used_dltensor";

// --- Out -------------------------------------------------------------------------------------------------------------

static void drop_unused(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, NAME)) return;  // the receiver has renamed it, and deletes it
  struct DLManagedTensor *managed = PyCapsule_GetPointer(capsule, NAME);
  if (managed && managed->deleter) managed->deleter(managed);
}

// Whether `dl_device` is None or the host; else false, with an exception.
static bool is_host(PyObject *device) {
  int type = DL_CPU, id = 0;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id)) return false;
  if (type != DL_CPU) PyErr_SetString(PyExc_BufferError, "arrays go to other libraries through host memory alone");
  return type == DL_CPU;
}

// The same elements in memory of their own; a failed tensor if there is none.
static tsr_tensor *copy_of(tsr_tensor *from) {
  tsr_tensor *fresh = tsr_zeros(tsr_tensor_device(from), tsr_tensor_dtype(from), tsr_tensor_shape(from));
  tsr_assign(fresh, from);
  return fresh;
}

PyObject *tsrpy_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *words[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", words, &stream, &version, &device, &copy))
    return NULL;
  struct DLManagedTensor *managed = NULL;
  tsr_status status;
  if (!is_host(device) || !tsrpy_wait_tensor(tsrpy_tensor_of(self), true)) return NULL;
  bool has_copy = copy == Py_True;
  Py_BEGIN_ALLOW_THREADS tsr_tensor *given =
      has_copy ? copy_of(tsrpy_tensor_of(self)) : tsr_retain(tsrpy_tensor_of(self));
  status = tsr_to_dlpack(given, &managed);
  tsr_release(given);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  PyObject *capsule = PyCapsule_New(managed, NAME, drop_unused);
  if (!capsule) managed->deleter(managed);
  return capsule;
}

PyObject *tsrpy_dlpack_device(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return Py_BuildValue("(ii)", DL_CPU, 0);  // arrays of other devices are copied to the host
}

// --- In --------------------------------------------------------------------------------------------------------------

typedef struct imported {
  struct DLManagedTensor own;  // what the library has
  struct DLManagedTensor *producer;
  struct imported *next;
} imported;

static _Atomic(imported *) dropped;

static int delete_dropped(void *unused) {
  (void)unused;
  for (imported *at = atomic_exchange(&dropped, NULL), *next = NULL; at; at = next) {
    next = at->next;
    if (at->producer->deleter) at->producer->deleter(at->producer);
    free(at);
  }
  return 0;
}

// On any thread, with or without the GIL.
static void drop_later(struct DLManagedTensor *own) {
  imported *item = own->manager;
  item->next = atomic_load(&dropped);
  while (!atomic_compare_exchange_weak(&dropped, &item->next, item)) {
  }
  Py_AddPendingCall(delete_dropped, NULL);  // where its line is full, a later one deletes this as well
}

// The producer's capsule; a new reference.
static PyObject *capsule_of(PyObject *producer) {
  PyObject *capsule = PyObject_CallMethod(producer, "__dlpack__", NULL);
  if (!capsule) return NULL;
  if (PyCapsule_IsValid(capsule, NAME)) return capsule;
  PyErr_SetString(PyExc_BufferError, "__dlpack__ gave no capsule named 'dltensor'");
  Py_DECREF(capsule);
  return NULL;
}

static PyObject *import_capsule(PyObject *capsule, tsr_device *device) {
  struct DLManagedTensor *producer = PyCapsule_GetPointer(capsule, NAME);
  imported *item = producer ? calloc(1, sizeof *item) : NULL;
  if (!item) return producer ? PyErr_NoMemory() : NULL;
  item->producer = producer;
  item->own = *producer;
  item->own.manager = item;
  item->own.deleter = drop_later;
  tsr_tensor *tensor = NULL;
  tsr_status status = tsr_from_dlpack(device, &item->own, &tensor);
  if (!tsrpy_check(status)) {
    free(item);
    return NULL;
  }
  PyCapsule_SetName(capsule, USED_NAME);
  PyCapsule_SetDestructor(capsule, NULL);
  delete_dropped(NULL);
  return tsrpy_array_take(tensor);
}

// The device that a caller of from_dlpack asks for; by itself the CPU, where a producer's memory can be used as it is.
static tsr_device *target_device(PyObject *object) {
  if (object != Py_None) return tsrpy_device_parse(object);
  PyObject *name = PyUnicode_FromString("cpu");
  tsr_device *device = name ? tsrpy_device_parse(name) : NULL;
  Py_XDECREF(name);
  return device;
}

// The elements of `shared` in memory of their own, before this returns. Takes over `shared`.
static PyObject *copy_now(PyObject *shared) {
  tsr_tensor *from = tsrpy_tensor_of(shared), *fresh;
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS fresh = tsr_zeros(tsr_tensor_device(from), tsr_tensor_dtype(from), tsr_tensor_shape(from));
  status = tsr_assign(fresh, from);
  if (status == TSR_OK) status = tsr_evaluate(fresh);
  if (status == TSR_OK) status = tsr_device_synchronize(tsr_tensor_device(from));
  Py_END_ALLOW_THREADS Py_DECREF(shared);
  if (tsrpy_check(status)) return tsrpy_array_take(fresh);
  tsr_release(fresh);
  return NULL;
}

PyObject *tsrpy_from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *words[] = {"", "device", "copy", NULL};
  PyObject *producer = NULL, *device_object = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", words, &producer, &device_object, &copy))
    return NULL;
  tsr_device *device = target_device(device_object);
  PyObject *capsule = device ? capsule_of(producer) : NULL;
  if (!capsule) return NULL;
  PyObject *array = import_capsule(capsule, device);
  Py_DECREF(capsule);
  return array && copy == Py_True ? copy_now(array) : array;
}
