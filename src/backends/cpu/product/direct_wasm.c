// SPDX-License-Identifier: MIT
// In place of direct.c, deep.c and quant_rows.c where modules have to stay small: every product is packed.
#include "backends/cpu/product/product.h"

bool tsri_product_is_direct(const tsri_product *p) {
  (void)p;
  return false;
}

size_t tsri_product_direct_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}

void tsri_product_run_direct(const tsri_product *p) { (void)p; }

bool tsri_product_is_deep(const tsri_product *p, int threads) {
  (void)p, (void)threads;
  return false;
}

size_t tsri_product_deep_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}

void tsri_product_run_deep(const tsri_product *p) { (void)p; }

// In place of quant_rows.c: kernels of this build have no rows of quantised weights, so that no such product comes here.
bool tsri_product_has_quant_rows(const tsri_product *p) {
  (void)p;
  return false;
}

size_t tsri_product_quant_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}

void tsri_product_run_quant_rows(const tsri_product *p) { (void)p; }

bool tsri_product_has_few_columns(const tsri_product *p) {
  (void)p;
  return false;
}

size_t tsri_product_columns_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}

void tsri_product_run_columns(const tsri_product *p) { (void)p; }
