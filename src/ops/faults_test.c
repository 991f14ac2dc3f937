// SPDX-License-Identifier: MIT
// Every operator family with the 1st, 2nd, … host allocation failing: it returns a status, does not crash and (checked
// by a sanitizer) does not leak.
#include "core/alloc.h"
#include "ops/ops_testing.h"

typedef tsr_tensor *(*scenario)(void);

static tsr_tensor *joining(void) {
  tsr_tensor *x = tsr_arange(dev, TSR_F32, 0, 12, 1), *matrix = tsr_reshape(x, TSR_SHAPE(3, 4));
  tsr_tensor *parts[6] = {matrix, matrix, tsr_flip(matrix, 0), matrix, tsr_tril(matrix, 0), tsr_roll(matrix, 1, 1)};
  tsr_tensor *joined = tsr_concat(parts, 6, 0), *pair = tsr_concat((tsr_tensor *[]){matrix, joined}, 2, 0);
  joined = tsr_concat((tsr_tensor *[]){pair, pair, tsr_slice(pair, 1, 1, 2, 1)}, 3, 1);
  return tsr_pad(tsr_tile(joined, TSR_SHAPE(2, 1)), (int64_t[]){1, 0}, (int64_t[]){0, 1}, 2, 5);
}

static tsr_tensor *indexing(void) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(50, 4), 1),
             *at = tsr_randint(dev, TSR_I32, TSR_SHAPE(50, 4), 0, 50, 2);
  tsr_tensor *values = NULL, *indices = NULL;
  tsr_status status = tsr_topk(tsr_scatter_add(x, 0, at, tsr_gather(x, 0, at)), 5, 0, true, &values, &indices);
  return status == TSR_OK ? tsr_take(values, tsr_reshape(indices, TSR_SHAPE(-1))) : tsr_sort(x, 0, false);
}

static tsr_tensor *reducing(void) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(4, 3000), 1);
  tsr_tensor *rows = tsr_add(tsr_var(x, (int[]){1}, 1, true, 1), tsr_logsumexp(x, (int[]){1}, 1, true));
  return tsr_sum(tsr_mul(tsr_cumsum(x, 1), rows), NULL, 0, false);
}

static tsr_tensor *multiplying(void) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 20, 30), 1), *w = tsr_rand(dev, TSR_F32, TSR_SHAPE(30, 20), 2);
  tsr_tensor *y = tsr_gelu(tsr_add(tsr_matmul(x, w), tsr_linspace(dev, TSR_F32, 0, 1, 20)));
  return tsr_softmax(tsr_layer_norm(tsr_gemm(2, y, tsr_transpose(w, 0, 1), 0, NULL), NULL, NULL, 1e-5), -1);
}

static tsr_tensor *finding(void) {
  tsr_tensor *x = tsr_rand(dev, TSR_F32, TSR_SHAPE(6, 5), 1), *values = NULL, *indices = NULL;
  tsr_status status = tsr_unique(tsr_einsum("ij,kj", (tsr_tensor *[]){x, x}, 2), &values, NULL, NULL);
  if (status == TSR_OK) status = tsr_cummax(values, 0, NULL, &indices);
  return status == TSR_OK ? tsr_gather_nd(x, tsr_nonzero(tsr_reshape(indices, TSR_SHAPE(-1, 1)))) : x;
}

static tsr_tensor *factoring(void) {
  tsr_tensor *a = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 3), 1), *b = tsr_rand(dev, TSR_F32, TSR_SHAPE(2, 3, 1), 2);
  return tsr_mul(tsr_solve(a, b), tsr_det(tsr_cholesky(a, false)));
}

static tsr_tensor *decomposing(void) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 2), 1), *u = NULL, *s = NULL;
  tsr_status status = tsr_svd(x, true, &u, &s, NULL);
  return status == TSR_OK ? tsr_rfft(tsr_matmul(u, tsr_mul(x, s)), NULL, 0) : x;
}

static tsr_tensor *quantising(void) {
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 32), 1), *values = NULL, *scale = NULL, *zero = NULL, *y = NULL;
  tsr_status status = tsr_quantize_channels(x, 0, &values, &scale);
  if (status == TSR_OK) status = tsr_dynamic_quantize_linear(tsr_matmul_channels(x, values, scale), &y, &scale, &zero);
  if (status != TSR_OK) return x;
  tsr_tensor *product = tsr_qlinear_matmul(y, scale, zero, y, scale, NULL, scale, zero);
  tsr_tensor *rows =
      tsr_pad(tsr_dequantize_linear(product, scale, NULL, 0), (int64_t[]){0, 0}, (int64_t[]){0, 29}, 2, 0);
  return tsr_matmul_quantized(rows, tsr_quantize(x, TSR_QUANT_Q4_0), TSR_QUANT_Q4_0);
}

// Runs once with the n-th allocation failing. Returns true if none failed.
static bool run_once(scenario build, uint64_t nth) {
  begin();
  CHECK_OK(tsr_device_synchronize(dev));
  static float data[MOST_VALUES];
  (void)tsri_alloc_fail_at(nth, false);
  tsr_tensor *result = build();
  size_t bytes = (size_t)tsr_tensor_count(result) * sizeof(float);
  tsr_status status = tsr_error(result) == TSR_OK ? tsr_read(result, data, bytes) : tsr_error(result);
  uint64_t requests = tsri_alloc_fail_at(0, false);
  CHECK(status == TSR_OK || status == TSR_ERR_OUT_OF_MEMORY);
  finish();
  return requests < nth;
}

static void sweep(scenario build) {
  enum { MOST_REQUESTS = 20000 };
  uint64_t nth = 1;
  while (!run_once(build, nth)) {
    nth += nth < 400 ? 1 : nth / 50;  // each of the first 400, then fewer
    CHECK(nth < MOST_REQUESTS);
  }
}

TEST(finding_survives_any_failing_request) { sweep(finding); }
TEST(joining_survives_any_failing_request) { sweep(joining); }
TEST(indexing_survives_any_failing_request) { sweep(indexing); }
TEST(reducing_survives_any_failing_request) { sweep(reducing); }
TEST(multiplying_survives_any_failing_request) { sweep(multiplying); }
TEST(factoring_survives_any_failing_request) { sweep(factoring); }
TEST(decomposing_survives_any_failing_request) { sweep(decomposing); }
TEST(quantising_survives_any_failing_request) { sweep(quantising); }
