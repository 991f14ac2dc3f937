// SPDX-License-Identifier: MIT
// Times a training step of two transformers that predict the next token. Their blocks are those of GPT-2: causal attention, then two linear layers with gelu
// between them; each of the two parts has a layer norm before it and a residual connection. train.h describes the command line.
//
// characters: 4 layers 128 wide with 4 heads, 128 words, 32 x 128 tokens, f32.
// gpt2:       12 layers 768 wide with 12 heads, 50257 words, 8 x 1024 tokens, bf16 by autocast.
#include "train.h"

enum { MOST_LAYERS = 12, TENSORS_BEFORE = 2, TENSORS_PER_LAYER = 12, TENSORS_AFTER = 3 };
enum { MOST_TENSORS = TENSORS_BEFORE + MOST_LAYERS * TENSORS_PER_LAYER + TENSORS_AFTER };

typedef struct text_sizes {
  int layers, width, heads, words, length;
} text_sizes;

static const text_sizes characters = {4, 128, 4, 128, 128}, gpt2 = {12, 768, 12, 50257, 1024};

static tsr_tensor *tokens, *next_tokens;  // [batch, length] and [batch * length]

// --- Parameters ------------------------------------------------------------------------------------------------------

// The tensors of a layer, in this order.
enum { NORM1_W, NORM1_B, LOOK_W, LOOK_B, FOUND_W, FOUND_B, NORM2_W, NORM2_B, UP_W, UP_B, DOWN_W, DOWN_B };

static tsr_params *begin(tsr_device *device, const text_sizes *s, int64_t batch) {
  static char names[MOST_TENSORS][32];
  const int64_t w = s->width;
  const tsr_param_desc layer[TENSORS_PER_LAYER] = {
      {.name = "norm1.w", .shape = TSR_SHAPE(w), .init = TSR_INIT_ONES},
      {.name = "norm1.b", .shape = TSR_SHAPE(w)},
      {.name = "look.w", .shape = TSR_SHAPE(3 * w, w), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "look.b", .shape = TSR_SHAPE(3 * w)},
      {.name = "found.w", .shape = TSR_SHAPE(w, w), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "found.b", .shape = TSR_SHAPE(w)},
      {.name = "norm2.w", .shape = TSR_SHAPE(w), .init = TSR_INIT_ONES},
      {.name = "norm2.b", .shape = TSR_SHAPE(w)},
      {.name = "up.w", .shape = TSR_SHAPE(4 * w, w), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "up.b", .shape = TSR_SHAPE(4 * w)},
      {.name = "down.w", .shape = TSR_SHAPE(w, 4 * w), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "down.b", .shape = TSR_SHAPE(w)},
  };
  tsr_param_desc tensors[MOST_TENSORS] = {
      {.name = "words", .shape = TSR_SHAPE(s->words, w), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "places", .shape = TSR_SHAPE(s->length, w), .init = TSR_INIT_NORMAL, .value = 0.02},
  };
  int count = TENSORS_BEFORE;
  for (int i = 0; i < s->layers * TENSORS_PER_LAYER; i++, count++) {
    tensors[count] = layer[i % TENSORS_PER_LAYER];
    snprintf(names[count], sizeof names[count], "%d.%s", i / TENSORS_PER_LAYER, tensors[count].name);
    tensors[count].name = names[count];
  }
  tensors[count++] = (tsr_param_desc){.name = "norm.w", .shape = TSR_SHAPE(w), .init = TSR_INIT_ONES};
  tensors[count++] = (tsr_param_desc){.name = "norm.b", .shape = TSR_SHAPE(w)};
  tensors[count++] =
      (tsr_param_desc){.name = "score", .shape = TSR_SHAPE(s->words, w), .init = TSR_INIT_NORMAL, .value = 0.02};
  tsr_params *params = NULL;
  bench_check(tsr_params_create(device, TSR_F32, tensors, count, /*seed=*/1, &params), "making parameters");
  int64_t all = batch * s->length;
  tokens = bench_labels(device, TSR_SHAPE(batch, s->length), all, s->words);
  next_tokens = tsr_mod_scalar(tsr_add_scalar(tsr_reshape(tokens, TSR_SHAPE(all)), 1), s->words);
  bench_check(tsr_evaluate(next_tokens), "making labels");
  return params;
}

// --- The network -----------------------------------------------------------------------------------------------------

// Selects the queries (part 0), keys (1) or values (2) of x, [batch, length, 3 * width]. Returns [batch, heads, length, width of a head].
static tsr_tensor *by_heads(const text_sizes *s, tsr_tensor *x, int part) {
  tsr_tensor *piece = tsr_slice(x, 2, part * s->width, (part + 1) * s->width, 1);
  return tsr_transpose(tsr_reshape(piece, TSR_SHAPE(-1, s->length, s->heads, s->width / s->heads)), 1, 2);
}

static tsr_tensor *run_layer(const text_sizes *s, tsr_tensor *x, const tsr_params *params, int first) {
  static const tsr_attention_desc causal = {.causal = true};
  tsr_tensor *p[TENSORS_PER_LAYER];
  for (int i = 0; i < TENSORS_PER_LAYER; i++) p[i] = tsr_params_tensor(params, first + i);
  tsr_tensor *look = tsr_linear(tsr_layer_norm(x, p[NORM1_W], p[NORM1_B], 1e-5), p[LOOK_W], p[LOOK_B], NULL);
  tsr_tensor *found = tsr_attention(by_heads(s, look, 0), by_heads(s, look, 1), by_heads(s, look, 2), NULL, &causal);
  found = tsr_reshape(tsr_transpose(found, 1, 2), TSR_SHAPE(-1, s->length, s->width));
  x = tsr_add(x, tsr_linear(found, p[FOUND_W], p[FOUND_B], NULL));
  tsr_tensor *up = tsr_linear(tsr_layer_norm(x, p[NORM2_W], p[NORM2_B], 1e-5), p[UP_W], p[UP_B], NULL);
  return tsr_add(x, tsr_linear(tsr_gelu_tanh(up), p[DOWN_W], p[DOWN_B], NULL));
}

static tsr_tensor *loss_of(const text_sizes *s, const tsr_params *params) {
  tsr_tensor *x = tsr_add(tsr_embedding(tsr_params_tensor(params, 0), tokens), tsr_params_tensor(params, 1));
  int at = TENSORS_BEFORE;
  for (int i = 0; i < s->layers; i++, at += TENSORS_PER_LAYER) x = run_layer(s, x, params, at);
  x = tsr_layer_norm(x, tsr_params_tensor(params, at), tsr_params_tensor(params, at + 1), 1e-5);
  tsr_tensor *scores = tsr_linear(x, tsr_params_tensor(params, at + 2), NULL, NULL);
  return tsr_cross_entropy(tsr_reshape(scores, TSR_SHAPE(-1, s->words)), next_tokens, 1, NULL);
}

static tsr_params *begin_characters(tsr_device *device, int64_t batch) { return begin(device, &characters, batch); }
static tsr_params *begin_gpt2(tsr_device *device, int64_t batch) { return begin(device, &gpt2, batch); }

static tsr_tensor *characters_loss(const tsr_params *params) { return loss_of(&characters, params); }

static tsr_tensor *gpt2_loss(const tsr_params *params) {
  bench_check(tsr_autocast_begin(TSR_BF16), "autocast");
  tsr_tensor *loss = loss_of(&gpt2, params);
  tsr_autocast_end();
  return loss;
}

int main(int count, char **arguments) {
  static const bench_model models[] = {{"characters", 32, begin_characters, characters_loss},
                                       {"gpt2", 8, begin_gpt2, gpt2_loss}};
  return bench_train_main(count, arguments, models, 2);
}
