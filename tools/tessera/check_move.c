// SPDX-License-Identifier: MIT
// References of operators that move elements.
#include "check_move.h"

check_expected *check_expect_each(check_run *run, tsr_dtype dtype, tsr_shape shape, check_element element,
                                  const void *context) {
  check_expected *wanted = check_expect(run, dtype, shape);
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(shape, i, index);
    wanted->values[i] = element(context, index);
  }
  return wanted;
}

const check_axis_case check_axis_cases[] = {
    {"vector", CHECK_ALWAYS, CHECK_PLAIN, {1, {13}}, 0},
    {"last", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 19}}, -1},
    {"first", CHECK_OFTEN, CHECK_PLAIN, {2, {19, 7}}, 0},
    {"middle", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 11, 3}}, 1},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 12}}, 1},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {2, {11, 23}}, 0},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {3, {3, 2, 13}}, 2},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {9, 11}}, 0},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {7, 5}}, 1},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {3, {5, 9, 4}}, -2},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}, 0},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 0}}, 1},
    {"empty-beside", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 4}}, 1},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {2, {211, 307}}, 1},
    {"large-first", CHECK_HEAVY, CHECK_TRANSPOSED, {2, {1031, 37}}, 0},
};

const int check_axis_case_count = sizeof check_axis_cases / sizeof check_axis_cases[0];

int check_axis(const check_axis_case *c) { return c->axis < 0 ? c->axis + c->shape.rank : c->axis; }
