// SPDX-License-Identifier: MIT
// Launching embedded kernels from operators.
#include "ops/call.h"

#include <stdio.h>
#include <string.h>

#include "graph/epilogue.h"

static void fetch(tsri_call *call, const char *file, const char *kernel, const char *defines, va_list args) {
  char text[192];
  int length = vsnprintf(text, sizeof text, defines, args);
  if (length < 0 || (size_t)length >= sizeof text) {
    call->status = TSRI_FAIL(TSR_ERR_INTERNAL, "%s: its parameters take %d characters", kernel, length);
  } else if (call->hooked) {
    call->status = tsri_hooked_kernel(call->hooked, file, kernel, text, &call->built);
  } else {
    call->status = tsri_embedded_kernel(call->device, file, kernel, text, &call->built);
  }
}

void tsri_call_init(tsri_call *call, tsr_device *device, const char *file, const char *kernel, const char *defines,
                    ...) {
  *call = (tsri_call){.device = device};
  va_list args;
  va_start(args, defines);
  fetch(call, file, kernel, defines, args);
  va_end(args);
}

void tsri_call_init_hooked(tsri_call *call, const tsri_kernel_run *run, const char *file, const char *kernel,
                           const char *defines, ...) {
  *call = (tsri_call){.device = run->device, .hooked = run};
  va_list args;
  va_start(args, defines);
  fetch(call, file, kernel, defines, args);
  va_end(args);
}

void tsri_call_buffer(tsri_call *call, tsr_buffer *buffer, tsr_dtype dtype) {
  if (call->status != TSR_OK) return;
  if (call->buffer_count == TSRI_LANG_MAX_BUFFERS || call->buffer_count == call->built->kernel->buffer_count) {
    call->status = TSRI_FAIL(TSR_ERR_INTERNAL, "%s: too many buffers", call->built->kernel->variant);
    return;
  }
  uint64_t count = tsr_buffer_bytes(buffer) / tsr_dtype_bytes(dtype);
  call->arguments[call->buffer_count++] = (tsri_argument){.buffer = buffer, .element_count = count};
}

// The next parameter, or NULL when there is none or something failed before.
static const tsri_ir_param *next_param(tsri_call *call) {
  if (call->status != TSR_OK) return NULL;
  const tsri_kernel *kernel = call->built->kernel;
  if (call->param_count < kernel->param_count) return &kernel->params[call->param_count++];
  call->status = TSRI_FAIL(TSR_ERR_INTERNAL, "%s: too many parameters", kernel->variant);
  return NULL;
}

static void store(tsri_call *call, const tsri_ir_param *param, const void *value, size_t bytes) {
  memcpy((char *)call->params + param->offset, value, bytes);
}

void tsri_call_word(tsri_call *call, int64_t value) {
  const tsri_ir_param *param = next_param(call);
  if (!param) return;
  uint32_t word = (uint32_t)(uint64_t)value;
  switch (param->type.dtype) {
    case TSR_I64:
      store(call, param, &value, sizeof value);
      break;
    case TSR_F32:
      store(call, param, &(float){(float)value}, sizeof(float));
      break;
    case TSR_F64:
      store(call, param, &(double){(double)value}, sizeof(double));
      break;
    default:
      store(call, param, &word, sizeof word);
  }
}

void tsri_call_real(tsri_call *call, double value) {
  const tsri_ir_param *param = next_param(call);
  if (!param) return;
  switch (param->type.dtype) {
    case TSR_F32:
      store(call, param, &(float){(float)value}, sizeof(float));
      break;
    case TSR_F64:
      store(call, param, &value, sizeof value);
      break;
    case TSR_I64:
      store(call, param, &(int64_t){(int64_t)value}, sizeof(int64_t));
      break;
    default:
      store(call, param, &(uint32_t){(uint32_t)(int64_t)value}, sizeof(uint32_t));
  }
}

tsr_status tsri_call_groups(tsri_call *call, int64_t x, int64_t y, int64_t z) {
  if (call->status != TSR_OK) return call->status;
  const tsri_kernel *kernel = call->built->kernel;
  if (call->hooked) {
    tsri_epilogue_pass(call->hooked, call->built, call->arguments, &call->buffer_count, call->params,
                       &call->param_count);
  }
  if (call->buffer_count != kernel->buffer_count || call->param_count != kernel->param_count) {
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: %u buffers and %u parameters given, it has %u and %u", kernel->variant,
                     call->buffer_count, call->param_count, kernel->buffer_count, kernel->param_count);
  }
  if (x <= 0 || y <= 0 || z <= 0) return TSR_OK;
  uint32_t groups[3] = {(uint32_t)x, (uint32_t)y, (uint32_t)z};
  return tsri_built_launch(call->device, call->built, groups, call->arguments, call->params);
}

void tsri_call_fold(const tsr_device *device, int64_t groups, int64_t *out_x, int64_t *out_y) {
  int64_t most = device->limits.max_groups[0];
  if (most < 1) most = 65535;
  *out_y = (groups + most - 1) / most;
  *out_x = *out_y ? (groups + *out_y - 1) / *out_y : 0;
}

tsr_status tsri_call_many_groups(tsri_call *call, int64_t groups) {
  if (call->status != TSR_OK) return call->status;
  int64_t x = 0, y = 0;
  tsri_call_fold(call->device, groups, &x, &y);
  return tsri_call_groups(call, x, y, 1);
}

tsr_status tsri_call_items(tsri_call *call, int64_t items) {
  if (call->status != TSR_OK) return call->status;
  int64_t size = call->built->kernel->group_size[0];
  return tsri_call_many_groups(call, (items + size - 1) / size);
}

tsr_status tsri_call_check(const char *caller, const tsri_layout *layout) {
  int64_t low = 0, high = 0;
  tsri_layout_span(layout, &low, &high);
  if (high < TSRI_CALL_MAX_ELEMENTS && layout->count < TSRI_CALL_MAX_ELEMENTS) return TSR_OK;
  char text[TSR_SHAPE_TEXT_BYTES];
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %s reaches element %lld; its kernel addresses %lld, so split the tensor",
                   caller, tsr_shape_format(layout->shape, text, sizeof text), (long long)high,
                   (long long)TSRI_CALL_MAX_ELEMENTS);
}

tsr_dtype tsri_call_carrier(const tsr_device *device, tsr_dtype dtype) {
  size_t bytes = tsr_dtype_bytes(dtype);
  tsr_dtype carrier = bytes == 1 ? TSR_U8 : bytes == 2 ? TSR_I16 : bytes == 4 ? TSR_U32 : TSR_I64;
  return (device->limits.dtype_storage >> carrier & 1u) ? carrier : dtype;
}

tsr_status tsri_call_scratch(tsr_device *device, int64_t count, tsr_dtype dtype, tsr_buffer **out_buffer) {
  return tsr_buffer_create(device, (size_t)count * tsr_dtype_bytes(dtype), 0, out_buffer);
}

tsr_status tsri_call_zero(const tsri_kernel_run *run) {
  size_t bytes = tsr_buffer_bytes(run->output);
  return tsr_buffer_fill(run->output, 0, bytes, &(unsigned char){0}, 1);
}
