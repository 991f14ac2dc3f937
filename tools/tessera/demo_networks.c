// SPDX-License-Identifier: MIT
// The two networks of `tessera demo`.
#include "demo_networks.h"

enum { CHANNELS_1 = 16, CHANNELS_2 = 32, FLAT = CHANNELS_2 * 7 * 7, HIDDEN = 128, CLASSES = 10 };
enum { WIDTH = DEMO_BLOCK_WIDTH, HEADS = 4, INNER = 4 * WIDTH };

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

// --- Digits ----------------------------------------------------------------------------------------------------------------

tsr_status demo_reader_create(tsr_device *device, uint64_t seed, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "conv1.weight", .shape = TSR_SHAPE(CHANNELS_1, 1, 3, 3), .init = TSR_INIT_HE_NORMAL},
      {.name = "conv1.bias", .shape = TSR_SHAPE(CHANNELS_1), .init = TSR_INIT_ZEROS},
      {.name = "conv2.weight", .shape = TSR_SHAPE(CHANNELS_2, CHANNELS_1, 3, 3), .init = TSR_INIT_HE_NORMAL},
      {.name = "conv2.bias", .shape = TSR_SHAPE(CHANNELS_2), .init = TSR_INIT_ZEROS},
      {.name = "hidden.weight", .shape = TSR_SHAPE(HIDDEN, FLAT), .init = TSR_INIT_HE_NORMAL},
      {.name = "hidden.bias", .shape = TSR_SHAPE(HIDDEN), .init = TSR_INIT_ZEROS},
      {.name = "output.weight", .shape = TSR_SHAPE(CLASSES, HIDDEN), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "output.bias", .shape = TSR_SHAPE(CLASSES), .init = TSR_INIT_ZEROS},
  };
  return tsr_params_create(device, TSR_F32, tensors, COUNT(tensors), seed, out_params);
}

static tsr_tensor *convolve(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias) {
  tsr_tensor *y = tsr_relu(tsr_conv(x, weight, bias, &(tsr_conv_desc){.padding = TSR_PADDING_SAME}));
  return tsr_max_pool(y, &(tsr_pool_desc){.size = {2, 2}});
}

tsr_tensor *demo_reader(const tsr_params *params, tsr_tensor *images) {
  tsr_tensor *x = convolve(images, tsr_params_find(params, "conv1.weight"), tsr_params_find(params, "conv1.bias"));
  x = convolve(x, tsr_params_find(params, "conv2.weight"), tsr_params_find(params, "conv2.bias"));
  x = tsr_reshape(x, TSR_SHAPE(-1, FLAT));
  x = tsr_relu(tsr_linear(x, tsr_params_find(params, "hidden.weight"), tsr_params_find(params, "hidden.bias"), NULL));
  return tsr_linear(x, tsr_params_find(params, "output.weight"), tsr_params_find(params, "output.bias"), NULL);
}

// --- Transformer -------------------------------------------------------------------------------------------------------------

tsr_status demo_block_create(tsr_device *device, uint64_t seed, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "norm1.weight", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES},
      {.name = "norm1.bias", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ZEROS},
      {.name = "query.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "key.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "value.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "output.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "norm2.weight", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES},
      {.name = "norm2.bias", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ZEROS},
      {.name = "up.weight", .shape = TSR_SHAPE(INNER, WIDTH), .init = TSR_INIT_HE_NORMAL},
      {.name = "up.bias", .shape = TSR_SHAPE(INNER), .init = TSR_INIT_ZEROS},
      {.name = "down.weight", .shape = TSR_SHAPE(WIDTH, INNER), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "down.bias", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ZEROS},
  };
  return tsr_params_create(device, TSR_F32, tensors, COUNT(tensors), seed, out_params);
}

static tsr_tensor *normed(const tsr_params *params, tsr_tensor *x, const char *weight, const char *bias) {
  return tsr_layer_norm(x, tsr_params_find(params, weight), tsr_params_find(params, bias), 1e-5);
}

// Multiplies x, [batch, tokens, WIDTH], by a weight, and returns it as [batch, heads, tokens, WIDTH / heads].
static tsr_tensor *by_heads(const tsr_params *params, tsr_tensor *x, const char *weight) {
  tsr_shape shape = TSR_SHAPE(tsr_tensor_shape(x).dims[0], -1, HEADS, WIDTH / HEADS);
  return tsr_transpose(tsr_reshape(tsr_linear(x, tsr_params_find(params, weight), NULL, NULL), shape), 1, 2);
}

tsr_tensor *demo_block(const tsr_params *params, tsr_tensor *x) {
  tsr_shape shape = tsr_tensor_shape(x);
  tsr_tensor *y = normed(params, x, "norm1.weight", "norm1.bias");
  tsr_tensor *found = tsr_attention(by_heads(params, y, "query.weight"), by_heads(params, y, "key.weight"),
                                    by_heads(params, y, "value.weight"), NULL, &(tsr_attention_desc){.causal = true});
  found = tsr_reshape(tsr_transpose(found, 1, 2), shape);
  x = tsr_add(x, tsr_linear(found, tsr_params_find(params, "output.weight"), NULL, NULL));
  y = normed(params, x, "norm2.weight", "norm2.bias");
  y = tsr_gelu(tsr_linear(y, tsr_params_find(params, "up.weight"), tsr_params_find(params, "up.bias"), NULL));
  return tsr_add(x, tsr_linear(y, tsr_params_find(params, "down.weight"), tsr_params_find(params, "down.bias"), NULL));
}
