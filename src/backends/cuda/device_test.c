// SPDX-License-Identifier: MIT
// Tests of device information, opening, the shared primary context, and a lost device.
#include <tessera/buffer.h>
#include <tessera/memory.h>

#include "backends/cuda/fixture.h"
#include "core/alloc.h"

TEST(facts_of_the_device_are_filled) {
  fixture f = fixture_open();
  tsr_device_info info;
  CHECK_OK(f.backend->device_info(0, &info));
  CHECK_STR(info.name, "Stand-in GPU 0");
  CHECK_STR(info.arch, "9.0");
  CHECK_STR(info.uuid, "00102030-4050-6070-8090-a0b0c0d0e0f0");
  CHECK_STR(info.driver, "NVIDIA 580.0, CUDA 13.0");
  CHECK_STR(info.pci, "0000:1b:00.0");
  CHECK(info.type == TSR_DEVICE_DISCRETE_GPU && !info.is_software && info.compute_units == 4);
  CHECK_EQ_UINT(info.total_bytes, 256 << 20);
  CHECK_EQ_UINT(info.free_bytes, 240 << 20);  // from NVML, without creating a context
  CHECK_EQ_UINT(f.limits.subgroup_size, 32);
  CHECK_EQ_UINT(f.limits.shared_bytes, 49152);
  fixture_close(&f);
}

TEST(memory_in_use_shows) {
  fixture f = fixture_open();
  uint64_t total = 0, before = 0, during = 0;
  CHECK_OK(f.backend->memory_info(f.device, &before, &total));
  tsri_buffer *buffer = fixture_buffer(&f, 64 << 20, NULL);
  CHECK_OK(f.backend->memory_info(f.device, &during, &total));
  CHECK_EQ_UINT(during, before - (64 << 20));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(memory_that_is_out_has_its_own_status_and_the_device_works_on) {
  fixture f = fixture_open();
  tsri_buffer *buffer = NULL;
  CHECK_STATUS(f.backend->buffer_create(f.device, (size_t)300 << 30, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("CUDA 2 CUDA_ERROR_OUT_OF_MEMORY");
  CHECK_LAST_ERROR_HAS("322122547200 bytes");
  buffer = fixture_buffer(&f, 4096, NULL);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_gpu_newer_than_the_compiler_is_compiled_for_by_the_driver) {
  fake_cuda *fake = fixture_use_fake();
  fake->most_arch = 80;
  fixture f = fixture_open();
  CHECK_STR(((const cuda_device *)f.device)->target, "compute_80");
  fixture_close(&f);
}

TEST(a_gpu_older_than_the_compiler_knows_is_refused_with_what_to_do) {
  fixture f = {.backend = &tsri_cuda_backend};
  fixture_fake = fixture_use_fake();
  int count = 0;
  fixture_fake->least_arch = fixture_fake->most_arch = 100;
  CHECK_OK(f.backend->start(NULL));
  CHECK_OK(f.backend->device_count(&count));
  CHECK_STATUS(f.backend->device_open(0, &(tsri_open_options){.native = "all"}, &f.limits, &f.device),
               TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("capability 9.0");
  CHECK_LAST_ERROR_HAS("older NVRTC");
  CHECK_EQ_INT(fixture_fake->retained_contexts, 0);
}

TEST(the_context_of_other_code_stays_current) {
  fixture f = fixture_open();
  cu_context theirs = NULL, now = NULL;
  fixture_fake->device_count = 2;
  CHECK_EQ_INT(tsri_cu.DevicePrimaryCtxRetain(&theirs, 1), 0);
  CHECK_EQ_INT(tsri_cu.CtxPushCurrent(theirs), 0);
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  uint32_t in = 7, out = 0;
  fixture_write(&f, buffer, 0, &in, sizeof in);
  fixture_read(&f, buffer, 0, &out, sizeof out);
  CHECK_EQ_UINT(out, 7);
  CHECK_EQ_INT(tsri_cu.CtxGetCurrent(&now), 0);
  CHECK(now == theirs);
  f.backend->buffer_destroy(f.device, buffer);
  CHECK_EQ_INT(tsri_cu.CtxPopCurrent(&now), 0);
  CHECK_EQ_INT(tsri_cu.DevicePrimaryCtxRelease(1), 0);
  fixture_close(&f);
}

// Launches a kernel that crashes.
static void crash(const fixture *f) {
  tsri_program *program = fixture_build(f, fixture_code("tsr_fake_crash", "tsr_fake_crash", 0, 0, "-fmad=false"));
  CHECK_OK(f->backend->launch(f->queue, program, &(tsri_launch){.groups = {1, 1, 1}}));
  CHECK_STATUS(f->backend->queue_wait(f->queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("CUDA 700 CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  f->backend->program_destroy(f->device, program);
}

TEST(a_crashed_kernel_loses_the_device_for_good_and_freeing_still_works) {
  fixture f = fixture_open();
  uint64_t total = 0, free_bytes = 0;
  uint32_t word = 0;
  bool is_done = false;
  tsri_event *event = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL), *other = NULL;
  CHECK_OK(f.backend->event_create(f.device, &event));
  crash(&f);
  fixture_fake->sticky_code = 0;  // our device stays lost, even if later calls would succeed
  CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, &word, 4), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->copy_out(f.queue, &word, buffer, 0, 4), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->fill(f.queue, buffer, 0, 4, &word, 4), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->buffer_create(f.device, 16, &other), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->event_record(f.queue, event), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->event_is_done(f.device, event, &is_done), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->memory_info(f.device, &free_bytes, &total), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("start the program again");
  f.backend->event_destroy(f.device, event);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(opening_a_crashed_gpu_again_gives_the_reason_why_it_cannot) {
  fixture f = fixture_open();
  tsri_device *again = NULL;
  crash(&f);
  CHECK_STATUS(f.backend->device_open(0, &(tsri_open_options){.native = "all"}, &f.limits, &again),
               TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("CUDA 700");
  CHECK_LAST_ERROR_HAS("started again");
  fixture_fake->sticky_code = 0;
  fixture_close(&f);
}

// --- Through the core ---------------------------------------------------------------------------------------------------

TEST(the_core_opens_it_runs_out_of_memory_and_works_on) {
  fake_cuda *fake = fixture_use_fake();
  tsr_device *device = NULL;
  tsr_buffer *buffer = NULL, *other = NULL;
  uint32_t in[64], out[64] = {0};
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &device));  // self-tested
  CHECK_STATUS(tsr_buffer_create(device, (size_t)300 << 30, 0, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("300.0 GiB");
  CHECK_OK(tsr_buffer_create(device, 200 << 20, 0, &buffer));
  CHECK_STATUS(tsr_buffer_create(device, 100 << 20, 0, &other), TSR_ERR_OUT_OF_MEMORY);
  tsr_buffer_release(buffer);
  CHECK_OK(tsr_buffer_create(device, 100 << 20, 0, &other));  // the pool has freed the first buffer for it
  for (uint32_t i = 0; i < 64; i++) in[i] = i * i;
  CHECK_OK(tsr_buffer_upload(other, 1 << 20, in, sizeof in));
  CHECK_OK(tsr_buffer_download(other, 1 << 20, out, sizeof out));
  CHECK_BYTES(out, in, sizeof in);
  tsr_buffer_release(other);
  tsr_device_release(device);
  CHECK_EQ_INT(fake->live_buffers, 0);
  CHECK_EQ_INT(fake->retained_contexts, 0);
}

TEST(copies_between_two_gpus_go_directly) {
  fake_cuda *fake = fixture_use_fake();
  fake->device_count = 2;
  tsr_device *device[2] = {NULL, NULL};
  tsr_buffer *buffer[2] = {NULL, NULL};
  uint32_t in = 41, out = 0;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda", .index = i}, &device[i]));
    CHECK_OK(tsr_buffer_create(device[i], 256, 0, &buffer[i]));
  }
  CHECK_OK(tsr_buffer_upload(buffer[0], 64, &in, sizeof in));
  CHECK_OK(tsr_buffer_copy(buffer[1], 128, buffer[0], 64, sizeof in));
  CHECK_OK(tsr_buffer_download(buffer[1], 128, &out, sizeof out));
  CHECK_EQ_UINT(out, 41);
  for (int i = 0; i < 2; i++) {
    tsr_buffer_release(buffer[i]);
    tsr_device_release(device[i]);
  }
}

// --- Host memory that runs out ------------------------------------------------------------------------------------------

// Opens a device, builds, copies and multiplies. Frees everything it created, whichever step fails.
static tsr_status do_everything(const tsri_backend *cu) {
  tsri_limits limits;
  tsri_device *device = NULL;
  tsri_queue *queue = NULL;
  tsri_buffer *buffer = NULL;
  tsri_program *program = NULL;
  uint32_t word = 1;
  tsri_code code = fixture_code("tsr_fake_axpy", "tsr_fake_axpy", 2, 8, "-fmad=false");
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_F32, .result = TSR_F32};
  tsr_status status = cu->device_open(0, &(tsri_open_options){.native = "all"}, &limits, &device);
  if (status == TSR_OK) status = cu->queue_create(device, &queue);
  if (status == TSR_OK) status = cu->buffer_create(device, 64 * 64 * 4, &buffer);
  if (status == TSR_OK) status = cu->program_create(device, &code, &program);
  if (status == TSR_OK) status = cu->copy_in(queue, buffer, 0, &word, sizeof word);
  if (status == TSR_OK) status = cu->copy_out(queue, &word, buffer, 0, sizeof word);
  tsri_matrix square = {.at.buffer = buffer, .row = 64, .column = 1};
  op.is.product =
      (tsri_product_op){.m = 64, .n = 64, .k = 64, .a = square, .b = square, .y.buffer = buffer, .alpha = 1};
  if (status == TSR_OK) status = cu->run_op(queue, &op);
  if (status == TSR_OK) status = cu->queue_wait(queue, UINT64_MAX);
  if (program) cu->program_destroy(device, program);
  if (buffer) cu->buffer_destroy(device, buffer);
  if (queue) cu->queue_destroy(queue);
  if (device) cu->device_close(device);
  return status;
}

TEST(every_host_allocation_may_fail_and_nothing_leaks) {
  fake_cuda *fake = fixture_use_fake();
  int count = 0;
  CHECK_OK(tsri_cuda_backend.start(NULL));
  CHECK_OK(tsri_cuda_backend.device_count(&count));
  CHECK_OK(do_everything(&tsri_cuda_backend));
  int failures = 0;
  for (uint64_t nth = 1;; nth++) {
    tsri_alloc_fail_at(nth, false);
    tsr_status status = do_everything(&tsri_cuda_backend);
    uint64_t made = tsri_alloc_fail_at(0, false);
    // A failing disk cache is not an error, and without cuBLASLt the product reports TSR_ERR_UNSUPPORTED.
    CHECK(status == TSR_OK || status == TSR_ERR_OUT_OF_MEMORY || status == TSR_ERR_UNSUPPORTED);
    failures += status == TSR_ERR_OUT_OF_MEMORY;
    CHECK_EQ_INT(fake->live_buffers + fake->live_pinned + fake->live_streams + fake->live_events + fake->live_modules +
                     fake->live_plans + fake->retained_contexts + fake->current_contexts,
                 0);
    if (made < nth) break;
  }
  CHECK(failures >= 5);
}
