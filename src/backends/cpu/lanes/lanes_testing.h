// SPDX-License-Identifier: MIT
// Shared by the interpreter's tests: runs a kernel given as text at every SIMD level, and compares the results.
#ifndef TSRI_CPU_LANES_TESTING_H
#define TSRI_CPU_LANES_TESTING_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/lanes.h"
#include "backends/cpu/lanes/reference_testing.h"
#include "core/alloc.h"
#include "lang/emit/lanes/lanes.h"
#include "lang/lang.h"

static const char *const simd_levels[] = {"baseline", "avx2", "avx512", "neon"};
enum { SIMD_LEVELS = 4 };

REF bool has_level(const char *level) { return strcmp(tsri_cpu_simd_level(level), level) == 0; }

// Parses the text's only kernel, with arguments as on a command line, "T=f16 WG=32".
REF tsri_kernel *kernel_of(const char *text, const char *args, bool is_checked) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  char *log = NULL;
  if (tsri_lang_parse("t.tk", text, strlen(text), &log, &module) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s\n%s", log ? log : tsr_last_error(), text);
  }
  tsri_free(log);
  tsri_lang_arg list[8];
  char copy[256], names[8][32];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", args ? args : "");
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    CHECK_OK(tsri_lang_arg_parse(word, names[count], sizeof names[count], &list[count]));
    count++;
  }
  tsri_lang_options options = {.checked = is_checked};
  if (tsri_lang_specialise(module, NULL, list, count, &options, &log, &kernel) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s\n%s", log ? log : tsr_last_error(), text);
  }
  tsri_free(log);
  tsri_module_release(module);
  return kernel;
}

REF tsri_lanes_program *program_of(const tsri_kernel *kernel) {
  uint32_t *words = NULL;
  size_t bytes = 0;
  tsri_lanes_program *program = NULL;
  CHECK_OK(tsri_lanes_compile(kernel, &words, &bytes));
  CHECK_OK(tsri_lanes_prepare(words, bytes, &program));
  tsri_free(words);
  return program;
}

REF tsri_lanes_program *program_from(const char *text, const char *args, bool is_checked) {
  tsri_kernel *kernel = kernel_of(text, args, is_checked);
  tsri_lanes_program *program = program_of(kernel);
  tsri_kernel_release(kernel);
  return program;
}

// A buffer of a test: its initial contents of `bytes` bytes, and whether its final contents are compared (`is_out`).
typedef struct test_buffer {
  void *memory;
  size_t bytes;
} test_buffer;

// Compares buffers: elements of floats may differ by `ulps`; all others must be the same. All NaN count as the same.
REF void check_elements(const char *what, uint8_t dtype, const void *is, const void *wanted, size_t count,
                        double ulps) {
  size_t bytes = tsr_dtype_bytes((tsr_dtype)dtype);
  for (size_t i = 0; i < count; i++) {
    const char *x = (const char *)is + i * bytes, *y = (const char *)wanted + i * bytes;
    if (memcmp(x, y, bytes) == 0) continue;
    double p, q;
    uint64_t left = 0, right = 0;
    memcpy(&left, x, bytes);
    memcpy(&right, y, bytes);
    CHECK_OK(tsr_convert(TSR_F64, &p, (tsr_dtype)dtype, x, 1));
    CHECK_OK(tsr_convert(TSR_F64, &q, (tsr_dtype)dtype, y, 1));
    bool is_float = tsr_dtype_kind_of((tsr_dtype)dtype) == TSR_KIND_FLOAT;
    if (is_float && isnan(p) && isnan(q)) continue;
    double ulp = dtype == TSR_F64 ? ldexp(fabs(q), -52) + 5e-324 : ldexp(fabs(q), -23) + ldexp(1, -149);
    if (is_float && ulps > 0 && fabs(p - q) <= ulps * ulp) continue;
    test_fail(__FILE__, __LINE__, "%s: element %zu is %.17g (%jx), not %.17g (%jx)", what, i, p, (uintmax_t)left, q,
              (uintmax_t)right);
  }
}

// Runs the kernel by the reference, and at every level with 1 and 3 threads, interpreted and compiled, and compares all buffers. Compiled code must give the
// same bits as the interpreter.
REF void check_against_reference(const tsri_kernel *kernel, const test_buffer *buffers, const void *params,
                                 const uint32_t groups[3], double ulps) {
  ref_buffer wanted[32];
  tsri_lanes_buffer given[32];
  void *interpreted[32];
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    size_t element = tsr_dtype_bytes((tsr_dtype)kernel->buffers[i].storage);
    wanted[i] = (ref_buffer){.memory = malloc(buffers[i].bytes + 1), .count = buffers[i].bytes / element};
    memcpy(wanted[i].memory, buffers[i].memory, buffers[i].bytes);
    given[i] = (tsri_lanes_buffer){.memory = malloc(buffers[i].bytes + 1), .bytes = buffers[i].bytes};
    interpreted[i] = malloc(buffers[i].bytes + 1);
  }
  ref_run(kernel, wanted, params, groups);
  tsri_lanes_program *program = program_of(kernel);
  for (int run = 0; run < 4 * SIMD_LEVELS; run++) {
    const char *level = simd_levels[run / 4];
    bool is_compiled = run / 2 % 2 != 0;
    if (!has_level(level)) continue;
    for (uint32_t i = 0; i < kernel->buffer_count; i++) memcpy(given[i].memory, buffers[i].memory, buffers[i].bytes);
    tsri_lanes_launch launch = {.buffers = given,
                                .buffer_count = kernel->buffer_count,
                                .params = params,
                                .params_bytes = kernel->params_bytes,
                                .groups = {groups[0], groups[1], groups[2]},
                                .threads = run % 2 ? 3 : 1,
                                .simd = level,
                                .allow_jit = is_compiled,
                                .timeout_ns = UINT64_C(60000000000)};
    CHECK_OK(tsri_lanes_run(program, &launch));
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
      char what[200];
      snprintf(what, sizeof what, "%s %s at %s, buffer %s", kernel->variant, is_compiled ? "compiled" : "interpreted",
               level, kernel->buffers[i].name);
      if (is_compiled) {
        check_elements(what, kernel->buffers[i].storage, given[i].memory, interpreted[i], wanted[i].count, 0);
        continue;
      }
      check_elements(what, kernel->buffers[i].storage, given[i].memory, wanted[i].memory, wanted[i].count, ulps);
      memcpy(interpreted[i], given[i].memory, given[i].bytes);
    }
  }
  tsri_lanes_release(program);
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    free(wanted[i].memory);
    free(given[i].memory);
    free(interpreted[i]);
  }
}

// As check_against_reference, for a kernel given as text, with one parameter block.
REF void check_text(const char *text, const char *args, const test_buffer *buffers, const void *params,
                    const uint32_t groups[3], double ulps) {
  for (int is_checked = 0; is_checked < 2; is_checked++) {
    tsri_kernel *kernel = kernel_of(text, args, is_checked != 0);
    check_against_reference(kernel, buffers, params, groups, ulps);
    tsri_kernel_release(kernel);
  }
}

// Pseudo-random numbers, the same for the same seed.
REF uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

#endif
