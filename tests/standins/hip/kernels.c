// SPDX-License-Identifier: MIT
// Modules and launches. Over a real CUDA driver they are its own; otherwise kernel text runs on the CPU, queued as a host
// function on the fake driver's stream.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standins/hip/hip.h"
#include "standins/kernels/engine.h"

#define CUDA (standin_hip_cuda())

// --- Slow kernels, and streams that record ------------------------------------------------------------------------

static uint64_t busy_until;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool standin_hip_is_busy(void) { return now_ns() < __atomic_load_n(&busy_until, __ATOMIC_RELAXED); }

void standin_hip_sleep(void) {
  while (standin_hip_is_busy()) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void be_slow(void) {
  int ms = standin_hip_switches()->slow_ms;
  if (ms > 0) __atomic_store_n(&busy_until, now_ns() + (uint64_t)ms * 1000000u, __ATOMIC_RELAXED);
}

static cu_stream recording;  // one at a time does

void standin_hip_captures(cu_stream stream, bool does) { recording = does ? stream : NULL; }

// For the stand-ins of rocBLAS and hipBLASLt.
EXPORT bool standin_hip_is_recording(cu_stream stream);
EXPORT bool standin_hip_is_recording(cu_stream stream) { return recording && recording == stream; }
EXPORT bool standin_hip_has_gpu(void);
EXPORT bool standin_hip_has_gpu(void) { return standin_hip_cuda()->is_real; }
EXPORT int standin_hip_queue(cu_stream stream, void (*function)(void *), void *user);
EXPORT int standin_hip_queue(cu_stream stream, void (*function)(void *), void *user) {
  int code = standin_hip_work();
  if (code) return code;
  be_slow();
  return CUDA->LaunchHostFunc(stream, function, user);
}

// --- Modules --------------------------------------------------------------------------------------------------------

// A launch that waits for its turn, with its own copy of the arguments.
typedef struct waiting {
  struct waiting *next;  // of those that a graph may run again
  const standin_kernel *kernel;
  uint32_t groups[3], local[3];
  bool is_recorded;
  void *arguments[STANDIN_MAX_ARGUMENTS];
  uint64_t bytes[];
} waiting;

typedef struct hip_module {
  standin_module *module;  // NULL: the CUDA driver's
  cu_module real;
  char *text;
  waiting *recorded;
} hip_module;

typedef struct hip_function {
  hip_module *module;
  const standin_kernel *kernel;
  cu_function real;
  size_t params_bytes;  // of the struct that is the last argument; 0: there is none
} hip_function;

enum { MOST_FUNCTIONS = 16384 };
static hip_function functions[MOST_FUNCTIONS];  // never freed, as those of a driver
static int function_count;

EXPORT int hipModuleLoadData(hip_module **module, const void *image);
EXPORT int hipModuleLoadData(hip_module **module, const void *image) {
  int code = standin_hip_enter();
  if (code) return code;
  hip_module *m = calloc(1, sizeof *m);
  if (CUDA->is_real) {
    code = CUDA->ModuleLoadData(&m->real, image);
  } else if (strncmp(image, STANDIN_HIP_IMAGE, strlen(STANDIN_HIP_IMAGE)) != 0) {
    code = CU_INVALID_IMAGE;
  } else {
    char log[4096], options[256];
    const char *words = (const char *)image + strlen(STANDIN_HIP_IMAGE);
    size_t length = strcspn(words, "\n");
    snprintf(options, sizeof options, "%.*s", (int)length, words);
    m->text = strdup(words + length + 1);
    m->module =
        standin_build(&(standin_source){.dialect = "hip", .text = m->text, .options = options}, log, sizeof log);
    if (!m->module) code = CU_INVALID_IMAGE;
  }
  if (code != CU_SUCCESS) {
    free(m->text);
    free(m);
    return code;
  }
  *module = m;
  return CU_SUCCESS;
}

EXPORT int hipModuleUnload(hip_module *module);
EXPORT int hipModuleUnload(hip_module *module) {
  int code = standin_hip_enter();
  if (code == CU_SUCCESS && module->real) code = CUDA->ModuleUnload(module->real);
  if (!CUDA->is_real) (void)CUDA->CtxSynchronize();
  standin_release(module->module);
  for (waiting *w = module->recorded; w;) {
    waiting *next = w->next;
    free(w);
    w = next;
  }
  free(module->text);
  free(module);
  return code;
}

// The emitter declares the struct of a kernel's parameters as "typedef struct { u32 w[12]; } tsrk_name_params;".
static size_t params_bytes(const char *text, const char *kernel) {
  char end[160];
  snprintf(end, sizeof end, "]; } %s_params;", kernel);
  const char *found = strstr(text, end);
  if (!found) return 0;
  while (found > text && found[-1] != '[') found--;
  return 4 * (size_t)strtoul(found, NULL, 10);
}

EXPORT int hipModuleGetFunction(hip_function **function, hip_module *module, const char *name);
EXPORT int hipModuleGetFunction(hip_function **function, hip_module *module, const char *name) {
  int at = __atomic_fetch_add(&function_count, 1, __ATOMIC_RELAXED) % MOST_FUNCTIONS, code = CU_SUCCESS;
  hip_function *f = &functions[at];
  *f = (hip_function){.module = module};
  if (module->real) {
    code = CUDA->ModuleGetFunction(&f->real, module->real, name);
  } else {
    f->kernel = standin_find(module->module, name);
    f->params_bytes = params_bytes(module->text, name);
    if (!f->kernel) code = CU_NOT_FOUND;
  }
  *function = f;
  return code;
}

EXPORT int hipFuncGetAttribute(int *value, int attribute, hip_function *function);
EXPORT int hipFuncGetAttribute(int *value, int attribute, hip_function *function) {
  *value = STANDIN_MAX_ITEMS;
  return function->real ? CUDA->FuncGetAttribute(value, attribute, function->real) : CU_SUCCESS;
}

// --- Launches -------------------------------------------------------------------------------------------------------

static void run_waiting(void *user) {
  waiting *w = user;
  char message[512];
  standin_launch launch = {
      .kernel = w->kernel, .arguments = w->arguments, .wave = (uint32_t)standin_hip_switches()->wave};
  memcpy(launch.groups, w->groups, sizeof launch.groups);
  memcpy(launch.local, w->local, sizeof launch.local);
  if (!standin_run(&launch, message, sizeof message)) standin_hip_lose(message);
  if (!w->is_recorded) free(w);
}

static waiting *copy_launch(const hip_function *f, void *const *params) {
  uint32_t count = standin_argument_count(f->kernel), words = (uint32_t)(f->params_bytes + 7) / 8;
  waiting *w = calloc(1, sizeof *w + 8 * ((size_t)count + words));
  w->kernel = f->kernel;
  for (uint32_t i = 0; i < count; i++) {
    bool is_params = f->params_bytes > 0 && i == count - 1;
    w->arguments[i] = &w->bytes[i];
    memcpy(&w->bytes[i], params[i], is_params ? f->params_bytes : 8);
  }
  return w;
}

EXPORT int hipModuleLaunchKernel(hip_function *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,
                                 void **params, void **extra);
EXPORT int hipModuleLaunchKernel(hip_function *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,
                                 void **params, void **extra) {
  int code = standin_hip_work();
  if (code) return code;
  be_slow();
  if (f->real) {
    return CUDA->LaunchKernel(f->real, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params,
                              extra);
  }
  waiting *w = copy_launch(f, params);
  memcpy(w->groups, (const uint32_t[]){grid_x, grid_y, grid_z}, sizeof w->groups);
  memcpy(w->local, (const uint32_t[]){block_x, block_y, block_z}, sizeof w->local);
  w->is_recorded = stream == recording;
  if (w->is_recorded) {
    w->next = f->module->recorded;
    f->module->recorded = w;
  }
  return CUDA->LaunchHostFunc(stream, run_waiting, w);
}
