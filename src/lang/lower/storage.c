// SPDX-License-Identifier: MIT
#include "lang/lower/storage.h"

#include "lang/lower/hoist_build.h"

static bool has(uint32_t set, uint32_t dtype) { return (set >> dtype & 1u) != 0; }

static const tsri_storage_lacks *lacks_of(const hoister *h) { return h->context; }

static bool is_lacking(const hoister *h, tsri_ir_space space, uint32_t storage) {
  const tsri_storage_lacks *lacks = lacks_of(h);
  if (space == TSRI_SPACE_BUFFER) return has(lacks->in_buffers, storage);
  return space == TSRI_SPACE_SHARED ? has(lacks->in_shared, storage)
                                    : has(lacks->in_locals, storage) && storage != TSR_BOOL;
}

static uint32_t per_word(uint32_t storage) { return 4 / (uint32_t)tsr_dtype_bytes((tsr_dtype)storage); }

// The dtype that holds values of a storage type. Only local arrays hold bools.
static tsr_dtype wide_storage(uint32_t storage) {
  return storage == TSR_BOOL ? TSR_U32 : tsri_ir_compute_dtype((tsr_dtype)storage);
}

// --- Values and bits ----------------------------------------------------------------------------------------------------

static tsri_ir_type words_of(uint32_t lanes) { return (tsri_ir_type){TSR_U32, (uint8_t)lanes}; }

static uint32_t words(rewriter *w, uint32_t value, uint32_t lanes) {
  uint32_t one = number(w, value);
  return lanes == 1 ? one : put(w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .type = words_of(lanes), .a = one});
}

static uint32_t converted(rewriter *w, uint32_t value, uint32_t storage, uint32_t lanes) {
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype((tsr_dtype)storage), (uint8_t)lanes};
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)storage, .type = type, .a = value});
}

static uint32_t with_bits_of(rewriter *w, uint32_t value, uint32_t storage, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST, .dtype = (uint8_t)storage, .type = type, .a = value});
}

static bool is_half(uint32_t storage) { return storage == TSR_F16 || storage == TSR_BF16; }

static uint32_t is_not_zero(rewriter *w, uint32_t a, uint32_t lanes) {
  return op(w, TSRI_OP_NE, (tsri_ir_type){TSR_BOOL, (uint8_t)lanes}, a, words(w, 0, lanes), 0);
}

// The value of elements whose bits are in the low end of `bits`. What stands above them does not matter.
static uint32_t decoded(rewriter *w, uint32_t bits, uint32_t storage, tsri_ir_type type) {
  if (is_half(storage)) return with_bits_of(w, bits, storage, type);
  if (storage != TSR_BOOL) return converted(w, bits, storage, type.lanes);
  return is_not_zero(w, op(w, TSRI_OP_AND, words_of(type.lanes), bits, words(w, 0xff, type.lanes), 0), type.lanes);
}

// The reverse. The bits above those of an element are 0 if there is more than one lane.
static uint32_t encoded(rewriter *w, uint32_t value, uint32_t storage, uint32_t lanes) {
  tsri_ir_type type = words_of(lanes);
  if (is_half(storage)) return with_bits_of(w, value, storage, type);
  if (storage == TSR_BOOL) return converted(w, value, TSR_U32, lanes);
  uint32_t bits = storage == TSR_U8 ? value : with_bits_of(w, value, TSR_U32, type);
  if (lanes == 1) return bits;
  return op(w, TSRI_OP_AND, type, bits, words(w, storage == TSR_I16 ? 0xffff : 0xff, lanes), 0);
}

// --- Elements in words --------------------------------------------------------------------------------------------------

// The words in which the accessed elements are.
typedef struct word_place {
  uint32_t object, lanes;
  uint32_t bits;   // of an element
  uint32_t count;  // of the words that hold the elements
  uint32_t word;   // index of the first
  uint32_t shift;  // distance of the first element from the low end of the word; 0: none, since the words are whole
} word_place;

static uint32_t shifted(rewriter *w, tsri_ir_op code, uint32_t a, uint32_t count) {
  return count ? op(w, code, u32_type, a, number(w, count), 0) : a;
}

// `is_used_twice`: the caller uses the word index and the shift more than once, so they are assigned to variables.
static word_place place_of(hoister *h, list *to, uint32_t object, uint32_t index, uint32_t lanes, bool is_used_twice) {
  rewriter *w = &h->w;
  uint32_t each = per_word(w->from->buffers[object].storage);
  word_place p = {.object = object, .lanes = lanes, .bits = 32 / each, .count = lanes > each ? lanes / each : 1};
  uint32_t at = w->exprs[index].type.dtype == TSR_U32 ? index : cast(w, index, TSRI_EXPR_CONVERT, u32_type);
  if (lanes > 1) at = op(w, TSRI_OP_AND, u32_type, at, number(w, ~(lanes - 1)), 0);
  if (lanes < each) {
    at = tsri_hoist_value(h, to, at);
    p.shift = mul(w, op(w, TSRI_OP_AND, u32_type, at, number(w, each - 1), 0), number(w, p.bits));
  }
  p.word = shifted(w, TSRI_OP_SHR, at, each == 4 ? 2 : 1);
  if (is_used_twice) p.word = tsri_hoist_value(h, to, p.word);
  if (is_used_twice && p.shift) p.shift = tsri_hoist_value(h, to, p.shift);
  return p;
}

static uint32_t load_words(rewriter *w, const word_place *p) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_LOAD,
                               .space = TSRI_SPACE_BUFFER,
                               .dtype = TSR_U32,
                               .type = words_of(p->count),
                               .object = p->object,
                               .a = p->word});
}

static uint32_t lane_of(rewriter *w, uint32_t vector, uint32_t lane) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_EXTRACT, .lane = (uint8_t)lane, .type = u32_type, .a = vector});
}

static uint32_t load_packed(hoister *h, const tsri_ir_expr *x, list *before) {
  rewriter *w = &h->w;
  uint32_t storage = w->from->buffers[x->object].storage;
  word_place p = place_of(h, before, x->object, x->a, x->type.lanes, false);
  if (w->has_failed) return 0;
  uint32_t lanes[4] = {0}, loaded = load_words(w, &p);
  if (p.shift) loaded = op(w, TSRI_OP_SHR, u32_type, loaded, p.shift, 0);
  if (p.lanes > 1) loaded = tsri_hoist_value(h, before, loaded);
  for (uint32_t i = 0; i < p.lanes; i++) {
    uint32_t bit = i * p.bits, word = p.count > 1 ? lane_of(w, loaded, bit / 32) : loaded;
    lanes[i] = shifted(w, TSRI_OP_SHR, word, bit % 32);
  }
  uint32_t bits = lanes[0];
  if (p.lanes > 1) {
    bits = put(
        w, (tsri_ir_expr){
               .kind = TSRI_EXPR_VECTOR, .type = words_of(p.lanes), .args = {lanes[0], lanes[1], lanes[2], lanes[3]}});
  }
  return decoded(w, bits, storage, x->type);
}

static void put_store(rewriter *w, list *to, const word_place *p, const uint32_t words[2]) {
  uint32_t value = words[0];
  if (p->count > 1) {
    value = put(w, (tsri_ir_expr){.kind = TSRI_EXPR_VECTOR, .type = words_of(2), .args = {words[0], words[1]}});
  }
  append(w, to,
         put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_STORE,
                                    .space = TSRI_SPACE_BUFFER,
                                    .object = p->object,
                                    .index = p->word,
                                    .value = value}));
}

static void put_atomic(rewriter *w, list *to, const word_place *p, tsri_ir_atomic code, uint32_t value) {
  append(w, to,
         put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_ATOMIC,
                                    .op = (uint8_t)code,
                                    .space = TSRI_SPACE_BUFFER,
                                    .object = p->object,
                                    .index = p->word,
                                    .value = value}));
}

// Flips the bits in which the elements differ from `bits`.
static void put_flip(rewriter *w, list *to, const word_place *p, uint32_t bits) {
  uint32_t old = op(w, TSRI_OP_SHR, u32_type, load_words(w, p), p->shift, 0);
  uint32_t mask = number(w, (1u << (p->bits * p->lanes)) - 1u);
  uint32_t changed = op(w, TSRI_OP_AND, u32_type, op(w, TSRI_OP_XOR, u32_type, old, bits, 0), mask, 0);
  put_atomic(w, to, p, TSRI_ATOMIC_XOR, op(w, TSRI_OP_SHL, u32_type, changed, p->shift, 0));
}

// Clears the bits of the elements, then sets those of `bits`. That waits for nothing, but is one atomic operation more.
static void put_end(rewriter *w, list *to, const word_place *p, uint32_t bits) {
  uint32_t all = (1u << (p->bits * p->lanes)) - 1u, mask = op(w, TSRI_OP_SHL, u32_type, number(w, all), p->shift, 0);
  uint32_t value = op(w, TSRI_OP_AND, u32_type, bits, number(w, all), 0);
  put_atomic(w, to, p, TSRI_ATOMIC_AND, op(w, TSRI_OP_XOR, u32_type, mask, number(w, UINT32_MAX), 0));
  put_atomic(w, to, p, TSRI_ATOMIC_OR, op(w, TSRI_OP_SHL, u32_type, value, p->shift, 0));
}

// Whether several elements at a time are stored to the buffer, too: then single ones are the ends of lines.
static bool has_wide_stores(const tsri_kernel *k, uint32_t buffer) {
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    bool is_store = s->kind == TSRI_STMT_STORE && s->space == TSRI_SPACE_BUFFER && s->object == buffer;
    if (is_store && k->exprs[s->value].type.lanes > 1) return true;
  }
  return false;
}

static void store_packed(hoister *h, const tsri_ir_stmt *s, list *to) {
  rewriter *w = &h->w;
  uint32_t storage = w->from->buffers[s->object].storage, lanes = w->exprs[s->value].type.lanes, joined[2] = {0};
  word_place p = place_of(h, to, s->object, s->index, lanes, true);
  uint32_t bits = encoded(w, s->value, storage, lanes);
  if (lanes > 1) bits = tsri_hoist_value(h, to, bits);
  for (uint32_t i = 0; i < lanes && !w->has_failed; i++) {
    uint32_t bit = i * p.bits, *word = &joined[bit / 32], lane = bits;
    if (lanes > 1) lane = lane_of(w, bits, i);
    lane = shifted(w, TSRI_OP_SHL, lane, bit % 32);
    *word = *word ? op(w, TSRI_OP_OR, u32_type, *word, lane, 0) : lane;
  }
  if (p.shift && has_wide_stores(w->from, s->object)) {
    put_end(w, to, &p, joined[0]);
  } else if (p.shift) {
    put_flip(w, to, &p, joined[0]);
  } else {
    put_store(w, to, &p, joined);
  }
}

// --- Accesses -----------------------------------------------------------------------------------------------------------

static uint32_t lower_load(hoister *h, tsri_ir_expr x, list *before) {
  rewriter *w = &h->w;
  tsri_ir_space space = (tsri_ir_space)x.space;
  uint32_t storage = tsri_ir_array_of(w->from, space, x.object)->storage;
  if (!is_lacking(h, space, storage)) return 0;
  if (space == TSRI_SPACE_BUFFER) return load_packed(h, &x, before);
  x.dtype = x.type.dtype = (uint8_t)wide_storage(storage);
  uint32_t value = put(w, x);
  return storage == TSR_BOOL ? is_not_zero(w, value, x.type.lanes) : value;
}

// The stored value without a conversion to the array's type.
static uint32_t unconverted(const rewriter *w, uint32_t value, uint32_t storage) {
  const tsri_ir_expr *x = &w->exprs[value];
  bool is_idle = x->kind == TSRI_EXPR_CONVERT && x->dtype == storage && storage != TSR_BOOL &&
                 w->exprs[x->a].type.dtype == x->type.dtype;
  return is_idle ? x->a : value;
}

static void lower_stmt(hoister *h, tsri_ir_stmt s, list *to) {
  rewriter *w = &h->w;
  tsri_ir_space space = (tsri_ir_space)s.space;
  if (s.kind == TSRI_STMT_STORE) {
    uint32_t storage = tsri_ir_array_of(w->from, space, s.object)->storage;
    bool is_lowered = is_lacking(h, space, storage);
    s.value = unconverted(w, s.value, storage);
    if (is_lowered && space == TSRI_SPACE_BUFFER) {
      store_packed(h, &s, to);
      return;
    }
    uint32_t kept = storage == TSR_BOOL ? TSR_U32 : storage;
    if (is_lowered) s.value = converted(w, s.value, kept, w->exprs[s.value].type.lanes);
  }
  append(w, to, put_stmt(w, s));
}

// --- Arrays -------------------------------------------------------------------------------------------------------------

static void widen_arrays(const hoister *h, tsri_ir_space space, tsri_ir_array *arrays, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (is_lacking(h, space, arrays[i].storage)) arrays[i].storage = (uint8_t)wide_storage(arrays[i].storage);
  }
}

// Finds buffers into which parts of words are stored: their elements become atomic.
static void find_atomic_buffers(hoister *h) {
  const tsri_kernel *k = h->w.from;
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    bool is_store = s->kind == TSRI_STMT_STORE && s->space == TSRI_SPACE_BUFFER;
    if (!is_store || !is_lacking(h, TSRI_SPACE_BUFFER, k->buffers[s->object].storage)) continue;
    h->buffers[s->object].is_atomic |= k->exprs[s->value].type.lanes < per_word(k->buffers[s->object].storage);
  }
}

static void change_arrays(hoister *h) {
  const tsri_kernel *k = h->w.from;
  find_atomic_buffers(h);
  for (uint32_t i = 0; i < k->buffer_count; i++) {
    if (!is_lacking(h, TSRI_SPACE_BUFFER, k->buffers[i].storage)) continue;
    if (per_word(h->buffers[i].storage) == 4) h->buffers[i].is_wide = false;  // four elements are one word
    h->buffers[i].storage = TSR_U32;
  }
  widen_arrays(h, TSRI_SPACE_SHARED, h->shared, k->shared_count);
  widen_arrays(h, TSRI_SPACE_LOCAL, h->locals, k->local_count);
}

tsr_status tsri_lower_storage(const tsri_kernel *kernel, tsri_storage_lacks lacks, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.load = lower_load, .stmt = lower_stmt};
  return tsri_hoist(kernel, &pass, change_arrays, &lacks, out_kernel);
}
