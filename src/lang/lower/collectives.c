// SPDX-License-Identifier: MIT
#include "lang/lower/collectives.h"

#include "lang/lower/collective.h"
#include "lang/lower/hoist_build.h"

// The collective being lowered. Bools are 0 and 1 in shared memory, where "any" is their maximum and "all" their minimum.
typedef struct collecting {
  hoister *h;
  rewriter *w;
  list *to;
  tsri_ir_type type;   // of a value in shared memory
  tsri_ir_op combine;  // ADD, MIN or MAX
  uint32_t pool;       // the shared array
  uint32_t items;      // of the work-group
  uint32_t item;       // this item's number in it: an expression that may be used any number of times
} collecting;

static const tsri_collectives_options *options_of(const hoister *h) { return h->context; }

// --- The shared array -------------------------------------------------------------------------------------------------

// Returns the shared array for values of this type, with room for at least `count` elements.
static uint32_t pool_of(hoister *h, tsr_dtype dtype, uint32_t count) {
  for (uint32_t i = h->w.from->shared_count; i < h->shared_count; i++) {
    if (h->shared[i].storage != dtype) continue;
    if (h->shared[i].count < count) h->shared[i].count = h->shared[i].dims[0] = count;
    return i;
  }
  h->shared[h->shared_count] = (tsri_ir_array){.name = "pool",
                                               .storage = (uint8_t)dtype,
                                               .is_loaded = true,
                                               .is_stored = true,
                                               .count = count,
                                               .dim_count = 1,
                                               .dims = {count}};
  return h->shared_count++;
}

static uint32_t get(const collecting *c, uint32_t index) {
  return put(c->w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                  .space = TSRI_SPACE_SHARED,
                                  .dtype = c->type.dtype,
                                  .type = c->type,
                                  .object = c->pool,
                                  .a = index});
}

static uint32_t store(const collecting *c, uint32_t index, uint32_t value) {
  return put_stmt(
      c->w,
      (tsri_ir_stmt){
          .kind = TSRI_STMT_STORE, .space = TSRI_SPACE_SHARED, .object = c->pool, .index = index, .value = value});
}

static void put_barrier(const collecting *c) {
  append(c->w, c->to, put_stmt(c->w, (tsri_ir_stmt){.kind = TSRI_STMT_BARRIER, .is_uniform = true}));
}

static uint32_t combined(const collecting *c, uint32_t a, uint32_t b) { return op(c->w, c->combine, c->type, a, b, 0); }

static uint32_t bits_and(const collecting *c, uint32_t a, uint32_t mask) {
  return op(c->w, TSRI_OP_AND, u32_type, a, number(c->w, mask), 0);
}

// --- Results ----------------------------------------------------------------------------------------------------------

// Tree reduction in shared memory: in each step, item i combines its value with that of item i + half.
static uint32_t reduce_group(const collecting *c) {
  rewriter *w = c->w;
  bool for_all = options_of(c->h)->load_for_all;
  for (uint32_t left = c->items, half; left > 1; left = half) {
    half = (left + 1) / 2;
    uint32_t other = add(w, c->item, number(w, half));
    uint32_t pair = store(c, c->item, combined(c, get(c, c->item), get(c, other)));
    append(w, c->to, put_if(w, NULL, test(w, TSRI_OP_LT, c->item, number(w, left - half)), pair, 0));
    if (half > 1 || !for_all) put_barrier(c);
  }
  uint32_t result = get(c, number(w, 0));
  if (!w->has_failed && for_all) w->exprs[result].op = TSRI_LOAD_FOR_ALL;
  return result;
}

// The index in the work-group of the first item of this item's subgroup.
static uint32_t first_of_subgroup(const collecting *c) {
  return bits_and(c, c->item, ~(options_of(c->h)->subgroup_size - 1));
}

// Combines the values `first` to `end` - 1, one after the other.
static uint32_t reduce_run(const collecting *c, uint32_t first, uint32_t end) {
  rewriter *w = c->w;
  uint32_t at = tsri_hoist_var(c->h, u32_type), sum = tsri_hoist_var(c->h, c->type);
  uint32_t last = tsri_hoist_value(c->h, c->to, end);
  list body = {0}, step = {0};
  assign(w, c->to, at, first);
  assign(w, c->to, sum, get(c, word(w, at)));
  assign(w, c->to, at, add(w, word(w, at), number(w, 1)));
  assign(w, &body, sum, combined(c, variable(w, sum, c->type), get(c, word(w, at))));
  assign(w, &step, at, add(w, word(w, at), number(w, 1)));
  append(w, c->to,
         put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_LOOP,
                                    .value = test(w, TSRI_OP_LT, word(w, at), last),
                                    .body = body.first,
                                    .other = step.first}));
  return variable(w, sum, c->type);
}

static uint32_t reduce_subgroup(const collecting *c) {
  rewriter *w = c->w;
  uint32_t size = options_of(c->h)->subgroup_size;
  uint32_t end = add(w, first_of_subgroup(c), number(w, size));
  if (c->items % size != 0) end = op(w, TSRI_OP_MIN, u32_type, end, number(w, c->items), 0);
  return reduce_run(c, first_of_subgroup(c), end);
}

// The value of another item of the subgroup; 0 if the work-group ends before that item.
static uint32_t shuffle(const collecting *c, const tsri_ir_stmt *s) {
  rewriter *w = c->w;
  uint32_t size = options_of(c->h)->subgroup_size, lane = s->compare;
  if (s->op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) lane = op(w, TSRI_OP_XOR, u32_type, lane, c->item, 0);
  uint32_t from = op(w, TSRI_OP_OR, u32_type, first_of_subgroup(c), bits_and(c, lane, size - 1), 0);
  if (c->items % size == 0) return get(c, from);
  from = tsri_hoist_value(c->h, c->to, from);
  uint32_t is_there = test(w, TSRI_OP_LT, from, number(w, c->items));
  uint32_t zero = put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = c->type});
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_COND, .type = c->type, .a = is_there, .b = get(c, from), .c = zero});
}

// --- Statements -------------------------------------------------------------------------------------------------------

static uint32_t items_of(const tsri_kernel *k) { return k->group_size[0] * k->group_size[1] * k->group_size[2]; }

// As begin, for a collective that needs no shared array.
static collecting begin_alone(hoister *h, const tsri_ir_stmt *s, const tsri_collective_way *way, list *to) {
  tsri_ir_type value = h->w.exprs[s->value].type;
  return (collecting){.h = h,
                      .w = &h->w,
                      .to = to,
                      .type = way->is_bool ? u32_type : value,
                      .combine = way->op == TSRI_OP_OR    ? TSRI_OP_MAX
                                 : way->op == TSRI_OP_AND ? TSRI_OP_MIN
                                                          : way->op,
                      .items = items_of(h->w.from)};
}

static collecting begin(hoister *h, const tsri_ir_stmt *s, const tsri_collective_way *way, list *to, uint32_t count) {
  collecting c = begin_alone(h, s, way, to);
  c.pool = pool_of(h, (tsr_dtype)c.type.dtype, count);
  c.item = tsri_hoist_item_number(h, to);
  return c;
}

// This item's bit in the result of a ballot; 0 for lanes that have no bit in the word.
static uint32_t ballot_bit(const collecting *c, uint32_t value) {
  rewriter *w = c->w;
  uint32_t size = options_of(c->h)->subgroup_size, lane = bits_and(c, c->item, size - 1);
  uint32_t bit = op(w, TSRI_OP_SHL, u32_type, value, lane, 0);
  if (size <= 32) return bit;
  return op(w, TSRI_OP_SELECT, u32_type, test(w, TSRI_OP_LT, lane, number(w, 32)), bit, number(w, 0));
}

static uint32_t in_pool(const collecting *c, const tsri_collective_way *way, uint32_t value) {
  if (way->is_ballot) return ballot_bit(c, value);
  return way->is_bool ? cast(c->w, value, TSRI_EXPR_CONVERT, u32_type) : value;
}

static void assign_result(const collecting *c, const tsri_collective_way *way, uint32_t var, uint32_t result) {
  assign(c->w, c->to, var, way->is_bool ? test(c->w, TSRI_OP_NE, result, number(c->w, 0)) : result);
}

static void lower_collective(hoister *h, const tsri_ir_stmt *s, const tsri_collective_way *way, list *to) {
  collecting c = begin(h, s, way, to, items_of(h->w.from));
  append(c.w, to, store(&c, c.item, in_pool(&c, way, s->value)));
  put_barrier(&c);
  uint32_t result = way->is_shuffle ? shuffle(&c, s) : way->is_group ? reduce_group(&c) : reduce_subgroup(&c);
  assign_result(&c, way, s->var, result);
  bool is_last_barrier_there = way->is_group && options_of(h)->load_for_all;
  if (!is_last_barrier_there) put_barrier(&c);  // the array is free for the next collective
}

static uint32_t shuffled(const collecting *c, tsri_ir_collective code, uint32_t value, uint32_t lane) {
  uint32_t var = tsri_hoist_var(c->h, c->type);
  append(c->w, c->to,
         put_stmt(c->w, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                       .op = (uint8_t)code,
                                       .value = value,
                                       .compare = number(c->w, lane),
                                       .var = var}));
  return variable(c->w, var, c->type);
}

// Butterfly reduction: combines the values of each `count` items (a power of two) in pairs, then pairs of pairs. Both sides of a pair compute the same, so all
// items end with the same value.
static uint32_t combine_shuffled(const collecting *c, uint32_t value, uint32_t count) {
  for (uint32_t step = count / 2; step > 0; step /= 2) {
    uint32_t other = shuffled(c, TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR, value, step);
    value = tsri_hoist_value(c->h, c->to, combined(c, value, other));
  }
  // If one item has kept -0 and another 0, all take the value of the first item.
  bool is_float = c->type.dtype == TSR_F32;
  return is_float && c->combine != TSRI_OP_ADD ? shuffled(c, TSRI_COLLECTIVE_SUBGROUP_SHUFFLE, value, 0) : value;
}

// Lowers a subgroup collective to operations in hardware.
static void put_in_hardware(hoister *h, tsri_ir_stmt s, const tsri_collective_way *way, list *to) {
  if (way->is_shuffle || way->is_ballot || !options_of(h)->has_only_shuffles) {
    append(&h->w, to, put_stmt(&h->w, s));
    return;
  }
  collecting c = begin_alone(h, &s, way, to);
  uint32_t value = tsri_hoist_value(h, to, in_pool(&c, way, s.value));
  assign_result(&c, way, s.var, combine_shuffled(&c, value, options_of(h)->subgroup_size));
}

// Lowers a collective of a work-group with several subgroups: each subgroup combines its values in hardware, and its first item writes the result to shared
// memory.
static void lower_to_subgroups(hoister *h, tsri_ir_stmt s, const tsri_collective_way *way, list *to) {
  uint32_t size = options_of(h)->subgroup_size, count = items_of(h->w.from) / size, var = s.var;
  collecting c = begin(h, &s, way, to, count);
  rewriter *w = c.w;
  tsri_ir_type type = w->exprs[s.value].type;
  s.op = (uint8_t)tsri_collective_of_subgroup((tsri_ir_collective)s.op);
  s.var = tsri_hoist_var(h, type);
  put_in_hardware(h, s, way, to);
  uint32_t shift = 0;
  while (1u << shift < size) shift++;
  uint32_t slot = op(w, TSRI_OP_SHR, u32_type, c.item, number(w, shift), 0);
  uint32_t result = store(&c, slot, in_pool(&c, way, variable(w, s.var, type)));
  uint32_t is_first = test(w, TSRI_OP_EQ, id(w, TSRI_ID_SUBGROUP_LANE, 0), number(w, 0));
  append(w, to, put_if(w, NULL, is_first, result, 0));
  put_barrier(&c);
  bool shuffles = options_of(h)->has_only_shuffles && count <= size && (count & (count - 1)) == 0;
  uint32_t all = 0;
  if (shuffles) all = combine_shuffled(&c, tsri_hoist_value(h, to, get(&c, bits_and(&c, c.item, count - 1))), count);
  else all = reduce_run(&c, number(w, 0), number(w, count));
  assign_result(&c, way, var, all);
  put_barrier(&c);
}

static bool has_hardware(const hoister *h, const tsri_ir_stmt *s) {
  const tsri_collectives_options *options = options_of(h);
  // With more subgroups, shuffles take longer than combining the values in shared memory by a few items.
  enum { MOST_SHUFFLING = 8 };
  bool is_large = options->has_only_shuffles && tsri_ir_collective_infos[s->op].scope == TSRI_SCOPE_GROUP &&
                  items_of(h->w.from) > MOST_SHUFFLING * options->subgroup_size;
  return tsr_dtype_bytes((tsr_dtype)h->w.exprs[s->value].type.dtype) <= options->hardware_bytes && !is_large &&
         items_of(h->w.from) % options->subgroup_size == 0;
}

static void lower_stmt(hoister *h, tsri_ir_stmt s, list *to) {
  tsri_collective_way way = {0};
  bool is_collective = s.kind == TSRI_STMT_COLLECTIVE, is_in_hardware = is_collective && has_hardware(h, &s);
  if (is_collective) way = tsri_collective_way_of((tsri_ir_collective)s.op);
  if (is_collective && !is_in_hardware) {
    lower_collective(h, &s, &way, to);
  } else if (way.is_group && items_of(h->w.from) > options_of(h)->subgroup_size) {
    lower_to_subgroups(h, s, &way, to);
  } else {
    if (way.is_group) s.op = (uint8_t)tsri_collective_of_subgroup((tsri_ir_collective)s.op);
    if (is_collective) put_in_hardware(h, s, &way, to);
    else append(&h->w, to, put_stmt(&h->w, s));
  }
}

tsr_status tsri_lower_collectives(const tsri_kernel *kernel, tsri_collectives_options options,
                                  tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.stmt = lower_stmt};
  return tsri_hoist(kernel, &pass, NULL, &options, out_kernel);
}
