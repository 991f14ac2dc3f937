// SPDX-License-Identifier: MIT
// Tests of building, of the disk cache, and of launches that bind parts of buffers.
#include "backends/opencl/fixture.h"

#if TSRI_HAS_OPENCL

#include <dirent.h>
#include <unistd.h>

#include "backends/common/disk_cache.h"
#include "core/alloc.h"

static const char axpy_text[] =
    "typedef struct { uint count; float scale; } params;\n"
    "__kernel void axpy(__global const float *x, __global float *y, params p) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  if (i < p.count) y[i] += p.scale * x[i];\n"
    "}\n";

typedef struct axpy_params {
  uint32_t count;
  float scale;
} axpy_params;

// Launches y += scale * x for 100 floats in 2 work-groups, with x and y at these offsets of `buffer`.
static void launch_axpy(const fixture *f, tsri_program *program, tsri_buffer *buffer, size_t x, size_t y) {
  axpy_params params = {100, 2.0f};
  tsri_binding bindings[2] = {{.buffer = buffer, .offset = x, .bytes = 400},
                              {.buffer = buffer, .offset = y, .bytes = 400, .is_written = true}};
  tsri_launch launch = {.groups = {2, 1, 1}, .buffer_count = 2, .buffers = bindings, .params = &params};
  CHECK_OK(f->backend->launch(f->queue, program, &launch));
}

TEST(a_kernel_runs_on_parts_of_one_buffer) {
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("axpy", axpy_text, 2, 8, ""));
  size_t y = f.limits.buffer_alignment * ((400 + f.limits.buffer_alignment - 1) / f.limits.buffer_alignment);
  tsri_buffer *buffer = fixture_buffer(&f, y + 512, NULL);
  float x_values[100], y_values[100];
  for (int i = 0; i < 100; i++) x_values[i] = (float)i, y_values[i] = 1000;
  fixture_write(&f, buffer, 0, x_values, sizeof x_values);
  fixture_write(&f, buffer, y, y_values, sizeof y_values);
  launch_axpy(&f, program, buffer, 0, y);
  launch_axpy(&f, program, buffer, 0, y);
  fixture_read(&f, buffer, y, y_values, sizeof y_values);
  for (int i = 0; i < 100; i++) CHECK_NEAR(y_values[i], 1000 + 4 * i, 0);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

TEST(two_bindings_of_the_same_bytes_are_the_same_memory) {
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("axpy", axpy_text, 2, 8, ""));
  size_t at = f.limits.buffer_alignment;
  tsri_buffer *buffer = fixture_buffer(&f, at + 1024, NULL);
  float values[100];
  for (int i = 0; i < 100; i++) values[i] = (float)i;
  fixture_write(&f, buffer, at, values, sizeof values);
  launch_axpy(&f, program, buffer, at, at);
  fixture_read(&f, buffer, at, values, sizeof values);
  for (int i = 0; i < 100; i++) CHECK_NEAR(values[i], 3 * i, 0);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

// OpenCL does not guarantee this; program.c says why we rely on it. Two views have interleaved rows: the kernel reads
// rows 1, 3, … through one binding and writes rows 0, 2, … through another one that overlaps it.
TEST(overlapping_bindings_see_one_memory) {
  static const char text[] =
      "typedef struct { uint row; } params;\n"
      "__kernel void rows(__global const uint *in, __global uint *out, params p) {\n"
      "  uint r = (uint)get_group_id(0), c = (uint)get_local_id(0);\n"
      "  for (uint i = c; i < p.row; i += 64) out[r * 2 * p.row + i] = in[r * 2 * p.row + i] + 1;\n"
      "}\n";
  enum { ROWS = 6 };
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("rows", text, 2, 4, ""));
  size_t row_bytes = f.limits.buffer_alignment, bytes = ROWS * row_bytes;
  uint32_t row = (uint32_t)(row_bytes / 4), *values = calloc(1, bytes);
  CHECK(values != NULL);
  for (uint32_t i = 0; i < ROWS * row; i++) values[i] = i;
  tsri_buffer *buffer = fixture_buffer(&f, bytes + 64, NULL);
  fixture_write(&f, buffer, 0, values, bytes);
  tsri_binding bindings[2] = {{.buffer = buffer, .offset = row_bytes, .bytes = bytes - row_bytes},
                              {.buffer = buffer, .offset = 0, .bytes = bytes - row_bytes, .is_written = true}};
  tsri_launch launch = {.groups = {ROWS / 2, 1, 1}, .buffer_count = 2, .buffers = bindings, .params = &row};
  CHECK_OK(f.backend->launch(f.queue, program, &launch));
  fixture_read(&f, buffer, 0, values, bytes);
  for (uint32_t i = 0; i < ROWS * row; i++) CHECK_EQ_UINT(values[i], i / row % 2 == 0 ? i + row + 1 : i);
  free(values);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

TEST(many_parts_of_a_buffer_bind_right) {
  enum { PARTS = 200 };
  static const char text[] =
      "typedef struct { uint value; } params;\n"
      "__kernel void mark(__global uint *out, params p) { if (get_global_id(0) == 0) out[0] = p.value; }\n";
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("mark", text, 1, 4, ""));
  size_t step = f.limits.buffer_alignment;
  tsri_buffer *buffer = fixture_buffer(&f, PARTS * step, NULL);
  for (uint32_t i = 0; i < PARTS; i++) {
    tsri_binding binding = {.buffer = buffer, .offset = i * step, .bytes = step, .is_written = true};
    tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding, .params = &i};
    CHECK_OK(f.backend->launch(f.queue, program, &launch));
  }
  for (uint32_t i = 0; i < PARTS; i++) {
    uint32_t value = 0;
    fixture_read(&f, buffer, i * step, &value, sizeof value);
    CHECK_EQ_UINT(value, i);
  }
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

// --- Building -------------------------------------------------------------------------------------------------------

TEST(a_build_that_fails_shows_the_compilers_log) {
  fixture f = fixture_open();
  tsri_code code =
      fixture_code("broken", "__kernel void broken(__global float *x) { x[0] = not_declared; }\n", 1, 0, "");
  fixture_check_refused(&f, code, "not_declared");
  CHECK_LAST_ERROR_HAS("CL_BUILD_PROGRAM_FAILURE");
  fixture_close(&f);
}

TEST(code_that_is_not_what_it_says_is_refused) {
  fixture f = fixture_open();
  tsri_program *program = NULL;
  tsri_code code = fixture_code("other", axpy_text, 2, 8, "");
  fixture_check_refused(&f, code, "the kernel other");
  code = fixture_code("axpy", axpy_text, 3, 8, "");
  fixture_check_refused(&f, code, "3 arguments instead of 4");
  code = fixture_code("axpy", axpy_text, 2, 8, "");
  code.local[0] = f.limits.max_group_size;
  code.local[1] = 2;
  fixture_check_refused(&f, code, "at most");
  code = fixture_code("axpy", axpy_text, 2, 8, "");
  code.form = TSRI_CODE_WORDS;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  fixture_close(&f);
}

TEST(options_reach_the_compiler) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("optional", "__kernel void optional(__global float *x) { x[0] = VALUE; }\n", 1, 0, "");
  tsri_program *program = NULL;
  CHECK_STATUS(f.backend->program_create(f.device, &code, &program), TSR_ERR_BUILD);
  code.options = "-DVALUE=3.0f";
  program = fixture_build(&f, code);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

// --- The cache ------------------------------------------------------------------------------------------------------

static TSRI_CL_TYPE(CreateProgramWithSource) real_create;
static int text_builds;

static cl_program CL_API_CALL count_text(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                         cl_int *error) {
  text_builds++;
  return real_create(context, count, texts, lengths, error);
}

typedef struct cache_place {
  char folder[64];  // used as $XDG_CACHE_HOME
  char *path;       // path of the only cache file
} cache_place;

// Starts with an empty cache, also on drivers for which the cache is usually off, and counts builds from text.
static cache_place cache_begin(const fixture *f, const tsri_code *code) {
  ((opencl_device *)f->device)->keeps_no_binaries = false;
  cache_place place = {.folder = "/tmp/tessera-opencl-XXXXXX"};
  CHECK(mkdtemp(place.folder) != NULL);
  CHECK(setenv("XDG_CACHE_HOME", place.folder, 1) == 0);
  place.path =
      tsri_opencl_cache_path((const opencl_device *)f->device, "-w -cl-std=CL1.2", code->data, code->data_bytes);
  CHECK(place.path != NULL);
  CHECK_STR_HAS(place.path, place.folder);
  real_create = tsri_cl.CreateProgramWithSource;
  tsri_cl.CreateProgramWithSource = count_text;
  text_builds = 0;
  return place;
}

static int count_files(const char *folder) {
  int count = 0;
  DIR *open_folder = opendir(folder);
  CHECK(open_folder != NULL);
  for (struct dirent *entry = readdir(open_folder); entry; entry = readdir(open_folder)) {
    count += entry->d_name[0] != '.';
  }
  closedir(open_folder);
  return count;
}

static void cache_end(cache_place *place) {
  char inner[128];
  tsri_cl.CreateProgramWithSource = real_create;
  snprintf(inner, sizeof inner, "%s/tessera", place->folder);
  remove(place->path);
  CHECK_EQ_INT(count_files(inner), 0);  // no unfinished file is left
  CHECK(rmdir(inner) == 0 && rmdir(place->folder) == 0);
  tsri_free(place->path);
}

static void build_once(const fixture *f, tsri_code code, int wanted_text_builds) {
  tsri_program *program = fixture_build(f, code);
  f->backend->program_destroy(f->device, program);
  CHECK_EQ_INT(text_builds, wanted_text_builds);
}

TEST(a_program_is_built_from_text_once) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("once", "__kernel void once(__global float *x) { x[0] += 7; }\n", 1, 0, "");
  cache_place place = cache_begin(&f, &code);
  build_once(&f, code, 1);
  build_once(&f, code, 1);
  tsri_program *program = fixture_build(&f, code);  // a program from the cache works
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  float value = 1;
  fixture_write(&f, buffer, 0, &value, sizeof value);
  tsri_binding binding = {.buffer = buffer, .bytes = 256, .is_written = true};
  CHECK_OK(
      f.backend->launch(f.queue, program, &(tsri_launch){.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding}));
  fixture_read(&f, buffer, 0, &value, sizeof value);
  CHECK(value > 1);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  cache_end(&place);
  fixture_close(&f);
}

TEST(a_damaged_cache_file_is_ignored_and_replaced) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("damaged", "__kernel void damaged(__global float *x) { x[0] += 8; }\n", 1, 0, "");
  cache_place place = cache_begin(&f, &code);
  build_once(&f, code, 1);
  size_t bytes = 0;
  void *binary = tsri_cache_load(place.path, &bytes);
  CHECK(binary != NULL && bytes > 0);

  FILE *file = fopen(place.path, "r+b");  // change one byte
  CHECK(file && fseek(file, 100, SEEK_SET) == 0);
  int byte = fgetc(file);
  CHECK(fseek(file, 100, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
  build_once(&f, code, 2);
  build_once(&f, code, 2);

  CHECK(truncate(place.path, 30) == 0);  // cut off the end
  build_once(&f, code, 3);
  build_once(&f, code, 3);

  CHECK(tsri_cache_store(place.path, "no program", 10));  // a valid cache file whose contents the driver rejects
  build_once(&f, code, 4);
  build_once(&f, code, 4);
  tsri_free(binary);
  cache_end(&place);
  fixture_close(&f);
}

TEST(without_a_cache_folder_programs_are_built_all_the_same) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("nowhere", "__kernel void nowhere(__global float *x) { x[0] += 9; }\n", 1, 0, "");
  CHECK(setenv("XDG_CACHE_HOME", "/proc/no/such/folder", 1) == 0);
  tsri_program *program = fixture_build(&f, code);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

#endif
