// SPDX-License-Identifier: MIT
// Times a training step of two networks on images: digits (a small network in f32) and resnet18 (224 x 224, bf16 by autocast, channels last). train.h has the command line.
#include "train.h"

static tsr_tensor *images, *labels;

static tsr_tensor *made(tsr_tensor *tensor) {
  bench_check(tsr_evaluate(tensor), "making a tensor");
  return tensor;
}

// --- digits -----------------------------------------------------------------------------------------------------------

// conv 1 -> 16 -> 32, 3 x 3, each with relu and pooling by 2; 1568 -> 128 -> 10.
static tsr_params *begin_digits(tsr_device *device, int64_t batch) {
  static const tsr_param_desc tensors[] = {
      {.name = "conv1", .shape = {4, {16, 1, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
      {.name = "conv1.bias", .shape = {1, {16}}},
      {.name = "conv2", .shape = {4, {32, 16, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
      {.name = "conv2.bias", .shape = {1, {32}}},
      {.name = "hidden", .shape = {2, {128, 1568}}, .init = TSR_INIT_HE_NORMAL},
      {.name = "hidden.bias", .shape = {1, {128}}},
      {.name = "digit", .shape = {2, {10, 128}}, .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "digit.bias", .shape = {1, {10}}},
  };
  tsr_params *params = NULL;
  bench_check(tsr_params_create(device, TSR_F32, tensors, 8, 1, &params), "making parameters");
  images = made(tsr_randn(device, TSR_F32, TSR_SHAPE(batch, 1, 28, 28), 7));
  labels = bench_labels(device, TSR_SHAPE(batch), batch, 10);
  return params;
}

static tsr_tensor *digits_loss(const tsr_params *params) {
  const tsr_conv_desc same = {.padding = TSR_PADDING_SAME};
  const tsr_pool_desc half = {.size = {2, 2}};
  tsr_tensor *p[8], *x = images;
  for (int i = 0; i < 8; i++) p[i] = tsr_params_tensor(params, i);
  for (int i = 0; i < 4; i += 2) x = tsr_max_pool(tsr_relu(tsr_conv(x, p[i], p[i + 1], &same)), &half);
  x = tsr_reshape(x, TSR_SHAPE(-1, 1568));
  x = tsr_relu(tsr_linear(x, p[4], p[5], NULL));
  return tsr_cross_entropy(tsr_linear(x, p[6], p[7], NULL), labels, 1, NULL);
}

// --- resnet18 ---------------------------------------------------------------------------------------------------------

// Convolutions in the order in which they run, each followed by a norm. The parameters of number i are 3 i (weight), 3 i + 1 and 3 i + 2 (those of the norm).
typedef struct conv_layer {
  int64_t in, out, size, stride;
} conv_layer;

enum { STAGES = 4, BLOCKS = 2, LAYERS = 20, CLASSES = 1000, SIDE = 224 };

static conv_layer layers[LAYERS];
static tsr_tensor *running_mean[LAYERS], *running_variance[LAYERS];

static bool has_shortcut(int stage, int block) { return stage > 0 && block == 0; }

static void list_layers(void) {
  int count = 0;
  int64_t channels = 64;
  layers[count++] = (conv_layer){3, channels, 7, 2};
  for (int stage = 0; stage < STAGES; stage++) {
    int64_t out = 64 << stage;
    for (int block = 0; block < BLOCKS; block++) {
      int64_t stride = has_shortcut(stage, block) ? 2 : 1;
      layers[count++] = (conv_layer){channels, out, 3, stride};
      layers[count++] = (conv_layer){out, out, 3, 1};
      if (has_shortcut(stage, block)) layers[count++] = (conv_layer){channels, out, 1, stride};
      channels = out;
    }
  }
}

static tsr_params *begin_resnet(tsr_device *device, int64_t batch) {
  enum { TENSORS = 3 * LAYERS + 2 };
  static char names[TENSORS][24];
  tsr_param_desc tensors[TENSORS];
  tsr_params *params = NULL;
  list_layers();
  for (int i = 0; i < LAYERS; i++) {
    const conv_layer *c = &layers[i];
    snprintf(names[3 * i], sizeof names[0], "conv%d", i);
    snprintf(names[3 * i + 1], sizeof names[0], "norm%d", i);
    snprintf(names[3 * i + 2], sizeof names[0], "norm%d.bias", i);
    tensors[3 * i] = (tsr_param_desc){
        .name = names[3 * i], .shape = TSR_SHAPE(c->out, c->size, c->size, c->in), .init = TSR_INIT_HE_NORMAL};
    tensors[3 * i + 1] = (tsr_param_desc){.name = names[3 * i + 1], .shape = TSR_SHAPE(c->out), .init = TSR_INIT_ONES};
    tensors[3 * i + 2] = (tsr_param_desc){.name = names[3 * i + 2], .shape = TSR_SHAPE(c->out)};
    running_mean[i] = made(tsr_zeros(device, TSR_F32, TSR_SHAPE(c->out)));
    running_variance[i] = made(tsr_ones(device, TSR_F32, TSR_SHAPE(c->out)));
  }
  tensors[3 * LAYERS] =
      (tsr_param_desc){.name = "class", .shape = TSR_SHAPE(CLASSES, 512), .init = TSR_INIT_XAVIER_NORMAL};
  tensors[3 * LAYERS + 1] = (tsr_param_desc){.name = "class.bias", .shape = TSR_SHAPE(CLASSES)};
  bench_check(tsr_params_create(device, TSR_F32, tensors, TENSORS, 1, &params), "making parameters");
  images = made(tsr_randn(device, TSR_F32, TSR_SHAPE(batch, SIDE, SIDE, 3), 7));
  labels = bench_labels(device, TSR_SHAPE(batch), batch, CLASSES);
  return params;
}

// x: [image, row, column, channel]. The norm expects channels as axis 1, so it is given all positions of all images as rows.
static tsr_tensor *conv_norm(const tsr_params *params, int number, tsr_tensor *x) {
  const conv_layer *c = &layers[number];
  int64_t pad = c->size / 2;
  tsr_conv_desc desc = {
      .stride = {c->stride, c->stride}, .before = {pad, pad}, .after = {pad, pad}, .channels_last = true};
  tsr_tensor *weight = tsr_moveaxis(tsr_params_tensor(params, 3 * number), -1, 1);  // channels last in memory, too
  tsr_tensor *y = tsr_conv(x, weight, NULL, &desc), *normed = NULL;
  tsr_tensor *rows = tsr_reshape(y, TSR_SHAPE(-1, c->out));
  bench_check(tsr_batch_norm_train(rows, running_mean[number], running_variance[number],
                                   tsr_params_tensor(params, 3 * number + 1), tsr_params_tensor(params, 3 * number + 2),
                                   0.1, 1e-5, &normed),
              "a norm");
  return tsr_reshape(normed, tsr_tensor_shape(y));
}

static tsr_tensor *resnet_scores(const tsr_params *params) {
  const tsr_pool_desc half = {
      .size = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}, .channels_last = true};
  tsr_tensor *x = tsr_max_pool(tsr_relu(conv_norm(params, 0, images)), &half);
  int number = 1;
  for (int stage = 0; stage < STAGES; stage++) {
    for (int block = 0; block < BLOCKS; block++) {
      tsr_tensor *y = tsr_relu(conv_norm(params, number, x)), *shortcut = x;
      y = conv_norm(params, number + 1, y);
      number += 2;
      if (has_shortcut(stage, block)) shortcut = conv_norm(params, number++, x);
      x = tsr_relu(tsr_add(y, shortcut));
    }
  }
  tsr_tensor *features = tsr_mean(x, (const int[]){1, 2}, 2, false);
  return tsr_linear(features, tsr_params_tensor(params, 3 * LAYERS), tsr_params_tensor(params, 3 * LAYERS + 1), NULL);
}

static tsr_tensor *resnet_loss(const tsr_params *params) {
  bench_check(tsr_autocast_begin(TSR_BF16), "autocast");
  tsr_tensor *loss = tsr_cross_entropy(resnet_scores(params), labels, 1, NULL);
  tsr_autocast_end();
  return loss;
}

int main(int count, char **arguments) {
  static const bench_model models[] = {{"digits", 128, begin_digits, digits_loss},
                                       {"resnet18", 64, begin_resnet, resnet_loss}};
  return bench_train_main(count, arguments, models, 2);
}
