// SPDX-License-Identifier: MIT
// Inside the stand-in for ROCm's libraries: ../README.md says what it is and how it is switched.
#ifndef TESSERA_STANDIN_HIP_H
#define TESSERA_STANDIN_HIP_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/cuda/cuda_api.h"

#define EXPORT __attribute__((visibility("default")))

// The CUDA driver that HIP's names are forwarded to: the fake one, or a real one.
#define STANDIN_ENTRY(name, exported, parameters) int(*name) parameters;
typedef struct standin_cuda {
  CUDA_ENTRY_POINTS(STANDIN_ENTRY)
  CUDA_OPTIONAL_ENTRY_POINTS(STANDIN_ENTRY)
  int (*LaunchHostFunc)(cu_stream stream, void (*function)(void *), void *user);
  bool is_real;  // otherwise kernels run on the CPU, by tests/standins/kernels
} standin_cuda;
#undef STANDIN_ENTRY

const standin_cuda *standin_hip_open_cuda(void);  // exits if there is none
extern const standin_cuda *standin_hip_opened;    // NULL until then

// Every call of HIP's asks for this driver and for the switches, so both are inline: forwarding a launch should cost
// little beside the launch.
static inline const standin_cuda *standin_hip_cuda(void) {
  const standin_cuda *cuda = __atomic_load_n(&standin_hip_opened, __ATOMIC_ACQUIRE);
  return cuda ? cuda : standin_hip_open_cuda();
}

// A library beside this one, or on the loader's path. Exits if there is none of these names, which NULL ends.
void *standin_hip_open(const char *const *names);

// What TSR_STANDIN_HIP says: words like "gfx=gfx90a devices=2", or what standin_hip_switch was given last.
typedef struct standin_switches {
  char gfx[32];          // gfx=
  int wave;              // of that GPU
  int devices;           // devices=
  int init;              // init=     code that hipInit answers
  int out_of_memory_at;  // oom=      number of the hipMalloc that fails, from 1; 0: none
  int lost_at;           // lost=     number of the call on a stream from which on the device is lost
  int slow_ms;           // slow=     what each kernel takes
  bool has_build_error;  // builderror
  int generation;        // changes with each call of standin_hip_switch
} standin_switches;

const standin_switches *standin_hip_read_switches(void);  // from the environment
extern const standin_switches *standin_hip_known;         // NULL until then

static inline const standin_switches *standin_hip_switches(void) {
  const standin_switches *known = __atomic_load_n(&standin_hip_known, __ATOMIC_ACQUIRE);
  return known ? known : standin_hip_read_switches();
}

typedef void (*standin_hip_switch_fn)(const char *words);  // exported as standin_hip_switch; counters begin anew

// What must be free again when all devices are closed: exported as standin_hip_live.
typedef int (*standin_hip_live_fn)(void);
void standin_hip_forget(void);  // what a lost device had, which it could not free

// Makes the device of this thread current in the CUDA driver. Returns a code.
EXPORT int standin_hip_enter(void);

// As standin_hip_enter, for calls on streams, which `lost=` counts.
int standin_hip_work(void);

void standin_hip_lose(const char *message);  // a kernel failed

// kernels.c: what `slow=` makes of launches, and streams that record a graph.
bool standin_hip_is_busy(void);
void standin_hip_sleep(void);  // until it is not busy
void standin_hip_captures(cu_stream stream, bool does);

// An image of the stand-in's hiprtc for the CPU: this line, then the compiler's options in one line, then the text.
#define STANDIN_HIP_IMAGE "stand-in HIP image\n"

#endif
