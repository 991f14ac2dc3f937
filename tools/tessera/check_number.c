// SPDX-License-Identifier: MIT
// Numbers in the reference of `tessera check`.
#include "check_number.h"

#include <math.h>
#include <string.h>

// A binary float format: bits of precision (including the hidden one), exponents of its smallest normal and its
// largest number.
typedef struct format {
  int precision, least_exponent, most_exponent;
} format;

static format format_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_F16:
      return (format){11, -14, 15};
    case TSR_BF16:
      return (format){8, -126, 127};
    case TSR_F8_E4M3:
      return (format){4, -6, 8};
    case TSR_F8_E5M2:
      return (format){3, -14, 15};
    case TSR_F32:
      return (format){24, -126, 127};
    default:
      return (format){53, -1022, 1023};
  }
}

bool check_is_float(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT; }

bool check_is_narrow(tsr_dtype dtype) { return check_is_float(dtype) && format_of(dtype).precision < 24; }

bool check_has_infinity(tsr_dtype dtype) { return dtype != TSR_F8_E4M3; }

// 2^exponent. ldexp alone would be a quarter of the time that `tessera check` takes on a CPU.
static double power_of_two(int exponent) {
  if (exponent < -1022 || exponent > 1023) return ldexp(1, exponent);
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

// The exponent field of a double: floor(log2(|value|)) of a normal number; -1023 of 0 and of subnormal ones, 1024 of infinity and NaN.
static int exponent_field(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

double check_ulp(tsr_dtype dtype, double value) {
  format f = format_of(dtype);
  int exponent = isfinite(value) ? exponent_field(value) : f.least_exponent;
  if (exponent < f.least_exponent) exponent = f.least_exponent;
  if (exponent > f.most_exponent) exponent = f.most_exponent;
  return power_of_two(exponent - f.precision + 1);
}

double check_roundoff(tsr_dtype dtype) { return power_of_two(-format_of(dtype).precision); }

double check_min_normal(tsr_dtype dtype) { return power_of_two(format_of(dtype).least_exponent); }

double check_max(tsr_dtype dtype) {
  format f = format_of(dtype);
  int precision = check_has_infinity(dtype) ? f.precision : f.precision - 1;  // else the last code is NaN
  return (2 - power_of_two(1 - precision)) * power_of_two(f.most_exponent);
}

double check_round(tsr_dtype dtype, double value) {
  double beyond = check_has_infinity(dtype) ? INFINITY : NAN;
  if (isinf(value)) return copysign(beyond, value);
  if (dtype == TSR_F64 || value == 0 || isnan(value)) return value;
  double ulp = check_ulp(dtype, value);
  double rounded = rint(value / ulp) * ulp;  // both steps are exact: ulp is a power of two
  return fabs(rounded) > check_max(dtype) ? copysign(beyond, value) : copysign(rounded, value);
}

// --- Integers ---------------------------------------------------------------------------------------------------------

static bool is_signed(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_INT; }

int64_t check_most(tsr_dtype dtype) {
  if (dtype == TSR_BOOL) return 1;
  if (dtype == TSR_U64) return INT64_MAX;
  int bits = 8 * (int)tsr_dtype_bytes(dtype) - (is_signed(dtype) ? 1 : 0);
  return (int64_t)(UINT64_MAX >> (64 - bits));
}

int64_t check_least(tsr_dtype dtype) { return is_signed(dtype) ? -check_most(dtype) - 1 : 0; }

int64_t check_wrap(tsr_dtype dtype, int64_t value) {
  switch (dtype) {
    case TSR_BOOL:
      return value != 0;
    case TSR_U8:
      return (uint8_t)value;
    case TSR_I8:
      return (int8_t)(uint8_t)value;
    case TSR_I16:
      return (int16_t)(uint16_t)value;
    case TSR_I32:
      return (int32_t)(uint32_t)value;
    case TSR_U16:
      return (uint16_t)value;
    case TSR_U32:
      return (uint32_t)value;
    default:
      return value;
  }
}

// --- Conversions ------------------------------------------------------------------------------------------------------

// A double that rounds to every narrower format as the integer does: if bits do not fit into f64, a sticky bit is set.
static double sticky_double(int64_t value) {
  const int64_t room = INT64_C(1) << 53, lost = 0x7FF;
  bool is_large = value > room || value < -room;
  if (is_large && (value & lost) != 0) value = (value & ~lost) | 0x400;
  return (double)value;
}

static double whole_to_real(tsr_dtype to, int64_t value) {
  return to == TSR_F64 ? (double)value : check_round(to, sticky_double(value));
}

// The bits of a u64. From 2^63 on it is halved, with a sticky bit, and the result doubled.
static double u64_to_real(tsr_dtype to, uint64_t value) {
  if (value <= INT64_MAX) return whole_to_real(to, (int64_t)value);
  return check_round(to, 2 * whole_to_real(to, (int64_t)(value >> 1 | (value & 1))));
}

// Drops the fraction, saturates, and converts NaN to 0.
static int64_t real_to_whole(tsr_dtype to, double value) {
  if (isnan(value)) return 0;
  double whole = trunc(value);
  if (to == TSR_U64 && whole >= 0x1p63) return (int64_t)(whole >= 0x1p64 ? UINT64_MAX : (uint64_t)whole);
  if (whole <= (double)check_least(to)) return check_least(to);
  if (whole >= (double)check_most(to)) return check_most(to);
  return (int64_t)whole;
}

check_value check_convert(tsr_dtype to, tsr_dtype from, check_value value) {
  bool from_float = check_is_float(from), to_float = check_is_float(to);
  if (to == TSR_BOOL)
    return (check_value){.whole = from_float ? value.real != 0 : value.whole != 0};  // NaN counts as
                                                                                     // "not 0"
  if (from_float && to_float) return (check_value){.real = check_round(to, value.real)};
  if (from_float) return (check_value){.whole = real_to_whole(to, value.real)};
  if (to_float && from == TSR_U64) return (check_value){.real = u64_to_real(to, (uint64_t)value.whole)};
  if (to_float) return (check_value){.real = whole_to_real(to, value.whole)};
  return (check_value){.whole = check_wrap(to, value.whole)};
}

// --- Elements ---------------------------------------------------------------------------------------------------------

static uint16_t half_bits(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  double size = fabs(value);
  if (isnan(value)) return 0x7E00;
  if (isinf(size)) return (uint16_t)(sign | 0x7C00);
  if (size < 0x1p-14) return (uint16_t)(sign | (uint16_t)(size * 0x1p24));  // subnormals are multiples of 2^-24
  int exponent = exponent_field(size);
  unsigned fraction = (unsigned)(size * power_of_two(10 - exponent)) & 0x3FFu;
  return (uint16_t)(sign | (unsigned)(exponent + 15) << 10 | fraction);
}

static double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent     ? (1024 + fraction) * power_of_two(exponent - 25)
                               : fraction * 0x1p-24;
  return bits & 0x8000 ? -size : size;
}

// bf16 is the upper half of f32.
static uint16_t brain_bits(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return isnan(value) ? 0x7FC0 : (uint16_t)(bits >> 16);
}

static double brain_value(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

// f8: exponents and fractions of the numbers, one after the other, then infinity and NaN, or NaN alone.
static uint8_t small_bits(tsr_dtype dtype, double value) {
  format f = format_of(dtype);
  uint8_t sign = signbit(value) ? 0x80 : 0, nan = check_has_infinity(dtype) ? 0x7E : 0x7F;
  double size = fabs(value);
  if (isnan(value)) return nan;
  if (isinf(size)) return (uint8_t)(sign | 0x7C);
  int exponent = size < power_of_two(f.least_exponent) ? f.least_exponent : exponent_field(size);
  int places = f.precision - 1, fraction = (int)(size * power_of_two(places - exponent));
  return (uint8_t)(sign | (((exponent - f.least_exponent) << places) + fraction));
}

static double small_value(tsr_dtype dtype, uint8_t bits) {
  format f = format_of(dtype);
  int places = f.precision - 1, rest = bits & 0x7F, exponent = rest >> places, fraction = rest - (exponent << places);
  double size = exponent ? ((1 << places) + fraction) * power_of_two(f.least_exponent + exponent - 1 - places)
                         : fraction * power_of_two(f.least_exponent - places);
  if (size > check_max(dtype)) size = rest == 0x7C && check_has_infinity(dtype) ? INFINITY : NAN;
  return bits & 0x80 ? -size : size;
}

static void encode_real(tsr_dtype dtype, double value, void *out) {
  switch (dtype) {
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      memcpy(out, &(uint8_t){small_bits(dtype, value)}, 1);
      break;
    case TSR_F16:
      memcpy(out, &(uint16_t){half_bits(value)}, 2);
      break;
    case TSR_BF16:
      memcpy(out, &(uint16_t){brain_bits(value)}, 2);
      break;
    case TSR_F32:
      memcpy(out, &(float){(float)value}, 4);
      break;
    default:
      memcpy(out, &value, 8);
  }
}

static void encode_whole(tsr_dtype dtype, int64_t value, void *out) {
  switch (tsr_dtype_bytes(dtype)) {
    case 1:
      memcpy(out, &(uint8_t){(uint8_t)value}, 1);
      break;
    case 2:
      memcpy(out, &(uint16_t){(uint16_t)value}, 2);
      break;
    case 4:
      memcpy(out, &(uint32_t){(uint32_t)value}, 4);
      break;
    default:
      memcpy(out, &value, 8);
  }
}

void check_encode(tsr_dtype dtype, check_value value, void *out_element) {
  if (check_is_float(dtype)) encode_real(dtype, value.real, out_element);
  else encode_whole(dtype, value.whole, out_element);
}

static double decode_real(tsr_dtype dtype, const void *element) {
  uint8_t byte;
  uint16_t half;
  float single;
  double value;
  memcpy(&byte, element, sizeof byte);
  if (tsr_dtype_bytes(dtype) == 1) return small_value(dtype, byte);
  memcpy(&half, element, sizeof half);
  if (dtype == TSR_F16) return half_value(half);
  if (dtype == TSR_BF16) return brain_value(half);
  memcpy(&single, element, sizeof single);
  if (dtype == TSR_F32) return (double)single;
  memcpy(&value, element, sizeof value);
  return value;
}

static int64_t decode_whole(tsr_dtype dtype, const void *element) {
  uint8_t byte;
  uint16_t half;
  uint32_t word;
  int64_t wide;
  switch (tsr_dtype_bytes(dtype)) {
    case 1:
      memcpy(&byte, element, sizeof byte);
      return byte;
    case 2:
      memcpy(&half, element, sizeof half);
      return half;
    case 4:
      memcpy(&word, element, sizeof word);
      return word;
    default:
      memcpy(&wide, element, sizeof wide);
      return wide;
  }
}

// A bool is not wrapped, so that a byte that is neither 0 nor 1 is detected.
check_value check_decode(tsr_dtype dtype, const void *element) {
  if (check_is_float(dtype)) return (check_value){.real = decode_real(dtype, element)};
  int64_t bits = decode_whole(dtype, element);
  return (check_value){.whole = dtype == TSR_BOOL ? bits : check_wrap(dtype, bits)};
}
