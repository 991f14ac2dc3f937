// SPDX-License-Identifier: MIT
// gather: if all elements of a row of the result have the same index, the row is copied as a whole, else element by element. Threads take rows of the result,
// or parts of rows if there are few.
#include <string.h>

#include "backends/cpu/rows/index_planes.h"
#include "core/lines.h"
#include "platform/parallel.h"

typedef struct gathering {
  const tsri_indexing *by;
  const char *x;
  char *y;
  size_t element;
  tsri_index_plane_fn run;
  int64_t rows, columns, column_blocks;
  int parts;
} gathering;

// Gathers the elements of a row that share one index.
static void gather_row(const tsri_index_plane *plane, int64_t place, const char *x, char *y, size_t element) {
  const char *from = x + place * (int64_t)element;
  size_t bytes = (size_t)plane->columns * element;
  if (plane->column == 1 && bytes <= TSRI_FEW_BYTES) tsri_copy_few(y, from, bytes);
  else if (plane->column == 1) memcpy(y, from, bytes);
  else tsri_gather_line(y, plane->column * (int64_t)element, from, plane->columns, element);
}

// Prefetches the row that `index` selects, which may not exist: random rows wait for memory, so several should wait at the same time.
static inline void fetch_row(const tsri_index_plane *plane, int64_t index, const void *x, size_t element) {
#if defined(__GNUC__) && !defined(__wasm__)
  __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)(index * plane->step) * element));
#else
  (void)plane, (void)index, (void)x, (void)element;
#endif
}

enum { ROWS_AHEAD = 16 };

enum { BLOCK = 64 };  // indices that are checked together

// --- Short rows with one index each ---------------------------------------------------------------------------------------------

#if !defined(__wasm__)  // the browser module must stay small
// Copies BLOCK rows of `bytes` bytes, at most TSRI_FEW_BYTES: row r from x + offsets[r]. Uses the moves of tsri_copy_few, but their size is chosen only once.
static void copy_short_rows(char *y, const char *x, const int64_t *offsets, size_t bytes) {
#define COPY_ROWS(size)                         \
  for (int r = 0; r < BLOCK; r++, y += bytes) { \
    const char *from = x + offsets[r];          \
    char first[size], last[size];               \
    memcpy(first, from, size);                  \
    memcpy(last, from + bytes - (size), size);  \
    memcpy(y, first, size);                     \
    memcpy(y + bytes - (size), last, size);     \
  }
  if (bytes > 32) COPY_ROWS(32)
  else if (bytes >= 16) COPY_ROWS(16)
  else if (bytes >= 8) COPY_ROWS(8)
  else if (bytes >= 4) COPY_ROWS(4)
  else if (bytes >= 2) COPY_ROWS(2)
  else COPY_ROWS(1)
#undef COPY_ROWS
}

// find_rows_: computes the offsets of BLOCK rows in bytes, and prefetches the rows. False if an index is negative or too large. gather_short_rows_: gathers
// blocks of rows until a block has such an index, and returns the number of rows gathered. While a block is copied, the next one is prefetched.
#define DEFINE_SHORT_ROWS(name, index_type)                                                                          \
  static bool find_rows_##name(const tsri_index_plane *plane, const index_type *indices, int64_t row, const char *x, \
                               size_t element, int64_t *offsets) {                                                   \
    int64_t sign = 0;                                                                                                \
    for (int k = 0; k < BLOCK; k++) {                                                                                \
      int64_t index = (int64_t)indices[(row + k) * plane->index_row];                                                \
      sign |= index | (int64_t)((uint64_t)(plane->size - 1) - (uint64_t)index);                                      \
      uint64_t place = (uint64_t)index * (uint64_t)plane->step + (uint64_t)((row + k) * plane->row);                 \
      offsets[k] = (int64_t)(place * element);                                                                       \
      __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)offsets[k]));                                      \
    }                                                                                                                \
    return sign >= 0;                                                                                                \
  }                                                                                                                  \
  static int64_t gather_short_rows_##name(const tsri_index_plane *plane, const char *x, char *y, size_t element) {   \
    const index_type *indices = (const index_type *)(const void *)plane->indices;                                    \
    int64_t offsets[2][BLOCK], row = 0;                                                                              \
    size_t bytes = (size_t)plane->columns * element;                                                                 \
    bool is_found = plane->rows >= BLOCK && find_rows_##name(plane, indices, 0, x, element, offsets[0]);             \
    for (; is_found; row += BLOCK) {                                                                                 \
      int64_t *now = offsets[row / BLOCK % 2], *then = offsets[row / BLOCK % 2 ^ 1];                                 \
      is_found = row + 2 * BLOCK <= plane->rows && find_rows_##name(plane, indices, row + BLOCK, x, element, then);  \
      copy_short_rows(y + (size_t)row * bytes, x, now, bytes);                                                       \
    }                                                                                                                \
    return row;                                                                                                      \
  }
#else
#define DEFINE_SHORT_ROWS(name, index_type)                                                                        \
  static int64_t gather_short_rows_##name(const tsri_index_plane *plane, const char *x, char *y, size_t element) { \
    (void)plane, (void)x, (void)y, (void)element;                                                                  \
    return 0;                                                                                                      \
  }
#endif

static bool are_short_rows(const tsri_index_plane *plane, size_t element) {
  return plane->index_column == 0 && plane->column == 1 && plane->columns == plane->row_length &&
         (size_t)plane->columns * element <= TSRI_FEW_BYTES;
}

// --- Rows and elements ----------------------------------------------------------------------------------------------------------

// gather_some_: gathers `count` elements of a row from column `c` on, one by one and without branches: for an index out of range it reads element 0 and replaces it by 0.
// gather_block_: for a BLOCK of contiguous indices into one contiguous row of x. It checks all indices first, with vector instructions, and returns false if one is
// negative or too large.
#define DEFINE_GATHER(bits, name, index_type)                                                                     \
  static inline void gather_some_##bits##_##name(const tsri_index_plane *plane, const index_type *indices,        \
                                                 const uint##bits##_t *x, uint##bits##_t *y, int64_t c,           \
                                                 int64_t count) {                                                 \
    for (int64_t end = c + count; c < end; c++) {                                                                 \
      int64_t index = (int64_t)indices[c * plane->index_column];                                                  \
      int64_t position = index + (plane->size & -(index < 0));                                                    \
      bool is_inside = (uint64_t)position < (uint64_t)plane->size;                                                \
      uint##bits##_t element = x[c * plane->column + (is_inside ? position : 0) * plane->step];                   \
      y[c] = is_inside ? element : 0;                                                                             \
    }                                                                                                             \
  }                                                                                                               \
  static bool gather_block_##bits##_##name(const index_type *indices, int64_t size, int64_t step,                 \
                                           const uint##bits##_t *x, uint##bits##_t *y) {                          \
    int64_t sign = 0;                                                                                             \
    for (int k = 0; k < BLOCK; k++)                                                                               \
      sign |= (int64_t)indices[k] | (int64_t)((uint64_t)(size - 1) - (uint64_t)indices[k]);                       \
    if (sign < 0) return false;                                                                                   \
    if (step == 1) {                                                                                              \
      for (int k = 0; k < BLOCK; k++) y[k] = x[indices[k]];                                                       \
    } else {                                                                                                      \
      for (int k = 0; k < BLOCK; k++) y[k] = x[(int64_t)indices[k] * step];                                       \
    }                                                                                                             \
    return true;                                                                                                  \
  }                                                                                                               \
  static void gather_##bits##_##name(const void *user, const tsri_index_plane *p) {                               \
    const gathering *g = user;                                                                                    \
    const index_type *indices = (const index_type *)(const void *)p->indices;                                     \
    const uint##bits##_t *x = (const uint##bits##_t *)(const void *)g->x + p->base;                               \
    uint##bits##_t *y = (uint##bits##_t *)(void *)g->y + p->first;                                                \
    const tsri_index_plane plane = *p; /* the compiler may keep it in registers */                                \
    int64_t place, blocks = plane.index_column == 1 && plane.column == 0 ? plane.columns / BLOCK : 0;             \
    int64_t r = are_short_rows(&plane, sizeof *y)                                                                 \
                    ? gather_short_rows_##name(&plane, (const char *)x, (char *)y, sizeof *y)                     \
                    : 0;                                                                                          \
    x += r * plane.row, y += r * plane.row_length, indices += r * plane.index_row;                                \
    for (; r < plane.rows; r++, x += plane.row, y += plane.row_length, indices += plane.index_row) {              \
      if (plane.index_column == 0 && r + ROWS_AHEAD < plane.rows)                                                 \
        fetch_row(&plane, (int64_t)indices[ROWS_AHEAD * plane.index_row], x + ROWS_AHEAD * plane.row, sizeof *x); \
      if (plane.index_column == 0 && tsri_index_place(&plane, (int64_t)indices[0], &place)) {                     \
        gather_row(&plane, place, (const char *)x, (char *)y, sizeof *y);                                         \
        continue;                                                                                                 \
      }                                                                                                           \
      for (int64_t i = 0; i < blocks; i++) {                                                                      \
        int64_t c = i * BLOCK;                                                                                    \
        if (!gather_block_##bits##_##name(indices + c, plane.size, plane.step, x, y + c))                         \
          gather_some_##bits##_##name(&plane, indices, x, y, c, BLOCK);                                           \
      }                                                                                                           \
      gather_some_##bits##_##name(&plane, indices, x, y, blocks *BLOCK, plane.columns - blocks * BLOCK);          \
    }                                                                                                             \
  }
#define DEFINE_GATHERS(name, index_type) \
  DEFINE_SHORT_ROWS(name, index_type)    \
  DEFINE_GATHER(8, name, index_type)     \
  DEFINE_GATHER(16, name, index_type)    \
  DEFINE_GATHER(32, name, index_type)    \
  DEFINE_GATHER(64, name, index_type)
DEFINE_GATHERS(u8, uint8_t)
DEFINE_GATHERS(i8, int8_t)
DEFINE_GATHERS(i16, int16_t)
DEFINE_GATHERS(i32, int32_t)
DEFINE_GATHERS(u32, uint32_t)
DEFINE_GATHERS(i64, int64_t)

static tsri_index_plane_fn gather_for(tsr_dtype index_dtype, size_t element) {
#define ROW(name) \
  { gather_8_##name, gather_16_##name, gather_32_##name, gather_64_##name }
  static const tsri_index_plane_fn table[TSR_DTYPE_COUNT][4] = {
      [TSR_U8] = ROW(u8),   [TSR_I8] = ROW(i8),   [TSR_I16] = ROW(i16),
      [TSR_I32] = ROW(i32), [TSR_U32] = ROW(u32), [TSR_I64] = ROW(i64),
  };
#undef ROW
  return table[index_dtype][element == 8 ? 3 : element == 4 ? 2 : element == 2 ? 1 : 0];
}

// Tasks are stretches of rows: for each row, one per column block. A part takes neighbouring tasks.
static void gather_part(void *user, int part) {
  const gathering *g = user;
  const tsri_index_plane all = {.high = g->by->size};
  int64_t pieces = g->rows * g->column_blocks, at = pieces * part / g->parts, last = pieces * (part + 1) / g->parts;
  if (g->column_blocks == 1) {
    tsri_index_planes(g->by, &all, at, last, 0, g->columns, g->run, g);
    return;
  }
  for (; at < last; at++) {
    int64_t row = at / g->column_blocks, block = at % g->column_blocks;
    tsri_index_planes(g->by, &all, row, row + 1, g->columns * block / g->column_blocks,
                      g->columns * (block + 1) / g->column_blocks, g->run, g);
  }
}

void tsri_cpu_gather(const cpu_device *device, const tsri_indexing *by, const char *x, char *y, size_t element) {
  enum { WORTH_A_THREAD = 1 << 14, LEAST_STRETCH = 4096, FEW_ROWS = 8 };  // elements; of each thread
  gathering g = {.by = by, .x = x, .y = y, .element = element, .run = gather_for(by->index_dtype, element)};
  g.rows = tsri_index_rows(by);
  g.columns = tsri_index_columns(by);
  if (g.rows == 0 || g.columns == 0) return;
  int threads = tsri_cpu_threads(device, (uint64_t)(g.rows * g.columns) / WORTH_A_THREAD);
  bool are_rows_cut = threads > 1 && g.rows < FEW_ROWS * threads && g.columns >= 2 * LEAST_STRETCH;
  g.column_blocks = are_rows_cut ? (g.columns + LEAST_STRETCH - 1) / LEAST_STRETCH : 1;
  g.parts = tsri_cpu_parts(threads, (uint64_t)(g.rows * g.column_blocks));
  tsri_parallel(threads, g.parts, gather_part, &g);
}
