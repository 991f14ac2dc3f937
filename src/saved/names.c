// SPDX-License-Identifier: MIT
// Finds operators by name, and says which body of its row an operator is.
#include "saved/names.h"

#include <string.h>

#include "ops/call.h"
#include "ops/operators.h"

static const tsri_op zeros_op = {.name = "zeros", .kind = TSRI_OP_KERNEL, .run = tsri_call_zero};

static bool is_named(const char *known, const char *name, size_t bytes) {
  return strlen(known) == bytes && memcmp(known, name, bytes) == 0;
}

static bool has_body(const tsri_op *op) { return op->expression || op->kind != TSRI_OP_ELEMENTWISE; }

const tsri_op *tsri_saved_find_op(const char *name, size_t name_bytes, uint32_t body) {
  if (is_named(tsri_op_copy.name, name, name_bytes)) return body == 0 ? &tsri_op_copy : NULL;
  if (is_named(zeros_op.name, name, name_bytes)) return body == 0 ? &zeros_op : NULL;
  for (int i = 0; i < TSRI_OPERATOR_COUNT && body < TSRI_BODY_COUNT; i++) {
    const tsri_op *op = &tsri_operators[i].bodies[body];
    if (is_named(tsri_operators[i].name, name, name_bytes)) return has_body(op) ? op : NULL;
  }
  return NULL;
}

int tsri_saved_body_of(const tsri_op *op) {
  for (int body = 0; body < TSRI_BODY_COUNT; body++) {
    const tsri_op *found = tsri_saved_find_op(op->name, strlen(op->name), (uint32_t)body);
    bool is_zeros = found == &zeros_op && op->kind == TSRI_OP_KERNEL && op->run == zeros_op.run;
    if (found && (found == op || is_zeros)) return body;
  }
  return -1;
}
