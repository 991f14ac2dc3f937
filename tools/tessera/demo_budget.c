// SPDX-License-Identifier: MIT
// How long `tessera demo` may go on.
#include "demo_budget.h"

#include "bench_time.h"
#include "interrupt.h"

demo_budget demo_budget_begin(double seconds) {
  interrupt_catch();
  return (demo_budget){bench_now_ns(), seconds};
}

double demo_budget_elapsed(const demo_budget *budget) { return (bench_now_ns() - budget->began_ns) / 1e9; }

bool demo_budget_is_over(const demo_budget *budget, double part) {
  return interrupt_is_noted() || demo_budget_elapsed(budget) > part * budget->seconds;
}
