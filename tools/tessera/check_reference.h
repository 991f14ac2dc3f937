// SPDX-License-Identifier: MIT
// The reference of `tessera check`: the meaning of each operator in plain f64 and i64, one element at a time.
//
// Slow and readable; uses nothing of the library. Integers are in the range of their dtype, and the caller wraps
// results to it, so only multiplication must consider overflow of i64. bool is 0 or 1.
#ifndef TESSERA_TOOL_CHECK_REFERENCE_H
#define TESSERA_TOOL_CHECK_REFERENCE_H

#include "check_number.h"

// Functions that are too long for an expression in src/ops/operators.def. For floats:
double ref_cbrt(double x);
double ref_sigmoid(double x);
double ref_silu(double x);
double ref_gelu(double x);
double ref_gelu_tanh(double x);
double ref_softplus(double x);
double ref_floor_div(double a, double b);
double ref_mod(double a, double b);
double ref_minimum(double a, double b);
double ref_maximum(double a, double b);
double ref_lerp(double a, double b, double weight);
double ref_logaddexp(double a, double b);

// For integers and bool:
int64_t ref_whole_floor_div(int64_t a, int64_t b);
int64_t ref_whole_mod(int64_t a, int64_t b);
int64_t ref_whole_pow(int64_t a, int64_t b);
int64_t ref_whole_fmod(int64_t a, int64_t b);
int64_t ref_whole_gcd(int64_t a, int64_t b);
int64_t ref_whole_lcm(tsr_dtype dtype, int64_t a, int64_t b);
int64_t ref_whole_bit_count(int64_t x);
int64_t ref_whole_shift_left(tsr_dtype dtype, int64_t a, int64_t b);
int64_t ref_whole_shift_right(tsr_dtype dtype, int64_t a, int64_t b);

// Arithmetic modulo 2^64; each dtype keeps its low bits.
static inline int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

// The magnitude that an error is measured by where terms cancel (CHECK_CANCELLING).
double ref_silu_magnitude(const double *x);
double ref_gelu_magnitude(const double *x);
double ref_gelu_tanh_magnitude(const double *x);
double ref_swiglu_magnitude(const double *x);
double ref_geglu_magnitude(const double *x);
double ref_lerp_magnitude(const double *x);
double ref_logaddexp_magnitude(const double *x);

// What to add to a magnitude where exp(-x) is one part of a sum: devices may take it for 0 once it is subnormal in f32.
double ref_lost_exp(double x);

// A sum that keeps its rounding errors (Neumaier, 1974), accurate enough to check f64 results.
typedef struct ref_sum {
  double sum, rest;
} ref_sum;
void ref_sum_add(ref_sum *s, double value);
void ref_sum_add_product(ref_sum *s, double a, double b);
double ref_sum_value(const ref_sum *s);

#endif
