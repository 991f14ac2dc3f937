// SPDX-License-Identifier: MIT
// Operators: arithmetic, reductions, joining and indexing, rows, linear algebra, random numbers.
//
// Made by scripts/generate-ops-header from src/ops/operators.def; not to be edited by hand.
//
// A call only records an operator: nothing is computed until a result is read (tensor.h), and chains of element-wise
// operators run as one kernel. Every call returns a new tensor, which belongs to the caller or to the open scope. A wrong
// call returns a failed tensor with the reason (TSR_ERR_SHAPE with the shapes, TSR_ERR_DTYPE with the dtypes,
// TSR_ERR_INVALID_ARGUMENT); if an input is NULL or a failed tensor, so is the result. Inputs are never changed.
// docs/type-promotion.md says which dtype a result has.
//
// If inputs are on two devices, the operator runs on the more compatible one (docs/architecture.md, "Mixed devices").
//
// An axis may be negative: it then counts from the end. Sizes of 0 are allowed everywhere. Where nothing has to be
// computed (a cast to the same dtype, a roll by 0, a concat of one tensor) the result may be a view of the input.
// Results are contiguous, except those of element-wise operators and reductions of transposed views: if all inputs have
// the same order of axes in memory, the result has that order as well, as in NumPy and PyTorch (see tsr_contiguous).
// Joining, indexing, sorting, row operators and matrix products address up to 2^32 - 2^24 elements: more is
// TSR_ERR_UNSUPPORTED when they run.
//
// Threads: any.
#ifndef TESSERA_OPS_H
#define TESSERA_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/desc.h>
#include <tessera/device.h>
#include <tessera/dtype.h>
#include <tessera/shape.h>
#include <tessera/tensor.h>

// --- One tensor, element by element ----------------------------------------------------------------------------------

// Any number; the dtype stays. Integers wrap. bool is refused.
TSR_API tsr_tensor *tsr_neg(tsr_tensor *x);     // -x; integers wrap
TSR_API tsr_tensor *tsr_abs(tsr_tensor *x);     // |x|; the least integer stays
TSR_API tsr_tensor *tsr_sign(tsr_tensor *x);    // -1, 0 or 1; NaN stays NaN
TSR_API tsr_tensor *tsr_square(tsr_tensor *x);  // x * x
TSR_API tsr_tensor *tsr_relu(tsr_tensor *x);    // max(x, 0)
TSR_API tsr_tensor *tsr_floor(tsr_tensor *x);   // largest whole number not above x
TSR_API tsr_tensor *tsr_ceil(tsr_tensor *x);    // smallest whole number not below x
TSR_API tsr_tensor *tsr_round(tsr_tensor *x);   // nearest whole number, halves to the even one
TSR_API tsr_tensor *tsr_trunc(tsr_tensor *x);   // x without its fraction

// The limits for an integer tensor must be whole numbers; infinity, or a number beyond the dtype's range, means no limit. NaN stays NaN. If `least` is
// above `most`, the result is `most`.
TSR_API tsr_tensor *tsr_clamp(tsr_tensor *x, double least, double most);  // min(max(x, least), most); NaN stays NaN

// NaN, infinity and -infinity replaced by these numbers. Floats only: integers have none of them.
TSR_API tsr_tensor *tsr_nan_to_num(tsr_tensor *x, double at_nan, double at_infinity, double at_minus_infinity);

// Integers only. The bits are those of |x|, so that the count does not depend on the dtype: 1 for -1.
TSR_API tsr_tensor *tsr_bit_count(tsr_tensor *x);  // how many bits of |x| are 1

// Functions of real numbers: integers and bool become f32. Accuracy: docs/kernel-language.md.
TSR_API tsr_tensor *tsr_reciprocal(tsr_tensor *x);  // 1 / x
TSR_API tsr_tensor *tsr_sqrt(tsr_tensor *x);        // square root; NaN below 0
TSR_API tsr_tensor *tsr_rsqrt(tsr_tensor *x);       // 1 / sqrt(x); infinity at 0
TSR_API tsr_tensor *tsr_exp(tsr_tensor *x);         // e to the x
TSR_API tsr_tensor *tsr_exp2(tsr_tensor *x);        // 2 to the x
TSR_API tsr_tensor *tsr_expm1(tsr_tensor *x);       // exp(x) - 1, accurate near 0
TSR_API tsr_tensor *tsr_log(tsr_tensor *x);         // natural logarithm; -infinity at 0, NaN below
TSR_API tsr_tensor *tsr_log2(tsr_tensor *x);        // logarithm to base 2
TSR_API tsr_tensor *tsr_log10(tsr_tensor *x);       // logarithm to base 10
TSR_API tsr_tensor *tsr_log1p(tsr_tensor *x);       // log(1 + x), accurate near 0
TSR_API tsr_tensor *tsr_sin(tsr_tensor *x);         // sine of x in radians
TSR_API tsr_tensor *tsr_cos(tsr_tensor *x);         // cosine of x in radians
TSR_API tsr_tensor *tsr_tan(tsr_tensor *x);         // tangent of x in radians
TSR_API tsr_tensor *tsr_asin(tsr_tensor *x);        // arc sine; NaN outside -1 to 1
TSR_API tsr_tensor *tsr_acos(tsr_tensor *x);        // arc cosine; NaN outside -1 to 1
TSR_API tsr_tensor *tsr_atan(tsr_tensor *x);        // arc tangent
TSR_API tsr_tensor *tsr_sinh(tsr_tensor *x);        // hyperbolic sine
TSR_API tsr_tensor *tsr_cosh(tsr_tensor *x);        // hyperbolic cosine
TSR_API tsr_tensor *tsr_tanh(tsr_tensor *x);        // hyperbolic tangent
TSR_API tsr_tensor *tsr_asinh(tsr_tensor *x);       // inverse of sinh
TSR_API tsr_tensor *tsr_acosh(tsr_tensor *x);       // inverse of cosh, 0 or more; NaN below 1
TSR_API tsr_tensor *tsr_atanh(tsr_tensor *x);       // inverse of tanh; infinite at -1 and 1, NaN outside
TSR_API tsr_tensor *tsr_cbrt(tsr_tensor *x);        // cube root, of negative numbers too
TSR_API tsr_tensor *tsr_erf(tsr_tensor *x);         // error function

// Activations; integers and bool become f32 as well. No intermediate result overflows, and activations that tend to 0 are 0 at -infinity.

// 1 / (1 + exp(-x))
TSR_API tsr_tensor *tsr_sigmoid(tsr_tensor *x);
// x * sigmoid(x); 0 at -infinity
TSR_API tsr_tensor *tsr_silu(tsr_tensor *x);
// x * (1 + erf(x / sqrt(2))) / 2; 0 at -infinity
TSR_API tsr_tensor *tsr_gelu(tsr_tensor *x);
// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2; 0 at -infinity
TSR_API tsr_tensor *tsr_gelu_tanh(tsr_tensor *x);
// log(1 + exp(x))
TSR_API tsr_tensor *tsr_softplus(tsr_tensor *x);
// x above 0, else slope * x
TSR_API tsr_tensor *tsr_leaky_relu(tsr_tensor *x, double slope);
// x above 0, else alpha * (exp(x) - 1)
TSR_API tsr_tensor *tsr_elu(tsr_tensor *x, double alpha);

// Gated linear units: an activation of the gate a, times b. If a layer computes a and b as one tensor, tsr_split separates them.
TSR_API tsr_tensor *tsr_swiglu(tsr_tensor *a, tsr_tensor *b);  // silu(a) * b
TSR_API tsr_tensor *tsr_geglu(tsr_tensor *a, tsr_tensor *b);   // gelu(a) * b

// Tests: the result is bool. logical_not is x == 0.
TSR_API tsr_tensor *tsr_isnan(tsr_tensor *x);        // is x not a number
TSR_API tsr_tensor *tsr_isinf(tsr_tensor *x);        // is x infinity or -infinity
TSR_API tsr_tensor *tsr_isfinite(tsr_tensor *x);     // is x neither NaN nor infinite
TSR_API tsr_tensor *tsr_signbit(tsr_tensor *x);      // is x negative, -0 included; false for NaN
TSR_API tsr_tensor *tsr_logical_not(tsr_tensor *x);  // x == 0

// Integers and bool.
TSR_API tsr_tensor *tsr_bitwise_not(tsr_tensor *x);  // every bit inverted; on bool: not

// Another dtype, by the rules of tsr_convert. The same dtype gives a view.
TSR_API tsr_tensor *tsr_cast(tsr_tensor *x, tsr_dtype dtype);

// The same bytes as elements of another dtype. Where the sizes of elements differ, the last axis gets longer or shorter; the first element comes from
// the lowest bytes.
//
// Errors: TSR_ERR_SHAPE (the last axis does not hold a whole number of new elements), TSR_ERR_DTYPE (to bool, whose bytes are 0 or 1).
TSR_API tsr_tensor *tsr_bit_cast(tsr_tensor *x, tsr_dtype dtype);

// --- Two tensors, broadcast against each other -----------------------------------------------------------------------

// Arithmetic in the promoted dtype. Integers wrap. On bool, add and maximum are or, mul and minimum are and.
TSR_API tsr_tensor *tsr_add(tsr_tensor *a, tsr_tensor *b);      // a + b; integers wrap; on bool: or
TSR_API tsr_tensor *tsr_sub(tsr_tensor *a, tsr_tensor *b);      // a - b; integers wrap
TSR_API tsr_tensor *tsr_mul(tsr_tensor *a, tsr_tensor *b);      // a * b; integers wrap; on bool: and
TSR_API tsr_tensor *tsr_minimum(tsr_tensor *a, tsr_tensor *b);  // the smaller; NaN if either is NaN
TSR_API tsr_tensor *tsr_maximum(tsr_tensor *a, tsr_tensor *b);  // the larger; NaN if either is NaN

// a / b as real numbers: integers become f32.
TSR_API tsr_tensor *tsr_div(tsr_tensor *a, tsr_tensor *b);  // a / b

// Quotient rounded down, and the remainder with the sign of b, as in Python; exact for floats, too. Integers divided by 0 give
// 0; floats divided by 0 give a / 0 as the quotient and NaN as the remainder.

// a / b rounded down; integers by 0 give 0
TSR_API tsr_tensor *tsr_floor_div(tsr_tensor *a, tsr_tensor *b);
// a - b * floor_div(a, b), with the sign of b; integers by 0 give 0, floats NaN
TSR_API tsr_tensor *tsr_mod(tsr_tensor *a, tsr_tensor *b);

// Integers wrap; to a negative power they are 0, unless the base is 1 or -1.
TSR_API tsr_tensor *tsr_pow(tsr_tensor *a, tsr_tensor *b);

// Angle of the point (x = b, y = a).
TSR_API tsr_tensor *tsr_atan2(tsr_tensor *a, tsr_tensor *b);  // angle of the point (b, a) from the x axis

// Infinite if either is, also beside NaN.
TSR_API tsr_tensor *tsr_hypot(tsr_tensor *a, tsr_tensor *b);  // sqrt(a^2 + b^2), without overflow on the way

// |a| with the sign of b, where -0 counts as negative; a NaN counts as positive, whatever its bits are.
TSR_API tsr_tensor *tsr_copysign(tsr_tensor *a, tsr_tensor *b);  // |a| with the sign of b

// Without overflow on the way. Of two infinities of one sign: that infinity.
TSR_API tsr_tensor *tsr_logaddexp(tsr_tensor *a, tsr_tensor *b);  // log(exp(a) + exp(b))

// The number of the result's dtype that comes next to a in the direction of b; b where they are equal.
TSR_API tsr_tensor *tsr_nextafter(tsr_tensor *a, tsr_tensor *b);  // the number next to a in the direction of b

// 0 where a is 0, also at log(0); NaN if b is NaN.
TSR_API tsr_tensor *tsr_xlogy(tsr_tensor *a, tsr_tensor *b);  // a * log(b); 0 where a is 0

// The remainder of C and of NumPy's fmod: it has the sign of a, where mod has that of b. Exact for floats, too. Integers by 0 give 0.
TSR_API tsr_tensor *tsr_fmod(tsr_tensor *a, tsr_tensor *b);

// As minimum and maximum, but if one of the two is NaN the result is the other one.
TSR_API tsr_tensor *tsr_fmin(tsr_tensor *a, tsr_tensor *b);  // the smaller; of NaN and a number the number
TSR_API tsr_tensor *tsr_fmax(tsr_tensor *a, tsr_tensor *b);  // the larger; of NaN and a number the number

// Integers only. The result is not negative; only the dtype's lowest integer, whose magnitude does not fit, stays negative. gcd(0, 0) and lcm(a, 0)
// are 0. lcm wraps.
TSR_API tsr_tensor *tsr_gcd(tsr_tensor *a, tsr_tensor *b);  // greatest common divisor
TSR_API tsr_tensor *tsr_lcm(tsr_tensor *a, tsr_tensor *b);  // least common multiple; wraps

// Comparisons in the promoted dtype; the result is bool. NaN is unequal to everything.
TSR_API tsr_tensor *tsr_eq(tsr_tensor *a, tsr_tensor *b);  // a == b
TSR_API tsr_tensor *tsr_ne(tsr_tensor *a, tsr_tensor *b);  // a != b
TSR_API tsr_tensor *tsr_lt(tsr_tensor *a, tsr_tensor *b);  // a < b
TSR_API tsr_tensor *tsr_le(tsr_tensor *a, tsr_tensor *b);  // a <= b
TSR_API tsr_tensor *tsr_gt(tsr_tensor *a, tsr_tensor *b);  // a > b
TSR_API tsr_tensor *tsr_ge(tsr_tensor *a, tsr_tensor *b);  // a >= b

// |a - b| <= atol + rtol * |b|, in the promoted dtype; integers and bool by their exact distance, and the bounds in f32. Infinities are close to
// themselves alone, NaN to NaN if `equal_nan`. NumPy and PyTorch have rtol 1e-5 and atol 1e-8. allclose: whether all are, as one bool.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (rtol or atol negative or NaN).

// |a - b| <= atol + rtol * |b|
TSR_API tsr_tensor *tsr_isclose(tsr_tensor *a, tsr_tensor *b, double rtol, double atol, bool equal_nan);
// is isclose true everywhere
TSR_API tsr_tensor *tsr_allclose(tsr_tensor *a, tsr_tensor *b, double rtol, double atol, bool equal_nan);

// Any dtype, read as "not 0"; the result is bool.
TSR_API tsr_tensor *tsr_logical_and(tsr_tensor *a, tsr_tensor *b);  // are both not 0
TSR_API tsr_tensor *tsr_logical_or(tsr_tensor *a, tsr_tensor *b);   // is either not 0
TSR_API tsr_tensor *tsr_logical_xor(tsr_tensor *a, tsr_tensor *b);  // is one of them 0 and the other not

// Integers and bool.
TSR_API tsr_tensor *tsr_bitwise_and(tsr_tensor *a, tsr_tensor *b);  // bit by bit and
TSR_API tsr_tensor *tsr_bitwise_or(tsr_tensor *a, tsr_tensor *b);   // bit by bit or
TSR_API tsr_tensor *tsr_bitwise_xor(tsr_tensor *a, tsr_tensor *b);  // bit by bit exclusive or

// Integers only. If b is negative, or not below the number of bits, all bits are shifted out: the result is 0, or -1 for a negative a shifted
// right.

// a * 2^b; all bits go where b is the width or more, or negative
TSR_API tsr_tensor *tsr_shift_left(tsr_tensor *a, tsr_tensor *b);
// a / 2^b rounded down; all bits go where b is the width or more, or negative
TSR_API tsr_tensor *tsr_shift_right(tsr_tensor *a, tsr_tensor *b);

// --- A tensor and a number -------------------------------------------------------------------------------------------
//
// The tensor's dtype stays (bool becomes i32; div and rdiv turn integers into f32). An integer tensor takes whole
// numbers that fit its dtype: TSR_ERR_DTYPE otherwise. A double holds every whole number up to 2^53 exactly; for larger numbers with an i64 tensor, use
// the operator on two tensors, with tsr_full_int of shape TSR_SCALAR. An r before the name means that the number comes first.

TSR_API tsr_tensor *tsr_add_scalar(tsr_tensor *x, double c);        // x + c
TSR_API tsr_tensor *tsr_sub_scalar(tsr_tensor *x, double c);        // x - c
TSR_API tsr_tensor *tsr_rsub_scalar(tsr_tensor *x, double c);       // c - x
TSR_API tsr_tensor *tsr_mul_scalar(tsr_tensor *x, double c);        // x * c
TSR_API tsr_tensor *tsr_div_scalar(tsr_tensor *x, double c);        // x / c
TSR_API tsr_tensor *tsr_rdiv_scalar(tsr_tensor *x, double c);       // c / x
TSR_API tsr_tensor *tsr_floor_div_scalar(tsr_tensor *x, double c);  // as floor_div, by c
TSR_API tsr_tensor *tsr_mod_scalar(tsr_tensor *x, double c);        // as mod, by c
TSR_API tsr_tensor *tsr_pow_scalar(tsr_tensor *x, double c);        // x to the c
TSR_API tsr_tensor *tsr_rpow_scalar(tsr_tensor *x, double c);       // c to the x
TSR_API tsr_tensor *tsr_minimum_scalar(tsr_tensor *x, double c);    // the smaller of x and c; NaN if either is
TSR_API tsr_tensor *tsr_maximum_scalar(tsr_tensor *x, double c);    // the larger of x and c; NaN if either is
TSR_API tsr_tensor *tsr_eq_scalar(tsr_tensor *x, double c);         // x == c
TSR_API tsr_tensor *tsr_ne_scalar(tsr_tensor *x, double c);         // x != c
TSR_API tsr_tensor *tsr_lt_scalar(tsr_tensor *x, double c);         // x < c
TSR_API tsr_tensor *tsr_le_scalar(tsr_tensor *x, double c);         // x <= c
TSR_API tsr_tensor *tsr_gt_scalar(tsr_tensor *x, double c);         // x > c
TSR_API tsr_tensor *tsr_ge_scalar(tsr_tensor *x, double c);         // x >= c

// --- Three, broadcast against each other -----------------------------------------------------------------------------

// a where `condition` is not 0, else b. A NaN in the element that is not chosen does not matter.
TSR_API tsr_tensor *tsr_where(tsr_tensor *condition, tsr_tensor *a, tsr_tensor *b);

// a * b + c: floats round once (f16 and bf16 in f32), integers wrap.
TSR_API tsr_tensor *tsr_fma(tsr_tensor *a, tsr_tensor *b, tsr_tensor *c);  // a * b + c, floats rounded once

// As clamp, with limits that are tensors. `most` wins over `least`; NaN if any of the three is NaN.
TSR_API tsr_tensor *tsr_clip(tsr_tensor *x, tsr_tensor *least, tsr_tensor *most);  // min(max(x, least), most)

// a + weight * (b - a): exactly a at weight 0 and b at 1.

// a + weight * (b - a); b at weight 1
TSR_API tsr_tensor *tsr_lerp(tsr_tensor *a, tsr_tensor *b, tsr_tensor *weight);
// the same with one weight
TSR_API tsr_tensor *tsr_lerp_scalar(tsr_tensor *a, tsr_tensor *b, double weight);

// x, with `value` in place of the elements where `mask`, which is broadcast to x, is not 0. The result has the dtype of x, to which `value` is converted;
// TSR_ERR_DTYPE if an integer dtype does not hold it.
TSR_API tsr_tensor *tsr_masked_fill(tsr_tensor *x, tsr_tensor *mask, double value);

// --- Reductions ------------------------------------------------------------------------------------------------------
//
// Over the `axis_count` axes in `axes`, each named once; none (NULL, 0) means all. TSR_AXES(0, 2) expands to both arguments. With `keep_dims` the reduced axes
// stay, with size 1. Element-wise operators before and after run in the same kernel. f16 and bf16 accumulate in f32.
//
// Without elements to reduce: sum 0, prod 1, any false, all true, max and min the dtype's lowest and highest value (-infinity and
// infinity for floats), mean, var, std NaN, norm 0, logsumexp -infinity; argmax and argmin are TSR_ERR_SHAPE.

// sum; integers wrap
TSR_API tsr_tensor *tsr_sum(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// product; integers wrap
TSR_API tsr_tensor *tsr_prod(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// mean; NaN of nothing
TSR_API tsr_tensor *tsr_mean(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// the largest; NaN if any is NaN
TSR_API tsr_tensor *tsr_max(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// the smallest; NaN if any is NaN
TSR_API tsr_tensor *tsr_min(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// is any not 0
TSR_API tsr_tensor *tsr_any(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// are all not 0
TSR_API tsr_tensor *tsr_all(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);

// Index (i32) of the first largest (smallest) element, or of the first NaN. Over several axes, or all of them, the index counts their elements in row-major order,
// whatever the order in which the axes are named.

// index of the first largest, or of the first NaN
TSR_API tsr_tensor *tsr_argmax(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);
// index of the first smallest, or of the first NaN
TSR_API tsr_tensor *tsr_argmin(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);

// Variance: the sum of the squared distances from the mean, divided by count - correction. correction 0: the variance of these elements; 1: the usual
// estimate from a sample. If count - correction is not above 0, the result is NaN or infinite. std is the square root.

// mean square distance from the mean, divided by count - correction
TSR_API tsr_tensor *tsr_var(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims, double correction);
// square root of var
TSR_API tsr_tensor *tsr_std(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims, double correction);

// (sum of |x|^p)^(1 / p) for p above 0. Other values of p: INFINITY, the largest |x|; -INFINITY, the smallest |x|; 0, the number of elements that are not 0. The
// powers may overflow even where the norm itself would not.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (another p).
TSR_API tsr_tensor *tsr_norm(tsr_tensor *x, double p, const int *axes, int axis_count, bool keep_dims);

// log(sum(exp(x))), without overflow on the way.
TSR_API tsr_tensor *tsr_logsumexp(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims);

// Running sums along an axis: element i is the sum of elements 0 to i. dtype as for sum.
TSR_API tsr_tensor *tsr_cumsum(tsr_tensor *x, int axis);

// Running products along an axis: element i is the product of elements 0 to i. dtype as for prod.
TSR_API tsr_tensor *tsr_cumprod(tsr_tensor *x, int axis);

// log(cumsum(exp(x))), without overflow on the way.
TSR_API tsr_tensor *tsr_logcumsumexp(tsr_tensor *x, int axis);

// Running extremes along an axis: the largest (smallest) of elements 0 to i, and its index (i32). After a NaN all values are NaN. Of equal elements the index is
// that of the first, as for argmax (PyTorch gives the last). `out_values` or `out_indices` may be NULL.
//
// Errors: those of the tensor and the axis. Then both are NULL.

// the largest so far along an axis, and its index
TSR_API tsr_status tsr_cummax(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_indices);
// the smallest so far along an axis, and its index
TSR_API tsr_status tsr_cummin(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_indices);

// The quantile `q`, from 0 to 1, along an axis: the value at position q * (size - 1) of the sorted elements, interpolated linearly between the two neighbours; NaN
// if any element is NaN. median is the quantile 0.5.
//
// Errors: TSR_ERR_SHAPE (an axis without elements), TSR_ERR_INVALID_ARGUMENT (q outside 0 to 1).

// what stands at q * (size - 1) of the sorted elements, interpolated
TSR_API tsr_tensor *tsr_quantile(tsr_tensor *x, double q, int axis, bool keep_dims);
// the middle one of the sorted elements, or the mean of the two middle ones
TSR_API tsr_tensor *tsr_median(tsr_tensor *x, int axis, bool keep_dims);

// The most frequent element along an axis; if several are equally frequent, the smallest of them. A NaN does not equal another NaN.
//
// Errors: TSR_ERR_SHAPE (an axis without elements).
TSR_API tsr_tensor *tsr_mode(tsr_tensor *x, int axis, bool keep_dims);

// How often each of 0, 1, … length - 1 occurs in x (i32); other elements are not counted. With `weights`, of the shape of x, the sum of the weights of each, with
// the dtype of sum, added in the order of scatter_add. Length 0 means the largest element plus one: the call then runs pending operators and waits
// for that number, and captures refuse it.
//
// Errors: TSR_ERR_SHAPE (weights), TSR_ERR_INVALID_ARGUMENT (a negative length), TSR_ERR_UNSUPPORTED (more than 2^24 counts).
TSR_API tsr_tensor *tsr_bincount(tsr_tensor *x, tsr_tensor *weights, int64_t length);

// How many elements lie in each of `bins` ranges of one width between `low` and `high` (i32). Element x is in the range i with
// edges[i] <= x < edges[i + 1], where edges are those that tsr_linspace gives in the dtype of x, or f32 for integers, f16 and bf16; `high` itself is in
// the last. Elements outside and NaN count nowhere.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no bins, or low not below high), TSR_ERR_UNSUPPORTED (more than 2^24 bins).
TSR_API tsr_tensor *tsr_histogram(tsr_tensor *x, int64_t bins, double low, double high);

// Sum of the elements of a diagonal (see tsr_diagonal); the result lacks the two axes. dtype as for sum.
TSR_API tsr_tensor *tsr_trace(tsr_tensor *x, int64_t offset, int axis_a, int axis_b);

// Each element minus the one before it along an axis, repeated `times` times; each time the axis gets shorter by one. For bool: whether the two differ.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (times below 0, or above 64 where that leaves any element).
TSR_API tsr_tensor *tsr_diff(tsr_tensor *x, int64_t times, int axis);

// --- Joining, repeating, padding -------------------------------------------------------------------------------------

// Tensors one after the other along an axis; the other sizes are equal. Dtypes are promoted. `count` is 1 or more.
TSR_API tsr_tensor *tsr_concat(tsr_tensor *const *tensors, int count, int axis);

// Tensors of one shape along a new axis.
TSR_API tsr_tensor *tsr_stack(tsr_tensor *const *tensors, int count, int axis);

// `part_count` views of these sizes along an axis, which add up to its size, into out_parts.
//
// Ownership: each part is a result like any other. When the call fails no part is set.
// Errors:    TSR_ERR_SHAPE (the sizes), TSR_ERR_INVALID_ARGUMENT (NULL), the tensor's own.
TSR_API tsr_status tsr_split(tsr_tensor *x, const int64_t *sizes, int part_count, int axis, tsr_tensor **out_parts);

// The reverse of stack: `part_count` views without the axis, which has that size.
//
// Ownership: each part is a result like any other. When the call fails no part is set, or all are NULL.
// Errors:    TSR_ERR_SHAPE (another size), TSR_ERR_INVALID_ARGUMENT (NULL), the tensor's own.
TSR_API tsr_status tsr_unstack(tsr_tensor *x, int axis, int part_count, tsr_tensor **out_parts);

// Views of `count` lists (or single numbers), each repeated along the axes of the others: an element of grid i is lists[i][its index along axis i]. `xy` swaps
// the first two axes, as NumPy does by default.
//
// Ownership and errors: as for unstack.
TSR_API tsr_status tsr_meshgrid(tsr_tensor *const *lists, int count, bool xy, tsr_tensor **out_grids);

// Each element `times` times in a row along an axis: [1 2] becomes [1 1 2 2].
TSR_API tsr_tensor *tsr_repeat(tsr_tensor *x, int64_t times, int axis);

// The whole tensor `times[i]` times along axis i: [1 2] becomes [1 2 1 2]. `times.rank` may exceed the tensor's rank:
// then the tensor gets leading axes; where it is less, the first axes are not repeated.
TSR_API tsr_tensor *tsr_tile(tsr_tensor *x, tsr_shape times);

// `before[i]` and `after[i]` elements of `value` around axis i; both lists have one entry per axis, 0 or more.
TSR_API tsr_tensor *tsr_pad(tsr_tensor *x, const int64_t *before, const int64_t *after, int axis_count, double value);

// Moves element i to i + shift along an axis; elements that leave the axis at one end come back at the other.
TSR_API tsr_tensor *tsr_roll(tsr_tensor *x, int64_t shift, int axis);

// Lower and upper triangle of the last two axes: elements with col - row <= diagonal (tril) or >= diagonal (triu) stay,
// the others are 0.
TSR_API tsr_tensor *tsr_tril(tsr_tensor *x, int64_t diagonal);  // lower triangle of the last two axes, the rest 0
TSR_API tsr_tensor *tsr_triu(tsr_tensor *x, int64_t diagonal);  // upper triangle of the last two axes, the rest 0

// Of a list: the matrix with this diagonal and 0 elsewhere. Of a matrix: its diagonal, as a view (see tsr_diagonal). `offset` counts diagonals above the main
// one; negative: below.
//
// Errors: TSR_ERR_SHAPE (neither list nor matrix).
TSR_API tsr_tensor *tsr_diag(tsr_tensor *x, int64_t offset);

// A view with these axes reversed; no axes (NULL, 0) mean all. tsr_flip reverses one.
TSR_API tsr_tensor *tsr_flip_axes(tsr_tensor *x, const int *axes, int axis_count);

// Views. The diagonal of two axes becomes the last axis, in place of them: elements [i, i + offset], or [i - offset, i] for a
// negative offset; one outside the matrix is empty. moveaxis: one axis to another place, the others in their order. rot90: turned by
// 90 degrees so many times, from axis_a towards axis_b.

// a diagonal of two axes as the last axis
TSR_API tsr_tensor *tsr_diagonal(tsr_tensor *x, int64_t offset, int axis_a, int axis_b);
// one axis at another place
TSR_API tsr_tensor *tsr_moveaxis(tsr_tensor *x, int from, int to);
// turned by 90 degrees so many times
TSR_API tsr_tensor *tsr_rot90(tsr_tensor *x, int64_t times, int axis_a, int axis_b);

// --- Indexing --------------------------------------------------------------------------------------------------------
//
// Indices are integers; a negative one counts from the end. An index out of range is not an error, since only the device finds it: reading there gives 0, writing
// there does nothing.
//
// On a device opened with `checked` (tsr_device_desc, TESSERA_CHECKED=on) it is an error: reading or evaluating the result gives
// TSR_ERR_LAUNCH, and the message names the operator, the first such index, where it is, and the size: "gather: indices[3, 2] is 70,
// outside axis 1 of 64 elements". Each of these operators then waits for the device, and a capture refuses them. one_hot is not
// checked, because an index that is no class gives zeros by definition.

// out[i, j, k] = x[indices[i, j, k], j, k] for axis 0, and so on: `indices` has x's rank, and no size above x's except
// along the axis.
TSR_API tsr_tensor *tsr_gather(tsr_tensor *x, int axis, tsr_tensor *indices);

// The slices of x along an axis that the list `indices` names.
TSR_API tsr_tensor *tsr_index_select(tsr_tensor *x, int axis, tsr_tensor *indices);

// Elements of x counted in row-major order; the result has the shape of `indices`.
TSR_API tsr_tensor *tsr_take(tsr_tensor *x, tsr_tensor *indices);  // elements counted in row-major order

// Rows of a table, its axis 0, by indices of any shape: the result is [indices …, row …].
TSR_API tsr_tensor *tsr_embedding(tsr_tensor *table, tsr_tensor *indices);  // the row of a table for each index

// Sums, means or largest elements of bags of rows of a table: row b of `indices`, [bags, size], lists a bag; or, beside `offsets`, [bags], the list
// `indices` has bag b from offsets[b] to the next one's offset. An index that names no row counts for nothing, and an empty bag is 0. Options are in
// tsr_bag_desc (desc.h).
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_DTYPE (indices that are no integers), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_embedding_bag(tsr_tensor *table, tsr_tensor *indices, tsr_tensor *offsets,
                                      const tsr_bag_desc *desc);

// x with out[indices[i, j, k], j, k] = source[i, j, k] for axis 0, and so on: `indices` and `source` have one shape, of
// x's rank and no size above x's except along the axis. Where several go to one place, the last in row-major order
// stays (scatter), or all are added to the element of x (scatter_add). The order of additions is fixed, so the result is the same each time: row-major on the
// CPU; on GPUs in groups that follow row-major order, or as integers, whose sum does not depend on the order. `source` is cast to x's dtype; sums of f16 and bf16
// are kept in f32 until the end. scatter_mul, scatter_max and scatter_min combine in the same way, the element of x included; NaN counts as both the
// largest and the smallest, and where 0 and -0 meet the result may be either.

// x with elements replaced; the last in row-major order stays
TSR_API tsr_tensor *tsr_scatter(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);
// x with elements added to, in row-major order
TSR_API tsr_tensor *tsr_scatter_add(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);
// x with elements multiplied, in row-major order
TSR_API tsr_tensor *tsr_scatter_mul(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);
// x with elements replaced by larger ones
TSR_API tsr_tensor *tsr_scatter_max(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);
// x with elements replaced by smaller ones
TSR_API tsr_tensor *tsr_scatter_min(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);

// Several indices at once: the last axis of `indices`, of size k, holds one for each of the first k axes of x. The result is
// [indices without that axis …, the other axes of x …]. On a `checked` device the message counts the chosen parts in row-major order.
//
// Errors: TSR_ERR_SHAPE (more indices than axes, more than 8 axes in the result).
TSR_API tsr_tensor *tsr_gather_nd(tsr_tensor *x, tsr_tensor *indices);  // parts of x by several indices each

// x with the parts that gather_nd would read replaced by `source`, which has the shape of its result, or combined with it (tsr_scatter_desc in
// desc.h), in row-major order, as the scatter operators do.
//
// Errors: as gather_nd, and TSR_ERR_SHAPE (source).
TSR_API tsr_tensor *tsr_scatter_nd(tsr_tensor *x, tsr_tensor *indices, tsr_tensor *source,
                                   const tsr_scatter_desc *desc);

// x with the elements that take would read replaced by those of `source`, which has the shape of `indices`, or combined with them.
TSR_API tsr_tensor *tsr_put(tsr_tensor *x, tsr_tensor *indices, tsr_tensor *source, const tsr_scatter_desc *desc);

// The size of the results of nonzero, masked_select and unique depends on the elements. So these calls run pending operators and wait for the number of
// elements; captures refuse them. The elements found are in row-major order.
//
// nonzero: the index of each element that is not 0 (NaN counts as not 0), one per row: [found, axes of x] of i32. masked_select: a list of the elements of x where
// `mask` is not 0, both broadcast against each other.

// the index of each element that is not 0
TSR_API tsr_tensor *tsr_nonzero(tsr_tensor *x);
// a list of the elements where the mask is not 0
TSR_API tsr_tensor *tsr_masked_select(tsr_tensor *x, tsr_tensor *mask);

// unique: the different elements in ascending order, NaN once and last; which of them each element of x is (i32, the shape of x); and how often each
// occurs (i32). Any of the three may be NULL.
//
// Errors: those of the tensor. Then all are NULL.
TSR_API tsr_status tsr_unique(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_inverse,
                              tsr_tensor **out_counts);

// A new last axis of size `classes`: 1 where its position is the index, else 0. An index outside 0 to classes - 1
// (negative ones, too) gives only zeros.
TSR_API tsr_tensor *tsr_one_hot(tsr_tensor *indices, int64_t classes, tsr_dtype dtype);

// Where each of `values`, of any shape, belongs in the list `sorted`: in front of equal elements, or behind them if `right`. The order is that
// of tsr_sort, NaN last. bool is refused.
TSR_API tsr_tensor *tsr_searchsorted(tsr_tensor *sorted, tsr_tensor *values, bool right);

// As searchsorted with its arguments exchanged: the index of the range between `boundaries`, a sorted list, in which each element of x lies. A range includes its
// upper boundary, or its lower one if `right`.
TSR_API tsr_tensor *tsr_bucketize(tsr_tensor *x, tsr_tensor *boundaries, bool right);

// Linear interpolation at each x between the points (xs[i], ys[i]), two lists with ascending xs: ys[0] before the first point, the last of ys after the last one.
// NaN gives NaN.
//
// Errors: TSR_ERR_SHAPE (lists of different sizes, or empty).
TSR_API tsr_tensor *tsr_interp(tsr_tensor *x, tsr_tensor *xs, tsr_tensor *ys);  // straight lines between points

// Sorted along an axis, stable: equal elements keep their order (-0 equals 0). NaN comes last, also when descending.
// argsort: where each element of the sorted tensor was (i32).

// sorted along an axis, stable; NaN last
TSR_API tsr_tensor *tsr_sort(tsr_tensor *x, int axis, bool descending);
// where each element of the sorted tensor was
TSR_API tsr_tensor *tsr_argsort(tsr_tensor *x, int axis, bool descending);

// The first `k` of tsr_sort (descending: the largest) and of tsr_argsort along an axis. `out_values` or `out_indices`
// may be NULL.
//
// Errors: TSR_ERR_SHAPE (k outside 0 to the axis' size), the tensor's own. Then both are NULL.
TSR_API tsr_status tsr_topk(tsr_tensor *x, int64_t k, int axis, bool largest, tsr_tensor **out_values,
                            tsr_tensor **out_indices);

// --- Rows ------------------------------------------------------------------------------------------------------------

// exp(x) / sum(exp(x)) along an axis, and its logarithm, without overflow on the way. A row of -infinity gives NaN.
TSR_API tsr_tensor *tsr_softmax(tsr_tensor *x, int axis);      // exp(x) / sum(exp(x)) along an axis
TSR_API tsr_tensor *tsr_log_softmax(tsr_tensor *x, int axis);  // its logarithm

// Along the last axis: (x - mean) / sqrt(variance + eps) * weight + bias, and x / sqrt(mean(x^2) + eps) * weight.
// `weight` and `bias` are of that axis' size, or NULL for 1 and 0.

// (x - mean) / sqrt(variance + eps) * weight + bias along the last axis
TSR_API tsr_tensor *tsr_layer_norm(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps);
// x / sqrt(mean(x^2) + eps) * weight along the last axis
TSR_API tsr_tensor *tsr_rms_norm(tsr_tensor *x, tsr_tensor *weight, double eps);

// x + residual, and that sum normalised as above, both in one pass over memory, as between two blocks of a transformer. The results have the same bits as those of
// tsr_add and of the norm after it. Either result may be NULL if it is not wanted.
//
// Errors: TSR_ERR_SHAPE (shapes of x and the residual that differ, a weight of another size), the tensors' own. Then both are NULL.

// x + residual, and layer_norm of it, in one pass
TSR_API tsr_status tsr_add_layer_norm(tsr_tensor *x, tsr_tensor *residual, tsr_tensor *weight, tsr_tensor *bias,
                                      double eps, tsr_tensor **out_sum, tsr_tensor **out_normed);
// x + residual, and rms_norm of it, in one pass
TSR_API tsr_status tsr_add_rms_norm(tsr_tensor *x, tsr_tensor *residual, tsr_tensor *weight, double eps,
                                    tsr_tensor **out_sum, tsr_tensor **out_normed);

// Rotary position embedding: pairs of elements of each row of x, its last axis, are turned by angles that grow with the row's position. `positions`
// are broadcast to the rows, the axes before the last: [queries] for x of [batch, heads, queries, size]. Options are in tsr_rope_desc
// (desc.h): pairs of halves or of neighbours, a part of the row, base, scale, given frequencies. Angles are computed in f32, in f64 for x
// of f64.
//
// Errors: TSR_ERR_SHAPE (an odd number of elements, positions or frequencies that do not fit), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_rope(tsr_tensor *x, tsr_tensor *positions, const tsr_rope_desc *desc);

// --- Convolution and pooling -----------------------------------------------------------------------------------------
//
// Over one to three spatial axes: x is [image, channel, spatial …], or [image, spatial …, channel] with `channels_last`. Options are in
// tsr_conv_desc and tsr_pool_desc (desc.h). Views and windows are read in place: no copy of them is made.

// Each channel of the result is the sum of products of a window of x with its kernel, plus its element of `bias` (NULL for 0). `weight` is
// [channels of the result, channels of x / groups, spatial …].
//
// Errors: TSR_ERR_SHAPE (groups that do not divide the channels, a kernel larger than x with its padding, a bias of another size),
//         TSR_ERR_INVALID_ARGUMENT (options that exclude each other).
TSR_API tsr_tensor *tsr_conv(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_conv_desc *desc);

// Transposed, as the gradient of a convolution is: each element of x adds its product with the kernel to a window of the result, whose
// size is (size - 1) * stride + dilation * (kernel - 1) + 1 + output_padding - before - after. `weight` is
// [channels of x, channels of the result / groups, spatial …].
TSR_API tsr_tensor *tsr_conv_transpose(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_conv_desc *desc);

// For each window of each channel. max_pool: the largest element, NaN if any is NaN. argmax_pool: the index (i32) of the first largest element or first NaN, counted
// among the elements of the channel in row-major order. avg_pool: the mean. lp_pool: the p-th root of the sum of |x|^p. A window that contains only padding
// gives the dtype's lowest value, index -1, mean NaN and root 0. Without options one window covers all of the spatial axes.

// the largest of each window
TSR_API tsr_tensor *tsr_max_pool(tsr_tensor *x, const tsr_pool_desc *desc);
// where the largest of each window is
TSR_API tsr_tensor *tsr_argmax_pool(tsr_tensor *x, const tsr_pool_desc *desc);
// the mean of each window
TSR_API tsr_tensor *tsr_avg_pool(tsr_tensor *x, const tsr_pool_desc *desc);
// the p-th root of the sum of |x|^p of each window
TSR_API tsr_tensor *tsr_lp_pool(tsr_tensor *x, const tsr_pool_desc *desc);

// Zeros, [image, channel, size …], with the elements of x where argmax_pool says they came from; of several at one place the last stays.
// `indices`, signed integers, have the shape of x; -1 means nowhere.
TSR_API tsr_tensor *tsr_max_unpool(tsr_tensor *x, tsr_tensor *indices, tsr_shape size);

// im2col: the windows of a convolution as columns of a matrix, [image, channel and place in the window, window]; the product of the weights, as rows, with this
// matrix is the convolution. col2im: the reverse, which adds up columns in the windows of images with the spatial sizes `size`. `kernel` has the sizes of a
// window; .stride, .dilation, .before, .after and .padding are read, other options must be 0. The matrix is as many times as large as x as a window has
// elements; tsr_conv does not need it.
//
// Errors: TSR_ERR_SHAPE (a kernel larger than x with its padding, columns that do not fit), TSR_ERR_INVALID_ARGUMENT (options).

// windows as columns of a matrix
TSR_API tsr_tensor *tsr_im2col(tsr_tensor *x, tsr_shape kernel, const tsr_conv_desc *desc);
// columns added up in windows
TSR_API tsr_tensor *tsr_col2im(tsr_tensor *columns, tsr_shape size, tsr_shape kernel, const tsr_conv_desc *desc);

// --- Images ----------------------------------------------------------------------------------------------------------

// The last one to three axes in other sizes: the nearest element, in any dtype, or neighbours weighted by their distance, in floats. By default positions
// are those of half_pixel; all of ONNX' conventions are in tsr_resize_desc (desc.h). Elements beyond x are the first and the last one.
//
// Errors: TSR_ERR_SHAPE (sizes, an axis without elements that grows), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_resize(tsr_tensor *x, tsr_shape size, const tsr_resize_desc *desc);

// x, [image, channel, sizes …], at the points of a grid, [image, points …, 2 or 3]: the last axis of the grid has positions along the last axis of x,
// the one before, and so on, from -1 to 1. A position of NaN counts as -1.
//
// Errors: TSR_ERR_SHAPE (shapes that do not fit, an image without elements), TSR_ERR_UNSUPPORTED (cubic with three sizes).
TSR_API tsr_tensor *tsr_grid_sample(tsr_tensor *x, tsr_tensor *grid, const tsr_grid_desc *desc);

// The grid that reads images of `size`, [image, channel, rows, columns] or with three sizes, through an affine map for each: theta is [image, 2, 3], or
// [image, 3, 4].
TSR_API tsr_tensor *tsr_affine_grid(tsr_tensor *theta, tsr_shape size, bool align_corners);

// Regions of images, each reduced to rows x columns parts: regions[r] has left, top, right and bottom of a region of image images[r]. In each part, evenly spaced
// points are read with linear interpolation, and their mean or maximum is the result. A region of an image that does not exist, or without area, gives 0.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_DTYPE (images that are no integers), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_roi_align(tsr_tensor *x, tsr_tensor *regions, tsr_tensor *images, const tsr_roi_desc *desc);

// Non-maximum suppression: keeps the boxes, [images, n, 4], that no box with a higher score overlaps too much, for each class separately; scores are
// [images, classes, n]. Each row of the result, [found, 3] of i32, has image, class and box, best first within a class. The call runs pending operators and waits for
// the number of boxes; captures refuse it. Computed in f32. A box with NaN overlaps nothing.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_nms(tsr_tensor *boxes, tsr_tensor *scores, const tsr_nms_desc *desc);

// [… , channels * factor^2, rows, columns] becomes […, channels, rows * factor, columns * factor], and back: element (i, j) of a square of pixels is
// channel i * factor + j of its group.
//
// Errors: TSR_ERR_SHAPE (a factor that does not divide), TSR_ERR_INVALID_ARGUMENT (one below 1).
TSR_API tsr_tensor *tsr_pixel_shuffle(tsr_tensor *x, int64_t factor);    // channels spread over squares of pixels
TSR_API tsr_tensor *tsr_pixel_unshuffle(tsr_tensor *x, int64_t factor);  // squares of pixels as channels

// --- Losses ----------------------------------------------------------------------------------------------------------
//
// One number, or one for each element or row (tsr_loss_desc, desc.h). The mean of nothing is NaN.

// Of a prediction x and a target of the same shape, element by element. mse: the squared difference. l1: its magnitude. huber: half the square up to `delta`, beyond
// that a line with the slope `delta`. All read reduction and weight; huber also reads delta.

// (x - target)^2
TSR_API tsr_tensor *tsr_mse_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);
// |x - target|
TSR_API tsr_tensor *tsr_l1_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);
// d^2 / 2 for d = |x - target| up to delta, else delta * (d - delta / 2)
TSR_API tsr_tensor *tsr_huber_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);

// Binary cross entropy of logits: target is the probability, 0 to 1, of what sigmoid(x) predicts. Reads reduction, weight and positive_weight.
TSR_API tsr_tensor *tsr_bce_with_logits_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);

// Kullback-Leibler divergence of probabilities `target` from exp(x): 0 where the target is 0. Reads reduction and weight; the mathematical definition is the one
// with TSR_LOSS_BATCH_MEAN.
TSR_API tsr_tensor *tsr_kl_div_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);

// Of classes along an axis: -x[label], where x are logarithms of probabilities; labels are integers and have the shape of x without the axis. A
// label that names no class gives NaN. Reads reduction, weight (one for each class) and ignored; where every label is ignored the mean is NaN.
TSR_API tsr_tensor *tsr_nll_loss(tsr_tensor *x, tsr_tensor *target, int axis, const tsr_loss_desc *desc);

// nll_loss of log_softmax(x). `target` has labels as for nll_loss, or, if its dtype is a float, probabilities in the shape of x; the mean is then over the rows,
// independent of the weights. Also reads smoothing. A probability of 0 contributes 0, even at a logit of -infinity.
TSR_API tsr_tensor *tsr_cross_entropy(tsr_tensor *x, tsr_tensor *target, int axis, const tsr_loss_desc *desc);

// Scaled dot product attention: softmax(scale * q * k^T + mask) * v. q is [batch, heads, queries, size], k is [batch, kv heads, keys, size] and v
// [batch, kv heads, keys, any size up to 256]. The number of kv heads must divide that of heads: consecutive heads share a kv head. `mask` is broadcast to
// [batch, heads, queries, keys]: bool, true where a query attends to a key, or floats that are added to the scores; NULL: none. Options are in tsr_attention_desc
// (desc.h). A query that attends to no key gets zeros. A NaN affects its whole row.
//
// Views are read in place, such as the filled part of a cache of keys and values to which tsr_assign writes; a paged cache is read through a table of blocks
// (desc.h). Scores are not stored: memory does not grow with queries times keys.
//
// Errors: TSR_ERR_SHAPE (shapes, a mask, slopes or tables that do not fit), TSR_ERR_UNSUPPORTED (more than 256 elements in a head of v),
//         TSR_ERR_DTYPE (a mask of integers, tables of others), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_attention(tsr_tensor *q, tsr_tensor *k, tsr_tensor *v, tsr_tensor *mask,
                                  const tsr_attention_desc *desc);

// The parts of attention: the scores before the softmax, [batch, heads, queries, keys], with scale, soft cap, slopes and mask applied, and -infinity where a query
// does not attend to a key; and the weighted sum of the rows of v. tsr_weighted_sum_rows(tsr_softmax(tsr_attention_scores(q, k, …), -1), v) is tsr_attention,
// except that a query which attends to no key gets NaN, and that all scores are stored. .blocks is refused.

// scale * q * k^T + mask, -infinity where a key is not seen
TSR_API tsr_tensor *tsr_attention_scores(tsr_tensor *q, tsr_tensor *k, tsr_tensor *mask,
                                         const tsr_attention_desc *desc);
// weights * v; neighbouring heads share one of v
TSR_API tsr_tensor *tsr_weighted_sum_rows(tsr_tensor *weights, tsr_tensor *v);

// Recurrent layers over x of [steps, batch, inputs], by PyTorch's formulas: weight_input is [gates * hidden, inputs], weight_hidden
// [gates * hidden, hidden]. Gates of lstm are in, forget, cell, out; those of gru reset, update, new, where the reset is applied after the product. Biases, first
// states and direction are in tsr_recurrent_desc (desc.h). The results are the states of all steps, [steps, batch, hidden], and the last one, [batch, hidden];
// any may be NULL. On GPUs all steps are one operator, unless gradients are recorded. Elsewhere the layer is recorded step by step; capture it (capture.h) to avoid
// recording it again for each run.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_INVALID_ARGUMENT (options). Then all results are NULL.

// h = tanh(x * W + h * R + biases), step by step
TSR_API tsr_status tsr_rnn(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden,
                           const tsr_recurrent_desc *desc, tsr_tensor **out_states, tsr_tensor **out_hidden);
// long short-term memory, step by step
TSR_API tsr_status tsr_lstm(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden,
                            const tsr_recurrent_desc *desc, tsr_tensor **out_states, tsr_tensor **out_hidden,
                            tsr_tensor **out_cell);
// gated recurrent unit, step by step
TSR_API tsr_status tsr_gru(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden,
                           const tsr_recurrent_desc *desc, tsr_tensor **out_states, tsr_tensor **out_hidden);

// --- Norms of channels -----------------------------------------------------------------------------------------------
//
// x is [image, channel, …]. `weight` and `bias` have a number for each channel, or are NULL for 1 and 0.

// For inference, with the mean and variance of each channel that were found in training: (x - mean) / sqrt(variance + eps) * weight + bias.
TSR_API tsr_tensor *tsr_batch_norm(tsr_tensor *x, tsr_tensor *mean, tsr_tensor *variance, tsr_tensor *weight,
                                   tsr_tensor *bias, double eps);

// For training, with the mean and variance of each channel of this x: their running values become (1 - momentum) * running + momentum * now, in place, as
// tsr_assign writes; the variance that is kept is divided by count - 1, the one that normalises by count. Both may be NULL.
TSR_API tsr_status tsr_batch_norm_train(tsr_tensor *x, tsr_tensor *running_mean, tsr_tensor *running_variance,
                                        tsr_tensor *weight, tsr_tensor *bias, double momentum, double eps,
                                        tsr_tensor **out_normed);

// As batch_norm, but with the mean and variance of each group of channels of each image (group_norm), or of each channel of each image (instance_norm).
//
// Errors: TSR_ERR_SHAPE (groups that do not divide the channels).

// the same with mean and variance of groups of channels
TSR_API tsr_tensor *tsr_group_norm(tsr_tensor *x, int64_t groups, tsr_tensor *weight, tsr_tensor *bias, double eps);
// the same of each channel of an image by itself
TSR_API tsr_tensor *tsr_instance_norm(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps);

// x / (bias + alpha * m)^beta, where m is the mean of the squares of `size` neighbouring channels: (size - 1) / 2 before, rounded down, and the rest
// after, as ONNX has it; channels that do not exist count as 0.
TSR_API tsr_tensor *tsr_local_response_norm(tsr_tensor *x, int64_t size, double alpha, double beta, double bias);

// --- Linear algebra --------------------------------------------------------------------------------------------------
//
// Views are read in place: a transposed or sliced matrix costs no copy.

// Matrix product over the last two axes; the axes before them are broadcast. A vector on the left is a row, on the
// right a column, and that axis is not in the result. Two vectors give their dot product.
TSR_API tsr_tensor *tsr_matmul(tsr_tensor *a, tsr_tensor *b);

// alpha * a * b + beta * c, f16 and bf16 rounded once at the end; c is broadcast to the product's shape and may be
// NULL. With beta 0, c is not read. alpha and beta of an integer product are whole numbers. a and b have 2 axes or
// more.
TSR_API tsr_tensor *tsr_gemm(double alpha, tsr_tensor *a, tsr_tensor *b, double beta, tsr_tensor *c);

// A layer of a network: activation(x * weight^T + bias) + residual, for x of […, inputs] and a weight of [outputs, inputs]; the bias, [outputs], may be
// NULL. Activation and residual are in tsr_linear_desc (desc.h). f16 and bf16 are rounded after each of these steps where they are not one kernel.
//
// Errors: TSR_ERR_SHAPE (a weight, bias or residual that does not fit), TSR_ERR_INVALID_ARGUMENT (an activation that does not exist).
TSR_API tsr_tensor *tsr_linear(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_linear_desc *desc);

// As matmul and gemv, but the result is written to `target`, any view of the result's shape, as by tsr_assign: the product is converted to the target's dtype, and
// operators that are recorded later read the new elements.
//
// Errors: those of the product and of tsr_assign; TSR_ERR_SHAPE (a target of another shape). Then the target keeps its elements.

// matmul, written into a given tensor
TSR_API tsr_status tsr_matmul_into(tsr_tensor *target, tsr_tensor *a, tsr_tensor *b);
// gemv, written into a given tensor
TSR_API tsr_status tsr_gemv_into(tsr_tensor *target, tsr_tensor *a, tsr_tensor *x);

// Matrix (rank 2) by vector; product of two vectors; all products of the elements of two vectors, rows from a.

// matrix by vector
TSR_API tsr_tensor *tsr_gemv(tsr_tensor *a, tsr_tensor *x);
// sum of the products of two vectors
TSR_API tsr_tensor *tsr_dot(tsr_tensor *a, tsr_tensor *b);
// all products of the elements of two vectors, rows from a
TSR_API tsr_tensor *tsr_outer(tsr_tensor *a, tsr_tensor *b);

// Products over `axis_count` axes of each, named pairwise: axes_a[i] of a and axes_b[i] of b have one size. The result has the other axes of a,
// then those of b, in their order. No axes: all products.
//
// Errors: TSR_ERR_SHAPE (sizes that differ, an axis named twice, more than 8 axes in the result).
TSR_API tsr_tensor *tsr_tensordot(tsr_tensor *a, tsr_tensor *b, const int *axes_a, const int *axes_b, int axis_count);

// Sums of products by an equation, as NumPy's: "ij,jk->ik" names the axes of each tensor and of the result; labels are letters. A label that the
// result lacks is summed over; one that a tensor has twice is its diagonal; "..." stands for axes without names, which are broadcast. Without "->" the
// result has "...", then the letters that occur once, in the order of the alphabet, capitals first. Sizes of 1 are broadcast. Spaces are skipped.
//
// Up to 10 tensors are multiplied in pairs by matmul, in the order that takes the fewest multiplications. f16 and bf16 are rounded once, because intermediate
// results are f32.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (the equation), TSR_ERR_SHAPE (tensors that do not fit it), TSR_ERR_UNSUPPORTED (more tensors, or more than 8 axes
//         on the way).
TSR_API tsr_tensor *tsr_einsum(const char *equation, tsr_tensor *const *tensors, int count);

// Kronecker product: b in place of each element of a, times that element. The one with fewer axes gets leading axes of size 1.
//
// Errors: TSR_ERR_UNSUPPORTED (more than 4 axes).
TSR_API tsr_tensor *tsr_kron(tsr_tensor *a, tsr_tensor *b);  // b in place of each element of a, times that element

// Cross product of vectors of 3 along an axis, broadcast along the others.
//
// Errors: TSR_ERR_SHAPE (an axis of another size).
TSR_API tsr_tensor *tsr_cross(tsr_tensor *a, tsr_tensor *b, int axis);

// Euclidean distances between the rows of a, [batch, m, k], and those of b, [batch, n, k], as [batch, m, n]; batches are broadcast, and may be missing. Squares of
// differences are added up as they are: f32 holds distances up to 1.8e19.
//
// Errors: TSR_ERR_SHAPE (fewer than two axes, rows of different lengths, batches that cannot be broadcast).
TSR_API tsr_tensor *tsr_cdist(tsr_tensor *a, tsr_tensor *b);  // distances between the rows of two matrices

// --- Quantised weights -----------------------------------------------------------------------------------------------
//
// A quantised tensor is a u8 tensor whose last axis holds whole blocks of a format (tsr_quant_format in desc.h), byte by byte as in GGUF files, so that weights of
// such a file can be used unchanged. Any view of such a tensor is accepted.

// Quantises x: the last axis is divided into blocks. The scale of a block follows from its extreme elements; q4_K and q6_K try more scales and choose those with the
// least sum of squared errors. No error is larger than the block's largest magnitude divided by 250 (q8_0), 7.9 (q4_0), 7 (q4_K) or 16 (q6_K). f64 is rounded to f32 first.
// A NaN or an infinity makes all elements of its block NaN. Scales are f16: a block whose largest magnitude is above 500,000 gets smaller elements, and one
// below 0.001 larger errors.
//
// Errors: TSR_ERR_SHAPE (the last axis is no whole number of blocks), TSR_ERR_INVALID_ARGUMENT (a format that does not exist).
TSR_API tsr_tensor *tsr_quantize(tsr_tensor *x, tsr_quant_format format);

// The numbers that a u8 tensor of blocks stands for, computed in f32 and rounded to `dtype`, a float. Bytes may be any: a scale that is infinite or NaN gives such
// elements.
//
// Errors: TSR_ERR_SHAPE (the last axis is no whole number of blocks), TSR_ERR_DTYPE (x is not u8, dtype is no float).
TSR_API tsr_tensor *tsr_dequantize(tsr_tensor *x, tsr_quant_format format, tsr_dtype dtype);

// x * w^T for x of […, k] and n rows of k quantised weights, [n, bytes]; the result is […, n]. With one row of x this is a matrix-vector product. Weights count as
// f32, and sums are f32, or f64 for an x of f64. Weights are decoded inside the kernel, except on a GPU for 21 rows of x or more, unless it multiplies them by matrix units for the dtype of x: those are
// multiplied by a copy of the weights in f32, of at most 256 MiB at a time, which is released when the product has run. With matrix units, an infinite element of x may give NaN.
//
// Errors: TSR_ERR_SHAPE (w has not 2 axes, or rows of another length than x), TSR_ERR_DTYPE (w is not u8).
TSR_API tsr_tensor *tsr_matmul_quantized(tsr_tensor *x, tsr_tensor *w, tsr_quant_format format);

// i8 with a scale (f32) for each channel, the slices along `axis`: the largest magnitude of a channel is 127 or -127, and scale * value is near x. A channel of
// zeros has the scale 1; one with a NaN has NaN for its scale and zeros for values. dequantize_linear is the way back. matmul_channels is x * w^T with w of [n, k] and a scale of
// each row: […, k] gives […, n]; sums are f32, or f64 for an x of f64. Where k is no multiple of 8, x and w are copied with zeros behind it.
//
// Errors: TSR_ERR_SHAPE, with the shapes; TSR_ERR_DTYPE (w is not i8).

// i8 with a scale for each channel
TSR_API tsr_status tsr_quantize_channels(tsr_tensor *x, int axis, tsr_tensor **out_values, tsr_tensor **out_scale);
// x * w^T for i8 with a scale for each row
TSR_API tsr_tensor *tsr_matmul_channels(tsr_tensor *x, tsr_tensor *w, tsr_tensor *scale);

// Integers with a scale and a zero point, as in ONNX. The scale is one number, a list along `axis`, or a tensor with the shape of x except along `axis`, where its size
// divides that of x: each scale then belongs to a block of neighbours. The zero point has the shape of the scale; NULL means 0. quantize_linear gives
// round(x / scale) + zero_point, halves rounded to the even number, limited to the range of `dtype` (u8, i8, u16, i16), and 0 for NaN. dequantize_linear gives
// (x - zero_point) * scale in the dtype of the scale; the difference is computed in i32, or in the dtype of a wider x, and wraps. Computed in f32, or in f64 if x or the
// scale is f64.
//
// Errors: TSR_ERR_SHAPE (a scale or zero point that does not fit), TSR_ERR_DTYPE.

// round(x / scale) + zero_point
TSR_API tsr_tensor *tsr_quantize_linear(tsr_tensor *x, tsr_tensor *scale, tsr_tensor *zero_point, int axis,
                                        tsr_dtype dtype);
// (x - zero_point) * scale
TSR_API tsr_tensor *tsr_dequantize_linear(tsr_tensor *x, tsr_tensor *scale, tsr_tensor *zero_point, int axis);

// Quantises x to u8, with one scale and zero point that are computed from x: `*out_scale` (f32) is (max(x, 0) - min(x, 0)) / 255, or 1 if that is 0; `*out_zero_point`
// (u8) is the number that stands for 0. A NaN makes the scale NaN and everything else 0. Any result may be NULL.
TSR_API tsr_status tsr_dynamic_quantize_linear(tsr_tensor *x, tsr_tensor **out_y, tsr_tensor **out_scale,
                                               tsr_tensor **out_zero_point);

// Products of i8 and u8 tensors, from whose elements their zero points are subtracted; sums are i32 and wrap. A zero point is one number, or one for each row of a,
// column of b, or element of the first axis of a weight; NULL means 0. Axes before the last two are broadcast. conv_integer has the options of tsr_conv and pads
// with the zero point of x; it needs memory for x in i32 while it runs.
//
// Errors: TSR_ERR_SHAPE, with the shapes; TSR_ERR_DTYPE (not i8 or u8).

// (a - a_zero_point) * (b - b_zero_point) in i32
TSR_API tsr_tensor *tsr_matmul_integer(tsr_tensor *a, tsr_tensor *b, tsr_tensor *a_zero_point,
                                       tsr_tensor *b_zero_point);
// convolution of whole numbers with zero points
TSR_API tsr_tensor *tsr_conv_integer(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *x_zero_point,
                                     tsr_tensor *weight_zero_point, const tsr_conv_desc *desc);

// matmul_integer, times a_scale and b_scale, quantised with `y_scale` and `y_zero_point` as by quantize_linear. The result has the dtype of `y_zero_point` (i8 or u8). A
// scale is one number, or one for each row of a or column of b.
//
// Errors: those of matmul_integer; TSR_ERR_SHAPE (scales).
TSR_API tsr_tensor *tsr_qlinear_matmul(tsr_tensor *a, tsr_tensor *a_scale, tsr_tensor *a_zero_point, tsr_tensor *b,
                                       tsr_tensor *b_scale, tsr_tensor *b_zero_point, tsr_tensor *y_scale,
                                       tsr_tensor *y_zero_point);

// --- Matrices: factors and equations ---------------------------------------------------------------------------------
//
// x is [batch …, rows, columns]; each matrix of the batch is taken by itself. Computed in f32 or f64: integers and bool become f32, f16 and bf16 are
// computed in f32 and rounded at the end. A matrix without a solution is not an error, since only the device finds it: a singular matrix gives infinities or NaN in its
// part of the result, and the other matrices of the batch are not affected. If a matrix contains NaN or infinities, any element of its result may be NaN.
//
// Errors: TSR_ERR_SHAPE, with the shapes (fewer than 2 axes; not square where that is needed).

// The lower triangular L with positive diagonal, or its transpose if `upper`, for which L * L^T is x. Only the lower triangle of x is read. If a matrix is not positive
// definite, the columns from the one where this becomes apparent are NaN; the columns before are right.
TSR_API tsr_tensor *tsr_cholesky(tsr_tensor *x, bool upper);

// LU factors: L * U is x with its rows in another order. `*out_factors`, of the shape of x, has L below the diagonal (the diagonal of L is 1) and U on and above it. Row i
// of L * U is row `(*out_rows)[i]` of x (i32, [batch …, rows]); the order is chosen so that no element of L is above 1 in magnitude. A singular matrix has a 0 on the
// diagonal of U. Either result may be NULL.
TSR_API tsr_status tsr_lu(tsr_tensor *x, tsr_tensor **out_factors, tsr_tensor **out_rows);

// The solution x of a * x = b; b is a vector, or a matrix each of whose columns is a right-hand side. Batch axes are broadcast. triangular_solve reads only the lower
// triangle of a, or the upper one if `upper`; it uses the transpose of that if `transposed`, and takes its diagonal as 1 if `unit`. A 0 on the diagonal gives
// infinities or NaN.
//
// Errors: TSR_ERR_SHAPE (b has another number of rows).

// x with a * x = b for a triangular a
TSR_API tsr_tensor *tsr_triangular_solve(tsr_tensor *a, tsr_tensor *b, bool upper, bool transposed, bool unit);
// x with a * x = b
TSR_API tsr_tensor *tsr_solve(tsr_tensor *a, tsr_tensor *b);
// the matrix whose product with x is the identity
TSR_API tsr_tensor *tsr_inverse(tsr_tensor *x);

// det: the determinant; 1 for a matrix without elements. slogdet: its sign (-1, 0 or 1) and the logarithm of its magnitude (-infinity for 0), for determinants that
// would overflow or underflow; either result may be NULL.

// determinant
TSR_API tsr_tensor *tsr_det(tsr_tensor *x);
// sign of the determinant, and the logarithm of its magnitude
TSR_API tsr_status tsr_slogdet(tsr_tensor *x, tsr_tensor **out_sign, tsr_tensor **out_log);

// x = Q * R: Q has orthonormal columns, R is upper triangular. Of m x n matrices, with k the smaller of both: Q is m x k and R k x n, or m x m and m x n if
// `complete`. By Householder reflections, so that Q is orthonormal whatever the rank of x is; the diagonal of R may be negative. Either result may be NULL.
TSR_API tsr_status tsr_qr(tsr_tensor *x, bool complete, tsr_tensor **out_q, tsr_tensor **out_r);

// The x for which a * x is nearest to b, by QR; b is a vector, or has columns that are right sides, and batch axes are broadcast. Where a has more columns than
// rows, the shortest x for which a * x is b. a must have full rank, else the result has infinities or NaN, or is large: tsr_pinv takes any.
//
// Errors: TSR_ERR_SHAPE (b has another number of rows).
TSR_API tsr_tensor *tsr_lstsq(tsr_tensor *a, tsr_tensor *b);  // the x for which a * x is nearest to b

// x * v = v * diag(values) for symmetric matrices, of which the lower triangle is read: real eigenvalues in ascending order, [batch …, n], and orthonormal
// eigenvectors as columns, whose signs are open. By Jacobi rotations, LAPACK or cuSOLVER; errors are roundings of the largest eigenvalue, also for badly scaled matrices.
// A NaN or an infinity in a matrix makes its results NaN. Either result may be NULL.
TSR_API tsr_status tsr_eigh(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_vectors);

// x = u * diag(s) * vt: singular values in descending order, [batch …, k] with k the smaller of rows m and columns n; orthonormal columns of u, which is m x k, and
// rows of vt, k x n, or m x m and n x n if `full`, also where values are 0. By Jacobi rotations or LAPACK; errors are roundings of the largest value. A NaN or an infinity in a
// matrix makes its values NaN. Any result may be NULL.
TSR_API tsr_status tsr_svd(tsr_tensor *x, bool full, tsr_tensor **out_u, tsr_tensor **out_s, tsr_tensor **out_vt);

// Both use the singular values above `tolerance` times the largest; a tolerance of 0 means the dtype's epsilon times the larger of rows and columns. matrix_rank counts
// these values. pinv is the pseudo-inverse; tsr_matmul(tsr_pinv(a, 0), b) solves least squares for any a, also where tsr_lstsq cannot.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (a tolerance below 0, or 1 and more).

// pseudo-inverse: the nearest to an inverse that any matrix has
TSR_API tsr_tensor *tsr_pinv(tsr_tensor *x, double tolerance);
// how many singular values count
TSR_API tsr_tensor *tsr_matrix_rank(tsr_tensor *x, double tolerance);

// matrix_norm: for p 1 the largest sum of magnitudes of a column, for INFINITY that of a row, for 2 the largest singular value; for -1, -INFINITY and -2 the smallest of
// these. The Frobenius norm is tsr_norm with p 2 over both axes. cond: the norm of x times that of its inverse; for p 2 and -2 the quotient of singular values, for
// matrices of any shape. Infinite for a singular matrix.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (another p), TSR_ERR_SHAPE (matrices without elements).

// largest or smallest sum of a column or row, or singular value
TSR_API tsr_tensor *tsr_matrix_norm(tsr_tensor *x, double p);
// condition number: the norm of x times that of its inverse
TSR_API tsr_tensor *tsr_cond(tsr_tensor *x, double p);

// x * x * …, `power` times; the identity for 0; for a negative power that of the inverse.
TSR_API tsr_tensor *tsr_matrix_power(tsr_tensor *x, int64_t power);

// --- Fourier transforms ----------------------------------------------------------------------------------------------
//
// A complex tensor has a last axis of 2: real and imaginary part, side by side as in C's double complex. Axes are counted without it, so that those of x
// and of its transform have the same numbers. Transforms go over the `axis_count` axes in `axes`; none (NULL, 0) means all. Any length is
// possible. With prime factors up to 13, a line of a few thousand elements is read and written once, and a longer one two or three times; with prime factors up to 61 once for
// each factor; others go through a convolution, which takes up to nine times the memory of x. Each length has a kernel of its own, which is built when it is first used.
// Errors are a few roundings per pass. Integers and bool become f32; f16 and bf16 are computed in f32. A NaN or an infinity makes every element of the line NaN or
// infinite in at least one part. (Why a last axis of 2: views, copies and element-wise operators accept such a tensor as it is, while a complex dtype
// would need a case of its own in every operator and backend.)
//
// Errors: TSR_ERR_SHAPE (the last axis is not 2), TSR_ERR_UNSUPPORTED (an axis of more than 2^27 elements).

// Element k along an axis of n is the sum of x[j] * exp(-2 pi i j k / n); ifft is its inverse: the other sign, divided by n.

// sums of x[j] * exp(-2 pi i j k / n), complex to complex
TSR_API tsr_tensor *tsr_fft(tsr_tensor *x, const int *axes, int axis_count);
// inverse of fft
TSR_API tsr_tensor *tsr_ifft(tsr_tensor *x, const int *axes, int axis_count);

// As fft, for a real x, which has no axis of 2; the result has one. Along the last axis named it has only the first n / 2 + 1 elements: the others would be their
// conjugates in reverse order.
TSR_API tsr_tensor *tsr_rfft(tsr_tensor *x, const int *axes, int axis_count);

// Inverse of rfft; the result is real. `size` is the size of the last axis named in the result; 0 means the even one of the two sizes possible. Imaginary parts that
// are 0 for every real signal are not read.
//
// Errors: TSR_ERR_SHAPE (the axis of x has another size than size / 2 + 1).
TSR_API tsr_tensor *tsr_irfft(tsr_tensor *x, int64_t size, const int *axes, int axis_count);

// --- Creating --------------------------------------------------------------------------------------------------------

// `count` numbers from start to stop, both included, evenly spaced: start + i * ((stop - start) / (count - 1)) in f64,
// the last one stop itself, then converted.
TSR_API tsr_tensor *tsr_linspace(tsr_device *device, tsr_dtype dtype, double start, double stop, int64_t count);

// Random numbers from a counter (Philox4x32-10): the same seed, dtype and shape give the same bits on every device.
// rand: uniform, 0 included and 1 not. randn: normal, mean 0, deviation 1, at most 6.7 (f64 carries f32's precision).
// Float dtypes only.

// uniform random numbers, 0 included and 1 not
TSR_API tsr_tensor *tsr_rand(tsr_device *device, tsr_dtype dtype, tsr_shape shape, uint64_t seed);
// normal random numbers
TSR_API tsr_tensor *tsr_randn(tsr_device *device, tsr_dtype dtype, tsr_shape shape, uint64_t seed);

// Whole numbers from `low` to `high` - 1, which the dtype must hold. Integer dtypes only.
TSR_API tsr_tensor *tsr_randint(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int64_t low, int64_t high,
                                uint64_t seed);

// Random numbers of other distributions, from the same counter: equal on every device within the bound that docs/operators.md gives. f64 carries f32's precision. Float
// dtypes only; Poisson numbers may have any dtype but bool.
//
// rand_exponential: with mean `scale`, at most 22.2 times the mean. rand_truncated_normal: normal (mean 0, deviation 1), limited to `low` … `high`; either may be infinite,
// and at least 2^-16 of all normal numbers must lie between them. rand_gamma: with shape parameter `alpha`, 0.001 to 10^6, and mean alpha * scale. rand_poisson:
// whole numbers with mean `rate`, up to 10^8, the same bits on every device.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (scale, alpha, rate, low not below high), TSR_ERR_UNSUPPORTED (low and high too far out).

// exponential random numbers
TSR_API tsr_tensor *tsr_rand_exponential(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double scale,
                                         uint64_t seed);
// normal random numbers within limits
TSR_API tsr_tensor *tsr_rand_truncated_normal(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double low,
                                              double high, uint64_t seed);
// gamma random numbers
TSR_API tsr_tensor *tsr_rand_gamma(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double alpha, double scale,
                                   uint64_t seed);
// Poisson random numbers
TSR_API tsr_tensor *tsr_rand_poisson(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double rate, uint64_t seed);

// The numbers 0 to count - 1 (i32) in random order: sorted by 64 random bits each. tsr_index_select with it shuffles an axis.
TSR_API tsr_tensor *tsr_permutation(tsr_device *device, int64_t count, uint64_t seed);

// `count` random indices (i32) for each row of weights, its last axis: index i is drawn in proportion to weight i. Weights need not add up to 1;
// negative ones and NaN count as 0. Elements of weight 0 are drawn only if there is no other choice: without `replace`, when too few others are left (they then
// follow in their order); and if all weights of a row are 0 (all draws are then its last element). Computed in f32: unless weights are whole numbers, devices
// may round the sum of weights differently, and differ where a random number falls on the boundary between two elements.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no weights, or without `replace` more draws than weights).
TSR_API tsr_tensor *tsr_multinomial(tsr_tensor *weights, int64_t count, bool replace, uint64_t seed);

// `count` random slices of x along an axis, each with the same chance, or by `weights`, a list, as multinomial has them. Without `replace` none comes
// twice.
TSR_API tsr_tensor *tsr_choice(tsr_tensor *x, int axis, int64_t count, tsr_tensor *weights, bool replace,
                               uint64_t seed);

// 1 with probability `p`, else 0: where the number that tsr_rand gives in f32 for this seed is below p.
TSR_API tsr_tensor *tsr_bernoulli(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double p, uint64_t seed);

// A class (i32) for each row of logits, the last axis: chosen with the probabilities that softmax gives, by the number that tsr_rand has for
// this seed and row. Temperature, top-k, top-p and min-p are in tsr_sample_desc (desc.h). A row with NaN gives its largest.
//
// Errors: TSR_ERR_SHAPE (no classes), TSR_ERR_INVALID_ARGUMENT (options).
TSR_API tsr_tensor *tsr_sample(tsr_tensor *logits, uint64_t seed, const tsr_sample_desc *desc);

// Lowers the logits of the classes in `tokens` (along the last axis), which were chosen before: positive logits are divided by the penalty, negative ones multiplied by
// it. A token that is no class changes nothing.
TSR_API tsr_tensor *tsr_repetition_penalty(tsr_tensor *logits, tsr_tensor *tokens, double penalty);

// For training: 0 where bernoulli of this seed is 1, else x / (1 - p), so that sums stay the same on average. The same seed drops the same elements, so use another
// seed for each call.
TSR_API tsr_tensor *tsr_dropout(tsr_tensor *x, double p, uint64_t seed);

#endif
