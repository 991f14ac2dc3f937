// SPDX-License-Identifier: MIT
// The public functions of element-wise operators: tsr_<name> for every such row of operators.def.
#include "ops/elementwise.h"

// Chooses multiplication for x^2: squares are common, and a product is correctly rounded, unlike pow. Other exponents stay parameters, so that one kernel
// serves all of them.
static tsri_operator_id choose(tsri_operator_id id, const tsr_tensor *x, double c) {
  bool is_square = id == TSRI_OPERATOR_pow_scalar && c == 2 && tsr_tensor_dtype(x) != TSR_BOOL;
  return is_square ? TSRI_OPERATOR_square : id;
}

#define TSRI_ONE(name, ...) \
  tsr_tensor *tsr_##name(tsr_tensor *x) { return tsri_elementwise(TSRI_OPERATOR_##name, &x, NULL); }
#define TSRI_ONE_1(name, p, ...)                                         \
  tsr_tensor *tsr_##name(tsr_tensor *x, double p) {                      \
    return tsri_elementwise(choose(TSRI_OPERATOR_##name, x, p), &x, &p); \
  }
#define TSRI_ONE_2(name, p, q, ...)                                      \
  tsr_tensor *tsr_##name(tsr_tensor *x, double p, double q) {            \
    return tsri_elementwise(TSRI_OPERATOR_##name, &x, (double[]){p, q}); \
  }
#define TSRI_ONE_3(name, p, q, r, ...)                                      \
  tsr_tensor *tsr_##name(tsr_tensor *x, double p, double q, double r) {     \
    return tsri_elementwise(TSRI_OPERATOR_##name, &x, (double[]){p, q, r}); \
  }
#define TSRI_TWO(name, ...)                                                      \
  tsr_tensor *tsr_##name(tsr_tensor *a, tsr_tensor *b) {                         \
    return tsri_elementwise(TSRI_OPERATOR_##name, (tsr_tensor *[]){a, b}, NULL); \
  }
#define TSRI_TWO_1(name, p, ...)                                               \
  tsr_tensor *tsr_##name(tsr_tensor *a, tsr_tensor *b, double p) {             \
    return tsri_elementwise(TSRI_OPERATOR_##name, (tsr_tensor *[]){a, b}, &p); \
  }
#define TSRI_THREE(name, a, b, c, ...)                                              \
  tsr_tensor *tsr_##name(tsr_tensor *a, tsr_tensor *b, tsr_tensor *c) {             \
    return tsri_elementwise(TSRI_OPERATOR_##name, (tsr_tensor *[]){a, b, c}, NULL); \
  }
#include "ops/operators.def"
