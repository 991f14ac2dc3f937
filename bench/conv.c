// SPDX-License-Identifier: MIT
// Times convolutions, their gradients, pooling, and a training step of a small network on any device.
//
//   conv [--backend cpu] [--op forward] [--size 32x64x56x64x3x1]        a table; --op and --size choose rows
//   conv --turns --op NAME [--size …]                                   for bench/conv_vs_torch.py: a time in ns for each line read
//
// A size is images x channels x side x result channels x kernel side x stride; padding keeps the side.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

typedef struct conv_size {
  int64_t images, channels, side, out, kernel, stride;
} conv_size;

static tsr_device *device;
static conv_size size;
static tsr_tensor *x, *w, *b, *g;
static tsr_conv_desc desc;

static void check(tsr_status status, const char *what) {
  if (status == TSR_OK) return;
  fprintf(stderr, "conv: %s: %s\n", what, tsr_last_error());
  exit(1);
}

static double clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static tsr_tensor *made(tsr_tensor *tensor) {
  check(tsr_evaluate(tensor), "making inputs");
  return tensor;
}

static tsr_tensor *numbers(tsr_shape shape) { return made(tsr_randn(device, TSR_F32, shape, 7)); }

// --- Operators --------------------------------------------------------------------------------------------------------

static void begin_conv(void) {
  int64_t k = size.kernel, pad = (k - 1) / 2, n = (size.side + 2 * pad - k) / size.stride + 1;
  desc =
      (tsr_conv_desc){.stride = {size.stride, size.stride}, .before = {pad, pad}, .after = {k - 1 - pad, k - 1 - pad}};
  x = numbers(TSR_SHAPE(size.images, size.channels, size.side, size.side));
  w = numbers(TSR_SHAPE(size.out, size.channels, k, k));
  b = numbers(TSR_SHAPE(size.out));
  g = numbers(TSR_SHAPE(size.images, size.out, n, n));
}

static double conv_flops(void) {
  int64_t n = (size.side - 1) / size.stride + 1;
  return 2.0 * (double)(size.images * size.channels * size.out * size.kernel * size.kernel) * (double)(n * n);
}

static tsr_status run_forward(void) {
  tsr_tensor *y = tsr_relu(tsr_conv(x, w, b, &desc));
  return tsr_evaluate(y);
}

static tsr_status run_gradient(tsr_tensor *by) {
  tsr_tensor *out = NULL;
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_grad_watch(by);
  if (status == TSR_OK) {
    status = tsr_grad(tsr_conv(x, w, NULL, &desc), &(tsr_grad_desc){.cotangent = g}, &by, 1, &out);
  }
  if (status == TSR_OK) status = tsr_evaluate(out);
  tsr_grad_end();
  return status;
}

static tsr_status run_by_input(void) { return run_gradient(x); }
static tsr_status run_by_weight(void) { return run_gradient(w); }

static const tsr_pool_desc two = {.size = {2, 2}};

static void begin_pool(void) {
  x = numbers(TSR_SHAPE(size.images, size.channels, size.side, size.side));
  g = numbers(TSR_SHAPE(size.images, size.channels, size.side / 2, size.side / 2));
}

static tsr_status run_pool(void) { return tsr_evaluate(tsr_max_pool(x, &two)); }

static tsr_status run_pool_gradient(void) {
  tsr_tensor *out = NULL;
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_grad_watch(x);
  if (status == TSR_OK) status = tsr_grad(tsr_max_pool(x, &two), &(tsr_grad_desc){.cotangent = g}, &x, 1, &out);
  if (status == TSR_OK) status = tsr_evaluate(out);
  tsr_grad_end();
  return status;
}

// --- A training step --------------------------------------------------------------------------------------------------

// conv 1 -> 16 -> 32, 3 x 3, each with relu and pooling by 2; 1568 -> 128 -> 10; AdamW.
enum { BATCH = 128 };
static tsr_params *params;
static tsr_optim *optim;
static tsr_tensor *digits, *labels;
static tsr_capture *step;

static const tsr_param_desc layers[] = {
    {.name = "conv1", .shape = {4, {16, 1, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "bias1", .shape = {1, {16}}},
    {.name = "conv2", .shape = {4, {32, 16, 3, 3}}, .init = TSR_INIT_HE_NORMAL},
    {.name = "bias2", .shape = {1, {32}}},
    {.name = "linear1", .shape = {2, {1568, 128}}, .init = TSR_INIT_HE_NORMAL, .is_inputs_first = true},
    {.name = "bias3", .shape = {1, {128}}},
    {.name = "linear2", .shape = {2, {128, 10}}, .init = TSR_INIT_HE_NORMAL, .is_inputs_first = true},
    {.name = "bias4", .shape = {1, {10}}},
};

static tsr_tensor *loss(void) {
  const tsr_conv_desc same = {.before = {1, 1}, .after = {1, 1}};
  tsr_tensor *p[8];
  for (int i = 0; i < 8; i++) p[i] = tsr_params_tensor(params, i);
  tsr_tensor *h = tsr_max_pool(tsr_relu(tsr_conv(digits, p[0], p[1], &same)), &two);
  h = tsr_max_pool(tsr_relu(tsr_conv(h, p[2], p[3], &same)), &two);
  h = tsr_reshape(h, TSR_SHAPE(BATCH, 1568));
  h = tsr_relu(tsr_add(tsr_matmul(h, p[4]), p[5]));
  return tsr_cross_entropy(tsr_add(tsr_matmul(h, p[6]), p[7]), labels, 1, NULL);
}

// Intermediate tensors are released before the parameters change: otherwise they would still have to be computed from the old parameters, and stored.
static tsr_status train(void) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_params_watch(params);
  if (status == TSR_OK) status = tsr_params_grad(params, loss(), NULL);
  tsr_grad_end();
  tsr_scope_end(scope);
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

static void begin_training(void) {
  tsr_optim_release(optim);
  tsr_params_release(params);
  check(tsr_params_create(device, TSR_F32, layers, 8, 1, &params), "making parameters");
  check(tsr_optim_create(params, &(tsr_optim_desc){.kind = TSR_ADAMW}, &optim), "making the optimiser");
  digits = numbers(TSR_SHAPE(BATCH, 1, 28, 28));
  int32_t classes[BATCH];
  for (int i = 0; i < BATCH; i++) classes[i] = i % 10;
  labels = made(tsr_from_data(device, TSR_I32, TSR_SHAPE(BATCH), classes, sizeof classes));
}

static void begin_captured(void) {
  begin_training();
  check(train(), "a step");
  check(tsr_capture_begin(device), "beginning a capture");
  tsr_scope *scope = tsr_scope_begin(device);
  check(train(), "a captured step");
  check(tsr_capture_end(NULL, 0, &step), "ending the capture");
  tsr_scope_end(scope);
  fprintf(stderr, "%d kernels and native operators in a step\n", tsr_capture_step_count(step));
}

static tsr_status run_captured(void) { return tsr_capture_run(step); }

// --- Rows -------------------------------------------------------------------------------------------------------------

typedef struct conv_row {
  const char *name;
  void (*begin)(void);
  tsr_status (*run)(void);
  bool has_flops;
} conv_row;

static const conv_row rows[] = {{"forward", begin_conv, run_forward, true},
                                {"by_input", begin_conv, run_by_input, true},
                                {"by_weight", begin_conv, run_by_weight, true},
                                {"pool", begin_pool, run_pool, false},
                                {"pool_gradient", begin_pool, run_pool_gradient, false},
                                {"digits", begin_training, train, false},
                                {"digits_captured", begin_captured, run_captured, false}};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const conv_size sizes[] = {{128, 1, 28, 16, 3, 1},   {128, 16, 14, 32, 3, 1},  {32, 64, 56, 64, 3, 1},
                                  {32, 64, 56, 256, 1, 1},  {32, 128, 28, 128, 3, 1}, {32, 128, 56, 128, 3, 2},
                                  {32, 256, 14, 256, 3, 1}, {32, 512, 7, 512, 3, 1},  {32, 3, 224, 64, 7, 2}};

// The mean time of `calls` calls; in *out_processor_ns, if not NULL, that of the processor.
static double sample(const conv_row *row, int calls, double *out_processor_ns) {
  double start = now_ns(), processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < calls; i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    check(row->run(), row->name);
    tsr_scope_end(scope);
  }
  check(tsr_device_synchronize(device), "waiting");
  if (out_processor_ns) *out_processor_ns = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - processor) / calls;
  return (now_ns() - start) / calls;
}

static int calls_for(const conv_row *row) {
  sample(row, 2, NULL);
  double once = sample(row, 3, NULL);
  return once > 2e7 ? 1 : (int)(2e7 / once);
}

static int by_value(const void *a, const void *c) {
  double p = *(const double *)a, q = *(const double *)c;
  return (p > q) - (p < q);
}

static void measure(const conv_row *row) {
  enum { REPEATS = 15 };
  double times[REPEATS], processor[REPEATS];
  int calls = calls_for(row);
  for (int i = 0; i < REPEATS; i++) times[i] = sample(row, calls, &processor[i]);
  qsort(times, REPEATS, sizeof times[0], by_value);
  qsort(processor, REPEATS, sizeof processor[0], by_value);
  printf("%-16s %5lld x %4lld x %3lld -> %4lld, %lld x %lld / %lld  %9.1f us, best %9.1f, processor %9.1f", row->name,
         (long long)size.images, (long long)size.channels, (long long)size.side, (long long)size.out,
         (long long)size.kernel, (long long)size.kernel, (long long)size.stride, times[REPEATS / 2] / 1e3,
         times[0] / 1e3, processor[0] / 1e3);
  if (row->has_flops) printf(", %7.1f GFLOP/s", conv_flops() / times[REPEATS / 2]);
  printf("\n");
  fflush(stdout);
}

static void take_turns(const conv_row *row) {
  char line[8];
  int calls = calls_for(row);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    sample(row, 1, NULL);
    printf("%.0f\n", sample(row, calls, NULL));
    fflush(stdout);
  }
}

int main(int count, char **arguments) {
  const char *backend = "cpu", *op = NULL, *text = NULL;
  bool has_turns = false;
  for (int i = 1; i < count; i++) {
    bool has_value = i + 1 < count;
    if (strcmp(arguments[i], "--turns") == 0) has_turns = true;
    else if (has_value && strcmp(arguments[i], "--backend") == 0) backend = arguments[++i];
    else if (has_value && strcmp(arguments[i], "--op") == 0) op = arguments[++i];
    else if (has_value && strcmp(arguments[i], "--size") == 0) text = arguments[++i];
    else {
      fprintf(stderr, "conv: see bench/conv.c for its options\n");
      return 2;
    }
  }
  check(tsr_device_open(&(tsr_device_desc){.backend = backend}, &device), "opening the device");
  for (int r = 0; r < ROWS; r++) {
    if (op && strcmp(op, rows[r].name) != 0) continue;
    bool has_size = rows[r].begin == begin_conv || rows[r].begin == begin_pool;
    int number = text || !has_size ? 1 : (int)(sizeof sizes / sizeof sizes[0]);
    for (int s = 0; s < number; s++) {
      size = sizes[s];
      long long v[6] = {size.images, size.channels, size.side, size.out, size.kernel, size.stride};
      if (text && sscanf(text, "%lldx%lldx%lldx%lldx%lldx%lld", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) != 6) {
        fprintf(stderr, "conv: a size has six numbers, as in 32x64x56x64x3x1\n");
        return 2;
      }
      size = (conv_size){v[0], v[1], v[2], v[3], v[4], v[5]};
      tsr_scope *scope = tsr_scope_begin(device);
      rows[r].begin();
      if (has_turns) take_turns(&rows[r]);
      else measure(&rows[r]);
      tsr_capture_release(step);
      step = NULL;
      tsr_scope_end(scope);
    }
  }
  tsr_device_release(device);
  return 0;
}
