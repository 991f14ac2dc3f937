// SPDX-License-Identifier: MIT
// A program may load the library, compute on several threads, and unload it again: no thread stays behind.
#include <dirent.h>
#include <dlfcn.h>

#include "platform/platform.h"
#include "support/devices.h"
#include "support/test.h"

// Threads of this process; 0 where the system does not list them.
static int thread_count(void) {
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  int count = 0;
  for (const struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

typedef struct loaded {
  void *library;
  tsr_status (*device_open)(const tsr_device_desc *desc, tsr_device **out_device);
  void (*device_release)(tsr_device *device);
  tsr_tensor *(*ones)(tsr_device *device, tsr_dtype dtype, tsr_shape shape);
  tsr_tensor *(*exp)(tsr_tensor *x);
  tsr_status (*evaluate)(tsr_tensor *tensor);
  void (*release)(tsr_tensor *tensor);
} loaded;

static void load(loaded *l) {
  const char *path = getenv("TSR_TEST_LIBRARY");
  if (!path) SKIP("TSR_TEST_LIBRARY does not say where the shared library is");
  l->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(l->library != NULL);
  *(void **)&l->device_open = dlsym(l->library, "tsr_device_open");
  *(void **)&l->device_release = dlsym(l->library, "tsr_device_release");
  *(void **)&l->ones = dlsym(l->library, "tsr_ones");
  *(void **)&l->exp = dlsym(l->library, "tsr_exp");
  *(void **)&l->evaluate = dlsym(l->library, "tsr_evaluate");
  *(void **)&l->release = dlsym(l->library, "tsr_release");
  CHECK(l->device_open && l->device_release && l->ones && l->exp && l->evaluate && l->release);
}

static void compute(const loaded *l) {
  tsr_device *device = NULL;
  CHECK_OK(l->device_open(&(tsr_device_desc){.backend = "cpu", .threads = 4}, &device));
  tsr_tensor *x = l->ones(device, TSR_F32, TSR_SHAPE(1000, 1000)), *y = l->exp(x);
  CHECK_OK(l->evaluate(y));
  l->release(x);
  l->release(y);
  l->device_release(device);
}

TEST(no_thread_stays_when_the_library_is_unloaded) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  if (sanitizers && strstr(sanitizers, "address")) {
    SKIP(
        "debug builds keep released objects in static memory, which the leak checker misses once the library is "
        "unloaded");
  }
  if (sanitizers && strstr(sanitizers, "thread")) SKIP("the thread sanitizer starts a thread of its own");
  int before = thread_count();
  if (before == 0) SKIP("this system does not list a process's threads");
  for (int round = 0; round < 3; round++) {
    loaded l;
    load(&l);
    compute(&l);
    CHECK(thread_count() > before);
    CHECK_EQ_INT(dlclose(l.library), 0);
    // The system may list a thread for a moment after it was joined.
    for (int wait = 0; thread_count() > before && wait < 1000; wait++) tsri_sleep_ns(1000000);
    CHECK_EQ_INT(thread_count(), before);
  }
}
