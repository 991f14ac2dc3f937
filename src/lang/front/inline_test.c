// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

TEST(a_function_of_one_expression_becomes_part_of_the_callers) {
  CHECK_FORM("f32 sq(f32 v) { return v * v; }\nkernel k(out f32 y[], f32 a) { y[0] = sq(a) + 1; }",
             "{\n  y[0u] = ((a * a) + 1f)\n}");
  CHECK_FORM("f32 sq(f32 v) { return v * v; }\nkernel k(out f32 y[], f32 a) { y[0] = sq(a + 1); }",
             "v_1 = (a + 1f)\n  y[0u] = (v_1 * v_1)");
}

TEST(functions_may_stand_after_their_use_and_call_others) {
  CHECK_FORM(
      "kernel k(out f32 y[], f32 a) { y[0] = f(a); }\nf32 f(f32 v) { return g(v) + 1; }\nf32 g(f32 v) { return v * 2; "
      "}",
      "y[0u] = ((a * 2f) + 1f)");
}

TEST(an_assigned_parameter_is_a_variable_of_its_own) {
  CHECK_FORM("f32 f(f32 v) { v += 1; return v; }\nkernel k(out f32 y[], f32 a) { y[0] = f(a); }",
             "v_1 = a\n  v_1 = (v_1 + 1f)\n  t_2 = v_1\n  y[0u] = t_2");
}

TEST(early_returns_become_branches) {
  const char *text =
      "f32 f(f32 v) { if (v < 0) return 0; if (v > 1) return 1; return v; }\nkernel k(out f32 y[], f32 a) { y[0] = "
      "f(a); }";
  CHECK_FORM(text,
             "if (a < 0f) {\n    t_1 = 0f\n  } else {\n    if (a > 1f) {\n      t_1 = 1f\n    } else {\n      t_1 = "
             "a\n    }\n  }\n  y[0u] = t_1");
  CHECK_FORM(IN_KERNEL("if (global.x >= n) return; z[global.x] = 1;"),
             "if ~(global.x >= n) {\n  } else {\n    z[global.x] = 1f\n  }\n}");
}

TEST(returns_in_loops_leave_all_of_them) {
  const char *text =
      "i32 f(i32 v) { for (i32 i = 0; i < v; i++) { for (i32 j = 0; j < v; j++) { if (i * j == v) return i; } } return "
      "-1; }\n"
      "kernel k(out i32 y[], i32 m) { y[0] = f(m); }";
  CHECK_FORM(text, "if ((i_3 * j_4) == m) {\n        t_1 = i_3\n        done_2 = true\n        break\n      }");
  CHECK_FORM(text,
             "    if done_2 {\n      break\n    }\n  } step {\n    i_3 = (i_3 + 1)\n  }\n  if done_2 {\n  } else {\n   "
             " t_1 = -1");
}

TEST(returns_that_cannot_be_branches_use_a_flag) {
  const char *text =
      "i32 f(i32 v) { if (v > 0) { if (v > 5) return 1; v = 2; } else { if (v < -5) return 2; } v += 1; return v; }\n"
      "kernel k(out i32 y[], i32 m) { y[0] = f(m); }";
  CHECK_FORM(text, "done_3 = false");
  CHECK_FORM(text, "if done_3 {\n  } else {\n    v_1 = (v_1 + 1)\n    t_2 = v_1\n    done_3 = true\n  }\n");
}

TEST(a_function_must_return_what_it_says) {
  CHECK_REFUSED("f32 f(f32 v) { if (v > 0) return 1; }\nkernel k(out f32 y[], f32 a) { y[0] = f(a); }",
                "t.tk:1:5: error: 'f' can end without returning a value");
  CHECK_REFUSED("f32 f(f32 v) { if (v > 0) return; return 1; }\nkernel k(out f32 y[], f32 a) { y[0] = f(a); }",
                "error: 'return' needs a value here");
  CHECK_REFUSED("void f() { return 1; }\nkernel k() { f(); }", "error: this function returns nothing");
  CHECK_REFUSED("kernel k() { return 1; }", "error: a kernel returns nothing");
  CHECK_REFUSED("f32 f() { return 1u; }\nkernel k(out f32 y[]) { y[0] = f(); }",
                "error: the function's result is f32, this is u32");
  CHECK_REFUSED("void f() { }\nkernel k(out f32 y[]) { y[0] = f(); }", "error: this call has no value");
}

TEST(recursion_is_refused) {
  CHECK_REFUSED("f32 f(f32 v) { return f(v); }\nkernel k(out f32 y[]) { y[0] = f(1); }",
                "t.tk:1:23: error: 'f' calls itself");
  CHECK_REFUSED("f32 g(f32 v) { return f(v); }\nf32 f(f32 v) { return g(v); }\nkernel k(out f32 y[]) { y[0] = f(1); }",
                "calls itself");
  CHECK_REFUSED("kernel b() { b(); }", "error: 'b' is a kernel and cannot be called from here");
}

TEST(arguments_must_fit_the_parameters) {
  CHECK_REFUSED("f32 f(f32 v) { return v; }\nkernel k(out f32 y[]) { y[0] = f(1, 2); }",
                "t.tk:2:32: error: f() takes 1 argument, not 2");
  CHECK_REFUSED("f32 f(f32 v) { return v; }\nkernel k(out f32 y[], u32 n) { y[0] = f(n); }",
                "error: parameter 'v' is f32, this is u32");
  CHECK_REFUSED("f32 f(in f32 v[]) { return v[0]; }\nkernel k(out f32 y[], f32 n) { y[0] = f(n); }",
                "error: 'v' wants an array, this is f32");
  CHECK_REFUSED("f32 f(in f32 v[]) { return v[0]; }\nkernel k(out f32 y[]) { y[0] = f(y); }",
                "error: 'y' may only be written, and the function reads it");
  CHECK_REFUSED("void f(out f32 v[]) { v[0] = 1; }\nkernel k(in f32 x[]) { f(x); }",
                "error: 'x' may only be read, and the function writes it");
  CHECK_REFUSED("f32 f(in f32 v[]) { return v[0]; }\nkernel k(in u8 x[], out f32 y[]) { y[0] = f(x); }",
                "error: 'v' wants elements of type f32, these are u8");
}

TEST(arrays_are_passed_by_name) {
  CHECK_FORM(
      "f32 at(in f32 v[], u32 i) { return v[i * 2]; }\nkernel k(in f32 x[], out f32 y[], u32 n) { y[0] = at(x, n); }",
      "y[0u] = x[(n * 2u)]");
  CHECK_FORM("void put(inout f32 v[]) { v[1] = 2; }\nkernel k(out f32 y[]) { f32 t[2]; put(t); y[0] = t[1]; }",
             "t_0[1u] = 2f");
}

TEST(functions_may_be_generic) {
  const char *text =
      "T twice<T>(T v) { return v + v; }\nkernel k(out f32 y[], out i32 z[], f32 a, i32 m) { y[0] = twice(a); z[0] = "
      "twice(m); y[1] = twice(1.5); }";
  CHECK_FORM(text, "y[0u] = (a + a)\n  z[0u] = (m + m)\n  y[1u] = 3f");
  CHECK_FORM_WITH(
      "f32 first<T>(in T v[]) { return f32(v[0]); }\nkernel k<T>(in T x[], out f32 y[]) { y[0] = first(x); }", "T=u8",
      "y[0u] = f32(x[0u])");
  CHECK_REFUSED("T f<T: float>(T v) { return v; }\nkernel k(out i32 y[], i32 m) { y[0] = f(m); }",
                "error: 'T' would be i32, which it may not be");
  CHECK_REFUSED("T f<T>(u32 v) { return T(v); }\nkernel k(out f32 y[]) { y[0] = f(1); }",
                "error: the arguments do not say what 'T' is");
}

TEST(a_function_sees_only_its_own_names_and_the_files) {
  CHECK_REFUSED("f32 f() { return hidden; }\nkernel k(out f32 y[]) { f32 hidden = 1; y[0] = f(); }",
                "error: 'hidden' is not declared");
  CHECK_FORM("const f32 K = 2;\nf32 f() { return K; }\nkernel k(out f32 y[]) { f32 K = 1; y[0] = f() + K; }",
             "y[0u] = (2f + K_1)");
}

TEST(calls_that_multiply_without_end_are_refused) {
  char text[4000] = "void g0(inout f32 v[]) { v[0] = 1; }\n";
  for (int i = 1; i < 40; i++)
    snprintf(text + strlen(text), 100, "void g%d(inout f32 v[]) { g%d(v); g%d(v); }\n", i, i - 1, i - 1);
  strcat(text, "kernel k(inout f32 v[]) { g39(v); }");
  CHECK_REFUSED(text, "operations once its functions are inlined");
}
