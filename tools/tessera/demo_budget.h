// SPDX-License-Identifier: MIT
// How long `tessera demo` may go on: until its time is over or Ctrl-C was pressed.
#ifndef TESSERA_TOOL_DEMO_BUDGET_H
#define TESSERA_TOOL_DEMO_BUDGET_H

#include <stdbool.h>

typedef struct demo_budget {
  double began_ns;
  double seconds;  // of --seconds
} demo_budget;

// Begins to count, and catches Ctrl-C.
demo_budget demo_budget_begin(double seconds);

double demo_budget_elapsed(const demo_budget *budget);  // in seconds

// Whether this part of the time (1: all of it) is over, or Ctrl-C was pressed.
bool demo_budget_is_over(const demo_budget *budget, double part);

#endif
