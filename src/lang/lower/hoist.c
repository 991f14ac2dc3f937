// SPDX-License-Identifier: MIT
#include "lang/lower/hoist_build.h"

#include "core/error.h"

uint32_t tsri_hoist_var(hoister *h, tsri_ir_type type) {
  void *data = h->vars;
  if (!tsri_rewrite_grow(&data, &h->var_capacity, h->var_count, sizeof *h->vars)) h->w.has_failed = true;
  h->vars = data;
  if (h->w.has_failed) return 0;
  h->vars[h->var_count] = (tsri_ir_var){.name = "t", .type = type};
  return h->var_count++;
}

uint32_t tsri_hoist_value(hoister *h, list *to, uint32_t value) {
  if (h->w.has_failed) return 0;
  tsri_ir_expr x = h->w.exprs[value];
  if (x.kind >= TSRI_EXPR_CONST && x.kind <= TSRI_EXPR_ID) return value;
  uint32_t var = tsri_hoist_var(h, x.type);
  assign(&h->w, to, var, value);
  return variable(&h->w, var, x.type);
}

uint32_t tsri_hoist_item_number(hoister *h, list *to) {
  rewriter *w = &h->w;
  const uint32_t *size = w->from->group_size;
  uint32_t x = id(w, TSRI_ID_LOCAL, 0);
  if (size[1] == 1 && size[2] == 1) return x;
  uint32_t yz = add(w, mul(w, id(w, TSRI_ID_LOCAL, 2), number(w, size[1])), id(w, TSRI_ID_LOCAL, 1));
  return tsri_hoist_value(h, to, add(w, mul(w, yz, number(w, size[0])), x));
}

// --- Expressions ------------------------------------------------------------------------------------------------------

// Writes t = a; if (t) { statements of b; t = b; }, or with !t for ||.
static uint32_t put_short_circuit(hoister *h, const tsri_ir_expr *x, list *before) {
  rewriter *w = &h->w;
  uint32_t var = tsri_hoist_var(h, x->type), b = x->b;
  list more = h->before[b];
  if (!w->has_failed) h->vars[var].is_uniform = x->is_uniform;
  assign(w, before, var, h->places[x->a]);
  uint32_t condition = variable(w, var, x->type);
  if (x->kind == TSRI_EXPR_OR_ELSE) condition = op(w, TSRI_OP_NOT, bool_type, condition, 0, 0);
  assign(w, &more, var, h->places[b]);
  append(w, before, put_if(w, NULL, condition, more.first, 0));
  return variable(w, var, x->type);
}

// Writes if (a) { statements of b; t = b; } else { statements of c; t = c; }
static uint32_t put_choice(hoister *h, const tsri_ir_expr *x, list *before) {
  rewriter *w = &h->w;
  uint32_t var = tsri_hoist_var(h, x->type);
  if (!w->has_failed) h->vars[var].is_uniform = x->is_uniform;
  list yes = h->before[x->b], no = h->before[x->c];
  assign(w, &yes, var, h->places[x->b]);
  assign(w, &no, var, h->places[x->c]);
  append(w, before, put_if(w, NULL, h->places[x->a], yes.first, no.first));
  return variable(w, var, x->type);
}

uint32_t tsri_hoist_branch(hoister *h, const tsri_ir_expr *x, list *before) {
  return (x->kind == TSRI_EXPR_COND ? put_choice : put_short_circuit)(h, x, before);
}

static uint32_t rewrite_expr(hoister *h, const tsri_hoist_pass *pass, uint32_t index, list *before) {
  tsri_ir_expr x = h->w.exprs[index];
  uint32_t count = tsri_ir_operands(&x), plain = tsri_ir_plain_operands(&x);
  bool is_lazy = count > plain, is_same = true;
  if (is_lazy) plain = 1;  // only the condition is always evaluated
  for (uint32_t i = 0; i < plain; i++) join(&h->w, before, h->before[x.args[i]]);
  uint32_t rewritten = pass->expr ? pass->expr(h, index, before) : 0;
  if (rewritten) return rewritten;
  bool needs_branch = false;
  for (uint32_t i = plain; i < count; i++) needs_branch |= h->before[x.args[i]].first != 0;
  if (needs_branch) return tsri_hoist_branch(h, &x, before);
  for (uint32_t i = 0; i < count; i++) {
    is_same &= h->places[x.args[i]] == x.args[i];
    x.args[i] = h->places[x.args[i]];
  }
  uint32_t instead = x.kind == TSRI_EXPR_LOAD && pass->load ? pass->load(h, x, before) : 0;
  if (instead) return instead;
  return is_same ? index : put(&h->w, x);
}

// Operands have smaller indices than the expressions that use them, so one pass is enough. Expressions that were
// replaced are cleared, so that later passes find no access in them.
static void rewrite_exprs(hoister *h, const tsri_hoist_pass *pass) {
  for (uint32_t i = 1; i < h->w.from->expr_count && !h->w.has_failed; i++) {
    if (h->w.exprs[i].kind == TSRI_EXPR_NONE) continue;
    h->places[i] = rewrite_expr(h, pass, i, &h->before[i]);
    if (h->places[i] != i && !h->w.has_failed) h->w.exprs[i] = (tsri_ir_expr){.kind = TSRI_EXPR_NONE};
  }
}

// --- Statements -------------------------------------------------------------------------------------------------------

// A loop's condition that needs statements is evaluated at the beginning of the body.
static void rewrite_loop(hoister *h, const tsri_hoist_pass *pass, uint32_t index, tsri_ir_stmt *loop) {
  rewriter *w = &h->w;
  uint32_t value = loop->value;
  list body = h->before[value];
  loop->value = h->places[value];
  if (value && pass->condition) loop->value = pass->condition(h, index, loop->value, &body);
  if (!body.first) return;
  uint32_t leaves = put_break_if(w, op(w, TSRI_OP_NOT, bool_type, loop->value, 0, 0));
  append(w, &body, leaves);
  append(w, &body, loop->body);
  if (w->has_failed) return;
  w->stmts[leaves].is_uniform = loop->is_uniform && w->from->exprs[value].is_uniform;
  loop->value = 0;
  loop->body = body.first;
}

// Puts the list in the place of statement `index`. Its first statement moves there, because others refer to that index.
// The moved statement's old place is cleared: the next pass visits all statements, and what a statement needs can be
// placed before one statement only.
static void put_in_place(hoister *h, uint32_t index, list all) {
  uint32_t next = h->w.stmts[index].next;
  if (all.last) h->w.stmts[all.last].next = next;
  h->w.stmts[index] = all.first ? h->w.stmts[all.first] : (tsri_ir_stmt){.next = next};
  if (all.first) h->w.stmts[all.first] = (tsri_ir_stmt){.kind = TSRI_STMT_NONE};
}

static void rewrite_stmt(hoister *h, const tsri_hoist_pass *pass, uint32_t index) {
  tsri_ir_stmt s = h->w.stmts[index];
  if (s.kind == TSRI_STMT_LOOP) {
    rewrite_loop(h, pass, index, &s);
    if (!h->w.has_failed) h->w.stmts[index] = s;
    return;
  }
  list all = {0};
  uint32_t *operands[] = {&s.index, &s.value, &s.compare};
  for (int i = 0; i < 3; i++) {
    join(&h->w, &all, h->before[*operands[i]]);
    *operands[i] = h->places[*operands[i]];
  }
  if (s.kind == TSRI_STMT_IF && pass->condition) s.value = pass->condition(h, index, s.value, &all);
  bool is_changed = s.kind == TSRI_STMT_STORE || s.kind == TSRI_STMT_ATOMIC || s.kind == TSRI_STMT_COLLECTIVE ||
                    (s.kind == TSRI_STMT_ASSIGN && pass->has_assignments);
  s.next = 0;
  h->original = &h->w.from->stmts[index];
  if (is_changed && pass->stmt) {
    pass->stmt(h, s, &all);
  } else {
    append(&h->w, &all, put_stmt(&h->w, s));
  }
  if (!h->w.has_failed) put_in_place(h, index, all);
}

// --- What is not used -----------------------------------------------------------------------------------------------------

static void mark_block(const tsri_kernel *k, uint32_t first, bool *is_live) {
  for (uint32_t i = first; i; i = k->stmts[i].next) {
    is_live[i] = true;
    mark_block(k, k->stmts[i].body, is_live);
    mark_block(k, k->stmts[i].other, is_live);
  }
}

// Clears statements that never run and expressions that no statement uses. They may share operands with others, and
// what an operand needs can be placed before one statement only.
static void drop_unused(hoister *h) {
  const tsri_kernel *k = h->w.from;
  bool *live_stmts = tsri_calloc(k->stmt_count + 1u, sizeof *live_stmts);
  bool *live_exprs = tsri_calloc(k->expr_count + 1u, sizeof *live_exprs);
  h->w.has_failed |= !live_stmts || !live_exprs;
  if (!h->w.has_failed) {
    mark_block(k, k->body, live_stmts);
    for (uint32_t i = 1; i < k->stmt_count; i++) {
      const tsri_ir_stmt *s = &k->stmts[i];
      if (live_stmts[i]) live_exprs[s->index] = live_exprs[s->value] = live_exprs[s->compare] = true;
      else h->w.stmts[i] = (tsri_ir_stmt){.kind = TSRI_STMT_NONE};
    }
    for (uint32_t i = k->expr_count; i-- > 1;) {
      uint32_t count = live_exprs[i] ? tsri_ir_operands(&k->exprs[i]) : 0;
      for (uint32_t j = 0; j < count; j++) live_exprs[k->exprs[i].args[j]] = true;
      if (!live_exprs[i]) h->w.exprs[i] = (tsri_ir_expr){.kind = TSRI_EXPR_NONE};
    }
  }
  tsri_free(live_stmts);
  tsri_free(live_exprs);
}

// --- The new kernel -----------------------------------------------------------------------------------------------------

static void *copy_of(hoister *h, const void *data, size_t count, size_t room, size_t size) {
  void *copy = tsri_calloc(count + room + 1, size);
  if (!copy) h->w.has_failed = true;
  if (copy && count) memcpy(copy, data, count * size);
  return copy;
}

static void begin(hoister *h, const tsri_kernel *k) {
  if (!copy_kernel(&h->w)) h->w.has_failed = true;
  h->var_count = k->var_count ? k->var_count : 1;
  h->var_capacity = h->var_count + 1;
  h->vars = copy_of(h, k->vars, k->var_count, 1, sizeof *h->vars);
  h->buffers = copy_of(h, k->buffers, k->buffer_count, 1, sizeof *h->buffers);
  h->shared = copy_of(h, k->shared, k->shared_count, TSRI_HOIST_SHARED, sizeof *h->shared);
  h->locals = copy_of(h, k->locals, k->local_count, 0, sizeof *h->locals);
  h->params = copy_of(h, k->params, k->param_count, 2 * (size_t)k->buffer_count + k->param_count, sizeof *h->params);
  h->places = tsri_calloc(k->expr_count + 1u, sizeof *h->places);
  h->before = tsri_calloc(k->expr_count + 1u, sizeof *h->before);
  h->w.has_failed |= !h->places || !h->before;
  h->buffer_count = k->buffer_count;
  h->shared_count = k->shared_count;
  h->param_count = k->param_count;
  h->params_bytes = k->params_bytes;
  h->needs = k->needs;
  h->body = k->body;
  if (!h->w.has_failed) drop_unused(h);
}

// Packs the kernel into one block of memory, as tsri_kernel_release requires.
static tsri_kernel *pack(const hoister *h) {
  const struct part {
    const void *data;
    size_t bytes;
  } parts[] = {{h->w.exprs, h->w.expr_count * sizeof *h->w.exprs},
               {h->w.stmts, h->w.stmt_count * sizeof *h->w.stmts},
               {h->vars, h->var_count * sizeof *h->vars},
               {h->buffers, h->buffer_count * sizeof *h->buffers},
               {h->shared, h->shared_count * sizeof *h->shared},
               {h->params, h->param_count * sizeof *h->params},
               {h->locals, h->w.from->local_count * sizeof *h->locals}};
  enum { COUNT = sizeof parts / sizeof *parts };
  size_t total = (sizeof(tsri_kernel) + 15) / 16 * 16, offsets[COUNT];
  for (int i = 0; i < COUNT; i++) {
    offsets[i] = total;
    total += (parts[i].bytes + 15) / 16 * 16;
  }
  tsri_kernel *made = tsri_calloc(1, total);
  if (!made) return NULL;
  *made = *h->w.from;
  made->base = NULL;
  for (int i = 0; i < COUNT; i++) memcpy((char *)made + offsets[i], parts[i].data, parts[i].bytes);
  made->exprs = (const void *)((char *)made + offsets[0]), made->expr_count = h->w.expr_count;
  made->stmts = (const void *)((char *)made + offsets[1]), made->stmt_count = h->w.stmt_count;
  made->vars = (const void *)((char *)made + offsets[2]), made->var_count = h->var_count;
  made->buffers = (const void *)((char *)made + offsets[3]), made->buffer_count = h->buffer_count;
  made->shared = (const void *)((char *)made + offsets[4]), made->shared_count = h->shared_count;
  made->params = (const void *)((char *)made + offsets[5]), made->param_count = h->param_count;
  made->locals = (const void *)((char *)made + offsets[6]);
  made->params_bytes = h->params_bytes;
  made->needs = h->needs;
  made->body = h->body;
  made->shared_bytes = 0;
  for (uint32_t i = 0; i < h->shared_count; i++) {
    uint32_t bytes = h->shared[i].count * (uint32_t)tsr_dtype_bytes((tsr_dtype)h->shared[i].storage);
    made->shared_bytes += (bytes + 15u) & ~15u;
  }
  return made;
}

tsr_status tsri_hoist(const tsri_kernel *kernel, const tsri_hoist_pass *pass, void (*prepare)(hoister *h),
                      void *context, tsri_kernel **out_kernel) {
  hoister h = {.w = {.from = kernel}, .context = context};
  *out_kernel = NULL;
  begin(&h, kernel);
  if (!h.w.has_failed) {
    if (prepare) prepare(&h);
    rewrite_exprs(&h, pass);
  }
  for (uint32_t i = 1; i < kernel->stmt_count && !h.w.has_failed; i++) {
    if (h.w.stmts[i].kind != TSRI_STMT_NONE) rewrite_stmt(&h, pass, i);
  }
  if (!h.w.has_failed && pass->blocks) pass->blocks(&h);
  if (!h.w.has_failed) *out_kernel = pack(&h);
  tsri_free(h.w.exprs);
  tsri_free(h.w.stmts);
  tsri_free(h.vars);
  tsri_free(h.buffers);
  tsri_free(h.shared);
  tsri_free(h.locals);
  tsri_free(h.params);
  tsri_free(h.places);
  tsri_free(h.before);
  if (*out_kernel) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to make it fit for this device", kernel->variant);
}
