// SPDX-License-Identifier: MIT
// Element-wise operators whose kernels are formulas of several functions (kernels/fn_inverse.tk, fn_hypot.tk, fn_softplus.tk), for few numbers of f32. Each step is the
// kernel's, in its order, so that results have the same bits.
#include <math.h>

#include "binding.h"

// The library's functions that formulas are made of.
typedef enum part { PART_EXP, PART_EXP2, PART_LOG, PART_LOG1P, PART_LOG2, PART_COUNT } part;

// NULL: the device has no such function.
static tsr_host_function find_part(const tsr_device *device, part which) {
  static const char *const names[PART_COUNT] = {"exp", "exp2", "log", "log1p", "log2"};
  // Devices are known by their addresses: one that is opened where a closed one was has the same functions.
  static const tsr_device *known_device[PART_COUNT];
  static tsr_host_function known[PART_COUNT];
  if (known_device[which] != device) {
    known[which] = tsr_device_host_function(device, names[which]);
    known_device[which] = device;
  }
  return known[which];
}

// x[i] = function(x[i]).
static bool apply(const tsr_device *device, part which, float *x, int count) {
  tsr_host_function run = find_part(device, which);
  if (run) run(x, x, x, (uint32_t)count);
  return run != NULL;
}

static float signed_as(float size, float x) { return x == 0 ? x : x < 0 ? -size : size; }

#define LARGE_LIMIT 1e9f  // the square of more does not change when 1 is added
#define LOG_OF_2    0.69314718055994530942f

static bool formula_asinh(const tsr_device *device, const float *x, const float *unused, int count, float *out) {
  float far[TSRPY_FEW];
  (void)unused;
  for (int i = 0; i < count; i++) {
    const float a = fabsf(x[i]), bounded = a < LARGE_LIMIT ? a : LARGE_LIMIT, square = bounded * bounded;
    far[i] = a;
    out[i] = a + square / (1 + sqrtf(square + 1));
  }
  if (!apply(device, PART_LOG1P, out, count) || !apply(device, PART_LOG, far, count)) return false;
  for (int i = 0; i < count; i++) {
    out[i] = signed_as(fabsf(x[i]) < LARGE_LIMIT ? out[i] : far[i] + LOG_OF_2, x[i]);
  }
  return true;
}

static bool formula_acosh(const tsr_device *device, const float *x, const float *unused, int count, float *out) {
  float far[TSRPY_FEW];
  (void)unused;
  for (int i = 0; i < count; i++) {
    const float t = (x[i] < LARGE_LIMIT ? x[i] : LARGE_LIMIT) - 1;
    far[i] = x[i];
    out[i] = t + sqrtf(t * (t + 2));
  }
  if (!apply(device, PART_LOG1P, out, count) || !apply(device, PART_LOG, far, count)) return false;
  for (int i = 0; i < count; i++) {
    out[i] = x[i] < 1 || isnan(x[i]) ? NAN : x[i] >= LARGE_LIMIT ? far[i] + LOG_OF_2 : out[i];
  }
  return true;
}

static bool formula_atanh(const tsr_device *device, const float *x, const float *unused, int count, float *out) {
  (void)unused;
  for (int i = 0; i < count; i++) out[i] = 2 * fabsf(x[i]) / (1 - fabsf(x[i]));
  if (!apply(device, PART_LOG1P, out, count)) return false;
  for (int i = 0; i < count; i++) out[i] = signed_as(0.5f * out[i], x[i]);
  return true;
}

static bool formula_cbrt(const tsr_device *device, const float *x, const float *unused, int count, float *out) {
  (void)unused;
  for (int i = 0; i < count; i++) out[i] = fabsf(x[i]);
  if (!apply(device, PART_LOG2, out, count)) return false;
  for (int i = 0; i < count; i++) out[i] = out[i] / 3;
  if (!apply(device, PART_EXP2, out, count)) return false;
  for (int i = 0; i < count; i++) {
    const float y = out[i], better = y + (fabsf(x[i]) / (y * y) - y) / 3;
    out[i] = x[i] == 0 || isinf(x[i]) ? x[i] : signed_as(better, x[i]);
  }
  return true;
}

static float hypot_of(float a, float b) {
  const float large = 0x1p60f, small = 0x1p-50f, up = 0x1p100f;
  const float most = fabsf(a) > fabsf(b) ? fabsf(a) : fabsf(b);
  const float scale = most > large ? 1 / up : most < small ? up : 1;
  const float back = most > large ? up : most < small ? 1 / up : 1;
  const float x = a * scale, y = b * scale;
  return isinf(a) || isinf(b) ? INFINITY : sqrtf(x * x + y * y) * back;
}

static bool formula_hypot(const tsr_device *device, const float *a, const float *b, int count, float *out) {
  (void)device;
  for (int i = 0; i < count; i++) out[i] = hypot_of(a[i], b[i]);
  return true;
}

// log(1 + e) for e from 0 to 1.
static float log1p_of_unit(float e) {
  float p = fmaf(fmaf(e, -0.00329089141f, 0.0200878605f), e, -0.0574597232f);
  p = fmaf(fmaf(p, e, 0.106613249f), e, -0.15344964f);
  p = fmaf(fmaf(p, e, 0.1969212f), e, -0.249580204f);
  p = fmaf(fmaf(p, e, 0.333304644f), e, -0.499999315f);
  return e * fmaf(p, e, 1);
}

static bool formula_logaddexp(const tsr_device *device, const float *a, const float *b, int count, float *out) {
  for (int i = 0; i < count; i++) out[i] = a[i] == b[i] ? -0.0f : -fabsf(a[i] - b[i]);
  if (!apply(device, PART_EXP, out, count)) return false;
  for (int i = 0; i < count; i++) {
    const float larger = isnan(a[i]) || a[i] > b[i] ? a[i] : b[i], more = log1p_of_unit(out[i]);
    out[i] = larger + more;
  }
  return true;
}

tsrpy_formula *tsrpy_formula_find(const char *name) {
  static const struct {
    const char *name;
    tsrpy_formula *run;
  } formulas[] = {{"asinh", formula_asinh}, {"acosh", formula_acosh}, {"atanh", formula_atanh},
                  {"cbrt", formula_cbrt},   {"hypot", formula_hypot}, {"logaddexp", formula_logaddexp}};
  for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
    if (strcmp(formulas[i].name, name) == 0) return formulas[i].run;
  }
  return NULL;
}
