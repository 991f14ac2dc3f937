// SPDX-License-Identifier: MIT
// Translates conditions and loops to lane bytecode.
//
// A condition that is the same for all lanes becomes a jump. Otherwise the set of active lanes is saved, narrowed, and restored afterwards. Lanes that leave a
// loop early are marked in a register, and are removed from the set wherever it is restored before the loop's end.
#include "lang/emit/lanes/build.h"

// --- Sets of lanes ----------------------------------------------------------------------------------------------------

uint32_t lane_take_mask(lane_builder *b) { return lane_take(b, TSR_BOOL, false, false); }

uint32_t lane_save(lane_builder *b) {
  uint32_t slot = b->saves++;
  if (b->saves > b->max_saves) b->max_saves = b->saves;
  lane_emit(b, TSRI_LANE_SAVE, 0, 0, (lane_words){.dst = slot});
  return slot;
}

void lane_restore(lane_builder *b, uint32_t slot) { lane_emit(b, TSRI_LANE_RESTORE, 0, 0, (lane_words){.dst = slot}); }

void lane_unsave(lane_builder *b) { b->saves--; }

// --- Conditions -------------------------------------------------------------------------------------------------------

static bool is_order(const tsri_ir_expr *e) {
  return e->kind == TSRI_EXPR_OP && e->op >= TSRI_OP_LT && e->op <= TSRI_OP_GE;
}

// Whether the condition selects the first item of a group: x == 0, which is x < 1 for unsigned numbers.
static bool is_first(const lane_builder *b, const tsri_ir_expr *e) {
  const tsri_ir_expr *y = &b->kernel->exprs[e->b];
  return e->kind == TSRI_EXPR_OP && e->op == TSRI_OP_EQ && y->kind == TSRI_EXPR_CONST && y->bits == 0 &&
         y->type.dtype == TSR_U32;
}

// Narrows the set by comparing x with y, of which one is affine and one is scalar: the result mostly follows without looking at the lanes.
static void narrow_affine(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y, bool flip, uint32_t mask,
                          uint32_t *chain) {
  static const tsri_ir_op turned[] = {
      [TSRI_OP_LT] = TSRI_OP_GT, [TSRI_OP_LE] = TSRI_OP_GE, [TSRI_OP_GT] = TSRI_OP_LT, [TSRI_OP_GE] = TSRI_OP_LE};
  if (x.kind == LANE_VALUE_SCALAR) {
    lane_value left = x;
    x = y;
    y = left;
    op = turned[op];
  }
  // x > y is not x <= y; x >= y is not x < y.
  if (op == TSRI_OP_GT || op == TSRI_OP_GE) flip = !flip;
  uint32_t flags = (flip ? TSRI_LANE_INVERT : 0) | (op == TSRI_OP_LE || op == TSRI_OP_GT ? TSRI_LANE_OR_EQUAL : 0);
  uint32_t insn =
      lane_emit(b, TSRI_LANE_NARROW_AFFINE, lane_index_form((tsr_dtype)x.dtype), flags,
                (lane_words){.dst = mask, .a = x.word, .b = y.word, .d = x.step[0], .e = x.step[1], .f = x.step[2]});
  lane_chain(b, insn, chain);
  lane_value_release(b, &x);
  lane_value_release(b, &y);
}

static void narrow_value(lane_builder *b, lane_value condition, bool flip, uint32_t mask, uint32_t *chain) {
  if (condition.kind == LANE_VALUE_SCALAR) {
    lane_emit_jump(b, flip ? TSRI_LANE_JUMP_IF : TSRI_LANE_JUMP_UNLESS, condition.word, chain);
  } else {
    uint32_t insn =
        lane_emit(b, TSRI_LANE_NARROW, 0, flip ? TSRI_LANE_INVERT : 0, (lane_words){.dst = mask, .a = condition.word});
    lane_chain(b, insn, chain);
  }
  lane_value_release(b, &condition);
}

void lane_narrow(lane_builder *b, uint32_t expr, bool flip, uint32_t mask, uint32_t *chain) {
  const tsri_ir_expr *e = &b->kernel->exprs[expr];
  bool is_plain = e->kind == TSRI_EXPR_OP && e->type.lanes == 1 && !e->is_uniform;
  bool is_both = e->kind == TSRI_EXPR_AND_THEN || (is_plain && e->op == TSRI_OP_AND);
  bool is_either = e->kind == TSRI_EXPR_OR_ELSE || (is_plain && e->op == TSRI_OP_OR);
  if ((is_both && !flip) || (is_either && flip)) {  // !(a || b) is !a && !b
    lane_narrow(b, e->a, flip, mask, chain);
    lane_narrow(b, e->b, flip, mask, chain);
  } else if (is_plain && e->op == TSRI_OP_NOT) {
    lane_narrow(b, e->a, !flip, mask, chain);
  } else if (is_plain && (is_order(e) || is_first(b, e))) {
    lane_value x = lane_eval_one(b, e->a, NULL), y = lane_eval_one(b, e->b, NULL);
    if (x.kind == LANE_VALUE_AFFINE && is_first(b, e)) {
      y.word = lane_const(b, 1);
      narrow_affine(b, TSRI_OP_LT, x, y, flip, mask, chain);
    } else if (is_order(e) && ((x.kind == LANE_VALUE_AFFINE && y.kind == LANE_VALUE_SCALAR) ||
                               (y.kind == LANE_VALUE_AFFINE && x.kind == LANE_VALUE_SCALAR))) {
      narrow_affine(b, (tsri_ir_op)e->op, x, y, flip, mask, chain);
    } else {
      narrow_value(b, lane_compare(b, (tsri_ir_op)e->op, x, y), flip, mask, chain);
    }
  } else {
    narrow_value(b, lane_eval_one(b, expr, NULL), flip, mask, chain);
  }
}

static void if_scalar(lane_builder *b, const tsri_ir_stmt *s) {
  uint32_t to_other = LANE_NO_PATCH, to_end = LANE_NO_PATCH;
  lane_value condition = lane_to_scalar(b, lane_eval_one(b, s->value, NULL));
  lane_emit_jump(b, TSRI_LANE_JUMP_UNLESS, condition.word, &to_other);
  lane_value_release(b, &condition);
  lane_block(b, s->body);
  if (s->other != 0) lane_emit_jump(b, TSRI_LANE_JUMP, 0, &to_end);
  lane_patch(b, to_other);
  lane_block(b, s->other);
  lane_patch(b, to_end);
}

// An `if` with only one branch: the condition need not be kept.
static void if_one(lane_builder *b, const tsri_ir_stmt *s) {
  uint32_t to_end = LANE_NO_PATCH, mask = lane_take_mask(b), slot = lane_save(b);
  lane_narrow(b, s->value, s->body == 0, mask, &to_end);
  b->divergence++;
  lane_block(b, s->body != 0 ? s->body : s->other);
  b->divergence--;
  lane_patch(b, to_end);
  lane_restore(b, slot);
  lane_unsave(b);
  lane_release(b, mask);
}

static void if_both(lane_builder *b, const tsri_ir_stmt *s) {
  uint32_t to_other = LANE_NO_PATCH, to_end = LANE_NO_PATCH, mask = lane_take_mask(b);
  lane_value condition = lane_to_lanes(b, lane_eval_one(b, s->value, NULL));
  // If the condition is a variable, it may change in the first branch, so copy it.
  if (lane_is_shared(b, condition.word)) {
    lane_value copy = condition;
    copy.word = lane_take_mask(b);
    lane_move(b, &(lane_dest){.word = copy.word}, condition);
    condition = copy;
  }
  uint32_t slot = lane_save(b);
  b->divergence++;
  uint32_t insn = lane_emit(b, TSRI_LANE_NARROW, 0, 0, (lane_words){.dst = mask, .a = condition.word});
  lane_chain(b, insn, &to_other);
  lane_block(b, s->body);
  lane_patch(b, to_other);
  lane_restore(b, slot);
  insn = lane_emit(b, TSRI_LANE_NARROW, 0, TSRI_LANE_INVERT, (lane_words){.dst = mask, .a = condition.word});
  lane_chain(b, insn, &to_end);
  lane_block(b, s->other);
  b->divergence--;
  lane_patch(b, to_end);
  lane_restore(b, slot);
  lane_unsave(b);
  lane_value_release(b, &condition);
  lane_release(b, mask);
}

void lane_if(lane_builder *b, const tsri_ir_stmt *stmt) {
  if (b->kernel->exprs[stmt->value].is_uniform) {
    if_scalar(b, stmt);
  } else if (stmt->body == 0 || stmt->other == 0) {
    if_one(b, stmt);
  } else {
    if_both(b, stmt);
  }
}

// --- Loops ------------------------------------------------------------------------------------------------------------

static bool leaves_loop(const tsri_kernel *kernel, uint32_t stmt) {
  for (; stmt != 0; stmt = kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &kernel->stmts[stmt];
    if (s->kind == TSRI_STMT_BREAK || s->kind == TSRI_STMT_CONTINUE) return true;
    if (s->kind == TSRI_STMT_IF && (leaves_loop(kernel, s->body) || leaves_loop(kernel, s->other))) return true;
  }
  return false;
}

void lane_drop(lane_builder *b, const tsri_ir_stmt *stmt, uint32_t *mask, uint32_t *chain) {
  if (!b->loop || !b->loop->plan->is_divergent) return;
  if (!leaves_loop(b->kernel, stmt->body) && !leaves_loop(b->kernel, stmt->other)) return;
  if (*mask == TSRI_LANE_ABSENT) *mask = lane_take_mask(b);
  uint32_t insn = lane_emit(b, TSRI_LANE_DROP, 0, 0,
                            (lane_words){.dst = *mask, .a = b->loop->break_marks, .b = b->loop->continue_marks});
  lane_chain(b, insn, chain);
}

void lane_leave(lane_builder *b, bool is_break) {
  lane_loop_state *loop = b->loop;
  if (!loop) return;  // the front end does not allow this
  if (!loop->plan->is_divergent) {
    lane_emit_jump(b, TSRI_LANE_JUMP, 0, is_break ? &loop->break_patch : &loop->continue_patch);
    return;
  }
  lane_emit(b, TSRI_LANE_LEAVE, 0, 0, (lane_words){.a = is_break ? loop->break_marks : loop->continue_marks});
}

static void back_to(lane_builder *b, uint32_t top) { lane_emit(b, TSRI_LANE_LOOP, 0, 0, (lane_words){.c = top}); }

static void uniform_loop(lane_builder *b, const tsri_ir_stmt *s, lane_loop_state *loop) {
  uint32_t top = b->insn_count;
  if (s->value != 0) {
    lane_value condition = lane_to_scalar(b, lane_eval_one(b, s->value, NULL));
    lane_emit_jump(b, TSRI_LANE_JUMP_UNLESS, condition.word, &loop->break_patch);
    lane_value_release(b, &condition);
  }
  lane_block(b, s->body);
  lane_patch(b, loop->continue_patch);
  lane_block(b, s->other);
  back_to(b, top);
  lane_patch(b, loop->break_patch);
}

static void clear_marks(lane_builder *b, uint32_t marks) {
  if (marks == TSRI_LANE_ABSENT) return;
  lane_emit(b, TSRI_LANE_MOVE_32, 0, 0, (lane_words){.dst = marks, .a = lane_const(b, 0)});
}

// After the body: lanes that continued become active again; lanes that broke out do not. Without continue and break the set has not changed.
static void rejoin(lane_builder *b, lane_loop_state *loop, uint32_t round_slot, uint32_t mask, uint32_t *to_exit) {
  if (loop->continue_marks != TSRI_LANE_ABSENT) lane_restore(b, round_slot);
  if (loop->break_marks == TSRI_LANE_ABSENT) return;
  uint32_t insn = lane_emit(b, TSRI_LANE_DROP, 0, 0, (lane_words){.dst = mask, .a = loop->break_marks});
  lane_chain(b, insn, to_exit);
}

static void divergent_loop(lane_builder *b, const tsri_ir_stmt *s, lane_loop_state *loop) {
  uint32_t to_exit = LANE_NO_PATCH, mask = lane_take_mask(b), slot = lane_save(b), round_slot = 0;
  if (loop->plan->has_break) loop->break_marks = lane_take_mask(b);
  if (loop->plan->has_continue) loop->continue_marks = lane_take_mask(b);
  b->divergence++;
  clear_marks(b, loop->break_marks);
  uint32_t top = b->insn_count;
  if (s->value != 0) lane_narrow(b, s->value, false, mask, &to_exit);
  if (loop->plan->has_continue) {
    round_slot = lane_save(b);
    clear_marks(b, loop->continue_marks);
  }
  lane_block(b, s->body);
  rejoin(b, loop, round_slot, mask, &to_exit);
  if (loop->plan->has_continue) lane_unsave(b);
  lane_block(b, s->other);
  back_to(b, top);
  b->divergence--;
  lane_patch(b, to_exit);
  lane_restore(b, slot);
  lane_unsave(b);
  lane_release(b, loop->break_marks);
  lane_release(b, loop->continue_marks);
  lane_release(b, mask);
}

void lane_loop_stmt(lane_builder *b, const tsri_ir_stmt *stmt, uint32_t loop) {
  enum { ROUNDS = 16, MOST_WEIGHT = 1 << 20 };  // estimate of the rounds of a loop
  lane_loop_state state = {
      .outer = b->loop, .plan = &b->plan.loops[loop], .break_patch = LANE_NO_PATCH, .continue_patch = LANE_NO_PATCH};
  uint32_t weight = b->weight, hoisted = lane_hoist(b, stmt, loop);
  if (b->weight < MOST_WEIGHT) b->weight *= ROUNDS;
  b->loop = &state;
  if (state.plan->is_divergent) {
    divergent_loop(b, stmt, &state);
  } else {
    uniform_loop(b, stmt, &state);
  }
  b->loop = state.outer;
  b->weight = weight;
  lane_unhoist(b, hoisted);
}
