// SPDX-License-Identifier: MIT
// pixel_shuffle and pixel_unshuffle: move channels to squares of pixels, and back; a permuted view that is copied once.
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"

#include <tessera/ops.h>

static tsr_status check(const char *name, const tsr_tensor *x, int64_t factor) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(name, x);
  if (status != TSR_OK) return status;
  tsr_shape shape = x->layout.shape;
  if (shape.rank < 3 || shape.rank > TSR_MAX_RANK - 2) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: x is %s; it has 3 to %d axes", name,
                     tsr_shape_format(shape, text, sizeof text), TSR_MAX_RANK - 2);
  }
  if (factor >= 1 && factor <= INT32_MAX) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: a factor of %lld", name, (long long)factor);
}

static tsr_status fail_division(const char *name, const tsr_tensor *x, int64_t factor) {
  char text[TSR_SHAPE_TEXT_BYTES];
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the factor %lld does not divide %s", name, (long long)factor,
                   tsr_shape_format(x->layout.shape, text, sizeof text));
}

// Reshapes x to `apart`, permutes the last five axes to `order`, and reshapes the result to `shape`.
static tsr_tensor *rearranged(const char *name, tsr_tensor *x, tsr_shape apart, const int *order, tsr_shape shape) {
  int axes[TSR_MAX_RANK], before = apart.rank - 5;
  for (int i = 0; i < apart.rank; i++) axes[i] = i < before ? i : before + order[i - before];
  tsr_tensor *parts = tsr_reshape(x, apart), *turned = tsri_then(tsr_permute(parts, axes, apart.rank), parts);
  return tsri_tensor_named(name, tsri_then(tsr_reshape(turned, shape), turned));
}

tsr_tensor *tsr_pixel_shuffle(tsr_tensor *x, int64_t factor) {
  static const char name[] = "pixel_shuffle";
  tsr_status status = check(name, x, factor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape, apart = shape;
  int c = shape.rank - 3;
  int64_t square = factor * factor;
  if (shape.dims[c] % square != 0) return tsri_tensor_fail(fail_division(name, x, factor));
  const int64_t parts[5] = {shape.dims[c] / square, factor, factor, shape.dims[c + 1], shape.dims[c + 2]};
  apart.rank += 2;
  for (int i = 0; i < 5; i++) apart.dims[c + i] = parts[i];
  shape.dims[c] = parts[0];
  if (!tsri_mul_i64(parts[3], factor, &shape.dims[c + 1]) || !tsri_mul_i64(parts[4], factor, &shape.dims[c + 2]))
    return tsri_tensor_fail(fail_division(name, x, factor));
  return rearranged(name, x, apart, (const int[]){0, 3, 1, 4, 2}, shape);
}

tsr_tensor *tsr_pixel_unshuffle(tsr_tensor *x, int64_t factor) {
  static const char name[] = "pixel_unshuffle";
  tsr_status status = check(name, x, factor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape, apart = shape;
  int c = shape.rank - 3;
  if (shape.dims[c + 1] % factor != 0 || shape.dims[c + 2] % factor != 0)
    return tsri_tensor_fail(fail_division(name, x, factor));
  const int64_t parts[5] = {shape.dims[c], shape.dims[c + 1] / factor, factor, shape.dims[c + 2] / factor, factor};
  apart.rank += 2;
  for (int i = 0; i < 5; i++) apart.dims[c + i] = parts[i];
  if (!tsri_mul_i64(parts[0], factor * factor, &shape.dims[c])) return tsri_tensor_fail(fail_division(name, x, factor));
  shape.dims[c + 1] = parts[1];
  shape.dims[c + 2] = parts[3];
  return rearranged(name, x, apart, (const int[]){0, 2, 4, 1, 3}, shape);
}
