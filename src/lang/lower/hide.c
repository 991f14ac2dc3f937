// SPDX-License-Identifier: MIT
// Decides which values are hidden. A compiler may look through variables, arrays and selections, so the analysis
// follows values through them. A value that only ends up in memory needs no hiding.
#include "lang/lower/hide.h"

#include "core/error.h"
#include "lang/lower/expand.h"
#include "lang/lower/hoist_build.h"

// How a value is used.
enum {
  KEPT = 1,    // an operation uses it: if it is a float, the compiler must use the rounded value
  COUNTS = 2,  // + - * / or fma uses it: the compiler must not know that it is 0, since it replaces x * 0 by 0
  ADDED = 4    // + or fma uses it: the compiler must not know that it is -x, since it replaces x + -x by 0
};

typedef struct hide_analysis {
  const tsri_kernel *kernel;
  bool has_fma;
  uint8_t *marks;  // by expression
  bool *has_work;  // by expression: contains a load or a long function, whose result no compiler can know
} hide_analysis;

bool tsri_hide_rounds(tsri_ir_op op, tsr_dtype dtype) {
  return dtype == TSR_F32 && (op == TSRI_OP_ADD || op == TSRI_OP_SUB || op == TSRI_OP_MUL || op == TSRI_OP_DIV);
}

// --- How values are used ----------------------------------------------------------------------------------------------

// Its number in the list of all buffers, then all shared arrays, then all local arrays.
static uint32_t array_number(const tsri_kernel *k, tsri_ir_space space, uint32_t object) {
  if (space == TSRI_SPACE_BUFFER) return object;
  return k->buffer_count + (space == TSRI_SPACE_SHARED ? 0 : k->shared_count) + object;
}

// Variables and arrays from which arithmetic takes its operands.
typedef struct places {
  uint8_t *vars, *arrays;
  bool has_changed;
} places;

static void mark(places *p, uint8_t *flags, uint8_t more) {
  p->has_changed |= (more & ~*flags) != 0;
  *flags |= more;
}

// The uses of an operation's operands, given those of its result. A value of 0 may still be 0 after abs, min and similar operations.
static uint8_t marks_before(const tsri_ir_expr *x, tsr_dtype operand, uint8_t marks) {
  bool is_arithmetic = tsri_hide_rounds((tsri_ir_op)x->op, operand) || x->op == TSRI_OP_FMA;
  bool adds = x->op == TSRI_OP_ADD || x->op == TSRI_OP_FMA;
  uint8_t counts = is_arithmetic ? COUNTS : marks & COUNTS;
  return KEPT | counts | (adds ? ADDED : 0);
}

// Whether the result is always one of the operands, unchanged.
static bool gives_on(const tsri_ir_expr *x, tsr_dtype from) {
  switch (x->kind) {
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_INSERT:
      return true;
    case TSRI_EXPR_CONVERT:
      return x->dtype == from;
    default:
      return x->kind == TSRI_EXPR_OP && x->op == TSRI_OP_SELECT;
  }
}

// Passes marks from results to operands. Operands have smaller indices than the expressions that use them.
static void go_back(hide_analysis *w, places *p) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = k->expr_count; i-- > 1;) {
    const tsri_ir_expr *x = &k->exprs[i];
    uint8_t marks = w->marks[i];
    if (x->kind == TSRI_EXPR_VAR) mark(p, &p->vars[x->object], marks);
    if (x->kind == TSRI_EXPR_LOAD) {
      mark(p, &p->arrays[array_number(k, (tsri_ir_space)x->space, x->object)], marks);
    }
    uint32_t count = tsri_ir_plain_operands(x);
    if (count == 0) continue;
    tsr_dtype operand = (tsr_dtype)k->exprs[x->a].type.dtype;
    bool passes = gives_on(x, operand);
    if (!passes && x->kind != TSRI_EXPR_OP) continue;
    if (!passes) marks = marks_before(x, operand, marks);
    for (uint32_t a = 0; a < count; a++) w->marks[x->args[a]] |= marks;
  }
}

static void follow_stmts(hide_analysis *w, const places *p) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    uint8_t marks = s->kind == TSRI_STMT_ATOMIC ? KEPT : 0;
    if (s->kind == TSRI_STMT_ASSIGN) marks = p->vars[s->var];
    if (s->kind == TSRI_STMT_STORE) {
      marks = p->arrays[array_number(k, (tsri_ir_space)s->space, s->object)];
    }
    w->marks[s->value] |= marks;
  }
}

// Finds the value of each variable that is assigned once, such as those in which storage.c keeps loaded words. UINT32_MAX: it is assigned more than once.
static void find_only_values(const tsri_kernel *k, uint32_t *values) {
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    if (s->var) values[s->var] = values[s->var] || s->kind != TSRI_STMT_ASSIGN ? UINT32_MAX : s->value;
  }
}

static void find_work(hide_analysis *w, const uint32_t *values) {
  for (uint32_t i = 1; i < w->kernel->expr_count; i++) {
    const tsri_ir_expr *x = &w->kernel->exprs[i];
    uint32_t count = tsri_ir_operands(x);
    w->has_work[i] = x->kind == TSRI_EXPR_LOAD || (x->kind == TSRI_EXPR_OP && tsri_expand_is_long((tsri_ir_op)x->op));
    for (uint32_t a = 0; a < count; a++) w->has_work[i] |= w->has_work[x->args[a]];
    if (x->kind == TSRI_EXPR_VAR && values[x->object] < i) w->has_work[i] = w->has_work[values[x->object]];
  }
}

// False: no memory.
static bool analyse(hide_analysis *w) {
  const tsri_kernel *k = w->kernel;
  w->marks = tsri_calloc(k->expr_count + 1u, 1);
  w->has_work = tsri_calloc(k->expr_count + 1u, sizeof *w->has_work);
  places p = {.vars = tsri_calloc(k->var_count + 1u, 1),
              .arrays = tsri_calloc(k->buffer_count + k->shared_count + k->local_count + 1u, 1)};
  uint32_t *values = tsri_calloc(k->var_count + 1u, sizeof *values);
  bool has_memory = w->marks && w->has_work && p.vars && p.arrays && values;
  if (has_memory) {
    find_only_values(k, values);
    find_work(w, values);
  }
  for (p.has_changed = has_memory; p.has_changed;) {
    p.has_changed = false;
    follow_stmts(w, &p);
    go_back(w, &p);
  }
  tsri_free(values);
  tsri_free(p.vars);
  tsri_free(p.arrays);
  return has_memory;
}

// --- Operands that may be equal ---------------------------------------------------------------------------------------

static bool is_constant(const hide_analysis *w, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  return x->kind == TSRI_EXPR_CONST || (x->kind == TSRI_EXPR_SPLAT && w->kernel->exprs[x->a].kind == TSRI_EXPR_CONST);
}

// How deep reads() and shares_source() look. Beyond, they answer yes.
enum { MOST_LEVELS = 6 };

// Whether the tree of `expr` reads the variable, parameter or array of `leaf`.
static bool reads(const hide_analysis *w, uint32_t expr, const tsri_ir_expr *leaf, int levels) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  if (x->kind == leaf->kind && x->object == leaf->object && x->space == leaf->space) return true;
  uint32_t count = x->kind == TSRI_EXPR_LOAD ? 0 : tsri_ir_operands(x);  // an index says nothing about the element
  for (uint32_t i = 0; i < count; i++) {
    if (levels == 0 || reads(w, x->args[i], leaf, levels - 1)) return true;
  }
  return false;
}

// Whether both trees read a variable, parameter or array in common.
static bool shares_source(const hide_analysis *w, uint32_t a, uint32_t b, int levels) {
  const tsri_ir_expr *x = &w->kernel->exprs[a];
  bool is_source = x->kind == TSRI_EXPR_VAR || x->kind == TSRI_EXPR_SCALAR || x->kind == TSRI_EXPR_LOAD;
  if (is_source) return reads(w, b, x, MOST_LEVELS);
  uint32_t count = tsri_ir_operands(x);
  for (uint32_t i = 0; i < count; i++) {
    if (levels == 0 || shares_source(w, x->args[i], b, levels - 1)) return true;
  }
  return false;
}

// Whether operand `which` is hidden. In a - b the second is, if a compiler might find it equal to a: it would replace
// the difference by 0, which is wrong for infinity and NaN. In fma(a, b, c) the third is, if it might equal a or b:
// NVIDIA's compiler replaces fma(x, b, x) by x * (b + 1), which for an infinite x and b = -2 is -x instead of NaN. Sums
// of products (acc = fma(x, y, acc)) are not hidden, so that they stay one instruction.
static bool hides_operand(const hide_analysis *w, const tsri_ir_expr *x, uint32_t which) {
  if (x->kind != TSRI_EXPR_OP || x->type.dtype != TSR_F32) return false;
  if (x->op == TSRI_OP_SUB && which == 1) return !is_constant(w, x->a) && !is_constant(w, x->b);
  if (x->op != TSRI_OP_FMA || which != 2 || !w->has_fma || is_constant(w, x->c)) return false;
  return shares_source(w, x->a, x->c, MOST_LEVELS) || shares_source(w, x->b, x->c, MOST_LEVELS);
}

// --- Results ----------------------------------------------------------------------------------------------------------

// A float made of something else is hidden if arithmetic follows: it might fold to 0 and make 0 of x * 0, even for NaN.
// Values from memory need no hiding.
static tsri_hide hides_result(const hide_analysis *w, uint32_t index) {
  const tsri_ir_expr *x = &w->kernel->exprs[index];
  uint8_t marks = w->marks[index];
  if (x->type.dtype != TSR_F32) return TSRI_HIDE_NOTHING;
  tsr_dtype operand = (tsr_dtype)w->kernel->exprs[x->kind == TSRI_EXPR_CONST ? 0 : x->a].type.dtype;
  switch (x->kind) {
    case TSRI_EXPR_CONST:
      return x->bits == 0 && (marks & COUNTS) ? TSRI_HIDE_ROUNDED : TSRI_HIDE_NOTHING;
    case TSRI_EXPR_CONVERT:
    case TSRI_EXPR_BITCAST:
      return operand != TSR_F32 && (marks & COUNTS) && !w->has_work[x->a] ? TSRI_HIDE_ROUNDED : TSRI_HIDE_NOTHING;
    case TSRI_EXPR_OP:
      if ((marks & KEPT) && tsri_hide_rounds((tsri_ir_op)x->op, operand)) return TSRI_HIDE_ROUNDED;
      return x->op == TSRI_OP_NEG && (marks & ADDED) ? TSRI_HIDE_EQUAL : TSRI_HIDE_NOTHING;
    default:
      return TSRI_HIDE_NOTHING;
  }
}

static uint32_t hidden(rewriter *w, uint32_t value, tsri_hide how) {
  if (w->has_failed) return 0;
  tsri_ir_expr x = w->exprs[value];
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST,
                               .op = (uint8_t)how,
                               .dtype = x.type.dtype,
                               .is_uniform = x.is_uniform,
                               .type = x.type,
                               .a = value});
}

static uint32_t lower_expr(hoister *h, uint32_t index, list *before) {
  (void)before;
  const hide_analysis *w = h->context;
  const tsri_ir_expr *original = &h->w.from->exprs[index];
  tsri_ir_expr x = h->w.exprs[index];
  tsri_hide how = hides_result(w, index);
  bool is_changed = how != TSRI_HIDE_NOTHING;
  for (uint32_t i = 0; i < tsri_ir_operands(original); i++) {
    x.args[i] = h->places[x.args[i]];
    if (!hides_operand(w, original, i)) continue;
    x.args[i] = hidden(&h->w, x.args[i], TSRI_HIDE_EQUAL);
    is_changed = true;
  }
  if (!is_changed) return 0;
  uint32_t value = put(&h->w, x);
  return how == TSRI_HIDE_NOTHING ? value : hidden(&h->w, value, how);
}

tsr_status tsri_lower_hide(const tsri_kernel *kernel, bool has_fma, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.expr = lower_expr};
  *out_kernel = NULL;
  hide_analysis w = {.kernel = kernel, .has_fma = has_fma};
  tsr_status status = TSR_OK;
  if (analyse(&w)) status = tsri_hoist(kernel, &pass, NULL, &w, out_kernel);
  else status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to look at it", kernel->variant);
  tsri_free(w.marks);
  tsri_free(w.has_work);
  return status;
}
