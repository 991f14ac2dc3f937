// SPDX-License-Identifier: MIT
// Fragments as cooperative matrices (SPV_KHR_cooperative_matrix), each in a variable.
//
// They need Vulkan's memory model, in which an item sees the writes of others only if both accesses are marked: memory.c and group.c mark every access to
// shared memory, and so do loads and stores here.
#include "lang/emit/spirv/spirv.h"

static const tsri_spv_type f32_type = {SPV_F32, 1}, u32_type = {SPV_U32, 1};

// --- What can be written --------------------------------------------------------------------------------------------

// Whether the instructions can access the fragment's memory: elements have their own storage type, and rows begin at multiples of 16 bytes.
static bool takes_memory(const tsri_kernel *kernel, const tsri_emit_options *options, const tsri_ir_stmt *stmt) {
  const tsri_ir_array *array = tsri_ir_array_of(kernel, (tsri_ir_space)stmt->space, stmt->object);
  bool is_half = array->storage == TSR_F16 || array->storage == TSR_BF16;
  if (stmt->space == TSRI_SPACE_BUFFER) return !options->wide_unaligned && (!is_half || options->storage16);
  return !is_half || options->i16;
}

bool tsri_emit_fragments_spirv(const tsri_kernel *kernel, const tsri_emit_options *options) {
  // Atomics have another form in Vulkan's memory model; small elements also need them on devices without such storage.
  bool has_plain_memory = options->storage16 && (options->storage8 || !(kernel->needs & TSRI_NEEDS_INT8)) &&
                          !(kernel->needs & TSRI_NEEDS_ATOMICS);
  bool ok = options->subgroups && options->subgroup_shuffle && has_plain_memory;
  for (uint32_t i = 1; i < kernel->stmt_count && ok; i++) {
    const tsri_ir_stmt *stmt = &kernel->stmts[i];
    bool is_memory = stmt->kind == TSRI_STMT_FRAGMENT_LOAD || stmt->kind == TSRI_STMT_FRAGMENT_STORE;
    if (is_memory) ok = takes_memory(kernel, options, stmt);
    if (stmt->kind == TSRI_STMT_FRAGMENT_FILL) {  // our own instructions round its value to 16 bits
      ok = kernel->fragments[stmt->fragments[0]].dtype == TSR_F32 || options->i16;
    }
  }
  return ok;
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static tsri_spv_id component_type(tsri_spv *s, tsr_dtype dtype) {
  if (dtype == TSR_F32) return tsri_spv_type_id(s, f32_type);
  if (dtype == TSR_F16) {
    tsri_spv_need(s, SPV_CAPABILITY_FLOAT16);
    return tsri_spv_type_id(s, tsri_spv_make_type(SPV_F16, 1));
  }
  tsri_spv_need(s, SPV_CAPABILITY_BFLOAT16_TYPE);
  tsri_spv_need(s, SPV_CAPABILITY_BFLOAT16_COOPERATIVE_MATRIX);
  return SPV_GLOBAL(s, SPV_OP_TYPE_FLOAT, 16, SPV_ENCODING_BFLOAT16);
}

static tsri_spv_id matrix_type(tsri_spv *s, const tsri_ir_fragment *f) {
  static const uint32_t uses[TSRI_ROLE_COUNT] = {
      [TSRI_ROLE_LEFT] = SPV_MATRIX_A, [TSRI_ROLE_RIGHT] = SPV_MATRIX_B, [TSRI_ROLE_SUM] = SPV_MATRIX_ACCUMULATOR};
  tsri_spv_id component = component_type(s, (tsr_dtype)f->dtype), scope = tsri_spv_u32(s, SPV_SCOPE_SUBGROUP);
  tsri_spv_id rows = tsri_spv_u32(s, tsri_ir_fragment_rows(f)), cols = tsri_spv_u32(s, tsri_ir_fragment_cols(f));
  return SPV_GLOBAL(s, SPV_OP_TYPE_COOPERATIVE_MATRIX, component, scope, rows, cols, tsri_spv_u32(s, uses[f->role]));
}

void tsri_spv_declare_fragments(tsri_spv *s) {
  if (s->kernel->fragment_count == 0) return;
  tsri_spv_need(s, SPV_CAPABILITY_VULKAN_MEMORY_MODEL);
  tsri_spv_need(s, SPV_CAPABILITY_COOPERATIVE_MATRIX);
  for (uint32_t i = 0; i < s->kernel->fragment_count; i++) {
    s->fragments[i].type = matrix_type(s, &s->kernel->fragments[i]);
    s->fragments[i].variable = tsri_spv_variable(s, SPV_CLASS_FUNCTION, s->fragments[i].type);
  }
}

// --- Offsets --------------------------------------------------------------------------------------------------------

// Offsets and strides count elements; the instructions count entries of the array, each of `unit` elements (a power of
// two). Offset and stride are multiples of `unit`. Where the terms of an expression are known to be multiples as well,
// each term is divided by itself: constants stay constants, and most sums need no shift.
static bool is_multiple(const tsri_kernel *k, uint32_t expr, uint32_t unit) {
  const tsri_ir_expr *x = &k->exprs[expr];
  if (x->kind == TSRI_EXPR_CONST) return x->bits % unit == 0 && x->bits <= INT32_MAX;
  if (x->kind != TSRI_EXPR_OP) return false;
  if (x->op == TSRI_OP_ADD) return is_multiple(k, x->a, unit) && is_multiple(k, x->b, unit);
  return x->op == TSRI_OP_MUL && (is_multiple(k, x->a, unit) || is_multiple(k, x->b, unit));
}

static tsri_spv_id divided(tsri_spv *s, uint32_t expr, uint32_t unit) {
  const tsri_ir_expr *x = &s->kernel->exprs[expr];
  if (unit == 1) return tsri_spv_expr(s, expr);
  if (x->kind == TSRI_EXPR_CONST) return tsri_spv_u32(s, (uint32_t)x->bits / unit);
  bool is_op = x->kind == TSRI_EXPR_OP;
  bool by_a = is_op && is_multiple(s->kernel, x->a, unit), by_b = is_op && is_multiple(s->kernel, x->b, unit);
  if (is_op && x->op == TSRI_OP_ADD && (by_a || by_b)) {
    tsri_spv_id a = divided(s, x->a, unit), b = divided(s, x->b, unit);
    return SPV_OP(s, SPV_OP_I_ADD, u32_type, a, b);
  }
  if (is_op && x->op == TSRI_OP_MUL && (by_a || by_b)) {
    tsri_spv_id a = by_a ? divided(s, x->a, unit) : tsri_spv_expr(s, x->a);
    tsri_spv_id b = by_a ? tsri_spv_expr(s, x->b) : divided(s, x->b, unit);
    return SPV_OP(s, SPV_OP_I_MUL, u32_type, a, b);
  }
  uint32_t shift = 0;
  while (1u << shift < unit) shift++;
  tsri_spv_id count = tsri_spv_u32(s, shift);
  return SPV_OP(s, SPV_OP_SHIFT_RIGHT_LOGICAL, u32_type, tsri_spv_expr(s, expr), count);
}

// --- Statements -----------------------------------------------------------------------------------------------------

static tsri_spv_id load_matrix(tsri_spv *s, uint32_t fragment) {
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_LOAD, s->fragments[fragment].type, id, s->fragments[fragment].variable);
  return id;
}

// The operands of an access after its first ones: layout, stride, and what the memory model wants to know. Returns how many there are.
static size_t put_access(tsri_spv *s, const tsri_ir_stmt *stmt, tsri_spv_id *out_pointer, uint32_t *words) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  const tsri_spv_array *array = tsri_spv_held(s, space, stmt->object);
  uint32_t element = (uint32_t)tsr_dtype_bytes((tsr_dtype)s->kernel->fragments[stmt->fragments[0]].dtype);
  uint32_t unit = tsri_spv_kind_bytes((tsri_spv_kind)array->kind) * array->lanes / element;
  uint32_t make = stmt->kind == TSRI_STMT_FRAGMENT_LOAD ? SPV_MEMORY_MAKE_VISIBLE : SPV_MEMORY_MAKE_AVAILABLE;
  *out_pointer = tsri_spv_entry_pointer(s, space, stmt->object, divided(s, stmt->index, unit));
  words[0] = tsri_spv_u32(s, stmt->op ? SPV_MATRIX_COLUMNS : SPV_MATRIX_ROWS);
  words[1] = divided(s, stmt->value, unit);
  words[2] = make | SPV_MEMORY_NON_PRIVATE;
  words[3] = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  return tsri_spv_is_common(s, space, stmt->object) ? 4 : 2;
}

static void load(tsri_spv *s, const tsri_ir_stmt *stmt) {
  const tsri_spv_fragment *to = &s->fragments[stmt->fragments[0]];
  uint32_t words[7] = {to->type};
  size_t count = put_access(s, stmt, &words[2], words + 3);
  words[1] = tsri_spv_new_id(s);
  tsri_spv_put_op(&s->code, SPV_OP_COOPERATIVE_MATRIX_LOAD, words, 3 + count);
  tsri_spv_store(s, to->variable, words[1]);
}

static void store(tsri_spv *s, const tsri_ir_stmt *stmt) {
  uint32_t words[6];
  size_t count = put_access(s, stmt, &words[0], words + 2);
  words[1] = load_matrix(s, stmt->fragments[0]);
  tsri_spv_put_op(&s->code, SPV_OP_COOPERATIVE_MATRIX_STORE, words, 2 + count);
}

static void fill(tsri_spv *s, const tsri_ir_stmt *stmt) {
  const tsri_spv_fragment *to = &s->fragments[stmt->fragments[0]];
  tsr_dtype dtype = (tsr_dtype)s->kernel->fragments[stmt->fragments[0]].dtype;
  tsri_spv_id value = tsri_spv_expr(s, stmt->value), id = tsri_spv_new_id(s);
  if (dtype != TSR_F32) {
    tsri_spv_need(s, SPV_CAPABILITY_INT16);
    tsri_spv_id bits = tsri_spv_encode(s, dtype, 1, value), half = tsri_spv_new_id(s);
    bits = SPV_OP(s, SPV_OP_U_CONVERT, tsri_spv_make_type(SPV_U16, 1), bits);
    SPV_PUT(&s->code, SPV_OP_BITCAST, component_type(s, dtype), half, bits);
    value = half;
  }
  SPV_PUT(&s->code, SPV_OP_COMPOSITE_CONSTRUCT, to->type, id, value);
  tsri_spv_store(s, to->variable, id);
}

static void multiply_add(tsri_spv *s, const tsri_ir_stmt *stmt) {
  const tsri_spv_fragment *sum = &s->fragments[stmt->fragments[0]];
  tsri_spv_id left = load_matrix(s, stmt->fragments[1]), right = load_matrix(s, stmt->fragments[2]);
  tsri_spv_id before = load_matrix(s, stmt->fragments[0]), id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_COOPERATIVE_MATRIX_MUL_ADD, sum->type, id, left, right, before);
  tsri_spv_store(s, sum->variable, id);
}

void tsri_spv_fragment_stmt(tsri_spv *s, const tsri_ir_stmt *stmt) {
  if (stmt->kind == TSRI_STMT_FRAGMENT_FILL) fill(s, stmt);
  else if (stmt->kind == TSRI_STMT_FRAGMENT_LOAD) load(s, stmt);
  else if (stmt->kind == TSRI_STMT_FRAGMENT_STORE) store(s, stmt);
  else multiply_add(s, stmt);
}
