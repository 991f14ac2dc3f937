// SPDX-License-Identifier: MIT
// Finding, describing and opening GPUs with Metal.
#include "backends/metal/fixture.h"

static standin_metal *switches_or_skip(void) {
  standin_metal *switches = fixture_switches();
  if (!switches) SKIP("these are the stand-in's GPUs");
  return switches;
}

TEST(a_system_without_a_gpu_says_so) {
  standin_metal *switches = switches_or_skip();
  int count = -1;
  switches->devices = 0;
  CHECK_OK(tsri_metal_backend.start(NULL));
  CHECK_STATUS(tsri_metal_backend.device_count(&count), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("Metal is there but finds no GPU");
  tsri_metal_backend.stop();
  switches->devices = 1;
  CHECK_EQ_INT(switches->live_objects, 0);
}

TEST(of_two_gpus_the_one_that_saves_power_comes_last) {
  standin_metal *switches = switches_or_skip();
  tsr_device_info first, second;
  int count = 0;
  switches->devices = 2;
  CHECK_OK(tsri_metal_backend.start(NULL));
  CHECK_OK(tsri_metal_backend.device_count(&count));
  CHECK_EQ_INT(count, 2);
  CHECK_OK(tsri_metal_backend.device_info(0, &first));
  CHECK_OK(tsri_metal_backend.device_info(1, &second));
  CHECK_STR_HAS(first.name, "Metal 1");
  CHECK_STR_HAS(second.name, "Metal 0");
  tsri_metal_backend.stop();
  switches->devices = 1;
  CHECK_EQ_INT(switches->live_objects, 0);
}

TEST(a_gpu_is_described) {
  standin_metal *switches = switches_or_skip();
  tsr_device_info info;
  CHECK_OK(tsri_metal_backend.start(NULL));
  CHECK_OK(tsri_metal_backend.device_info(0, &info));
  CHECK_STR(info.driver, "Metal 3.2");
  CHECK_STR(info.arch, "apple9");
  CHECK(info.has_unified_memory && !info.is_software);
  CHECK_EQ_INT(info.type, TSR_DEVICE_INTEGRATED_GPU);
  CHECK_EQ_UINT(info.total_bytes, switches->memory);
  tsri_metal_backend.stop();
}

TEST(an_open_device_says_what_it_can) {
  standin_metal *switches = switches_or_skip();
  fixture f = fixture_open();
  CHECK_EQ_UINT(f.limits.subgroup_size, 32);
  CHECK_EQ_UINT(f.limits.shared_bytes, 32768);
  CHECK_EQ_UINT(f.limits.max_group_size, 1024);
  CHECK(!(f.limits.dtype_storage >> TSR_F64 & 1));
  CHECK(f.limits.dtype_storage >> TSR_BF16 & 1);
  CHECK_EQ_UINT(f.limits.fragment_count, 3);
  fixture_close(&f);
  CHECK_EQ_INT(switches->fast_math, 0);

  switches->language = 3 << 16;  // before bfloat
  f = fixture_open();
  CHECK_EQ_UINT(f.limits.fragment_count, 2);
  CHECK(f.limits.dtype_storage >> TSR_BF16 & 1);
  fixture_close(&f);
  switches->language = 3 << 16 | 2;

  f = fixture_open_with(&(tsri_open_options){.native = "-simdgroup_matrix"});
  CHECK_EQ_UINT(f.limits.fragment_count, 0);
  fixture_close(&f);
}

TEST(simd_groups_of_another_width_are_not_used) {
  standin_metal *switches = switches_or_skip();
  switches->wide = 1;
  fixture f = fixture_open();
  CHECK_EQ_UINT(f.limits.subgroup_size, 0);
  CHECK(!f.limits.has_subgroups);
  fixture_close(&f);
  switches->wide = 0;
}

TEST(a_gpu_whose_compiler_fails_does_not_open) {
  standin_metal *switches = switches_or_skip();
  tsri_limits limits;
  tsri_device *device = NULL;
  switches->no_compiler = 1;
  CHECK_OK(tsri_metal_backend.start(NULL));
  CHECK_STATUS(tsri_metal_backend.device_open(0, &(tsri_open_options){.threads = 0}, &limits, &device), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("switched off");
  tsri_metal_backend.stop();
  switches->no_compiler = 0;
  CHECK_EQ_INT(switches->live_objects, 0);
}
