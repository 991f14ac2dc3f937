// SPDX-License-Identifier: MIT
// Numbers in the reference of `tessera check`: floats as f64, integers and bool as i64.
//
// u64 has its bits in an i64. Inputs stay below 2^63, so that references need not treat them apart; tests/conformance has
// larger ones.
//
// Conversions and rounding are implemented independently from the definitions of the formats, so that an error in the
// library's own conversions cannot hide.
#ifndef TESSERA_TOOL_CHECK_NUMBER_H
#define TESSERA_TOOL_CHECK_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <tessera/dtype.h>

// The dtype beside it says which member is valid.
typedef union check_value {
  double real;
  int64_t whole;
} check_value;

bool check_is_float(tsr_dtype dtype);

// Whether it is a float that is computed in f32: f16, bf16 and f8.
bool check_is_narrow(tsr_dtype dtype);

// Whether a float has infinity. f8_e4m3 has NaN in its place.
bool check_has_infinity(tsr_dtype dtype);

// Floats: the nearest value of the dtype, ties to even; infinity (or NaN where there is none) beyond its range.
double check_round(tsr_dtype dtype, double value);

// Integers: the low bits, interpreted as the dtype. bool: 0 or 1.
int64_t check_wrap(tsr_dtype dtype, int64_t value);

// The least and the greatest value that inputs of an integer dtype have: of the dtype, but for u64 the greatest is below 2^63.
int64_t check_least(tsr_dtype dtype);
int64_t check_most(tsr_dtype dtype);

// Converts to another dtype, by the rules of tsr_convert.
check_value check_convert(tsr_dtype to, tsr_dtype from, check_value value);

// Convert between a value and the bytes of an element. `value` must be representable in the dtype.
void check_encode(tsr_dtype dtype, check_value value, void *out_element);
check_value check_decode(tsr_dtype dtype, const void *element);

// For floats: the distance of neighbouring values around `value`; the largest relative error of one rounding; the
// smallest normal number; the largest number.
double check_ulp(tsr_dtype dtype, double value);
double check_roundoff(tsr_dtype dtype);
double check_min_normal(tsr_dtype dtype);
double check_max(tsr_dtype dtype);

#endif
