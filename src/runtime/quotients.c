// SPDX-License-Identifier: MIT
// Divides pairs of numbers on the device and on the CPU.
#include "runtime/quotients.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/stage.h"

// Divisions that round otherwise are off for one quotient in ten or so, or for all that are subnormal: none is missed.
enum { PAIRS = 1 << 14, GROUP = 64, FORMS = 3 };

// By a variable, of a constant, by a constant: compilers may treat each in its own way.
static const char text[] =
    "kernel quotients<WG = 64>(in f32 a[], in f32 b[], out f32 y[]) {\n"
    "  f32 p = a[global.x], q = b[global.x];\n"
    "  y[global.x * 3] = p / q;\n"
    "  y[global.x * 3 + 1] = 1 / q;\n"
    "  y[global.x * 3 + 2] = p / 3.0f;\n}\n";

typedef struct quotient_data {
  uint32_t a[PAIRS], b[PAIRS];  // bits of f32
  float y[PAIRS * FORMS];
} quotient_data;

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

// A positive number with an exponent from `least` on, of `count`, as its bits.
static uint32_t with_exponent(uint32_t *state, uint32_t least, uint32_t count) {
  uint32_t mantissa = next_random(state) & 0x7FFFFFu;
  return mantissa | (least + next_random(state) % count) << 23;
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

// Numbers of any bits, near 1, of ordinary size, with subnormal quotients, and whole ones; 0, infinity and the like first.
static void fill(quotient_data *data) {
  static const uint32_t special[] = {0,           0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 1,
                                     0x007FFFFFu, 0x00800000u, 0x7F7FFFFFu, 0x3F800000u, 0xBF800000u};
  enum { KINDS = 5, SPECIAL = sizeof special / sizeof *special };
  uint32_t state = 2463534242u;
  for (uint32_t i = 0; i < PAIRS; i++) {
    uint32_t *a = &data->a[i], *b = &data->b[i];
    switch (i < SPECIAL * SPECIAL ? KINDS : i % KINDS) {
      case 0:
        *a = next_random(&state), *b = next_random(&state);
        break;
      case 1:
        *a = with_exponent(&state, 127, 2), *b = with_exponent(&state, 127, 2);
        break;
      case 2:
        *a = with_exponent(&state, 97, 60), *b = with_exponent(&state, 97, 60);
        break;
      case 3:
        *a = with_exponent(&state, 1, 29), *b = with_exponent(&state, 125, 32);
        break;
      case 4:
        *a = bits_of((float)(next_random(&state) % 5000)), *b = bits_of((float)(next_random(&state) % 5000 + 1));
        break;
      default:
        *a = special[i / SPECIAL], *b = special[i % SPECIAL];
    }
  }
}

static bool is_same(float got, float wanted) { return isnan(wanted) ? isnan(got) : bits_of(got) == bits_of(wanted); }

static bool are_exact(const quotient_data *data) {
  for (uint32_t i = 0; i < PAIRS; i++) {
    float a = as_float(data->a[i]), b = as_float(data->b[i]);
    const float *y = &data->y[i * FORMS];
    if (!is_same(y[0], a / b) || !is_same(y[1], 1 / b) || !is_same(y[2], a / 3)) return false;
  }
  return true;
}

static tsr_status divide(tsr_device *device, const tsri_kernel *kernel, quotient_data *data) {
  const uint32_t groups[3] = {PAIRS / GROUP, 1, 1};
  tsri_built built = {0};
  tsr_buffer *buffers[3] = {NULL};
  tsr_status status = tsri_built_compile(device, kernel, false, &built);
  for (int i = 0; i < 3 && status == TSR_OK; i++) {
    status = tsr_buffer_create(device, i < 2 ? sizeof data->a : sizeof data->y, 0, &buffers[i]);
  }
  if (status == TSR_OK) status = tsr_buffer_upload(buffers[0], 0, data->a, sizeof data->a);
  if (status == TSR_OK) status = tsr_buffer_upload(buffers[1], 0, data->b, sizeof data->b);
  tsri_argument arguments[3];
  for (int i = 0; i < 3; i++) {
    arguments[i] = (tsri_argument){.buffer = buffers[i], .element_count = i < 2 ? PAIRS : PAIRS * FORMS};
  }
  if (status == TSR_OK) status = tsri_built_launch(device, &built, groups, arguments, NULL);
  if (status == TSR_OK) status = tsr_buffer_download(buffers[2], 0, data->y, sizeof data->y);
  for (int i = 0; i < 3; i++) tsr_buffer_release(buffers[i]);
  tsri_built_deinit(device, &built);
  return status;
}

static tsr_status measure(tsr_device *device, quotient_data *data) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  fill(data);
  tsr_status status = tsri_lang_parse("quotients", text, sizeof text - 1, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel);
  device->limits.has_exact_quotient = true;  // so that the kernel has the device's own division
  if (status == TSR_OK) status = divide(device, kernel, data);
  device->limits.has_exact_quotient = status == TSR_OK && are_exact(data);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  atomic_store(&device->counters.launches, 0);  // not a launch of the program
  tsri_log(TSR_LOG_DEBUG, "%s: its own quotients of f32 are %s", device->info.name,
           device->limits.has_exact_quotient ? "exact" : "not exact");
  return status == TSR_ERR_BUILD || status == TSR_ERR_UNSUPPORTED ? TSR_OK : status;
}

tsr_status tsri_quotients_measure(tsr_device *device) {
  const tsri_limits *limits = &device->limits;
  bool is_known = limits->has_exact_divide || device->info.is_software;
  if (is_known || limits->max_group_size < GROUP || !device->backend->dialect) return TSR_OK;
  quotient_data *data = tsri_stage_create(sizeof *data);
  if (!data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_open: no host memory to test its quotients");
  tsr_status status = measure(device, data);
  tsri_stage_release(device, data, status);
  return status;
}
