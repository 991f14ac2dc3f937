// SPDX-License-Identifier: MIT
// Local arrays, of which each lane has its own, and atomics.
//
// Element e of all lanes is contiguous (lane i at e * lanes + i), so an index that is the same for all lanes reads and writes the array like a register.
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/lanes/program.h"

static int64_t index_at(uint8_t index_kind, const void *index, uint32_t lane) {
  if (index_kind == TSRI_LANE_INDEX_U32) return ((const lane_u32 *)index)[lane];
  if (index_kind == TSRI_LANE_INDEX_I32) return ((const lane_i32 *)index)[lane];
  return ((const lane_i64 *)index)[lane];
}

static bool is_active(const lane_exec *x, uint32_t lane) { return !x->set.mask || x->set.mask[lane] != 0; }

// Address of the lane's element. NULL: the index is out of range, and the launch has been stopped.
static char *element_of(lane_exec *x, const lane_insn *insn, int64_t index, uint32_t lane) {
  const lane_array *array = &x->work->arrays[insn->a];
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  if (x->is_checked && (index < 0 || (uint64_t)index + wide > array->count || ((uint64_t)index & (wide - 1)) != 0)) {
    tsri_lanes_stop(x, TSR_ERR_LAUNCH, insn, index, array->count);
    return NULL;
  }
  uint64_t element = ((uint64_t)index & (0 - (uint64_t)wide)) + TSRI_LANE_PART_OF(insn->flags);
  return array->memory + (element * x->program->lanes + lane) * x->program->arrays[insn->a].value_bytes;
}

static bool is_scalar(const lane_exec *x, uint32_t reg) { return reg < x->program->scalar_count; }

bool tsri_lanes_local_load(lane_exec *x, const lane_insn *insn) {
  if (x->set.n == 0) return true;
  uint32_t bytes = x->program->arrays[insn->a].value_bytes;
  const void *index = x->work->reg[insn->b];
  char *dst = lane_result(x, insn);
  if (is_scalar(x, insn->b)) {
    const char *from = element_of(x, insn, index_at(insn->form, index, 0), 0);
    if (!from) return false;
    memcpy(dst, from, (size_t)x->set.n * bytes);
  } else {
    for (uint32_t i = 0; i < x->set.n; i++) {
      if (!is_active(x, i)) continue;
      const char *from = element_of(x, insn, index_at(insn->form, index, i), i);
      if (!from) return false;
      memcpy(dst + (size_t)i * bytes, from, bytes);
    }
  }
  lane_finish(x, insn, bytes);
  return true;
}

bool tsri_lanes_local_store(lane_exec *x, const lane_insn *insn) {
  if (x->set.n == 0) return true;
  uint32_t bytes = x->program->arrays[insn->a].value_bytes;
  const void *index = x->work->reg[insn->b];
  const char *value = x->work->reg[insn->dst];
  size_t value_step = is_scalar(x, insn->dst) ? 0 : bytes;
  uint32_t index_step = is_scalar(x, insn->b) ? 0 : 1;
  if (index_step == 0 && value_step != 0) {
    char *to = element_of(x, insn, index_at(insn->form, index, 0), 0);
    if (!to) return false;
    if (!x->set.mask) {
      memcpy(to, value, (size_t)x->set.n * bytes);
    } else if (bytes == 4) {
      x->isa->blend_32((uint32_t *)(void *)to, (const uint32_t *)(const void *)value, x->set.mask, x->set.n);
    } else {
      x->isa->blend_64((uint64_t *)(void *)to, (const uint64_t *)(const void *)value, x->set.mask, x->set.n);
    }
    return true;
  }
  for (uint32_t i = 0; i < x->set.n; i++) {
    if (!is_active(x, i)) continue;
    char *to = element_of(x, insn, index_at(insn->form, index, i * index_step), i);
    if (!to) return false;
    memcpy(to, value + i * value_step, bytes);
  }
  return true;
}

// Lanes outside the set do not use the array at this point, so they may be cleared as well.
void tsri_lanes_local_clear(lane_exec *x, const lane_insn *insn) {
  const lane_array_info *info = &x->program->arrays[insn->a];
  memset(x->work->arrays[insn->a].memory, 0, (size_t)info->count * info->value_bytes * x->program->lanes);
}

// --- Atomics ----------------------------------------------------------------------------------------------------------

static uint32_t exchange_in_loop(_Atomic uint32_t *at, uint32_t op, uint32_t value, bool is_signed) {
  uint32_t old = atomic_load_explicit(at, memory_order_relaxed);
  for (;;) {
    bool is_less = is_signed ? (int32_t)value < (int32_t)old : value < old;
    uint32_t wanted = (op == TSRI_ATOMIC_MIN) == is_less ? value : old;
    if (atomic_compare_exchange_weak_explicit(at, &old, wanted, memory_order_relaxed, memory_order_relaxed)) return old;
  }
}

static uint32_t do_atomic(_Atomic uint32_t *at, uint32_t op, uint32_t value, uint32_t compare, bool is_signed) {
  switch ((tsri_ir_atomic)op) {
    case TSRI_ATOMIC_ADD:
      return atomic_fetch_add_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_SUB:
      return atomic_fetch_sub_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_AND:
      return atomic_fetch_and_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_OR:
      return atomic_fetch_or_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_XOR:
      return atomic_fetch_xor_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_EXCHANGE:
      return atomic_exchange_explicit(at, value, memory_order_relaxed);
    case TSRI_ATOMIC_COMPARE_EXCHANGE:
      atomic_compare_exchange_strong_explicit(at, &compare, value, memory_order_relaxed, memory_order_relaxed);
      return compare;
    case TSRI_ATOMIC_MIN:
    case TSRI_ATOMIC_MAX:
    case TSRI_ATOMIC_COUNT:
      break;
  }
  return exchange_in_loop(at, op, value, is_signed);
}

bool tsri_lanes_atomic(lane_exec *x, const lane_insn *insn) {
  const lane_array *array = &x->work->arrays[insn->a];
  bool is_signed = x->program->arrays[insn->a].dtype == TSR_I32;
  const void *index = x->work->reg[insn->b];
  const uint32_t *value = x->work->reg[insn->c];
  const uint32_t *compare = insn->d != LANE_NONE ? x->work->reg[insn->d] : value;
  size_t index_step = is_scalar(x, insn->b) ? 0 : 1, value_step = is_scalar(x, insn->c) ? 0 : 1;
  size_t compare_step = insn->d == LANE_NONE ? value_step : is_scalar(x, insn->d) ? 0 : 1;
  uint32_t *old = insn->dst != LANE_NONE ? x->work->reg[insn->dst] : NULL;
  for (uint32_t i = 0; i < x->set.n; i++) {
    if (!is_active(x, i)) continue;
    int64_t at = index_at(insn->form, index, index_step != 0 ? i : 0);
    if (x->is_checked && (at < 0 || (uint64_t)at >= array->count)) {
      return tsri_lanes_stop(x, TSR_ERR_LAUNCH, insn, at, array->count);
    }
    _Atomic uint32_t *place = (_Atomic uint32_t *)(void *)array->memory + at;
    uint32_t before = do_atomic(place, insn->e, value[i * value_step], compare[i * compare_step], is_signed);
    if (old) old[i] = before;
  }
  return true;
}
