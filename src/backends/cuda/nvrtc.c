// SPDX-License-Identifier: MIT
// Compiles CUDA C++ text: to a cubin if this NVRTC knows the GPU, otherwise to PTX, which the driver compiles further.
// The text needs no headers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/disk_cache.h"
#include "backends/cuda/cuda.h"
#include "core/alloc.h"
#include "core/log.h"

enum { MOST_ARCHS = 64, MOST_OPTIONS = 8, OPTION_BYTES = 64 };

// --- What to compile for ----------------------------------------------------------------------------------------------

tsr_status tsri_cuda_choose_target(cuda_device *device, int major, int minor) {
  int archs[MOST_ARCHS], count = 0, wanted = 10 * major + minor, best = 0, least = 0;
  int version_major = 0, version_minor = 0;
  tsri_nvrtc.Version(&version_major, &version_minor);
  if (tsri_nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > MOST_ARCHS ||
      tsri_nvrtc.GetSupportedArchs(archs) != NVRTC_SUCCESS) {
    count = 0;
  }
  for (int i = 0; i < count; i++) {
    if (archs[i] <= wanted && archs[i] > best) best = archs[i];
    if (least == 0 || archs[i] < least) least = archs[i];
  }
  if (best == 0) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%s has compute capability %d.%d, and NVRTC %d.%d compiles for %d.%d and newer: install an older "
                     "NVRTC, or use the vulkan or opencl backend on the same GPU",
                     device->name, major, minor, version_major, version_minor, least / 10, least % 10);
  }
  snprintf(device->target, sizeof device->target, "%s_%d", best == wanted ? "sm" : "compute", best);
  snprintf(device->toolset, sizeof device->toolset, "%s NVRTC %d.%d", device->target, version_major, version_minor);
  return TSR_OK;
}

// --- Compiling --------------------------------------------------------------------------------------------------------

typedef struct option_list {
  char text[MOST_OPTIONS][OPTION_BYTES];
  const char *all[MOST_OPTIONS];
  int count;
} option_list;

static void add_option(option_list *list, const char *text, size_t bytes) {
  if (bytes == 0 || list->count == MOST_OPTIONS) return;
  char *option = list->text[list->count];
  snprintf(option, OPTION_BYTES, "%.*s", (int)bytes, text);
  list->all[list->count++] = option;
}

// NVRTC's defaults already give IEEE division, square roots and denormals.
static void collect_options(const cuda_device *device, const tsri_code *code, option_list *list) {
  char target[OPTION_BYTES];
  snprintf(target, sizeof target, "--gpu-architecture=%s", device->target);
  list->count = 0;
  add_option(list, target, strlen(target));
  add_option(list, "--std=c++14", strlen("--std=c++14"));
  for (const char *at = code->options ? code->options : ""; *at;) {
    size_t bytes = strcspn(at, " ");
    add_option(list, at, bytes);
    at += bytes + strspn(at + bytes, " ");
  }
}

static tsr_status build_failed(const cuda_device *device, const tsri_code *code, nvrtc_program program, int error) {
  size_t bytes = 0;
  if (error == NVRTC_OUT_OF_MEMORY) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: NVRTC has no host memory", code->name);
  tsri_nvrtc.GetProgramLogSize(program, &bytes);
  char *log = tsri_calloc(1, bytes + 1);
  if (log && bytes > 0) tsri_nvrtc.GetProgramLog(program, log);
  const char *text = log && log[0] ? log : "the compiler gave no log";
  tsri_log(TSR_LOG_DEBUG, "cuda: building %s: %s", code->name, text);
  tsr_status status = TSRI_FAIL(TSR_ERR_BUILD, "%s: NVRTC cannot build it for %s (NVRTC %d): %s", code->name,
                                device->target, error, text);
  tsri_free(log);
  return status;
}

static int take_image(nvrtc_program program, bool is_ptx, void **out_image, size_t *out_bytes) {
  int error = is_ptx ? tsri_nvrtc.GetPtxSize(program, out_bytes) : tsri_nvrtc.GetCubinSize(program, out_bytes);
  if (error != NVRTC_SUCCESS) return error;
  char *image = tsri_malloc(*out_bytes + 1);
  if (!image) return NVRTC_OUT_OF_MEMORY;
  error = is_ptx ? tsri_nvrtc.GetPtx(program, image) : tsri_nvrtc.GetCubin(program, image);
  if (error != NVRTC_SUCCESS) {
    tsri_free(image);
    return error;
  }
  *out_image = image;
  return NVRTC_SUCCESS;
}

static tsr_status compile(const cuda_device *device, const tsri_code *code, const option_list *options,
                          void **out_image, size_t *out_bytes) {
  nvrtc_program program = NULL;
  char *text = tsri_malloc(code->data_bytes + 1);  // the text of a tsri_code need not end with a NUL
  if (!text) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its text", code->name);
  memcpy(text, code->data, code->data_bytes);
  text[code->data_bytes] = '\0';
  int error = tsri_nvrtc.CreateProgram(&program, text, code->name, 0, NULL, NULL);
  tsri_free(text);
  if (error != NVRTC_SUCCESS) return TSRI_FAIL(TSR_ERR_BUILD, "%s: NVRTC takes no text (NVRTC %d)", code->name, error);
  error = tsri_nvrtc.CompileProgram(program, options->count, options->all);
  if (error == NVRTC_SUCCESS) error = take_image(program, device->target[0] == 'c', out_image, out_bytes);
  tsr_status status = error == NVRTC_SUCCESS ? TSR_OK : build_failed(device, code, program, error);
  tsri_nvrtc.DestroyProgram(&program);
  return status;
}

static char *path_for(const cuda_device *device, const tsri_code *code, const option_list *options) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, device->toolset);
  for (int i = 0; i < options->count; i++) tsri_cache_key_add_text(&key, options->all[i]);
  tsri_cache_key_add(&key, code->data, code->data_bytes);
  return tsri_cache_path("cuda", &key);
}

tsr_status tsri_cuda_compile(const cuda_device *device, const tsri_code *code, bool use_cache, void **out_image,
                             bool *out_is_fresh) {
  option_list options;
  collect_options(device, code, &options);
  char *path = path_for(device, code, &options);
  size_t bytes = 0;
  tsr_status status = TSR_OK;
  *out_image = path && use_cache ? tsri_cache_load(path, &bytes) : NULL;
  *out_is_fresh = !*out_image;
  if (!*out_image) {
    status = compile(device, code, &options, out_image, &bytes);
    if (status == TSR_OK && path) (void)tsri_cache_store(path, *out_image, bytes);
  }
  tsri_free(path);
  return status;
}
