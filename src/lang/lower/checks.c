// SPDX-License-Identifier: MIT
#include "lang/lower/checks.h"

#include "lang/emit/emit.h"
#include "lang/lower/hoist_build.h"

static const tsri_ir_type i64_type = {TSR_I64, 1};

// An access: its array, and its index as an expression that may be used any number of times.
typedef struct checked_access {
  tsri_ir_space space;
  uint32_t object, lanes, index;
  tsri_ir_pos pos;
} checked_access;

static uint32_t zero_of(hoister *h, tsri_ir_type type) {
  uint32_t zero = put(&h->w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = {type.dtype, 1}});
  return type.lanes == 1 ? zero : put(&h->w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .type = type, .a = zero});
}

// --- Words of 64-bit numbers ----------------------------------------------------------------------------------------

// The low (0) or high (1) word of an array's element count.
static uint32_t count_word(hoister *h, const checked_access *of, uint32_t which) {
  if (of->space == TSRI_SPACE_BUFFER) {
    uint32_t object = h->w.from->param_count + 2 * of->object + which;
    return put(&h->w, (tsri_ir_expr){.kind = TSRI_EXPR_SCALAR, .is_uniform = true, .type = u32_type, .object = object});
  }
  return number(&h->w, which ? 0 : tsri_ir_array_of(h->w.from, of->space, of->object)->count);
}

static uint32_t index_word(hoister *h, const checked_access *of, uint32_t which) {
  rewriter *w = &h->w;
  tsri_ir_type type = w->exprs[of->index].type;
  if (which == 0) return cast(w, of->index, TSRI_EXPR_CONVERT, u32_type);
  if (type.dtype == TSR_U32) return number(w, 0);
  uint32_t high = op(w, TSRI_OP_SHR, type, of->index, number(w, type.dtype == TSR_I64 ? 32 : 31), 0);
  return cast(w, high, TSRI_EXPR_CONVERT, u32_type);
}

// --- The test -------------------------------------------------------------------------------------------------------

static uint32_t both(rewriter *w, uint32_t a, uint32_t b) { return test(w, TSRI_OP_AND, a, b); }

static uint32_t is_not_negative(rewriter *w, uint32_t index) {
  tsri_ir_type type = w->exprs[index].type;
  return test(w, TSRI_OP_GE, index, put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = type}));
}

// 0 <= index <= count - lanes, in 64 bits.
static uint32_t fits_wide(hoister *h, const checked_access *of) {
  rewriter *w = &h->w;
  uint32_t high = cast(w, count_word(h, of, 1), TSRI_EXPR_CONVERT, i64_type);
  uint32_t low = cast(w, count_word(h, of, 0), TSRI_EXPR_CONVERT, i64_type);
  uint32_t count = op(w, TSRI_OP_OR, i64_type, op(w, TSRI_OP_SHL, i64_type, high, number(w, 32), 0), low, 0);
  uint32_t lanes = put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .type = i64_type, .bits = of->lanes});
  uint32_t last = op(w, TSRI_OP_SUB, i64_type, count, lanes, 0);
  return both(w, is_not_negative(w, of->index), test(w, TSRI_OP_LE, of->index, last));
}

// As fits_wide, for a 32-bit index. If the array has more elements than 32 bits can count, every index fits.
static uint32_t fits_narrow(hoister *h, const checked_access *of) {
  rewriter *w = &h->w;
  uint32_t index = index_word(h, of, 0), fits;
  if (of->lanes == 1) {
    fits = test(w, TSRI_OP_LT, index, count_word(h, of, 0));
  } else {
    uint32_t lanes = number(w, of->lanes), last = op(w, TSRI_OP_SUB, u32_type, count_word(h, of, 0), lanes, 0);
    fits = both(w, test(w, TSRI_OP_GE, count_word(h, of, 0), lanes), test(w, TSRI_OP_LE, index, last));
  }
  if (of->space == TSRI_SPACE_BUFFER) {
    fits = test(w, TSRI_OP_OR, fits, test(w, TSRI_OP_NE, count_word(h, of, 1), number(w, 0)));
  }
  bool is_signed = w->exprs[of->index].type.dtype == TSR_I32;
  return is_signed ? both(w, is_not_negative(w, of->index), fits) : fits;
}

static uint32_t fits(hoister *h, const checked_access *of) {
  rewriter *w = &h->w;
  uint32_t in_range = w->exprs[of->index].type.dtype == TSR_I64 ? fits_wide(h, of) : fits_narrow(h, of);
  if (of->lanes == 1) return in_range;
  uint32_t rest = op(w, TSRI_OP_AND, u32_type, index_word(h, of, 0), number(w, of->lanes - 1), 0);
  return both(w, in_range, test(w, TSRI_OP_EQ, rest, number(w, 0)));
}

// --- The report -----------------------------------------------------------------------------------------------------

static uint32_t array_number(const tsri_kernel *k, const checked_access *of) {
  uint32_t first = of->space == TSRI_SPACE_BUFFER ? 0 : k->buffer_count;
  return first + (of->space == TSRI_SPACE_LOCAL ? k->shared_count : 0) + of->object;
}

static void put_report_word(hoister *h, list *to, uint32_t place, uint32_t value) {
  tsri_ir_stmt store = {.kind = TSRI_STMT_STORE,
                        .space = TSRI_SPACE_BUFFER,
                        .object = h->w.from->buffer_count,
                        .index = number(&h->w, place),
                        .value = value};
  append(&h->w, to, put_stmt(&h->w, store));
}

// Only the first item to find a wrong index sets the flag, and only it writes the rest.
static void put_report(hoister *h, list *to, const checked_access *of) {
  rewriter *w = &h->w;
  uint32_t taken = tsri_hoist_var(h, u32_type);
  tsri_ir_stmt take = {.kind = TSRI_STMT_ATOMIC,
                       .op = TSRI_ATOMIC_EXCHANGE,
                       .space = TSRI_SPACE_BUFFER,
                       .object = w->from->buffer_count,
                       .var = taken,
                       .index = number(w, TSRI_EMIT_REPORT_FLAG),
                       .value = number(w, 1)};
  append(w, to, put_stmt(w, take));
  list words = {0};
  put_report_word(h, &words, TSRI_EMIT_REPORT_POS, number(w, of->pos));
  put_report_word(h, &words, TSRI_EMIT_REPORT_ARRAY, number(w, array_number(w->from, of)));
  for (uint32_t i = 0; i < 2; i++) {
    put_report_word(h, &words, TSRI_EMIT_REPORT_INDEX + i, index_word(h, of, i));
    put_report_word(h, &words, TSRI_EMIT_REPORT_COUNT + i, count_word(h, of, i));
  }
  put_report_word(h, &words, TSRI_EMIT_REPORT_LANES, number(w, of->lanes));
  append(w, to, put_if(w, NULL, test(w, TSRI_OP_EQ, word(w, taken), number(w, 0)), words.first, 0));
}

// --- Accesses -------------------------------------------------------------------------------------------------------

// t = 0; if (it fits) t = x[i]; else report.
static uint32_t check_load(hoister *h, tsri_ir_expr load, list *before) {
  rewriter *w = &h->w;
  load.a = tsri_hoist_value(h, before, load.a);
  checked_access of = {(tsri_ir_space)load.space, load.object, load.type.lanes, load.a, load.pos};
  uint32_t var = tsri_hoist_var(h, load.type);
  list good = {0}, bad = {0};
  assign(w, &good, var, put(w, load));
  put_report(h, &bad, &of);
  assign(w, &bad, var, zero_of(h, load.type));
  append(w, before, put_if(w, NULL, fits(h, &of), good.first, bad.first));
  return variable(w, var, load.type);
}

static void check_stmt(hoister *h, tsri_ir_stmt s, list *to) {
  rewriter *w = &h->w;
  if (s.kind == TSRI_STMT_COLLECTIVE) {
    append(w, to, put_stmt(w, s));
    return;
  }
  s.index = tsri_hoist_value(h, to, s.index);
  if (w->has_failed) return;
  uint32_t lanes = s.kind == TSRI_STMT_STORE ? w->exprs[s.value].type.lanes : 1;
  checked_access of = {(tsri_ir_space)s.space, s.object, lanes, s.index, s.pos};
  list bad = {0};
  put_report(h, &bad, &of);
  if (s.var) assign(w, &bad, s.var, zero_of(h, h->vars[s.var].type));
  append(w, to, put_if(w, NULL, fits(h, &of), put_stmt(w, s), bad.first));
}

static void add_report(hoister *h) {
  const tsri_kernel *k = h->w.from;
  // The report is read only after the launch, so barriers need not order accesses to it.
  h->buffers[h->buffer_count++] = (tsri_ir_array){
      .name = "report", .storage = TSR_U32, .access = TSRI_ACCESS_INOUT, .is_stored = true, .is_atomic = true};
  for (uint32_t i = 0; i < 2 * k->buffer_count; i++, h->params_bytes += 4) {
    h->params[h->param_count++] =
        (tsri_ir_param){.name = "count", .declared = TSR_U32, .type = u32_type, .offset = h->params_bytes};
  }
}

tsr_status tsri_lower_checks(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.load = check_load, .stmt = check_stmt};
  tsr_status status = tsri_hoist(kernel, &pass, add_report, NULL, out_kernel);
  if (status == TSR_OK) (*out_kernel)->is_checked = false;
  return status;
}
