// SPDX-License-Identifier: MIT
// In place of columns.c, deep.c, direct.c, outer.c and quant_rows.c where modules have to stay small: every product is packed, or one with a vector. Inline, so that nothing is left of them.
#ifndef TSRI_CPU_PRODUCT_WAYS_WASM_H
#define TSRI_CPU_PRODUCT_WAYS_WASM_H

static inline bool tsri_product_is_direct(const tsri_product *p) {
  (void)p;
  return false;
}
static inline size_t tsri_product_direct_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}
static inline void tsri_product_run_direct(const tsri_product *p) { (void)p; }

static inline bool tsri_product_is_deep(const tsri_product *p, int threads) {
  (void)p, (void)threads;
  return false;
}
static inline size_t tsri_product_deep_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}
static inline void tsri_product_run_deep(const tsri_product *p) { (void)p; }

static inline bool tsri_product_has_quant_rows(const tsri_product *p) {
  (void)p;
  return false;
}
static inline size_t tsri_product_quant_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}
static inline void tsri_product_run_quant_rows(const tsri_product *p) { (void)p; }

static inline bool tsri_product_has_few_columns(const tsri_product *p) {
  (void)p;
  return false;
}
static inline size_t tsri_product_columns_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}
static inline void tsri_product_run_columns(const tsri_product *p) { (void)p; }

static inline bool tsri_product_is_outer(const tsri_product *p) {
  (void)p;
  return false;
}
static inline size_t tsri_product_outer_scratch_bytes(const tsri_product *p) {
  (void)p;
  return 0;
}
static inline void tsri_product_run_outer(const tsri_product *p) { (void)p; }

#endif
