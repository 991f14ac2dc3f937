// SPDX-License-Identifier: MIT
#include "lang/emit_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

// Whether TSR_TEST_KERNELS, a list of names separated by commas, has this name; true if it is not set.
static bool is_wanted(const char *kernel_name) {
  const char *names = getenv("TSR_TEST_KERNELS");
  size_t bytes = strlen(kernel_name);
  for (const char *at = names; at && (at = strstr(at, kernel_name)) != NULL; at++) {
    if ((at == names || at[-1] == ',') && (at[bytes] == ',' || at[bytes] == '\0')) return true;
  }
  return !names;
}

static emit_part *part_of(const emit_program *program, const char *kernel_name) {
  uint32_t hash = 0;
  for (const char *c = kernel_name; *c; c++) hash = hash * 31 + (unsigned char)*c;
  return program->part_count ? &program->parts[hash % program->part_count] : NULL;
}

static void add_kernel(const tsri_kernel *kernel, void *context) {
  emit_program *program = context;
  tsri_emitted code;
  if ((kernel->needs & TSRI_NEEDS_F64) && !program->options.f64) {
    CHECK_STATUS(tsri_emit_kernel(program->emitter, kernel, &program->options, &code), TSR_ERR_UNSUPPORTED);
    program->refused++;
    return;
  }
  CHECK_OK(tsri_emit_kernel(program->emitter, kernel, &program->options, &code));
  bool is_taken = emit_sample_takes(&program->sample, kernel);
  if (is_taken && program->one_in > 1) is_taken = program->taken++ % program->one_in == 0;
  if (is_taken && is_wanted(kernel->name)) {
    char entry[TSRI_EMIT_ENTRY_BYTES + 16];
    emit_part *part = part_of(program, kernel->name);
    snprintf(entry, sizeof entry, "%s_%u", code.entry, (unsigned)(part ? part->added++ : program->added));
    emit_append(part ? &part->text : &program->text, &code, entry);
    program->added++;
    memcpy(program->build_options, code.build_options, sizeof program->build_options);
  }
  program->emitted++;
  tsri_emitted_deinit(&code);
}

void emit_program_add_all(emit_program *program, const char *dialect) {
  program->emitter = tsri_emitter_find(dialect);
  CHECK(program->emitter);
  program->sample.visited = (uint32_t)(program->emitter - tsri_emitters);
  if (program->options.subgroup_size == 0) program->options = *program->emitter->defaults;
  uint32_t count = emit_each_kernel(add_kernel, program);
  CHECK_EQ_UINT(program->emitted + program->refused, count);
  CHECK(getenv("TSR_TEST_KERNELS") || program->added * (program->one_in ? program->one_in : 1) >= 40);
  printf("%s: %u kernels, %u of them compiled; %u refused for want of f64\n", dialect, (unsigned)program->emitted,
         (unsigned)program->added, (unsigned)program->refused);
}
