// SPDX-License-Identifier: MIT
// Building, the cache on disk, and launching.
#include "backends/common/disk_cache.h"
#include "backends/cuda/fixture.h"

typedef struct axpy_params {
  uint32_t count;
  float scale;
} axpy_params;

static tsri_code axpy_code(void) {
  return fixture_code("tsr_fake_axpy", "tsr_fake_axpy", 2, sizeof(axpy_params), "-fmad=false");
}

TEST(a_launch_reads_offsets_and_parameters) {
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, axpy_code());
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
  axpy_params params = {4, 0.5f};
  fixture_write(&f, buffer, 256, x, sizeof x);
  fixture_write(&f, buffer, 1024, y, sizeof y);
  tsri_binding bindings[] = {{.buffer = buffer, .offset = 256, .bytes = sizeof x},
                             {.buffer = buffer, .offset = 1024, .bytes = sizeof y, .is_written = true}};
  tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 2, .buffers = bindings, .params = &params};
  CHECK_OK(f.backend->launch(f.queue, program, &launch));
  params.scale = 100;  // the launch has already read the parameters
  fixture_read(&f, buffer, 1024, y, sizeof y);
  for (int i = 0; i < 4; i++) CHECK_NEAR(y[i], 10.5f * (float)(i + 1), 0);
  launch.buffer_count = 1;
  CHECK_STATUS(f.backend->launch(f.queue, program, &launch), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("1 buffers given, it takes 2");
  f.backend->program_destroy(f.device, program);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_text_that_does_not_compile_gives_the_compilers_log) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("bad", "#error no", 0, 0, "-fmad=false");
  fixture_check_refused(&f, code, "bad: NVRTC cannot build it for sm_90");
  CHECK_LAST_ERROR_HAS("kernel.cu(1): error: #error directive");
  code = fixture_code("missing", "no such kernel", 0, 0, "-fmad=false");
  fixture_check_refused(&f, code, "the kernel missing");
  code = axpy_code();
  code.local[0] = 2048;
  fixture_check_refused(&f, code, "groups of 2048 items");
  fixture_close(&f);
}

TEST(a_program_is_compiled_once_and_comes_from_the_cache_then) {
  char folder[] = "/tmp/tessera-cuda-XXXXXX";
  fixture_use_cache(folder);
  fixture f = fixture_open();
  int before = fixture_fake->compilations;
  for (int i = 0; i < 3; i++) f.backend->program_destroy(f.device, fixture_build(&f, axpy_code()));
  CHECK_EQ_INT(fixture_fake->compilations, before + 1);
  tsri_code other = axpy_code();
  other.options = "-fmad=true";
  f.backend->program_destroy(f.device, fixture_build(&f, other));
  CHECK_EQ_INT(fixture_fake->compilations, before + 2);
  fixture_close(&f);
  fixture_remove_cache(folder);
}

static void spoil(const char *name, void *folder) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", (const char *)folder, name);
  CHECK(tsri_cache_store(path, "not an image", 12));  // a valid cache file whose contents the driver rejects
}

TEST(a_cached_image_that_the_driver_refuses_is_made_anew) {
  char folder[] = "/tmp/tessera-cuda-XXXXXX", inner[64];
  fixture_use_cache(folder);
  fixture f = fixture_open();
  int before = fixture_fake->compilations;
  f.backend->program_destroy(f.device, fixture_build(&f, axpy_code()));
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  CHECK(tsri_folder_each(inner, spoil, inner));
  for (int i = 0; i < 2; i++) f.backend->program_destroy(f.device, fixture_build(&f, axpy_code()));
  CHECK_EQ_INT(fixture_fake->compilations, before + 2);
  fixture_close(&f);
  fixture_remove_cache(folder);
}

TEST(without_a_place_for_the_cache_programs_are_built_all_the_same) {
  CHECK(setenv("XDG_CACHE_HOME", "/proc/no/such/folder", 1) == 0);
  fixture f = fixture_open();
  int before = fixture_fake->compilations;
  for (int i = 0; i < 2; i++) f.backend->program_destroy(f.device, fixture_build(&f, axpy_code()));
  CHECK_EQ_INT(fixture_fake->compilations, before + 2);
  fixture_close(&f);
}
