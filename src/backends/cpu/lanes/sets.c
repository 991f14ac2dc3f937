// SPDX-License-Identifier: MIT
// The set of lanes for which instructions are executed, and how conditions and loops change it.
//
// As long as the set is the first n lanes, no mask is needed. That is so for all lanes, and for the usual `if (i < n)`. A mask is made only if lanes in between
// drop out.
#include "backends/cpu/lanes/program.h"

uint32_t tsri_lanes_first(const lane_exec *x) {
  uint32_t i = 0;
  if (x->set.mask) {
    while (i + 1 < x->set.n && x->set.mask[i] == 0) i++;
  }
  return i;
}

// Updates the set from `mask`, which has `count` (not 0) lanes of 1.
static bool settle(lane_exec *x, const uint32_t *mask, uint32_t count) {
  lane_set *set = &x->set;
  if (count == 0) {
    set->n = 0;
    return false;
  }
  if (x->isa->mask_count(mask, 0, count) == count) {
    *set = (lane_set){.n = count};
    return true;
  }
  set->mask = mask;
  while (set->n > 1 && mask[set->n - 1] == 0) set->n--;
  return true;
}

bool tsri_lanes_narrow(lane_exec *x, uint32_t *mask, const uint32_t *condition, uint32_t flip) {
  lane_set *set = &x->set;
  if (set->mask) return settle(x, mask, x->isa->mask_and(mask, set->mask, condition, flip, set->n));
  uint32_t count = x->isa->mask_count(condition, flip, set->n);
  if (count == set->n) return count != 0;
  if (count == 0 || x->isa->mask_count(condition, flip, count) == count) {
    set->n = count;
    return count != 0;
  }
  return settle(x, mask, x->isa->mask_and(mask, NULL, condition, flip, set->n));
}

static bool is_below(int64_t value, int64_t bound, bool or_equal) { return or_equal ? value <= bound : value < bound; }

static bool narrow_lane_by_lane(lane_exec *x, const lane_insn *insn, const lane_affine *affine) {
  static const uint16_t ops[TSRI_LANE_INDEX_KINDS][2] = {
      [TSRI_LANE_INDEX_U32] = {TSRI_LANE_LT_U32, TSRI_LANE_LE_U32},
      [TSRI_LANE_INDEX_I32] = {TSRI_LANE_LT_I32, TSRI_LANE_LE_I32},
      [TSRI_LANE_INDEX_I64] = {TSRI_LANE_LT_I64, TSRI_LANE_LE_I64},
  };
  lane_work *work = x->work;
  tsri_lanes_affine_fill(x, insn->form, affine, work->index_scratch);
  uint32_t op = ops[insn->form][(insn->flags & TSRI_LANE_OR_EQUAL) != 0] - (uint32_t)TSRI_LANE_FIRST_MATH;
  x->isa->ops[op][TSRI_LANE_FORM_VS](work->mask_scratch, work->index_scratch, work->reg[insn->b], NULL, x->set.n);
  return tsri_lanes_narrow(x, work->reg[insn->dst], work->mask_scratch, (insn->flags & TSRI_LANE_INVERT) != 0);
}

bool tsri_lanes_narrow_affine(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  if (x->set.n == 0) return false;
  lane_affine affine;
  tsri_lanes_affine(x, insn->form, reg[insn->a], reg[insn->d], reg[insn->e], reg[insn->f], &affine);
  int64_t bound = insn->form == TSRI_LANE_INDEX_U32   ? (int64_t) * (const uint32_t *)reg[insn->b]
                  : insn->form == TSRI_LANE_INDEX_I32 ? *(const lane_i32 *)reg[insn->b]
                                                      : *(const lane_i64 *)reg[insn->b];
  bool or_equal = (insn->flags & TSRI_LANE_OR_EQUAL) != 0, invert = (insn->flags & TSRI_LANE_INVERT) != 0;
  if (!affine.is_exact) return narrow_lane_by_lane(x, insn, &affine);
  bool all = is_below(affine.most, bound, or_equal), none = !is_below(affine.least, bound, or_equal);
  if (all || none) {
    if (all != invert) return true;
    x->set.n = 0;
    return false;
  }
  if (affine.is_linear && affine.step[0] == 1 && !invert && !x->set.mask) {
    x->set.n = (uint32_t)(bound - affine.base) + (or_equal ? 1 : 0);  // between 1 and n - 1
    return true;
  }
  return narrow_lane_by_lane(x, insn, &affine);
}

bool tsri_lanes_narrow_unit(lane_exec *x, const lane_insn *insn) {
  int64_t base;
  const void *bound = x->work->reg[insn->b];
  if (x->set.mask || insn->form == TSRI_LANE_INDEX_I64 || !lane_unit_base(x, insn, x->work->reg[insn->a], &base)) {
    return tsri_lanes_narrow_affine(x, insn);
  }
  int64_t end = insn->form == TSRI_LANE_INDEX_U32 ? (int64_t) * (const lane_u32 *)bound : *(const lane_i32 *)bound;
  if (insn->flags & TSRI_LANE_OR_EQUAL) end++;
  if (base + x->set.n <= end) return true;
  x->set.n = base < end ? (uint32_t)(end - base) : 0;
  return x->set.n != 0;
}

bool tsri_lanes_drop(lane_exec *x, const lane_insn *insn) {
  uint32_t *mask = x->work->reg[insn->dst];
  const uint32_t marks[2] = {insn->a, insn->b};
  for (int i = 0; i < 2; i++) {
    if (marks[i] == LANE_NONE) continue;
    if (x->set.n == 0 || !tsri_lanes_narrow(x, mask, x->work->reg[marks[i]], 1)) return false;
  }
  return x->set.n != 0;
}

void tsri_lanes_leave(lane_exec *x, uint32_t *marks) {
  for (uint32_t i = 0; i < x->set.n; i++) {
    if (!x->set.mask || x->set.mask[i] != 0) marks[i] = 1;
  }
  x->set.n = 0;
}
