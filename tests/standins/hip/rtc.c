// SPDX-License-Identifier: MIT
// libhiprtc. For the CPU, an image is the text, which was compiled once to find its mistakes. For a real NVIDIA GPU, NVRTC
// compiles the text behind a prelude that has HIP's words (prelude.h).
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standins/hip/hip.h"
#include "standins/hip/prelude.h"
#include "standins/kernels/engine.h"

#define RTC(name, parameters) \
  EXPORT int name parameters; \
  EXPORT int name parameters

#define STANDIN_ENTRY(name, exported, parameters) int(*name) parameters;
static struct { NVRTC_ENTRY_POINTS(STANDIN_ENTRY) } nvrtc;
#undef STANDIN_ENTRY

typedef struct hiprtc_program {
  char *text, *image;
  size_t image_bytes;
  char log[8192];
  nvrtc_program real;
} hiprtc_program;

enum { HIPRTC_SUCCESS = 0, HIPRTC_COMPILATION = 6 };

static void open_nvrtc(void) {
  if (nvrtc.Version) return;
  void *library = standin_hip_open((const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL});
#define STANDIN_ENTRY(name, exported, parameters) \
  {                                               \
    void *symbol = dlsym(library, exported);      \
    memcpy(&nvrtc.name, &symbol, sizeof symbol);  \
  }
  NVRTC_ENTRY_POINTS(STANDIN_ENTRY)
#undef STANDIN_ENTRY
}

RTC(hiprtcVersion, (int *major, int *minor)) {
  *major = 6;
  *minor = 3;
  return HIPRTC_SUCCESS;
}

RTC(hiprtcCreateProgram, (hiprtc_program * *program, const char *text, const char *name, int header_count,
                          const char *const *headers, const char *const *header_names)) {
  (void)name, (void)header_count, (void)headers, (void)header_names;
  *program = calloc(1, sizeof **program);
  (*program)->text = strdup(text);
  return HIPRTC_SUCCESS;
}

// The compiler's macros of a GPU: "-D__gfx1100__ -D__GFX11__".
static void macros_of(const char *gfx, char *out, size_t out_bytes) {
  size_t family = strlen(gfx) - 2;
  snprintf(out, out_bytes, "-D__%s__ -D__GFX%.*s__", gfx, (int)(family - 3), gfx + 3);
}

static const char *gfx_of(int option_count, const char *const *options) {
  static const char word[] = "--offload-arch=";
  for (int i = 0; i < option_count; i++) {
    if (strncmp(options[i], word, sizeof word - 1) == 0) return options[i] + sizeof word - 1;
  }
  return NULL;
}

static int compile_for_cpu(hiprtc_program *program, const char *gfx) {
  char macros[128];
  macros_of(gfx, macros, sizeof macros);
  standin_source source = {.dialect = "hip", .text = program->text, .options = macros};
  standin_module *module = standin_build(&source, program->log, sizeof program->log);
  if (!module) return HIPRTC_COMPILATION;
  standin_release(module);
  program->image_bytes = strlen(STANDIN_HIP_IMAGE) + strlen(macros) + 1 + strlen(program->text) + 1;
  program->image = malloc(program->image_bytes);
  snprintf(program->image, program->image_bytes, "%s%s\n%s", STANDIN_HIP_IMAGE, macros, program->text);
  return HIPRTC_SUCCESS;
}

static int compile_for_gpu(hiprtc_program *program, const char *gfx) {
  char target[64], define[64];
  int major = 9, minor = 0;
  (void)standin_hip_cuda()->DeviceGetAttribute(&major, CU_CAPABILITY_MAJOR, 0);
  (void)standin_hip_cuda()->DeviceGetAttribute(&minor, CU_CAPABILITY_MINOR, 0);
  open_nvrtc();
  char *text = malloc(strlen(standin_prelude) + strlen(program->text) + 1);
  strcpy(text, standin_prelude);
  strcat(text, program->text);
  snprintf(target, sizeof target, "--gpu-architecture=sm_%d%d", major, minor);
  snprintf(define, sizeof define, "-D__GFX%.*s__", (int)strlen(gfx) - 5, gfx + 3);
  const char *const given[] = {target, "--std=c++17", "-fmad=false", define};
  int code = nvrtc.CreateProgram(&program->real, text, "kernel.hip", 0, NULL, NULL);
  if (code == NVRTC_SUCCESS) code = nvrtc.CompileProgram(program->real, sizeof given / sizeof *given, given);
  free(text);
  size_t bytes = 0;
  if (code != NVRTC_SUCCESS) {
    if (nvrtc.GetProgramLogSize(program->real, &bytes) == NVRTC_SUCCESS && bytes < sizeof program->log) {
      (void)nvrtc.GetProgramLog(program->real, program->log);
    }
    return HIPRTC_COMPILATION;
  }
  code = nvrtc.GetCubinSize(program->real, &program->image_bytes);
  program->image = malloc(program->image_bytes);
  return code ? code : nvrtc.GetCubin(program->real, program->image);
}

// As the real one, it takes no GPU that it does not know, but answers where that one ends the process.
RTC(hiprtcCompileProgram, (hiprtc_program * program, int option_count, const char *const *options)) {
  const char *gfx = gfx_of(option_count, options);
  if (!gfx || strncmp(gfx, "gfx", 3) != 0 || strlen(gfx) < 6) {
    snprintf(program->log, sizeof program->log, "no --offload-arch of a GPU");
    return HIPRTC_COMPILATION;
  }
  if (standin_hip_switches()->has_build_error) {
    snprintf(program->log, sizeof program->log, "kernel.hip:1:1: error: the stand-in was asked for a mistake");
    return HIPRTC_COMPILATION;
  }
  return standin_hip_cuda()->is_real ? compile_for_gpu(program, gfx) : compile_for_cpu(program, gfx);
}

RTC(hiprtcGetProgramLogSize, (hiprtc_program * program, size_t *bytes)) {
  *bytes = strlen(program->log) + 1;
  return HIPRTC_SUCCESS;
}

RTC(hiprtcGetProgramLog, (hiprtc_program * program, char *text)) {
  strcpy(text, program->log);
  return HIPRTC_SUCCESS;
}

RTC(hiprtcGetCodeSize, (hiprtc_program * program, size_t *bytes)) {
  *bytes = program->image_bytes;
  return HIPRTC_SUCCESS;
}

RTC(hiprtcGetCode, (hiprtc_program * program, char *code)) {
  memcpy(code, program->image, program->image_bytes);
  return HIPRTC_SUCCESS;
}

RTC(hiprtcDestroyProgram, (hiprtc_program * *program)) {
  if ((*program)->real) (void)nvrtc.DestroyProgram(&(*program)->real);
  free((*program)->text);
  free((*program)->image);
  free(*program);
  *program = NULL;
  return HIPRTC_SUCCESS;
}
