// SPDX-License-Identifier: MIT
// User-defined kernels through the public API, on every device that runs kernels: which arguments are accepted; tensors
// that are views, on another device, not computed yet or overlapping; and every refusal with its message.
#include <tessera/kernel.h>

#include <pthread.h>
#include <stdatomic.h>

#include "core/alloc.h"
#include "ops/dlpack_abi.h"
#include "support/devices.h"
#include "support/test.h"

static const char scale_text[] =
    "kernel scale<T, WG = 64>(in T x[], out T y[], u32 n) {\n"
    "    u32 i = global.x;\n"
    "    if (i < n) y[i] = T(f32(x[i]) * 2);\n"
    "}\n";
// y[i] = x[i + 1]: gives a wrong result if y is x, unless x is copied first.
static const char shift_text[] =
    "kernel shift(in i32 x[], out i32 y[], u32 n) {\n"
    "    u32 i = global.x;\n"
    "    if (i < n) y[i] = x[(i + 1) % n];\n"
    "}\n";
static const char fill_text[] = "kernel fill(out i32 y[], i32 v, u32 n) { if (global.x < n) y[global.x] = v; }\n";
static const char both_text[] =
    "kernel both(out i32 a[], out i32 b[], u32 n) { if (global.x < n) { a[global.x] = 1; b[global.x] = 2; } }\n";

static tsr_kernel *build(const char *source, const char *define) {
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = source, .defines = &define, .define_count = define != NULL},
                            &kernel));
  CHECK(kernel != NULL);
  return kernel;
}

#define LAUNCH(kernel, items, ...)                                                             \
  tsr_kernel_launch(kernel, tsr_grid_for(kernel, items, 1, 1), (const tsr_arg[]){__VA_ARGS__}, \
                    (int)(sizeof((const tsr_arg[]){__VA_ARGS__}) / sizeof(tsr_arg)))
#define TENSOR(tensor) tsr_arg_tensor(tensor)
#define INT(value)     tsr_arg_int(value)

static tsr_tensor *counting(tsr_device *device, int64_t count) {
  return tsr_arange(device, TSR_I32, 0, (double)count, 1);
}

static void check_ints(tsr_tensor *tensor, const int32_t *wanted, size_t count) {
  int32_t values[64];
  CHECK(count <= 64);
  CHECK_OK(tsr_read(tensor, values, count * sizeof *values));
  for (size_t i = 0; i < count; i++) CHECK_EQ_INT(values[i], wanted[i]);
}

// Runs `body` in a scope on every device that runs kernels; on the others checks that they report that they do not.
static void on_every_kernel_device(void (*body)(tsr_device *device)) {
  enum { MOST = 32 };
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST), ran = 0;
  for (int i = 0; i < count; i++) {
    tsr_kernel *kernel = build(fill_text, NULL);
    tsr_scope *scope = tsr_scope_begin(devices[i]);
    tsr_tensor *y = tsr_zeros(devices[i], TSR_I32, TSR_SHAPE(1));
    tsr_status status = LAUNCH(kernel, 1, TENSOR(y), INT(7), INT(1));
    if (status == TSR_ERR_UNSUPPORTED) {
      CHECK_LAST_ERROR_HAS("runs no kernels");
    } else {
      CHECK_OK(status);
      body(devices[i]);
      ran++;
    }
    CHECK_OK(tsr_scope_end(scope));
    tsr_kernel_release(kernel);
    tsr_device_release(devices[i]);
  }
  CHECK(ran >= 1);
}

#define TEST_ON_KERNEL_DEVICES(claim)                              \
  static void claim(tsr_device *device);                           \
  TEST(claim##_on_every_device) { on_every_kernel_device(claim); } \
  static void claim(tsr_device *device)

// --- Building -----------------------------------------------------------------------------------------------------

static tsr_status try_build(const char *source, const char *name, const char *define) {
  tsr_kernel *kernel = (tsr_kernel *)&kernel;
  tsr_kernel_desc desc = {
      .source = source, .file_name = "try.tk", .kernel = name, .defines = &define, .define_count = define != NULL};
  tsr_status status = tsr_kernel_build(&desc, &kernel);
  CHECK((status == TSR_OK) == (kernel != NULL));
  tsr_kernel_release(kernel);
  return status;
}

TEST(a_mistake_is_told_as_a_compiler_tells_it) {
  CHECK_STATUS(try_build("kernel k(out f32 y[]) {\n    y[0] = z;\n}\n", NULL, NULL), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("try.tk:2:12: error: ");
  CHECK_LAST_ERROR_HAS("    y[0] = z;\n");
  CHECK_LAST_ERROR_HAS("^");
  CHECK_STATUS(try_build("kernel k(out f32 y[]) { y[0] = 1 }", NULL, NULL), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("try.tk:1:");
  CHECK_STATUS(try_build("", NULL, NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("there is no kernel in it");
}

TEST(the_kernel_of_a_text_must_be_there_and_clear) {
  static const char two[] = "kernel blur(out f32 y[]) { y[0] = 1; }\nkernel sharpen(out f32 y[]) { y[0] = 2; }\n";
  CHECK_OK(try_build(two, "blur", NULL));
  CHECK_STATUS(try_build(two, "blurr", NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("did you mean blur?");
  CHECK_STATUS(try_build(two, NULL, NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("sharpen");
}

TEST(defines_are_checked_against_the_compile_time_parameters) {
  static const char text[] = "kernel k<T: float, WG = 64>(out T y[]) { y[0] = 1; }";
  static const struct {
    const char *define, *words;
  } wrong[] = {{NULL, "T is not given"}, {"T=i32", "T cannot be i32"},
               {"T=f31", "f31"},         {"U=f32", "no compile-time parameter U"},
               {"T=3", "T is a type"},   {"T", "write T=f32"},
               {"=f32", "write T=f32"},  {"", "write T=f32"}};
  CHECK_OK(try_build(text, NULL, "T=f16"));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    CHECK_STATUS(try_build(text, NULL, wrong[i].define), TSR_ERR_INVALID_ARGUMENT);
    CHECK_LAST_ERROR_HAS(wrong[i].words);
  }
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {.source = text, .defines = (const char *const[]){"T=f32", NULL}, .define_count = 2};
  CHECK_STATUS(tsr_kernel_build(&desc, &kernel), TSR_ERR_INVALID_ARGUMENT);
  desc.defines = NULL;
  CHECK_STATUS(tsr_kernel_build(&desc, &kernel), TSR_ERR_INVALID_ARGUMENT);
  desc.define_count = -1;
  CHECK_STATUS(tsr_kernel_build(&desc, &kernel), TSR_ERR_INVALID_ARGUMENT);
  desc.define_count = 1000;
  CHECK_STATUS(tsr_kernel_build(&desc, &kernel), TSR_ERR_INVALID_ARGUMENT);
}

TEST(a_kernel_tells_its_name_parameters_and_group_size) {
  tsr_kernel *kernel = build(
      "kernel k<T, WG = 8, WG_Y = 4>(in T x[], u8 n, out f32 y[], bool q, inout T z[]) {"
      " y[0] = f32(x[n]); z[0] = q ? z[0] : x[0]; }",
      "T=i16");
  static const tsr_kernel_param wanted[] = {{"x", TSR_ACCESS_IN, TSR_I16},
                                            {"n", TSR_ACCESS_NONE, TSR_U8},
                                            {"y", TSR_ACCESS_OUT, TSR_F32},
                                            {"q", TSR_ACCESS_NONE, TSR_BOOL},
                                            {"z", TSR_ACCESS_INOUT, TSR_I16}};
  uint32_t size[3];
  tsr_kernel_param param;
  CHECK_STR(tsr_kernel_name(kernel), "k<T=i16, WG=8, WG_Y=4>");
  tsr_kernel_group_size(kernel, size);
  CHECK(size[0] == 8 && size[1] == 4 && size[2] == 1);
  CHECK_EQ_INT(tsr_kernel_param_count(kernel), 5);
  for (int i = 0; i < 5; i++) {
    CHECK_OK(tsr_kernel_get_param(kernel, i, &param));
    CHECK_STR(param.name, wanted[i].name);
    CHECK(param.access == wanted[i].access && param.dtype == wanted[i].dtype);
  }
  CHECK_STATUS(tsr_kernel_get_param(kernel, 5, &param), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_get_param(kernel, -1, &param), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_get_param(kernel, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_grid grid = tsr_grid_for(kernel, 17, 4, 0);
  CHECK(grid.x == 3 && grid.y == 1 && grid.z == 0);
  CHECK_EQ_UINT(tsr_grid_for(kernel, UINT64_MAX, 1, 1).x, UINT32_MAX);
  tsr_kernel_release(kernel);
}

TEST(null_kernels_are_refused_or_ignored) {
  tsr_kernel *kernel = NULL;
  CHECK_STATUS(tsr_kernel_build(NULL, &kernel), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){0}, &kernel), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.source = fill_text}, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_launch(NULL, (tsr_grid){1, 1, 1}, NULL, 0), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_emit(NULL, "c", NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_check(NULL, 0, NULL, NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK(tsr_kernel_retain(NULL) == NULL);
  tsr_kernel_release(NULL);
  CHECK_STR(tsr_kernel_name(NULL), "");
  CHECK_EQ_INT(tsr_kernel_param_count(NULL), 0);
  CHECK_EQ_UINT(tsr_grid_for(NULL, 5, 5, 5).x, 0);
}

TEST(a_check_covers_every_type_and_its_log_may_be_cut) {
  static const char bad[] = "kernel k<T>(in T x[], out T y[]) { y[0] = x[0] << 1; }";  // no shifts of floats
  char log[4096], cut[16];
  size_t bytes = 0, again = 0;
  CHECK_OK(tsr_kernel_check(scale_text, 0, NULL, log, sizeof log, &bytes));
  CHECK_STR(log, "");
  CHECK_EQ_UINT(bytes, 1);
  CHECK_STATUS(tsr_kernel_check(bad, sizeof bad - 1, "bad.tk", log, sizeof log, &bytes), TSR_ERR_BUILD);
  CHECK_STR_HAS(log, "bad.tk:1:");
  CHECK_STR_HAS(log, "error: ");
  CHECK_EQ_UINT(bytes, strlen(log) + 1);
  CHECK_STATUS(tsr_kernel_check(bad, 0, "bad.tk", cut, sizeof cut, &again), TSR_ERR_BUILD);
  CHECK_EQ_UINT(again, bytes);
  CHECK_EQ_UINT(strlen(cut), sizeof cut - 1);
  CHECK_BYTES(cut, log, sizeof cut - 1);
}

TEST(a_kernel_is_shown_in_every_dialect_that_is_text) {
  static const char *const dialects[] = {"opencl", "cuda", "hip", "metal", "c", "wgsl", "ir", "lanes", "x86", "arm64"};
  tsr_kernel *kernel = build(scale_text, "T=f16");
  for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
    char text[16384], cut[8];
    size_t bytes = 0;
    CHECK_OK(tsr_kernel_emit(kernel, dialects[i], text, sizeof text, &bytes));
    CHECK_EQ_UINT(bytes, strlen(text) + 1);
    CHECK(bytes > 50);
    CHECK_OK(tsr_kernel_emit(kernel, dialects[i], cut, sizeof cut, &bytes));
    CHECK_EQ_UINT(bytes, strlen(text) + 1);
    CHECK_BYTES(cut, text, sizeof cut - 1);
  }
  CHECK_STATUS(tsr_kernel_emit(kernel, "fortran", NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("known: ir opencl cuda hip metal c");
  CHECK_STATUS(tsr_kernel_emit(kernel, NULL, NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_kernel_release(kernel);
}

// --- Values -------------------------------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(every_dtype_goes_in_and_comes_out) {
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    tsr_dtype dtype = (tsr_dtype)i;
    char define[16];
    snprintf(define, sizeof define, "T=%s", tsr_dtype_name(dtype));
    tsr_kernel *kernel = build(
        "kernel copy<T>(in T x[], out T y[], inout T z[], u32 n) {\n"
        "    u32 i = global.x;\n"
        "    if (i < n) { y[i] = x[i]; if (i % 2 == 0) z[i] = x[i]; }\n"
        "}\n",
        define);
    enum { COUNT = 100 };
    tsr_tensor *x = tsr_arange(device, dtype, 0, COUNT, 1), *y = tsr_zeros(device, dtype, TSR_SHAPE(COUNT));
    tsr_tensor *z = tsr_ones(device, dtype, TSR_SHAPE(COUNT));
    tsr_status status = LAUNCH(kernel, COUNT, TENSOR(x), TENSOR(y), TENSOR(z), INT(COUNT));
    // Some devices have no f64; then the message says so.
    if (status == TSR_ERR_UNSUPPORTED) {
      CHECK_LAST_ERROR_HAS(tsr_dtype_name(dtype));
    } else {
      CHECK_OK(status);
      bool is_equal = false;
      double values[COUNT];
      unsigned char raw[COUNT * 8];
      CHECK_OK(tsr_equal(x, y, &is_equal));
      CHECK(is_equal);
      CHECK_OK(tsr_read(z, raw, COUNT * tsr_dtype_bytes(dtype)));
      CHECK_OK(tsr_convert(TSR_F64, values, dtype, raw, COUNT));
      for (int k = 0; k < COUNT; k++) {
        double wanted = k % 2 ? 1 : dtype == TSR_BOOL ? k != 0 : k;
        CHECK_OK(tsr_convert(dtype, raw, TSR_F64, &wanted, 1));  // not every number is one of f8
        CHECK_OK(tsr_convert(TSR_F64, &wanted, dtype, raw, 1));
        CHECK(values[k] == wanted);
      }
    }
    tsr_kernel_release(kernel);
  }
}

// The value of a scalar of type `dtype` inside a kernel, as i64 (integers, bool) or f32.
static double scalar_seen(tsr_device *device, tsr_dtype dtype, tsr_arg arg) {
  char define[16];
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
  snprintf(define, sizeof define, "T=%s", tsr_dtype_name(dtype));
  tsr_kernel *kernel = build(is_float ? "kernel see<T>(T v, out f32 y[]) { y[0] = f32(v); }"
                                      : "kernel see<T>(T v, out i32 y[]) { y[0] = i32(v); }",
                             define);
  tsr_tensor *y = tsr_zeros(device, is_float ? TSR_F32 : TSR_I32, TSR_SHAPE(1));
  float real = 0;
  int32_t integer = 0;
  CHECK_OK(LAUNCH(kernel, 1, arg, TENSOR(y)));
  CHECK_OK(is_float ? tsr_read(y, &real, sizeof real) : tsr_read(y, &integer, sizeof integer));
  tsr_kernel_release(kernel);
  return is_float ? (double)real : integer;
}

TEST_ON_KERNEL_DEVICES(scalars_of_every_type_arrive) {
  static const struct {
    tsr_dtype dtype;
    int64_t given, seen;
  } integers[] = {
      {TSR_BOOL, 1, 1},          {TSR_BOOL, 0, 0},          {TSR_BOOL, -5, 1},       {TSR_U8, 255, 255},
      {TSR_I8, -128, -128},      {TSR_I16, -32768, -32768}, {TSR_I16, 32767, 32767}, {TSR_I32, INT32_MIN, INT32_MIN},
      {TSR_U32, UINT32_MAX, -1}, {TSR_I64, -7, -7},         {TSR_F32, 3, 3},         {TSR_F16, -2, -2},
      {TSR_BF16, 256, 256}};
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
    CHECK(scalar_seen(device, integers[i].dtype, INT(integers[i].given)) == (double)integers[i].seen);
  }
  CHECK(scalar_seen(device, TSR_F32, tsr_arg_float(0.1)) == (double)0.1f);
  CHECK(scalar_seen(device, TSR_F32, tsr_arg_float(1e300)) > 1e38);
  // The value as the declared type holds it.
  CHECK(scalar_seen(device, TSR_F16, tsr_arg_float(0.1)) == 0.0999755859375);
  CHECK(scalar_seen(device, TSR_BF16, tsr_arg_float(0.1)) == 0.10009765625);
  CHECK(scalar_seen(device, TSR_BF16, INT(257)) == 256);
}

TEST_ON_KERNEL_DEVICES(sixty_four_bit_scalars_arrive_whole) {
  tsr_kernel *integers = build("kernel k(i64 v, u32 pad, out i64 y[]) { y[0] = v; y[1] = i64(pad); }", NULL);
  tsr_tensor *y = tsr_zeros(device, TSR_I64, TSR_SHAPE(2)), *z = tsr_zeros(device, TSR_F64, TSR_SHAPE(1));
  int64_t seen[2];
  CHECK_OK(LAUNCH(integers, 1, INT(INT64_MIN + 1), INT(9), TENSOR(y)));
  CHECK_OK(tsr_read(y, seen, sizeof seen));
  CHECK(seen[0] == INT64_MIN + 1 && seen[1] == 9);
  tsr_kernel_release(integers);
  tsr_kernel *reals = build("kernel k(u32 pad, f64 v, out f64 y[]) { y[0] = v; }", NULL);
  double real = 0;
  tsr_status status = LAUNCH(reals, 1, INT(9), tsr_arg_float(0.1), TENSOR(z));
  if (status == TSR_OK) {
    CHECK_OK(tsr_read(z, &real, sizeof real));
    CHECK(real == 0.1);
  } else {
    CHECK_STATUS(status, TSR_ERR_UNSUPPORTED);
    CHECK_LAST_ERROR_HAS("f64");
  }
  tsr_kernel_release(reals);
}

TEST_ON_KERNEL_DEVICES(numbers_that_do_not_fit_are_refused_by_name) {
  static const struct {
    tsr_dtype dtype;
    int64_t value;
  } wrong[] = {{TSR_U32, -1},     {TSR_U32, INT64_C(1) << 32}, {TSR_U8, 300},       {TSR_U8, -1}, {TSR_I8, 128},
               {TSR_I16, -32769}, {TSR_I32, INT64_C(1) << 31}, {TSR_I32, INT64_MIN}};
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(1));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char define[16], words[64];
    snprintf(define, sizeof define, "T=%s", tsr_dtype_name(wrong[i].dtype));
    tsr_kernel *kernel = build("kernel k<T>(T level, out f32 y[]) { y[0] = f32(level); }", define);
    CHECK_STATUS(LAUNCH(kernel, 1, INT(wrong[i].value), TENSOR(y)), TSR_ERR_INVALID_ARGUMENT);
    snprintf(words, sizeof words, "%lld does not fit parameter 'level' of type %s", (long long)wrong[i].value,
             tsr_dtype_name(wrong[i].dtype));
    CHECK_LAST_ERROR_HAS(words);
    CHECK_STATUS(LAUNCH(kernel, 1, tsr_arg_float(1), TENSOR(y)), TSR_ERR_INVALID_ARGUMENT);
    CHECK_LAST_ERROR_HAS("parameter 'level'");
    CHECK_LAST_ERROR_HAS("takes an integer");
    tsr_kernel_release(kernel);
  }
}

// --- Invalid arguments -----------------------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(wrong_arguments_are_refused_by_name) {
  tsr_kernel *kernel = build(scale_text, "T=f32");
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  tsr_tensor *other = tsr_zeros(device, TSR_F16, TSR_SHAPE(4));
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("scale<T=f32, WG=64>: 2 arguments given, it takes 3");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y), INT(4), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, NULL, 3), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, NULL, -1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), INT(1), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("parameter 'y' takes a tensor");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y), TENSOR(x)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("parameter 'n' takes a number");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y), {.kind = (tsr_arg_kind)77}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(other), TENSOR(y), INT(4)), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("buffer 'x' is f32, the tensor given is f16");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(other), INT(4)), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("'y'");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(x), TENSOR(NULL), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("'y'");
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(a_failed_tensor_gives_its_own_error) {
  tsr_kernel *kernel = build(scale_text, "T=f32");
  tsr_tensor *good = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_tensor *failed = tsr_reshape(good, TSR_SHAPE(5)), *sum = tsr_add(failed, good);
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(sum), TENSOR(good), INT(4)), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("reshape");
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(good), TENSOR(failed), INT(4)), TSR_ERR_SHAPE);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(no_tensor_says_where_to_run) {
  (void)device;
  tsr_kernel *empty = build("kernel k() { }", NULL), *number = build("kernel k(u32 n) { }", NULL);
  CHECK_STATUS(tsr_kernel_launch(empty, (tsr_grid){1, 1, 1}, NULL, 0), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(LAUNCH(number, 1, INT(1)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("no tensor among the arguments says where to run");
  tsr_kernel_release(empty);
  tsr_kernel_release(number);
}

// --- Views, overlaps, sizes of 0 ----------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(inputs_that_are_not_contiguous_are_packed) {
  tsr_kernel *kernel = build(shift_text, NULL);
  tsr_tensor *base = tsr_reshape(counting(device, 12), TSR_SHAPE(3, 4)), *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(12));
  CHECK_OK(LAUNCH(kernel, 12, TENSOR(tsr_transpose(base, 0, 1)), TENSOR(y), INT(12)));
  check_ints(y, (const int32_t[]){4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 0}, 12);
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(tsr_flip(counting(device, 4), 0)), TENSOR(y), INT(4)));
  check_ints(tsr_slice(y, 0, 0, 4, 1), (const int32_t[]){2, 1, 0, 3}, 4);
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(tsr_expand(tsr_slice(counting(device, 6), 0, 5, 6, 1), TSR_SHAPE(4))), TENSOR(y),
                  INT(4)));
  check_ints(tsr_slice(y, 0, 0, 4, 1), (const int32_t[]){5, 5, 5, 5}, 4);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(contiguous_views_are_used_where_they_lie) {
  tsr_kernel *kernel = build(shift_text, NULL);
  tsr_tensor *base = counting(device, 9), *all = tsr_zeros(device, TSR_I32, TSR_SHAPE(9));
  CHECK_OK(LAUNCH(kernel, 3, TENSOR(tsr_slice(base, 0, 3, 6, 1)), TENSOR(tsr_slice(all, 0, 5, 8, 1)), INT(3)));
  check_ints(all, (const int32_t[]){0, 0, 0, 0, 0, 4, 5, 3, 0}, 9);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(outputs_that_are_not_contiguous_are_refused) {
  tsr_kernel *kernel = build(fill_text, NULL);
  tsr_tensor *base = tsr_zeros(device, TSR_I32, TSR_SHAPE(4, 4));
  tsr_tensor *views[] = {tsr_transpose(base, 0, 1), tsr_slice(base, 1, 0, 2, 1),
                         tsr_expand(tsr_zeros(device, TSR_I32, TSR_SHAPE(1)), TSR_SHAPE(4)), tsr_flip(base, 0)};
  for (int i = 0; i < 4; i++) {
    CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(views[i]), INT(1), INT(4)), TSR_ERR_INVALID_ARGUMENT);
    CHECK_LAST_ERROR_HAS("'y' is not contiguous");
  }
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(an_input_that_is_overwritten_is_read_as_it_was) {
  tsr_kernel *kernel = build(shift_text, NULL);
  enum { COUNT = 1000 };
  tsr_tensor *same = counting(device, COUNT), *part = counting(device, 9);
  int32_t values[COUNT];
  CHECK_OK(LAUNCH(kernel, COUNT, TENSOR(same), TENSOR(same), INT(COUNT)));
  CHECK_OK(tsr_read(same, values, sizeof values));
  for (int i = 0; i < COUNT; i++) CHECK_EQ_INT(values[i], (i + 1) % COUNT);
  CHECK_OK(LAUNCH(kernel, 6, TENSOR(tsr_slice(part, 0, 0, 6, 1)), TENSOR(tsr_slice(part, 0, 2, 8, 1)), INT(6)));
  check_ints(part, (const int32_t[]){0, 1, 1, 2, 3, 4, 5, 0, 8}, 9);
  tsr_tensor *back = counting(device, 6);
  CHECK_OK(LAUNCH(kernel, 6, TENSOR(tsr_flip(back, 0)), TENSOR(back), INT(6)));
  check_ints(back, (const int32_t[]){4, 3, 2, 1, 0, 5}, 6);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(outputs_that_overlap_are_refused) {
  tsr_kernel *kernel = build(both_text, NULL);
  tsr_tensor *base = tsr_zeros(device, TSR_I32, TSR_SHAPE(8));
  tsr_tensor *low = tsr_slice(base, 0, 0, 4, 1), *middle = tsr_slice(base, 0, 3, 7, 1);
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(base), TENSOR(base), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(LAUNCH(kernel, 4, TENSOR(middle), TENSOR(low), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("'a' and 'b' overlap");
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(low), TENSOR(tsr_slice(base, 0, 4, 8, 1)), INT(4)));
  check_ints(base, (const int32_t[]){1, 1, 1, 1, 2, 2, 2, 2}, 8);
  // An empty tensor overlaps nothing.
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(base), TENSOR(tsr_slice(base, 0, 2, 2, 1)), INT(0)));
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(nothing_runs_without_groups) {
  tsr_kernel *kernel = build(fill_text, NULL);
  tsr_tensor *y = counting(device, 4), *empty = tsr_zeros(device, TSR_I32, TSR_SHAPE(0));
  static const tsr_grid grids[] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(tsr_kernel_launch(kernel, grids[i], (const tsr_arg[]){TENSOR(y), INT(9), INT(4)}, 3));
    CHECK_STATUS(tsr_kernel_launch(kernel, grids[i], (const tsr_arg[]){TENSOR(y), INT(9), INT(-4)}, 3),
                 TSR_ERR_INVALID_ARGUMENT);
  }
  check_ints(y, (const int32_t[]){0, 1, 2, 3}, 4);
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(empty), INT(9), INT(0)));
  CHECK_OK(LAUNCH(kernel, 0, TENSOR(empty), INT(9), INT(0)));
  CHECK_OK(tsr_read(empty, NULL, 0));
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(empty_inputs_are_fine_beside_others) {
  tsr_kernel *kernel = build(
      "kernel k(in f32 x[], inout f32 y[], u32 n) {\n"
      "    for (u32 i = 0; i < n; i++) y[0] += x[i];\n"
      "}",
      NULL);
  tsr_tensor *y = tsr_ones(device, TSR_F32, TSR_SHAPE(1)), *empty = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 0, 2));
  float value = 0;
  CHECK_OK(LAUNCH(kernel, 1, TENSOR(empty), TENSOR(y), INT(0)));
  CHECK_OK(LAUNCH(kernel, 1, TENSOR(tsr_transpose(empty, 0, 1)), TENSOR(y), INT(0)));
  CHECK_OK(tsr_read(y, &value, sizeof value));
  CHECK(value == 1);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(wide_loads_work_where_views_begin_anywhere) {
  tsr_kernel *kernel = build("kernel k(in f32 x[], out f32 y[]) { store4(y, 0, load4(x, 4)); }", NULL);
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 32, 1);
  float values[4];
  for (int first = 0; first < 9; first++) {
    tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(16));
    CHECK_OK(LAUNCH(kernel, 1, TENSOR(tsr_slice(x, 0, first, 32, 1)), TENSOR(tsr_slice(y, 0, first, 16, 1))));
    CHECK_OK(tsr_read(tsr_slice(y, 0, first, first + 4, 1), values, sizeof values));
    for (int i = 0; i < 4; i++) CHECK(values[i] == (float)(first + 4 + i));
  }
  tsr_kernel_release(kernel);
}

// --- Read-only memory ---------------------------------------------------------------------------------------------

static void delete_nothing(struct DLManagedTensorVersioned *self) { (void)self; }

TEST(read_only_tensors_are_read_and_not_written) {
  static _Alignas(64) int32_t data[16];
  static int64_t shape[] = {4};
  struct DLManagedTensorVersioned managed = {
      .version = {DL_MAJOR, DL_MINOR},
      .deleter = delete_nothing,
      .flags = DL_FLAG_READ_ONLY,
      .tensor = {.data = data, .device = {DL_CPU, 0}, .ndim = 1, .dtype = {DL_INT, 32, 1}, .shape = shape}};
  tsr_device *device = test_open("cpu");
  tsr_kernel *fill = build(fill_text, NULL), *shift = build(shift_text, NULL);
  tsr_tensor *fixed = NULL, *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(4));
  for (int i = 0; i < 4; i++) data[i] = 10 + i;
  CHECK_OK(tsr_from_dlpack_versioned(device, &managed, &fixed));
  CHECK_STATUS(LAUNCH(fill, 4, TENSOR(fixed), INT(1), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("'y' is read-only");
  CHECK_OK(LAUNCH(shift, 4, TENSOR(fixed), TENSOR(y), INT(4)));
  check_ints(y, (const int32_t[]){11, 12, 13, 10}, 4);
  tsr_release(fixed);
  tsr_release(y);
  tsr_kernel_release(fill);
  tsr_kernel_release(shift);
  tsr_device_release(device);
}

// --- Several devices ----------------------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(inputs_elsewhere_are_moved_to_the_output_and_counted) {
  tsr_device *other = test_open("null");
  tsr_kernel *kernel = build(shift_text, NULL);
  tsr_tensor *x = tsr_transpose(tsr_reshape(counting(other, 4), TSR_SHAPE(2, 2)), 0, 1);
  tsr_tensor *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(4));
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y), INT(4)));
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK_EQ_UINT(after.implicit_moves, before.implicit_moves + 1);
  CHECK_EQ_UINT(after.launches, before.launches + 1);
  check_ints(y, (const int32_t[]){2, 1, 3, 0}, 4);
  tsr_kernel_release(kernel);
  tsr_device_release(other);
}

TEST(outputs_on_two_devices_and_moves_that_are_forbidden_are_refused) {
  tsr_device *a = test_open("cpu"), *b = NULL;
  CHECK_OK(tsr_config_set("mix", "error"));
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &b);
  CHECK_OK(tsr_config_set("mix", NULL));
  CHECK_OK(status);
  tsr_kernel *both = build(both_text, NULL), *shift = build(shift_text, NULL);
  tsr_tensor *x = tsr_zeros(a, TSR_I32, TSR_SHAPE(4)), *y = tsr_zeros(b, TSR_I32, TSR_SHAPE(4));
  CHECK_STATUS(LAUNCH(both, 4, TENSOR(x), TENSOR(y), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("outputs on two devices");
  CHECK_STATUS(LAUNCH(shift, 4, TENSOR(x), TENSOR(y), INT(4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("kernel_launch");
  tsr_release(x);
  tsr_release(y);
  tsr_kernel_release(both);
  tsr_kernel_release(shift);
  tsr_device_release(a);
  tsr_device_release(b);
}

TEST(one_kernel_runs_on_every_device_and_they_agree) {
  enum { MOST = 32, COUNT = 257 };
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST);
  tsr_kernel *kernel = build(scale_text, "T=f32");
  for (int i = 0; i < count; i++) {
    tsr_tensor *x = tsr_arange(devices[i], TSR_F32, 0, COUNT, 1), *y = tsr_zeros(devices[i], TSR_F32, TSR_SHAPE(COUNT));
    float values[COUNT];
    if (LAUNCH(kernel, COUNT, TENSOR(x), TENSOR(y), INT(COUNT)) == TSR_OK) {
      CHECK_OK(tsr_read(y, values, sizeof values));
      for (int k = 0; k < COUNT; k++) CHECK(values[k] == (float)(2 * k));
    }
    tsr_release(x);
    tsr_release(y);
    tsr_device_release(devices[i]);
  }
  tsr_kernel_release(kernel);
}

// --- Beside the lazy operators ------------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(recorded_inputs_are_computed_first) {
  tsr_kernel *kernel = build(shift_text, NULL);
  tsr_tensor *x = tsr_add(counting(device, 4), counting(device, 4)), *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(4));
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(x), TENSOR(y), INT(4)));
  check_ints(y, (const int32_t[]){2, 4, 6, 0}, 4);
  check_ints(tsr_add(y, y), (const int32_t[]){4, 8, 12, 0}, 4);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(recorded_readers_of_what_a_kernel_overwrites_see_the_old_values) {
  tsr_kernel *kernel = build(fill_text, NULL);
  tsr_tensor *y = counting(device, 4), *later = tsr_add(y, y), *of_view = tsr_add(tsr_flip(y, 0), y);
  CHECK_OK(LAUNCH(kernel, 4, TENSOR(y), INT(50), INT(4)));
  tsr_tensor *after = tsr_add(y, y);
  check_ints(later, (const int32_t[]){0, 2, 4, 6}, 4);
  check_ints(of_view, (const int32_t[]){3, 3, 3, 3}, 4);
  check_ints(after, (const int32_t[]){100, 100, 100, 100}, 4);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(a_recorded_tensor_can_be_written) {
  tsr_kernel *kernel = build("kernel k(inout i32 y[], u32 n) { if (global.x < n) y[global.x] *= 10; }", NULL);
  tsr_tensor *x = counting(device, 4), *y = tsr_add(x, x);
  CHECK_OK(LAUNCH(kernel, 3, TENSOR(y), INT(3)));
  CHECK_OK(LAUNCH(kernel, 3, TENSOR(y), INT(2)));
  check_ints(y, (const int32_t[]){0, 200, 40, 6}, 4);
  tsr_kernel_release(kernel);
}

// --- Names and hooks ----------------------------------------------------------------------------------------------

static const char ramp_text[] =
    "kernel ramp(in f32 x[], out f32 y[], u32 n, f32 step)\n"
    "    hook void store(f32 value, u32 index) { y[index] = value; }\n"
    "{\n"
    "  if (global.x < n) store(x[global.x] + f32(global.x) * step, global.x);\n"
    "}\n";

TEST_ON_KERNEL_DEVICES(arguments_with_names_may_come_in_any_order) {
  tsr_kernel *kernel = build(ramp_text, NULL);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(3)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(3));
  CHECK_OK(LAUNCH(kernel, 3, tsr_arg_named("n", INT(3)), tsr_arg_named("step", tsr_arg_float(0.5)),
                  tsr_arg_named("y", TENSOR(y)), tsr_arg_named("x", TENSOR(x))));
  float values[3];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK(values[0] == 1 && values[1] == 1.5f && values[2] == 2);
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(names_that_are_unknown_missing_or_given_twice_are_refused) {
  tsr_kernel *kernel = build(ramp_text, NULL);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(3)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(3));
  tsr_arg x_arg = tsr_arg_named("x", TENSOR(x)), y_arg = tsr_arg_named("y", TENSOR(y));
  tsr_arg n_arg = tsr_arg_named("n", INT(3)), step_arg = tsr_arg_named("step", tsr_arg_float(1));
  CHECK_STATUS(LAUNCH(kernel, 3, x_arg, y_arg, n_arg, tsr_arg_named("stop", tsr_arg_float(1))),
               TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("ramp has no parameter 'stop'; did you mean 'step'?");
  CHECK_STATUS(LAUNCH(kernel, 3, x_arg, y_arg, n_arg), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("ramp: parameter 'step' is not given");
  CHECK_STATUS(LAUNCH(kernel, 3, x_arg, y_arg, n_arg, n_arg, step_arg), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("ramp: parameter 'n' is given twice");
  CHECK_STATUS(LAUNCH(kernel, 3, x_arg, y_arg, n_arg, tsr_arg_float(1)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("ramp: argument 3 has no name, others have: name all or none");
  tsr_kernel_release(kernel);
}

TEST_ON_KERNEL_DEVICES(a_filled_hook_takes_its_own_buffers_and_numbers) {
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {
      .source = ramp_text,
      .fills = "fill ramp.store(in f32 bias[], f32 most) { store(min(value + bias[index], most), index); }"};
  CHECK_OK(tsr_kernel_build(&desc, &kernel));
  CHECK_EQ_INT(tsr_kernel_param_count(kernel), 6);
  tsr_kernel_param param;
  CHECK_OK(tsr_kernel_get_param(kernel, 4, &param));
  CHECK_STR(param.name, "bias");
  CHECK(param.access == TSR_ACCESS_IN);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(3)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(3));
  tsr_tensor *bias = tsr_arange(device, TSR_F32, 0, 3, 1);
  CHECK_OK(LAUNCH(kernel, 3, TENSOR(x), TENSOR(y), INT(3), tsr_arg_float(1), TENSOR(bias), tsr_arg_float(4)));
  float values[3];
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK(values[0] == 1 && values[1] == 3 && values[2] == 4);
  tsr_kernel_release(kernel);
}

TEST(a_mistake_in_a_filling_is_told_with_its_place) {
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {.source = ramp_text, .fills = "fill ramp.store() {\n  store(value + 1u, index);\n}"};
  CHECK_STATUS(tsr_kernel_build(&desc, &kernel), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("fills:2:15: error: '+': f32 and u32 do not mix");
}

// --- Mistakes inside kernels --------------------------------------------------------------------------------------

TEST_ON_KERNEL_DEVICES(checked_mode_tells_kernel_buffer_index_size_and_place) {
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {.source =
                              "kernel blur(in f32 x[], out f32 y[], u32 at) {\n"
                              "    if (global.x == 0) y[0] = x[at];\n"
                              "}\n",
                          .file_name = "blur.tk",
                          .is_checked = true};
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(8, 8)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(1));
  float value = 0;
  CHECK_OK(tsr_kernel_build(&desc, &kernel));
  CHECK_STATUS(LAUNCH(kernel, 64, TENSOR(x), TENSOR(y), INT(70)), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("kernel blur: index 70 is outside buffer 'x' of 64 elements (blur.tk:2:");
  CHECK_OK(LAUNCH(kernel, 64, TENSOR(x), TENSOR(y), INT(63)));
  CHECK_OK(tsr_read(y, &value, sizeof value));
  CHECK(value == 1);
  tsr_tensor *empty = tsr_zeros(device, TSR_F32, TSR_SHAPE(0));
  CHECK_STATUS(LAUNCH(kernel, 1, TENSOR(x), TENSOR(empty), INT(0)), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("index 0 is outside buffer 'y' of 0 elements");
  tsr_kernel_release(kernel);
}

// t[0][3] of t[3][3] is inside the array, but is an element of another row.
static void check_inner_index(tsr_device *device, const char *text, int64_t index, const char *message) {
  tsr_kernel *kernel = NULL;
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(1));
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text, .file_name = "t.tk", .is_checked = true}, &kernel));
  tsr_status status = LAUNCH(kernel, 1, TENSOR(y), INT(index));
  float value = 0;
  if (status == TSR_OK) status = tsr_read(y, &value, sizeof value);
  if (message) {
    CHECK_STATUS(status, TSR_ERR_LAUNCH);
    CHECK_LAST_ERROR_HAS(message);
  } else {
    CHECK_OK(status);
    CHECK(value == 7);
  }
  tsr_kernel_release(kernel);
  tsr_release(y);
}

TEST_ON_KERNEL_DEVICES(checked_mode_looks_at_each_index_of_an_array) {
  const char *local = "kernel k(out f32 y[], i32 s) { f32 t[3][3]; t[0][s] = 7; y[0] = t[0][s]; }";
  const char *by_i64 = "kernel k(out f32 y[], i32 s) { f32 t[3][3]; t[0][i64(s)] = 7; y[0] = t[0][2]; }";
  const char *shared =
      "kernel k(out f32 y[], i32 s) {\n"
      "  shared f32 t[2][3][4];\n"
      "  if (local.x == 0) t[1][u32(s)][s - 1] = 7;\n"
      "  barrier();\n"
      "  if (global.x == 0) y[0] = t[1][s][s - 1];\n"
      "}";
  check_inner_index(device, local, 2, NULL);
  check_inner_index(device, local, 3, "index 3 is outside dimension 2 of local array 't' of 3x3 elements (t.tk:1:");
  check_inner_index(device, local, -1, "index -1 is outside dimension 2 of local array 't' of 3x3 elements");
  check_inner_index(device, by_i64, 2, NULL);
  check_inner_index(device, by_i64, -2, "index -2 is outside dimension 2 of local array 't'");
  check_inner_index(device, shared, 2, NULL);
  check_inner_index(device, shared, 3, "index 3 is outside dimension 2 of shared array 't' of 2x3x4 elements (t.tk:3:");
  check_inner_index(device, shared, 0, "index -1 is outside dimension 3 of shared array 't' of 2x3x4 elements");
}

TEST(an_endless_loop_runs_into_the_time_out_and_the_device_works_afterwards) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .timeout_ms = 100}, &device));
  tsr_kernel *endless = build("kernel endless(inout i32 y[]) { while (y[0] == 0) { y[1] += 1; } }", NULL);
  tsr_kernel *fill = build(fill_text, NULL);
  tsr_tensor *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(4));
  tsr_status status = LAUNCH(endless, 1, TENSOR(y));
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  CHECK_STATUS(status, TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("100");
  CHECK_OK(LAUNCH(fill, 4, TENSOR(y), INT(3), INT(4)));
  check_ints(y, (const int32_t[]){3, 3, 3, 3}, 4);
  tsr_release(y);
  tsr_kernel_release(endless);
  tsr_kernel_release(fill);
  tsr_device_release(device);
}

TEST_ON_KERNEL_DEVICES(a_group_or_shared_memory_too_large_is_unsupported_or_runs) {
  tsr_kernel *kernel = build(
      "kernel k<WG = 1024>(out u32 y[]) {\n"
      "    shared u32 s[65536];\n"
      "    s[local.x] = local.x;\n"
      "    barrier();\n"
      "    y[local.x] = s[WG - 1 - local.x];\n"
      "}\n",
      NULL);
  tsr_tensor *y = tsr_zeros(device, TSR_U32, TSR_SHAPE(1024));
  tsr_status status = LAUNCH(kernel, 1024, TENSOR(y));
  if (status == TSR_ERR_UNSUPPORTED) {
    CHECK_LAST_ERROR_HAS("k<WG=1024>: ");
  } else {
    uint32_t values[1024];
    CHECK_OK(status);
    CHECK_OK(tsr_read(y, values, sizeof values));
    CHECK(values[0] == 1023 && values[1023] == 0);
  }
  tsr_kernel_release(kernel);
}

// --- Lifetimes and threads ----------------------------------------------------------------------------------------

TEST(kernel_and_device_may_be_released_in_either_order) {
  for (int kernel_first = 0; kernel_first < 2; kernel_first++) {
    tsr_device *device = test_open("cpu");
    tsr_kernel *kernel = build(fill_text, NULL);
    tsr_tensor *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(4));
    CHECK_OK(LAUNCH(kernel, 4, TENSOR(y), INT(3), INT(4)));
    CHECK(tsr_kernel_retain(kernel) == kernel);
    tsr_kernel_release(kernel);
    if (kernel_first) tsr_kernel_release(kernel);
    tsr_device_release(device);
    check_ints(y, (const int32_t[]){3, 3, 3, 3}, 4);
    tsr_release(y);
    if (!kernel_first) tsr_kernel_release(kernel);
  }
}

typedef struct worker {
  tsr_device *device;
  tsr_kernel *kernel;
  int number;
  atomic_int *failures;
} worker;

static void *work(void *user) {
  const worker *task = user;
  for (int round = 0; round < 100; round++) {
    int32_t values[16] = {0}, wanted = task->number * 1000 + round;
    tsr_tensor *y = tsr_zeros(task->device, TSR_I32, TSR_SHAPE(16));
    bool is_good = LAUNCH(task->kernel, 16, TENSOR(y), INT(wanted), INT(16)) == TSR_OK &&
                   tsr_read(y, values, sizeof values) == TSR_OK && values[0] == wanted && values[15] == wanted;
    if (!is_good) atomic_fetch_add(task->failures, 1);
    tsr_release(y);
  }
  return NULL;
}

TEST(threads_may_launch_one_kernel_on_one_device_and_on_two) {
  enum { THREADS = 4 };
  tsr_device *devices[2] = {test_open("cpu"), test_open("cpu")};
  tsr_kernel *kernel = build(fill_text, NULL);
  atomic_int failures = 0;
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){devices[i % 2], kernel, i, &failures};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_EQ_INT(failures, 0);
  tsr_kernel_release(kernel);
  tsr_device_release(devices[0]);
  tsr_device_release(devices[1]);
}

// --- Faults -------------------------------------------------------------------------------------------------------

// Builds, moves, packs, launches (also in checked mode) and reads: everything that can happen to a kernel. Returns the
// first status that is not TSR_OK.
static tsr_status scenario(tsr_device *device, tsr_device *other) {
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return tsr_last_error_status();
  tsr_kernel *kernel = NULL, *checked = NULL;
  tsr_kernel_desc desc = {.source = shift_text};
  tsr_status status = tsr_kernel_build(&desc, &kernel);
  desc.is_checked = true;
  if (status == TSR_OK) status = tsr_kernel_build(&desc, &checked);
  tsr_tensor *x = tsr_reshape(counting(device, 16), TSR_SHAPE(4, 4)), *y = tsr_zeros(device, TSR_I32, TSR_SHAPE(16));
  tsr_tensor *far = counting(other, 16);
  int32_t values[16];
  if (status == TSR_OK) status = LAUNCH(kernel, 16, TENSOR(tsr_transpose(x, 0, 1)), TENSOR(y), INT(16));
  if (status == TSR_OK) status = LAUNCH(checked, 16, TENSOR(y), TENSOR(y), INT(16));
  if (status == TSR_OK) status = tsr_read(y, values, sizeof values);
  if (status == TSR_OK) CHECK(values[0] == 8 && values[14] == 0);
  if (status == TSR_OK) status = LAUNCH(kernel, 16, TENSOR(far), TENSOR(y), INT(16));
  if (status == TSR_OK) status = tsr_read(y, values, sizeof values);
  if (status == TSR_OK) CHECK(values[0] == 1 && values[15] == 0);
  tsr_kernel_release(kernel);
  tsr_kernel_release(checked);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void check_nothing_is_in_use(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
}

static int sweep(const char *kind, tsr_status wanted, bool recovers) {
  for (int n = 1; n < 200; n++) {
    char faults[32];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults("cpu", faults), *other = test_open("null");
    tsr_status status = scenario(device, other);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted);
      CHECK_LAST_ERROR_HAS("on purpose");
      if (recovers) CHECK_OK(scenario(device, other));
    }
    check_nothing_is_in_use(device);
    tsr_device_release(device);
    tsr_device_release(other);
    if (status == TSR_OK) return n - 1;
  }
  FAIL("the scenario never got through");
}

TEST(every_build_launch_copy_and_wait_may_fail) {
  CHECK(sweep("build", TSR_ERR_BUILD, true) >= 2);
  CHECK(sweep("launch", TSR_ERR_LAUNCH, true) >= 3);
  CHECK(sweep("copy", TSR_ERR_INTERNAL, true) >= 2);
  CHECK(sweep("wait", TSR_ERR_TIMEOUT, true) >= 1);
  CHECK(sweep("lost", TSR_ERR_DEVICE_LOST, false) >= 5);
}

TEST(every_host_allocation_of_a_kernel_may_fail) {
  tsr_device *device = test_open("cpu"), *other = test_open("null");
  int failures = 0;
  for (uint64_t n = 1; n < 5000; n++) {
    tsri_alloc_fail_at(n, false);
    tsr_status status = scenario(device, other);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) {
      CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
      failures++;
    }
    check_nothing_is_in_use(device);
    if (made < n) {
      CHECK(failures >= 20);
      tsr_device_release(device);
      tsr_device_release(other);
      return;
    }
  }
  FAIL("the scenario never got through");
}

TEST(a_kernel_is_read_from_the_file_that_is_named) {
  const char *path = "kernel_test_file.tk";
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK(fputs("kernel twice(inout f32 x[]) { x[global.x] = x[global.x] * 2; }", file) >= 0);
  fclose(file);
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.path = path}, &kernel));
  CHECK_STR(tsr_kernel_name(kernel), "twice");
  tsr_kernel_release(kernel);

  file = fopen(path, "wb");
  CHECK(file != NULL && fputs("kernel twice(", file) >= 0);
  fclose(file);
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = path}, &kernel), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("kernel_test_file.tk:1:");
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = path, .file_name = "t.tk"}, &kernel), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("t.tk:1:");
  remove(path);
}

TEST(a_kernels_file_that_cannot_be_read_is_an_error_with_its_name) {
  tsr_kernel *kernel = NULL;
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = "no/such.tk"}, &kernel), TSR_ERR_IO);
  CHECK_LAST_ERROR_HAS("no/such.tk: cannot be opened");
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = "."}, &kernel), TSR_ERR_IO);
  // An endless file: its text is too long.
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = "/dev/zero"}, &kernel), TSR_ERR_BUILD);
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){.path = "a.tk", .source = "kernel k() {}"}, &kernel),
               TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("both given");
  CHECK_STATUS(tsr_kernel_build(&(tsr_kernel_desc){0}, &kernel), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("both NULL");
}
