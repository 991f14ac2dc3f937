// SPDX-License-Identifier: MIT
// CUDA for the tests: NVRTC compiles wherever it is installed; with a driver and a GPU the result also runs.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/emit_device.h"

// --- NVRTC ----------------------------------------------------------------------------------------------------------

enum { MOST_OPTIONS = 8 };

typedef struct nvrtc_program *nvrtc_handle;

#define NVRTC_FUNCTIONS(X)                                                                                           \
  X(nvrtcVersion, (int *, int *))                                                                                    \
  X(nvrtcCreateProgram, (nvrtc_handle *, const char *, const char *, int, const char *const *, const char *const *)) \
  X(nvrtcCompileProgram, (nvrtc_handle, int, const char *const *))                                                   \
  X(nvrtcGetProgramLogSize, (nvrtc_handle, size_t *))                                                                \
  X(nvrtcGetProgramLog, (nvrtc_handle, char *))                                                                      \
  X(nvrtcGetCUBINSize, (nvrtc_handle, size_t *))                                                                     \
  X(nvrtcGetCUBIN, (nvrtc_handle, char *))                                                                           \
  X(nvrtcGetPTXSize, (nvrtc_handle, size_t *))                                                                       \
  X(nvrtcGetPTX, (nvrtc_handle, char *))                                                                             \
  X(nvrtcDestroyProgram, (nvrtc_handle *))

static struct {
#define X(name, parameters) int(*name) parameters;
  NVRTC_FUNCTIONS(X)
#undef X
} rtc;

static void *open_first(const char *const *names) {
  for (; *names; names++) {
    void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

static const char *open_nvrtc(void) {
  static const char *const names[] = {"libnvrtc.so.13",
                                      "libnvrtc.so.12",
                                      "libnvrtc.so.11.2",
                                      "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so",
                                      "/usr/local/cuda/lib/libnvrtc.so",
                                      NULL};
  void *library = open_first(names);
  if (!library) return "there is no NVRTC here (libnvrtc.so.13, .12 or .11.2; part of the CUDA toolkit)";
#define X(name, parameters)                      \
  {                                              \
    void *symbol = dlsym(library, #name);        \
    if (!symbol) return "NVRTC lacks " #name;    \
    memcpy(&rtc.name, &symbol, sizeof rtc.name); \
  }
  NVRTC_FUNCTIONS(X)
#undef X
  return NULL;
}

const char *emit_nvrtc_missing(void) {
  static bool was_opened;
  static const char *reason;
  if (!was_opened) reason = open_nvrtc();
  was_opened = true;
  return reason;
}

const char *emit_nvrtc_fast_option(void) {
  int major = 0, minor = 0;
  bool has_option = !emit_nvrtc_missing() && rtc.nvrtcVersion(&major, &minor) == 0 && major >= 13;
  return has_option ? "--Ofast-compile=max" : "";
}

static void keep_build_log(nvrtc_handle program, int error) {
  size_t bytes = 0;
  rtc.nvrtcGetProgramLogSize(program, &bytes);
  char *text = calloc(bytes + 1, 1);
  if (text) rtc.nvrtcGetProgramLog(program, text);
  emit_log_set("NVRTC: %d\n%s", error, text ? text : "");
  free(text);
}

// Cuts `options`, which have blanks between them, in place, and adds them to `list`.
static int add_options(char *options, const char **list, int count) {
  for (char *at = strtok(options, " "); at && count < MOST_OPTIONS; at = strtok(NULL, " ")) list[count++] = at;
  return count;
}

// The text of the virtual machine for "compute_90", machine code for "sm_90".
static int take_code(nvrtc_handle program, bool is_text, char **out_code, size_t *out_bytes) {
  int error = is_text ? rtc.nvrtcGetPTXSize(program, out_bytes) : rtc.nvrtcGetCUBINSize(program, out_bytes);
  if (!error) *out_code = malloc(*out_bytes);
  if (!*out_code) return error;
  return is_text ? rtc.nvrtcGetPTX(program, *out_code) : rtc.nvrtcGetCUBIN(program, *out_code);
}

bool emit_nvrtc_compile(const char *text, const char *architecture, const char *build_options, char **out_code,
                        size_t *out_bytes) {
  *out_code = NULL;
  nvrtc_handle program = NULL;
  int error = rtc.nvrtcCreateProgram(&program, text, "kernels.cu", 0, NULL, NULL);
  if (error) {
    emit_log_set("nvrtcCreateProgram: %d", error);
    return false;
  }
  char target[64], copy[256];
  snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
  snprintf(copy, sizeof copy, "%s", build_options);
  const char *options[MOST_OPTIONS] = {target, "--std=c++14"};
  error = rtc.nvrtcCompileProgram(program, add_options(copy, options, 2), options);
  keep_build_log(program, error);
  if (!error) error = take_code(program, strncmp(architecture, "compute_", 8) == 0, out_code, out_bytes);
  rtc.nvrtcDestroyProgram(&program);
  return error == 0 && *out_code;
}

// --- The driver -----------------------------------------------------------------------------------------------------

#define CUDA_FUNCTIONS(X)                                                                                     \
  X(cuInit, (unsigned))                                                                                       \
  X(cuDeviceGet, (int *, int))                                                                                \
  X(cuDeviceGetAttribute, (int *, int, int))                                                                  \
  X(cuDevicePrimaryCtxRetain, (void **, int))                                                                 \
  X(cuCtxSetCurrent, (void *))                                                                                \
  X(cuModuleLoadData, (void **, const void *))                                                                \
  X(cuModuleUnload, (void *))                                                                                 \
  X(cuModuleGetFunction, (void **, void *, const char *))                                                     \
  X(cuMemAlloc_v2, (uint64_t *, size_t))                                                                      \
  X(cuMemFree_v2, (uint64_t))                                                                                 \
  X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                                        \
  X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                              \
  X(cuLaunchKernel,                                                                                           \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
  X(cuCtxSynchronize, (void))

static struct {
#define X(name, parameters) int(*name) parameters;
  CUDA_FUNCTIONS(X)
#undef X
  char architecture[16];
} cu;

static const char *open_cuda(void) {
  if (emit_nvrtc_missing()) return emit_nvrtc_missing();
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "there is no NVIDIA driver here (libcuda.so.1)";
#define X(name, parameters)                          \
  {                                                  \
    void *symbol = dlsym(library, #name);            \
    if (!symbol) return "libcuda.so.1 lacks " #name; \
    memcpy(&cu.name, &symbol, sizeof cu.name);       \
  }
  CUDA_FUNCTIONS(X)
#undef X
  int device = 0, major = 0, minor = 0;
  void *context = NULL;
  if (cu.cuInit(0) || cu.cuDeviceGet(&device, 0)) return "the NVIDIA driver finds no GPU";
  cu.cuDeviceGetAttribute(&major, 75, device);  // compute capability
  cu.cuDeviceGetAttribute(&minor, 76, device);
  if (cu.cuDevicePrimaryCtxRetain(&context, device) || cu.cuCtxSetCurrent(context)) return "the GPU cannot be opened";
  snprintf(cu.architecture, sizeof cu.architecture, "sm_%d%d", major, minor);
  return NULL;
}

static const char *cuda_missing(void) {
  static bool was_opened;
  static const char *reason;
  if (!was_opened) reason = open_cuda();
  was_opened = true;
  return reason;
}

static void *cuda_build(const char *text, const char *options) {
  char *code = NULL;
  size_t bytes = 0;
  void *module = NULL;
  if (!emit_nvrtc_compile(text, cu.architecture, options, &code, &bytes)) return NULL;
  int error = cu.cuModuleLoadData(&module, code);
  free(code);
  if (error) emit_log_set("cuModuleLoadData: %d", error);
  return error ? NULL : module;
}

static int cuda_launch(void *function, const emit_launch *launch, uint64_t *memory) {
  void *arguments[EMIT_MAX_BUFFERS + 1];
  unsigned char params[4096] = {0};
  int error = 0;
  for (uint32_t i = 0; i < launch->buffer_count && !error; i++) {
    error = cu.cuMemAlloc_v2(&memory[i], launch->bytes[i]);
    if (!error) error = cu.cuMemcpyHtoD_v2(memory[i], launch->buffers[i], launch->bytes[i]);
    arguments[i] = &memory[i];
  }
  if (launch->params_bytes > 0 && launch->params_bytes <= sizeof params) {
    memcpy(params, launch->params, launch->params_bytes);
    arguments[launch->buffer_count] = params;
  }
  const uint32_t *groups = launch->groups, *local = launch->local;
  if (!error) {
    error = cu.cuLaunchKernel(function, groups[0], groups[1], groups[2], local[0], local[1], local[2], 0, NULL,
                              arguments, NULL);
  }
  if (!error) error = cu.cuCtxSynchronize();
  for (uint32_t i = 0; i < launch->buffer_count && !error; i++) {
    error = cu.cuMemcpyDtoH_v2(launch->buffers[i], memory[i], launch->bytes[i]);
  }
  return error;
}

static bool cuda_run(void *program, const emit_launch *launch) {
  void *function = NULL;
  uint64_t memory[EMIT_MAX_BUFFERS] = {0};
  int error = cu.cuModuleGetFunction(&function, program, launch->entry);
  if (!error) error = cuda_launch(function, launch, memory);
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    if (memory[i]) cu.cuMemFree_v2(memory[i]);
  }
  if (error) emit_log_set("CUDA %d while running %s", error, launch->entry);
  return error == 0;
}

static void cuda_release(void *program) { cu.cuModuleUnload(program); }

const emit_device emit_device_cuda = {"CUDA", "cuda", cuda_missing, cuda_build, cuda_run, cuda_release};
