// SPDX-License-Identifier: MIT
// The device that is current on a thread, as a context of the CUDA driver, and a device that is lost.
#include <pthread.h>
#include <stdio.h>

#include "standins/hip/hip.h"

#define CUDA (standin_hip_cuda())

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_lost;
static int work_count;

enum { MOST_DEVICES = 8 };

static cu_context contexts[MOST_DEVICES];

// initial-exec: the default for a shared library is a function call at each use.
#define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
PER_THREAD int current;         // as hipGetDevice tells it
PER_THREAD cu_context entered;  // that this thread has pushed

// A second device is the first one again where the driver has only one.
static int context_of(int device, cu_context *out_context) {
  *out_context = __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE);
  if (*out_context) return CU_SUCCESS;
  int count = 0;
  (void)CUDA->DeviceGetCount(&count);
  pthread_mutex_lock(&lock);
  int code = CUDA->DevicePrimaryCtxRetain(out_context, device < count ? device : 0);
  if (code == CU_SUCCESS) __atomic_store_n(&contexts[device], *out_context, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
  return code;
}

// Other switches give a device that is not lost.
static void start_anew(const standin_switches *s) {
  static int known;
  if (known == s->generation) return;
  known = s->generation;
  work_count = 0;
  if (is_lost) standin_hip_forget();
  is_lost = false;
}

int standin_hip_enter(void) {
  cu_context wanted = NULL, popped = NULL;
  start_anew(standin_hip_switches());
  if (is_lost) return CU_ILLEGAL_ADDRESS;
  int code = context_of(current, &wanted);
  if (code != CU_SUCCESS || wanted == entered) return code;
  if (entered) (void)CUDA->CtxPopCurrent(&popped);
  entered = wanted;
  return CUDA->CtxPushCurrent(wanted);
}

int standin_hip_work(void) {
  const standin_switches *s = standin_hip_switches();
  start_anew(s);
  if (s->lost_at > 0 && __atomic_add_fetch(&work_count, 1, __ATOMIC_RELAXED) >= s->lost_at) is_lost = true;
  return standin_hip_enter();
}

void standin_hip_lose(const char *message) {
  fprintf(stderr, "the stand-in for ROCm: %s\n", message);
  is_lost = true;
}

EXPORT int hipSetDevice(int device);
EXPORT int hipSetDevice(int device) {
  if (device < 0 || device >= standin_hip_switches()->devices || device >= MOST_DEVICES) return 101;
  current = device;
  return CU_SUCCESS;
}

EXPORT int hipGetDevice(int *device);
EXPORT int hipGetDevice(int *device) {
  *device = current;
  return standin_hip_switches()->devices > 0 ? CU_SUCCESS : CU_NO_DEVICE;
}
