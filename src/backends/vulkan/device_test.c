// SPDX-License-Identifier: MIT
// Finding and describing Vulkan devices, names of codes.
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

#include "core/alloc.h"

TEST(a_library_that_is_not_there_is_reported_with_its_name_and_what_to_do) {
  static const char *const names[] = {"libtsr_no_such_vulkan.so.1", "libtsr_nor_this.so", NULL};
  CHECK_STATUS(tsri_vulkan_load(names), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libtsr_no_such_vulkan.so.1: ");
  CHECK_LAST_ERROR_HAS("libtsr_nor_this.so: ");
  CHECK_LAST_ERROR_HAS("install");
}

TEST(a_library_that_is_another_one_is_reported_as_such) {
  static const char *const names[] = {"libm.so.6", NULL};
  CHECK_STATUS(tsri_vulkan_load(names), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libm.so.6: has no vkGetInstanceProcAddr");
}

TEST(devices_are_described_and_limits_are_sane) {
  fixture f = fixture_open();
  tsr_device_info info;
  CHECK_OK(f.backend->device_info(0, &info));
  printf("  %s, %s, %s, uuid %s, %llu bytes, subgroups of %u, storage %x, arithmetic %x\n", info.name, info.driver,
         info.arch, info.uuid, (unsigned long long)info.total_bytes, f.limits.subgroup_size, f.limits.dtype_storage,
         f.limits.dtype_arithmetic);
  printf("  storage16 %d storage8 %d i16 %d i8 %d denormals %x nan %x even %x, validation layer %s\n",
         f.limits.has_storage16, f.limits.has_storage8, f.limits.has_i16, f.limits.has_i8, f.limits.keeps_denormals,
         f.limits.keeps_nan, f.limits.rounds_to_even, tsri_vulkan_validation_count() < 0 ? "missing" : "on");
  CHECK(info.name[0] && info.driver[0]);
  CHECK(info.total_bytes > 0 && info.free_bytes <= info.total_bytes);
  CHECK(f.limits.max_buffer_bytes >= 128u << 20);
  CHECK(f.limits.max_group_size >= 128 && f.limits.max_groups[0] >= 65535);
  CHECK(f.limits.buffer_alignment % f.limits.binding_alignment == 0);
  uint64_t free_bytes = 0, total = 0;
  CHECK_OK(f.backend->memory_info(f.device, &free_bytes, &total));
  CHECK(free_bytes > 0 && free_bytes <= total);
  fixture_close(&f);
}

TEST(too_large_a_buffer_is_out_of_memory_with_the_figure) {
  fixture f = fixture_open();
  tsri_buffer *buffer = NULL;
  CHECK_STATUS(f.backend->buffer_create(f.device, (size_t)1 << 46, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("70368744177664");
  CHECK(buffer == NULL);
  if (fixture_messages >= 0)
    fixture_messages = tsri_vulkan_validation_count();  // the layer may rightly complain about the size
  fixture_close(&f);
}

TEST(several_devices_are_open_at_once) {
  fixture a = fixture_open(), b = fixture_open();
  fixture_copy_between(&a, &b);
  fixture_close(&a);
  fixture_close(&b);
}

TEST(codes_have_their_names) {
  CHECK_STR(tsri_vulkan_code_name(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
  CHECK_STR(tsri_vulkan_code_name((VkResult)-123456), "an unknown code");
  CHECK_STATUS(VULKAN_FAIL(NULL, VK_ERROR_OUT_OF_DEVICE_MEMORY, TSR_ERR_LAUNCH, "trying"), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("trying: Vulkan -2: VK_ERROR_OUT_OF_DEVICE_MEMORY");
}

TEST(a_lost_device_says_so_from_then_on) {
  fixture f = fixture_open();
  vulkan_device *device = vulkan_device_of(f.device);
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL), *more = NULL;
  CHECK_STATUS(VULKAN_FAIL(device, VK_ERROR_DEVICE_LOST, TSR_ERR_LAUNCH, "trying"), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->fill(f.queue, buffer, 0, 64, "x", 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, "x", 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->buffer_create(f.device, 64, &more), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->queue_destroy(f.queue);
  f.backend->device_close(f.device);
}

#endif
