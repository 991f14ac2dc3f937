// SPDX-License-Identifier: MIT
// Shapes and dtypes of the reference: positions, broadcasting, promotion.
#include "check.h"

int64_t check_count(tsr_shape shape) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return count;
}

void check_unravel(tsr_shape shape, int64_t at, int64_t *out_index) {
  for (int i = shape.rank - 1; i >= 0; i--) {
    out_index[i] = at % shape.dims[i];
    at /= shape.dims[i];
  }
}

int64_t check_ravel(tsr_shape shape, const int64_t *index) {
  int64_t at = 0;
  for (int i = 0; i < shape.rank; i++) at = at * shape.dims[i] + index[i];
  return at;
}

int64_t check_broadcast_at(tsr_shape from, int rank, const int64_t *index) {
  int64_t at = 0;
  for (int i = 0; i < from.rank; i++) {
    int64_t position = from.dims[i] == 1 ? 0 : index[rank - from.rank + i];
    at = at * from.dims[i] + position;
  }
  return at;
}

tsr_shape check_broadcast(tsr_shape a, tsr_shape b) {
  tsr_shape shape = {.rank = a.rank > b.rank ? a.rank : b.rank};
  for (int i = 0; i < shape.rank; i++) {
    int in_a = i - (shape.rank - a.rank), in_b = i - (shape.rank - b.rank);
    int64_t size_a = in_a < 0 ? 1 : a.dims[in_a], size_b = in_b < 0 ? 1 : b.dims[in_b];
    shape.dims[i] = size_a == 1 ? size_b : size_a;
  }
  return shape;
}

bool check_same_shape(tsr_shape a, tsr_shape b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; i++) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

// --- Dtypes -----------------------------------------------------------------------------------------------------------

static tsr_dtype promote_floats(tsr_dtype a, tsr_dtype b) {
  if (a == b) return a;
  if (a == TSR_F64 || b == TSR_F64) return TSR_F64;
  bool a_tiny = tsr_dtype_bytes(a) == 1, b_tiny = tsr_dtype_bytes(b) == 1;
  if (a_tiny && b_tiny) return TSR_F16;
  if (a_tiny || b_tiny) return a_tiny ? b : a;
  return TSR_F32;  // neither of f16 and bf16 can represent all values of the other
}

static tsr_dtype signed_of_bytes(size_t bytes) {
  return bytes <= 1 ? TSR_I8 : bytes == 2 ? TSR_I16 : bytes == 4 ? TSR_I32 : TSR_I64;
}

// The smallest integer dtype that represents the values of both; i64 if none does.
static tsr_dtype promote_wholes(tsr_dtype a, tsr_dtype b) {
  bool a_signed = tsr_dtype_kind_of(a) == TSR_KIND_INT, b_signed = tsr_dtype_kind_of(b) == TSR_KIND_INT;
  if (a_signed == b_signed) return tsr_dtype_bytes(a) >= tsr_dtype_bytes(b) ? a : b;
  tsr_dtype with = a_signed ? a : b, without = a_signed ? b : a;
  size_t needed = 2 * tsr_dtype_bytes(without);
  return tsr_dtype_bytes(with) >= needed ? with : signed_of_bytes(needed);
}

tsr_dtype check_promote(tsr_dtype a, tsr_dtype b) {
  bool a_float = check_is_float(a), b_float = check_is_float(b);
  if (a_float && b_float) return promote_floats(a, b);
  if (a_float || b_float) return a_float ? a : b;
  if (a == TSR_BOOL || b == TSR_BOOL) return a == TSR_BOOL ? b : a;
  return promote_wholes(a, b);
}

tsr_dtype check_summed(tsr_dtype dtype) {
  bool is_small = !check_is_float(dtype) && tsr_dtype_bytes(dtype) < 4;
  return is_small ? TSR_I32 : dtype;
}

tsr_dtype check_float(tsr_dtype dtype) { return check_is_float(dtype) ? dtype : TSR_F32; }
