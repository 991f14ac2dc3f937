// SPDX-License-Identifier: MIT
// Tests of building, and of launches that bind parts of buffers.
#include "backends/metal/fixture.h"

#define IDS                                                                                    \
  ", uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], \n" \
  "    uint3 local [[thread_position_in_threadgroup]]) {\n"
#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

static const char axpy_text[] = HEAD
    "struct params { uint count; float scale; };\n"
    "[[kernel]] void axpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n"
    "    constant params &p [[buffer(2)]]" IDS
    "  uint i = group.x * 64u + local.x;\n  if (i < p.count) y[i] += p.scale * x[i];\n}\n";

typedef struct axpy_params {
  uint32_t count;
  float scale;
} axpy_params;

TEST(a_kernel_runs_on_parts_of_one_buffer) {
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("axpy", axpy_text, 2, 8, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 1024, NULL);
  float x_values[100], y_values[100];
  axpy_params params = {100, 2.0f};
  for (int i = 0; i < 100; i++) x_values[i] = (float)i, y_values[i] = 1000;
  fixture_write(&f, buffer, 0, x_values, sizeof x_values);
  fixture_write(&f, buffer, 512, y_values, sizeof y_values);
  tsri_binding bindings[2] = {{.buffer = buffer, .bytes = 400},
                              {.buffer = buffer, .offset = 512, .bytes = 400, .is_written = true}};
  tsri_launch launch = {.groups = {2, 1, 1}, .buffer_count = 2, .buffers = bindings, .params = &params};
  for (int i = 0; i < 2; i++) CHECK_OK(f.backend->launch(f.queue, program, &launch));
  fixture_read(&f, buffer, 512, y_values, sizeof y_values);
  for (int i = 0; i < 100; i++) CHECK_NEAR(y_values[i], 1000 + 4 * i, 0);
  launch.buffer_count = 1;
  CHECK_STATUS(f.backend->launch(f.queue, program, &launch), TSR_ERR_LAUNCH);
  f.backend->program_destroy(f.device, program);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(parameters_above_four_kibibytes_arrive) {
  enum { WORDS = 1500 };
  static const char text[] = HEAD
      "struct params { uint w[1500]; };\n"
      "[[kernel]] void last(device uint *y [[buffer(0)]], constant params &p [[buffer(1)]]" IDS
      "  if (local.x == 0u) y[0] = p.w[1499];\n}\n";
  uint32_t words[WORDS] = {[WORDS - 1] = 77}, out = 0;
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("last", text, 1, sizeof words, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL);
  tsri_binding binding = {.buffer = buffer, .bytes = 64, .is_written = true};
  tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding, .params = words};
  CHECK_OK(f.backend->launch(f.queue, program, &launch));
  f.backend->program_destroy(f.device, program);  // the command buffer keeps what it needs
  fixture_read(&f, buffer, 0, &out, sizeof out);
  CHECK_EQ_UINT(out, 77);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_build_that_fails_shows_the_compilers_log) {
  fixture f = fixture_open();
  tsri_code code = fixture_code(
      "broken", HEAD "[[kernel]] void broken(device float *x [[buffer(0)]]" IDS "  x[0] = not_declared;\n}\n", 1, 0,
      "");
  fixture_check_refused(&f, code, "not_declared");
  fixture_close(&f);
}

TEST(code_beyond_metals_limits_is_refused) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("other", axpy_text, 2, 8, "");
  fixture_check_refused(&f, code, "no kernel of this name");
  code = fixture_code("axpy", axpy_text, 31, 8, "");
  fixture_check_refused(&f, code, "at most 31");
  code = fixture_code("axpy", axpy_text, 2, 8, "");
  code.shared_bytes = 64 << 10;
  fixture_check_refused(&f, code, "shared memory");
  code = fixture_code("axpy", axpy_text, 2, 8, "");
  code.local[1] = 32;
  fixture_check_refused(&f, code, "at most 1024");
  code = fixture_code("axpy", axpy_text, 2, 8, "");
  code.form = TSRI_CODE_WORDS;
  fixture_check_refused(&f, code, "source text only");
  fixture_close(&f);
}

TEST(a_barrier_that_some_items_miss_is_reported) {
  fixture f = fixture_open();
  if (!fixture_standin) SKIP("a real GPU hangs");
  static const char text[] =
      HEAD "[[kernel]] void miss(device uint *y [[buffer(0)]]" IDS
           "  if (local.x > 3u) return;\n  threadgroup_barrier(mem_flags::mem_none);\n  y[0] = 1u;\n}\n";
  tsri_program *program = fixture_build(&f, fixture_code("miss", text, 1, 0, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL);
  tsri_binding binding = {.buffer = buffer, .bytes = 64, .is_written = true};
  tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding};
  CHECK_OK(f.backend->launch(f.queue, program, &launch));
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("item 4 has ended");
  f.backend->program_destroy(f.device, program);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}
