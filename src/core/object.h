// SPDX-License-Identifier: MIT
// What every counted object starts with, and how use after release is noticed.
//
// Debug builds keep the last few hundred released objects aside, marked dead, so that a call given one can
// answer TSR_ERR_RELEASED. Release builds free at once and check nothing.
#ifndef TSRI_OBJECT_H
#define TSRI_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

typedef enum tsri_object_type {
  TSRI_OBJECT_DEAD = 0x44454144,
  TSRI_OBJECT_DEVICE = 0x44455643,
  TSRI_OBJECT_BUFFER = 0x42554646,
  TSRI_OBJECT_TENSOR = 0x54454E53,
  TSRI_OBJECT_KERNEL = 0x4B45524E,
  TSRI_OBJECT_CAPTURE = 0x43415054
} tsri_object_type;

// First member of every counted struct.
typedef struct tsri_object {
  atomic_uint refs;
  tsri_object_type type;
} tsri_object;

// New zeroed memory of `bytes` with one reference; NULL when memory is out.
void *tsri_object_create(tsri_object_type type, size_t bytes);

void tsri_object_retain(tsri_object *object);

// True when that was the last reference: the caller tears the object down and calls tsri_object_destroy.
bool tsri_object_release(tsri_object *object);

void tsri_object_destroy(tsri_object *object);

// TSR_OK if `object` may be used as a `type`, else TSR_ERR_INVALID_ARGUMENT (NULL) or, in debug builds, TSR_ERR_RELEASED:
// "reshape: tensor is NULL". `caller` and `noun` make the message.
tsr_status tsri_object_check(const void *object, tsri_object_type type, const char *caller, const char *noun);

#endif
