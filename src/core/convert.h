// SPDX-License-Identifier: MIT
// Conversions of single elements to and from f16, bf16 and f8, on the host. tsr_convert (dtype.h) converts arrays.
//
// These types are represented by their bits. Conversions to a narrower type round to nearest, ties to even, once;
// values that are too large become infinity (f8_e4m3: NaN); a NaN stays a quiet NaN with its sign. Conversions to a wider type are
// exact.
#ifndef TSRI_CONVERT_H
#define TSRI_CONVERT_H

#include <stdint.h>

float tsri_f16_to_f32(uint16_t half);
float tsri_bf16_to_f32(uint16_t bits);
float tsri_f8_e4m3_to_f32(uint8_t bits);
float tsri_f8_e5m2_to_f32(uint8_t bits);

uint16_t tsri_f32_to_f16(float value);
uint16_t tsri_f32_to_bf16(float value);
uint16_t tsri_f64_to_f16(double value);
uint16_t tsri_f64_to_bf16(double value);
uint8_t tsri_f64_to_f8_e4m3(double value);
uint8_t tsri_f64_to_f8_e5m2(double value);

// The integer is converted through a double that keeps all information needed for rounding (see to_odd_double in
// convert.c).
uint16_t tsri_i64_to_bf16(int64_t value);

#endif
