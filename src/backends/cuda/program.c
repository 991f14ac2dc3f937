// SPDX-License-Identifier: MIT
// Programs: loads what compile.c compiled, and launches it.
#include <string.h>

#include "backends/cuda/cuda.h"
#include "core/alloc.h"
#include "core/log.h"

enum { MOST_BUFFERS = 40 };

typedef struct cuda_program {
  cu_module module;
  void *image;  // NULL unless the vendor's driver reads it while the module is loaded
  cu_function function;
  uint32_t buffer_count, params_bytes;
  uint32_t local[3];
  bool waits;  // it begins by waiting for the kernels it depends on, so it may be started early
  char *name;
} cuda_program;

// --- Life -------------------------------------------------------------------------------------------------------------

static tsr_status check_code(const tsri_code *code) {
  if (code->form != TSRI_CODE_TEXT)
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: this device takes source text only", code->name);
  if (code->buffer_count > MOST_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, at most %d are allowed", code->name, code->buffer_count,
                     MOST_BUFFERS);
  }
  return TSR_OK;
}

// Compiles or takes from the cache, then loads the module. The context must be current.
static tsr_status load(cuda_device *device, const tsri_code *code, bool use_cache, cuda_program *program,
                       bool *out_is_fresh) {
  void *image = NULL;
  tsr_status status = tsri_cuda_compile(device, device->target, code, use_cache, &image, out_is_fresh);
  if (status != TSR_OK) return status;
  cu_result error = device->cu->ModuleLoadData(&program->module, image);
  bool is_kept = error == CU_SUCCESS && device->vendor->reads_image;
  if (is_kept) program->image = image;
  else tsri_free(image);
  if (error == CU_SUCCESS) return TSR_OK;
  program->module = NULL;
  if (error == CU_UNSUPPORTED_PTX_VERSION || error == CU_INVALID_IMAGE) {
    return CUDA_FAIL(device, error, TSR_ERR_BUILD, "loading %s, which %s made (%s)", code->name, device->toolset,
                     device->vendor->newer_compiler);
  }
  return CUDA_FAIL(device, error, TSR_ERR_BUILD, "loading %s", code->name);
}

// If the driver rejects a file of the disk cache, compiles the program again.
static tsr_status load_module(cuda_device *device, const tsri_code *code, cuda_program *program) {
  bool is_fresh = false;
  tsr_status status = load(device, code, true, program, &is_fresh);
  if (status != TSR_ERR_BUILD || is_fresh) return status;
  tsri_log(TSR_LOG_INFO, "%s: what the cache has of %s is not used: %s", device->vendor->name, code->name,
           tsr_last_error());
  return load(device, code, false, program, &is_fresh);
}

// Checks the kernel's limits against the launch size in `program` now, since otherwise every launch would fail.
static tsr_status find_function(cuda_device *device, cuda_program *program) {
  int most = 0;
  uint64_t items = (uint64_t)program->local[0] * program->local[1] * program->local[2];
  cu_result error = device->cu->ModuleGetFunction(&program->function, program->module, program->name);
  if (error == CU_SUCCESS) error = device->cu->FuncGetAttribute(&most, CU_FUNCTION_MAX_THREADS, program->function);
  if (error != CU_SUCCESS) return CUDA_FAIL(device, error, TSR_ERR_BUILD, "the kernel %s", program->name);
  if (items > (uint64_t)most) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: groups of %llu items, %s runs this kernel with at most %d", program->name,
                     (unsigned long long)items, device->name, most);
  }
  return TSR_OK;
}

tsr_status tsri_cuda_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status == TSR_OK) status = check_code(code);
  if (status != TSR_OK) return status;
  cuda_program *program = tsri_calloc(1, sizeof *program);
  char *name = tsri_strdup(code->name);
  if (!program || !name) {
    tsri_free(program);
    tsri_free(name);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  }
  program->name = name;
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  for (int i = 0; i < 3; i++) program->local[i] = code->local[i];
  program->waits = gpu_device->architecture >= 90 && strstr(code->options ? code->options : "", "-DTSR_WAITS");

  bool was_pushed = tsri_cuda_enter(gpu_device);
  status = load_module(gpu_device, code, program);
  if (status == TSR_OK) status = find_function(gpu_device, program);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (status != TSR_OK) {
    tsri_cuda_program_destroy(device, (tsri_program *)program);
    return status;
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

// Accepts a partly initialised program.
void tsri_cuda_program_destroy(tsri_device *device, tsri_program *program) {
  cuda_program *gpu_program = (cuda_program *)program;
  bool was_pushed = tsri_cuda_enter(cuda_device_of(device));
  if (gpu_program->module) (void)cuda_device_of(device)->cu->ModuleUnload(gpu_program->module);
  tsri_cuda_leave(cuda_device_of(device), was_pushed);
  tsri_free(gpu_program->image);
  tsri_free(gpu_program->name);
  tsri_free(gpu_program);
}

// --- Launching ----------------------------------------------------------------------------------------------------------

// Passes addresses and parameters to the driver from the stack: a launch allocates nothing and waits for nothing.
tsr_status tsri_cuda_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  const cuda_program *what = (const cuda_program *)program;
  const uint32_t *groups = launch->groups, *local = what->local;
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  if (launch->buffer_count != what->buffer_count) {
    return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: %u buffers given, it takes %u", what->name, launch->buffer_count,
                     what->buffer_count);
  }
  cu_address addresses[MOST_BUFFERS];
  void *arguments[MOST_BUFFERS + 1];
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    const tsri_binding *binding = &launch->buffers[i];
    addresses[i] = binding->buffer ? cuda_address_of(binding->buffer, binding->offset) : 0;
    arguments[i] = &addresses[i];
  }
  arguments[launch->buffer_count] = (void *)(uintptr_t)launch->params;  // the driver only reads it
  bool was_pushed = tsri_cuda_enter_to_stay(gpu_queue->device);
  const cuda_kernel_start start = {.function = what->function,
                                   .groups = {groups[0], groups[1], groups[2]},
                                   .items = {local[0], local[1], local[2]},
                                   .waits = what->waits};
  cu_result code = tsri_cuda_start_kernel(gpu_queue, &start, arguments);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  if (code == CU_SUCCESS) return TSR_OK;
  return CUDA_FAIL(gpu_queue->device, code, TSR_ERR_LAUNCH, "launching %s, %u x %u x %u groups of %u x %u x %u",
                   what->name, groups[0], groups[1], groups[2], local[0], local[1], local[2]);
}
