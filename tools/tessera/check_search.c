// SPDX-License-Identifier: MIT
// searchsorted: cases, and a reference that counts smaller elements.
#include <math.h>

#include "check.h"

static bool is_float(tsr_dtype dtype) { return CHECK_BIT(dtype) & CHECK_FLOAT_TYPES; }

// The order of searchsorted, in which NaN comes last.
static bool is_less(tsr_dtype dtype, check_value a, check_value b) {
  if (!is_float(dtype)) return a.whole < b.whole;
  return a.real < b.real || (a.real == a.real && b.real != b.real);
}

// A list that contains each number four times and, for floats, one NaN at the end.
static check_tensor *sorted_list(check_run *run, tsr_dtype dtype, int64_t size, check_view view) {
  check_value *list = check_alloc(run, (size_t)size, sizeof *list);
  for (int64_t i = 0; i < size; i++) {
    if (is_float(dtype)) list[i].real = i > 4 && i == size - 1 ? NAN : floor((double)i / 4);
    else list[i].whole = i / 4;
  }
  return check_input_of(run, dtype, TSR_SHAPE(size), view, list);
}

static void run_case(check_run *run, tsr_dtype dtype, int64_t size, check_view view, bool right) {
  check_tensor *sorted = sorted_list(run, dtype, size, view);
  check_tensor *values = check_input(run, dtype, TSR_SHAPE(5, 7), view, CHECK_MODERATE);
  check_expected *wanted = check_expect(run, TSR_I32, values->shape);
  for (int64_t i = 0; i < values->count; i++) {
    for (int64_t k = 0; k < size; k++) {
      check_value value = values->values[i], here = sorted->values[k];
      wanted->values[i].whole += right ? !is_less(dtype, value, here) : is_less(dtype, here, value);
    }
  }
  check_result(run, tsr_searchsorted(sorted->tensor, values->tensor, right), wanted);
}

void check_searchsorted(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  static const int64_t sizes[] = {13, 0, 1, 4, 257};
  for (int i = 0; i < 2 * 5 && is_taken; i++) {
    if (check_begin(run, i < 2 ? CHECK_ALWAYS : CHECK_OFTEN, "%d%s", (int)sizes[i / 2], i % 2 ? "-right" : ""))
      run_case(run, dtype, sizes[i / 2], CHECK_PLAIN, i % 2);
  }
  for (int i = 0; i < 2 * CHECK_VIEW_COUNT && is_taken; i++) {
    if (check_begin(run, CHECK_OFTEN, "view-%d%s", i / 2, i % 2 ? "-right" : ""))
      run_case(run, dtype, 17, (check_view)(i / 2), i % 2);
  }
  if (!is_taken && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2), CHECK_PLAIN, CHECK_ANY);
    check_refused(run, tsr_searchsorted(x->tensor, x->tensor, false), TSR_ERR_DTYPE);
  }
}
