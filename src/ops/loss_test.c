// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(element_losses_are_means_unless_told_otherwise) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 7), *target = list(TSR_F32, TSR_SHAPE(2, 2), 1, 0, 0, 3);
  CHECK_VALUES(tsr_mse_loss(x, target, NULL), TSR_F32, TSR_SCALAR, 0, 7.25);
  CHECK_VALUES(tsr_l1_loss(x, target, &(tsr_loss_desc){.reduction = TSR_LOSS_SUM}), TSR_F32, TSR_SCALAR, 0, 9);
  CHECK_VALUES(tsr_l1_loss(x, target, &(tsr_loss_desc){.reduction = TSR_LOSS_BATCH_MEAN}), TSR_F32, TSR_SCALAR, 0, 4.5);
  tsr_loss_desc each = {.reduction = TSR_LOSS_NONE};
  CHECK_VALUES(tsr_huber_loss(x, target, &each), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 1.5, 2.5, 3.5);
  each.delta = 2;
  CHECK_VALUES(tsr_huber_loss(x, target, &each), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 2, 4, 6);
  finish();
}

TEST(a_mean_of_losses_in_f16_does_not_overflow) {
  begin();
  tsr_tensor *x = tsr_full(dev, TSR_F16, TSR_SHAPE(1000), 200), *target = tsr_zeros(dev, TSR_F16, TSR_SHAPE(1000));
  CHECK_VALUES(tsr_mse_loss(x, target, NULL), TSR_F16, TSR_SCALAR, 0, 40000);
  finish();
}

TEST(losses_of_nothing_are_nan_in_the_mean) {
  begin();
  tsr_tensor *none = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3));
  CHECK_VALUES(tsr_mse_loss(none, none, NULL), TSR_F32, TSR_SCALAR, 0, NAN);
  CHECK_VALUES(tsr_mse_loss(none, none, &(tsr_loss_desc){.reduction = TSR_LOSS_SUM}), TSR_F32, TSR_SCALAR, 0, 0);
  CHECK_VALUES(tsr_nll_loss(none, tsr_zeros(dev, TSR_I32, TSR_SHAPE(0)), 1, NULL), TSR_F32, TSR_SCALAR, 0, NAN);
  finish();
}

TEST(bce_with_logits_neither_overflows_nor_takes_a_logarithm_of_zero) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(4), 0, 1000, -1000, 1000), *target = list(TSR_F32, TSR_SHAPE(4), 1, 1, 1, 0);
  tsr_loss_desc each = {.reduction = TSR_LOSS_NONE};
  CHECK_VALUES(tsr_bce_with_logits_loss(x, target, &each), TSR_F32, TSR_SHAPE(4), 1e-6, 0.69314718, 0, 1000, 1000);
  each.positive_weight = list(TSR_F32, TSR_SCALAR, 3);
  CHECK_VALUES(tsr_bce_with_logits_loss(x, target, &each), TSR_F32, TSR_SHAPE(4), 1e-6, 3 * 0.69314718, 0, 3000, 1000);
  finish();
}

TEST(kl_div_counts_nothing_where_the_target_is_zero) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2), -INFINITY, 0), *target = list(TSR_F32, TSR_SHAPE(2), 0, 1);
  CHECK_VALUES(tsr_kl_div_loss(x, target, NULL), TSR_F32, TSR_SCALAR, 0, 0);
  finish();
}

TEST(cross_entropy_of_equal_logits_is_the_logarithm_of_the_classes) {
  begin();
  tsr_tensor *x = tsr_full(dev, TSR_F32, TSR_SHAPE(3, 4), 5), *labels = list(TSR_I64, TSR_SHAPE(3), 0, 3, 1);
  CHECK_VALUES(tsr_cross_entropy(x, labels, 1, NULL), TSR_F32, TSR_SCALAR, 1e-6, 1.38629436);
  CHECK_VALUES(tsr_cross_entropy(x, labels, 1, &(tsr_loss_desc){.smoothing = 0.5}), TSR_F32, TSR_SCALAR, 1e-6,
               1.38629436);
  CHECK_VALUES(tsr_cross_entropy(x, tsr_one_hot(labels, 4, TSR_F32), 1, NULL), TSR_F32, TSR_SCALAR, 1e-6, 1.38629436);
  finish();
}

TEST(ignored_labels_count_for_nothing_in_the_mean) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3, 2), -1, -2, -3, -4, -5, -6),
             *labels = list(TSR_I32, TSR_SHAPE(3), 1, -100, 0);
  tsr_loss_desc desc = {.ignores = true, .ignored = -100};
  CHECK_VALUES(tsr_nll_loss(x, labels, 1, &desc), TSR_F32, TSR_SCALAR, 0, 3.5);
  desc.weight = list(TSR_F32, TSR_SHAPE(2), 3, 1);
  CHECK_VALUES(tsr_nll_loss(x, labels, 1, &desc), TSR_F32, TSR_SCALAR, 0, (2 + 3 * 5) / 4.0);
  CHECK_VALUES(tsr_nll_loss(x, list(TSR_I32, TSR_SHAPE(3), -100, -100, -100), 1, &desc), TSR_F32, TSR_SCALAR, 0, NAN);
  finish();
}

TEST(labels_that_name_no_class_give_nan) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 2)), *labels = list(TSR_I32, TSR_SHAPE(4), 2, -1, 0, 300);
  tsr_loss_desc each = {.reduction = TSR_LOSS_NONE};
  CHECK_VALUES(tsr_nll_loss(x, labels, 1, &each), TSR_F32, TSR_SHAPE(4), 0, NAN, NAN, 0, NAN);
  CHECK_VALUES(tsr_nll_loss(x, list(TSR_U8, TSR_SHAPE(4), 2, 1, 0, 255), 1, &each), TSR_F32, TSR_SHAPE(4), 0, NAN, 0, 0,
               NAN);
  finish();
}

// Rows whose logits are all far below or above 0, one of whose logits is, and masked ones; labels that name no class.
static void check_far_logits(tsr_device *device) {
  enum { ROWS = 7, N = 150, LABEL = 149 };
  static const float of_rows[ROWS] = {-100, -1e4f, 1e4f, -1e30f, 0, 0, 3};
  float logits[ROWS][N], losses[ROWS];
  const int64_t labels[ROWS] = {LABEL, LABEL, LABEL, LABEL, LABEL, -1, N + 5};
  if (!test_device_computes(device)) return;
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < N; j++) logits[i][j] = of_rows[i];
  }
  for (int j = 0; j < LABEL; j++) logits[4][j] = -1e9f;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS, N), logits, sizeof logits);
  tsr_tensor *of = tsr_from_data(device, TSR_I64, TSR_SHAPE(ROWS), labels, sizeof labels);
  const tsr_loss_desc each = {.reduction = TSR_LOSS_NONE};
  tsr_tensor *columns = tsr_contiguous(tsr_transpose(x, 0, 1));
  for (int axis = 1; axis >= 0; axis--) {
    CHECK_OK(tsr_read(tsr_cross_entropy(axis ? x : columns, of, axis, &each), losses, sizeof losses));
    for (int i = 0; i < 3; i++) CHECK_NEAR(losses[i], 5.0106353, 2e-3);  // log(150), less what the logits lose
    CHECK_NEAR(losses[3], 0, 1e25);
    CHECK_NEAR(losses[4], 0, 0);
    CHECK(isnan(losses[5]) && isnan(losses[6]));
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(cross_entropy_of_logits_far_from_zero_is_finite) { test_on_every_device(check_far_logits); }

TEST(losses_refuse_options_and_shapes_that_do_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), *labels = tsr_zeros(dev, TSR_I32, TSR_SHAPE(2));
  CHECK_FAILS(tsr_mse_loss(x, labels, NULL), TSR_ERR_SHAPE, "mse_loss: shapes differ, x is 2x3, the target is [2]");
  CHECK_FAILS(tsr_mse_loss(x, x, &(tsr_loss_desc){.smoothing = 0.1}), TSR_ERR_INVALID_ARGUMENT,
              "does not read .smoothing");
  CHECK_FAILS(tsr_mse_loss(x, x, &(tsr_loss_desc){.reduction = (tsr_loss_reduction)9}), TSR_ERR_INVALID_ARGUMENT,
              "there is no reduction 9");
  CHECK_FAILS(tsr_mse_loss(x, x, &(tsr_loss_desc){.weight = labels}), TSR_ERR_SHAPE, "mse_loss");
  CHECK_FAILS(tsr_huber_loss(x, x, &(tsr_loss_desc){.delta = -1}), TSR_ERR_INVALID_ARGUMENT, "delta is -1");
  CHECK_FAILS(tsr_nll_loss(x, labels, 0, NULL), TSR_ERR_SHAPE,
              "labels are [2]; without its axis 0 of classes x is [3]");
  CHECK_FAILS(tsr_nll_loss(x, x, 1, NULL), TSR_ERR_DTYPE, "labels are integers, not f32");
  CHECK_FAILS(tsr_cross_entropy(x, labels, 1, &(tsr_loss_desc){.smoothing = 2}), TSR_ERR_INVALID_ARGUMENT,
              "smoothing is 2");
  CHECK_FAILS(tsr_cross_entropy(x, labels, 1, &(tsr_loss_desc){.weight = labels}), TSR_ERR_SHAPE,
              "the weight is [2], there are 3 classes");
  CHECK_FAILS(tsr_cross_entropy(x, x, 1, &(tsr_loss_desc){.ignores = true}), TSR_ERR_INVALID_ARGUMENT,
              "a label can be ignored");
  CHECK_FAILS(tsr_cross_entropy(x, tsr_zeros(dev, TSR_F32, TSR_SHAPE(2)), 1, NULL), TSR_ERR_SHAPE,
              "probabilities are [2], x is 2x3");
  finish();
}

// x[row, label] of a view with steps, and a label that is no class.
static void nll_in_a_launch(tsr_device *device) {
  float values[30], loss;
  if (!test_device_computes(device)) return;
  for (int i = 0; i < 30; i++) values[i] = (float)(i % 7) - 3;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *all = tsr_from_data(device, TSR_F32, TSR_SHAPE(5, 6), values, sizeof values);
  tsr_tensor *x = tsr_slice(all, 1, 1, 6, 2);  // columns 1, 3 and 5
  for (int round = 0; round < 2; round++) {
    const int64_t classes[10] = {0, 9, 2, 9, round ? 3 : 1, 9, 1, 9, 2, 9};  // every other one is read
    tsr_tensor *list = tsr_from_data(device, TSR_I64, TSR_SHAPE(10), classes, sizeof classes);
    tsr_tensor *mean = tsr_nll_loss(x, tsr_slice(list, 0, 0, 10, 2), 1, NULL);
    tsr_device_counters before, after;
    CHECK_OK(tsr_device_get_counters(device, &before));
    CHECK_OK(tsr_evaluate(mean));
    CHECK_OK(tsr_device_get_counters(device, &after));
    if (strcmp(tsr_device_backend(device), "cpu") != 0) CHECK_EQ_UINT(after.launches - before.launches, 1);
    CHECK_OK(tsr_read(mean, &loss, sizeof loss));
    float sum = 0;
    for (int i = 0; i < 5; i++) sum += classes[2 * i] < 3 ? values[6 * i + 1 + 2 * classes[2 * i]] : NAN;
    CHECK(round ? isnan(loss) : loss == -sum / 5);
  }
  tsr_scope_end(scope);
}

TEST(nll_loss_of_a_matrix_is_one_launch_of_a_gpu) { test_on_every_device(nll_in_a_launch); }
