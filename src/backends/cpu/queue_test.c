// SPDX-License-Identifier: MIT
#include <tessera/tessera.h>

#include "backends/common/queue_testing.h"
#include "backends/cpu/cpu.h"

extern const tsri_backend tsri_cpu_backend;

static fixture fixture_open(void) {
  fixture f = {.backend = &tsri_cpu_backend};
  fixture_open_device(&f, &(tsri_open_options){.threads = 2, .native = "all", .timeout_ns = UINT64_MAX});
  return f;
}

static void fixture_close(const fixture *f) {
  fixture_wait(f);
  fixture_close_device(f);
}

SEAM_TESTS_OF_QUEUES

TEST(long_fills_reach_their_end_and_go_no_further_on_several_threads) {
  enum { PATTERN = 8, BYTES = (5 << 20) + 24, BEFORE = 64 };
  static const unsigned char pattern[PATTERN] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int threads = 1; threads <= 3; threads++) {
    tsri_limits limits;
    tsri_open_options options = {.threads = threads, .native = "all"};
    tsri_device *device = NULL;
    tsri_queue *queue = NULL;
    tsri_buffer *buffer = NULL;
    CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &device));
    CHECK_OK(tsri_cpu_queue_create(device, &queue));
    CHECK_OK(tsri_cpu_buffer_create(device, BEFORE + BYTES + 1, &buffer));
    unsigned char *memory = tsri_cpu_buffer_host(NULL, buffer);
    memset(memory, 9, BEFORE + BYTES + 1);
    CHECK_OK(tsri_cpu_fill(queue, buffer, BEFORE, BYTES, pattern, PATTERN));
    CHECK(memory[BEFORE - 1] == 9 && memory[BEFORE + BYTES] == 9);
    for (int i = 0; i < BYTES; i++) CHECK(memory[BEFORE + i] == pattern[i % PATTERN]);
    tsri_cpu_buffer_destroy(device, buffer);
    tsri_cpu_queue_destroy(queue);
    tsri_cpu_device_close(device);
  }
}

static void fail_first_group(const tsri_host_launch *launch, uint64_t first, uint64_t last) {
  (void)launch;
  (void)first;
  (void)last;
}

TEST(a_queue_with_a_thread_reports_a_failure_at_the_wait_and_with_its_event) {
  fixture f = fixture_open();
  tsri_queue *queue = NULL;
  tsri_event *event = NULL;
  tsri_program *program = NULL;
  bool is_done = false;
  CHECK_OK(f.backend->queue_create(f.device, &queue));
  CHECK_OK(f.backend->event_create(f.device, &event));
  tsri_code code = {.form = TSRI_CODE_HOST, .name = "nothing", .host = fail_first_group, .local = {1, 1, 1}};
  CHECK_OK(f.backend->program_create(f.device, &code, &program));
  CHECK_OK(f.backend->launch(queue, program, &(tsri_launch){.groups = {UINT32_MAX, UINT32_MAX, UINT32_MAX}}));
  CHECK_OK(f.backend->event_record(queue, event));
  CHECK_STATUS(f.backend->queue_wait(queue, UINT64_MAX), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("more than can be counted");
  CHECK_STATUS(f.backend->event_is_done(f.device, event, &is_done), TSR_ERR_LAUNCH);
  CHECK_OK(f.backend->queue_wait(queue, UINT64_MAX));
  f.backend->event_destroy(f.device, event);
  f.backend->queue_destroy(queue);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}
