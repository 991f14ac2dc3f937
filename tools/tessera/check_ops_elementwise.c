// SPDX-License-Identifier: MIT
// The element-wise operators that `tessera check` knows, a row each. What the columns are: check.h, struct check_op.
#include <math.h>

#include "check_elementwise.h"
#include "check_reference.h"

#define FLOATS  CHECK_FLOAT_TYPES
#define WHOLES  CHECK_WHOLE_TYPES
#define NUMBERS CHECK_NUMBER_TYPES
#define ALL     CHECK_ALL_TYPES
#define BITS    (CHECK_WHOLE_TYPES | CHECK_BOOL_TYPE)

// Rows by what the public function takes. `f` is the reference of floats, `i` that of integers and bool.
#define COMMON(op, what, group, types, type_rule, limit, values) \
  .name = #op, .text = what, .family = group, .dtypes = types, .rule = type_rule, .bound = limit, .domain = values
#define UNARY(op, group, types, type_rule, limit, values, f, i, what)                                           \
  {                                                                                                             \
    COMMON(op, what, group, types, type_rule, limit, values), .run = check_elementwise, .inputs = 1,            \
                                                              .call.unary = tsr_##op, .real.one = f, .whole = i \
  }
#define UNARY_LOOSE(op, group, types, type_rule, limit, values, f, size, what)                                         \
  {                                                                                                                    \
    COMMON(op, what, group, types, type_rule, limit, values), .run = check_elementwise, .inputs = 1,                   \
                                                              .call.unary = tsr_##op, .real.one = f, .magnitude = size \
  }
#define BINARY(op, group, types, type_rule, limit, f, i, what)                                                      \
  {                                                                                                                 \
    COMMON(op, what, group, types, type_rule, limit, CHECK_ANY), .run = check_elementwise, .inputs = 2,             \
                                                                 .call.binary = tsr_##op, .real.two = f, .whole = i \
  }
#define SCALAR(op, group, types, type_rule, limit, f, i, what)                                                      \
  {                                                                                                                 \
    COMMON(op, what, group, types, type_rule, limit, CHECK_ANY), .run = check_scalar, .inputs = 1, .scalars = 1,    \
                                                                 .call.unary1 = tsr_##op, .real.two = f, .whole = i \
  }
#define TERNARY(op, group, types, type_rule, limit, values, f, i, size, what)                                        \
  {                                                                                                                  \
    COMMON(op, what, group, types, type_rule, limit, values), .run = check_elementwise, .inputs = 3,                 \
                                                              .call.ternary = tsr_##op, .real.three = f, .whole = i, \
                                                              .magnitude = size                                      \
  }

// clang-format off
static const check_op elementwise[] = {
    UNARY(neg, "one tensor", NUMBERS, CHECK_SAME, CHECK_BITS, CHECK_ANY, ref_neg, ref_whole_neg, "-x; integers wrap"),
    UNARY(abs, "one tensor", NUMBERS, CHECK_SAME, CHECK_BITS, CHECK_ANY, fabs, ref_whole_abs, "|x|; the least integer stays"),
    UNARY(sign, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, ref_sign, ref_whole_sign, "-1, 0 or 1; NaN stays NaN"),
    UNARY(square, "one tensor", NUMBERS, CHECK_SAME, CHECK_ROUNDED, CHECK_ANY, ref_square, ref_whole_square, "x * x"),
    UNARY(relu, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, ref_relu, ref_whole_relu, "max(x, 0)"),
    UNARY(floor, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, floor, ref_whole_same, "largest whole number not above x"),
    UNARY(ceil, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, ceil, ref_whole_same, "smallest whole number not below x"),
    UNARY(round, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, rint, ref_whole_same, "nearest whole number, halves to the even one"),
    UNARY(trunc, "one tensor", NUMBERS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, trunc, ref_whole_same, "x without its fraction"),
    UNARY(bitwise_not, "logic", BITS, CHECK_SAME, CHECK_EXACT, CHECK_ANY, NULL, ref_whole_bitwise_not, "every bit inverted; on bool: not"),
    UNARY(isnan, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, CHECK_ANY, ref_isnan, ref_whole_no, "is x not a number"),
    UNARY(isinf, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, CHECK_ANY, ref_isinf, ref_whole_no, "is x infinity or -infinity"),
    UNARY(isfinite, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, CHECK_ANY, ref_isfinite, ref_whole_yes, "is x neither NaN nor infinite"),
    UNARY(logical_not, "logic", ALL, CHECK_TRUTH, CHECK_EXACT, CHECK_ANY, NULL, ref_whole_not, "x == 0"),

    UNARY(reciprocal, "functions", ALL, CHECK_FLOAT, CHECK_DIVIDED, CHECK_ANY, ref_reciprocal, NULL, "1 / x"),
    UNARY(sqrt, "functions", ALL, CHECK_FLOAT, CHECK_DIVIDED, CHECK_ANY, sqrt, NULL, "square root; NaN below 0"),
    UNARY(rsqrt, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, ref_rsqrt, NULL, "1 / sqrt(x); infinity at 0"),
    UNARY(exp, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, exp, NULL, "e to the x"),
    UNARY(exp2, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, exp2, NULL, "2 to the x"),
    UNARY(expm1, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, expm1, NULL, "exp(x) - 1, accurate near 0"),
    UNARY(log, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, log, NULL, "natural logarithm; -infinity at 0, NaN below"),
    UNARY(log2, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, log2, NULL, "logarithm to base 2"),
    UNARY(log10, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, log10, NULL, "logarithm to base 10"),
    UNARY(log1p, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, log1p, NULL, "log(1 + x), accurate near 0"),
    UNARY(sin, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, sin, NULL, "sine of x in radians"),
    UNARY(cos, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, cos, NULL, "cosine of x in radians"),
    UNARY(tan, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, tan, NULL, "tangent of x in radians"),
    UNARY(asin, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, asin, NULL, "arc sine; NaN outside -1 to 1"),
    UNARY(acos, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, acos, NULL, "arc cosine; NaN outside -1 to 1"),
    UNARY(atan, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, atan, NULL, "arc tangent"),
    UNARY(sinh, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, sinh, NULL, "hyperbolic sine"),
    UNARY(cosh, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, cosh, NULL, "hyperbolic cosine"),
    UNARY(tanh, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, tanh, NULL, "hyperbolic tangent"),
    UNARY(asinh, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, asinh, NULL, "inverse of sinh"),
    UNARY(acosh, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, acosh, NULL, "inverse of cosh, 0 or more; NaN below 1"),
    UNARY(atanh, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, atanh, NULL, "inverse of tanh; infinite at -1 and 1, NaN outside"),
    UNARY(cbrt, "functions", ALL, CHECK_FLOAT, CHECK_FUNCTION, CHECK_ANY, ref_cbrt, NULL, "cube root, of negative numbers too"),
    UNARY(erf, "functions", ALL, CHECK_FLOAT, CHECK_POWER, CHECK_ANY, erf, NULL, "error function"),

    UNARY(sigmoid, "activations", ALL, CHECK_FLOAT, CHECK_ACTIVATION, CHECK_ANY, ref_sigmoid, NULL, "1 / (1 + exp(-x))"),
    UNARY_LOOSE(silu, "activations", ALL, CHECK_FLOAT, CHECK_CANCELLING, CHECK_ANY, ref_silu, ref_silu_magnitude,
        "x * sigmoid(x); 0 at -infinity"),
    UNARY_LOOSE(gelu, "activations", ALL, CHECK_FLOAT, CHECK_CANCELLING, CHECK_ANY, ref_gelu, ref_gelu_magnitude,
        "x * (1 + erf(x / sqrt(2))) / 2; 0 at -infinity"),
    UNARY_LOOSE(gelu_tanh, "activations", ALL, CHECK_FLOAT, CHECK_CANCELLING, CHECK_ANY, ref_gelu_tanh, ref_gelu_tanh_magnitude,
        "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2; 0 at -infinity"),
    UNARY(softplus, "activations", ALL, CHECK_FLOAT, CHECK_ACTIVATION, CHECK_ANY, ref_softplus, NULL, "log(1 + exp(x))"),
    SCALAR(leaky_relu, "activations", ALL, CHECK_FLOAT, CHECK_ROUNDED, ref_leaky_relu, NULL, "x above 0, else slope * x"),
    SCALAR(elu, "activations", ALL, CHECK_FLOAT, CHECK_ACTIVATION, ref_elu, NULL, "x above 0, else alpha * (exp(x) - 1)"),
    {COMMON(clamp, "min(max(x, least), most); NaN stays NaN", "one tensor", ALL, CHECK_SAME, CHECK_EXACT, CHECK_ANY),
     .run = check_scalar, .inputs = 1, .scalars = 2, .call.unary2 = tsr_clamp, .real.three = ref_clamp, .whole = ref_whole_clamp},
    {COMMON(cast, "another dtype, by the rules of tsr_convert", "one tensor", ALL, CHECK_ASKED, CHECK_BITS, CHECK_ANY), .run = check_cast},

    BINARY(add, "two tensors", ALL, CHECK_SAME, CHECK_ROUNDED, ref_add, ref_whole_add, "a + b; integers wrap; on bool: or"),
    BINARY(sub, "two tensors", NUMBERS, CHECK_SAME, CHECK_ROUNDED, ref_sub, ref_whole_sub, "a - b; integers wrap"),
    BINARY(mul, "two tensors", ALL, CHECK_SAME, CHECK_ROUNDED, ref_mul, ref_whole_mul, "a * b; integers wrap; on bool: and"),
    BINARY(div, "two tensors", ALL, CHECK_FLOAT, CHECK_DIVIDED, ref_div, NULL, "a / b"),
    BINARY(floor_div, "two tensors", NUMBERS, CHECK_SAME, CHECK_QUOTIENT, ref_floor_div, ref_whole_floor_div,
        "a / b rounded down; integers by 0 give 0"),
    BINARY(mod, "two tensors", NUMBERS, CHECK_SAME, CHECK_ROUNDED, ref_mod, ref_whole_mod,
        "a - b * floor_div(a, b), with the sign of b; integers by 0 give 0, floats NaN"),
    BINARY(pow, "two tensors", NUMBERS, CHECK_SAME, CHECK_POWER, pow, ref_whole_pow,
        "a to the b; integers wrap, and a negative b gives 1 / a^-b without its fraction"),
    BINARY(minimum, "two tensors", ALL, CHECK_SAME, CHECK_EXACT, ref_minimum, ref_whole_minimum, "the smaller; NaN if either is NaN"),
    BINARY(maximum, "two tensors", ALL, CHECK_SAME, CHECK_EXACT, ref_maximum, ref_whole_maximum, "the larger; NaN if either is NaN"),
    BINARY(atan2, "two tensors", ALL, CHECK_FLOAT, CHECK_POWER, atan2, NULL, "angle of the point (b, a) from the x axis"),
    BINARY(eq, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_eq, ref_whole_eq, "a == b"),
    BINARY(ne, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_ne, ref_whole_ne, "a != b"),
    BINARY(lt, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_lt, ref_whole_lt, "a < b"),
    BINARY(le, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_le, ref_whole_le, "a <= b"),
    BINARY(gt, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_gt, ref_whole_gt, "a > b"),
    BINARY(ge, "logic", ALL, CHECK_COMPARE, CHECK_EXACT, ref_ge, ref_whole_ge, "a >= b"),
    BINARY(logical_and, "logic", ALL, CHECK_TRUTH, CHECK_EXACT, NULL, ref_whole_and, "are both not 0"),
    BINARY(logical_or, "logic", ALL, CHECK_TRUTH, CHECK_EXACT, NULL, ref_whole_or, "is either not 0"),
    BINARY(logical_xor, "logic", ALL, CHECK_TRUTH, CHECK_EXACT, NULL, ref_whole_xor, "is one of them 0 and the other not"),
    BINARY(bitwise_and, "logic", BITS, CHECK_SAME, CHECK_EXACT, NULL, ref_whole_and, "bit by bit and"),
    BINARY(bitwise_or, "logic", BITS, CHECK_SAME, CHECK_EXACT, NULL, ref_whole_or, "bit by bit or"),
    BINARY(bitwise_xor, "logic", BITS, CHECK_SAME, CHECK_EXACT, NULL, ref_whole_xor, "bit by bit exclusive or"),
    BINARY(shift_left, "logic", WHOLES, CHECK_SAME, CHECK_EXACT, NULL, ref_whole_shift_left,
        "a * 2^b; all bits go where b is the width or more, or negative"),
    BINARY(shift_right, "logic", WHOLES, CHECK_SAME, CHECK_EXACT, NULL, ref_whole_shift_right,
        "a / 2^b rounded down; all bits go where b is the width or more, or negative"),

    TERNARY(where, "three tensors", ALL, CHECK_WHERE, CHECK_BITS, CHECK_ANY, ref_where, ref_whole_where, NULL,
        "a where the condition holds, else b"),
    TERNARY(fma, "three tensors", NUMBERS, CHECK_SAME, CHECK_ROUNDED, CHECK_ANY, fma, ref_whole_fma, NULL,
        "a * b + c, floats rounded once"),
    TERNARY(lerp, "three tensors", ALL, CHECK_FLOAT, CHECK_CANCELLING, CHECK_MODERATE, ref_lerp, NULL, ref_lerp_magnitude,
        "a + weight * (b - a); b at weight 1"),
    {COMMON(lerp_scalar, "the same with one weight", "three tensors", ALL, CHECK_FLOAT, CHECK_CANCELLING, CHECK_MODERATE),
     .run = check_scalar, .inputs = 2, .scalars = 1, .call.binary1 = tsr_lerp_scalar, .real.three = ref_lerp,
     .magnitude = ref_lerp_magnitude},
};

static const check_op scalar[] = {
    SCALAR(add_scalar, "with a number", ALL, CHECK_SAME, CHECK_ROUNDED, ref_add, ref_whole_add, "x + c"),
    SCALAR(sub_scalar, "with a number", ALL, CHECK_SAME, CHECK_ROUNDED, ref_sub, ref_whole_sub, "x - c"),
    SCALAR(rsub_scalar, "with a number", ALL, CHECK_SAME, CHECK_ROUNDED, ref_rsub, ref_whole_rsub, "c - x"),
    SCALAR(mul_scalar, "with a number", ALL, CHECK_SAME, CHECK_ROUNDED, ref_mul, ref_whole_mul, "x * c"),
    SCALAR(div_scalar, "with a number", ALL, CHECK_FLOAT, CHECK_DIVIDED, ref_div, NULL, "x / c"),
    SCALAR(rdiv_scalar, "with a number", ALL, CHECK_FLOAT, CHECK_DIVIDED, ref_rdiv, NULL, "c / x"),
    SCALAR(floor_div_scalar, "with a number", ALL, CHECK_SAME, CHECK_QUOTIENT, ref_floor_div, ref_whole_floor_div, "as floor_div, by c"),
    SCALAR(mod_scalar, "with a number", ALL, CHECK_SAME, CHECK_ROUNDED, ref_mod, ref_whole_mod, "as mod, by c"),
    SCALAR(pow_scalar, "with a number", ALL, CHECK_SAME, CHECK_POWER, pow, ref_whole_pow, "x to the c"),
    SCALAR(rpow_scalar, "with a number", ALL, CHECK_SAME, CHECK_POWER, ref_rpow, ref_whole_rpow, "c to the x"),
    SCALAR(minimum_scalar, "with a number", ALL, CHECK_SAME, CHECK_EXACT, ref_minimum, ref_whole_minimum, "the smaller of x and c; NaN if either is"),
    SCALAR(maximum_scalar, "with a number", ALL, CHECK_SAME, CHECK_EXACT, ref_maximum, ref_whole_maximum, "the larger of x and c; NaN if either is"),
    SCALAR(eq_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_eq, ref_whole_eq, "x == c"),
    SCALAR(ne_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_ne, ref_whole_ne, "x != c"),
    SCALAR(lt_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_lt, ref_whole_lt, "x < c"),
    SCALAR(le_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_le, ref_whole_le, "x <= c"),
    SCALAR(gt_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_gt, ref_whole_gt, "x > c"),
    SCALAR(ge_scalar, "with a number", ALL, CHECK_COMPARE, CHECK_EXACT, ref_ge, ref_whole_ge, "x >= c"),
};
// clang-format on

const check_part check_elementwise_part = {elementwise, sizeof elementwise / sizeof elementwise[0]};
const check_part check_scalar_part = {scalar, sizeof scalar / sizeof scalar[0]};
