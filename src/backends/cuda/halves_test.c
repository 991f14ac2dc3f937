// SPDX-License-Identifier: MIT
// Products of f16, bf16 and TF32 by matrix units: which of them the kernel takes, when it runs (on the fake library), and whether results are right (on a Hopper GPU).
#include "backends/cuda/halves.h"

#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"
#include "ops/product.h"

#include "backends/cuda/product_testing.h"

// --- Describing -----------------------------------------------------------------------------------------------------------

static int64_t a_count(const setting *s) { return (s->a_is_shared ? 1 : s->batch) * a_matrix(s); }

static int64_t b_count(const setting *s) { return s->batch * b_matrix(s); }

static bool takes(const fixture *f, const setting *s) {
  tsri_native_op op = op_of(s);
  cuda_product product;
  CHECK(tsri_cuda_describe_product(&op, &product));
  return tsri_cuda_halves_take(cuda_device_of(f->device), &product);
}

// Sizes that no tile divides, for each of the tiles; a batch; a batch with one a; lines that are apart; sums that are divided into two to eight parts.
static const setting sizes[] = {{.batch = 1, .m = 328, .n = 264, .k = 328},
                                {.batch = 1, .m = 1000, .n = 776, .k = 72},
                                {.batch = 1, .m = 72, .n = 1032, .k = 1000},
                                {.batch = 3, .m = 264, .n = 136, .k = 520},
                                {.batch = 4, .m = 136, .n = 264, .k = 200, .a_is_shared = true},
                                {.batch = 1, .m = 200, .n = 520, .k = 392, .pad = 8},
                                {.batch = 1, .m = 2056, .n = 776, .k = 136},
                                {.batch = 1, .m = 1000, .n = 328, .k = 1096},
                                {.batch = 1, .m = 520, .n = 264, .k = 4104},
                                {.batch = 2, .m = 72, .n = 72, .k = 8200}};
enum { SIZES = sizeof sizes / sizeof sizes[0], FORMS = 12 };

// One of these sizes in one of the layouts and dtypes.
static setting setting_of(int size, int form) {
  setting s = sizes[size];
  s.dtype = form >= 8 ? TSR_F32 : form & 4 ? TSR_F16 : TSR_BF16;
  s.a_is_turned = form & 1;
  s.b_is_turned = form >> 1 & 1;
  return s;
}

static const setting usual = {.batch = 1, .m = 512, .n = 384, .k = 256, .dtype = TSR_BF16};

TEST(the_kernel_takes_products_of_halves_whose_lines_begin_at_multiples_of_16_bytes) {
  fixture f = fixture_open();
  setting s = usual;
  CHECK(takes(&f, &s));
  s.dtype = TSR_F16;
  CHECK(takes(&f, &s));
  s.dtype = TSR_F32;
  CHECK(!takes(&f, &s));  // unless TF32 is allowed
  s = usual;
  s.k = 260;  // rows of a are 520 bytes apart
  CHECK(!takes(&f, &s));
  s.pad = 4;  // and now 528
  CHECK(takes(&f, &s));
  s.pad = 0;
  s.a_is_turned = s.b_is_turned = true;  // columns of a and rows of b begin at multiples of 16 bytes
  CHECK(takes(&f, &s));
  s = usual;
  s.n = 388;  // rows of the result may begin at multiples of 8 bytes
  CHECK(takes(&f, &s));
  s.n = 386;
  CHECK(!takes(&f, &s));
  s = usual;
  s.m = 32;  // most of a tile would be empty
  s.n = 8192;
  CHECK(!takes(&f, &s));
  s = usual;
  s.k = 64;  // too small
  CHECK(!takes(&f, &s));
  fixture_close(&f);
}

TEST(the_kernel_takes_f32_as_tf32_in_every_layout) {
  fixture f = fixture_open_with(&(tsri_open_options){.tf32 = true, .timeout_ns = UINT64_MAX});
  setting s = usual;
  s.dtype = TSR_F32;
  CHECK(takes(&f, &s));
  s.k = 260;  // rows of a are 1040 bytes apart
  CHECK(takes(&f, &s));
  s.k = 262;
  CHECK(!takes(&f, &s));
  for (int i = 1; i < 4; i++) {
    s = usual;
    s.dtype = TSR_F32;
    s.a_is_turned = i & 1;
    s.b_is_turned = i >> 1;
    CHECK(takes(&f, &s));
  }
  fixture_close(&f);
}

// --- Which way runs ---------------------------------------------------------------------------------------------------------

static tsr_status run(const fixture *f, const setting *s) {
  tsri_native_op op = op_of(s);
  tsri_product_op *p = &op.is.product;
  tsri_place *places[] = {&p->a.at, &p->b.at, &p->y};
  const int64_t counts[] = {a_count(s), b_count(s), s->batch * s->m * s->n};
  for (int i = 0; i < 3; i++)
    places[i]->buffer = fixture_buffer(f, (size_t)counts[i] * tsr_dtype_bytes(s->dtype), NULL);
  tsr_status status = f->backend->run_op(f->queue, &op);
  fixture_wait(f);
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, places[i]->buffer);
  return status;
}

static bool has_op(const fixture *f, const setting *s) {
  tsri_native_op op = op_of(s);
  return f->backend->has_op(f->device, &op);
}

TEST(without_the_library_the_kernel_multiplies_and_is_built_once) {
  char folder[] = "/tmp/tessera-halves-XXXXXX";
  fixture_use_cache(folder);
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt", .timeout_ns = UINT64_MAX});
  CHECK(has_op(&f, &usual));
  for (int i = 1; i <= 2; i++) {
    CHECK_OK(run(&f, &usual));
    CHECK_EQ_INT(fixture_fake->launches, i);
    CHECK_EQ_INT(fixture_fake->products, 0);
    CHECK_EQ_INT(fixture_fake->compilations, 1);
  }
  setting other = usual;
  other.dtype = TSR_F16;
  CHECK_OK(run(&f, &other));
  CHECK_EQ_INT(fixture_fake->compilations, 2);
  other.k = 252;  // what the kernel does not take is left to the portable kernels
  CHECK(!has_op(&f, &other));
  CHECK_STATUS(run(&f, &other), TSR_ERR_UNSUPPORTED);
  fixture_close(&f);
  fixture_remove_cache(folder);
}

TEST(the_driver_gets_matrices_in_every_layout_as_its_copy_engine_reads_them) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt", .tf32 = true, .timeout_ns = UINT64_MAX});
  for (int i = 0; i < SIZES * FORMS; i++) {
    setting s = setting_of(i / FORMS, i % FORMS);
    CHECK_OK(run(&f, &s));
    CHECK_EQ_INT(fixture_fake->launches, i + 1);
  }
  fixture_close(&f);
}

TEST(without_the_library_f32_that_is_too_small_for_tf32_tiles_is_multiplied_by_the_kernel_for_f32) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt", .tf32 = true, .timeout_ns = UINT64_MAX});
  setting s = usual;
  s.dtype = TSR_F32;
  s.k = 64;
  CHECK(!takes(&f, &s));
  CHECK(has_op(&f, &s));
  CHECK_OK(run(&f, &s));
  CHECK_EQ_INT(fixture_fake->launches, 1);
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.tf32 = true, .timeout_ns = UINT64_MAX});
  CHECK_OK(run(&f, &s));  // by the library's TF32
  CHECK_EQ_INT(fixture_fake->products, 1);
  CHECK_EQ_INT(fixture_fake->launches, 1);
  fixture_close(&f);
}

TEST(without_library_and_kernel_products_are_left_to_the_portable_kernels) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt,-wgmma", .timeout_ns = UINT64_MAX});
  CHECK(!has_op(&f, &usual));
  CHECK_STATUS(run(&f, &usual), TSR_ERR_UNSUPPORTED);
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt", .timeout_ns = UINT64_MAX});
  fixture_fake->shared_code = CU_INVALID_VALUE;  // the kernel cannot be loaded
  CHECK_STATUS(run(&f, &usual), TSR_ERR_UNSUPPORTED);
  CHECK(!has_op(&f, &usual));
  CHECK_EQ_INT(fixture_fake->launches, 0);
  fixture_close(&f);
}

// --- On a GPU -----------------------------------------------------------------------------------------------------------------

static float element(int64_t i, int seed) { return (float)((i * 7919 + seed * 104729) % 2003 - 1001) / 512; }

// `count` elements as they are stored, and as f32 numbers that the matrix units multiply.
typedef struct elements {
  float *wide;
  void *stored;
} elements;

// Stored f32 are 2^-13 of them larger or smaller than numbers of TF32, which they are rounded to.
static elements make_elements(int64_t count, tsr_dtype dtype, int seed) {
  elements x = {malloc((size_t)count * sizeof *x.wide), malloc((size_t)count * tsr_dtype_bytes(dtype))};
  for (int64_t i = 0; i < count; i++) x.wide[i] = element(i, seed);
  CHECK_OK(tsr_convert(dtype, x.stored, TSR_F32, x.wide, (size_t)count));
  CHECK_OK(tsr_convert(TSR_F32, x.wide, dtype, x.stored, (size_t)count));
  for (int64_t i = 0; dtype == TSR_F32 && i < count; i++) ((float *)x.stored)[i] *= 1 + (i % 3 ? 0x1p-13F : -0x1p-13F);
  return x;
}

static void free_elements(elements *x) {
  free(x->wide);
  free(x->stored);
}

static double wanted(const setting *s, const float *a, const float *b, int64_t row, int64_t column, double *out_size) {
  double sum = 0;
  *out_size = 0;
  for (int64_t k = 0; k < s->k; k++) {
    double term = (double)a[s->a_is_turned ? k * (s->m + s->pad) + row : row * (s->k + s->pad) + k] *
                  (double)b[s->b_is_turned ? k * (s->n + s->pad) + column : column * (s->k + s->pad) + k];
    sum += term;
    *out_size += fabs(term);
  }
  return sum;
}

static tsri_buffer *upload(const fixture *f, const elements *x, size_t bytes) {
  tsri_buffer *buffer = fixture_buffer(f, bytes, NULL);
  fixture_write(f, buffer, 0, x->stored, bytes);
  return buffer;
}

// Computes the product twice and checks that both results have the same bits. The caller frees the result.
static void *compute(const fixture *f, cuda_halves *halves, const setting *s, const elements *a, const elements *b) {
  size_t each = tsr_dtype_bytes(s->dtype), bytes = (size_t)(s->batch * s->m * s->n) * each;
  tsri_native_op op = op_of(s);
  tsri_product_op *p = &op.is.product;
  p->a.at.buffer = upload(f, a, (size_t)a_count(s) * each);
  p->b.at.buffer = upload(f, b, (size_t)b_count(s) * each);
  p->y.buffer = fixture_buffer(f, bytes, NULL);
  cuda_product product;
  CHECK(tsri_cuda_describe_product(&op, &product));
  CHECK(tsri_cuda_halves_take(cuda_device_of(f->device), &product));
  cuda_product_memory memory = tsri_cuda_product_memory(&op);
  void *results[2];
  for (int i = 0; i < 2; i++) {
    bool was_pushed = tsri_cuda_enter(cuda_device_of(f->device));
    CHECK(tsri_cuda_halves_multiply(cuda_queue_of(f->queue), halves, &product, &memory));
    tsri_cuda_leave(cuda_device_of(f->device), was_pushed);
    results[i] = malloc(bytes);
    fixture_read(f, p->y.buffer, 0, results[i], bytes);
  }
  CHECK(memcmp(results[0], results[1], bytes) == 0);
  free(results[1]);
  tsri_buffer *buffers[] = {p->a.at.buffer, p->b.at.buffer, p->y.buffer};
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, buffers[i]);
  return results[0];
}

// Half a unit in the last place of the result, and what the units may cut off: 2^-23 of the sum whenever they add 16 elements along k, or 8 of TF32.
static void check_product(const fixture *f, cuda_halves *halves, const setting *s) {
  enum { EVERY = 5 };  // of how many elements one is compared
  int64_t count = s->m * s->n;
  double unit = s->dtype == TSR_F32 ? 0x1p-24 : s->dtype == TSR_F16 ? 0x1p-11 : 0x1p-8;
  elements a = make_elements(a_count(s), s->dtype, 1), b = make_elements(b_count(s), s->dtype, 2);
  void *y = compute(f, halves, s, &a, &b);
  float *got = malloc((size_t)(count * s->batch) * sizeof *got);
  CHECK_OK(tsr_convert(TSR_F32, got, s->dtype, y, (size_t)(count * s->batch)));
  for (int64_t i = 0; i < count * s->batch; i += EVERY) {
    const float *a_at = a.wide + (s->a_is_shared ? 0 : i / count * (a_count(s) / s->batch));
    const float *b_at = b.wide + i / count * (b_count(s) / s->batch);
    double size, sum = wanted(s, a_at, b_at, i % count / s->n, i % s->n, &size);
    CHECK_NEAR((double)got[i], sum, unit * fabs(sum) + (double)(s->k / 8 + 1) * 0x1p-23 * size);
  }
  free(got);
  free(y);
  free_elements(&a);
  free_elements(&b);
}

TEST(products_of_halves_on_a_gpu_are_right_in_every_layout_and_the_same_each_time) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .tf32 = true, .timeout_ns = UINT64_MAX});
  if (!takes(&f, &usual)) SKIP("this GPU has no wgmma");
  cuda_halves halves = {0};
  for (int i = 0; i < SIZES * FORMS; i++) {
    setting s = setting_of(i / FORMS, i % FORMS);
    check_product(&f, &halves, &s);
  }
  bool was_pushed = tsri_cuda_enter(cuda_device_of(f.device));
  tsri_cuda_halves_clear(cuda_device_of(f.device), &halves);
  tsri_cuda_leave(cuda_device_of(f.device), was_pushed);
  fixture_close(&f);
}
