// SPDX-License-Identifier: MIT
// Captures: work that is recorded once and run again (<tessera/capture.h>). tessera/_capture.py makes a decorator of it.
#include "binding.h"

typedef struct capture_object {
  PyObject_HEAD tsr_capture *capture;
} capture_object;

static PyTypeObject *capture_type;

static void capture_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tsr_capture_release(((capture_object *)self)->capture);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *capture_begin(PyObject *module, PyObject *device_object) {
  (void)module;
  tsr_device *device = tsrpy_device_parse(device_object);
  if (!device || !tsrpy_check(tsr_capture_begin(device))) return NULL;
  tsrpy_recording_begin();
  Py_RETURN_NONE;
}

// Ends the capture and forgets it: after an exception in what was to be captured.
static PyObject *capture_drop(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tsrpy_recording_end();
  tsr_capture_end(NULL, 0, NULL);
  Py_RETURN_NONE;
}

static PyObject *capture_end(PyObject *module, PyObject *outputs) {
  (void)module;
  Py_ssize_t count = PyList_Check(outputs) ? PyList_Size(outputs) : 0;
  tsr_tensor **tensors = PyMem_Calloc((size_t)count + 1, sizeof *tensors);
  tsrpy_recording_end();
  capture_object *object = tensors ? PyObject_New(capture_object, capture_type) : NULL;
  if (!object) {
    PyMem_Free(tensors);
    tsr_capture_end(NULL, 0, NULL);
    return PyErr_NoMemory();
  }
  object->capture = NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *output = PyList_GetItem(outputs, i);
    if (tsrpy_is_array(output)) tensors[i] = tsrpy_tensor_of(output);
  }
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_capture_end(tensors, (int)count, &object->capture);
  Py_END_ALLOW_THREADS PyMem_Free(tensors);
  if (tsrpy_check(status)) return (PyObject *)object;
  Py_DECREF(object);
  return NULL;
}

static PyObject *capture_run(PyObject *self, PyObject *unused) {
  (void)unused;
  tsr_status status;
  tsrpy_note_elements(INT32_MAX);
  Py_BEGIN_ALLOW_THREADS status = tsr_capture_run(((capture_object *)self)->capture);
  Py_END_ALLOW_THREADS if (!tsrpy_check(status)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *get_steps(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(tsr_capture_step_count(((capture_object *)self)->capture));
}

static PyMethodDef methods[] = {
    {"run", capture_run, METH_NOARGS,
     "run($self, /)\n--\n\nQueues the work again, on the present elements of its inputs."},
    {0},
};
static PyGetSetDef properties[] = {{"steps", get_steps, NULL, "How many kernels, fills and copies it has.", NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, capture_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, properties}, {0, NULL}};
static PyType_Spec spec = {.name = TSRPY_MODULE "._core.Capture",
                           .basicsize = sizeof(capture_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
static PyMethodDef functions[] = {
    {"capture_begin", capture_begin, METH_O, NULL},
    {"capture_drop", capture_drop, METH_NOARGS, NULL},
    {"capture_end", capture_end, METH_O, NULL},
    {0},
};

bool tsrpy_capture_init(PyObject *module) {
  capture_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return capture_type && PyModule_AddObjectRef(module, "Capture", (PyObject *)capture_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
