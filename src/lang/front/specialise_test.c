// SPDX-License-Identifier: MIT
#include "lang/front/front.h"
#include "lang/lang_testing.h"

static tsri_module *parse(const char *text) {
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse("t.tk", text, strlen(text), NULL, &module));
  return module;
}

TEST(a_module_tells_what_its_kernels_take) {
  tsri_module *module = parse(
      "const u32 N = 8;\nkernel a<T: f32 | f16, bool B = true, u32 M, WG = N * 2>(in T x[], out u8 y[], u32 n, T s) { "
      "}\nkernel b() { }");
  CHECK_EQ_INT(tsri_module_kernel_count(module), 2);
  const tsri_lang_kernel_info *info = tsri_module_find(module, "a");
  CHECK(info == tsri_module_kernel(module, 0));
  CHECK_EQ_INT(info->generic_count, 4);
  CHECK(info->generics[0].is_type && !info->generics[0].has_default);
  CHECK_EQ_INT(info->generics[0].allowed, (1u << TSR_F32) | (1u << TSR_F16));
  CHECK(!info->generics[2].is_type && !info->generics[2].has_default);
  CHECK_EQ_INT(info->generics[3].value, 16);
  CHECK_EQ_INT(info->argument_count, 4);
  CHECK(info->arguments[0].is_buffer && info->arguments[0].generic == 0 && info->arguments[0].access == TSRI_ACCESS_IN);
  CHECK(info->arguments[1].is_buffer && info->arguments[1].dtype == TSR_U8 &&
        info->arguments[1].access == TSRI_ACCESS_OUT);
  CHECK(!info->arguments[2].is_buffer && info->arguments[2].dtype == TSR_U32 && info->arguments[2].generic == -1);
  CHECK(tsri_module_find(module, "c") == NULL);
  CHECK(tsri_module_kernel(module, 2) == NULL);
  tsri_module_release(module);
}

TEST(compile_time_parameters_must_be_right) {
  tsri_module *module = parse("kernel add<T: float, u32 N, WG = 64>(in T x[]) { }\nkernel sub() { }");
  tsri_kernel *kernel = NULL;
  tsri_lang_arg t = {.name = "T", .is_type = true, .dtype = TSR_F32}, n = {.name = "N", .value = 3};
  CHECK_STATUS(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("say which kernel: add sub");
  CHECK_STATUS(tsri_lang_specialise(module, "ad", NULL, 0, NULL, NULL, &kernel), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("there is no kernel ad");
  CHECK_STATUS(tsri_lang_specialise(module, "add", &t, 1, NULL, NULL, &kernel), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("its compile-time parameter N is not given");
  CHECK_STATUS(tsri_lang_specialise(module, "add", (tsri_lang_arg[]){t, n, {.name = "X"}}, 3, NULL, NULL, &kernel),
               TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("has no compile-time parameter X; it has: T N WG");
  CHECK_STATUS(
      tsri_lang_specialise(module, "add", (tsri_lang_arg[]){{.name = "T", .is_type = true, .dtype = TSR_I8}, n}, 2,
                           NULL, NULL, &kernel),
      TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("T cannot be i8; it may be: f16 bf16 f32 f64 f8_e4m3 f8_e5m2");
  CHECK_STATUS(
      tsri_lang_specialise(module, "add", (tsri_lang_arg[]){{.name = "T", .value = 1}, n}, 2, NULL, NULL, &kernel),
      TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("T is a type");
  CHECK_OK(tsri_lang_specialise(module, "add", (tsri_lang_arg[]){t, n}, 2, NULL, NULL, &kernel));
  tsri_module_release(module);
  CHECK_STR(kernel->variant, "add<T=f32, N=3, WG=64>");
  CHECK_STR(kernel->name, "add");
  CHECK_STR(kernel->file, "t.tk");
  tsri_kernel_release(kernel);
}

TEST(group_size_comes_from_wg) {
  CHECK_FORM("kernel k() { }", "group 64x1x1");
  CHECK_FORM("kernel k<WG = 8, WG_Y = 4, WG_Z = 2>() { }", "group 8x4x2");
  CHECK_FORM_WITH("kernel k<WG = 8>() { }", "WG=32", "group 32x1x1");
  CHECK_FORM_WITH("kernel k<TILE = 4, WG = TILE * 2, WG_Y = TILE>() { }", "TILE=8", "group 16x8x1");
  CHECK_REFUSED_WITH("kernel k<WG = 8>() { }", "WG=0", "t.tk:1:10: error: WG is 0: a group has 1 to 1024 items");
  CHECK_REFUSED_WITH("kernel k<RESIDENT = 1>() { }", "RESIDENT=0", "error: RESIDENT is 0: 1 to 32 groups");
  CHECK_REFUSED_WITH("kernel k<WG = 8, WG_Z = 1>() { }", "WG_Z=65", "error: WG_Z is 65: a group has 1 to 64 items");
  CHECK_REFUSED_WITH("kernel k<WG = 64, WG_Y = 32>() { }", "", "error: a group of 64x32x1 items is too large");
}

TEST(parameters_are_laid_out_in_words) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(make_kernel("kernel k(bool q, f64 d, f16 h, i64 w, u32 n) { }", NULL, &log, &kernel));
  CHECK_EQ_INT(kernel->param_count, 5);
  const uint32_t offsets[] = {0, 8, 16, 24, 32};
  for (int i = 0; i < 5; i++) CHECK_EQ_INT(kernel->params[i].offset, offsets[i]);
  CHECK_EQ_INT(kernel->params[2].declared, TSR_F16);
  CHECK_EQ_INT(kernel->params[2].type.dtype, TSR_F32);
  CHECK_EQ_INT(kernel->params_bytes, 36);
  CHECK_EQ_INT(kernel->needs, TSRI_NEEDS_F64 | TSRI_NEEDS_I64);
  tsri_kernel_release(kernel);
}

static uint32_t needs_of(const char *text) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(make_kernel(text, NULL, &log, &kernel));
  uint32_t needs = kernel->needs;
  tsri_free(log);
  tsri_kernel_release(kernel);
  return needs;
}

TEST(a_kernel_says_what_it_needs) {
  CHECK_EQ_INT(needs_of("kernel k(out f32 y[]) { y[0] = f32(u8(300)); }"), 0);
  CHECK_EQ_INT(needs_of("kernel k(in f16 x[], out bf16 y[]) { y[0] = x[0]; }"), TSRI_NEEDS_F16 | TSRI_NEEDS_BF16);
  CHECK_EQ_INT(needs_of("kernel k(in bool x[], in i16 z[]) { }"), TSRI_NEEDS_INT8 | TSRI_NEEDS_INT16);
  CHECK_EQ_INT(needs_of("kernel k() { barrier(); }"), TSRI_NEEDS_BARRIER);
  CHECK_EQ_INT(needs_of("kernel k(inout u32 y[]) { atomic_add(y, 0, 1); }"), TSRI_NEEDS_ATOMICS);
  CHECK_EQ_INT(needs_of("kernel k(out f32 y[]) { y[0] = group_sum(1.0); }"), TSRI_NEEDS_BARRIER | TSRI_NEEDS_GROUP_OPS);
  CHECK_EQ_INT(needs_of("kernel k(out u32 y[]) { y[0] = subgroup_size; }"), TSRI_NEEDS_SUBGROUPS);
  CHECK_EQ_INT(needs_of("kernel k(out f32 y[]) { y[0] = f32(f64(y_of())); }\nf32 y_of() { return 1; }"), 0);
}

TEST(compile_time_conditions_leave_no_trace) {
  const char *text =
      "kernel k<T, bool B = false>(in T x[], out f32 y[]) { if (T == f16) y[0] = 1; else if (B) y[0] = 2; else y[0] = "
      "nothing; }";
  CHECK_FORM_WITH(text, "T=f16", "{\n  y[0u] = 1f\n}");
  CHECK_FORM_WITH(text, "T=f32 B=1", "{\n  y[0u] = 2f\n}");
  CHECK_REFUSED_WITH(text, "T=f32", "'nothing' is not declared");
  CHECK_FORM_WITH("kernel k<u32 N = 4>(out f32 y[]) { if (N > 2) return; y[0] = 1; }", "N=1", "y[0u] = 1f");
  CHECK_FORM_WITH("kernel k<u32 N = 4>(out f32 y[]) { if (N > 2) return; y[0] = 1; }", "N=3", "{\n}");
}

TEST(static_assertions_are_checked) {
  CHECK_REFUSED("static_assert(1 > 2, \"never\");\nkernel k() { }",
                "t.tk:1:1: error: static_assert does not hold: never");
  CHECK_REFUSED_WITH("kernel k<u32 N>() { static_assert(N % 4 == 0, \"N in fours\"); }", "N=6",
                     "error: static_assert does not hold: N in fours");
  CHECK_FORM_WITH("kernel k<u32 N>() { static_assert(N % 4 == 0); }", "N=8", "{\n}");
  CHECK_REFUSED("kernel k(u32 n) { static_assert(n > 0); }",
                "error: static_assert needs a condition known at compile time");
}

TEST(file_constants_are_known_at_compile_time) {
  CHECK_FORM("const f32 HALF = sqrt(0.25), TWO = HALF * 4;\nkernel k(out f32 y[]) { y[0] = TWO; }", "y[0u] = 2f");
  CHECK_FORM("const u32 A = B + 1;\nconst u32 B = 2;\nkernel k(out u32 y[]) { y[0] = A; }", "y[0u] = 3u");
  CHECK_REFUSED("const u32 A = B;\nconst u32 B = A;\nkernel k() { }", "depends on itself");
  CHECK_REFUSED("const u32 A = global.x;\nkernel k() { }", "error: this is not known at compile time");
  CHECK_REFUSED("const u32 A;\nkernel k() { }", "error: a constant needs a value");
  CHECK_REFUSED("const u32 A = missing;\nkernel k() { }", "error: 'missing' is not declared");
}

TEST(too_much_shared_memory_is_told) {
  CHECK_REFUSED("kernel k() { shared f32 t[65536]; shared f32 u[65536]; t[0] = 1; u[0] = 1; }",
                "error: the shared arrays take 524288 bytes");
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(make_kernel("kernel k() { shared f32 t[5000]; t[0] = 1; }", NULL, &log, &kernel));
  CHECK_STR_HAS(log, "warning: the shared arrays take 20000 bytes");
  CHECK_EQ_INT(kernel->shared_bytes, 20000);
  tsri_free(log);
  tsri_kernel_release(kernel);
}

TEST(warnings_do_not_stop_a_kernel) {
  char *log = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(make_kernel("kernel k(out u32 y[], u32 n) { y[0] = n / 0; return; y[1] = 2; }", NULL, &log, &kernel));
  CHECK_STR_HAS(log, "t.tk:1:41: warning: division by 0: x / 0 is x");
  CHECK_STR_HAS(log, "t.tk:1:59: warning: this is never reached");
  tsri_free(log);
  tsri_kernel_release(kernel);
}

TEST(check_tries_every_type) {
  tsri_module *module = parse(
      "kernel good<T>(in T x[], out T y[]) { y[0] = x[0]; }\nkernel bad<T>(in T x[], out f32 y[]) { y[0] = exp(x[0]); "
      "}");
  char *log = NULL;
  CHECK_STATUS(tsri_lang_check(module, &log), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "in kernel bad with T=bool:\nt.tk:2:51: error: exp() takes f32 or f64, not bool");
  tsri_free(log);
  tsri_module_release(module);
}

TEST(every_failed_allocation_is_reported_and_nothing_leaks) {
  const char *text =
      "const u32 N = 4;\nf32 f(f32 v) { if (v > 0) return 1; return v; }\n"
      "kernel k<T, WG = 8>(in T x[], out T y[]) { f32 t[4]; for (u32 i = local.x; i < N; i += WG) t[i] = f(f32(x[i])); "
      "y[0] = T(t[0]); wrong_or_not(); }\n"
      "void wrong_or_not() { }";
  for (uint64_t nth = 1; nth < 100; nth++) {
    char *log = NULL;
    tsri_kernel *kernel = NULL;
    tsri_module *module = NULL;
    tsri_lang_arg arg = {.name = "T", .is_type = true, .dtype = TSR_F16};
    tsri_alloc_fail_at(nth, false);
    tsr_status status = tsri_lang_parse("t.tk", text, strlen(text), &log, &module);
    if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, &arg, 1, NULL, &log, &kernel);
    tsri_alloc_fail_at(0, false);
    CHECK(status == TSR_OK || status == TSR_ERR_OUT_OF_MEMORY);
    CHECK((status == TSR_OK) == (kernel != NULL));
    tsri_free(log);
    tsri_kernel_release(kernel);
    tsri_module_release(module);
    if (status == TSR_OK) {
      CHECK(nth > 10);
      return;
    }
  }
  CHECK(false);
}

TEST(failed_allocations_while_reporting_mistakes_do_not_crash) {
  const char *text = "kernel k(out f32 y[]) { y[0] = aaa; y[1] = bbb; y[2] = sqrrt(1.0); barrier(1); }";
  for (uint64_t nth = 1; nth < 60; nth++) {
    char *log = NULL;
    tsri_kernel *kernel = NULL;
    tsri_module *module = NULL;
    tsri_alloc_fail_at(nth, true);
    tsr_status status = tsri_lang_parse("t.tk", text, strlen(text), &log, &module);
    if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, &log, &kernel);
    tsri_alloc_fail_at(0, false);
    CHECK(status == TSR_ERR_BUILD || status == TSR_ERR_OUT_OF_MEMORY);
    tsri_free(log);
    tsri_module_release(module);
  }
}

TEST(arguments_on_a_command_line_are_read) {
  char name[8];
  tsri_lang_arg arg;
  CHECK_OK(tsri_lang_arg_parse("T=bf16", name, sizeof name, &arg));
  CHECK(arg.is_type && arg.dtype == TSR_BF16);
  CHECK_STR(arg.name, "T");
  CHECK_OK(tsri_lang_arg_parse("WG=0x40", name, sizeof name, &arg));
  CHECK(!arg.is_type && arg.value == 64);
  CHECK_OK(tsri_lang_arg_parse("B=true", name, sizeof name, &arg));
  CHECK(!arg.is_type && arg.value == 1);
  CHECK_STATUS(tsri_lang_arg_parse("T", name, sizeof name, &arg), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsri_lang_arg_parse("=f32", name, sizeof name, &arg), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsri_lang_arg_parse("ALONGNAME=1", name, sizeof name, &arg), TSR_ERR_INVALID_ARGUMENT);
}

// tsri_lang_specialise must refuse `define` with this message.
static void check_define_refused(const char *define, const char *message) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  char name[8];
  tsri_lang_arg arg;
  const char *text = "kernel blur<T: float = f32, WG = 64>(out T y[]) { y[0] = T(0); }";
  CHECK_OK(tsri_lang_parse("t.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_arg_parse(define, name, sizeof name, &arg));
  CHECK_STATUS(tsri_lang_specialise(module, NULL, &arg, 1, NULL, NULL, &kernel), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STR(tsr_last_error(), message);
  tsri_module_release(module);
}

TEST(a_wrong_compile_time_parameter_is_told_with_its_kernel_and_what_it_may_be) {
  check_define_refused("T=float",
                       "kernel blur: its compile-time parameter T cannot be float (here it is called f32); it may be: "
                       "f16 bf16 f32 f64 f8_e4m3 f8_e5m2");
  check_define_refused(
      "T=q99", "kernel blur: its compile-time parameter T cannot be q99; it may be: f16 bf16 f32 f64 f8_e4m3 f8_e5m2");
  check_define_refused("T=8",
                       "kernel blur: its compile-time parameter T is a type and cannot be 8; it may be: f16 bf16 f32 "
                       "f64 f8_e4m3 f8_e5m2");
  check_define_refused("WG=12x", "kernel blur: its compile-time parameter WG is a number, not 12x");
  check_define_refused("WG=f32", "kernel blur: its compile-time parameter WG is a number, not f32");
}

TEST(a_function_has_at_most_64_parameters_and_the_message_says_so) {
  static char text[4096];
  for (int count = 64; count <= 65; count++) {
    strcpy(text, "f32 f(");
    for (int i = 0; i < count; i++) snprintf(text + strlen(text), 32, "%sf32 p%d", i ? ", " : "", i);
    strcat(text, ") { return p0; }\nkernel k(out f32 y[]) { y[0] = f(");
    for (int i = 0; i < count; i++) strcat(text, i ? ", 1" : "1");
    strcat(text, "); }");
    if (count == 64) CHECK_FORM(text, "y[0u] = 1f");
    else CHECK_REFUSED(text, "error: a function has at most 64 parameters");
  }
}

TEST(local_arrays_are_limited_one_by_one_and_together) {
  static char text[4096];
  CHECK_REFUSED("kernel k() { f32 a[4097]; }", "a local array of 4097 elements is too large: 16384 bytes at most");
  for (int count = 16; count <= 17; count++) {
    strcpy(text, "kernel k(out f32 y[]) {\n");
    for (int i = 0; i < count; i++)
      snprintf(text + strlen(text), 96, "f32 a%d[4096]; y[%d] = a%d[global.x];\n", i, i, i);
    strcat(text, "}");
    if (count == 16) CHECK_FORM(text, "kernel k");
    else CHECK_REFUSED(text, "t.tk:18:5: error: the kernel's local arrays take more than 262144 bytes together");
  }
}
