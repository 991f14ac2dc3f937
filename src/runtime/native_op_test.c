// SPDX-License-Identifier: MIT
// Which native operators a device accepts: those that its backend's table offers and the device does not refuse.
#include "runtime/native_op.h"

#include "backends/cpu/cpu.h"
#include "support/test.h"

static bool takes_it;
static bool has_op(tsri_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return takes_it;
}

static const tsri_native_offer offers[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_F32 | 1u << TSR_F64, .parts = TSRI_PRODUCT_SCALED},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_F32, .parts = TSRI_PRODUCT_BIAS | TSRI_PRODUCT_RELU},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_I8, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_NONE},
};

static bool takes(const tsri_backend *backend, tsri_native_kind kind, tsr_dtype dtype, tsr_dtype result,
                  uint32_t parts) {
  tsr_device device = {.backend = backend};
  return tsri_device_takes(&device, &(tsri_native_op){.kind = kind, .dtype = dtype, .result = result, .parts = parts});
}

TEST(an_operator_is_taken_if_one_row_has_its_kind_its_dtypes_and_all_its_parts) {
  const tsri_backend all = {.native_ops = offers};
  const tsri_native_kind product = TSRI_NATIVE_PRODUCT;
  CHECK(takes(&all, product, TSR_F64, TSR_F64, 0));
  CHECK(takes(&all, product, TSR_F64, TSR_F64, TSRI_PRODUCT_SCALED));
  CHECK(takes(&all, product, TSR_F32, TSR_F32, TSRI_PRODUCT_BIAS));
  CHECK(takes(&all, product, TSR_F32, TSR_F32, TSRI_PRODUCT_BIAS | TSRI_PRODUCT_RELU));
  CHECK(takes(&all, product, TSR_I8, TSR_I32, 0));
  CHECK(!takes(&all, product, TSR_F64, TSR_F64, TSRI_PRODUCT_BIAS));  // bias is offered for f32 only
  CHECK(!takes(&all, product, TSR_F32, TSR_F32, TSRI_PRODUCT_BIAS | TSRI_PRODUCT_SCALED));  // no entry has both
  CHECK(!takes(&all, product, TSR_F32, TSR_F32, TSRI_PRODUCT_GELU));
  CHECK(!takes(&all, product, TSR_I8, TSR_I8, 0));
  CHECK(!takes(&all, product, TSR_F32, TSR_F64, 0));
  CHECK(!takes(&all, product, TSR_F16, TSR_F16, 0));
  CHECK(!takes(&all, TSRI_NATIVE_SUM, TSR_F32, TSR_F32, 0));
  CHECK(!takes(&(tsri_backend){.native_ops = NULL}, product, TSR_F32, TSR_F32, 0));
}

TEST(a_device_may_refuse_what_its_backend_offers) {
  const tsri_backend some = {.native_ops = offers, .has_op = has_op};
  takes_it = true;
  CHECK(takes(&some, TSRI_NATIVE_PRODUCT, TSR_F32, TSR_F32, 0));
  CHECK(!takes(&some, TSRI_NATIVE_SUM, TSR_F32, TSR_F32, 0));  // not offered, so has_op is not called
  takes_it = false;
  CHECK(!takes(&some, TSRI_NATIVE_PRODUCT, TSR_F32, TSR_F32, 0));
}

TEST(the_cpu_takes_products_of_floats_sums_of_f32_and_f64_any_copy_and_join) {
  const tsri_backend cpu = {.native_ops = tsri_cpu_native_ops};
  for (tsr_dtype dtype = 0; dtype < TSR_DTYPE_COUNT; dtype++) {
    bool is_real = dtype == TSR_F32 || dtype == TSR_F64, is_float = is_real || dtype == TSR_F16 || dtype == TSR_BF16;
    CHECK(takes(&cpu, TSRI_NATIVE_COPY, dtype, dtype, 0));
    CHECK(takes(&cpu, TSRI_NATIVE_JOIN, dtype, dtype, 0));
    CHECK(takes(&cpu, TSRI_NATIVE_SUM, dtype, dtype, 0) == is_real);
    CHECK(takes(&cpu, TSRI_NATIVE_PRODUCT, dtype, dtype, TSRI_PRODUCT_BIAS) == is_float);
  }
}
