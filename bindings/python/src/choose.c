// SPDX-License-Identifier: MIT
// x[key] and x[key] = value with lists, masks and index arrays in the key, for small arrays on the CPU: copying the elements on the host takes less time than recording
// a gather or a scatter. Everything else goes to tessera/_indexing.py.
//
// A key is converted to a list of places: for each element of x[key], in row-major order, the number of that element in x.
#include <string.h>

#include "binding.h"

enum { MOST_ELEMENTS = TSRPY_SMALL, MOST_ARRAYS = 4 };

// One list, mask or index array of the key: what each of its indices adds to a place. A mask of several axes is one of these, along one axis.
typedef struct index_array {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  int32_t steps[MOST_ELEMENTS];
} index_array;

typedef struct axis {
  int64_t size, step;
} axis;

typedef struct choice {
  PyObject *x;
  tsr_shape from;                 // the shape of x
  int64_t strides[TSR_MAX_RANK];  // of its elements in row-major order
  int axis;                       // of x that the next item of the key takes
  int64_t first;                  // what numbers and the starts of slices add to each place
  axis basic[2 * TSR_MAX_RANK];   // slices and new axes, in the order of the key
  int basic_count;
  index_array arrays[MOST_ARRAYS];
  int array_count;
  int array_at;     // how many basic axes stand before the first array
  int last_item;    // the last item of the key that was an array, or a number beside one
  bool is_apart;    // something stands between two arrays: their axes come first
  tsr_shape shape;  // of the result
  int32_t places[MOST_ELEMENTS];
  int count;
} choice;

// --- Small arrays ------------------------------------------------------------------------------------------------------

bool tsrpy_is_small(tsr_tensor *x) {
  int64_t count = tsr_tensor_count(x);
  return count > 0 && count <= MOST_ELEMENTS && tsr_dtype_bytes(tsr_tensor_dtype(x)) > 0 && !tsrpy_is_recording() &&
         tsrpy_is_cpu(tsr_tensor_device(x));
}

bool tsrpy_read(tsr_tensor *x, void *out_elements, size_t bytes) {
  tsr_status status;
  if (tsr_peek_all(x, out_elements, bytes)) return true;
  if (tsrpy_is_instant(x)) return tsrpy_check(tsr_read(x, out_elements, bytes));
  if (!tsrpy_wait_tensor(x, true)) return false;
  Py_BEGIN_ALLOW_THREADS status = tsr_read(x, out_elements, bytes);
  Py_END_ALLOW_THREADS return tsrpy_check(status);
}

// Whether an Array is small; it may also hold its elements itself.
static bool is_small(PyObject *x) {
  return tsrpy_is_held(x) ? !tsrpy_is_recording() : tsrpy_is_small(tsrpy_tensor_of(x));
}

static bool read_all(PyObject *x, void *out_elements) {
  const size_t bytes = (size_t)tsrpy_count_of(x) * tsr_dtype_bytes(tsrpy_dtype_of(x));
  if (!tsrpy_is_held(x)) return tsrpy_read(tsrpy_tensor_of(x), out_elements, bytes);
  tsrpy_bits_read((tsrpy_array *)x, out_elements, bytes);
  return true;
}

// --- Arrays of a key -----------------------------------------------------------------------------------------------------

// Notes that item `item` of the key is an array, or a number, which counts as one if there are arrays.
static void note_item(choice *c, int item) {
  if (c->last_item < 0) c->array_at = c->basic_count;
  else if (item > c->last_item + 1) c->is_apart = true;
  c->last_item = item;
}

static bool raise_range(int64_t index, int axis_number, int64_t size) {
  PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld", (long long)index,
               axis_number, (long long)size);
  return false;
}

// check_range(indices, size, axis): IndexError if an index of a small array on the CPU is out of range. False: the array is no such one, and was not read.
PyObject *tsrpy_check_range(PyObject *module, PyObject *args) {
  PyObject *x = NULL;
  long long size = 0;
  int axis_number = 0;
  int64_t indices[MOST_ELEMENTS];
  unsigned char elements[MOST_ELEMENTS * 8];
  (void)module;
  if (!PyArg_ParseTuple(args, "OLi", &x, &size, &axis_number)) return NULL;
  if (!tsrpy_is_array(x) || !is_small(x)) return PyBool_FromLong(false);
  tsr_dtype_kind kind = tsr_dtype_kind_of(tsrpy_dtype_of(x));
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) return PyBool_FromLong(false);
  int64_t count = tsrpy_count_of(x);
  if (!read_all(x, elements)) return NULL;
  if (!tsrpy_check(tsr_convert(TSR_I64, indices, tsrpy_dtype_of(x), elements, (size_t)count))) return NULL;
  for (int64_t i = 0; i < count; i++) {
    if ((indices[i] < -size || indices[i] >= size) && !raise_range(indices[i], axis_number, size)) return NULL;
  }
  return PyBool_FromLong(true);
}

// Adds an index to an array. False with an exception: it is out of range.
static bool put_index(const choice *c, index_array *array, int at, int64_t index) {
  int64_t size = c->from.dims[c->axis], place = index < 0 ? index + size : index;
  if (place < 0 || place >= size) return raise_range(index, c->axis, size);
  array->steps[at] = (int32_t)(place * c->strides[c->axis]);
  return true;
}

// Integers of the host, of a dtype that Python's tests use as indices. False without an exception: of another one.
static bool put_indices(const choice *c, index_array *array, tsr_dtype dtype, const void *elements, int count) {
  int64_t wholes[MOST_ELEMENTS];
  if (dtype == TSR_I64) memcpy(wholes, elements, (size_t)count * sizeof wholes[0]);
  else if (tsr_convert(TSR_I64, wholes, dtype, elements, (size_t)count) != TSR_OK) return false;
  for (int i = 0; i < count; i++) {
    if (!put_index(c, array, i, wholes[i])) return false;
  }
  return true;
}

// A mask over `rank` axes of x, from the current one on: the places where it is true, along one axis. False: it has another shape.
static bool put_mask(const choice *c, index_array *array, const unsigned char *is_chosen, const int64_t *dims,
                     int rank) {
  if (c->axis + rank > c->from.rank) return false;
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    if (dims[i] != c->from.dims[c->axis + i]) return false;
    count *= dims[i];
  }
  int32_t step = (int32_t)c->strides[c->axis + rank - 1];  // x is row-major, so these axes are one
  array->rank = 1;
  array->dims[0] = 0;
  for (int32_t i = 0; i < count; i++) {
    if (is_chosen[i]) array->steps[array->dims[0]++] = i * step;
  }
  return true;
}

// A flat list of bools, or of ints. False: it is something else.
static bool read_list(choice *c, index_array *array, PyObject *list) {
  Py_ssize_t count = PyList_Size(list);
  if (count == 0 || count > MOST_ELEMENTS) return false;
  bool is_mask = PyBool_Check(PyList_GetItem(list, 0));
  unsigned char is_chosen[MOST_ELEMENTS];
  array->rank = 1;
  array->dims[0] = count;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyList_GetItem(list, i);
    int overflow = 0;
    if (!PyLong_Check(item) || PyBool_Check(item) != is_mask) return false;
    int64_t index = PyLong_AsLongLongAndOverflow(item, &overflow);
    is_chosen[i] = index != 0;
    if (overflow || (!is_mask && !put_index(c, array, (int)i, index))) return false;
  }
  if (is_mask && !put_mask(c, array, is_chosen, array->dims, 1)) return false;
  c->axis++;
  return true;
}

// An Array of integers or bools. False: it is something else, or not small.
static bool read_array(choice *c, index_array *array, PyObject *given) {
  unsigned char elements[MOST_ELEMENTS * 8];
  tsr_dtype dtype = tsrpy_dtype_of(given);
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  tsr_shape shape = tsrpy_shape_of(given);
  int count = (int)tsrpy_count_of(given);
  bool is_mask = kind == TSR_KIND_BOOL;
  if (kind == TSR_KIND_FLOAT || (is_mask && shape.rank == 0) || !is_small(given)) return false;
  if (!read_all(given, elements)) return false;
  array->rank = shape.rank;
  memcpy(array->dims, shape.dims, sizeof shape.dims);
  if (is_mask) {
    if (!put_mask(c, array, elements, shape.dims, shape.rank)) return false;
    c->axis += shape.rank;
    return true;
  }
  return put_indices(c, array, dtype, elements, count) && ++c->axis;
}

// --- Keys ----------------------------------------------------------------------------------------------------------------

static void add_basic(choice *c, int64_t size, int64_t step) { c->basic[c->basic_count++] = (axis){size, step}; }

static bool read_slice(choice *c, PyObject *item) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) return false;
  Py_ssize_t size = PySlice_AdjustIndices((Py_ssize_t)c->from.dims[c->axis], &start, &stop, step);
  int64_t stride = c->strides[c->axis++];
  c->first += size > 0 ? start * stride : 0;
  add_basic(c, size, step * stride);
  return true;
}

static bool read_whole(choice *c, PyObject *item, int at) {
  int overflow = 0;
  int64_t index = PyLong_AsLongLongAndOverflow(item, &overflow), size = c->from.dims[c->axis];
  int64_t place = index < 0 ? index + size : index;
  if (overflow || place < 0 || place >= size) return false;
  note_item(c, at);
  c->first += place * c->strides[c->axis++];
  return true;
}

// How many axes of x an item takes; -1: the item is none of those that are read here.
static int axes_of(PyObject *item) {
  if (item == Py_None || item == Py_Ellipsis) return 0;
  if (PySlice_Check(item) || PyList_Check(item)) return 1;
  if (PyLong_Check(item)) return PyBool_Check(item) ? -1 : 1;
  if (!tsrpy_is_array(item)) return -1;
  return tsrpy_dtype_of(item) == TSR_BOOL ? tsrpy_rank_of(item) : 1;
}

static bool read_item(choice *c, PyObject *item, int at, int skipped) {
  if (item == Py_Ellipsis) {
    for (int i = 0; i < skipped; i++, c->axis++) add_basic(c, c->from.dims[c->axis], c->strides[c->axis]);
    return true;
  }
  if (item == Py_None) {
    add_basic(c, 1, 0);
    return true;
  }
  if (PySlice_Check(item)) return read_slice(c, item);
  if (PyLong_Check(item)) return read_whole(c, item, at);
  if (c->array_count == MOST_ARRAYS) return false;
  note_item(c, at);
  index_array *array = &c->arrays[c->array_count++];
  return PyList_Check(item) ? read_list(c, array, item) : read_array(c, array, item);
}

// Reads a key: a tuple, or one item. False: it is not one for here; with an exception if it is wrong.
static bool read_key(choice *c, PyObject *key) {
  bool is_tuple = PyTuple_Check(key);
  int count = is_tuple ? (int)PyTuple_Size(key) : 1, used = 0, ellipses = 0;
  if (count > TSR_MAX_RANK) return false;
  for (int i = 0; i < count; i++) {
    PyObject *item = is_tuple ? PyTuple_GetItem(key, i) : key;
    int axes = axes_of(item);
    if (axes < 0) return false;
    used += axes;
    ellipses += item == Py_Ellipsis;
  }
  if (ellipses > 1 || used > c->from.rank) return false;
  for (int i = 0; i < count; i++) {
    if (!read_item(c, is_tuple ? PyTuple_GetItem(key, i) : key, i, c->from.rank - used)) return false;
  }
  for (; c->axis < c->from.rank; c->axis++) add_basic(c, c->from.dims[c->axis], c->strides[c->axis]);
  return c->array_count > 0;
}

// --- Places ----------------------------------------------------------------------------------------------------------------

// Repeats each place for the elements along one more axis of the result. False: that are too many.
static bool expand(choice *c, int64_t size, int64_t step) {
  if (c->count * size > MOST_ELEMENTS || c->shape.rank == TSR_MAX_RANK) return false;
  c->shape.dims[c->shape.rank++] = size;
  for (int i = c->count * (int)size; i-- > 0;) c->places[i] = c->places[i / size] + (int32_t)(i % size * step);
  c->count *= (int)size;
  return true;
}

// The shape of all arrays together. False: they have none.
static bool broadcast(const choice *c, tsr_shape *out_shape) {
  *out_shape = (tsr_shape){0};
  for (int i = 0; i < c->array_count; i++) {
    if (c->arrays[i].rank > out_shape->rank) out_shape->rank = c->arrays[i].rank;
  }
  for (int at = 0; at < out_shape->rank; at++) out_shape->dims[at] = 1;
  for (int i = 0; i < c->array_count; i++) {
    int missing = out_shape->rank - c->arrays[i].rank;
    for (int at = missing; at < out_shape->rank; at++) {
      int64_t size = c->arrays[i].dims[at - missing];
      if (size == 1) continue;
      if (out_shape->dims[at] != 1 && out_shape->dims[at] != size) return false;
      out_shape->dims[at] = size;
    }
  }
  return true;
}

int64_t tsrpy_broadcast_place(const int64_t *dims, int rank, const tsr_shape *shape, int64_t at) {
  int64_t place = 0, step = 1;
  for (int i = shape->rank - 1; i >= shape->rank - rank; i--) {
    int64_t size = dims[i - (shape->rank - rank)];
    if (size > 1) place += at % shape->dims[i] * step;
    at /= shape->dims[i];
    step *= size;
  }
  return place;
}

// As expand, for the axes of all arrays.
static bool expand_arrays(choice *c) {
  tsr_shape all;
  if (!broadcast(c, &all) || c->shape.rank + all.rank > TSR_MAX_RANK) return false;
  int64_t count = 1;
  for (int i = 0; i < all.rank; i++) {
    count *= all.dims[i];
    c->shape.dims[c->shape.rank++] = all.dims[i];
  }
  if (c->count * count > MOST_ELEMENTS) return false;
  int32_t steps[MOST_ELEMENTS];
  memset(steps, 0, (size_t)count * sizeof steps[0]);
  for (int i = 0; i < c->array_count; i++) {
    const index_array *array = &c->arrays[i];
    bool is_whole =
        array->rank == all.rank && memcmp(array->dims, all.dims, (size_t)all.rank * sizeof all.dims[0]) == 0;
    for (int at = 0; at < count; at++) {
      steps[at] += array->steps[is_whole ? at : tsrpy_broadcast_place(array->dims, array->rank, &all, at)];
    }
  }
  for (int i = c->count * (int)count; i-- > 0;) c->places[i] = c->places[i / count] + steps[i % count];
  c->count *= (int)count;
  return true;
}

// Finds the places that a key names in x. False: general indexing does it; with an exception if the key is wrong.
static bool find_places(choice *c, PyObject *x, PyObject *key) {
  if (!is_small(x)) return false;
  c->x = x;
  c->from = tsrpy_shape_of(x);
  c->axis = c->basic_count = c->array_count = c->array_at = 0;
  c->first = 0;
  c->last_item = -1;
  c->is_apart = false;
  int64_t stride = 1;
  for (int i = c->from.rank - 1; i >= 0; i--) {
    c->strides[i] = stride;
    stride *= c->from.dims[i];
  }
  if (!read_key(c, key)) return false;
  int before = c->is_apart ? 0 : c->array_at;
  c->shape = (tsr_shape){0};
  c->places[0] = (int32_t)c->first;
  c->count = 1;
  for (int i = 0; i < before; i++) {
    if (!expand(c, c->basic[i].size, c->basic[i].step)) return false;
  }
  if (!expand_arrays(c)) return false;
  for (int i = before; i < c->basic_count; i++) {
    if (!expand(c, c->basic[i].size, c->basic[i].step)) return false;
  }
  return true;
}

// --- Reading and writing -----------------------------------------------------------------------------------------------------

static void copy_element(unsigned char *to, const unsigned char *from, size_t bytes) {
  switch (bytes) {  // copies of a size that the compiler knows are single moves
    case 8:
      memcpy(to, from, 8);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    default:
      memcpy(to, from, bytes);
  }
}

// x[indices], the most frequent of these keys: rows along the first axis, one after the other. NULL: the key is something else, or there is an exception.
static PyObject *choose_rows(PyObject *x, PyObject *key) {
  unsigned char elements[MOST_ELEMENTS * 8], chosen[MOST_ELEMENTS * 8];
  int64_t indices[MOST_ELEMENTS], count = tsrpy_count_of(key), all = tsrpy_count_of(x);
  tsr_shape from = tsrpy_shape_of(x), shape = tsrpy_shape_of(key);
  if (tsrpy_dtype_of(key) != TSR_I64 || from.rank == 0 || shape.rank + from.rank - 1 > TSR_MAX_RANK) return NULL;
  if (!is_small(x) || !is_small(key) || all / from.dims[0] * count > MOST_ELEMENTS) return NULL;
  if (!read_all(x, elements) || !read_all(key, indices)) return NULL;
  tsr_dtype dtype = tsrpy_dtype_of(x);
  size_t bytes = tsr_dtype_bytes(dtype) * (size_t)(all / from.dims[0]);
  for (int64_t i = 0; i < count; i++) {
    int64_t row = indices[i] < 0 ? indices[i] + from.dims[0] : indices[i];
    if (row < 0 || row >= from.dims[0]) {
      raise_range(indices[i], 0, from.dims[0]);
      return NULL;
    }
    copy_element(chosen + (size_t)i * bytes, elements + (size_t)row * bytes, bytes);
  }
  for (int i = 1; i < from.rank; i++) shape.dims[shape.rank++] = from.dims[i];
  return tsrpy_few_take(tsrpy_device_of(x), dtype, &shape, count * (all / from.dims[0]), chosen);
}

PyObject *tsrpy_choose(PyObject *x, PyObject *key) {
  PyObject *rows = tsrpy_is_array(key) ? choose_rows(x, key) : NULL;
  if (rows || PyErr_Occurred()) return rows;
  choice c;
  if (!find_places(&c, x, key)) return NULL;
  unsigned char elements[MOST_ELEMENTS * 8], chosen[MOST_ELEMENTS * 8];
  tsr_dtype dtype = tsrpy_dtype_of(x);
  size_t bytes = tsr_dtype_bytes(dtype);
  if (!read_all(x, elements)) return NULL;
  for (int i = 0; i < c.count; i++)
    copy_element(chosen + (size_t)i * bytes, elements + (size_t)c.places[i] * bytes, bytes);
  return tsrpy_few_take(tsrpy_device_of(x), dtype, &c.shape, c.count, chosen);
}

// The elements of a value, converted to a dtype, and their shape. False: general indexing does it; with an exception if the value is wrong.
static bool read_value(PyObject *value, tsr_dtype dtype, unsigned char *out_elements, tsr_shape *out_shape) {
  unsigned char elements[MOST_ELEMENTS * 8];
  tsr_dtype given = tsrpy_dtype_of(value);
  if (!is_small(value) || (given != dtype && tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT)) return false;
  *out_shape = tsrpy_shape_of(value);
  if (given == dtype) return read_all(value, out_elements);
  return read_all(value, elements) &&
         tsrpy_check(tsr_convert(dtype, out_elements, given, elements, (size_t)tsrpy_count_of(value)));
}

// Whether elements of a shape can be broadcast to the places of a choice; axes of size 1 before them may be more.
static bool is_broadcast(const choice *c, tsr_shape *shape) {
  while (shape->rank > c->shape.rank && shape->dims[0] == 1) {
    memmove(shape->dims, shape->dims + 1, (size_t)--shape->rank * sizeof shape->dims[0]);
  }
  if (shape->rank > c->shape.rank) return false;
  for (int i = 0; i < shape->rank; i++) {
    int64_t wanted = c->shape.dims[c->shape.rank - shape->rank + i];
    if (shape->dims[i] != wanted && shape->dims[i] != 1) return false;
  }
  return true;
}

static bool write_places(const choice *c, const unsigned char *values, const tsr_shape *shape) {
  unsigned char elements[MOST_ELEMENTS * 8];
  size_t bytes = tsr_dtype_bytes(tsrpy_dtype_of(c->x));
  if (c->count == 0) return true;
  if (!read_all(c->x, elements)) return false;
  for (int i = 0; i < c->count; i++) {
    size_t from = shape->rank > 0 ? (size_t)tsrpy_broadcast_place(shape->dims, shape->rank, &c->shape, i) : 0;
    copy_element(elements + (size_t)c->places[i] * bytes, values + from * bytes, bytes);
  }
  size_t all = (size_t)tsrpy_count_of(c->x) * bytes;
  if (tsrpy_is_held(c->x)) return tsrpy_bits_write((tsrpy_array *)c->x, elements, all), true;
  tsr_status status;
  tsr_tensor *target = tsrpy_tensor_of(c->x);
  Py_BEGIN_ALLOW_THREADS status = tsr_write(target, elements, all);
  Py_END_ALLOW_THREADS return tsrpy_check(status);
}

// x[indices] = number, the most frequent of these, where x is a list that holds its elements. False: it is something else; with an exception if an index is out of range.
static bool fill_places(PyObject *x, PyObject *key, const unsigned char *value) {
  int64_t indices[TSRPY_HELD_BYTES / sizeof(int64_t)];
  tsrpy_array *array = (tsrpy_array *)x;
  if (!tsrpy_is_array(key) || tsrpy_dtype_of(key) != TSR_I64 || tsrpy_rank_of(key) == 0) return false;
  if (!tsrpy_is_held(x) || array->root || array->shape.rank != 1) return false;
  const int64_t count = tsrpy_count_of(key), size = array->shape.dims[0];
  const size_t bytes = tsr_dtype_bytes(array->dtype);
  if (!tsrpy_few_read(key, indices)) return false;
  for (int64_t i = 0; i < count; i++) {  // all are checked before the first is written
    if (indices[i] < -size || indices[i] >= size) return raise_range(indices[i], 0, size);
  }
  for (int64_t i = 0; i < count; i++) {
    copy_element(array->bits + (size_t)(indices[i] < 0 ? indices[i] + size : indices[i]) * bytes, value, bytes);
  }
  return true;
}

bool tsrpy_choose_assign(PyObject *x, PyObject *key, PyObject *value) {
  unsigned char values[MOST_ELEMENTS * 8];
  tsr_dtype dtype = tsrpy_dtype_of(x);
  tsr_shape shape = {0};
  bool is_list = PyList_Check(value);
  if (!is_small(x)) return false;
  if (tsrpy_is_array(value) || is_list) {
    PyObject *source =
        is_list ? tsrpy_view_take(tsrpy_tensor_from(value, tsrpy_device_of(x), dtype)) : Py_NewRef(value);
    bool is_read = source && read_value(source, dtype, values, &shape);
    Py_XDECREF(source);
    if (!is_read) return false;
  } else if (!tsrpy_number_bits(dtype, value, values)) {
    return false;
  }
  if (shape.rank == 0 && fill_places(x, key, values)) return true;
  if (PyErr_Occurred()) return false;
  choice c;
  return find_places(&c, x, key) && is_broadcast(&c, &shape) && write_places(&c, values, &shape);
}
