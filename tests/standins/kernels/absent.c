// SPDX-License-Identifier: MIT
// The engine where it cannot run: every build fails, with the reason.
#include <stdio.h>

#include "standins/kernels/engine.h"

const char *standin_missing(void) {
  return "kernel text runs on the processor that the tests were built on, under Linux on x86-64 or aarch64, only";
}

standin_module *standin_build(const standin_source *source, char *log, size_t log_bytes) {
  (void)source;
  snprintf(log, log_bytes, "%s", standin_missing());
  return NULL;
}

void standin_release(standin_module *module) { (void)module; }

const standin_kernel *standin_find(const standin_module *module, const char *name) {
  (void)module, (void)name;
  return NULL;
}

uint32_t standin_argument_count(const standin_kernel *kernel) {
  (void)kernel;
  return 0;
}

bool standin_run(const standin_launch *launch, char *message, size_t message_bytes) {
  (void)launch;
  snprintf(message, message_bytes, "%s", standin_missing());
  return false;
}
