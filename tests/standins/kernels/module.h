// SPDX-License-Identifier: MIT
// Inside the engine: compiled kernel text.
#ifndef TESSERA_STANDIN_MODULE_H
#define TESSERA_STANDIN_MODULE_H

#include "standins/kernels/engine.h"
#include "standins/kernels/include/standin_item.h"

struct standin_kernel {
  const char *name;
  standin_call call;
  uint32_t argument_count;
  const standin_module *module;
};

struct standin_module {
  void *library;
  standin_shared shared;
  standin_kernel *kernels;
  uint32_t kernel_count;
};

// run.c: the record through which a module learns about the current item; it changes at each turn.
const standin_item *standin_current(void);

#endif
