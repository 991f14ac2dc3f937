// SPDX-License-Identifier: MIT
// A matrix product by cooperative matrices.
//
// A group makes a tile of the result, its subgroups parts of that tile, each of several cooperative matrices. Tiles of a
// and b go through shared memory, the next ones on their way while the present ones are multiplied. They stand there as in
// the buffer, by rows or by columns, each line followed by eight unused elements, so that lines begin in different banks.
#include "lang/emit/spirv/matmul.h"

#include <string.h>

#include "core/alloc.h"

enum { VECTOR = 8, MAX_HELD = 16, MAX_PARTS = 64, BAND = 8 };

// One of a and b: `lines` of `length` elements that stand one after the other.
typedef struct side {
  tsri_spv_id buffer, tile;  // variables
  uint32_t lines, length;
  bool runs_along;             // k runs along the lines, not across them
  tsri_spv_id at, pitch;       // in elements
  tsri_spv_id end_line, end;   // of the whole matrix
  tsri_spv_id line, first;     // this item's first ones, at k = 0
  tsri_spv_id slot;            // and where it puts them in the tile
  tsri_spv_id held[MAX_HELD];  // variables for vectors on their way
  uint32_t held_count, step;   // every so many lines
} side;

typedef struct writer {
  tsri_spv *s;
  const tsri_spv_matmul *shape;
  const tsri_spv_matrices *matrices;
  uint32_t items, rows, cols;  // cooperative matrices of a part
  tsri_spv_id m, n, k, y_at;
  tsri_spv_id turn;                                    // 0 or 1: which of two tiles
  tsri_spv_id tile_row, tile_col, part_row, part_col;  // of the first element; parts within the tile
  tsri_spv_id y, scratch;                              // variables
  side a, b;
  tsri_spv_id sums[MAX_PARTS], sum_type;  // variables
} writer;

static const tsri_spv_type word = {SPV_U32, 1}, word4 = {SPV_U32, 4}, truth = {SPV_BOOL, 1}, f32 = {SPV_F32, 1};

#define ADD(a, b)    tsri_spv_op2(w->s, SPV_OP_I_ADD, word, (a), (b))
#define SUB(a, b)    tsri_spv_op2(w->s, SPV_OP_I_SUB, word, (a), (b))
#define MUL(a, b)    tsri_spv_op2(w->s, SPV_OP_I_MUL, word, (a), (b))
#define DIV(a, b)    tsri_spv_op2(w->s, SPV_OP_U_DIV, word, (a), (b))
#define MOD(a, b)    tsri_spv_op2(w->s, SPV_OP_U_MOD, word, (a), (b))
#define LESS(a, b)   tsri_spv_op2(w->s, SPV_OP_U_LESS_THAN, truth, (a), (b))
#define AND(a, b)    tsri_spv_op2(w->s, SPV_OP_LOGICAL_AND, truth, (a), (b))
#define NUMBER(x)    tsri_spv_u32(w->s, (x))
#define PARAM(field) tsri_spv_param_word(w->s, (uint32_t)offsetof(tsri_spv_matmul_params, field))

static uint32_t line_vectors(uint32_t length) { return length / VECTOR + 1; }  // of shared memory

// --- Memory ---------------------------------------------------------------------------------------------------------

// Shared memory under Vulkan's memory model: what an item wrote is seen by others after a barrier only if both say so.
static tsri_spv_id shared_pointer(tsri_spv *s, tsri_spv_type type, tsri_spv_id array, tsri_spv_id index) {
  tsri_spv_id pointer = tsri_spv_new_id(s);
  tsri_spv_id pointer_type = tsri_spv_pointer_type(s, SPV_CLASS_WORKGROUP, tsri_spv_type_id(s, type));
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, pointer_type, pointer, array, index);
  return pointer;
}

static void shared_store(writer *w, tsri_spv_type type, tsri_spv_id array, tsri_spv_id index, tsri_spv_id value) {
  tsri_spv_id pointer = shared_pointer(w->s, type, array, index), scope = NUMBER(SPV_SCOPE_WORKGROUP);
  SPV_PUT(&w->s->code, SPV_OP_STORE, pointer, value, SPV_MEMORY_MAKE_AVAILABLE | SPV_MEMORY_NON_PRIVATE, scope);
}

static tsri_spv_id shared_load(writer *w, tsri_spv_type type, tsri_spv_id array, tsri_spv_id index) {
  tsri_spv_id pointer = shared_pointer(w->s, type, array, index), scope = NUMBER(SPV_SCOPE_WORKGROUP);
  tsri_spv_id id = tsri_spv_new_id(w->s), type_id = tsri_spv_type_id(w->s, type);
  SPV_PUT(&w->s->code, SPV_OP_LOAD, type_id, id, pointer, SPV_MEMORY_MAKE_VISIBLE | SPV_MEMORY_NON_PRIVATE, scope);
  return id;
}

static void barrier(writer *w, uint32_t scope) {
  tsri_spv_id meets = NUMBER(scope), sees = NUMBER(SPV_SCOPE_WORKGROUP), semantics = NUMBER(SPV_SEMANTICS_SHARED);
  SPV_PUT(&w->s->code, SPV_OP_CONTROL_BARRIER, meets, sees, semantics);
}

static tsri_spv_id buffer_pointer(writer *w, tsri_spv_type type, tsri_spv_id buffer, tsri_spv_id index) {
  tsri_spv *s = w->s;
  tsri_spv_id pointer = tsri_spv_new_id(s), zero = NUMBER(0);
  tsri_spv_id pointer_type = tsri_spv_pointer_type(s, SPV_CLASS_STORAGE_BUFFER, tsri_spv_type_id(s, type));
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, pointer_type, pointer, buffer, zero, index);
  return pointer;
}

// Begins what only runs where `condition` holds (0: everywhere); the block to end it with.
static tsri_spv_id begin_if(writer *w, tsri_spv_id condition) {
  if (!condition) return 0;
  tsri_spv_id yes = tsri_spv_new_id(w->s), merge = tsri_spv_new_id(w->s);
  tsri_spv_branch_if(w->s, condition, yes, merge, merge);
  tsri_spv_begin_block(w->s, yes);
  return merge;
}

static void end_if(writer *w, tsri_spv_id merge) {
  if (!merge) return;
  tsri_spv_branch(w->s, merge);
  tsri_spv_begin_block(w->s, merge);
}

// --- From the buffers to shared memory ------------------------------------------------------------------------------

// Eight elements from `index` on, as four words. `is_there`: whether they exist; 0: they do.
static tsri_spv_id fetch_vector(writer *w, const side *from, tsri_spv_id index, tsri_spv_id is_there) {
  tsri_spv_id at = DIV(index, NUMBER(VECTOR));
  if (is_there) at = tsri_spv_select(w->s, word, is_there, at, NUMBER(0));
  tsri_spv_id value = tsri_spv_load(w->s, word4, buffer_pointer(w, word4, from->buffer, at));
  if (!is_there) return value;
  tsri_spv_type truths = tsri_spv_make_type(SPV_BOOL, 4);
  tsri_spv_id all = tsri_spv_compose(w->s, truths, (tsri_spv_id[]){is_there, is_there, is_there, is_there});
  return tsri_spv_select(w->s, word4, all, value, tsri_spv_const(w->s, word4, 0));
}

// The same one by one, up to the end of the line.
static tsri_spv_id fetch_elements(writer *w, const side *from, tsri_spv_id index, tsri_spv_id line_is_there,
                                  tsri_spv_id first) {
  tsri_spv_type half = tsri_spv_make_type(SPV_U16, 1);
  tsri_spv_id words[4] = {0};
  for (uint32_t i = 0; i < VECTOR; i++) {
    tsri_spv_id is_there = AND(line_is_there, LESS(ADD(first, NUMBER(i)), from->end));
    tsri_spv_id at = tsri_spv_select(w->s, word, is_there, ADD(index, NUMBER(i)), NUMBER(0));
    tsri_spv_id bits = tsri_spv_load(w->s, half, buffer_pointer(w, half, from->buffer, at));
    bits = tsri_spv_op1(w->s, SPV_OP_U_CONVERT, word, bits);
    bits = tsri_spv_select(w->s, word, is_there, bits, NUMBER(0));
    if (i % 2) bits = tsri_spv_op2(w->s, SPV_OP_SHIFT_LEFT_LOGICAL, word, bits, NUMBER(16));
    words[i / 2] = i % 2 ? tsri_spv_op2(w->s, SPV_OP_BITWISE_OR, word, words[i / 2], bits) : bits;
  }
  return tsri_spv_compose(w->s, word4, words);
}

// This item's vectors of the tile at `k` into its variables.
static void fetch(writer *w, const side *from, tsri_spv_id k) {
  for (uint32_t i = 0; i < from->held_count; i++) {
    tsri_spv_id line = ADD(from->line, NUMBER(i * from->step)), first = from->first, value;
    if (from->runs_along) first = ADD(first, k);
    else line = ADD(line, k);
    tsri_spv_id index = ADD(from->at, ADD(MUL(line, from->pitch), first));
    tsri_spv_id line_is_there = w->shape->has_edges || w->shape->by_elements ? LESS(line, from->end_line) : 0;
    if (w->shape->by_elements) {
      value = fetch_elements(w, from, index, line_is_there, first);
    } else {
      value = fetch_vector(w, from, index, line_is_there ? AND(line_is_there, LESS(first, from->end)) : 0);
    }
    tsri_spv_store(w->s, from->held[i], value);
  }
}

// Where the present tile begins in shared memory: of two, the second one in every other turn.
static tsri_spv_id tile_start(writer *w, const side *of) {
  uint32_t vectors = of->lines * line_vectors(of->length);
  return w->shape->has_two_tiles ? MUL(w->turn, NUMBER(vectors)) : NUMBER(0);
}

static void put(writer *w, const side *from) {
  tsri_spv_id first = ADD(tile_start(w, from), from->slot);
  for (uint32_t i = 0; i < from->held_count; i++) {
    tsri_spv_id slot = ADD(first, NUMBER(i * from->step * line_vectors(from->length)));
    shared_store(w, word4, from->tile, slot, tsri_spv_load(w->s, word4, from->held[i]));
  }
}

// --- Products -------------------------------------------------------------------------------------------------------

// The cooperative matrix at (`outer`, `k`) of the tile, where `part` is the subgroup's place along the other axis.
static tsri_spv_id load_matrix(writer *w, const side *from, tsri_spv_id type, tsri_spv_id part, uint32_t outer,
                               uint32_t k, bool by_columns) {
  uint32_t pitch = line_vectors(from->length);
  tsri_spv_id base = from->runs_along ? MUL(part, NUMBER(pitch)) : DIV(part, NUMBER(VECTOR));
  uint32_t rest = from->runs_along ? outer * pitch + k / VECTOR : k * pitch + outer / VECTOR;
  base = ADD(base, tile_start(w, from));
  return w->matrices->load(w->s, type, from->tile, ADD(base, NUMBER(rest)), pitch, by_columns);
}

static void multiply(writer *w, tsri_spv_id a_type, tsri_spv_id b_type) {
  const tsri_spv_matmul *shape = w->shape;
  for (uint32_t k = 0; k < shape->tile_k; k += shape->k) {
    tsri_spv_id b[MAX_PARTS];
    for (uint32_t j = 0; j < w->cols; j++) {
      b[j] = load_matrix(w, &w->b, b_type, w->part_col, j * shape->n, k, shape->b_by_columns);
    }
    for (uint32_t i = 0; i < w->rows; i++) {
      tsri_spv_id a = load_matrix(w, &w->a, a_type, w->part_row, i * shape->m, k, shape->a_by_columns);
      for (uint32_t j = 0; j < w->cols; j++) {
        tsri_spv_id sum = w->sums[i * w->cols + j], before = tsri_spv_new_id(w->s);
        SPV_PUT(&w->s->code, SPV_OP_LOAD, w->sum_type, before, sum);
        tsri_spv_store(w->s, sum, w->matrices->mul_add(w->s, w->sum_type, a, b[j], before));
      }
    }
  }
}

static void walk_k(writer *w) {
  tsri_spv *s = w->s;
  const tsri_spv_matmul *shape = w->shape;
  tsri_spv_id a_type = w->matrices->type(s, shape->dtype, shape->m, shape->k, SPV_MATRIX_A);
  tsri_spv_id b_type = w->matrices->type(s, shape->dtype, shape->k, shape->n, SPV_MATRIX_B);
  tsri_spv_id header = tsri_spv_new_id(s), body = tsri_spv_new_id(s), step = tsri_spv_new_id(s);
  tsri_spv_id merge = tsri_spv_new_id(s), counter = tsri_spv_variable(s, SPV_CLASS_FUNCTION, tsri_spv_type_id(s, word));
  tsri_spv_store(s, counter, NUMBER(0));
  fetch(w, &w->a, NUMBER(0));
  fetch(w, &w->b, NUMBER(0));
  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, header);
  tsri_spv_id k = tsri_spv_load(s, word, counter), goes_on = LESS(k, w->k);
  SPV_PUT(&s->code, SPV_OP_LOOP_MERGE, merge, step, 0);
  SPV_PUT(&s->code, SPV_OP_BRANCH_CONDITIONAL, goes_on, body, merge);
  tsri_spv_begin_block(s, body);
  if (shape->has_two_tiles) w->turn = MOD(DIV(k, NUMBER(shape->tile_k)), NUMBER(2));
  put(w, &w->a);
  put(w, &w->b);
  barrier(w, SPV_SCOPE_WORKGROUP);
  tsri_spv_id next = ADD(k, NUMBER(shape->tile_k)), has_next = begin_if(w, LESS(next, w->k));
  fetch(w, &w->a, next);
  fetch(w, &w->b, next);
  end_if(w, has_next);
  multiply(w, a_type, b_type);
  if (!shape->has_two_tiles) barrier(w, SPV_SCOPE_WORKGROUP);
  tsri_spv_branch(s, step);
  tsri_spv_begin_block(s, step);
  tsri_spv_store(s, counter, next);
  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, merge);
}

// --- The result -----------------------------------------------------------------------------------------------------

static void store_elements(writer *w, tsri_spv_id index, tsri_spv_id row_is_there, tsri_spv_id col,
                           const tsri_spv_id *bits) {
  tsri_spv_type half = tsri_spv_make_type(SPV_U16, 1);
  for (uint32_t i = 0; i < VECTOR; i++) {
    tsri_spv_id merge = begin_if(w, AND(row_is_there, LESS(ADD(col, NUMBER(i)), w->n)));
    tsri_spv_id value = tsri_spv_op1(w->s, SPV_OP_U_CONVERT, half, bits[i]);
    tsri_spv_store(w->s, buffer_pointer(w, half, w->y, ADD(index, NUMBER(i))), value);
    end_if(w, merge);
  }
}

static void store_vector(writer *w, tsri_spv_id index, tsri_spv_id is_there, const tsri_spv_id *bits) {
  tsri_spv_id words[4], merge = begin_if(w, is_there);
  for (uint32_t i = 0; i < 4; i++) {
    tsri_spv_id high = tsri_spv_op2(w->s, SPV_OP_SHIFT_LEFT_LOGICAL, word, bits[(size_t)2 * i + 1], NUMBER(16));
    words[i] = tsri_spv_op2(w->s, SPV_OP_BITWISE_OR, word, bits[(size_t)2 * i], high);
  }
  tsri_spv_id pointer = buffer_pointer(w, word4, w->y, DIV(index, NUMBER(VECTOR)));
  tsri_spv_store(w->s, pointer, tsri_spv_compose(w->s, word4, words));
  end_if(w, merge);
}

// Eight neighbours out of the subgroup's scratch, from `from` on, to (`row`, `col`) of the result.
static void store_run(writer *w, tsri_spv_id from, tsri_spv_id row, tsri_spv_id col) {
  tsri_spv_id bits[VECTOR];
  for (uint32_t i = 0; i < VECTOR; i++) {
    tsri_spv_id value = shared_load(w, f32, w->scratch, ADD(from, NUMBER(i)));
    bits[i] = tsri_spv_encode(w->s, w->shape->dtype, 1, value);
  }
  tsri_spv_id index = ADD(w->y_at, ADD(MUL(row, w->n), col));
  tsri_spv_id row_is_there = w->shape->has_edges || w->shape->by_elements ? LESS(row, w->m) : 0;
  if (w->shape->by_elements) store_elements(w, index, row_is_there, col, bits);
  else store_vector(w, index, row_is_there ? AND(row_is_there, LESS(col, w->n)) : 0, bits);
}

// Sums go through f32 words of the subgroup's own, where each item knows which elements it has.
static void store_sums(writer *w) {
  const tsri_spv_matmul *shape = w->shape;
  uint32_t runs = shape->m * shape->n / VECTOR, per_line = shape->n / VECTOR;
  tsri_spv_id lane = tsri_spv_builtin_value(w->s, SPV_BUILTIN_SUBGROUP_LANE, 0);
  tsri_spv_id subgroup = tsri_spv_builtin_value(w->s, SPV_BUILTIN_SUBGROUP, 0);
  tsri_spv_id id = MUL(subgroup, NUMBER(shape->m * shape->n));
  for (uint32_t i = 0; i < w->rows * w->cols; i++) {
    tsri_spv_id sum = tsri_spv_new_id(w->s);
    SPV_PUT(&w->s->code, SPV_OP_LOAD, w->sum_type, sum, w->sums[i]);
    w->matrices->store(w->s, sum, w->scratch, id, shape->n);
    barrier(w, SPV_SCOPE_SUBGROUP);
    for (uint32_t first = 0; first < runs; first += shape->subgroup_size) {
      tsri_spv_id run = ADD(lane, NUMBER(first));
      tsri_spv_id merge = begin_if(w, first + shape->subgroup_size > runs ? LESS(run, NUMBER(runs)) : 0);
      tsri_spv_id row = ADD(DIV(run, NUMBER(per_line)), NUMBER(i / w->cols * shape->m));
      tsri_spv_id col = ADD(MUL(MOD(run, NUMBER(per_line)), NUMBER(VECTOR)), NUMBER(i % w->cols * shape->n));
      store_run(w, ADD(id, MUL(run, NUMBER(VECTOR))), ADD(ADD(w->tile_row, w->part_row), row),
                ADD(ADD(w->tile_col, w->part_col), col));
      end_if(w, merge);
    }
    barrier(w, SPV_SCOPE_SUBGROUP);
  }
}

// --- The beginning --------------------------------------------------------------------------------------------------

// Groups are taken in bands of a few rows of tiles, so that those that run at once share what they read.
static void find_tile(writer *w) {
  tsri_spv *s = w->s;
  tsri_spv_id across = tsri_spv_builtin_value(s, SPV_BUILTIN_GROUP_COUNT, 0);
  tsri_spv_id down = tsri_spv_builtin_value(s, SPV_BUILTIN_GROUP_COUNT, 1);
  tsri_spv_id number = ADD(MUL(tsri_spv_builtin_value(s, SPV_BUILTIN_GROUP, 1), across),
                           tsri_spv_builtin_value(s, SPV_BUILTIN_GROUP, 0));
  tsri_spv_id band_groups = MUL(across, NUMBER(BAND)), band = DIV(number, band_groups);
  tsri_spv_id first_row = MUL(band, NUMBER(BAND)), left = SUB(down, first_row);
  tsri_spv_id band_rows = tsri_spv_select(s, word, LESS(left, NUMBER(BAND)), left, NUMBER(BAND));
  tsri_spv_id within = SUB(number, MUL(band, band_groups));
  w->tile_row = MUL(ADD(first_row, MOD(within, band_rows)), NUMBER(w->shape->tile_m));
  w->tile_col = MUL(DIV(within, band_rows), NUMBER(w->shape->tile_n));
  tsri_spv_id subgroup = tsri_spv_builtin_value(s, SPV_BUILTIN_SUBGROUP, 0);
  tsri_spv_id parts_across = NUMBER(w->shape->tile_n / w->shape->part_n);
  w->part_row = MUL(DIV(subgroup, parts_across), NUMBER(w->shape->part_m));
  w->part_col = MUL(MOD(subgroup, parts_across), NUMBER(w->shape->part_n));
}

static void find_matrices(writer *w) {
  tsri_spv_id z = tsri_spv_builtin_value(w->s, SPV_BUILTIN_GROUP, 2), inner_count = PARAM(inner);
  tsri_spv_id outer = DIV(z, inner_count), inner = MOD(z, inner_count);
  w->m = PARAM(m);
  w->n = PARAM(n);
  w->k = PARAM(k);
  w->a.at = ADD(PARAM(a_at), ADD(MUL(outer, PARAM(a_outer)), MUL(inner, PARAM(a_inner))));
  w->b.at = ADD(PARAM(b_at), ADD(MUL(outer, PARAM(b_outer)), MUL(inner, PARAM(b_inner))));
  w->y_at = ADD(PARAM(y_at), ADD(MUL(outer, PARAM(y_outer)), MUL(inner, PARAM(y_inner))));
  w->a.pitch = PARAM(a_pitch);
  w->b.pitch = PARAM(b_pitch);
}

// What this item carries of a side whose other axis begins at `start` for this group and has `size` elements.
static void find_share(writer *w, side *to, tsri_spv_id start, tsri_spv_id size) {
  tsri_spv_id item = tsri_spv_local_index(w->s), per_line = NUMBER(to->length / VECTOR), zero = NUMBER(0);
  tsri_spv_id line = DIV(item, per_line), vector = MOD(item, per_line);
  to->slot = ADD(MUL(line, NUMBER(line_vectors(to->length))), vector);
  to->line = ADD(line, to->runs_along ? start : zero);
  to->first = ADD(MUL(vector, NUMBER(VECTOR)), to->runs_along ? zero : start);
  to->end_line = to->runs_along ? size : w->k;
  to->end = to->runs_along ? w->k : size;
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static void declare_side(writer *w, side *to, uint32_t binding, bool runs_along, uint32_t size) {
  tsri_spv *s = w->s;
  to->runs_along = runs_along;
  to->lines = runs_along ? size : w->shape->tile_k;
  to->length = runs_along ? w->shape->tile_k : size;
  to->step = w->items / (to->length / VECTOR);
  to->held_count = to->lines / to->step;
  to->buffer =
      tsri_spv_declare_buffer(s, binding, w->shape->by_elements ? SPV_U16 : SPV_U32, w->shape->by_elements ? 1 : 4);
  SPV_DECORATE(s, to->buffer, SPV_DECORATION_NON_WRITABLE);
  uint32_t tiles = w->shape->has_two_tiles ? 2 : 1;
  tsri_spv_id vector = tsri_spv_type_id(s, word4);
  tsri_spv_id tile = tsri_spv_array_type(s, vector, tiles * to->lines * line_vectors(to->length));
  to->tile = tsri_spv_variable(s, SPV_CLASS_WORKGROUP, tile);
  for (uint32_t i = 0; i < to->held_count; i++) to->held[i] = tsri_spv_variable(s, SPV_CLASS_FUNCTION, vector);
}

static void declare(writer *w, const tsri_emitted *out) {
  tsri_spv *s = w->s;
  const tsri_spv_matmul *shape = w->shape;
  uint32_t subgroups = w->items / shape->subgroup_size;
  tsri_spv_need(s, SPV_CAPABILITY_VULKAN_MEMORY_MODEL);
  w->matrices->declare(s, shape);
  declare_side(w, &w->a, 0, !shape->a_by_columns, shape->tile_m);
  declare_side(w, &w->b, 1, shape->b_by_columns, shape->tile_n);
  w->y = tsri_spv_declare_buffer(s, 2, shape->by_elements ? SPV_U16 : SPV_U32, shape->by_elements ? 1 : 4);
  tsri_spv_id scratch = tsri_spv_array_type(s, tsri_spv_type_id(s, f32), shape->m * shape->n * subgroups);
  w->scratch = tsri_spv_variable(s, SPV_CLASS_WORKGROUP, scratch);
  tsri_spv_declare_params(s, out);
  w->sum_type = w->matrices->type(s, TSR_F32, shape->m, shape->n, SPV_MATRIX_ACCUMULATOR);
  tsri_spv_id zero = w->matrices->zero(s, w->sum_type);
  for (uint32_t i = 0; i < w->rows * w->cols; i++) {
    w->sums[i] = tsri_spv_variable(s, SPV_CLASS_FUNCTION, w->sum_type);
    tsri_spv_store(s, w->sums[i], zero);
  }
}

// --- Cooperative matrices as the extension has them -----------------------------------------------------------------

static void khr_declare(tsri_spv *s, const tsri_spv_matmul *shape) {
  tsri_spv_need(s, SPV_CAPABILITY_COOPERATIVE_MATRIX);
  tsri_spv_need(s, shape->dtype == TSR_F16 ? SPV_CAPABILITY_FLOAT16 : SPV_CAPABILITY_BFLOAT16_TYPE);
  if (shape->dtype == TSR_BF16) tsri_spv_need(s, SPV_CAPABILITY_BFLOAT16_COOPERATIVE_MATRIX);
}

// bf16 is a type that only this file knows, kept where f16's would be: a module has one of the two.
static tsri_spv_id component_type(tsri_spv *s, tsr_dtype dtype) {
  if (dtype == TSR_F32) return tsri_spv_type_id(s, f32);
  tsri_spv_id *slot = &s->types[SPV_F16][0];
  if (dtype == TSR_F16 || *slot) return tsri_spv_type_id(s, tsri_spv_make_type(SPV_F16, 1));
  *slot = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_TYPE_FLOAT, *slot, 16, SPV_ENCODING_BFLOAT16);
  return *slot;
}

static tsri_spv_id khr_type(tsri_spv *s, tsr_dtype dtype, uint32_t rows, uint32_t cols, uint32_t use) {
  tsri_spv_id component = component_type(s, dtype), scope = tsri_spv_u32(s, SPV_SCOPE_SUBGROUP);
  tsri_spv_id row_count = tsri_spv_u32(s, rows), col_count = tsri_spv_u32(s, cols), use_id = tsri_spv_u32(s, use);
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_TYPE_COOPERATIVE_MATRIX, id, component, scope, row_count, col_count, use_id);
  return id;
}

static tsri_spv_id khr_zero(tsri_spv *s, tsri_spv_id type) {
  tsri_spv_id zero = tsri_spv_const(s, f32, 0), id = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_CONSTANT_COMPOSITE, type, id, zero);
  return id;
}

static tsri_spv_id khr_load(tsri_spv *s, tsri_spv_id type, tsri_spv_id array, tsri_spv_id index, uint32_t stride,
                            bool by_columns) {
  tsri_spv_id pointer = shared_pointer(s, word4, array, index), id = tsri_spv_new_id(s);
  tsri_spv_id layout = tsri_spv_u32(s, by_columns ? SPV_MATRIX_COLUMNS : SPV_MATRIX_ROWS);
  tsri_spv_id stride_id = tsri_spv_u32(s, stride), scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  SPV_PUT(&s->code, SPV_OP_COOPERATIVE_MATRIX_LOAD, type, id, pointer, layout, stride_id,
          SPV_MEMORY_MAKE_VISIBLE | SPV_MEMORY_NON_PRIVATE, scope);
  return id;
}

static tsri_spv_id khr_mul_add(tsri_spv *s, tsri_spv_id type, tsri_spv_id a, tsri_spv_id b, tsri_spv_id c) {
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, SPV_OP_COOPERATIVE_MATRIX_MUL_ADD, type, id, a, b, c);
  return id;
}

static void khr_store(tsri_spv *s, tsri_spv_id value, tsri_spv_id array, tsri_spv_id index, uint32_t stride) {
  tsri_spv_id pointer = shared_pointer(s, f32, array, index), layout = tsri_spv_u32(s, SPV_MATRIX_ROWS);
  tsri_spv_id stride_id = tsri_spv_u32(s, stride), scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  SPV_PUT(&s->code, SPV_OP_COOPERATIVE_MATRIX_STORE, pointer, value, layout, stride_id,
          SPV_MEMORY_MAKE_AVAILABLE | SPV_MEMORY_NON_PRIVATE, scope);
}

const tsri_spv_matrices tsri_spv_matrices_khr = {
    .declare = khr_declare,
    .type = khr_type,
    .zero = khr_zero,
    .load = khr_load,
    .mul_add = khr_mul_add,
    .store = khr_store,
};

// --- The module -----------------------------------------------------------------------------------------------------

uint32_t tsri_spv_matmul_items(const tsri_spv_matmul *shape) {
  return shape->tile_m / shape->part_m * (shape->tile_n / shape->part_n) * shape->subgroup_size;
}

uint32_t tsri_spv_matmul_shared(const tsri_spv_matmul *shape) {
  uint32_t a =
      shape->a_by_columns ? shape->tile_k * line_vectors(shape->tile_m) : shape->tile_m * line_vectors(shape->tile_k);
  uint32_t b =
      shape->b_by_columns ? shape->tile_n * line_vectors(shape->tile_k) : shape->tile_k * line_vectors(shape->tile_n);
  uint32_t subgroups = tsri_spv_matmul_items(shape) / shape->subgroup_size;
  return (a + b) * (shape->has_two_tiles ? 2 : 1) * VECTOR * 2 + subgroups * shape->m * shape->n * 4;
}

// Whether the items share the lines of a tile evenly.
static bool is_even(uint32_t items, uint32_t lines, uint32_t length) {
  uint32_t per_line = length / VECTOR;
  if (per_line == 0 || length % VECTOR != 0 || items % per_line != 0) return false;
  uint32_t step = items / per_line;
  return lines % step == 0 && lines / step <= MAX_HELD;
}

bool tsri_spv_matmul_is_valid(const tsri_spv_matmul *shape) {
  if (shape->m == 0 || shape->n == 0 || shape->k == 0 || shape->part_m == 0 || shape->part_n == 0) return false;
  bool fits = shape->m % VECTOR == 0 && shape->n % VECTOR == 0 && shape->k % VECTOR == 0 &&
              shape->part_m % shape->m == 0 && shape->part_n % shape->n == 0 && shape->tile_m % shape->part_m == 0 &&
              shape->tile_n % shape->part_n == 0 && shape->tile_k % shape->k == 0;
  if (!fits || shape->part_m / shape->m * (shape->part_n / shape->n) > MAX_PARTS) return false;
  uint32_t items = tsri_spv_matmul_items(shape), k = shape->tile_k;
  return (shape->a_by_columns ? is_even(items, k, shape->tile_m) : is_even(items, shape->tile_m, k)) &&
         (shape->b_by_columns ? is_even(items, shape->tile_n, k) : is_even(items, k, shape->tile_n));
}

static void write_all(writer *w, const tsri_emitted *out) {
  declare(w, out);
  find_matrices(w);
  find_tile(w);
  find_share(w, &w->a, w->tile_row, w->m);
  find_share(w, &w->b, w->tile_col, w->n);
  walk_k(w);
  store_sums(w);
}

tsr_status tsri_spv_matmul_emit(const tsri_spv_matmul *shape, const tsri_spv_matrices *matrices, tsri_emitted *out) {
  static const tsri_emit_options options = {.subgroups = true, .subgroup_shuffle = true, .subgroup_size = 32};
  uint32_t items = tsri_spv_matmul_items(shape);
  tsri_kernel kernel = {.name = "matmul_cooperative",
                        .group_size = {items, 1, 1},
                        .params_bytes = sizeof(tsri_spv_matmul_params),
                        .buffer_count = 3};
  tsri_spv s;
  tsri_spv_words words = {0};
  *out = (tsri_emitted){.entry = "matmul_cooperative",
                        .buffer_count = 3,
                        .params_bytes = kernel.params_bytes,
                        .local = {items, 1, 1},
                        .shared_bytes = tsri_spv_matmul_shared(shape)};
  if (tsri_spv_init(&s, &kernel, &options)) {
    writer w = {.s = &s,
                .shape = shape,
                .matrices = matrices,
                .items = items,
                .rows = shape->part_m / shape->m,
                .cols = shape->part_n / shape->n};
    write_all(&w, out);
    tsri_spv_assemble(&s, out->entry, &words);
  } else {
    s.is_out_of_memory = true;
  }
  tsr_status status = tsri_spv_check(&s, &words);
  tsri_spv_deinit(&s);
  if (status != TSR_OK) {
    tsri_free(words.data);
    *out = (tsri_emitted){0};
    return status;
  }
  out->data = words.data;
  out->data_bytes = words.count * sizeof *words.data;
  return TSR_OK;
}
