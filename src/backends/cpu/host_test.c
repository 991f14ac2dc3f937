// SPDX-License-Identifier: MIT
#include <tessera/host.h>

#include "ops/ops_testing.h"

TEST(host_functions_give_what_kernels_give) {
  begin();
  enum { COUNT = 4096 };
  static const struct {
    const char *name;
    tsr_tensor *(*one)(tsr_tensor *x);
    tsr_tensor *(*two)(tsr_tensor *a, tsr_tensor *b);
  } functions[] = {
      {"exp", tsr_exp, NULL},   {"exp2", tsr_exp2, NULL},   {"expm1", tsr_expm1, NULL}, {"log", tsr_log, NULL},
      {"log2", tsr_log2, NULL}, {"log10", tsr_log10, NULL}, {"log1p", tsr_log1p, NULL}, {"sin", tsr_sin, NULL},
      {"cos", tsr_cos, NULL},   {"tan", tsr_tan, NULL},     {"asin", tsr_asin, NULL},   {"acos", tsr_acos, NULL},
      {"atan", tsr_atan, NULL}, {"sinh", tsr_sinh, NULL},   {"cosh", tsr_cosh, NULL},   {"tanh", tsr_tanh, NULL},
      {"erf", tsr_erf, NULL},   {"atan2", NULL, tsr_atan2}, {"pow", NULL, tsr_pow}};
  static float a[COUNT], b[COUNT], wanted[COUNT], found[COUNT];
  for (int i = 0; i < COUNT; i++) {
    a[i] = (float)(i - COUNT / 3) / 64;
    b[i] = (float)(i % 37) / 8 - 2;
  }
  tsr_tensor *x = tsr_from_data(dev, TSR_F32, TSR_SHAPE(COUNT), a, sizeof a);
  tsr_tensor *y = tsr_from_data(dev, TSR_F32, TSR_SHAPE(COUNT), b, sizeof b);
  for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
    tsr_host_function run = tsr_device_host_function(dev, functions[k].name);
    CHECK(run != NULL);
    CHECK_OK(tsr_read(functions[k].one ? functions[k].one(x) : functions[k].two(x, y), wanted, sizeof wanted));
    for (uint32_t at = 0; at < COUNT; at += 5) run(found + at, a + at, b + at, COUNT - at < 5 ? COUNT - at : 5);
    for (int i = 0; i < COUNT; i++) {
      bool are_nan = found[i] != found[i] && wanted[i] != wanted[i];  // the sign of a NaN is not given
      CHECK(are_nan || memcmp(&found[i], &wanted[i], sizeof found[i]) == 0);
    }
  }
  finish();
}

TEST(other_operators_and_devices_have_no_host_function) {
  begin();
  CHECK(tsr_device_host_function(dev, "add") == NULL);
  CHECK(tsr_device_host_function(dev, "expm") == NULL);
  CHECK(tsr_device_host_function(dev, "EXP") == NULL);
  CHECK(tsr_device_host_function(dev, NULL) == NULL);
  CHECK(tsr_device_host_function(NULL, "exp") == NULL);
  finish();
}
