// SPDX-License-Identifier: MIT
// Programs: compute pipelines built from WGSL, and their launches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"

typedef struct webgpu_program {
  tsri_wgpu_program *handle;
  char *name;
  uint32_t buffer_count, params_bytes, uniform_bytes;
} webgpu_program;

// --- Building -------------------------------------------------------------------------------------------------------

static tsr_status check_code(const webgpu_device *device, const tsri_code *code) {
  const tsri_wgpu_adapter *a = &device->adapter;
  if (code->form != TSRI_CODE_TEXT) return TSRI_FAIL(TSR_ERR_BUILD, "%s: WebGPU takes WGSL text only", code->name);
  if (code->buffer_count > a->max_storage_buffers || code->buffer_count > TSRI_WGPU_MAX_BINDINGS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, %s allows %u", code->name, code->buffer_count, device->name,
                     a->max_storage_buffers);
  }
  if (code->shared_bytes > a->shared_bytes) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u bytes of shared memory, %s has %u", code->name, code->shared_bytes,
                     device->name, a->shared_bytes);
  }
  uint64_t items = (uint64_t)code->local[0] * code->local[1] * code->local[2];
  for (int i = 0; i < 3; i++) {
    if (code->local[i] > a->max_group_size[i]) items = UINT64_MAX;
  }
  if (items > a->max_group_items) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: groups of %ux%ux%u items, %s allows %u in all and %ux%ux%u", code->name,
                     code->local[0], code->local[1], code->local[2], device->name, a->max_group_items,
                     a->max_group_size[0], a->max_group_size[1], a->max_group_size[2]);
  }
  return TSR_OK;
}

// The bits of the buffers that are only read, from the emitter's option "read_only=0x5".
static uint64_t read_only_bits(const char *options) {
  const char *found = options ? strstr(options, "read_only=") : NULL;
  return found ? strtoull(found + strlen("read_only="), NULL, 16) : 0;
}

tsr_status tsri_webgpu_program_create(tsri_device *opaque, const tsri_code *code, tsri_program **out_program) {
  webgpu_device *device = webgpu_device_of(opaque);
  tsr_status status = check_code(device, code);
  if (status != TSR_OK) return status;
  size_t name_bytes = strlen(code->name) + 1;
  webgpu_program *program = tsri_calloc(1, sizeof *program + name_bytes);
  if (!program) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  program->name = memcpy(program + 1, code->name, name_bytes);
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  program->uniform_bytes = (uint32_t)webgpu_round_up(TSRI_WGSL_SYSTEM_WORDS * 4 + code->params_bytes, 16);
  uint64_t bits = read_only_bits(code->options);
  uint32_t read_only[2] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
  tsri_mutex_lock(&device->lock);
  status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK) {
    status = tsri_wgpu.program_create(device->handle, code->data, code->data_bytes, code->name, code->buffer_count,
                                      read_only, program->uniform_bytes, &program->handle);
    if (status != TSR_OK) status = WEBGPU_FAIL(device, status, "building");
  }
  tsri_mutex_unlock(&device->lock);
  if (status != TSR_OK) {
    tsri_free(program);
    return status;
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

// WebGPU keeps alive what submitted work uses, but recorded commands must be submitted before the program is released.
void tsri_webgpu_program_destroy(tsri_device *opaque, tsri_program *opaque_program) {
  webgpu_device *device = webgpu_device_of(opaque);
  webgpu_program *program = (webgpu_program *)opaque_program;
  tsri_mutex_lock(&device->lock);
  if (!device->is_lost) (void)tsri_webgpu_stream_submit(device);
  tsri_wgpu.program_destroy(device->handle, program->handle);
  tsri_mutex_unlock(&device->lock);
  tsri_free(program);
}

// --- Launching ------------------------------------------------------------------------------------------------------

// Fits the number of work-groups to the limits of a dispatch: unchanged, or a single row folded into up to three
// dimensions.
static bool fold(const uint32_t groups[3], uint32_t most, uint32_t out[3], tsri_wgsl_fold *out_fold) {
  bool fits = groups[0] <= most && groups[1] <= most && groups[2] <= most;
  *out_fold = fits ? TSRI_WGSL_AS_THEY_ARE : groups[1] == 1 && groups[2] == 1 ? TSRI_WGSL_ROW : TSRI_WGSL_ANY;
  memcpy(out, groups, 3 * sizeof *out);
  if (fits) return true;
  if (most == 0) return false;
  uint64_t count = (uint64_t)groups[0] * groups[1];
  if (count > UINT32_MAX || count * groups[2] > UINT32_MAX) return false;
  count *= groups[2];
  uint64_t y = (count + most - 1) / most, z = (y + most - 1) / most;
  y = (y + z - 1) / z;
  out[0] = (uint32_t)((count + y * z - 1) / (y * z));
  out[1] = (uint32_t)y;
  out[2] = (uint32_t)z;
  return true;
}

static bool is_written_too(const tsri_launch *launch, uint32_t index) {
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    if (launch->buffers[i].is_written && launch->buffers[i].buffer == launch->buffers[index].buffer) return true;
  }
  return false;
}

// WebGPU cannot bind a buffer for reading and for writing in one dispatch. If another binding of the launch writes
// this buffer, binds a temporary copy of it for reading.
static tsr_status bind_one(webgpu_device *device, const tsri_launch *launch, uint32_t index, tsri_wgpu_binding *out) {
  const tsri_binding *b = &launch->buffers[index];
  size_t bytes = webgpu_round_up(b->bytes ? b->bytes : 1, WEBGPU_BIND_BYTES);
  *out = (tsri_wgpu_binding){webgpu_buffer_of(b->buffer)->handle, b->offset, bytes};
  if (b->is_written || !is_written_too(launch, index)) return TSR_OK;
  tsri_wgpu_buffer *beside = NULL;
  tsr_status status = tsri_webgpu_temporary(device, bytes, &beside);
  if (status == TSR_OK) status = tsri_webgpu_stream_begin(device, 0, NULL, NULL);
  if (status != TSR_OK) return status;
  status = tsri_wgpu.copy(device->handle, beside, 0, out->buffer, out->offset, bytes);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "copying an input beside its buffer");
  *out = (tsri_wgpu_binding){beside, 0, bytes};
  return tsri_webgpu_stream_end(device);
}

// Submits the recorded commands if there are enough: only a few after a wait, when the device is idle; then twice as many each time.
static tsr_status submit_enough(webgpu_device *device) {
  if (device->enough == 0) device->enough = WEBGPU_FIRST_LAUNCHES;
  if (device->recorded < device->enough) return TSR_OK;
  if (device->enough < WEBGPU_BATCH_COMMANDS) device->enough *= 2;
  return tsri_webgpu_stream_submit(device);
}

static tsr_status record(webgpu_device *device, const webgpu_program *program, const tsri_launch *launch) {
  tsri_wgpu_binding bindings[TSRI_WGPU_MAX_BINDINGS];
  uint32_t *params = NULL, groups[3];
  size_t at = 0;
  tsri_wgsl_fold how = TSRI_WGSL_AS_THEY_ARE;
  if (!fold(launch->groups, device->adapter.max_groups, groups, &how)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %u x %u x %u groups, more than 2^32 - 1 in all", program->name,
                     launch->groups[0], launch->groups[1], launch->groups[2]);
  }
  tsr_status status = tsri_webgpu_check_lost(device);
  // Keeps the whole launch in one batch, because temporary buffers live only until its submission.
  if (status == TSR_OK && device->recorded + launch->buffer_count >= WEBGPU_BATCH_COMMANDS) {
    status = tsri_webgpu_stream_submit(device);
  }
  for (uint32_t i = 0; i < launch->buffer_count && status == TSR_OK; i++) {
    status = bind_one(device, launch, i, &bindings[i]);
  }
  if (status == TSR_OK) status = tsri_webgpu_stream_begin(device, program->uniform_bytes, &params, &at);
  if (status != TSR_OK) return status;
  memset(params, 0, program->uniform_bytes);
  memcpy(params, launch->groups, sizeof launch->groups);
  params[TSRI_WGSL_FOLD] = how;
  params[TSRI_WGSL_ONE] = 0x3F800000u;
  params[TSRI_WGSL_MINUS_ONE] = 0xBF800000u;
  params[TSRI_WGSL_MINUS_ZERO] = 0x80000000u;
  if (program->params_bytes > 0) memcpy(params + TSRI_WGSL_SYSTEM_WORDS, launch->params, program->params_bytes);
  status = tsri_wgpu.dispatch(device->handle, program->handle, bindings, launch->buffer_count, device->uniform, at,
                              groups[0], groups[1], groups[2]);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, program->name);
  status = tsri_webgpu_stream_end(device);
  return status == TSR_OK ? submit_enough(device) : status;
}

tsr_status tsri_webgpu_launch(tsri_queue *opaque, tsri_program *opaque_program, const tsri_launch *launch) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  const webgpu_program *program = (const webgpu_program *)opaque_program;
  if (launch->buffer_count != program->buffer_count) {
    return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: %u buffers given, it takes %u", program->name, launch->buffer_count,
                     program->buffer_count);
  }
  tsri_mutex_lock(&device->lock);
  tsr_status status = record(device, program, launch);
  tsri_mutex_unlock(&device->lock);
  return status;
}
