// SPDX-License-Identifier: MIT
// Metal from plain C: the Objective-C runtime and Metal.framework, opened at run time. No header of an SDK is needed, so
// these files compile on every system; the tests run them on Linux with a stand-in for both (tests/standins/metal).
//
// Apple's objc_msgSend must be called through a pointer of the method's own type, which METAL_SEND and METAL_GET do.
#ifndef TSRI_METAL_LOADER_H
#define TSRI_METAL_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

// An object; NULL is nil. Objects that "new…", "alloc" and "…Copy…" return belong to the caller; all others to the
// autorelease pool.
typedef struct metal_object *metal_id;
typedef struct metal_selector *metal_sel;

typedef unsigned long metal_uint;  // NSUInteger
typedef long metal_int;            // NSInteger

// MTLSize
typedef struct metal_size {
  metal_uint width, height, depth;
} metal_size;

typedef struct tsri_metal_api {
  void (*send)(void);  // objc_msgSend
  metal_sel (*sel_registerName)(const char *name);
  metal_id (*objc_getClass)(const char *name);
  metal_id (*objc_retain)(metal_id object);
  void (*objc_release)(metal_id object);
  void *(*objc_autoreleasePoolPush)(void);
  void (*objc_autoreleasePoolPop)(void *pool);
  metal_id (*MTLCreateSystemDefaultDevice)(void);
  metal_id (*MTLCopyAllDevices)(void);  // NULL before iOS 18
} tsri_metal_api;

typedef struct tsri_metal_selectors {
#define METAL_SELECTOR(name, text) metal_sel name;
#include "backends/metal/selectors.def"
#undef METAL_SELECTOR
} tsri_metal_selectors;

// Filled by tsri_metal_load.
extern tsri_metal_api tsri_mtl;
extern tsri_metal_selectors tsri_mtl_sel;

// Sends a message without arguments, or with arguments of the types in brackets:
//   METAL_GET(metal_uint, array, count)
//   METAL_SEND(metal_id, array, at, (metal_uint), 0)
#define METAL_GET(result, object, selector) \
  (((result(*)(metal_id, metal_sel))tsri_mtl.send)((object), tsri_mtl_sel.selector))
#define METAL_TYPES_(...) (metal_id, metal_sel, __VA_ARGS__)
#define METAL_SEND(result, object, selector, types, ...) \
  (((result(*) METAL_TYPES_ types)tsri_mtl.send)((object), tsri_mtl_sel.selector, __VA_ARGS__))

// Where the libraries are, and what is said where they are missing.
typedef enum metal_system_id { METAL_APPLE, METAL_ELSEWHERE, METAL_SYSTEMS } metal_system_id;
typedef struct metal_system {
  const char *runtime, *metal, *mps;  // NULL: the system has none
  const char *who_has_it;
} metal_system;
extern const metal_system tsri_metal_systems[METAL_SYSTEMS];
extern const metal_system *tsri_metal_system;  // this one; tests choose the other

// Opens the libraries and looks up all of the above. Does nothing if an earlier call succeeded. The libraries stay open until
// the process ends.
//
// Errors: TSR_ERR_NOT_FOUND; the message says what was tried, and which systems have Metal.
tsr_status tsri_metal_load(void);

// Opens MetalPerformanceShaders.framework, whose classes objc_getClass finds from then on. False: it is not there.
bool tsri_metal_load_mps(void);

#endif
