// SPDX-License-Identifier: MIT
#include "lang/emit_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/emit_case.h"
#include "support/test.h"

typedef struct batch_kernel {
  const tsri_kernel *kernel;
  tsri_emitted code;  // empty if the kernel was left out
  char entry[TSRI_EMIT_ENTRY_BYTES + 16];
} batch_kernel;

struct emit_batch {
  const emit_device *device;
  void *program;  // NULL: every kernel was left out
  batch_kernel *kernels;
  uint32_t count, built;
};

static void emit_one(batch_kernel *k, uint32_t number, const emit_device *device, const tsri_emit_options *options) {
  const tsri_emitter *emitter = tsri_emitter_find(device->dialect);
  if (tsri_emit_kernel(emitter, k->kernel, options, &k->code) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s: %s", device->name, k->kernel->name, tsr_last_error());
  }
  snprintf(k->entry, sizeof k->entry, "%s_%u", k->code.entry, (unsigned)number);
}

static void blame(const emit_batch *batch) {
  char together[1024];
  snprintf(together, sizeof together, "%s", emit_log());
  for (uint32_t i = 0; i < batch->count; i++) {
    const tsri_emitted *code = &batch->kernels[i].code;
    if (!code->data) continue;
    void *program = batch->device->build(code->data, code->build_options);
    if (!program) {
      test_fail(__FILE__, __LINE__, "%s: kernel %s does not build: %s\n%s", batch->device->name,
                batch->kernels[i].kernel->name, emit_log(), (const char *)code->data);
    }
    batch->device->release(program);
  }
  test_fail(__FILE__, __LINE__, "%s: each kernel builds, all in one program do not: %s", batch->device->name, together);
}

static void build(emit_batch *batch) {
  emit_text text = {0};
  const char *build_options = NULL;
  for (uint32_t i = 0; i < batch->count; i++) {
    const batch_kernel *k = &batch->kernels[i];
    if (!k->code.data) continue;
    if (build_options) CHECK_STR(k->code.build_options, build_options);
    build_options = k->code.build_options;
    emit_append(&text, &k->code, k->entry);
  }
  if (!text.data) return;
  batch->program = batch->device->build(text.data, build_options);
  free(text.data);
  if (!batch->program) blame(batch);
}

emit_batch *emit_batch_build(const emit_device *device, const tsri_emit_options *options, tsri_kernel *const *kernels,
                             uint32_t count) {
  emit_batch *batch = calloc(1, sizeof *batch);
  CHECK(batch);
  *batch = (emit_batch){.device = device, .kernels = calloc(count, sizeof *batch->kernels), .count = count};
  CHECK(batch->kernels);
  if (!options) options = tsri_emitter_find(device->dialect)->defaults;
  for (uint32_t i = 0; i < count; i++) {
    batch_kernel *k = &batch->kernels[i];
    k->kernel = kernels[i];
    if ((k->kernel->needs & TSRI_NEEDS_F64) && !options->f64) continue;
    emit_one(k, i, device, options);
    batch->built++;
  }
  build(batch);
  return batch;
}

uint32_t emit_batch_built(const emit_batch *batch) { return batch->built; }

void emit_batch_release(emit_batch *batch) {
  if (batch->program) batch->device->release(batch->program);
  for (uint32_t i = 0; i < batch->count; i++) tsri_emitted_deinit(&batch->kernels[i].code);
  free(batch->kernels);
  free(batch);
}

bool emit_batch_run(const emit_batch *batch, uint32_t i, const emit_launch *launch, const uint64_t *element_counts,
                    uint32_t *report) {
  const batch_kernel *k = &batch->kernels[i];
  if (!k->code.data) return false;
  uint32_t words[256] = {0};
  CHECK(k->code.params_bytes <= sizeof words);
  tsri_emit_params(k->kernel, &k->code, launch->params, element_counts, words);
  emit_launch full = *launch;
  full.entry = k->entry;
  full.params = words;
  full.params_bytes = k->code.params_bytes;
  memcpy(full.local, k->code.local, sizeof full.local);
  if (k->code.has_report) {
    full.buffers[full.buffer_count] = report;
    full.bytes[full.buffer_count++] = TSRI_EMIT_REPORT_WORDS * sizeof *report;
  }
  CHECK_EQ_UINT(full.buffer_count, k->code.buffer_count);
  if (!batch->device->run(batch->program, &full)) {
    test_fail(__FILE__, __LINE__, "%s: %s: %s", batch->device->name, k->kernel->name, emit_log());
  }
  return true;
}
