// SPDX-License-Identifier: MIT
// Words of a SPIR-V module: growing lists of them, types and constants that are declared once, instructions and blocks.
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/spirv/spirv.h"

// --- Lists ----------------------------------------------------------------------------------------------------------

void tsri_spv_put(tsri_builder *list, const uint32_t *words, size_t count) {
  tsri_builder_put(list, (const char *)words, count * sizeof *words);
}

void tsri_spv_put_op(tsri_builder *list, uint32_t op, const uint32_t *operands, size_t count) {
  uint32_t first = (uint32_t)(count + 1) << 16 | op;
  tsri_spv_put(list, &first, 1);
  if (count > 0) tsri_spv_put(list, operands, count);
}

// A word holds four characters, the first in its lowest byte, with at least one 0 at the end.
size_t tsri_spv_pack_text(const char *text, uint32_t *words, size_t most_words) {
  size_t bytes = strlen(text);
  if (bytes > most_words * 4 - 1) bytes = most_words * 4 - 1;
  memset(words, 0, (bytes / 4 + 1) * sizeof *words);
  for (size_t i = 0; i < bytes; i++) words[i / 4] |= (uint32_t)(unsigned char)text[i] << (i % 4 * 8);
  return bytes / 4 + 1;
}

tsri_spv_id tsri_spv_new_id(tsri_spv *s) { return s->next_id++; }

void tsri_spv_need(tsri_spv *s, tsri_spv_capability capability) { s->capabilities |= 1u << capability; }

// --- Types and constants that exist already -------------------------------------------------------------------------

static uint64_t hash_of(const tsri_spv_known *key) {
  uint64_t h = key->op;
  for (uint32_t i = 0; i < key->count; i++) h = (h ^ key->operands[i]) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ h >> 29;
}

static bool is_same(const tsri_spv_known *a, const tsri_spv_known *b) {
  return a->op == b->op && a->count == b->count &&
         memcmp(a->operands, b->operands, a->count * sizeof *a->operands) == 0;
}

// The slot of the key in the hash table, or the free slot where it belongs.
static tsri_spv_known *find_slot(tsri_spv_known *table, uint32_t capacity, const tsri_spv_known *key) {
  for (uint64_t i = hash_of(key);; i++) {
    tsri_spv_known *slot = &table[i & (capacity - 1)];
    if (slot->op == 0 || is_same(slot, key)) return slot;
  }
}

static bool grow_known(tsri_spv *s) {
  if (s->known_count * 2 < s->known_capacity) return true;
  uint32_t capacity = s->known_capacity ? 2 * s->known_capacity : 128;
  tsri_spv_known *table = tsri_calloc(capacity, sizeof *table);
  if (!table) {
    s->is_out_of_memory = true;
    return false;
  }
  for (uint32_t i = 0; i < s->known_capacity; i++) {
    if (s->known[i].op) *find_slot(table, capacity, &s->known[i]) = s->known[i];
  }
  tsri_free(s->known);
  s->known = table;
  s->known_capacity = capacity;
  return true;
}

tsri_spv_id tsri_spv_global(tsri_spv *s, uint32_t op, const uint32_t *operands, size_t count) {
  bool is_constant = op >= SPV_OP_CONSTANT_TRUE && op <= SPV_OP_CONSTANT_NULL;
  tsri_spv_known key = {.op = op, .count = (uint32_t)count};
  if (count > 0) memcpy(key.operands, operands, count * sizeof *operands);
  if (!grow_known(s)) return 1;  // the module is discarded
  tsri_spv_known *slot = find_slot(s->known, s->known_capacity, &key);
  if (slot->op) return slot->id;
  *slot = key;
  slot->id = tsri_spv_new_id(s);
  s->known_count++;
  // The result id comes first, or in constants after the type.
  uint32_t words[1 + sizeof key.operands / sizeof *key.operands] = {key.operands[0], slot->id};
  memcpy(words + 1 + is_constant, key.operands + is_constant, (count - is_constant) * sizeof *words);
  words[is_constant] = slot->id;
  tsri_spv_put_op(&s->globals, op, words, 1 + count);
  return slot->id;
}

// --- Types ----------------------------------------------------------------------------------------------------------

tsri_spv_id tsri_spv_type_id(tsri_spv *s, tsri_spv_type type) {
  tsri_spv_kind kind = (tsri_spv_kind)type.kind;
  uint32_t bits = tsri_spv_kind_bytes(kind) * 8;
  if (type.lanes > 1) {
    tsri_spv_id lane = tsri_spv_type_id(s, tsri_spv_make_type(kind, 1));
    return SPV_GLOBAL(s, SPV_OP_TYPE_VECTOR, lane, type.lanes);
  }
  if (kind == SPV_F64) tsri_spv_need(s, SPV_CAPABILITY_FLOAT64);
  if (kind == SPV_U64) tsri_spv_need(s, SPV_CAPABILITY_INT64);
  if (kind == SPV_BOOL) return tsri_spv_global(s, SPV_OP_TYPE_BOOL, NULL, 0);
  return kind >= SPV_F16 ? SPV_GLOBAL(s, SPV_OP_TYPE_FLOAT, bits) : SPV_GLOBAL(s, SPV_OP_TYPE_INT, bits, 0);
}

tsri_spv_type tsri_spv_bits_type(tsri_spv_type type) {
  static const uint8_t kinds[SPV_KIND_COUNT] = {SPV_U32, SPV_U8, SPV_U16, SPV_U32, SPV_U64, SPV_U16, SPV_U32, SPV_U64};
  return (tsri_spv_type){kinds[type.kind], type.lanes};
}

tsri_spv_kind tsri_spv_value_kind(tsr_dtype dtype) {
  if (dtype == TSR_F32 || dtype == TSR_F64) return dtype == TSR_F32 ? SPV_F32 : SPV_F64;
  return dtype == TSR_BOOL ? SPV_BOOL : dtype == TSR_I64 ? SPV_U64 : SPV_U32;
}

tsri_spv_type tsri_spv_value_type(tsri_ir_type type) {
  return tsri_spv_make_type(tsri_spv_value_kind((tsr_dtype)type.dtype), type.lanes);
}

tsri_spv_id tsri_spv_pointer_type(tsri_spv *s, uint32_t storage_class, tsri_spv_id type) {
  return SPV_GLOBAL(s, SPV_OP_TYPE_POINTER, storage_class, type);
}

tsri_spv_id tsri_spv_variable(tsri_spv *s, uint32_t storage_class, tsri_spv_id type) {
  tsri_spv_id pointer = tsri_spv_pointer_type(s, storage_class, type), id = tsri_spv_new_id(s);
  tsri_builder *to = storage_class == SPV_CLASS_FUNCTION ? &s->locals : &s->globals;
  SPV_PUT(to, SPV_OP_VARIABLE, pointer, id, storage_class);
  return id;
}

// --- Constants ------------------------------------------------------------------------------------------------------

tsri_spv_id tsri_spv_const(tsri_spv *s, tsri_spv_type type, uint64_t bits) {
  uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
  if (type.lanes > 1) {
    tsri_spv_id lane = tsri_spv_const(s, tsri_spv_make_type((tsri_spv_kind)type.kind, 1), bits);
    const uint32_t operands[] = {tsri_spv_type_id(s, type), lane, lane, lane, lane};
    return tsri_spv_global(s, SPV_OP_CONSTANT_COMPOSITE, operands, 1u + type.lanes);
  }
  tsri_spv_id id = tsri_spv_type_id(s, type);
  if (type.kind == SPV_BOOL) return SPV_GLOBAL(s, bits ? SPV_OP_CONSTANT_TRUE : SPV_OP_CONSTANT_FALSE, id);
  if (tsri_spv_is_64(type)) return SPV_GLOBAL(s, SPV_OP_CONSTANT, id, low, high);
  return SPV_GLOBAL(s, SPV_OP_CONSTANT, id, low);
}

// --- Instructions ---------------------------------------------------------------------------------------------------

// Whether the instruction must be marked NoContraction, so that it is not fused with another one.
static bool is_arithmetic(uint32_t op) {
  return op == SPV_OP_F_ADD || op == SPV_OP_F_SUB || op == SPV_OP_F_MUL || op == SPV_OP_F_DIV;
}

tsri_spv_id tsri_spv_op(tsri_spv *s, uint32_t op, tsri_spv_type type, const uint32_t *operands, size_t count) {
  uint32_t words[8] = {tsri_spv_type_id(s, type), tsri_spv_new_id(s)};
  memcpy(words + 2, operands, count * sizeof *operands);
  tsri_spv_put_op(&s->code, op, words, 2 + count);
  if (is_arithmetic(op)) SPV_DECORATE(s, words[1], SPV_DECORATION_NO_CONTRACTION);
  return words[1];
}

tsri_spv_id tsri_spv_bitcast(tsri_spv *s, tsri_spv_type to, tsri_spv_type from, tsri_spv_id a) {
  if (to.kind == from.kind && to.lanes == from.lanes) return a;
  return SPV_OP(s, SPV_OP_BITCAST, to, a);
}

tsri_spv_id tsri_spv_load(tsri_spv *s, tsri_spv_type type, tsri_spv_id pointer) {
  return SPV_OP(s, SPV_OP_LOAD, type, pointer);
}

void tsri_spv_store(tsri_spv *s, tsri_spv_id pointer, tsri_spv_id value) {
  SPV_PUT(&s->code, SPV_OP_STORE, pointer, value);
}

tsri_spv_id tsri_spv_extract(tsri_spv *s, tsri_spv_type vector, tsri_spv_id a, uint32_t lane) {
  if (vector.lanes == 1) return a;
  return SPV_OP(s, SPV_OP_COMPOSITE_EXTRACT, tsri_spv_make_type((tsri_spv_kind)vector.kind, 1), a, lane);
}

tsri_spv_id tsri_spv_compose(tsri_spv *s, tsri_spv_type vector, const tsri_spv_id *lanes) {
  return vector.lanes == 1 ? lanes[0] : tsri_spv_op(s, SPV_OP_COMPOSITE_CONSTRUCT, vector, lanes, vector.lanes);
}

// --- Blocks ---------------------------------------------------------------------------------------------------------

void tsri_spv_begin_block(tsri_spv *s, tsri_spv_id label) {
  SPV_PUT(&s->code, SPV_OP_LABEL, label);
  s->block = label;
  s->is_ended = false;
}

void tsri_spv_branch(tsri_spv *s, tsri_spv_id to) {
  if (!s->is_ended) SPV_PUT(&s->code, SPV_OP_BRANCH, to);
  s->is_ended = true;
}

void tsri_spv_branch_if(tsri_spv *s, tsri_spv_id condition, tsri_spv_id yes, tsri_spv_id no, tsri_spv_id merge) {
  SPV_PUT(&s->code, SPV_OP_SELECTION_MERGE, merge, 0);
  SPV_PUT(&s->code, SPV_OP_BRANCH_CONDITIONAL, condition, yes, no);
  s->is_ended = true;
}

tsri_spv_id tsri_spv_phi(tsri_spv *s, tsri_spv_type type, tsri_spv_id a, tsri_spv_id from_a, tsri_spv_id b,
                         tsri_spv_id from_b) {
  tsri_spv_id type_id = tsri_spv_type_id(s, type), id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_PHI, type_id, id, a, from_a, b, from_b);
  return id;
}
