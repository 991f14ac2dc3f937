// SPDX-License-Identifier: MIT
// The product kernels of all SIMD levels of this build.
#include <string.h>

#include "backends/cpu/lanes/isa_levels.h"
#include "backends/cpu/product/product.h"

#define TSRI_X(level) extern const tsri_product_kernels tsri_product_f32_##level, tsri_product_f64_##level;
TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X

static const struct {
  const char *level;
  const tsri_product_kernels *f32, *f64;
} levels[] = {
#define TSRI_X(level) {#level, &tsri_product_f32_##level, &tsri_product_f64_##level},
    TSRI_ISA_LEVELS(TSRI_X)
#undef TSRI_X
};

const tsri_product_kernels *tsri_product_kernels_for(const char *simd_level, tsr_dtype sums) {
  size_t found = 0;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    if (strcmp(levels[i].level, simd_level) == 0) found = i;
  }
  return sums == TSR_F64 ? levels[found].f64 : levels[found].f32;
}
