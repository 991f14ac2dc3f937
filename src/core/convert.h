// SPDX-License-Identifier: MIT
// Single elements of the narrow float types, on the host. tsr_convert (dtype.h) does arrays.
//
// f16 and bf16 are held as their bits. To a narrower type: round to nearest, ties to even, in one step from the
// type named; too large becomes infinity; NaN stays a (quiet) NaN with its sign. To a wider type: exact.
#ifndef TSRI_CONVERT_H
#define TSRI_CONVERT_H

#include <stdint.h>

float tsri_f16_to_f32(uint16_t half);
float tsri_bf16_to_f32(uint16_t bits);

uint16_t tsri_f32_to_f16(float value);
uint16_t tsri_f32_to_bf16(float value);
uint16_t tsri_f64_to_f16(double value);
uint16_t tsri_f64_to_bf16(double value);

// Integers go to f16 and bf16 through a double that lost no rounding information.
uint16_t tsri_i64_to_f16(int64_t value);
uint16_t tsri_i64_to_bf16(int64_t value);

#endif
