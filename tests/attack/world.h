// SPDX-License-Identifier: MIT
// A program while it runs: each step is done by the library and by the model, and what can be compared is compared.
#ifndef TESSERA_ATTACK_WORLD_H
#define TESSERA_ATTACK_WORLD_H

#include "attack/model_ops.h"

enum { WORLD_MAX_STEPS = 160, WORLD_MAX_SCOPES = 3, WORLD_MAX_DEVICES = 2 };

// What is open for a whole run. `devices[0]` is the one under attack.
typedef struct arena {
  tsr_device *devices[WORLD_MAX_DEVICES];
  int device_count;
  tsr_kernel *kernels[2];  // y += x, on f32 and i32
  bool is_tracing;         // each step is printed before it is done
} arena;

// A live tensor, known by the number of the step that made it.
typedef struct slot {
  tsr_tensor *tensor;  // NULL: none
  model_tensor model;
  int scope_depth;   // how many scopes were open when it was made; 0: it is ours to release
  bool is_captured;  // made since tsr_capture_begin
} slot;

// One captured step: what it read, and where its result is.
typedef struct captured_step {
  step what;
  model_tensor inputs[STEP_MAX_INPUTS], result;
} captured_step;

typedef struct world {
  const arena *arena;
  step steps[WORLD_MAX_STEPS];
  int step_count;
  slot slots[WORLD_MAX_STEPS];
  tsr_scope *scopes[WORLD_MAX_SCOPES];
  int scope_depth;
  bool is_capturing;
  tsr_capture *capture;  // the last one that was ended
  captured_step captured[WORLD_MAX_STEPS];
  int captured_count;
  char failure[512];  // empty: none
} world;

typedef enum outcome {
  OUTCOME_DONE,
  OUTCOME_LEFT_OUT,  // an input is not there, or the result would not be exact: nothing was called
  OUTCOME_FAILED     // the library's answer is wrong: world.failure
} outcome;

void world_init(world *w, const arena *a);

// Does step `at`, which must be the next one that was not done yet.
outcome world_do(world *w, int at);

// Gives slot `at` a tensor that another thread made, whose elements nobody writes any more. Takes a reference of its own.
void world_adopt(world *w, int at, const slot *from);

// Reads and compares every live tensor.
outcome world_compare_all(world *w);

// Ends scopes and captures, releases everything.
void world_deinit(world *w);

// Calls the library's function for a step that makes a tensor of `inputs`; `data`: the elements of from_data.
tsr_tensor *world_call(const arena *a, const step *s, tsr_tensor *const *inputs, const void *data, size_t bytes);

#endif
