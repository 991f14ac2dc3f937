// SPDX-License-Identifier: MIT
// Captures: work that is recorded once and run again, and captures in files (<tessera/capture.h>). tessera/_capture.py makes a decorator of it, and load_capture.
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

// --- Files -----------------------------------------------------------------------------------------------------------

// Names and tensors of a list of pairs (str, Array), to be freed with PyMem_Free. The list keeps both alive. NULL with an exception.
static tsr_named_tensor *read_pairs(PyObject *list) {
  Py_ssize_t count = PyList_Size(list);
  tsr_named_tensor *pairs = PyMem_Calloc((size_t)count + 1, sizeof *pairs);
  if (!pairs) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *array = NULL, *pair = PyList_GetItem(list, i);
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "sO!", &pairs[i].name, tsrpy_array_type, &array)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "save: a list of pairs of a name and an array");
      PyMem_Free(pairs);
      return NULL;
    }
    pairs[i].tensor = tsrpy_tensor_of(array);
  }
  return pairs;
}

// save(path, inputs, outputs): lists of pairs (name, array).
static PyObject *capture_save(PyObject *self, PyObject *args) {
  PyObject *path = NULL, *inputs = NULL, *outputs = NULL;
  if (!PyArg_ParseTuple(args, "O&O!O!:save", PyUnicode_FSConverter, &path, &PyList_Type, &inputs, &PyList_Type,
                        &outputs)) {
    return NULL;
  }
  tsr_named_tensor *ins = read_pairs(inputs), *outs = ins ? read_pairs(outputs) : NULL;
  bool is_saved = false;
  if (outs) {
    tsr_save_desc desc = {.path = PyBytes_AsString(path),
                          .inputs = ins,
                          .input_count = (int)PyList_Size(inputs),
                          .outputs = outs,
                          .output_count = (int)PyList_Size(outputs)};
    tsr_status status;
    Py_BEGIN_ALLOW_THREADS status = tsr_capture_save(((capture_object *)self)->capture, &desc);
    Py_END_ALLOW_THREADS is_saved = tsrpy_check(status);
  }
  PyMem_Free(ins);
  PyMem_Free(outs);
  Py_DECREF(path);
  if (!is_saved) return NULL;
  Py_RETURN_NONE;
}

// capture_load(path, device, most_bytes, refuses_kernels).
static PyObject *capture_load(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *path = NULL, *device_object = NULL;
  unsigned long long most_bytes = 0;
  int refuses_kernels = 0;
  if (!PyArg_ParseTuple(args, "O&OKp:capture_load", PyUnicode_FSConverter, &path, &device_object, &most_bytes,
                        &refuses_kernels)) {
    return NULL;
  }
  tsr_device *device = tsrpy_device_parse(device_object);
  capture_object *object = device ? PyObject_New(capture_object, capture_type) : NULL;
  if (!object) {
    Py_DECREF(path);
    return NULL;
  }
  object->capture = NULL;
  tsr_load_desc desc = {
      .path = PyBytes_AsString(path), .most_bytes = most_bytes, .refuses_kernels = refuses_kernels != 0};
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_capture_load(device, &desc, &object->capture);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  if (status == TSR_OK) return (PyObject *)object;
  Py_DECREF(object);
  if (status != TSR_ERR_NOT_FOUND) return tsrpy_raise(status);
  PyErr_SetString(PyExc_FileNotFoundError, tsr_last_error());
  return NULL;
}

typedef const char *name_function(const tsr_capture *capture, int index);
typedef tsr_tensor *tensor_function(const tsr_capture *capture, const char *name);

// Pairs (name, array) of a capture that was loaded from a file.
static PyObject *list_pairs(const tsr_capture *capture, int count, name_function *name_of, tensor_function *tensor_of) {
  PyObject *list = PyList_New(count);
  for (int i = 0; list && i < count; i++) {
    const char *name = name_of(capture, i);
    PyObject *pair = Py_BuildValue("(sN)", name, tsrpy_view_take(tensor_of(capture, name)));
    if (!pair || PyList_SetItem(list, i, pair) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *get_inputs(PyObject *self, void *unused) {
  (void)unused;
  const tsr_capture *capture = ((capture_object *)self)->capture;
  return list_pairs(capture, tsr_capture_input_count(capture), tsr_capture_input_name, tsr_capture_input);
}

static PyObject *get_outputs(PyObject *self, void *unused) {
  (void)unused;
  const tsr_capture *capture = ((capture_object *)self)->capture;
  return list_pairs(capture, tsr_capture_output_count(capture), tsr_capture_output_name, tsr_capture_output);
}

// --- The type --------------------------------------------------------------------------------------------------------

static PyObject *get_steps(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(tsr_capture_step_count(((capture_object *)self)->capture));
}

static PyMethodDef methods[] = {
    {"run", capture_run, METH_NOARGS,
     "run($self, /)\n--\n\nQueues the work again, on the present elements of its inputs."},
    {"save", capture_save, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef properties[] = {
    {"steps", get_steps, NULL, "How many kernels, fills and copies it has.", NULL},
    {"inputs", get_inputs, NULL, "Of a capture from a file: pairs of the name and the array of each input.", NULL},
    {"outputs", get_outputs, NULL, "Of a capture from a file: pairs of the name and the array of each output.", NULL},
    {0},
};
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
    {"capture_load", capture_load, METH_VARARGS, NULL},
    {0},
};

bool tsrpy_capture_init(PyObject *module) {
  capture_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return capture_type && PyModule_AddObjectRef(module, "Capture", (PyObject *)capture_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}
