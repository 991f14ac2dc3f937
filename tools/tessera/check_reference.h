// SPDX-License-Identifier: MIT
// The reference of `tessera check`: what each operator means, in plain f64 and i64, one element at a time.
//
// Slow and readable; uses nothing of the library. Integers come in the range of their dtype, and results are wrapped to
// it by the caller, so only multiplication has to mind overflow of i64. bool is 0 or 1.
#ifndef TESSERA_TOOL_CHECK_REFERENCE_H
#define TESSERA_TOOL_CHECK_REFERENCE_H

#include "check_number.h"

// Floats of one argument that <math.h> does not have.
double ref_neg(double x);
double ref_sign(double x);
double ref_square(double x);
double ref_relu(double x);
double ref_reciprocal(double x);
double ref_rsqrt(double x);
double ref_cbrt(double x);
double ref_sigmoid(double x);
double ref_silu(double x);
double ref_gelu(double x);
double ref_gelu_tanh(double x);
double ref_softplus(double x);
double ref_isnan(double x);
double ref_isinf(double x);
double ref_isfinite(double x);

// Of two; an r before the name turns the arguments round.
double ref_add(double a, double b);
double ref_sub(double a, double b);
double ref_rsub(double a, double b);
double ref_mul(double a, double b);
double ref_div(double a, double b);
double ref_rdiv(double a, double b);
double ref_floor_div(double a, double b);
double ref_mod(double a, double b);
double ref_rpow(double a, double b);
double ref_minimum(double a, double b);
double ref_maximum(double a, double b);
double ref_eq(double a, double b);
double ref_ne(double a, double b);
double ref_lt(double a, double b);
double ref_le(double a, double b);
double ref_gt(double a, double b);
double ref_ge(double a, double b);
double ref_leaky_relu(double x, double slope);
double ref_elu(double x, double alpha);

// Of three.
double ref_clamp(double x, double least, double most);
double ref_where(double condition, double a, double b);
double ref_lerp(double a, double b, double weight);

// Integers and bool: dtype, then three arguments, of which some are not used.
#define REF_WHOLE(name) int64_t ref_whole_##name(tsr_dtype dtype, int64_t a, int64_t b, int64_t c)
REF_WHOLE(same);
REF_WHOLE(neg);
REF_WHOLE(abs);
REF_WHOLE(sign);
REF_WHOLE(square);
REF_WHOLE(relu);
REF_WHOLE(bitwise_not);
REF_WHOLE(no);
REF_WHOLE(yes);
REF_WHOLE(not );
REF_WHOLE(clamp);
REF_WHOLE(add);
REF_WHOLE(sub);
REF_WHOLE(rsub);
REF_WHOLE(mul);
REF_WHOLE(floor_div);
REF_WHOLE(mod);
REF_WHOLE(pow);
REF_WHOLE(rpow);
REF_WHOLE(minimum);
REF_WHOLE(maximum);
REF_WHOLE(eq);
REF_WHOLE(ne);
REF_WHOLE(lt);
REF_WHOLE(le);
REF_WHOLE(gt);
REF_WHOLE(ge);
REF_WHOLE(and);
REF_WHOLE(or);
REF_WHOLE(xor);
REF_WHOLE(shift_left);
REF_WHOLE(shift_right);
REF_WHOLE(where);
REF_WHOLE(fma);

// What an error is measured by where parts cancel (CHECK_CANCELLING).
double ref_silu_magnitude(const double *x);
double ref_gelu_magnitude(const double *x);
double ref_gelu_tanh_magnitude(const double *x);
double ref_lerp_magnitude(const double *x);

// A sum whose own rounding errors are kept beside it (Neumaier, 1974), so that f64 can be checked against it.
typedef struct ref_sum {
  double sum, rest;
} ref_sum;
void ref_sum_add(ref_sum *s, double value);
void ref_sum_add_product(ref_sum *s, double a, double b);
double ref_sum_value(const ref_sum *s);

#endif
