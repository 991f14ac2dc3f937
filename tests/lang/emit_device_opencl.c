// SPDX-License-Identifier: MIT
// OpenCL for the tests: the first device of the first platform (PoCL if there is no GPU), by dlopen.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/emit_device.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define HAS_OPENCL 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN true
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN false
#endif

#ifdef HAS_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

// PoCL and LLVM do not free all memory before the process ends.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libpocl\nleak:libLLVM\nleak:libOpenCL\nleak:libclang\n"; }

// The functions used: return type, name, parameters.
#define FUNCTIONS(X)                                                                                                  \
  X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                 \
  X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *))                     \
  X(cl_context, clCreateContext, (const void *, cl_uint, const cl_device_id *, const void *, void *, cl_int *))       \
  X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_command_queue_properties, cl_int *))        \
  X(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))            \
  X(cl_int, clBuildProgram, (cl_program, cl_uint, const cl_device_id *, const char *, const void *, void *))          \
  X(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *))       \
  X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                  \
  X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                               \
  X(cl_mem, clCreateBuffer, (cl_context, cl_mem_flags, size_t, void *, cl_int *))                                     \
  X(cl_int, clEnqueueNDRangeKernel,                                                                                   \
    (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *, \
     cl_event *))                                                                                                     \
  X(cl_int, clEnqueueReadBuffer,                                                                                      \
    (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))               \
  X(cl_int, clFinish, (cl_command_queue))                                                                             \
  X(cl_int, clReleaseMemObject, (cl_mem))                                                                             \
  X(cl_int, clReleaseKernel, (cl_kernel))                                                                             \
  X(cl_int, clReleaseProgram, (cl_program))

static struct {
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
} cl;

static const char *open_opencl(void) {
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "there is no libOpenCL.so.1 here (Debian: ocl-icd-libopencl1 pocl-opencl-icd)";
#define X(result, name, parameters)                    \
  {                                                    \
    void *symbol = dlsym(library, #name);              \
    if (!symbol) return "libOpenCL.so.1 lacks " #name; \
    memcpy(&cl.name, &symbol, sizeof cl.name);         \
  }
  FUNCTIONS(X)
#undef X
  cl_platform_id platforms[8];
  cl_uint platform_count = 0;
  cl_int error = cl.clGetPlatformIDs(8, platforms, &platform_count);
  for (cl_uint i = 0; error == CL_SUCCESS && i < platform_count && i < 8 && !cl.device; i++) {
    cl_uint count = 0;
    if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &cl.device, &count) != CL_SUCCESS) cl.device = NULL;
  }
  if (!cl.device) return "OpenCL finds no device here (Debian: pocl-opencl-icd)";
  cl.context = cl.clCreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
  if (cl.context) cl.queue = cl.clCreateCommandQueue(cl.context, cl.device, 0, &error);
  return cl.queue ? NULL : "OpenCL's device cannot be opened";
}

static const char *opencl_missing(void) {
  static bool was_opened;
  static const char *reason;
  if (HAS_TSAN) return "the thread sanitizer does not know PoCL's threads";
  if (!was_opened) reason = open_opencl();
  was_opened = true;
  return reason;
}

static void *opencl_build(const char *text, const char *options) {
  cl_int error = CL_SUCCESS;
  cl_program program = cl.clCreateProgramWithSource(cl.context, 1, &text, NULL, &error);
  if (!program) {
    emit_log_set("clCreateProgramWithSource: %d", error);
    return NULL;
  }
  error = cl.clBuildProgram(program, 1, &cl.device, options, NULL, NULL);
  if (error == CL_SUCCESS) return program;
  static char build_log[12000];
  build_log[0] = '\0';
  cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, sizeof build_log - 1, build_log, NULL);
  emit_log_set("clBuildProgram: %d\n%s", error, build_log);
  cl.clReleaseProgram(program);
  return NULL;
}

static cl_int enqueue(cl_kernel kernel, const emit_launch *launch, cl_mem *memory) {
  cl_int error = CL_SUCCESS;
  cl_uint arg = 0;
  for (uint32_t i = 0; i < launch->buffer_count && error == CL_SUCCESS; i++) {
    memory[i] = cl.clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, launch->bytes[i],
                                  launch->buffers[i], &error);
    if (error == CL_SUCCESS) error = cl.clSetKernelArg(kernel, arg++, sizeof(cl_mem), &memory[i]);
  }
  if (error == CL_SUCCESS && launch->params_bytes > 0) {
    error = cl.clSetKernelArg(kernel, arg++, launch->params_bytes, launch->params);
  }
  size_t global[3], local[3];
  for (int i = 0; i < 3; i++) {
    local[i] = launch->local[i];
    global[i] = local[i] * launch->groups[i];
  }
  if (error == CL_SUCCESS) error = cl.clEnqueueNDRangeKernel(cl.queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
  for (uint32_t i = 0; i < launch->buffer_count && error == CL_SUCCESS; i++) {
    error =
        cl.clEnqueueReadBuffer(cl.queue, memory[i], CL_TRUE, 0, launch->bytes[i], launch->buffers[i], 0, NULL, NULL);
  }
  return error;
}

static bool opencl_run(void *program, const emit_launch *launch) {
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = cl.clCreateKernel(program, launch->entry, &error);
  if (!kernel) {
    emit_log_set("clCreateKernel(%s): %d", launch->entry, error);
    return false;
  }
  cl_mem memory[EMIT_MAX_BUFFERS] = {0};
  error = enqueue(kernel, launch, memory);
  cl.clFinish(cl.queue);
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    if (memory[i]) cl.clReleaseMemObject(memory[i]);
  }
  cl.clReleaseKernel(kernel);
  if (error != CL_SUCCESS) emit_log_set("OpenCL %d while running %s", error, launch->entry);
  return error == CL_SUCCESS;
}

static void opencl_release(void *program) { cl.clReleaseProgram(program); }

#else

static const char *opencl_missing(void) { return "the tests were built without CL/cl.h (Debian: opencl-headers)"; }
static void *opencl_build(const char *text, const char *options) {
  (void)text, (void)options;
  return NULL;
}
static bool opencl_run(void *program, const emit_launch *launch) {
  (void)program, (void)launch;
  return false;
}
static void opencl_release(void *program) { (void)program; }

#endif

const emit_device emit_device_opencl = {"OpenCL", "opencl", opencl_missing, opencl_build, opencl_run, opencl_release};
