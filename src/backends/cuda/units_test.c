// SPDX-License-Identifier: MIT
// Products of f32 by matrix units: which of them the kernel takes, what happens where it cannot be built (on the fake library), and whether results are right (on a Hopper GPU).
#include "backends/cuda/units.h"

#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"
#include "ops/product.h"

#include "backends/cuda/product_testing.h"

// --- Describing -----------------------------------------------------------------------------------------------------------

static bool takes(const fixture *f, const setting *s) {
  tsri_native_op op = op_of(s);
  cuda_product product;
  CHECK(tsri_cuda_describe_product(&op, &product));
  return tsri_cuda_units_take(cuda_device_of(f->device), &product);
}

static const setting usual = {.batch = 1, .m = 256, .n = 128, .k = 256, .dtype = TSR_F32};

TEST(the_kernel_takes_products_of_f32_that_it_can_read_by_fours) {
  fixture f = fixture_open();
  setting s = usual;
  CHECK(takes(&f, &s));
  s.dtype = TSR_F16;
  CHECK(!takes(&f, &s));
  s = usual;
  s.k = 254;  // rows of a begin at odd places
  CHECK(!takes(&f, &s));
  s.a_is_turned = s.b_is_turned = true;  // but columns do not
  CHECK(takes(&f, &s));
  s.n = 130;
  CHECK(!takes(&f, &s));
  s = usual;
  s.m = 16;  // most of a tile would be empty
  s.n = 4096;
  CHECK(!takes(&f, &s));
  s = usual;
  s.k = 64;  // too small
  CHECK(!takes(&f, &s));
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "all", .tf32 = true, .timeout_ns = UINT64_MAX});
  CHECK(!takes(&f, &usual));
  fixture_close(&f);
}

// --- Which way runs ---------------------------------------------------------------------------------------------------------

static void run(const fixture *f, const setting *s) {
  tsri_native_op op = op_of(s);
  tsri_product_op *p = &op.is.product;
  tsri_place *places[] = {&p->a.at, &p->b.at, &p->y};
  const int64_t counts[] = {s->m * s->k, s->k * s->n, s->m * s->n};
  for (int i = 0; i < 3; i++) places[i]->buffer = fixture_buffer(f, (size_t)counts[i] * sizeof(float), NULL);
  CHECK_OK(f->backend->run_op(f->queue, &op));
  fixture_wait(f);
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, places[i]->buffer);
}

TEST(a_product_runs_by_the_kernel_which_is_built_once) {
  char folder[] = "/tmp/tessera-units-XXXXXX";
  fixture_use_cache(folder);
  fixture f = fixture_open();
  for (int i = 1; i <= 2; i++) {
    run(&f, &usual);
    CHECK_EQ_INT(fixture_fake->launches, i);
    CHECK_EQ_INT(fixture_fake->products, 0);
    CHECK_EQ_INT(fixture_fake->compilations, 1);
  }
  setting turned = usual;
  turned.a_is_turned = true;
  run(&f, &turned);
  CHECK_EQ_INT(fixture_fake->compilations, 2);
  fixture_close(&f);
  fixture_remove_cache(folder);
}

TEST(the_setting_native_keeps_the_kernel_out_and_the_library_multiplies) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-wgmma", .timeout_ns = UINT64_MAX});
  CHECK(!takes(&f, &usual));
  run(&f, &usual);
  CHECK_EQ_INT(fixture_fake->launches, 0);
  CHECK_EQ_INT(fixture_fake->products, 1);
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "cublaslt,wgmma", .timeout_ns = UINT64_MAX});
  CHECK(takes(&f, &usual));
  fixture_close(&f);
}

TEST(without_the_kernel_the_library_multiplies) {
  fixture f = fixture_open();
  fixture_fake->shared_code = CU_INVALID_VALUE;
  run(&f, &usual);
  run(&f, &usual);
  CHECK_EQ_INT(fixture_fake->launches, 0);
  CHECK_EQ_INT(fixture_fake->products, 2);
  fixture_close(&f);
}

// --- On a GPU -----------------------------------------------------------------------------------------------------------------

enum {
  SIGNED,
  SPECIAL,  // a few elements are infinite, NaN, or so large that they are infinite in bf16
  POSITIVE
};

static float element(int kind) {
  static const float special[] = {INFINITY, -INFINITY, NAN, 3.4e38F};
  if (kind == SPECIAL && rand() % 1999 == 0) return special[rand() % 4];
  float x = (float)(rand() % 20001 - 10000) / 7919;
  return kind == POSITIVE ? fabsf(x) : x;
}

typedef struct operands {
  float *a, *b;
} operands;

static float *elements(int64_t count, int kind) {
  float *list = malloc((size_t)count * sizeof *list);
  for (int64_t i = 0; i < count; i++) list[i] = element(kind);
  return list;
}

static double wanted(const setting *s, const operands *x, int64_t batch, int64_t row, int64_t column,
                     double *out_size) {
  const float *a = x->a + batch * s->m * s->k, *b = x->b + batch * s->k * s->n;
  double sum = 0;
  *out_size = 1e-30;
  for (int64_t k = 0; k < s->k; k++) {
    double term = (double)a[s->a_is_turned ? k * s->m + row : row * s->k + k] *
                  (double)b[s->b_is_turned ? k * s->n + column : column * s->k + k];
    sum += term;
    *out_size += fabs(term);
  }
  return sum;
}

// A product whose f32 overflows on the way may be infinite or NaN.
static void check_element(double got, double sum, double size) {
  if (isnan(sum)) CHECK(isnan(got));
  else if (isinf(sum)) CHECK(got == sum || isnan(got));
  else if (size > 3e38) CHECK(!isfinite(got) || fabs(got - sum) <= size);
  else CHECK_NEAR(got, sum, 4e-7 * size + 1e-30);
}

// A product on the GPU: its operands and its result, on the host.
typedef struct outcome {
  operands x;
  float *y;
} outcome;

// A product whose operands are on the GPU.
typedef struct bound_product {
  tsri_native_op op;
  cuda_product product;
  cuda_product_memory memory;
} bound_product;

static size_t y_bytes_of(const setting *s) { return (size_t)(s->batch * s->m * s->n) * sizeof(float); }

static bound_product bind(const fixture *f, const setting *s, const operands *x) {
  bound_product b = {.op = op_of(s)};
  tsri_product_op *p = &b.op.is.product;
  size_t a_bytes = (size_t)(s->batch * s->m * s->k) * sizeof(float),
         b_bytes = (size_t)(s->batch * s->k * s->n) * sizeof(float);
  p->a.at.buffer = fixture_buffer(f, a_bytes, NULL);
  p->b.at.buffer = fixture_buffer(f, b_bytes, NULL);
  p->y.buffer = fixture_buffer(f, y_bytes_of(s), NULL);
  fixture_write(f, p->a.at.buffer, 0, x->a, a_bytes);
  fixture_write(f, p->b.at.buffer, 0, x->b, b_bytes);
  CHECK(tsri_cuda_describe_product(&b.op, &b.product));
  CHECK(tsri_cuda_units_take(cuda_device_of(f->device), &b.product));
  b.memory = tsri_cuda_product_memory(&b.op);
  return b;
}

// Returns the result, which the caller frees, and destroys the buffers.
static float *read_back(const fixture *f, const setting *s, const bound_product *b) {
  const tsri_product_op *p = &b->op.is.product;
  float *y = malloc(y_bytes_of(s));
  fixture_read(f, p->y.buffer, 0, y, y_bytes_of(s));
  tsri_buffer *buffers[] = {p->a.at.buffer, p->b.at.buffer, p->y.buffer};
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, buffers[i]);
  return y;
}

static operands operands_of(const setting *s, int kind) {
  return (operands){elements(s->batch * s->m * s->k, kind), elements(s->batch * s->k * s->n, kind)};
}

static outcome compute(const fixture *f, cuda_units *units, const setting *s, int kind) {
  outcome o = {.x = operands_of(s, kind)};
  bound_product b = bind(f, s, &o.x);
  bool was_pushed = tsri_cuda_enter(cuda_device_of(f->device));
  CHECK(tsri_cuda_units_multiply(cuda_queue_of(f->queue), units, &b.product, &b.memory));
  tsri_cuda_leave(cuda_device_of(f->device), was_pushed);
  o.y = read_back(f, s, &b);
  return o;
}

static void discard(outcome *o) {
  free(o->x.a);
  free(o->x.b);
  free(o->y);
}

static void check_outcome(const setting *s, const outcome *o) {
  for (int64_t i = 0; i < s->batch * s->m * s->n; i++) {
    double size, sum = wanted(s, &o->x, i / (s->m * s->n), i / s->n % s->m, i % s->n, &size);
    check_element((double)o->y[i], sum, size);
  }
}

static void check_product(const fixture *f, cuda_units *units, const setting *s, int kind) {
  outcome o = compute(f, units, s, kind);
  check_outcome(s, &o);
  discard(&o);
}

// Opens a GPU that the kernel runs on.
static fixture open_hopper(void) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  if (!takes(&f, &usual)) SKIP("this GPU has no wgmma");
  return f;
}

static void close_hopper(fixture *f, cuda_units *units) {
  bool was_pushed = tsri_cuda_enter(cuda_device_of(f->device));
  tsri_cuda_units_clear(cuda_device_of(f->device), units);
  tsri_cuda_leave(cuda_device_of(f->device), was_pushed);
  fixture_close(f);
}

TEST(products_on_a_gpu_are_as_exact_as_f32_in_every_layout) {
  fixture f = open_hopper();
  static const setting sizes[] = {
      {.batch = 1, .m = 300, .n = 236, .k = 1000}, {.batch = 1, .m = 68, .n = 100, .k = 2052},
      {.batch = 1, .m = 260, .n = 132, .k = 4100}, {.batch = 3, .m = 132, .n = 64, .k = 516},
      {.batch = 1, .m = 1100, .n = 900, .k = 100}, {.batch = 1, .m = 4096, .n = 512, .k = 64}};
  cuda_units units = {0};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int layout = 0; layout < 4; layout++) {
      setting s = sizes[i];
      s.dtype = TSR_F32;
      s.a_is_turned = layout & 1;
      s.b_is_turned = layout >> 1;
      check_product(&f, &units, &s, SIGNED);
      if (i < 2) check_product(&f, &units, &s, SPECIAL);
    }
  }
  close_hopper(&f, &units);
}

// --- Several products in one launch -----------------------------------------------------------------------------------------

enum { GROUPED = 5 };

// Gradients by weights of different sizes, also of such that do not fill their tiles.
static void set_group(setting *all, int layout) {
  static const setting sizes[GROUPED] = {{.m = 128, .n = 512, .k = 1024},
                                         {.m = 132, .n = 68, .k = 2052},
                                         {.m = 64, .n = 64, .k = 1028},
                                         {.m = 384, .n = 128, .k = 1024},
                                         {.m = 36, .n = 200, .k = 4096}};
  for (int i = 0; i < GROUPED; i++) {
    all[i] = sizes[i];
    all[i].batch = 1;
    all[i].dtype = TSR_F32;
    all[i].a_is_turned = layout & 1;
    all[i].b_is_turned = layout >> 1;
  }
}

TEST(products_that_leave_the_gpu_idle_can_share_a_launch_with_others_of_their_layout) {
  fixture f = fixture_open();
  cuda_device_of(f.device)->info.compute_units = 132;  // as an H200 has
  setting s = {.batch = 1, .m = 128, .n = 64, .k = 4096, .dtype = TSR_F32};
  tsri_native_op op = op_of(&s);
  tsri_op_group first = f.backend->group_of(f.device, &op);
  CHECK(first.kind != 0 && first.share > 0 && first.share < TSRI_FULL_SHARE);
  s.m *= 2;
  op = op_of(&s);
  tsri_op_group larger = f.backend->group_of(f.device, &op);
  CHECK(larger.kind == first.kind && larger.share >= 2 * first.share && larger.share <= 2 * first.share + 1);
  s.n = 128;  // fills large tiles
  op = op_of(&s);
  tsri_op_group large = f.backend->group_of(f.device, &op);
  CHECK(large.kind != 0 && large.kind != first.kind);
  s.a_is_turned = true;
  op = op_of(&s);
  tsri_op_group turned = f.backend->group_of(f.device, &op);
  CHECK(turned.kind != 0 && turned.kind != first.kind);
  static const setting alone[] = {{.batch = 1, .m = 4096, .n = 4096, .k = 4096},  // many tiles
                                  {.batch = 1, .m = 128, .n = 128, .k = 512},     // short sums
                                  {.batch = 4, .m = 128, .n = 64, .k = 4096}};    // a batch
  for (int i = 0; i < 3; i++) {
    s = alone[i];
    s.dtype = TSR_F32;
    op = op_of(&s);
    CHECK_EQ_INT(f.backend->group_of(f.device, &op).kind, 0);
  }
  fixture_close(&f);
}

static tsr_status run_group(const fixture *f) {
  setting all[GROUPED];
  tsri_native_op ops[GROUPED];
  const tsri_native_op *list[GROUPED];
  set_group(all, 3);
  for (int i = 0; i < GROUPED; i++) {
    ops[i] = op_of(&all[i]);
    tsri_product_op *p = &ops[i].is.product;
    p->a.at.buffer = fixture_buffer(f, (size_t)(all[i].m * all[i].k) * sizeof(float), NULL);
    p->b.at.buffer = fixture_buffer(f, (size_t)(all[i].k * all[i].n) * sizeof(float), NULL);
    p->y.buffer = fixture_buffer(f, y_bytes_of(&all[i]), NULL);
    list[i] = &ops[i];
  }
  tsr_status status = f->backend->run_ops(f->queue, list, GROUPED);
  fixture_wait(f);
  for (int i = 0; i < GROUPED; i++) {
    const tsri_product_op *p = &ops[i].is.product;
    tsri_buffer *buffers[] = {p->a.at.buffer, p->b.at.buffer, p->y.buffer};
    for (int j = 0; j < 3; j++) f->backend->buffer_destroy(f->device, buffers[j]);
  }
  return status;
}

TEST(a_group_of_products_is_one_launch_of_a_kernel_that_is_built_once) {
  char folder[] = "/tmp/tessera-units-XXXXXX";
  fixture_use_cache(folder);
  fixture f = fixture_open();
  for (int i = 1; i <= 2; i++) {
    CHECK_OK(run_group(&f));
    CHECK_EQ_INT(fixture_fake->launches, i);
    CHECK_EQ_INT(fixture_fake->compilations, 1);
  }
  fixture_close(&f);
  fixture_remove_cache(folder);
}

TEST(a_group_whose_kernel_does_not_run_is_left_to_the_caller) {
  fixture f = fixture_open();
  fixture_fake->shared_code = CU_INVALID_VALUE;
  CHECK_EQ_INT(run_group(&f), TSR_ERR_UNSUPPORTED);
  CHECK_EQ_INT(fixture_fake->launches, 0);
  fixture_close(&f);
}

// Whether the sums of the rows of a are computed with product i of a group.
static bool has_sums(int i) { return i % 2 == 0; }

// The results of a group. The caller frees all of them.
typedef struct group_outcome {
  float *y[GROUPED], *sums[GROUPED];  // sums is NULL for products without
} group_outcome;

static group_outcome compute_group(const fixture *f, cuda_units *units, const setting *all, const operands *x) {
  bound_product bound[GROUPED];
  cuda_product products[GROUPED];
  cuda_product_memory memories[GROUPED];
  tsri_buffer *sums[GROUPED] = {NULL};
  group_outcome found = {.y = {NULL}};
  for (int i = 0; i < GROUPED; i++) {
    bound[i] = bind(f, &all[i], &x[i]);
    products[i] = bound[i].product;
    memories[i] = bound[i].memory;
    if (!has_sums(i)) continue;
    sums[i] = fixture_buffer(f, (size_t)all[i].m * sizeof(float), NULL);
    memories[i].row_sums = cuda_address_of(sums[i], 0);
  }
  bool was_pushed = tsri_cuda_enter(cuda_device_of(f->device));
  CHECK(tsri_cuda_units_multiply_group(cuda_queue_of(f->queue), units, products, memories, GROUPED));
  tsri_cuda_leave(cuda_device_of(f->device), was_pushed);
  for (int i = 0; i < GROUPED; i++) {
    found.y[i] = read_back(f, &all[i], &bound[i]);
    if (!has_sums(i)) continue;
    found.sums[i] = malloc((size_t)all[i].m * sizeof(float));
    fixture_read(f, sums[i], 0, found.sums[i], (size_t)all[i].m * sizeof(float));
    f->backend->buffer_destroy(f->device, sums[i]);
  }
  return found;
}

static void check_sums(const setting *s, const operands *x, const float *sums) {
  for (int64_t row = 0; row < s->m; row++) {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < s->k; k++) {
      double element = (double)x->a[s->a_is_turned ? k * s->m + row : row * s->k + k];
      sum += element;
      size += fabs(element);
    }
    CHECK_NEAR((double)sums[row], sum, 1e-6 * size);
  }
}

static void check_group(const fixture *f, cuda_units *units, const setting *all) {
  operands x[GROUPED];
  for (int i = 0; i < GROUPED; i++) x[i] = operands_of(&all[i], i == 1 ? SPECIAL : SIGNED);
  group_outcome first = compute_group(f, units, all, x), second = compute_group(f, units, all, x);
  for (int i = 0; i < GROUPED; i++) {
    outcome o = {.x = x[i], .y = first.y[i]};
    CHECK(memcmp(first.y[i], second.y[i], y_bytes_of(&all[i])) == 0);
    check_outcome(&all[i], &o);
    if (has_sums(i)) check_sums(&all[i], &x[i], first.sums[i]);
    discard(&o);
    free(second.y[i]);
    free(first.sums[i]);
    free(second.sums[i]);
  }
}

// The first product of a group decides on the tiles, so the group is computed in both orders.
TEST(groups_of_products_on_a_gpu_are_as_exact_as_f32_and_the_same_each_time) {
  fixture f = open_hopper();
  cuda_units units = {0};
  for (int layout = 0; layout < 4; layout++) {
    setting all[GROUPED], turned[GROUPED];
    set_group(all, layout);
    for (int i = 0; i < GROUPED; i++) turned[i] = all[GROUPED - 1 - i];
    check_group(&f, &units, all);
    check_group(&f, &units, turned);
  }
  close_hopper(&f, &units);
}

// Matrix units truncate their sums where f32 arithmetic rounds. If they added up all of k, sums of positive numbers would be too small, and the
// longer the sum, the larger the error.
TEST(long_sums_of_positive_numbers_on_a_gpu_are_not_too_small) {
  enum { EVERY = 997 };  // of how many elements one is compared
  static const setting sizes[] = {{.m = 64, .n = 64, .k = 4096},
                                  {.m = 64, .n = 64, .k = 16384},
                                  {.m = 1024, .n = 1024, .k = 4096},
                                  {.m = 1024, .n = 1024, .k = 16384},
                                  {.m = 2048, .n = 2048, .k = 4096}};
  fixture f = open_hopper();
  cuda_units units = {0};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    setting s = sizes[i];
    s.batch = 1;
    s.dtype = TSR_F32;
    outcome o = compute(&f, &units, &s, POSITIVE);
    double errors = 0, size;
    int count = 0;
    int64_t every = s.m > 64 ? EVERY : 1;
    for (int64_t at = 0; at < s.m * s.n; at += every, count++) {
      double sum = wanted(&s, &o.x, 0, at / s.n, at % s.n, &size), error = ((double)o.y[at] - sum) / sum;
      CHECK_NEAR(error, 0, 2e-6);
      errors += error;
    }
    printf("  %lld x %lld x %lld: mean error %.2e of the sum\n", (long long)s.m, (long long)s.n, (long long)s.k,
           errors / count);
    CHECK_NEAR(errors / count, 0, 2e-7);
    discard(&o);
  }
  close_hopper(&f, &units);
}
