// SPDX-License-Identifier: MIT
// Finding a library and its adapter; errors, exhausted memory and device loss become statuses with the library's
// message.
#include "backends/webgpu/fixture.h"
#include "backends/webgpu/native.h"

TEST(a_library_that_is_not_there_is_reported_with_its_name_and_what_to_do) {
  char text[1024];
  CHECK_STATUS(tsri_wgpu.start("libtsr_no_such_webgpu.so"), TSR_ERR_NOT_FOUND);
  tsri_wgpu.error_text(text, sizeof text);
  CHECK_STR_HAS(text, "libtsr_no_such_webgpu.so: ");
  CHECK_STR_HAS(text, "TESSERA_WEBGPU_LIB");
}

TEST(a_library_that_is_another_one_is_reported_as_such) {
  char text[1024];
  CHECK_STATUS(tsri_wgpu.start("libm.so.6"), TSR_ERR_NOT_FOUND);
  tsri_wgpu.error_text(text, sizeof text);
  CHECK_STR_HAS(text, "libm.so.6: has no wgpuCreateInstance");
}

// Without a driver, Dawn offers an adapter that accepts all commands and runs nothing, which would give wrong results.
TEST(without_a_driver_there_is_no_device) {
  fixture f = fixture_open();
  char *icd = strdup(getenv("VK_ICD_FILENAMES"));
  int count = 1;
  CHECK(icd != NULL);
  setenv("VK_ICD_FILENAMES", "/no/such/driver.json", 1);
  tsr_status status = f.backend->device_count(&count);
  setenv("VK_ICD_FILENAMES", icd, 1);
  free(icd);
  CHECK_STATUS(status, TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("has no adapter here: ");
  CHECK_EQ_INT(count, 0);
  CHECK_OK(f.backend->device_count(&count));
  CHECK_EQ_INT(count, 1);
  fixture_close(&f);
}

TEST(devices_are_described_and_limits_are_sane) {
  fixture f = fixture_open();
  tsr_device_info info;
  CHECK_OK(f.backend->device_info(0, &info));
  const tsri_wgpu_adapter *a = &webgpu_device_of(f.device)->adapter;
  printf("  %s, %s, %s, %u storage buffers, %u bytes shared, groups of %u, fma %s\n", info.name, info.driver, info.arch,
         a->max_storage_buffers, a->shared_bytes, a->max_group_items,
         f.limits.has_exact_fma ? "fuses" : "rounds twice");
  CHECK(info.name[0] && info.driver[0]);
  CHECK(f.limits.max_buffer_bytes >= 128u << 20);
  CHECK(f.limits.max_group_size >= 128 && f.limits.shared_bytes >= 16384);
  CHECK(f.limits.binds_whole_buffers && f.limits.buffer_alignment >= 256);
  CHECK(!(f.limits.dtype_storage >> TSR_F64 & 1) && (f.limits.dtype_storage >> TSR_I64 & 1));
  fixture_close(&f);
}

TEST(too_large_a_buffer_is_out_of_memory_and_the_device_goes_on) {
  fixture f = fixture_open();
  tsri_buffer *buffer = NULL;
  CHECK_STATUS(f.backend->buffer_create(f.device, (size_t)1 << 46, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("70368744177664");
  CHECK(buffer == NULL);
  buffer = fixture_buffer(&f, 4, "abcd");
  char out[4];
  fixture_read(&f, buffer, 0, out, 4);
  CHECK_BYTES(out, "abcd", 4);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(several_devices_are_open_at_once) {
  fixture a = fixture_open(), b = fixture_open();
  fixture_copy_between(&a, &b);
  fixture_close(&a);
  fixture_close(&b);
}

// Simulates a driver reset or a GPU that is removed.
TEST(a_lost_device_says_so_from_then_on_and_another_works) {
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL), *more = NULL;
  char out[64];
  tsri_wgpu_lib.DeviceDestroy(webgpu_device_of(f.device)->handle->handle);
  (void)f.backend->copy_out(f.queue, out, buffer, 0, 64);  // the loss may not be noticed yet
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->fill(f.queue, buffer, 0, 64, "x", 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, "x", 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->buffer_create(f.device, 64, &more), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("lost");
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->queue_destroy(f.queue);
  f.backend->device_close(f.device);

  fixture g = fixture_open();
  buffer = fixture_buffer(&g, 4, "abcd");
  fixture_read(&g, buffer, 0, out, 4);
  CHECK_BYTES(out, "abcd", 4);
  g.backend->buffer_destroy(g.device, buffer);
  fixture_close(&g);
}

TEST(text_that_is_no_wgsl_is_a_build_error_with_the_compilers_words) {
  fixture f = fixture_open();
  const char *text = "@compute @workgroup_size(1) fn k() { let x: f32 = true; }";
  tsri_code code = {
      .form = TSRI_CODE_TEXT, .name = "k", .data = text, .data_bytes = strlen(text), .local = {1, 1, 1}, .options = ""};
  tsri_program *program = NULL;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("f32");
  CHECK(program == NULL);
  fixture_close(&f);
}

TEST(what_a_device_does_not_allow_is_refused_with_the_figures) {
  fixture f = fixture_open();
  tsri_program *program = NULL;
  const char *text = "";
  tsri_code code = {.form = TSRI_CODE_TEXT, .name = "k", .data = text, .options = "", .local = {1, 1, 1}};
  code.buffer_count = 39;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("39 buffers");
  code.buffer_count = 1;
  code.shared_bytes = 1u << 30;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("1073741824 bytes of shared memory");
  code.shared_bytes = 0;
  code.local[2] = 4096;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("groups of 1x1x4096 items");
  fixture_close(&f);
}

// --- A library that fails -------------------------------------------------------------------------------------------

static tsr_status fail_copy(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                            size_t src_offset, size_t bytes) {
  (void)device, (void)dst, (void)dst_offset, (void)src, (void)src_offset, (void)bytes;
  return tsri_wgpu_fail(TSR_ERR_INTERNAL, "no copies today");
}

static tsr_status fail_check(tsri_wgpu_device *device) {
  (void)device;
  return tsri_wgpu_fail(TSR_ERR_OUT_OF_MEMORY, "too late to say");
}

TEST(errors_of_the_library_come_out_with_its_words) {
  fixture f = fixture_open();
  tsri_wgpu_api saved = tsri_wgpu;
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL);
  char out[64];
  tsri_wgpu.copy = fail_copy;
  CHECK_STATUS(f.backend->copy_out(f.queue, out, buffer, 0, 64), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("no copies today");
  tsri_wgpu = saved;
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, "x", 1));
  tsri_wgpu.device_check = fail_check;
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("too late to say");
  tsri_wgpu = saved;
  fixture_read(&f, buffer, 0, out, 64);
  CHECK_EQ_INT(out[63], 'x');
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}
