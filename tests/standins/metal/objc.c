// SPDX-License-Identifier: MIT
// Messages, selectors, classes, reference counts and autorelease pools; strings, errors and arrays.
#include "standins/metal/objc.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wcast-function-type"

void misuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("stand-in for Metal: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  abort();
}

// --- The switches -----------------------------------------------------------------------------------------------------

static standin_metal the_state = {.devices = 1, .family = 9, .language = 3 << 16 | 2, .memory = (size_t)4 << 30};
static pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;

standin_metal *state(void) { return &the_state; }
void lock_state(void) { pthread_mutex_lock(&state_mutex); }
void unlock_state(void) { pthread_mutex_unlock(&state_mutex); }

EXPORTED standin_metal *standin_metal_state(void);
standin_metal *standin_metal_state(void) { return &the_state; }

static void set_switch(const char *word, size_t bytes) {
  static const struct {
    const char *name;
    int *value;
  } switches[] = {
      {"devices", &the_state.devices},   {"discrete", &the_state.discrete}, {"family", &the_state.family},
      {"language", &the_state.language}, {"oom", &the_state.oom},           {"lost", &the_state.lost},
      {"fails", &the_state.fails},       {"slow", &the_state.slow},         {"no_compiler", &the_state.no_compiler},
      {"no_mps", &the_state.no_mps},     {"wide", &the_state.wide}};
  size_t name_bytes = strcspn(word, "=,");
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
    if (strlen(switches[i].name) != name_bytes || strncmp(switches[i].name, word, name_bytes) != 0) continue;
    *switches[i].value = name_bytes < bytes ? atoi(word + name_bytes + 1) : 1;
    return;
  }
  misuse("TSR_STANDIN_METAL: '%.*s' is no switch", (int)bytes, word);
}

__attribute__((constructor)) static void read_switches(void) {
  const char *words = getenv("TSR_STANDIN_METAL");
  while (words && *words) {
    size_t bytes = strcspn(words, ",");
    if (bytes > 0) set_switch(words, bytes);
    words += bytes + (words[bytes] == ',');
  }
}

// --- Selectors ----------------------------------------------------------------------------------------------------------

EXPORTED SEL sel_registerName(const char *name);
SEL sel_registerName(const char *name) {
  static char *names[256];
  size_t i = 0;
  lock_state();
  while (names[i] && strcmp(names[i], name) != 0) i++;
  if (i + 1 == sizeof names / sizeof *names) misuse("too many selectors");
  if (!names[i]) names[i] = strdup(name);
  unlock_state();
  return names[i];
}

// --- Objects --------------------------------------------------------------------------------------------------------------

id make_object(const objc_class *class) {
  id object = calloc(1, class->bytes);
  if (!object) misuse("no memory");
  *object = (objc_object){class, 1};
  __atomic_add_fetch(&the_state.live_objects, 1, __ATOMIC_RELAXED);
  return object;
}

id keep(id object) {
  if (object && object->isa) __atomic_add_fetch(&object->references, 1, __ATOMIC_RELAXED);
  return object;
}

void drop(id object) {
  if (!object || !object->isa) return;
  int left = __atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL);
  if (left < 0) misuse("%s was released too often", object->isa->name);
  if (left > 0) return;
  if (object->isa->end) object->isa->end(object);
  __atomic_sub_fetch(&the_state.live_objects, 1, __ATOMIC_RELAXED);
  free(object);
}

EXPORTED id objc_retain(id object);
id objc_retain(id object) { return keep(object); }
EXPORTED void objc_release(id object);
void objc_release(id object) { drop(object); }

// --- Autorelease pools ------------------------------------------------------------------------------------------------------

enum { MOST_POOLED = 4096 };
static _Thread_local id pooled[MOST_POOLED];
static _Thread_local size_t pooled_count, pool_count;

EXPORTED void *objc_autoreleasePoolPush(void);
void *objc_autoreleasePoolPush(void) {
  pool_count++;
  return (void *)(pooled_count + 1);
}

EXPORTED void objc_autoreleasePoolPop(void *pool);
void objc_autoreleasePoolPop(void *pool) {
  size_t first = (size_t)pool - 1;
  if (pool_count == 0 || first > pooled_count) misuse("an autorelease pool ends that did not begin");
  pool_count--;
  while (pooled_count > first) drop(pooled[--pooled_count]);
}

id autorelease(id object) {
  if (pool_count == 0) misuse("an autoreleased %s without a pool leaks", object->isa->name);
  if (pooled_count == MOST_POOLED) misuse("more than %d objects in autorelease pools", MOST_POOLED);
  return pooled[pooled_count++] = object;
}

// --- Messages -----------------------------------------------------------------------------------------------------------------

static id alloc(id self, SEL selector) {
  (void)selector;
  return make_object((const objc_class *)(const void *)self);
}

static id init(id self, SEL selector) {
  (void)selector;
  return self;
}

static const objc_method common_class_methods[] = {METHOD("alloc", alloc), {NULL, NULL}};

static void (*find_method(const objc_method *methods, SEL selector))(void) {
  for (; methods && methods->name; methods++) {
    if (strcmp(methods->name, selector) == 0) return methods->function;
  }
  return NULL;
}

static signed char responds(id self, SEL selector, SEL asked) {
  (void)selector;
  return find_method(self->isa->methods, asked) != NULL;
}

static const objc_method common_methods[] = {
    METHOD("init", init), METHOD("respondsToSelector:", responds), {NULL, NULL}};

// The function for a message; called by objc_msgSend, which passes the arguments on.
void *standin_find_method(id self, SEL selector) __attribute__((visibility("hidden")));
void *standin_find_method(id self, SEL selector) {
  const objc_class *class = self->isa ? self->isa : (const objc_class *)(const void *)self;
  if (self->isa && self->references <= 0) misuse("a message %s to an object that has ended", selector);
  const objc_method *methods = self->isa ? class->methods : class->class_methods;
  void (*function)(void) = find_method(methods, selector);
  if (!function) function = find_method(self->isa ? common_methods : common_class_methods, selector);
  if (!function) misuse("%s does not know the selector %s", class->name, selector);
  void *address = NULL;
  memcpy(&address, &function, sizeof address);
  return address;
}

// Looks up the function and jumps to it with all arguments as they were; a message to nil returns 0.
#if defined(__x86_64__)
__asm__(
    ".text\n.globl objc_msgSend\n.type objc_msgSend, @function\nobjc_msgSend:\n"
    "  testq %rdi, %rdi\n  jz 1f\n"
    "  pushq %rbp\n  movq %rsp, %rbp\n"
    "  pushq %rdi\n  pushq %rsi\n  pushq %rdx\n  pushq %rcx\n  pushq %r8\n  pushq %r9\n"
    "  subq $64, %rsp\n  movsd %xmm0, (%rsp)\n  movsd %xmm1, 8(%rsp)\n  movsd %xmm2, 16(%rsp)\n  movsd %xmm3, "
    "24(%rsp)\n"
    "  movsd %xmm4, 32(%rsp)\n  movsd %xmm5, 40(%rsp)\n  movsd %xmm6, 48(%rsp)\n  movsd %xmm7, 56(%rsp)\n"
    "  call standin_find_method\n  movq %rax, %r11\n"
    "  movsd (%rsp), %xmm0\n  movsd 8(%rsp), %xmm1\n  movsd 16(%rsp), %xmm2\n  movsd 24(%rsp), %xmm3\n"
    "  movsd 32(%rsp), %xmm4\n  movsd 40(%rsp), %xmm5\n  movsd 48(%rsp), %xmm6\n  movsd 56(%rsp), %xmm7\n"
    "  addq $64, %rsp\n  popq %r9\n  popq %r8\n  popq %rcx\n  popq %rdx\n  popq %rsi\n  popq %rdi\n  popq %rbp\n"
    "  jmp *%r11\n"
    "1: xorl %eax, %eax\n  xorl %edx, %edx\n  pxor %xmm0, %xmm0\n  ret\n"
    ".size objc_msgSend, . - objc_msgSend\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl objc_msgSend\n.type objc_msgSend, %function\nobjc_msgSend:\n"
    "  cbz x0, 1f\n"
    "  stp x29, x30, [sp, #-160]!\n  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"
    "  str x8, [sp, #80]\n  stp d0, d1, [sp, #96]\n  stp d2, d3, [sp, #112]\n  stp d4, d5, [sp, #128]\n"
    "  stp d6, d7, [sp, #144]\n"
    "  bl standin_find_method\n  mov x16, x0\n"
    "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"
    "  ldr x8, [sp, #80]\n  ldp d0, d1, [sp, #96]\n  ldp d2, d3, [sp, #112]\n  ldp d4, d5, [sp, #128]\n"
    "  ldp d6, d7, [sp, #144]\n"
    "  ldp x29, x30, [sp], #160\n  br x16\n"
    "1: mov x1, #0\n  fmov d0, xzr\n  ret\n"
    ".size objc_msgSend, . - objc_msgSend\n");
#endif

// --- Strings, errors, arrays --------------------------------------------------------------------------------------------------

typedef struct string {
  objc_object base;
  char *text;
} string;

static void end_string(id self) { free(((string *)self)->text); }
const char *string_text(id self) { return ((string *)self)->text; }
static const char *utf8(id self, SEL selector) {
  (void)selector;
  return string_text(self);
}

static id string_with(id class, SEL selector, const char *text) {
  (void)class, (void)selector;
  return make_string(text);
}

static const objc_class string_class = {
    .name = "NSString",
    .bytes = sizeof(string),
    .end = end_string,
    .methods = (const objc_method[]){METHOD("UTF8String", utf8), {NULL, NULL}},
    .class_methods = (const objc_method[]){METHOD("stringWithUTF8String:", string_with), {NULL, NULL}}};

id make_string(const char *text) {
  string *made = (string *)make_object(&string_class);
  made->text = strdup(text);
  return autorelease(&made->base);
}

typedef struct error {
  objc_object base;
  long code;
  char *text;
} error;

static void end_error(id self) { free(((error *)self)->text); }
static long error_code(id self, SEL selector) {
  (void)selector;
  return ((error *)self)->code;
}
static id error_description(id self, SEL selector) {
  (void)selector;
  return make_string(((error *)self)->text);
}

static const objc_class error_class = {
    .name = "NSError",
    .bytes = sizeof(error),
    .end = end_error,
    .methods = (const objc_method[]){
        METHOD("code", error_code), METHOD("localizedDescription", error_description), {NULL, NULL}}};

id make_error(long code, const char *text) {
  error *made = (error *)make_object(&error_class);
  made->code = code;
  made->text = strdup(text);
  return &made->base;
}

enum { MOST_ITEMS = 8 };
typedef struct array {
  objc_object base;
  size_t count;
  id items[MOST_ITEMS];
} array;

static void end_array(id self) {
  array *a = (array *)self;
  for (size_t i = 0; i < a->count; i++) drop(a->items[i]);
}
static unsigned long array_count(id self, SEL selector) {
  (void)selector;
  return ((array *)self)->count;
}
static id array_at(id self, SEL selector, unsigned long index) {
  (void)selector;
  if (index >= ((array *)self)->count) misuse("item %lu of an array of %zu", index, ((array *)self)->count);
  return ((array *)self)->items[index];
}

static const objc_class array_class = {
    .name = "NSArray",
    .bytes = sizeof(array),
    .end = end_array,
    .methods = (const objc_method[]){METHOD("count", array_count), METHOD("objectAtIndex:", array_at), {NULL, NULL}}};

id make_array(id *items, size_t count) {
  array *made = (array *)make_object(&array_class);
  for (size_t i = 0; i < count && i < MOST_ITEMS; i++) made->items[made->count++] = keep(items[i]);
  return &made->base;
}

// --- Classes ------------------------------------------------------------------------------------------------------------------

EXPORTED id objc_getClass(const char *name);
id objc_getClass(const char *name) {
  static const objc_class *const own[] = {&string_class, &error_class, &array_class, NULL};
  static const objc_class *const *const lists[] = {own, device_classes, command_classes, mps_classes};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (lists[i] == mps_classes && the_state.no_mps) continue;
    for (const objc_class *const *class = lists[i]; *class; class ++) {
      if (strcmp((*class)->name, name) == 0) return (id)(uintptr_t) & (*class)->base;
    }
  }
  return NULL;
}
