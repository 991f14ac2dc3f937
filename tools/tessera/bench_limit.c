// SPDX-License-Identifier: MIT
// Measures the limits of the machine.
#include "bench_limit.h"

#include <stdlib.h>
#include <string.h>
#include <tessera/config.h>

#include "bench_cpu.h"
#include "bench_threads.h"
#include "bench_time.h"

enum { ROUNDS = 7 };
static const double least_round_ns = 1e6;  // shorter rounds would measure the clock and the threads' synchronisation

static const struct {
  const char *name, *unit;
  bench_traffic traffic;
} bounds[] = {
#define BENCH_X(name, text, unit, reads, has_write) {text, unit, {reads, has_write}},
    BENCH_BOUNDS(BENCH_X)
#undef BENCH_X
};

const char *bench_bound_name(bench_bound bound) { return bounds[bound].name; }
const char *bench_bound_unit(bench_bound bound) { return bounds[bound].unit; }

static double median(double *ns) {
  bench_sort(ns, ROUNDS);
  return bench_quantile(ns, ROUNDS, 0.5);
}

// --- Memory on the CPU --------------------------------------------------------------------------------------------------

typedef struct pass_job {
  bench_traffic traffic;
  bool is_streamed, is_first_touch;
  float *arrays[4];
  size_t count;  // elements of each array
  int times;     // passes per round
} pass_job;

static volatile float seen;  // uses the result, so that the compiler cannot drop the work

static void pass_part(void *user, int thread, int thread_count) {
  const pass_job *job = user;
  size_t steps = job->count / BENCH_CPU_STEP;
  size_t first = steps * (size_t)thread / (size_t)thread_count * BENCH_CPU_STEP;
  size_t last = steps * ((size_t)thread + 1) / (size_t)thread_count * BENCH_CPU_STEP;
  if (job->is_first_touch) {
    for (int i = 0; i < 4; i++) memset(job->arrays[i] + first, 0, (last - first) * sizeof(float));
    return;
  }
  const float *const in[3] = {job->arrays[0] + first, job->arrays[1] + first, job->arrays[2] + first};
  for (int i = 0; i < job->times; i++) {
    float some = bench_cpu_pass(job->traffic, job->is_streamed, in, job->arrays[3] + first, last - first);
    if (some != 0) seen = some;
  }
}

// Returns bytes per nanosecond.
static double time_passes(const bench_limits *limits, pass_job *job) {
  double ns[ROUNDS], one = 0;
  job->times = 1;
  if (!bench_time_rounds(limits->threads, 1, pass_part, job, &one)) return 0;
  job->times = one < least_round_ns ? (int)(least_round_ns / (one > 100 ? one : 100)) + 1 : 1;
  if (!bench_time_rounds(limits->threads, ROUNDS, pass_part, job, ns)) return 0;
  double arrays = job->traffic.reads + job->traffic.has_write;
  return arrays * (double)(job->count * sizeof(float)) * job->times / median(ns);
}

static double measure_cpu_memory(bench_limits *limits, bench_bound bound) {
  pass_job job = {.traffic = bounds[bound].traffic,
                  .count = limits->array_bytes / sizeof(float) / BENCH_CPU_STEP * BENCH_CPU_STEP};
  if (job.count == 0) return 0;
  for (int i = 0; i < 4; i++) job.arrays[i] = tsr_buffer_host(limits->arrays[i]);
  double plain = time_passes(limits, &job);
  if (!job.traffic.has_write || !bench_cpu_can_stream()) return plain;
  job.is_streamed = true;
  double streamed = time_passes(limits, &job);
  return streamed > plain ? streamed : plain;
}

// Each thread first writes the memory that it will use, so that it is allocated near that thread's core.
static void touch_cpu_memory(const bench_limits *limits) {
  pass_job job = {.is_first_touch = true, .count = limits->array_bytes / sizeof(float)};
  double unused = 0;
  for (int i = 0; i < 4; i++) job.arrays[i] = tsr_buffer_host(limits->arrays[i]);
  bench_time_rounds(limits->threads, 1, pass_part, &job, &unused);
}

// --- Arithmetic on the CPU ----------------------------------------------------------------------------------------------

static void fma_part(void *user, int thread, int thread_count) {
  (void)thread, (void)thread_count;
  bench_cpu_fma(*(const uint64_t *)user);
}

static double measure_cpu_fma(const bench_limits *limits) {
  uint64_t rounds = 200000;
  double ns[ROUNDS];
  if (!bench_time_rounds(limits->threads, ROUNDS, fma_part, &rounds, ns)) return 0;
  return bench_cpu_fma(1) * (double)rounds * limits->threads / median(ns);
}

// --- Other devices ------------------------------------------------------------------------------------------------------

// Queues several copies before each wait, so that the wait hardly counts.
static double measure_device_copy(const bench_limits *limits) {
  enum { COPIES = 8 };
  double ns[ROUNDS];
  for (int i = -1; i < ROUNDS; i++) {  // the first one only warms up
    double start = bench_now_ns();
    tsr_status status = TSR_OK;
    for (int j = 0; j < COPIES && status == TSR_OK; j++) {
      status = tsr_buffer_copy(limits->arrays[1], 0, limits->arrays[0], 0, limits->array_bytes);
    }
    if (status == TSR_OK) status = tsr_device_synchronize(limits->device);
    if (status != TSR_OK) return 0;
    if (i >= 0) ns[i] = (bench_now_ns() - start) / COPIES;
  }
  return 2 * (double)limits->array_bytes / median(ns);
}

enum { FMA_ITEMS = 1 << 18, FMA_CHAINS = 8 };

static const char fma_text[] =
    "kernel multiply_add<WG = 256>(out f32 y[], u32 rounds, f32 a, f32 b) {\n"
    "  f32 x0 = f32(global.x), x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7;\n"
    "  for (u32 i = 0; i < rounds; i++) {\n"
    "    x0 = fma(x0, a, b); x1 = fma(x1, a, b); x2 = fma(x2, a, b); x3 = fma(x3, a, b);\n"
    "    x4 = fma(x4, a, b); x5 = fma(x5, a, b); x6 = fma(x6, a, b); x7 = fma(x7, a, b);\n"
    "  }\n"
    "  y[global.x] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;\n"
    "}\n";

static tsr_status prepare_device_fma(bench_limits *limits) {
  if (limits->kernel) return TSR_OK;
  limits->sink = tsr_zeros(limits->device, TSR_F32, TSR_SHAPE(FMA_ITEMS));
  tsr_status status = tsr_error(limits->sink);
  if (status != TSR_OK) return status;
  return tsr_kernel_build(&(tsr_kernel_desc){.source = fma_text, .file_name = "multiply_add"}, &limits->kernel);
}

static tsr_status time_device_fma(const bench_limits *limits, int64_t rounds, double *out_ns) {
  tsr_arg args[] = {tsr_arg_tensor(limits->sink), tsr_arg_int(rounds), tsr_arg_float(0.999), tsr_arg_float(0.001)};
  double start = bench_now_ns();
  tsr_status status = tsr_kernel_launch(limits->kernel, tsr_grid_for(limits->kernel, FMA_ITEMS, 1, 1), args, 4);
  if (status == TSR_OK) status = tsr_device_synchronize(limits->device);
  *out_ns = bench_now_ns() - start;
  return status;
}

// Finds a number of rounds that takes some milliseconds, then returns the median.
static double measure_device_fma(bench_limits *limits) {
  enum { MOST_ROUNDS = 1 << 16 };
  double ns[ROUNDS] = {0};
  int64_t rounds = 16;
  if (prepare_device_fma(limits) != TSR_OK || time_device_fma(limits, rounds, &ns[0]) != TSR_OK) return 0;
  for (; rounds < MOST_ROUNDS; rounds *= 4) {
    if (time_device_fma(limits, rounds, &ns[0]) != TSR_OK) return 0;
    if (ns[0] > 4 * least_round_ns) break;
  }
  for (int i = 0; i < ROUNDS; i++) {
    if (time_device_fma(limits, rounds, &ns[i]) != TSR_OK) return 0;
  }
  return 2.0 * FMA_CHAINS * FMA_ITEMS * (double)rounds / median(ns);
}

// --- All of them --------------------------------------------------------------------------------------------------------

static void release_arrays(bench_limits *limits) {
  for (int i = 0; i < 4; i++) tsr_buffer_release(limits->arrays[i]);
  memset(limits->arrays, 0, sizeof limits->arrays);
  limits->array_bytes = 0;
}

static bool prepare_arrays(bench_limits *limits, size_t bytes) {
  if (limits->array_bytes == bytes) return true;
  release_arrays(limits);
  for (int i = 0; i < (limits->is_cpu ? 4 : 2); i++) {
    if (tsr_buffer_create(limits->device, bytes, 4096, &limits->arrays[i]) != TSR_OK) return false;
    if (limits->is_cpu && !tsr_buffer_host(limits->arrays[i])) return false;
  }
  limits->array_bytes = bytes;
  if (limits->is_cpu) touch_cpu_memory(limits);
  return true;
}

// The value of the setting `threads`; 0 means all cores.
static int device_threads(const tsr_device_info *info) {
  tsr_config *config = NULL;
  int threads = 0;
  if (tsr_config_load(&config) == TSR_OK) {
    for (int i = 0; i < config->setting_count; i++) {
      if (strcmp(config->settings[i].name, "threads") == 0) threads = atoi(config->settings[i].value);
    }
  }
  tsr_config_release(config);
  if (threads <= 0) threads = info->compute_units > 0 ? info->compute_units : 1;
  return threads < BENCH_MAX_THREADS ? threads : BENCH_MAX_THREADS;
}

tsr_status bench_limits_init(bench_limits *limits, tsr_device *device) {
  tsr_device_info info;
  tsr_status status = tsr_device_get_info(device, &info);
  *limits = (bench_limits){.device = tsr_device_retain(device)};
  if (status != TSR_OK) return status;
  limits->is_cpu = strcmp(tsr_device_backend(device), "cpu") == 0;
  limits->threads = limits->is_cpu ? device_threads(&info) : 0;
  return TSR_OK;
}

void bench_limits_deinit(bench_limits *limits) {
  release_arrays(limits);
  tsr_release(limits->sink);
  tsr_kernel_release(limits->kernel);
  tsr_device_release(limits->device);
}

bench_bound bench_limit_of(const bench_limits *limits, bench_bound bound) {
  return limits->is_cpu || bound == BENCH_NONE || bound == BENCH_FMA ? bound : BENCH_COPY;
}

double bench_limit_measure(bench_limits *limits, bench_bound bound, size_t bytes) {
  double value = 0;
  if (bound == BENCH_NONE) return 0;
  if (limits->is_cpu) bench_rest(0.001);  // the device's own threads spin for 20 us after their work
  if (bound == BENCH_FMA) {
    value = limits->is_cpu ? measure_cpu_fma(limits) : measure_device_fma(limits);
  } else if (prepare_arrays(limits, bytes)) {
    value = limits->is_cpu ? measure_cpu_memory(limits, bound) : measure_device_copy(limits);
  }
  if (value > limits->best[bound]) limits->best[bound] = value;
  return value;
}
