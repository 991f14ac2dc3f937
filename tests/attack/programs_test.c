// SPDX-License-Identifier: MIT
// Runs random programs and compares the library with a plain model that has immediate semantics (model.h): views,
// writes, captures, moves and threads must not change the results. Everything depends on the seed only. If a program
// fails, the seed and the smallest program that still fails are printed; if it crashes, only the seed.
//
//   TSR_TEST_ATTACK_SECONDS  how long each test runs (4)
//   TSR_TEST_SEED            seed of the first program (1); with TSR_TEST_ATTACK_SECONDS=0 only that one runs
//   TSR_TEST_BACKEND         backend of the first test and of the test with threads (cpu)
//   TSR_TEST_ATTACK_TRACE    if set, each step is printed before it runs
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "attack/attack.h"
#include "support/devices.h"
#include "support/test.h"

static double number_from(const char *name, double standard) {
  const char *text = getenv(name);
  return text ? strtod(text, NULL) : standard;
}

static double now(void) {
  struct timespec at;
  timespec_get(&at, TIME_UTC);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

// --- The seed of a program that crashes -----------------------------------------------------------------------------------

enum { SIGNALS = 3 };
static const int signals[SIGNALS] = {SIGABRT, SIGSEGV, SIGBUS};
static struct sigaction before[SIGNALS];
static char seed_text[64];  // for the current program
static volatile sig_atomic_t seed_length;

// Prints the seed, then restores the original handlers: the instruction faults again, and abort() continues.
static void tell_seed(int which) {
  ssize_t written = write(STDOUT_FILENO, seed_text, (size_t)seed_length);
  (void)written;
  for (int i = 0; i < SIGNALS; i++) {
    if (signals[i] == which) sigaction(which, &before[i], NULL);
  }
}

static void begin_telling(void) {
  for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &(struct sigaction){.sa_handler = tell_seed}, &before[i]);
}

static void end_telling(void) {
  for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
}

static void set_seed(uint64_t seed) {
  seed_length = snprintf(seed_text, sizeof seed_text, "seed %llu crashes\n", (unsigned long long)seed);
}

// --- The attack -----------------------------------------------------------------------------------------------------------

static double standard_seconds(void) { return number_from("TSR_TEST_ATTACK_SECONDS", 4); }

// Runs programs until the time is over. On the CPU every eighth program uses an eager device; elsewhere every second
// one, because there are few kernels of single operators, and they are soon built.
static void attack(const char *backend, int thread_count, double seconds) {
  arena lazy, eager;
  if (!arena_open(&lazy, backend, false) || !arena_open(&eager, backend, true)) {
    test_fail(__FILE__, __LINE__, "%s: %s", backend, tsr_last_error());
  }
  double start = now();
  uint64_t first = (uint64_t)number_from("TSR_TEST_SEED", 1), seed = first;
  uint64_t every = strcmp(backend, "cpu") == 0 ? 8 : 2;
  bool is_good = true;
  begin_telling();
  do {
    set_seed(seed);
    const arena *a = seed % every == every - 1 ? &eager : &lazy;
    is_good = thread_count > 1 ? attack_run_threads(a, seed, thread_count) : attack_run(a, seed);
    seed++;
  } while (is_good && now() - start < seconds);
  end_telling();
  arena_close(&lazy);
  arena_close(&eager);
  printf("%llu programs on %s, seeds %llu to %llu\n", (unsigned long long)(seed - first), backend,
         (unsigned long long)first, (unsigned long long)seed - 1);
  CHECK(is_good);
}

static const char *chosen_backend(void) {
  const char *name = getenv("TSR_TEST_BACKEND"), *missing = NULL;
  if (name && strcmp(name, "webgpu") == 0) missing = test_use_webgpu();
  if (missing) SKIP(missing);
  return name ? name : "cpu";
}

static void attack_if_there(const char *backend, const char *sentence) {
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &device);
  tsr_device_release(device);
  if (status == TSR_ERR_UNAVAILABLE) SKIP(sentence);
  attack(backend, 1, standard_seconds());
}

// GPUs that tests/standins runs on the CPU: a tenth of the time.
static void attack_standin(const char *backend, const char *missing) {
  if (missing) SKIP(missing);
  attack(backend, 1, standard_seconds() / 10);
}

TEST(random_programs_agree_with_the_model) { attack(chosen_backend(), 1, standard_seconds()); }
TEST(random_programs_on_threads_agree_with_the_model) { attack(chosen_backend(), 3, standard_seconds()); }
TEST(random_programs_on_opencl_agree_with_the_model) { attack_if_there("opencl", "there is no OpenCL device here"); }
TEST(random_programs_on_vulkan_agree_with_the_model) { attack_if_there("vulkan", "there is no Vulkan device here"); }

TEST(random_programs_on_webgpu_agree_with_the_model) {
  const char *missing = test_use_webgpu();
  if (missing) SKIP(missing);
  attack_if_there("webgpu", "there is no WebGPU device here");
}

TEST(random_programs_on_rocm_agree_with_the_model) { attack_standin("rocm", test_use_rocm()); }
TEST(random_programs_on_metal_agree_with_the_model) { attack_standin("metal", test_use_metal()); }
