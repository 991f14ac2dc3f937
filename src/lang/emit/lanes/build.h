// SPDX-License-Identifier: MIT
// Shared by the files that write lane bytecode: the analysis of the kernel (plan), registers, values, instructions.
#ifndef TSRI_LANG_LANES_BUILD_H
#define TSRI_LANG_LANES_BUILD_H

#include <stdbool.h>

#include "lang/emit/lanes/code.h"
#include "lang/ir/ir.h"

// --- The plan: what must be known before the first instruction is written (emit/lanes/plan.c) ---------------------------

// Positions number the statements in their order; a loop has a second position, its end. Position 0 is before everything.
typedef struct lane_loop {
  uint32_t parent;  // 0: none
  uint32_t depth;
  uint32_t start, end;
  bool is_divergent;  // lanes may leave it one by one
  bool has_break, has_continue;
} lane_loop;

typedef struct lane_assign {
  uint32_t stmt, pos;
  uint32_t loop;
  bool is_step;  // it is directly in the loop, not under an `if`, so every lane that continues executes it
} lane_assign;

typedef struct lane_var_plan {
  uint32_t assign_count;
  lane_assign assigns[2];  // the first two
  uint32_t first_read, last_read;
  uint32_t home;  // innermost loop that contains every access
  bool is_seen;
  uint32_t first, last;           // positions between which the register is needed
  uint32_t next_born, next_dead;  // next variable in the lists by position
} lane_var_plan;

typedef struct lane_access {
  uint32_t var, pos, loop;
} lane_access;

typedef struct lane_plan {
  uint32_t *stmt_pos;   // by statement
  uint32_t *stmt_loop;  // LOOP statements: number of the loop
  lane_loop *loops;     // from 1
  uint32_t loop_count, loop_capacity;
  lane_var_plan *vars;
  lane_access *accesses;
  uint32_t access_count, access_capacity;
  uint32_t pos_count;
  uint32_t *born, *dead;  // by position: first variable of the list
  bool is_merged;         // items of several groups may run together
} lane_plan;

// Analyses the kernel. False: no memory. Call lane_plan_deinit in either case.
bool lane_plan_init(lane_plan *plan, const tsri_kernel *kernel);
void lane_plan_deinit(lane_plan *plan);

// Whether the variable is assigned only once, and read only in the innermost loop around that assignment: then no lane ever needs an older value.
bool lane_plan_is_single(const lane_plan *plan, uint32_t var);
// Whether the variable is a loop counter: assigned before a loop, and by var + uniform or var - uniform at its end; not read after the loop.
bool lane_plan_is_counter(const lane_plan *plan, const tsri_kernel *kernel, uint32_t var);
// Whether the expression is global.x, or group.x * (group size) + local.x.
bool lane_is_global_x(const tsri_kernel *kernel, uint32_t expr);

// --- Values -----------------------------------------------------------------------------------------------------------

typedef enum lane_value_kind {
  LANE_VALUE_NONE,
  LANE_VALUE_SCALAR,  // word: a scalar
  LANE_VALUE_AFFINE,  // word + step[0] * local.x + step[1] * local.y + step[2] * local.z, all scalars; integers only
  LANE_VALUE_LANES    // word: a lane register
} lane_value_kind;

typedef struct lane_value {
  uint8_t kind;   // lane_value_kind
  uint8_t dtype;  // tsr_dtype of a value: bool, i32, u32, i64, f32, f64
  uint32_t word;  // operand
  uint32_t step[3];
} lane_value;

// A vector is one value per lane of the language's vector; these values are independent.
typedef struct lane_values {
  uint32_t count;
  lane_value part[4];
} lane_values;

// Where a result should be written, if that saves a copy.
typedef struct lane_dest {
  uint32_t word;
  bool is_merge;
} lane_dest;

// --- The builder --------------------------------------------------------------------------------------------------------

// The registers of one kind. Alias registers are separate: loads may make them refer to memory.
typedef struct lane_pool {
  uint32_t *refs;  // by register
  bool *is_alias;
  uint32_t count, capacity;
  uint32_t *free_list[2];  // plain, alias
  uint32_t free_count[2];
} lane_pool;

typedef struct lane_var_state {
  lane_values values;  // count 0: no register yet
  bool is_bound;       // the variable is an alias for these values: nothing else may be assigned to it
} lane_var_state;

// A loop that is being written.
typedef struct lane_loop_state {
  struct lane_loop_state *outer;
  const lane_loop *plan;
  uint32_t break_marks, continue_marks;  // registers; absent unless the loop is divergent and has break or continue
  uint32_t break_patch, continue_patch;  // chains of jumps whose target is set later
} lane_loop_state;

// An expression that has the same value in every iteration of a loop, and is therefore computed before the loop
// (emit/lanes/hoist.c).
typedef struct lane_hoisted {
  uint32_t expr;
  lane_value value;
} lane_hoisted;
enum { LANE_MAX_HOISTED = 64 };

typedef struct lane_builder {
  const tsri_kernel *kernel;
  lane_plan plan;
  bool has_failed;  // memory ran out; see build.c
  uint32_t *insns;
  uint32_t insn_count, insn_capacity;
  uint64_t *consts;
  uint32_t const_count, const_capacity;
  lane_pool pools[TSRI_LANE_KINDS];  // scalars and the two kinds of lane registers
  lane_var_state *vars;
  lane_hoisted hoisted[LANE_MAX_HOISTED];
  uint32_t hoisted_count;
  uint8_t *hoisted_at;  // by expression: its index in `hoisted`, from 1; 0: not hoisted
  lane_loop_state *loop;
  uint32_t divergence;  // how many enclosing conditions and loops differ between lanes
  uint32_t saves, max_saves;
  uint32_t done_pos;  // variables whose lifetime ends before this position are released
  uint32_t weight, cost;
} lane_builder;

// Emit an instruction and return its number. A chain of jumps begins as LANE_NO_PATCH.
#define LANE_NO_PATCH UINT32_MAX
typedef struct lane_words {
  uint32_t dst, a, b, c, d, e, f;
} lane_words;
uint32_t lane_emit(lane_builder *b, uint32_t op, uint32_t form, uint32_t flags, lane_words words);
uint32_t lane_emit_jump(lane_builder *b, uint32_t op, uint32_t condition, uint32_t *chain);
void lane_chain(lane_builder *b, uint32_t insn, uint32_t *chain);  // adds a jump that is already written to the chain
void lane_patch(lane_builder *b, uint32_t chain);                  // lets the chain's jumps go to the next instruction

uint32_t lane_const(lane_builder *b, uint64_t bits);
bool lane_is_const(const lane_builder *b, uint32_t word, uint64_t *out_bits);

// Registers are reference counted: lane_take allocates one with a single use, lane_release frees it when no use is left. Other operands are ignored.
uint32_t lane_take(lane_builder *b, tsr_dtype dtype, bool is_scalar, bool is_alias);
void lane_retain(lane_builder *b, uint32_t word);
void lane_release(lane_builder *b, uint32_t word);
bool lane_is_shared(const lane_builder *b, uint32_t word);  // has more than one use, or is no register
bool lane_is_alias(const lane_builder *b, uint32_t word);
void lane_value_retain(lane_builder *b, const lane_value *value);
void lane_value_release(lane_builder *b, const lane_value *value);
void lane_values_release(lane_builder *b, const lane_values *values);

uint32_t lane_bytes(tsr_dtype dtype);       // 4 or 8
uint32_t lane_index_form(tsr_dtype dtype);  // TSRI_LANE_INDEX_*

// Expressions (emit/lanes/expr.c). The caller releases the results. `dest` may be NULL.
void lane_eval(lane_builder *b, uint32_t expr, const lane_dest *dest, lane_values *out);
lane_value lane_eval_one(lane_builder *b, uint32_t expr, const lane_dest *dest);
// Applies an arithmetic instruction to values of one lane, and releases these. Absent operands: kind NONE.
lane_value lane_apply(lane_builder *b, uint32_t op, tsr_dtype result, const lane_dest *dest, lane_value x, lane_value y,
                      lane_value z);
lane_value lane_compare(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y);
lane_value lane_convert(lane_builder *b, lane_value x, tsr_dtype to, const lane_dest *dest);
lane_value lane_to_lanes(lane_builder *b, lane_value x);               // converts affine values and, by copies, scalars
lane_value lane_no_affine(lane_builder *b, lane_value x);              // converts only affine values
lane_value lane_to_scalar(lane_builder *b, lane_value x);              // the value of the first lane
void lane_move(lane_builder *b, const lane_dest *dest, lane_value x);  // releases x

// Integer operations with constant folding (emit/lanes/affine.c). They release their operands.
lane_value lane_scalar_op(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y);
// ADD, SUB, MUL or SHL whose result is affine again. False: it is not, and nothing was done.
bool lane_affine_op(lane_builder *b, tsri_ir_op op, lane_value x, lane_value y, lane_value *out);
lane_value lane_id(lane_builder *b, tsri_ir_id id, uint32_t axis);

// Memory (emit/lanes/memory.c).
void lane_load(lane_builder *b, const tsri_ir_expr *expr, const lane_dest *dest, uint32_t alias, lane_values *out);
// Whether the product of these two values can be read directly from memory (TSRI_LANE_ROWS). Their loads are then marked.
bool lane_mark_rows(lane_builder *b, const lane_value *x, const lane_value *y);
void lane_store(lane_builder *b, const tsri_ir_stmt *stmt);
void lane_atomic(lane_builder *b, const tsri_ir_stmt *stmt);
uint32_t lane_array_number(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object);

// Statements (emit/lanes/stmt.c, emit/lanes/flow.c).
void lane_block(lane_builder *b, uint32_t stmt);
void lane_if(lane_builder *b, const tsri_ir_stmt *stmt);
void lane_loop_stmt(lane_builder *b, const tsri_ir_stmt *stmt, uint32_t loop);
void lane_leave(lane_builder *b, bool is_break);
// After an `if` in which lanes may have left a loop: removes these lanes from the set. `*mask` is allocated when it is first needed. The jumps of `chain`, to
// the end of the block, are taken if no lane is left.
void lane_drop(lane_builder *b, const tsri_ir_stmt *stmt, uint32_t *mask, uint32_t *chain);
// Keeps the lanes for which the condition holds (`flip`: does not hold). The jumps of `chain` are taken if none is left.
void lane_narrow(lane_builder *b, uint32_t expr, bool flip, uint32_t mask, uint32_t *chain);
uint32_t lane_save(lane_builder *b);  // returns a slot; slots are released in reverse order
void lane_restore(lane_builder *b, uint32_t slot);
void lane_unsave(lane_builder *b);
uint32_t lane_take_mask(lane_builder *b);
// Whether the expression contains a load, which must not be executed for lanes that do not need it.
bool lane_has_load(const tsri_kernel *kernel, uint32_t expr);

// lane_hoist: before a loop, computes the expressions that do not change in it. lane_unhoist: after the loop, forgets those from `first` on.
uint32_t lane_hoist(lane_builder *b, const tsri_ir_stmt *loop_stmt, uint32_t loop);
void lane_unhoist(lane_builder *b, uint32_t first);
bool lane_is_hoisted(const lane_builder *b, uint32_t expr, lane_value *out);

// Assigns all parts of a variable, and releases the values.
void lane_assign_var(lane_builder *b, uint32_t var, lane_values *values);
// Allocates registers for a variable that has none.
void lane_reserve_var(lane_builder *b, uint32_t var);
bool lane_var_merges(const lane_builder *b, uint32_t var);

#endif
