// SPDX-License-Identifier: MIT
#include "lang/lower/collective.h"

static tsri_ir_op joining(tsri_ir_collective collective) {
  switch (collective) {
    case TSRI_COLLECTIVE_GROUP_MIN:
    case TSRI_COLLECTIVE_SUBGROUP_MIN:
      return TSRI_OP_MIN;
    case TSRI_COLLECTIVE_GROUP_MAX:
    case TSRI_COLLECTIVE_SUBGROUP_MAX:
      return TSRI_OP_MAX;
    case TSRI_COLLECTIVE_GROUP_ANY:
    case TSRI_COLLECTIVE_SUBGROUP_ANY:
      return TSRI_OP_OR;
    case TSRI_COLLECTIVE_GROUP_ALL:
    case TSRI_COLLECTIVE_SUBGROUP_ALL:
      return TSRI_OP_AND;
    default:
      return TSRI_OP_ADD;
  }
}

tsri_collective_way tsri_collective_way_of(tsri_ir_collective collective) {
  const tsri_ir_collective_info *info = &tsri_ir_collective_infos[collective];
  return (tsri_collective_way){.is_group = info->scope == TSRI_SCOPE_GROUP,
                               .is_shuffle = info->arity == 2,
                               .is_ballot = collective == TSRI_COLLECTIVE_SUBGROUP_BALLOT,
                               .is_bool = info->rule == TSRI_RULE_BOOL && collective != TSRI_COLLECTIVE_SUBGROUP_BALLOT,
                               .op = joining(collective)};
}

tsri_ir_collective tsri_collective_of_subgroup(tsri_ir_collective group) {
  _Static_assert(TSRI_COLLECTIVE_SUBGROUP_ALL - TSRI_COLLECTIVE_GROUP_ALL == TSRI_COLLECTIVE_SUBGROUP_SUM,
                 "both scopes list their collectives in the same order");
  return (tsri_ir_collective)(group + TSRI_COLLECTIVE_SUBGROUP_SUM);
}

const char *tsri_collective_name(const tsri_collective_way *way) {
  switch (way->op) {
    case TSRI_OP_MIN:
    case TSRI_OP_AND:
      return "min";
    case TSRI_OP_MAX:
    case TSRI_OP_OR:
      return "max";
    default:
      return "add";
  }
}
