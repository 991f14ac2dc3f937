// SPDX-License-Identifier: MIT
#include "lang/lower/collective.h"

#include <string.h>

#include "support/test.h"

TEST(each_collective_joins_by_the_operation_it_is_named_for) {
  tsri_collective_way sum = tsri_collective_way_of(TSRI_COLLECTIVE_GROUP_SUM);
  CHECK(sum.op == TSRI_OP_ADD && sum.is_group && !sum.is_bool && !sum.is_shuffle);
  CHECK_STR(tsri_collective_name(&sum), "add");
  tsri_collective_way smallest = tsri_collective_way_of(TSRI_COLLECTIVE_SUBGROUP_MIN);
  CHECK(smallest.op == TSRI_OP_MIN && !smallest.is_group);
  tsri_collective_way any = tsri_collective_way_of(TSRI_COLLECTIVE_GROUP_ANY);
  CHECK(any.op == TSRI_OP_OR && any.is_bool && any.is_group);
  CHECK_STR(tsri_collective_name(&any), "max");
  tsri_collective_way all = tsri_collective_way_of(TSRI_COLLECTIVE_SUBGROUP_ALL);
  CHECK(all.op == TSRI_OP_AND && all.is_bool && !all.is_group);
  CHECK_STR(tsri_collective_name(&all), "min");
  CHECK(tsri_collective_way_of(TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR).is_shuffle);
}

TEST(each_collective_of_a_work_group_has_one_of_a_subgroup) {
  for (int op = TSRI_COLLECTIVE_GROUP_SUM; op <= TSRI_COLLECTIVE_GROUP_ALL; op++) {
    tsri_ir_collective within = tsri_collective_of_subgroup((tsri_ir_collective)op);
    CHECK(tsri_ir_collective_infos[within].scope == TSRI_SCOPE_SUBGROUP);
    CHECK_STR(tsri_ir_collective_infos[within].spelling + strlen("subgroup_"),
              tsri_ir_collective_infos[op].spelling + strlen("group_"));
  }
}
