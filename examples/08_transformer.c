// SPDX-License-Identifier: MIT
// A small transformer that generates tokens: rotary positions, grouped heads, gated units, and a cache of keys and values that is written in
// place, so that each token costs one step. Its weights are random numbers, and so is what it says; the same on every device.
//
//   08_transformer [TOKENS]
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum {
  VOCABULARY = 48,
  WIDTH = 32,
  HEADS = 4,
  KV_HEADS = 2,
  SIZE = 8,
  INNER = 64,
  LAYERS = 2,
  CONTEXT = 64,
  PROMPT = 4
};

typedef struct layer {
  tsr_tensor *attention_norm, *query, *key, *value, *output;  // weights are [outputs, inputs]
  tsr_tensor *inner_norm, *gate, *up, *down;
  tsr_tensor *keys, *values;  // [1, KV_HEADS, CONTEXT, SIZE]: what was computed for earlier tokens
} layer;

typedef struct model {
  tsr_tensor *embedding, *norm;  // the embedding is also the last layer's weight
  layer layers[LAYERS];
} model;

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// --- Weights ---------------------------------------------------------------------------------------------------------

static tsr_tensor *weight(tsr_device *device, int64_t outputs, int64_t inputs, uint64_t *seed) {
  return tsr_mul_scalar(tsr_randn(device, TSR_F32, TSR_SHAPE(outputs, inputs), (*seed)++), 0.2);
}

static model make_model(tsr_device *device) {
  uint64_t seed = 1;
  model m = {.embedding = tsr_randn(device, TSR_F32, TSR_SHAPE(VOCABULARY, WIDTH), seed++),
             .norm = tsr_ones(device, TSR_F32, TSR_SHAPE(WIDTH))};
  for (int i = 0; i < LAYERS; i++) {
    m.layers[i] = (layer){.attention_norm = tsr_ones(device, TSR_F32, TSR_SHAPE(WIDTH)),
                          .query = weight(device, HEADS * SIZE, WIDTH, &seed),
                          .key = weight(device, KV_HEADS * SIZE, WIDTH, &seed),
                          .value = weight(device, KV_HEADS * SIZE, WIDTH, &seed),
                          .output = weight(device, WIDTH, HEADS * SIZE, &seed),
                          .inner_norm = tsr_ones(device, TSR_F32, TSR_SHAPE(WIDTH)),
                          .gate = weight(device, INNER, WIDTH, &seed),
                          .up = weight(device, INNER, WIDTH, &seed),
                          .down = weight(device, WIDTH, INNER, &seed),
                          .keys = tsr_zeros(device, TSR_F32, TSR_SHAPE(1, KV_HEADS, CONTEXT, SIZE)),
                          .values = tsr_zeros(device, TSR_F32, TSR_SHAPE(1, KV_HEADS, CONTEXT, SIZE))};
  }
  return m;
}

// --- One step ----------------------------------------------------------------------------------------------------------

// [tokens, heads * SIZE] as [1, heads, tokens, SIZE].
static tsr_tensor *by_heads(tsr_tensor *x, int64_t heads) {
  return tsr_transpose(tsr_reshape(x, TSR_SHAPE(1, -1, heads, SIZE)), 1, 2);
}

// What the tokens from position `start` on find in those up to `stop`. Their keys and values go into the cache first.
static tsr_tensor *attend(const layer *l, tsr_tensor *x, tsr_tensor *positions, int64_t start, int64_t stop) {
  tsr_tensor *q = tsr_rope(by_heads(tsr_linear(x, l->query, NULL, NULL), HEADS), positions, NULL);
  tsr_tensor *k = tsr_rope(by_heads(tsr_linear(x, l->key, NULL, NULL), KV_HEADS), positions, NULL);
  tsr_tensor *v = by_heads(tsr_linear(x, l->value, NULL, NULL), KV_HEADS);
  tsr_assign(tsr_slice(l->keys, 2, start, stop, 1), k);
  tsr_assign(tsr_slice(l->values, 2, start, stop, 1), v);
  tsr_tensor *found = tsr_attention(q, tsr_slice(l->keys, 2, 0, stop, 1), tsr_slice(l->values, 2, 0, stop, 1), NULL,
                                    &(tsr_attention_desc){.causal = true});
  return tsr_linear(tsr_reshape(tsr_transpose(found, 1, 2), TSR_SHAPE(stop - start, HEADS * SIZE)), l->output, NULL,
                    NULL);
}

static tsr_tensor *block(const layer *l, tsr_tensor *x, tsr_tensor *positions, int64_t start, int64_t stop) {
  tsr_tensor *sum = NULL, *normed = NULL;
  tsr_tensor *attended = attend(l, tsr_rms_norm(x, l->attention_norm, 1e-5), positions, start, stop);
  if (tsr_add_rms_norm(attended, x, l->inner_norm, 1e-5, &sum, &normed) != TSR_OK) return attended;
  tsr_tensor *inner = tsr_swiglu(tsr_linear(normed, l->gate, NULL, NULL), tsr_linear(normed, l->up, NULL, NULL));
  return tsr_linear(inner, l->down, NULL, &(tsr_linear_desc){.residual = sum});
}

// The token after the first `stop`, of which those before `start` are in the cache. Tokens that were said become less probable.
static tsr_status next_token(tsr_device *device, const model *m, const int32_t *said, int64_t start, int64_t stop,
                             int32_t *out_token) {
  size_t bytes = (size_t)stop * sizeof *said;
  tsr_tensor *all = tsr_from_data(device, TSR_I32, TSR_SHAPE(1, stop), said, bytes);
  tsr_tensor *x = tsr_embedding(m->embedding, tsr_slice(tsr_squeeze(all, 0), 0, start, stop, 1));
  tsr_tensor *positions = tsr_arange(device, TSR_I32, (double)start, (double)stop, 1);
  for (int i = 0; i < LAYERS; i++) x = block(&m->layers[i], x, positions, start, stop);
  tsr_tensor *last = tsr_rms_norm(tsr_slice(x, 0, -1, INT64_MAX, 1), m->norm, 1e-5);
  tsr_tensor *logits = tsr_repetition_penalty(tsr_linear(last, m->embedding, NULL, NULL), all, 1.5);
  tsr_sample_desc desc = {.temperature = 2, .top_k = 20, .top_p = 0.9};
  int64_t token = 0;
  tsr_status status = tsr_item_int(tsr_sample(logits, (uint64_t)stop, &desc), &token);
  *out_token = (int32_t)token;
  return status;
}

// --- Generating ----------------------------------------------------------------------------------------------------------

static tsr_status generate(tsr_device *device, int wanted) {
  int32_t said[CONTEXT + 1] = {7, 4, 1, 9};
  tsr_scope *all = tsr_scope_begin(device);
  model m = make_model(device);
  tsr_status status = TSR_OK;
  for (int64_t i = 0, start = 0; i < wanted && status == TSR_OK; i++) {
    int64_t stop = PROMPT + i;  // the whole prompt at first, then one token after the other
    tsr_scope *step = tsr_scope_begin(device);
    status = next_token(device, &m, said, start, stop, &said[stop]);
    tsr_scope_end(step);
    start = stop;
    if (status == TSR_OK) printf("%d%c", (int)said[stop], i + 1 < wanted ? ' ' : '\n');
  }
  tsr_scope_end(all);
  return status;
}

int main(int argc, char **argv) {
  tsr_device *device = NULL;
  int wanted = argc > 1 ? atoi(argv[1]) : 24;
  if (wanted > CONTEXT - PROMPT) wanted = CONTEXT - PROMPT;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_status status = generate(device, wanted);
  if (status != TSR_OK) return fail();
  tsr_device_release(device);
  return 0;
}
