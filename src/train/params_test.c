// SPDX-License-Identifier: MIT
// Sets of parameters.
#include "train/params.h"
#include "graph/graph.h"
#include "ops/ops_testing.h"

static const tsr_param_desc network[] = {
    {.name = "hidden.weight", .shape = {2, {40, 50}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "hidden.bias", .shape = {1, {40}}, .init = TSR_INIT_ZEROS},
    {.name = "norm.weight", .shape = {1, {40}}, .init = TSR_INIT_ONES},
    {.name = "out.weight", .shape = {2, {3, 40}}, .init = TSR_INIT_XAVIER_UNIFORM},
};

static tsr_params *make(tsr_dtype dtype, uint64_t seed) {
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, dtype, network, 4, seed, &params));
  return params;
}

TEST(a_set_is_found_by_name_and_counted) {
  begin();
  tsr_params *params = make(TSR_F32, 1);
  CHECK_EQ_INT(tsr_params_count(params), 4);
  CHECK_EQ_INT(tsr_params_element_count(params), 2000 + 40 + 40 + 120);
  CHECK_EQ_INT((int64_t)tsr_params_bytes(params), 4 * 2200);
  CHECK(tsr_tensor_shares_memory(tsr_params_find(params, "out.weight"), tsr_params_tensor(params, 3)));
  CHECK_STR(tsr_params_name(params, 1), "hidden.bias");
  CHECK_STATUS(tsr_error(tsr_params_find(params, "out.weigth")), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("did you mean 'out.weight'?");
  CHECK_STATUS(tsr_error(tsr_params_tensor(params, 4)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STR(tsr_params_name(params, -1), "");
  tsr_params_release(params);
  finish();
}

TEST(tensors_of_a_set_outlive_it) {
  begin();
  tsr_params *params = make(TSR_F32, 1);
  tsr_tensor *norm = tsr_params_find(params, "norm.weight");
  tsr_params_release(params);
  double sum = 0;
  CHECK_OK(tsr_item(tsr_sum(norm, NULL, 0, false), &sum));
  CHECK(sum == 40);
  finish();
}

static void read_floats(tsr_tensor *tensor, double *values) {
  CHECK_OK(tsr_read(tsr_cast(tensor, TSR_F64), values, (size_t)tsr_tensor_count(tensor) * sizeof *values));
}

static void moments_of(tsr_init init, double value, double *out_deviation, double *out_most) {
  enum { COUNT = 20000 };
  static double values[COUNT];
  tsr_param_desc one = {.name = "w", .shape = TSR_SHAPE(100, 50, 2, 2), .init = init, .value = value};
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F32, &one, 1, 7, &params));
  read_floats(tsr_params_tensor(params, 0), values);
  double sum = 0, squares = 0;
  *out_most = 0;
  for (int i = 0; i < COUNT; i++) {
    sum += values[i];
    squares += values[i] * values[i];
    if (fabs(values[i]) > *out_most) *out_most = fabs(values[i]);
  }
  CHECK(fabs(sum / COUNT) < 0.03 * sqrt(squares / COUNT));
  *out_deviation = sqrt(squares / COUNT);
  tsr_params_release(params);
}

TEST(initialisers_have_the_spread_that_they_promise) {
  begin();
  // [100, 50, 2, 2]: fan_in 200, fan_out 400.
  const struct {
    tsr_init init;
    double value, deviation, most;  // `most`: 0 means no bound
  } cases[] = {
      {TSR_INIT_NORMAL, 0.02, 0.02, 0},
      {TSR_INIT_TRUNCATED_NORMAL, 0.02, 0.02 * 0.8796, 0.04},
      {TSR_INIT_UNIFORM, 0.3, 0.3 / sqrt(3), 0.3},
      {TSR_INIT_XAVIER_UNIFORM, 0, 0.1 / sqrt(3), 0.1},
      {TSR_INIT_XAVIER_NORMAL, 2, 2 * sqrt(2.0 / 600), 0},
      {TSR_INIT_HE_UNIFORM, 0, 0.1, sqrt(6.0 / 200)},
      {TSR_INIT_HE_NORMAL, 0, 0.1, 0},
      {TSR_INIT_HE_NORMAL, 1, 1 / sqrt(200.0), 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double deviation = 0, most = 0;
    moments_of(cases[i].init, cases[i].value, &deviation, &most);
    CHECK(fabs(deviation / cases[i].deviation - 1) < 0.03);
    if (cases[i].most > 0) CHECK(most <= cases[i].most * 1.000001 && most > 0.95 * cases[i].most);
  }
  finish();
}

TEST(inputs_first_swaps_the_fans) {
  begin();
  static double values[4000];
  tsr_param_desc one = {.name = "w", .shape = TSR_SHAPE(400, 10), .init = TSR_INIT_HE_UNIFORM, .is_inputs_first = true};
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F32, &one, 1, 7, &params));
  read_floats(tsr_params_tensor(params, 0), values);
  double most = 0;
  for (int i = 0; i < 4000; i++) most = fmax(most, fabs(values[i]));
  CHECK(most <= sqrt(6.0 / 400) && most > 0.99 * sqrt(6.0 / 400));
  tsr_params_release(params);
  finish();
}

static bool same(tsr_tensor *a, tsr_tensor *b) {
  bool is_equal = false;
  CHECK_OK(tsr_equal(a, b, &is_equal));
  return is_equal;
}

TEST(first_values_follow_from_seed_and_name_alone) {
  begin();
  tsr_params *a = make(TSR_F32, 1), *b = make(TSR_F32, 1), *c = make(TSR_F32, 2), *last = NULL;
  CHECK(same(tsr_params_tensor(a, 0), tsr_params_tensor(b, 0)) &&
        same(tsr_params_tensor(a, 3), tsr_params_tensor(b, 3)));
  CHECK(!same(tsr_params_tensor(a, 0), tsr_params_tensor(c, 0)));
  CHECK_OK(tsr_params_create(dev, TSR_F32, network + 3, 1, 1, &last));
  CHECK(same(tsr_params_tensor(a, 3), tsr_params_tensor(last, 0)));
  tsr_params_release(a);
  tsr_params_release(b);
  tsr_params_release(c);
  tsr_params_release(last);
  finish();
}

TEST(a_clone_has_memory_of_its_own) {
  begin();
  tsr_params *params = make(TSR_F32, 1), *clone = NULL, *half = NULL;
  CHECK_OK(tsr_params_clone(params, &clone));
  CHECK_OK(tsr_params_cast(params, TSR_BF16, &half));
  CHECK(same(tsr_params_tensor(params, 0), tsr_params_tensor(clone, 0)));
  CHECK(!tsr_tensor_shares_memory(tsr_params_tensor(params, 0), tsr_params_tensor(clone, 0)));
  CHECK(same(tsr_cast(tsr_params_tensor(params, 3), TSR_BF16), tsr_params_tensor(half, 3)));
  CHECK_OK(tsr_assign(tsr_params_tensor(params, 0), tsr_zeros(dev, TSR_F32, TSR_SCALAR)));
  CHECK(!same(tsr_params_tensor(params, 0), tsr_params_tensor(clone, 0)));
  CHECK(same(tsr_params_tensor(params, 3), tsr_params_tensor(clone, 3)));
  tsr_params_release(params);
  tsr_params_release(clone);
  tsr_params_release(half);
  finish();
}

TEST(moving_a_set_keeps_its_elements) {
  begin();
  tsr_device *other = test_open("cpu");
  tsr_params *params = make(TSR_F32, 1), *moved = NULL;
  CHECK_OK(tsr_params_to(params, other, &moved));
  CHECK(tsr_params_device(moved) == other && tsr_tensor_device(tsr_params_tensor(moved, 2)) == other);
  CHECK(same(tsr_params_tensor(params, 3), tsr_to(tsr_params_tensor(moved, 3), dev)));
  tsr_params_release(params);
  tsr_params_release(moved);
  finish();
  tsr_device_release(other);
}

TEST(copying_goes_by_name_and_says_what_differs) {
  begin();
  tsr_param_desc turned[4] = {network[3], network[2], network[1], network[0]},
                 other[4] = {network[0], network[1], network[2]};
  tsr_params *params = make(TSR_F32, 1), *from = NULL, *less = NULL, *more = NULL, *wide = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F64, turned, 4, 9, &from));
  CHECK_OK(tsr_params_copy(params, from));
  CHECK(same(tsr_params_find(params, "hidden.weight"), tsr_cast(tsr_params_find(from, "hidden.weight"), TSR_F32)));
  CHECK_OK(tsr_params_create(dev, TSR_F32, other, 3, 9, &less));
  CHECK_STATUS(tsr_params_copy(params, less), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("target has 'out.weight'");
  CHECK_STATUS(tsr_params_copy(less, params), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("source has 'out.weight'");
  other[3] = (tsr_param_desc){.name = "out.weight", .shape = TSR_SHAPE(3, 41)};
  CHECK_OK(tsr_params_create(dev, TSR_F32, other, 4, 9, &wide));
  CHECK_STATUS(tsr_params_copy(params, wide), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("'out.weight' is 3x40 in the target and 3x41 in the source");
  tsr_params_release(params);
  tsr_params_release(from);
  tsr_params_release(less);
  tsr_params_release(more);
  tsr_params_release(wide);
  finish();
}

TEST(wrong_descriptions_are_refused_by_name) {
  begin();
  tsr_params *params = NULL;
  tsr_param_desc two[2] = {network[0], network[0]};
  CHECK_STATUS(tsr_params_create(dev, TSR_F32, two, 2, 0, &params), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("two tensors are called 'hidden.weight'");
  two[1].name = "";
  CHECK_STATUS(tsr_params_create(dev, TSR_F32, two, 2, 0, &params), TSR_ERR_INVALID_ARGUMENT);
  two[1] = (tsr_param_desc){.name = "x", .shape = TSR_SHAPE(2), .init = (tsr_init)77};
  CHECK_STATUS(tsr_params_create(dev, TSR_F32, two, 2, 0, &params), TSR_ERR_INVALID_ARGUMENT);
  two[1] = (tsr_param_desc){.name = "x", .shape = TSR_SHAPE(-2)};
  CHECK_STATUS(tsr_params_create(dev, TSR_F32, two, 2, 0, &params), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_params_create(dev, TSR_I32, two, 1, 0, &params), TSR_ERR_DTYPE);
  CHECK(params == NULL);
  finish();
}

TEST(a_parameter_that_was_not_used_is_named) {
  begin();
  const tsr_param_desc tensors[] = {{.name = "layer.weight", .shape = TSR_SHAPE(3, 4)},
                                    {.name = "layer.bias", .shape = TSR_SHAPE(3)}};
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F32, tensors, 2, 1, &params));
  tsr_tensor *x = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 4));
  CHECK_OK(tsr_grad_begin());
  CHECK_STATUS(tsr_params_grad(params, tsr_sum(x, NULL, 0, false), NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("'layer.weight' (3x4) is not watched");
  CHECK_OK(tsr_params_watch(params));
  tsr_tensor *y = tsr_linear(x, tsr_params_find(params, "layer.weight"), NULL, NULL);
  CHECK_STATUS(tsr_params_grad(params, tsr_sum(y, NULL, 0, false), NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("y was not computed from 'layer.bias' ([3])");
  CHECK_OK(tsr_grad_end());
  tsr_params_release(params);
  finish();
}

TEST(an_empty_set_and_empty_tensors_are_possible) {
  begin();
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F32, NULL, 0, 0, &params));
  CHECK_EQ_INT(tsr_params_count(params), 0);
  tsr_params_release(params);
  tsr_param_desc some[2] = {{.name = "none", .shape = TSR_SHAPE(0, 3), .init = TSR_INIT_NORMAL},
                            {.name = "one", .shape = TSR_SCALAR, .init = TSR_INIT_CONSTANT, .value = 2.5}};
  CHECK_OK(tsr_params_create(dev, TSR_F32, some, 2, 0, &params));
  CHECK_VALUES(tsr_params_tensor(params, 1), TSR_F32, TSR_SCALAR, 0, 2.5);
  CHECK_EQ_INT(tsr_tensor_count(tsr_params_tensor(params, 0)), 0);
  tsr_params_release(params);
  finish();
}

// --- Gradients ------------------------------------------------------------------------------------------------------------

static tsr_tensor *loss_of(const tsr_params *params, tsr_tensor *x) {
  tsr_tensor *y = tsr_linear(x, tsr_params_tensor(params, 0), tsr_params_tensor(params, 1), NULL);
  y = tsr_matmul(tsr_mul(tsr_relu(y), tsr_params_tensor(params, 2)), tsr_transpose(tsr_params_tensor(params, 3), 0, 1));
  return tsr_sum(tsr_mul(y, y), NULL, 0, false);
}

TEST(gradients_of_a_set_are_those_of_its_tensors) {
  begin();
  tsr_params *params = make(TSR_F32, 3);
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(5, 50), 4), *wanted[4], *tensors[4];
  for (int i = 0; i < 4; i++) tensors[i] = tsr_params_tensor(params, i);
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_params_watch(params));
  CHECK_OK(tsr_grad(loss_of(params, x), NULL, tensors, 4, wanted));
  CHECK_OK(tsr_params_grad(params, loss_of(params, x), NULL));
  for (int i = 0; i < 4; i++) CHECK(same(tsr_params_gradient(params, i), wanted[i]));
  CHECK_OK(tsr_params_grad_add(params, loss_of(params, x), NULL));
  for (int i = 0; i < 4; i++) CHECK(same(tsr_params_gradient(params, i), tsr_mul_scalar(wanted[i], 2)));
  CHECK_STATUS(tsr_params_grad(params, tsr_sum(tensors[1], NULL, 0, false), NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_grad_end());
  for (int i = 0; i < 4; i++) CHECK(same(tsr_params_gradient(params, i), tsr_mul_scalar(wanted[i], 2)));
  tsr_params_release(params);
  finish();
}

static uint64_t launches(void) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(dev, &counters));
  return counters.launches;
}

TEST(gradients_are_computed_where_they_stay) {
  begin();
  tsr_params *params = make(TSR_F32, 3);
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(5, 50), 4), *tensors[4], *gradients[4];
  uint64_t counts[2] = {0};
  CHECK_OK(tsr_evaluate(x));
  for (int i = 0; i < 4; i++) tensors[i] = tsr_params_tensor(params, i);
  for (int is_set = 0; is_set < 2; is_set++) {
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_params_watch(params));
    tsr_tensor *loss = loss_of(params, x);
    if (is_set) CHECK_OK(tsr_params_grad(params, loss, NULL));
    else CHECK_OK(tsr_grad(loss, NULL, tensors, 4, gradients));
    CHECK_OK(tsr_grad_end());
    for (int i = 0; is_set && i < 4; i++) gradients[i] = tsr_params_gradient(params, i);
    uint64_t before = launches();
    CHECK_OK(tsri_graph_run_all(gradients, 4));
    counts[is_set] = launches() - before;
  }
  CHECK_EQ_UINT(counts[1], counts[0]);  // no copies
  tsr_params_release(params);
  finish();
}

TEST(writing_to_a_whole_runs_the_readers_of_its_parts_first) {
  begin();
  tsr_params *params = make(TSR_F32, 3), *zeros = NULL;
  tsr_param_desc none[4];
  for (int i = 0; i < 4; i++) none[i] = (tsr_param_desc){.name = network[i].name, .shape = network[i].shape};
  CHECK_OK(tsr_params_create(dev, TSR_F32, none, 4, 0, &zeros));
  tsr_tensor *before = tsr_add_scalar(tsr_params_find(params, "norm.weight"), 1);  // pending
  CHECK_OK(tsr_params_copy(params, zeros));
  tsr_tensor *after = tsr_add_scalar(tsr_params_find(params, "norm.weight"), 1);
  double sums[2] = {0};
  CHECK_OK(tsr_item(tsr_sum(before, NULL, 0, false), &sums[0]));
  CHECK_OK(tsr_item(tsr_sum(after, NULL, 0, false), &sums[1]));
  CHECK(sums[0] == 80 && sums[1] == 40);
  tsr_params_release(params);
  tsr_params_release(zeros);
  finish();
}
