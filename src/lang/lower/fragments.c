// SPDX-License-Identifier: MIT
// Lowers fragments to loops, for devices without matrix units.
//
// The items of a subgroup form a grid of `down` x `across` items over the sum: lane l is at row l / across and column l % across, and has the sum's elements in
// every down-th row and every across-th column from there on. Of a left factor an item holds the rows that its elements need, of a right factor the columns. So
// no item needs what another one holds: a product takes no barrier and no exchange, and memory is read when a fragment is loaded, as the language says.
#include "core/error.h"
#include "lang/lang.h"
#include "lang/lower/rewrite_build.h"

static const tsri_ir_type f32_type = {TSR_F32, 1};

// Variables that all operations share.
enum { ROW, COL, BASE, STRIDE, I, J, T, VALUE, BITS, MORE_VARS };

static const struct {
  const char *name;
  tsri_ir_type type;
} new_vars[MORE_VARS] = {
    [ROW] = {"row", {TSR_U32, 1}},       [COL] = {"col", {TSR_U32, 1}},     [BASE] = {"base", {TSR_U32, 1}},
    [STRIDE] = {"stride", {TSR_U32, 1}}, [I] = {"i", {TSR_U32, 1}},         [J] = {"j", {TSR_U32, 1}},
    [T] = {"t", {TSR_U32, 1}},           [VALUE] = {"value", {TSR_F32, 1}}, [BITS] = {"bits", {TSR_U32, 1}},
};

typedef struct lowering {
  rewriter w;
  uint32_t first_var;
  uint32_t subgroup_size;
  bool has_fma;
} lowering;

// --- Which item has which elements ----------------------------------------------------------------------------------

typedef struct item_grid {
  uint32_t down, across;  // items
  uint32_t rows, cols;    // elements of the sum per item
} item_grid;

static item_grid grid_of(const lowering *l, const tsri_ir_fragment *f) {
  uint32_t items = l->subgroup_size, most = (uint32_t)f->m * f->n, across = 1;
  if (items > most) items = most;
  while (across * across < items && across < f->n) across *= 2;
  if (items / across > f->m) across = items / f->m;
  uint32_t down = items / across;
  return (item_grid){down, across, f->m / down, f->n / across};
}

// How an item's part of a fragment is stored in its local array: `outer` runs of `inner` elements.
typedef struct part {
  uint32_t outer, inner;
} part;

static part part_of(const lowering *l, const tsri_ir_fragment *f) {
  item_grid grid = grid_of(l, f);
  switch (f->role) {
    case TSRI_ROLE_LEFT:
      return (part){grid.rows, f->k};
    case TSRI_ROLE_RIGHT:
      return (part){grid.cols, f->k};
    default:
      return (part){grid.rows, grid.cols};
  }
}

// --- Small pieces ---------------------------------------------------------------------------------------------------

static uint32_t var_of(const lowering *l, int which) { return l->first_var + (uint32_t)which; }

static uint32_t value_of(lowering *l, int which) { return variable(&l->w, var_of(l, which), new_vars[which].type); }

static void set(lowering *l, list *to, int which, uint32_t value) { assign(&l->w, to, var_of(l, which), value); }

static uint32_t scaled(lowering *l, int which, uint32_t factor) {
  return factor == 1 ? value_of(l, which) : mul(&l->w, value_of(l, which), number(&l->w, factor));
}

// Index of element (outer, inner) of a part, where `outer` and `inner` are two of the variables above.
static uint32_t slot(lowering *l, int outer, int inner, uint32_t width) {
  return add(&l->w, scaled(l, outer, width), value_of(l, inner));
}

static uint32_t local_array(const lowering *l, uint32_t fragment) { return l->w.from->local_count + fragment; }

static uint32_t read_local(lowering *l, uint32_t fragment, uint32_t index) {
  return put(&l->w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                   .space = TSRI_SPACE_LOCAL,
                                   .dtype = TSR_F32,
                                   .type = f32_type,
                                   .object = local_array(l, fragment),
                                   .a = index});
}

static void store(lowering *l, list *to, tsri_ir_space space, uint32_t object, uint32_t index, uint32_t value,
                  tsri_ir_pos pos) {
  append(&l->w, to,
         put_stmt(&l->w, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                        .space = (uint8_t)space,
                                        .is_uniform = true,
                                        .pos = pos,
                                        .object = object,
                                        .index = index,
                                        .value = value}));
}

static void write_local(lowering *l, list *to, uint32_t fragment, uint32_t index, uint32_t value) {
  store(l, to, TSRI_SPACE_LOCAL, local_array(l, fragment), index, value, 0);
}

// for (counter = 0; counter < count; counter++) body
static void loop(lowering *l, list *to, int counter, uint32_t count, list body) {
  list step = {0};
  set(l, to, counter, number(&l->w, 0));
  set(l, &step, counter, add(&l->w, value_of(l, counter), number(&l->w, 1)));
  uint32_t goes_on = test(&l->w, TSRI_OP_LT, value_of(l, counter), number(&l->w, count));
  append(
      &l->w, to,
      put_stmt(
          &l->w,
          (tsri_ir_stmt){
              .kind = TSRI_STMT_LOOP, .is_uniform = true, .value = goes_on, .body = body.first, .other = step.first}));
}

static void loops(lowering *l, list *to, part size, list body) {
  list outer = {0};
  loop(l, &outer, J, size.inner, body);
  loop(l, to, I, size.outer, outer);
}

// --- Memory ---------------------------------------------------------------------------------------------------------

static uint32_t lane(lowering *l) { return id(&l->w, TSRI_ID_SUBGROUP_LANE, 0); }

static void find_item(lowering *l, list *to, const item_grid *grid) {
  rewriter *w = &l->w;
  uint32_t row = op(w, TSRI_OP_DIV, u32_type, lane(l), number(w, grid->across), 0);
  set(l, to, ROW, op(w, TSRI_OP_AND, u32_type, row, number(w, grid->down - 1), 0));
  set(l, to, COL, op(w, TSRI_OP_AND, u32_type, lane(l), number(w, grid->across - 1), 0));
}

// The index in memory of the element with the loop indices I and J.
static uint32_t address(lowering *l, const tsri_ir_fragment *f, const item_grid *grid, bool by_columns) {
  rewriter *w = &l->w;
  uint32_t row, col;
  if (f->role == TSRI_ROLE_RIGHT) {
    row = value_of(l, J);
    col = add(w, value_of(l, COL), scaled(l, I, grid->across));
  } else {
    row = add(w, value_of(l, ROW), scaled(l, I, grid->down));
    col = f->role == TSRI_ROLE_LEFT ? value_of(l, J) : add(w, value_of(l, COL), scaled(l, J, grid->across));
  }
  uint32_t far = by_columns ? col : row, near = by_columns ? row : col;
  return add(w, add(w, value_of(l, BASE), mul(w, far, value_of(l, STRIDE))), near);
}

static uint32_t array_load(lowering *l, const tsri_ir_stmt *from, tsr_dtype storage, uint32_t index) {
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(storage), 1};
  return put(&l->w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                   .space = from->space,
                                   .dtype = (uint8_t)storage,
                                   .type = type,
                                   .pos = from->pos,
                                   .object = from->object,
                                   .a = index});
}

static uint32_t to_float(lowering *l, uint32_t bits) { return cast(&l->w, bits, TSRI_EXPR_BITCAST, f32_type); }

// The f16 whose bits are in BITS: denormals are multiples of 2^-24, others get the exponent's bias of f32.
static uint32_t half_value(lowering *l) {
  rewriter *w = &l->w;
  uint32_t magnitude = op(w, TSRI_OP_AND, u32_type, value_of(l, BITS), number(w, 0x7fff), 0);
  uint32_t shifted = op(w, TSRI_OP_SHL, u32_type, magnitude, number(w, 13), 0);
  uint32_t again = op(w, TSRI_OP_AND, u32_type, value_of(l, BITS), number(w, 0x7c00), 0);
  uint32_t is_special = test(w, TSRI_OP_EQ, again, number(w, 0x7c00));
  uint32_t bias = op(w, TSRI_OP_SELECT, u32_type, is_special, number(w, 0x70000000), number(w, 0x38000000));
  uint32_t normal = to_float(l, add(w, shifted, bias));
  uint32_t small = op(w, TSRI_OP_AND, u32_type, value_of(l, BITS), number(w, 0x7fff), 0);
  uint32_t whole = put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_F32, .type = f32_type, .a = small});
  uint32_t denormal = op(w, TSRI_OP_MUL, f32_type, whole, to_float(l, number(w, 0x33800000)), 0);
  uint32_t exponent = op(w, TSRI_OP_AND, u32_type, value_of(l, BITS), number(w, 0x7c00), 0);
  uint32_t is_denormal = test(w, TSRI_OP_EQ, exponent, number(w, 0));
  uint32_t value = op(w, TSRI_OP_SELECT, f32_type, is_denormal, denormal, normal);
  uint32_t sign = op(w, TSRI_OP_AND, u32_type, value_of(l, BITS), number(w, 0x8000), 0);
  uint32_t high = op(w, TSRI_OP_SHL, u32_type, sign, number(w, 16), 0);
  uint32_t bits = put(w, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST, .type = u32_type, .dtype = TSR_U32, .a = value});
  return to_float(l, op(w, TSRI_OP_OR, u32_type, bits, high, 0));
}

// Extracts an element from an array of words, each of which holds two.
static uint32_t packed_value(lowering *l, list *to, const tsri_ir_stmt *stmt, tsr_dtype dtype, uint32_t index) {
  rewriter *w = &l->w;
  set(l, to, T, index);
  uint32_t at = op(w, TSRI_OP_SHR, u32_type, value_of(l, T), number(w, 1), 0);
  uint32_t odd = op(w, TSRI_OP_AND, u32_type, value_of(l, T), number(w, 1), 0);
  uint32_t shift = op(w, TSRI_OP_SHL, u32_type, odd, number(w, 4), 0);
  uint32_t word = op(w, TSRI_OP_SHR, u32_type, array_load(l, stmt, TSR_U32, at), shift, 0);
  if (dtype == TSR_BF16) return to_float(l, op(w, TSRI_OP_SHL, u32_type, word, number(w, 16), 0));
  set(l, to, BITS, word);
  return half_value(l);
}

static list lower_load(lowering *l, const tsri_ir_stmt *stmt) {
  const tsri_kernel *k = l->w.from;
  const tsri_ir_fragment *f = &k->fragments[stmt->fragments[0]];
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(k, (tsri_ir_space)stmt->space, stmt->object)->storage;
  item_grid grid = grid_of(l, f);
  part size = part_of(l, f);
  list all = {0}, body = {0};
  set(l, &all, BASE, stmt->index);
  set(l, &all, STRIDE, stmt->value);
  find_item(l, &all, &grid);
  uint32_t at = address(l, f, &grid, stmt->op != 0);
  uint32_t value =
      storage == TSR_U32 ? packed_value(l, &body, stmt, (tsr_dtype)f->dtype, at) : array_load(l, stmt, storage, at);
  write_local(l, &body, stmt->fragments[0], slot(l, I, J, size.inner), value);
  loops(l, &all, size, body);
  return all;
}

static list lower_store(lowering *l, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &l->w.from->fragments[stmt->fragments[0]];
  item_grid grid = grid_of(l, f);
  part size = part_of(l, f);
  list all = {0}, body = {0}, walk = {0};
  set(l, &all, BASE, stmt->index);
  set(l, &all, STRIDE, stmt->value);
  find_item(l, &all, &grid);
  uint32_t value = read_local(l, stmt->fragments[0], slot(l, I, J, size.inner));
  store(l, &body, (tsri_ir_space)stmt->space, stmt->object, address(l, f, &grid, stmt->op != 0), value, stmt->pos);
  loops(l, &walk, size, body);
  uint32_t items = grid.down * grid.across;
  if (items == l->subgroup_size) {
    join(&l->w, &all, walk);
  } else {  // more items than elements: the last items repeat elements of others
    uint32_t is_first = test(&l->w, TSRI_OP_LT, lane(l), number(&l->w, items));
    append(&l->w, &all, put_if(&l->w, stmt, is_first, walk.first, 0));
  }
  return all;
}

// --- Arithmetic -----------------------------------------------------------------------------------------------------

static list lower_fill(lowering *l, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &l->w.from->fragments[stmt->fragments[0]];
  part size = part_of(l, f);
  list all = {0}, body = {0};
  uint32_t value = stmt->value;
  if (f->dtype != TSR_F32) {
    value = put(&l->w, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = f->dtype, .type = f32_type, .a = value});
  }
  set(l, &all, VALUE, value);
  write_local(l, &body, stmt->fragments[0], value_of(l, I), value_of(l, VALUE));
  loop(l, &all, I, size.outer * size.inner, body);
  return all;
}

static list lower_multiply(lowering *l, const tsri_ir_stmt *stmt) {
  rewriter *w = &l->w;
  const tsri_ir_fragment *sum = &w->from->fragments[stmt->fragments[0]];
  part size = part_of(l, sum);
  list all = {0}, body = {0}, step = {0};
  set(l, &body, VALUE, read_local(l, stmt->fragments[0], slot(l, I, J, size.inner)));
  uint32_t left = read_local(l, stmt->fragments[1], slot(l, I, T, sum->k));
  uint32_t right = read_local(l, stmt->fragments[2], slot(l, J, T, sum->k));
  uint32_t product = l->has_fma ? 0 : op(w, TSRI_OP_MUL, f32_type, left, right, 0);
  set(l, &step, VALUE,
      l->has_fma ? op(w, TSRI_OP_FMA, f32_type, left, right, value_of(l, VALUE))
                 : op(w, TSRI_OP_ADD, f32_type, value_of(l, VALUE), product, 0));
  loop(l, &body, T, sum->k, step);
  write_local(l, &body, stmt->fragments[0], slot(l, I, J, size.inner), value_of(l, VALUE));
  loops(l, &all, size, body);
  return all;
}

// --- The kernel -----------------------------------------------------------------------------------------------------

static list lower_stmt(lowering *l, const tsri_ir_stmt *stmt) {
  switch (stmt->kind) {
    case TSRI_STMT_FRAGMENT_FILL:
      return lower_fill(l, stmt);
    case TSRI_STMT_FRAGMENT_LOAD:
      return lower_load(l, stmt);
    case TSRI_STMT_FRAGMENT_STORE:
      return lower_store(l, stmt);
    case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
      return lower_multiply(l, stmt);
    default:
      return (list){0};
  }
}

// Replaces each statement by its list: the first one takes its index, the others follow it.
static void lower_all(lowering *l) {
  rewriter *w = &l->w;
  for (uint32_t i = 1; i < w->from->stmt_count && !w->has_failed; i++) {
    tsri_ir_stmt stmt = w->from->stmts[i];
    list made = lower_stmt(l, &stmt);
    if (!made.first || w->has_failed) continue;
    w->stmts[made.last].next = stmt.next;
    w->stmts[i] = w->stmts[made.first];
    w->stmts[made.first] = (tsri_ir_stmt){.kind = TSRI_STMT_NONE};
  }
}

// BASE and STRIDE are shared by all operations, so they are uniform only if they are in every operation. The variables
// for an item's place in the grid never are.
static bool is_uniform_var(const rewriter *w, int which) {
  if (which == ROW || which == COL || which == VALUE || which == BITS || which == T) return false;
  for (uint32_t i = 1; i < w->from->stmt_count && (which == BASE || which == STRIDE); i++) {
    const tsri_ir_stmt *stmt = &w->from->stmts[i];
    bool is_memory = stmt->kind == TSRI_STMT_FRAGMENT_LOAD || stmt->kind == TSRI_STMT_FRAGMENT_STORE;
    if (is_memory && !w->from->exprs[which == BASE ? stmt->index : stmt->value].is_uniform) return false;
  }
  return true;
}

static void mark_uniform(const rewriter *w, const tsri_ir_var *vars) {
  for (uint32_t i = w->from->expr_count; i < w->expr_count; i++) {
    tsri_ir_expr *x = &w->exprs[i];
    if (x->kind == TSRI_EXPR_CONST || x->kind == TSRI_EXPR_ID) continue;
    bool is_uniform = x->kind == TSRI_EXPR_VAR ? vars[x->object].is_uniform : x->kind != TSRI_EXPR_LOAD;
    for (uint32_t k = 0; k < tsri_ir_operands(x); k++) is_uniform = is_uniform && w->exprs[x->args[k]].is_uniform;
    x->is_uniform = is_uniform;
  }
}

static void add_arrays(const lowering *l, tsri_ir_array *locals) {
  const tsri_kernel *k = l->w.from;
  if (k->local_count) memcpy(locals, k->locals, k->local_count * sizeof *locals);
  for (uint32_t i = 0; i < k->fragment_count; i++) {
    const tsri_ir_fragment *f = &k->fragments[i];
    part size = part_of(l, f);
    uint32_t count = size.outer * size.inner;
    locals[k->local_count + i] = (tsri_ir_array){.name = f->name,
                                                 .storage = TSR_F32,
                                                 .access = TSRI_ACCESS_INOUT,
                                                 .is_loaded = true,
                                                 .is_stored = true,
                                                 .count = count,
                                                 .dim_count = 1,
                                                 .dims = {count},
                                                 .pos = f->pos};
  }
}

static void add_vars(const lowering *l, tsri_ir_var *vars) {
  const tsri_kernel *k = l->w.from;
  if (k->var_count) memcpy(vars, k->vars, k->var_count * sizeof *vars);
  for (int i = 0; i < MORE_VARS; i++) {
    vars[var_of(l, i)] =
        (tsri_ir_var){.name = new_vars[i].name, .type = new_vars[i].type, .is_uniform = is_uniform_var(&l->w, i)};
  }
}

// Allocates the new kernel as one block of memory. Arrays that did not change are the original's.
static tsri_kernel *finish(const lowering *l) {
  const rewriter *w = &l->w;
  size_t vars = (size_t)l->first_var + MORE_VARS, locals = (size_t)w->from->local_count + w->from->fragment_count;
  tsri_kernel *made = tsri_calloc(1, sizeof *made + w->expr_count * sizeof(tsri_ir_expr) + vars * sizeof(tsri_ir_var) +
                                         locals * sizeof(tsri_ir_array) + w->stmt_count * sizeof(tsri_ir_stmt));
  if (!made) return NULL;
  tsri_ir_expr *new_exprs = (tsri_ir_expr *)(made + 1);
  tsri_ir_var *made_vars = (tsri_ir_var *)(new_exprs + w->expr_count);
  tsri_ir_array *new_locals = (tsri_ir_array *)(made_vars + vars);
  tsri_ir_stmt *new_stmts = (tsri_ir_stmt *)(new_locals + locals);
  add_vars(l, made_vars);
  add_arrays(l, new_locals);
  mark_uniform(w, made_vars);
  memcpy(new_exprs, w->exprs, w->expr_count * sizeof *new_exprs);
  memcpy(new_stmts, w->stmts, w->stmt_count * sizeof *new_stmts);
  *made = *w->from;
  made->base = NULL;
  made->exprs = new_exprs, made->expr_count = w->expr_count;
  made->stmts = new_stmts, made->stmt_count = w->stmt_count;
  made->vars = made_vars, made->var_count = (uint32_t)vars;
  made->locals = new_locals, made->local_count = (uint32_t)locals;
  made->fragments = NULL, made->fragment_count = 0;
  return made;
}

tsr_status tsri_kernel_lower_fragments(const tsri_kernel *kernel, uint32_t subgroup_size, bool has_fma,
                                       tsri_kernel **out_kernel) {
  *out_kernel = NULL;
  lowering l = {.w = {.from = kernel},
                .first_var = kernel->var_count ? kernel->var_count : 1,
                .subgroup_size = subgroup_size,
                .has_fma = has_fma};
  if (!copy_kernel(&l.w)) l.w.has_failed = true;
  if (!l.w.has_failed) lower_all(&l);
  if (!l.w.has_failed) *out_kernel = finish(&l);
  tsri_free(l.w.exprs);
  tsri_free(l.w.stmts);
  if (*out_kernel) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its fragments", kernel->variant);
}
