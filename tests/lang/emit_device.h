// SPDX-License-Identifier: MIT
// Devices that run emitted text in the tests: plain C by the system's compiler; OpenCL by PoCL or a driver; CUDA by
// NVRTC and a driver; Metal and HIP by the stand-in that runs kernel text on the CPU (tests/standins).
#ifndef TESSERA_EMIT_DEVICE_H
#define TESSERA_EMIT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/emit/emit.h"
#include "lang/lang.h"

#define EMIT_MAX_BUFFERS 40

typedef struct emit_launch {
  const char *entry;
  uint32_t buffer_count;
  void *buffers[EMIT_MAX_BUFFERS];  // host memory: read before the run, changed by it
  size_t bytes[EMIT_MAX_BUFFERS];   // not 0
  const void *params;
  uint32_t params_bytes;
  uint32_t groups[3], local[3];
  uint32_t subgroup;  // that the text was written for, on devices with several sizes; 0: the dialect's usual one
} emit_launch;

typedef struct emit_device {
  const char *name;  // "PoCL"
  const char *dialect;
  // NULL if the device can be used here, otherwise a sentence that says what is missing.
  const char *(*missing)(void);
  // Builds text that may contain several kernels. NULL: emit_log() has the compiler's messages.
  void *(*build)(const char *text, const char *options);
  bool (*run)(void *program, const emit_launch *launch);  // false: emit_log() gives the reason
  void (*release)(void *program);
} emit_device;

// Ends with NULL. The first is plain C, with which all others are compared.
extern const emit_device *const emit_devices[];
extern const emit_device emit_device_c, emit_device_opencl, emit_device_cuda, emit_device_metal, emit_device_hip;

// The last error, for messages.
const char *emit_log(void);
void emit_log_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

// --- Helpers for the devices and tests ------------------------------------------------------------------------------

// A folder for this process's temporary files, created at the first call and removed at exit.
const char *emit_scratch(void);
// Writes a file there and stores its path in `out_path`. False: it could not be written.
bool emit_write(const char *name, const char *text, char *out_path, size_t path_bytes);
// Runs a command. False, with its output in emit_log(), if its exit status is not 0.
bool emit_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool emit_has_program(const char *name);
// Returns the whole file as text, or NULL if it cannot be read. The caller frees it.
char *emit_read_file(const char *path, size_t *out_bytes);

// A growing text.
typedef struct emit_text {
  char *data;
  size_t bytes, capacity;
} emit_text;
void emit_add(emit_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_add_text(emit_text *text, const char *part);

// NVRTC alone: compiles for an architecture to machine code ("sm_90") or to text of the virtual machine ("compute_90"). False: see emit_log().
const char *emit_nvrtc_missing(void);
bool emit_nvrtc_compile(const char *text, const char *architecture, const char *build_options, char **out_code,
                        size_t *out_bytes);
// The build option with which NVRTC optimises less and takes half the time; empty where it is older than version 13 and has none.
const char *emit_nvrtc_fast_option(void);

#endif
