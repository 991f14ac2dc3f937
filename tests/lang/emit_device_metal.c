// SPDX-License-Identifier: MIT
// Metal for the tests, without a Mac: compiles the text as C++ with our replacement for Metal's library (metal/), and
// runs it on fibers.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/emit_device.h"

static const char *source_folder(void) {
  const char *folder = getenv("TSR_TEST_SOURCE_DIR");
  return folder ? folder : ".";
}

static const char *metal_missing(void) {
#if defined(__x86_64__) && defined(__linux__)
  return emit_has_program("c++") ? NULL : "there is no C++ compiler (c++) here to stand in for Metal's";
#else
  return "the stand-in for Metal runs on x86-64 Linux only";
#endif
}

// Arrays in threadgroup memory become static, because only one work-group runs at a time.
static void add_with_static(emit_text *out, const char *text) {
  static const char declaration[] = "  alignas(16) threadgroup ";
  for (const char *found; (found = strstr(text, declaration)) != NULL; text = found + strlen(declaration)) {
    char *before = strndup(text, (size_t)(found - text));
    emit_add_text(out, before ? before : "");
    emit_add_text(out, "  alignas(16) static ");
    free(before);
  }
  emit_add_text(out, text);
}

// Adds a function with a fixed signature in front of each kernel.
static void add_calls(emit_text *out, const char *text) {
  static const char attribute[] = "[[kernel, ";
  for (const char *found = text; (found = strstr(found, attribute)) != NULL; found++) {
    const char *name = strstr(found, " void ");
    int bytes = name ? (int)strcspn(name + 6, "(") : 0;
    if (bytes == 0) continue;
    emit_add(out,
             "extern \"C\" void call_%.*s(void *const *b, const void *p, uint3 g, uint3 n, uint3 l) {\n"
             "  tessera_call(%.*s, b, p, g, n, l);\n}\n",
             bytes, name + 6, bytes, name + 6);
  }
}

static void *metal_build(const char *text, const char *options) {
  static int number;
  (void)options;  // for the driver only; fast math is never on here
  char name[32], source[128], library[128];
  emit_text all = {0};
  emit_add_text(&all, "#include <metal_stdlib>\nextern \"C\" {\n");
  add_with_static(&all, text);
  emit_add_text(&all, "}\n");
  add_calls(&all, text);
  snprintf(name, sizeof name, "metal%d.cc", ++number);
  bool is_built = emit_write(name, all.data, source, sizeof source);
  free(all.data);
  snprintf(library, sizeof library, "%s/metal%d.so", emit_scratch(), number);
  is_built = is_built && emit_command(
                             "c++ -std=c++17 -O1 -w -ffp-contract=off -fPIC -shared -I%s/tests/lang/metal -o %s %s "
                             "%s/tests/lang/metal/fibers.cc",
                             source_folder(), library, source, source_folder());
  if (!is_built) return NULL;
  void *program = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!program) emit_log_set("%s", dlerror());
  return program;
}

static bool metal_run(void *program, const emit_launch *launch) {
  char name[TSRI_EMIT_ENTRY_BYTES + 16];
  snprintf(name, sizeof name, "call_%s", launch->entry);
  void *call = dlsym(program, name), *symbol = dlsym(program, "tessera_metal_run");
  int (*run)(void *, void *const *, const void *, const uint32_t *, const uint32_t *) = NULL;
  if (!call || !symbol) {
    emit_log_set("no kernel %s", launch->entry);
    return false;
  }
  memcpy(&run, &symbol, sizeof run);
  if (run(call, launch->buffers, launch->params, launch->groups, launch->local) == 0) return true;
  emit_log_set("%s: some items ended while others wait at a barrier", launch->entry);
  return false;
}

static void metal_release(void *program) { dlclose(program); }

const emit_device emit_device_metal = {"Metal's stand-in", "metal",   metal_missing,
                                       metal_build,        metal_run, metal_release};
