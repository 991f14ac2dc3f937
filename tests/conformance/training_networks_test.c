// SPDX-License-Identifier: MIT
// Trains two networks for some steps. On the CPU, in deterministic mode, the results have the same bits whether steps are recorded anew or captured, fused or
// run one operator at a time. On other devices the losses differ from the CPU's by roundings only.
#include <stdlib.h>
#include <string.h>

#include "support/devices.h"
#include "support/test.h"

enum { STEPS = 6, MOST_ELEMENTS = 40000 };

typedef struct network {
  const char *name;
  const tsr_param_desc *tensors;
  int tensor_count;
  tsr_tensor *(*loss)(const tsr_params *params, tsr_device *device);
  bool is_mixed;  // products in bf16
  tsr_optim_desc optim;
} network;

static tsr_tensor *found(const tsr_params *params, const char *name) { return tsr_params_find(params, name); }

// --- Images -------------------------------------------------------------------------------------------------------------

static const tsr_param_desc image_tensors[] = {
    {.name = "conv1.weight", .shape = {4, {8, 1, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "conv1.bias", .shape = {1, {8}}, .init = TSR_INIT_UNIFORM, .value = 0.1},
    {.name = "norm.weight", .shape = {1, {8}}, .init = TSR_INIT_ONES},
    {.name = "norm.bias", .shape = {1, {8}}, .init = TSR_INIT_ZEROS},
    {.name = "conv2.weight", .shape = {4, {12, 8, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "hidden.weight", .shape = {2, {24, 12 * 4 * 4}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "hidden.bias", .shape = {1, {24}}, .init = TSR_INIT_ZEROS},
    {.name = "out.weight", .shape = {2, {10, 24}}, .init = TSR_INIT_XAVIER_UNIFORM},
};

static tsr_tensor *image_loss(const tsr_params *p, tsr_device *device) {
  tsr_tensor *x = tsr_randn(device, TSR_F32, TSR_SHAPE(19, 1, 16, 16), 1);
  tsr_tensor *labels = tsr_randint(device, TSR_I32, TSR_SHAPE(19), 0, 10, 2);
  const tsr_conv_desc same = {.padding = TSR_PADDING_SAME};
  const tsr_pool_desc halves = {.size = {2, 2}};
  x = tsr_conv(x, found(p, "conv1.weight"), found(p, "conv1.bias"), &same);
  x = tsr_group_norm(x, 2, found(p, "norm.weight"), found(p, "norm.bias"), 1e-5);
  x = tsr_max_pool(tsr_relu(x), &halves);
  x = tsr_avg_pool(tsr_gelu(tsr_conv(x, found(p, "conv2.weight"), NULL, &same)), &halves);
  x = tsr_dropout(tsr_reshape(x, TSR_SHAPE(19, -1)), 0.2, 3);
  x = tsr_tanh(tsr_linear(x, found(p, "hidden.weight"), found(p, "hidden.bias"), NULL));
  return tsr_cross_entropy(tsr_linear(x, found(p, "out.weight"), NULL, NULL), labels, 1, NULL);
}

// --- Text ---------------------------------------------------------------------------------------------------------------

enum { TOKENS = 21, WIDTH = 32, HEADS = 4, LETTERS = 27 };

static const tsr_param_desc text_tensors[] = {
    {.name = "letters", .shape = {2, {LETTERS, WIDTH}}, .init = TSR_INIT_NORMAL, .value = 0.5},
    {.name = "norm1", .shape = {1, {WIDTH}}, .init = TSR_INIT_ONES},
    {.name = "query", .shape = {2, {WIDTH, WIDTH}}, .init = TSR_INIT_XAVIER_NORMAL},
    {.name = "key", .shape = {2, {WIDTH, WIDTH}}, .init = TSR_INIT_XAVIER_NORMAL},
    {.name = "value", .shape = {2, {WIDTH, WIDTH}}, .init = TSR_INIT_XAVIER_NORMAL},
    {.name = "norm2.weight", .shape = {1, {WIDTH}}, .init = TSR_INIT_ONES},
    {.name = "norm2.bias", .shape = {1, {WIDTH}}, .init = TSR_INIT_ZEROS},
    {.name = "up.weight", .shape = {2, {3 * WIDTH, WIDTH}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "up.bias", .shape = {1, {3 * WIDTH}}, .init = TSR_INIT_ZEROS},
    {.name = "down.weight", .shape = {2, {WIDTH, 3 * WIDTH}}, .init = TSR_INIT_TRUNCATED_NORMAL, .value = 0.1},
};

static tsr_tensor *by_heads(tsr_tensor *x, tsr_tensor *weight) {
  return tsr_transpose(tsr_reshape(tsr_linear(x, weight, NULL, NULL), TSR_SHAPE(3, TOKENS, HEADS, WIDTH / HEADS)), 1,
                       2);
}

static tsr_tensor *text_loss(const tsr_params *p, tsr_device *device) {
  tsr_tensor *letters = tsr_randint(device, TSR_I32, TSR_SHAPE(3, TOKENS + 1), 0, LETTERS, 4);
  tsr_tensor *given = tsr_slice(letters, 1, 0, TOKENS, 1), *next = tsr_slice(letters, 1, 1, TOKENS + 1, 1);
  tsr_tensor *x = tsr_embedding(found(p, "letters"), given);
  tsr_tensor *y = tsr_rms_norm(x, found(p, "norm1"), 1e-6);
  tsr_tensor *seen = tsr_attention(by_heads(y, found(p, "query")), by_heads(y, found(p, "key")),
                                   by_heads(y, found(p, "value")), NULL, &(tsr_attention_desc){.causal = true});
  x = tsr_add(x, tsr_reshape(tsr_transpose(seen, 1, 2), TSR_SHAPE(3, TOKENS, WIDTH)));
  y = tsr_layer_norm(x, found(p, "norm2.weight"), found(p, "norm2.bias"), 1e-5);
  y = tsr_silu(tsr_linear(y, found(p, "up.weight"), found(p, "up.bias"), NULL));
  x = tsr_add(x, tsr_linear(y, found(p, "down.weight"), NULL, NULL));
  tsr_tensor *logits = tsr_reshape(tsr_linear(x, found(p, "letters"), NULL, NULL), TSR_SHAPE(3 * TOKENS, LETTERS));
  return tsr_cross_entropy(logits, tsr_reshape(next, TSR_SHAPE(3 * TOKENS)), 1, NULL);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))
enum { IMAGES, TEXT, MIXED_TEXT };
static const network networks[] = {
    [IMAGES] = {.name = "images",
                .tensors = image_tensors,
                .tensor_count = COUNT(image_tensors),
                .loss = image_loss,
                .optim = {.kind = TSR_ADAMW,
                          .rate = 0.01,
                          .clip_norm = 1,
                          .schedule = {TSR_SCHEDULE_COSINE, .warmup = 2, .period = 6}}},
    [TEXT] = {.name = "text",
              .tensors = text_tensors,
              .tensor_count = COUNT(text_tensors),
              .loss = text_loss,
              .optim = {.kind = TSR_SGD, .rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}},
    [MIXED_TEXT] = {.name = "text in bf16",
                    .tensors = text_tensors,
                    .tensor_count = COUNT(text_tensors),
                    .loss = text_loss,
                    .is_mixed = true,
                    .optim = {.kind = TSR_LION, .rate = 0.001}},
};

// --- Training -----------------------------------------------------------------------------------------------------------

typedef struct outcome {
  float losses[STEPS];
  float parameters[MOST_ELEMENTS];
} outcome;

static void record_step(const network *net, tsr_params *params, tsr_optim *optim, tsr_tensor **out_loss) {
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(params));
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_params_watch(params));
  CHECK_OK(tsr_autocast_begin(net->is_mixed ? TSR_BF16 : TSR_F32));
  *out_loss = tsr_keep(net->loss(params, tsr_params_device(params)));
  CHECK_OK(tsr_autocast_end());
  CHECK_OK(tsr_params_grad(params, *out_loss, NULL));
  CHECK_OK(tsr_grad_end());
  CHECK_OK(tsr_scope_end(scope));
  CHECK_OK(tsr_optim_step(optim));
}

static void train_captured(const network *net, tsr_params *params, tsr_optim *optim, float *losses) {
  tsr_tensor *loss = NULL;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(tsr_params_device(params)));
  record_step(net, params, optim, &loss);
  CHECK_OK(tsr_capture_end(&loss, 1, &step));
  for (int i = 0; i < STEPS; i++) {
    if (i > 0) CHECK_OK(tsr_capture_run(step));
    CHECK_OK(tsr_read(loss, &losses[i], sizeof *losses));
  }
  tsr_capture_release(step);
  tsr_release(loss);
}

static void train_plainly(const network *net, tsr_params *params, tsr_optim *optim, float *losses) {
  for (int i = 0; i < STEPS; i++) {
    tsr_tensor *loss = NULL;
    record_step(net, params, optim, &loss);
    CHECK_OK(tsr_read(loss, &losses[i], sizeof *losses));
    tsr_release(loss);
  }
}

static void read_all(const tsr_params *params, float *out) {
  for (int i = 0; i < tsr_params_count(params); i++) {
    tsr_tensor *t = tsr_params_tensor(params, i);
    int64_t count = tsr_tensor_count(t);
    CHECK_OK(tsr_read(t, out, (size_t)count * sizeof *out));
    out += count;
    tsr_release(t);
  }
}

static void train_on(tsr_device *device, const network *net, bool is_captured, outcome *out) {
  memset(out, 0, sizeof *out);
  tsr_params *params = NULL;
  tsr_optim *optim = NULL;
  CHECK_OK(tsr_params_create(device, TSR_F32, net->tensors, net->tensor_count, 5, &params));
  CHECK(tsr_params_element_count(params) <= MOST_ELEMENTS);
  CHECK_OK(tsr_optim_create(params, &net->optim, &optim));
  (is_captured ? train_captured : train_plainly)(net, params, optim, out->losses);
  read_all(params, out->parameters);
  tsr_optim_release(optim);
  tsr_params_release(params);
}

// --- Bits ---------------------------------------------------------------------------------------------------------------

static void train_deterministically(const network *net, bool is_eager, bool is_captured, outcome *out) {
  if (is_eager) CHECK_OK(tsr_config_set("eager", "on"));
  CHECK_OK(tsr_config_set("deterministic", "on"));
  tsr_device *device = test_open("cpu");
  CHECK_OK(tsr_config_set("eager", NULL));
  CHECK_OK(tsr_config_set("deterministic", NULL));
  train_on(device, net, is_captured, out);
  tsr_device_release(device);
}

static void compare(const network *net, const outcome *wanted, bool is_eager, bool is_captured) {
  static outcome other;
  train_deterministically(net, is_eager, is_captured, &other);
  for (int i = 0; i < STEPS; i++) {
    if (other.losses[i] == wanted->losses[i]) continue;
    test_fail(__FILE__, __LINE__, "%s, %s, %s: loss %d is %.9g, not %.9g", net->name, is_eager ? "eager" : "fused",
              is_captured ? "captured" : "recorded", i, (double)other.losses[i], (double)wanted->losses[i]);
  }
  CHECK(memcmp(other.parameters, wanted->parameters, sizeof other.parameters) == 0);
}

static void check_bits(const network *net) {
  static outcome wanted;
  train_deterministically(net, false, false, &wanted);
  CHECK(wanted.losses[STEPS - 1] < 0.99f * wanted.losses[0]);
  for (int mode = 1; mode < 4; mode++) compare(net, &wanted, mode & 1, mode & 2);
}

TEST(images_are_learned_with_the_same_bits_captured_or_not_fused_or_eager) { check_bits(&networks[IMAGES]); }
TEST(text_is_learned_with_the_same_bits_captured_or_not_fused_or_eager) { check_bits(&networks[TEXT]); }
TEST(text_is_learned_in_bf16_with_the_same_bits_captured_or_not_fused_or_eager) { check_bits(&networks[MIXED_TEXT]); }

// --- Devices ------------------------------------------------------------------------------------------------------------

// Drivers that emulate a device take minutes to build so many kernels: TSR_TEST_SAMPLE=1 runs them, too.
static void check_device(tsr_device *device) {
  static outcome wanted, found_there;
  const char *sample = getenv("TSR_TEST_SAMPLE");
  tsr_device_info info;
  CHECK_OK(tsr_device_get_info(device, &info));
  bool is_due = !info.is_software || (sample && strcmp(sample, "1") == 0);
  if (!is_due || !test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  for (int n = 0; n < COUNT(networks); n++) {
    double bound = networks[n].is_mixed ? 2e-2 : 1e-4;  // of the loss; stated in docs/training.md
    train_on(cpu, &networks[n], true, &wanted);
    train_on(device, &networks[n], true, &found_there);
    for (int i = 0; i < STEPS; i++) {
      CHECK_NEAR(found_there.losses[i], wanted.losses[i], bound * (double)wanted.losses[i]);
    }
  }
  tsr_device_release(cpu);
}

TEST(the_networks_have_the_same_losses_on_every_device) { test_on_every_device(check_device); }
