// SPDX-License-Identifier: MIT
// Inside the stand-in: a small Objective-C runtime. Classes are tables of C functions; an object begins with its class.
#ifndef TESSERA_STANDIN_OBJC_H
#define TESSERA_STANDIN_OBJC_H

#include "standins/metal/standin.h"

#define EXPORTED __attribute__((visibility("default")))

typedef struct objc_class objc_class;
typedef struct objc_object {
  const objc_class *isa;  // NULL: the object is a class
  int references;
} objc_object;
typedef objc_object *id;
typedef const char *SEL;  // names are stored once, so selectors are compared by address

typedef struct objc_method {
  const char *name;
  void (*function)(void);
} objc_method;

struct objc_class {
  objc_object base;  // classes receive messages, too
  const char *name;
  size_t bytes;                      // of an object
  void (*end)(id self);              // releases what the object holds; NULL: nothing
  const objc_method *methods;        // ends with a NULL name
  const objc_method *class_methods;  // the same, for messages to the class; NULL: alloc only
};

// METHOD("setBytes:length:atIndex:", set_bytes)
#define METHOD(selector, function) \
  { selector, (void (*)(void))(function) }

// The classes of the other files; each ends with NULL.
extern const objc_class *const device_classes[], *const command_classes[], *const mps_classes[];

standin_metal *state(void);
void lock_state(void);
void unlock_state(void);

// Ends the process with a sentence: the backend uses Metal in a wrong way.
void misuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

id make_object(const objc_class *class);  // with one reference
id keep(id object);                       // NULL is allowed, as for drop
void drop(id object);
id autorelease(id object);

id make_string(const char *text);  // autoreleased
const char *string_text(id string);
id make_error(long code, const char *text);
id make_array(id *items, size_t count);  // keeps its items; with one reference

#endif
