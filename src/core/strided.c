// SPDX-License-Identifier: MIT
// Strided copies. Axes that can be traversed as one on both sides are joined first, so most copies become a few long
// runs.
#include "core/strided.h"

#include <string.h>

#include "core/lines.h"

// The joined axes, outermost first; strides are in bytes.
typedef struct copy_plan {
  int rank;
  int64_t dims[TSR_MAX_RANK], dst[TSR_MAX_RANK], src[TSR_MAX_RANK];
} copy_plan;

static copy_plan plan_copy(const tsri_layout *dst, const tsri_layout *src, int64_t element_bytes) {
  copy_plan plan = {0};
  for (int i = 0; i < dst->shape.rank; i++) {
    int64_t size = dst->shape.dims[i], to = dst->strides[i] * element_bytes, from = src->strides[i] * element_bytes;
    if (size == 1) continue;
    int last = plan.rank - 1;
    if (last >= 0 && plan.dst[last] == to * size && plan.src[last] == from * size) {
      plan.dims[last] *= size;
      plan.dst[last] = to;
      plan.src[last] = from;
      continue;
    }
    plan.dims[plan.rank] = size;
    plan.dst[plan.rank] = to;
    plan.src[plan.rank] = from;
    plan.rank++;
  }
  return plan;
}

#define COPY_RUN(bytes)                                          \
  case bytes:                                                    \
    for (int64_t i = 0; i < count; i++) {                        \
      memcpy(dst + i * dst_stride, src + i * src_stride, bytes); \
    }                                                            \
    break;

// Constant sizes let the compiler turn each memcpy into a single move.
static void copy_run(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t count,
                     size_t element_bytes) {
  if (dst_stride == (int64_t)element_bytes) {
    if (src_stride == dst_stride) memcpy(dst, src, (size_t)count * element_bytes);
    else tsri_gather_line(dst, src_stride, src, count, element_bytes);
    return;
  }
  switch (element_bytes) {
    COPY_RUN(1)
    COPY_RUN(2)
    COPY_RUN(4)
    COPY_RUN(8)
    default:
      break;  // no dtype has another size
  }
}
#undef COPY_RUN

// --- Short runs -----------------------------------------------------------------------------------------------------
//
// Runs of a few elements, where a function call for each run would take longer than copying it. Not in web pages, whose
// module has to stay small.

#if defined(__wasm__)
enum { LONGEST_SHORT_RUN = 0 };
#else
enum { LONGEST_SHORT_RUN = 12 };
#endif

#define COPY_RUNS(bytes)                                            \
  case bytes:                                                       \
    for (int64_t r = 0; r < plan->dims[row]; r++) {                 \
      char *dst = to + r * plan->dst[row];                          \
      const char *src = from + r * plan->src[row];                  \
      for (int64_t i = 0; i < plan->dims[inner]; i++) {             \
        memcpy(dst + i * bytes, src + i * plan->src[inner], bytes); \
      }                                                             \
    }                                                               \
    break;

// Copies the runs of the last two axes, which are contiguous in the destination.
static void copy_short_runs(const copy_plan *plan, char *to, const char *from, int64_t element_bytes) {
  int inner = plan->rank - 1, row = plan->rank - 2;
  if (plan->src[inner] == element_bytes) {
    size_t bytes = (size_t)(plan->dims[inner] * element_bytes);
    for (int64_t r = 0; r < plan->dims[row]; r++) {
      tsri_copy_few(to + r * plan->dst[row], from + r * plan->src[row], bytes);
    }
    return;
  }
  switch (element_bytes) {
    COPY_RUNS(1)
    COPY_RUNS(2)
    COPY_RUNS(4)
    COPY_RUNS(8)
    default:
      break;  // no dtype has another size
  }
}
#undef COPY_RUNS

static bool has_short_runs(const copy_plan *plan, int64_t element_bytes) {
  int inner = plan->rank - 1;
  if (inner == 0 || LONGEST_SHORT_RUN == 0 || plan->dst[inner] != element_bytes) return false;
  if (plan->src[inner] == element_bytes) return plan->dims[inner] * element_bytes <= TSRI_FEW_BYTES;
  return plan->dims[inner] <= LONGEST_SHORT_RUN;
}

// --- Transposing ----------------------------------------------------------------------------------------------------
//
// Used if the destination is contiguous along one axis, and the source is contiguous along another or has a stride of at most two elements there. Copies
// squares whose rows and columns have as many elements as a cache line, through an array on the stack: so every cache line is read and written once,
// completely, whatever the strides are. Squares are grouped into strips of STRIP columns. The next square down continues the source's cache lines; the next
// square to the right continues the destination's.

enum { STRIP = 256 };  // columns

// Prefetches the cache line at an address, which may be outside of any object. FETCH: into the second-level cache, for reading. FETCH_TO_WRITE: for writing.
#if defined(__GNUC__) && !defined(__wasm__)
#define FETCH(address)          __builtin_prefetch(address, 0, 2)
#define FETCH_TO_WRITE(address) __builtin_prefetch(address, 1, 3)
#else
#define FETCH(address)          (void)(address)
#define FETCH_TO_WRITE(address) (void)(address)
#endif

// Source and destination of a plane that is transposed. Elements of a row are `from_row` bytes apart in the source; elements of a column are contiguous in the
// destination.
typedef struct turned {
  char *to;
  const char *from;
  int64_t to_row, from_row, from_col;
  size_t element_bytes;
} turned;

static turned turned_at(const turned *t, int64_t row, int64_t col) {
  turned moved = *t;
  moved.to += row * t->to_row + col * (int64_t)t->element_bytes;
  moved.from += row * t->from_row + col * t->from_col;
  return moved;
}

// Transposes one square. Its rows and columns have at most as many elements as a cache line.
static void copy_square(const turned *t, int64_t rows, int64_t cols) {
  unsigned char square[TSRI_TILE_BYTES][TSRI_TILE_BYTES];
  size_t bytes = (size_t)rows * t->element_bytes;
  bool is_side_by_side = t->from_row == (int64_t)t->element_bytes;
  if (is_side_by_side && bytes == TSRI_TILE_BYTES) {
    for (int64_t j = 0; j < cols; j++) memcpy(square[j], t->from + j * t->from_col, TSRI_TILE_BYTES);
  } else if (is_side_by_side) {
    for (int64_t j = 0; j < cols; j++) memcpy(square[j], t->from + j * t->from_col, bytes);
  } else {
    tsri_gather_tile(square, t->from_row, t->from, t->from_col, cols, rows, t->element_bytes);
  }
  tsri_turn_tile(t->to, t->to_row, square, rows, cols, t->element_bytes);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Prefetches the square below `t` in the source, which is copied after this row of squares, and the destination of the square after the next one. Each of its
// cache lines is on a different page, and hardware prefetchers work within a page only.
static void fetch_ahead(const turned *t, int64_t side) {
  enum { SQUARES_AHEAD = 2 };
  int64_t bytes = side * t->from_row;
  const char *from = t->from + bytes, *to = t->to + SQUARES_AHEAD * TSRI_TILE_BYTES;
  for (int64_t i = 0; i < side; i++, from += t->from_col, to += t->to_row) {
    for (int64_t at = 0; at < bytes; at += TSRI_TILE_BYTES) FETCH(from + at);
    FETCH_TO_WRITE(to);
  }
}

static void copy_strip(const turned *t, int64_t rows, int64_t cols) {
  enum { FEW_COLUMNS = 32 };  // hardware prefetchers follow this many streams without help
  int64_t side = TSRI_TILE_BYTES / (int64_t)t->element_bytes;
  for (int64_t i = 0; i < rows; i += side) {
    for (int64_t j = 0; j < cols; j += side) {
      turned square = turned_at(t, i, j);
      if (cols > FEW_COLUMNS) fetch_ahead(&square, side);
      copy_square(&square, smaller(side, rows - i), smaller(side, cols - j));
    }
  }
}

// Transposes one plane, of axis `row` and the last one.
static void transpose_plane(const copy_plan *plan, int row, char *to, const char *from, size_t element_bytes) {
  int col = plan->rank - 1;
  turned plane = {to, from, plan->dst[row], plan->src[row], plan->src[col], element_bytes};
  for (int64_t j = 0; j < plan->dims[col]; j += STRIP) {
    turned strip = turned_at(&plane, 0, j);
    copy_strip(&strip, plan->dims[row], smaller(STRIP, plan->dims[col] - j));
  }
}

// The axis, other than the last and with at least `least` elements, along which the source's stride is smallest. That stride must be one element, or at most two
// for elements of up to 4 bytes. -1: there is no such axis, or the last axis has as small a stride, or repeats one element in long runs.
static int close_axis(const copy_plan *plan, int64_t least, int64_t element_bytes) {
  enum { SHORT_RUN = 64 };  // copying runs is better if an element is repeated more often than this
  int found = -1, last = plan->rank - 1;
  int64_t closest = plan->src[last] < 0 ? -plan->src[last] : plan->src[last];
  int64_t most = element_bytes <= 4 ? 2 * element_bytes : element_bytes;
  if (closest > most || (closest == 0 && plan->dims[last] < SHORT_RUN)) closest = most + 1;
  for (int i = 0; i < plan->rank - 1; i++) {
    if (plan->src[i] <= 0 || plan->src[i] >= closest || plan->dims[i] < least) continue;
    closest = plan->src[i];
    found = i;
  }
  return found;
}

// The axis to transpose with the last one, or -1 if copying runs is better.
static int transposed_axis(const copy_plan *plan, int64_t element_bytes) {
  enum { LEAST_ROWS = 8, LEAST_COLUMNS = 4 };  // with shorter sides squares would be mostly empty
  int last = plan->rank - 1;
  if (plan->dst[last] != element_bytes || plan->dims[last] < LEAST_COLUMNS) return -1;
  return close_axis(plan, LEAST_ROWS, element_bytes);
}

static void swap_sizes(int64_t *values, int a, int b) {
  int64_t kept = values[a];
  values[a] = values[b];
  values[b] = kept;
}

// If the last axis is very short, makes another axis the last one: one along which the source's stride is small.
static void avoid_short_runs(copy_plan *plan, int64_t element_bytes) {
  enum { SHORT = 4 };
  int last = plan->rank - 1, longer = close_axis(plan, SHORT, element_bytes);
  if (plan->dims[last] >= SHORT || longer < 0) return;
  swap_sizes(plan->dims, longer, last);
  swap_sizes(plan->dst, longer, last);
  swap_sizes(plan->src, longer, last);
}

// --- Repeating ------------------------------------------------------------------------------------------------------

// The first axis along which the source repeats a small block (stride 0), and the copies of the block are contiguous in the destination; -1 if there is none.
static int repeated_axis(const copy_plan *plan, int64_t element_bytes) {
  enum { MOST_BYTES = 4096, LEAST_TIMES = 4 };
  int found = -1;
  int64_t bytes = element_bytes;
  for (int i = plan->rank - 1; i >= 0 && plan->dst[i] == bytes && bytes <= MOST_BYTES; i--) {
    bool is_inner = i == plan->rank - 1;  // a run of one element, which copy_run does as well
    if (plan->src[i] == 0 && !is_inner && plan->dims[i] >= LEAST_TIMES) found = i;
    bytes *= plan->dims[i];
  }
  return found;
}

// Copies the block of `bytes` at `to` behind itself, until there are `times` blocks.
static void repeat_block(char *to, int64_t bytes, int64_t times) {
  enum { NEAR_BYTES = 1 << 14 };  // most bytes of one memcpy, so that its source stays in the first-level cache
  int64_t all = bytes * times, most = bytes > NEAR_BYTES ? bytes : NEAR_BYTES / bytes * bytes;
  for (int64_t done = bytes, now = 0; done < all; done += now) {
    now = smaller(smaller(done, most), all - done);
    memcpy(to + done, to, (size_t)now);
  }
}

// --- All axes -------------------------------------------------------------------------------------------------------

// Advances `index` over the axes before `end` except `skipped`; false after the last index.
static bool next_index(const copy_plan *plan, int end, int skipped, int64_t *index, char **to, const char **from) {
  for (int axis = end - 1; axis >= 0; axis--) {
    if (axis == skipped) continue;
    *to += plan->dst[axis];
    *from += plan->src[axis];
    if (++index[axis] < plan->dims[axis]) return true;
    *to -= plan->dst[axis] * plan->dims[axis];
    *from -= plan->src[axis] * plan->dims[axis];
    index[axis] = 0;
  }
  return false;
}

static void copy_planned(const copy_plan *given, char *to, const char *from, int64_t element_bytes) {
  copy_plan plan = *given;
  int inner = plan.rank - 1, row = transposed_axis(&plan, element_bytes);
  if (row < 0) avoid_short_runs(&plan, element_bytes);
  bool is_short = row < 0 && has_short_runs(&plan, element_bytes);
  if (is_short) row = inner - 1;
  int64_t index[TSR_MAX_RANK] = {0};
  do {
    if (is_short) copy_short_runs(&plan, to, from, element_bytes);
    else if (row >= 0) transpose_plane(&plan, row, to, from, (size_t)element_bytes);
    else copy_run(to, plan.dst[inner], from, plan.src[inner], plan.dims[inner], (size_t)element_bytes);
  } while (next_index(&plan, inner, row, index, &to, &from));
}

// For each index of the axes before `axis`: copies the block that is repeated along `axis` once, then repeats it (repeat_block).
static void copy_repeated(const copy_plan *plan, int axis, char *to, const char *from, int64_t element_bytes) {
  copy_plan block = {.rank = plan->rank - axis - 1};
  for (int i = 0; i < block.rank; i++) {
    block.dims[i] = plan->dims[axis + 1 + i];
    block.dst[i] = plan->dst[axis + 1 + i];
    block.src[i] = plan->src[axis + 1 + i];
  }
  int64_t index[TSR_MAX_RANK] = {0};
  do {
    copy_planned(&block, to, from, element_bytes);
    repeat_block(to, plan->dst[axis], plan->dims[axis]);
  } while (next_index(plan, axis, -1, index, &to, &from));
}

void tsri_strided_copy(void *dst, const tsri_layout *dst_layout, const void *src, const tsri_layout *src_layout,
                       size_t element_bytes) {
  if (dst_layout->count == 0) return;
  copy_plan plan = plan_copy(dst_layout, src_layout, (int64_t)element_bytes);
  char *to = (char *)dst + dst_layout->offset * (int64_t)element_bytes;
  const char *from = (const char *)src + src_layout->offset * (int64_t)element_bytes;
  if (plan.rank == 0) {
    memcpy(to, from, element_bytes);
    return;
  }
  int repeated = repeated_axis(&plan, (int64_t)element_bytes);
  if (repeated >= 0) copy_repeated(&plan, repeated, to, from, (int64_t)element_bytes);
  else copy_planned(&plan, to, from, (int64_t)element_bytes);
}
