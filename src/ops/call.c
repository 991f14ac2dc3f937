// SPDX-License-Identifier: MIT
// Launches embedded kernels from operators.
#include "ops/call.h"

#include "graph/epilogue.h"
#include "graph/node.h"
#include "runtime/steps.h"

static void start(tsri_call *call, tsr_status status) {
  tsri_arguments_init(&call->args, status == TSR_OK ? call->built->kernel : NULL);
  call->args.status = status;
}

void tsri_call_init(tsri_call *call, tsr_device *device, const char *file, const char *kernel,
                    const tsri_lang_arg *args, size_t arg_count) {
  *call = (tsri_call){.device = device};
  start(call, tsri_embedded_kernel(device, file, kernel, args, arg_count, &call->built));
}

void tsri_call_init_hooked(tsri_call *call, const tsri_kernel_run *run, const char *file, const char *kernel,
                           const tsri_lang_arg *args, size_t arg_count) {
  *call = (tsri_call){.device = run->device, .hooked = run};
  start(call, tsri_hooked_kernel(run, file, kernel, args, arg_count, &call->built));
}

void tsri_call_buffer(tsri_call *call, const char *name, tsr_buffer *buffer, tsr_dtype dtype) {
  if (call->args.status != TSR_OK) return;
  if (!buffer || tsr_buffer_bytes(buffer) == 0) {
    call->args.status = TSRI_FAIL(TSR_ERR_INTERNAL, "kernel %s: there is no buffer for '%s': an empty tensor has none",
                                  call->built->kernel->name, name);
    return;
  }
  uint64_t count = tsr_buffer_bytes(buffer) / tsr_dtype_bytes(dtype);
  tsri_arguments_buffer(&call->args, name, (tsri_argument){.buffer = buffer, .element_count = count});
}

void tsri_call_word(tsri_call *call, const char *name, int64_t value) {
  if (call->args.status == TSR_OK) tsri_arguments_word(&call->args, name, value);
}

void tsri_call_real(tsri_call *call, const char *name, double value) {
  if (call->args.status == TSR_OK) tsri_arguments_real(&call->args, name, value);
}

void tsri_call_words(tsri_call *call, const char *stem, int first, const int64_t *values, int count) {
  if (call->args.status == TSR_OK) tsri_arguments_words(&call->args, stem, first, values, count);
}

tsr_status tsri_call_groups(tsri_call *call, int64_t x, int64_t y, int64_t z) {
  uint32_t passed = 0;  // buffers of the fused operators, which come last
  if (call->args.status == TSR_OK && call->hooked) passed = tsri_epilogue_pass(call->hooked, &call->args);
  tsr_status status = tsri_arguments_check(&call->args);
  if (status != TSR_OK || x <= 0 || y <= 0 || z <= 0) return status;
  uint32_t groups[3] = {(uint32_t)x, (uint32_t)y, (uint32_t)z};
  status = tsri_built_launch(call->device, call->built, groups, call->args.buffers, call->args.params);
  if (status != TSR_OK) return status;
  uint32_t whole_count = call->built->kernel->buffer_count - passed;
  tsri_steps_add_launch(call->built, groups, call->args.buffers, call->args.params, whole_count,
                        /*is_generated=*/false);
  return TSR_OK;
}

void tsri_call_fold(const tsr_device *device, int64_t groups, int64_t *out_x, int64_t *out_y) {
  int64_t most = device->limits.max_groups[0];
  if (most < 1) most = 65535;
  *out_y = (groups + most - 1) / most;
  *out_x = *out_y ? (groups + *out_y - 1) / *out_y : 0;
}

tsr_status tsri_call_many_groups(tsri_call *call, int64_t groups) {
  if (call->args.status != TSR_OK) return call->args.status;
  int64_t x = 0, y = 0;
  tsri_call_fold(call->device, groups, &x, &y);
  return tsri_call_groups(call, x, y, 1);
}

tsr_status tsri_call_items(tsri_call *call, int64_t items) {
  if (call->args.status != TSR_OK) return call->args.status;
  int64_t size = call->built->kernel->group_size[0];
  return tsri_call_many_groups(call, (items + size - 1) / size);
}

tsr_status tsri_call_rounds(tsri_call *call, int64_t items) {
  if (call->args.status != TSR_OK) return call->args.status;
  int64_t rounds = tsri_call_tuning(call->device)->item_rounds;
  return tsri_call_items(call, (items + rounds - 1) / rounds);
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

const tsri_tuning *tsri_call_tuning(tsr_device *device) {
  static const tsri_tuning none;
  tsri_graph_state *state = NULL;
  return tsri_graph_state_for(device, &state) == TSR_OK ? &state->tuning : &none;
}

int tsri_call_subgroup(const tsr_device *device, int group) {
  int size = device->limits.has_subgroup_shuffle ? (int)device->limits.subgroup_size : 0;
  return size > 0 && group % size == 0 ? size : 0;
}

tsr_status tsri_call_scratch(tsr_device *device, int64_t count, tsr_dtype dtype, tsr_buffer **out_buffer) {
  return tsri_buffer_create_temporary(device, (size_t)count * tsr_dtype_bytes(dtype), out_buffer);
}

tsr_status tsri_call_zero(const tsri_kernel_run *run) {
  size_t bytes = tsr_buffer_bytes(run->output);
  return tsr_buffer_fill(run->output, 0, bytes, &(unsigned char){0}, 1);
}
