// SPDX-License-Identifier: MIT
// Products of many rows with quantised weights: an ordinary product with a copy of the weights, decoded to f32. The copy is released when the product has run.
#include "core/error.h"
#include "graph/graph.h"
#include "ops/compose.h"
#include "ops/product.h"
#include "ops/quant.h"
#include "ops/quant_units.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// MOST_BYTES: largest copy. More weights are decoded and multiplied in at most MOST_PIECES pieces, whose results are concatenated.
enum { MOST_BYTES = 1 << 28, MOST_PIECES = 64 };

static int64_t rows_of(tsr_shape shape) {
  int64_t rows = 1;
  for (int i = 0; i < shape.rank - 1; i++) rows *= shape.dims[i];
  return rows;
}

bool tsri_quant_is_expanded(const tsr_device *device, const tsr_tensor *x, int64_t n, int64_t format) {
  tsr_shape shape = x->layout.shape;
  int64_t k = shape.dims[shape.rank - 1], m = rows_of(shape);
  if (m < TSRI_QUANT_MANY_ROWS || n == 0 || k == 0 || x->dtype == TSR_F64) return false;
  if (tsri_quant_has_units(device, x->dtype, m, n, k, format) && x->layout.offset % 8 == 0) return false;
  tsri_native_op op;
  return !tsri_quant_describe(x->dtype, m, n, k, format, &op) || !tsri_device_takes(device, &op);
}

// How many rows of weights a piece has.
static int64_t piece_of(const tsr_device *device, int64_t n, int64_t k) {
  uint64_t most = device->limits.max_binding_bytes;
  if (most == 0 || most > MOST_BYTES) most = MOST_BYTES;
  int64_t rows = (int64_t)most / (k * (int64_t)sizeof(float)), least = (n + MOST_PIECES - 1) / MOST_PIECES;
  return rows > least ? rows : least;
}

static tsr_tensor *decoded(tsr_tensor *w, int64_t format) {
  if (format != TSRI_QUANT_I8) return tsr_dequantize(w, (tsr_quant_format)format, TSR_F32);
  tsr_tensor *bytes = tsr_bit_cast(w, TSR_I8);
  return tsri_then(tsr_cast(bytes, TSR_F32), bytes);
}

// x * w^T for matrices x and w.
static tsr_tensor *product_with(tsr_tensor *x, tsr_tensor *w, int64_t format) {
  tsr_tensor *weights = decoded(w, format), *turned = tsri_then(tsr_transpose(weights, 0, 1), weights);
  return tsri_then(tsri_product_in(TSR_F32, x, turned), turned);
}

static tsr_tensor *product_by_pieces(tsr_tensor *x, tsr_tensor *w, int64_t format, int64_t piece) {
  int64_t n = w->layout.shape.dims[0];
  tsr_tensor *parts[MOST_PIECES];
  int count = 0;
  for (int64_t from = 0; from < n; from += piece) {
    tsr_tensor *rows = tsr_slice(w, 0, from, from + piece < n ? from + piece : n, 1);
    parts[count++] = tsri_then(product_with(x, rows, format), rows);
  }
  tsr_tensor *y = tsr_concat(parts, count, 1);
  tsri_release_all(parts, count);
  return y;
}

tsr_tensor *tsri_quant_expanded(tsr_tensor *x, tsr_tensor *w, int64_t format) {
  tsr_shape shape = x->layout.shape;
  int64_t k = shape.dims[shape.rank - 1], n = w->layout.shape.dims[0], piece = piece_of(x->value->device, n, k);
  tsr_tensor *wide = tsr_cast(x, TSR_F32), *rows = tsri_then(tsr_reshape(wide, TSR_SHAPE(rows_of(shape), k)), wide);
  tsr_status status = tsri_tensor_check("matmul_quantized", rows);
  if (status != TSR_OK) return rows;
  tsr_tensor *sums = n <= piece ? product_with(rows, w, format) : product_by_pieces(rows, w, format, piece);
  tsr_tensor *y = tsri_then(tsri_then(tsr_cast(sums, x->dtype), sums), rows);
  shape.dims[shape.rank - 1] = n;
  return tsri_then(tsr_reshape(y, shape), y);
}
