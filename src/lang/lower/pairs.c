// SPDX-License-Identifier: MIT
#include "lang/lower/pairs.h"

#include "core/error.h"
#include "lang/lower/pairs_build.h"

// The high words of the original's i64 expressions, variables and parameters. The hoister keeps the low words.
typedef struct halves {
  uint32_t *exprs, *vars, *params;  // by index in the original
} halves;

static const halves *halves_of(const hoister *h) { return h->context; }

static bool is_long(tsri_ir_type type) { return type.dtype == TSR_I64; }

static const tsri_ir_expr *original(const hoister *h, uint32_t index) { return &h->w.from->exprs[index]; }

static word_pair pair_of(const hoister *h, uint32_t index) {
  return (word_pair){h->places[index], halves_of(h)->exprs[index]};
}

// --- Memory -------------------------------------------------------------------------------------------------------------

// Loads the words of `count` elements (1 or 2) from the u32 index `at`, which counts elements of i64.
static uint32_t words_at(hoister *h, const tsri_ir_expr *load, uint32_t at, uint32_t count) {
  rewriter *w = &h->w;
  tsri_ir_type type = {TSR_U32, (uint8_t)(2 * count)};
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                               .space = load->space,
                               .dtype = TSR_U32,
                               .type = type,
                               .pos = load->pos,
                               .object = load->object,
                               .a = mul(w, at, number(w, 2))});
}

static uint32_t part_of(rewriter *w, uint32_t vector, uint32_t lane) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_EXTRACT, .lane = (uint8_t)lane, .type = u32_type, .a = vector});
}

static uint32_t vector_of(rewriter *w, const uint32_t *lanes, uint32_t count) {
  if (count == 1) return lanes[0];
  tsri_ir_expr x = {.kind = TSRI_EXPR_VECTOR, .type = {TSR_U32, (uint8_t)count}};
  memcpy(x.args, lanes, count * sizeof *lanes);
  return put(w, x);
}

// The index of the first element accessed, as u32.
static uint32_t first_index(const pair_writer *p, uint32_t index) {
  rewriter *w = &p->h->w;
  uint32_t at = w->exprs[index].type.dtype == TSR_U32 ? index : cast(w, index, TSRI_EXPR_CONVERT, u32_type);
  if (p->lanes > 1) at = op(w, TSRI_OP_AND, u32_type, at, number(w, ~(p->lanes - 1u)), 0);
  return p->lanes > 1 ? kept(p, at) : at;
}

// How many elements are accessed at a time: in buffers two elements, which are four words.
static uint32_t at_once(const pair_writer *p, uint32_t space) {
  return p->lanes > 1 && space == TSRI_SPACE_BUFFER ? 2 : 1;
}

static word_pair load_pair(const pair_writer *p, const tsri_ir_expr *x) {
  rewriter *w = &p->h->w;
  uint32_t at = first_index(p, p->h->places[x->a]), low[4], high[4], count = at_once(p, x->space);
  for (uint32_t i = 0; i < p->lanes; i += count) {
    uint32_t all = kept(p, words_at(p->h, x, i ? add(w, at, number(w, i)) : at, count));
    for (uint32_t k = 0; k < count; k++) {
      low[i + k] = part_of(w, all, 2 * k);
      high[i + k] = part_of(w, all, 2 * k + 1);
    }
  }
  uint32_t lows = vector_of(w, low, p->lanes), highs = vector_of(w, high, p->lanes);
  return kept_pair(p, lows, highs);
}

static void store_pair(const pair_writer *p, const tsri_ir_stmt *s, word_pair value) {
  rewriter *w = &p->h->w;
  uint32_t at = first_index(p, s->index), count = at_once(p, s->space);
  for (uint32_t i = 0; i < p->lanes; i += count) {
    uint32_t words[4] = {value.low, value.high};
    for (uint32_t k = 0; k < 2 * count && p->lanes > 1; k++) {
      words[k] = part_of(w, k % 2 ? value.high : value.low, i + k / 2);
    }
    tsri_ir_stmt some = {.kind = TSRI_STMT_STORE, .space = s->space, .object = s->object, .pos = s->pos};
    some.index = mul(w, i ? add(w, at, number(w, i)) : at, number(w, 2));
    some.value = vector_of(w, words, 2 * count);
    append(w, p->to, put_stmt(w, some));
  }
}

// --- Expressions --------------------------------------------------------------------------------------------------------

static word_pair operation(const pair_writer *p, const tsri_ir_expr *x) {
  hoister *h = p->h;
  bool is_binary = tsri_ir_op_infos[x->op].arity == 2, is_shift = tsri_ir_op_infos[x->op].rule == TSRI_RULE_SHIFT;
  if (x->op == TSRI_OP_SELECT) {
    uint32_t which = kept(p, h->places[x->a]);
    word_pair yes = pair_of(h, x->b), no = pair_of(h, x->c);
    return kept_pair(p, pick(p, which, yes.low, no.low), pick(p, which, yes.high, no.high));
  }
  word_pair a = pair_of(h, x->a), b = is_binary && !is_shift ? pair_of(h, x->b) : (word_pair){0};
  if (x->op != TSRI_OP_DIV && x->op != TSRI_OP_REM) {
    uint32_t places = is_shift ? kept(p, h->places[x->b]) : 0;
    return tsri_pair_operation(p, (tsri_ir_op)x->op, a, b, places);
  }
  uint32_t low[4], high[4];
  pair_writer one = {h, p->to, 1};
  for (uint32_t i = 0; i < p->lanes; i++) {
    word_pair c = a, d = b;
    if (p->lanes > 1) {
      c = kept_pair(p, part_of(&h->w, a.low, i), part_of(&h->w, a.high, i));
      d = kept_pair(p, part_of(&h->w, b.low, i), part_of(&h->w, b.high, i));
    }
    word_pair result = tsri_pair_divide(&one, c, d, x->op == TSRI_OP_REM);
    low[i] = result.low;
    high[i] = result.high;
  }
  uint32_t lows = vector_of(&h->w, low, p->lanes), highs = vector_of(&h->w, high, p->lanes);
  return kept_pair(p, lows, highs);
}

// SPLAT, VECTOR, EXTRACT or INSERT, applied to the low or the high words.
static uint32_t arranged(const pair_writer *p, const tsri_ir_expr *x, bool is_high) {
  hoister *h = p->h;
  tsri_ir_expr of_words = *x;
  of_words.type.dtype = TSR_U32;
  uint32_t count = tsri_ir_plain_operands(x);
  for (uint32_t i = 0; i < count; i++) {
    word_pair part = pair_of(h, x->args[i]);
    of_words.args[i] = is_high ? part.high : part.low;
  }
  return put(&h->w, of_words);
}

static uint32_t chosen(rewriter *w, uint32_t which, uint32_t yes, uint32_t no, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_COND, .type = type, .a = which, .b = yes, .c = no});
}

// if (a) { statements of b; t = b; } else { statements of c; t = c; }, or a ? b : c for each word if neither needs
// statements.
static word_pair choice(const pair_writer *p, const tsri_ir_expr *x) {
  hoister *h = p->h;
  rewriter *w = &h->w;
  tsri_ir_type type = of_dtype(p, TSR_U32);
  uint32_t which = h->places[x->a];
  word_pair yes = pair_of(h, x->b), no = pair_of(h, x->c);
  list run_yes = h->before[x->b], run_no = h->before[x->c];
  if (!run_yes.first && !run_no.first) {
    which = kept(p, which);
    return kept_pair(p, chosen(w, which, yes.low, no.low, type), chosen(w, which, yes.high, no.high, type));
  }
  uint32_t low = tsri_hoist_var(h, type), high = tsri_hoist_var(h, type);
  assign(w, &run_yes, low, yes.low);
  assign(w, &run_yes, high, yes.high);
  assign(w, &run_no, low, no.low);
  assign(w, &run_no, high, no.high);
  append(w, p->to, put_if(w, NULL, which, run_yes.first, run_no.first));
  return (word_pair){variable(w, low, type), variable(w, high, type)};
}

static word_pair long_value(const pair_writer *p, const tsri_ir_expr *x) {
  hoister *h = p->h;
  rewriter *w = &h->w;
  tsri_ir_type type = of_dtype(p, TSR_U32);
  switch (x->kind) {
    case TSRI_EXPR_CONST:
      return (word_pair){number(w, (uint32_t)x->bits), number(w, (uint32_t)(x->bits >> 32))};
    case TSRI_EXPR_VAR:
      return (word_pair){variable(w, x->object, type), variable(w, halves_of(h)->vars[x->object], type)};
    case TSRI_EXPR_SCALAR:
      return (word_pair){
          put(w, (tsri_ir_expr){.kind = x->kind, .type = type, .object = x->object}),
          put(w, (tsri_ir_expr){.kind = x->kind, .type = type, .object = halves_of(h)->params[x->object]})};
    case TSRI_EXPR_OP:
      return operation(p, x);
    case TSRI_EXPR_COND:
      return choice(p, x);
    case TSRI_EXPR_CONVERT:
    case TSRI_EXPR_BITCAST:
      if (is_long(original(h, x->a)->type)) return pair_of(h, x->a);
      return tsri_pair_from(p, (tsr_dtype)original(h, x->a)->type.dtype, h->places[x->a]);
    case TSRI_EXPR_LOAD:
      return load_pair(p, x);
    default: {
      uint32_t low = arranged(p, x, false), high = arranged(p, x, true);
      return kept_pair(p, low, high);
    }
  }
}

// Called after the operands have been replaced. Expressions of other types may have operands of i64: comparisons and conversions.
static uint32_t lower_expr(hoister *h, uint32_t index, list *before) {
  const tsri_ir_expr *x = original(h, index);
  pair_writer p = {h, before, x->type.lanes};
  if (is_long(x->type)) {
    word_pair value = long_value(&p, x);
    halves_of(h)->exprs[index] = value.high;
    return value.low;
  }
  bool takes_long = (x->kind == TSRI_EXPR_OP || x->kind == TSRI_EXPR_CONVERT) && is_long(original(h, x->a)->type);
  if (!takes_long) return 0;
  if (x->kind == TSRI_EXPR_CONVERT) return tsri_pair_to(&p, (tsr_dtype)x->dtype, pair_of(h, x->a));
  return tsri_pair_compare(&p, (tsri_ir_op)x->op, pair_of(h, x->a), pair_of(h, x->b));
}

// --- Statements ---------------------------------------------------------------------------------------------------------

static void lower_stmt(hoister *h, tsri_ir_stmt s, list *to) {
  rewriter *w = &h->w;
  uint32_t value = h->original->value;
  bool is_long_value = value && is_long(original(h, value)->type);
  pair_writer p = {h, to, value ? original(h, value)->type.lanes : 1};
  if (is_long_value && s.kind == TSRI_STMT_STORE) {
    store_pair(&p, &s, pair_of(h, value));
    return;
  }
  append(w, to, put_stmt(w, s));
  if (is_long_value && s.kind == TSRI_STMT_ASSIGN) {
    assign(w, to, halves_of(h)->vars[s.var], halves_of(h)->exprs[value]);
  }
}

// --- Declarations -------------------------------------------------------------------------------------------------------

static void double_arrays(tsri_ir_array *arrays, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    tsri_ir_array *a = &arrays[i];
    if (a->storage != TSR_I64) continue;
    a->storage = TSR_U32;
    a->is_wide = true;
    a->count *= 2;
    a->dim_count = 1;
    a->dims[0] = a->count;
  }
}

static void declare_halves(hoister *h) {
  const tsri_kernel *k = h->w.from;
  for (uint32_t i = 1; i < k->var_count && !h->w.has_failed; i++) {
    if (!is_long(k->vars[i].type)) continue;
    h->vars[i].type.dtype = TSR_U32;
    uint32_t high = tsri_hoist_var(h, h->vars[i].type);
    if (h->w.has_failed) return;
    h->vars[high].name = k->vars[i].name;
    halves_of(h)->vars[i] = high;
  }
  for (uint32_t i = 0; i < k->param_count; i++) {
    if (!is_long(k->params[i].type)) continue;
    tsri_ir_param *low = &h->params[i];
    low->declared = low->type.dtype = TSR_U32;
    halves_of(h)->params[i] = h->param_count;
    h->params[h->param_count] = *low;
    h->params[h->param_count++].offset += 4;
  }
  double_arrays(h->buffers, k->buffer_count);
  double_arrays(h->shared, k->shared_count);
  double_arrays(h->locals, k->local_count);
  h->needs &= ~(uint32_t)TSRI_NEEDS_I64;
}

tsr_status tsri_lower_pairs(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.expr = lower_expr, .stmt = lower_stmt, .has_assignments = true};
  halves all = {.exprs = tsri_calloc(kernel->expr_count + 1u, sizeof *all.exprs),
                .vars = tsri_calloc(kernel->var_count + 1u, sizeof *all.vars),
                .params = tsri_calloc(kernel->param_count + 1u, sizeof *all.params)};
  *out_kernel = NULL;
  tsr_status status = TSR_ERR_OUT_OF_MEMORY;
  if (all.exprs && all.vars && all.params) {
    status = tsri_hoist(kernel, &pass, declare_halves, &all, out_kernel);
  } else {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to make it fit for this device", kernel->variant);
  }
  tsri_free(all.exprs);
  tsri_free(all.vars);
  tsri_free(all.params);
  return status;
}
