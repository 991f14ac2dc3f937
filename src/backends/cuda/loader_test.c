// SPDX-License-Identifier: MIT
// Libraries that are missing, unsuitable or find no device, and the error messages for them.
#include "backends/cuda/fixture.h"

TEST(a_missing_driver_gives_the_search_trail) {
  static const char *const names[] = {"libNoSuchCuda.so.1", "/nowhere/libcuda.so", NULL};
  tsri_cuda_names = names;
  CHECK_STATUS(tsri_cuda_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libNoSuchCuda.so.1: not found");
  CHECK_LAST_ERROR_HAS("; /nowhere/libcuda.so: not found");
  CHECK_LAST_ERROR_HAS("nvidia-driver");
}

TEST(a_library_that_is_no_cuda_is_named_with_what_it_lacks) {
  static const char *const names[] = {"libc.so.6", NULL};
  tsri_cuda_names = names;
  CHECK_STATUS(tsri_cuda_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libc.so.6: has no cuInit");
}

TEST(a_missing_compiler_names_its_package_and_the_other_ways_to_the_gpu) {
  static const char *const names[] = {"libNoSuchNvrtc.so.13", NULL};
  int count = 0;
  fixture_use_fake();
  tsri_nvrtc_names = names;
  CHECK_OK(tsri_cuda_backend.start(NULL));
  CHECK_STATUS(tsri_cuda_backend.device_count(&count), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libNoSuchNvrtc.so.13: not found");
  CHECK_LAST_ERROR_HAS("libnvrtc12");
  CHECK_LAST_ERROR_HAS("vulkan or opencl");
}

TEST(a_driver_without_a_gpu_says_so) {
  int count = 0;
  fake_cuda *fake = fixture_use_fake();
  fake->device_count = 0;
  CHECK_OK(tsri_cuda_backend.start(NULL));
  CHECK_STATUS(tsri_cuda_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("finds no GPU");
  fake->init_code = CU_NO_DEVICE;
  CHECK_STATUS(tsri_cuda_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("finds no GPU");
  fake->init_code = 803;
  CHECK_STATUS(tsri_cuda_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("does not start: CUDA 803");
  fake->init_code = 0;
  fake->device_count = 1;  // a device that appears later is found
  CHECK_OK(tsri_cuda_backend.device_count(&count));
  CHECK_EQ_INT(count, 1);
}

TEST(free_memory_is_the_total_where_nvml_is_missing) {
  static const char *const names[] = {"libNoSuchNvml.so.1", NULL};
  int count = 0;
  tsr_device_info info;
  fixture_use_fake();
  tsri_nvml_names = names;
  CHECK_OK(tsri_cuda_backend.start(NULL));
  CHECK_OK(tsri_cuda_backend.device_count(&count));
  CHECK_OK(tsri_cuda_backend.device_info(0, &info));
  CHECK_EQ_UINT(info.free_bytes, info.total_bytes);
  CHECK_STR(info.driver, "NVIDIA, CUDA 13.0");
}
