// SPDX-License-Identifier: MIT
// Fragments on every device that runs kernels: in users' kernels, and in the product of 16-bit matrices. All numbers are small
// integers, so that sums are exact in whichever order a device adds.
#include <tessera/kernel.h>

#include <math.h>

#include "graph/embedded.h"
#include "graph/node.h"
#include "ops/fragment_tile.h"
#include "ops/ops_testing.h"
#include "runtime/device.h"
#include "runtime/program.h"
#include "support/devices.h"
#include "support/test.h"

enum { MOST_DEVICES = 32, MOST_ELEMENTS = 96 * 96 };

static int number_at(int seed, int i) { return (i * 7 + seed * 3 + i / 5) % 9 - 4; }

static tsr_tensor *numbers(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int seed) {
  static float values[16 * MOST_ELEMENTS];
  int64_t count = 0;
  CHECK_OK(tsr_shape_count(shape, &count));
  CHECK(count <= 16 * MOST_ELEMENTS);
  for (int i = 0; i < count; i++) values[i] = (float)number_at(seed, i);
  return tsr_cast(tsr_from_data(device, TSR_F32, shape, values, (size_t)count * sizeof *values), dtype);
}

static void on_kernel_devices(void (*body)(tsr_device *device)) {
  tsr_device *devices[MOST_DEVICES];
  int count = test_open_all(devices, MOST_DEVICES), ran = 0;
  for (int i = 0; i < count; i++) {
    tsr_scope *scope = tsr_scope_begin(devices[i]);
    if (tsr_device_subgroup_size(devices[i]) > 0 && tsr_device_has_dtype(devices[i], TSR_F32)) {
      body(devices[i]);
      ran++;
    }
    CHECK_OK(tsr_scope_end(scope));
    tsr_device_release(devices[i]);
  }
  CHECK(ran >= 1);
}

static void on_the_cpu(void (*body)(tsr_device *device)) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  body(device);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// --- Users' kernels -------------------------------------------------------------------------------------------------

// One subgroup: y = a * b + c, then the same into columns of z with a filled left factor.
static const char one_text[] =
    "kernel one<T: f16 | bf16 | f32, M = 8, N = 8, K = 8, bool AC = 0, bool BC = 0, WG = 32>(\n"
    "        in T a[], in T b[], in f32 c[], out f32 y[], out f32 z[]) {\n"
    "    fragment_left<T, M, N, K> l, ones;\n"
    "    fragment_right<T, M, N, K> r;\n"
    "    fragment_sum<f32, M, N, K> s, t[2];\n"
    "    fragment_load(l, a, 16, (AC ? M : K) + 8, AC);\n"
    "    fragment_load(r, b, 0, BC ? K : N, BC);\n"
    "    fragment_load(s, c, 0, N);\n"
    "    fragment_fill(ones, 2.0009765625);\n"  // 2 in 16 bits, and in f32 multiplied away by 0
    "    fragment_multiply_add(s, l, r);\n"
    "    fragment_multiply_add(t[1], ones, r);\n"
    "    fragment_store(s, y, 0, N);\n"
    "    fragment_store(t[1], z, 0, M, true);\n"
    "}\n";

typedef struct one_case {
  const char *dtype;
  int m, n, k;
  bool ac, bc;
} one_case;

static tsr_kernel *build_one(tsr_device *device, const char *text, const one_case *c) {
  char defines[7][24];
  const char *list[7];
  snprintf(defines[0], sizeof defines[0], "T=%s", c->dtype);
  snprintf(defines[1], sizeof defines[1], "M=%d", c->m);
  snprintf(defines[2], sizeof defines[2], "N=%d", c->n);
  snprintf(defines[3], sizeof defines[3], "K=%d", c->k);
  snprintf(defines[4], sizeof defines[4], "AC=%d", c->ac);
  snprintf(defines[5], sizeof defines[5], "BC=%d", c->bc);
  snprintf(defines[6], sizeof defines[6], "WG=%d", tsr_device_subgroup_size(device));
  for (int i = 0; i < 7; i++) list[i] = defines[i];
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text, .defines = list, .define_count = 7}, &kernel));
  return kernel;
}

static void run_one(tsr_device *device, const one_case *c) {
  tsr_dtype dtype = TSR_F32;
  CHECK_OK(tsr_dtype_parse(c->dtype, &dtype));
  int a_pitch = (c->ac ? c->m : c->k) + 8, a_lines = c->ac ? c->k : c->m, b_pitch = c->bc ? c->k : c->n;
  tsr_tensor *a = numbers(device, dtype, TSR_SHAPE(16 + a_lines * a_pitch), 1);
  tsr_tensor *b = numbers(device, dtype, TSR_SHAPE(c->k * c->n), 2);
  tsr_tensor *sums = numbers(device, TSR_F32, TSR_SHAPE(c->m * c->n), 3);
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(c->m * c->n)),
             *z = tsr_zeros(device, TSR_F32, TSR_SHAPE(c->m * c->n));
  tsr_kernel *kernel = build_one(device, one_text, c);
  const tsr_arg args[] = {tsr_arg_tensor(a), tsr_arg_tensor(b), tsr_arg_tensor(sums), tsr_arg_tensor(y),
                          tsr_arg_tensor(z)};
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 5));
  tsr_kernel_release(kernel);
  static float is_y[32 * 32], is_z[32 * 32];
  CHECK_OK(tsr_read(y, is_y, (size_t)(c->m * c->n) * sizeof *is_y));
  CHECK_OK(tsr_read(z, is_z, (size_t)(c->m * c->n) * sizeof *is_z));
  double filled = dtype == TSR_F32 ? 2.0009765625 : 2;
  for (int i = 0; i < c->m; i++) {
    for (int j = 0; j < c->n; j++) {
      double wanted = number_at(3, i * c->n + j), column = 0;
      for (int k = 0; k < c->k; k++) {
        int left = number_at(1, 16 + (c->ac ? k * a_pitch + i : i * a_pitch + k));
        int right = number_at(2, c->bc ? j * b_pitch + k : k * b_pitch + j);
        wanted += left * right;
        column += filled * right;
      }
      CHECK_NEAR((double)is_y[i * c->n + j], wanted, 0.0);
      CHECK_NEAR((double)is_z[j * c->m + i], column, 0.0);
    }
  }
}

static const one_case one_cases[] = {
    {"f16", 8, 8, 8, true, false},     {"bf16", 8, 8, 8, false, true},   {"f32", 8, 8, 8, true, true},
    {"f16", 16, 16, 16, false, false}, {"f16", 16, 16, 16, true, false}, {"bf16", 16, 16, 16, false, true},
    {"bf16", 16, 16, 16, true, true},  {"f32", 16, 16, 16, false, true}, {"f32", 16, 16, 16, true, false},
    {"f16", 32, 8, 16, true, false},   {"bf16", 8, 32, 16, false, true}, {"f32", 16, 32, 8, false, false},
};

static void products_of_one_subgroup(tsr_device *device) {
  for (size_t i = 0; i < sizeof one_cases / sizeof *one_cases; i++) run_one(device, &one_cases[i]);
}

TEST(products_of_every_size_as_loops) { on_the_cpu(products_of_one_subgroup); }

// Emulated devices compile slowly, so they run only the smallest cases; devices with matrix units run the others, too.
static void a_product_of_each_type(tsr_device *device) {
  for (int i = 0; i < 3; i++) run_one(device, &one_cases[i]);
  for (int i = 3; i < 9 && device->limits.fragment_count > 0; i++) run_one(device, &one_cases[i]);
}

TEST(a_product_of_each_type_on_every_device) { on_kernel_devices(a_product_of_each_type); }

// Factors in words, with every f16 and bf16 that there is: a factor that picks each out by itself shows its value.
static const char words_text[] =
    "kernel words<T: f16 | bf16 | f32, M = 8, N = 8, K = 8, bool AC = 0, bool BC = 0, WG = 32>(in u32 a[], in T b[], "
    "out f32 y[], u32 "
    "at) {\n"
    "    fragment_left<T, M, N, K> l;\n"
    "    fragment_right<T, M, N, K> r;\n"
    "    fragment_sum<f32, M, N, K> s;\n"
    "    fragment_load(l, a, at, K, AC);\n"
    "    fragment_load(r, b, 0, N, BC);\n"
    "    fragment_multiply_add(s, l, r);\n"
    "    fragment_store(s, y, 0, N);\n"
    "}\n";

static void words_hold_two_elements(tsr_device *device) {
  int side = device->limits.fragment_count > 0 ? 16 : 8;
  const one_case cases[] = {{"f16", side, side, 16, false, false}, {"bf16", side, side, 16, false, false}};
  // Special values: zeros of both signs, small numbers, ones and large numbers, but no infinities, since 0 times infinity is NaN. There are no subnormal bf16:
  // they are subnormal in f32, too, and devices may flush those to 0.
  static const uint16_t bits[2][8] = {{0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x7bff},
                                      {0, 0x8000, 0x0080, 0x8100, 0x3f80, 0xbf80, 0x4049, 0x7f00}};
  uint16_t halves[512];
  for (int i = 0; i < 2; i++) {
    tsr_dtype dtype = i ? TSR_BF16 : TSR_F16;
    float wanted[512], is[256];
    for (int e = 0; e < 512; e++) halves[e] = bits[i][(e + e / 16) % 8];
    CHECK_OK(tsr_convert(TSR_F32, wanted, dtype, halves, 512));
    tsr_tensor *a = tsr_from_data(device, TSR_U32, TSR_SHAPE(256), halves, sizeof halves);
    tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(side, side));
    tsr_tensor *b = tsr_cast(tsr_eye(device, TSR_F32, 16, side, 0), dtype);
    tsr_kernel *kernel = build_one(device, words_text, &cases[i]);
    const tsr_arg args[] = {tsr_arg_tensor(a), tsr_arg_tensor(b), tsr_arg_tensor(y), tsr_arg_int(256)};
    CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 4));
    CHECK_OK(tsr_read(y, is, (size_t)(side * side) * sizeof *is));
    for (int e = 0; e < side * side; e++) CHECK_NEAR(is[e], wanted[256 + e / side * 16 + e % side], 0.0);
    tsr_kernel_release(kernel);
  }
}

TEST(words_hold_two_elements_on_every_device) { on_kernel_devices(words_hold_two_elements); }

TEST(a_group_that_is_no_whole_number_of_subgroups_is_refused) {
  tsr_device *device = test_open("cpu");
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(
      &(tsr_kernel_desc){
          .source = "kernel k<WG = 48>(out f32 y[]) { fragment_sum<f32, 8, 8, 8> s; fragment_store(s, y, 0, 8); }"},
      &kernel));
  tsr_scope *scope = tsr_scope_begin(device);
  const tsr_arg args[] = {tsr_arg_tensor(tsr_zeros(device, TSR_F32, TSR_SHAPE(64)))};
  CHECK_STATUS(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 1), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("its group of 48 items must be a multiple of this device's subgroups of 32");
  CHECK_OK(tsr_scope_end(scope));
  tsr_kernel_release(kernel);
  tsr_device_release(device);
}

TEST(checked_mode_finds_a_fragment_that_reaches_past_its_array) {
  tsr_device *device = test_open("cpu");
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {
      .source = "kernel k<WG = 32>(out f32 y[]) { fragment_sum<f32, 8, 8, 8> s; fragment_store(s, y, 0, 12); }",
      .is_checked = true};
  CHECK_OK(tsr_kernel_build(&desc, &kernel));
  tsr_scope *scope = tsr_scope_begin(device);
  const tsr_arg args[] = {tsr_arg_tensor(tsr_zeros(device, TSR_F32, TSR_SHAPE(88)))};
  CHECK_STATUS(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 1), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("is outside buffer 'y' of 88 elements");
  CHECK_OK(tsr_scope_end(scope));
  tsr_kernel_release(kernel);
  tsr_device_release(device);
}

TEST(devices_tell_what_they_have) {
  tsr_device *device = test_open("cpu");
  tsr_fragment_size sizes[2] = {{0}};
  CHECK_EQ_INT(tsr_device_get_fragments(device, NULL, 0), 0);
  CHECK_EQ_INT(tsr_device_subgroup_size(device), 32);
  device->limits.fragment_count = 3;
  device->limits.fragments[1] = (tsr_fragment_size){TSR_BF16, 16, 8, 32};
  CHECK_EQ_INT(tsr_device_get_fragments(device, sizes, 2), 3);
  CHECK_EQ_INT(sizes[1].n, 8);
  CHECK_EQ_INT(tsr_device_get_fragments(NULL, sizes, 2), 0);
  CHECK_EQ_INT(tsr_device_subgroup_size(NULL), 0);
  tsr_device_release(device);
}

// --- Products -------------------------------------------------------------------------------------------------------

// The device is told that it has matrix units, which its kernels then do by loops.
static void give_units(tsr_device *device) {
  if (device->limits.fragment_count > 0) return;
  device->limits.fragments[device->limits.fragment_count++] = (tsr_fragment_size){TSR_F16, 16, 16, 16};
  device->limits.fragments[device->limits.fragment_count++] = (tsr_fragment_size){TSR_BF16, 16, 16, 16};
}

static bool has_seen_fragments, has_seen_copies, has_seen_join, has_seen_conv;

static void look(const tsri_kernel *kernel) {
  if (strcmp(kernel->name, "matmul_fragments") == 0) has_seen_fragments = true;
  if (strcmp(kernel->name, "copy_lines") == 0) has_seen_copies = true;
  if (strcmp(kernel->name, "conv_units") == 0) has_seen_conv = true;
  if (strcmp(kernel->name, "join_splits") == 0) has_seen_join = true;
}

typedef struct product_case {
  int m, n, k, batch;
  bool a_turned, b_turned;  // lie by columns
} product_case;

// Element (i, j) of matrix `z` of a factor of rows x cols.
static int factor_at(int seed, bool is_turned, int rows, int cols, int z, int i, int j) {
  return number_at(seed, z * rows * cols + (is_turned ? j * rows + i : i * cols + j));
}

static double wanted_at(const product_case *c, int e) {
  int z = e / (c->m * c->n), i = e / c->n % c->m, j = e % c->n, sum = 0;
  for (int t = 0; t < c->k; t++) {
    sum += factor_at(4, c->a_turned, c->m, c->k, z, i, t) * factor_at(5, c->b_turned, c->k, c->n, 0, t, j);
  }
  return sum;
}

// relu(a b + bias) through the operator, in bf16. The CPU has products of its own: they are taken away, so that it is done by a kernel.
static void check_layer(tsr_device *device, const product_case *c) {
  const tsri_backend *whole = device->backend;
  tsri_backend without = *whole;
  without.native_ops = NULL;
  device->backend = &without;
  give_units(device);
  tsr_tensor *a = numbers(device, TSR_BF16, c->a_turned ? TSR_SHAPE(c->k, c->m) : TSR_SHAPE(c->batch, c->m, c->k), 4);
  tsr_tensor *b = numbers(device, TSR_BF16, c->b_turned ? TSR_SHAPE(c->n, c->k) : TSR_SHAPE(c->k, c->n), 5);
  tsr_tensor *bias = numbers(device, TSR_BF16, TSR_SHAPE(c->n), 6);
  if (c->a_turned) a = tsr_transpose(a, 0, 1);
  if (c->b_turned) b = tsr_transpose(b, 0, 1);
  tsri_built_watch = look;
  tsr_tensor *y = tsr_relu(tsr_add(tsr_matmul(a, b), bias));
  CHECK_OK(tsr_evaluate(y));  // by itself: with a cast after it, sum and relu would be a kernel of their own
  static float is[4 * MOST_ELEMENTS];
  int count = c->batch * c->m * c->n;
  CHECK_OK(tsr_read(tsr_cast(y, TSR_F32), is, (size_t)count * sizeof *is));
  CHECK(has_seen_fragments);
  tsri_built_watch = NULL;
  for (int e = 0; e < count; e++) {
    double wanted = wanted_at(c, e) + number_at(6, e % c->n);
    if (fabs(wanted) <= 256) CHECK_NEAR(is[e], wanted > 0 ? wanted : 0, 0.0);  // exact in bf16
  }
  device->backend = whole;
}

static void a_product_with_bias_and_relu(tsr_device *device) {
  check_layer(device, &(product_case){17, 40, 33, 2, false, true});
  CHECK(!has_seen_join);
}

TEST(a_product_with_bias_and_relu_is_a_kernel_of_fragments) { on_the_cpu(a_product_with_bias_and_relu); }

// Lines of a, of b, of both and of the result that do not begin at multiples of 16 bytes.
static void products_of_copies(tsr_device *device) {
  static const product_case cases[] = {{33, 40, 35, 1, false, false},
                                       {33, 39, 40, 1, false, false},
                                       {33, 37, 35, 1, false, true},
                                       {35, 39, 33, 1, true, false},
                                       {39, 40, 35, 1, true, true}};
  tsri_graph_state *state = NULL;
  CHECK_OK(tsri_graph_state_for(device, &state));
  CHECK(tsri_tuning_change(&state->tuning, "product_alignment=16,product_padded=1"));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_layer(device, &cases[i]);
  CHECK(has_seen_copies);
}

TEST(factors_with_unaligned_lines_are_copied_and_multiplied_by_fragments) { on_the_cpu(products_of_copies); }

// Few tiles and long sums: parts of the sums in one launch, and their sums with bias and relu in another.
static void a_product_in_parts(tsr_device *device) {
  tsri_graph_state *state = NULL;
  CHECK_OK(tsri_graph_state_for(device, &state));
  CHECK(tsri_tuning_change(&state->tuning, "matmul_tiles=8"));
  check_layer(device, &(product_case){27, 40, 3080, 1, false, true});
  CHECK(has_seen_join);
}

TEST(a_product_of_fragments_with_its_sums_in_parts) { on_the_cpu(a_product_in_parts); }

// The kernel itself with each of its parameters, on the CPU.
typedef struct kernel_case {
  product_case product;
  double alpha, beta;
  const char *defines;  // "WIDE_A=1 …"
} kernel_case;

static tsr_kernel *build_product(const char *defines) {
  char copy[200];
  const char *list[18] = {"T=f16", "E=f16", "Y=f16", "PART_N=32", "BN=64"};
  int count = 5;
  snprintf(copy, sizeof copy, "%s", defines);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) list[count++] = word;
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = tsri_embedded_text("op_product", NULL),
                                               .kernel = "matmul_fragments",
                                               .defines = list,
                                               .define_count = count},
                            &kernel));
  return kernel;
}

static void run_kernel(tsr_device *device, const kernel_case *t) {
  const product_case *c = &t->product;
  int m = c->m, n = c->n, k = c->k;
  bool is_wide_a = strstr(t->defines, "WIDE_A=1") != NULL, is_wide_b = strstr(t->defines, "WIDE_B=1") != NULL;
  tsr_tensor *a = numbers(device, TSR_F16, TSR_SHAPE(c->batch * m * k), 4);
  tsr_tensor *b = numbers(device, TSR_F16, TSR_SHAPE(k * n), 5);
  uint16_t bits[4 * MOST_ELEMENTS];
  tsr_tensor *carried[2];
  for (int i = 0; i < 2; i++) {
    int count = i ? k * n : c->batch * m * k;
    bool is_wide = i ? is_wide_b : is_wide_a;
    CHECK_OK(tsr_read(i ? b : a, bits, (size_t)count * 2));
    carried[i] = tsr_from_data(device, is_wide ? TSR_U32 : TSR_I16, TSR_SHAPE(is_wide ? count / 2 : count), bits,
                               (size_t)count * 2);
  }
  tsr_tensor *y = tsr_zeros(device, TSR_F16, TSR_SHAPE(c->batch * m * n));
  tsr_tensor *start = numbers(device, TSR_F16, TSR_SHAPE(m * n), 6);
#define WORD(name, value) tsr_arg_named(name, tsr_arg_int(value))
  const tsr_arg args[] = {tsr_arg_named("a", tsr_arg_tensor(carried[0])),
                          tsr_arg_named("b", tsr_arg_tensor(carried[1])),
                          tsr_arg_named("c", tsr_arg_tensor(start)),
                          tsr_arg_named("y", tsr_arg_tensor(y)),
                          WORD("m", m),
                          WORD("n", n),
                          WORD("k", k),
                          WORD("a_at", 0),
                          WORD("a_row", c->a_turned ? 1 : k),
                          WORD("a_col", c->a_turned ? m : 1),
                          WORD("b_at", 0),
                          WORD("b_row", c->b_turned ? 1 : n),
                          WORD("b_col", c->b_turned ? k : 1),
                          WORD("c_at", 0),
                          WORD("c_row", n),
                          WORD("c_col", 1),
                          WORD("batch_inner", c->batch),
                          WORD("a_outer", 0),
                          WORD("a_inner", m * k),
                          WORD("b_outer", 0),
                          WORD("b_inner", 0),
                          WORD("c_outer", 0),
                          WORD("c_inner", 0),
                          WORD("first", 0),
                          WORD("y_at", 0),
                          WORD("part", 0),
                          tsr_arg_named("alpha", tsr_arg_float(t->alpha)),
                          tsr_arg_named("beta", tsr_arg_float(t->beta))};
#undef WORD
  tsr_kernel *kernel = build_product(t->defines);
  tsr_grid grid = {(uint32_t)(n + 63) / 64, (uint32_t)(m + 31) / 32, (uint32_t)c->batch};
  CHECK_OK(tsr_kernel_launch(kernel, grid, args, (int)(sizeof args / sizeof *args)));
  tsr_kernel_release(kernel);
  static float is[4 * MOST_ELEMENTS];
  int count = c->batch * m * n;
  CHECK_OK(tsr_read(tsr_cast(y, TSR_F32), is, (size_t)count * sizeof *is));
  for (int e = 0; e < count; e++) {
    double wanted = t->alpha * wanted_at(c, e) + t->beta * number_at(6, e % (m * n));
    CHECK_NEAR(is[e], wanted, 0.0);
  }
}

static void products_of_each_kind(tsr_device *device) {
  static const kernel_case cases[] = {
      {{64, 64, 64, 1, false, false}, 1, 0, "WIDE_A=1 WIDE_B=1 WIDE_Y=1 EDGES=0 TAIL=0"},
      {{64, 64, 32, 2, true, true}, 1, 0, "WIDE_A=1 WIDE_B=1 WIDE_Y=1 EDGES=0 TAIL=0 A_COLUMNS=1 B_COLUMNS=1"},
      {{40, 72, 40, 2, false, false}, 1, 0, "WIDE_A=1 WIDE_B=1 WIDE_Y=1"},
      {{40, 24, 48, 1, true, true}, 0.5, 2, "WIDE_A=1 WIDE_B=1 A_COLUMNS=1 B_COLUMNS=1 SCALED=1"},
      {{40, 72, 64, 2, false, false}, 1, 0, "WIDE_A=1 WIDE_B=1 WIDE_Y=1 TAIL=0"},
      {{40, 24, 32, 1, true, true}, 1, 0, "WIDE_A=1 WIDE_B=1 A_COLUMNS=1 B_COLUMNS=1 TAIL=0"},
      {{64, 64, 40, 1, false, true}, 1, 0, "WIDE_A=1 WIDE_B=1 B_COLUMNS=1 EDGES=0"},
      {{17, 70, 33, 2, false, false}, 1, 0, "WA=i16 WB=i16"},
      {{17, 70, 32, 1, false, false}, 1, 0, "WA=i16 WB=i16 TAIL=0"},
      {{33, 66, 64, 1, true, true}, 1, 0, "WA=i16 WB=i16 A_COLUMNS=1 B_COLUMNS=1 TAIL=0"},
      {{33, 66, 19, 1, true, true}, 1, 0, "WA=i16 WB=i16 A_COLUMNS=1 B_COLUMNS=1"},
      {{31, 40, 50, 1, false, false}, 2, 0, "WA=i16 WIDE_B=1 WIDE_Y=1 SCALED=1"},
      {{32, 64, 8, 1, true, false}, 1, 0, "WIDE_A=1 WB=i16 A_COLUMNS=1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_kernel(device, &cases[i]);
}

TEST(products_of_each_kind_as_loops) { on_the_cpu(products_of_each_kind); }

// --- f32 that may be rounded to TF32 -----------------------------------------------------------------------------------

// The factors have 17 significant bits and one sign, so that what bf16 alone (8 bits) would lose does not cancel in sums.
static double fine_at(int i) { return 1.0 + (double)(i * 7919 % 65536) / 65536; }

static tsr_tensor *fine_numbers(tsr_device *device, tsr_shape shape) {
  static float values[MOST_ELEMENTS];
  int64_t count = 0;
  CHECK_OK(tsr_shape_count(shape, &count));
  CHECK(count <= MOST_ELEMENTS);
  for (int i = 0; i < count; i++) values[i] = (float)fine_at(i);
  return tsr_from_data(device, TSR_F32, shape, values, (size_t)count * sizeof *values);
}

static bool multiplies_f32_by_fragments(tsr_device *device, const product_case *c, double largest_error) {
  tsr_tensor *a = fine_numbers(device, c->a_turned ? TSR_SHAPE(c->k, c->m) : TSR_SHAPE(c->m, c->k));
  tsr_tensor *b = fine_numbers(device, c->b_turned ? TSR_SHAPE(c->n, c->k) : TSR_SHAPE(c->k, c->n));
  has_seen_fragments = false;
  tsri_built_watch = look;
  tsr_tensor *y = tsr_matmul(c->a_turned ? tsr_transpose(a, 0, 1) : a, c->b_turned ? tsr_transpose(b, 0, 1) : b);
  static float is[MOST_ELEMENTS];
  CHECK_OK(tsr_read(y, is, (size_t)(c->m * c->n) * sizeof *is));
  tsri_built_watch = NULL;
  for (int e = 0; e < c->m * c->n; e++) {
    int i = e / c->n, j = e % c->n;
    double wanted = 0;
    for (int t = 0; t < c->k; t++) {
      wanted += fine_at(c->a_turned ? t * c->m + i : i * c->k + t) * fine_at(c->b_turned ? j * c->k + t : t * c->n + j);
    }
    CHECK_NEAR(is[e] / wanted, 1.0, largest_error);
  }
  return has_seen_fragments;
}

// An infinity stays one, and zeros stay zeros.
static void check_special_numbers(tsr_device *device) {
  enum { SIDE = 40 };
  static float values[SIDE * SIDE] = {INFINITY, 0, -3e38f}, is[SIDE * SIDE];
  tsr_tensor *a = tsr_from_data(device, TSR_F32, TSR_SHAPE(SIDE, SIDE), values, sizeof values);
  tsr_tensor *b = tsr_full(device, TSR_F32, TSR_SHAPE(SIDE, SIDE), 0.5);
  CHECK_OK(tsr_read(tsr_matmul(a, b), is, sizeof is));
  CHECK(is[0] > 0 && isinf(is[0]));
  for (int i = SIDE; i < SIDE * SIDE; i++) CHECK(is[i] == 0);
}

// With lines that begin at multiples of 16 bytes, of 8 and of 4.
static void products_of_split_f32(tsr_device *device) {
  static const product_case cases[] = {{40, 72, 48, 1, false, true},
                                       {33, 38, 50, 1, false, true},
                                       {50, 66, 34, 1, true, false},
                                       {37, 35, 33, 1, false, false},
                                       {39, 33, 65, 1, true, true}};
  const tsri_backend *whole = device->backend;
  tsri_backend without = *whole;
  without.native_ops = NULL;
  device->backend = &without;
  give_units(device);
  CHECK(!multiplies_f32_by_fragments(device, &cases[0], 1e-6));
  device->allows_tf32 = true;
  forget_launches(device);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(multiplies_f32_by_fragments(device, &cases[i], 1.0 / 16384));
  }
  check_special_numbers(device);
  device->backend = whole;
}

TEST(f32_that_may_be_rounded_is_multiplied_as_two_bf16) { on_the_cpu(products_of_split_f32); }

// --- Convolutions -----------------------------------------------------------------------------------------------------

// A convolution over two axes of 3 x 16 x 9 x 12, beside the same in f64 by the CPU's own operator.
typedef struct conv_case {
  tsr_dtype dtype;
  int64_t channels, made;
  bool is_transposed, has_bias;
  tsr_conv_desc desc;
} conv_case;

static tsr_tensor *convolved(const conv_case *c, tsr_tensor *x, tsr_tensor *w, tsr_tensor *b) {
  tsr_tensor *bias = c->has_bias ? b : NULL;
  return c->is_transposed ? tsr_conv_transpose(x, w, bias, &c->desc) : tsr_conv(x, w, bias, &c->desc);
}

static void check_conv(tsr_device *device, const tsri_backend *whole, const tsri_backend *without, const conv_case *c) {
  int64_t groups = c->desc.groups ? c->desc.groups : 1;
  tsr_tensor *x = numbers(
      device, c->dtype, c->desc.channels_last ? TSR_SHAPE(3, 9, 12, c->channels) : TSR_SHAPE(3, c->channels, 9, 12), 1);
  tsr_tensor *w = numbers(device, c->dtype,
                          c->is_transposed ? TSR_SHAPE(c->channels, c->made / groups, 3, 2)
                                           : TSR_SHAPE(c->made, c->channels / groups, 3, 2),
                          2);
  tsr_tensor *b = numbers(device, c->dtype, TSR_SHAPE(c->made), 3);
  tsr_tensor *const operands[] = {x, w, b};
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(operands[i]));
  tsr_tensor *wanted = convolved(c, tsr_cast(x, TSR_F64), tsr_cast(w, TSR_F64), tsr_cast(b, TSR_F64));
  CHECK_OK(tsr_evaluate(wanted));
  device->backend = without;
  has_seen_conv = false;
  tsri_built_watch = look;
  tsr_tensor *y = convolved(c, x, w, b);
  CHECK_OK(tsr_evaluate(y));
  tsri_built_watch = NULL;
  device->backend = whole;
  CHECK(has_seen_conv);
  double largest = -1;
  tsr_tensor *difference = tsr_norm(tsr_sub(tsr_cast(y, TSR_F64), wanted), INFINITY, NULL, 0, false);
  CHECK_OK(tsr_read(difference, &largest, sizeof largest));
  CHECK_NEAR(largest, 0.0, 0.0);
}

static void convolutions_of_each_kind(tsr_device *device) {
  static const conv_case cases[] = {
      {TSR_F16, 16, 24, false, true, {.before = {1, 1}, .after = {1, 0}}},
      {TSR_BF16, 17, 33, false, false, {.stride = {2, 3}, .dilation = {2, 1}}},
      {TSR_F16, 26, 50, false, true, {.groups = 2, .after = {1, 2}}},
      {TSR_F16, 16, 27, false, true, {.channels_last = true, .before = {2, 0}}},
      {TSR_F16, 16, 24, true, true, {.before = {1, 1}, .dilation = {1, 2}}},
      {TSR_F32, 19, 26, false, true, {.before = {1, 1}, .after = {1, 1}}},
  };
  const tsri_backend *whole = device->backend;
  tsri_backend without = *whole;
  without.native_ops = NULL;
  give_units(device);
  device->allows_tf32 = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_conv(device, whole, &without, &cases[i]);
}

TEST(convolutions_use_fragments) { on_the_cpu(convolutions_of_each_kind); }

// --- Tiles ----------------------------------------------------------------------------------------------------------

// The tile for fragments of this side of f16.
static tsri_fragment_tile tile_with(int side, int64_t m, int64_t n, int64_t k, uint32_t shared_bytes) {
  static const tsri_backend backend = {.dialect = "wgsl"};
  tsr_device device = {.backend = &backend};
  device.limits.max_group_size = 256;
  device.limits.shared_bytes = shared_bytes;
  device.limits.subgroup_size = 32;
  device.limits.fragments[device.limits.fragment_count++] = (tsr_fragment_size){TSR_F16, side, side, side};
  tsri_product_op op = {.m = m, .n = n, .k = k, .a = {.column = 1}, .b = {.column = 1}};
  tsri_fragment_tile tile = {.tile_m = 0};
  CHECK(!tsri_fragment_tile_choose(&device, &op, TSR_BF16, &tile));
  if (tsri_fragment_tile_choose(&device, &op, TSR_F16, &tile)) {
    CHECK_EQ_INT(tile.fragment.m, side);
    CHECK(tsri_fragment_tile_items(&tile) <= 256);
    CHECK(tsri_fragment_tile_shared_bytes(&tile) <= shared_bytes);
  }
  return tile;
}

// The figures of WebGPU: at least 16 KiB of shared memory, mostly 32, and groups of 256 items.
TEST(tiles_of_subgroup_matrices_fit_in_the_shared_memory_of_webgpu) {
  CHECK_EQ_INT(tile_with(16, 4096, 4096, 4096, 32768).tile_n, 128);
  CHECK_EQ_INT(tile_with(8, 4096, 4096, 4096, 32768).tile_n, 64);
  CHECK_EQ_INT(tile_with(8, 4096, 4096, 4096, 16384).tile_n, 64);
  CHECK_EQ_INT(tile_with(8, 16, 4096, 4096, 16384).tile_m, 16);
  CHECK_EQ_INT(tile_with(16, 4096, 4096, 4096, 16384).depth, 16);  // strips of one fragment
  CHECK_EQ_INT(tile_with(16, 4096, 4096, 4096, 15000).tile_m, 0);  // not even the smallest one
}

// The figures of a large GPU.
static tsri_fragment_tile tile_for(int64_t m, int64_t n, int64_t k, uint32_t shared_bytes) {
  static const tsri_backend backend = {.dialect = "spirv"};
  tsr_device device = {.backend = &backend};
  device.limits.max_group_size = 1024;
  device.limits.shared_bytes = shared_bytes;
  device.limits.subgroup_size = 32;
  device.info.compute_units = 132;
  give_units(&device);
  tsri_product_op op = {.m = m, .n = n, .k = k, .a = {.column = 1}, .b = {.column = 1}};
  tsri_fragment_tile tile = {.tile_m = 0};
  if (tsri_fragment_tile_choose(&device, &op, TSR_F16, &tile)) {
    CHECK(tsri_fragment_tile_items(&tile) <= 1024);
    CHECK(tsri_fragment_tile_shared_bytes(&tile) <= shared_bytes);
  }
  return tile;
}

TEST(tiles_follow_the_products_size_and_the_devices_figures) {
  CHECK_EQ_INT(tile_for(4096, 4096, 4096, 49152).tile_m, 128);  // many large ones
  CHECK_EQ_INT(tile_for(4096, 4096, 4096, 32768).tile_m, 64);   // which need more shared memory than there is
  CHECK_EQ_INT(tile_for(1024, 1024, 1024, 49152).tile_m, 64);   // too few large ones for all cores
  CHECK_EQ_INT(tile_for(17, 2048, 2048, 49152).tile_m, 32);     // most of a larger one would be empty
  CHECK_EQ_INT(tile_for(4, 2048, 2048, 49152).depth, 128);      // waits for memory, in few steps
  CHECK_EQ_INT(tile_for(3, 2048, 2048, 49152).tile_m, 0);       // most of a fragment would be
  CHECK_EQ_INT(tile_for(64, 64, 8, 49152).tile_m, 0);
}
