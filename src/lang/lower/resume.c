// SPDX-License-Identifier: MIT
// Makes a kernel that stops after a number of loop iterations and continues in the next launch. It is for drivers that
// end loops by themselves after some number of iterations (lavapipe: 65,535 in a whole shader, without a message).
//
// Each place where an item may stop has a number, its point. The variable `at` says what an item does:
//   0                      it runs
//   1 to the last point    it searches that point, where it will continue; statements on the way are skipped
//   STOPPED                it has stopped; the rest is skipped, and its variables are saved at the end
//   DONE                   it finished in an earlier launch
// Statements without loops are placed under `if (at == 0)`. A loop is also entered to search a point inside it, and
// stops at its head when the allowed iterations are used up.
//
// If items wait for each other, a work-group stops as a whole. Barriers are only in uniform control flow, so each
// outermost statement that contains loops but no barrier is followed by a vote: if any item stopped inside it, the
// others stop after it, at a separate point. After a vote all items of a work-group have used the same number of
// iterations, so a loop that contains barriers stops in all of them at once.
//
//   resume_walk.c   the statements, with points in between
//   resume_state.c  saving and restoring
#include "core/error.h"
#include "lang/lang.h"
#include "lang/lower/resume_build.h"

uint64_t tsri_kernel_resume_words(const tsri_kernel *kernel) {
  return (uint64_t)group_items(kernel) * tsri_resume_item_words(kernel) + tsri_resume_shared_words(kernel);
}

static const char *const variable_names[] = {"at", "used", "point", "vote", "index"};
enum { MORE_VARS = sizeof variable_names / sizeof *variable_names };

// Items continue at different places, so a variable may differ between items where it did not before. Only expressions
// without variables and memory are still uniform.
static void forget_uniform(resumer *r) {
  for (uint32_t i = 1; i < r->w.expr_count; i++) {
    tsri_ir_expr *x = &r->w.exprs[i];
    bool is_known = x->kind == TSRI_EXPR_VAR ? x->object == r->vote : x->kind != TSRI_EXPR_LOAD && x->is_uniform;
    uint32_t operands = tsri_ir_operands(x);
    for (uint32_t k = 0; k < operands; k++) is_known &= r->w.exprs[x->args[k]].is_uniform;
    x->is_uniform = is_known;
  }
}

// The arrays that follow the kernel in its block of memory; each begins at a multiple of 16 bytes.
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
  for (uint32_t i = 1; i < r->w.from->var_count; i++) {
    vars[i] = r->w.from->vars[i];
    vars[i].is_uniform = false;
  }
  for (uint32_t i = 0; i < MORE_VARS; i++) {
    vars[r->at + i] = (tsri_ir_var){.name = variable_names[i], .type = u32_type, .is_uniform = r->at + i == r->vote};
  }
}

// Saving and restoring load and store every array.
static void fill_arrays(const tsri_ir_array *from, uint32_t count, tsri_ir_array *to) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
    to[i].is_loaded = to[i].is_stored = true;
  }
}

static tsri_kernel *finish(resumer *r, uint32_t body) {
  const tsri_kernel *k = r->w.from;
  uint32_t vars = r->at + MORE_VARS;
  const size_t bytes[ARRAY_COUNT] = {[EXPRS] = r->w.expr_count * sizeof(tsri_ir_expr),
                                     [STMTS] = r->w.stmt_count * sizeof(tsri_ir_stmt),
                                     [VARS] = vars * sizeof(tsri_ir_var),
                                     [BUFFERS] = (k->buffer_count + 1) * sizeof(tsri_ir_array),
                                     [SHARED] = k->shared_count * sizeof(tsri_ir_array),
                                     [LOCALS] = k->local_count * sizeof(tsri_ir_array),
                                     [PARAMS] = (k->param_count + 1) * sizeof(tsri_ir_param)};
  void *places[ARRAY_COUNT];
  tsri_kernel *made = allocate(bytes, places);
  if (!made) return NULL;
  memcpy(places[EXPRS], r->w.exprs, bytes[EXPRS]);
  memcpy(places[STMTS], r->w.stmts, bytes[STMTS]);
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
  made->base = NULL;
  made->exprs = places[EXPRS], made->expr_count = r->w.expr_count;
  made->stmts = places[STMTS], made->stmt_count = r->w.stmt_count;
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
  resumer r = {.w = {.from = kernel},
               .rounds = rounds,
               .at = first,
               .used = first + 1,
               .point = first + 2,
               .vote = first + 3,
               .index = first + 4,
               .state = kernel->buffer_count,
               .again = kernel->param_count,
               .item_words = tsri_resume_item_words(kernel),
               .shared_words = tsri_resume_shared_words(kernel),
               .votes = (kernel->needs & TSRI_NEEDS_BARRIER) != 0};
  list all = {0};
  point_range points;
  if (!copy_kernel(&r.w)) r.w.has_failed = true;
  if (!r.w.has_failed) tsri_resume_begin(&r, &all);
  if (!r.w.has_failed) join(&r.w, &all, tsri_resume_block(&r, kernel->body, false, &points));
  if (!r.w.has_failed) tsri_resume_end(&r, &all);
  if (!r.w.has_failed) forget_uniform(&r);
  if (!r.w.has_failed) *out_kernel = finish(&r, all.first);
  tsri_free(r.w.exprs);
  tsri_free(r.w.stmts);
  if (*out_kernel) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for loops of many rounds", kernel->variant);
}
