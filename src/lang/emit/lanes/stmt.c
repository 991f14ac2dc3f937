// SPDX-License-Identifier: MIT
// Translates statements to lane bytecode, except conditions and loops (emit/lanes/flow.c): assignments, collectives, variables.
#include "lang/emit/lanes/build.h"

// --- Variables --------------------------------------------------------------------------------------------------------

bool lane_var_merges(const lane_builder *b, uint32_t var) {
  return b->divergence > 0 && !lane_plan_is_single(&b->plan, var);
}

void lane_reserve_var(lane_builder *b, uint32_t var) {
  lane_var_state *state = &b->vars[var];
  const tsri_ir_var *v = &b->kernel->vars[var];
  if (state->values.count != 0) return;
  state->values.count = v->type.lanes;
  for (uint32_t i = 0; i < v->type.lanes; i++) {
    tsr_dtype dtype = (tsr_dtype)v->type.dtype;
    state->values.part[i] = (lane_value){.kind = v->is_uniform ? LANE_VALUE_SCALAR : LANE_VALUE_LANES,
                                         .dtype = (uint8_t)dtype,
                                         .word = lane_take(b, dtype, v->is_uniform, false)};
  }
}

// Advances to `pos`: releases the registers of variables that end before it, and takes registers for variables that
// begin by then inside a loop that runs again before their first assignment.
static void advance(lane_builder *b, uint32_t pos) {
  for (; b->done_pos < pos; b->done_pos++) {
    for (uint32_t v = b->plan.dead[b->done_pos]; v != 0; v = b->plan.vars[v].next_dead) {
      lane_values_release(b, &b->vars[v].values);
      b->vars[v] = (lane_var_state){0};
    }
    for (uint32_t v = b->plan.born[b->done_pos + 1]; v != 0; v = b->plan.vars[v].next_born) {
      const lane_var_plan *plan = &b->plan.vars[v];
      if (plan->assign_count != 0 && plan->assigns[0].pos > plan->first) lane_reserve_var(b, v);
    }
  }
}

// --- Assignments ------------------------------------------------------------------------------------------------------

static bool is_own_register(const lane_builder *b, uint32_t var, const lane_value *value) {
  const lane_values *values = &b->vars[var].values;
  for (uint32_t i = 0; i < values->count; i++) {
    if (values->part[i].word == value->word) return true;
  }
  return false;
}

void lane_assign_var(lane_builder *b, uint32_t var, lane_values *values) {
  lane_reserve_var(b, var);
  const lane_values *lanes = &b->vars[var].values;
  bool is_merge = lane_var_merges(b, var);
  // If parts are other parts of the same variable (a swap), they are copied first.
  for (uint32_t i = 0; values->count > 1 && i < values->count; i++) {
    lane_value *value = &values->part[i];
    if (!is_own_register(b, var, value) || value->word == lanes->part[i].word) continue;
    lane_dest copy = {.word = lane_take(b, (tsr_dtype)value->dtype, value->kind == LANE_VALUE_SCALAR, false)};
    uint8_t kind = value->kind, dtype = value->dtype;
    lane_move(b, &copy, *value);
    *value = (lane_value){.kind = kind, .dtype = dtype, .word = copy.word};
  }
  for (uint32_t i = 0; i < values->count; i++) {
    lane_move(b, &(lane_dest){.word = lanes->part[i].word, .is_merge = is_merge}, values->part[i]);
  }
}

// Returns a scalar register that only the variable uses. No copy is needed if the scalar never changes, or nothing else uses it.
static uint32_t own_scalar(lane_builder *b, uint32_t word, uint8_t dtype, bool will_change) {
  uint32_t kind = TSRI_LANE_KIND(word);
  bool is_fixed = kind == TSRI_LANE_CONST || kind == TSRI_LANE_PARAM || kind == TSRI_LANE_PLACE;
  if ((is_fixed && !will_change) || !lane_is_shared(b, word)) {
    lane_retain(b, word);
    return word;
  }
  uint32_t dst = lane_take(b, (tsr_dtype)dtype, true, false);
  lane_move(b, &(lane_dest){.word = dst}, (lane_value){.kind = LANE_VALUE_SCALAR, .dtype = dtype, .word = word});
  lane_retain(b, word);  // lane_move has released it, and the caller will again
  return dst;
}

// Binds the variable to this affine value. For a counter only the base changes later, not the steps.
static void bind_affine(lane_builder *b, uint32_t var, lane_value value, bool is_counter) {
  lane_value lane = value;
  lane.word = own_scalar(b, value.word, value.dtype, is_counter);
  for (int i = 0; i < 3; i++) lane.step[i] = own_scalar(b, value.step[i], value.dtype, false);
  lane_value_release(b, &value);
  b->vars[var] = (lane_var_state){.values = {.count = 1, .part = {lane}}, .is_bound = true};
}

// The step of a counter. The new base has just been computed; if the last instruction did that, it is changed to write the counter's register directly.
static void rebind(lane_builder *b, uint32_t var, lane_value value) {
  uint32_t uint32 = b->vars[var].values.part[0].word;
  uint32_t *last = b->insns + ((size_t)b->insn_count - 1) * TSRI_LANE_INSN_WORDS;
  if (!b->has_failed && !lane_is_shared(b, value.word) && last[1] == value.word) {
    last[1] = uint32;
  } else {
    lane_retain(b, value.word);
    lane_move(b, &(lane_dest){.word = uint32},
              (lane_value){.kind = LANE_VALUE_SCALAR, .dtype = value.dtype, .word = value.word});
  }
  lane_value_release(b, &value);
}

// Whether the variable only ever holds elements of an `in` buffer, so that it can refer to that memory.
static bool is_view(const lane_builder *b, uint32_t var, const tsri_ir_expr *e) {
  if (e->kind != TSRI_EXPR_LOAD || e->space != TSRI_SPACE_BUFFER || e->type.lanes != 1 || e->is_uniform) return false;
  const tsri_ir_array *array = &b->kernel->buffers[e->object];
  tsr_dtype storage = (tsr_dtype)array->storage;
  if (tsri_ir_compute_dtype(storage) != storage || storage == TSR_BOOL || array->is_stored) return false;
  return lane_plan_is_single(&b->plan, var) && !b->kernel->vars[var].is_uniform;
}

static bool bind_view(lane_builder *b, uint32_t var, const tsri_ir_expr *e, lane_values *values) {
  uint32_t alias = lane_take(b, (tsr_dtype)e->type.dtype, false, true);
  lane_load(b, e, NULL, alias, values);
  lane_release(b, alias);
  if (values->part[0].kind != LANE_VALUE_LANES) return false;
  b->vars[var] = (lane_var_state){.values = *values, .is_bound = true};
  return true;
}

// Lets a variable without registers take over the registers of its first value, if nothing else uses them.
static bool adopt(lane_builder *b, uint32_t var, const lane_values *values) {
  const tsri_ir_var *v = &b->kernel->vars[var];
  uint8_t kind = v->is_uniform ? LANE_VALUE_SCALAR : LANE_VALUE_LANES;
  bool never_changes = v->is_uniform && lane_plan_is_single(&b->plan, var);
  for (uint32_t i = 0; i < values->count; i++) {
    const lane_value *value = &values->part[i];
    uint32_t word_kind = TSRI_LANE_KIND(value->word);
    bool is_fixed = word_kind == TSRI_LANE_CONST || word_kind == TSRI_LANE_PARAM || word_kind == TSRI_LANE_PLACE;
    if (value->kind != kind || lane_is_alias(b, value->word)) return false;
    if (lane_is_shared(b, value->word) && !(is_fixed && never_changes)) return false;
  }
  b->vars[var].values = *values;
  return true;
}

// Lets a variable that is always a copy of another variable, which does not change meanwhile, use the same registers.
static bool bind_copy(lane_builder *b, uint32_t var, const tsri_ir_expr *e) {
  if (e->kind != TSRI_EXPR_VAR) return false;
  const tsri_ir_var *v = &b->kernel->vars[var], *from = &b->kernel->vars[e->object];
  const lane_values *values = &b->vars[e->object].values;
  if (values->count == 0 || v->is_uniform != from->is_uniform || v->type.lanes != from->type.lanes) return false;
  if (!lane_plan_is_single(&b->plan, var) || !lane_plan_is_single(&b->plan, e->object)) return false;
  for (uint32_t i = 0; i < values->count; i++) lane_value_retain(b, &values->part[i]);
  b->vars[var] = (lane_var_state){.values = *values, .is_bound = true};
  return true;
}

static void assign(lane_builder *b, const tsri_ir_stmt *s) {
  const tsri_ir_expr *e = &b->kernel->exprs[s->value];
  const tsri_ir_var *v = &b->kernel->vars[s->var];
  lane_var_state *state = &b->vars[s->var];
  lane_values values = {0};
  if (state->is_bound && state->values.count != 0) {
    rebind(b, s->var, lane_eval_one(b, s->value, NULL));
    return;
  }
  if (state->values.count != 0) {
    lane_dest dest = {.word = state->values.part[0].word, .is_merge = lane_var_merges(b, s->var)};
    lane_eval(b, s->value, v->type.lanes == 1 ? &dest : NULL, &values);
    lane_assign_var(b, s->var, &values);
    return;
  }
  if (bind_copy(b, s->var, e)) return;
  if (is_view(b, s->var, e)) {
    if (bind_view(b, s->var, e, &values)) return;
  } else {
    lane_eval(b, s->value, NULL, &values);
  }
  bool is_counter = lane_plan_is_counter(&b->plan, b->kernel, s->var);
  bool may_bind = !v->is_uniform && (is_counter || lane_plan_is_single(&b->plan, s->var));
  if (values.count == 1 && values.part[0].kind == LANE_VALUE_AFFINE && may_bind) {
    bind_affine(b, s->var, values.part[0], is_counter);
  } else if (!adopt(b, s->var, &values)) {
    lane_assign_var(b, s->var, &values);
  }
}

// --- Collectives --------------------------------------------------------------------------------------------------------

static void collective(lane_builder *b, const tsri_ir_stmt *s) {
  const tsri_ir_collective_info *info = &tsri_ir_collective_infos[s->op];
  lane_value value = lane_to_lanes(b, lane_eval_one(b, s->value, NULL));
  lane_value other = {0};
  if (info->arity == 2) other = lane_no_affine(b, lane_eval_one(b, s->compare, NULL));
  tsr_dtype dtype = (tsr_dtype)value.dtype;
  bool is_group = info->scope == TSRI_SCOPE_GROUP, is_small = lane_bytes(dtype) == 4;
  uint32_t dst = lane_take(b, dtype, is_group, false);
  uint32_t op = is_group ? (is_small ? TSRI_LANE_GROUP_32 : TSRI_LANE_GROUP_64)
                         : (is_small ? TSRI_LANE_SUBGROUP_32 : TSRI_LANE_SUBGROUP_64);
  lane_emit(b, op, 0, 0, (lane_words){.dst = dst, .a = value.word, .b = other.word, .d = dtype, .e = s->op});
  lane_value_release(b, &value);
  lane_value_release(b, &other);
  lane_values result = {.count = 1};
  result.part[0] =
      (lane_value){.kind = is_group ? LANE_VALUE_SCALAR : LANE_VALUE_LANES, .dtype = (uint8_t)dtype, .word = dst};
  if (b->vars[s->var].values.count != 0 || !adopt(b, s->var, &result)) lane_assign_var(b, s->var, &result);
}

// --- Blocks -------------------------------------------------------------------------------------------------------------

static void statement(lane_builder *b, uint32_t stmt) {
  const tsri_ir_stmt *s = &b->kernel->stmts[stmt];
  switch ((tsri_ir_stmt_kind)s->kind) {
    case TSRI_STMT_ASSIGN:
      assign(b, s);
      break;
    case TSRI_STMT_STORE:
      lane_store(b, s);
      break;
    case TSRI_STMT_CLEAR: {
      uint32_t array = lane_array_number(b->kernel, TSRI_SPACE_LOCAL, s->object);
      lane_emit(b, TSRI_LANE_LOCAL_CLEAR, 0, 0, (lane_words){.a = array});
      break;
    }
    case TSRI_STMT_IF:
      lane_if(b, s);
      break;
    case TSRI_STMT_LOOP:
      lane_loop_stmt(b, s, b->plan.stmt_loop[stmt]);
      advance(b, b->plan.loops[b->plan.stmt_loop[stmt]].end);
      break;
    case TSRI_STMT_BREAK:
      lane_leave(b, true);
      break;
    case TSRI_STMT_CONTINUE:
      lane_leave(b, false);
      break;
    case TSRI_STMT_ATOMIC:
      lane_atomic(b, s);
      break;
    case TSRI_STMT_COLLECTIVE:
      collective(b, s);
      break;
    case TSRI_STMT_FRAGMENT_FILL:  // lowered to loops before
    case TSRI_STMT_FRAGMENT_LOAD:
    case TSRI_STMT_FRAGMENT_STORE:
    case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
    case TSRI_STMT_BARRIER:  // not needed: all lanes of a group execute each instruction together
    case TSRI_STMT_NONE:
      break;
  }
}

void lane_block(lane_builder *b, uint32_t stmt) {
  uint32_t drop_mask = TSRI_LANE_ABSENT, to_end = LANE_NO_PATCH;
  for (; stmt != 0 && !b->has_failed; stmt = b->kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &b->kernel->stmts[stmt];
    advance(b, b->plan.stmt_pos[stmt]);
    statement(b, stmt);
    if (s->kind == TSRI_STMT_BREAK || s->kind == TSRI_STMT_CONTINUE) break;  // the rest of the block is unreachable
    if (s->kind == TSRI_STMT_IF) lane_drop(b, s, &drop_mask, &to_end);
  }
  lane_patch(b, to_end);
  lane_release(b, drop_mask);
}
