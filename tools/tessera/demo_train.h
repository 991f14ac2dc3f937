// SPDX-License-Identifier: MIT
// The training of `tessera demo`: a network learns to read digits that are drawn here, and is tried on others.
#ifndef TESSERA_TOOL_DEMO_TRAIN_H
#define TESSERA_TOOL_DEMO_TRAIN_H

#include <tessera/tessera.h>

#include "demo_budget.h"

enum {
  DEMO_BATCH = 128,
  DEMO_BATCHES = 80,  // in an epoch
  DEMO_TRAIN_COUNT = DEMO_BATCH * DEMO_BATCHES,
  DEMO_TEST_COUNT = 2000,
  DEMO_EPOCHS_MOST = 100
};

// The least accuracy of a training that has at least DEMO_ACCURACY_STEPS steps and was not cut short.
#define DEMO_ACCURACY 0.98
enum { DEMO_ACCURACY_STEPS = 4 * DEMO_BATCHES };

// Digits with their labels. Those to learn from and those to be tried on are drawn from different seeds.
typedef struct demo_digits {
  int count;  // to learn from: DEMO_TRAIN_COUNT, or as many as a training of less than an epoch needs
  float *images, *test_images;
  int32_t *labels, *test_labels;
} demo_digits;

// Draws digits for a training of `steps`. False if memory is out. Call demo_digits_deinit in any case.
bool demo_digits_init(demo_digits *digits, uint64_t seed, int steps);
void demo_digits_deinit(demo_digits *digits);

typedef enum demo_end { DEMO_DONE, DEMO_TIME_OVER, DEMO_INTERRUPTED, DEMO_FAILED } demo_end;

typedef struct demo_epoch {
  double loss;      // mean of its steps
  double accuracy;  // on unseen digits, from 0 to 1
  int tried;        // how many of them
  double seconds;   // since the training began
} demo_epoch;

typedef struct demo_training {
  demo_end end;
  tsr_status status;
  char message[512];  // why it failed
  int epoch_count, step_count;
  demo_epoch epochs[DEMO_EPOCHS_MOST];  // the last one may have been cut short
  float losses[DEMO_EPOCHS_MOST * DEMO_BATCHES];
  int32_t predicted[DEMO_TEST_COUNT];  // by the network after the last step
  int kernels;                         // launches of a step
  tsr_grad_memory memory;              // of a step
  int64_t parameter_count;
  double seconds;
} demo_training;

typedef struct demo_training_desc {
  tsr_device *device;
  const demo_digits *digits;
  const demo_budget *budget;
  double budget_part;  // the training ends when this part of the budget is over
  uint64_t seed;
  int steps;  // at most DEMO_EPOCHS_MOST times DEMO_BATCHES; the last epoch may be incomplete

  // Called after each step and each epoch to show progress; may be NULL.
  void (*on_step)(const demo_training *training, int steps);
  void (*on_epoch)(const demo_training *training, int steps);
} demo_training_desc;

// Trains a network. However it ends, `out` says how far it came. *out_params is the network, which the caller releases; NULL if it failed.
void demo_train(const demo_training_desc *desc, demo_training *out, tsr_params **out_params);

// How many of the unseen digits of the last trial the network read correctly.
int demo_right_count(const demo_training *training, const demo_digits *digits);
int demo_tried_count(const demo_training *training);

#endif
