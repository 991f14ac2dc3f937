// SPDX-License-Identifier: MIT
// Makes random programs from seeds, runs them, and reduces failing ones.
#include "attack/attack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack/generate.h"

enum { SHARED_STEPS = 4, MAX_THREADS = 8 };

// --- Devices --------------------------------------------------------------------------------------------------------------

static const char kernel_text[] =
    "kernel add_to<T = f32, WG = 64>(inout T y[], in T x[], u32 n) {\n"
    "    u32 i = global.x;\n"
    "    if (i < n) y[i] = y[i] + x[i];\n"
    "}\n";

static bool build_kernels(arena *a) {
  static const char *const defines[] = {"T=f32", "T=i32"};
  for (int i = 0; i < 2; i++) {
    tsr_kernel_desc desc = {.source = kernel_text, .defines = &defines[i], .define_count = 1};
    if (tsr_kernel_build(&desc, &a->kernels[i]) != TSR_OK) return false;
  }
  return true;
}

bool arena_open(arena *a, const char *backend, bool is_eager) {
  *a = (arena){.is_tracing = getenv("TSR_TEST_ATTACK_TRACE") != NULL};
  if (is_eager && tsr_config_set("eager", "on") != TSR_OK) return false;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &a->devices[0]);
  if (is_eager) tsr_config_set("eager", NULL);
  if (status != TSR_OK) return false;
  a->device_count = 1;
  if (tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = 1}, &a->devices[1]) != TSR_OK) return false;
  a->device_count = 2;
  return build_kernels(a);
}

void arena_close(arena *a) {
  for (int i = 0; i < 2; i++) tsr_kernel_release(a->kernels[i]);
  for (int i = 0; i < a->device_count; i++) tsr_device_release(a->devices[i]);
}

// --- One program ----------------------------------------------------------------------------------------------------------

static world *new_world(const arena *a) {
  world *w = malloc(sizeof *w);
  if (!w) abort();
  world_init(w, a);
  return w;
}

static void delete_world(world *w) {
  world_deinit(w);
  free(w);
}

// With TSR_TEST_ATTACK_TRACE each step is printed before it runs, since after a crash there is no program left to
// print.
static outcome trace_and_do(world *w, int at) {
  if (w->arena->is_tracing) {
    char text[512];
    step_print(&w->steps[at], at, text, sizeof text);
    printf("    %s\n", text);
    fflush(stdout);
  }
  return world_do(w, at);
}

// Generates and runs steps from `first` on, then compares all live tensors.
static outcome run_random(world *w, uint64_t seed, int first) {
  style look;
  style_init(&look, seed, w->arena);
  int count = first + 8 + (int)attack_below(&look.random, (uint64_t)(look.most_steps - 8 - first));
  for (int at = first, tries = 0; at < count && tries < 40 * WORLD_MAX_STEPS; tries++) {
    w->step_count = at;
    generate_step(w, &look, at);
    w->step_count = at + 1;
    outcome answer = trace_and_do(w, at);
    if (answer == OUTCOME_FAILED) return answer;
    if (answer == OUTCOME_DONE) at++;
    else w->step_count = at;
  }
  return world_compare_all(w);
}

// Runs the steps of `program` again in a new world. `failure` receives the error, if there is one.
static bool fails_again(const world *program, char failure[512]) {
  world *w = new_world(program->arena);
  memcpy(w->steps, program->steps, sizeof w->steps);
  outcome answer = OUTCOME_DONE;
  for (int at = 0; at < program->step_count && answer != OUTCOME_FAILED; at++) {
    w->step_count = at + 1;
    answer = trace_and_do(w, at);
  }
  if (answer != OUTCOME_FAILED) answer = world_compare_all(w);
  if (answer == OUTCOME_FAILED) memcpy(failure, w->failure, sizeof w->failure);
  delete_world(w);
  return answer == OUTCOME_FAILED;
}

// --- Shrinking ------------------------------------------------------------------------------------------------------------

// Removes `count` steps from `at` on if the program still fails without them.
static bool try_without(world *program, int at, int count) {
  bool before[WORLD_MAX_STEPS], has_any = false;
  char failure[512];
  for (int i = at; i < at + count && i < program->step_count; i++) {
    before[i] = program->steps[i].is_removed;
    has_any = has_any || !before[i];
    program->steps[i].is_removed = true;
  }
  if (!has_any) return false;
  if (fails_again(program, failure)) {
    memcpy(program->failure, failure, sizeof failure);
    return true;
  }
  for (int i = at; i < at + count && i < program->step_count; i++) program->steps[i].is_removed = before[i];
  return false;
}

// Removes step `at`, and uses its first input wherever its result was used, if the program still fails.
static bool try_input_instead(world *program, int at) {
  const step *s = &program->steps[at];
  char failure[512];
  if (s->is_removed || s->input_count == 0 || step_makes_what(s) == STEP_NOTHING) return false;
  step before[WORLD_MAX_STEPS];
  memcpy(before, program->steps, sizeof before);
  for (int i = at + 1; i < program->step_count; i++) {
    for (int k = 0; k < program->steps[i].input_count; k++) {
      if (program->steps[i].inputs[k] == at) program->steps[i].inputs[k] = s->inputs[0];
    }
  }
  program->steps[at].is_removed = true;
  bool fails = fails_again(program, failure);
  if (fails) memcpy(program->failure, failure, sizeof failure);
  else memcpy(program->steps, before, sizeof before);
  return fails;
}

// Tries to remove ever smaller groups of steps, the last ones first, until no single step can be removed or replaced
// by its input.
static void shrink(world *program) {
  for (int size = program->step_count / 2; size >= 1; size /= 2) {
    bool has_shrunk = true;
    while (has_shrunk) {
      has_shrunk = false;
      for (int at = program->step_count - size; at > -size; at -= size) {
        has_shrunk = try_without(program, at < 0 ? 0 : at, size) || has_shrunk;
      }
      for (int at = program->step_count - 1; at >= 0 && size == 1; at--) {
        has_shrunk = try_input_instead(program, at) || has_shrunk;
      }
      if (size > 1) break;
    }
  }
}

static void print_program(const world *program) {
  for (int i = 0; i < program->step_count; i++) {
    char text[512];
    if (program->steps[i].is_removed) continue;
    step_print(&program->steps[i], i, text, sizeof text);
    printf("    %s\n", text);
  }
  printf("  %s\n", program->failure);
}

// Prints the failing program. Reducing it also removes the steps that were left out in the first run, and those that
// depend on them.
static void report(const arena *a, uint64_t seed, world *program) {
  char failure[512];
  printf("seed %llu on %s: %s\n", (unsigned long long)seed, tsr_device_backend(a->devices[0]), program->failure);
  world *copy = new_world(a);
  memcpy(copy->steps, program->steps, sizeof copy->steps);
  memcpy(copy->failure, program->failure, sizeof copy->failure);
  copy->step_count = program->step_count;
  if (fails_again(copy, failure)) shrink(copy);
  else printf("  the same steps did not fail again when run alone\n");
  print_program(copy);
  fflush(stdout);
  free(copy);
}

bool attack_run(const arena *a, uint64_t seed) {
  world *w = new_world(a);
  outcome answer = run_random(w, seed, 0);
  if (answer == OUTCOME_FAILED) {
    if (w->is_capturing) (void)tsr_capture_end(NULL, 0, NULL);
    w->is_capturing = false;
    report(a, seed, w);
  }
  delete_world(w);
  return answer != OUTCOME_FAILED;
}

// --- Several threads ------------------------------------------------------------------------------------------------------

typedef struct worker {
  world *w;
  uint64_t seed;
  outcome answer;
} worker;

static void *work(void *given) {
  worker *self = given;
  self->answer = run_random(self->w, self->seed, SHARED_STEPS);
  if (self->w->is_capturing) (void)tsr_capture_end(NULL, 0, NULL);
  self->w->is_capturing = false;
  if (self->w->scope_depth > 0) {  // a scope belongs to the thread that began it
    for (int i = 0; i < self->w->step_count; i++) {
      if (self->w->slots[i].tensor && self->w->slots[i].scope_depth > 0) tsr_keep(self->w->slots[i].tensor);
      self->w->slots[i].scope_depth = 0;
    }
    (void)tsr_scope_end(self->w->scopes[0]);
    self->w->scope_depth = 0;
  }
  return NULL;
}

// Creates three tensors, and the sum of two of them, which has not run yet: the threads all use it.
static void make_shared(world *w, uint64_t seed) {
  style look;
  style_init(&look, seed, w->arena);
  for (int i = 0; i < SHARED_STEPS - 1; i++) {
    w->steps[i] =
        (step){.kind = STEP_from_data, .dtype = look.dtypes[0], .shape = look.base, .seed = seed + (uint64_t)i};
  }
  w->steps[SHARED_STEPS - 1] = (step){.kind = STEP_binary, .op = BINARY_add, .inputs = {0, 1}, .input_count = 2};
  for (int i = 0; i < SHARED_STEPS; i++) {
    w->step_count = i + 1;
    (void)world_do(w, i);
  }
}

bool attack_run_threads(const arena *a, uint64_t seed, int thread_count) {
  worker workers[MAX_THREADS];
  pthread_t threads[MAX_THREADS];
  world *shared = new_world(a);
  make_shared(shared, seed);
  for (int i = 0; i < thread_count; i++) {
    workers[i] = (worker){.w = new_world(a), .seed = seed * MAX_THREADS + (uint64_t)i};
    memcpy(workers[i].w->steps, shared->steps, sizeof shared->steps);
    for (int k = 0; k < SHARED_STEPS; k++) {
      if (shared->slots[k].tensor) world_adopt(workers[i].w, k, &shared->slots[k]);
    }
  }
  int started = 0;
  while (started < thread_count && pthread_create(&threads[started], NULL, work, &workers[started]) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  bool is_good = started > 0;
  for (int i = 0; i < thread_count; i++) {
    if (i < started && workers[i].answer == OUTCOME_FAILED) {
      printf("thread %d of %d\n", i, thread_count);
      report(a, seed, workers[i].w);
      is_good = false;
    }
    delete_world(workers[i].w);
  }
  delete_world(shared);
  return is_good;
}
