// SPDX-License-Identifier: MIT
// Operations over the lanes of a group or a subgroup.
//
// The compiler emits them only in uniform control flow, where all lanes of the group are in the set. In programs from elsewhere, lanes outside the set are left
// out. The order of operations is fixed, so results do not depend on the SIMD level.
#include <string.h>

#include "backends/cpu/lanes/program.h"

typedef enum fold { FOLD_SUM, FOLD_MIN, FOLD_MAX, FOLDS } fold;

static fold fold_of(uint32_t collective) {
  switch (collective) {
    case TSRI_COLLECTIVE_GROUP_MIN:
    case TSRI_COLLECTIVE_SUBGROUP_MIN:
    case TSRI_COLLECTIVE_GROUP_ALL:
    case TSRI_COLLECTIVE_SUBGROUP_ALL:
      return FOLD_MIN;
    case TSRI_COLLECTIVE_GROUP_MAX:
    case TSRI_COLLECTIVE_SUBGROUP_MAX:
    case TSRI_COLLECTIVE_GROUP_ANY:
    case TSRI_COLLECTIVE_SUBGROUP_ANY:
      return FOLD_MAX;
    default:
      return FOLD_SUM;
  }
}

// The instruction that combines two lanes, for each dtype and fold. Floats are summed by sum_f32 and sum_f64.
static const uint16_t instructions[TSR_DTYPE_COUNT][FOLDS] = {
    [TSR_BOOL] = {TSRI_LANE_ADD_U32, TSRI_LANE_MIN_U32, TSRI_LANE_MAX_U32},
    [TSR_U32] = {TSRI_LANE_ADD_U32, TSRI_LANE_MIN_U32, TSRI_LANE_MAX_U32},
    [TSR_I32] = {TSRI_LANE_ADD_U32, TSRI_LANE_MIN_I32, TSRI_LANE_MAX_I32},
    [TSR_I64] = {TSRI_LANE_ADD_I64, TSRI_LANE_MIN_I64, TSRI_LANE_MAX_I64},
    [TSR_F32] = {TSRI_LANE_ADD_F32, TSRI_LANE_MIN_F32, TSRI_LANE_MAX_F32},
    [TSR_F64] = {TSRI_LANE_ADD_F64, TSRI_LANE_MIN_F64, TSRI_LANE_MAX_F64},
};

// Folds n > 0 lanes into one value at `out`: the upper half onto the lower half, until one lane is left.
static void fold_lanes(const lane_exec *x, uint32_t dtype, fold how, const void *values, uint32_t n, void *out) {
  if (how == FOLD_SUM && dtype == TSR_F32) {
    float sum = x->isa->sum_f32(values, n);
    memcpy(out, &sum, sizeof sum);
    return;
  }
  if (how == FOLD_SUM && dtype == TSR_F64) {
    double sum = x->isa->sum_f64(values, n);
    memcpy(out, &sum, sizeof sum);
    return;
  }
  size_t bytes = dtype == TSR_I64 || dtype == TSR_F64 ? 8 : 4;
  tsri_lane_fn apply = x->isa->ops[instructions[dtype][how] - (uint32_t)TSRI_LANE_FIRST_MATH][TSRI_LANE_FORM_VV];
  char *folded = x->work->value_scratch;
  const char *from = values;
  while (n > 1) {
    uint32_t half = (n + 1) / 2;
    apply(folded, from, from + half * bytes, NULL, n - half);
    if (half > n - half)
      memmove(folded + (half - 1) * bytes, from + (half - 1) * bytes, bytes);  // the middle one of an odd number
    from = folded;
    n = half;
  }
  memcpy(out, from, bytes);
}

// The values of the set's lanes, contiguous: copied to the scratch memory if there is a mask.
static const void *packed(const lane_exec *x, const void *values, uint32_t bytes, uint32_t *out_count) {
  *out_count = x->set.n;
  if (!x->set.mask) return values;
  char *to = x->work->index_scratch;
  uint32_t count = 0;
  for (uint32_t i = 0; i < x->set.n; i++) {
    if (x->set.mask[i] == 0) continue;
    memcpy(to + (size_t)count * bytes, (const char *)values + (size_t)i * bytes, bytes);
    count++;
  }
  *out_count = count;
  return to;
}

void tsri_lanes_group(lane_exec *x, const lane_insn *insn) {
  uint32_t count;
  const void *values = packed(x, x->work->reg[insn->a], insn->op == TSRI_LANE_GROUP_32 ? 4 : 8, &count);
  if (count == 0) return;
  fold_lanes(x, insn->d, fold_of(insn->e), values, count, x->work->reg[insn->dst]);
}

static void shuffle(const lane_exec *x, const lane_insn *insn, uint32_t bytes, char *dst) {
  const char *values = x->work->reg[insn->a];
  const uint32_t *other = x->work->reg[insn->b];
  size_t step = insn->b < x->program->scalar_count ? 0 : 1;
  for (uint32_t i = 0; i < x->set.n; i++) {
    uint32_t first = i / TSRI_LANE_SUBGROUP * TSRI_LANE_SUBGROUP;
    uint32_t lane = other[i * step];
    if (insn->e == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) lane ^= i;
    uint32_t from = first + lane % TSRI_LANE_SUBGROUP;
    if (from < x->set.n) {
      memcpy(dst + (size_t)i * bytes, values + (size_t)from * bytes, bytes);
    } else {
      memset(dst + (size_t)i * bytes, 0, bytes);
    }
  }
}

static void ballot(const lane_exec *x, const lane_insn *insn, uint32_t *dst) {
  const uint32_t *values = x->work->reg[insn->a];
  for (uint32_t first = 0; first < x->set.n; first += TSRI_LANE_SUBGROUP) {
    uint32_t count = x->set.n - first < TSRI_LANE_SUBGROUP ? x->set.n - first : TSRI_LANE_SUBGROUP, bits = 0;
    for (uint32_t i = 0; i < count; i++) bits |= (uint32_t)(values[first + i] != 0) << i;
    for (uint32_t i = 0; i < count; i++) dst[first + i] = bits;
  }
}

// Results go through scratch memory, since a shuffle reads lanes that it would otherwise have overwritten.
void tsri_lanes_subgroup(lane_exec *x, const lane_insn *insn) {
  uint32_t bytes = insn->op == TSRI_LANE_SUBGROUP_32 ? 4 : 8;
  char *result = x->work->index_scratch;
  const char *values = x->work->reg[insn->a];
  if (insn->e == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE || insn->e == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) {
    shuffle(x, insn, bytes, result);
  } else if (insn->e == TSRI_COLLECTIVE_SUBGROUP_BALLOT && bytes == 4) {
    ballot(x, insn, (uint32_t *)(void *)result);
  } else {
    for (uint32_t first = 0; first < x->set.n; first += TSRI_LANE_SUBGROUP) {
      uint32_t count = x->set.n - first < TSRI_LANE_SUBGROUP ? x->set.n - first : TSRI_LANE_SUBGROUP;
      char *to = result + (size_t)first * bytes;
      fold_lanes(x, insn->d, fold_of(insn->e), values + (size_t)first * bytes, count, to);
      for (uint32_t i = 1; i < count; i++) memcpy(to + (size_t)i * bytes, to, bytes);
    }
  }
  memcpy(lane_result(x, insn), result, (size_t)x->set.n * bytes);
  lane_finish(x, insn, bytes);
}
