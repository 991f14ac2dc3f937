// SPDX-License-Identifier: MIT
// scatter_add in a fixed order: all additions to an element are made by one thread, in the row-major order of the indices.
//
// If the result has an axis other than the indexed one, threads take parts of that axis. If that axis is the first one, a part owns a stretch of the result: it
// copies x there, adds, and rounds while the stretch is in the cache of its core. If there is no such axis, or only a short one, additions are first grouped by
// ranges of the result (index_ranges.h), or few threads do all the work. Without grouping, each thread with a range would go through all indices and select its
// own, and the branch mispredictions of that take longer than the additions.
#include <string.h>

#include "backends/cpu/lanes/convert_lane.h"
#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/rows/index_planes.h"
#include "backends/cpu/rows/index_ranges.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef struct adding {
  const tsri_indexing *by;
  const char *source, *x;
  char *y, *sums;                    // sums: what is added to; y, or separate memory of f32
  int64_t count;                     // elements of x and y
  size_t element;                    // bytes of an element of x and y
  const tsri_lane_storage *storage;  // conversions of f16 or bf16; NULL: sums are y
  tsri_index_plane_fn run;
  tsri_index_plane_fn run_places;  // for indices that are places of elements, u32
  int axis;                        // axis that is divided among threads; -1: one thread adds all
  int64_t owned;                   // elements of the result for each index of that axis, if they are contiguous; else 0
  int parts;
} adding;

// Indices are checked in blocks, by vector instructions; if none in a block is negative or too large, its additions need no further checks. The browser module
// checks each index, as it must stay small.
#if defined(__wasm__)
enum { BLOCK = 0 };
#else
enum { BLOCK = 64 };
#endif

enum { AT_ONCE = 4 };  // additions whose indices and values are loaded before the first is made
#define UNROLL _Pragma("GCC unroll 4")

#define DEFINE_CHECK(name, index_type)                                                      \
  static bool are_inside_##name(const index_type *indices, int64_t size) {                  \
    int64_t sign = 0;                                                                       \
    for (int k = 0; k < BLOCK; k++)                                                         \
      sign |= (int64_t)indices[k] | (int64_t)((uint64_t)(size - 1) - (uint64_t)indices[k]); \
    return sign >= 0;                                                                       \
  }
DEFINE_CHECK(u8, uint8_t)
DEFINE_CHECK(i8, int8_t)
DEFINE_CHECK(i16, int16_t)
DEFINE_CHECK(i32, int32_t)
DEFINE_CHECK(u32, uint32_t)
DEFINE_CHECK(i64, int64_t)

// add_some_: additions by `count` indices. add_block_: by BLOCK indices that are in range. is_plain: the indexed axis is the last one and contiguous, so an
// index is also the place.
#define DEFINE_ADD(name, type, sum_type, wide, index_name, index_type)                                                \
  static inline void add_some_##name##_##index_name(const tsri_index_plane *plane, bool is_plain, int64_t column,     \
                                                    int64_t count, const index_type *indices, const type *source,     \
                                                    sum_type *sums) {                                                 \
    for (int64_t c = 0; c < count; c++) {                                                                             \
      int64_t index = (int64_t)indices[c], position = index < 0 ? index + plane->size : index;                        \
      if ((uint64_t)position >= (uint64_t)plane->size) continue;                                                      \
      sum_type *sum = sums + (is_plain ? position : (column + c) * plane->column + position * plane->step);           \
      *sum = (sum_type)(*sum + wide(source[c]));                                                                      \
    }                                                                                                                 \
  }                                                                                                                   \
  static inline void add_block_##name##_##index_name(const tsri_index_plane *plane, bool is_plain, int64_t column,    \
                                                     const index_type *indices, const type *source, sum_type *sums) { \
    for (int64_t c = 0; c < BLOCK; c += AT_ONCE) {                                                                    \
      int64_t places[AT_ONCE];                                                                                        \
      sum_type values[AT_ONCE];                                                                                       \
      UNROLL for (int k = 0; k < AT_ONCE; k++) {                                                                      \
        int64_t position = (int64_t)indices[c + k];                                                                   \
        places[k] = is_plain ? position : (column + c + k) * plane->column + position * plane->step;                  \
        values[k] = (sum_type)wide(source[c + k]);                                                                    \
      }                                                                                                               \
      UNROLL for (int k = 0; k < AT_ONCE; k++) sums[places[k]] = (sum_type)(sums[places[k]] + values[k]);             \
    }                                                                                                                 \
  }                                                                                                                   \
  static void add_##name##_##index_name(const void *user, const tsri_index_plane *p) {                                \
    const adding *a = user;                                                                                           \
    const tsri_index_plane plane = *p; /* the compiler may keep it in registers */                                    \
    const index_type *indices = (const index_type *)(const void *)plane.indices;                                      \
    const type *source = (const type *)(const void *)a->source + plane.first;                                         \
    sum_type *sums = (sum_type *)(void *)a->sums + plane.base;                                                        \
    const bool is_plain = plane.step == 1 && plane.column == 0;                                                       \
    for (int64_t r = 0; r < plane.rows; r++, sums += plane.row, source += plane.row_length) {                         \
      int64_t c = 0;                                                                                                  \
      for (; BLOCK > 0 && c + BLOCK <= plane.columns; c += BLOCK) {                                                   \
        if (!are_inside_##index_name(indices + c, plane.size))                                                        \
          add_some_##name##_##index_name(&plane, is_plain, c, BLOCK, indices + c, source + c, sums);                  \
        else if (is_plain) add_block_##name##_##index_name(&plane, true, c, indices + c, source + c, sums);           \
        else add_block_##name##_##index_name(&plane, false, c, indices + c, source + c, sums);                        \
      }                                                                                                               \
      add_some_##name##_##index_name(&plane, is_plain, c, plane.columns - c, indices + c, source + c, sums);          \
      indices += plane.index_row;                                                                                     \
    }                                                                                                                 \
  }
#define DEFINE_ADDS(index_name, index_type)                            \
  DEFINE_ADD(8, uint8_t, uint8_t, , index_name, index_type)            \
  DEFINE_ADD(16, uint16_t, uint16_t, , index_name, index_type)         \
  DEFINE_ADD(32, uint32_t, uint32_t, , index_name, index_type)         \
  DEFINE_ADD(64, uint64_t, uint64_t, , index_name, index_type)         \
  DEFINE_ADD(f32, float, float, , index_name, index_type)              \
  DEFINE_ADD(f64, double, double, , index_name, index_type)            \
  DEFINE_ADD(f16, uint16_t, float, f32_of_f16, index_name, index_type) \
  DEFINE_ADD(bf16, uint16_t, float, f32_of_bf16, index_name, index_type)
DEFINE_ADDS(u8, uint8_t)
DEFINE_ADDS(i8, int8_t)
DEFINE_ADDS(i16, int16_t)
DEFINE_ADDS(i32, int32_t)
DEFINE_ADDS(u32, uint32_t)
DEFINE_ADDS(i64, int64_t)

static tsri_index_plane_fn adder_for(tsr_dtype dtype, tsr_dtype index_dtype) {
#define ROW(i)                                                                                        \
  {                                                                                                   \
    [TSR_U8] = add_8_##i, [TSR_I8] = add_8_##i, [TSR_I16] = add_16_##i, [TSR_I32] = add_32_##i,       \
    [TSR_U32] = add_32_##i, [TSR_I64] = add_64_##i, [TSR_F32] = add_f32_##i, [TSR_F64] = add_f64_##i, \
    [TSR_F16] = add_f16_##i, [TSR_BF16] = add_bf16_##i                                                \
  }
  static const tsri_index_plane_fn table[TSR_DTYPE_COUNT][TSR_DTYPE_COUNT] = {
      [TSR_U8] = ROW(u8),   [TSR_I8] = ROW(i8),   [TSR_I16] = ROW(i16),
      [TSR_I32] = ROW(i32), [TSR_U32] = ROW(u32), [TSR_I64] = ROW(i64),
  };
#undef ROW
  return table[index_dtype][dtype];
}

// --- The result before and after adding -----------------------------------------------------------------------------------------

enum { NARROW_STRETCH = 1 << 12 };  // elements that are converted at a time

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

// y = x for the elements `first` to `last` - 1; also copies them to separate sums if there are any.
static void begin_stretch(const adding *a, int64_t first, int64_t last) {
  memcpy(a->y + (size_t)first * a->element, a->x + (size_t)first * a->element, (size_t)(last - first) * a->element);
  for (int64_t i = first; a->storage && i < last; i += NARROW_STRETCH) {
    a->storage->load((float *)(void *)a->sums + i, a->y + (size_t)i * a->element, 1,
                     (uint32_t)at_most(last - i, NARROW_STRETCH));
  }
}

static bool has_nan(const float *x, int64_t count) {
  int32_t found = 0;
  for (int64_t i = 0; i < count; i++) found |= x[i] != x[i];
  return found;
}

// Rounds only the elements to which something was added; all others keep their bits. This matters only for NaN, whose bits rounding may change.
static void round_sums(const adding *a, int64_t first, int64_t count) {
  uint16_t rounded[NARROW_STRETCH];
  float before[NARROW_STRETCH];
  const float *sums = (const float *)(const void *)a->sums + first;
  uint16_t *y = (uint16_t *)(void *)a->y + first;
  bool must_compare = has_nan(sums, count);
  a->storage->store(must_compare ? rounded : y, sums, 1, (uint32_t)count);
  if (!must_compare) return;
  a->storage->load(before, y, 1, (uint32_t)count);
  for (int64_t i = 0; i < count; i++) y[i] = bits_of_f32(sums[i]) == bits_of_f32(before[i]) ? y[i] : rounded[i];
}

static void end_stretch(const adding *a, int64_t first, int64_t last) {
  for (int64_t i = first; a->storage && i < last; i += NARROW_STRETCH) {
    round_sums(a, i, at_most(last - i, NARROW_STRETCH));
  }
}

static void begin_part(void *user, int part) {
  const adding *a = user;
  begin_stretch(a, a->count * part / a->parts, a->count * (part + 1) / a->parts);
}

static void end_part(void *user, int part) {
  const adding *a = user;
  end_stretch(a, a->count * part / a->parts, a->count * (part + 1) / a->parts);
}

// --- Adding ---------------------------------------------------------------------------------------------------------------------

// Makes the additions for the indices `first` to `last` - 1 along the divided axis: a stretch of columns, or of rows for each index of the axes before.
static void add_range(const adding *a, int64_t first, int64_t last) {
  const tsri_indexing *by = a->by;
  int64_t columns = tsri_index_columns(by), rows = tsri_index_rows(by), inner = 1;
  const tsri_index_plane all = {.high = by->size};
  if (a->axis < 0 || a->axis == by->rank - 1) {
    tsri_index_planes(by, &all, 0, rows, a->axis < 0 ? 0 : first, a->axis < 0 ? columns : last, a->run, a);
    return;
  }
  for (int i = a->axis + 1; i < by->rank - 1; i++) inner *= by->dims[i];
  for (int64_t i = 0, n = by->dims[a->axis]; i < rows; i += n * inner) {
    tsri_index_planes(by, &all, i + first * inner, i + last * inner, 0, columns, a->run, a);
  }
}

static void add_part(void *user, int part) {
  const adding *a = user;
  int64_t n = a->axis >= 0 ? a->by->dims[a->axis] : 1;
  int64_t first = n * part / a->parts, last = n * (part + 1) / a->parts;
  if (a->owned) begin_stretch(a, first * a->owned, last * a->owned);
  add_range(a, first, last);
  if (a->owned) end_stretch(a, first * a->owned, last * a->owned);
}

// The longest axis along which places differ, or -1.
static int cut_axis(const tsri_indexing *by) {
  int longest = -1;
  for (int i = 0; i < by->rank; i++) {
    if (by->strides[i] != 0 && (longest < 0 || by->dims[i] > by->dims[longest])) longest = i;
  }
  return longest >= 0 && by->dims[longest] > 1 ? longest : -1;
}

// Number of elements of the result for each index of the divided axis, if that is the result's first axis and has indices for all of it; else 0.
static int64_t owned_elements(const adding *a) {
  const tsri_indexing *by = a->by;
  if (a->axis < 0 || by->strides[a->axis] * by->dims[a->axis] != a->count) return 0;
  for (int i = 0; i < by->rank; i++) {
    if (i != a->axis && by->strides[i] >= by->strides[a->axis]) return 0;
  }
  return by->step < by->strides[a->axis] ? by->strides[a->axis] : 0;
}

static int adding_threads(const cpu_device *device, const tsri_indexing *by) {
  enum { WORTH_A_THREAD = 1 << 14 };
  return tsri_cpu_threads(device, (uint64_t)(tsri_index_rows(by) * tsri_index_columns(by)) / WORTH_A_THREAD);
}

static void add_to_range(const void *user, const tsri_range_additions *additions) {
  adding a = *(const adding *)user;
  if (additions->is_first) begin_stretch(&a, additions->first, additions->last);
  a.source = additions->values;
  tsri_index_plane plane = {.rows = 1, .columns = additions->count, .indices = (const char *)additions->places};
  plane.size = a.count;
  plane.step = 1;
  a.run_places(&a, &plane);
  if (additions->is_last) end_stretch(&a, additions->first, additions->last);
}

static void add_all(const cpu_device *device, adding *a) {
  enum { BYTES_WORTH_A_THREAD = 1 << 18 };
  int64_t added = tsri_index_rows(a->by) * tsri_index_columns(a->by);
  uint64_t pieces = (uint64_t)(a->count * (int64_t)a->element / BYTES_WORTH_A_THREAD);
  int adders = adding_threads(device, a->by), threads = tsri_cpu_threads(device, pieces);
  bool can_own = added > 0 && adders >= threads && (a->axis < 0 || a->by->dims[a->axis] >= threads);
  a->owned = can_own ? owned_elements(a) : 0;
  if (!a->owned) {
    a->parts = tsri_cpu_small_parts(threads, pieces + 1);
    tsri_parallel(threads, a->parts, begin_part, a);
  }
  a->parts = a->axis >= 0 ? tsri_cpu_small_parts(adders, (uint64_t)a->by->dims[a->axis]) : 1;
  if (added > 0) tsri_parallel(adders, a->parts, add_part, a);
  if (a->owned || !a->storage) return;
  a->parts = tsri_cpu_small_parts(threads, pieces + 1);
  tsri_parallel(threads, a->parts, end_part, a);
}

tsr_status tsri_cpu_scatter_add(cpu_device *device, const tsri_indexing *by, const char *x, const char *source, char *y,
                                int64_t count, tsr_dtype dtype) {
  adding a = {.by = by, .source = source, .x = x, .y = y, .sums = y, .count = count, .element = tsr_dtype_bytes(dtype)};
  a.run = adder_for(dtype, by->index_dtype);
  a.run_places = adder_for(dtype, TSR_U32);
  a.axis = cut_axis(by);
  bool is_narrow = dtype == TSR_F16 || dtype == TSR_BF16;
  size_t sum_bytes = is_narrow ? (size_t)count * sizeof(float) : 0;
  tsri_range_work ranges = {.by = by, .source = source, .element = a.element, .count = count, .user = &a};
  ranges.threads = adding_threads(device, by);
  ranges.add = add_to_range;
  bool are_ranges = tsri_index_ranges_pay(&ranges, a.axis < 0 ? 1 : by->dims[a.axis]);
  size_t range_bytes = are_ranges ? tsri_index_ranges_bytes(&ranges) : 0;
  char *scratch = sum_bytes + range_bytes > 0 ? tsri_cpu_scratch(device, range_bytes + sum_bytes) : NULL;
  if (is_narrow) {
    a.storage = &tsri_cpu_engine(device)->isa->storage[dtype];
    a.sums = scratch + range_bytes;
  }
  if (!scratch && sum_bytes + range_bytes > 0)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "scatter_add: no host memory for %lld sums", (long long)count);
  ranges.scratch = scratch;
  if (are_ranges) tsri_index_ranges(&ranges);
  else add_all(device, &a);
  return TSR_OK;
}
