// SPDX-License-Identifier: MIT
// A program while it runs: the library and the model both perform each step, and the results are compared where
// possible.
#ifndef TESSERA_ATTACK_WORLD_H
#define TESSERA_ATTACK_WORLD_H

#include "attack/model_ops.h"

enum { WORLD_MAX_STEPS = 160, WORLD_MAX_SCOPES = 3, WORLD_MAX_DEVICES = 2 };

// Objects that are open for a whole run. devices[0] is the one being tested.
typedef struct arena {
  tsr_device *devices[WORLD_MAX_DEVICES];
  int device_count;
  tsr_kernel *kernels[2];  // y += x, for f32 and i32
  bool is_tracing;         // print each step before it runs
} arena;

// A live tensor, identified by the number of the step that made it.
typedef struct slot {
  tsr_tensor *tensor;  // NULL: none
  model_tensor model;
  int scope_depth;   // number of open scopes when it was made; 0: we release it
  bool is_captured;  // made since tsr_capture_begin
} slot;

// A captured step with its inputs and result.
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
  tsr_capture *capture;  // the last capture that was ended
  captured_step captured[WORLD_MAX_STEPS];
  int captured_count;
  char failure[512];  // empty: no failure
} world;

typedef enum outcome {
  OUTCOME_DONE,
  OUTCOME_LEFT_OUT,  // an input is missing, or the result would not be exact: nothing was called
  OUTCOME_FAILED     // the library's result is wrong: see world.failure
} outcome;

void world_init(world *w, const arena *a);

// Performs step `at`, which must be the next one.
outcome world_do(world *w, int at);

// Gives slot `at` a tensor that another thread made and whose elements nobody writes any more. Takes a reference.
void world_adopt(world *w, int at, const slot *from);

// Reads and compares every live tensor.
outcome world_compare_all(world *w);

// Ends scopes and captures, and releases everything.
void world_deinit(world *w);

// Calls the library's function for a step that makes a tensor from `inputs`. `data`: the elements for from_data.
tsr_tensor *world_call(const arena *a, const step *s, tsr_tensor *const *inputs, const void *data, size_t bytes);

#endif
