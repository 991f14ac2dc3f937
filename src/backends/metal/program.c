// SPDX-License-Identifier: MIT
// Programs: Metal text built by the system's compiler, which keeps what it has built in a cache of its own, and launches.
#include <stdio.h>
#include <string.h>

#include "backends/metal/metal.h"
#include "core/alloc.h"
#include "core/log.h"

// --- Building -----------------------------------------------------------------------------------------------------------

static tsr_status build_failed(const metal_device *device, const char *name, const char *what, metal_id error) {
  const char *log = tsri_metal_error_text(error);
  tsri_log(TSR_LOG_DEBUG, "metal: %s: %s", name, log);
  return TSRI_FAIL(TSR_ERR_BUILD, "%s: %s %s: %s", name, device->gpu.name, what, log);
}

static tsr_status build(metal_device *device, const char *name, const char *text, metal_id *out_pipeline) {
  metal_id error = NULL, gpu = device->gpu.device, strings = tsri_mtl.objc_getClass("NSString");
  metal_id source = METAL_SEND(metal_id, strings, string, (const char *), text);
  metal_id entry = METAL_SEND(metal_id, strings, string, (const char *), name);
  if (!source || !entry) return TSRI_FAIL(TSR_ERR_BUILD, "%s: its text is no UTF-8", name);
  metal_id library =
      METAL_SEND(metal_id, gpu, new_library, (metal_id, metal_id, metal_id *), source, device->options, &error);
  if (!library) return build_failed(device, name, "cannot build it", error);
  metal_id function = METAL_SEND(metal_id, library, new_function, (metal_id), entry);
  tsri_mtl.objc_release(library);
  if (!function) return TSRI_FAIL(TSR_ERR_BUILD, "%s: the text has no kernel of this name", name);
  error = NULL;
  *out_pipeline = METAL_SEND(metal_id, gpu, new_pipeline, (metal_id, metal_id *), function, &error);
  tsri_mtl.objc_release(function);
  return *out_pipeline ? TSR_OK : build_failed(device, name, "makes no pipeline of it", error);
}

tsr_status tsri_metal_build(metal_device *device, const char *name, const char *text, metal_id *out_pipeline) {
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = build(device, name, text, out_pipeline);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

static tsr_status check_code(const metal_device *device, const tsri_code *code) {
  uint32_t arguments = code->buffer_count + (code->params_bytes > 0);
  if (code->form != TSRI_CODE_TEXT) return TSRI_FAIL(TSR_ERR_BUILD, "%s: Metal takes source text only", code->name);
  if (arguments > METAL_MOST_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers and parameters, Metal binds at most %d", code->name, arguments,
                     METAL_MOST_BUFFERS);
  }
  if (code->shared_bytes > device->gpu.shared_bytes) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u bytes of shared memory, %s has %u", code->name, code->shared_bytes,
                     device->gpu.name, device->gpu.shared_bytes);
  }
  return TSR_OK;
}

// The compiler decides how many items a group may have and how wide a SIMD group is, for each kernel.
static tsr_status check_pipeline(const metal_device *device, const metal_program *program) {
  metal_uint most = METAL_GET(metal_uint, program->pipeline, max_items);
  metal_uint width = METAL_GET(metal_uint, program->pipeline, simd_width);
  uint64_t items = (uint64_t)program->local[0] * program->local[1] * program->local[2];
  if (items > most) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: groups of %llu items, %s runs this kernel with at most %lu", program->name,
                     (unsigned long long)items, device->gpu.name, most);
  }
  if (device->simd_width && width != device->simd_width) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: written for SIMD groups of %u, %s runs it with %lu", program->name,
                     device->simd_width, device->gpu.name, width);
  }
  return TSR_OK;
}

tsr_status tsri_metal_program_create(tsri_device *opaque, const tsri_code *code, tsri_program **out_program) {
  metal_device *device = metal_device_of(opaque);
  tsr_status status = tsri_metal_check_lost(device);
  if (status == TSR_OK) status = check_code(device, code);
  if (status != TSR_OK) return status;
  metal_program *program = tsri_calloc(1, sizeof *program);
  char *text = tsri_malloc(code->data_bytes + 1);
  if (!program || !text) {
    tsri_free(program);
    tsri_free(text);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  }
  memcpy(text, code->data, code->data_bytes);
  text[code->data_bytes] = '\0';
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  memcpy(program->local, code->local, sizeof program->local);
  snprintf(program->name, sizeof program->name, "%s", code->name);
  status = tsri_metal_build(device, code->name, text, &program->pipeline);
  tsri_free(text);
  if (status == TSR_OK) status = check_pipeline(device, program);
  if (status != TSR_OK) {
    tsri_metal_program_destroy(opaque, (tsri_program *)program);
    return status;
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

// Accepts a partly initialised program. Command buffers keep the pipelines that they use.
void tsri_metal_program_destroy(tsri_device *device, tsri_program *opaque) {
  (void)device;
  metal_release(((metal_program *)opaque)->pipeline);
  tsri_free(opaque);
}

// --- Launching ------------------------------------------------------------------------------------------------------------

void tsri_metal_dispatch(metal_id encoder, const uint32_t groups[3], const uint32_t local[3]) {
  metal_size grid = {groups[0], groups[1], groups[2]}, items = {local[0], local[1], local[2]};
  METAL_SEND(void, encoder, dispatch, (metal_size, metal_size), grid, items);
}

// Parameters are copied into the command buffer, or, if there are too many, into a buffer that it keeps.
static tsr_status bind_params(const metal_device *device, metal_id encoder, const metal_program *program,
                              const void *params) {
  metal_uint bytes = program->params_bytes, index = program->buffer_count;
  if (bytes == 0) return TSR_OK;
  if (bytes <= METAL_INLINE_BYTES) {
    METAL_SEND(void, encoder, set_bytes, (const void *, metal_uint, metal_uint), params, bytes, index);
    return TSR_OK;
  }
  metal_id copy = METAL_SEND(metal_id, device->gpu.device, new_buffer_copy, (const void *, metal_uint, metal_uint),
                             params, bytes, 0);
  if (!copy) return tsri_metal_no_memory(device, bytes);
  METAL_SEND(void, encoder, set_buffer, (metal_id, metal_uint, metal_uint), copy, 0, index);
  tsri_mtl.objc_release(copy);
  return TSR_OK;
}

static tsr_status encode_launch(metal_queue *queue, const metal_program *program, const tsri_launch *launch) {
  metal_id encoder = NULL;
  tsr_status status = tsri_metal_encode(queue, METAL_ENCODER_COMPUTE, &encoder);
  if (status != TSR_OK) return status;
  METAL_SEND(void, encoder, set_pipeline, (metal_id), program->pipeline);
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    const tsri_binding *binding = &launch->buffers[i];
    metal_id memory = binding->buffer ? metal_buffer_of(binding->buffer)->memory : NULL;
    METAL_SEND(void, encoder, set_buffer, (metal_id, metal_uint, metal_uint), memory, binding->offset, i);
  }
  status = bind_params(queue->device, encoder, program, launch->params);
  if (status != TSR_OK) return status;
  tsri_metal_dispatch(encoder, launch->groups, program->local);
  return tsri_metal_encoded(queue);
}

tsr_status tsri_metal_launch(tsri_queue *queue, tsri_program *opaque, const tsri_launch *launch) {
  const metal_program *program = (const metal_program *)opaque;
  if (launch->buffer_count != program->buffer_count) {
    return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: %u buffers given, it takes %u", program->name, launch->buffer_count,
                     program->buffer_count);
  }
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = encode_launch(metal_queue_of(queue), program, launch);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}
