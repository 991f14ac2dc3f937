// SPDX-License-Identifier: MIT
// Devices, buffers, libraries and pipelines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standins/metal/metal.h"

#pragma GCC diagnostic ignored "-Wcast-function-type"

enum { PAGE = 4096 };

// --- Buffers --------------------------------------------------------------------------------------------------------------

static void end_buffer(id self) {
  buffer *b = (buffer *)self;
  __atomic_sub_fetch(&b->device->allocated, b->bytes, __ATOMIC_RELAXED);
  if (!b->is_foreign) free(b->data);
  drop(&b->device->base);
}

static void *contents(id self, SEL selector) {
  (void)selector;
  return ((buffer *)self)->is_private ? NULL : ((buffer *)self)->data;
}

const objc_class buffer_class = {.name = "MTLBuffer",
                                 .bytes = sizeof(buffer),
                                 .end = end_buffer,
                                 .methods = (const objc_method[]){METHOD("contents", contents), {NULL, NULL}}};

static int counts_down(int *count) { return *count > 0 && --*count == 0; }

static buffer *make_buffer(gpu *device, size_t bytes, unsigned long options, void *foreign) {
  lock_state();
  int is_refused = counts_down(&state()->oom);
  unlock_state();
  if (bytes == 0) misuse("a buffer of 0 bytes");
  if (is_refused || bytes + __atomic_load_n(&device->allocated, __ATOMIC_RELAXED) > state()->memory) return NULL;
  buffer *b = (buffer *)make_object(&buffer_class);
  b->device = (gpu *)keep(&device->base);
  b->bytes = bytes;
  b->is_private = options == 32;
  if (options != 0 && options != 32) misuse("a buffer with the options %lu", options);
  b->is_foreign = foreign != NULL;
  void *own = NULL;
  if (!foreign && posix_memalign(&own, PAGE, bytes) != 0) own = NULL;  // Metal's buffers begin with a page
  b->data = foreign ? foreign : own;
  __atomic_add_fetch(&device->allocated, bytes, __ATOMIC_RELAXED);
  if (!b->data) {
    drop(&b->base);
    return NULL;
  }
  if (!foreign) memset(b->data, 0xcd, bytes < PAGE ? bytes : PAGE);  // contents start undefined
  return b;
}

static id new_buffer(id self, SEL selector, unsigned long bytes, unsigned long options) {
  (void)selector;
  return (id)make_buffer((gpu *)self, bytes, options, NULL);
}

static id new_buffer_copy(id self, SEL selector, const void *data, unsigned long bytes, unsigned long options) {
  (void)selector;
  buffer *b = make_buffer((gpu *)self, bytes, options, NULL);
  if (b) memcpy(b->data, data, bytes);
  return (id)b;
}

static id new_buffer_around(id self, SEL selector, void *data, unsigned long bytes, unsigned long options, void *end) {
  (void)selector;
  if ((size_t)data % 4096 != 0 || bytes % 4096 != 0) misuse("memory that is no whole number of pages");
  if (end) misuse("a deallocator, which is a block, from C");
  return (id)make_buffer((gpu *)self, bytes, options, data);
}

// --- Compiling ----------------------------------------------------------------------------------------------------------------

typedef struct compile_options {
  objc_object base;
  int is_exact;
} compile_options;

static void set_math_mode(id self, SEL selector, long mode) {
  (void)selector;
  ((compile_options *)self)->is_exact = mode == 0;
}
static void set_fast_math(id self, SEL selector, signed char is_on) {
  (void)selector;
  ((compile_options *)self)->is_exact = !is_on;
}
static unsigned long language_version(id self, SEL selector) {
  (void)self, (void)selector;
  return (unsigned long)state()->language;
}

static const objc_class options_class = {.name = "MTLCompileOptions",
                                         .bytes = sizeof(compile_options),
                                         .methods = (const objc_method[]){METHOD("setMathMode:", set_math_mode),
                                                                          METHOD("setFastMathEnabled:", set_fast_math),
                                                                          METHOD("languageVersion", language_version),
                                                                          {NULL, NULL}}};

static void end_library(id self) {
  standin_release(((library *)self)->module);
  free(((library *)self)->text);
}

// Items per group that the kernel's attribute allows; it stands before "void name(".
static unsigned long max_items_of(const char *text, const char *name) {
  static const char attribute[] = "max_total_threads_per_threadgroup(";
  char head[256];
  snprintf(head, sizeof head, "void %s(", name);
  const char *end = strstr(text, head), *found = NULL;
  for (const char *at = text; end && (at = strstr(at, attribute)) != NULL && at < end; at++) found = at;
  // Between the two there is no other kernel.
  if (!found || memchr(found, '{', (size_t)(end - found))) return STANDIN_MAX_ITEMS;
  return strtoul(found + strlen(attribute), NULL, 10);
}

static void end_function(id self) { drop(&((function *)self)->library->base); }
static const objc_class function_class = {.name = "MTLFunction",
                                          .bytes = sizeof(function),
                                          .end = end_function,
                                          .methods = (const objc_method[]){{NULL, NULL}}};

static id new_function(id self, SEL selector, id name) {
  (void)selector;
  const standin_kernel *kernel = standin_find(((library *)self)->module, string_text(name));
  if (!kernel) return NULL;
  function *f = (function *)make_object(&function_class);
  f->library = (library *)keep(self);
  f->kernel = kernel;
  f->max_items = max_items_of(f->library->text, string_text(name));
  return &f->base;
}

static const objc_class library_class = {
    .name = "MTLLibrary",
    .bytes = sizeof(library),
    .end = end_library,
    .methods = (const objc_method[]){METHOD("newFunctionWithName:", new_function), {NULL, NULL}}};

static id new_library(id self, SEL selector, id source, id options, id *out_error) {
  (void)self, (void)selector;
  char log[4096] = "the compiler is switched off";
  standin_source text = {.dialect = "metal", .text = string_text(source)};
  standin_module *module = state()->no_compiler ? NULL : standin_build(&text, log, sizeof log);
  if (!module) {
    *out_error = autorelease(make_error(3, log));
    return NULL;
  }
  library *l = (library *)make_object(&library_class);
  l->module = module;
  l->text = strdup(text.text);
  l->has_fast_math = !options || !((compile_options *)options)->is_exact;
  return &l->base;
}

static void end_pipeline(id self) { drop(&((pipeline *)self)->function->base); }
static unsigned long max_items(id self, SEL selector) {
  (void)selector;
  return ((pipeline *)self)->function->max_items;
}
static unsigned long simd_width(id self, SEL selector) {
  (void)self, (void)selector;
  return state()->wide || state()->discrete ? 64 : 32;
}

static const objc_class pipeline_class = {
    .name = "MTLComputePipelineState",
    .bytes = sizeof(pipeline),
    .end = end_pipeline,
    .methods = (const objc_method[]){
        METHOD("maxTotalThreadsPerThreadgroup", max_items), METHOD("threadExecutionWidth", simd_width), {NULL, NULL}}};

static id new_pipeline(id self, SEL selector, id given, id *out_error) {
  (void)self, (void)selector;
  function *f = (function *)given;
  if (standin_argument_count(f->kernel) > MOST_ARGUMENTS) {
    *out_error = autorelease(make_error(2, "more than 31 buffers"));
    return NULL;
  }
  if (f->library->has_fast_math) __atomic_add_fetch(&state()->fast_math, 1, __ATOMIC_RELAXED);
  pipeline *p = (pipeline *)make_object(&pipeline_class);
  p->function = (function *)keep(given);
  return &p->base;
}

// --- Events -----------------------------------------------------------------------------------------------------------------

static const objc_class event_class = {
    .name = "MTLEvent", .bytes = sizeof(event), .methods = (const objc_method[]){{NULL, NULL}}};

static id new_event(id self, SEL selector) {
  (void)self, (void)selector;
  return make_object(&event_class);
}

// --- Devices ------------------------------------------------------------------------------------------------------------------

static id device_name(id self, SEL selector) {
  (void)selector;
  char name[64];
  snprintf(name, sizeof name, "Stand-in for Metal %d", ((gpu *)self)->index);
  return make_string(name);
}
static signed char is_unified(id self, SEL selector) {
  (void)self, (void)selector;
  return !state()->discrete;
}
static signed char supports_family(id self, SEL selector, long family) {
  (void)self, (void)selector;
  if (family == 2002) return 1;
  return !state()->discrete && family > 1000 && family <= 1000 + state()->family;
}
static uint64_t working_set(id self, SEL selector) {
  (void)self, (void)selector;
  return state()->memory;
}
static unsigned long allocated(id self, SEL selector) {
  (void)selector;
  return __atomic_load_n(&((gpu *)self)->allocated, __ATOMIC_RELAXED);
}
static unsigned long max_buffer(id self, SEL selector) {
  (void)self, (void)selector;
  return state()->memory / 2;
}
static unsigned long max_shared(id self, SEL selector) {
  (void)self, (void)selector;
  return MOST_SHARED_BYTES;
}
static signed char is_low_power(id self, SEL selector) {  // the first of two, so that the order shows
  (void)selector;
  return state()->devices > 1 && ((gpu *)self)->index == 0;
}
static id new_queue(id self, SEL selector) {
  (void)selector;
  return make_queue((gpu *)self);
}

static const objc_class device_class = {
    .name = "MTLDevice",
    .bytes = sizeof(gpu),
    .methods = (const objc_method[]){METHOD("name", device_name),
                                     METHOD("hasUnifiedMemory", is_unified),
                                     METHOD("supportsFamily:", supports_family),
                                     METHOD("recommendedMaxWorkingSetSize", working_set),
                                     METHOD("currentAllocatedSize", allocated),
                                     METHOD("maxBufferLength", max_buffer),
                                     METHOD("maxThreadgroupMemoryLength", max_shared),
                                     METHOD("isLowPower", is_low_power),
                                     METHOD("newCommandQueue", new_queue),
                                     METHOD("newBufferWithLength:options:", new_buffer),
                                     METHOD("newBufferWithBytes:length:options:", new_buffer_copy),
                                     METHOD("newBufferWithBytesNoCopy:length:options:deallocator:", new_buffer_around),
                                     METHOD("newLibraryWithSource:options:error:", new_library),
                                     METHOD("newComputePipelineStateWithFunction:error:", new_pipeline),
                                     METHOD("newEvent", new_event),
                                     {NULL, NULL}}};

static id make_device(int index) {
  gpu *device = (gpu *)make_object(&device_class);
  device->index = index;
  return &device->base;
}

EXPORTED id MTLCreateSystemDefaultDevice(void);
id MTLCreateSystemDefaultDevice(void) { return state()->devices > 0 ? make_device(0) : NULL; }

EXPORTED id MTLCopyAllDevices(void);
id MTLCopyAllDevices(void) {
  id devices[4];
  int count = state()->devices < 4 ? state()->devices : 4;
  for (int i = 0; i < count; i++) devices[i] = make_device(i);
  id all = make_array(devices, (size_t)count);
  for (int i = 0; i < count; i++) drop(devices[i]);
  return all;
}

const objc_class *const device_classes[] = {&options_class, NULL};
