// SPDX-License-Identifier: MIT
// Element-wise operators in the launch of the product before them, and sums of rows in the launch of a product that reads them: when that happens (on the fake library, whose GPU has the matrix units), and whether results are right (on a Hopper GPU).
#include <math.h>

#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"

typedef struct sizes {
  int64_t batch, rows, columns, inner;
} sizes;

static const sizes usual = {1, 256, 192, 320};

static float element(int64_t i, int seed) { return (float)((i * 7919 + seed * 104729) % 2003 - 1001) / 500; }

static tsr_tensor *filled(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int seed) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  float *values = malloc((size_t)count * sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i] = element(i, seed);
  size_t bytes = (size_t)count * tsr_dtype_bytes(dtype);
  void *stored = malloc(bytes);
  CHECK_OK(tsr_convert(dtype, stored, TSR_F32, values, (size_t)count));
  tsr_tensor *t = tsr_from_data(device, dtype, shape, stored, bytes);
  free(values);
  free(stored);
  return t;
}

typedef struct operands {
  tsr_device *device;
  tsr_tensor *a, *b, *other, *row;
} operands;

static operands open_operands_of(const char *backend, tsr_dtype dtype, const sizes *s) {
  operands o = {0};
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend}, &o.device));
  o.a = filled(o.device, dtype, TSR_SHAPE(s->batch, s->rows, s->inner), 1);
  o.b = filled(o.device, dtype, TSR_SHAPE(s->batch, s->inner, s->columns), 2);
  o.other = filled(o.device, dtype, TSR_SHAPE(s->batch, s->rows, s->columns), 3);
  o.row = filled(o.device, dtype, TSR_SHAPE(s->columns), 4);
  CHECK_OK(tsr_error(o.row));
  return o;
}

static operands open_operands(const char *backend, const sizes *s) { return open_operands_of(backend, TSR_F32, s); }

static void close_operands(operands *o) {
  tsr_release(o->a);
  tsr_release(o->b);
  tsr_release(o->other);
  tsr_release(o->row);
  tsr_device_release(o->device);
}

// --- When ---------------------------------------------------------------------------------------------------------------

// Launches of everything, those of cuBLASLt included.
static int launches(const fake_cuda *fake) { return fake->launches + fake->products; }

// The gradient of gelu_tanh, as its rule records it: many operators, which read another tensor several times.
static tsr_tensor *slope(tsr_tensor *g, tsr_tensor *x) {
  tsr_tensor *square = tsr_square(x);
  tsr_tensor *t = tsr_tanh(tsr_mul_scalar(tsr_mul(x, tsr_add_scalar(tsr_mul_scalar(square, 0.044715), 1)), 0.79788456));
  return tsr_mul(g, tsr_add(t, tsr_mul(x, tsr_rsub_scalar(tsr_square(t), 1))));
}

static int launches_of(fake_cuda *fake, tsr_tensor *result) {
  int before = launches(fake);
  CHECK_OK(tsr_evaluate(result));
  return launches(fake) - before;
}

TEST(any_element_wise_operators_after_a_product_are_part_of_its_launch) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  CHECK_EQ_INT(launches_of(fake, slope(tsr_matmul(o.a, o.b), o.other)), 1);
  CHECK_EQ_INT(launches_of(fake, tsr_silu(tsr_add(tsr_matmul(o.a, o.b), o.row))), 1);
  CHECK_EQ_INT(launches_of(fake, tsr_mul_scalar(tsr_add(tsr_gelu(tsr_matmul(o.a, o.b)), o.other), 0.5)), 1);
  CHECK_EQ_INT(fake->products, 0);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

TEST(inputs_that_are_not_read_by_fours_are_read_by_a_kernel_of_their_own) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  tsr_tensor *column = tsr_slice(o.other, 2, 0, 1, 1);  // one number for each row
  CHECK_EQ_INT(launches_of(fake, tsr_silu(tsr_mul(tsr_matmul(o.a, o.b), column))), 2);
  int64_t count = usual.rows * usual.columns;
  for (int first = 1; first <= 4; first += 3) {  // from element 4 on there are 16 bytes before it
    tsr_tensor *part = tsr_slice(filled(o.device, TSR_F32, TSR_SHAPE(count + 4), 5), 0, first, first + count, 1);
    part = tsr_reshape(part, TSR_SHAPE(1, usual.rows, usual.columns));
    CHECK_EQ_INT(launches_of(fake, tsr_silu(tsr_mul(tsr_matmul(o.a, o.b), part))), first == 4 ? 1 : 2);
  }
  tsr_tensor *whole = tsr_cast(tsr_relu(o.other), TSR_I32);
  CHECK_OK(tsr_evaluate(whole));
  CHECK_EQ_INT(launches_of(fake, tsr_silu(tsr_mul(tsr_matmul(o.a, o.b), tsr_cast(whole, TSR_F32)))), 2);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

TEST(a_function_of_a_product_that_is_needed_itself_is_stored_by_the_same_launch) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  tsr_tensor *product = tsr_add(tsr_matmul(o.a, o.b), o.row), *function = tsr_gelu_tanh(product);
  tsr_tensor *next = tsr_matmul(tsr_transpose(product, 1, 2), function);  // needs both
  CHECK_EQ_INT(launches_of(fake, next), 2);
  CHECK_EQ_INT(launches_of(fake, function), 0);
  CHECK_EQ_INT(launches_of(fake, product), 0);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

TEST(a_function_of_two_products_runs_after_both) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  tsr_tensor *first = tsr_matmul(o.a, o.b), *second = tsr_matmul(tsr_relu(o.a), o.b);
  tsr_tensor *both = tsr_mul(tsr_silu(first), second);
  tsr_tensor *next = tsr_matmul(tsr_transpose(tsr_matmul(tsr_transpose(first, 1, 2), both), 1, 2),
                                tsr_transpose(second, 1, 2));  // needs all three
  CHECK_OK(tsr_evaluate(next));
  CHECK_EQ_INT(fake->products, 0);
  CHECK_EQ_INT(fake->launches, 5);  // relu, a product, a product that stores both, and two products
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

TEST(where_the_kernel_cannot_be_built_the_operators_run_after_the_product) {
  fake_cuda *fake = fixture_use_fake();
  fake->shared_code = CU_INVALID_VALUE;
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  CHECK_OK(tsr_evaluate(slope(tsr_matmul(o.a, o.b), o.other)));  // finds out
  int products = fake->products;
  CHECK_EQ_INT(launches_of(fake, slope(tsr_matmul(o.a, o.b), o.other)), 2);
  CHECK_EQ_INT(fake->products, products + 1);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

// The gradients of a linear layer by its weight and its bias, added up: of `other`, which is the gradient by the layer's result, and of rows x that it multiplied.
static tsr_tensor *layer_gradients(tsr_tensor *other, tsr_tensor *x) {
  int64_t columns = tsr_tensor_shape(other).dims[2], rows = tsr_tensor_count(other) / columns;
  tsr_tensor *dy = tsr_reshape(other, TSR_SHAPE(rows, columns));
  tsr_tensor *weight = tsr_matmul(tsr_transpose(dy, 0, 1), tsr_reshape(x, TSR_SHAPE(rows, -1)));
  tsr_tensor *bias = tsr_sum(other, TSR_AXES(0, 1), false);
  return tsr_add(weight, tsr_reshape(bias, TSR_SHAPE(columns, 1)));
}

TEST(a_product_sums_the_rows_that_it_reads_in_the_same_launch) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands("cuda", &usual);
  tsr_scope *scope = tsr_scope_begin(o.device);
  for (int i = 0; i < 2; i++) {  // the second time no launch cache repeats the first one's sums
    CHECK_EQ_INT(launches_of(fake, layer_gradients(o.other, o.a)), 2);  // both gradients, and what adds them
  }
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

// --- f16 and bf16 -------------------------------------------------------------------------------------------------------

static const sizes small_halves = {1, 512, 256, 128}, large_halves = {1, 1024, 1024, 512};

TEST(operators_after_a_product_of_halves_are_part_of_its_launch_if_that_is_faster_than_the_library_and_a_kernel) {
  fake_cuda *fake = fixture_use_fake();
  operands o = open_operands_of("cuda", TSR_BF16, &small_halves),
           large = open_operands_of("cuda", TSR_BF16, &large_halves);
  tsr_scope *scope = tsr_scope_begin(o.device);
  CHECK_EQ_INT(launches_of(fake, tsr_silu(tsr_add(tsr_matmul(o.a, o.b), o.row))), 1);
  CHECK_EQ_INT(launches_of(fake, tsr_gelu(tsr_matmul(o.a, o.b))), 1);
  // The fake library multiplies no bf16, so our kernel does, and another one follows.
  CHECK_EQ_INT(launches_of(fake, tsr_gelu(tsr_matmul(large.a, large.b))), 2);
  CHECK_EQ_INT(launches_of(fake, tsr_mul(tsr_silu(tsr_matmul(o.a, o.b)), o.other)), 2);
  CHECK_EQ_INT(fake->products, 0);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
  close_operands(&large);
}

TEST(without_the_library_any_operators_after_a_product_of_halves_are_part_of_its_launch) {
  fake_cuda *fake = fixture_use_fake();
  CHECK_OK(tsr_config_set("native", "-cublaslt"));
  operands o = open_operands_of("cuda", TSR_F16, &large_halves);
  tsr_scope *scope = tsr_scope_begin(o.device);
  CHECK_EQ_INT(launches_of(fake, slope(tsr_matmul(o.a, o.b), o.other)), 1);
  tsr_tensor *product = tsr_add(tsr_matmul(o.a, o.b), o.row), *function = tsr_gelu(product);
  tsr_tensor *next = tsr_matmul(tsr_transpose(product, 1, 2), function);  // needs both
  CHECK_EQ_INT(launches_of(fake, next), 2);
  CHECK_EQ_INT(launches_of(fake, function), 0);
  CHECK_EQ_INT(fake->products, 0);
  CHECK_OK(tsr_scope_end(scope));
  close_operands(&o);
}

// --- On a GPU -------------------------------------------------------------------------------------------------------------

typedef tsr_tensor *(*function)(const operands *o);

static tsr_tensor *product_of(const operands *o) { return tsr_mul_scalar(tsr_matmul(o->a, o->b), 0.02); }
static tsr_tensor *by_slope(const operands *o) { return slope(product_of(o), o->other); }
static tsr_tensor *by_row(const operands *o) { return tsr_silu(tsr_add(product_of(o), o->row)); }
static tsr_tensor *by_all(const operands *o) {
  return tsr_mul(tsr_add(tsr_gelu(tsr_add(product_of(o), o->row)), o->other), tsr_slice(o->row, 0, 2, 3, 1));
}
static tsr_tensor *by_relu(const operands *o) { return tsr_masked_fill(product_of(o), tsr_le_scalar(o->other, 0), 0); }
// With the matrices of a in the other order of memory.
static tsr_tensor *by_turned(const operands *o) {
  tsr_tensor *turned = tsr_transpose(tsr_contiguous(tsr_transpose(o->a, 1, 2)), 1, 2);
  return slope(tsr_mul_scalar(tsr_matmul(turned, o->b), 0.02), o->other);
}
static tsr_tensor *by_both(const operands *o) {
  tsr_tensor *product = tsr_add(tsr_matmul(o->a, o->b), o->row), *after = tsr_gelu_tanh(product);
  return tsr_mul_scalar(tsr_matmul(tsr_transpose(product, 1, 2), after), 1e-5);
}

static tsr_tensor *by_layer(const operands *o) { return tsr_mul_scalar(layer_gradients(o->other, o->a), 0.01); }

// How far results may be apart: by the order of sums, and for f16 and bf16 by where the operators between are rounded.
typedef struct allowed {
  double least, share;
} allowed;

static void compare(const operands *gpu, const operands *cpu, function f, allowed off) {
  tsr_scope *scope = tsr_scope_begin(gpu->device);
  tsr_tensor *got = tsr_cast(f(gpu), TSR_F32), *want = tsr_cast(f(cpu), TSR_F32);
  size_t bytes = (size_t)tsr_tensor_count(got) * sizeof(float);
  float *x = malloc(bytes), *y = malloc(bytes);
  CHECK_OK(tsr_read(got, x, bytes));
  CHECK_OK(tsr_read(want, y, bytes));
  for (size_t i = 0; i < bytes / sizeof *x; i++)
    CHECK_NEAR((double)x[i], (double)y[i], off.least + off.share * fabs((double)y[i]));
  free(x);
  free(y);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(products_with_chains_and_sums_on_a_gpu_give_what_the_cpu_gives) {
  static const function all[] = {by_slope, by_row, by_all, by_relu, by_turned, by_both, by_layer};
  // Rows and columns that no tile divides, sums over k that a cluster shares, and a batch.
  static const sizes shapes[] = {{1, 256, 192, 320}, {1, 300, 236, 1000}, {1, 68, 100, 2052},
                                 {3, 132, 64, 516},  {1, 1100, 900, 100}, {1, 4096, 512, 128}};
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  fixture_close(&f);
  for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
    operands gpu = open_operands("cuda", &shapes[shape]), cpu = open_operands("cpu", &shapes[shape]);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) compare(&gpu, &cpu, all[i], (allowed){5e-5, 2e-5});
    close_operands(&gpu);
    close_operands(&cpu);
  }
}

// As by_both, with numbers that f16 holds.
static tsr_tensor *by_small(const operands *o) {
  tsr_tensor *product = tsr_add(product_of(o), o->row), *after = tsr_gelu_tanh(product);
  return tsr_mul_scalar(tsr_matmul(tsr_transpose(product, 1, 2), after), 0.01);
}

// With the matrices of b in the other order of memory.
static tsr_tensor *by_turned_b(const operands *o) {
  tsr_tensor *turned = tsr_transpose(tsr_contiguous(tsr_transpose(o->b, 1, 2)), 1, 2);
  return slope(tsr_add(tsr_mul_scalar(tsr_matmul(o->a, turned), 0.02), o->row), o->other);
}

static void compare_by_units(tsr_dtype dtype, const sizes *shape, allowed off) {
  static const function all[] = {by_slope, by_row, by_all, by_relu, by_turned, by_turned_b, by_small};
  operands gpu = open_operands_of("cuda", dtype, shape), cpu = open_operands_of("cpu", dtype, shape);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) compare(&gpu, &cpu, all[i], off);
  close_operands(&gpu);
  close_operands(&cpu);
}

// Rows and columns that no tile divides, a batch, and a sum over k that is divided into parts.
static const sizes for_units[] = {
    {1, 512, 384, 256}, {1, 328, 264, 328}, {3, 264, 136, 520}, {1, 1000, 776, 72}, {1, 200, 136, 2056}};

TEST(products_of_halves_with_chains_on_a_gpu_give_what_the_cpu_gives) {
  static const char *const natives[] = {"all", "-cublaslt"};
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  fixture_close(&f);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_config_set("native", natives[i]));
    for (size_t shape = 0; shape < sizeof for_units / sizeof for_units[0]; shape++) {
      compare_by_units(TSR_BF16, &for_units[shape], (allowed){0.02, 0.01});
      compare_by_units(TSR_F16, &for_units[shape], (allowed){0.0025, 0.00125});
    }
  }
}

// The factors are rounded to 11 bits, and those of the second product of by_small once more.
TEST(products_of_tf32_with_chains_on_a_gpu_give_what_the_cpu_gives) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  fixture_close(&f);
  CHECK_OK(tsr_config_set("native", "-cublaslt"));
  CHECK_OK(tsr_config_set("tf32", "on"));
  for (size_t shape = 0; shape < sizeof for_units / sizeof for_units[0]; shape++)
    compare_by_units(TSR_F32, &for_units[shape], (allowed){0.01, 0.005});
  CHECK_OK(tsr_config_set("tf32", "off"));
  CHECK_OK(tsr_config_set("native", "all"));
}
