// SPDX-License-Identifier: MIT
// The stand-in's switches, and the CUDA driver beneath it. Each of the libraries has its own copy.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes/cuda/fake.h"
#include "standins/hip/hip.h"

// --- Switches -------------------------------------------------------------------------------------------------------

static standin_switches switches;
static int generation;
const standin_switches *standin_hip_known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Wavefronts of gfx9 and older have 64 items, newer ones 32.
static int wave_of(const char *gfx) { return strlen(gfx) == 6 ? 64 : 32; }

static void read_word(const char *word) {
  const char *value = strchr(word, '=');
  int number = value ? atoi(value + 1) : 0;
  if (strncmp(word, "gfx=", 4) == 0) snprintf(switches.gfx, sizeof switches.gfx, "%s", value + 1);
  if (strncmp(word, "devices=", 8) == 0) switches.devices = number;
  if (strncmp(word, "init=", 5) == 0) switches.init = number;
  if (strncmp(word, "oom=", 4) == 0) switches.out_of_memory_at = number;
  if (strncmp(word, "lost=", 5) == 0) switches.lost_at = number;
  if (strncmp(word, "slow=", 5) == 0) switches.slow_ms = number;
  if (strcmp(word, "builderror") == 0) switches.has_build_error = true;
}

static void read_words(const char *words) {
  char copy[256], *rest = copy;
  switches = (standin_switches){.gfx = "gfx1100", .devices = 1};
  snprintf(copy, sizeof copy, "%s", words);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) read_word(word);
  switches.wave = wave_of(switches.gfx);
  switches.generation = ++generation;
  __atomic_store_n(&standin_hip_known, &switches, __ATOMIC_RELEASE);
}

const standin_switches *standin_hip_read_switches(void) {
  pthread_mutex_lock(&lock);
  const char *words = getenv("TSR_STANDIN_HIP");
  if (!standin_hip_known) read_words(words ? words : "");
  pthread_mutex_unlock(&lock);
  return &switches;
}

EXPORT void standin_hip_switch(const char *words);
EXPORT void standin_hip_switch(const char *words) {
  pthread_mutex_lock(&lock);
  read_words(words);
  pthread_mutex_unlock(&lock);
}

// --- Libraries ------------------------------------------------------------------------------------------------------

void *standin_hip_open(const char *const *names) {
  char path[1100];
  Dl_info here;
  for (; *names; names++) {
    void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library && dladdr(&switches, &here) && here.dli_fname) {
      snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname,
               *names);
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (library) return library;
  }
  fprintf(stderr, "the stand-in for ROCm: %s\n", dlerror());
  exit(70);
}

static standin_cuda cuda;
const standin_cuda *standin_hip_opened;

static void open_cuda(void) {
  const char *real = getenv("TSR_STANDIN_CUDA");  // "libcuda.so.1"
  void *library = standin_hip_open((const char *const[]){real ? real : "../../fakes/fake_cuda.so", NULL});
  cuda.is_real = real != NULL;
#define STANDIN_ENTRY(name, exported, parameters)                \
  {                                                              \
    void *symbol = dlsym(library, exported);                     \
    memcpy(&cuda.name, &symbol, sizeof symbol);                  \
    if (!symbol) fprintf(stderr, "stand-in: no %s\n", exported); \
  }
  CUDA_ENTRY_POINTS(STANDIN_ENTRY)
  CUDA_OPTIONAL_ENTRY_POINTS(STANDIN_ENTRY)
  STANDIN_ENTRY(LaunchHostFunc, "cuLaunchHostFunc", )
#undef STANDIN_ENTRY
  if (cuda.is_real) return;
  void *symbol = dlsym(library, "fake_cuda_state");
  fake_cuda_state_fn state = NULL;
  memcpy(&state, &symbol, sizeof state);
  state()->device_count = FAKE_CUDA_DEVICES;
  state()->memory_bytes = (size_t)4 << 30;
}

const standin_cuda *standin_hip_open_cuda(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_cuda);
  __atomic_store_n(&standin_hip_opened, &cuda, __ATOMIC_RELEASE);
  return &cuda;
}
