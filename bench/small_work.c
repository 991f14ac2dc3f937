// SPDX-License-Identifier: MIT
// Measures the host's time for small work: a queued operator, a cached chain of operators, a small convolution; each without and with the profiler.
// On CUDA, the driver's calls alone are measured for comparison.
//
//   small_work [BACKEND]
//
// A time is that of the calling thread for one call, the mean over a burst of calls that fit in the queue. The first column is without the wait after a burst,
// the second includes it. The table has medians of many bursts.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "timing.h"

enum { BURSTS = 60, CALLS = 100, ELEMENTS = 1000, CHAIN = 8 };

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// --- Tessera ----------------------------------------------------------------------------------------------------------

typedef struct setting {
  tsr_device *device;
  tsr_tensor *x, *image, *weight;
} setting;

static void one_operator(const setting *s) {
  tsr_tensor *y = tsr_mul(s->x, s->x);
  bench_check(tsr_evaluate(y), "mul");
  tsr_release(y);
}

static void recorded(const setting *s) { tsr_release(tsr_mul(s->x, s->x)); }

static void chain(const setting *s) {
  tsr_scope *scope = tsr_scope_begin(s->device);
  tsr_tensor *y = s->x;
  for (int i = 0; i < CHAIN; i++) y = i % 2 ? tsr_add_scalar(y, 0.5) : tsr_mul(y, s->x);
  bench_check(tsr_evaluate(y), "a chain");
  tsr_scope_end(scope);
}

static void convolution(const setting *s) {
  tsr_tensor *y = tsr_conv(s->image, s->weight, NULL, &(tsr_conv_desc){.before = {1, 1}, .after = {1, 1}});
  bench_check(tsr_evaluate(y), "conv");
  tsr_release(y);
}

// ns per call, without and with the wait after a burst.
typedef struct burst_times {
  double queued, in_all;
} burst_times;

static burst_times time_calls(const setting *s, void (*call)(const setting *s)) {
  double queued[BURSTS], in_all[BURSTS];
  for (int i = -5; i < BURSTS; i++) {
    double start = bench_now_ns();
    for (int j = 0; j < CALLS; j++) call(s);
    double ns = bench_now_ns() - start;
    bench_check(tsr_device_synchronize(s->device), "synchronize");
    if (i < 0) continue;
    queued[i] = ns / CALLS;
    in_all[i] = (bench_now_ns() - start) / CALLS;
  }
  qsort(queued, BURSTS, sizeof queued[0], by_value);
  qsort(in_all, BURSTS, sizeof in_all[0], by_value);
  return (burst_times){queued[BURSTS / 2], in_all[BURSTS / 2]};
}

static const struct {
  const char *name;
  void (*call)(const setting *s);
} rows[] = {
    {"record an operator and release it", recorded},
    {"record and queue an operator on 1,000 elements", one_operator},
    {"record and queue a chain of eight", chain},
    {"record and queue conv f16 8x64x14x14, 3x3", convolution},
};

static tsr_tensor *make(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  tsr_tensor *made = tsr_full(device, dtype, shape, 0.5);
  bench_check(tsr_evaluate(made), "an input");
  return made;
}

static void time_rows(const char *backend) {
  bench_check(tsr_profile_begin(NULL), "profiling");  // so that events of the device have times
  setting s = {0};
  bench_check(tsr_device_open(&(tsr_device_desc){.backend = backend}, &s.device), backend);
  bench_check(tsr_profile_end(NULL), "profiling");
  s.x = make(s.device, TSR_F32, TSR_SHAPE(ELEMENTS));
  s.image = make(s.device, TSR_F16, TSR_SHAPE(8, 64, 14, 14));
  s.weight = make(s.device, TSR_F16, TSR_SHAPE(64, 64, 3, 3));
  printf("%-52s %10s %10s %10s\n", backend, "ns", "with wait", "profiled");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    burst_times off = time_calls(&s, rows[i].call);
    bench_check(tsr_profile_begin(NULL), "profiling");
    burst_times on = time_calls(&s, rows[i].call);
    bench_check(tsr_profile_end(NULL), "profiling");
    printf("%-52s %10.0f %10.0f %10.0f\n", rows[i].name, off.queued, off.in_all, on.queued);
  }
  tsr_release(s.x);
  tsr_release(s.image);
  tsr_release(s.weight);
  tsr_device_release(s.device);
}

// --- The driver alone -------------------------------------------------------------------------------------------------

typedef struct driver {
  int (*init)(unsigned), (*context)(void **, int), (*push)(void *), (*current)(void **), (*load)(void **, const void *),
      (*function)(void **, void *, const char *),
      (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
      (*stream)(void **, unsigned), (*wait)(void *), (*event)(void **, unsigned), (*record)(void *, void *),
      (*elapsed)(float *, void *, void *), (*query)(void *);
} driver;

static bool open_driver(driver *cu) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  const struct {
    const char *name;
    void *entry;
  } entries[] = {
      {"cuInit", &cu->init},
      {"cuDevicePrimaryCtxRetain", &cu->context},
      {"cuCtxPushCurrent_v2", &cu->push},
      {"cuCtxGetCurrent", &cu->current},
      {"cuModuleLoadData", &cu->load},
      {"cuModuleGetFunction", &cu->function},
      {"cuLaunchKernel", &cu->launch},
      {"cuStreamCreate", &cu->stream},
      {"cuStreamSynchronize", &cu->wait},
      {"cuEventCreate", &cu->event},
      {"cuEventRecord", &cu->record},
      {"cuEventElapsedTime", &cu->elapsed},
      {"cuEventQuery", &cu->query},
  };
  for (size_t i = 0; library && i < sizeof entries / sizeof entries[0]; i++) {
    void *found = dlsym(library, entries[i].name);
    if (!found) return false;
    memcpy(entries[i].entry, &found, sizeof found);
  }
  return library && cu->init(0) == 0;
}

static void time_driver(void) {
  static const char text[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry none(.param .u64 a, .param .u64 b, .param .u64 "
      "c, .param .u32 n) { ret; }\n";
  enum { LAUNCH, LAUNCH_EVENT, QUERY, ELAPSED, CURRENT, ROWS };
  static const char *const names[ROWS] = {"cuLaunchKernel", "cuLaunchKernel and cuEventRecord", "cuEventQuery",
                                          "cuEventElapsedTime", "cuCtxGetCurrent"};
  driver cu = {0};
  void *context = NULL, *module = NULL, *function = NULL, *stream = NULL, *events[CALLS], *current = NULL;
  uint64_t address = 0;
  unsigned count = ELEMENTS;
  void *arguments[] = {&address, &address, &address, &count};
  if (!open_driver(&cu) || cu.context(&context, 0) || cu.push(context) || cu.load(&module, text) ||
      cu.function(&function, module, "none") || cu.stream(&stream, 1)) {
    return;
  }
  for (int i = 0; i < CALLS; i++) {
    if (cu.event(&events[i], 0)) return;
  }
  for (int row = 0; row < ROWS; row++) {
    double times[BURSTS];
    for (int i = -5; i < BURSTS; i++) {
      double start = bench_now_ns();
      for (int j = 0; j < CALLS; j++) {
        float ms = 0;
        if (row <= LAUNCH_EVENT) cu.launch(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
        if (row == LAUNCH_EVENT) cu.record(events[j], stream);
        if (row == QUERY) cu.query(events[j]);
        if (row == ELAPSED) cu.elapsed(&ms, events[0], events[j]);
        if (row == CURRENT) cu.current(&current);
      }
      double ns = bench_now_ns() - start;
      if (i >= 0) times[i] = ns / CALLS;
      cu.wait(stream);
    }
    qsort(times, BURSTS, sizeof times[0], by_value);
    printf("%-52s %10.0f\n", names[row], times[BURSTS / 2]);
  }
}

int main(int argument_count, char **arguments) {
  const char *backend = argument_count > 1 ? arguments[1] : "cpu";
  time_rows(backend);
  if (strcmp(backend, "cuda") == 0) time_driver();
  return 0;
}
