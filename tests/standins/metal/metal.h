// SPDX-License-Identifier: MIT
// Inside the stand-in: what its classes share.
#ifndef TESSERA_STANDIN_METAL_CLASSES_H
#define TESSERA_STANDIN_METAL_CLASSES_H

#include "standins/kernels/engine.h"
#include "standins/metal/objc.h"

enum { MOST_ARGUMENTS = 31, MOST_INLINE_BYTES = 4096, MOST_SHARED_BYTES = 32768 };

// Errors of a command buffer.
enum { ERROR_INTERNAL = 1, ERROR_DEVICE_REMOVED = 11 };

typedef struct gpu {
  objc_object base;
  int index;
  size_t allocated;
  int is_lost;
} gpu;

typedef struct buffer {
  objc_object base;
  gpu *device;
  char *data;
  size_t bytes;
  int is_private, is_foreign;  // foreign: the memory is the caller's
} buffer;

typedef struct library {
  objc_object base;
  standin_module *module;
  char *text;
  int has_fast_math;
} library;

typedef struct function {
  objc_object base;
  library *library;
  const standin_kernel *kernel;
  unsigned long max_items;  // by its attribute
} function;

typedef struct pipeline {
  objc_object base;
  function *function;
} pipeline;

typedef struct event {
  objc_object base;
  uint64_t value;  // with the state's lock
} event;

typedef struct size3 {
  unsigned long width, height, depth;
} size3;

extern const objc_class buffer_class;

id make_queue(gpu *device);

// A product of matrices of f32 for the command list of a command buffer.
typedef struct product {
  buffer *a, *b, *y;
  size_t offsets[3], rows[3], batches[3];  // in bytes
  size_t m, n, k, count;
  int is_transposed[2];
  double alpha;
} product;

void encode_product(id commands, const product *p);

#endif
