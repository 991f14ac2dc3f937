// SPDX-License-Identifier: MIT
// Functions shared by the test devices, and the first device: plain C by the system's compiler and dlopen.
#include "lang/emit_device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const emit_device *const emit_devices[] = {&emit_device_c,     &emit_device_opencl, &emit_device_cuda,
                                           &emit_device_metal, &emit_device_hip,    NULL};

static char log_text[16384];

const char *emit_log(void) { return log_text; }

void emit_log_set(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(log_text, sizeof log_text, format, args);
  va_end(args);
}

// --- Files and commands ---------------------------------------------------------------------------------------------

static char scratch[64];

static void remove_scratch(void) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", scratch);
  if (system(command) != 0) fprintf(stderr, "%s could not be removed\n", scratch);
}

const char *emit_scratch(void) {
  if (scratch[0]) return scratch;
  snprintf(scratch, sizeof scratch, "/tmp/tessera_emit_XXXXXX");
  if (!mkdtemp(scratch)) {
    snprintf(scratch, sizeof scratch, "/tmp");
    return scratch;
  }
  atexit(remove_scratch);
  return scratch;
}

bool emit_write(const char *name, const char *text, char *out_path, size_t path_bytes) {
  snprintf(out_path, path_bytes, "%s/%s", emit_scratch(), name);
  FILE *file = fopen(out_path, "w");
  if (!file) {
    emit_log_set("%s cannot be written", out_path);
    return false;
  }
  bool is_written = fputs(text, file) >= 0;
  return fclose(file) == 0 && is_written;
}

bool emit_command(const char *format, ...) {
  char command[2048], line[2200];
  va_list args;
  va_start(args, format);
  vsnprintf(command, sizeof command, format, args);
  va_end(args);
  snprintf(line, sizeof line, "%s 2>&1", command);
  FILE *pipe = popen(line, "r");
  if (!pipe) {
    emit_log_set("%s: cannot be started", command);
    return false;
  }
  size_t bytes = fread(log_text, 1, sizeof log_text - 1, pipe);
  log_text[bytes] = '\0';
  char rest[512];
  while (fread(rest, 1, sizeof rest, pipe) > 0) {
  }
  return pclose(pipe) == 0;
}

bool emit_has_program(const char *name) { return emit_command("command -v %s", name); }

char *emit_read_file(const char *path, size_t *out_bytes) {
  emit_text text = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char part[4097];
  for (size_t bytes; (bytes = fread(part, 1, sizeof part - 1, file)) > 0;) {
    part[bytes] = '\0';
    emit_add_text(&text, part);
  }
  fclose(file);
  *out_bytes = text.bytes;
  return text.data;
}

void emit_add_text(emit_text *text, const char *part) {
  size_t bytes = strlen(part);
  if (text->bytes + bytes + 1 > text->capacity) {
    text->capacity = 2 * (text->bytes + bytes + 1);
    char *grown = realloc(text->data, text->capacity);
    if (!grown) abort();  // a test without memory proves nothing
    text->data = grown;
  }
  memcpy(text->data + text->bytes, part, bytes + 1);
  text->bytes += bytes;
}

void emit_add(emit_text *text, const char *format, ...) {
  char part[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(part, sizeof part, format, args);
  va_end(args);
  emit_add_text(text, part);
}

// --- Plain C --------------------------------------------------------------------------------------------------------

typedef struct plain_launch {
  void *const *buffers;
  const void *params;
  uint32_t groups[3], local[3];
} plain_launch;
typedef int (*plain_kernel)(const plain_launch *launch, uint64_t first, uint64_t last);

// Programs for another processor than the one that builds them need its compiler here.
static const char *compiler(void) {
  const char *chosen = getenv("TSR_TEST_CC");
  return chosen && chosen[0] ? chosen : "cc";
}

static const char *plain_missing(void) {
  return emit_has_program(compiler()) ? NULL : "there is no C compiler (cc) here";
}

static void *plain_build(const char *text, const char *options) {
  static int number;
  char name[32], source[128], library[128];
  snprintf(name, sizeof name, "plain%d.c", ++number);
  if (!emit_write(name, text, source, sizeof source)) return NULL;
  snprintf(library, sizeof library, "%s/plain%d.so", emit_scratch(), number);
  if (!emit_command("%s -std=c11 -O0 %s -fPIC -shared -o %s %s -lm", compiler(), options, library, source)) return NULL;
  void *program = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!program) emit_log_set("%s", dlerror());
  return program;
}

static bool plain_run(void *program, const emit_launch *launch) {
  plain_kernel kernel = NULL;
  void *symbol = dlsym(program, launch->entry);
  if (!symbol) {
    emit_log_set("no function %s", launch->entry);
    return false;
  }
  memcpy(&kernel, &symbol, sizeof kernel);
  plain_launch plain = {.buffers = launch->buffers, .params = launch->params};
  memcpy(plain.groups, launch->groups, sizeof plain.groups);
  memcpy(plain.local, launch->local, sizeof plain.local);
  uint64_t groups = (uint64_t)launch->groups[0] * launch->groups[1] * launch->groups[2];
  if (kernel(&plain, 0, groups) == 0) return true;
  emit_log_set("no memory");
  return false;
}

static void plain_release(void *program) { dlclose(program); }

const emit_device emit_device_c = {"plain C", "c", plain_missing, plain_build, plain_run, plain_release};
