// SPDX-License-Identifier: MIT
// Programs: OpenCL C text that is built or loaded from the disk cache, and launched.
//
// Two bindings of a launch may be parts of one buffer: with equal offsets they share a memory object, otherwise their
// sub-buffers may overlap. OpenCL leaves it undefined to write to one of two overlapping sub-buffers while the other
// is used. In a context with a single device, however, every driver maps both to the parent's memory, and we rely on
// that (a test in program_test.c checks it). It is needed for views whose rows interleave. A kernel that writes
// elements which it also reads through another binding is wrong on every backend.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include <string.h>

#include "backends/common/disk_cache.h"
#include "core/alloc.h"
#include "core/log.h"

enum { MOST_BUFFERS = 32 };

typedef struct opencl_program {
  cl_program program;
  cl_kernel kernel;
  tsri_mutex lock;  // a cl_kernel stores its arguments, so only one thread at a time sets them and launches
  uint32_t buffer_count, params_bytes;
  size_t local[3];
  char *name;
} opencl_program;

// --- Building -------------------------------------------------------------------------------------------------------

// Sets the language version unless the options do, because the drivers' defaults differ. Without -w NVIDIA's compiler
// writes the number of its warnings to the standard error of the program.
static char *options_of(const tsri_code *code) {
  const char *more = code->options ? code->options : "";
  return tsri_format_text("-w%s%s%s", strstr(more, "-cl-std=") ? "" : " -cl-std=CL1.2", more[0] ? " " : "", more);
}

static tsr_status build_failed(opencl_device *device, const tsri_code *code, cl_program program, cl_int error) {
  if (error == CL_OUT_OF_HOST_MEMORY || error == CL_DEVICE_NOT_AVAILABLE) {
    return OPENCL_FAIL(device, error, TSR_ERR_BUILD, "building %s", code->name);
  }
  size_t bytes = 0;
  tsri_cl.GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = tsri_calloc(1, bytes + 1);
  if (log) tsri_cl.GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  const char *text = log && log[0] ? log : "the driver gave no log";
  tsri_log(TSR_LOG_DEBUG, "opencl: building %s: %s", code->name, text);
  tsr_status status = TSRI_FAIL(TSR_ERR_BUILD, "%s: %s cannot build it: OpenCL %d %s: %s", code->name, device->name,
                                error, tsri_opencl_code_name(error), text);
  tsri_free(log);
  return status;
}

static tsr_status build_text(opencl_device *device, const tsri_code *code, const char *options,
                             cl_program *out_program) {
  cl_int error = CL_SUCCESS;
  const char *text = code->data;
  cl_program program = tsri_cl.CreateProgramWithSource(device->context, 1, &text, &code->data_bytes, &error);
  if (error != CL_SUCCESS) return OPENCL_FAIL(device, error, TSR_ERR_BUILD, "the text of %s", code->name);
  error = tsri_cl.BuildProgram(program, 1, &device->id, options, NULL, NULL);
  if (error != CL_SUCCESS) {
    tsr_status status = build_failed(device, code, program, error);
    tsri_cl.ReleaseProgram(program);
    return status;
  }
  *out_program = program;
  return TSR_OK;
}

char *tsri_opencl_cache_path(const opencl_device *device, const char *options, const void *text, size_t text_bytes) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, device->key);
  tsri_cache_key_add_text(&key, options);
  tsri_cache_key_add(&key, text, text_bytes);
  return tsri_cache_path("opencl", &key);
}

// Returns the program from the cache, or NULL if the file is missing or the driver rejects it.
static cl_program take_cached(opencl_device *device, const char *options, const char *path) {
  size_t bytes = 0;
  unsigned char *binary = tsri_cache_load(path, &bytes);
  if (!binary) return NULL;
  const unsigned char *const_binary = binary;
  cl_int error = CL_SUCCESS, is_good = CL_SUCCESS;
  cl_program program =
      tsri_cl.CreateProgramWithBinary(device->context, 1, &device->id, &bytes, &const_binary, &is_good, &error);
  tsri_free(binary);
  if (error == CL_SUCCESS) error = is_good;
  if (error == CL_SUCCESS) error = tsri_cl.BuildProgram(program, 1, &device->id, options, NULL, NULL);
  if (error == CL_SUCCESS) return program;
  tsri_log(TSR_LOG_INFO, "opencl: %s is not used: OpenCL %d %s", path, error, tsri_opencl_code_name(error));
  if (program) tsri_cl.ReleaseProgram(program);
  return NULL;
}

static void keep_binary(cl_program program, const char *path) {
  size_t bytes = 0;
  if (tsri_cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS) return;
  unsigned char *binary = bytes > 0 ? tsri_malloc(bytes) : NULL;
  if (!binary) return;
  if (tsri_cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
    tsri_cache_store(path, binary, bytes);
  }
  tsri_free(binary);
}

static tsr_status build(opencl_device *device, const tsri_code *code, cl_program *out_program) {
  char *options = options_of(code);
  if (!options) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its options", code->name);
  tsr_status status = TSR_OK;
  char *path = device->keeps_no_binaries ? NULL : tsri_opencl_cache_path(device, options, code->data, code->data_bytes);
  *out_program = path ? take_cached(device, options, path) : NULL;
  if (!*out_program) {
    status = build_text(device, code, options, out_program);
    if (status == TSR_OK && path) keep_binary(*out_program, path);
  }
  tsri_free(path);
  tsri_free(options);
  return status;
}

// --- Life -----------------------------------------------------------------------------------------------------------

static tsr_status check_code(const tsri_code *code) {
  if (code->form != TSRI_CODE_TEXT) return TSRI_FAIL(TSR_ERR_BUILD, "%s: OpenCL takes source text only", code->name);
  if (code->buffer_count > MOST_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, at most %d are allowed", code->name, code->buffer_count,
                     MOST_BUFFERS);
  }
  return TSR_OK;
}

// Checks the argument count and the work-group size in `program` against the compiled kernel: otherwise launches would
// fail, or read wrong arguments.
static tsr_status check_kernel(opencl_device *device, const opencl_program *program) {
  cl_uint arguments = 0, wanted = program->buffer_count + (program->params_bytes > 0);
  size_t most = 0, items = program->local[0] * program->local[1] * program->local[2];
  cl_int error = tsri_cl.GetKernelInfo(program->kernel, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
  if (error == CL_SUCCESS) {
    error = tsri_cl.GetKernelWorkGroupInfo(program->kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                           NULL);
  }
  if (error != CL_SUCCESS) return OPENCL_FAIL(device, error, TSR_ERR_BUILD, "asking about %s", program->name);
  if (arguments != wanted) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: the kernel has %u arguments instead of %u", program->name, arguments, wanted);
  }
  if (items > most) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: groups of %zu items, %s runs this kernel with at most %zu", program->name,
                     items, device->name, most);
  }
  return TSR_OK;
}

tsr_status tsri_opencl_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program) {
  opencl_device *ocl_device = (opencl_device *)device;
  tsr_status status = tsri_opencl_check(ocl_device);
  if (status == TSR_OK) status = check_code(code);
  if (status != TSR_OK) return status;
  opencl_program *program = tsri_calloc(1, sizeof *program);
  char *name = tsri_strdup(code->name);
  if (!program || !name) {
    tsri_free(program);
    tsri_free(name);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  }
  tsri_mutex_init(&program->lock);
  program->name = name;
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  for (int i = 0; i < 3; i++) program->local[i] = code->local[i];

  status = build(ocl_device, code, &program->program);
  if (status == TSR_OK) {
    cl_int error = CL_SUCCESS;
    program->kernel = tsri_cl.CreateKernel(program->program, code->name, &error);
    if (error != CL_SUCCESS) status = OPENCL_FAIL(ocl_device, error, TSR_ERR_BUILD, "the kernel %s", code->name);
  }
  if (status == TSR_OK) status = check_kernel(ocl_device, program);
  if (status != TSR_OK) {
    tsri_opencl_program_destroy(device, (tsri_program *)program);
    return status;
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

// Accepts a partly initialised program.
void tsri_opencl_program_destroy(tsri_device *device, tsri_program *program) {
  (void)device;
  opencl_program *ocl_program = (opencl_program *)program;
  if (ocl_program->kernel) tsri_cl.ReleaseKernel(ocl_program->kernel);
  if (ocl_program->program) tsri_cl.ReleaseProgram(ocl_program->program);
  tsri_mutex_deinit(&ocl_program->lock);
  tsri_free(ocl_program->name);
  tsri_free(ocl_program);
}

// --- Launching ------------------------------------------------------------------------------------------------------

// Finds the memory object of each binding. An empty binding stays NULL, which OpenCL passes as a null pointer.
static tsr_status bind_all(opencl_device *device, const tsri_launch *launch, cl_mem *memory) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < launch->buffer_count && status == TSR_OK; i++) {
    const tsri_binding *binding = &launch->buffers[i];
    if (binding->bytes == 0) continue;
    status = tsri_opencl_bind(device, (opencl_buffer *)binding->buffer, binding->offset, &memory[i]);
  }
  return status;
}

static cl_int set_arguments(const opencl_program *program, const tsri_launch *launch, const cl_mem *memory) {
  cl_int code = CL_SUCCESS;
  for (uint32_t i = 0; i < program->buffer_count && code == CL_SUCCESS; i++) {
    code = tsri_cl.SetKernelArg(program->kernel, i, sizeof(cl_mem), &memory[i]);
  }
  if (code == CL_SUCCESS && program->params_bytes > 0) {
    code = tsri_cl.SetKernelArg(program->kernel, program->buffer_count, program->params_bytes, launch->params);
  }
  return code;
}

tsr_status tsri_opencl_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch) {
  opencl_queue *ocl_queue = (opencl_queue *)queue;
  opencl_program *what = (opencl_program *)program;
  tsr_status status = tsri_opencl_begin(ocl_queue);
  if (status != TSR_OK) return status;
  if (launch->buffer_count != what->buffer_count) {
    return TSRI_FAIL(TSR_ERR_LAUNCH, "%s: %u buffers given, it takes %u", what->name, launch->buffer_count,
                     what->buffer_count);
  }
  cl_mem memory[MOST_BUFFERS] = {NULL};
  status = bind_all(ocl_queue->device, launch, memory);
  if (status == TSR_OK) {
    size_t global[3];
    for (int i = 0; i < 3; i++) global[i] = launch->groups[i] * what->local[i];
    tsri_mutex_lock(&what->lock);
    cl_int code = set_arguments(what, launch, memory);
    if (code == CL_SUCCESS) {
      code =
          tsri_cl.EnqueueNDRangeKernel(ocl_queue->commands, what->kernel, 3, NULL, global, what->local, 0, NULL, NULL);
    }
    tsri_mutex_unlock(&what->lock);
    if (code != CL_SUCCESS) {
      status = OPENCL_FAIL(ocl_queue->device, code, TSR_ERR_LAUNCH,
                           "launching %s, %u x %u x %u groups of %zu x %zu x %zu", what->name, launch->groups[0],
                           launch->groups[1], launch->groups[2], what->local[0], what->local[1], what->local[2]);
    }
  }
  return status;
}

#endif
