// SPDX-License-Identifier: MIT
// Loads and stores of lanes in buffers and shared arrays.
//
// If the index allows it, an access is executed as a run (lane i at base + i * step). That is known at once from an affine index, or found by scanning an index
// register. Other accesses go lane by lane. Lanes outside the set never access memory where that could fail: with a mask, runs are used only for loads, and
// only if the whole run is inside the array.
#include <string.h>

#include "backends/cpu/lanes/program.h"

// --- Index checks -----------------------------------------------------------------------------------------------------

// Whether the access to `wide` elements from `index`, a multiple of `wide`, is inside the array.
static bool is_inside(int64_t index, uint32_t wide, uint64_t count) {
  return index >= 0 && (uint64_t)index + wide <= count && ((uint64_t)index & (wide - 1)) == 0;
}

static int64_t index_at(uint8_t index_kind, const void *index, uint32_t lane) {
  if (index_kind == TSRI_LANE_INDEX_U32) return ((const lane_u32 *)index)[lane];
  if (index_kind == TSRI_LANE_INDEX_I32) return ((const lane_i32 *)index)[lane];
  return ((const lane_i64 *)index)[lane];
}

// Rounds indices down: accesses of several elements begin at a multiple of their number. In checked mode other indices have been refused before.
static const void *round_down(const lane_exec *x, const lane_insn *insn, const void *index) {
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  if (wide == 1) return index;
  if (insn->form == TSRI_LANE_INDEX_I64) {
    lane_i64 *to = x->work->index_scratch;
    for (uint32_t i = 0; i < x->set.n; i++) to[i] = ((const lane_i64 *)index)[i] & -(int64_t)wide;
  } else {
    lane_u32 *to = x->work->index_scratch;
    for (uint32_t i = 0; i < x->set.n; i++) to[i] = ((const lane_u32 *)index)[i] & (0u - wide);
  }
  return x->work->index_scratch;
}

// Finds the first lane whose index is out of range; true if there is none.
static bool check_lanes(lane_exec *x, const lane_insn *insn, const void *index, uint64_t count) {
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  for (uint32_t i = 0; i < x->set.n; i++) {
    if (x->set.mask && x->set.mask[i] == 0) continue;
    int64_t value = index_at(insn->form, index, i);
    if (!is_inside(value, wide, count)) return tsri_lanes_stop(x, TSR_ERR_LAUNCH, insn, value, count);
  }
  return true;
}

static bool range_is_inside(const lane_insn *insn, const tsri_lane_range *range, uint64_t count) {
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  return range->least >= 0 && (uint64_t)range->most + wide <= count && wide == 1;
}

// --- Access lane by lane ----------------------------------------------------------------------------------------------

static tsri_lane_range scan(const lane_exec *x, uint8_t index_kind, const void *index) {
  tsri_lane_range range;
  if (index_kind == TSRI_LANE_INDEX_U32) {
    x->isa->scan_u32(index, x->set.mask, x->set.n, &range);
  } else if (index_kind == TSRI_LANE_INDEX_I32) {
    x->isa->scan_i32(index, x->set.mask, x->set.n, &range);
  } else {
    x->isa->scan_i64(index, x->set.mask, x->set.n, &range);
  }
  return range;
}

// u32 indices beyond i32's range are widened to i64 in place: the scratch has the room. Returns whether it was done.
static bool widen_index(lane_exec *x, uint8_t index_kind, const void **index, const tsri_lane_range *range) {
  if (index_kind == TSRI_LANE_INDEX_I64) return true;
  if (index_kind != TSRI_LANE_INDEX_U32 || range->most <= INT32_MAX) return false;
  const lane_u32 *from = *index;
  lane_i64 *to = x->work->index_scratch;
  for (uint32_t i = x->set.n; i-- > 0;) to[i] = from[i];  // backwards, as `from` may be the scratch
  *index = to;
  return true;
}

typedef struct element_access {
  const lane_array *array;
  const tsri_lane_storage *storage;
  const lane_array_info *info;
  char *memory;  // address of the part of a wide element
} element_access;

static element_access access_of(const lane_exec *x, const lane_insn *insn) {
  element_access to = {.array = &x->work->arrays[insn->a], .info = &x->program->arrays[insn->a]};
  to.storage = &x->isa->storage[to.info->dtype];
  to.memory = to.array->memory + (size_t)TSRI_LANE_PART_OF(insn->flags) * to.info->element_bytes;
  return to;
}

// Whether the register can refer to the memory instead of holding a copy.
static bool may_point(const lane_exec *x, const lane_insn *insn, const element_access *from) {
  return (insn->flags & TSRI_LANE_ALIAS) && x->launch->may_alias_memory && !x->is_checked &&
         from->info->element_bytes == from->info->value_bytes;
}

// Scans an index register. False: an index is out of range in checked mode, and the launch has been stopped.
static bool look_at(lane_exec *x, const lane_insn *insn, const element_access *to, const void **index,
                    tsri_lane_range *range) {
  if (!x->is_checked) *index = round_down(x, insn, *index);
  *range = scan(x, insn->form, *index);
  return !x->is_checked || range_is_inside(insn, range, to->array->count) ||
         check_lanes(x, insn, *index, to->array->count);
}

static bool load_lanes(lane_exec *x, const lane_insn *insn, const element_access *from, const void *index) {
  tsri_lane_range range;
  if (!look_at(x, insn, from, &index, &range)) return false;
  if (range.is_linear) {
    char *first = from->memory + index_at(insn->form, index, 0) * from->info->element_bytes;
    if (range.step == 1 && may_point(x, insn, from)) {
      x->work->reg[insn->dst] = first;
      return true;
    }
    from->storage->load(lane_result(x, insn), first, range.step, x->set.n);
    return true;  // no mask, so nothing to merge
  }
  void *dst = lane_result(x, insn);
  if (widen_index(x, insn->form, &index, &range)) {
    from->storage->gather_64(dst, from->memory, index, x->set.mask, x->set.n);
  } else {
    from->storage->gather_32(dst, from->memory, index, x->set.mask, x->set.n);
  }
  lane_finish(x, insn, from->info->value_bytes);
  return true;
}

static bool store_lanes(lane_exec *x, const lane_insn *insn, const element_access *to, const void *value,
                        const void *index) {
  tsri_lane_range range;
  if (!look_at(x, insn, to, &index, &range)) return false;
  if (range.is_linear) {
    char *first = to->memory + index_at(insn->form, index, 0) * to->info->element_bytes;
    to->storage->store(first, value, range.step, x->set.n);
  } else if (widen_index(x, insn->form, &index, &range)) {
    to->storage->scatter_64(to->memory, value, index, x->set.mask, x->set.n);
  } else {
    to->storage->scatter_32(to->memory, value, index, x->set.mask, x->set.n);
  }
  return true;
}

// --- Access in runs ---------------------------------------------------------------------------------------------------

// Whether all indices of the affine form are inside the array.
static bool affine_is_inside(const lane_insn *insn, const lane_affine *affine, uint64_t count) {
  return affine->least >= 0 && (uint64_t)affine->most + TSRI_LANE_WIDE_OF(insn->flags) <= count;
}

// Whether no index wraps around, and all are multiples of the number of elements accessed at once.
static bool is_regular(const lane_insn *insn, const lane_affine *affine) {
  int64_t low = (int64_t)TSRI_LANE_WIDE_OF(insn->flags) - 1;
  return affine->is_exact && ((affine->base | affine->step[0] | affine->step[1] | affine->step[2]) & low) == 0;
}

static void load_runs(const lane_exec *x, const element_access *from, const lane_affine *affine, char *dst) {
  int64_t element = from->info->element_bytes;
  char *first = from->memory + affine->base * element;
  if (affine->is_linear) {
    from->storage->load(dst, first, affine->step[0], x->set.n);
    return;
  }
  uint32_t rows = x->group_xy / x->group_x, y = 0, z = 0;
  for (uint32_t at = 0; at < x->set.n; at += x->group_x) {
    uint32_t count = x->set.n - at < x->group_x ? x->set.n - at : x->group_x;
    char *row = first + (affine->step[1] * y + affine->step[2] * z) * element;
    from->storage->load(dst + (size_t)at * from->info->value_bytes, row, affine->step[0], count);
    if (++y == rows) {
      y = 0;
      z++;
    }
  }
}

static void store_runs(const lane_exec *x, const element_access *to, const lane_affine *affine, const char *value) {
  int64_t element = to->info->element_bytes;
  char *first = to->memory + affine->base * element;
  if (affine->is_linear) {
    if (to->array->is_streamed && affine->step[0] == 1) {
      x->isa->stream(first, value, (size_t)x->set.n * to->info->element_bytes);
    } else {
      to->storage->store(first, value, affine->step[0], x->set.n);
    }
    return;
  }
  uint32_t rows = x->group_xy / x->group_x, y = 0, z = 0;
  for (uint32_t at = 0; at < x->set.n; at += x->group_x) {
    uint32_t count = x->set.n - at < x->group_x ? x->set.n - at : x->group_x;
    char *row = first + (affine->step[1] * y + affine->step[2] * z) * element;
    to->storage->store(row, value + (size_t)at * to->info->value_bytes, affine->step[0], count);
    if (++y == rows) {
      y = 0;
      z++;
    }
  }
}

// If the lanes are only read by muladd_rows, the register refers to their rows in memory instead of copying them.
static bool point_at_rows(const lane_exec *x, const lane_insn *insn, const element_access *from,
                          const lane_affine *affine) {
  if (!(insn->flags & TSRI_LANE_ROWS) || !may_point(x, insn, from) || x->set.mask || affine->step[2] != 0) return false;
  x->work->reg[insn->dst] = from->memory + affine->base * from->info->element_bytes;
  x->work->steps[insn->dst] = (lane_steps){.x = affine->step[0], .y = affine->step[1]};
  return true;
}

// --- Instructions -----------------------------------------------------------------------------------------------------

// Whether elements are also read for lanes that are off, whose values nobody uses. Other work-groups may write these elements meanwhile, which the thread
// sanitizer would report.
#if defined(__SANITIZE_THREAD__)
enum { READS_FOR_ALL_LANES = 0 };
#else
enum { READS_FOR_ALL_LANES = 1 };
#endif

// Whether the load of lanes in runs is allowed.
static bool may_load_runs(const lane_exec *x, const lane_insn *insn, const element_access *from,
                          const lane_affine *affine) {
  if (!is_regular(insn, affine)) return false;
  if (!x->is_checked && !x->set.mask) return true;
  return (READS_FOR_ALL_LANES || !x->set.mask) && affine_is_inside(insn, affine, from->array->count);
}

bool tsri_lanes_load(lane_exec *x, const lane_insn *insn) {
  lane_work *work = x->work;
  if (insn->flags & TSRI_LANE_ALIAS) {
    work->reg[insn->dst] = work->home[insn->dst];
    if (insn->flags & TSRI_LANE_ROWS) work->steps[insn->dst] = (lane_steps){.x = 1, .y = x->group_x};
  }
  if (x->set.n == 0) return true;
  element_access from = access_of(x, insn);
  if (insn->op == TSRI_LANE_LOAD_LANES) return load_lanes(x, insn, &from, work->reg[insn->b]);

  lane_affine affine;
  tsri_lanes_affine(x, insn->form, work->reg[insn->b], work->reg[insn->c], work->reg[insn->d], work->reg[insn->e],
                    &affine);
  if (!may_load_runs(x, insn, &from, &affine)) {
    tsri_lanes_affine_fill(x, insn->form, &affine, work->index_scratch);
    return load_lanes(x, insn, &from, work->index_scratch);
  }
  if (affine.is_linear && affine.step[0] == 1 && may_point(x, insn, &from)) {
    work->reg[insn->dst] = from.memory + affine.base * from.info->element_bytes;
    return true;
  }
  if (point_at_rows(x, insn, &from, &affine)) return true;
  load_runs(x, &from, &affine, lane_result(x, insn));
  lane_finish(x, insn, from.info->value_bytes);
  return true;
}

// The common case of point_at_rows: no mask, complete rows, and no index that could wrap around.
bool tsri_lanes_load_rows(lane_exec *x, const lane_insn *insn) {
  lane_work *work = x->work;
  uint32_t base = *(const lane_u32 *)work->reg[insn->b];
  int64_t step_x = *(const lane_i32 *)work->reg[insn->c], step_y = *(const lane_i32 *)work->reg[insn->d];
  int64_t most = base + step_x * (x->group_x - 1) + step_y * (x->program->group[1] - 1);
  bool is_usual = !x->set.mask && x->set.n == x->program->lanes && x->launch->may_alias_memory && step_x >= 0 &&
                  step_y >= 0 && most <= INT32_MAX;
  if (!is_usual) return tsri_lanes_load(x, insn);
  work->reg[insn->dst] = work->arrays[insn->a].memory + (size_t)base * sizeof(float);
  work->steps[insn->dst] = (lane_steps){.x = step_x, .y = step_y};
  return true;
}

void tsri_lanes_muladd_rows(lane_exec *x, const lane_insn *insn) {
  const lane_work *work = x->work;
  const lane_steps *a = &work->steps[insn->a], *b = &work->steps[insn->b];
  if (a->x == 1 && b->x == 1 && a->y == x->group_x && b->y == x->group_x) {
    x->isa->ops[insn->e][0](lane_result(x, insn), work->reg[insn->a], work->reg[insn->b], work->reg[insn->c], x->set.n);
    lane_finish(x, insn, 4);
    return;
  }
  bool is_fused = insn->e == TSRI_LANE_FMA_F32 - (uint32_t)TSRI_LANE_FIRST_MATH;
  x->isa->muladd_rows(lane_result(x, insn),
                      (tsri_lane_rows){.memory = work->reg[insn->a], .step_x = a->x, .step_y = a->y},
                      (tsri_lane_rows){.memory = work->reg[insn->b], .step_x = b->x, .step_y = b->y},
                      work->reg[insn->c], x->group_x, x->set.n, is_fused);
  lane_finish(x, insn, 4);  // with a mask, both are registers: nothing to do
}

// The common case of a load: without a mask, contiguous elements.
bool tsri_lanes_load_unit(lane_exec *x, const lane_insn *insn) {
  lane_work *work = x->work;
  int64_t base;
  if (x->set.mask || !x->launch->may_alias_memory || !lane_unit_base(x, insn, work->reg[insn->b], &base)) {
    return tsri_lanes_load(x, insn);
  }
  work->reg[insn->dst] = work->arrays[insn->a].memory + base * x->program->arrays[insn->a].element_bytes;
  return true;
}

bool tsri_lanes_store_unit(lane_exec *x, const lane_insn *insn) {
  lane_work *work = x->work;
  int64_t base;
  if (x->set.mask || !lane_unit_base(x, insn, work->reg[insn->b], &base)) return tsri_lanes_store(x, insn);
  const lane_array_info *info = &x->program->arrays[insn->a];
  const lane_array *array = &work->arrays[insn->a];
  char *to = array->memory + base * info->element_bytes;
  if (array->is_streamed) {
    x->isa->stream(to, work->reg[insn->dst], (size_t)x->set.n * info->element_bytes);
  } else {
    x->isa->storage[info->dtype].store(to, work->reg[insn->dst], 1, x->set.n);
  }
  return true;
}

// The value to store as an array of lanes; a scalar is repeated.
static const void *value_lanes(lane_exec *x, const lane_insn *insn, uint32_t value_bytes) {
  void *value = x->work->reg[insn->dst];
  if (insn->dst >= x->program->scalar_count) return value;
  uint32_t move = (value_bytes == 4 ? TSRI_LANE_MOVE_32 : TSRI_LANE_MOVE_64) - (uint32_t)TSRI_LANE_FIRST_MATH;
  x->isa->ops[move][1](x->work->value_scratch, value, NULL, NULL, x->set.n);
  return x->work->value_scratch;
}

bool tsri_lanes_store(lane_exec *x, const lane_insn *insn) {
  if (x->set.n == 0) return true;
  lane_work *work = x->work;
  element_access to = access_of(x, insn);
  const void *value = value_lanes(x, insn, to.info->value_bytes);
  if (insn->op == TSRI_LANE_STORE_LANES) return store_lanes(x, insn, &to, value, work->reg[insn->b]);

  lane_affine affine;
  tsri_lanes_affine(x, insn->form, work->reg[insn->b], work->reg[insn->c], work->reg[insn->d], work->reg[insn->e],
                    &affine);
  if (!is_regular(insn, &affine) || x->set.mask ||
      (x->is_checked && !affine_is_inside(insn, &affine, to.array->count))) {
    tsri_lanes_affine_fill(x, insn->form, &affine, work->index_scratch);
    return store_lanes(x, insn, &to, value, work->index_scratch);
  }
  store_runs(x, &to, &affine, value);
  return true;
}

static bool scalar_place(lane_exec *x, const lane_insn *insn, const element_access *to, char **out_memory) {
  int64_t index = index_at(insn->form, x->work->reg[insn->b], 0);
  if (x->is_checked && !is_inside(index, TSRI_LANE_WIDE_OF(insn->flags), to->array->count)) {
    return tsri_lanes_stop(x, TSR_ERR_LAUNCH, insn, index, to->array->count);
  }
  index &= -(int64_t)TSRI_LANE_WIDE_OF(insn->flags);
  *out_memory = to->memory + index * to->info->element_bytes;
  return true;
}

bool tsri_lanes_load_scalar(lane_exec *x, const lane_insn *insn) {
  if (x->set.n == 0) return true;
  element_access from = access_of(x, insn);
  char *memory = NULL;
  if (!scalar_place(x, insn, &from, &memory)) return false;
  from.storage->load(x->work->reg[insn->dst], memory, 1, 1);
  return true;
}

bool tsri_lanes_store_scalar(lane_exec *x, const lane_insn *insn) {
  if (x->set.n == 0) return true;
  element_access to = access_of(x, insn);
  char *memory = NULL;
  if (!scalar_place(x, insn, &to, &memory)) return false;
  to.storage->store(memory, x->work->reg[insn->dst], 1, 1);
  return true;
}
