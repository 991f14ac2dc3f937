// SPDX-License-Identifier: MIT
// What the compiler makes of kernels: which values become scalars, which accesses runs, which groups are merged. That
// the results are right is tested in backends/cpu/lanes.
#include "lang/emit/lanes/lanes.h"

#include "core/alloc.h"
#include "lang/emit/lanes/code.h"
#include "lang/lang_testing.h"

// The bytecode of the only kernel in the text, printed.
static char *code_of(const char *text, const char *args) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  uint32_t *words = NULL;
  size_t bytes = 0;
  if (make_kernel(text, args, &log, &kernel) != TSR_OK)
    test_fail(__FILE__, __LINE__, "%s", log ? log : tsr_last_error());
  CHECK_OK(tsri_lanes_compile(kernel, &words, &bytes));
  char *code = tsri_lanes_print(words, bytes);
  CHECK(code);
  tsri_free(words);
  tsri_free(log);
  tsri_kernel_release(kernel);
  return code;
}

static int count_of(const char *code, const char *part) {
  int count = 0;
  for (const char *at = strstr(code, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

static void check_code(const char *text, const char *const *parts, const char *const *absent) {
  char *code = code_of(text, NULL);
  for (; *parts; parts++) {
    if (!strstr(code, *parts)) test_fail(__FILE__, __LINE__, "no %s in\n%s", *parts, code);
  }
  for (; *absent; absent++) {
    if (strstr(code, *absent)) test_fail(__FILE__, __LINE__, "%s in\n%s", *absent, code);
  }
  tsri_free(code);
}
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE      ((const char *const[]){NULL})

TEST(an_elementwise_kernel_takes_operands_from_memory_and_groups_together) {
  check_code(
      "kernel k(in f32 a[], in f32 b[], in f32 c[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = max(a[i] "
      "* b[i] + c[i], 0); }",
      LIST("merged", "NARROW_AFFINE", "LOAD_AFFINE.alias", "MULADD_F32", "MAX_F32", "STORE_AFFINE"),
      LIST("IOTA", "LOAD_LANES", "MUL_F32", "MOVE"));
  check_code("kernel k<WG = 32>(in f32 a[], out f32 y[]) { u32 i = group.x * WG + local.x; y[i] = a[i]; }",
             LIST("merged", "LOAD_AFFINE"), LIST("IOTA", "LOAD_LANES"));
}

TEST(a_kernel_that_looks_at_its_group_is_not_merged) {
  check_code("kernel k(out u32 y[]) { y[global.x] = local.x; }", NONE, LIST("merged"));
  check_code("kernel k(out u32 y[]) { y[global.x] = group.x; }", NONE, LIST("merged"));
  check_code("kernel k(in f32 x[], out f32 y[]) { f32 s = group_sum(x[global.x]); y[global.x] = s; }", NONE,
             LIST("merged"));
  check_code("kernel k<WG = 8, WG_Y = 8>(out u32 y[]) { y[global.x] = global.y; }", NONE, LIST("merged"));
}

TEST(what_is_the_same_for_all_lanes_is_computed_once) {
  check_code(
      "kernel k(in f32 x[], out f32 y[], u32 n, f32 s) { f32 t = s * 2 + exp(s); u32 m = n / 3; y[global.x] = x[m] + "
      "t; }",
      LIST("DIV_U32 s", "MUL_F32 s", "MATH_F32 s", "LOAD_SCALAR s"), LIST("LOAD_AFFINE", "LOAD_LANES"));
}

TEST(loop_counters_are_scalars) {
  check_code(
      "kernel k<WG = 64>(in f32 x[], out f32 y[], u32 n) { f32 s = 0; for (u32 i = local.x; i < n; i += WG) s += x[i] "
      "* x[i]; y[global.x] = s; }",
      LIST("NARROW_AFFINE", "ADD_U32 s", "MULADD_F32"), LIST("IOTA", "LOAD_LANES", "ADD_U32 r", "LT_U32"));
}

TEST(a_variable_that_is_another_takes_no_copy) {
  check_code(
      "kernel k<WG = 64>(in f32 x[], out f32 y[], u32 n) { f32 s = 0; for (u32 i = local.x; i < n; i += WG) { f32 v = "
      "x[i]; f32 w = v; s = s + w; } f32 all = group_sum(s); f32 same = all; if (local.x == 0) y[group.x] = same; }",
      LIST("ADD_F32.merge r0 r0 r", "STORE_SCALAR"), LIST("MOVE_32 r1", "MOVE_32 r2", "MOVE_32 r3", "MOVE_32 s1"));
}

TEST(a_variable_that_another_was_is_copied) {
  check_code(
      "kernel k(in f32 x[], out f32 y[], u32 n) { f32 v = x[global.x]; f32 w = v; v = v * 2; for (u32 i = 0; i < n; "
      "i++) "
      "{ w = v; v = v + 1; } y[global.x] = w; }",
      LIST("MOVE_32 r"), NONE);
}

TEST(the_first_item_is_found_without_a_comparison_per_lane) {
  check_code("kernel k<WG = 64>(out u32 y[]) { if (local.x == 0) y[group.x] = 1; }", LIST("NARROW_AFFINE"),
             LIST("IOTA", "EQ_U32"));
  check_code("kernel k<WG = 64>(out u32 y[]) { if (!(local.x == 0)) y[global.x] = 1; }", LIST("NARROW_AFFINE.invert"),
             LIST("IOTA", "EQ_U32"));
}

TEST(what_stays_the_same_in_a_loop_is_computed_before_it) {
  char *code = code_of(
      "kernel k(in i32 x[], out i32 y[], u32 n) { i32 v = x[global.x], s = 0; for (u32 i = 0; i < n; i++) s += v / 7 + "
      "i32(i); y[global.x] = s; }",
      NULL);
  char *division = strstr(code, "DIV_I32"), *test = strstr(code, "LT_U32");
  CHECK(division && test && division < test);
  tsri_free(code);
}

TEST(a_matrix_product_reads_rows_from_memory) {
  check_code(
      "kernel k<WG = 16, WG_Y = 16>(in f32 a[], in f32 b[], out f32 c[], u32 n) { f32 s = 0; for (u32 i = 0; i < n; "
      "i++) s += a[global.y * n + i] * b[i * n + global.x]; c[global.y * n + global.x] = s; }",
      LIST("LOAD_AFFINE.alias.rows", "MULADD_F32.rows"), LIST("IOTA", "LOAD_LANES", "MUL_U32 r"));
}

TEST(guarded_loads_need_no_condition_per_lane) {
  check_code("kernel k(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; y[i] = i > 0 && i < n ? x[i - 1] : 0; }",
             LIST("NARROW_AFFINE"), LIST("LT_U32", "IOTA", "SELECT"));
}

TEST(choices_without_loads_are_selected) {
  check_code("kernel k(in f32 x[], out f32 y[]) { f32 v = x[global.x]; y[global.x] = v > 0 ? v : v * 0.1; }",
             LIST("SELECT_32"), LIST("NARROW", "JUMP"));
}

TEST(registers_are_used_again) {
  char text[8192] = "kernel k(in f32 x[], out f32 y[]) { u32 i = global.x; f32 v = x[i];\n";
  for (int i = 0; i < 100; i++) {
    char line[64];
    snprintf(line, sizeof line, "f32 t%d = v * %d.5; v = t%d - x[i];\n", i, i, i);
    strcat(text, line);
  }
  strcat(text, "y[i] = v; }");
  char *code = code_of(text, NULL);
  unsigned scalars = 99, small = 99, large = 99;
  CHECK(sscanf(code, "lanes, merged, registers: %u scalar, %u of 4 bytes, %u of 8", &scalars, &small, &large) == 3);
  CHECK(scalars <= 2 && small <= 6 && large == 0);
  CHECK_EQ_INT(count_of(code, "MUL_F32"), 100);
  tsri_free(code);
}

TEST(the_same_kernel_gives_the_same_words) {
  const char *text =
      "kernel k(in f16 x[], out f64 y[], u32 n) { u32 i = global.x; while (i < n) { y[i] = f64(x[i]); i += 5; } }";
  uint32_t *words[2];
  size_t bytes[2];
  for (int i = 0; i < 2; i++) {
    char *log = NULL;
    tsri_kernel *kernel = NULL;
    CHECK_OK(make_kernel(text, NULL, &log, &kernel));
    CHECK_OK(tsri_lanes_compile(kernel, &words[i], &bytes[i]));
    tsri_kernel_release(kernel);
    tsri_free(log);
  }
  CHECK_EQ_UINT(bytes[0], bytes[1]);
  CHECK_BYTES(words[0], words[1], bytes[0]);
  tsri_free(words[0]);
  tsri_free(words[1]);
}

TEST(printing_refuses_what_is_no_bytecode) {
  uint32_t words[TSRI_LANE_HEADER_WORDS] = {0};
  CHECK(!tsri_lanes_print(words, 8));
  CHECK(!tsri_lanes_print(words, sizeof words));
  words[TSRI_LANE_H_WORDS] = TSRI_LANE_HEADER_WORDS;
  words[TSRI_LANE_H_INSNS] = 5;
  CHECK(!tsri_lanes_print(words, sizeof words));
}
