// SPDX-License-Identifier: MIT
// Compares machine code with the interpreter on the CPU: each operator runs both ways in turns, on one thread, and the
// smallest processor time of each is printed. It measures processor time, because other processes also use the
// machine.
//
//   build/release/bench/compiled [operator...]       TESSERA_SIMD chooses the instruction set
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

enum { TURNS = 15, MODES = 2 };

typedef struct inputs {
  tsr_tensor *x, *y, *w;
} inputs;

typedef tsr_tensor *(*operator_fn)(const inputs *in);

static void check(tsr_status status) {
  if (status == TSR_OK) return;
  fprintf(stderr, "%s\n", tsr_last_error());
  exit(1);
}

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// --- Operators --------------------------------------------------------------------------------------------------------

static tsr_tensor *do_add(const inputs *in) { return tsr_add(in->x, in->y); }
static tsr_tensor *do_exp(const inputs *in) { return tsr_exp(in->x); }
static tsr_tensor *do_log(const inputs *in) { return tsr_log(in->y); }
static tsr_tensor *do_tanh(const inputs *in) { return tsr_tanh(in->x); }
static tsr_tensor *do_sigmoid(const inputs *in) { return tsr_sigmoid(in->x); }
static tsr_tensor *do_silu(const inputs *in) { return tsr_silu(in->x); }
static tsr_tensor *do_gelu(const inputs *in) { return tsr_gelu(in->x); }
static tsr_tensor *do_erf(const inputs *in) { return tsr_erf(in->x); }
static tsr_tensor *do_sin(const inputs *in) { return tsr_sin(in->x); }
static tsr_tensor *do_cos(const inputs *in) { return tsr_cos(in->x); }
static tsr_tensor *do_tan(const inputs *in) { return tsr_tan(in->x); }
static tsr_tensor *do_atan(const inputs *in) { return tsr_atan(in->x); }
static tsr_tensor *do_pow(const inputs *in) { return tsr_pow(in->y, in->x); }
static tsr_tensor *do_mod(const inputs *in) { return tsr_mod(in->x, in->y); }
static tsr_tensor *do_softmax(const inputs *in) { return tsr_softmax(in->x, 1); }
static tsr_tensor *do_layer_norm(const inputs *in) { return tsr_layer_norm(in->x, in->w, in->w, 1e-5); }
static tsr_tensor *do_rms_norm(const inputs *in) { return tsr_rms_norm(in->x, in->w, 1e-5); }
static tsr_tensor *do_sum(const inputs *in) { return tsr_sum(in->x, (int[]){1}, 1, false); }
static tsr_tensor *do_argmax(const inputs *in) { return tsr_argmax(in->x, (int[]){1}, 1, false); }
static tsr_tensor *do_logsumexp(const inputs *in) { return tsr_logsumexp(in->x, (int[]){1}, 1, false); }

static tsr_tensor *do_chain(const inputs *in) {
  tsr_tensor *a = tsr_mul(tsr_exp(in->x), in->y);
  tsr_tensor *b = tsr_tanh(tsr_add_scalar(a, 0.5));
  tsr_tensor *c = tsr_sigmoid(tsr_sub(b, in->x));
  return tsr_sqrt(tsr_abs(tsr_mul(tsr_add(c, in->y), tsr_mul_scalar(c, 0.25))));
}

static const struct {
  const char *name;
  operator_fn run;
  int64_t rows, columns;
} operators[] = {
    {"add", do_add, 1, 10000000},
    {"exp", do_exp, 1, 10000000},
    {"log", do_log, 1, 10000000},
    {"tanh", do_tanh, 1, 10000000},
    {"sigmoid", do_sigmoid, 1, 10000000},
    {"silu", do_silu, 1, 10000000},
    {"gelu", do_gelu, 1, 10000000},
    {"erf", do_erf, 1, 10000000},
    {"sin", do_sin, 1, 10000000},
    {"cos", do_cos, 1, 10000000},
    {"tan", do_tan, 1, 10000000},
    {"atan", do_atan, 1, 10000000},
    {"pow", do_pow, 1, 10000000},
    {"mod", do_mod, 1, 10000000},
    {"chain of ten", do_chain, 1, 10000000},
    {"softmax", do_softmax, 4096, 1024},
    {"softmax", do_softmax, 40000, 100},
    {"layer_norm", do_layer_norm, 4096, 1024},
    {"layer_norm", do_layer_norm, 40000, 100},
    {"rms_norm", do_rms_norm, 4096, 1024},
    {"rms_norm", do_rms_norm, 40000, 100},
    {"sum", do_sum, 4096, 1024},
    {"argmax", do_argmax, 4096, 1024},
    {"logsumexp", do_logsumexp, 4096, 1024},
};

// --- Measuring --------------------------------------------------------------------------------------------------------

static tsr_device *open_device(bool is_compiled) {
  tsr_device *device = NULL;
  check(tsr_config_set("jit", is_compiled ? "on" : "off"));
  check(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = 1}, &device));
  check(tsr_config_set("jit", NULL));
  return device;
}

static inputs make_inputs(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t columns) {
  tsr_shape shape = TSR_SHAPE(rows, columns);
  inputs in = {
      .x = tsr_cast(tsr_mul_scalar(tsr_randn(device, TSR_F32, shape, 1), 3.0), dtype),
      .y = tsr_cast(tsr_add_scalar(tsr_mul_scalar(tsr_rand(device, TSR_F32, shape, 2), 7.0), 1.0), dtype),
      .w = tsr_ones(device, dtype, TSR_SHAPE(columns)),
  };
  check(tsr_evaluate(in.x));
  check(tsr_evaluate(in.y));
  check(tsr_evaluate(in.w));
  return in;
}

static double time_once(tsr_device *device, operator_fn run, const inputs *in) {
  tsr_scope *scope = tsr_scope_begin(device);
  double start = processor_seconds();
  check(tsr_evaluate(run(in)));
  double spent = processor_seconds() - start;
  tsr_scope_end(scope);
  return spent;
}

static void measure(tsr_device *const devices[MODES], size_t which, tsr_dtype dtype) {
  inputs in[MODES];
  tsr_scope *scopes[MODES];
  double best[MODES] = {1e9, 1e9};
  for (int mode = 0; mode < MODES; mode++) {
    scopes[mode] = tsr_scope_begin(devices[mode]);
    in[mode] = make_inputs(devices[mode], dtype, operators[which].rows, operators[which].columns);
  }
  for (int turn = 0; turn < TURNS; turn++) {
    for (int mode = 0; mode < MODES; mode++) {
      double spent = time_once(devices[mode], operators[which].run, &in[mode]);
      if (spent < best[mode]) best[mode] = spent;
    }
  }
  for (int mode = MODES; mode-- > 0;) tsr_scope_end(scopes[mode]);
  printf("%-14s %6jd x %-9jd %-5s %8.2f ms  %8.2f ms  %5.2f\n", operators[which].name, (intmax_t)operators[which].rows,
         (intmax_t)operators[which].columns, tsr_dtype_name(dtype), 1e3 * best[0], 1e3 * best[1], best[0] / best[1]);
  fflush(stdout);
}

static bool is_wanted(const char *name, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
  }
  return argc < 2;
}

int main(int argc, char **argv) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_F64, TSR_I32};
  tsr_device *devices[MODES] = {open_device(false), open_device(true)};
  printf("%-14s %6s   %-9s %-5s %11s  %11s  ratio\n", "", "rows", "columns", "dtype", "interpreted", "compiled");
  for (size_t dtype = 0; dtype < sizeof dtypes / sizeof dtypes[0]; dtype++) {
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
      if (is_wanted(operators[i].name, argc, argv)) measure(devices, i, dtypes[dtype]);
    }
  }
  for (int mode = 0; mode < MODES; mode++) tsr_device_release(devices[mode]);
  return 0;
}
