// SPDX-License-Identifier: MIT
// Operators that consist of just an expression: parts of composed operators without a row in operators.def. Operators are compared by address, so each is created
// only once.
#include <string.h>

#include "core/alloc.h"
#include "saved/again.h"

typedef struct made_op {
  tsri_op op;
  struct made_op *next;
  char texts[];  // name, expression and helper, each with a 0
} made_op;

static made_op *made;
static tsri_mutex made_lock = TSRI_MUTEX_INIT;

// The text goes into a generated kernel as it is, so it must not be able to end the expression: no brackets or braces, no semicolons,
// comments or lines.
static bool is_expression(const char *text) {
  static const char signs[] = " _$#().,+-*%/<>=!&|^?:~";
  int open = 0;
  for (const char *at = text; *at; at++) {
    bool is_word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
    if (!is_word && !strchr(signs, *at)) return false;
    if (at[0] == '/' && (at[1] == '/' || at[1] == '*')) return false;
    open += (*at == '(') - (*at == ')');
    if (open < 0) return false;
  }
  return open == 0 && text[0];
}

static bool is_same(const tsri_op *op, const char *name, const char *expression, const char *helper, bool is_costly) {
  bool has_helper = op->helper != NULL;
  return strcmp(op->name, name) == 0 && strcmp(op->expression, expression) == 0 && has_helper == (helper != NULL) &&
         (!helper || strcmp(op->helper, helper) == 0) && op->is_costly == is_costly;
}

static made_op *make(const char *name, const char *expression, const char *helper, bool is_costly) {
  size_t name_bytes = strlen(name) + 1, bytes = strlen(expression) + 1, helper_bytes = helper ? strlen(helper) + 1 : 0;
  made_op *fresh = tsri_calloc(1, sizeof *fresh + name_bytes + bytes + helper_bytes);
  if (!fresh) return NULL;
  fresh->op.kind = TSRI_OP_ELEMENTWISE;
  fresh->op.is_costly = is_costly;
  fresh->op.name = memcpy(fresh->texts, name, name_bytes);
  fresh->op.expression = memcpy(fresh->texts + name_bytes, expression, bytes);
  fresh->op.helper = helper ? memcpy(fresh->texts + name_bytes + bytes, helper, helper_bytes) : NULL;
  fresh->next = made;
  made = fresh;
  return fresh;
}

const tsri_op *tsri_again_expression(const char *name, const char *expression, const char *helper, bool is_costly) {
  if (!is_expression(expression)) return NULL;
  tsri_mutex_lock(&made_lock);
  made_op *found = made;
  while (found && !is_same(&found->op, name, expression, helper, is_costly)) found = found->next;
  if (!found) found = make(name, expression, helper, is_costly);
  tsri_mutex_unlock(&made_lock);
  return found ? &found->op : NULL;
}
