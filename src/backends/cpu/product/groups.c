// SPDX-License-Identifier: MIT
// Which tiles of groups a device uses.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
// Whether k is too short for AMX. Its tiles process 64 bytes of k at a time and pad with zeros; if k is only a fraction of that, other tiles are faster, even
// those of f32.
static bool is_shallow(tsr_dtype dtype, int64_t k) {
  enum { LEAST_BYTES = 16 };
  return k * (int64_t)tsr_dtype_bytes(dtype) < LEAST_BYTES;
}
#endif

const tsri_product_groups *tsri_product_groups_for(uint32_t units, tsr_dtype dtype, int64_t k) {
#if TSRI_HAS_GROUPS
  bool has_bytes = dtype == TSR_I8 || dtype == TSR_U8;
  if (is_shallow(dtype, k) && (!has_bytes || (units & TSRI_CPU_VNNI))) units &= ~(uint32_t)TSRI_CPU_AMX;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_AMX)) return &tsri_product_bf16_amx;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_BF16)) return &tsri_product_bf16_avx512;
  if (has_bytes && (units & TSRI_CPU_AMX)) return &tsri_product_bytes_amx;
  if (has_bytes && (units & TSRI_CPU_VNNI)) return &tsri_product_bytes_avx512;
#endif
  (void)units, (void)dtype, (void)k;
  return NULL;
}
