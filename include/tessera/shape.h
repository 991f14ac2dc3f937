// SPDX-License-Identifier: MIT
// Shapes: up to eight sizes, outermost first, none of them negative.
#ifndef TESSERA_SHAPE_H
#define TESSERA_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <initializer_list>
#endif

#include <tessera/export.h>
#include <tessera/status.h>

#define TSR_MAX_RANK 8

typedef struct tsr_shape {
  int32_t rank;  // 0 (one element) to TSR_MAX_RANK; functions refuse any other rank
  int64_t dims[TSR_MAX_RANK];
} tsr_shape;

// Makes a shape of `rank` sizes. If the rank is out of range it is kept, without sizes, so that the function which gets
// the shape can report it. If `dims` is NULL the rank becomes -1, for the same reason.
TSR_API tsr_shape tsr_shape_make(int rank, const int64_t *dims);

// TSR_SHAPE(64, 784) is a shape written in place. TSR_SCALAR is the shape of a single element.
#ifdef __cplusplus
template <typename... Sizes>
inline tsr_shape tsr_shape_of(Sizes... sizes) {
  const int64_t dims[] = {static_cast<int64_t>(sizes)...};
  return tsr_shape_make(static_cast<int>(sizeof...(Sizes)), dims);
}
#define TSR_SHAPE(...) tsr_shape_of(__VA_ARGS__)
#else
#define TSR_SHAPE(...) \
  tsr_shape_make((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#endif
#define TSR_SCALAR tsr_shape_make(0, NULL)

// Expands to two arguments, a list of axes and its length, as many operators take them: tsr_sum(x, TSR_AXES(0, 2),
// true). The list lives until the end of the statement.
#ifdef __cplusplus
#define TSR_AXES(...) \
  std::initializer_list<int>{__VA_ARGS__}.begin(), static_cast<int>(std::initializer_list<int>{__VA_ARGS__}.size())
#else
#define TSR_AXES(...) (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#endif

// The number of elements: the product of the sizes; 1 for a scalar.
//
// Errors: TSR_ERR_SHAPE (rank out of range, a negative size, more than 2^63-1 elements).
TSR_API tsr_status tsr_shape_count(tsr_shape shape, int64_t *out_count);

// The shape that two shapes broadcast to. They are aligned at the last axis; sizes must be equal, or one of them 1.
//
// Errors: TSR_ERR_SHAPE, with both shapes and the axis in the message.
TSR_API tsr_status tsr_shape_broadcast(tsr_shape a, tsr_shape b, tsr_shape *out_shape);

// Writes the shape as "4x3" ("[4]" for rank 1, "scalar" for rank 0) to `text`: at most `text_bytes`, including the
// terminating 0. TSR_SHAPE_TEXT_BYTES are always enough. Writes nothing if `text` is NULL or `text_bytes` is 0. Returns
// `text`.
#define TSR_SHAPE_TEXT_BYTES 176
TSR_API char *tsr_shape_format(tsr_shape shape, char *text, size_t text_bytes);

#endif
