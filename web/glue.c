// SPDX-License-Identifier: MIT
// What web/tessera.js calls beside the public functions themselves: those that take or give structs, with flat
// arguments and text in their place, so that no layout of a struct is written down in JavaScript.
//
// Texts given back are lists: records end with RECORD, their fields are cut by FIELD. The caller frees them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "desc_layout.inc"

#define FIELD  "\x1f"
#define RECORD "\x1e"

// --- Text that grows -------------------------------------------------------------------------------------------------

typedef struct text {
  char *start;
  size_t used;
  bool is_out_of_memory;
} text;

static void append(text *out_text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(text *out_text, const char *format, ...) {
  if (out_text->is_out_of_memory) return;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t bytes = (size_t)vsnprintf(NULL, 0, format, args) + 1;
  char *grown = realloc(out_text->start, out_text->used + bytes);
  if (grown) {
    out_text->start = grown;
    vsnprintf(grown + out_text->used, bytes, format, again);
    out_text->used += bytes - 1;
  } else {
    out_text->is_out_of_memory = true;
  }
  va_end(again);
  va_end(args);
}

static char *finish(text *out_text) {
  if (!out_text->is_out_of_memory) return out_text->start;
  free(out_text->start);
  return NULL;
}

// --- Devices ---------------------------------------------------------------------------------------------------------

static void append_device(text *out, const char *backend, const tsr_device_info *info) {
  append(out, "%s" FIELD "%d" FIELD "%s" FIELD "%s" FIELD "%d" FIELD "%.0f" FIELD "%.0f", backend, info->index,
         info->name, info->driver, info->is_software, (double)info->total_bytes, (double)info->max_buffer_bytes);
}

// A record per device, and one with the reason for a backend that has none: "device", then as append_device; or "none",
// backend, status, reason. NULL: see tsr_last_error.
TSR_API char *tsrw_discover(void);
char *tsrw_discover(void) {
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) return NULL;
  text out = {0};
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *report = &found->backends[b];
    for (int d = 0; d < report->device_count; d++) {
      append(&out, "device" FIELD);
      append_device(&out, report->name, &report->devices[d]);
      append(&out, RECORD);
    }
    if (report->device_count == 0) {
      append(&out, "none" FIELD "%s" FIELD "%s" FIELD "%s" RECORD, report->name, tsr_status_name(report->status),
             report->reason);
    }
  }
  tsr_discovery_release(found);
  return finish(&out);
}

// `backend` NULL: the best there is. NULL: see tsr_last_error.
TSR_API tsr_device *tsrw_device_open(const char *backend, int index, double memory_limit, uint32_t timeout_ms);
tsr_device *tsrw_device_open(const char *backend, int index, double memory_limit, uint32_t timeout_ms) {
  tsr_device *device = NULL;
  tsr_device_desc desc = {
      .backend = backend, .index = index, .memory_limit = (uint64_t)memory_limit, .timeout_ms = timeout_ms};
  return tsr_device_open(&desc, &device) == TSR_OK ? device : NULL;
}

// One record. NULL: see tsr_last_error.
TSR_API char *tsrw_device_describe(tsr_device *device);
char *tsrw_device_describe(tsr_device *device) {
  tsr_device_info info;
  if (tsr_device_get_info(device, &info) != TSR_OK) return NULL;
  text out = {0};
  append_device(&out, tsr_device_backend(device), &info);
  return finish(&out);
}

// --- Tensors ---------------------------------------------------------------------------------------------------------

// The sizes of a tensor as doubles, at most TSR_MAX_RANK; returns how many.
TSR_API int tsrw_tensor_sizes(const tsr_tensor *tensor, double *out_sizes);
int tsrw_tensor_sizes(const tsr_tensor *tensor, double *out_sizes) {
  tsr_shape shape = tsr_tensor_shape(tensor);
  for (int i = 0; i < shape.rank; i++) out_sizes[i] = (double)shape.dims[i];
  return shape.rank;
}

// --- Kernels ---------------------------------------------------------------------------------------------------------

enum { MAX_DEFINES = 32, MAX_ARGUMENTS = 64 };

// `defines` is one text: "T=f32", FIELD, "WG=128". It is cut in place. NULL: see tsr_last_error.
TSR_API tsr_kernel *tsrw_kernel_build(const char *source, const char *name, char *defines, bool is_checked);
tsr_kernel *tsrw_kernel_build(const char *source, const char *name, char *defines, bool is_checked) {
  const char *list[MAX_DEFINES];
  int count = 0;
  for (char *next = defines; next && *next && count < MAX_DEFINES;) {
    list[count++] = next;
    next = strchr(next, FIELD[0]);
    if (next) *next++ = 0;
  }
  tsr_kernel *kernel = NULL;
  tsr_kernel_desc desc = {
      .source = source, .kernel = name, .defines = list, .define_count = count, .is_checked = is_checked};
  return tsr_kernel_build(&desc, &kernel) == TSR_OK ? kernel : NULL;
}

// Numbers for scalars, tensors for buffers: where `tensors[i]` is NULL, `numbers[i]` is the argument.
TSR_API tsr_status tsrw_kernel_launch(tsr_kernel *kernel, double items_x, double items_y, double items_z,
                                      tsr_tensor *const *tensors, const double *numbers, int count);
tsr_status tsrw_kernel_launch(tsr_kernel *kernel, double items_x, double items_y, double items_z,
                              tsr_tensor *const *tensors, const double *numbers, int count) {
  tsr_arg args[MAX_ARGUMENTS];
  for (int i = 0; i < count && i < MAX_ARGUMENTS; i++) {
    tsr_kernel_param param = {.dtype = TSR_F32};
    bool is_known = i < tsr_kernel_param_count(kernel) && tsr_kernel_get_param(kernel, i, &param) == TSR_OK;
    if (tensors[i]) args[i] = tsr_arg_tensor(tensors[i]);
    else if (is_known && tsr_dtype_kind_of(param.dtype) != TSR_KIND_FLOAT) args[i] = tsr_arg_int((int64_t)numbers[i]);
    else args[i] = tsr_arg_float(numbers[i]);
  }
  tsr_grid grid = tsr_grid_for(kernel, (uint64_t)items_x, (uint64_t)items_y, (uint64_t)items_z);
  return tsr_kernel_launch(kernel, grid, args, count < MAX_ARGUMENTS ? count : MAX_ARGUMENTS);
}
