// SPDX-License-Identifier: MIT
// Compiles kernel text with the vendor's run-time compiler and stores the result in the disk cache. The two compilers,
// NVRTC and hiprtc, have the same functions under different names. The text needs no headers.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/disk_cache.h"
#include "backends/cuda/cuda.h"
#include "core/alloc.h"
#include "core/log.h"

enum { MOST_OPTIONS = 16, OPTION_BYTES = 64 };

typedef struct option_list {
  char text[MOST_OPTIONS][OPTION_BYTES];
  const char *all[MOST_OPTIONS];
  int count;
} option_list;

static void add_option(option_list *list, const char *text, size_t bytes) {
  assert(list->count < MOST_OPTIONS);
  if (bytes == 0 || list->count == MOST_OPTIONS) return;
  char *option = list->text[list->count];
  snprintf(option, OPTION_BYTES, "%.*s", (int)bytes, text);
  list->all[list->count++] = option;
}

// The defaults of NVRTC and hiprtc already give IEEE division, square roots and denormals.
static void collect_options(const cuda_device *device, const char *target, const tsri_code *code, option_list *list) {
  char option[OPTION_BYTES];
  snprintf(option, sizeof option, "%s%s", device->vendor->target_option, target);
  list->count = 0;
  add_option(list, option, strlen(option));
  add_option(list, "--std=c++14", strlen("--std=c++14"));
  for (const char *at = code->options ? code->options : ""; *at;) {
    size_t bytes = strcspn(at, " ");
    add_option(list, at, bytes);
    at += bytes + strspn(at + bytes, " ");
  }
}

static tsr_status build_failed(const cuda_device *device, const tsri_code *code, nvrtc_program program, int error) {
  size_t bytes = 0;
  if (error == NVRTC_OUT_OF_MEMORY)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: %s has no host memory", code->name, device->vendor->compiler);
  device->vendor->rtc->GetProgramLogSize(program, &bytes);
  char *log = tsri_calloc(1, bytes + 1);
  if (log && bytes > 0) device->vendor->rtc->GetProgramLog(program, log);
  const char *compiler = device->vendor->compiler;
  const char *text = log && log[0] ? log : "the compiler gave no log";
  tsri_log(TSR_LOG_DEBUG, "%s: building %s: %s", device->vendor->name, code->name, text);
  tsr_status status = TSRI_FAIL(TSR_ERR_BUILD, "%s: %s cannot build it for %s (%s %d): %s", code->name, compiler,
                                device->target, compiler, error, text);
  tsri_free(log);
  return status;
}

static int take_image(const tsri_nvrtc_api *rtc, nvrtc_program program, bool is_ptx, void **out_image,
                      size_t *out_bytes) {
  int error = is_ptx ? rtc->GetPtxSize(program, out_bytes) : rtc->GetCubinSize(program, out_bytes);
  if (error != NVRTC_SUCCESS) return error;
  char *image = tsri_malloc(*out_bytes + 1);
  if (!image) return NVRTC_OUT_OF_MEMORY;
  error = is_ptx ? rtc->GetPtx(program, image) : rtc->GetCubin(program, image);
  if (error != NVRTC_SUCCESS) {
    tsri_free(image);
    return error;
  }
  *out_image = image;
  return NVRTC_SUCCESS;
}

static tsr_status compile(const cuda_device *device, const char *target, const tsri_code *code,
                          const option_list *options, void **out_image, size_t *out_bytes) {
  nvrtc_program program = NULL;
  char *text = tsri_malloc(code->data_bytes + 1);  // the text of a tsri_code need not end with a NUL
  if (!text) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its text", code->name);
  memcpy(text, code->data, code->data_bytes);
  text[code->data_bytes] = '\0';
  int error = device->vendor->rtc->CreateProgram(&program, text, code->name, 0, NULL, NULL);
  tsri_free(text);
  if (error != NVRTC_SUCCESS)
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %s takes no text (code %d)", code->name, device->vendor->compiler, error);
  error = device->vendor->rtc->CompileProgram(program, options->count, options->all);
  if (error == NVRTC_SUCCESS) error = take_image(device->vendor->rtc, program, target[0] == 'c', out_image, out_bytes);
  tsr_status status = error == NVRTC_SUCCESS ? TSR_OK : build_failed(device, code, program, error);
  device->vendor->rtc->DestroyProgram(&program);
  return status;
}

static char *path_for(const cuda_device *device, const tsri_code *code, const option_list *options) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, device->toolset);
  for (int i = 0; i < options->count; i++) tsri_cache_key_add_text(&key, options->all[i]);
  tsri_cache_key_add(&key, code->data, code->data_bytes);
  return tsri_cache_path(device->vendor->name, &key);
}

tsr_status tsri_cuda_compile(const cuda_device *device, const char *target, const tsri_code *code, bool use_cache,
                             void **out_image, bool *out_is_fresh) {
  option_list options;
  collect_options(device, target, code, &options);
  char *path = path_for(device, code, &options);
  size_t bytes = 0;
  tsr_status status = TSR_OK;
  *out_image = path && use_cache ? tsri_cache_load(path, &bytes) : NULL;
  *out_is_fresh = !*out_image;
  if (!*out_image) {
    status = compile(device, target, code, &options, out_image, &bytes);
    if (status == TSR_OK && path) (void)tsri_cache_store(path, *out_image, bytes);
  }
  tsri_free(path);
  return status;
}
