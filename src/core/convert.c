// SPDX-License-Identifier: MIT
// Conversions between element types on the host; each value is rounded once.
//
// Every integer type fits into the 64 bits of int64_t (u64 as the same bits) and every float type into double, so an
// array is converted through blocks of one of the two: load, convert between integer and float if needed, store. That
// takes a load and a store per type and 2 conversions instead of a loop for each pair of types. A block is loaded
// completely before it is stored, so a conversion may be in place.
#include "core/convert.h"

#include <string.h>
#include <tessera/dtype.h>

#include "core/dtype.h"
#include "core/error.h"

// --- Single elements -------------------------------------------------------------------------------------------------

typedef struct float_format {
  int fraction_bits;
  int exponent_bits;
  bool is_finite;  // it has no infinity: codes with the largest exponent are numbers, except for one, which is NaN
} float_format;

static const float_format f16 = {10, 5, false}, bf16 = {7, 8, false}, f32 = {23, 8, false}, f64 = {52, 11, false},
                          f8_e4m3 = {3, 4, true}, f8_e5m2 = {2, 5, false};

static uint64_t infinity_of(float_format f) { return ((UINT64_C(1) << f.exponent_bits) - 1) << f.fraction_bits; }

// The bits of a number that is too large: infinity, or NaN in a format without infinity. In both cases they follow the bits of the largest number.
static uint64_t overflow_of(float_format f) {
  return f.is_finite ? (UINT64_C(1) << (f.exponent_bits + f.fraction_bits)) - 1 : infinity_of(f);
}

static int bias_of(float_format f) { return (1 << (f.exponent_bits - 1)) - 1; }

// value / 2^shift to the nearest integer, ties to even; shift > 0.
static uint64_t shift_right_rounded(uint64_t value, int shift) {
  if (shift > 63) return 0;  // callers pass values below 2^54, so the quotient is below one half
  uint64_t half = UINT64_C(1) << (shift - 1);
  uint64_t is_odd = (value >> shift) & 1;
  return (value + half - 1 + is_odd) >> shift;
}

// Rounds a number in format `from`, given by its bits without the sign, to the narrower format `to`.
//
// Exponent and fraction together are one integer that numbers the representable values in order. So rounding the
// fraction up carries into the exponent, and from the largest finite number into infinity, without further code.
static uint64_t narrow(uint64_t bits, float_format from, float_format to) {
  int dropped_bits = from.fraction_bits - to.fraction_bits;
  if (bits >= infinity_of(from) && to.is_finite) return overflow_of(to);
  if (bits >= infinity_of(from)) {
    uint64_t fraction = bits & ((UINT64_C(1) << from.fraction_bits) - 1);
    uint64_t quiet = fraction ? UINT64_C(1) << (to.fraction_bits - 1) : 0;
    return infinity_of(to) | quiet | fraction >> dropped_bits;
  }
  int exponent = (int)(bits >> from.fraction_bits) - bias_of(from) + bias_of(to);  // biased exponent in format `to`
  if (exponent >= (1 << to.exponent_bits) - (to.is_finite ? 0 : 1)) return overflow_of(to);
  if (exponent <= 0 && bits >> from.fraction_bits != 0) {
    uint64_t significand = (bits & ((UINT64_C(1) << from.fraction_bits) - 1)) | UINT64_C(1) << from.fraction_bits;
    return shift_right_rounded(significand, dropped_bits + 1 - exponent);
  }
  if (exponent <= 0) {
    // Zero, or a subnormal of `from`. It is below half of the least number of `to`, unless both formats have the same
    // exponents.
    return from.exponent_bits == to.exponent_bits ? shift_right_rounded(bits, dropped_bits) : 0;
  }
  uint64_t rebias = (uint64_t)(bias_of(from) - bias_of(to)) << from.fraction_bits;
  uint64_t rounded = shift_right_rounded(bits - rebias, dropped_bits);
  return rounded < overflow_of(to) ? rounded : overflow_of(to);
}

static uint16_t narrow_f32(float value, float_format to) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits >> 31) << (to.exponent_bits + to.fraction_bits) | narrow(bits & 0x7FFFFFFFu, f32, to));
}

static uint16_t narrow_f64(double value, float_format to) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits >> 63) << (to.exponent_bits + to.fraction_bits) | narrow(bits & (UINT64_MAX >> 1), f64, to));
}

uint16_t tsri_f32_to_f16(float value) { return narrow_f32(value, f16); }

uint16_t tsri_f32_to_bf16(float value) { return narrow_f32(value, bf16); }

uint16_t tsri_f64_to_f16(double value) { return narrow_f64(value, f16); }

uint16_t tsri_f64_to_bf16(double value) { return narrow_f64(value, bf16); }

// A double that rounds to the narrower floats as the integer itself would. If the integer needs more than 53 bits it is
// cut off, and the last kept bit is set if any bit was lost ("round to odd"). That bit is far below the one at which
// the narrower types round.
static double to_odd_double(uint64_t magnitude) {
  if (magnitude >> 53 != 0) {
    uint64_t cut_off = magnitude & 0x7FF;
    magnitude = (magnitude - cut_off) | (cut_off ? 0x800 : 0);
  }
  return (double)magnitude;
}

static double to_f64(uint64_t magnitude) { return (double)magnitude; }

static double signed_double(int64_t value, double (*convert)(uint64_t magnitude)) {
  return value < 0 ? -convert(0 - (uint64_t)value) : convert((uint64_t)value);
}

uint16_t tsri_i64_to_bf16(int64_t value) { return tsri_f64_to_bf16(signed_double(value, to_odd_double)); }

static float f32_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

float tsri_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = (half >> 10) & 31, fraction = half & 0x3FF;
  if (exponent == 31) return f32_from_bits(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return f32_from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

float tsri_bf16_to_f32(uint16_t bits) { return f32_from_bits((uint32_t)bits << 16); }

float tsri_f8_e5m2_to_f32(uint8_t bits) { return tsri_f16_to_f32((uint16_t)(bits << 8)); }

float tsri_f8_e4m3_to_f32(uint8_t bits) {
  uint32_t sign = (uint32_t)(bits >> 7) << 31, rest = bits & 0x7F;
  if (rest == 0x7F) return f32_from_bits(sign | 0x7FC00000u);
  if (rest >= 8) return f32_from_bits(sign | ((rest << 20) + ((127u - 7u) << 23)));
  float magnitude = (float)rest * 0x1p-9f;
  return sign ? -magnitude : magnitude;
}

uint8_t tsri_f64_to_f8_e4m3(double value) { return (uint8_t)narrow_f64(value, f8_e4m3); }

uint8_t tsri_f64_to_f8_e5m2(double value) { return (uint8_t)narrow_f64(value, f8_e5m2); }

// --- Blocks ----------------------------------------------------------------------------------------------------------

#define BLOCK_COUNT 256

#define WIDE int64_t

#define NAME(verb) verb##_bool
#define ELEMENT    uint8_t
#define LOAD(x)    ((x) != 0)
#define STORE(x)   ((x) != 0)
#include "core/convert_block.inc"

#define NAME(verb) verb##_u8
#define ELEMENT    uint8_t
#define LOAD(x)    (x)
#define STORE(x)   ((uint8_t)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_i8
#define ELEMENT    int8_t
#define LOAD(x)    (x)
#define STORE(x)   ((int8_t)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_i16
#define ELEMENT    int16_t
#define LOAD(x)    (x)
#define STORE(x)   ((int16_t)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_i32
#define ELEMENT    int32_t
#define LOAD(x)    (x)
#define STORE(x)   ((int32_t)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_i64
#define ELEMENT    int64_t
#define LOAD(x)    (x)
#define STORE(x)   (x)
#include "core/convert_block.inc"

#define NAME(verb) verb##_u32
#define ELEMENT    uint32_t
#define LOAD(x)    (x)
#define STORE(x)   ((uint32_t)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_u16
#define ELEMENT    uint16_t
#define LOAD(x)    (x)
#define STORE(x)   ((uint16_t)(x))
#include "core/convert_block.inc"

#undef WIDE
#define WIDE double

#define NAME(verb) verb##_f16
#define ELEMENT    uint16_t
#define LOAD(x)    ((double)tsri_f16_to_f32(x))
#define STORE(x)   tsri_f64_to_f16(x)
#include "core/convert_block.inc"

#define NAME(verb) verb##_bf16
#define ELEMENT    uint16_t
#define LOAD(x)    ((double)tsri_bf16_to_f32(x))
#define STORE(x)   tsri_f64_to_bf16(x)
#include "core/convert_block.inc"

#define NAME(verb) verb##_f32
#define ELEMENT    float
#define LOAD(x)    ((double)(x))
#define STORE(x)   ((float)(x))
#include "core/convert_block.inc"

#define NAME(verb) verb##_f64
#define ELEMENT    double
#define LOAD(x)    (x)
#define STORE(x)   (x)
#include "core/convert_block.inc"

#define NAME(verb) verb##_f8_e4m3
#define ELEMENT    uint8_t
#define LOAD(x)    ((double)tsri_f8_e4m3_to_f32(x))
#define STORE(x)   tsri_f64_to_f8_e4m3(x)
#include "core/convert_block.inc"

#define NAME(verb) verb##_f8_e5m2
#define ELEMENT    uint8_t
#define LOAD(x)    ((double)tsri_f8_e5m2_to_f32(x))
#define STORE(x)   tsri_f64_to_f8_e5m2(x)
#include "core/convert_block.inc"

#undef WIDE

// How a dtype is converted. Float types have load_float and store_float, all others load_int and store_int; the other
// pair is NULL. An integer type holds [least, most]; u64 has its bits in an int64_t and is treated separately where its
// value matters. For a float type `from_int` converts an integer to the double that its store then rounds.
typedef struct dtype_way {
  void (*load_int)(const unsigned char *src, size_t count, int64_t *out);
  void (*store_int)(const int64_t *in, size_t count, unsigned char *dst);
  void (*load_float)(const unsigned char *src, size_t count, double *out);
  void (*store_float)(const double *in, size_t count, unsigned char *dst);
  int64_t least, most;
  double (*from_int)(uint64_t magnitude);
} dtype_way;

#define INT_WAY(name, least, most) \
  { load_##name, store_##name, NULL, NULL, least, most, NULL }
#define FLOAT_WAY(name, from_int) \
  { NULL, NULL, load_##name, store_##name, 0, 0, from_int }
static const dtype_way ways[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = INT_WAY(bool, 0, 1),
    [TSR_U8] = INT_WAY(u8, 0, UINT8_MAX),
    [TSR_I8] = INT_WAY(i8, INT8_MIN, INT8_MAX),
    [TSR_I16] = INT_WAY(i16, INT16_MIN, INT16_MAX),
    [TSR_I32] = INT_WAY(i32, INT32_MIN, INT32_MAX),
    [TSR_I64] = INT_WAY(i64, INT64_MIN, INT64_MAX),
    [TSR_U32] = INT_WAY(u32, 0, UINT32_MAX),
    [TSR_F16] = FLOAT_WAY(f16, to_odd_double),
    [TSR_BF16] = FLOAT_WAY(bf16, to_odd_double),
    [TSR_F32] = FLOAT_WAY(f32, to_odd_double),
    [TSR_F64] = FLOAT_WAY(f64, to_f64),
    [TSR_U16] = INT_WAY(u16, 0, UINT16_MAX),
    [TSR_U64] = INT_WAY(i64, 0, 0),
    [TSR_F8_E4M3] = FLOAT_WAY(f8_e4m3, to_odd_double),
    [TSR_F8_E5M2] = FLOAT_WAY(f8_e5m2, to_odd_double),
};

// Drops the fraction and saturates; NaN becomes 0. The bounds are compared as doubles: INT64_MAX rounds to 2^63, so >=
// catches 2^63 and above.
static int64_t saturate(double value, int64_t least, int64_t most) {
  if (value != value) return 0;
  if (value >= (double)most) return most;
  if (value <= (double)least) return least;
  return (int64_t)value;
}

// As saturate, for u64; returns its bits.
static int64_t saturate_u64(double value) {
  if (!(value > 0)) return 0;
  return (int64_t)(value >= 0x1p64 ? UINT64_MAX : (uint64_t)value);
}

static void floats_to_ints(const double *in, size_t count, tsr_dtype dst_dtype, int64_t *out) {
  const dtype_way *to = &ways[dst_dtype];
  if (dst_dtype == TSR_BOOL) {
    for (size_t i = 0; i < count; i++) out[i] = in[i] != 0;  // NaN is true
    return;
  }
  if (dst_dtype == TSR_U64) {
    for (size_t i = 0; i < count; i++) out[i] = saturate_u64(in[i]);
    return;
  }
  for (size_t i = 0; i < count; i++) out[i] = saturate(in[i], to->least, to->most);
}

// Stores a block of integers as `dst_dtype`. `is_u64`: they are the bits of u64.
static void store_ints(const int64_t *ints, size_t count, bool is_u64, tsr_dtype dst_dtype, unsigned char *dst) {
  const dtype_way *to = &ways[dst_dtype];
  if (to->store_int) {
    to->store_int(ints, count, dst);
    return;
  }
  double floats[BLOCK_COUNT];
  for (size_t i = 0; i < count; i++) {
    floats[i] = is_u64 ? to->from_int((uint64_t)ints[i]) : signed_double(ints[i], to->from_int);
  }
  to->store_float(floats, count, dst);
}

static void store_floats(const double *floats, size_t count, tsr_dtype dst_dtype, unsigned char *dst) {
  const dtype_way *to = &ways[dst_dtype];
  if (to->store_float) {
    to->store_float(floats, count, dst);
    return;
  }
  int64_t ints[BLOCK_COUNT];
  floats_to_ints(floats, count, dst_dtype, ints);
  to->store_int(ints, count, dst);
}

static void convert_block(tsr_dtype dst_dtype, unsigned char *dst, tsr_dtype src_dtype, const unsigned char *src,
                          size_t count) {
  const dtype_way *from = &ways[src_dtype];
  if (from->load_int) {
    int64_t ints[BLOCK_COUNT];
    from->load_int(src, count, ints);
    store_ints(ints, count, src_dtype == TSR_U64, dst_dtype, dst);
  } else {
    double floats[BLOCK_COUNT];
    from->load_float(src, count, floats);
    store_floats(floats, count, dst_dtype, dst);
  }
}

// --- Fast paths for the most common conversions ----------------------------------------------------------------------

static void widen_to_f32(float (*widen)(uint16_t), const unsigned char *src, size_t count, unsigned char *dst) {
  for (size_t i = 0; i < count; i++) {
    uint16_t element;
    memcpy(&element, src + i * sizeof element, sizeof element);
    float wide = widen(element);
    memcpy(dst + i * sizeof wide, &wide, sizeof wide);
  }
}

static void narrow_from_f32(uint16_t (*narrow_one)(float), const unsigned char *src, size_t count, unsigned char *dst) {
  for (size_t i = 0; i < count; i++) {
    float element;
    memcpy(&element, src + i * sizeof element, sizeof element);
    uint16_t half = narrow_one(element);
    memcpy(dst + i * sizeof half, &half, sizeof half);
  }
}

// Converts the elements and returns true if there is a fast path for these dtypes. Bool to bool has none, because it
// normalises bytes other than 0 to 1.
static bool convert_directly(tsr_dtype dst_dtype, unsigned char *dst, tsr_dtype src_dtype, const unsigned char *src,
                             size_t count) {
  if (dst_dtype == src_dtype && dst_dtype != TSR_BOOL) {
    memmove(dst, src, count * tsr_dtype_bytes(dst_dtype));
  } else if (dst_dtype == TSR_F32 && src_dtype == TSR_F16) {
    widen_to_f32(tsri_f16_to_f32, src, count, dst);
  } else if (dst_dtype == TSR_F32 && src_dtype == TSR_BF16) {
    widen_to_f32(tsri_bf16_to_f32, src, count, dst);
  } else if (dst_dtype == TSR_F16 && src_dtype == TSR_F32) {
    narrow_from_f32(tsri_f32_to_f16, src, count, dst);
  } else if (dst_dtype == TSR_BF16 && src_dtype == TSR_F32) {
    narrow_from_f32(tsri_f32_to_bf16, src, count, dst);
  } else {
    return false;
  }
  return true;
}

// --- Packed integers ---------------------------------------------------------------------------------------------------

// Unpacks elements of 4 bits to one byte each; i4 is sign-extended.
static void unpack(tsr_dtype dtype, const unsigned char *src, size_t count, unsigned char *out) {
  for (size_t i = 0; i < count; i++) {
    unsigned half = (unsigned)src[i / 2] >> (i % 2 * 4) & 15u;
    out[i] = (unsigned char)(dtype == TSR_I4 ? (half ^ 8u) - 8u : half);
  }
}

static void pack(const unsigned char *bytes, size_t count, unsigned char *dst) {
  for (size_t i = 0; i < count; i += 2) {
    unsigned high = i + 1 < count ? bytes[i + 1] & 15u : 0;
    dst[i / 2] = (unsigned char)((bytes[i] & 15u) | high << 4);
  }
}

// Converts elements to bytes whose low 4 bits are the packed element. Floats saturate to the range of `dtype`.
static void to_bytes(tsr_dtype dtype, tsr_dtype src_dtype, const unsigned char *src, size_t count, unsigned char *out) {
  if (!ways[src_dtype].load_float) {
    convert_block(TSR_I8, out, src_dtype, src, count);
    return;
  }
  double values[BLOCK_COUNT];
  ways[src_dtype].load_float(src, count, values);
  for (size_t i = 0; i < count; i++) {
    out[i] = (unsigned char)saturate(values[i], dtype == TSR_I4 ? -8 : 0, dtype == TSR_I4 ? 7 : 15);
  }
}

static void convert_packed(tsr_dtype dst_dtype, unsigned char *dst, tsr_dtype src_dtype, const unsigned char *src,
                           size_t count) {
  bool from = tsri_dtype_is_packed(src_dtype), to = tsri_dtype_is_packed(dst_dtype);
  for (size_t done = 0; done < count; done += BLOCK_COUNT) {  // an even number
    size_t block = count - done < BLOCK_COUNT ? count - done : BLOCK_COUNT;
    unsigned char bytes[BLOCK_COUNT];
    if (from) unpack(src_dtype, src + done / 2, block, bytes);
    else to_bytes(dst_dtype, src_dtype, src + done * tsr_dtype_bytes(src_dtype), block, bytes);
    if (to) {
      pack(bytes, block, dst + done / 2);
    } else {
      convert_block(dst_dtype, dst + done * tsr_dtype_bytes(dst_dtype), src_dtype == TSR_I4 ? TSR_I8 : TSR_U8, bytes,
                    block);
    }
  }
}

static tsr_status check_arguments(tsr_dtype dst_dtype, const void *dst, tsr_dtype src_dtype, const void *src,
                                  size_t count) {
  size_t dst_bytes = tsri_dtype_is_packed(dst_dtype) ? 1 : tsr_dtype_bytes(dst_dtype);
  size_t src_bytes = tsri_dtype_is_packed(src_dtype) ? 1 : tsr_dtype_bytes(src_dtype);
  if (dst_bytes == 0 || src_bytes == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "convert: %s_dtype is %d, which is no dtype",
                     dst_bytes == 0 ? "dst" : "src", (int)(dst_bytes == 0 ? dst_dtype : src_dtype));
  }
  if (count > 0 && (!dst || !src)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "convert: %s is NULL with %zu elements", dst ? "src" : "dst", count);
  }
  if (count > PTRDIFF_MAX / (dst_bytes > src_bytes ? dst_bytes : src_bytes)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "convert: %zu elements from %s to %s are more than memory can hold",
                     count, tsr_dtype_name(src_dtype), tsr_dtype_name(dst_dtype));
  }
  return TSR_OK;
}

tsr_status tsr_convert(tsr_dtype dst_dtype, void *dst, tsr_dtype src_dtype, const void *src, size_t count) {
  tsr_status status = check_arguments(dst_dtype, dst, src_dtype, src, count);
  if (status != TSR_OK || count == 0) return status;
  unsigned char *to = dst;
  const unsigned char *from = src;
  if (tsri_dtype_is_packed(dst_dtype) || tsri_dtype_is_packed(src_dtype)) {
    convert_packed(dst_dtype, to, src_dtype, from, count);
    return TSR_OK;
  }
  if (convert_directly(dst_dtype, to, src_dtype, from, count)) return TSR_OK;
  for (size_t done = 0; done < count; done += BLOCK_COUNT) {
    size_t block = count - done < BLOCK_COUNT ? count - done : BLOCK_COUNT;
    convert_block(dst_dtype, to + done * tsr_dtype_bytes(dst_dtype), src_dtype,
                  from + done * tsr_dtype_bytes(src_dtype), block);
  }
  return TSR_OK;
}
