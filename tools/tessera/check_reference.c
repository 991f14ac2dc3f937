// SPDX-License-Identifier: MIT
// The reference of `tessera check`: element-wise operators and sums.
#include "check_reference.h"

#include <float.h>
#include <math.h>

// --- Floats -----------------------------------------------------------------------------------------------------------

// cbrt of the C library may be off by several ULP, so one more step of Newton's method follows, with the rounding
// errors of y^3 carried along. x is scaled by a power of 8 in between, so that nothing overflows or becomes subnormal.
double ref_cbrt(double x) {
  if (x == 0 || !isfinite(x)) return x;
  int exponent = 0;
  (void)frexp(x, &exponent);
  exponent -= exponent % 3;
  double a = ldexp(x, -exponent), y = cbrt(a), square = y * y, cube = square * y;
  double lost = fma(square, y, -cube) + fma(y, y, -square) * y;
  return ldexp(y - ((cube - a) + lost) / (3 * square), exponent / 3);
}

// exp of a negative number never overflows.
double ref_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

double ref_silu(double x) { return x == -INFINITY ? 0 : x * ref_sigmoid(x); }

// 1 + erf(u) is erfc(-u), which stays accurate where erf is near -1.
double ref_gelu(double x) { return x == -INFINITY ? 0 : 0.5 * x * erfc(-x / sqrt(2)); }

double ref_gelu_tanh(double x) {
  const double pi = 3.14159265358979323846;
  return x == -INFINITY ? 0 : x * ref_sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x * x * x));
}

double ref_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

// The result has the sign of b, also if it is 0.
double ref_mod(double a, double b) {
  double rest = fmod(a, b);
  if (rest == 0) return copysign(0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double ref_floor_div(double a, double b) {
  if (b == 0) return a / b;
  if (!isfinite(a) || isnan(b)) return NAN;
  double rest = fmod(a, b), quotient = rint((a - rest) / b);  // an integer except for rounding
  if (isfinite(quotient) && isfinite(b)) quotient += rint((fma(-quotient, b, a) - rest) / b);
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  return quotient == 0 ? copysign(0, a / b) : quotient;
}

double ref_minimum(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
double ref_maximum(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }

double ref_lerp(double a, double b, double weight) {
  return weight < 0.5 ? a + weight * (b - a) : b - (b - a) * (1 - weight);
}

double ref_logaddexp(double a, double b) {
  return isnan(a) || isnan(b) ? NAN : fmax(a, b) + log1p(exp(a == b ? 0 : -fabs(a - b)));
}

// A subnormal sigmoid has few digits, and the product with x does not restore them.
double ref_silu_magnitude(const double *x) { return fabs(ref_silu(x[0])) + fabs(x[0]) * FLT_MIN; }

double ref_gelu_magnitude(const double *x) { return fabs(x[0]) + fabs(ref_gelu(x[0])); }

// The exponent's rounding error is multiplied by its size.
double ref_gelu_tanh_magnitude(const double *x) {
  double u = 1.6 * (fabs(x[0]) + 0.045 * fabs(x[0] * x[0] * x[0]));
  return fabs(ref_gelu_tanh(x[0])) * (1 + fmin(u, 200)) + fabs(x[0]) * FLT_MIN;
}

// Subnormal gates and products are rounded by up to one rounding of 2 * FLT_MIN each.
static double gated_magnitude(double gate, double b) { return (gate + 2 * FLT_MIN) * fabs(b) + 2 * FLT_MIN; }

double ref_swiglu_magnitude(const double *x) { return gated_magnitude(ref_silu_magnitude(x), x[1]); }

double ref_geglu_magnitude(const double *x) { return gated_magnitude(ref_gelu_magnitude(x), x[1]); }

double ref_lerp_magnitude(const double *x) {
  return fabs(x[0]) + fabs(x[1]) + (fabs(x[2]) + 1) * (fabs(x[0]) + fabs(x[1]));
}

// One rounding of this is the smallest normal number of f32.
double ref_lost_exp(double x) { return exp(-x) < FLT_MIN ? ldexp(FLT_MIN, 24) : 0; }

// The rounding error of the difference d counts d times in exp(-d).
double ref_logaddexp_magnitude(const double *x) {
  double difference = x[0] == x[1] || !isfinite(x[0] - x[1]) ? 0 : fabs(x[0] - x[1]);
  return fabs(fmax(x[0], x[1])) + (1 + difference) * log1p(exp(-difference)) + ref_lost_exp(difference);
}

// --- Integers and bool ------------------------------------------------------------------------------------------------

// The smallest i64 divided by -1 does not fit; it wraps to itself.
int64_t ref_whole_floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return minus(0, a);
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t ref_whole_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t ref_whole_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

static int64_t magnitude(int64_t x) { return x < 0 ? minus(0, x) : x; }

int64_t ref_whole_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = ref_whole_fmod(a, b);
    a = b;
    b = rest;
  }
  return magnitude(a);
}

// Computed in 32 bits where the dtype has fewer: the product wraps there before its magnitude is taken.
int64_t ref_whole_lcm(tsr_dtype dtype, int64_t a, int64_t b) {
  if (a == 0) return 0;
  tsr_dtype computed = dtype == TSR_I8 || dtype == TSR_I16   ? TSR_I32
                       : dtype == TSR_U8 || dtype == TSR_U16 ? TSR_U32
                                                             : dtype;
  int64_t product = check_wrap(computed, times(a / ref_whole_gcd(a, b), b));
  return dtype == TSR_U64 ? product : magnitude(product);
}

int64_t ref_whole_bit_count(int64_t x) {
  int64_t count = 0;
  for (uint64_t bits = (uint64_t)magnitude(x); bits != 0; bits &= bits - 1) count++;
  return count;
}

int64_t ref_whole_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1, factor = a;
  for (int64_t rest = b; rest > 0; rest /= 2) {  // by repeated squaring
    if (rest % 2 != 0) result = times(result, factor);
    factor = times(factor, factor);
  }
  return result;
}

static bool leaves_nothing(tsr_dtype dtype, int64_t count) {
  return count < 0 || count >= (int64_t)(8 * tsr_dtype_bytes(dtype));
}

int64_t ref_whole_shift_left(tsr_dtype dtype, int64_t a, int64_t b) {
  return leaves_nothing(dtype, b) ? 0 : (int64_t)((uint64_t)a << b);
}

int64_t ref_whole_shift_right(tsr_dtype dtype, int64_t a, int64_t b) {
  if (leaves_nothing(dtype, b)) return a < 0 ? -1 : 0;
  if (b == 63) return a < 0 ? -1 : 0;
  int64_t divisor = INT64_C(1) << b, quotient = a / divisor;
  return a % divisor != 0 && a < 0 ? quotient - 1 : quotient;
}

// --- Sums -------------------------------------------------------------------------------------------------------------

void ref_sum_add(ref_sum *s, double value) {
  double total = s->sum + value;
  if (isfinite(total)) s->rest += fabs(s->sum) >= fabs(value) ? (s->sum - total) + value : (value - total) + s->sum;
  s->sum = total;
}

void ref_sum_add_product(ref_sum *s, double a, double b) {
  double product = a * b;
  ref_sum_add(s, product);
  if (isfinite(product)) s->rest += fma(a, b, -product);
}

double ref_sum_value(const ref_sum *s) { return isfinite(s->sum) ? s->sum + s->rest : s->sum; }
