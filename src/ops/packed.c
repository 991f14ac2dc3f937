// SPDX-License-Identifier: MIT
#include "ops/packed.h"

#include "core/error.h"
#include "graph/graph.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

tsr_status tsri_packed_shape(const char *caller, tsr_shape shape, tsr_shape *out_bytes) {
  tsr_status status = tsri_shape_check(caller, shape, &(int64_t){0});
  if (status != TSR_OK) return status;
  if (shape.rank == 0)
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: i4 and u4 are packed along the last axis; a scalar has none", caller);
  int64_t *last = &shape.dims[shape.rank - 1];
  if (*last == INT64_MAX)
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: a row of %lld elements is too long", caller, (long long)*last);
  *last = *last / 2 + *last % 2;
  *out_bytes = shape;
  return TSR_OK;
}

tsr_tensor *tsri_packed_bytes(const tsr_tensor *tensor) {
  return tsri_tensor_of(tsri_value_hold(tensor->value), TSR_U8, &tensor->layout);
}

tsr_tensor *tsri_packed_of(tsr_tensor *bytes, tsr_dtype dtype, int64_t last) {
  if (!tsri_tensor_is_usable(bytes)) return bytes;
  tsr_tensor *packed = tsri_tensor_of(tsri_value_hold(bytes->value), dtype, &bytes->layout);
  if (tsri_tensor_is_usable(packed)) packed->packed_last = last;
  tsr_release(bytes);
  return packed;
}

// --- Casts -----------------------------------------------------------------------------------------------------------

static const tsri_op low_u4 = {.name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "($0 & 15u)"};
static const tsri_op high_u4 = {.name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "(($0 >> 4u) & 15u)"};
static const tsri_op low_i4 = {.name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "(i32(($0 & 15u) ^ 8u) - 8)"};
static const tsri_op high_i4 = {
    .name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "(i32((($0 >> 4u) & 15u) ^ 8u) - 8)"};
static const tsri_op both_halves = {
    .name = "cast", .kind = TSRI_OP_ELEMENTWISE, .expression = "(u32($0 & 15) | (u32($1 & 15) << 4u))"};

static tsr_tensor *one_half(const tsri_op *op, tsr_dtype dtype, tsr_tensor *bytes) {
  return tsri_record_elementwise(op, dtype, &(tsri_operand_ref){bytes, TSR_U8}, 1, NULL);
}

// The elements as a tensor of i8 or u8. The low and the high halves of the bytes are extracted separately and interleaved; for rows of odd length, the unused
// last half is dropped.
static tsr_tensor *unpacked(const tsr_tensor *x) {
  bool is_signed = x->dtype == TSR_I4;
  tsr_dtype dtype = is_signed ? TSR_I8 : TSR_U8;
  tsr_tensor *bytes = tsri_packed_bytes(x);
  if (!tsri_tensor_is_usable(bytes)) return bytes;
  tsr_tensor *halves[2] = {one_half(is_signed ? &low_i4 : &low_u4, dtype, bytes),
                           one_half(is_signed ? &high_i4 : &high_u4, dtype, bytes)};
  tsr_shape shape = bytes->layout.shape;
  int last = shape.rank - 1;
  tsr_tensor *pairs = tsr_stack(halves, 2, shape.rank);
  shape.dims[last] *= 2;
  tsr_tensor *flat = tsri_then(tsr_reshape(pairs, shape), pairs);
  tsri_release_all((tsr_tensor *[]){halves[0], halves[1], bytes}, 3);
  return tsri_then(tsr_slice(flat, last, 0, x->packed_last, 1), flat);
}

// x converted to i8 whose low 4 bits are the packed value: floats are truncated and saturate, integers keep their low bits.
static tsr_tensor *narrowed(tsr_tensor *x, tsr_dtype dtype) {
  if (!tsri_dtype_is_float(x->dtype)) return tsr_cast(x, TSR_I8);
  tsr_tensor *inside = dtype == TSR_I4 ? tsr_clamp(x, -8, 7) : tsr_clamp(x, 0, 15);
  return tsri_then(tsr_cast(inside, TSR_I8), inside);
}

// Every second element along the last axis, which has an even size, from `first` on.
static tsr_tensor *every_second(tsr_tensor *x, int64_t first) {
  return tsr_slice(x, x->layout.shape.rank - 1, first, TSR_END, 2);
}

static tsr_tensor *packed(tsr_tensor *x, tsr_dtype dtype) {
  int64_t last = x->layout.shape.dims[x->layout.shape.rank - 1];
  tsr_tensor *small = narrowed(x, dtype);
  if (last % 2) {
    int64_t none[TSR_MAX_RANK] = {0}, one[TSR_MAX_RANK] = {0};
    one[x->layout.shape.rank - 1] = 1;
    small = tsri_then(tsr_pad(small, none, one, x->layout.shape.rank, 0), small);
  }
  if (!tsri_tensor_is_usable(small)) return small;
  tsr_tensor *low = every_second(small, 0), *high = every_second(small, 1);
  tsri_operand_ref refs[] = {{low, TSR_I8}, {high, TSR_I8}};
  tsr_status status = tsri_tensor_check("cast", low);
  if (status == TSR_OK) status = tsri_tensor_check("cast", high);
  tsr_tensor *bytes =
      status == TSR_OK ? tsri_record_elementwise(&both_halves, TSR_U8, refs, 2, NULL) : tsri_tensor_fail(status);
  tsri_release_all((tsr_tensor *[]){low, high, small}, 3);
  return tsri_packed_of(bytes, dtype, last);
}

tsr_tensor *tsri_packed_cast(tsr_tensor *x, tsr_dtype dtype) {
  if (x->dtype == dtype) return tsri_tensor_view(x, &x->layout);
  tsr_tensor *wide = tsri_dtype_is_packed(x->dtype) ? unpacked(x) : tsr_retain(x);
  if (!tsri_tensor_is_usable(wide)) return tsri_tensor_named("cast", wide);
  tsr_shape bytes;
  tsr_status status = tsri_dtype_is_packed(dtype) ? tsri_packed_shape("cast", wide->layout.shape, &bytes) : TSR_OK;
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), wide);
  tsr_tensor *result = tsri_dtype_is_packed(dtype) ? packed(wide, dtype) : tsr_cast(wide, dtype);
  return tsri_tensor_named("cast", tsri_then(result, wide));
}

// --- Views -----------------------------------------------------------------------------------------------------------

// A slice along the last axis that starts at an even element and has step 1, so that it is a view of bytes.
static tsr_tensor *slice_rows(tsr_tensor *x, int64_t start, int64_t stop, int64_t step) {
  int last = x->layout.shape.rank - 1;
  tsri_layout row, part, view;
  tsr_status status = tsri_layout_init("slice", TSR_SHAPE(x->packed_last), TSR_U8, &row, NULL);
  if (status == TSR_OK) status = tsri_layout_slice(&row, 0, start, stop, step, &part);
  int64_t count = status == TSR_OK ? part.shape.dims[0] : 0;
  bool is_whole = count == 0 || (part.offset % 2 == 0 && (count == 1 || part.strides[0] == 1));
  if (status == TSR_OK && !is_whole) {
    status =
        TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                  "slice: a view of %s begins at an even element and leaves none out; cast it first to take others",
                  tsr_dtype_name(x->dtype));
  }
  int64_t first = count ? part.offset / 2 : 0;
  if (status == TSR_OK) status = tsri_layout_slice(&x->layout, last, first, first + count / 2 + count % 2, 1, &view);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *result = tsri_tensor_view(x, &view);
  if (tsri_tensor_is_usable(result)) result->packed_last = count;
  return result;
}

tsr_tensor *tsri_packed_slice(tsr_tensor *x, int axis, int64_t start, int64_t stop, int64_t step) {
  tsri_layout view;
  int at = 0, rank = x->layout.shape.rank;
  tsr_status status = tsri_axis("slice", axis, rank, &at);
  if (status == TSR_OK && at == rank - 1) return slice_rows(x, start, stop, step);
  if (status == TSR_OK) status = tsri_layout_slice(&x->layout, at, start, stop, step, &view);
  return status == TSR_OK ? tsri_tensor_view(x, &view) : tsri_tensor_fail(status);
}
