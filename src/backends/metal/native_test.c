// SPDX-License-Identifier: MIT
// Products by MPSMatrixMultiplication.
#include "backends/metal/fixture.h"

enum { M = 70, N = 90, K = 65, BATCH = 3 };

static float value_at(int64_t i) { return (float)(i * 7 % 11) - 5; }

// y = alpha a b with these layouts, compared with a loop.
static void check_product(bool a_turned, bool b_turned, int batch, double alpha) {
  fixture f = fixture_open();
  static float a[BATCH * M * K], b[BATCH * K * N], y[BATCH * M * N];
  for (int i = 0; i < BATCH * M * K; i++) a[i] = value_at(i);
  for (int i = 0; i < BATCH * K * N; i++) b[i] = value_at(i + 3);
  tsri_buffer *ab = fixture_buffer(&f, sizeof a, a), *bb = fixture_buffer(&f, sizeof b, b);
  tsri_buffer *yb = fixture_buffer(&f, sizeof y + 256, NULL);
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_F32, .result = TSR_F32, .parts = TSRI_PRODUCT_SCALED};
  op.is.product = (tsri_product_op){
      .m = M, .n = N, .k = K, .alpha = alpha, .batch_rank = batch > 1, .batch_dims = {batch}, .y = {yb, 256}};
  op.is.product.a = (tsri_matrix){{ab, 0}, a_turned ? 1 : K, a_turned ? M : 1, {M * K}};
  op.is.product.b = (tsri_matrix){{bb, 0}, b_turned ? 1 : N, b_turned ? K : 1, {K * N}};
  CHECK(f.backend->has_op(f.device, &op));
  int before = fixture_standin ? fixture_standin->products : 0;
  CHECK_OK(f.backend->run_op(f.queue, &op));
  fixture_read(&f, yb, 256, y, sizeof y);
  if (fixture_standin) CHECK_EQ_INT(fixture_standin->products, before + 1);
  for (int c = 0; c < batch; c++) {
    for (int i = 0; i < M; i++) {
      for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < K; k++) {
          sum += (double)a[c * M * K + (a_turned ? k * M + i : i * K + k)] *
                 (double)b[c * K * N + (b_turned ? j * K + k : k * N + j)];
        }
        CHECK_NEAR(y[(c * M + i) * N + j], alpha * sum, 1e-2);
      }
    }
  }
  f.backend->buffer_destroy(f.device, ab);
  f.backend->buffer_destroy(f.device, bb);
  f.backend->buffer_destroy(f.device, yb);
  fixture_close(&f);
}

TEST(a_product_of_rows) { check_product(false, false, 1, 1); }
TEST(a_product_of_turned_matrices) { check_product(true, true, 1, 0.5); }
TEST(a_batch_of_products) { check_product(false, true, BATCH, 1); }

TEST(what_mps_does_not_take_is_declined) {
  fixture f = fixture_open();
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_F32, .result = TSR_F32};
  op.is.product = (tsri_product_op){.m = 64, .n = 64, .k = 64, .alpha = 1};
  op.is.product.a = (tsri_matrix){{NULL, 0}, 64, 1, {0}};
  op.is.product.b = (tsri_matrix){{NULL, 0}, 64, 1, {0}};
  CHECK(f.backend->has_op(f.device, &op));
  op.is.product.a.column = 2;
  CHECK(!f.backend->has_op(f.device, &op));  // no axis is contiguous
  op.is.product.a.column = 1;
  op.is.product.beta = 1;
  CHECK(!f.backend->has_op(f.device, &op));
  op.is.product.beta = 0;
  op.is.product.m = 8;
  CHECK(!f.backend->has_op(f.device, &op));  // too little work
  fixture_close(&f);
}

TEST(without_mps_there_are_no_products) {
  standin_metal *switches = fixture_switches();
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_F32, .result = TSR_F32};
  op.is.product = (tsri_product_op){.m = 64, .n = 64, .k = 64, .alpha = 1};
  op.is.product.a = op.is.product.b = (tsri_matrix){{NULL, 0}, 64, 1, {0}};
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-mps"});
  CHECK(!f.backend->has_op(f.device, &op));
  fixture_close(&f);
  if (!switches) return;
  switches->no_mps = 1;
  f = fixture_open();
  CHECK(!f.backend->has_op(f.device, &op));
  fixture_close(&f);
  switches->no_mps = 0;
}
