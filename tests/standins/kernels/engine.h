// SPDX-License-Identifier: MIT
// Runs kernel text of GPUs on the CPU, for the stand-ins of drivers: ../README.md explains how.
//
//   char log[4096];
//   standin_module *module = standin_build(&(standin_source){.dialect = "metal", .text = text}, log, sizeof log);
//   const standin_kernel *kernel = standin_find(module, "tsrk_add");
//   standin_run(&(standin_launch){.kernel = kernel, .arguments = buffers, .groups = {4, 1, 1}, .local = {64, 1, 1},
//                                 .wave = 32}, log, sizeof log);
//   standin_release(module);
#ifndef TESSERA_STANDIN_ENGINE_H
#define TESSERA_STANDIN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STANDIN_MAX_ITEMS     1024  // per group
#define STANDIN_MAX_WAVE      64
#define STANDIN_MAX_ARGUMENTS 64

typedef struct standin_module standin_module;
typedef struct standin_kernel standin_kernel;

typedef struct standin_source {
  const char *dialect;  // "metal" or "hip"
  const char *text;     // may contain several kernels
  const char *options;  // more options for the compiler, separated by blanks ("-DX=1"); NULL: none
} standin_source;

// NULL if kernel text can be compiled here, otherwise a sentence that says what is missing.
const char *standin_missing(void);

// Compiles the text, or takes the module out of the cache: a folder of the build tree, or that of the variable
// TSR_STANDIN_CACHE. NULL: it does not compile, and `log` has the compiler's messages, with the line numbers of `text`.
// Any thread. The caller releases the module; no launch may run then.
standin_module *standin_build(const standin_source *source, char *log, size_t log_bytes);
void standin_release(standin_module *module);

// NULL if the module has no kernel of this name. It lives as long as the module.
const standin_kernel *standin_find(const standin_module *module, const char *name);

// Parameters of the kernel that are arguments; ids, which Metal passes as parameters, are not counted.
uint32_t standin_argument_count(const standin_kernel *kernel);

typedef struct standin_launch {
  const standin_kernel *kernel;
  // One per argument. Metal: where the buffer or the bytes bound to [[buffer(i)]] begin. HIP: where the argument's value is,
  // as in kernelParams of hipModuleLaunchKernel.
  void *const *arguments;
  uint32_t groups[3], local[3];
  uint32_t wave;  // items per wave (simdgroup, wavefront): 32 or 64
} standin_launch;

// Runs all groups, one after the other. Any thread; launches run one at a time. False: `message` says which items wait at
// which barrier while others wait elsewhere or have ended, and the launch was given up.
bool standin_run(const standin_launch *launch, char *message, size_t message_bytes);

#endif
