// SPDX-License-Identifier: MIT
// Launches user-defined kernels: checks arguments against the parameter list, and moves or copies them where needed.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/tensor.h"
#include "graph/trace.h"
#include "graph/transfer.h"
#include "ops/kernel.h"
#include "runtime/sharing.h"
#include "runtime/tape.h"

// The state of a launch, with one entry per buffer parameter of the kernel. `buffers` and `origins` hold references.
typedef struct launch_state {
  tsr_kernel *kernel;
  tsr_device *device;
  tsri_argument buffers[TSRI_LANG_MAX_BUFFERS];
  // Where to copy an output to after the launch, if the kernel writes to a temporary copy of it. buffer NULL: the kernel writes in place.
  tsri_argument origins[TSRI_LANG_MAX_BUFFERS];
  bool is_written[TSRI_LANG_MAX_BUFFERS];
  uint32_t buffer_count;
  uint64_t params[TSRI_LANG_MAX_PARAMS];
} launch_state;

static const char *param_kind(const tsr_kernel_param *param) {
  return param->access == TSR_ACCESS_NONE ? "a number" : "a tensor";
}

static tsr_status check_kind(const tsr_kernel *kernel, int index, const tsr_arg *arg) {
  const tsr_kernel_param *param = &kernel->params[index];
  bool wants_tensor = param->access != TSR_ACCESS_NONE, is_tensor = arg->kind == TSR_ARG_TENSOR;
  bool is_float = tsr_dtype_kind_of(param->dtype) == TSR_KIND_FLOAT;
  if ((unsigned)arg->kind > TSR_ARG_FLOAT || wants_tensor != is_tensor) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: parameter '%s' takes %s, argument %d is %s", kernel->ir->variant,
                     param->name, param_kind(param), index, is_tensor ? "a tensor" : "a number");
  }
  if (!is_tensor && arg->kind == TSR_ARG_FLOAT && !is_float) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: parameter '%s' is %s and takes an integer, %g is a float",
                     kernel->ir->variant, param->name, tsr_dtype_name(param->dtype), arg->real);
  }
  return TSR_OK;
}

static tsr_status check_tensor(const tsr_kernel *kernel, int index, tsr_tensor *tensor) {
  const tsr_kernel_param *param = &kernel->params[index];
  if (!tensor) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the tensor for '%s' is NULL", kernel->ir->variant, param->name);
  }
  tsr_status status = tsri_tensor_check("kernel_launch", tensor);
  if (status == TSR_OK) {
    status = param->access == TSR_ACCESS_IN ? tsri_graph_run(tensor) : tsri_graph_before_write(tensor);
  }
  if (status != TSR_OK) return status;
  if (tensor->dtype != param->dtype) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: buffer '%s' is %s, the tensor given is %s", kernel->ir->variant, param->name,
                     tsr_dtype_name(param->dtype), tsr_dtype_name(tensor->dtype));
  }
  if (param->access == TSR_ACCESS_IN) return TSR_OK;
  if (!tsri_layout_is_contiguous(&tensor->layout)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "%s: the tensor for '%s' is not contiguous, which one that is written must be",
                     kernel->ir->variant, param->name);
  }
  if (tsri_tensor_buffer(tensor)->is_read_only) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the tensor for '%s' is read-only", kernel->ir->variant,
                     param->name);
  }
  return TSR_OK;
}

static bool fits(const tsri_ir_param *param, const unsigned char *declared, int64_t wanted) {
  int64_t back = 0;
  if (tsr_dtype_kind_of((tsr_dtype)param->declared) == TSR_KIND_FLOAT || param->declared == TSR_BOOL) return true;
  if (param->declared == TSR_U64) return wanted >= 0;
  return tsr_convert(TSR_I64, &back, (tsr_dtype)param->declared, declared, 1) == TSR_OK && back == wanted;
}

// Stores a number in the parameter block: converted to the declared type (exactly, if that is an integer), then to its
// value type.
static tsr_status put_scalar(launch_state *launch, uint32_t scalar, const tsr_arg *arg) {
  const tsri_ir_param *param = &launch->kernel->ir->params[scalar];
  tsr_dtype dtype = (tsr_dtype)param->declared;
  char *to = (char *)launch->params + param->offset;
  unsigned char declared[8] = {0};
  tsr_status status = arg->kind == TSR_ARG_FLOAT ? tsr_convert(dtype, declared, TSR_F64, &arg->real, 1)
                                                 : tsr_convert(dtype, declared, TSR_I64, &arg->integer, 1);
  if (status != TSR_OK) return status;
  if (arg->kind == TSR_ARG_INT && !fits(param, declared, arg->integer)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %lld does not fit parameter '%s' of type %s",
                     launch->kernel->ir->variant, (long long)arg->integer, param->name, tsr_dtype_name(dtype));
  }
  if (dtype != TSR_BOOL) return tsr_convert((tsr_dtype)param->type.dtype, to, dtype, declared, 1);
  uint32_t truth = declared[0] != 0;  // bools are passed as 32-bit words
  memcpy(to, &truth, sizeof truth);
  return TSR_OK;
}

static tsr_status choose_device(launch_state *launch, const tsr_arg *args) {
  tsr_device *first_in = NULL;
  for (int i = 0; i < launch->kernel->param_count; i++) {
    tsr_access access = launch->kernel->params[i].access;
    if (access == TSR_ACCESS_NONE) continue;
    tsr_device *device = args[i].tensor->value->device;
    if (access == TSR_ACCESS_IN) {
      if (!first_in) first_in = device;
      continue;
    }
    if (launch->device && launch->device != device) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: outputs on two devices, %s and %s", launch->kernel->ir->variant,
                       launch->device->info.name, device->info.name);
    }
    launch->device = device;
  }
  if (!launch->device) launch->device = first_in;
  if (!launch->device)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: no tensor among the arguments says where to run",
                     launch->kernel->ir->variant);
  return TSR_OK;
}

static tsri_argument argument_of(const tsr_tensor *tensor) {
  return (tsri_argument){.buffer = tsr_buffer_retain(tsri_tensor_buffer(tensor)),
                         .offset = (size_t)tensor->layout.offset * tsr_dtype_bytes(tensor->dtype),
                         .element_count = (uint64_t)tensor->layout.count};
}

static bool overlap(const tsri_argument *a, const tsri_argument *b, size_t a_bytes, size_t b_bytes) {
  return tsri_ranges_overlap(a->buffer, a->offset, a_bytes, b->buffer, b->offset, b_bytes);
}

static size_t argument_bytes(const launch_state *launch, uint32_t index) {
  tsr_dtype dtype = (tsr_dtype)launch->kernel->ir->buffers[index].storage;
  return (size_t)launch->buffers[index].element_count * tsr_dtype_bytes(dtype);
}

// Outputs are bound first, so that inputs can be compared with all of them.
static tsr_status bind_output(launch_state *launch, uint32_t index, const tsr_tensor *tensor) {
  launch->buffers[index] = argument_of(tensor);
  launch->is_written[index] = true;
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    if (i == index || !launch->is_written[i]) continue;
    if (overlap(&launch->buffers[i], &launch->buffers[index], argument_bytes(launch, i),
                argument_bytes(launch, index))) {
      const tsri_ir_array *arrays = launch->kernel->ir->buffers;
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the tensors for '%s' and '%s' overlap, and both are written",
                       launch->kernel->ir->variant, arrays[i].name, arrays[index].name);
    }
  }
  return TSR_OK;
}

static bool is_overwritten(const launch_state *launch, const tsr_tensor *tensor) {
  int64_t low = 0, high = 0;
  size_t element = tsr_dtype_bytes(tensor->dtype);
  tsri_layout_span(&tensor->layout, &low, &high);
  tsri_argument span = {.buffer = tsri_tensor_buffer(tensor), .offset = (size_t)low * element};
  size_t bytes = tensor->layout.count ? (size_t)(high - low + 1) * element : 0;
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    if (launch->is_written[i] && overlap(&launch->buffers[i], &span, argument_bytes(launch, i), bytes)) return true;
  }
  return false;
}

static tsr_status bind_input(launch_state *launch, uint32_t index, tsr_tensor *tensor) {
  tsri_argument *argument = &launch->buffers[index];
  tsri_view view = tsri_view_of(tensor), moved;
  bool is_here = view.buffer->device == launch->device;
  if (is_here && tsri_layout_is_contiguous(&view.layout) && !is_overwritten(launch, tensor)) {
    *argument = argument_of(tensor);
    return TSR_OK;
  }
  argument->element_count = (uint64_t)view.layout.count;
  if (is_here) return tsri_copy_contiguous(&view, &argument->buffer);
  // Asks only whether moving the tensors is allowed. The kernel runs on the device of the outputs.
  tsr_device *common = NULL;
  tsr_status status =
      tsri_common_device("kernel_launch", (tsr_device *[]){view.buffer->device, launch->device}, 2, &common);
  if (status == TSR_OK) status = tsri_move_implicitly("kernel_launch", &view, launch->device, &moved);
  if (status == TSR_OK) argument->buffer = moved.buffer;
  return status;
}

static tsr_status bind_arguments(launch_state *launch, const tsr_arg *args) {
  const tsr_kernel *kernel = launch->kernel;
  tsr_status status = TSR_OK;
  for (int pass = 0; pass < 2; pass++) {
    uint32_t buffers = 0, scalars = 0;
    for (int i = 0; i < kernel->param_count && status == TSR_OK; i++) {
      tsr_access access = kernel->params[i].access;
      if (access == TSR_ACCESS_NONE) {
        if (pass == 0) status = put_scalar(launch, scalars, &args[i]);
        scalars++;
        continue;
      }
      bool is_input = access == TSR_ACCESS_IN;
      if (is_input == (pass == 1)) {
        status = is_input ? bind_input(launch, buffers, args[i].tensor) : bind_output(launch, buffers, args[i].tensor);
      }
      buffers++;
    }
  }
  return status;
}

// --- Alignment of bindings -------------------------------------------------------------------------------------------

static bool can_bind(const tsr_device *device, const tsri_argument *argument) {
  size_t offset = argument->buffer->offset + argument->offset;
  return argument->buffer->handle && offset % tsri_binding_alignment(device) == 0;
}

// Replaces a buffer whose offset the device cannot bind by a copy, and an empty buffer by a small one, since a binding must not be empty.
static tsr_status settle(launch_state *launch, uint32_t index) {
  enum { LITTLE = 32 };
  tsri_argument *argument = &launch->buffers[index];
  size_t bytes = argument_bytes(launch, index);
  if (can_bind(launch->device, argument)) return TSR_OK;
  tsr_buffer *copy = NULL;
  tsr_status status = tsr_buffer_create(launch->device, bytes ? bytes : LITTLE, 0, &copy);
  if (status == TSR_OK && bytes > 0) {
    status = tsri_buffer_copy(copy, 0, argument->buffer, argument->offset, bytes);
  }
  if (status != TSR_OK) {
    tsr_buffer_release(copy);
    return status;
  }
  if (launch->is_written[index] && bytes > 0) {
    launch->origins[index] = *argument;
  } else {
    tsr_buffer_release(argument->buffer);
  }
  argument->buffer = copy;
  argument->offset = 0;
  return TSR_OK;
}

static tsr_status settle_all(launch_state *launch) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < launch->buffer_count && status == TSR_OK; i++) status = settle(launch, i);
  return status;
}

static tsr_status return_outputs(const launch_state *launch) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < launch->buffer_count && status == TSR_OK; i++) {
    const tsri_argument *origin = &launch->origins[i];
    if (!origin->buffer) continue;
    status = tsri_buffer_copy(origin->buffer, origin->offset, launch->buffers[i].buffer, 0, argument_bytes(launch, i));
  }
  return status;
}

// --- Launching ----------------------------------------------------------------------------------------------------

static bool needs_unaligned(const launch_state *launch) {
  enum { WIDEST = 32 };  // four elements of 8 bytes
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    const tsri_argument *argument = &launch->buffers[i];
    bool is_aligned = (argument->buffer->offset + argument->offset) % WIDEST == 0;
    if (launch->kernel->ir->buffers[i].is_wide && !is_aligned) return true;
  }
  return false;
}

enum { MOST_ARGUMENTS = TSRI_LANG_MAX_BUFFERS + TSRI_LANG_MAX_PARAMS };

static tsr_status find_param(const tsr_kernel *kernel, const char *name, int *out_index) {
  for (*out_index = 0; *out_index < kernel->param_count; ++*out_index) {
    if (strcmp(kernel->params[*out_index].name, name) == 0) return TSR_OK;
  }
  const char *names[MOST_ARGUMENTS];
  for (int i = 0; i < kernel->param_count; i++) names[i] = kernel->params[i].name;
  const char *nearest = tsri_text_nearest(name, names, (size_t)kernel->param_count);
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s has no parameter '%s'%s%s%s", kernel->ir->variant, name,
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

// Gives `args`, which are named, in the order of the parameter list.
static tsr_status order_arguments(const tsr_kernel *kernel, const tsr_arg *args, int arg_count, tsr_arg *out_ordered) {
  bool is_given[MOST_ARGUMENTS] = {false};
  for (int i = 0; i < arg_count; i++) {
    int index = 0;
    if (!args[i].name) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: argument %d has no name, others have: name all or none",
                       kernel->ir->variant, i);
    }
    tsr_status status = find_param(kernel, args[i].name, &index);
    if (status != TSR_OK) return status;
    if (is_given[index]) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: parameter '%s' is given twice", kernel->ir->variant,
                       args[i].name);
    }
    is_given[index] = true;
    out_ordered[index] = args[i];
  }
  for (int i = 0; i < kernel->param_count; i++) {
    if (is_given[i]) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: parameter '%s' is not given", kernel->ir->variant,
                     kernel->params[i].name);
  }
  return TSR_OK;
}

static bool has_names(const tsr_arg *args, int arg_count) {
  bool has_any = false;
  for (int i = 0; args && i < arg_count; i++) has_any = has_any || args[i].name;
  return has_any;
}

static tsr_status check_arguments(const tsr_kernel *kernel, const tsr_arg *args, int arg_count) {
  if (arg_count != kernel->param_count || (arg_count > 0 && !args)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %d argument%s given, it takes %d", kernel->ir->variant,
                     args ? arg_count : 0, arg_count == 1 ? "" : "s", kernel->param_count);
  }
  for (int i = 0; i < arg_count; i++) {
    tsr_status status = check_kind(kernel, i, &args[i]);
    if (status == TSR_OK && args[i].kind == TSR_ARG_TENSOR) status = check_tensor(kernel, i, args[i].tensor);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

static void launch_init(launch_state *launch, tsr_kernel *kernel) {
  launch->kernel = kernel;
  launch->device = NULL;
  launch->buffer_count = kernel->ir->buffer_count;
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    launch->buffers[i] = launch->origins[i] = (tsri_argument){0};
    launch->is_written[i] = false;
  }
}

static void launch_deinit(launch_state *launch) {
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    tsr_buffer_release(launch->buffers[i].buffer);
    tsr_buffer_release(launch->origins[i].buffer);
  }
}

static void release_kernel(void *kernel) { tsr_kernel_release(kernel); }

static tsr_status run(launch_state *launch, tsr_grid grid) {
  const tsri_built *built = NULL;
  const uint32_t groups[3] = {grid.x, grid.y, grid.z};
  tsr_status status = tsri_kernel_program(launch->kernel, launch->device, needs_unaligned(launch), &built);
  if (status != TSR_OK || !grid.x || !grid.y || !grid.z) return status;
  if (tsri_tape_now()) tsri_tape_holds(launch->device, tsr_kernel_retain(launch->kernel), release_kernel);
  status = tsri_built_launch(launch->device, built, groups, launch->buffers, launch->params);
  return status == TSR_OK ? return_outputs(launch) : status;
}

// --- Traces of captures ------------------------------------------------------------------------------------------------

static void release_launch(void *memory) {
  tsri_kernel_launch *launch = memory;
  tsr_kernel_release(launch->kernel);
  tsri_free(launch);
}

// Adds the launch to the trace of the capture that the thread has open.
static void trace(const launch_state *launch, tsr_grid grid, const tsr_arg *args) {
  tsr_kernel *kernel = launch->kernel;
  tsr_tensor *tensors[MOST_ARGUMENTS];
  int tensor_count = 0;
  size_t bytes = (size_t)kernel->param_count * sizeof *args;
  tsri_kernel_launch *kept = tsri_malloc(sizeof *kept + bytes);
  if (kept) *kept = (tsri_kernel_launch){tsr_kernel_retain(kernel), grid, kernel->param_count};
  for (int i = 0; i < kernel->param_count; i++) {
    if (args[i].kind == TSR_ARG_TENSOR) tensors[tensor_count++] = args[i].tensor;
    if (!kept) continue;
    kept->args[i] = args[i];
    kept->args[i].tensor = NULL;
    kept->args[i].name = NULL;
  }
  tsri_trace_object(launch->device, TSRI_TRACED_LAUNCH, tensors, tensor_count, kept, release_launch);
}

tsr_status tsr_kernel_launch(tsr_kernel *kernel, tsr_grid grid, const tsr_arg *args, int arg_count) {
  tsr_status status = tsri_object_check(kernel, TSRI_OBJECT_KERNEL, "kernel_launch", "kernel");
  tsr_arg ordered[MOST_ARGUMENTS];
  if (status == TSR_OK && has_names(args, arg_count)) {
    status = order_arguments(kernel, args, arg_count, ordered);
    args = ordered;
    arg_count = kernel->param_count;
  }
  if (status == TSR_OK) status = check_arguments(kernel, args, arg_count);
  if (status != TSR_OK) return status;
  launch_state launch;
  launch_init(&launch, kernel);
  status = choose_device(&launch, args);
  tsri_tape_explain_begin();
  if (status == TSR_OK) status = bind_arguments(&launch, args);
  if (status == TSR_OK) status = settle_all(&launch);
  if (status == TSR_OK) status = run(&launch, grid);
  tsri_tape_explain_end();
  if (status == TSR_OK && tsri_tape_now()) trace(&launch, grid, args);
  launch_deinit(&launch);
  return status;
}
