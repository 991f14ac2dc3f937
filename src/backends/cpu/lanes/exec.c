// SPDX-License-Identifier: MIT
// The interpreter's loop: one instruction after the other, each for all lanes of the set.
#include "backends/cpu/lanes/program.h"

// Every instruction that is more than arithmetic and jumps. False: the launch has ended.
static bool exec_memory(lane_exec *x, const lane_insn *insn) {
  switch (insn->op) {
    case TSRI_LANE_LOAD_AFFINE:
    case TSRI_LANE_LOAD_LANES: return tsri_lanes_load(x, insn);
    case TSRI_LANE_STORE_AFFINE:
    case TSRI_LANE_STORE_LANES: return tsri_lanes_store(x, insn);
    case TSRI_LANE_LOAD_SCALAR: return tsri_lanes_load_scalar(x, insn);
    case TSRI_LANE_STORE_SCALAR: return tsri_lanes_store_scalar(x, insn);
    case TSRI_LANE_LOCAL_LOAD: return tsri_lanes_local_load(x, insn);
    case TSRI_LANE_LOCAL_STORE: return tsri_lanes_local_store(x, insn);
    case TSRI_LANE_LOCAL_CLEAR: tsri_lanes_local_clear(x, insn); return true;
    case TSRI_LANE_ATOMIC: return tsri_lanes_atomic(x, insn);
    default: return true;
  }
}

static void exec_iota(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  if (x->set.n == 0) return;
  uint8_t kind = insn->op == TSRI_LANE_IOTA_32 ? TSRI_LANE_INDEX_U32 : TSRI_LANE_INDEX_I64;
  lane_affine affine = tsri_lanes_affine(x, kind, reg[insn->a], reg[insn->b], reg[insn->c], reg[insn->d]);
  tsri_lanes_affine_fill(x, kind, &affine, lane_result(x, insn));
  lane_finish(x, insn, kind == TSRI_LANE_INDEX_U32 ? 4 : 8);
}

static void exec_math(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  bool is_scalar = insn->dst < x->program->scalar_count;
  uint32_t n = is_scalar ? 1 : x->set.n;
  void *dst = is_scalar ? reg[insn->dst] : lane_result(x, insn);
  if (insn->op == TSRI_LANE_MATH_F32) {
    x->math->f32[insn->e](dst, reg[insn->a], reg[insn->b], n);
  } else {
    x->math->f64[insn->e](dst, reg[insn->a], reg[insn->b], n);
  }
  if (!is_scalar) lane_finish(x, insn, insn->op == TSRI_LANE_MATH_F32 ? 4 : 8);
}

static void exec_other(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  switch (insn->op) {
    case TSRI_LANE_LEAVE: tsri_lanes_leave(x, reg[insn->a]); break;
    case TSRI_LANE_FIRST_32:
      *(lane_u32 *)reg[insn->dst] = ((const lane_u32 *)reg[insn->a])[tsri_lanes_first(x)];
      break;
    case TSRI_LANE_FIRST_64:
      *(lane_u64 *)reg[insn->dst] = ((const lane_u64 *)reg[insn->a])[tsri_lanes_first(x)];
      break;
    case TSRI_LANE_IOTA_32:
    case TSRI_LANE_IOTA_64: exec_iota(x, insn); break;
    case TSRI_LANE_GROUP_32:
    case TSRI_LANE_GROUP_64: tsri_lanes_group(x, insn); break;
    case TSRI_LANE_SUBGROUP_32:
    case TSRI_LANE_SUBGROUP_64: tsri_lanes_subgroup(x, insn); break;
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64: exec_math(x, insn); break;
    default: break;
  }
}

// Arithmetic into the scratch, and from there to the lanes of the mask; without a mask, straight to the register.
static void exec_merge(const lane_exec *x, const lane_insn *insn, uint32_t bytes) {
  void **reg = x->work->reg;
  x->isa->ops[insn->e][insn->form](lane_result(x, insn), reg[insn->a], reg[insn->b], reg[insn->c], x->set.n);
  lane_finish(x, insn, bytes);
}

bool tsri_lanes_exec(lane_exec *x) {
  const lane_insn *const insns = x->program->insns;
  const tsri_lane_fn(*const ops)[TSRI_LANE_FORMS] = x->isa->ops;
  void **const reg = x->work->reg;
  lane_set *const saves = x->work->saves;
  const uint8_t *const strips = x->program->strips;
  for (const lane_insn *insn = insns;; insn++) {
    if (strips[insn - insns] != 0) insn += tsri_lanes_strip(x, insn, strips[insn - insns]);
    switch (insn->op) {
      case TSRI_LANE_END: return true;
      case TSRI_LANE_JUMP: insn = insns + insn->c - 1; break;
      case TSRI_LANE_LOOP:
        if (--x->fuel == 0) {
          x->fuel = LANE_FUEL;
          if (!tsri_lanes_may_go_on(x)) return false;
        }
        insn = insns + insn->c - 1;
        break;
      case TSRI_LANE_JUMP_UNLESS:
        if (*(const lane_u32 *)reg[insn->a] == 0) insn = insns + insn->c - 1;
        break;
      case TSRI_LANE_JUMP_IF:
        if (*(const lane_u32 *)reg[insn->a] != 0) insn = insns + insn->c - 1;
        break;
      case TSRI_LANE_SAVE: saves[insn->dst] = x->set; break;
      case TSRI_LANE_RESTORE: x->set = saves[insn->dst]; break;
      case TSRI_LANE_NARROW:
        if (!tsri_lanes_narrow(x, reg[insn->dst], reg[insn->a], (insn->flags & TSRI_LANE_INVERT) != 0)) {
          insn = insns + insn->c - 1;
        }
        break;
      case TSRI_LANE_NARROW_AFFINE:
        if (!tsri_lanes_narrow_affine(x, insn)) insn = insns + insn->c - 1;
        break;
      case TSRI_LANE_DROP:
        if (!tsri_lanes_drop(x, insn)) insn = insns + insn->c - 1;
        break;
      case EXEC_LANES: ops[insn->e][insn->form](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], x->set.n); break;
      case EXEC_MERGE_32: exec_merge(x, insn, 4); break;
      case EXEC_MERGE_64: exec_merge(x, insn, 8); break;
      case EXEC_SCALAR: ops[insn->e][0](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], 1); break;
      case EXEC_ADD_32: *(lane_u32 *)reg[insn->dst] = *(lane_u32 *)reg[insn->a] + *(lane_u32 *)reg[insn->b]; break;
      case EXEC_SUB_32: *(lane_u32 *)reg[insn->dst] = *(lane_u32 *)reg[insn->a] - *(lane_u32 *)reg[insn->b]; break;
      case EXEC_MUL_32: *(lane_u32 *)reg[insn->dst] = *(lane_u32 *)reg[insn->a] * *(lane_u32 *)reg[insn->b]; break;
      case EXEC_LT_U32: *(lane_u32 *)reg[insn->dst] = *(lane_u32 *)reg[insn->a] < *(lane_u32 *)reg[insn->b]; break;
      case EXEC_LT_I32: *(lane_u32 *)reg[insn->dst] = *(lane_i32 *)reg[insn->a] < *(lane_i32 *)reg[insn->b]; break;
      case EXEC_MOVE_64: *(lane_u64 *)reg[insn->dst] = *(lane_u64 *)reg[insn->a]; break;
      case EXEC_MULADD_ROWS: tsri_lanes_muladd_rows(x, insn); break;
      case EXEC_LOAD_UNIT:
        if (!tsri_lanes_load_unit(x, insn)) return false;
        break;
      case EXEC_STORE_UNIT:
        if (!tsri_lanes_store_unit(x, insn)) return false;
        break;
      case EXEC_NARROW_UNIT:
        if (!tsri_lanes_narrow_unit(x, insn)) insn = insns + insn->c - 1;
        break;
      case TSRI_LANE_LOAD_AFFINE:
      case TSRI_LANE_LOAD_LANES:
        if (!tsri_lanes_load(x, insn)) return false;
        break;
      case TSRI_LANE_LOAD_SCALAR:
      case TSRI_LANE_STORE_SCALAR:
      case TSRI_LANE_STORE_AFFINE:
      case TSRI_LANE_STORE_LANES:
      case TSRI_LANE_LOCAL_LOAD:
      case TSRI_LANE_LOCAL_STORE:
      case TSRI_LANE_LOCAL_CLEAR:
      case TSRI_LANE_ATOMIC:
        if (!exec_memory(x, insn)) return false;
        break;
      default: exec_other(x, insn); break;
    }
  }
}
