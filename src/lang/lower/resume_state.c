// SPDX-License-Identifier: MIT
// The state that a stopped item saves and restores (resume.c): where it stopped, its variables and local arrays and,
// together with the other items of its work-group, the shared arrays.
#include "lang/lower/resume_build.h"

static const tsri_ir_type i64_type = {TSR_I64, 1};

// One word for where it stopped, then its variables and local arrays.
uint32_t tsri_resume_item_words(const tsri_kernel *kernel) {
  uint32_t words = 1;
  for (uint32_t i = 1; i < kernel->var_count; i++) words += words_of(kernel->vars[i].type);
  return words + array_words(kernel->locals, kernel->local_count);
}

uint32_t tsri_resume_shared_words(const tsri_kernel *kernel) {
  return array_words(kernel->shared, kernel->shared_count);
}

// --- Words of the buffer ----------------------------------------------------------------------------------------------

static uint32_t load_word(resumer *r, uint32_t index) {
  return put(&r->w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                   .space = TSRI_SPACE_BUFFER,
                                   .dtype = TSR_U32,
                                   .type = u32_type,
                                   .object = r->state,
                                   .a = index});
}

static void store_word(resumer *r, list *to, uint32_t index, uint32_t value) {
  append(&r->w, to,
         put_stmt(&r->w, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                        .space = TSRI_SPACE_BUFFER,
                                        .object = r->state,
                                        .index = index,
                                        .value = value}));
}

// The number of this work-group in the launch, and of this item in its work-group.
static uint32_t group_number(resumer *r) {
  uint32_t yz =
      add(&r->w, mul(&r->w, id(&r->w, TSRI_ID_GROUP, 2), id(&r->w, TSRI_ID_GROUPS, 1)), id(&r->w, TSRI_ID_GROUP, 1));
  return add(&r->w, mul(&r->w, yz, id(&r->w, TSRI_ID_GROUPS, 0)), id(&r->w, TSRI_ID_GROUP, 0));
}

static uint32_t item_number(resumer *r) {
  const uint32_t *size = r->w.from->group_size;
  uint32_t yz =
      add(&r->w, mul(&r->w, id(&r->w, TSRI_ID_LOCAL, 2), number(&r->w, size[1])), id(&r->w, TSRI_ID_LOCAL, 1));
  return add(&r->w, mul(&r->w, yz, number(&r->w, size[0])), id(&r->w, TSRI_ID_LOCAL, 0));
}

// The index of word `offset` of an item's state. The words of a work-group are contiguous: those of its items, then
// its shared arrays.
static uint32_t item_word(resumer *r, uint32_t offset) {
  uint32_t all = group_items(r->w.from) * r->item_words + r->shared_words;
  uint32_t first = mul(&r->w, item_number(r), number(&r->w, r->item_words));
  return add(&r->w, add(&r->w, mul(&r->w, group_number(r), number(&r->w, all)), first), number(&r->w, 1 + offset));
}

// Word `part` of a scalar value. `value` must be a new expression for each call.
static uint32_t value_word(resumer *r, uint32_t value, tsr_dtype dtype, uint32_t part) {
  if (dtype == TSR_BOOL) return cast(&r->w, value, TSRI_EXPR_CONVERT, u32_type);
  if (tsr_dtype_bytes(dtype) == 4) return dtype == TSR_U32 ? value : cast(&r->w, value, TSRI_EXPR_BITCAST, u32_type);
  if (dtype == TSR_F64) value = cast(&r->w, value, TSRI_EXPR_BITCAST, i64_type);
  if (part) value = op(&r->w, TSRI_OP_SHR, i64_type, value, number(&r->w, 32), 0);
  return cast(&r->w, value, TSRI_EXPR_CONVERT, u32_type);
}

static uint32_t value_of(resumer *r, tsr_dtype dtype, uint32_t low, uint32_t high) {
  tsri_ir_type type = {(uint8_t)dtype, 1};
  if (dtype == TSR_BOOL) return test(&r->w, TSRI_OP_NE, low, number(&r->w, 0));
  if (tsr_dtype_bytes(dtype) == 4) return dtype == TSR_U32 ? low : cast(&r->w, low, TSRI_EXPR_BITCAST, type);
  uint32_t upper =
      op(&r->w, TSRI_OP_SHL, i64_type, cast(&r->w, high, TSRI_EXPR_CONVERT, i64_type), number(&r->w, 32), 0);
  uint32_t both = op(&r->w, TSRI_OP_OR, i64_type, upper, cast(&r->w, low, TSRI_EXPR_CONVERT, i64_type), 0);
  return dtype == TSR_I64 ? both : cast(&r->w, both, TSRI_EXPR_BITCAST, type);
}

static void save_var(resumer *r, list *to, uint32_t var, uint32_t offset) {
  tsri_ir_type type = r->w.from->vars[var].type;
  uint32_t each = words_of(type) / type.lanes;
  for (uint32_t i = 0; i < words_of(type); i++) {
    uint32_t value = variable(&r->w, var, type);
    if (type.lanes > 1) {
      value = put(
          &r->w,
          (tsri_ir_expr){.kind = TSRI_EXPR_EXTRACT, .lane = (uint8_t)(i / each), .type = {type.dtype, 1}, .a = value});
    }
    store_word(r, to, item_word(r, offset + i), value_word(r, value, (tsr_dtype)type.dtype, i % each));
  }
}

static void load_var(resumer *r, list *to, uint32_t var, uint32_t offset) {
  tsri_ir_type type = r->w.from->vars[var].type;
  uint32_t each = words_of(type) / type.lanes, lanes[4] = {0};
  for (uint32_t i = 0; i < type.lanes; i++) {
    uint32_t low = load_word(r, item_word(r, offset + i * each));
    uint32_t high = each > 1 ? load_word(r, item_word(r, offset + i * each + 1)) : 0;
    lanes[i] = value_of(r, (tsr_dtype)type.dtype, low, high);
  }
  tsri_ir_expr vector = {
      .kind = TSRI_EXPR_VECTOR, .type = type, .a = lanes[0], .b = lanes[1], .c = lanes[2], .d = lanes[3]};
  assign(&r->w, to, var, type.lanes > 1 ? put(&r->w, vector) : lanes[0]);
}

// A loop that copies an array: for (index = first; index < count; index += step), saves or restores the element at
// words base + index * each.
typedef struct copying {
  tsri_ir_space space;
  uint32_t object, first, step;  // `first`: 0, or the item's number
  bool is_item, is_save;
  uint32_t offset;
} copying;

static uint32_t array_word(resumer *r, const copying *c, uint32_t each, uint32_t part) {
  uint32_t at = mul(&r->w, word(&r->w, r->index), number(&r->w, each));
  uint32_t base;
  if (c->is_item) {
    base = item_word(r, c->offset + part);
  } else {
    uint32_t items = group_items(r->w.from) * r->item_words, all = items + r->shared_words;
    base = add(&r->w, mul(&r->w, group_number(r), number(&r->w, all)), number(&r->w, 1 + items + c->offset + part));
  }
  return add(&r->w, base, at);
}

static void copy_array(resumer *r, list *to, const copying *c) {
  const tsri_ir_array *array = tsri_ir_array_of(r->w.from, c->space, c->object);
  tsri_ir_type type = element_type(array);
  uint32_t each = words_of(type);
  list body = {0}, step = {0};
  for (uint32_t part = 0; c->is_save && part < each; part++) {
    uint32_t element = put(&r->w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                                                 .space = (uint8_t)c->space,
                                                 .dtype = array->storage,
                                                 .type = type,
                                                 .object = c->object,
                                                 .a = word(&r->w, r->index)});
    store_word(r, &body, array_word(r, c, each, part), value_word(r, element, (tsr_dtype)type.dtype, part));
  }
  if (!c->is_save) {
    uint32_t low = load_word(r, array_word(r, c, each, 0)),
             high = each > 1 ? load_word(r, array_word(r, c, each, 1)) : 0;
    append(&r->w, &body,
           put_stmt(&r->w, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                          .space = (uint8_t)c->space,
                                          .object = c->object,
                                          .index = word(&r->w, r->index),
                                          .value = value_of(r, (tsr_dtype)type.dtype, low, high)}));
  }
  assign(&r->w, to, r->index, c->is_item ? number(&r->w, 0) : item_number(r));
  assign(&r->w, &step, r->index, add(&r->w, word(&r->w, r->index), number(&r->w, c->step)));
  uint32_t goes_on = test(&r->w, TSRI_OP_LT, word(&r->w, r->index), number(&r->w, array->count));
  append(&r->w, to,
         put_stmt(&r->w,
                  (tsri_ir_stmt){.kind = TSRI_STMT_LOOP, .value = goes_on, .body = body.first, .other = step.first}));
}

static void copy_shared(resumer *r, list *to, bool is_save) {
  uint32_t offset = 0;
  for (uint32_t i = 0; i < r->w.from->shared_count; i++) {
    copy_array(r, to, &(copying){TSRI_SPACE_SHARED, i, 0, group_items(r->w.from), false, is_save, offset});
    offset += r->w.from->shared[i].count * words_of(element_type(&r->w.from->shared[i]));
  }
}

static void copy_item(resumer *r, list *to, bool is_save) {
  uint32_t offset = 1;
  for (uint32_t i = 1; i < r->w.from->var_count; i++) {
    if (is_save) save_var(r, to, i, offset);
    else load_var(r, to, i, offset);
    offset += words_of(r->w.from->vars[i].type);
  }
  for (uint32_t i = 0; i < r->w.from->local_count; i++) {
    copy_array(r, to, &(copying){TSRI_SPACE_LOCAL, i, 0, 1, true, is_save, offset});
    offset += r->w.from->locals[i].count * words_of(element_type(&r->w.from->locals[i]));
  }
}

static void put_barrier(resumer *r, list *to) {
  append(&r->w, to, put_stmt(&r->w, (tsri_ir_stmt){.kind = TSRI_STMT_BARRIER, .is_uniform = true}));
}

static uint32_t zero_of(resumer *r, tsri_ir_type type) {
  tsri_ir_type lane = {type.dtype, 1};
  uint32_t zero = put(&r->w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = lane});
  return type.lanes > 1
             ? put(&r->w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .is_uniform = true, .type = type, .a = zero})
             : zero;
}

// All variables start as 0, so that each has a value whenever it is saved.
void tsri_resume_begin(resumer *r, list *to) {
  list go_on = {0};
  for (uint32_t i = 1; i < r->w.from->var_count; i++) assign(&r->w, to, i, zero_of(r, r->w.from->vars[i].type));
  const uint32_t uint32[] = {r->at, r->used, r->point, r->vote, r->index};
  for (size_t i = 0; i < sizeof uint32 / sizeof *uint32; i++) assign(&r->w, to, uint32[i], number(&r->w, 0));
  assign(&r->w, &go_on, r->at, load_word(r, item_word(r, 0)));
  copy_item(r, &go_on, false);
  copy_shared(r, &go_on, false);
  uint32_t again =
      put(&r->w, (tsri_ir_expr){.kind = TSRI_EXPR_SCALAR, .is_uniform = true, .type = u32_type, .object = r->again});
  append(&r->w, to, put_if(&r->w, NULL, test(&r->w, TSRI_OP_NE, again, number(&r->w, 0)), go_on.first, 0));
  if (r->w.from->shared_count) put_barrier(r, to);
}

void tsri_resume_end(resumer *r, list *to) {
  list save = {0};
  if (r->w.from->shared_count) {  // all items come here
    put_barrier(r, to);
    list shared = {0};
    uint32_t has_stopped = op(&r->w, TSRI_OP_SELECT, u32_type, at_is(r, STOPPED), number(&r->w, 1), number(&r->w, 0));
    append(&r->w, to,
           put_stmt(&r->w, (tsri_ir_stmt){.kind = TSRI_STMT_COLLECTIVE,
                                          .op = TSRI_COLLECTIVE_GROUP_MAX,
                                          .is_uniform = true,
                                          .var = r->vote,
                                          .value = has_stopped}));
    copy_shared(r, &shared, true);
    append(&r->w, to,
           put_if(&r->w, NULL, test(&r->w, TSRI_OP_NE, word(&r->w, r->vote), number(&r->w, 0)), shared.first, 0));
  }
  copy_item(r, &save, true);
  store_word(r, &save, number(&r->w, 0), number(&r->w, 1));
  append(&r->w, to, put_if(&r->w, NULL, at_is(r, STOPPED), save.first, 0));
  uint32_t kept = op(&r->w, TSRI_OP_SELECT, u32_type, at_is(r, STOPPED), word(&r->w, r->point), number(&r->w, DONE));
  store_word(r, to, item_word(r, 0), kept);
}
