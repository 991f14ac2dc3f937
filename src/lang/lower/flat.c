// SPDX-License-Identifier: MIT
#include "lang/lower/flat.h"

#include "lang/lower/hoist_build.h"

// Flags of a statement.
#define HAS_BARRIER 1u  // it is or contains a barrier, or it leaves or continues a loop that does
#define HAS_JUMP    2u  // LOOP: a BREAK or CONTINUE of this loop is inside

// A bool variable: the statements under it run only while it is true.
typedef struct flag {
  uint32_t var;
  bool is_go;  // the `go` of a loop, which only a BREAK takes back
  const struct flag *outer;
} flag;

typedef struct flattener {
  hoister *h;
  rewriter *w;
  uint8_t *marks;  // by statement
} flattener;

// --- Marks ------------------------------------------------------------------------------------------------------------

static uint8_t mark_block(flattener *f, uint32_t first, uint32_t loop);

static uint8_t mark_stmt(flattener *f, uint32_t index, uint32_t loop) {
  const tsri_ir_stmt *s = &f->w->stmts[index];
  uint8_t *mark = &f->marks[index];
  switch (s->kind) {
    case TSRI_STMT_BARRIER:
      *mark = HAS_BARRIER;
      break;
    case TSRI_STMT_IF:
      *mark = (mark_block(f, s->body, loop) | mark_block(f, s->other, loop)) & HAS_BARRIER;
      break;
    case TSRI_STMT_LOOP:
      if (s->has_barrier) *mark = HAS_BARRIER;
      (void)mark_block(f, s->body, index);
      (void)mark_block(f, s->other, index);
      break;
    case TSRI_STMT_BREAK:
    case TSRI_STMT_CONTINUE:
      f->marks[loop] |= HAS_JUMP;
      *mark = f->marks[loop] & HAS_BARRIER;
      break;
    default:
      break;
  }
  return *mark;
}

static uint8_t mark_block(flattener *f, uint32_t first, uint32_t loop) {
  uint8_t marks = 0;
  for (uint32_t i = first; i; i = f->w->stmts[i].next) marks |= mark_stmt(f, i, loop);
  return marks;
}

// --- Statements -------------------------------------------------------------------------------------------------------

static uint32_t new_flag(flattener *f) { return tsri_hoist_var(f->h, bool_type); }

static uint32_t truth(rewriter *w, bool value) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = bool_type, .bits = value});
}

static uint32_t is_set(flattener *f, uint32_t var) { return variable(f->w, var, bool_type); }

static uint32_t is_not_set(flattener *f, uint32_t var) {
  return op(f->w, TSRI_OP_NOT, bool_type, is_set(f, var), 0, 0);
}

// Appends statements that run only while `under` is true; NULL: always.
static void append_under(flattener *f, const flag *under, list stmts, list *to) {
  if (under && stmts.first) append(f->w, to, put_if(f->w, NULL, is_set(f, under->var), stmts.first, 0));
  else join(f->w, to, stmts);
}

static void flatten_block(flattener *f, uint32_t first, const flag *under, list *to);

static void flatten_if(flattener *f, uint32_t index, const flag *outer, list *to) {
  rewriter *w = f->w;
  tsri_ir_stmt s = w->stmts[index];
  flag yes = {.var = new_flag(f), .outer = outer}, no = {.var = new_flag(f), .outer = outer};
  list decision = {0};
  assign(w, to, yes.var, truth(w, false));
  assign(w, to, no.var, truth(w, false));
  assign(w, &decision, yes.var, s.value);
  assign(w, &decision, no.var, is_not_set(f, yes.var));
  append_under(f, outer, decision, to);
  flatten_block(f, s.body, &yes, to);
  flatten_block(f, s.other, &no, to);
}

static void flatten_loop(flattener *f, uint32_t index, const flag *outer, list *to) {
  rewriter *w = f->w;
  tsri_ir_stmt s = w->stmts[index];
  flag go = {.var = new_flag(f), .is_go = true, .outer = outer}, on = {.var = new_flag(f), .outer = &go};
  list body = {0}, decision = {0};
  assign(w, to, go.var, outer ? is_set(f, outer->var) : truth(w, true));
  if (s.value) assign(w, &decision, go.var, s.value);
  append_under(f, &go, decision, &body);
  append(w, &body, put_break_if(w, is_not_set(f, go.var)));
  assign(w, &body, on.var, truth(w, true));
  flatten_block(f, s.body, &on, &body);
  flatten_block(f, s.other, &go, &body);  // the step, also after a continue
  s.value = s.other = s.next = 0;
  s.body = body.first;
  append(w, to, put_stmt(w, s));
}

// Keeps a loop that is under no flag and has no jumps; only its blocks are flattened.
static void keep_loop(flattener *f, uint32_t index, list *to) {
  tsri_ir_stmt s = f->w->stmts[index];
  list body = {0}, step = {0};
  flatten_block(f, s.body, NULL, &body);
  flatten_block(f, s.other, NULL, &step);
  s.body = body.first;
  s.other = step.first;
  s.next = 0;
  append(f->w, to, put_stmt(f->w, s));
}

// Lowers BREAK or CONTINUE: clears all flags from the innermost one to the loop's.
static void flatten_jump(flattener *f, bool is_break, const flag *under, list *to) {
  list taken = {0};
  for (const flag *at = under; at; at = at->is_go ? NULL : at->outer) {
    if (!at->is_go || is_break) assign(f->w, &taken, at->var, truth(f->w, false));
  }
  append_under(f, under, taken, to);
}

static void flatten_stmt(flattener *f, uint32_t index, const flag *under, list *to) {
  const tsri_ir_stmt *s = &f->w->stmts[index];
  switch (s->kind) {
    case TSRI_STMT_IF:
      flatten_if(f, index, under, to);
      break;
    case TSRI_STMT_LOOP:
      if (under || (f->marks[index] & HAS_JUMP)) flatten_loop(f, index, under, to);
      else keep_loop(f, index, to);
      break;
    case TSRI_STMT_BREAK:
    case TSRI_STMT_CONTINUE:
      flatten_jump(f, s->kind == TSRI_STMT_BREAK, under, to);
      break;
    default:
      append(f->w, to, put_stmt(f->w, (tsri_ir_stmt){.kind = TSRI_STMT_BARRIER, .is_uniform = true, .pos = s->pos}));
      break;
  }
}

// Statements between two barriers are put under the flag together, in one IF.
static void flatten_block(flattener *f, uint32_t first, const flag *under, list *to) {
  list piece = {0};
  for (uint32_t i = first, next; i && !f->w->has_failed; i = next) {
    next = f->w->stmts[i].next;
    if (!(f->marks[i] & HAS_BARRIER)) {
      f->w->stmts[i].next = 0;
      append(f->w, &piece, i);
      continue;
    }
    append_under(f, under, piece, to);
    piece = (list){0};
    flatten_stmt(f, i, under, to);
  }
  append_under(f, under, piece, to);
}

static void flatten(hoister *h) {
  flattener f = {.h = h, .w = &h->w, .marks = tsri_calloc(h->w.stmt_count + 1u, 1)};
  list body = {0};
  h->w.has_failed |= !f.marks;
  if (f.marks) {
    (void)mark_block(&f, h->body, 0);
    flatten_block(&f, h->body, NULL, &body);
    h->body = body.first;
  }
  tsri_free(f.marks);
}

tsr_status tsri_lower_flat(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.blocks = flatten};
  *out_kernel = NULL;
  return kernel->needs & TSRI_NEEDS_BARRIER ? tsri_hoist(kernel, &pass, NULL, NULL, out_kernel) : TSR_OK;
}
