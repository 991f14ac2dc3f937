// SPDX-License-Identifier: MIT
// A stand-in for NVIDIA's libraries: libcuda, NVRTC, NVML, cuBLASLt, cuBLAS, cuSOLVER and cuDNN in one, with a device made of host memory.
//
// Work is queued and runs only when something waits for it: a backend that frees memory too early then fails its test. Calls
// that need a current context refuse to work without one. Kernels are known by name:
//
//   tsr_fake_axpy(x, y, {u32 count, f32 scale})   y += scale * x
//   tsr_fake_crash()                              the device answers 700 from then on
//   tsr_fake_endless()                            never ends
//   tsr_fake_waits()                              does nothing, and waits for the kernels before it
//   any other whose name is in the text           does nothing
#ifndef TESSERA_FAKE_CUDA_H
#define TESSERA_FAKE_CUDA_H

#include <stddef.h>

#define FAKE_CUDA_DEVICES 2

typedef struct fake_cuda {
  // Set by tests before or between calls.
  int init_code;        // what cuInit answers
  int device_count;     // up to FAKE_CUDA_DEVICES
  size_t memory_bytes;  // of each device
  int multiprocessors;
  int is_idle;  // products, convolutions, large fills and copies take no time and give nothing: for bench/launches.py
  int least_arch;  // that NVRTC compiles for
  int most_arch;
  int sticky_code;           // what every call answers that works on a device; 0: none
  int shared_code;           // what a kernel's wish for more shared memory is answered with
  int failing_convolutions;  // so many of cuDNN's next ones fail
  int failing_graphs;        // the same
  int dnn_version;           // of cuDNN: 919 for 9.19
  int graph_us;              // what cuDNN takes for a graph that is not recorded
  // Counted for tests.
  int live_buffers, live_pinned, live_streams, live_events, live_modules, live_plans;
  int retained_contexts, current_contexts;  // the latter on all threads
  int blocking_copies;                      // that CUDA could not make asynchronous
  int compilations, launches, products, factors, convolutions, graphs;
  int early_edges;    // of recorded graphs: a kernel may begin before the one that it depends on has ended
  int wrong_edges;    // such edges to what is no kernel, or by its name does not wait
  int last_proposal;  // of cuBLASLt's or cuDNN's, from 0
} fake_cuda;

typedef fake_cuda *(*fake_cuda_state_fn)(void);  // exported as fake_cuda_state

#endif
