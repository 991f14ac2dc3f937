// SPDX-License-Identifier: MIT
// Emits for three kinds of device, and runs spirv-val on the result.
#include "lang/spirv_valid.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lang/emit/emit.h"
#include "lang/emit_case.h"
#include "support/test.h"

typedef struct device_kind {
  const char *name;
  tsri_emit_options options;
} device_kind;

static const device_kind kinds[] = {
    {"full",
     {.f64 = true,
      .f16 = true,
      .subgroups = true,
      .subgroup_shuffle = true,
      .exact_divide = true,
      .no_alias = true,
      .subgroup_size = 32,
      .i64 = true,
      .storage16 = true,
      .storage8 = true,
      .i16 = true,
      .exact_products = true,
      .i8 = true,
      .exact_fma = true,
      .keeps_denormals = 7,
      .keeps_nan = 7,
      .rounds_to_even = 7}},
    {"plain",
     {.f64 = true, .subgroup_size = 8, .i64 = true, .storage16 = true, .wide_unaligned = true, .exact_fma = true}},
    {"least", {.subgroup_size = 4, .quirks = true}},
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)

static int checked;

int spirv_checked(void) { return checked; }

bool spirv_has_validator(void) { return system("command -v spirv-val >/dev/null 2>&1") == 0; }

static void validate(const tsri_kernel *kernel, const device_kind *kind, const tsri_emitted *code) {
  char path[64], command[160];
  snprintf(path, sizeof path, "/tmp/tsr_spirv_%ld.spv", (long)getpid());
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK_EQ_UINT(fwrite(code->data, 1, code->data_bytes, file), code->data_bytes);
  CHECK_EQ_INT(fclose(file), 0);
  snprintf(command, sizeof command, "spirv-val --target-env vulkan1.1 %s", path);
  if (system(command) != 0) {
    test_fail(__FILE__, __LINE__, "%s for a %s device is not valid; kept in %s", kernel->variant, kind->name, path);
  }
  remove(path);
  checked++;
}

// Emits for device kind `i`. False if that device cannot run the kernel.
static bool check_kind(const tsri_kernel *kernel, size_t i, bool is_validated) {
  tsri_emitted code;
  tsr_status status = tsri_emit_kernel(tsri_emitter_find("spirv"), kernel, &kinds[i].options, &code);
  if (status == TSR_ERR_UNSUPPORTED && i > 0) return false;
  CHECK_OK(status);
  if (is_validated) validate(kernel, &kinds[i], &code);
  tsri_emitted_deinit(&code);
  return true;
}

void spirv_check(const tsri_kernel *kernel) {
  for (size_t i = 0; i < KIND_COUNT; i++) (void)check_kind(kernel, i, true);
}

void spirv_check_sample(const tsri_kernel *kernel) {
  static size_t number;
  bool takes_all = test_sample(KIND_COUNT) == 1, is_done = false;
  size_t chosen = number++ % KIND_COUNT;
  for (size_t i = KIND_COUNT; i-- > 0;) {  // the kind that can run every kernel comes last
    bool is_validated = takes_all || (i <= chosen && !is_done);
    is_done |= check_kind(kernel, i, is_validated) && is_validated;
  }
}
