// SPDX-License-Identifier: MIT
// Fibers: functions with stacks of their own that take turns with the thread that resumes them.
#ifndef TESSERA_STANDIN_FIBER_H
#define TESSERA_STANDIN_FIBER_H

#include <stdbool.h>

typedef struct standin_fiber {
  void *stack;       // lowest address; NULL: not created
  void *place;       // where it stands
  void *fake_stack;  // the address sanitizer's
} standin_fiber;

// A fiber that begins `entry`, which must not return, when it is first resumed. False: no memory for its stack.
bool standin_fiber_create(standin_fiber *fiber, void (*entry)(void));
// Puts a fiber that was left in the middle back to the beginning of `entry`.
void standin_fiber_restart(standin_fiber *fiber, void (*entry)(void));

// Runs the fiber until it yields. One fiber runs at a time in the whole process.
void standin_fiber_resume(standin_fiber *fiber);
// Called in a fiber: goes back to who resumed it.
void standin_fiber_yield(void);

#endif
