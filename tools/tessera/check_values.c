// SPDX-License-Identifier: MIT
// The values of inputs: special values of each dtype, and random ones.
#include <math.h>

#include "check_grad.h"

// --- Special values ---------------------------------------------------------------------------------------------------

typedef struct specials {
  tsr_dtype dtype;
  check_domain domain;
  bool with_subnormals;
  check_value *values;
  int count;
} specials;

static bool is_inside(check_domain domain, double value) {
  switch (domain) {
    case CHECK_ANY:
      return true;
    case CHECK_MODERATE:
      return isnan(value) || (fabs(value) <= 100 && (value == 0 || fabs(value) > 1e-4));
    default:
      return fabs(value) <= 2;
  }
}

static void add_real(specials *s, double value) {
  double rounded = check_round(s->dtype, value);
  if (!s->with_subnormals && rounded != 0 && fabs(rounded) < check_min_normal(TSR_F32)) return;
  if (s->count < CHECK_MAX_SPECIALS && is_inside(s->domain, rounded)) s->values[s->count++].real = rounded;
}

// Wraps the integer to the dtype. For u64 a negative number becomes its complement, because inputs stay below 2^63 (check_number.h).
static int64_t fitted(tsr_dtype dtype, int64_t value) {
  return dtype == TSR_U64 && value < 0 ? ~value : check_wrap(dtype, value);
}

static void add_whole(specials *s, int64_t value) {
  int64_t wrapped = fitted(s->dtype, value);
  if (s->count < CHECK_MAX_SPECIALS) s->values[s->count++].whole = wrapped;
}

static void add_reals(specials *s) {
  // Zeros, halves that reveal the rounding mode, limits of the integer dtypes, points where functions change.
  static const double common[] = {0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.5,
                                  -0.5,
                                  1.5,
                                  -1.5,
                                  2.5,
                                  -2.5,
                                  3.5,
                                  2,
                                  -2,
                                  3,
                                  -3,
                                  0.1,
                                  -0.7,
                                  10.25,
                                  -100.5,
                                  127.5,
                                  -129,
                                  255,
                                  256,
                                  65504,
                                  3e-5,
                                  -1e-3,
                                  2147483647,
                                  -2147483648,
                                  4294967296,
                                  9.3e18,
                                  -9.3e18,
                                  88.5,
                                  -88.5,
                                  1.5707963267948966,
                                  -3.141592653589793,
                                  0.9999,
                                  -20,
                                  -5.5};
  for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) add_real(s, common[i]);
  double least = check_ulp(s->dtype, 0), normal = check_min_normal(s->dtype), most = check_max(s->dtype);
  double step = 2 * check_roundoff(s->dtype);
  const double extremes[] = {least,    -least,       normal - least, normal,           -normal,
                             most,     -most,        INFINITY,       -INFINITY,        NAN,
                             1 + step, 1 - step / 2, 1 / step,       0.5 / step + 0.5, 0.5 - step / 4};
  for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) add_real(s, extremes[i]);
  // Arguments just before exp and cosh overflow, and angles of many turns.
  double last_exp = log(most), last_cosh = last_exp + log(2.0);
  const double late[] = {last_exp * (1 - 2 * step), last_exp - 1e-7, last_cosh - 1e-7, 1e5, -1e22 * step};
  for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) add_real(s, late[i]);
}

static void add_wholes(specials *s) {
  static const int64_t common[] = {0, 1, -1, 2, -2, 3, -3, 5, -7, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, -100, 16777217,
                                   // ^just above the midpoint of two bf16 numbers; f32 would round it to that midpoint
                                   16842753, -16842753, 134742018, INT64_C(36169534507319297)};
  int64_t least = check_least(s->dtype), most = check_most(s->dtype);
  for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) add_whole(s, common[i]);
  const int64_t limits[] = {least, most, most - 1, least / 2, most / 2};
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) add_whole(s, limits[i]);
  if (least < 0) add_whole(s, least + 1);
}

int check_specials(check_run *run, tsr_dtype dtype, check_domain domain, check_value *out_values) {
  specials s = {.dtype = dtype, .domain = domain, .values = out_values, .with_subnormals = check_keeps_subnormals(run)};
  if (check_is_float(dtype)) {
    add_reals(&s);
  } else if (dtype == TSR_BOOL) {
    add_whole(&s, 0);
    add_whole(&s, 1);
  } else {
    add_wholes(&s);
  }
  return s.count;
}

// --- Random values ----------------------------------------------------------------------------------------------------

// A random number from 0 to 1.
static double unit(check_run *run) { return (double)check_random(run, UINT64_C(1) << 53) / 9007199254740992.0; }

static double between(check_run *run, double least, double most) { return least + unit(run) * (most - least); }

static check_value special_value(check_run *run, tsr_dtype dtype, check_domain domain) {
  check_value values[CHECK_MAX_SPECIALS];
  int count = check_specials(run, dtype, domain, values);
  return values[check_random(run, (uint64_t)count)];
}

// All exponents are equally likely.
static double any_exponent(check_run *run, tsr_dtype dtype) {
  double most = log2(check_max(dtype)), least = log2(check_min_normal(dtype));
  if (check_keeps_subnormals(run)) least -= 2;
  double size = exp2(between(run, least, most));
  return check_random(run, 2) ? size : -size;
}

static double any_real(check_run *run, tsr_dtype dtype) {
  return check_random(run, 4) != 0 ? between(run, -4, 4) : any_exponent(run, dtype);
}

static double random_real(check_run *run, tsr_dtype dtype, check_domain domain) {
  switch (domain) {
    case CHECK_MODERATE:
      return between(run, -100, 100);
    case CHECK_TAME:
      return between(run, -2, 2);
    case CHECK_NEAR_ONE:
      return between(run, 0.75, 1.25);
    case CHECK_LOGITS:
      return between(run, -10, 10);
    case CHECK_SPARSE:
      return (double)check_random(run, 5) - 2;
    default:
      return any_real(run, dtype);
  }
}

static int64_t random_bits(check_run *run) {
  uint64_t high = check_random(run, UINT64_C(1) << 32), low = check_random(run, UINT64_C(1) << 32);
  return (int64_t)(high << 32 | low);
}

static int64_t random_whole(check_run *run, check_domain domain) {
  switch (domain) {
    case CHECK_ANY:
      return check_random(run, 2) ? random_bits(run) : (int64_t)check_random(run, 25) - 12;
    case CHECK_NEAR_ONE:
      return (int64_t)check_random(run, 7) - 3;
    case CHECK_SPARSE:
      return (int64_t)check_random(run, 5) - 2;
    default:
      return (int64_t)check_random(run, 201) - 100;
  }
}

check_value check_random_value(check_run *run, tsr_dtype dtype, check_domain domain) {
  if (run->grad && check_is_float(dtype)) return check_grad_number(run, dtype, domain);
  bool may_be_special = domain == CHECK_ANY || domain == CHECK_MODERATE;
  if (may_be_special && check_random(run, 8) == 0) return special_value(run, dtype, domain);
  if (dtype == TSR_BOOL) return (check_value){.whole = (int64_t)check_random(run, 2)};
  if (!check_is_float(dtype)) {
    return (check_value){.whole = fitted(dtype, random_whole(run, domain))};
  }
  return (check_value){.real = check_round(dtype, random_real(run, dtype, domain))};
}
