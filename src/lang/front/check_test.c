// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

// --- Types and conversions ------------------------------------------------------------------------------------------

TEST(literals_take_the_type_of_their_surroundings) {
  CHECK_FORM(IN_KERNEL("f32 s = 0; u32 v = n + 1; i32 w = m - 1; z[v] = s * 2 + f32(w);"),
             "s_1 = 0f\n  v_2 = (n + 1u)\n  w_3 = (m - 1)");
  CHECK_FORM(IN_KERNEL("u32 v = q ? 1 : 2; h[v] = 0;"), "v_1 = (q ? 1u : 2u)");
  CHECK_FORM(IN_KERNEL("f32 v = q ? 1 : 0.5; z[0] = v;"), "v_1 = (q ? 1f : 0.5f)");
  CHECK_FORM(IN_KERNEL("u32 v = 1 << n; h[v] = 0;"), "v_1 = (1u << n)");
  CHECK_FORM(IN_KERNEL("z[0] = 7 / 2;"), "z[0u] = 3f");
  CHECK_FORM(IN_KERNEL("z[0] = 7 / 2.0;"), "z[0u] = 3.5f");
  CHECK_FORM(IN_KERNEL("h[0] = WG * 2;"), "h[0u] = 128");
}

TEST(literals_that_do_not_fit_are_refused) {
  CHECK_REFUSED(
      IN_KERNEL("u32 v = -1;"),
      "t.tk:2:9: error: -1 does not fit u32\n    u32 v = -1;\n            ^\nhint: u32 holds 0 to 4294967295");
  CHECK_REFUSED(IN_KERNEL("i32 v = 2147483648;"), "error: 2147483648 does not fit i32");
  CHECK_REFUSED(IN_KERNEL("i32 v = 1.5;"), "error: a number with a fraction cannot become i32 by itself");
  CHECK_REFUSED(IN_KERNEL("f32 v = 1e39;"), "error: 1e+39 is too large for f32");
  CHECK_REFUSED(IN_KERNEL("bool v = 1;"), "error: a number is no bool");
  CHECK_REFUSED("kernel k(out u8 y[]) { y[0] = 256; }", "error: 256 does not fit u8");
  CHECK_REFUSED(IN_KERNEL("i64 v = 9223372036854775807 + 1;"), "error: this constant does not fit 64 bits");
  CHECK_REFUSED(IN_KERNEL("u32 v = 1 / 0;"), "error: division by 0 in a constant");
  CHECK_REFUSED(IN_KERNEL("u32 v = 1 << 64;"), "error: a constant is shifted by more than its width");
}

TEST(signed_unsigned_and_float_do_not_mix) {
  CHECK_REFUSED(IN_KERNEL("h[0] = m + n;"),
                "t.tk:2:10: error: '+': i32 and u32 do not mix\n    h[0] = m + n;\n             ^\nhint: convert one "
                "of them, as in i32(…)");
  CHECK_REFUSED(IN_KERNEL("z[0] = a * m;"), "error: '*': f32 and i32 do not mix");
  CHECK_REFUSED(IN_KERNEL("if (m < n) h[0] = 1;"), "error: '<': i32 and u32 do not mix");
  CHECK_REFUSED(
      IN_KERNEL("u32 v = m;"),
      "t.tk:2:9: error: variable 'v' is u32, this is i32\n    u32 v = m;\n            ^\nhint: convert it: u32(…)");
  CHECK_REFUSED(IN_KERNEL("z[0] = n;"), "error: an element of 'z' is f32, this is u32");
  CHECK_REFUSED(IN_KERNEL("z[0] = max(a, n);"), "error: max(): f32 and u32 do not mix");
  CHECK_REFUSED(IN_KERNEL("z[0] = q ? a : n;"), "error: the two values of '?': f32 and u32 do not mix");
  CHECK_FORM(IN_KERNEL("h[0] = m + i32(n);"), "(m + i32(n))");
}

TEST(operators_take_only_what_they_mean) {
  CHECK_REFUSED(IN_KERNEL("z[0] = a % a;"), "error: % takes whole numbers, not f32");
  CHECK_REFUSED(IN_KERNEL("z[0] = a & a;"), "error: & takes whole numbers or bool, not f32");
  CHECK_REFUSED(IN_KERNEL("u32 v = -n;"), "hint: write 0 - x, which wraps");
  CHECK_REFUSED(IN_KERNEL("if (!m) h[0] = 1;"), "error: ! takes bool, not i32");
  CHECK_REFUSED(IN_KERNEL("bool v = q + q;"), "error: + takes numbers, not bool");
  CHECK_REFUSED(IN_KERNEL("bool v = q < q;"), "error: < takes numbers, not bool");
  CHECK_REFUSED(IN_KERNEL("z[0] = exp(m);"), "hint: convert it: exp(f32(…))");
  CHECK_REFUSED(IN_KERNEL("h[0] = popcount(a);"), "error: popcount() takes whole numbers, not f32");
  CHECK_REFUSED(IN_KERNEL("h[0] = m << a;"), "takes whole numbers, not f32");
  CHECK_FORM(IN_KERNEL("bool v = q & !q | q ^ true; if (v) h[0] = 1;"), "v_1 = ((q & !(q)) | (q ^ true))");
}

TEST(conditions_are_bool) {
  CHECK_REFUSED(IN_KERNEL("if (m) h[0] = 1;"),
                "t.tk:2:5: error: the condition of if must be bool, this is i32\n    if (m) h[0] = 1;\n        "
                "^\nhint: compare it: … != 0");
  CHECK_REFUSED(IN_KERNEL("while (1) h[0] = 1;"),
                "error: the condition of a loop must be bool, this is a whole number");
  CHECK_REFUSED(IN_KERNEL("h[0] = n ? 1 : 2;"), "error: the condition of '?' must be bool");
  CHECK_REFUSED(IN_KERNEL("if (q && m) h[0] = 1;"), "error: a side of && must be bool");
}

TEST(storage_types_are_computed_in_wider_ones) {
  const char *text = "kernel k<T>(in T x[], out T y[]) { T v = x[0]; v = v + v; y[0] = v; }";
  CHECK_FORM_WITH(text, "T=f16", "v_1 = x[0u]\n  v_1 = f16((v_1 + v_1))\n  y[0u] = v_1");
  CHECK_FORM_WITH(text, "T=i8", "v_1 = i8((v_1 + v_1))");
  CHECK_FORM_WITH(text, "T=f32", "v_1 = (v_1 + v_1)");
  CHECK_FORM("kernel k(in u8 x[], out u8 y[]) { u32 v = x[0]; y[0] = v + 1; }", "v_1 = x[0u]\n  y[0u] = (v_1 + 1u)");
  CHECK_FORM("kernel k(in i8 x[], out i16 y[]) { i32 v = x[0]; y[0] = v; }", "v_1 = x[0u]");
  CHECK_FORM("kernel k(in bool x[], out bool y[]) { y[0] = !x[0]; }", "y[0u] = !(x[0u])");
  CHECK_FORM_WITH("kernel k<T>(out T y[], f32 v) { y[0] = T(v); }", "T=u8", "y[0u] = u8(v)");
  CHECK_FORM_WITH("kernel k<T>(out T y[], i32 v) { y[0] = T(v); }", "T=bf16", "y[0u] = bf16(v)");
}

TEST(conversions_of_constants_are_computed) {
  CHECK_FORM(IN_KERNEL("h[0] = i32(u8(300));"), "h[0u] = 44");
  CHECK_FORM(IN_KERNEL("h[0] = i32(i8(-1.9));"), "h[0u] = -1");
  CHECK_FORM(IN_KERNEL("h[0] = i32(u8(1e9));"), "h[0u] = 255");
  CHECK_FORM(IN_KERNEL("h[0] = i32(u32(-1));"), "h[0u] = -1");
  CHECK_FORM(IN_KERNEL("z[0] = f16(0.1);"), "z[0u] = 0.0999755859f");
  CHECK_FORM(IN_KERNEL("z[0] = bf16(1.01);"), "z[0u] = 1.0078125f");
  CHECK_FORM(IN_KERNEL("h[0] = bitcast<i32>(1.0);"), "h[0u] = 1065353216");
  CHECK_FORM(IN_KERNEL("h[0] = i32(NAN);"), "h[0u] = 0");
}

TEST(bitcast_keeps_the_size) {
  CHECK_FORM(IN_KERNEL("h[0] = bitcast<i32>(a);"), "bitcast<i32>(a)");
  CHECK_REFUSED(IN_KERNEL("i64 v = bitcast<i64>(a);"), "error: bitcast goes between i32, u32 and f32");
  CHECK_REFUSED(IN_KERNEL("z[0] = bitcast<f16>(a);"), "error: bitcast goes between");
  CHECK_REFUSED(IN_KERNEL("bool v = bitcast<bool>(a);"), "error: bitcast goes between");
}

TEST(vectors_work_lane_by_lane) {
  CHECK_FORM(IN_KERNEL("f32x4 v = load4(x, n) * 2 + a; store4(y, n, v);"),
             "v_1 = ((x[n..4] * f32x4(2f)) + f32x4(a))\n  y[n..4] = v_1");
  CHECK_FORM(IN_KERNEL("u32x2 v = load2(b, 4); h[0] = i32(v.y);"), "v_1 = b[4u..2]\n  h[0u] = i32(v_1.y)");
  CHECK_FORM(IN_KERNEL("f32x2 v = f32x2(1, a); v.x = 3; v.y += 1; z[0] = v.x;"),
             "v_1 = insert.x(v_1, 3f)\n  v_1 = insert.y(v_1, (v_1.y + 1f))");
  CHECK_FORM(IN_KERNEL("f32x4 v = select(load4(x, 0) < a, f32x4(0), load4(x, 4)); z[0] = v.w;"),
             "select((x[0u..4] < f32x4(a)), f32x4(0f), x[4u..4])");
  CHECK_FORM_WITH("kernel k<T>(in T x[], out T y[]) { Tx4 v = load4(x, 0); store4(y, 0, v * v); }", "T=f16",
                  "y[0u..4] = (v_1 * v_1)");
  CHECK_REFUSED(IN_KERNEL("f32x4 v = load2(x, 0);"), "error: variable 'v' is f32x4, this is f32x2");
  CHECK_REFUSED(IN_KERNEL("f32x4 v = load4(x, 0); z[0] = v.q;"), "error: f32x4 has no lane 'q'");
  CHECK_REFUSED(IN_KERNEL("f32x2 v; z[0] = v.z;"), "error: f32x2 has no lane 'z'");
  CHECK_REFUSED(IN_KERNEL("z[0] = a.x;"), "error: f32 has no lanes");
  CHECK_REFUSED(IN_KERNEL("f32x4 v = load4(x, 2);"), "error: the index of load4() must be a multiple of 4");
  CHECK_REFUSED(IN_KERNEL("f32x4 v = f32x4(1, 2);"), "error: f32x4(…) takes 1 value or 4, not 2");
  CHECK_REFUSED(IN_KERNEL("f32x4 v; if (v < 1.0) h[0] = 1;"), "hint: reduce the lanes with any(…) or all(…)");
  CHECK_REFUSED("kernel k(in f32x4 x[]) { }", "hint: read several elements at once with load2(x, i) or load4(x, i)");
  CHECK_REFUSED(IN_KERNEL("f32x4 t[4];"), "error: arrays hold single values, not vectors");
}

// --- Names and declarations -----------------------------------------------------------------------------------------

TEST(unknown_names_get_a_suggestion) {
  CHECK_REFUSED(IN_KERNEL("z[0] = globl.x;"),
                "error: 'globl' is not declared\n    z[0] = globl.x;\n           ^\nhint: did you mean 'global'?");
  CHECK_REFUSED(IN_KERNEL("u32 counter = 1; h[countr] = 1;"), "hint: did you mean 'counter'?");
  CHECK_REFUSED(IN_KERNEL("z[0] = sqr(a);"), "error: there is no function 'sqr'");
  CHECK_REFUSED(IN_KERNEL("z[0] = rsqr(a);"), "hint: did you mean 'rsqrt'?");
  CHECK_REFUSED(IN_KERNEL("f33 v = 1;"), "hint: did you mean 'f32'?");
}

TEST(a_name_is_declared_once_per_block) {
  CHECK_REFUSED(IN_KERNEL("u32 v = 1;\nu32 v = 2;"), "t.tk:3:5: error: 'v' is already declared here");
  CHECK_REFUSED(IN_KERNEL("u32 v = 1;\nu32 v = 2;"), "t.tk:2:5: note: the first declaration");
  CHECK_FORM(IN_KERNEL("u32 v = 1; { u32 v = v + 1; h[v] = 0; }"), "v_2 = (v_1 + 1u)");
  CHECK_REFUSED("kernel k() { }\nkernel k() { }", "t.tk:2:8: error: 'k' is already declared here");
  CHECK_REFUSED("kernel k(u32 n, f32 n) { }", "t.tk:1:21: error: 'n' is already declared here");
  CHECK_REFUSED(IN_KERNEL("{ u32 v = 1; } h[v] = 1;"), "error: 'v' is not declared");
}

TEST(variables_start_at_zero) {
  CHECK_FORM(IN_KERNEL("f32 v; z[0] = v;"), "v_1 = 0f");
  CHECK_FORM(IN_KERNEL("f32 t[4]; z[0] = t[m];"), "clear t_0\n  z[0u] = t_0[m]");
  CHECK_FORM(IN_KERNEL("f32 t[2] = {1}; z[0] = t[0];"), "clear t_0\n  t_0[0u] = 1f");
  CHECK_FORM(IN_KERNEL("f32 t[2] = {1, a}; z[0] = t[0];"), "{\n  t_0[0u] = 1f\n  t_0[1u] = a");
}

TEST(constants_cannot_change) {
  CHECK_REFUSED(IN_KERNEL("const u32 v = n;\nv = 2;"), "t.tk:3:1: error: 'v' is const and cannot be changed");
  CHECK_REFUSED(IN_KERNEL("const u32 v = 1;\nv = 2;"), "t.tk:3:1: error: 'v' cannot be assigned to");
  CHECK_REFUSED(IN_KERNEL("n = 2;"), "hint: copy the parameter into a variable first");
  CHECK_REFUSED(IN_KERNEL("const u32 t[2] = {1, 2}; t[0] = 1;"), "error: 't' is const and cannot be changed");
  CHECK_REFUSED(IN_KERNEL("local.x = 1;"), "error: this cannot be assigned to");
}

TEST(arrays_have_sizes_known_at_compile_time) {
  CHECK_FORM(IN_KERNEL("const u32 s = 2; f32 t[s * 2]; z[0] = t[3];"), "local f32 t_0[4]");
  CHECK_REFUSED(IN_KERNEL("f32 t[n];"), "error: the size of an array must be a whole number known at compile time");
  CHECK_REFUSED(IN_KERNEL("f32 t[0];"), "error: an array cannot have 0 elements");
  CHECK_REFUSED(IN_KERNEL("f32 t[5000];"), "error: a local array of 5000 elements is too large");
  CHECK_REFUSED(IN_KERNEL("f32 t[4]; z[0] = t[4];"), "error: index 4 is outside 't', which has 4 elements");
  CHECK_REFUSED(IN_KERNEL("f32 t[2] = {1, 2, 3};"), "error: more values than the array has elements (2)");
  CHECK_REFUSED(IN_KERNEL("f32 t[2] = 1;"), "error: an array is initialised by a list");
  CHECK_REFUSED(IN_KERNEL("f32 t = {1};"), "error: a list in braces may only initialise an array");
}

TEST(arrays_of_several_dimensions_are_row_major) {
  CHECK_FORM(IN_KERNEL("f32 t[3][4]; t[n][2] = 1; z[0] = t[1][n];"), "t_0[((n * 4u) + 2u)] = 1f");
  CHECK_FORM(IN_KERNEL("f32 t[2][3][4]; z[0] = t[m][m][m];"), "t_0[((((m * 3) + m) * 4) + m)]");
  CHECK_REFUSED(IN_KERNEL("f32 t[3][4]; z[0] = t[1];"), "error: 't' takes 2 indices, not 1");
  CHECK_REFUSED(IN_KERNEL("f32 t[3][4]; z[0] = t[1][4];"), "error: index 4 is outside 't'");
  CHECK_REFUSED(IN_KERNEL("z[0] = x[1][2];"), "error: 'x' takes 1 index, not 2");
}

TEST(shared_arrays_belong_to_kernels) {
  CHECK_FORM(IN_KERNEL("shared f32 t[8]; t[0] = 1;"), "shared f32 t[8]");
  CHECK_REFUSED(IN_KERNEL("if (q) { shared f32 t[8]; }"), "error: 'shared' arrays are declared at the outer level");
  CHECK_REFUSED("void f() { shared f32 t[8]; }\nkernel k() { f(); }",
                "error: 'shared' arrays are declared at the outer level");
  CHECK_REFUSED(IN_KERNEL("shared f32 t[2] = {1, 2};"), "error: a 'shared' array cannot be initialised");
  CHECK_REFUSED(IN_KERNEL("shared f32 t;"), "error: only arrays can be 'shared'");
}

TEST(buffers_are_used_as_declared) {
  CHECK_REFUSED(IN_KERNEL("x[0] = 1;"), "t.tk:2:1: error: 'x' is an 'in' buffer and cannot be written");
  CHECK_REFUSED(IN_KERNEL("z[0] = y[0];"), "error: 'y' is an 'out' buffer and cannot be read");
  CHECK_REFUSED(IN_KERNEL("y[0] += 1;"), "error: 'y' is an 'out' buffer and cannot be read");
  CHECK_REFUSED(IN_KERNEL("z[0] = x;"), "hint: write x[…]");
  CHECK_REFUSED(IN_KERNEL("z[a] = 1;"), "error: an index is u32, i32 or i64, this is f32");
  CHECK_REFUSED(IN_KERNEL("z[-1] = 1;"), "error: index -1 is negative");
  CHECK_REFUSED(IN_KERNEL("z[0] = a[0];"), "error: only arrays have elements, this is f32");
  CHECK_REFUSED("kernel k(f32 x[]) { }", "error: say whether the buffer 'x' is in, out or inout");
  CHECK_REFUSED("kernel k(in f32 x) { }", "error: only buffers are in, out or inout");
}

// --- Built-ins ------------------------------------------------------------------------------------------------------

TEST(ids_are_unsigned_and_have_axes) {
  CHECK_FORM(IN_KERNEL("h[group.x + groups.y * local.z] = i32(global.x);"),
             "h[(group.x + (groups.y * local.z))] = i32(global.x)");
  CHECK_REFUSED(IN_KERNEL("h[global] = 1;"), "hint: write global.x, .y or .z");
  CHECK_REFUSED(IN_KERNEL("h[global.w] = 1;"), "error: 'global' has x, y and z, not 'w'");
}

TEST(built_ins_check_their_arguments) {
  CHECK_REFUSED(IN_KERNEL("z[0] = exp();"), "error: exp() takes 1 argument, not 0");
  CHECK_REFUSED(IN_KERNEL("z[0] = fma(a, a);"), "hint: fma(a, b, c) is a * b + c");
  CHECK_REFUSED(IN_KERNEL("z[0] = select(m, a, a);"), "error: the first argument of select must be bool");
  CHECK_REFUSED(IN_KERNEL("z[0] = exp;"), "error: 'exp' is a function: its arguments are missing");
  CHECK_REFUSED(IN_KERNEL("z[0] = barrier();"), "error: this call has no value");
  CHECK_REFUSED(IN_KERNEL("z[0] = f32;"), "error: a type is no value");
  CHECK_FORM(IN_KERNEL("z[0] = clamp(a, 0, 1);"), "min(max(a, 0f), 1f)");
  CHECK_FORM(IN_KERNEL("z[0] = pow(2, a) + atan2(a, 1) + fma(2, a, 1);"),
             "((pow(2f, a) + atan2(a, 1f)) + fma(2f, a, 1f))");
  CHECK_FORM(IN_KERNEL("z[0] = -INFINITY;"), "z[0u] = -inff");
}

TEST(atomics_work_on_32_bit_integers) {
  CHECK_FORM(IN_KERNEL("i32 v = atomic_max(h, n, 3); h[0] = v;"), "t_1 = atomic_max(h[n], 3)");
  CHECK_FORM(IN_KERNEL("atomic_add(h, 0, m);"), "{\n  atomic_add(h[0u], m)\n}");
  CHECK_FORM(IN_KERNEL("i32 v = atomic_compare_exchange(h, 0, 1, 2); h[1] = v;"),
             "atomic_compare_exchange(h[0u], 1, 2)");
  CHECK_REFUSED(IN_KERNEL("atomic_add(z, 0, 1.0);"), "error: atomics work on i32 and u32");
  CHECK_REFUSED(IN_KERNEL("i32 t[2]; atomic_add(t, 0, 1);"), "error: atomics work on i32 and u32");
  CHECK_REFUSED(IN_KERNEL("atomic_add(h[0], 0, 1);"), "hint: give array and index separately");
  CHECK_REFUSED(IN_KERNEL("atomic_add(h, 1);"), "hint: the form is (array, index, value)");
  CHECK_REFUSED(IN_KERNEL("atomic_add(h, 0, n);"), "error: the value is i32, this is u32");
}

TEST(group_operations_take_single_numbers) {
  CHECK_FORM(IN_KERNEL("f32 v = group_sum(a) + group_max(2.0); z[0] = v;"),
             "t_1 = group_sum(a)\n  t_2 = group_max(2f)\n  v_3 = (t_1 + t_2)");
  CHECK_REFUSED(IN_KERNEL("z[0] = group_sum(load4(x, 0));"), "error: group_sum() takes a single number, not f32x4");
  CHECK_REFUSED(IN_KERNEL("z[0] = f32(group_sum(q));"), "hint: use group_any or group_all");
  CHECK_REFUSED(IN_KERNEL("if (group_any(m)) h[0] = 1;"), "error: the argument must be bool");
}

TEST(every_way_to_negate_an_integer_is_a_negation) {
  CHECK_FORM(IN_KERNEL("h[0] = 0 - m;"), "h[0u] = -(m)");
  CHECK_FORM(IN_KERNEL("h[0] = m * -1;"), "h[0u] = -(m)");
  CHECK_FORM(IN_KERNEL("h[0] = -1 * m;"), "h[0u] = -(m)");
  CHECK_FORM(IN_KERNEL("store2(h, 0, i32x2(0) - i32x2(m));"), "-(");
  CHECK_FORM(IN_KERNEL("h[0] = m - 0;"), "(m - 0)");
  CHECK_FORM(IN_KERNEL("z[0] = 0.0 - a;"), "(0f - a)");  // not the same for 0
}

// --- Order and laziness ---------------------------------------------------------------------------------------------

TEST(operands_are_computed_from_left_to_right) {
  CHECK_FORM(IN_KERNEL("h[1] = h[0] + atomic_add(h, 0, 1);"),
             "t_2 = h[0u]\n  t_1 = atomic_add(h[0u], 1)\n  h[1u] = (t_2 + t_1)");
  CHECK_FORM(IN_KERNEL("h[h[0]] = atomic_add(h, 0, 1);"), "t_2 = h[0u]\n  t_1 = atomic_add(h[0u], 1)\n  h[t_2] = t_1");
  CHECK_FORM(IN_KERNEL("h[h[0]] += 1;"), "t_1 = h[0u]\n  h[t_1] = (h[t_1] + 1)");
}

TEST(lazy_operators_keep_what_is_not_taken_from_happening) {
  CHECK_FORM(IN_KERNEL("if (m > 0 && h[m] > 1) h[0] = 1;"), "((m > 0) && (h[m] > 1))");
  CHECK_FORM(IN_KERNEL("if (q && atomic_add(h, 0, 1) > 1) h[0] = 1;"),
             "t_2 = q\n  if q {\n    t_1 = atomic_add(h[0u], 1)\n    t_2 = (t_1 > 1)\n  }\n");
  CHECK_FORM(IN_KERNEL("h[0] = q ? atomic_add(h, 0, 1) : 5;"),
             "if q {\n    t_1 = atomic_add(h[0u], 1)\n    t_2 = t_1\n  } else {\n    t_2 = 5\n  }");
  CHECK_FORM(IN_KERNEL("if (true || m > 0) h[0] = 1;"), "{\n  h[0u] = 1\n}");
}

TEST(a_loop_condition_that_needs_statements_is_tested_inside) {
  CHECK_FORM(IN_KERNEL("while (atomic_add(h, 0, 1) < 9) h[1] = 2;"),
             "loop true {\n    t_1 = atomic_add(h[0u], 1)\n    if ~(t_1 < 9) {\n    } else {\n      break\n    }\n    "
             "h[1u] = 2\n  }");
}
