// SPDX-License-Identifier: MIT
// How exact results must be: a table with a reason for each row; and the known gaps.
#include <string.h>

#include "check.h"

// clang-format off
const check_bound check_bounds[CHECK_BOUND_COUNT] = {
    //                      f64   f32   f32 elsewhere  f16, bf16  per term
    [CHECK_BITS] = {"same bits", 0, 0, 0, 0, 0, "ULP",
        "elements are moved, not computed; the sign of 0 counts"},
    [CHECK_EXACT] = {"exact", 0, 0, 0, 0, 0, "ULP",
        "integers wrap, and comparing, choosing and rounding to whole numbers have one right answer"},
    [CHECK_ROUNDED] = {"0.5 ULP", 0.5, 0.5, 0.5, 0.51, 0, "ULP",
        "IEEE 754 rounds + - * and fma correctly; f16 and bf16 are rounded to f32 first, which adds up to 2^-12 ULP"},
    [CHECK_DIVIDED] = {"0.5 ULP, /", 0.5, 0.5, 2.5, 0.51, 0, "ULP",
        "IEEE 754 rounds / and sqrt correctly, too; OpenCL and Vulkan promise 2.5 ULP"},
    [CHECK_QUOTIENT] = {"1 ULP", 1, 1, 3, 0.51, 0, "ULP",
        "whole quotients are exact as far as the dtype holds them; larger ones are rounded twice"},
    [CHECK_FUNCTION] = {"2 ULP", 3, 2, 5, 0.51, 0, "ULP",
        "docs/kernel-language.md: within 2 ULP in f32 on the CPU, a few elsewhere; f16 and bf16 are computed in f32"},
    [CHECK_POWER] = {"4 ULP", 5, 4, 16, 0.52, 0, "ULP",
        "pow, tan, sinh, cosh, their inverses and erf go through two functions; OpenCL promises 16 ULP"},
    [CHECK_ACTIVATION] = {"6 ULP", 6, 6, 16, 0.52, 0, "ULP",
        "a function, a sum and a quotient, one after the other"},
    [CHECK_CANCELLING] = {"8 roundings", 8, 8, 16, 8, 0, "roundings of the largest part",
        "parts of the sum cancel, so the error is that of the largest part, not of the result"},
    [CHECK_SUM] = {"sum of n", 4, 4, 4, 4, 1, "roundings of the sum of magnitudes",
        "each addition rounds once, n - 1 times where all are in one chain; long sums are made of shorter ones"},
    [CHECK_PRODUCT] = {"product of n", 4, 4, 4, 4, 1, "roundings of the product",
        "each multiplication rounds once"},
    [CHECK_SPREAD] = {"variance of n", 8, 8, 16, 8, 2, "roundings of the sum of squares",
        "two passes, or parts with a mean each: the means' errors and each square's add to the sum's"},
    [CHECK_ROWS] = {"row of n", 16, 16, 24, 16, 1, "roundings of the largest part",
        "a sum over the row, functions of 2 ULP, and a difference from the row's largest or mean"},
    [CHECK_DOT] = {"dot of n", 4, 4, 4, 4, 1, "roundings of the sum of |a * b|",
        "each product and each addition rounds once, or both at once where fma is used"},
    [CHECK_NORMAL] = {"4 ULP of f32", 4e9, 4, 4, 0.52, 0, "ULP",
        "randn is a product of a root of a logarithm and a sine, by polynomials of 1e-7 and 4e-9 relative error in f32; f64 carries f32's precision"},
    [CHECK_RANDOM] = {"8 ULP of f32", 4.3e9, 8, 8, 0.6, 0, "ULP",
        "polynomials of 1e-7 relative error in f32, cubes and exponentials of them; f64 carries f32's precision"},
    [CHECK_TRANSFORM] = {"fft of n", 4, 4, 8, 4, 2, "roundings of the root of the sum of squares",
        "each pass of a transform turns and adds its inputs: a few roundings of all of them together; a convolution has three times as many"},
    [CHECK_MATRIX] = {"matrix of n", 8, 8, 16, 8, 2, "roundings of the largest part",
        "each step of a factorisation rounds what is left of the matrix, and errors of a product of the factors are measured by the matrix"},
    [CHECK_DIFFERENCES] = {"differences", 1, 1, 1, 1, 0, "millionths of the gradient",
        "central differences with a step of 1e-5 are wrong by its square times the third derivative, and by roundings of the results divided by it"},
    [CHECK_GRADIENT] = {"gradient of n", 32, 32, 48, 32, 2, "roundings of the largest gradient",
        "gradients pass through several operators, each of which rounds, add up over what was broadcast, and are those of rounded results"},
};

const check_gap check_gaps[] = {
    {NULL, "*", "the device has no 64-bit floats", "f64"},
    {NULL, "*", "the device has no 64-bit integers", "i64"},
    {"", "", "", NULL},  // ends the table
};
// clang-format on

const int check_gap_count = sizeof check_gaps / sizeof check_gaps[0] - 1;

// The longest chain of additions in a sum of `terms`. Sums by one item (running sums of many lines, small matrix
// products) have up to 4096 additions in a row; longer sums are distributed over the 256 items of a work-group.
static double chain(int64_t terms) {
  enum { STRETCH = 4096 };
  return terms <= STRETCH ? (double)terms : STRETCH + (double)terms / 256;
}

double check_allowed(check_bound_id id, tsr_dtype dtype, const char *backend, int64_t terms) {
  const check_bound *bound = &check_bounds[id];
  double base = bound->half;
  if (dtype == TSR_F64) base = bound->f64;
  if (dtype == TSR_F32) base = strcmp(backend, "cpu") == 0 ? bound->f32 : bound->f32_elsewhere;
  return base + bound->per_term * chain(terms);
}
