// SPDX-License-Identifier: MIT
// Strided copies: axes that step evenly on both sides are joined first, so that most copies become a few long runs.
#include "core/strided.h"

#include <string.h>

// The joined axes, outermost first; strides in bytes.
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

// Constant sizes let the compiler turn each memcpy into one move.
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
  int64_t index[TSR_MAX_RANK] = {0};
  for (;;) {
    copy_run(to, plan.dst[inner], from, plan.src[inner], plan.dims[inner], element_bytes);
    int axis = inner - 1;
    for (; axis >= 0; axis--) {
      to += plan.dst[axis];
      from += plan.src[axis];
      if (++index[axis] < plan.dims[axis]) break;
      to -= plan.dst[axis] * plan.dims[axis];
      from -= plan.src[axis] * plan.dims[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
