// SPDX-License-Identifier: MIT
// Storage, views and numbers of the model.
#include "attack/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- Storages and views -------------------------------------------------------------------------------------------------

int64_t model_count(tsr_shape shape) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return count;
}

static void *must_have(void *memory) {
  if (!memory) abort();
  return memory;
}

model_tensor model_create(tsr_dtype dtype, tsr_shape shape) {
  model_tensor tensor = {.shape = shape};
  int64_t count = model_count(shape), stride = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    tensor.strides[i] = stride;
    stride *= shape.dims[i];
  }
  tensor.storage = must_have(calloc(1, sizeof *tensor.storage));
  tensor.storage->refs = 1;
  tensor.storage->dtype = dtype;
  tensor.storage->count = count;
  tensor.storage->numbers = must_have(calloc((size_t)count + 1, sizeof(model_number)));
  return tensor;
}

model_tensor model_retain(model_tensor tensor) {
  tensor.storage->refs++;
  return tensor;
}

void model_release(model_tensor *tensor) {
  model_storage *storage = tensor->storage;
  tensor->storage = NULL;
  if (!storage || --storage->refs > 0) return;
  free(storage->numbers);
  free(storage);
}

model_tensor model_copy(model_tensor tensor) {
  model_tensor copy = model_create(model_dtype(tensor), tensor.shape);
  for (int64_t i = 0; i < copy.storage->count; i++) copy.storage->numbers[i] = *model_at(tensor, i);
  return copy;
}

tsr_dtype model_dtype(model_tensor tensor) { return tensor.storage->dtype; }

bool model_shapes_equal(tsr_shape a, tsr_shape b) {
  return a.rank == b.rank && memcmp(a.dims, b.dims, (size_t)a.rank * sizeof a.dims[0]) == 0;
}

bool model_is_contiguous(model_tensor tensor) {
  int64_t stride = 1;
  if (model_count(tensor.shape) == 0) return true;
  for (int i = tensor.shape.rank - 1; i >= 0; i--) {
    if (tensor.shape.dims[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.shape.dims[i];
  }
  return true;
}

bool model_repeats(model_tensor tensor) {
  for (int i = 0; i < tensor.shape.rank; i++) {
    if (tensor.strides[i] == 0 && tensor.shape.dims[i] > 1) return true;
  }
  return false;
}

void model_position(tsr_shape shape, int64_t i, int64_t *out_at) {
  for (int axis = shape.rank - 1; axis >= 0; axis--) {
    out_at[axis] = i % shape.dims[axis];
    i /= shape.dims[axis];
  }
}

model_number *model_at_position(model_tensor tensor, const int64_t *at) {
  int64_t place = tensor.offset;
  for (int axis = 0; axis < tensor.shape.rank; axis++) place += at[axis] * tensor.strides[axis];
  return &tensor.storage->numbers[place];
}

model_number *model_at(model_tensor tensor, int64_t i) {
  int64_t at[TSR_MAX_RANK];
  model_position(tensor.shape, i, at);
  return model_at_position(tensor, at);
}

// --- Numbers ------------------------------------------------------------------------------------------------------------

bool model_is_float(tsr_dtype dtype) {
  return dtype == TSR_F16 || dtype == TSR_BF16 || dtype == TSR_F32 || dtype == TSR_F64;
}

double model_exact_limit(tsr_dtype dtype) {
  return dtype == TSR_F16 ? 2048 : dtype == TSR_BF16 ? 256 : dtype == TSR_F32 ? 16777216 : 9007199254740992.0;
}

int64_t model_wrap(tsr_dtype dtype, int64_t number) {
  switch (dtype) {
    case TSR_BOOL:
      return number != 0;
    case TSR_U8:
      return (uint8_t)number;
    case TSR_I8:
      return (int8_t)(uint8_t)number;
    case TSR_I16:
      return (int16_t)(uint16_t)number;
    case TSR_I32:
      return (int32_t)(uint32_t)number;
    case TSR_U32:
      return (uint32_t)number;
    default:
      return number;
  }
}

int64_t model_lowest(tsr_dtype dtype) {
  return dtype == TSR_I8    ? INT8_MIN
         : dtype == TSR_I16 ? INT16_MIN
         : dtype == TSR_I32 ? INT32_MIN
         : dtype == TSR_I64 ? INT64_MIN
                            : 0;
}

int64_t model_highest(tsr_dtype dtype) {
  return dtype == TSR_BOOL  ? 1
         : dtype == TSR_U8  ? UINT8_MAX
         : dtype == TSR_I8  ? INT8_MAX
         : dtype == TSR_I16 ? INT16_MAX
         : dtype == TSR_I32 ? INT32_MAX
         : dtype == TSR_U32 ? UINT32_MAX
                            : INT64_MAX;
}

static int64_t whole_from_real(tsr_dtype to, double real) {
  if (isnan(real)) return 0;
  if (real >= (double)model_highest(to)) return model_highest(to);
  if (real <= (double)model_lowest(to)) return model_lowest(to);
  return (int64_t)real;
}

bool model_convert(tsr_dtype to, model_number *out, tsr_dtype from, model_number number) {
  if (!model_is_float(to)) {
    if (to == TSR_BOOL) out->whole = model_is_float(from) ? number.real != 0 : number.whole != 0;
    else if (model_is_float(from)) out->whole = whole_from_real(to, number.real);
    else out->whole = model_wrap(to, number.whole);
    return true;
  }
  if (to == TSR_F64) out->real = model_is_float(from) ? number.real : (double)number.whole;
  else if (to == TSR_F32) out->real = model_is_float(from) ? (float)number.real : (float)number.whole;
  else {
    double real = model_is_float(from) ? number.real : (double)number.whole;
    if (isfinite(real) && fabs(real) > model_exact_limit(to)) return false;
    out->real = real;
  }
  return true;
}

bool model_equal(tsr_dtype dtype, model_number a, model_number b) {
  if (!model_is_float(dtype)) return a.whole == b.whole;
  return a.real == b.real || (isnan(a.real) && isnan(b.real));
}

tsr_dtype model_promote(tsr_dtype a, tsr_dtype b) {
  static const tsr_dtype floats[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16};
  if (a == b || b == TSR_BOOL) return a;
  if (a == TSR_BOOL) return b;
  if ((a == TSR_F16 && b == TSR_BF16) || (a == TSR_BF16 && b == TSR_F16)) return TSR_F32;
  for (int i = 0; i < 4; i++) {
    if (a == floats[i] || b == floats[i]) return floats[i];
  }
  bool any_i64 = a == TSR_I64 || b == TSR_I64, any_u32 = a == TSR_U32 || b == TSR_U32,
       any_u8 = a == TSR_U8 || b == TSR_U8;
  if (any_i64) return TSR_I64;
  if (any_u32) return any_u8 ? TSR_U32 : TSR_I64;
  if (a == TSR_I32 || b == TSR_I32) return TSR_I32;
  return TSR_I16;  // any mixture of u8, i8 and i16
}

// --- Elements as bytes --------------------------------------------------------------------------------------------------

// Handles integers up to 2048, infinities and NaN.
static uint16_t f16_bits(double real) {
  uint16_t sign = signbit(real) ? 0x8000 : 0;
  if (isnan(real)) return 0x7E00;
  if (isinf(real)) return sign | 0x7C00;
  if (real == 0) return sign;
  int exponent = ilogb(real);
  return (uint16_t)(sign | (exponent + 15) << 10 | (int)((fabs(real) / ldexp(1, exponent) - 1) * 1024));
}

static double f16_real(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                : exponent == 0 ? ldexp(fraction, -24)
                                : ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

static void put_number(tsr_dtype dtype, model_number number, unsigned char *out) {
  float single = (float)(model_is_float(dtype) ? number.real : 0);
  uint32_t bits = 0;
  memcpy(&bits, &single, sizeof bits);
  uint16_t half = dtype == TSR_F16 ? f16_bits(number.real) : (uint16_t)(bits >> 16);
  if (dtype == TSR_F16 || dtype == TSR_BF16) memcpy(out, &half, sizeof half);
  else if (dtype == TSR_F32) memcpy(out, &single, sizeof single);
  else if (dtype == TSR_F64) memcpy(out, &number.real, sizeof number.real);
  else if (dtype == TSR_I64) memcpy(out, &number.whole, sizeof number.whole);
  else if (dtype == TSR_I32 || dtype == TSR_U32) memcpy(out, &(uint32_t){(uint32_t)number.whole}, sizeof(uint32_t));
  else if (dtype == TSR_I16) memcpy(out, &(uint16_t){(uint16_t)number.whole}, sizeof(uint16_t));
  else *out = (unsigned char)number.whole;
}

static model_number get_number(tsr_dtype dtype, const unsigned char *bytes) {
  uint16_t half = 0;
  uint32_t word = 0;
  float single = 0;
  model_number number = {.whole = 0};
  size_t size = tsr_dtype_bytes(dtype);
  if (size == 2) memcpy(&half, bytes, sizeof half);
  if (size == 4) memcpy(&word, bytes, sizeof word);
  if (size == 8) memcpy(&number, bytes, sizeof number);
  if (dtype == TSR_BF16) word = (uint32_t)half << 16;
  memcpy(&single, &word, sizeof single);
  if (dtype == TSR_F16) number.real = f16_real(half);
  else if (dtype == TSR_F32 || dtype == TSR_BF16) number.real = single;
  else if (dtype == TSR_I32 || dtype == TSR_U32) number.whole = model_wrap(dtype, word);
  else if (dtype == TSR_I16) number.whole = model_wrap(dtype, half);
  else if (size == 1) number.whole = dtype == TSR_BOOL ? *bytes : model_wrap(dtype, *bytes);
  return number;
}

void model_write_bytes(model_tensor tensor, void *out_bytes) {
  size_t size = tsr_dtype_bytes(model_dtype(tensor));
  int64_t count = model_count(tensor.shape);
  for (int64_t i = 0; i < count; i++) {
    put_number(model_dtype(tensor), *model_at(tensor, i), (unsigned char *)out_bytes + (size_t)i * size);
  }
}

void model_read_bytes(model_tensor tensor, const void *bytes) {
  size_t size = tsr_dtype_bytes(model_dtype(tensor));
  int64_t count = model_count(tensor.shape);
  for (int64_t i = 0; i < count; i++) {
    *model_at(tensor, i) = get_number(model_dtype(tensor), (const unsigned char *)bytes + (size_t)i * size);
  }
}
