// SPDX-License-Identifier: MIT
// Fragments in the front end: what is taken, and what is said about what is not.
#include "lang/lang_testing.h"

#define KERNEL(body)                                                                                                   \
  "kernel k<T: float = f16, WG = 32>(in T a[], in u32 words[], in f32 c[], out f32 y[], inout i32 h[], u32 n) {\n"     \
  "fragment_left<f16, 16, 8, 32> l; fragment_right<f16, 16, 8, 32> r; fragment_sum<f32, 16, 8, 32> s, t[2][3];\n" body \
  "\n}"
#define LOADED "fragment_load(l, a, 0, 32); fragment_load(r, words, n * 8, 32, true);\n"

TEST(a_product_of_fragments_in_checked_form) {
  CHECK_FORM(KERNEL(LOADED "fragment_multiply_add(s, l, r); fragment_store(s, y, 64, n, true);"),
             "load l_0, a[0u] rows 32u\n");
  CHECK_FORM(KERNEL(LOADED "fragment_multiply_add(s, l, r); fragment_store(s, y, 64, n, true);"),
             "columns 32u\n  multiply_add s_2, l_0, r_1\n  store s_2, y[64u] columns n\n");
  CHECK_FORM(KERNEL("fragment_fill(l, 2); fragment_load(s, c, 0, 8);"), "fill l_0, 2f\n  load s_2, c[0u] rows 8u\n");
  CHECK_FORM(KERNEL(""), "fragment_right<f16, 16, 8, 32> r_1\n");
}

TEST(sums_start_at_0) { CHECK_FORM("kernel k<WG = 32>() { fragment_sum<f32, 8, 8, 8> s; }", "fill s_0, 0f\n"); }

TEST(fragments_of_an_array_are_known_at_compile_time) {
  CHECK_FORM(KERNEL(LOADED "unroll for (u32 i = 0; i < 3; i++) fragment_multiply_add(t[1][i], l, r);"),
             "multiply_add t_6, l_0, r_1\n  multiply_add t_7, l_0, r_1\n  multiply_add t_8, l_0, r_1\n");
  CHECK_REFUSED(KERNEL("for (u32 i = 0; i < 3; i++) fragment_fill(t[0][i], 0);"),
                "the index of a fragment must be a whole number known at compile time");
  CHECK_REFUSED(KERNEL("fragment_fill(t[0][n], 0);"), "'unroll for' makes a loop's variable a constant");
  CHECK_REFUSED(KERNEL("fragment_fill(t[2][0], 0);"), "index 2 is outside an array of 2 fragments");
  CHECK_REFUSED(KERNEL("fragment_fill(t[1], 0);"), "'t' takes 2 indices here, not 1");
  CHECK_REFUSED(KERNEL("fragment_fill(s[1], 0);"), "'s' takes 0 indices here, not 1");
}

TEST(declarations_of_fragments_that_are_refused) {
  CHECK_REFUSED(KERNEL("fragment_left<f16, 16, 16> x;"), "a fragment has a type of elements and three sizes");
  CHECK_REFUSED(KERNEL("fragment_left x;"), "'<'");
  CHECK_REFUSED(KERNEL("fragment_left<f16, 16, 12, 16> x;"), "a fragment's sizes are 8, 16 or 32, not 12");
  CHECK_REFUSED(KERNEL("fragment_left<f16, 16, 64, 16> x;"), "a fragment's sizes are 8, 16 or 32, not 64");
  CHECK_REFUSED(KERNEL("fragment_left<f16, n, 16, 16> x;"), "the size of a fragment must be a whole number known");
  CHECK_REFUSED(KERNEL("fragment_left<i32, 16, 16, 16> x;"), "a factor is f16, bf16 or f32, not i32");
  CHECK_REFUSED(KERNEL("fragment_right<f16x2, 16, 16, 16> x;"), "a factor is f16, bf16 or f32, not f16x2");
  CHECK_REFUSED(KERNEL("fragment_sum<f16, 16, 16, 16> x;"), "a sum has elements of type f32, not f16");
  CHECK_REFUSED(KERNEL("fragment_sum<f32, 16, 16, 16> x = 0;"), "a fragment is not initialised by a value");
  CHECK_REFUSED(KERNEL("shared fragment_sum<f32, 16, 16, 16> x;"), "a fragment cannot be 'shared'");
  CHECK_REFUSED(KERNEL("const fragment_sum<f32, 16, 16, 16> x;"), "a fragment cannot be 'const'");
  CHECK_REFUSED(KERNEL("fragment_sum<f32, 16, 16, 16> x[300];"), "a kernel has at most 256 fragments");
  CHECK_REFUSED(KERNEL("fragment_sum<f32, 8, 8, 8> s;"), "'s' is already declared here");
  CHECK_REFUSED("void f(fragment_sum<f32, 8, 8, 8> x) { }\nkernel k() { f(1); }",
                "a fragment cannot be a parameter, a result or a part of another type");
}

TEST(fragments_are_no_values) {
  CHECK_REFUSED(KERNEL("y[0] = s;"), "'s' is a fragment, which only fragment_load() and its like take");
  CHECK_REFUSED(KERNEL("s = 0;"), "'s' is a fragment");
  CHECK_REFUSED(KERNEL("fragment_fill(n, 0);"), "this is no fragment");
  CHECK_REFUSED(KERNEL("fragment_fill(y, 0);"), "this is no fragment");
}

TEST(roles_shapes_and_types_of_a_product_must_agree) {
  CHECK_REFUSED(KERNEL(LOADED "fragment_multiply_add(s, r, l);"),
                "this is a fragment_right<f16, 16, 8, 32>, where a fragment_left is wanted");
  CHECK_REFUSED(KERNEL(LOADED "fragment_multiply_add(l, l, r);"), "where a fragment_sum is wanted");
  CHECK_REFUSED(KERNEL(LOADED "fragment_sum<f32, 16, 16, 32> x; fragment_multiply_add(x, l, r);"),
                "fragment_left<f16, 16, 8, 32> and fragment_right<f16, 16, 8, 32> cannot be multiplied into "
                "fragment_sum<f32, 16, 16, 32>");
  CHECK_REFUSED(KERNEL("fragment_left<bf16, 16, 8, 32> b; fragment_fill(b, 0); fragment_fill(r, 0);"
                       "fragment_multiply_add(s, b, r);"),
                "cannot be multiplied into");
  CHECK_REFUSED(KERNEL("fragment_fill(l, 1); fragment_multiply_add(s, l, r);"), "'r' is multiplied but never loaded");
}

TEST(memory_of_fragments) {
  CHECK_REFUSED_WITH(KERNEL("fragment_load(l, a, 0, 32);"), "T=bf16", "'a' has elements of type bf16, this is a");
  CHECK_REFUSED(KERNEL("fragment_load(l, c, 0, 32);"), "an array of u32 may hold two elements of f16 in a word");
  CHECK_REFUSED(KERNEL("fragment_load(s, words, 0, 32);"), "'words' has elements of type u32");
  CHECK_REFUSED(KERNEL("f32 z[512]; fragment_load(s, z, 0, 32);"), "fragments lie in buffers and shared arrays");
  CHECK_REFUSED(KERNEL("fragment_load(s, y, 0, 32);"), "'y' may only be written");
  CHECK_REFUSED(KERNEL("fragment_store(s, c, 0, 32);"), "'c'");
  CHECK_REFUSED(KERNEL("fragment_store(l, y, 0, 32);"), "where a fragment_sum is wanted");
  CHECK_REFUSED(KERNEL("fragment_load(l, n, 0, 32);"), "the second argument is the name of an array");
  CHECK_REFUSED(KERNEL("fragment_load(l, a, 4, 32);"), "the offset of elements of f16 is a multiple of 8: 16 bytes");
  CHECK_REFUSED(KERNEL("fragment_load(s, c, 0, 30);"), "the stride of elements of f32 is a multiple of 4: 16 bytes");
  CHECK_REFUSED(KERNEL("fragment_load(l, a, 0.5, 32);"), "cannot become u32 by itself");
  CHECK_REFUSED(KERNEL("fragment_load(l, a, 0, 32, n > 1);"), "must be known at compile time");
  CHECK_REFUSED(KERNEL("fragment_load(l, a, 0, 32); fragment_load(l, a, 0, 32, true);"),
                "'l' is loaded by columns here and by rows elsewhere");
  CHECK_REFUSED(KERNEL("fragment_load(l, a, 0);"), "fragment_load() takes 4 or 5 arguments, not 3");
  CHECK_REFUSED(KERNEL("fragment_multiply_add(s, l);"), "fragment_multiply_add(sum, left, right)");
}

TEST(fragments_stand_where_all_items_arrive) {
  CHECK_REFUSED(KERNEL("if (local.x < 4) fragment_fill(s, 1);"),
                "fragment_fill() stands where not all items of a group arrive");
  CHECK_REFUSED(KERNEL("for (u32 i = local.x; i < n; i += 32) fragment_load(l, a, 0, 32);"), "fragment_load() stands");
  CHECK_REFUSED(KERNEL(LOADED "if (words[local.x] > 1) return; fragment_multiply_add(s, l, r);"),
                "fragment_multiply_add() stands");
  CHECK_REFUSED(KERNEL("if (local.x > 4) { fragment_sum<f32, 8, 8, 8> x; }"), "fragment_fill() stands");
  CHECK_FORM(KERNEL("for (u32 i = 0; i < n; i++) fragment_fill(s, f32(i));"), "fill s_2");
}
