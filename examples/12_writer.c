// SPDX-License-Identifier: MIT
// A small transformer learns to write, character by character, from the text files that it is given; then it writes. A minute on two cores
// gives words and Markdown that nearly mean something:
//
//   12_writer SECONDS FILE...
//   12_writer 60 docs/*.md
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "clock.h"
#include "step.h"

enum { LAYERS = 2, WIDTH = 128, HEADS = 4, CONTEXT = 64, BATCH = 16, WRITTEN = 600, TEXT_MOST = 4 << 20 };
enum { TENSORS_BEFORE = 2, TENSORS_PER_LAYER = 6, TENSORS = TENSORS_BEFORE + LAYERS * TENSORS_PER_LAYER + 1 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// --- Text ------------------------------------------------------------------------------------------------------------------

typedef struct corpus {
  char text[TEXT_MOST];
  size_t length;
  int codes[128];        // the number of each character that occurs
  char characters[128];  // and back
  int kinds;
} corpus;

static bool read_files(corpus *c, char **paths, int count) {
  for (int i = 0; i < count; i++) {
    FILE *file = fopen(paths[i], "rb");
    if (!file) {
      perror(paths[i]);
      return false;
    }
    for (int next = fgetc(file); next != EOF && c->length < sizeof c->text; next = fgetc(file)) {
      if (next < 128) c->text[c->length++] = (char)next;  // letters with accents are several bytes each, and rare
    }
    fclose(file);
  }
  bool occurs[128] = {false};
  for (size_t i = 0; i < c->length; i++) occurs[(unsigned char)c->text[i]] = true;
  for (int i = 0; i < 128; i++) {
    c->codes[i] = c->kinds;
    if (occurs[i]) c->characters[c->kinds++] = (char)i;
  }
  return c->length > 10 * CONTEXT;
}

// Each row is a random piece of the text, and the same one character later.
static void choose_batch(const corpus *c, uint64_t *random, int32_t *x, int32_t *next) {
  for (int row = 0; row < BATCH; row++) {
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const char *from = c->text + (*random >> 33) % (c->length - CONTEXT - 1);
    for (int i = 0; i < CONTEXT; i++) {
      x[row * CONTEXT + i] = c->codes[(unsigned char)from[i]];
      next[row * CONTEXT + i] = c->codes[(unsigned char)from[i + 1]];
    }
  }
}

// --- The network -------------------------------------------------------------------------------------------------------------

static tsr_status make_network(tsr_device *device, int kinds, tsr_params **out_params) {
  static char names[TENSORS][32];
  tsr_param_desc tensors[TENSORS] = {
      {.name = "characters", .shape = TSR_SHAPE(kinds, WIDTH), .init = TSR_INIT_NORMAL, .value = 0.02},
      {.name = "places", .shape = TSR_SHAPE(CONTEXT, WIDTH), .init = TSR_INIT_NORMAL, .value = 0.02},
  };
  const tsr_param_desc layer[TENSORS_PER_LAYER] = {
      {.name = "norm1", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES},
      {.name = "look", .shape = TSR_SHAPE(3 * WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "found", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL, .value = 0.5},
      {.name = "norm2", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES},
      {.name = "up", .shape = TSR_SHAPE(4 * WIDTH, WIDTH), .init = TSR_INIT_HE_NORMAL},
      {.name = "down", .shape = TSR_SHAPE(WIDTH, 4 * WIDTH), .init = TSR_INIT_XAVIER_NORMAL, .value = 0.5},
  };
  for (int i = 0; i < LAYERS * TENSORS_PER_LAYER; i++) {
    int at = TENSORS_BEFORE + i;
    tensors[at] = layer[i % TENSORS_PER_LAYER];
    snprintf(names[at], sizeof names[at], "%d.%s", i / TENSORS_PER_LAYER, tensors[at].name);
    tensors[at].name = names[at];
  }
  tensors[TENSORS - 1] = (tsr_param_desc){.name = "norm", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES};
  return tsr_params_create(device, TSR_F32, tensors, TENSORS, 1, out_params);
}

// [rows, CONTEXT, WIDTH], of which part 0, 1 or 2 of the last axis is for queries, keys or values: [rows, HEADS, CONTEXT, WIDTH / HEADS].
static tsr_tensor *by_heads(tsr_tensor *x, int part) {
  tsr_tensor *piece = tsr_slice(x, 2, part * WIDTH, (part + 1) * WIDTH, 1);
  return tsr_transpose(tsr_reshape(piece, TSR_SHAPE(-1, CONTEXT, HEADS, WIDTH / HEADS)), 1, 2);
}

// Each place looks at those before it, then thinks for itself.
static tsr_tensor *run_layer(tsr_tensor *x, const tsr_params *p, int first) {
  static const tsr_attention_desc earlier = {.causal = true};
  tsr_tensor *w[TENSORS_PER_LAYER];
  for (int i = 0; i < TENSORS_PER_LAYER; i++) w[i] = tsr_params_tensor(p, first + i);
  tsr_tensor *look = tsr_linear(tsr_rms_norm(x, w[0], 1e-5), w[1], NULL, NULL);
  tsr_tensor *found = tsr_attention(by_heads(look, 0), by_heads(look, 1), by_heads(look, 2), NULL, &earlier);
  found = tsr_reshape(tsr_transpose(found, 1, 2), TSR_SHAPE(-1, CONTEXT, WIDTH));
  x = tsr_add(x, tsr_linear(found, w[2], NULL, NULL));
  tsr_tensor *thought = tsr_gelu_tanh(tsr_linear(tsr_rms_norm(x, w[3], 1e-5), w[4], NULL, NULL));
  return tsr_add(x, tsr_linear(thought, w[5], NULL, NULL));
}

// Characters [rows, CONTEXT] to numbers for the next one after each, [rows, CONTEXT, kinds].
static tsr_tensor *network(tsr_tensor *characters, const tsr_params *p) {
  tsr_tensor *x = tsr_add(tsr_embedding(tsr_params_tensor(p, 0), characters), tsr_params_tensor(p, 1));
  for (int i = 0; i < LAYERS; i++) x = run_layer(x, p, TENSORS_BEFORE + i * TENSORS_PER_LAYER);
  return tsr_linear(tsr_rms_norm(x, tsr_params_tensor(p, TENSORS - 1), 1e-5), tsr_params_tensor(p, 0), NULL, NULL);
}

// --- Learning ------------------------------------------------------------------------------------------------------------------

typedef struct training {
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x, *next, *loss;
  tsr_capture *step;
} training;

static tsr_tensor *loss_of_batch(void *context) {
  const training *t = context;
  tsr_tensor *logits = tsr_transpose(network(t->x, t->params), 1, 2);  // the classes are axis 1
  return tsr_cross_entropy(logits, t->next, 1, NULL);
}

static tsr_status run_step(training *t) {
  const step_desc desc = {t->params, t->optim, loss_of_batch, t};
  return t->step ? tsr_capture_run(t->step) : step_capture(&desc, &t->loss, &t->step);
}

static tsr_status learn(training *t, tsr_device *device, const corpus *c, double seconds) {
  int32_t x[BATCH * CONTEXT], next[BATCH * CONTEXT];
  uint64_t random = 1;
  double began = clock_seconds(), shown = 0;
  t->x = tsr_zeros(device, TSR_I32, TSR_SHAPE(BATCH, CONTEXT));
  t->next = tsr_zeros(device, TSR_I32, TSR_SHAPE(BATCH, CONTEXT));
  const tsr_optim_desc desc = {.kind = TSR_ADAMW, .rate = 1e-3, .clip_norm = 1, .schedule = {.warmup = 50}};
  tsr_status status = tsr_optim_create(t->params, &desc, &t->optim);
  for (int step = 1; status == TSR_OK; step++) {
    double loss = 0, now = clock_seconds() - began;
    choose_batch(c, &random, x, next);
    status = tsr_write(t->x, x, sizeof x);
    if (status == TSR_OK) status = tsr_write(t->next, next, sizeof next);
    if (status == TSR_OK) status = run_step(t);
    if (now < seconds && now < shown + seconds / 10) continue;
    shown = now;
    if (status == TSR_OK) status = tsr_item(t->loss, &loss);
    printf("%5.1f s  step %5d  loss %.3f\n", now, step, loss);
    fflush(stdout);
    if (now >= seconds) break;
  }
  return status;
}

// --- Writing -------------------------------------------------------------------------------------------------------------------

// Writes on after a new line: the last CONTEXT characters decide which one follows. Ends after some time.
static tsr_status write_on(const tsr_params *params, tsr_device *device, const corpus *c, double seconds) {
  int32_t seen[CONTEXT + WRITTEN];
  for (int i = 0; i < CONTEXT; i++) seen[i] = c->codes['\n'];
  double end = clock_seconds() + seconds;
  tsr_status status = TSR_OK;
  for (int i = 0; i < WRITTEN && status == TSR_OK && clock_seconds() < end; i++) {
    int64_t chosen = 0;
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *x = tsr_from_data(device, TSR_I32, TSR_SHAPE(1, CONTEXT), seen + i, CONTEXT * sizeof *seen);
    tsr_tensor *last = tsr_reshape(tsr_slice(network(x, params), 1, -1, INT64_MAX, 1), TSR_SHAPE(1, c->kinds));
    tsr_sample_desc desc = {.temperature = 0.7, .top_k = 20};
    status = tsr_item_int(tsr_sample(last, (uint64_t)i + 1, &desc), &chosen);
    tsr_scope_end(scope);
    seen[CONTEXT + i] = (int32_t)chosen;
    putchar(c->characters[chosen]);
  }
  putchar('\n');
  return status;
}

int main(int argc, char **argv) {
  static corpus c;
  training t = {0};
  tsr_device *device = NULL;
  if (argc < 3) {
    fprintf(stderr, "usage: %s SECONDS FILE...\n", argv[0]);
    return 2;
  }
  if (!read_files(&c, argv + 2, argc - 2)) {
    fprintf(stderr, "there is not enough text to learn from\n");
    return 1;
  }
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(device);
  printf("%zu characters of %d kinds\n", c.length, c.kinds);
  tsr_status status = make_network(device, c.kinds, &t.params);
  if (status == TSR_OK) status = learn(&t, device, &c, atof(argv[1]));
  if (status == TSR_OK) status = write_on(t.params, device, &c, atof(argv[1]));
  tsr_capture_release(t.step);
  tsr_optim_release(t.optim);
  tsr_params_release(t.params);
  tsr_scope_end(scope);
  tsr_device_release(device);
  return status == TSR_OK ? 0 : fail();
}
