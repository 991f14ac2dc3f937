// SPDX-License-Identifier: MIT
// What the files of the extension module share. Python.h comes first, as it asks for.
//
// Names: tsrpy_ for what several files use. "Array", "DType" and "Device" are the Python types, tsrpy_array and so on their structs.
//
// Threads: everything here runs with the GIL held, unless its comment says otherwise. Calls that may wait for a device release it.
#ifndef TSRPY_BINDING_H
#define TSRPY_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tessera/tessera.h>

#define TSRPY_MODULE "tessera"

// A function of a PyMethodDef that takes its arguments as a vectorcall has them.
#define TSRPY_FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

// --- errors.c: statuses as exceptions --------------------------------------------------------------------------------

// Adds tessera.Error, DeviceError and KernelError to the module.
bool tsrpy_errors_init(PyObject *module);

// Sets the exception that fits the status, with the library's message. Returns NULL.
PyObject *tsrpy_raise(tsr_status status);

// As tsrpy_raise, with a message of the caller; empty: the text of the status. Returns NULL.
PyObject *tsrpy_raise_text(tsr_status status, const char *text);

// False with an exception if the status is not TSR_OK.
static inline bool tsrpy_check(tsr_status status) { return status == TSR_OK || tsrpy_raise(status) != NULL; }

// --- dtype.c: tessera.float32 and other dtypes -------------------------------------------------------------------------

bool tsrpy_dtype_init(PyObject *module);

// A new reference to the one object that stands for the dtype.
PyObject *tsrpy_dtype_object(tsr_dtype dtype);

// Reads a DType, a name ("float32", "f32"), one of the types bool, int and float, or anything with the name of a dtype in `name` or
// `__name__`, such as those of NumPy. False with an exception if it is none.
bool tsrpy_dtype_parse(PyObject *object, tsr_dtype *out_dtype);

// The dtype that an Array has or a DType is. False without an exception: the object is neither.
bool tsrpy_dtype_known(PyObject *object, tsr_dtype *out_dtype);

// --- device.c: devices, opened once each -----------------------------------------------------------------------------

bool tsrpy_device_init(PyObject *module);

// The device where arrays are made unless told otherwise: that of the innermost `with device:`, else the best there is, which is opened at the first call. Borrowed;
// NULL with an exception.
tsr_device *tsrpy_device_current(void);

// Reads a Device or a name ("cuda:1"); None means the current device. Borrowed: devices stay open. NULL with an exception.
tsr_device *tsrpy_device_parse(PyObject *object);

// A new reference to the object that stands for a device that was opened here.
PyObject *tsrpy_device_object(tsr_device *device);

// --- wait.c: waits that Ctrl-C ends ----------------------------------------------------------------------------------------

bool tsrpy_wait_init(void);

// Notes that work over so many elements was recorded or queued; heavy operators count each element several times. INT32_MAX stands for a step of training or a
// captured one: long work for a CPU, and short for a GPU.
void tsrpy_note_elements(int64_t count);

// Elements to note for work that may take any time. It is long on every device.
#define TSRPY_UNKNOWN_WORK (INT64_C(1) << 40)

// Whether the program has worked with small arrays of the CPU alone, so that reading a result takes less time than giving up the GIL would.
bool tsrpy_is_instant(const tsr_tensor *tensor);

// Call before anything that waits for a tensor's elements, or for a device. If much work has been noted since the last wait, and this is the main thread, these run it
// on another thread (with `until_done` up to its end, else until it is queued), so that what follows need not wait. False with an exception: the work
// failed, or Ctrl-C was pressed; then it goes on in the background.
bool tsrpy_wait_tensor(tsr_tensor *tensor, bool until_done);
bool tsrpy_wait_device(tsr_device *device);

// --- array.c: the type Array -----------------------------------------------------------------------------------------

// Bytes of elements that an Array may hold by itself, without a tensor.
enum { TSRPY_HELD_BYTES = 128, TSRPY_ELEMENT_BYTES = 8 };

// How a view was made from another Array. If the view needs a tensor later, that is made in the same way as a view of the other Array's tensor.
typedef enum tsrpy_view_kind { TSRPY_BY_KEY, TSRPY_BY_AXES, TSRPY_BY_SHAPE } tsrpy_view_kind;
typedef struct tsrpy_view_key {
  int8_t kind;  // a tsr_key_kind
  int16_t start, stop, step;
} tsrpy_view_key;
typedef struct tsrpy_view {
  struct tsrpy_array *parent;     // a reference
  int16_t first;                  // bytes from the root's first element to this one's
  int16_t strides[TSR_MAX_RANK];  // in bytes
  int8_t kind, depth;             // a tsrpy_view_kind; how many parents there are up to the root
  int8_t item_count;              // of the key, or the axes
  union {
    tsrpy_view_key keys[TSR_MAX_RANK];
    int8_t axes[TSR_MAX_RANK];
  };
} tsrpy_view;

typedef struct tsrpy_array {
  // Not a failed tensor, unless host memory is out. NULL: the Array holds its elements in `bits` (element.c), or it is a view with a `root`.
  PyObject_HEAD tsr_tensor *tensor;
  // For a view without a tensor: the Array that holds its elements (view.c). Borrowed: the view's parents keep it alive. Otherwise NULL.
  struct tsrpy_array *root;
  PyObject *shape_tuple;  // x.shape, once it was asked for; NULL: not yet
  tsr_device *device;     // borrowed, since devices stay open
  tsr_dtype dtype;
  tsr_shape shape;  // rank 0: an element, whose bytes are 8
  union {
    max_align_t alignment;
    unsigned char bits[TSRPY_HELD_BYTES];  // the elements in row-major order
    tsrpy_view view;                       // if there is a root
  };
  struct tsrpy_array *previous, *next;  // links of the list of Arrays with axes that hold their elements
} tsrpy_array;

extern PyTypeObject *tsrpy_array_type;

bool tsrpy_array_init(PyObject *module);

// Drops the functions in Python that methods use.
void tsrpy_array_deinit(void);

// The type has no subtypes.
static inline bool tsrpy_is_array(PyObject *object) { return Py_IS_TYPE(object, tsrpy_array_type); }

// Makes the tensor of an Array that holds its elements; from here on the tensor has the elements. It may be a failed tensor, which operators pass on.
tsr_tensor *tsrpy_held_tensor(tsrpy_array *array);

// Whether an Array holds its elements itself, or is a view of an Array that does. If that Array has got a tensor in the meantime, the view gets one now, and the
// answer is false.
static inline bool tsrpy_has_bits(tsrpy_array *array) {
  if (array->root && array->root->tensor) tsrpy_held_tensor(array);
  return !array->tensor;
}

// As tsrpy_has_bits, for any object.
static inline bool tsrpy_is_held(PyObject *object) {
  return tsrpy_is_array(object) && tsrpy_has_bits((tsrpy_array *)object);
}

// An Array that is a number, without a tensor.
static inline bool tsrpy_is_element(PyObject *object) {
  return tsrpy_is_held(object) && ((tsrpy_array *)object)->shape.rank == 0;
}

static inline tsr_tensor *tsrpy_tensor_of(PyObject *array) {
  tsr_tensor *tensor = ((tsrpy_array *)array)->tensor;
  return tensor ? tensor : tsrpy_held_tensor((tsrpy_array *)array);
}

// Of an Array of either kind.
static inline tsr_device *tsrpy_device_of(PyObject *array) {
  const tsrpy_array *own = (const tsrpy_array *)array;
  return own->tensor ? tsr_tensor_device(own->tensor) : own->device;
}
static inline tsr_dtype tsrpy_dtype_of(PyObject *array) {
  const tsrpy_array *own = (const tsrpy_array *)array;
  return own->tensor ? tsr_tensor_dtype(own->tensor) : own->dtype;
}
static inline int tsrpy_rank_of(PyObject *array) {
  const tsrpy_array *own = (const tsrpy_array *)array;
  return own->tensor ? tsr_tensor_rank(own->tensor) : own->shape.rank;
}
static inline tsr_shape tsrpy_shape_of(PyObject *array) {
  const tsrpy_array *own = (const tsrpy_array *)array;
  return own->tensor ? tsr_tensor_shape(own->tensor) : own->shape;
}
static inline int64_t tsrpy_count_of_shape(const tsr_shape *shape) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) count *= shape->dims[i];
  return count;
}
static inline int64_t tsrpy_count_of(PyObject *array) {
  const tsrpy_array *own = (const tsrpy_array *)array;
  return own->tensor ? tsr_tensor_count(own->tensor) : tsrpy_count_of_shape(&own->shape);
}

// The only element as a Python number; waits for it. NULL with an exception.
PyObject *tsrpy_only_item(PyObject *self);

// An Array over `tensor`, which may be NULL and is not taken over on failure: then NULL with an exception.
tsrpy_array *tsrpy_array_new(tsr_tensor *tensor);

// An Array that owns `tensor`, which is taken over in any case. If the tensor has failed, or is NULL: NULL, with its error as exception.
PyObject *tsrpy_array_take(tsr_tensor *tensor);

// As tsrpy_array_take, for a view, which computes nothing. `view` NULL: an exception is set already.
PyObject *tsrpy_view_take(tsr_tensor *view);

// Whether a device is the host's own.
bool tsrpy_is_cpu(const tsr_device *device);

// Whether a device that was opened here is a GPU and not an emulated one.
bool tsrpy_is_gpu(const tsr_device *device);

// The shape as a tuple of int.
PyObject *tsrpy_shape_tuple(tsr_shape shape);

// Reads an int or a sequence of at most 8. False with an exception.
bool tsrpy_shape_parse(PyObject *object, tsr_shape *out_shape);

// --- convert.c, buffer.c, dlpack.c: data in and out ------------------------------------------------------------------

// A number in Python: bool, int or float, and not a subclass with a dtype of its own.
static inline bool tsrpy_is_number(PyObject *object) { return PyFloat_Check(object) || PyLong_Check(object); }

// tsrpy_number_dtype: the dtype of a Python number by itself: bool, int64 or float32. The other function: its dtype beside an array of a dtype, which is that dtype unless
// the number's kind comes later in the order bool, integer, float.
tsr_dtype tsrpy_number_dtype(PyObject *number);
tsr_dtype tsrpy_number_dtype_beside(PyObject *number, tsr_dtype dtype);

// A tensor of rank 0. Numbers that an integer dtype does not hold are an OverflowError. The caller releases it; NULL with an exception.
tsr_tensor *tsrpy_number_tensor(tsr_device *device, tsr_dtype dtype, PyObject *number);

// The bytes of a number in a dtype, or of an element that has that dtype. False without an exception: it is neither, or the dtype has no bytes of its own; with one: it
// does not fit.
bool tsrpy_number_bits(tsr_dtype dtype, PyObject *object, unsigned char bits[8]);

// Sets every element of a view to a number, which is converted to its dtype as tsrpy_number_tensor does. False with an exception.
bool tsrpy_fill(tsr_tensor *view, PyObject *number);

// Converts any array-like object to a tensor: an Array, a number, nested sequences of these, or an object with a buffer. `dtype` TSR_DTYPE_COUNT: the dtype of the data.
// The caller releases the tensor; NULL with an exception.
tsr_tensor *tsrpy_tensor_from(PyObject *object, tsr_device *device, tsr_dtype dtype);

// As tsrpy_tensor_from, but returns an Array, which holds its elements itself if they are few. NULL with an exception.
PyObject *tsrpy_array_from(PyObject *object, tsr_device *device);

// Copies the elements of an object with a buffer (NumPy's arrays have one).
tsr_tensor *tsrpy_tensor_from_buffer(PyObject *object, tsr_device *device);

// Slots of Array.
int tsrpy_buffer_get(PyObject *self, Py_buffer *view, int flags);
void tsrpy_buffer_release(PyObject *self, Py_buffer *view);

PyObject *tsrpy_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tsrpy_dlpack_device(PyObject *self, PyObject *unused);
PyObject *tsrpy_from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs);

// --- index.c: x[…] ---------------------------------------------------------------------------------------------------

PyObject *tsrpy_subscript(PyObject *self, PyObject *key);
int tsrpy_assign_subscript(PyObject *self, PyObject *key, PyObject *value);
PyObject *tsrpy_sequence_item(PyObject *self, Py_ssize_t index);

// Hands over the functions (get, set) of tessera/_indexing.py, which take keys with arrays in them.
PyObject *tsrpy_set_advanced_indexing(PyObject *module, PyObject *args);

// Releases these functions.
void tsrpy_index_deinit(void);

// --- choose.c: keys with lists, masks and index arrays, of small arrays ----------------------------------------------

// Whether the array is on the CPU, and so small that the host goes through its elements sooner than a kernel begins. Not while gradients or a capture are recorded.
// Then it has at most TSRPY_SMALL elements, each of at most 8 bytes.
enum { TSRPY_SMALL = 1024 };
bool tsrpy_is_small(tsr_tensor *x);

// Reads all elements, in row-major order; waits for them, without the GIL unless they are there. False with an exception.
bool tsrpy_read(tsr_tensor *x, void *out_elements, size_t bytes);

// The index of the element of an array with these sizes that is broadcast to element `at` of `shape`.
int64_t tsrpy_broadcast_place(const int64_t *dims, int rank, const tsr_shape *shape, int64_t at);

// x[key], and x[key] = value. NULL and false: the key is wrong (with an exception), or general indexing must handle it (without one).
PyObject *tsrpy_choose(PyObject *x, PyObject *key);
PyObject *tsrpy_check_range(PyObject *module, PyObject *args);
bool tsrpy_choose_assign(PyObject *x, PyObject *key, PyObject *value);

// --- element.c: x[3] as a number -------------------------------------------------------------------------------------

// Call around code that records gradients or a capture: in between, x[3] gives a view instead of a number.
void tsrpy_recording_begin(void);
void tsrpy_recording_end(void);
bool tsrpy_is_recording(void);

// The element at an index, if the index has a number for each axis and the element can be read without waiting. NULL without an exception: that is not so.
PyObject *tsrpy_element_now(tsr_tensor *tensor, const int64_t *index, int axis_count);

// The element at an index that has a number for each axis; computes it first if necessary. NULL with an exception.
PyObject *tsrpy_element_at(tsr_tensor *tensor, const int64_t *index, int axis_count);

// True if the status is TSR_OK; else false, with an IndexError for what is wrong with an index.
bool tsrpy_raise_index(tsr_status status);

// The number that the bytes of an element are; u64 as its bits. False with an exception.
bool tsrpy_bits_float(tsr_dtype dtype, const void *bits, double *out_value);
bool tsrpy_bits_whole(tsr_dtype dtype, const void *bits, int64_t *out_value);

// The bytes of an element as a Python number; NULL with an exception.
PyObject *tsrpy_bits_number(tsr_dtype dtype, const void *bits);

// An element with these 8 bytes, of which its dtype may use fewer; NULL with an exception.
PyObject *tsrpy_number_take(tsr_device *device, tsr_dtype dtype, const void *bits);

// An Array of `count` elements, at least one, in row-major order. It holds them if they are few and the device is the host's, and nothing is recorded; else it gets a
// tensor. `elements` NULL: they are 0. NULL with an exception.
PyObject *tsrpy_few_take(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape, int64_t count,
                         const void *elements);

// Reads all elements of an Array, in row-major order, if they are there and take at most TSRPY_HELD_BYTES. False: not so.
bool tsrpy_few_read(PyObject *self, void *out_elements);

// The elements of an Array in an Array of its own, converted to a dtype, with another shape of as many (NULL: its own). NULL: they are many, or not there yet, or there is
// an exception.
PyObject *tsrpy_few_copy(PyObject *self, tsr_dtype dtype, const tsr_shape *shape);

// Where the element at an index is in an Array that holds its elements; NULL: the index has not a number for each axis, or is out of range.
unsigned char *tsrpy_held_place(tsrpy_array *array, const int64_t *index, int axis_count);

// Writes the elements of another Array into one that holds its own, if they are there and both have one dtype and shape. False: not so.
bool tsrpy_held_write(tsrpy_array *target, PyObject *source);

// Puts an Array with axes on the list of those that hold their elements, and takes one that is deleted, or gets a tensor, off it.
void tsrpy_held_remember(tsrpy_array *array);
void tsrpy_held_forget(tsrpy_array *array);

// --- view.c: views of Arrays that hold their elements ---------------------------------------------------------------------

// x[key], x.transpose(axes) and x.reshape(shape) of an Array that holds its elements. NULL: the library makes the view, or says what is wrong, or there is an exception.
PyObject *tsrpy_view_by_key(tsrpy_array *array, const tsr_key *items, int item_count);
PyObject *tsrpy_view_by_axes(tsrpy_array *array, const int *axes);
PyObject *tsrpy_view_by_shape(tsrpy_array *array, const tsr_shape *shape);

// The elements of an Array that holds them, in row-major order: all of them are read, or written.
void tsrpy_view_read(const tsrpy_array *array, void *out_elements);
void tsrpy_view_write(tsrpy_array *array, const void *elements);
static inline void tsrpy_bits_read(const tsrpy_array *array, void *out_elements, size_t bytes) {
  if (array->root) tsrpy_view_read(array, out_elements);
  else memcpy(out_elements, array->bits, bytes);
}
static inline void tsrpy_bits_write(tsrpy_array *array, const void *elements, size_t bytes) {
  if (array->root) tsrpy_view_write(array, elements);
  else memmove(array->bits, elements, bytes);
}

// The tensor of a view, as a view of its parent's.
tsr_tensor *tsrpy_view_tensor(tsrpy_array *array);

// Makes tensors of all views of an Array, before it gets another shape.
void tsrpy_views_settle(tsrpy_array *array);

// Writes a number, of the Array's dtype, or the elements of another Array of that dtype, broadcast, to the elements that a key names. False: the library does it.
bool tsrpy_view_assign(tsrpy_array *array, const tsr_key *items, int item_count, PyObject *value);

// --- few.c: arithmetic with elements and arrays of few elements ----------------------------------------------------------

// Arrays of at most this many elements are computed here.
enum { TSRPY_FEW = 32 };

typedef enum tsrpy_reduction { TSRPY_SUM, TSRPY_MEAN, TSRPY_MAX, TSRPY_MIN, TSRPY_ANY, TSRPY_ALL } tsrpy_reduction;

// How an operator is computed here. NULL: it is always recorded.
typedef struct tsrpy_few tsrpy_few;
const tsrpy_few *tsrpy_few_find(const char *name);

// The result of an operator of two arrays, or of one (`right` is NULL), computed at once. NULL: it is to be recorded, or there is an exception.
PyObject *tsrpy_few_compute(const tsrpy_few *few, PyObject *left, PyObject *right);

// As tsrpy_few_compute, for a reduction over all elements.
PyObject *tsrpy_few_reduce(tsrpy_reduction how, PyObject *x);

// --- formulas.c: element-wise operators that are formulas of several functions ---------------------------------------------

// out[i] = formula(a[i], b[i]), for at most TSRPY_FEW numbers; formulas of one number do not read b. False: the device lacks a function.
typedef bool tsrpy_formula(const tsr_device *device, const float *a, const float *b, int count, float *out);

// NULL: the operator of that name is none of these.
tsrpy_formula *tsrpy_formula_find(const char *name);

// --- small.c: other operators of few elements -----------------------------------------------------------------------------

// Computes an operator at once. `given`: its arguments in the order of its parameters; NULL: left out. NULL: it is to be recorded, or there is an exception.
typedef PyObject *tsrpy_small_run(PyObject *const *given);

// NULL: the operator of that name is always recorded.
tsrpy_small_run *tsrpy_small_find(const char *name);

// Whether an array is float32 or float64, and has few elements, which are there and none of which is NaN.
bool tsrpy_lacks_nan(PyObject *object);

// An axis, which may be negative, or `otherwise` where it is left out (NULL). False: there is none such.
bool tsrpy_read_axis(PyObject *object, int rank, int otherwise, int *out_axis);

// 0 below 0, 1 above, b at 0, for few floats of one shape. NULL: they are something else, or there is an exception (small_lines.c).
PyObject *tsrpy_few_heaviside(PyObject *a, PyObject *b);

// few_convolve(a, v, mode, is_reversed): convolve of two lists of few floats, v read backwards if `is_reversed`; None: they are something else (small_lines.c).
PyObject *tsrpy_few_convolve(PyObject *module, PyObject *const *args, Py_ssize_t count);

// --- composed.c: functions of several operators ---------------------------------------------------------------------------------

bool tsrpy_composed_init(PyObject *module);
bool tsrpy_few_parts_init(PyObject *module);

// --- methods.c: what small programs call all the time ------------------------------------------------------------------

// Functions in Python that do what C leaves to them, by set_general.
typedef enum tsrpy_general {
  TSRPY_RESHAPE,
  TSRPY_RAVEL,
  TSRPY_FLATTEN,
  TSRPY_ASTYPE,
  TSRPY_TOLIST,
  TSRPY_ASARRAY,
  TSRPY_ARRAY,
  TSRPY_NONZERO,
  TSRPY_ZEROS,
  TSRPY_ONES,
  TSRPY_FULL,
  TSRPY_ARANGE,
  TSRPY_ZEROS_LIKE,
  TSRPY_ONES_LIKE,
  TSRPY_FULL_LIKE,
  TSRPY_TRANSPOSE,
  TSRPY_SQUEEZE,
  TSRPY_TAKE,
  TSRPY_FILL,
  TSRPY_SORT,
  TSRPY_ASCONTIGUOUSARRAY,
  TSRPY_FROMBUFFER,
  TSRPY_COUNT_NONZERO,
  TSRPY_RESULT_TYPE,
  TSRPY_CAN_CAST,
  TSRPY_GENERAL_COUNT
} tsrpy_general;

// Calls one with `self`, unless that is NULL, before the other arguments, which are those of a vectorcall.
PyObject *tsrpy_call_general(tsrpy_general at, PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names);

// The shape of reshape(2, 3), reshape((2, 3)), zeros(3) and zeros((2, 3)). False without an exception: it is given otherwise.
bool tsrpy_read_shape(PyObject *const *args, Py_ssize_t count, tsr_shape *out_shape);

bool tsrpy_create_init(PyObject *module);  // create.c
bool tsrpy_methods_init(PyObject *module);

// Drops the functions in Python.
void tsrpy_methods_deinit(void);

// Methods of Array.
PyObject *tsrpy_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_ravel(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_flatten(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_squeeze(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_take(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_fill_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_sort(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_astype(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *tsrpy_tolist(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

// --- operators.c: every operator as a function -----------------------------------------------------------------------

typedef void (*tsrpy_function)(void);

typedef enum tsrpy_kind {
  TSRPY_TENSOR,
  TSRPY_CONDITION,  // a tensor whose dtype says nothing about numbers beside it
  TSRPY_OPTIONAL,
  TSRPY_INOUT,
  TSRPY_TENSORS,
  TSRPY_AXES,
  TSRPY_SIZES,
  TSRPY_COUNT,
  TSRPY_NUMBER,
  TSRPY_SIZE,
  TSRPY_SEED,
  TSRPY_AXIS,
  TSRPY_FLAG,
  TSRPY_SHAPE,
  TSRPY_DTYPE,
  TSRPY_DEVICE,
  TSRPY_TEXT,
  TSRPY_FORMAT,
  TSRPY_FIELD_FLAG,  // from here on: fields of a description (desc.h)
  TSRPY_FIELD_NUMBER,
  TSRPY_FIELD_SIZE,
  TSRPY_FIELD_TENSOR,
  TSRPY_FIELD_ENUM,
  TSRPY_FIELD_PADDING  // stands for the fields `before` and `after`, which are the two parameters in front of it
} tsrpy_kind;

// An argument as the C function takes it.
typedef union tsrpy_value {
  tsr_tensor *tensor;
  struct {
    void *items;
    int count;
  } list;
  double number;
  int64_t size;
  uint64_t seed;
  int axis;
  bool flag;
  tsr_shape shape;
  tsr_dtype dtype;
  tsr_device *device;
  const char *text;
  tsr_quant_format format;
  const void *desc;
} tsrpy_value;

typedef struct tsrpy_parameter {
  const char *name;
  tsrpy_kind kind;
  bool is_required;
  int place;                 // among the values; of a field: that of its description
  double number;             // what stands for a number that is left out
  int64_t size;              // the same for whole numbers, flags and dtypes
  size_t offset;             // of a field
  int count;                 // how many the field has
  const char *const *names;  // of an enum's values, ending in NULL
} tsrpy_parameter;

typedef struct tsrpy_operator {
  const char *name;
  const char *doc;
  tsrpy_function function;
  // Calls a function of this operator's C type. Results go to `outs`.
  tsr_status (*call)(tsrpy_function function, const tsrpy_value *values, tsr_tensor **outs);
  const tsrpy_parameter *parameters;
  int parameter_count;
  int out_count;  // results that come through pointers: 0 is the one returned, or none; -1 as many as a list or a count says
  // a op c and c op b, where c is a number; NULL: there is no such function.
  tsr_tensor *(*with_number)(tsr_tensor *a, double c);
  tsr_tensor *(*number_first)(tsr_tensor *b, double c);
  bool waits;         // for a size that the device computes
  size_t desc_bytes;  // of its description; 0: it has none
  int desc_place;
} tsrpy_operator;

bool tsrpy_operators_init(PyObject *module);

// The operator of that name; NULL: there is none.
const tsrpy_operator *tsrpy_operator_find(const char *name);

// Calls an operator with arguments as Python gives them: `count` without a name, then those of `names` (NULL: none). NULL with an exception.
PyObject *tsrpy_operator_call(const tsrpy_operator *operator, PyObject * const * args, Py_ssize_t count,
                              PyObject *names);

// Says that an operator is element-wise, for the estimate of how long a wait may be.
void tsrpy_operator_set_light(const tsrpy_operator *operator);

// One input of an element-wise operator. The result as an Array; NULL with an exception.
PyObject *tsrpy_operate_one(const tsrpy_operator *operator, PyObject * x);

// Two inputs of an element-wise operator. A number beside an array needs no tensor of its own where the operator has a form for numbers. The result as an
// Array; NULL with an exception.
PyObject *tsrpy_operate_two(const tsrpy_operator *operator, PyObject * a, PyObject *b);

// --- ufunc.c: element-wise functions with NumPy's out=, where= and methods ----------------------------------------------

bool tsrpy_ufunc_init(PyObject *module);

// Drops the function that takes calls with keywords.
void tsrpy_ufunc_deinit(void);

// --- numbers.c: + and others -----------------------------------------------------------------------------------------

// Fills in the slots of the number protocol, from `slots` on; returns how many.
int tsrpy_number_slots(PyType_Slot *slots);
bool tsrpy_numbers_init(void);

// x == y and so on.
PyObject *tsrpy_compare(PyObject *a, PyObject *b, int how);

// --- grad.c, capture.c, config.c, kernel.c, train.c, profile.c: what modules in Python make functions of -------------------------------------------

bool tsrpy_grad_init(PyObject *module);
bool tsrpy_capture_init(PyObject *module);
bool tsrpy_config_init(PyObject *module);
bool tsrpy_kernel_init(PyObject *module);
bool tsrpy_train_init(PyObject *module);
bool tsrpy_profile_init(PyObject *module);

#endif
