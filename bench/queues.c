// SPDX-License-Identifier: MIT
// Measures the costs of queues: the time of each queue operation, of a small launch on the device's first queue and on others, and of a kernel in a replayed
// capture. Measures their gain: the time of copies that run at the same time as kernels.
//
//   queues [BACKEND]
#include <string.h>

#include "timing.h"

enum { SMALL = 256, KERNELS = 20, COUNT = 2000 };

typedef struct setting {
  tsr_device *device;
  tsr_queue *queues[3];
  tsr_tensor *x;
} setting;

static void sync(const setting *s) { bench_check(tsr_device_synchronize(s->device), "synchronize"); }

static void report(const char *what, double start, int count) {
  printf("%-58s %9.0f ns\n", what, (bench_now_ns() - start) / count);
}

// --- Calls ------------------------------------------------------------------------------------------------------------

static void time_launches(const setting *s, tsr_queue *const *queues, int queue_count, const char *what) {
  for (int round = 0; round < 2; round++) {
    double start = bench_now_ns();
    for (int i = 0; i < COUNT; i++) {
      tsr_scope *scope = queue_count ? tsr_scope_begin_on(queues[i % queue_count]) : tsr_scope_begin(s->device);
      bench_check(tsr_evaluate(tsr_mul(s->x, s->x)), "mul");
      tsr_scope_end(scope);
    }
    if (round == 1) report(what, start, COUNT);
    sync(s);
  }
}

static void time_events(const setting *s) {
  for (int round = 0; round < 2; round++) {
    double recording = 0, awaiting = 0;
    for (int i = 0; i < COUNT; i++) {
      tsr_event *event = NULL;
      double start = bench_now_ns();
      bench_check(tsr_queue_record(s->queues[0], &event), "record");
      double between = bench_now_ns();
      bench_check(tsr_queue_await(s->queues[1], event), "await");
      awaiting += bench_now_ns() - between;
      recording += between - start;
      tsr_event_release(event);
    }
    sync(s);
    if (round == 0) continue;
    printf("%-58s %9.0f ns\n", "record an event", recording / COUNT);
    printf("%-58s %9.0f ns\n", "await it on another queue", awaiting / COUNT);
  }
}

static void time_small_copies(const setting *s) {
  void *memory = NULL;
  bench_check(tsr_host_alloc(s->device, SMALL * 4, &memory), "host_alloc");
  memset(memory, 0, SMALL * 4);
  for (int round = 0; round < 2; round++) {
    double start = bench_now_ns();
    for (int i = 0; i < COUNT; i++) bench_check(tsr_write_async(s->queues[0], s->x, memory, SMALL * 4, NULL), "write");
    if (round == 1) report("write_async of 1 KiB, pinned", start, COUNT);
    sync(s);
    start = bench_now_ns();
    for (int i = 0; i < COUNT; i++) bench_check(tsr_read_async(s->queues[0], s->x, memory, SMALL * 4, NULL), "read");
    if (round == 1) report("read_async of 1 KiB, pinned", start, COUNT);
    sync(s);
  }
  tsr_host_free(memory);
}

// --- Captures ---------------------------------------------------------------------------------------------------------

static void time_replays(const setting *s, tsr_queue *queue, const char *what) {
  tsr_capture *capture = NULL;
  tsr_scope *scope = tsr_scope_begin(s->device);
  bench_check(tsr_capture_begin(s->device), "capture");
  tsr_tensor *y = s->x;
  for (int i = 0; i < KERNELS; i++) {
    y = tsr_mul(y, s->x);
    bench_check(tsr_evaluate(y), "mul");
  }
  bench_check(tsr_capture_end(&y, 1, &capture), "capture_end");
  tsr_scope *bound = queue ? tsr_scope_begin_on(queue) : NULL;
  for (int round = 0; round < 2; round++) {
    sync(s);
    double start = bench_now_ns();
    for (int i = 0; i < COUNT / KERNELS; i++) bench_check(tsr_capture_run(capture), "run");
    double queued = bench_now_ns();
    sync(s);
    if (round == 0) continue;
    int kernels = COUNT / KERNELS * KERNELS;
    printf("%-58s %9.0f ns, until done %.0f ns\n", what, (queued - start) / kernels,
           (bench_now_ns() - start) / kernels);
  }
  tsr_scope_end(bound);
  tsr_capture_release(capture);
  tsr_scope_end(scope);
}

// --- Overlap ----------------------------------------------------------------------------------------------------------

enum { SIDE = 4096, BATCHES = 8 };

static void compute(tsr_tensor *x, tsr_tensor *w, int layers) {
  for (int i = 0; i < layers; i++) x = tsr_matmul(x, w);
  bench_check(tsr_evaluate(x), "matmul");
}

static void time_overlap(const setting *s, int side, int layers) {
  size_t bytes = sizeof(float) * (size_t)side * (size_t)side;
  void *in = NULL, *out = NULL;
  bench_check(tsr_host_alloc(s->device, bytes, &in), "host_alloc");
  bench_check(tsr_host_alloc(s->device, bytes, &out), "host_alloc");
  memset(in, 0, bytes);
  tsr_scope *all = tsr_scope_begin(s->device);
  tsr_tensor *w = tsr_zeros(s->device, TSR_F32, TSR_SHAPE(side, side)),
             *x = tsr_ones(s->device, TSR_F32, TSR_SHAPE(side, side));
  tsr_tensor *next = tsr_zeros(s->device, TSR_F32, TSR_SHAPE(side, side)),
             *last = tsr_ones(s->device, TSR_F32, TSR_SHAPE(side, side));
  static const char *const names[] = {"copies in alone", "copies out alone", "work alone", "all three, one queue",
                                      "all three, three queues"};
  for (int kind = 0; kind < 5; kind++) {
    double best = 1e18;
    for (int round = 0; round < 4; round++) {
      sync(s);
      double start = bench_now_ns();
      for (int i = 0; i < BATCHES; i++) {
        tsr_scope *scope = tsr_scope_begin_on(s->queues[kind == 3 ? 0 : 1]);
        if (kind != 1 && kind != 2) bench_check(tsr_write_async(s->queues[0], next, in, bytes, NULL), "write");
        if (kind >= 2) compute(x, w, layers);
        if (kind != 0 && kind != 2)
          bench_check(tsr_read_async(s->queues[kind == 3 ? 0 : 2], last, out, bytes, NULL), "read");
        tsr_scope_end(scope);
      }
      sync(s);
      double took = bench_now_ns() - start;
      if (took < best) best = took;
    }
    printf("%d batches of %zu MiB, %d products: %-25s %9.2f ms\n", BATCHES, bytes >> 20, layers, names[kind],
           best / 1e6);
  }
  tsr_scope_end(all);
  tsr_host_free(in);
  tsr_host_free(out);
}

int main(int argc, char **argv) {
  setting s = {0};
  bench_check(tsr_device_open(&(tsr_device_desc){.backend = argc > 1 ? argv[1] : "auto"}, &s.device), "open");
  bool is_gpu = tsr_device_backend(s.device)[0] != 'c' || tsr_device_backend(s.device)[1] != 'p';
  s.x = tsr_ones(s.device, TSR_F32, TSR_SHAPE(SMALL));
  printf("%s\n", tsr_device_backend(s.device));
  time_launches(&s, NULL, 0, "a recorded mul, no other queue");
  time_replays(&s, NULL, "per replayed kernel, no other queue");
  for (int i = 0; i < 3; i++) bench_check(tsr_queue_create(s.device, &s.queues[i]), "queue");
  time_launches(&s, NULL, 0, "a recorded mul, first queue of four");
  time_launches(&s, s.queues, 1, "a recorded mul, another queue");
  time_launches(&s, s.queues, 3, "a recorded mul, three queues in turn, same input");
  time_events(&s);
  time_small_copies(&s);
  time_replays(&s, NULL, "per replayed kernel, first queue of four");
  time_replays(&s, s.queues[1], "per replayed kernel, another queue");
  time_overlap(&s, is_gpu ? SIDE : 512, is_gpu ? 2 : 1);
  tsr_release(s.x);
  for (int i = 0; i < 3; i++) tsr_queue_release(s.queues[i]);
  tsr_device_release(s.device);
  return 0;
}
