// SPDX-License-Identifier: MIT
// Strided copies. Axes that can be traversed as one on both sides are joined first, so most copies become a few long
// runs.
#include "core/strided.h"

#include <string.h>

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
  if (dst_stride == (int64_t)element_bytes && src_stride == dst_stride) {
    memcpy(dst, src, (size_t)count * element_bytes);
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

// --- Transposing ----------------------------------------------------------------------------------------------------
//
// Used if the destination is contiguous along one axis and the source along another. Copies squares, one cache line
// wide and as many elements high, through a small array: so every cache line is read and written once, completely,
// whatever the strides are. Squares are grouped into blocks that touch few pages.

enum { LINE_BYTES = 64, BLOCK = 128 };

#define COPY_SQUARE(bytes)                                                 \
  case bytes:                                                              \
    for (int64_t i = 0; i < rows; i++) {                                   \
      for (int64_t j = 0; j < cols; j++) {                                 \
        memcpy(to + i * to_row + j * bytes, square[j] + i * bytes, bytes); \
      }                                                                    \
    }                                                                      \
    break;

// `rows` elements are contiguous in the source, `cols` elements in the destination. Both fit into a cache line.
static void copy_square(char *to, int64_t to_row, const char *from, int64_t from_col, int64_t rows, int64_t cols,
                        size_t element_bytes) {
  unsigned char square[LINE_BYTES][LINE_BYTES];
  if (rows * (int64_t)element_bytes == LINE_BYTES) {
    for (int64_t j = 0; j < cols; j++) memcpy(square[j], from + j * from_col, LINE_BYTES);
  } else {
    for (int64_t j = 0; j < cols; j++) memcpy(square[j], from + j * from_col, (size_t)rows * element_bytes);
  }
  switch (element_bytes) {
    COPY_SQUARE(1)
    COPY_SQUARE(2)
    COPY_SQUARE(4)
    COPY_SQUARE(8)
    default:
      break;  // no dtype has another size
  }
}
#undef COPY_SQUARE

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void copy_block(char *to, int64_t to_row, const char *from, int64_t from_col, int64_t rows, int64_t cols,
                       size_t element_bytes) {
  int64_t side = LINE_BYTES / (int64_t)element_bytes, bytes = (int64_t)element_bytes;
  for (int64_t i = 0; i < rows; i += side) {
    for (int64_t j = 0; j < cols; j += side) {
      copy_square(to + i * to_row + j * bytes, to_row, from + i * bytes + j * from_col, from_col,
                  smaller(side, rows - i), smaller(side, cols - j), element_bytes);
    }
  }
}

// Transposes one plane; the source is contiguous along axis `row`.
static void transpose_plane(const copy_plan *plan, int row, char *to, const char *from, size_t element_bytes) {
  int col = plan->rank - 1;
  int64_t bytes = (int64_t)element_bytes;
  for (int64_t i = 0; i < plan->dims[row]; i += BLOCK) {
    for (int64_t j = 0; j < plan->dims[col]; j += BLOCK) {
      copy_block(to + i * plan->dst[row] + j * bytes, plan->dst[row], from + i * bytes + j * plan->src[col],
                 plan->src[col], smaller(BLOCK, plan->dims[row] - i), smaller(BLOCK, plan->dims[col] - j),
                 element_bytes);
    }
  }
}

// The axis to transpose with the last one, or -1 if copying runs is better.
static int transposed_axis(const copy_plan *plan, int64_t element_bytes) {
  enum { WORTH_IT = 8 };  // with shorter sides squares would be mostly empty
  int last = plan->rank - 1;
  if (plan->dst[last] != element_bytes || plan->src[last] == element_bytes || plan->dims[last] < WORTH_IT) return -1;
  for (int i = 0; i < last; i++) {
    if (plan->src[i] == element_bytes && plan->dims[i] >= WORTH_IT) return i;
  }
  return -1;
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

void tsri_strided_copy(void *dst, const tsri_layout *dst_layout, const void *src, const tsri_layout *src_layout,
                       size_t element_bytes) {
  if (dst_layout->count == 0) return;
  copy_plan plan = plan_copy(dst_layout, src_layout, (int64_t)element_bytes);
  char *to = (char *)dst + dst_layout->offset * (int64_t)element_bytes;
  const char *from = (const char *)src + src_layout->offset * (int64_t)element_bytes;
  int inner = plan.rank - 1;
  if (inner < 0) {
    memcpy(to, from, element_bytes);
    return;
  }
  int row = transposed_axis(&plan, (int64_t)element_bytes);
  int64_t index[TSR_MAX_RANK] = {0};
  do {
    if (row >= 0) transpose_plane(&plan, row, to, from, element_bytes);
    else copy_run(to, plan.dst[inner], from, plan.src[inner], plan.dims[inner], element_bytes);
  } while (next_index(&plan, inner, row, index, &to, &from));
}
