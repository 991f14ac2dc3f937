// SPDX-License-Identifier: MIT
// The interpreter's loop: executes one instruction after the other, each for all lanes of the set.
#include "backends/cpu/jit/jit.h"
#include "backends/cpu/lanes/program.h"

static void exec_iota(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  if (x->set.n == 0) return;
  uint8_t kind = insn->op == TSRI_LANE_IOTA_32 ? TSRI_LANE_INDEX_U32 : TSRI_LANE_INDEX_I64;
  lane_affine affine;
  tsri_lanes_affine(x, kind, reg[insn->a], reg[insn->b], reg[insn->c], reg[insn->d], &affine);
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

// Executes instructions on registers that are neither arithmetic nor jumps.
static void exec_other(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  switch (insn->op) {
    case TSRI_LANE_LEAVE:
      tsri_lanes_leave(x, reg[insn->a]);
      break;
    case TSRI_LANE_FIRST_32:
      *(lane_u32 *)reg[insn->dst] = ((const lane_u32 *)reg[insn->a])[tsri_lanes_first(x)];
      break;
    case TSRI_LANE_FIRST_64:
      *(lane_u64 *)reg[insn->dst] = ((const lane_u64 *)reg[insn->a])[tsri_lanes_first(x)];
      break;
    case TSRI_LANE_IOTA_32:
    case TSRI_LANE_IOTA_64:
      exec_iota(x, insn);
      break;
    case TSRI_LANE_GROUP_32:
    case TSRI_LANE_GROUP_64:
      tsri_lanes_group(x, insn);
      break;
    case TSRI_LANE_SUBGROUP_32:
    case TSRI_LANE_SUBGROUP_64:
      tsri_lanes_subgroup(x, insn);
      break;
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64:
      exec_math(x, insn);
      break;
    case TSRI_LANE_LOCAL_CLEAR:
      tsri_lanes_local_clear(x, insn);
      break;
    default:
      break;
  }
}

// Executes all other instructions; those that access memory come first. False: the launch has ended.
static bool exec_memory(lane_exec *x, const lane_insn *insn) {
  switch (insn->op) {
    case TSRI_LANE_LOAD_AFFINE:
    case TSRI_LANE_LOAD_LANES:
      return tsri_lanes_load(x, insn);
    case TSRI_LANE_STORE_AFFINE:
    case TSRI_LANE_STORE_LANES:
      return tsri_lanes_store(x, insn);
    case TSRI_LANE_LOAD_SCALAR:
      return tsri_lanes_load_scalar(x, insn);
    case TSRI_LANE_STORE_SCALAR:
      return tsri_lanes_store_scalar(x, insn);
    case TSRI_LANE_LOCAL_LOAD:
      return tsri_lanes_local_load(x, insn);
    case TSRI_LANE_LOCAL_STORE:
      return tsri_lanes_local_store(x, insn);
    case TSRI_LANE_ATOMIC:
      return tsri_lanes_atomic(x, insn);
    default:
      exec_other(x, insn);
      return true;
  }
}

// Executes a wide access: all its parts at once, or the first part. `*insn` becomes the last instruction executed.
static bool exec_wide(lane_exec *x, const lane_insn **insn) {
  bool is_load = (*insn)->op == EXEC_LOAD_WIDE;
  if (is_load ? tsri_lanes_load_wide(x, *insn) : tsri_lanes_store_wide(x, *insn)) {
    *insn += TSRI_LANE_WIDE_OF((*insn)->flags) - 1;
    return true;
  }
  return is_load ? tsri_lanes_load(x, *insn) : tsri_lanes_store(x, *insn);
}

// Executes arithmetic with a mask: into scratch memory, and from there to the lanes of the mask. Without a mask, directly into the register.
static void exec_merge(const lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  x->isa->ops[insn->e][insn->form](lane_result(x, insn), reg[insn->a], reg[insn->b], reg[insn->c], x->set.n);
  lane_finish(x, insn, insn->d);
}

// Removes lanes from the set. False: no lane is left in it.
static bool exec_narrow(lane_exec *x, const lane_insn *insn) {
  void **reg = x->work->reg;
  switch (insn->op) {
    case EXEC_NARROW_UNIT:
      return tsri_lanes_narrow_unit(x, insn);
    case TSRI_LANE_NARROW_AFFINE:
      return tsri_lanes_narrow_affine(x, insn);
    case TSRI_LANE_DROP:
      return tsri_lanes_drop(x, insn);
    default:
      return tsri_lanes_narrow(x, reg[insn->dst], reg[insn->a], (insn->flags & TSRI_LANE_INVERT) != 0);
  }
}

// Whether a loop may execute another round: false if the launch has ended or its time is over.
static inline bool exec_loop(lane_exec *x) {
  if (--x->fuel != 0) return true;
  x->fuel = LANE_FUEL;
  return tsri_lanes_may_go_on(x);
}

// The value of a scalar operand of the current instruction.
#define U32(operand) (*(lane_u32 *)reg[insn->operand])
#define U64(operand) (*(lane_u64 *)reg[insn->operand])

bool tsri_lanes_exec(lane_exec *x) {
  const lane_insn *const insns = x->program->insns;
  const uint8_t *const strips = x->program->strips;
  const tsri_lane_fn(*const ops)[TSRI_LANE_FORMS] = x->isa->ops;
  void **const reg = x->work->reg;
  const uint16_t *const runs = x->jit ? x->jit->run_at : NULL;
  for (const lane_insn *insn = insns;; insn++) {
    for (uint32_t done = 1; runs && done > 0 && runs[insn - insns] != 0; insn += done) done = tsri_jit_run(x, insn);
    if (strips[insn - insns] != 0) insn += tsri_lanes_strip(x, insn, strips[insn - insns]);
    bool goes_on = true, jumps = false;
    switch (insn->op) {
      case TSRI_LANE_END:
        return true;
      case TSRI_LANE_JUMP:
        jumps = true;
        break;
      case TSRI_LANE_LOOP:
        goes_on = exec_loop(x);
        jumps = true;
        break;
      case TSRI_LANE_JUMP_UNLESS:
        jumps = U32(a) == 0;
        break;
      case TSRI_LANE_JUMP_IF:
        jumps = U32(a) != 0;
        break;
      case TSRI_LANE_SAVE:
        x->work->saves[insn->dst] = x->set;
        break;
      case TSRI_LANE_RESTORE:
        x->set = x->work->saves[insn->dst];
        break;
      case TSRI_LANE_NARROW:
      case TSRI_LANE_NARROW_AFFINE:
      case EXEC_NARROW_UNIT:
      case TSRI_LANE_DROP:
        jumps = !exec_narrow(x, insn);
        break;
      case EXEC_NARROW_ROUNDS:
        goes_on = tsri_lanes_rounds(x, insn);
        jumps = !tsri_lanes_narrow_unit(x, insn);
        break;
      case EXEC_LT_ROUNDS:
        goes_on = tsri_lanes_rounds(x, insn);
        ops[insn->e][0](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], 1);
        break;
      case EXEC_LANES:
        ops[insn->e][insn->form](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], x->set.n);
        break;
      case EXEC_MERGE:
        exec_merge(x, insn);
        break;
      case EXEC_SCALAR:
        ops[insn->e][0](reg[insn->dst], reg[insn->a], reg[insn->b], reg[insn->c], 1);
        break;
      case EXEC_ADD_32:
        U32(dst) = U32(a) + U32(b);
        break;
      case EXEC_MUL_32:
        U32(dst) = U32(a) * U32(b);
        break;
      case EXEC_LT_U32:
        U32(dst) = U32(a) < U32(b);
        break;
      case EXEC_MOVE_64:
        U64(dst) = U64(a);
        break;
      case EXEC_MULADD_ROWS:
        tsri_lanes_muladd_rows(x, insn);
        break;
      case EXEC_LOAD_ROWS:
        goes_on = tsri_lanes_load_rows(x, insn);
        break;
      case EXEC_LOAD_UNIT:
        goes_on = tsri_lanes_load_unit(x, insn);
        break;
      case EXEC_STORE_UNIT:
        goes_on = tsri_lanes_store_unit(x, insn);
        break;
      case EXEC_LOAD_WIDE:
      case EXEC_STORE_WIDE:
        goes_on = exec_wide(x, &insn);
        break;
      default:
        goes_on = exec_memory(x, insn);
        break;
    }
    if (!goes_on) return false;
    if (jumps) insn = insns + insn->c - 1;
  }
}
