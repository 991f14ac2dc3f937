// SPDX-License-Identifier: MIT
// scatter_add in a fixed order: all additions to one element are made by one thread, in the row-major order of the indices.
//
// If the result has another axis than the indexed one, threads take parts of that axis. Otherwise each thread takes a range of the indexed axis and has to go through all
// indices, so only a few threads are used.
#include "backends/cpu/lanes/convert_lane.h"
#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/later.h"
#include "backends/cpu/rows/index_planes.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef struct adding {
  const tsri_indexing *by;
  const char *source;
  char *sums;  // what is added to
  tsri_index_plane_fn run;
  int axis;  // that threads cut, or -1: they cut the indexed one
  int parts;
} adding;

// is_plain: the indexed axis is the last one and contiguous, so an index is the place itself.
#define DEFINE_ADD(name, type, sum_type, wide, index_name, index_type)                           \
  static void add_##name##_##index_name(const void *user, const tsri_index_plane *p) {           \
    const adding *a = user;                                                                      \
    const tsri_index_plane plane = *p;                                                           \
    const index_type *indices = (const index_type *)(const void *)plane.indices;                 \
    const type *source = (const type *)(const void *)a->source + plane.first;                    \
    sum_type *sums = (sum_type *)(void *)a->sums + plane.base;                                   \
    const bool is_plain = plane.step == 1 && plane.column == 0;                                  \
    const uint64_t range = (uint64_t)(plane.high - plane.low);                                   \
    for (int64_t r = 0; r < plane.rows; r++, sums += plane.row, source += plane.row_length) {    \
      for (int64_t c = 0; c < plane.columns; c++) {                                              \
        int64_t index = (int64_t)indices[c], position = index < 0 ? index + plane.size : index;  \
        if ((uint64_t)(position - plane.low) >= range) continue;                                 \
        sum_type *sum = sums + (is_plain ? position : c * plane.column + position * plane.step); \
        *sum = (sum_type)(*sum + wide(source[c]));                                               \
      }                                                                                          \
      indices += plane.index_row;                                                                \
    }                                                                                            \
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

// All indices whose index along the cut axis is in this part: a stretch of columns, or of rows for each index of the axes before.
static void add_part(void *user, int part) {
  const adding *a = user;
  const tsri_indexing *by = a->by;
  int64_t columns = tsri_index_columns(by), rows = tsri_index_rows(by), n = a->axis >= 0 ? by->dims[a->axis] : by->size;
  int64_t first = n * part / a->parts, last = n * (part + 1) / a->parts, inner = 1;
  if (a->axis < 0) {
    tsri_index_planes(by, &(tsri_index_plane){.low = first, .high = last}, 0, rows, 0, columns, a->run, a);
    return;
  }
  const tsri_index_plane all = {.high = by->size};
  if (a->axis == by->rank - 1) {
    tsri_index_planes(by, &all, 0, rows, first, last, a->run, a);
    return;
  }
  for (int i = a->axis + 1; i < by->rank - 1; i++) inner *= by->dims[i];
  for (int64_t i = 0; i < rows; i += n * inner) {
    tsri_index_planes(by, &all, i + first * inner, i + last * inner, 0, columns, a->run, a);
  }
}

// The longest axis along which places differ, or -1.
static int cut_axis(const tsri_indexing *by) {
  int longest = -1;
  for (int i = 0; i < by->rank; i++) {
    if (by->strides[i] != 0 && (longest < 0 || by->dims[i] > by->dims[longest])) longest = i;
  }
  return longest >= 0 && by->dims[longest] > 1 ? longest : -1;
}

static void add_all(const cpu_device *device, const tsri_indexing *by, const char *source, char *sums,
                    tsr_dtype dtype) {
  enum { WORTH_A_THREAD = 1 << 14, MOST_RANGES = 4 };
  adding a = {.by = by, .source = source, .sums = sums, .run = adder_for(dtype, by->index_dtype), .axis = cut_axis(by)};
  int64_t count = tsri_index_rows(by) * tsri_index_columns(by);
  int threads = tsri_cpu_threads(device, (uint64_t)count / WORTH_A_THREAD);
  a.parts = a.axis >= 0             ? tsri_cpu_parts(threads, (uint64_t)by->dims[a.axis])
            : threads < MOST_RANGES ? threads
                                    : MOST_RANGES;
  if (count > 0) tsri_parallel(threads, a.parts, add_part, &a);
}

// --- f16 and bf16 ---------------------------------------------------------------------------------------------------------------

typedef struct narrow_sums {
  float *sums;
  uint16_t *y;
  int64_t count;
  const tsri_lane_storage *storage;  // of y's dtype
  int parts;
} narrow_sums;

enum { NARROW_STRETCH = 1 << 12 };  // elements that are converted at a time

static int64_t stretch_of(int64_t first, int64_t last) {
  return last - first < NARROW_STRETCH ? last - first : NARROW_STRETCH;
}

static void widen_part(void *user, int part) {
  const narrow_sums *n = user;
  int64_t last = n->count * (part + 1) / n->parts;
  for (int64_t i = n->count * part / n->parts; i < last; i += NARROW_STRETCH) {
    n->storage->load(n->sums + i, n->y + i, 1, (uint32_t)stretch_of(i, last));
  }
}

static bool has_nan(const float *x, int64_t count) {
  int32_t found = 0;
  for (int64_t i = 0; i < count; i++) found |= x[i] != x[i];
  return found;
}

// Rounds only the elements to which something was added; all others keep their bits. This matters only for NaN, whose bits rounding may change.
static void round_stretch(const narrow_sums *n, int64_t first, int64_t count) {
  uint16_t rounded[NARROW_STRETCH];
  float before[NARROW_STRETCH];
  const float *sums = n->sums + first;
  uint16_t *y = n->y + first;
  bool must_compare = has_nan(sums, count);
  n->storage->store(must_compare ? rounded : y, sums, 1, (uint32_t)count);
  if (!must_compare) return;
  n->storage->load(before, y, 1, (uint32_t)count);
  for (int64_t i = 0; i < count; i++) y[i] = bits_of_f32(sums[i]) == bits_of_f32(before[i]) ? y[i] : rounded[i];
}

static void round_part(void *user, int part) {
  const narrow_sums *n = user;
  int64_t last = n->count * (part + 1) / n->parts;
  for (int64_t i = n->count * part / n->parts; i < last; i += NARROW_STRETCH) round_stretch(n, i, stretch_of(i, last));
}

static tsr_status add_narrow(cpu_device *device, const tsri_indexing *by, const char *source, uint16_t *y,
                             int64_t count, tsr_dtype dtype) {
  enum { WORTH_A_THREAD = 1 << 16 };
  narrow_sums n = {.y = y, .count = count, .storage = &tsri_cpu_engine(device)->isa->storage[dtype]};
  n.sums = (float *)(void *)tsri_cpu_scratch(device, (size_t)count * sizeof *n.sums);
  if (!n.sums) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "scatter_add: no host memory for %lld sums", (long long)count);
  int threads = tsri_cpu_threads(device, (uint64_t)count / WORTH_A_THREAD);
  n.parts = tsri_cpu_parts(threads, (uint64_t)count / WORTH_A_THREAD + 1);
  tsri_parallel(threads, n.parts, widen_part, &n);
  add_all(device, by, source, (char *)n.sums, dtype);
  tsri_parallel(threads, n.parts, round_part, &n);
  return TSR_OK;
}

tsr_status tsri_cpu_scatter_add(cpu_device *device, const tsri_indexing *by, const char *x, const char *source, char *y,
                                int64_t count, tsr_dtype dtype) {
  tsri_cpu_copy_now(device, y, x, (size_t)count * tsr_dtype_bytes(dtype));
  if (dtype == TSR_F16 || dtype == TSR_BF16) {
    return add_narrow(device, by, source, (uint16_t *)(void *)y, count, dtype);
  }
  add_all(device, by, source, y, dtype);
  return TSR_OK;
}
