// SPDX-License-Identifier: MIT
// Rules of element-wise operators: one function for each row of operators.def that has GRADIENT.
//
// f16 and bf16 are computed in f32 and rounded once, at the end, like the operators themselves.
#include <math.h>

#include "grad/rule.h"

static tsr_tensor *input(const grad_view *v, int index) { return tsri_grad_wide(v->inputs[index]); }

static double number(const grad_view *v, int index) { return ((const tsri_scalars *)v->attributes)->values[index]; }

// --- What rules use -----------------------------------------------------------------------------------------------------

static const double ln_2 = 0.69314718055994530942, ln_10 = 2.30258509299404568402, pi = 3.14159265358979323846;

// g where the condition holds, else 0; and the reverse.
static tsr_tensor *zero_where(tsr_tensor *condition, tsr_tensor *g) { return tsr_masked_fill(g, condition, 0); }
static tsr_tensor *only_where(tsr_tensor *condition, tsr_tensor *g) {
  return tsr_masked_fill(g, tsr_logical_not(condition), 0);
}

// exp(-x^2 / 2) / sqrt(2 pi)
static tsr_tensor *bell(tsr_tensor *x) {
  return tsr_mul_scalar(tsr_exp(tsr_mul_scalar(tsr_square(x), -0.5)), 1 / sqrt(2 * pi));
}

// The slope of gelu: the share of the normal distribution below x, and x times its density.
static tsr_tensor *gelu_slope(tsr_tensor *x) {
  tsr_tensor *below = tsr_mul_scalar(tsr_add_scalar(tsr_erf(tsr_mul_scalar(x, sqrt(0.5))), 1), 0.5);
  return tsr_add(below, tsr_mul(x, bell(x)));
}

// The slope of gelu_tanh, with u = sqrt(2 / pi) * (x + 0.044715 x^3): (1 + tanh u) / 2 + x (1 - tanh^2 u) / 2 * u'.
static tsr_tensor *gelu_tanh_slope(tsr_tensor *x) {
  const double c = 0.044715, root = sqrt(2 / pi);
  tsr_tensor *square = tsr_square(x);
  tsr_tensor *t = tsr_tanh(tsr_mul_scalar(tsr_mul(x, tsr_add_scalar(tsr_mul_scalar(square, c), 1)), root));
  tsr_tensor *steep = tsr_mul_scalar(tsr_add_scalar(tsr_mul_scalar(square, 3 * c), 1), root / 2);
  tsr_tensor *bend = tsr_mul(tsr_mul(x, tsr_rsub_scalar(tsr_square(t), 1)), steep);
  return tsr_add(tsr_mul_scalar(tsr_add_scalar(t, 1), 0.5), bend);
}

// The slope of silu, of which y is the result: s + x s (1 - s) = y + s (1 - y).
static tsr_tensor *silu_slope(tsr_tensor *x, tsr_tensor *y) {
  return tsr_add(y, tsr_mul(tsr_sigmoid(x), tsr_rsub_scalar(y, 1)));
}

// b a^(b - 1), and 0 where b is 0, also at a = 0.
static tsr_tensor *pow_slope(tsr_tensor *a, tsr_tensor *b) {
  return zero_where(tsr_eq_scalar(b, 0), tsr_mul(b, tsr_pow(a, tsr_sub_scalar(b, 1))));
}

// c x^(c - 1); 0 at the 0 of a root, where it is infinite.
static tsr_tensor *power_slope(tsr_tensor *x, double c) {
  tsr_tensor *slope = tsr_mul_scalar(tsr_pow_scalar(x, c - 1), c);
  return c > 0 && c < 1 ? zero_where(tsr_eq_scalar(x, 0), slope) : slope;
}

// --- One function per rule ----------------------------------------------------------------------------------------------

#define PART(index, part) \
  if (v->wants[index]) v->gradients[index] = (part);
#define GRADIENT(dx)           PART(0, dx)
#define GRADIENTS(da, db)      PART(0, da) PART(1, db)
#define GRADIENTS3(da, db, dc) PART(0, da) PART(1, db) PART(2, dc)

#define FUNCTION(name, declared, body)                                                    \
  static void gradient_##name(const grad_view *v) {                                       \
    tsr_tensor *y = tsri_grad_wide(v->outputs[0]), *g = tsri_grad_wide(v->cotangents[0]); \
    declared;                                                                             \
    (void)y, (void)g;                                                                     \
    body                                                                                  \
  }
#define ONE     tsr_tensor *x = input(v, 0)
#define TWO     tsr_tensor *a = input(v, 0), *b = input(v, 1)
#define USED(x) (void)x

#define TSRI_ONE(name, family, text, body, check, real, whole) FUNCTION(name, ONE; USED(x), body)
#define TSRI_ONE_1(name, p, family, text, body, check, real, whole) \
  FUNCTION(name, ONE; double p = number(v, 0); USED(x); USED(p), body)
#define TSRI_ONE_2(name, p, q, family, text, body, check, real, whole) \
  FUNCTION(name, ONE; double p = number(v, 0); double q = number(v, 1); USED(x); USED(p); USED(q), body)
#define TSRI_ONE_3(name, p, q, r, family, text, body, check, real, whole)                                          \
  FUNCTION(name, ONE; double p = number(v, 0); double q = number(v, 1); double r = number(v, 2); USED(x); USED(p); \
           USED(q); USED(r), body)
#define TSRI_TWO(name, family, text, body, check, real, whole) FUNCTION(name, TWO; USED(a); USED(b), body)
#define TSRI_TWO_1(name, p, family, text, body, check, real, whole) \
  FUNCTION(name, TWO; double p = number(v, 0); USED(a); USED(b); USED(p), body)
#define TSRI_THREE(name, a, b, c, family, text, body, check, real, whole)                                         \
  FUNCTION(name, tsr_tensor *a = v->inputs[0]; tsr_tensor *b = input(v, 1); tsr_tensor *c = input(v, 2); USED(a); \
           USED(b); USED(c), body)
#include "ops/operators.def"

// --- The table ----------------------------------------------------------------------------------------------------------

#define GRADIENT(...)   1 ||
#define GRADIENTS(...)  1 ||
#define GRADIENTS3(...) 1 ||

#define ENTRY(name, body)                                                 [TSRI_OPERATOR_##name] = (body 0) ? gradient_##name : NULL,
#define TSRI_ONE(name, family, text, body, check, real, whole)            ENTRY(name, body)
#define TSRI_ONE_1(name, p, family, text, body, check, real, whole)       ENTRY(name, body)
#define TSRI_ONE_2(name, p, q, family, text, body, check, real, whole)    ENTRY(name, body)
#define TSRI_ONE_3(name, p, q, r, family, text, body, check, real, whole) ENTRY(name, body)
#define TSRI_TWO(name, family, text, body, check, real, whole)            ENTRY(name, body)
#define TSRI_TWO_1(name, p, family, text, body, check, real, whole)       ENTRY(name, body)
#define TSRI_THREE(name, a, b, c, family, text, body, check, real, whole) ENTRY(name, body)

const grad_rule tsri_grad_elementwise[TSRI_OPERATOR_COUNT] = {
#include "ops/operators.def"
};
