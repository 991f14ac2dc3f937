// SPDX-License-Identifier: MIT
// Python's buffer protocol: what NumPy, memoryview and bytes understand. Arrays on the CPU lend their memory; others are copied to the host first.
//
// Memory is lent as read-only unless the caller asks to write: recorded operators that have not run yet would see the change, which a NumPy user does not expect.
#include <string.h>

#include "binding.h"
#include "ops/dlpack_abi.h"

typedef struct buffer_format {
  tsr_dtype dtype;
  const char *text;  // as the module `struct` spells it
} buffer_format;

static const buffer_format formats[] = {
    {TSR_BOOL, "?"}, {TSR_U8, "B"},  {TSR_I8, "b"},  {TSR_I16, "h"}, {TSR_U16, "H"}, {TSR_I32, "i"}, {TSR_U32, "I"},
    {TSR_I64, "q"},  {TSR_U64, "Q"}, {TSR_F16, "e"}, {TSR_F32, "f"}, {TSR_F64, "d"}, {TSR_I64, "l"}, {TSR_U64, "L"},
};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

static const char *format_of(tsr_dtype dtype) {
  for (int i = 0; i < FORMAT_COUNT; i++) {
    if (formats[i].dtype == dtype) return formats[i].text;
  }
  return NULL;
}

// --- Out -------------------------------------------------------------------------------------------------------------

// What a view points to while it lives.
typedef struct lent {
  struct DLManagedTensor *managed;
  Py_ssize_t shape[TSR_MAX_RANK], strides[TSR_MAX_RANK];
} lent;

static lent *lend(tsr_tensor *tensor) {
  if (!tsrpy_wait_tensor(tensor, true)) return NULL;
  lent *l = PyMem_Calloc(1, sizeof *l);
  if (!l) {
    PyErr_NoMemory();
    return NULL;
  }
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = tsr_to_dlpack(tensor, &l->managed);
  Py_END_ALLOW_THREADS if (tsrpy_check(status)) return l;
  PyMem_Free(l);
  return NULL;
}

static void give_back(lent *l) {
  l->managed->deleter(l->managed);
  PyMem_Free(l);
}

// Sizes and strides in bytes; returns whether the elements lie in row-major order without gaps.
static bool describe(lent *l, const dl_tensor *own, Py_ssize_t item_bytes) {
  Py_ssize_t expected = item_bytes;
  bool is_contiguous = true;
  for (int i = own->ndim; i-- > 0;) {
    l->shape[i] = (Py_ssize_t)own->shape[i];
    l->strides[i] = own->strides ? (Py_ssize_t)own->strides[i] * item_bytes : expected;
    if (l->shape[i] > 1 && l->strides[i] != expected) is_contiguous = false;
    expected *= l->shape[i];
  }
  return is_contiguous;
}

int tsrpy_buffer_get(PyObject *self, Py_buffer *view, int flags) {
  tsr_tensor *tensor = tsrpy_tensor_of(self);
  tsr_dtype dtype = tsr_tensor_dtype(tensor);
  const char *format = format_of(dtype);
  view->obj = NULL;
  if (!format) {
    PyErr_Format(PyExc_BufferError, "%s has no format in Python's buffers: use astype() first", tsr_dtype_name(dtype));
    return -1;
  }
  lent *l = lend(tensor);
  if (!l) return -1;
  const dl_tensor *own = &l->managed->tensor;
  Py_ssize_t item_bytes = (Py_ssize_t)tsr_dtype_bytes(dtype);
  bool is_contiguous = describe(l, own, item_bytes);
  bool wants_contiguous =
      (flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (wants_contiguous && !is_contiguous) {
    PyErr_SetString(PyExc_BufferError, "the array is a view whose elements are not side by side: copy it first");
    give_back(l);
    return -1;
  }
  bool is_writable = (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE;
  *view = (Py_buffer){.buf = (char *)own->data + own->byte_offset,
                      .obj = Py_NewRef(self),
                      .len = (Py_ssize_t)tsr_tensor_count(tensor) * item_bytes,
                      .itemsize = item_bytes,
                      .readonly = !is_writable,
                      .ndim = own->ndim,
                      .format = (flags & PyBUF_FORMAT) ? (char *)format : NULL,
                      .shape = (flags & PyBUF_ND) ? l->shape : NULL,
                      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? l->strides : NULL,
                      .internal = l};
  return 0;
}

void tsrpy_buffer_release(PyObject *self, Py_buffer *view) {
  (void)self;
  give_back(view->internal);
}

// --- In --------------------------------------------------------------------------------------------------------------

static bool parse_format(const Py_buffer *view, tsr_dtype *out_dtype) {
  const char *format = view->format ? view->format : "B";
  if (strchr("@=<", *format) && *format) format++;  // the machine's byte order, which is little
  for (int i = 0; i < FORMAT_COUNT; i++) {
    if (strcmp(formats[i].text, format) == 0 && (Py_ssize_t)tsr_dtype_bytes(formats[i].dtype) == view->itemsize) {
      *out_dtype = formats[i].dtype;
      return true;
    }
  }
  PyErr_Format(PyExc_TypeError, "elements of the format '%s' have no dtype in tessera", view->format);
  return false;
}

static tsr_tensor *copy_elements(Py_buffer *view, tsr_device *device, tsr_dtype dtype) {
  tsr_shape shape = {.rank = view->ndim};
  for (int i = 0; i < view->ndim && i < TSR_MAX_RANK; i++) shape.dims[i] = view->shape[i];
  if (PyBuffer_IsContiguous(view, 'C')) return tsr_from_data(device, dtype, shape, view->buf, (size_t)view->len);
  void *data = PyMem_Malloc((size_t)view->len + 1);
  if (!data) {
    PyErr_NoMemory();
    return NULL;
  }
  tsr_tensor *tensor = NULL;
  if (PyBuffer_ToContiguous(data, view, view->len, 'C') == 0) {
    tensor = tsr_from_data(device, dtype, shape, data, (size_t)view->len);
  }
  PyMem_Free(data);
  return tensor;
}

tsr_tensor *tsrpy_tensor_from_buffer(PyObject *object, tsr_device *device) {
  Py_buffer view;
  tsr_dtype dtype;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) return NULL;
  tsr_tensor *tensor = NULL;
  if (view.ndim > TSR_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "an array has at most %d axes, not %d", TSR_MAX_RANK, view.ndim);
  } else if (parse_format(&view, &dtype)) {
    tensor = copy_elements(&view, device, dtype);
  }
  PyBuffer_Release(&view);
  return tensor;
}
