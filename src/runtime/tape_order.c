// SPDX-License-Identifier: MIT
#include "runtime/tape_order.h"

#include <string.h>

#include "core/alloc.h"

static bool overlap(const tsri_binding *a, const tsri_binding *b) {
  return a->buffer == b->buffer && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool conflict(const tsri_step_memory *a, const tsri_step_memory *b) {
  for (uint32_t i = 0; i < a->count; i++) {
    for (uint32_t j = 0; j < b->count; j++) {
      const tsri_binding *x = &a->ranges[i], *y = &b->ranges[j];
      if ((x->is_written || y->is_written) && overlap(x, y)) return true;
    }
  }
  return false;
}

// `before` has one row of bits for each step: the steps on which it depends, directly or not.
typedef struct order_search {
  const tsri_step_memory *steps;
  uint64_t *before;
  size_t words;  // of a row
  tsri_tape_order *order;
  int found, room;  // entries of order->after
} order_search;

static bool add_edge(order_search *s, int step) {
  if (s->found == s->room) {
    int more = s->room ? 2 * s->room : 256;
    int *larger = tsri_calloc((size_t)more, sizeof *larger);
    if (!larger) return false;
    if (s->found > 0) memcpy(larger, s->order->after, (size_t)s->found * sizeof *larger);
    tsri_free(s->order->after);
    s->order->after = larger;
    s->room = more;
  }
  s->order->after[s->found++] = step;
  return true;
}

// Adds edges from `step` to the earlier steps it must follow, latest first. An earlier step on which a found one already depends needs no edge of its own.
static bool find_edges(order_search *s, int step) {
  uint64_t *before = s->before + (size_t)step * s->words;
  for (int i = step - 1; i >= 0; i--) {
    if (before[i / 64] >> (i % 64) & 1 || !conflict(&s->steps[step], &s->steps[i])) continue;
    if (!add_edge(s, i)) return false;
    const uint64_t *theirs = s->before + (size_t)i * s->words;
    for (size_t w = 0; w < s->words; w++) before[w] |= theirs[w];
    before[i / 64] |= UINT64_C(1) << (i % 64);
  }
  return true;
}

bool tsri_tape_order_init(tsri_tape_order *order, const tsri_step_memory *steps, int count) {
  *order = (tsri_tape_order){0};
  if (count > TSRI_MOST_ORDERED) return false;
  order_search s = {.steps = steps, .words = ((size_t)count + 63) / 64, .order = order};
  s.before = tsri_calloc((size_t)count * s.words, sizeof *s.before);
  order->first = tsri_calloc((size_t)count + 1, sizeof *order->first);
  bool works = s.before && order->first;
  for (int i = 0; i < count && works; i++) {
    works = find_edges(&s, i);
    order->first[i + 1] = s.found;
  }
  tsri_free(s.before);
  if (!works) tsri_tape_order_deinit(order);
  return works;
}

void tsri_tape_order_deinit(tsri_tape_order *order) {
  tsri_free(order->after);
  tsri_free(order->first);
  *order = (tsri_tape_order){0};
}
