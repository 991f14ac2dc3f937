// SPDX-License-Identifier: MIT
// A model in one file: a small network learns which points lie in a ring and is saved; a program that knows nothing of the network draws what it learnt.
//
//   17_saved_capture FILE             learns, saves FILE, and draws from it
//   17_saved_capture FILE BACKEND     draws from FILE alone, on a device of this backend
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { BATCH = 256, WIDTH = 32, COLUMNS = 48, ROWS = 20, POINTS = COLUMNS * ROWS };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// --- Learning and saving -------------------------------------------------------------------------------------------------

static void draw_batch(float *points, float *is_inside) {
  for (int i = 0; i < BATCH; i++) {
    float x = (float)rand() / (float)RAND_MAX * 2 - 1, y = (float)rand() / (float)RAND_MAX * 2 - 1;
    float radius = sqrtf(x * x + y * y);
    points[2 * i] = x;
    points[2 * i + 1] = y;
    is_inside[i] = radius > 0.35f && radius < 0.75f ? 1.0f : 0.0f;
  }
}

static tsr_tensor *network(const tsr_params *params, tsr_tensor *points) {
  tsr_tensor *a = tsr_linear(points, tsr_params_find(params, "1.weight"), tsr_params_find(params, "1.bias"), NULL);
  tsr_tensor *b = tsr_linear(tsr_tanh(a), tsr_params_find(params, "2.weight"), tsr_params_find(params, "2.bias"), NULL);
  return tsr_linear(tsr_tanh(b), tsr_params_find(params, "3.weight"), tsr_params_find(params, "3.bias"), NULL);
}

// Loss, gradients, and a step of the optimiser.
static tsr_status learn_once(tsr_params *params, tsr_optim *optim, tsr_tensor *points, tsr_tensor *wanted) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(params));
  status = tsr_params_watch(params);
  tsr_tensor *loss = tsr_bce_with_logits_loss(network(params, points), wanted, NULL);
  if (status == TSR_OK) status = tsr_params_grad(params, loss, NULL);
  tsr_scope_end(scope);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

static tsr_status learn(tsr_params *params, int steps) {
  static float point_data[2 * BATCH], wanted_data[BATCH];
  tsr_device *device = tsr_params_device(params);
  tsr_optim *optim = NULL;
  tsr_status status = tsr_optim_create(params, &(tsr_optim_desc){.kind = TSR_ADAMW, .rate = 0.01}, &optim);
  for (int i = 0; i < steps && status == TSR_OK; i++) {
    draw_batch(point_data, wanted_data);
    tsr_tensor *points = tsr_from_data(device, TSR_F32, TSR_SHAPE(BATCH, 2), point_data, sizeof point_data);
    tsr_tensor *wanted = tsr_from_data(device, TSR_F32, TSR_SHAPE(BATCH, 1), wanted_data, sizeof wanted_data);
    status = learn_once(params, optim, points, wanted);
    tsr_release(points);
    tsr_release(wanted);
  }
  tsr_optim_release(optim);
  return status;
}

// Captures the network for as many points as a picture has, and saves that with its weights.
static tsr_status save(tsr_params *params, const char *path) {
  tsr_device *device = tsr_params_device(params);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_capture *capture = NULL;
  tsr_tensor *points = tsr_zeros(device, TSR_F32, TSR_SHAPE(POINTS, 2)), *inside = NULL;
  tsr_status status = tsr_capture_begin(device);
  if (status == TSR_OK) {
    inside = tsr_sigmoid(network(params, points));
    status = tsr_capture_end(&inside, 1, &capture);
  }
  tsr_save_desc desc = {.path = path,
                        .inputs = &(tsr_named_tensor){"points", points},
                        .input_count = 1,
                        .outputs = &(tsr_named_tensor){"inside", inside},
                        .output_count = 1};
  if (status == TSR_OK) status = tsr_capture_save(capture, &desc);
  tsr_capture_release(capture);
  tsr_scope_end(scope);
  return status;
}

static tsr_status make_file(const char *path) {
  const tsr_param_desc tensors[] = {
      {.name = "1.weight", .shape = TSR_SHAPE(WIDTH, 2), .init = TSR_INIT_XAVIER_NORMAL, .value = 3},
      {.name = "1.bias", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_UNIFORM},
      {.name = "2.weight", .shape = TSR_SHAPE(WIDTH, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "2.bias", .shape = TSR_SHAPE(WIDTH)},
      {.name = "3.weight", .shape = TSR_SHAPE(1, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "3.bias", .shape = TSR_SHAPE(1)},
  };
  tsr_device *device = NULL;
  tsr_params *params = NULL;
  tsr_status status = tsr_device_open(NULL, &device);
  if (status == TSR_OK) status = tsr_params_create(device, TSR_F32, tensors, 6, /*seed=*/1, &params);
  if (status == TSR_OK) status = learn(params, 1500);
  if (status == TSR_OK) status = save(params, path);
  tsr_params_release(params);
  tsr_device_release(device);
  return status;
}

// --- Drawing: knows the names of the file's tensors, and nothing else ------------------------------------------------------

static tsr_status draw(tsr_capture *model) {
  static float points[2 * POINTS], inside[POINTS];
  for (int i = 0; i < POINTS; i++) {
    points[2 * i] = (float)(i % COLUMNS) / (COLUMNS - 1) * 2 - 1;
    points[2 * i + 1] = (float)(i / COLUMNS) / (ROWS - 1) * 2 - 1;
  }
  tsr_tensor *in = tsr_capture_input(model, "points"), *out = tsr_capture_output(model, "inside");
  tsr_status status = tsr_write(in, points, sizeof points);
  if (status == TSR_OK) status = tsr_capture_run(model);
  if (status == TSR_OK) status = tsr_read(out, inside, sizeof inside);
  for (int i = 0; i < POINTS && status == TSR_OK; i++) {
    putchar(" .:-=+*#%@"[(int)(inside[i] * 9.99f)]);
    if (i % COLUMNS == COLUMNS - 1) putchar('\n');
  }
  tsr_release(in);
  tsr_release(out);
  return status;
}

static tsr_status use_file(const char *path, const char *backend) {
  tsr_device *device = NULL;
  tsr_capture *model = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &device);
  if (status == TSR_OK) status = tsr_capture_load(device, &(tsr_load_desc){.path = path}, &model);
  if (status == TSR_OK) status = draw(model);
  tsr_capture_release(model);
  tsr_device_release(device);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: 17_saved_capture FILE [BACKEND]\n");
    return 2;
  }
  tsr_status status = argc > 2 ? TSR_OK : make_file(argv[1]);
  if (status == TSR_OK) status = use_file(argv[1], argc > 2 ? argv[2] : NULL);
  return status == TSR_OK ? 0 : fail();
}
