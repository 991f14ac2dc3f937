// SPDX-License-Identifier: MIT
// Chooses which operators of a tape share a launch (tsri_backend.run_ops).
//
// A launch begins when the last of its operators has its inputs, and all its results are available only when it ends. So operators are grouped only if no other
// step needs one of their results in the meantime. How early a step can begin is measured by its depth: the length of the longest chain of steps that it
// depends on. Gradients by the weights of a network are an example: they become ready one after the other, and only the optimiser reads them.
#ifndef TSRI_RUNTIME_TAPE_GROUP_H
#define TSRI_RUNTIME_TAPE_GROUP_H

#include "runtime/tape_order.h"

// The launches of a graph, in the order in which they are recorded. Launch i has the steps steps[first[i]] to steps[first[i + 1] - 1].
typedef struct tsri_tape_launches {
  int *steps, *first;
  int count;
} tsri_tape_launches;

// Divides `count` steps into launches. groups[i] is what the backend says about step i: kind 0 unless it is an operator that can share a launch.
// False: host memory is out.
bool tsri_tape_launches_init(tsri_tape_launches *launches, const tsri_tape_order *order, const tsri_op_group *groups,
                             int count);
void tsri_tape_launches_deinit(tsri_tape_launches *launches);

#endif
