// SPDX-License-Identifier: MIT
#include "runtime/steps.h"

#include "runtime/native_op.h"
#include "support/test.h"

static bool has_nothing_yet(tsri_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return false;
}

static const tsri_native_offer offers[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_F32},
    {.kind = TSRI_NATIVE_NONE},
};

// Asks a device that offers products and declines each, then queues a kernel. Returns whether what was noted may change later.
static bool is_provisional(tsri_native_kind kind, bool is_generated) {
  const tsri_backend backend = {.native_ops = offers, .has_op = has_nothing_yet};
  const tsr_device device = {.backend = &backend};
  const tsri_native_op op = {.kind = kind, .dtype = TSR_F32, .result = TSR_F32};
  const tsri_kernel kernel = {.buffer_count = 0};
  const tsri_built built = {.kernel = &kernel};
  tsri_steps steps;
  tsri_steps_begin(&steps);
  CHECK(!tsri_device_takes(&device, &op));
  const tsri_argument none = {0};
  tsri_steps_add_launch(&built, (const uint32_t[]){1, 1, 1}, &none, "", 0, is_generated);
  tsri_steps_end();
  CHECK_EQ_INT(steps.count, 1);
  return steps.is_provisional;
}

TEST(kernels_in_place_of_a_native_operator_that_the_device_may_take_later_are_provisional) {
  CHECK(is_provisional(TSRI_NATIVE_PRODUCT, false));
  CHECK(!is_provisional(TSRI_NATIVE_PRODUCT, true));
  CHECK(!is_provisional(TSRI_NATIVE_SORT, false));  // the device offers no such operator at all
}
