// SPDX-License-Identifier: MIT
// References of operators that move elements: each says which element is at an index of the result.
#ifndef TESSERA_TOOL_CHECK_MOVE_H
#define TESSERA_TOOL_CHECK_MOVE_H

#include "check.h"

typedef check_value (*check_element)(const void *context, const int64_t *index);

check_expected *check_expect_each(check_run *run, tsr_dtype dtype, tsr_shape shape, check_element element,
                                  const void *context);

// A case of an operator along an axis: shape, view and axis.
typedef struct check_axis_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis;
} check_axis_case;

extern const check_axis_case check_axis_cases[];
extern const int check_axis_case_count;

// The axis, counted from the front.
int check_axis(const check_axis_case *c);

#endif
