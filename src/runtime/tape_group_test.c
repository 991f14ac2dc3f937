// SPDX-License-Identifier: MIT
// Which operators of a tape share a launch: as many as fill the device, but none that others wait for before the launch can begin.
#include "runtime/tape_group.h"

#include <stdlib.h>

#include "support/test.h"

enum { MOST_STEPS = 80, MOST_AFTER = 3 };

// Steps and what they wait for; written as a list for each step that ends with -1.
typedef struct step_list {
  int after[MOST_STEPS][MOST_AFTER + 1];
  tsri_op_group groups[MOST_STEPS];
  int count;
} step_list;

// The lists of `steps` in the form of an order. The caller deinits it.
static tsri_tape_order order_of(const step_list *steps) {
  tsri_tape_order order = {.after = calloc(MOST_STEPS * MOST_AFTER, sizeof *order.after),
                           .first = calloc((size_t)steps->count + 1, sizeof *order.first)};
  int found = 0;
  for (int i = 0; i < steps->count; i++) {
    for (int j = 0; steps->after[i][j] >= 0; j++) order.after[found++] = steps->after[i][j];
    order.first[i + 1] = found;
  }
  return order;
}

static tsri_tape_launches launches_of(const step_list *steps) {
  tsri_tape_order order = order_of(steps);
  tsri_tape_launches launches;
  CHECK(tsri_tape_launches_init(&launches, &order, steps->groups, steps->count));
  free(order.after);
  free(order.first);
  return launches;
}

static int size_of(const tsri_tape_launches *launches, int launch) {
  return launches->first[launch + 1] - launches->first[launch];
}

// The number of the launch that has the step.
static int launch_of(const tsri_tape_launches *launches, int step) {
  for (int i = 0; i < launches->count; i++) {
    for (int j = launches->first[i]; j < launches->first[i + 1]; j++) {
      if (launches->steps[j] == step) return i;
    }
  }
  return -1;
}

static const tsri_op_group alone = {0}, third = {.kind = 1, .share = TSRI_FULL_SHARE / 3},
                           other = {.kind = 2, .share = TSRI_FULL_SHARE / 3};

// A chain 0, 1, 2, 3; each step has a gradient, and the optimiser, step 8, waits for all of them.
static step_list backward_pass(void) {
  return (step_list){
      .after = {{-1}, {0, -1}, {1, -1}, {2, -1}, {3, -1}, {2, -1}, {1, -1}, {0, -1}, {4, 5, 6, -1}},
      .groups = {alone, alone, alone, alone, third, third, third, third, alone},
      .count = 9,
  };
}

TEST(operators_that_only_the_end_waits_for_share_launches_until_these_are_full) {
  step_list steps = backward_pass();
  tsri_tape_launches launches = launches_of(&steps);
  CHECK_EQ_INT(launches.count, 7);
  CHECK_EQ_INT(size_of(&launches, 4), 1);  // step 4, which is ready last
  CHECK_EQ_INT(size_of(&launches, 5), 3);
  for (int i = 0; i < 3; i++) CHECK_EQ_INT(launches.steps[launches.first[5] + i], 5 + i);
  tsri_tape_launches_deinit(&launches);
}

TEST(operators_of_different_kinds_do_not_share_a_launch) {
  step_list steps = backward_pass();
  steps.groups[5] = steps.groups[7] = other;
  tsri_tape_launches launches = launches_of(&steps);
  CHECK_EQ_INT(launches.count, 7);
  CHECK_EQ_INT(launch_of(&launches, 4), launch_of(&launches, 6));
  CHECK_EQ_INT(launch_of(&launches, 5), launch_of(&launches, 7));
  CHECK(launch_of(&launches, 4) != launch_of(&launches, 5));
  tsri_tape_launches_deinit(&launches);
}

TEST(an_operator_that_others_wait_for_does_not_wait_for_later_ones) {
  step_list steps = backward_pass();
  for (int i = 4; i < 8; i++)
    steps.groups[i].share = TSRI_FULL_SHARE / 5;  // one launch would have room for all of them
  // Step 8 waits for step 7 alone, so it can begin before steps 4 and 5.
  steps.after[8][0] = 7;
  steps.after[8][1] = -1;
  tsri_tape_launches launches = launches_of(&steps);
  CHECK_EQ_INT(launches.count, 7);
  CHECK_EQ_INT(size_of(&launches, launch_of(&launches, 7)), 1);
  CHECK_EQ_INT(size_of(&launches, launch_of(&launches, 4)), 3);
  tsri_tape_launches_deinit(&launches);
}

// --- Random steps ------------------------------------------------------------------------------------------------------

static step_list random_steps(void) {
  step_list steps = {.count = 1 + rand() % MOST_STEPS};
  for (int i = 0; i < steps.count; i++) {
    int count = i == 0 ? 0 : rand() % (MOST_AFTER + 1);
    for (int j = 0; j < count; j++) steps.after[i][j] = rand() % i;
    steps.after[i][count] = -1;
    steps.groups[i] = (tsri_op_group){(uint32_t)(rand() % 3), (uint32_t)(1 + rand() % 8) * TSRI_FULL_SHARE / 16};
  }
  return steps;
}

static void find_depths(const step_list *steps, int *depths) {
  for (int i = 0; i < steps->count; i++) {
    depths[i] = 0;
    for (int j = 0; steps->after[i][j] >= 0; j++) {
      int depth = depths[steps->after[i][j]] + 1;
      if (depth > depths[i]) depths[i] = depth;
    }
  }
}

static int depth_of_launch(const tsri_tape_launches *launches, int launch, const int *depths) {
  int deepest = 0;
  for (int i = launches->first[launch]; i < launches->first[launch + 1]; i++) {
    if (depths[launches->steps[i]] > deepest) deepest = depths[launches->steps[i]];
  }
  return deepest;
}

static void check_group(const step_list *steps, const tsri_tape_launches *launches, int launch) {
  const int *members = launches->steps + launches->first[launch];
  int count = size_of(launches, launch);
  uint32_t share = 0;
  CHECK(count >= 1 && count <= TSRI_MOST_GROUPED);
  for (int i = 0; i < count; i++) {
    tsri_op_group group = steps->groups[members[i]];
    CHECK(count == 1 || (group.kind != 0 && group.kind == steps->groups[members[0]].kind));
    share += group.share;
  }
  CHECK(count == 1 || share <= TSRI_FULL_SHARE);
}

TEST(launches_have_each_step_once_in_order_and_keep_nobody_waiting) {
  srand(1);
  int grouped = 0;
  for (int round = 0; round < 300; round++) {
    step_list steps = random_steps();
    tsri_tape_launches launches = launches_of(&steps);
    int depths[MOST_STEPS];
    find_depths(&steps, depths);
    CHECK_EQ_INT(launches.first[launches.count], steps.count);
    for (int i = 0; i < launches.count; i++) check_group(&steps, &launches, i);
    for (int i = 0; i < steps.count; i++) {
      int own = launch_of(&launches, i);
      CHECK(own >= 0);
      for (int j = 0; steps.after[i][j] >= 0; j++) {
        int before = launch_of(&launches, steps.after[i][j]);
        CHECK(before < own);
        if (size_of(&launches, before) > 1) CHECK(depths[i] > depth_of_launch(&launches, before, depths));
      }
    }
    grouped += steps.count - launches.count;
    tsri_tape_launches_deinit(&launches);
  }
  CHECK(grouped > 300);
}
