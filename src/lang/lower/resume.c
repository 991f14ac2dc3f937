// SPDX-License-Identifier: MIT
// A kernel that stops after a number of loop rounds and goes on in the next launch, for drivers that end loops by
// themselves after so many (lavapipe: 65,535 in all of a shader, with no word about it).
//
// Each place where an item may stop has a number, its point. The variable `at` says what an item does:
//   0                      it runs
//   1 to the last point    it looks for that point, from which it goes on; statements on the way are passed over
//   STOPPED                it has stopped; the rest is passed over, and its variables are saved at the end
//   DONE                   it had ended in an earlier launch
// Runs of statements without loops stand under `if (at == 0)`. A loop is entered also to look for a point in it, and
// stops at its head once the rounds are used up.
//
// Where items wait for each other, a group stops as one. A barrier stands only where control flow is uniform, so each
// outermost statement that has loops but no barrier inside is followed by a vote: if any item stopped in it, the others
// stop behind it, at a point of its own. After a vote all items of a group have used the same number of rounds, so a loop
// with barriers inside stops in all of them at once.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "lang/lang.h"

enum { MOST_DEPTH = 400 };
#define VOTE_STOP UINT32_MAX  // more than the rounds that any item has used

typedef struct list {
  uint32_t first, last;
} list;

typedef struct range {
  uint32_t low, high;  // points inside; high < low: none
} range;

typedef struct resumer {
  const tsri_kernel *from;
  tsri_ir_expr *exprs;
  tsri_ir_stmt *stmts;
  uint32_t expr_count, expr_capacity, stmt_count, stmt_capacity;
  uint32_t points;
  uint32_t at, used, point, vote, index;  // variables
  uint32_t rounds;                        // that an item may use in one launch
  uint32_t state, again;                  // the buffer, the parameter that is 1 from the second launch on
  uint32_t item_words, shared_words;      // of what is saved
  bool votes;
  int depth;
  bool has_failed;  // no memory, or nested too deep
} resumer;

static uint32_t words_of(tsri_ir_type type) {
  return type.lanes * (tsr_dtype_bytes((tsr_dtype)type.dtype) == 8 ? 2u : 1u);
}

static tsri_ir_type element_type(const tsri_ir_array *array) {
  return (tsri_ir_type){(uint8_t)tsri_ir_compute_dtype((tsr_dtype)array->storage), 1};
}

static uint32_t array_words(const tsri_ir_array *arrays, uint32_t count) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < count; i++) words += arrays[i].count * words_of(element_type(&arrays[i]));
  return words;
}

static uint32_t group_items(const tsri_kernel *k) { return k->group_size[0] * k->group_size[1] * k->group_size[2]; }

// Where it stopped, its variables, its local arrays.
static uint32_t words_of_item(const tsri_kernel *kernel) {
  uint32_t words = 1;
  for (uint32_t i = 1; i < kernel->var_count; i++) words += words_of(kernel->vars[i].type);
  return words + array_words(kernel->locals, kernel->local_count);
}

uint64_t tsri_kernel_resume_words(const tsri_kernel *kernel) {
  return (uint64_t)group_items(kernel) * words_of_item(kernel) + array_words(kernel->shared, kernel->shared_count);
}

// --- Expressions ------------------------------------------------------------------------------------------------------

static const tsri_ir_type u32_type = {TSR_U32, 1}, bool_type = {TSR_BOOL, 1}, i64_type = {TSR_I64, 1};

static bool grow(void **data, uint32_t *capacity, uint32_t count, size_t size) {
  if (count < *capacity) return true;
  uint32_t wanted = *capacity * 2 + 64;
  void *grown = tsri_realloc(*data, wanted * size);
  if (!grown) return false;
  *data = grown;
  *capacity = wanted;
  return true;
}

static uint32_t put(resumer *r, tsri_ir_expr expr) {
  void *data = r->exprs;
  if (!grow(&data, &r->expr_capacity, r->expr_count, sizeof expr)) r->has_failed = true;
  r->exprs = data;
  if (r->has_failed) return 0;
  r->exprs[r->expr_count] = expr;
  return r->expr_count++;
}

static uint32_t number(resumer *r, uint32_t value) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = u32_type, .bits = value});
}

static uint32_t variable(resumer *r, uint32_t var, tsri_ir_type type) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type, .object = var});
}

static uint32_t word(resumer *r, uint32_t var) { return variable(r, var, u32_type); }

static uint32_t op(resumer *r, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_OP, .op = (uint8_t)code, .type = type, .a = a, .b = b, .c = c});
}

static uint32_t add(resumer *r, uint32_t a, uint32_t b) { return op(r, TSRI_OP_ADD, u32_type, a, b, 0); }
static uint32_t mul(resumer *r, uint32_t a, uint32_t b) { return op(r, TSRI_OP_MUL, u32_type, a, b, 0); }
static uint32_t test(resumer *r, tsri_ir_op code, uint32_t a, uint32_t b) { return op(r, code, bool_type, a, b, 0); }

static uint32_t lazily(resumer *r, tsri_ir_expr_kind kind, uint32_t a, uint32_t b) {
  return put(r, (tsri_ir_expr){.kind = (uint8_t)kind, .type = bool_type, .a = a, .b = b});
}

static uint32_t cast(resumer *r, uint32_t a, tsri_ir_expr_kind kind, tsri_ir_type type) {
  return put(r, (tsri_ir_expr){.kind = (uint8_t)kind, .dtype = type.dtype, .type = type, .a = a});
}

static uint32_t at_is(resumer *r, uint32_t value) { return test(r, TSRI_OP_EQ, word(r, r->at), number(r, value)); }
static uint32_t runs(resumer *r) { return at_is(r, 0); }

// Values of `at` above all points.
#define STOPPED 0xfffffffeu
#define DONE    0xffffffffu

static uint32_t looks_in(resumer *r, range points) {
  uint32_t place = op(r, TSRI_OP_SUB, u32_type, word(r, r->at), number(r, points.low), 0);
  return test(r, TSRI_OP_LE, place, number(r, points.high - points.low));
}

static uint32_t runs_or_looks_in(resumer *r, range points) { return test(r, TSRI_OP_OR, runs(r), looks_in(r, points)); }

static uint32_t id(resumer *r, tsri_ir_id which, uint32_t axis) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_ID,
                               .op = (uint8_t)which,
                               .lane = (uint8_t)axis,
                               .is_uniform = tsri_ir_id_infos[which].is_uniform,
                               .type = u32_type});
}

// --- Statements -------------------------------------------------------------------------------------------------------

static uint32_t put_stmt(resumer *r, tsri_ir_stmt stmt) {
  void *data = r->stmts;
  if (!grow(&data, &r->stmt_capacity, r->stmt_count, sizeof stmt)) r->has_failed = true;
  r->stmts = data;
  if (r->has_failed) return 0;
  r->stmts[r->stmt_count] = stmt;
  return r->stmt_count++;
}

static void append(resumer *r, list *to, uint32_t stmt) {
  if (!stmt) return;
  if (to->last) r->stmts[to->last].next = stmt;
  else to->first = stmt;
  to->last = stmt;
}

static void assign(resumer *r, list *to, uint32_t var, uint32_t value) {
  append(r, to, put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_ASSIGN, .var = var, .value = value}));
}

// `like`: whose flags it takes, since it stands in its place.
static uint32_t put_if(resumer *r, const tsri_ir_stmt *like, uint32_t condition, uint32_t body, uint32_t other) {
  tsri_ir_stmt stmt = {.kind = TSRI_STMT_IF, .value = condition, .body = body, .other = other};
  if (like) stmt.is_uniform = like->is_uniform, stmt.has_barrier = like->has_barrier, stmt.pos = like->pos;
  return put_stmt(r, stmt);
}

static uint32_t put_break_if(resumer *r, uint32_t condition) {
  return put_if(r, NULL, condition, put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_BREAK}), 0);
}

static list stop_at(resumer *r, uint32_t point) {
  list l = {0};
  assign(r, &l, r->point, number(r, point));
  assign(r, &l, r->at, number(r, STOPPED));
  return l;
}

static void arrive(resumer *r, list *to, uint32_t point) {
  list l = {0};
  assign(r, &l, r->at, number(r, 0));
  append(r, to, put_if(r, NULL, at_is(r, point), l.first, 0));
}

// --- The walk ---------------------------------------------------------------------------------------------------------

static list rewrite_block(resumer *r, uint32_t first, bool is_in_region, range *out_points);

static bool has_loop(resumer *r, uint32_t first) {
  bool has = false;
  if (++r->depth > MOST_DEPTH) r->has_failed = true;
  for (uint32_t i = first; i && !has && !r->has_failed; i = r->stmts[i].next) {
    const tsri_ir_stmt *s = &r->stmts[i];
    has = s->kind == TSRI_STMT_LOOP || (s->kind == TSRI_STMT_IF && (has_loop(r, s->body) || has_loop(r, s->other)));
  }
  r->depth--;
  return has;
}

// At the head of each round: arriving, counting, the loop's own condition, and what ends it in an item that stopped.
static list loop_head(resumer *r, uint32_t head, uint32_t condition) {
  list l = {0}, counting = {0};
  arrive(r, &l, head);
  assign(r, &counting, r->used, add(r, word(r, r->used), number(r, 1)));
  uint32_t is_over = test(r, TSRI_OP_GT, word(r, r->used), number(r, r->rounds));
  append(r, &counting, put_if(r, NULL, is_over, stop_at(r, head).first, 0));
  append(r, &l, put_if(r, NULL, runs(r), counting.first, 0));
  if (condition) {
    uint32_t ends = op(r, TSRI_OP_NOT, bool_type, condition, 0, 0);
    append(r, &l, put_break_if(r, lazily(r, TSRI_EXPR_AND_THEN, runs(r), ends)));
  }
  append(r, &l, put_break_if(r, at_is(r, STOPPED)));
  return l;
}

static void join(resumer *r, list *to, list more) {
  if (!more.first) return;
  append(r, to, more.first);
  to->last = more.last;
}

static uint32_t rewrite_loop(resumer *r, uint32_t index, bool is_in_region, range *out_points) {
  tsri_ir_stmt loop = r->stmts[index];
  range inside;
  out_points->low = ++r->points;
  list body = loop_head(r, out_points->low, loop.value);
  join(r, &body, rewrite_block(r, loop.body, is_in_region, &inside));
  loop.other = rewrite_block(r, loop.other, is_in_region, &inside).first;
  out_points->high = r->points;
  loop.value = 0;
  loop.body = body.first;
  loop.next = 0;
  uint32_t rewritten = put_stmt(r, loop);
  return put_if(r, &loop, runs_or_looks_in(r, *out_points), rewritten, 0);
}

static uint32_t rewrite_if(resumer *r, uint32_t index, bool is_in_region, range *out_points) {
  tsri_ir_stmt stmt = r->stmts[index];
  range yes, no;
  out_points->low = r->points + 1;
  uint32_t body = rewrite_block(r, stmt.body, is_in_region, &yes).first;
  uint32_t other = rewrite_block(r, stmt.other, is_in_region, &no).first;
  out_points->high = r->points;
  uint32_t condition = lazily(r, TSRI_EXPR_AND_THEN, runs(r), stmt.value);
  if (yes.high >= yes.low) condition = lazily(r, TSRI_EXPR_OR_ELSE, condition, looks_in(r, yes));
  return put_if(r, &stmt, condition, body, other);
}

// After `region`, in which items stopped one by one or not at all: all of the group stop, or none.
static uint32_t with_vote(resumer *r, const tsri_ir_stmt *like, uint32_t region, range *points) {
  list l = {0}, all = {0}, used = {0};
  uint32_t after = points->high = ++r->points;
  append(r, &l, region);
  arrive(r, &l, after);
  uint32_t has_stopped = at_is(r, STOPPED), stop = number(r, VOTE_STOP);
  uint32_t value = op(r, TSRI_OP_SELECT, u32_type, has_stopped, stop, word(r, r->used));
  append(r, &l,
         put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                    .op = TSRI_COLLECTIVE_GROUP_MAX,
                                    .is_uniform = true,
                                    .var = r->vote,
                                    .value = value}));
  append(r, &all, put_if(r, NULL, runs(r), stop_at(r, after).first, 0));
  assign(r, &used, r->used, word(r, r->vote));
  uint32_t any = test(r, TSRI_OP_EQ, word(r, r->vote), number(r, VOTE_STOP));
  append(r, &l, put_if(r, NULL, any, all.first, used.first));
  tsri_ir_stmt flags = *like;
  flags.has_barrier = true;
  return put_if(r, &flags, runs_or_looks_in(r, *points), l.first, 0);
}

// The statements from `first` up to `end` have no loops.
static void put_run(resumer *r, list *to, uint32_t first, uint32_t last) {
  if (!first) return;
  tsri_ir_stmt like = r->stmts[first];
  like.has_barrier = false;
  for (uint32_t i = first;; i = r->stmts[i].next) {
    const tsri_ir_stmt *s = &r->stmts[i];
    like.has_barrier |= s->has_barrier || s->kind == TSRI_STMT_BARRIER || s->kind == TSRI_STMT_COLLECTIVE;
    if (i == last) break;
  }
  r->stmts[last].next = 0;
  append(r, to, put_if(r, &like, runs(r), first, 0));
}

static uint32_t rewrite_stmt(resumer *r, uint32_t index, bool is_in_region, range *out_points) {
  tsri_ir_stmt stmt = r->stmts[index];
  bool is_region = r->votes && !is_in_region && !stmt.has_barrier;
  uint32_t done = stmt.kind == TSRI_STMT_LOOP ? rewrite_loop(r, index, is_in_region || is_region, out_points)
                                              : rewrite_if(r, index, is_in_region || is_region, out_points);
  return is_region ? with_vote(r, &stmt, done, out_points) : done;
}

static list rewrite_block(resumer *r, uint32_t first, bool is_in_region, range *out_points) {
  list l = {0};
  uint32_t run_first = 0, run_last = 0, next = 0;
  out_points->low = r->points + 1;
  if (++r->depth > MOST_DEPTH) r->has_failed = true;
  for (uint32_t i = first; i && !r->has_failed; i = next) {
    next = r->stmts[i].next;
    bool is_plain =
        r->stmts[i].kind != TSRI_STMT_LOOP &&
        (r->stmts[i].kind != TSRI_STMT_IF || !(has_loop(r, r->stmts[i].body) || has_loop(r, r->stmts[i].other)));
    if (is_plain) {
      if (!run_first) run_first = i;
      run_last = i;
      continue;
    }
    range inside;
    put_run(r, &l, run_first, run_last);
    run_first = 0;
    append(r, &l, rewrite_stmt(r, i, is_in_region, &inside));
  }
  if (!r->has_failed) put_run(r, &l, run_first, run_last);
  r->depth--;
  out_points->high = r->points;
  return l;
}

// --- Saving and going on ----------------------------------------------------------------------------------------------

static uint32_t load_word(resumer *r, uint32_t index) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                               .space = TSRI_SPACE_BUFFER,
                               .dtype = TSR_U32,
                               .type = u32_type,
                               .object = r->state,
                               .a = index});
}

static void store_word(resumer *r, list *to, uint32_t index, uint32_t value) {
  append(r, to,
         put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                    .space = TSRI_SPACE_BUFFER,
                                    .object = r->state,
                                    .index = index,
                                    .value = value}));
}

// Number of this group in the launch, and of this item in its group.
static uint32_t group_number(resumer *r) {
  uint32_t yz = add(r, mul(r, id(r, TSRI_ID_GROUP, 2), id(r, TSRI_ID_GROUPS, 1)), id(r, TSRI_ID_GROUP, 1));
  return add(r, mul(r, yz, id(r, TSRI_ID_GROUPS, 0)), id(r, TSRI_ID_GROUP, 0));
}

static uint32_t item_number(resumer *r) {
  const uint32_t *size = r->from->group_size;
  uint32_t yz = add(r, mul(r, id(r, TSRI_ID_LOCAL, 2), number(r, size[1])), id(r, TSRI_ID_LOCAL, 1));
  return add(r, mul(r, yz, number(r, size[0])), id(r, TSRI_ID_LOCAL, 0));
}

// Word `offset` of what an item saves. Words of a group lie together: its items', then its shared arrays'.
static uint32_t item_word(resumer *r, uint32_t offset) {
  uint32_t all = group_items(r->from) * r->item_words + r->shared_words;
  uint32_t first = mul(r, item_number(r), number(r, r->item_words));
  return add(r, add(r, mul(r, group_number(r), number(r, all)), first), number(r, 1 + offset));
}

// Word `part` of a value of one lane, which `value` makes anew each time it is called.
static uint32_t value_word(resumer *r, uint32_t value, tsr_dtype dtype, uint32_t part) {
  if (dtype == TSR_BOOL) return cast(r, value, TSRI_EXPR_CONVERT, u32_type);
  if (tsr_dtype_bytes(dtype) == 4) return dtype == TSR_U32 ? value : cast(r, value, TSRI_EXPR_BITCAST, u32_type);
  if (dtype == TSR_F64) value = cast(r, value, TSRI_EXPR_BITCAST, i64_type);
  if (part) value = op(r, TSRI_OP_SHR, i64_type, value, number(r, 32), 0);
  return cast(r, value, TSRI_EXPR_CONVERT, u32_type);
}

static uint32_t value_of(resumer *r, tsr_dtype dtype, uint32_t low, uint32_t high) {
  tsri_ir_type type = {(uint8_t)dtype, 1};
  if (dtype == TSR_BOOL) return test(r, TSRI_OP_NE, low, number(r, 0));
  if (tsr_dtype_bytes(dtype) == 4) return dtype == TSR_U32 ? low : cast(r, low, TSRI_EXPR_BITCAST, type);
  uint32_t upper = op(r, TSRI_OP_SHL, i64_type, cast(r, high, TSRI_EXPR_CONVERT, i64_type), number(r, 32), 0);
  uint32_t both = op(r, TSRI_OP_OR, i64_type, upper, cast(r, low, TSRI_EXPR_CONVERT, i64_type), 0);
  return dtype == TSR_I64 ? both : cast(r, both, TSRI_EXPR_BITCAST, type);
}

static void save_var(resumer *r, list *to, uint32_t var, uint32_t offset) {
  tsri_ir_type type = r->from->vars[var].type;
  uint32_t each = words_of(type) / type.lanes;
  for (uint32_t i = 0; i < words_of(type); i++) {
    uint32_t value = variable(r, var, type);
    if (type.lanes > 1) {
      value = put(r, (tsri_ir_expr){
                         .kind = TSRI_EXPR_EXTRACT, .lane = (uint8_t)(i / each), .type = {type.dtype, 1}, .a = value});
    }
    store_word(r, to, item_word(r, offset + i), value_word(r, value, (tsr_dtype)type.dtype, i % each));
  }
}

static void load_var(resumer *r, list *to, uint32_t var, uint32_t offset) {
  tsri_ir_type type = r->from->vars[var].type;
  uint32_t each = words_of(type) / type.lanes, lanes[4] = {0};
  for (uint32_t i = 0; i < type.lanes; i++) {
    uint32_t low = load_word(r, item_word(r, offset + i * each));
    uint32_t high = each > 1 ? load_word(r, item_word(r, offset + i * each + 1)) : 0;
    lanes[i] = value_of(r, (tsr_dtype)type.dtype, low, high);
  }
  tsri_ir_expr vector = {
      .kind = TSRI_EXPR_VECTOR, .type = type, .a = lanes[0], .b = lanes[1], .c = lanes[2], .d = lanes[3]};
  assign(r, to, var, type.lanes > 1 ? put(r, vector) : lanes[0]);
}

// for (index = first; index < count; index += step) the element is saved at, or loaded from, words base + index * each.
typedef struct copying {
  tsri_ir_space space;
  uint32_t object, first, step;  // `first`: 0, or the item's number
  bool is_item, is_save;
  uint32_t offset;
} copying;

static uint32_t array_word(resumer *r, const copying *c, uint32_t each, uint32_t part) {
  uint32_t at = mul(r, word(r, r->index), number(r, each));
  uint32_t base;
  if (c->is_item) {
    base = item_word(r, c->offset + part);
  } else {
    uint32_t items = group_items(r->from) * r->item_words, all = items + r->shared_words;
    base = add(r, mul(r, group_number(r), number(r, all)), number(r, 1 + items + c->offset + part));
  }
  return add(r, base, at);
}

static void copy_array(resumer *r, list *to, const copying *c) {
  const tsri_ir_array *array = tsri_ir_array_of(r->from, c->space, c->object);
  tsri_ir_type type = element_type(array);
  uint32_t each = words_of(type);
  list body = {0}, step = {0};
  for (uint32_t part = 0; c->is_save && part < each; part++) {
    uint32_t element = put(r, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                             .space = (uint8_t)c->space,
                                             .dtype = array->storage,
                                             .type = type,
                                             .object = c->object,
                                             .a = word(r, r->index)});
    store_word(r, &body, array_word(r, c, each, part), value_word(r, element, (tsr_dtype)type.dtype, part));
  }
  if (!c->is_save) {
    uint32_t low = load_word(r, array_word(r, c, each, 0)),
             high = each > 1 ? load_word(r, array_word(r, c, each, 1)) : 0;
    append(r, &body,
           put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                      .space = (uint8_t)c->space,
                                      .object = c->object,
                                      .index = word(r, r->index),
                                      .value = value_of(r, (tsr_dtype)type.dtype, low, high)}));
  }
  assign(r, to, r->index, c->is_item ? number(r, 0) : item_number(r));
  assign(r, &step, r->index, add(r, word(r, r->index), number(r, c->step)));
  uint32_t goes_on = test(r, TSRI_OP_LT, word(r, r->index), number(r, array->count));
  append(
      r, to,
      put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_LOOP, .value = goes_on, .body = body.first, .other = step.first}));
}

static void copy_shared(resumer *r, list *to, bool is_save) {
  uint32_t offset = 0;
  for (uint32_t i = 0; i < r->from->shared_count; i++) {
    copy_array(r, to, &(copying){TSRI_SPACE_SHARED, i, 0, group_items(r->from), false, is_save, offset});
    offset += r->from->shared[i].count * words_of(element_type(&r->from->shared[i]));
  }
}

static void copy_item(resumer *r, list *to, bool is_save) {
  uint32_t offset = 1;
  for (uint32_t i = 1; i < r->from->var_count; i++) {
    if (is_save) save_var(r, to, i, offset);
    else load_var(r, to, i, offset);
    offset += words_of(r->from->vars[i].type);
  }
  for (uint32_t i = 0; i < r->from->local_count; i++) {
    copy_array(r, to, &(copying){TSRI_SPACE_LOCAL, i, 0, 1, true, is_save, offset});
    offset += r->from->locals[i].count * words_of(element_type(&r->from->locals[i]));
  }
}

static void put_barrier(resumer *r, list *to) {
  append(r, to, put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_BARRIER, .is_uniform = true}));
}

static uint32_t zero_of(resumer *r, tsri_ir_type type) {
  tsri_ir_type lane = {type.dtype, 1};
  uint32_t zero = put(r, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = lane});
  return type.lanes > 1 ? put(r, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .is_uniform = true, .type = type, .a = zero})
                        : zero;
}

// Variables begin as 0, so that each has a value wherever it is saved.
static void put_begin(resumer *r, list *to) {
  list go_on = {0};
  for (uint32_t i = 1; i < r->from->var_count; i++) assign(r, to, i, zero_of(r, r->from->vars[i].type));
  const uint32_t uint32[] = {r->at, r->used, r->point, r->vote, r->index};
  for (size_t i = 0; i < sizeof uint32 / sizeof *uint32; i++) assign(r, to, uint32[i], number(r, 0));
  assign(r, &go_on, r->at, load_word(r, item_word(r, 0)));
  copy_item(r, &go_on, false);
  copy_shared(r, &go_on, false);
  uint32_t again =
      put(r, (tsri_ir_expr){.kind = TSRI_EXPR_SCALAR, .is_uniform = true, .type = u32_type, .object = r->again});
  append(r, to, put_if(r, NULL, test(r, TSRI_OP_NE, again, number(r, 0)), go_on.first, 0));
  if (r->from->shared_count) put_barrier(r, to);
}

static void put_end(resumer *r, list *to) {
  list save = {0};
  if (r->from->shared_count) {  // all items come here
    put_barrier(r, to);
    list shared = {0};
    uint32_t has_stopped = op(r, TSRI_OP_SELECT, u32_type, at_is(r, STOPPED), number(r, 1), number(r, 0));
    append(r, to,
           put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                      .op = TSRI_COLLECTIVE_GROUP_MAX,
                                      .is_uniform = true,
                                      .var = r->vote,
                                      .value = has_stopped}));
    copy_shared(r, &shared, true);
    append(r, to, put_if(r, NULL, test(r, TSRI_OP_NE, word(r, r->vote), number(r, 0)), shared.first, 0));
  }
  copy_item(r, &save, true);
  store_word(r, &save, number(r, 0), number(r, 1));
  append(r, to, put_if(r, NULL, at_is(r, STOPPED), save.first, 0));
  uint32_t kept = op(r, TSRI_OP_SELECT, u32_type, at_is(r, STOPPED), word(r, r->point), number(r, DONE));
  store_word(r, to, item_word(r, 0), kept);
}

// --- The kernel -------------------------------------------------------------------------------------------------------

static bool copy_all(resumer *r) {
  const tsri_kernel *k = r->from;
  r->expr_capacity = k->expr_count * 2 + 1024;
  r->stmt_capacity = k->stmt_count * 2 + 256;
  r->exprs = tsri_calloc(r->expr_capacity, sizeof *r->exprs);
  r->stmts = tsri_calloc(r->stmt_capacity, sizeof *r->stmts);
  if (!r->exprs || !r->stmts) return false;
  if (k->expr_count) memcpy(r->exprs, k->exprs, k->expr_count * sizeof *r->exprs);
  if (k->stmt_count) memcpy(r->stmts, k->stmts, k->stmt_count * sizeof *r->stmts);
  r->expr_count = k->expr_count ? k->expr_count : 1;
  r->stmt_count = k->stmt_count ? k->stmt_count : 1;
  return true;
}

static const char *const own_names[] = {"at", "used", "point", "vote", "index"};
enum { MORE_VARS = sizeof own_names / sizeof *own_names };

// Items go on from different places, so that a variable may differ where it did not: only what no variable and no memory is
// part of is still the same in all items.
static void forget_uniform(resumer *r) {
  for (uint32_t i = 1; i < r->expr_count; i++) {
    tsri_ir_expr *x = &r->exprs[i];
    bool is_known = x->kind == TSRI_EXPR_VAR ? x->object == r->vote : x->kind != TSRI_EXPR_LOAD && x->is_uniform;
    uint32_t operands = tsri_ir_operands(x);
    for (uint32_t k = 0; k < operands; k++) is_known &= r->exprs[x->args[k]].is_uniform;
    x->is_uniform = is_known;
  }
}

// Sizes of the arrays that follow the kernel in its block of memory, each beginning at a multiple of 16 bytes.
enum { EXPRS, STMTS, VARS, BUFFERS, SHARED, LOCALS, PARAMS, ARRAY_COUNT };

static tsri_kernel *allocate(const size_t bytes[ARRAY_COUNT], void *places[ARRAY_COUNT]) {
  size_t total = (sizeof(tsri_kernel) + 15) / 16 * 16, offsets[ARRAY_COUNT];
  for (int i = 0; i < ARRAY_COUNT; i++) {
    offsets[i] = total;
    total += (bytes[i] + 15) / 16 * 16;
  }
  tsri_kernel *made = tsri_calloc(1, total);
  for (int i = 0; made && i < ARRAY_COUNT; i++) places[i] = (char *)made + offsets[i];
  return made;
}

static void fill_vars(const resumer *r, tsri_ir_var *vars) {
  for (uint32_t i = 1; i < r->from->var_count; i++) {
    vars[i] = r->from->vars[i];
    vars[i].is_uniform = false;
  }
  for (uint32_t i = 0; i < MORE_VARS; i++) {
    vars[r->at + i] = (tsri_ir_var){.name = own_names[i], .type = u32_type, .is_uniform = r->at + i == r->vote};
  }
}

// Saving and restoring read and write all of them.
static void fill_arrays(const tsri_ir_array *from, uint32_t count, tsri_ir_array *to) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
    to[i].is_loaded = to[i].is_stored = true;
  }
}

static tsri_kernel *finish(resumer *r, uint32_t body) {
  const tsri_kernel *k = r->from;
  uint32_t vars = r->at + MORE_VARS;
  const size_t bytes[ARRAY_COUNT] = {[EXPRS] = r->expr_count * sizeof(tsri_ir_expr),
                                     [STMTS] = r->stmt_count * sizeof(tsri_ir_stmt),
                                     [VARS] = vars * sizeof(tsri_ir_var),
                                     [BUFFERS] = (k->buffer_count + 1) * sizeof(tsri_ir_array),
                                     [SHARED] = k->shared_count * sizeof(tsri_ir_array),
                                     [LOCALS] = k->local_count * sizeof(tsri_ir_array),
                                     [PARAMS] = (k->param_count + 1) * sizeof(tsri_ir_param)};
  void *places[ARRAY_COUNT];
  tsri_kernel *made = allocate(bytes, places);
  if (!made) return NULL;
  memcpy(places[EXPRS], r->exprs, bytes[EXPRS]);
  memcpy(places[STMTS], r->stmts, bytes[STMTS]);
  fill_vars(r, places[VARS]);
  fill_arrays(k->shared, k->shared_count, places[SHARED]);
  fill_arrays(k->locals, k->local_count, places[LOCALS]);
  tsri_ir_array *buffers = places[BUFFERS];
  if (k->buffer_count) memcpy(buffers, k->buffers, k->buffer_count * sizeof *buffers);
  buffers[k->buffer_count] = (tsri_ir_array){
      .name = "state", .storage = TSR_U32, .access = TSRI_ACCESS_INOUT, .is_loaded = true, .is_stored = true};
  tsri_ir_param *params = places[PARAMS];
  if (k->param_count) memcpy(params, k->params, k->param_count * sizeof *params);
  params[k->param_count] =
      (tsri_ir_param){.name = "again", .declared = TSR_U32, .type = u32_type, .offset = k->params_bytes};
  *made = *k;
  made->exprs = places[EXPRS], made->expr_count = r->expr_count;
  made->stmts = places[STMTS], made->stmt_count = r->stmt_count;
  made->vars = places[VARS], made->var_count = vars;
  made->buffers = buffers, made->buffer_count++;
  made->shared = places[SHARED], made->locals = places[LOCALS];
  made->params = params, made->param_count++, made->params_bytes += 4;
  made->body = body;
  if (r->votes || k->shared_count) made->needs |= TSRI_NEEDS_BARRIER | TSRI_NEEDS_GROUP_OPS;
  return made;
}

tsr_status tsri_kernel_resume(const tsri_kernel *kernel, uint32_t rounds, tsri_kernel **out_kernel) {
  *out_kernel = NULL;
  if (kernel->param_count >= TSRI_LANG_MAX_PARAMS || kernel->buffer_count >= TSRI_LANG_MAX_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%s: %u parameters and %u buffers leave no room for what loops of many rounds need on this device",
                     kernel->variant, kernel->param_count, kernel->buffer_count);
  }
  uint32_t first = kernel->var_count ? kernel->var_count : 1;
  resumer r = {.from = kernel,
               .rounds = rounds,
               .at = first,
               .used = first + 1,
               .point = first + 2,
               .vote = first + 3,
               .index = first + 4,
               .state = kernel->buffer_count,
               .again = kernel->param_count,
               .item_words = words_of_item(kernel),
               .shared_words = array_words(kernel->shared, kernel->shared_count),
               .votes = (kernel->needs & TSRI_NEEDS_BARRIER) != 0};
  list all = {0};
  range points;
  if (!copy_all(&r)) r.has_failed = true;
  if (!r.has_failed) put_begin(&r, &all);
  if (!r.has_failed) join(&r, &all, rewrite_block(&r, kernel->body, false, &points));
  if (!r.has_failed) put_end(&r, &all);
  if (!r.has_failed) forget_uniform(&r);
  if (!r.has_failed) *out_kernel = finish(&r, all.first);
  tsri_free(r.exprs);
  tsri_free(r.stmts);
  if (*out_kernel) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for loops of many rounds", kernel->variant);
}
