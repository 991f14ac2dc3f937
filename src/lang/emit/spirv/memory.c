// SPDX-License-Identifier: MIT
// Memory: declarations of arrays, loads, stores, atomics, and parameters.
//
// Small elements are in a form that the device supports: lower/storage.h has turned others into words or values. A buffer or shared array that is accessed
// several elements at a time is declared as an array of vectors, whose components are single elements.
#include "lang/emit/spirv/spirv.h"

// --- How arrays are held --------------------------------------------------------------------------------------------

static tsri_spv_kind natural_kind(tsr_dtype storage) {
  size_t bytes = tsr_dtype_bytes(storage);
  return bytes == 1 ? SPV_U8 : bytes == 2 ? SPV_U16 : tsri_spv_value_kind(storage);
}

void tsri_spv_plan_array(tsri_spv *s, tsri_ir_space space, uint32_t object, uint32_t lanes) {
  const tsri_ir_array *array = tsri_ir_array_of(s->kernel, space, object);
  tsr_dtype storage = (tsr_dtype)array->storage;
  tsri_spv_kind kind = space == TSRI_SPACE_LOCAL ? tsri_spv_value_kind(storage) : natural_kind(storage);
  bool is_buffer = space == TSRI_SPACE_BUFFER, as_vectors = lanes > 1 && !array->is_atomic;
  if (is_buffer && storage == TSR_F16 && s->options->f16) kind = SPV_F16;
  if (is_buffer && s->options->wide_unaligned) as_vectors = false;
  *tsri_spv_held(s, space, object) = (tsri_spv_array){.kind = (uint8_t)kind, .lanes = as_vectors ? (uint8_t)lanes : 1};
}

tsri_spv_array *tsri_spv_held(const tsri_spv *s, tsri_ir_space space, uint32_t object) {
  tsri_spv_array *arrays[] = {s->buffers, s->shared, s->locals_held};
  return &arrays[space][object];
}

bool tsri_spv_is_common(const tsri_spv *s, tsri_ir_space space, uint32_t object) {
  if (space != TSRI_SPACE_BUFFER) return space == TSRI_SPACE_SHARED;
  const tsri_ir_array *array = &s->kernel->buffers[object];
  return array->is_loaded && array->is_stored && (s->kernel->needs & TSRI_NEEDS_BARRIER);
}

tsri_spv_place tsri_spv_place_of(const tsri_spv *s, uint32_t space, uint32_t object, uint32_t index, uint32_t lanes) {
  return (tsri_spv_place){.space = (tsri_ir_space)space,
                          .object = object,
                          .array = tsri_spv_held(s, (tsri_ir_space)space, object),
                          .storage = (tsr_dtype)tsri_ir_array_of(s->kernel, (tsri_ir_space)space, object)->storage,
                          .lanes = lanes,
                          .index_type = s->kernel->exprs[index].type,
                          .index = s->ids[index]};
}

// --- Places ---------------------------------------------------------------------------------------------------------

static tsri_spv_id u_op(tsri_spv *s, uint32_t op, tsri_spv_id a, uint32_t b) {
  return SPV_OP(s, op, tsri_spv_make_type(SPV_U32, 1), a, tsri_spv_u32(s, b));
}

static tsri_spv_id and_bits(tsri_spv *s, tsri_spv_id a, uint32_t mask) { return u_op(s, SPV_OP_BITWISE_AND, a, mask); }

static uint32_t log2_of(uint32_t n) { return n == 4 ? 2 : n == 2 ? 1 : 0; }

// The index as u32; it is a multiple of the lanes.
static tsri_spv_id first_index(tsri_spv *s, const tsri_spv_place *place) {
  tsri_spv_id index = place->index;
  if (place->index_type.dtype == TSR_I64) {
    index = SPV_OP(s, SPV_OP_U_CONVERT, tsri_spv_make_type(SPV_U32, 1), index);
  }
  return place->lanes > 1 ? and_bits(s, index, ~(place->lanes - 1)) : index;
}

// Pointer to entry `index` of the declared array, or if `component` is not 0 to that component of it.
static tsri_spv_id pointer_to(tsri_spv *s, const tsri_spv_place *place, tsri_spv_type type, tsri_spv_id index,
                              tsri_spv_id component) {
  static const uint32_t classes[] = {[TSRI_SPACE_BUFFER] = SPV_CLASS_STORAGE_BUFFER,
                                     [TSRI_SPACE_SHARED] = SPV_CLASS_WORKGROUP,
                                     [TSRI_SPACE_LOCAL] = SPV_CLASS_FUNCTION};
  uint32_t words[6], count = 0;
  words[count++] = tsri_spv_pointer_type(s, classes[place->space], tsri_spv_type_id(s, type));
  words[count++] = tsri_spv_new_id(s);
  words[count++] = place->array->variable;
  if (place->space == TSRI_SPACE_BUFFER) words[count++] = tsri_spv_u32(s, 0);
  words[count++] = index;
  if (component) words[count++] = component;
  tsri_spv_put_op(&s->code, SPV_OP_ACCESS_CHAIN, words, count);
  return words[1];
}

tsri_spv_id tsri_spv_entry_pointer(tsri_spv *s, tsri_ir_space space, uint32_t object, tsri_spv_id index) {
  const tsri_spv_array *array = tsri_spv_held(s, space, object);
  tsri_spv_place place = {.space = space, .object = object, .array = array};
  return pointer_to(s, &place, tsri_spv_make_type((tsri_spv_kind)array->kind, array->lanes), index, 0);
}

static tsri_spv_id element_pointer(tsri_spv *s, const tsri_spv_place *place, tsri_spv_id index) {
  const tsri_spv_array *array = place->array;
  tsri_spv_type type = tsri_spv_make_type((tsri_spv_kind)array->kind, 1);
  if (array->lanes == 1) return pointer_to(s, place, type, index, 0);
  tsri_spv_id vector = u_op(s, SPV_OP_SHIFT_RIGHT_LOGICAL, index, log2_of(array->lanes));
  return pointer_to(s, place, type, vector, and_bits(s, index, array->lanes - 1u));
}

static tsri_spv_id next_index(tsri_spv *s, tsri_spv_id index, uint32_t lane) {
  return lane == 0 ? index : u_op(s, SPV_OP_I_ADD, index, lane);
}

// --- Elements as they lie in memory ---------------------------------------------------------------------------------

// The type in which small elements are processed: they can only be loaded, stored and converted themselves.
static tsri_spv_type widened_type(tsri_spv_kind kind, uint32_t lanes) {
  if (kind == SPV_F16) return tsri_spv_make_type(SPV_F32, lanes);
  return tsri_spv_make_type(kind == SPV_U8 || kind == SPV_U16 ? SPV_U32 : kind, lanes);
}

// Whether an access must be marked as visible to other items, as Vulkan's memory model requires for memory that items
// share.
static bool says_common(const tsri_spv *s, const tsri_spv_place *place) {
  return s->is_vulkan_model && tsri_spv_is_common(s, place->space, place->object);
}

static tsri_spv_id load_at(tsri_spv *s, const tsri_spv_place *place, tsri_spv_type type, tsri_spv_id pointer) {
  tsri_spv_type wide = widened_type((tsri_spv_kind)type.kind, type.lanes);
  bool is_common = says_common(s, place);
  tsri_spv_id scope = is_common ? tsri_spv_u32(s, SPV_SCOPE_WORKGROUP) : 0;
  const uint32_t operands[] = {pointer, SPV_MEMORY_MAKE_VISIBLE | SPV_MEMORY_NON_PRIVATE, scope};
  tsri_spv_id raw = tsri_spv_op(s, SPV_OP_LOAD, type, operands, is_common ? 3 : 1);
  if (wide.kind == type.kind) return raw;
  return SPV_OP(s, wide.kind == SPV_F32 ? SPV_OP_F_CONVERT : SPV_OP_U_CONVERT, wide, raw);
}

// Whether values are stored in the form that tsri_spv_bf16_halves gives.
static bool stores_halves(const tsri_spv *s, const tsri_spv_place *place) {
  return place->storage == TSR_BF16 && place->array->kind == SPV_U16 && s->options->i16;
}

// The type of values before they are encoded for storing.
static tsri_spv_type given_type(const tsri_spv *s, const tsri_spv_place *place, tsri_spv_kind kind, uint32_t lanes) {
  return stores_halves(s, place) ? tsri_spv_make_type(kind, lanes) : widened_type(kind, lanes);
}

static void store_at(tsri_spv *s, const tsri_spv_place *place, tsri_spv_type type, tsri_spv_id pointer,
                     tsri_spv_id value) {
  tsri_spv_type wide = given_type(s, place, (tsri_spv_kind)type.kind, type.lanes);
  if (wide.kind != type.kind) {
    value = SPV_OP(s, wide.kind == SPV_F32 ? SPV_OP_F_CONVERT : SPV_OP_U_CONVERT, type, value);
  }
  bool is_common = says_common(s, place);
  tsri_spv_id scope = is_common ? tsri_spv_u32(s, SPV_SCOPE_WORKGROUP) : 0;
  const uint32_t operands[] = {pointer, value, SPV_MEMORY_MAKE_AVAILABLE | SPV_MEMORY_NON_PRIVATE, scope};
  tsri_spv_put_op(&s->code, SPV_OP_STORE, operands, is_common ? 4 : 2);
}

// Pointer to the access as one vector, if the array is declared so; else 0.
static tsri_spv_id vector_pointer(tsri_spv *s, const tsri_spv_place *place, tsri_spv_id index) {
  const tsri_spv_array *array = place->array;
  if (array->lanes != place->lanes || place->lanes == 1) return 0;
  tsri_spv_id vector = u_op(s, SPV_OP_SHIFT_RIGHT_LOGICAL, index, log2_of(array->lanes));
  return pointer_to(s, place, tsri_spv_make_type((tsri_spv_kind)array->kind, place->lanes), vector, 0);
}

static tsri_spv_id load_elements(tsri_spv *s, const tsri_spv_place *place) {
  tsri_spv_kind kind = (tsri_spv_kind)place->array->kind;
  tsri_spv_id index = first_index(s, place), lanes[4], vector = vector_pointer(s, place, index);
  if (vector) return load_at(s, place, tsri_spv_make_type(kind, place->lanes), vector);
  for (uint32_t i = 0; i < place->lanes; i++) {
    lanes[i] = load_at(s, place, tsri_spv_make_type(kind, 1), element_pointer(s, place, next_index(s, index, i)));
  }
  return tsri_spv_compose(s, widened_type(kind, place->lanes), lanes);
}

static void store_elements(tsri_spv *s, const tsri_spv_place *place, tsri_spv_id value) {
  tsri_spv_kind kind = (tsri_spv_kind)place->array->kind;
  tsri_spv_id index = first_index(s, place), vector = vector_pointer(s, place, index);
  if (vector) {
    store_at(s, place, tsri_spv_make_type(kind, place->lanes), vector, value);
    return;
  }
  for (uint32_t i = 0; i < place->lanes; i++) {
    tsri_spv_id lane = tsri_spv_extract(s, given_type(s, place, kind, place->lanes), value, i);
    store_at(s, place, tsri_spv_make_type(kind, 1), element_pointer(s, place, next_index(s, index, i)), lane);
  }
}

// --- Values ---------------------------------------------------------------------------------------------------------

static bool has_bits(const tsri_spv_array *array) { return array->kind == SPV_U8 || array->kind == SPV_U16; }

tsri_spv_id tsri_spv_load_place(tsri_spv *s, tsri_spv_place place) {
  tsri_spv_id raw = load_elements(s, &place);
  return has_bits(place.array) ? tsri_spv_decode(s, place.storage, place.lanes, raw) : raw;
}

void tsri_spv_store_place(tsri_spv *s, tsri_spv_place place, tsri_spv_id value) {
  if (stores_halves(s, &place)) value = tsri_spv_bf16_halves(s, place.lanes, value);
  else if (has_bits(place.array)) value = tsri_spv_encode(s, place.storage, place.lanes, value);
  store_elements(s, &place, value);
}

tsri_spv_id tsri_spv_atomic_place(tsri_spv *s, tsri_spv_place place, tsri_ir_atomic op, tsri_spv_id value,
                                  tsri_spv_id compare) {
  static const uint32_t codes[TSRI_ATOMIC_COUNT][2] = {
      // The instructions for unsigned and signed integers.
      [TSRI_ATOMIC_ADD] = {SPV_OP_ATOMIC_I_ADD, SPV_OP_ATOMIC_I_ADD},
      [TSRI_ATOMIC_SUB] = {SPV_OP_ATOMIC_I_SUB, SPV_OP_ATOMIC_I_SUB},
      [TSRI_ATOMIC_MIN] = {SPV_OP_ATOMIC_U_MIN, SPV_OP_ATOMIC_S_MIN},
      [TSRI_ATOMIC_MAX] = {SPV_OP_ATOMIC_U_MAX, SPV_OP_ATOMIC_S_MAX},
      [TSRI_ATOMIC_AND] = {SPV_OP_ATOMIC_AND, SPV_OP_ATOMIC_AND},
      [TSRI_ATOMIC_OR] = {SPV_OP_ATOMIC_OR, SPV_OP_ATOMIC_OR},
      [TSRI_ATOMIC_XOR] = {SPV_OP_ATOMIC_XOR, SPV_OP_ATOMIC_XOR},
      [TSRI_ATOMIC_EXCHANGE] = {SPV_OP_ATOMIC_EXCHANGE, SPV_OP_ATOMIC_EXCHANGE},
      [TSRI_ATOMIC_COMPARE_EXCHANGE] = {SPV_OP_ATOMIC_COMPARE_EXCHANGE, SPV_OP_ATOMIC_COMPARE_EXCHANGE},
  };
  uint32_t code = codes[op][place.storage == TSR_I32];
  uint32_t scope = place.space == TSRI_SPACE_SHARED ? SPV_SCOPE_WORKGROUP : SPV_SCOPE_DEVICE;
  tsri_spv_type type = tsri_spv_make_type(SPV_U32, 1);
  tsri_spv_id pointer = element_pointer(s, &place, first_index(s, &place)), id = tsri_spv_new_id(s);
  tsri_spv_id type_id = tsri_spv_type_id(s, type), none = tsri_spv_u32(s, SPV_SEMANTICS_NONE);
  tsri_spv_id scope_id = tsri_spv_u32(s, scope);
  if (op == TSRI_ATOMIC_COMPARE_EXCHANGE) {
    SPV_PUT(&s->code, code, type_id, id, pointer, scope_id, none, none, value, compare);
  } else {
    SPV_PUT(&s->code, code, type_id, id, pointer, scope_id, none, value);
  }
  return id;
}

// --- Parameters -----------------------------------------------------------------------------------------------------

tsri_spv_id tsri_spv_param_word(tsri_spv *s, uint32_t offset) {
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1);
  bool is_pushed = s->kernel->params_bytes <= TSRI_SPV_PUSH_BYTES;
  uint32_t storage = is_pushed ? SPV_CLASS_PUSH_CONSTANT : SPV_CLASS_STORAGE_BUFFER;
  tsri_spv_id type = tsri_spv_pointer_type(s, storage, tsri_spv_type_id(s, word)), pointer = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, type, pointer, s->params, tsri_spv_u32(s, 0), tsri_spv_u32(s, offset / 4));
  return tsri_spv_load(s, word, pointer);
}

tsri_spv_id tsri_spv_param(tsri_spv *s, tsri_ir_type type, uint32_t offset) {
  tsri_spv_type to = tsri_spv_value_type(type), word = tsri_spv_make_type(SPV_U32, 1);
  tsri_spv_id words[2] = {tsri_spv_param_word(s, offset), 0};
  if (type.dtype == TSR_BOOL) return tsri_spv_decode(s, TSR_BOOL, 1, words[0]);
  if (!tsri_spv_is_64(to)) return tsri_spv_bitcast(s, to, word, words[0]);
  words[1] = tsri_spv_param_word(s, offset + 4);
  tsri_spv_type two = tsri_spv_make_type(SPV_U32, 2);
  return tsri_spv_bitcast(s, to, two, tsri_spv_compose(s, two, words));
}
