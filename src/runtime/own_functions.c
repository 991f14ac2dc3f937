// SPDX-License-Identifier: MIT
// Tests a device's own f32 functions: computes them on the device and on the CPU, and compares the results.
#include "runtime/own_functions.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/hard_numbers.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/stage.h"

// COUNT: arguments of each function. If a device's division rounds differently, it does so for about one quotient in ten, or for all subnormal ones, so this
// many are enough.
enum { COUNT = 1 << 14, GROUP = 64, INPUTS = 5, BUFFERS = INPUTS + 1 };

// The functions that an item computes. Quotients are computed by a variable, of a constant and by a constant, because compilers may treat each differently.
enum { QUOTIENT, INVERSE, THIRD, EXP, ROOT, ROUNDED, FORMS };
static const char text[] =
    "kernel own_functions<WG = 64>(in f32 a[], in f32 b[], in f32 c[], in f32 d[], in f32 e[], out f32 y[]) {\n"
    "  f32 p = a[global.x], q = b[global.x];\n"
    "  y[global.x * 6] = p / q;\n"
    "  y[global.x * 6 + 1] = 1 / q;\n"
    "  y[global.x * 6 + 2] = p / 3.0f;\n"
    "  y[global.x * 6 + 3] = exp(c[global.x]);\n"
    "  y[global.x * 6 + 4] = sqrt(d[global.x]);\n"
    "  y[global.x * 6 + 5] = f32(bf16(e[global.x]));\n}\n";

typedef struct function_data {
  float in[INPUTS][COUNT];  // dividends, divisors, arguments of exp, arguments of sqrt, numbers to round to bf16
  float y[COUNT * FORMS];
} function_data;

// --- Numbers ----------------------------------------------------------------------------------------------------------

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// A positive number whose exponent is one of the `count` exponents from `least` on.
static float with_exponent(uint32_t *state, uint32_t least, uint32_t count) {
  uint32_t mantissa = next_random(state) & 0x7FFFFFu;
  return as_float(mantissa | (least + next_random(state) % count) << 23);
}

static float between(uint32_t *state, double low, double high) {
  return (float)(low + (high - low) * (next_random(state) * 0x1p-32));
}

static const uint32_t special[] = {0,           0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u,
                                   1,           0x007FFFFFu, 0x00800000u, 0x7F7FFFFFu, 0x3F800000u,
                                   0xBF800000u, 0xFF7FFFFFu, 0x80000001u};
enum { SPECIAL = sizeof special / sizeof *special };

// Fills in dividends and divisors: 0, infinity and the like; then pairs of arbitrary bits, near 1, of ordinary size, with subnormal quotients, with integer
// quotients, and with quotients that are hard to round.
static void fill_pairs(function_data *data, uint32_t *state) {
  enum { KINDS = 6 };
  for (uint32_t i = 0; i < COUNT; i++) {
    float *a = &data->in[0][i], *b = &data->in[1][i];
    switch (i < SPECIAL * SPECIAL ? KINDS : i % KINDS) {
      case 0:
        *a = as_float(next_random(state)), *b = as_float(next_random(state));
        break;
      case 1:
        *a = with_exponent(state, 127, 2), *b = with_exponent(state, 127, 2);
        break;
      case 2:
        *a = with_exponent(state, 97, 60), *b = with_exponent(state, 97, 60);
        break;
      case 3:
        *a = with_exponent(state, 1, 29), *b = with_exponent(state, 125, 32);
        break;
      case 4:
        *a = (float)(next_random(state) % 5000), *b = (float)(next_random(state) % 5000 + 1);
        break;
      case 5:
        tsri_hard_quotient(next_random(state), i & 8, a, b);
        break;
      default:
        *a = as_float(special[i / SPECIAL]), *b = as_float(special[i % SPECIAL]);
    }
  }
}

static void fill_exponents(float *c, uint32_t *state) {
  enum { KINDS = 4 };
  for (uint32_t i = 0; i < COUNT; i++) {
    switch (i < SPECIAL ? KINDS : i % KINDS) {
      case 0:
        c[i] = between(state, -105, 90);
        break;
      case 1:
        c[i] = between(state, -1, 1);
        break;
      case 2:
        c[i] = between(state, -20, 0);
        break;
      case 3:
        c[i] = as_float(next_random(state));
        break;
      default:
        c[i] = as_float(special[i]);
    }
  }
}

// Fills in arguments of sqrt: those whose roots are hard to round; numbers from 1 to 4, which give all mantissas of roots; and arbitrary bits.
static void fill_squares(float *d, uint32_t *state) {
  enum { HARD = 1 << 12 };
  for (uint32_t i = 0; i < COUNT; i++) {
    if (i < SPECIAL) d[i] = as_float(special[i]);
    else if (i < HARD) d[i] = tsri_hard_square(8 * ((int32_t)(i / 4) - HARD / 8) + 1, i % 4);
    else d[i] = i % 4 == 0 ? as_float(next_random(state)) : with_exponent(state, 127, 2);
  }
}

// Fills in numbers to round to bf16. The lower half is at or next to the middle between two bf16, or arbitrary for every second number. The upper halves
// include all with the two smallest exponents and all with the two largest ones, where results are subnormal, become infinity, or are NaN; the others are
// arbitrary.
static void fill_roundings(float *e, uint32_t *state) {
  static const uint32_t lower[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  enum { LOWER = sizeof lower / sizeof *lower, EDGE = 256 };
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t number = i / LOWER / 2, sign = i / LOWER % 2 << 31, any = next_random(state);
    if (number < 2 * EDGE) any = (number < EDGE ? number : 0x7FFF - (number - EDGE)) << 16 | sign;
    e[i] = as_float(number < 2 * EDGE || i % 2 == 0 ? (any & 0xFFFF0000u) | lower[i % LOWER] : any);
  }
}

// --- Comparing --------------------------------------------------------------------------------------------------------

static bool is_same(float got, float wanted) { return isnan(wanted) ? isnan(got) : bits_of(got) == bits_of(wanted); }

// Whether the expansion of division (lang/lower/expand_divide.c) handles a number of this size by correcting quotients, not in its `far` branch.
static bool is_near(float x) { return fabsf(x) >= 0x1p-31f && fabsf(x) < 0x1p32f; }

// Whether the device's quotients equal the CPU's: all of them, or if only_near those of numbers for which is_near is true.
static bool are_quotients_right(const function_data *data, bool only_near) {
  for (uint32_t i = 0; i < COUNT; i++) {
    float a = data->in[0][i], b = data->in[1][i];
    const float *y = &data->y[(size_t)i * FORMS];
    bool asks_a = !only_near || is_near(a), asks_b = !only_near || is_near(b);
    if (asks_a && asks_b && !is_same(y[QUOTIENT], a / b)) return false;
    if (asks_b && !is_same(y[INVERSE], 1 / b)) return false;
    if (asks_a && !is_same(y[THIRD], a / 3)) return false;
  }
  return true;
}

// The error in units of the last place; infinity counts as 2^128. A subnormal result may be flushed to 0.
static double exp_error(float x, float y) {
  double wanted = fmin(exp((double)x), 0x1p128), got = fmin((double)y, 0x1p128);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0 : HUGE_VAL;
  if (wanted < 0x1p-126 && y == 0) return 0;
  int exponent;
  (void)frexp(wanted, &exponent);
  return fabs(got - wanted) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

static bool has_near_exp2(const function_data *data) {
  const double most_ulp = 2.5;
  for (uint32_t i = 0; i < COUNT; i++) {
    if (!(exp_error(data->in[2][i], data->y[(size_t)i * FORMS + EXP]) <= most_ulp)) return false;
  }
  return true;
}

// Whether the device's roots equal the CPU's. A subnormal operand may be flushed to 0.
static bool has_near_root(const function_data *data) {
  for (uint32_t i = 0; i < COUNT; i++) {
    float x = data->in[3][i], y = data->y[(size_t)i * FORMS + ROOT];
    if (!is_same(y, sqrtf(x)) && !(fabsf(x) < 0x1p-126f && y == 0)) return false;
  }
  return true;
}

static bool has_exact_products(const function_data *data) {
  for (uint32_t i = 0; i < COUNT; i++) {
    uint16_t half = 0;
    float wanted = 0;
    bool is_converted = tsr_convert(TSR_BF16, &half, TSR_F32, &data->in[4][i], 1) == TSR_OK &&
                        tsr_convert(TSR_F32, &wanted, TSR_BF16, &half, 1) == TSR_OK;
    if (!is_converted || !is_same(data->y[(size_t)i * FORMS + ROUNDED], wanted)) return false;
  }
  return true;
}

// --- The launch -------------------------------------------------------------------------------------------------------

static tsr_status compute(tsr_device *device, const tsri_kernel *kernel, function_data *data) {
  const uint32_t groups[3] = {COUNT / GROUP, 1, 1};
  tsri_built built = {0};
  tsr_buffer *buffers[BUFFERS] = {NULL};
  tsri_argument arguments[BUFFERS];
  tsr_status status = tsri_built_compile(device, kernel, false, &built);
  for (int i = 0; i < BUFFERS && status == TSR_OK; i++) {
    size_t bytes = i < INPUTS ? sizeof data->in[i] : sizeof data->y;
    status = tsr_buffer_create(device, bytes, 0, &buffers[i]);
    if (status == TSR_OK && i < INPUTS) status = tsr_buffer_upload(buffers[i], 0, data->in[i], bytes);
    arguments[i] = (tsri_argument){.buffer = buffers[i], .element_count = bytes / sizeof(float)};
  }
  if (status == TSR_OK) status = tsri_built_launch(device, &built, groups, arguments, NULL);
  if (status == TSR_OK) status = tsr_buffer_download(buffers[INPUTS], 0, data->y, sizeof data->y);
  for (int i = 0; i < BUFFERS; i++) tsr_buffer_release(buffers[i]);
  tsri_built_deinit(device, &built);
  return status;
}

// Computes all functions: first with the device's own division, and if its quotients are wrong, again with corrected quotients.
static tsr_status compute_all(tsr_device *device, const tsri_kernel *kernel, function_data *data) {
  tsri_limits *limits = &device->limits;
  limits->has_exact_quotient = limits->has_near_exp2 = limits->has_near_root = true;  // so that the kernel uses them
  limits->has_exact_products = true;
  tsr_status status = compute(device, kernel, data);
  bool is_done = status == TSR_OK;
  limits->has_exact_quotient = is_done && are_quotients_right(data, false);
  limits->has_near_exp2 = is_done && has_near_exp2(data);
  limits->has_near_root = is_done && has_near_root(data);
  limits->has_exact_products = is_done && has_exact_products(data);
  if (!is_done || limits->has_exact_quotient || !limits->has_exact_fma) return status;
  limits->has_near_quotient = true;
  status = compute(device, kernel, data);
  limits->has_near_quotient = status == TSR_OK && are_quotients_right(data, true);
  return status;
}

static tsr_status measure(tsr_device *device, function_data *data) {
  const tsri_limits *limits = &device->limits;
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  uint32_t state = 2463534242u;
  fill_pairs(data, &state);
  fill_exponents(data->in[2], &state);
  fill_squares(data->in[3], &state);
  fill_roundings(data->in[4], &state);
  tsr_status status = tsri_lang_parse("own_functions", text, sizeof text - 1, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel);
  if (status == TSR_OK) status = compute_all(device, kernel, data);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  atomic_store(&device->counters.launches, 0);  // not a launch of the program
  tsri_log(TSR_LOG_DEBUG, "%s: of its own f32 functions kernels use%s%s%s%s", device->info.name,
           limits->has_exact_quotient  ? " quotients"
           : limits->has_near_quotient ? " corrected quotients"
                                       : " no quotients",
           limits->has_near_exp2 ? ", exp2" : "", limits->has_near_root ? ", inverse roots" : "",
           limits->has_exact_products ? ", products to round to bf16" : "");
  return status == TSR_ERR_BUILD || status == TSR_ERR_UNSUPPORTED ? TSR_OK : status;
}

tsr_status tsri_own_functions_measure(tsr_device *device) {
  const tsri_limits *limits = &device->limits;
  bool is_known = limits->has_exact_divide || device->info.is_software;
  if (is_known || limits->max_group_size < GROUP || !device->backend->dialect) return TSR_OK;
  function_data *data = tsri_stage_create(sizeof *data);
  if (!data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_open: no host memory to test its functions");
  tsr_status status = measure(device, data);
  tsri_stage_release(device, data, status);
  return status;
}
