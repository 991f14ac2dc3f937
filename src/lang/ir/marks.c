// SPDX-License-Identifier: MIT
#include "lang/ir/marks.h"

typedef struct marker {
  const tsri_kernel *kernel;
  uint8_t *marks;
  uint32_t depth, most_depth;
} marker;

// mark_block and mark_stmt return TSRI_MARK_COLLECTED or 0. `loop` is the innermost loop around the statement; 0: none.
static uint8_t mark_block(marker *m, uint32_t first, uint32_t loop);

static uint8_t mark_stmt(marker *m, uint32_t index, uint32_t loop) {
  const tsri_ir_stmt *stmt = &m->kernel->stmts[index];
  uint8_t found = 0;
  switch (stmt->kind) {
    case TSRI_STMT_IF:
      found = (uint8_t)(mark_block(m, stmt->body, loop) | mark_block(m, stmt->other, loop));
      break;
    case TSRI_STMT_LOOP:  // its BREAKs need the mark, so it comes first
      if (stmt->has_barrier) m->marks[index] = TSRI_MARK_COLLECTED;
      (void)mark_block(m, stmt->body, index);
      (void)mark_block(m, stmt->other, index);
      return m->marks[index] & TSRI_MARK_COLLECTED;
    case TSRI_STMT_CONTINUE:
      m->marks[loop] |= TSRI_MARK_HAS_CONTINUE;  // fall through
    case TSRI_STMT_BREAK:
      found = m->marks[loop] & TSRI_MARK_COLLECTED;
      break;
    case TSRI_STMT_BARRIER:
    case TSRI_STMT_COLLECTIVE:
      found = TSRI_MARK_COLLECTED;
      break;
    default:
      break;
  }
  m->marks[index] |= found;
  return found;
}

static uint8_t mark_block(marker *m, uint32_t first, uint32_t loop) {
  uint8_t found = 0;
  if (m->depth >= m->most_depth) return 0;
  m->depth++;
  for (uint32_t i = first; i; i = m->kernel->stmts[i].next) found |= mark_stmt(m, i, loop);
  m->depth--;
  return found;
}

bool tsri_ir_mark(const tsri_kernel *kernel, uint32_t most_depth, uint8_t *marks) {
  marker m = {.kernel = kernel, .marks = marks, .most_depth = most_depth};
  return mark_block(&m, kernel->body, 0) != 0;
}
