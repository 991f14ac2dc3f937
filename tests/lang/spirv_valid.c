// SPDX-License-Identifier: MIT
// Emitting for three kinds of device, and running spirv-val on the result.
#include "lang/spirv_valid.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lang/emit/emit.h"
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
      .i8 = true,
      .exact_fma = true,
      .keeps_denormals = 7,
      .keeps_nan = 7,
      .rounds_to_even = 7}},
    {"plain",
     {.f64 = true, .subgroup_size = 8, .i64 = true, .storage16 = true, .wide_unaligned = true, .exact_fma = true}},
    {"least", {.subgroup_size = 4, .quirks = true}},
};

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

void spirv_check(const tsri_kernel *kernel) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    tsri_emitted code;
    tsr_status status = tsri_emit_kernel(tsri_emitter_find("spirv"), kernel, &kinds[i].options, &code);
    if (status == TSR_ERR_UNSUPPORTED && i > 0) continue;
    CHECK_OK(status);
    validate(kernel, &kinds[i], &code);
    tsri_emitted_deinit(&code);
  }
}
