// SPDX-License-Identifier: MIT
// Rewrites the statements of a kernel that stops and continues: which ones an item runs, skips or enters (resume.c).
#include "lang/lower/resume_build.h"

enum { MOST_DEPTH = 400 };
#define VOTE_STOP UINT32_MAX  // larger than the iterations that any item has used

static bool has_loop(resumer *r, uint32_t first) {
  bool has = false;
  if (++r->depth > MOST_DEPTH) r->w.has_failed = true;
  for (uint32_t i = first; i && !has && !r->w.has_failed; i = r->w.stmts[i].next) {
    const tsri_ir_stmt *s = &r->w.stmts[i];
    has = s->kind == TSRI_STMT_LOOP || (s->kind == TSRI_STMT_IF && (has_loop(r, s->body) || has_loop(r, s->other)));
  }
  r->depth--;
  return has;
}

// At the head of each iteration: arriving at the point, counting, the loop's own condition, and leaving the loop if
// the item has stopped.
static list loop_head(resumer *r, uint32_t head, uint32_t condition) {
  list l = {0}, counting = {0};
  arrive(r, &l, head);
  assign(&r->w, &counting, r->used, add(&r->w, word(&r->w, r->used), number(&r->w, 1)));
  uint32_t is_over = test(&r->w, TSRI_OP_GT, word(&r->w, r->used), number(&r->w, r->rounds));
  append(&r->w, &counting, put_if(&r->w, NULL, is_over, stop_at(r, head).first, 0));
  append(&r->w, &l, put_if(&r->w, NULL, runs(r), counting.first, 0));
  if (condition) {
    uint32_t ends = op(&r->w, TSRI_OP_NOT, bool_type, condition, 0, 0);
    append(&r->w, &l, put_break_if(&r->w, lazily(&r->w, TSRI_EXPR_AND_THEN, runs(r), ends)));
  }
  append(&r->w, &l, put_break_if(&r->w, at_is(r, STOPPED)));
  return l;
}

static uint32_t rewrite_loop(resumer *r, uint32_t index, bool is_in_region, point_range *out_points) {
  tsri_ir_stmt loop = r->w.stmts[index];
  point_range inside;
  out_points->low = ++r->points;
  list body = loop_head(r, out_points->low, loop.value);
  join(&r->w, &body, tsri_resume_block(r, loop.body, is_in_region, &inside));
  loop.other = tsri_resume_block(r, loop.other, is_in_region, &inside).first;
  out_points->high = r->points;
  loop.value = 0;
  loop.body = body.first;
  loop.next = 0;
  uint32_t rewritten = put_stmt(&r->w, loop);
  return put_if(&r->w, &loop, runs_or_looks_in(r, *out_points), rewritten, 0);
}

static uint32_t rewrite_if(resumer *r, uint32_t index, bool is_in_region, point_range *out_points) {
  tsri_ir_stmt stmt = r->w.stmts[index];
  point_range yes, no;
  out_points->low = r->points + 1;
  uint32_t body = tsri_resume_block(r, stmt.body, is_in_region, &yes).first;
  uint32_t other = tsri_resume_block(r, stmt.other, is_in_region, &no).first;
  out_points->high = r->points;
  uint32_t condition = lazily(&r->w, TSRI_EXPR_AND_THEN, runs(r), stmt.value);
  if (yes.high >= yes.low) condition = lazily(&r->w, TSRI_EXPR_OR_ELSE, condition, looks_in(r, yes));
  return put_if(&r->w, &stmt, condition, body, other);
}

// After `region`, in which items stop individually or not at all: a vote makes all items of the work-group stop, or
// none.
static uint32_t with_vote(resumer *r, const tsri_ir_stmt *like, uint32_t region, point_range *points) {
  list l = {0}, all = {0}, used = {0};
  uint32_t after = points->high = ++r->points;
  append(&r->w, &l, region);
  arrive(r, &l, after);
  uint32_t has_stopped = at_is(r, STOPPED), stop = number(&r->w, VOTE_STOP);
  uint32_t value = op(&r->w, TSRI_OP_SELECT, u32_type, has_stopped, stop, word(&r->w, r->used));
  append(&r->w, &l,
         put_stmt(&r->w, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                        .op = TSRI_COLLECTIVE_GROUP_MAX,
                                        .is_uniform = true,
                                        .var = r->vote,
                                        .value = value}));
  append(&r->w, &all, put_if(&r->w, NULL, runs(r), stop_at(r, after).first, 0));
  assign(&r->w, &used, r->used, word(&r->w, r->vote));
  uint32_t any = test(&r->w, TSRI_OP_EQ, word(&r->w, r->vote), number(&r->w, VOTE_STOP));
  append(&r->w, &l, put_if(&r->w, NULL, any, all.first, used.first));
  tsri_ir_stmt flags = *like;
  flags.has_barrier = true;
  return put_if(&r->w, &flags, runs_or_looks_in(r, *points), l.first, 0);
}

// Places the statements from `first` to `last`, which contain no loops, under one condition.
static void put_run(resumer *r, list *to, uint32_t first, uint32_t last) {
  if (!first) return;
  tsri_ir_stmt like = r->w.stmts[first];
  like.has_barrier = false;
  for (uint32_t i = first;; i = r->w.stmts[i].next) {
    const tsri_ir_stmt *s = &r->w.stmts[i];
    like.has_barrier |= s->has_barrier || s->kind == TSRI_STMT_BARRIER || s->kind == TSRI_STMT_COLLECTIVE;
    if (i == last) break;
  }
  r->w.stmts[last].next = 0;
  append(&r->w, to, put_if(&r->w, &like, runs(r), first, 0));
}

static uint32_t rewrite_stmt(resumer *r, uint32_t index, bool is_in_region, point_range *out_points) {
  tsri_ir_stmt stmt = r->w.stmts[index];
  bool is_region = r->votes && !is_in_region && !stmt.has_barrier;
  uint32_t done = stmt.kind == TSRI_STMT_LOOP ? rewrite_loop(r, index, is_in_region || is_region, out_points)
                                              : rewrite_if(r, index, is_in_region || is_region, out_points);
  return is_region ? with_vote(r, &stmt, done, out_points) : done;
}

list tsri_resume_block(resumer *r, uint32_t first, bool is_in_region, point_range *out_points) {
  list l = {0};
  uint32_t run_first = 0, run_last = 0, next = 0;
  out_points->low = r->points + 1;
  if (++r->depth > MOST_DEPTH) r->w.has_failed = true;
  for (uint32_t i = first; i && !r->w.has_failed; i = next) {
    next = r->w.stmts[i].next;
    bool is_plain =
        r->w.stmts[i].kind != TSRI_STMT_LOOP &&
        (r->w.stmts[i].kind != TSRI_STMT_IF || !(has_loop(r, r->w.stmts[i].body) || has_loop(r, r->w.stmts[i].other)));
    if (is_plain) {
      if (!run_first) run_first = i;
      run_last = i;
      continue;
    }
    point_range inside;
    put_run(r, &l, run_first, run_last);
    run_first = 0;
    append(&r->w, &l, rewrite_stmt(r, i, is_in_region, &inside));
  }
  if (!r->w.has_failed) put_run(r, &l, run_first, run_last);
  r->depth--;
  out_points->high = r->points;
  return l;
}
