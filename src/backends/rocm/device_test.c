// SPDX-License-Identifier: MIT
// Discovery, device information, opening, and a device that is out of memory or lost.
#include <tessera/buffer.h>
#include <tessera/device.h>

#include "backends/rocm/fixture.h"

static void check_description(const char *words, const char *arch, uint32_t wave, uint32_t fragments) {
  fixture f = fixture_open_as(words);
  tsr_device_info info;
  CHECK_OK(f.backend->device_info(0, &info));
  CHECK_STR(info.arch, arch);
  CHECK_STR_HAS(info.name, arch);
  CHECK_STR_HAS(info.driver, "HIP 6.3.");
  CHECK_STR(info.pci, "0000:1b:00.0");
  CHECK(info.type == TSR_DEVICE_DISCRETE_GPU && !info.is_software && info.uuid[0]);
  CHECK(info.total_bytes == (uint64_t)4 << 30 && info.free_bytes <= info.total_bytes);
  CHECK_EQ_UINT(f.limits.subgroup_size, wave);
  CHECK_EQ_UINT(f.limits.shared_bytes, 65536);
  CHECK_EQ_UINT(f.limits.fragment_count, fragments);
  CHECK_STR(((const cuda_device *)f.device)->target, arch);
  fixture_close(&f);
}

TEST(a_gfx90a_has_wavefronts_of_64_and_matrix_units) { check_description("gfx=gfx90a", "gfx90a", 64, 2); }
TEST(a_gfx908_has_matrix_units_for_f16_alone) { check_description("gfx=gfx908", "gfx908", 64, 1); }
TEST(a_gfx942_has_wavefronts_of_64_and_matrix_units) { check_description("gfx=gfx942", "gfx942", 64, 2); }
TEST(a_gfx1100_has_wavefronts_of_32_and_matrix_units) { check_description("gfx=gfx1100", "gfx1100", 32, 2); }
TEST(a_gfx1030_has_wavefronts_of_32_and_no_matrix_units) { check_description("gfx=gfx1030", "gfx1030", 32, 0); }

TEST(no_device_says_what_may_hide_it_and_a_start_that_fails_names_its_code) {
  int count = 0;
  fixture_use_standin("devices=0");
  CHECK_OK(tsri_rocm_backend.start(NULL));
  CHECK_STATUS(tsri_rocm_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("ROCm is there but finds no GPU");
  fixture_use_standin("init=3");
  CHECK_STATUS(tsri_rocm_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("does not start: HIP 3");
  fixture_use_standin("devices=2");  // devices that appear later are found
  CHECK_OK(tsri_rocm_backend.device_count(&count));
  CHECK_EQ_INT(count, 2);
  tsri_rocm_backend.stop();
}

// hiprtc would end the process.
static void check_refused(const char *words, const char *why) {
  int count = 0;
  tsri_limits limits;
  tsri_device *device = NULL;
  fixture_use_standin(words);
  CHECK_OK(tsri_rocm_backend.start(NULL));
  CHECK_OK(tsri_rocm_backend.device_count(&count));
  CHECK_STATUS(tsri_rocm_backend.device_open(0, &(tsri_open_options){.native = "all"}, &limits, &device),
               TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS(why);
  CHECK_LAST_ERROR_HAS("vulkan");
  tsr_device_info info;  // discovery says the same in its place
  CHECK_STATUS(tsri_rocm_backend.device_info(0, &info), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS(why);
  tsri_rocm_backend.stop();
}

TEST(a_gpu_of_an_unknown_name_is_refused) {
  check_refused("gfx=gfx1399", "is gfx1399, which this version of Tessera does not know");
}
TEST(a_gpu_newer_than_the_compiler_is_refused) { check_refused("gfx=gfx950", "install ROCm 6.5 or newer"); }

TEST(memory_that_is_out_has_its_own_status_and_the_device_works_on) {
  fixture f = fixture_open_as("oom=1");
  tsri_buffer *buffer = NULL;
  CHECK_STATUS(f.backend->buffer_create(f.device, 4096, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("HIP 2 hipErrorOutOfMemory");
  buffer = fixture_buffer(&f, 4096, NULL);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_lost_device_stays_lost_and_can_be_closed) {
  fixture f = fixture_open_as("lost=3");
  tsri_buffer *buffer = NULL;
  unsigned char bytes[64] = {0};
  CHECK_OK(f.backend->buffer_create(f.device, 64, &buffer));
  tsr_status status = TSR_OK;
  for (int i = 0; i < 5 && status == TSR_OK; i++) status = f.backend->fill(f.queue, buffer, 0, 64, bytes, 1);
  CHECK_STATUS(status, TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("HIP 700 hipErrorIllegalAddress");
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("HIP gives this process no new start on it");
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close_device(&f);
  f.backend->stop();
}

TEST(copies_between_two_gpus_arrive) {
  fixture f = fixture_open_as("devices=2");
  tsri_limits limits;
  tsri_device *second = NULL;
  tsri_buffer *there = NULL, *here = fixture_buffer(&f, 64, NULL);
  unsigned char in[64], out[64] = {0};
  for (int i = 0; i < 64; i++) in[i] = (unsigned char)(3 * i);
  CHECK_OK(f.backend->device_open(1, &(tsri_open_options){.native = "all"}, &limits, &second));
  fixture g = {.backend = f.backend, .device = second};
  CHECK_OK(g.backend->queue_create(second, &g.queue));
  there = fixture_buffer(&g, 64, in);
  CHECK_OK(f.backend->copy_peer(f.queue, here, 0, second, there, 0, 64));
  fixture_read(&f, here, 0, out, sizeof out);
  CHECK_BYTES(out, in, sizeof out);
  g.backend->buffer_destroy(second, there);
  f.backend->buffer_destroy(f.device, here);
  fixture_close_device(&g);
  fixture_close(&f);
}

TEST(opened_through_the_api_a_device_passes_its_self_test) {
  fixture_use_standin("gfx=gfx90a");
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "rocm"}, &device));
  CHECK_STR(tsr_device_backend(device), "rocm");
  tsr_device_release(device);
}
