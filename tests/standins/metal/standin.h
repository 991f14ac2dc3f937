// SPDX-License-Identifier: MIT
// A stand-in for Apple's Objective-C runtime, Metal.framework and MetalPerformanceShaders.framework: one library with GPUs made of host
// memory, which runs kernel text through the engine (../kernels). Tests load it in place of Apple's (TSRI_METAL_LIB).
//
// Command buffers run on a thread of their own: in order within a queue, otherwise in the order that is least likely to work by
// chance (the newest first), as far as events allow. Wrong use of Metal ends the process with a sentence: an unknown selector, an
// object used after its end, an encoder that was not ended, an argument beyond Metal's limits, an autoreleased object without a
// pool.
#ifndef TESSERA_STANDIN_METAL_H
#define TESSERA_STANDIN_METAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Read when the library is loaded from TSR_STANDIN_METAL, words separated by commas: "devices=2,discrete,oom=3". Tests change the
// record itself.
typedef struct standin_metal {
  int devices;      // GPUs, 0 to 4
  int discrete;     // 1: the GPUs have memory of their own and are not Apple's
  int family;       // newest family of Apple's
  int language;     // major << 16 | minor
  int oom;          // the n-th buffer from now on is not given; 0: none
  int lost;         // the GPU is lost at the n-th launch from now on; 0: never
  int fails;        // the n-th launch from now on fails, and nothing else; 0: none
  int slow;         // microseconds that each command buffer takes at least
  int no_compiler;  // 1: no text compiles
  int no_mps;       // 1: no MetalPerformanceShaders
  int wide;         // 1: pipelines say that SIMD groups have 64 items
  size_t memory;    // bytes of each GPU
  // Counted for tests.
  int live_objects;
  int launches, copies, products, command_buffers;
  int fast_math;  // pipelines that were built with fast math on
} standin_metal;

typedef standin_metal *(*standin_metal_state_fn)(void);  // exported as standin_metal_state

#endif
