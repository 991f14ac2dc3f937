// SPDX-License-Identifier: MIT
// 64-bit integers in WGSL, which has none: vec2<u32>, low word first, two's complement.
#include "lang/emit/wgsl/wgsl.h"

#define L "vec2<u32>"
#define L1(name, body) \
  { "tsr_" name "_i64", "fn tsr_" name "_i64(a: " L ") -> " L " {\n  " body "\n}\n" }
#define L2(name, body) \
  { "tsr_" name "_i64", "fn tsr_" name "_i64(a: " L ", b: " L ") -> " L " {\n  " body "\n}\n" }
#define LTEST(name, body) \
  { "tsr_" name "_i64", "fn tsr_" name "_i64(a: " L ", b: " L ") -> bool { return " body "; }\n" }

const tsri_wgsl_helper tsri_wgsl_i64_helpers[] = {
    L2("add", "let low = a.x + b.x;\n  return " L "(low, a.y + b.y + u32(low < a.x));"),
    L2("sub", "return " L "(a.x - b.x, a.y - b.y - u32(a.x < b.x));"),
    L1("neg", "return tsr_sub_i64(" L "(0u, 0u), a);"),
    L2("mul", "return " L "(a.x * b.x, tsr_mulhi_u32(a.x, b.x) + a.x * b.y + a.y * b.x);"),
    LTEST("eq", "all(a == b)"),
    LTEST("ne", "any(a != b)"),
    LTEST("lt", "select(bitcast<i32>(a.y) < bitcast<i32>(b.y), a.x < b.x, a.y == b.y)"),
    LTEST("le", "select(bitcast<i32>(a.y) < bitcast<i32>(b.y), a.x <= b.x, a.y == b.y)"),
    LTEST("ult", "select(a.y < b.y, a.x < b.x, a.y == b.y)"),
    L1("abs", "return select(a, tsr_neg_i64(a), a.y >= 0x80000000u);"),
    L1("sign",
       "return select(" L "(u32(any(a != " L "(0u, 0u))), 0u), " L "(0xffffffffu, 0xffffffffu), a.y >= 0x80000000u);"),
    {"tsr_shl_i64",
     "fn tsr_shl_i64(a: " L ", count: u32) -> " L
     " {\n  let n = count & 31u;\n  let carried = select(0u, a.x >> ((32u - n) & 31u), n != 0u);\n"
     "  return select(" L "(a.x << n, (a.y << n) | carried), " L "(0u, a.x << n), (count & 32u) != 0u);\n}\n"},
    {"tsr_shr_i64",
     "fn tsr_shr_i64(a: " L ", count: u32) -> " L " {\n  let n = count & 31u;\n  let high = bitcast<i32>(a.y);\n"
     "  let carried = select(0u, a.y << ((32u - n) & 31u), n != 0u);\n"
     "  return select(" L "((a.x >> n) | carried, bitcast<u32>(high >> n)), " L
     "(bitcast<u32>(high >> n), bitcast<u32>(high >> 31u)), (count & 32u) != 0u);\n}\n"},
    // Quotient in xy, rest in zw, of numbers without sign; the divisor is not 0.
    {"tsr_divide", "fn tsr_divide(a: " L ", b: " L
                   ") -> vec4<u32> {\n  if ((a.y | b.y) == 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }\n"
                   "  var q = " L "(0u, 0u);\n  var r = " L
                   "(0u, 0u);\n  for (var i = 63i; i >= 0i; i--) {\n    let bit = tsr_shr_i64(a, u32(i)).x & 1u;\n"
                   "    let out = r.y >> 31u;\n    r = " L
                   "((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));\n    if (out != 0u || !tsr_ult_i64(r, b)) {\n"
                   "      r = tsr_sub_i64(r, b);\n      q = q | tsr_shl_i64(" L
                   "(1u, 0u), u32(i));\n    }\n  }\n  return vec4<u32>(q, r);\n}\n"},
    L2("div", "if (all(b == " L "(0u, 0u))) { return a; }\n  let q = tsr_divide(tsr_abs_i64(a), tsr_abs_i64(b)).xy;\n"
              "  return select(q, tsr_neg_i64(q), ((a.y ^ b.y) >> 31u) != 0u);"),
    L2("rem", "if (all(b == " L "(0u, 0u))) { return b; }\n  let r = tsr_divide(tsr_abs_i64(a), tsr_abs_i64(b)).zw;\n"
              "  return select(r, tsr_neg_i64(r), a.y >= 0x80000000u);"),
    L1("popcount", "return " L "(countOneBits(a.x) + countOneBits(a.y), 0u);"),
    L1("clz", "return " L "(select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u), 0u);"),
    L1("ctz", "return " L "(select(countTrailingZeros(a.x), 32u + countTrailingZeros(a.y), a.x == 0u), 0u);"),

    // Conversions.
    {"tsr_to_i64_i32",
     "fn tsr_to_i64_i32(a: i32) -> " L " { return " L "(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }\n"},
    // The upper 32 bits that count, the lowest of them set if anything below is: f32 rounds them once.
    {"tsr_to_f32_i64", "fn tsr_to_f32_i64(a: " L
                       ") -> f32 {\n  let m = tsr_abs_i64(a);\n  var r = tsr_to_f32_u32(m.x);\n  if (m.y != 0u) {\n"
                       "    let n = countLeadingZeros(m.y);\n    let up = tsr_shl_i64(m, n);\n"
                       "    r = tsr_to_f32_u32(up.y | u32(up.x != 0u)) * bitcast<f32>((159u - n) << 23u);\n  }\n"
                       "  return select(r, -r, a.y >= 0x80000000u);\n}\n"},
    {"tsr_to_i64_f32",
     "fn tsr_to_i64_f32(a: f32) -> " L " {\n  if (tsr_isnan_f32(a)) { return " L
     "(0u, 0u); }\n  if (a >= 9223372036854775808f) { return " L
     "(0xffffffffu, 0x7fffffffu); }\n  if (a <= -9223372036854775808f) { return " L
     "(0u, 0x80000000u); }\n  let u = bitcast<u32>(a);\n  let e = i32((u >> 23u) & 0xffu) - 150i;\n"
     "  let m = " L "((u & 0x7fffffu) | 0x800000u, 0u);\n  if (e <= -24i) { return " L
     "(0u, 0u); }\n  let r = select(" L "(m.x >> u32(-e & 31i), 0u), tsr_shl_i64(m, u32(e & 63i)), e >= 0i);\n"
     "  return select(r, tsr_neg_i64(r), u >= 0x80000000u);\n}\n"},
    {NULL, NULL},
};
