// SPDX-License-Identifier: MIT
// Metal and HIP for the tests, without their hardware: tests/standins runs the text on the CPU.
#include <stdlib.h>
#include <string.h>

#include "lang/emit_device.h"
#include "standins/kernels/engine.h"

static void *build(const char *dialect, const char *text) {
  char log[8192];
  standin_module *module = standin_build(&(standin_source){.dialect = dialect, .text = text}, log, sizeof log);
  if (!module) emit_log_set("%s", log);
  return module;
}

// The options are for the drivers' compilers; here fast math is never on.
static void *metal_build(const char *text, const char *options) {
  (void)options;
  return build("metal", text);
}

static void *hip_build(const char *text, const char *options) {
  (void)options;
  return build("hip", text);
}

static bool run(void *program, const emit_launch *launch, uint32_t wave, void *const *arguments) {
  char message[256];
  standin_launch whole = {.kernel = standin_find(program, launch->entry), .arguments = arguments, .wave = wave};
  if (!whole.kernel) {
    emit_log_set("no kernel %s", launch->entry);
    return false;
  }
  memcpy(whole.groups, launch->groups, sizeof whole.groups);
  memcpy(whole.local, launch->local, sizeof whole.local);
  if (standin_run(&whole, message, sizeof message)) return true;
  emit_log_set("%s", message);
  return false;
}

static bool metal_run(void *program, const emit_launch *launch) {
  void *arguments[EMIT_MAX_BUFFERS + 1];
  memcpy(arguments, launch->buffers, sizeof launch->buffers);
  arguments[launch->buffer_count] = (void *)(uintptr_t)launch->params;
  return run(program, launch, 32, arguments);
}

static bool hip_run(void *program, const emit_launch *launch) {
  void *buffers[EMIT_MAX_BUFFERS], *arguments[EMIT_MAX_BUFFERS + 1];
  for (uint32_t i = 0; i < launch->buffer_count; i++) {
    buffers[i] = launch->buffers[i];
    arguments[i] = &buffers[i];
  }
  arguments[launch->buffer_count] = (void *)(uintptr_t)launch->params;
  return run(program, launch, launch->subgroup ? launch->subgroup : 64, arguments);
}

static void release(void *program) { standin_release(program); }

const emit_device emit_device_metal = {"Metal's stand-in", "metal", standin_missing, metal_build, metal_run, release};
const emit_device emit_device_hip = {"HIP's stand-in", "hip", standin_missing, hip_build, hip_run, release};
