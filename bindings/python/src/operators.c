// SPDX-License-Identifier: MIT
// Every operator of the library as a function, from the table that scripts/generate-python-lists makes of the operators' records.
//
// One function serves all: it finds out which operator is meant from the object it is bound to, reads the arguments by the kinds of the operator's parameters, and calls.
#include <string.h>

#include "binding.h"
#include "operator_table.inc"

enum { OPERATOR_COUNT = sizeof operators / sizeof operators[0], MAX_DESC_BYTES = 512 };

// What a function of the module is bound to.
typedef struct operator_object {
  PyObject_HEAD const tsrpy_operator *operator;
} operator_object;

static PyMethodDef definitions[OPERATOR_COUNT];

// For the estimate of wait.c. Light: the time is that of reading and writing the elements. Heavy: it may be much longer for each element. Cubic: it also grows with
// the size of a matrix.
typedef enum operator_work { WORK_HEAVY, WORK_LIGHT, WORK_CUBIC } operator_work;
static operator_work work_of[OPERATOR_COUNT];
enum { HEAVY_FACTOR = 64 };
static const char *const cubic[] = {"cholesky", "lu",   "solve", "inverse",     "det",  "slogdet",     "qr",
                                    "lstsq",    "eigh", "svd",   "matrix_rank", "pinv", "matrix_power"};

// Which operators the host computes by itself where there are few elements (few.c).
static const tsrpy_few *few_of[OPERATOR_COUNT];
static tsrpy_small_run *small_of[OPERATOR_COUNT];

void tsrpy_operator_set_light(const tsrpy_operator *operator) { work_of[operator- operators] = WORK_LIGHT;
}

// A call while its arguments are read. Everything in `held` and `memory` is released at its end.
typedef struct operator_call {
  const tsrpy_operator *operator;
  PyObject *given[MAX_PARAMETERS];  // in the order of the parameters; NULL: left out. Borrowed
  tsrpy_value values[MAX_VALUES];
  tsr_device *device;  // where arrays are that are made of the arguments; borrowed
  tsr_tensor *held[MAX_PARAMETERS];
  int held_count;
  struct {
    void *items;
    int tensor_count;  // the first so many items are tensors to release
  } memory[MAX_PARAMETERS];
  int memory_count;
  int list_count;  // of the last list that was read, or the count that was given
  union {
    max_align_t alignment;
    unsigned char bytes[MAX_DESC_BYTES];
  } desc;
} operator_call;

const tsrpy_operator *tsrpy_operator_find(const char *name) {
  for (int i = 0; i < OPERATOR_COUNT; i++) {
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  }
  return NULL;
}

// --- Which argument is which parameter's -----------------------------------------------------------------------------

// Appends a name to a list of names for a message. Takes over `list`; NULL, or a NULL list, is an exception.
static PyObject *append_name(PyObject *list, const char *name) {
  PyObject *longer = list ? PyUnicode_FromFormat("%U, %s", list, name) : NULL;
  Py_XDECREF(list);
  return longer;
}

static void refuse_parameter(const tsrpy_operator *operator, PyObject * name) {
  if (operator->parameter_count == 0) {
    PyErr_Format(PyExc_TypeError, "%s has no parameters, also no %R", operator->name, name);
    return;
  }
  PyObject *list = PyUnicode_FromString(operator->parameters[0].name);
  for (int i = 1; i < operator->parameter_count; i++) list = append_name(list, operator->parameters[i].name);
  if (list) {
    PyErr_Format(PyExc_TypeError, "%s: there is no parameter %R; there are %U", operator->name, name, list);
  }
  Py_XDECREF(list);
}

static int find_parameter(const tsrpy_operator *operator, PyObject * name) {
  for (int i = 0; i < operator->parameter_count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, operator->parameters[i].name) == 0) return i;
  }
  refuse_parameter(operator, name);
  return -1;
}

static bool bind_keywords(operator_call *c, PyObject *const *values, PyObject *names) {
  Py_ssize_t count = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    int at = find_parameter(c->operator, PyTuple_GetItem(names, i));
    if (at < 0) return false;
    if (c->given[at]) {
      PyErr_Format(PyExc_TypeError, "%s: %s was given twice", c->operator->name, c->operator->parameters[at].name);
      return false;
    }
    c->given[at] = values[i];
  }
  return true;
}

static bool bind_arguments(operator_call *c, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  const tsrpy_operator *operator= c->operator;
  if (count > operator->parameter_count) {
    PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments, not %zd", operator->name, operator->parameter_count,
                 count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) c->given[i] = args[i];
  if (!bind_keywords(c, args + count, names)) return false;
  for (int i = 0; i < operator->parameter_count; i++) {
    if (operator->parameters[i].is_required && !c->given[i]) {
      PyErr_Format(PyExc_TypeError, "%s: %s is missing", operator->name, operator->parameters[i].name);
      return false;
    }
  }
  return true;
}

// --- Tensors ---------------------------------------------------------------------------------------------------------

static bool is_tensor_kind(tsrpy_kind kind) { return kind <= TSRPY_INOUT || kind == TSRPY_FIELD_TENSOR; }

// The device of the first array among the arguments, else the current one.
static bool find_device(operator_call *c) {
  for (int i = 0; i < c->operator->parameter_count; i++) {
    PyObject *given = c->given[i];
    if (given && is_tensor_kind(c->operator->parameters[i].kind) && tsrpy_is_array(given)) {
      c->device = tsr_tensor_device(tsrpy_tensor_of(given));
      return true;
    }
  }
  c->device = tsrpy_device_current();
  return c->device != NULL;
}

static tsr_tensor *hold(operator_call *c, tsr_tensor *tensor) {
  if (tensor) c->held[c->held_count++] = tensor;
  return tensor;
}

// How many light elements an element of this input stands for.
static int64_t factor_of(const tsrpy_operator *operator, const tsr_tensor * tensor) {
  operator_work work = work_of[operator- operators];
  if (work != WORK_CUBIC) return work == WORK_LIGHT ? 1 : HEAVY_FACTOR;
  tsr_shape shape = tsr_tensor_shape(tensor);
  int64_t size = shape.rank > 0 ? shape.dims[shape.rank - 1] : 0;
  return size > HEAVY_FACTOR ? size : HEAVY_FACTOR;
}

// The tensor of an Array that is an argument; notes its elements for the estimate of wait.c. Borrowed.
static tsr_tensor *take_tensor(const tsrpy_operator *operator, PyObject * array) {
  tsr_tensor *tensor = tsrpy_tensor_of(array);
  tsrpy_note_elements(tsr_tensor_count(tensor) * factor_of(operator, tensor));
  return tensor;
}

// The argument as a tensor: borrowed from an Array, or made here and released with the call. NULL with an exception.
static tsr_tensor *read_tensor(operator_call *c, PyObject *object) {
  if (tsrpy_is_array(object)) return take_tensor(c->operator, object);
  if (!c->device && !find_device(c)) return NULL;
  return hold(c, tsrpy_tensor_from(object, c->device, TSR_DTYPE_COUNT));
}

// The dtype of numbers beside tensors: that of all tensors together. TSR_DTYPE_COUNT: there are none.
static tsr_dtype dtype_beside(const operator_call *c) {
  tsr_dtype all = TSR_DTYPE_COUNT;
  for (int i = 0; i < c->operator->parameter_count; i++) {
    const tsrpy_parameter *parameter = &c->operator->parameters[i];
    if (parameter->kind != TSRPY_TENSOR || tsrpy_is_number(c->given[i])) continue;
    tsr_dtype own = tsr_tensor_dtype(c->values[parameter->place].tensor);
    if (all == TSR_DTYPE_COUNT) {
      all = own;
    } else if (tsr_dtype_promote(all, own, &all) != TSR_OK) {
      return own;  // the operator itself refuses these dtypes
    }
  }
  return all;
}

// Numbers in place of tensors, after all tensors are there: where(condition, x, 0).
static bool read_numbers(operator_call *c) {
  tsr_dtype beside = dtype_beside(c);
  for (int i = 0; i < c->operator->parameter_count; i++) {
    const tsrpy_parameter *parameter = &c->operator->parameters[i];
    if (parameter->kind != TSRPY_TENSOR || !tsrpy_is_number(c->given[i])) continue;
    tsr_dtype dtype =
        beside == TSR_DTYPE_COUNT ? tsrpy_number_dtype(c->given[i]) : tsrpy_number_dtype_beside(c->given[i], beside);
    if (!c->device && !find_device(c)) return false;
    tsr_tensor *number = hold(c, tsrpy_number_tensor(c->device, dtype, c->given[i]));
    if (!number) return false;
    c->values[parameter->place].tensor = number;
  }
  return true;
}

// --- Lists -----------------------------------------------------------------------------------------------------------

// Memory for the items of a list, freed with the call; NULL with an exception.
static void *list_memory(operator_call *c, Py_ssize_t count, size_t item_bytes) {
  void *items = PyMem_Calloc((size_t)count + 1, item_bytes);
  if (!items) return PyErr_NoMemory();
  c->memory[c->memory_count++].items = items;
  return items;
}

static bool read_whole(PyObject *object, int64_t *out_value) {
  PyObject *whole = PyNumber_Index(object);
  if (!whole) return false;
  *out_value = PyLong_AsLongLong(whole);
  Py_DECREF(whole);
  return *out_value != -1 || !PyErr_Occurred();
}

static bool read_int(PyObject *object, int *out_value) {
  int64_t value = 0;
  if (!read_whole(object, &value)) return false;
  if (value < INT32_MIN || value > INT32_MAX) {
    PyErr_Format(PyExc_OverflowError, "%R is no axis and no count", object);
    return false;
  }
  *out_value = (int)value;
  return true;
}

static bool read_item(operator_call *c, tsrpy_kind kind, PyObject *item, void *items, Py_ssize_t at) {
  if (kind == TSRPY_AXES) return read_int(item, (int *)items + at);
  if (kind == TSRPY_SIZES) return read_whole(item, (int64_t *)items + at);
  if (!c->device && tsrpy_is_array(item)) c->device = tsr_tensor_device(tsrpy_tensor_of(item));
  if (!c->device && !find_device(c)) return false;
  tsr_tensor *tensor =
      tsrpy_is_array(item) ? tsr_retain(tsrpy_tensor_of(item)) : tsrpy_tensor_from(item, c->device, TSR_DTYPE_COUNT);
  if (!tensor) return false;
  ((tsr_tensor **)items)[at] = tensor;
  c->memory[c->memory_count - 1].tensor_count++;
  return true;
}

static bool read_list(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  tsrpy_value *value = &c->values[parameter->place];
  bool is_one = parameter->kind == TSRPY_AXES && PyIndex_Check(object) && !PySequence_Check(object);
  if (parameter->kind == TSRPY_AXES && object == Py_None) return true;  // all of them
  if (!is_one && (!PySequence_Check(object) || PyUnicode_Check(object))) {
    PyErr_Format(PyExc_TypeError, "%s: %s must be a sequence, not %R", c->operator->name, parameter->name, object);
    return false;
  }
  Py_ssize_t count = is_one ? 1 : PySequence_Size(object);
  if (count < 0) return false;
  size_t bytes = parameter->kind == TSRPY_AXES ? sizeof(int) : 8;
  void *items = list_memory(c, count, bytes);
  for (Py_ssize_t i = 0; items && i < count; i++) {
    PyObject *item = is_one ? Py_NewRef(object) : PySequence_GetItem(object, i);
    bool is_read = item && read_item(c, parameter->kind, item, items, i);
    Py_XDECREF(item);
    if (!is_read) return false;
  }
  value->list.items = items;
  value->list.count = (int)count;
  return items != NULL;
}

// Lists that share one count must have one length.
static bool lists_agree(operator_call *c, const tsrpy_parameter *parameter) {
  const tsrpy_parameter *first = c->operator->parameters;
  if (parameter == first || parameter[-1].kind != parameter->kind) return true;
  if (c->values[parameter[-1].place].list.count == c->values[parameter->place].list.count) return true;
  PyErr_Format(PyExc_ValueError, "%s: %s and %s have different lengths", c->operator->name, parameter[-1].name,
               parameter->name);
  return false;
}

// --- Everything else -------------------------------------------------------------------------------------------------

// `allowed` is how the message begins that lists the names.
static bool read_one_of(const operator_call *c, const tsrpy_parameter *parameter, PyObject *object, const char *allowed,
                        int *out_value) {
  for (int i = 0; PyUnicode_Check(object) && parameter->names[i]; i++) {
    if (PyUnicode_CompareWithASCIIString(object, parameter->names[i]) == 0) {
      *out_value = i;
      return true;
    }
  }
  PyObject *list = PyUnicode_FromString(parameter->names[0]);
  for (int i = 1; parameter->names[i]; i++) list = append_name(list, parameter->names[i]);
  if (list) {
    PyErr_Format(PyExc_ValueError, "%s: %s cannot be %R; it is %s%U", c->operator->name, parameter->name, object,
                 allowed, list);
  }
  Py_XDECREF(list);
  return false;
}

static bool read_name(const operator_call *c, const tsrpy_parameter *parameter, PyObject *object, int *out_value) {
  return read_one_of(c, parameter, object, "one of ", out_value);
}

static bool read_seed(PyObject *object, uint64_t *out_value) {
  PyObject *whole = PyNumber_Index(object);
  if (!whole) return false;
  *out_value = PyLong_AsUnsignedLongLongMask(whole);
  Py_DECREF(whole);
  return !PyErr_Occurred();
}

static bool read_one_field(operator_call *c, const tsrpy_parameter *parameter, PyObject *object, int at) {
  unsigned char *field = c->desc.bytes + parameter->offset;
  int flag = 0, name = 0;
  switch (parameter->kind) {
    case TSRPY_FIELD_FLAG:
      flag = PyObject_IsTrue(object);
      ((bool *)field)[at] = flag > 0;
      return flag >= 0;
    case TSRPY_FIELD_NUMBER:
      ((double *)(void *)field)[at] = PyFloat_AsDouble(object);
      return !PyErr_Occurred();
    case TSRPY_FIELD_SIZE:
      return read_whole(object, (int64_t *)(void *)field + at);
    case TSRPY_FIELD_TENSOR:
      if (object == Py_None) return true;
      return (((tsr_tensor **)(void *)field)[at] = read_tensor(c, object)) != NULL;
    default:
      if (!read_name(c, parameter, object, &name)) return false;
      memcpy(field, &name, sizeof name);  // enums are ints
      return true;
  }
}

// A field of several numbers takes a sequence, or one number for all.
static bool read_field(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  if (parameter->count == 1) return read_one_field(c, parameter, object, 0);
  bool is_list = PySequence_Check(object);
  Py_ssize_t count = is_list ? PySequence_Size(object) : parameter->count;
  if (count < 0 || count > parameter->count) {
    PyErr_Format(PyExc_ValueError, "%s: %s has at most %d numbers", c->operator->name, parameter->name,
                 parameter->count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = is_list ? PySequence_GetItem(object, i) : Py_NewRef(object);
    bool is_read = item && read_one_field(c, parameter, item, (int)i);
    Py_XDECREF(item);
    if (!is_read) return false;
  }
  return true;
}

static bool is_given(const operator_call *c, const tsrpy_parameter *parameter) {
  PyObject *given = c->given[parameter - c->operator->parameters];
  return given && given != Py_None;
}

// A number in place of both `before` and `after`.
static bool read_both(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  tsrpy_parameter before = parameter[-2], after = parameter[-1];
  before.name = after.name = parameter->name;  // for messages
  return read_field(c, &before, object) && read_field(c, &after, object);
}

// `padding`: a number for all axes, a sequence with a number for each axis, or a word.
static bool read_padding(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  if (is_given(c, parameter - 2) || is_given(c, parameter - 1)) {
    PyErr_Format(PyExc_TypeError, "%s: padding stands for before and after; give either padding or these",
                 c->operator->name);
    return false;
  }
  if (PyUnicode_Check(object)) {
    int word = 0;
    if (!read_one_of(c, parameter, object, "a number, a number for each axis, or one of ", &word)) return false;
    if (word) memcpy(c->desc.bytes + parameter->offset, &word, sizeof word);  // 0, "valid": no padding
    return true;
  }
  if (!PySequence_Check(object) || PySequence_Size(object) != 1) return read_both(c, parameter, object);
  PyObject *item = PySequence_GetItem(object, 0);  // a sequence of one number stands for all axes, as in PyTorch
  bool is_read = item && read_both(c, parameter, item);
  Py_XDECREF(item);
  return is_read;
}

static void set_default(tsrpy_value *value, const tsrpy_parameter *parameter) {
  switch (parameter->kind) {
    case TSRPY_NUMBER:
      value->number = parameter->number;
      break;
    case TSRPY_AXIS:
      value->axis = (int)parameter->size;
      break;
    case TSRPY_FLAG:
      value->flag = parameter->size != 0;
      break;
    case TSRPY_DTYPE:
      value->dtype = (tsr_dtype)parameter->size;
      break;
    case TSRPY_SIZE:
    case TSRPY_SEED:
      value->size = parameter->size;
      break;
    default:  // an optional tensor, an empty list: the value is 0
      break;
  }
}

static bool read_scalar(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  tsrpy_value *value = &c->values[parameter->place];
  int number = 0;
  switch (parameter->kind) {
    case TSRPY_NUMBER:
      value->number = PyFloat_AsDouble(object);
      return !PyErr_Occurred();
    case TSRPY_SIZE:
      return read_whole(object, &value->size);
    case TSRPY_SEED:
      return read_seed(object, &value->seed);
    case TSRPY_AXIS:
    case TSRPY_COUNT:
      return read_int(object, &value->axis);
    case TSRPY_FLAG:
      number = PyObject_IsTrue(object);
      value->flag = number > 0;
      return number >= 0;
    case TSRPY_SHAPE:
      return tsrpy_shape_parse(object, &value->shape);
    case TSRPY_DTYPE:
      return tsrpy_dtype_parse(object, &value->dtype);
    case TSRPY_TEXT:
      return (value->text = PyUnicode_AsUTF8AndSize(object, NULL)) != NULL;
    default:  // TSRPY_FORMAT
      if (!read_name(c, parameter, object, &number)) return false;
      value->format = (tsr_quant_format)number;
      return true;
  }
}

static bool read_parameter(operator_call *c, const tsrpy_parameter *parameter, PyObject *object) {
  tsrpy_value *value = &c->values[parameter->place];
  tsrpy_kind kind = parameter->kind;
  if (kind == TSRPY_DEVICE) return (value->device = tsrpy_device_parse(object)) != NULL;
  if (!object || (object == Py_None && kind != TSRPY_TENSOR)) {
    set_default(value, parameter);
    return true;
  }
  if (kind == TSRPY_FIELD_PADDING) return read_padding(c, parameter, object);
  if (kind >= TSRPY_FIELD_FLAG) return read_field(c, parameter, object);
  if (kind == TSRPY_INOUT && !tsrpy_is_array(object)) {
    PyErr_Format(PyExc_TypeError, "%s: %s must be a tessera.Array", c->operator->name, parameter->name);
    return false;
  }
  if (kind == TSRPY_TENSOR && !tsrpy_is_array(object) && tsrpy_is_number(object)) return true;  // read_numbers
  if (is_tensor_kind(kind)) return (value->tensor = read_tensor(c, object)) != NULL;
  if (kind != TSRPY_TENSORS && kind != TSRPY_AXES && kind != TSRPY_SIZES) return read_scalar(c, parameter, object);
  return read_list(c, parameter, object) && lists_agree(c, parameter);
}

static bool read_arguments(operator_call *c) {
  bool has_numbers = false;
  if (c->operator->desc_bytes) c->values[c->operator->desc_place].desc = c->desc.bytes;
  for (int i = 0; i < c->operator->parameter_count; i++) {
    const tsrpy_parameter *parameter = &c->operator->parameters[i];
    if (!read_parameter(c, parameter, c->given[i])) return false;
    has_numbers |= parameter->kind == TSRPY_TENSOR && !tsrpy_is_array(c->given[i]) && tsrpy_is_number(c->given[i]);
    if (parameter->kind == TSRPY_COUNT) c->list_count = c->values[parameter->place].axis;
    if (parameter->kind == TSRPY_SIZES || parameter->kind == TSRPY_TENSORS) {
      c->list_count = c->values[parameter->place].list.count;
    }
  }
  return !has_numbers || read_numbers(c);
}

static void release_arguments(operator_call *c) {
  for (int i = 0; i < c->held_count; i++) tsr_release(c->held[i]);
  for (int i = 0; i < c->memory_count; i++) {
    for (int j = 0; j < c->memory[i].tensor_count; j++) tsr_release(((tsr_tensor **)c->memory[i].items)[j]);
    PyMem_Free(c->memory[i].items);
  }
}

// --- Calling, and results --------------------------------------------------------------------------------------------

static tsr_status call_operator(const operator_call *c, tsr_tensor **outs) {
  const tsrpy_operator *operator= c->operator;
  if (!operator->waits) return operator->call(operator->function, c->values, outs);
  tsr_status status;
  Py_BEGIN_ALLOW_THREADS status = operator->call(operator->function, c->values, outs);
  Py_END_ALLOW_THREADS return status;
}

// Several results as a tuple, or as a list where their number depends on an argument. Takes over the tensors.
static PyObject *several(tsr_tensor **outs, int count, bool is_list) {
  PyObject *result = is_list ? PyList_New(count) : PyTuple_New(count);
  for (int i = 0; i < count; i++) {
    PyObject *array = result ? tsrpy_array_take(outs[i]) : NULL;
    if (!result) {
      tsr_release(outs[i]);
    } else if (!array || (is_list ? PyList_SetItem(result, i, array) : PyTuple_SetItem(result, i, array)) < 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

static PyObject *call_for_many(const operator_call *c) {
  int count = c->list_count;
  if (count < 0) {
    PyErr_Format(PyExc_ValueError, "%s: a count of %d", c->operator->name, count);
    return NULL;
  }
  tsr_tensor **outs = PyMem_Calloc((size_t)count + 1, sizeof *outs);
  if (!outs) return PyErr_NoMemory();
  tsr_status status = call_operator(c, outs);
  PyObject *result = tsrpy_check(status) ? several(outs, count, true) : NULL;
  PyMem_Free(outs);
  return result;
}

static PyObject *call_for_result(const operator_call *c) {
  const tsrpy_operator *operator= c->operator;
  if (operator->out_count<0) return call_for_many(c);
  tsr_tensor *outs[MAX_OUTS] = {0};
  tsr_status status = call_operator(c, outs);
  if (!tsrpy_check(status)) return NULL;
  if (operator->parameters[0].kind == TSRPY_INOUT) Py_RETURN_NONE;
  return operator->out_count> 1 ? several(outs, operator->out_count, false) : tsrpy_array_take(outs[0]);
}

PyObject *tsrpy_operator_call(const tsrpy_operator *operator, PyObject * const * args, Py_ssize_t count,
                              PyObject *names) {
  operator_call c;
  // Only what is read before it is written is cleared: a whole clear would take longer than recording an operator.
  c.operator= operator;
  c.device = NULL;
  c.held_count = c.memory_count = c.list_count = 0;
  memset(c.given, 0, (size_t) operator->parameter_count * sizeof c.given[0]);
  memset(c.values, 0, (size_t)operator->parameter_count * sizeof c.values[0] < sizeof c.values
                          ? (size_t)operator->parameter_count * sizeof c.values[0]
                          : sizeof c.values);
  if (operator->desc_bytes) memset(c.desc.bytes, 0, operator->desc_bytes);
  memset(c.memory, 0, sizeof c.memory);
  PyObject *result = NULL;
  if (!bind_arguments(&c, args, count, names)) return NULL;
  tsrpy_small_run *small = small_of[operator- operators];
  if (small) result = small(c.given);
  if (result || PyErr_Occurred()) return result;
  bool is_ready = read_arguments(&c);
  // Operators that wait compute the tensor that is their first parameter.
  if (is_ready && operator->waits) is_ready = tsrpy_wait_tensor(c.values[0].tensor, true);
  if (is_ready) result = call_for_result(&c);
  release_arguments(&c);
  return result;
}

static PyObject *call_bound(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  const tsrpy_operator *operator=((operator_object *)self)->operator;
  if (operator->with_number && count == 2 && !names) return tsrpy_operate_two(operator, args[0], args[1]);
  if (few_of[operator- operators] && count == 1 && operator->parameter_count == 1 && !names) {
    return tsrpy_operate_one(operator, args[0]);
  }
  return tsrpy_operator_call(operator, args, count, names);
}

// --- A tensor and a number -------------------------------------------------------------------------------------------

static bool is_comparison(const tsrpy_operator *operator) {
  const tsrpy_function f = operator->function;
  return f == (tsrpy_function)tsr_eq || f == (tsrpy_function)tsr_ne || f == (tsrpy_function)tsr_lt ||
         f == (tsrpy_function)tsr_le || f == (tsrpy_function)tsr_gt || f == (tsrpy_function)tsr_ge;
}

// A whole number that a double holds, and that the dtype holds: NULL with an exception, or true or false.
static bool is_plain_number(tsr_dtype dtype, PyObject *number, double *out_value) {
  if (dtype == TSR_BOOL) return false;
  if (PyFloat_Check(number)) return *out_value = PyFloat_AsDouble(number), true;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  *out_value = (double)value;
  if (overflow || value > (1LL << 53) || value < -(1LL << 53)) return false;
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT || dtype == TSR_I64) return true;
  if (dtype == TSR_U64) return value >= 0;
  int bits = tsr_dtype_bits(dtype);
  if (tsr_dtype_kind_of(dtype) == TSR_KIND_UINT) return value >= 0 && value < (1LL << bits);
  return value >= -(1LL << (bits - 1)) && value < (1LL << (bits - 1));
}

// The dtype that a tensor and a number are computed in. Comparisons are exact where the device can: their result is bool anyway.
static tsr_dtype dtype_with_number(const tsrpy_operator *operator, tsr_tensor * x, PyObject *number) {
  tsr_dtype own = tsr_tensor_dtype(x), wanted = tsrpy_number_dtype_beside(number, own);
  if (!is_comparison(operator) || tsr_dtype_kind_of(own) == TSR_KIND_FLOAT) return wanted;
  if (PyFloat_Check(number)) return tsr_device_has_dtype(tsr_tensor_device(x), TSR_F64) ? TSR_F64 : wanted;
  double value = 0;
  return is_plain_number(wanted, number, &value) || own == TSR_U64 ? wanted : TSR_I64;
}

// A comparison of integers with a whole number that no integer of their dtype is equal to: 0 stands for all of them. Call with the OverflowError that the number raised.
static tsr_tensor *compare_beyond(const tsrpy_operator *operator, const tsr_tensor * x, PyObject *number,
                                  bool is_first) {
  static const struct {
    tsrpy_function function;
    int how;
  } hows[] = {{(tsrpy_function)tsr_eq, Py_EQ}, {(tsrpy_function)tsr_ne, Py_NE}, {(tsrpy_function)tsr_lt, Py_LT},
              {(tsrpy_function)tsr_le, Py_LE}, {(tsrpy_function)tsr_gt, Py_GT}, {(tsrpy_function)tsr_ge, Py_GE}};
  PyErr_Clear();
  PyObject *zero = PyLong_FromLong(0);
  int holds = -1;
  for (size_t i = 0; zero && i < sizeof hows / sizeof *hows; i++) {
    if (hows[i].function != operator->function) continue;
    holds = PyObject_RichCompareBool(is_first ? number : zero, is_first ? zero : number, hows[i].how);
  }
  Py_XDECREF(zero);
  return holds < 0 ? NULL : tsr_full(tsr_tensor_device(x), TSR_BOOL, tsr_tensor_shape(x), holds);
}

PyObject *tsrpy_operate_one(const tsrpy_operator *operator, PyObject * x) {
  if (!tsrpy_is_array(x)) return tsrpy_operator_call(operator, & x, 1, NULL);
  const tsrpy_few *few = few_of[operator- operators];
  PyObject *computed = few ? tsrpy_few_compute(few, x, NULL) : NULL;
  if (computed || PyErr_Occurred()) return computed;
  tsr_tensor *result = NULL;
  operator->call(operator->function, &(tsrpy_value){.tensor = take_tensor(operator, x)}, &result);
  return tsrpy_array_take(result);
}

static PyObject *operate_arrays(const tsrpy_operator *operator, PyObject * a, PyObject *b) {
  tsr_tensor *result = NULL;
  tsrpy_small_run *small = small_of[operator- operators];
  PyObject *computed = small ? small((PyObject *[]){a, b}) : NULL;
  if (computed || PyErr_Occurred()) return computed;
  const tsrpy_value inputs[2] = {{.tensor = take_tensor(operator, a)}, {.tensor = take_tensor(operator, b)}};
  operator->call(operator->function, inputs, &result);
  return tsrpy_array_take(result);
}

PyObject *tsrpy_operate_two(const tsrpy_operator *operator, PyObject * a, PyObject *b) {
  const tsrpy_few *few = few_of[operator- operators];
  PyObject *computed = few ? tsrpy_few_compute(few, a, b) : NULL;
  if (computed || PyErr_Occurred()) return computed;
  if (tsrpy_is_array(a) && tsrpy_is_array(b)) return operate_arrays(operator, a, b);
  bool is_first = tsrpy_is_number(a);
  PyObject *number = is_first ? a : b, *array = is_first ? b : a;
  if (!tsrpy_is_array(array) || !tsrpy_is_number(number))
    return tsrpy_operator_call(operator,(PyObject *[]){a, b}, 2, NULL);
  tsr_tensor *x = tsrpy_tensor_of(array);
  tsr_dtype dtype = dtype_with_number(operator, x, number);
  tsr_tensor *cast = dtype == tsr_tensor_dtype(x) ? NULL : tsr_cast(x, dtype), *result = NULL;
  if (cast) x = cast;
  tsr_tensor *(*function)(tsr_tensor *, double) = is_first ? operator->number_first : operator->with_number;
  double value = 0;
  if (function && is_plain_number(dtype, number, &value)) {
    result = function(x, value);
  } else {
    tsr_tensor *other = tsrpy_number_tensor(tsr_tensor_device(x), dtype, number);
    tsrpy_value values[2] = {{.tensor = is_first ? other : x}, {.tensor = is_first ? x : other}};
    bool is_beyond = !other && is_comparison(operator) && tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT &&
                     PyErr_ExceptionMatches(PyExc_OverflowError);
    if (other) operator->call(operator->function, values, &result);
    else if (is_beyond) result = compare_beyond(operator, x, number, is_first);
    tsr_release(other);
  }
  tsr_release(cast);
  return result ? tsrpy_array_take(result) : NULL;
}

// --- The functions ---------------------------------------------------------------------------------------------------

static void operator_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
static PyType_Slot slots[] = {{Py_tp_dealloc, operator_dealloc}, {0, NULL}};
static PyType_Spec spec = {.name = TSRPY_MODULE "._core.Operator",
                           .basicsize = sizeof(operator_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

static bool add_function(PyObject *functions, PyTypeObject *type, PyObject *module_name, int i) {
  operator_object *bound = PyObject_New(operator_object, type);
  if (!bound) return false;
  bound->operator= & operators[i];
  definitions[i] = (PyMethodDef){operators[i].name, (PyCFunction)(void (*)(void))call_bound,
                                 METH_FASTCALL | METH_KEYWORDS, operators[i].doc};
  PyObject *function = PyCFunction_NewEx(&definitions[i], (PyObject *)bound, module_name);
  Py_DECREF(bound);
  bool is_added = function && PyDict_SetItemString(functions, operators[i].name, function) == 0;
  Py_XDECREF(function);
  return is_added;
}

static bool is_cubic(const char *name) {
  for (size_t i = 0; i < sizeof cubic / sizeof cubic[0]; i++) {
    if (strcmp(name, cubic[i]) == 0) return true;
  }
  return false;
}

bool tsrpy_operators_init(PyObject *module) {
  PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
  PyObject *functions = PyDict_New(), *module_name = PyUnicode_FromString(TSRPY_MODULE ".ops");
  bool is_right = type && functions && module_name;
  for (int i = 0; i < OPERATOR_COUNT; i++) {
    few_of[i] = tsrpy_few_find(operators[i].name);
    small_of[i] = tsrpy_small_find(operators[i].name);
    if (is_cubic(operators[i].name)) work_of[i] = WORK_CUBIC;
  }
  for (int i = 0; is_right && i < OPERATOR_COUNT; i++) is_right = add_function(functions, type, module_name, i);
  is_right = is_right && PyModule_AddObjectRef(module, "operators", functions) == 0;
  Py_XDECREF((PyObject *)type);
  Py_XDECREF(functions);
  Py_XDECREF(module_name);
  return is_right;
}
