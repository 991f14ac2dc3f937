// SPDX-License-Identifier: MIT
// DLPack capsules, both ways.
//
// The library may release an imported tensor on any thread, while it holds its own locks. The producer's deleter usually takes the GIL, which another thread may hold
// while it waits for those locks: a deadlock. So the library gets a struct of ours, whose deleter only puts the producer's struct on a list. Python calls the producer's
// deleters later.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "ops/dlpack_abi.h"

static const char NAME[] = "dltensor", USED_NAME[] = "used_dltensor";

// --- Out -------------------------------------------------------------------------------------------------------------

static void drop_unused(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, NAME)) return;  // the receiver has renamed it, and deletes it
  struct DLManagedTensor *managed = PyCapsule_GetPointer(capsule, NAME);
  if (managed && managed->deleter) managed->deleter(managed);
}

// Where the receiver wants the elements: in the memory of the array's own device, or on the host. False with an exception: elsewhere.
static bool read_target(tsr_tensor *tensor, PyObject *wanted, bool *out_in_place) {
  int type = DL_CPU, id = 0, own_type = DL_CPU, own_id = 0;
  tsr_device_dlpack(tsr_tensor_device(tensor), &own_type, &own_id);
  *out_in_place = own_type != DL_CPU;
  if (wanted == Py_None) return true;
  if (!PyArg_ParseTuple(wanted, "ii", &type, &id)) return false;
  *out_in_place = own_type != DL_CPU && type == own_type && id == own_id;
  if (type == DL_CPU || *out_in_place) return true;
  PyErr_SetString(PyExc_BufferError,
                  "arrays go to other libraries in the memory of their own device, or through the host's");
  return false;
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
  // All work on the elements is done when they go out, so that every stream of the receiver may use them.
  struct DLManagedTensor *managed = NULL;
  tsr_tensor *own = tsrpy_tensor_of(self);
  tsr_status status;
  bool in_place = false, has_copy = copy == Py_True;
  if (!read_target(own, device, &in_place) || !tsrpy_wait_tensor(own, true)) return NULL;
  if (copy == Py_False && !in_place && !tsrpy_is_cpu(tsr_tensor_device(own))) {
    PyErr_SetString(PyExc_BufferError, "copy=False, but the elements are not in the host's memory");
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS tsr_tensor *given = has_copy ? copy_of(own) : tsr_retain(own);
  status = (in_place ? tsr_to_dlpack_in_place : tsr_to_dlpack)(given, &managed);
  tsr_release(given);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  PyObject *capsule = PyCapsule_New(managed, NAME, drop_unused);
  if (!capsule) managed->deleter(managed);
  return capsule;
}

PyObject *tsrpy_dlpack_device(PyObject *self, PyObject *unused) {
  (void)unused;
  int type = DL_CPU, id = 0;  // arrays of devices whose memory no other library knows are copied to the host
  tsr_device_dlpack(tsr_tensor_device(tsrpy_tensor_of(self)), &type, &id);
  return Py_BuildValue("(ii)", type, id);
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

// Where a producer's elements are; the host's memory if it does not say. False with an exception.
static bool read_source(PyObject *producer, int *out_type, int *out_id) {
  *out_type = DL_CPU;
  *out_id = 0;
  PyObject *found = PyObject_CallMethod(producer, "__dlpack_device__", NULL);
  if (!found) {
    bool is_silent = PyErr_ExceptionMatches(PyExc_AttributeError);
    if (is_silent) PyErr_Clear();
    return is_silent;
  }
  // Some give an enum in place of an int.
  PyObject *type = PySequence_GetItem(found, 0), *id = type ? PySequence_GetItem(found, 1) : NULL;
  if (id) *out_type = (int)PyLong_AsLong(type);
  if (id && !PyErr_Occurred()) *out_id = (int)PyLong_AsLong(id);
  Py_XDECREF(type);
  Py_XDECREF(id);
  Py_DECREF(found);
  return !PyErr_Occurred();
}

// The producer's capsule; a new reference. Elements on a GPU are ready for the legacy default stream then, which the import waits for.
static PyObject *capsule_of(PyObject *producer, int type) {
  enum { LEGACY_STREAM = 1, ROCM_DEFAULT_STREAM = 0 };
  PyObject *method = PyObject_GetAttrString(producer, "__dlpack__"), *capsule = NULL;
  PyObject *none = method ? PyTuple_New(0) : NULL;
  PyObject *words = none && type != DL_CPU
                        ? Py_BuildValue("{s:i}", "stream", type == DL_ROCM ? ROCM_DEFAULT_STREAM : LEGACY_STREAM)
                        : NULL;
  if (none && !PyErr_Occurred()) capsule = PyObject_Call(method, none, words);
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(words);
  if (!capsule || PyCapsule_IsValid(capsule, NAME)) return capsule;
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

// The device on which a producer's memory can be used as it is.
static tsr_device *source_device(int type, int id) {
  const char *backend = type == DL_CUDA ? "cuda" : type == DL_ROCM ? "rocm" : "cpu";
  PyObject *name = PyUnicode_FromFormat("%s:%d", backend, type == DL_CUDA || type == DL_ROCM ? id : 0);
  tsr_device *device = name ? tsrpy_device_parse(name) : NULL;
  Py_XDECREF(name);
  return device;
}

// The array on another device; takes over `array`, which may be NULL.
static PyObject *moved(PyObject *array, tsr_device *device) {
  if (!array || tsr_tensor_device(tsrpy_tensor_of(array)) == device) return array;
  PyObject *there = tsrpy_array_take(tsr_to(tsrpy_tensor_of(array), device));
  Py_DECREF(array);
  return there;
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
  // Our own arrays of the host need no capsule: a view shares their memory as well.
  bool is_own = tsrpy_is_array(producer) && tsrpy_is_cpu(tsrpy_device_of(producer));
  if (is_own && device_object == Py_None && copy != Py_True) return tsrpy_subscript(producer, Py_Ellipsis);
  int type = DL_CPU, id = 0;
  tsr_device *wanted = device_object == Py_None ? NULL : tsrpy_device_parse(device_object);
  if ((device_object != Py_None && !wanted) || !read_source(producer, &type, &id)) return NULL;
  // Host memory goes to the wanted device in one step, memory of a GPU first becomes an array of that GPU.
  bool is_on_host = type != DL_CUDA && type != DL_ROCM;
  tsr_device *device = is_on_host && wanted ? wanted : source_device(type, id);
  PyObject *capsule = device ? capsule_of(producer, type) : NULL;
  if (!capsule) return NULL;
  PyObject *array = import_capsule(capsule, device);
  Py_DECREF(capsule);
  if (array && copy == Py_True) array = copy_now(array);
  return wanted ? moved(array, wanted) : array;
}
