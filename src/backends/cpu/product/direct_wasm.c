// SPDX-License-Identifier: MIT
// In place of direct.c where modules have to stay small: every product is packed.
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
