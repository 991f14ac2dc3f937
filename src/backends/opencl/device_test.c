// SPDX-License-Identifier: MIT
#include "backends/opencl/fixture.h"

#if TSRI_HAS_OPENCL

TEST(facts_of_the_device_are_filled) {
  fixture f = fixture_open();
  tsr_device_info info;
  CHECK_OK(f.backend->device_info(0, &info));
  CHECK(info.name[0] && info.driver[0] && info.arch[0]);
  CHECK(info.compute_units > 0 && info.total_bytes > 0 && info.free_bytes > 0 && info.max_buffer_bytes > 0);
  CHECK(info.type != TSR_DEVICE_CPU || info.is_software);
  fixture_close(&f);
}

TEST(better_devices_come_first) {
  fixture f = fixture_open();
  int count = 0;
  CHECK_OK(f.backend->device_count(&count));
  bool had_software = false;
  for (int i = 0; i < count; i++) {
    tsr_device_info info;
    CHECK_OK(f.backend->device_info(i, &info));
    CHECK_EQ_INT(info.index, i);
    CHECK(info.is_software || !had_software);
    had_software = info.is_software;
  }
  fixture_close(&f);
}

TEST(limits_come_from_the_device) {
  fixture f = fixture_open();
  CHECK(f.limits.buffer_alignment >= 128 && (f.limits.buffer_alignment & (f.limits.buffer_alignment - 1)) == 0);
  CHECK(f.limits.max_group_size >= 1 && f.limits.shared_bytes >= 1024 && f.limits.max_buffer_bytes > 0);
  CHECK(f.limits.dtype_storage & 1u << TSR_F16);
  CHECK(f.limits.dtype_arithmetic & 1u << TSR_F32);
  CHECK((f.limits.dtype_arithmetic & ~f.limits.dtype_storage) == 0);
  fixture_close(&f);
}

TEST(memory_in_use_is_counted) {
  fixture f = fixture_open();
  uint64_t total = 0, before = 0, during = 0;
  CHECK_OK(f.backend->memory_info(f.device, &before, &total));
  tsri_buffer *buffer = fixture_buffer(&f, 64 << 20, NULL);
  CHECK_OK(f.backend->memory_info(f.device, &during, &total));
  CHECK(before <= total && during <= total - (64 << 20));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

static cl_int CL_API_CALL find_no_platform(cl_uint room, cl_platform_id *platforms, cl_uint *out_count) {
  (void)room;
  (void)platforms;
  *out_count = 0;
  return CL_PLATFORM_NOT_FOUND_KHR;
}

TEST(a_loader_without_drivers_says_what_to_install) {
  if (tsri_opencl_backend.start(NULL) != TSR_OK) SKIP("there is no OpenCL library here");
  int count = 0;
  tsri_opencl_backend.stop();
  tsri_cl.GetPlatformIDs = find_no_platform;
  tsr_status status = tsri_opencl_backend.device_count(&count);
  CHECK_OK(tsri_opencl_backend.start(NULL));
  CHECK_STATUS(status, TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("OpenCL -1001 CL_PLATFORM_NOT_FOUND_KHR");
  CHECK_LAST_ERROR_HAS("pocl-opencl-icd");
}

#endif
