// SPDX-License-Identifier: MIT
// NVRTC's and NVML's part of the stand-in: an image is the text itself, and "#error" in it is an error.
#include <stdlib.h>
#include <string.h>

#include "fakes/cuda/stream.h"

#define EXPORT __attribute__((visibility("default")))

static const char log_text[] = "kernel.cu(1): error: #error directive";
static const char image_mark[] = "fake image:";

struct nvrtc_program_tag {
  char *text;
  int has_failed;
};

EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = fake_state()->least_arch;
  archs[1] = 90;
  if (archs[1] < fake_state()->least_arch) archs[1] = fake_state()->least_arch;
  if (archs[1] > fake_state()->most_arch) archs[1] = fake_state()->most_arch;
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcCreateProgram(nvrtc_program *program, const char *text, const char *name, int header_count,
                              const char *const *headers, const char *const *header_names) {
  (void)name;
  (void)header_count;
  (void)headers;
  (void)header_names;
  *program = calloc(1, sizeof **program);
  (*program)->text = strdup(text);
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcCompileProgram(nvrtc_program program, int option_count, const char *const *options) {
  if (option_count < 1 || strncmp(options[0], "--gpu-architecture=", 19) != 0) return 5;
  program->has_failed = strstr(program->text, "#error") != NULL;
  fake_lock();
  fake_state()->compilations++;
  fake_unlock();
  return program->has_failed ? NVRTC_COMPILATION : NVRTC_SUCCESS;
}

EXPORT int nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes) {
  *bytes = program->has_failed ? sizeof log_text : 1;
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetProgramLog(nvrtc_program program, char *text) {
  strcpy(text, program->has_failed ? log_text : "");
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes) {
  *bytes = strlen(image_mark) + strlen(program->text) + 1;
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetCUBIN(nvrtc_program program, char *code) {
  strcpy(code, image_mark);
  strcat(code, program->text);
  return NVRTC_SUCCESS;
}

EXPORT int nvrtcGetPTXSize(nvrtc_program program, size_t *bytes) { return nvrtcGetCUBINSize(program, bytes); }

EXPORT int nvrtcGetPTX(nvrtc_program program, char *code) { return nvrtcGetCUBIN(program, code); }

EXPORT int nvrtcDestroyProgram(nvrtc_program *program) {
  free((*program)->text);
  free(*program);
  *program = NULL;
  return NVRTC_SUCCESS;
}

// --- NVML -----------------------------------------------------------------------------------------------------------------------

EXPORT int nvmlInit_v2(void) { return 0; }

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device) {
  *device = NULL;
  return strncmp(uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", 40) == 0 ? 0 : 2;
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *memory) {
  (void)device;
  memory->total = fake_state()->memory_bytes;
  memory->free = memory->total - (16 << 20);
  memory->used = 16 << 20;
  return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned bytes) {
  strncpy(version, "580.0", bytes);
  return 0;
}
