// SPDX-License-Identifier: MIT
// The list of operators, put together from its parts (check_ops_*.c).
#include "check_run.h"

static const check_part *const parts[] = {
    &check_elementwise_part, &check_scalar_part, &check_reduce_part, &check_rows_part, &check_linear_part,
    &check_join_part,        &check_index_part,  &check_create_part, &check_view_part,
};

enum { PART_COUNT = sizeof parts / sizeof parts[0] };

int check_op_count(void) {
  int count = 0;
  for (int i = 0; i < PART_COUNT; i++) count += parts[i]->count;
  return count;
}

const check_op *check_op_at(int i) {
  int part = 0;
  while (i >= parts[part]->count) i -= parts[part++]->count;
  return &parts[part]->ops[i];
}

const char *check_rule_text(check_rule rule) {
  switch (rule) {
    case CHECK_SAME:
      return "promoted";
    case CHECK_FLOAT:
      return "promoted; integers and bool give f32";
    case CHECK_COMPARE:
    case CHECK_TRUTH:
      return "bool";
    case CHECK_WHERE:
      return "promoted from the two that are chosen from";
    case CHECK_SUMMED:
      return "as given; bool, u8, i8, i16 give i32";
    case CHECK_INDEX:
      return "i32";
    default:
      return "the one asked for";
  }
}
