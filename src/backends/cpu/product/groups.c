// SPDX-License-Identifier: MIT
// Which tiles of groups a device uses.
#include "backends/cpu/product/groups.h"

const tsri_product_groups *tsri_product_groups_for(uint32_t units, tsr_dtype dtype) {
#if TSRI_HAS_GROUPS
  bool has_bytes = dtype == TSR_I8 || dtype == TSR_U8;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_AMX)) return &tsri_product_bf16_amx;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_BF16)) return &tsri_product_bf16_avx512;
  if (has_bytes && (units & TSRI_CPU_AMX)) return &tsri_product_bytes_amx;
  if (has_bytes && (units & TSRI_CPU_VNNI)) return &tsri_product_bytes_avx512;
#endif
  (void)units;
  (void)dtype;
  return NULL;
}
