// SPDX-License-Identifier: MIT
// Replaces instructions of a checked program by faster ones that do the same in the common case.
//
// Not for programs in checked mode: there the general instructions check every index.
#include "backends/cpu/lanes/program.h"
#include "core/alloc.h"
#include "core/error.h"

static bool is_one(const tsri_lanes_program *p, uint32_t reg) {
  uint32_t first = TSRI_LANE_PLACES + p->param_count;
  if (reg < first || reg - first >= p->const_count) return false;
  const uint32_t *bits = p->consts + 2 * (size_t)(reg - first);
  return bits[0] == 1 && bits[1] == 0;
}

// Most of the work of most kernels are accesses of neighbouring elements by neighbouring lanes, and comparisons of such an index with a bound. These get
// special instructions, which fall back on the general ones.
static void shorten(const tsri_lanes_program *p, lane_insn *insn) {
  bool has_rows =
      insn->op == TSRI_LANE_LOAD_AFFINE && (insn->flags & TSRI_LANE_ROWS) && (insn->flags & TSRI_LANE_ALIAS);
  if (has_rows && p->group[2] == 1 && insn->form != TSRI_LANE_INDEX_I64 && TSRI_LANE_WIDE_OF(insn->flags) == 1 &&
      p->arrays[insn->a].dtype == TSR_F32) {
    insn->op = EXEC_LOAD_ROWS;
  }
  if (p->group[1] * p->group[2] != 1) return;
  if (insn->op == TSRI_LANE_NARROW_AFFINE && is_one(p, insn->d) && !(insn->flags & TSRI_LANE_INVERT)) {
    insn->op = EXEC_NARROW_UNIT;
    return;
  }
  bool is_load = insn->op == TSRI_LANE_LOAD_AFFINE, is_store = insn->op == TSRI_LANE_STORE_AFFINE;
  if ((!is_load && !is_store) || !is_one(p, insn->c) || TSRI_LANE_WIDE_OF(insn->flags) != 1) return;
  const lane_array_info *array = &p->arrays[insn->a];
  if (is_load && (!(insn->flags & TSRI_LANE_ALIAS) || array->element_bytes != array->value_bytes)) return;
  if (is_store && insn->dst < p->scalar_count) return;
  insn->op = is_load ? EXEC_LOAD_UNIT : EXEC_STORE_UNIT;
}

// Whether these instructions are the parts of one access, by all lanes, to `wide` neighbouring 4-byte elements.
static bool is_wide_access(const tsri_lanes_program *p, const lane_insn *insn, uint32_t wide) {
  bool is_load = insn->op == TSRI_LANE_LOAD_AFFINE;
  if (p->arrays[insn->a].element_bytes != 4) return false;
  for (uint32_t i = 0; i < wide; i++) {
    const lane_insn *part = &insn[i];
    bool is_next = part->op == insn->op && part->a == insn->a && part->b == insn->b && part->c == insn->c &&
                   part->d == insn->d && part->e == insn->e && part->form == insn->form &&
                   TSRI_LANE_WIDE_OF(part->flags) == wide && TSRI_LANE_PART_OF(part->flags) == i;
    bool fits = is_load ? (part->flags & TSRI_LANE_ALIAS) != 0 : part->dst >= p->scalar_count;
    if (!is_next || !fits) return false;
  }
  return true;
}

static void find_wide(const tsri_lanes_program *p, const uint8_t *is_target) {
  for (uint32_t i = 0; i < p->insn_count; i++) {
    lane_insn *insn = &p->insns[i];
    if (insn->op != TSRI_LANE_LOAD_AFFINE && insn->op != TSRI_LANE_STORE_AFFINE) continue;
    uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
    if (wide == 1 || i + wide > p->insn_count || !is_wide_access(p, insn, wide)) continue;
    bool is_entered = false;
    for (uint32_t k = 1; k < wide; k++) is_entered = is_entered || is_target[i + k];
    if (is_entered) continue;
    insn->op = insn->op == TSRI_LANE_LOAD_AFFINE ? EXEC_LOAD_WIDE : EXEC_STORE_WIDE;
  }
}

// Marks runs of instructions for strip.c. A run ends before a jump target.
static void find_strips(tsri_lanes_program *p, const uint8_t *is_target) {
  for (uint32_t i = 0; i < p->insn_count;) {
    uint32_t count = 0, work = 0;
    while (i + count < p->insn_count && count < LANE_STRIP_INSNS && tsri_lanes_may_strip(&p->insns[i + count], p) &&
           (count == 0 || !is_target[i + count])) {
      work += p->insns[i + count].op != EXEC_LOAD_UNIT;
      count++;
    }
    if (work >= 2) p->strips[i] = (uint8_t)count;
    i += count > 0 ? count : 1;
  }
}

// Finds the registers that are read before they are written in a run: their values come from outside.
static void look_at_run(const tsri_lanes_program *p, uint32_t first, uint32_t count, uint32_t *written_in) {
  for (uint32_t i = first; i < first + count; i++) {
    const lane_insn *insn = &p->insns[i];
    bool reads_dst = insn->op == EXEC_STORE_UNIT;
    for (unsigned slot = reads_dst ? 0 : 1; slot < 7; slot++) {
      if (!(p->reg_slots[i] >> slot & 1)) continue;
      uint32_t reg = *lane_operand_at(insn, slot);
      if (written_in[reg] != first + 1) p->is_internal[reg] = false;
    }
    if (!reads_dst) written_in[insn->dst] = first + 1;
    if (insn->op == EXEC_LOAD_UNIT) p->is_internal[insn->dst] = false;  // it refers to memory
  }
}

// Finds internal registers, which only carry values from one instruction of a run to another: strips need not store these for all lanes.
static bool find_internal(tsri_lanes_program *p) {
  uint32_t registers = p->scalar_count + p->reg4_count + p->reg8_count;
  uint32_t *written_in =
      tsri_calloc(registers, sizeof *written_in);  // by register: first instruction of the run that wrote it, from 1
  if (!written_in) return false;
  for (uint32_t i = 0; i < registers; i++) p->is_internal[i] = i >= p->scalar_count;
  for (uint32_t i = 0; i < p->insn_count;) {
    if (p->strips[i] != 0) {
      look_at_run(p, i, p->strips[i], written_in);
      i += p->strips[i];
      continue;
    }
    for (unsigned slot = 0; slot < 7; slot++) {
      if (p->reg_slots[i] >> slot & 1) p->is_internal[*lane_operand_at(&p->insns[i], slot)] = false;
    }
    i++;
  }
  tsri_free(written_in);
  return true;
}

tsr_status tsri_lanes_shorten(tsri_lanes_program *p) {
  bool is_short = !p->is_merged && p->group[0] < 256;
  if (p->is_checked) return TSR_OK;
  for (uint32_t i = 0; i < p->insn_count; i++) shorten(p, &p->insns[i]);
  uint8_t *is_target = tsri_calloc(p->insn_count, 1);
  if (!is_target) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its program", p->name);
  for (uint32_t i = 0; i < p->insn_count; i++) {
    if (lane_has_target(p->insns[i].op)) is_target[p->insns[i].c] = 1;
  }
  find_wide(p, is_target);
  if (p->group[1] * p->group[2] == 1 && !is_short) find_strips(p, is_target);
  bool has_memory = find_internal(p);
  uint8_t *roles = tsri_calloc((size_t)p->scalar_count + p->reg4_count + p->reg8_count, 1);
  if (roles && p->group[1] * p->group[2] == 1) tsri_lanes_find_rounds(p, is_target, roles);
  has_memory = has_memory && roles;
  tsri_free(roles);
  tsri_free(is_target);
  if (!has_memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its program", p->name);
  return TSR_OK;
}
