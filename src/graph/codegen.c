// SPDX-License-Identifier: MIT
// Code generation for fusions: chooses the form, lists the parameters, makes the key, and writes the text of operators and of element-wise kernels.
// codegen_reduce.c writes the text of reductions, codegen_wide.c that of kernels with several elements per work item.
//
// Names in the text: leaf0 … the buffers that are read, in0 … elements read from them, val0 … values computed by nodes,
// num0 … scalars of nodes, at0 … the base of a leaf in its binding, y the result, p the parts of a reduction, t0_1 the
// stride of leaf 0 on axis 1, d1 the size of axis 1 (u0_1 and e1 for reduced axes).
#include "graph/codegen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "graph/embedded.h"

const char *tsri_codegen_type(tsr_dtype dtype) { return tsr_dtype_name(tsri_ir_compute_dtype(dtype)); }

const char *tsri_codegen_result(tsr_dtype dtype) {
  return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT ? tsri_codegen_type(dtype) : tsr_dtype_name(dtype);
}

tsr_dtype tsri_codegen_part_dtype(const tsri_codegen *codegen) {
  return tsri_ir_compute_dtype(codegen->fused->heavy->dtype);
}

// --- Form -----------------------------------------------------------------------------------------------------------

static bool is_arg(const tsri_node *heavy) {
  return heavy->op->reduce == TSRI_REDUCE_ARGMAX || heavy->op->reduce == TSRI_REDUCE_ARGMIN;
}

bool tsri_codegen_is_arg(const tsri_codegen *gen) { return gen->fused->heavy && is_arg(gen->fused->heavy); }

// Whether the last axis of more than one element is reduced.
static bool reduces_last_axis(const tsri_node *heavy) {
  const tsri_layout *layout = &heavy->inputs[0].layout;
  for (int i = layout->shape.rank - 1; i >= 0; i--) {
    if (layout->shape.dims[i] > 1) return (heavy->axes >> i & 1u) != 0;
  }
  return false;
}

enum { LEAST_PARTS = 4 };

// Number of work items of a reduction by columns. Each has four neighbouring results if it reads four elements at a time, otherwise one.
static int64_t column_items(const tsri_codegen *gen) {
  int64_t kept = gen->fused->kept.count;
  int64_t items = TSRI_TUNED(gen->tuning, reduce_wide) && kept % 4 == 0 ? kept / 4 : kept;
  return items > 0 ? items : 1;
}

// Reduces the number of parts per result so that the work-groups fill whole rounds: row_round of them run at once, and in a last round that is not nearly full
// most of the device is idle. argmax of 25 million bf16 takes 23.4 us with 1,525 parts and 20.8 us with 1,024 on an H200, which runs 1,056 of these groups at
// once.
static int64_t in_whole_rounds(const tsri_codegen *gen, int64_t parts) {
  int64_t round = TSRI_TUNED(gen->tuning, row_round), kept = gen->fused->kept.count, groups = parts * kept;
  if (round == 0 || groups <= round || groups % round >= round * 3 / 4) return parts;
  int64_t fewer = groups / round * round / kept;
  return fewer < LEAST_PARTS ? parts : fewer;
}

// Cuts a long reduction with few results into parts: enough to keep the device busy, each long enough to be worth a
// work-group.
static void choose_parts(tsri_codegen *gen, bool is_column) {
  const tsri_tuning *tuning = gen->tuning;
  int64_t kept = gen->fused->kept.count, reduced = gen->fused->reduced.count;
  int64_t busy = is_column ? column_items(gen) : kept;
  int64_t most = (is_column ? TSRI_TUNED(tuning, column_items) : TSRI_TUNED(tuning, row_parts)) / (busy > 0 ? busy : 1);
  int64_t parts = reduced / (is_column ? TSRI_TUNED(tuning, column_part_length) : TSRI_TUNED(tuning, row_part_length));
  if (parts > most) parts = most;
  if (!is_column) parts = in_whole_rounds(gen, parts);
  if (parts < LEAST_PARTS) return;
  gen->parts = (uint32_t)parts;
  gen->stage = TSRI_STAGE_PARTS;
}

// How many items of a subgroup share a row that is shorter than a work-group (a team): enough that each reads about
// EACH elements, at most the device's reduce_team. 0: the row is too short, or too long: an item would read more than
// TEAM_ROUNDS * EACH elements, or MANY_ROUNDS * EACH if there are enough rows to keep the device busy, since teams need
// no barrier to join their values. Rows of 40 take 45 us on an H200 with teams of 4, 57 with 8, 74 with 16.
static uint32_t choose_team(const tsri_codegen *gen) {
  enum { LEAST = 8, EACH = 16, TEAM_ROUNDS = 1, MANY_ROUNDS = 4, MOST_ITEMS = 1 << 30 };
  int64_t reduced = gen->fused->reduced.count, most = TSRI_TUNED(gen->tuning, reduce_team);
  bool is_many = gen->fused->kept.count * most >= TSRI_TUNED(gen->tuning, column_items);
  if (most < 4 || reduced < LEAST || reduced > most * EACH * (is_many ? MANY_ROUNDS : TEAM_ROUNDS)) return 0;
  if (!reduces_last_axis(gen->fused->heavy) || gen->fused->kept.count > MOST_ITEMS / most) return 0;
  int64_t team = 2;
  while (team < most && team * EACH < reduced) team *= 2;
  return (uint32_t)team;
}

static bool can_have_slices(const tsri_codegen *gen) {
  const tsri_node *heavy = gen->fused->heavy;
  tsr_dtype dtype = is_arg(heavy) ? heavy->inputs[0].as : heavy->dtype;
  return TSRI_TUNED(gen->tuning, reduce_wide) && dtype != TSR_BOOL && !reduces_last_axis(heavy);
}

// Whether a reduction by columns is so small that the items of a work-group should share its rows in slices. With parts, it would need a second launch to join
// them. 528 x 128 in parts of 33 rows took 8.5 and 1.4 us for the two launches on an H200; most of it was waiting for one row after the other.
static bool is_small_reduction(const tsri_codegen *gen) {
  enum { FEW_ROWS = 1024, FEW_ELEMENTS = 1 << 20 };
  int64_t reduced = gen->fused->reduced.count;
  return can_have_slices(gen) && reduced <= FEW_ROWS &&
         gen->fused->kept.count <= FEW_ELEMENTS / (reduced > 0 ? reduced : 1);
}

// The number of slices: items of a work-group that share the rows of each result. More than 1 only if there are too few results to keep the device busy.
static uint32_t choose_slices(const tsri_codegen *gen) {
  enum { LEAST_ROWS = 16, MOST_SLICES = 8, LEAST_ROWS_OF_SMALL = 8 };
  if (!can_have_slices(gen)) return 1;
  bool is_small = is_small_reduction(gen);
  int64_t items = column_items(gen), busy = TSRI_TUNED(gen->tuning, column_items), reduced = gen->fused->reduced.count;
  int64_t most = is_small ? TSRI_TUNED(gen->tuning, column_group) / 2 : MOST_SLICES;
  int64_t least = is_small ? LEAST_ROWS_OF_SMALL : LEAST_ROWS, slices = 1;
  while (2 * slices <= most && items * slices < busy && reduced / (2 * slices) >= least) slices *= 2;
  return (uint32_t)slices;
}

// Whether to reduce by columns (TSRI_FORM_COLUMN), where neighbouring work items have neighbouring columns and so read neighbouring elements. The alternative
// is a work-group for each column (TSRI_FORM_ROW), which uses only a part of each cache line. It is chosen where it takes one launch, while columns would take
// two (one for parts of the rows, one to join them): on an H200 it is faster up to 2^19 elements (16384 x 24: 8.8 us instead of 11.1). Where it takes two
// launches as well, columns are chosen from a third of column_results on (10^6 x 7: 11.9 us instead of 18.6). argmax and argmin, whose parts are indices, need
// twice column_results (10^6 x 12: 46.7 us with a work-group for each column, 56.1 by columns).
static bool goes_by_columns(const tsri_codegen *gen) {
  enum { FEW_RESULTS = 48, FEW_ELEMENTS = 1 << 19 };
  int64_t kept = gen->fused->kept.count, reduced = gen->fused->reduced.count;
  int64_t least = TSRI_TUNED(gen->tuning, column_results);
  if (reduces_last_axis(gen->fused->heavy)) return false;
  if (!TSRI_TUNED(gen->tuning, reduce_wide) || is_small_reduction(gen)) return kept >= least;
  bool is_one_launch = reduced < (int64_t)TSRI_TUNED(gen->tuning, row_part_length) * LEAST_PARTS;
  if (is_one_launch && kept <= FEW_RESULTS && kept * reduced <= FEW_ELEMENTS) return false;
  if (is_arg(gen->fused->heavy)) return kept >= 2 * least;
  return kept >= (is_one_launch ? least : (least + 2) / 3);
}

static void choose_reduction(tsri_codegen *gen) {
  const tsri_fused *fused = gen->fused;
  gen->team = choose_team(gen);
  bool is_column = (fused->reduced.count < TSRI_SHORT_REDUCTION && gen->team == 0) || goes_by_columns(gen);
  gen->form = is_column ? TSRI_FORM_COLUMN : TSRI_FORM_ROW;
  bool has_parts = !is_arg(fused->heavy) || TSRI_TUNED(gen->tuning, reduce_wide);
  if (has_parts && gen->team == 0 && !(is_column && is_small_reduction(gen))) choose_parts(gen, is_column);
  gen->slices = is_column && gen->stage == TSRI_STAGE_WHOLE ? choose_slices(gen) : 1;
}

// The second stage reduces the parts of each result. A work-group reduces each result if there are few results, or if by columns each item would read more than
// EACH parts one after the other: 65536 x 64 in 2048 parts takes 15.0 us on an H200 with work-groups, and 27.5 us by columns.
void tsri_codegen_total(tsri_codegen *gen) {
  enum { FEW_RESULTS = 64, MANY_RESULTS = 1024, EACH = 16, MOST_SLICES = 16 };
  int64_t kept = gen->fused->kept.count;
  gen->stage = TSRI_STAGE_TOTAL;
  gen->team = 0;
  bool is_row = kept < FEW_RESULTS || (kept < MANY_RESULTS && gen->parts > MOST_SLICES * EACH);
  gen->form = is_row ? TSRI_FORM_ROW : TSRI_FORM_COLUMN;
  gen->slices = 1;
  tsri_reduce reduce = gen->fused->heavy->op->reduce;
  if (!TSRI_TUNED(gen->tuning, reduce_wide) || reduce == TSRI_REDUCE_ANY || reduce == TSRI_REDUCE_ALL) return;
  while (gen->slices < MOST_SLICES && gen->parts / (2 * gen->slices) >= EACH) gen->slices *= 2;
}

void tsri_codegen_init(const tsri_fused *fused, const tsri_tuning *tuning, tsri_codegen *out) {
  memset(out, 0, offsetof(tsri_codegen, params));
  out->fused = fused;
  out->tuning = tuning;
  out->lanes = 1;
  out->in_place_leaf = TSRI_NONE;
  if (fused->heavy && fused->heavy->op->kind == TSRI_OP_KERNEL) {
    out->form = TSRI_FORM_HOOK;
  } else if (fused->heavy) {
    choose_reduction(out);
  } else if (fused->kept.rank <= 1) {
    out->form = TSRI_FORM_FLAT;
  } else {
    out->form =
        fused->kept.dims[fused->kept.rank - 1] >= TSRI_TUNED(tuning, fused_row) ? TSRI_FORM_ROWS : TSRI_FORM_SPREAD;
  }
}

int tsri_codegen_group(const tsri_codegen *gen) {
  if (!gen->fused->heavy) {
    // With one element per item, small work-groups are slow on a GPU: starting them takes longer than their memory
    // accesses.
    enum { LEAST_SCALAR = 256 };
    int group = TSRI_TUNED(gen->tuning, fused_group);
    return gen->lanes == 1 && TSRI_TUNED(gen->tuning, fused_bytes) > 0 && group < LEAST_SCALAR ? LEAST_SCALAR : group;
  }
  return gen->form == TSRI_FORM_COLUMN ? TSRI_TUNED(gen->tuning, column_group) : TSRI_TUNED(gen->tuning, reduce_group);
}

void tsri_codegen_groups(const tsri_codegen *gen, uint64_t *out_x, uint64_t *out_y) {
  const tsri_extent *kept = &gen->fused->kept;
  uint64_t items = (uint64_t)kept->count, size = (uint64_t)tsri_codegen_group(gen);
  bool is_in_parts = gen->stage == TSRI_STAGE_PARTS;
  *out_y = is_in_parts ? gen->parts : 1;
  if (gen->form == TSRI_FORM_ROW) {
    *out_x = gen->team ? (items * gen->team + size - 1) / size : items;
    return;
  }
  if (gen->form == TSRI_FORM_ROWS) {
    items = (uint64_t)kept->dims[kept->rank - 1];
    *out_y = (uint64_t)kept->count / items;
  }
  items = (items + gen->lanes - 1) / gen->lanes;
  if (is_in_parts) {  // work items are numbered through all parts
    items *= gen->parts;
    *out_y = 1;
  }
  if (gen->form == TSRI_FORM_COLUMN) items *= gen->slices;
  *out_x = (items + size - 1) / size;
}

// --- Parameters and key ---------------------------------------------------------------------------------------------

static bool add_word(tsri_codegen *gen, int64_t value, const char *stem, int first, int second) {
  if (gen->param_count == TSRI_MAX_KERNEL_PARAMS) return false;
  // Negative strides wrap modulo 2^32, and so do the indices they are added to.
  gen->params[gen->param_count++] = (tsri_fused_param){
      .stem = stem, .first = first, .second = second, .dtype = TSR_U32, .word = (uint32_t)(uint64_t)value};
  return true;
}

static bool add_scalars(tsri_codegen *gen) {
  const tsri_plan *plan = gen->fused->plan;
  int number = 0;
  for (uint32_t i = 0; i < gen->fused->fusion->node_count; i++) {
    const tsri_node *node = plan->nodes[plan->members[gen->fused->fusion->first + i]].node;
    const tsri_scalars *scalars = tsri_node_scalars(node);
    for (int64_t j = 0; j < scalars->count; j++, number++) {
      if (gen->param_count == TSRI_MAX_KERNEL_PARAMS) return false;
      tsri_fused_param *param = &gen->params[gen->param_count++];
      *param = (tsri_fused_param){.stem = "num",
                                  .first = number,
                                  .second = -1,
                                  .dtype = tsri_ir_compute_dtype(node->inputs[0].as),
                                  .is_scalar = true,
                                  .number = scalars->values[j]};
    }
  }
  return true;
}

// Adds the sizes of all axes but the first, by which tsri_codegen_unravel divides, and all strides other than 0 and 1.
static bool add_extent(tsri_codegen *gen, const tsri_extent *extent, tsri_space space, const char *size,
                       const char *step) {
  bool fits = true;
  for (int i = 1; i < extent->rank; i++) fits = fits && add_word(gen, extent->dims[i], size, i, -1);
  for (uint32_t leaf = 0; leaf < gen->fused->leaf_count; leaf++) {
    if (gen->fused->leaves[leaf].space != space || !tsri_codegen_reads(gen, leaf)) continue;
    for (int i = 0; i < extent->rank; i++) {
      int64_t stride = extent->strides[leaf][i];
      if (stride != 0 && stride != 1) fits = fits && add_word(gen, stride, step, (int)leaf, i);
    }
  }
  return fits;
}

static bool add_bases(tsri_codegen *gen) {
  bool fits = true;
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    if (gen->has_base[i] && tsri_codegen_reads(gen, i)) fits = fits && add_word(gen, gen->base[i], "at", (int)i, -1);
  }
  return fits;
}

uint32_t tsri_codegen_axis_leaf(const tsri_codegen *gen, uint32_t leaf) {
  tsri_one_axis axis, other;
  if (!tsri_codegen_is_by_axis(gen, leaf, &axis)) return leaf;
  for (uint32_t i = 0; i < leaf; i++) {
    bool is_by_axis = tsri_codegen_is_by_axis(gen, i, &other);
    if (is_by_axis && other.inner == axis.inner && other.size == axis.size) return i;
  }
  return leaf;
}

// Adds the parameters inner<i> and size<i> of the leaves that a hook indexes by one axis (tsri_codegen_is_by_axis).
static bool add_axes(tsri_codegen *gen) {
  bool fits = true;
  tsri_one_axis axis;
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    if (!tsri_codegen_is_by_axis(gen, i, &axis) || tsri_codegen_axis_leaf(gen, i) != i) continue;
    fits = fits && add_word(gen, axis.inner, "inner", (int)i, -1) && add_word(gen, axis.size, "size", (int)i, -1);
  }
  return fits;
}

static bool list_params(tsri_codegen *gen) {
  const tsri_fused *fused = gen->fused;
  if (gen->form == TSRI_FORM_HOOK) return add_bases(gen) && add_axes(gen) && add_scalars(gen);
  bool fits = add_word(gen, fused->kept.count, "n", -1, -1);
  bool reads_inner = gen->stage != TSRI_STAGE_TOTAL || is_arg(fused->heavy);
  if (fused->heavy) {
    bool is_total = gen->stage == TSRI_STAGE_TOTAL;
    fits = fits && add_word(gen, is_total ? gen->parts : fused->reduced.count, "m", -1, -1);
    if (gen->stage == TSRI_STAGE_PARTS) {
      int64_t part = (fused->reduced.count + gen->parts - 1) / gen->parts;
      fits = fits && add_word(gen, (part + 3) / 4 * 4, "c", -1, -1);
      if (gen->form == TSRI_FORM_COLUMN) fits = fits && add_word(gen, gen->parts, "slices", -1, -1);
    }
    fits = fits && (!reads_inner || add_extent(gen, &fused->reduced, TSRI_INNER, "e", "u"));
  }
  if (gen->form == TSRI_FORM_ROWS) fits = fits && add_word(gen, fused->kept.dims[fused->kept.rank - 1], "w", -1, -1);
  if (reads_inner) {
    fits = fits && add_extent(gen, &fused->kept, fused->heavy ? TSRI_INNER : TSRI_OUTER, "d", "t");
  }
  return fits && add_bases(gen) && add_scalars(gen);
}

static void put_key(tsri_codegen *gen, uint32_t word) {
  if (gen->key_words < TSRI_MAX_KEY_WORDS) gen->key[gen->key_words++] = word;
}

static uint32_t stride_class(int64_t stride) { return stride == 0 ? 0u : stride == 1 ? 1u : 2u; }

static void put_extent_key(tsri_codegen *gen, const tsri_extent *extent) {
  put_key(gen, (uint32_t)extent->rank);
  for (uint32_t leaf = 0; leaf < gen->fused->leaf_count; leaf++) {
    uint32_t classes = 0;
    for (int i = 0; i < extent->rank; i++) classes = classes << 2 | stride_class(extent->strides[leaf][i]);
    put_key(gen, classes);
  }
}

// Members are identified by their place in the fusion, so that equal fusions have equal keys.
static void put_node_key(tsri_codegen *gen, uint32_t place) {
  const tsri_plan *plan = gen->fused->plan;
  const tsri_planned *planned = &plan->nodes[plan->members[gen->fused->fusion->first + place]];
  const tsri_node *node = planned->node;
  uint64_t op = (uint64_t)(uintptr_t)node->op;
  put_key(gen, (uint32_t)op);
  put_key(gen, (uint32_t)(op >> 32));
  put_key(gen, (uint32_t)node->dtype | (uint32_t)planned->space << 8 | node->input_count << 16);
  if (node->op->kind == TSRI_OP_KERNEL) return;  // op->run binds its inputs itself
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t from = tsri_fused_leaf(gen->fused, place, i);
    if (from == TSRI_NONE) from = 0x100u | tsri_fused_place(gen->fused, tsri_plan_number(plan, node->inputs[i].value));
    put_key(gen, from | (uint32_t)node->inputs[i].dtype << 16 | (uint32_t)node->inputs[i].as << 24);
  }
}

bool tsri_codegen_is_by_axis(const tsri_codegen *gen, uint32_t leaf, tsri_one_axis *out_axis) {
  const tsri_leaf *read = &gen->fused->leaves[leaf];
  bool is_after = gen->form == TSRI_FORM_HOOK && gen->fused->heavy && read->space == TSRI_OUTER;
  return is_after && tsri_is_by_axis(gen->fused->heavy, &read->layout, out_axis);
}

// How a leaf is indexed in a fusion with a heavy node. 0: it is a single element. 1: by the linear index. 2: by column. 3: by one axis. 4: by one axis, with
// the same index for all four elements of a quad.
static uint32_t order_class(const tsri_codegen *gen, uint32_t leaf) {
  const tsri_layout *layout = &gen->fused->leaves[leaf].layout;
  int64_t low = 0, high = 0;
  tsri_one_axis axis;
  if (tsri_codegen_is_by_axis(gen, leaf, &axis)) return axis.inner % 4 == 0 ? 4u : 3u;
  tsri_layout_span(layout, &low, &high);
  return low == high ? 0u : tsri_layout_is_contiguous(layout) ? 1u : 2u;
}

static tsr_status make_key(tsri_codegen *gen) {
  const tsri_fused *fused = gen->fused;
  gen->key_words = 0;
  put_key(gen, UINT32_MAX);  // no key of an embedded kernel begins like this
  put_key(gen,
          (uint32_t)gen->form | (uint32_t)gen->stage << 8 | fused->leaf_count << 16 | (fused->heavy ? 1u << 24 : 0));
  put_key(gen, gen->lanes | gen->team << 8 | gen->slices << 16 | (gen->is_shifted ? (gen->wide_leaf + 1) << 24 : 0));
  put_key(gen, (uint32_t)tsri_codegen_group(gen) |
                   (fused->heavy ? (uint32_t)TSRI_TUNED(gen->tuning, reduce_unroll) << 16 : 0) | gen->row_length << 24 |
                   (gen->is_carried ? 1u << 31 : 0));
  put_extent_key(gen, &fused->kept);
  if (fused->heavy) put_extent_key(gen, &fused->reduced);
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    // In a fusion with a heavy node, leaves are indexed as order_class says, which does not follow from their strides over the extents.
    uint32_t order = fused->heavy ? order_class(gen, i) : gen->is_carried && tsri_codegen_is_in_order(gen, i) ? 1u : 0;
    put_key(gen, (uint32_t)fused->leaves[i].dtype | (gen->has_base[i] ? 256u : 0) |
                     (uint32_t)fused->leaves[i].space << 9 | (gen->in_place_leaf == i ? 1u << 10 : 0) | order << 16 |
                     tsri_codegen_axis_leaf(gen, i) << 24);
  }
  for (uint32_t i = 0; i < fused->fusion->node_count; i++) put_node_key(gen, i);
  if (gen->key_words == TSRI_MAX_KEY_WORDS) return TSRI_FAIL(TSR_ERR_INTERNAL, "the key of a fused kernel is too long");
  return TSR_OK;
}

tsr_status tsri_codegen_prepare(tsri_codegen *gen) {
  gen->param_count = 0;
  tsri_codegen_choose_lanes(gen);
  if (gen->lanes > 1 && gen->form == TSRI_FORM_ROWS) gen->form = TSRI_FORM_SPREAD;
  if (!list_params(gen)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: a fused kernel would need more than %d parameters",
                     gen->fused->root->op->name, TSRI_MAX_KERNEL_PARAMS);
  }
  return make_key(gen);
}

void tsri_codegen_store(tsr_dtype dtype, double number, void *out) {
  if (dtype == TSR_U32) {
    uint32_t word = (uint32_t)(int64_t)number;
    memcpy(out, &word, sizeof word);
  } else if (dtype == TSR_F32) {
    float value = (float)number;  // as tsr_convert does, without the call
    memcpy(out, &value, sizeof value);
  } else if (dtype == TSR_BOOL) {
    uint32_t truth = number != 0;
    memcpy(out, &truth, sizeof truth);
  } else {
    (void)tsr_convert(dtype, out, TSR_F64, &number, 1);  // cannot fail: the dtype is valid
  }
}

void tsri_codegen_fill(const tsri_codegen *gen, const tsri_kernel *kernel, uint32_t first, uint64_t *block) {
  for (int i = 0; i < gen->param_count; i++) {
    const tsri_fused_param *param = &gen->params[i];
    char *to = (char *)block + kernel->params[first + (uint32_t)i].offset;
    if (param->is_scalar) tsri_codegen_store(param->dtype, param->number, to);
    else memcpy(to, &param->word, sizeof param->word);
  }
}

// --- Values ---------------------------------------------------------------------------------------------------------

void tsri_codegen_input(const tsri_codegen *gen, uint32_t place, uint32_t index, tsri_builder *builder) {
  const tsri_plan *plan = gen->fused->plan;
  const tsri_input *input = &plan->nodes[plan->members[gen->fused->fusion->first + place]].node->inputs[index];
  uint32_t leaf = tsri_fused_leaf(gen->fused, place, index);
  char name[16];
  if (leaf != TSRI_NONE) {
    snprintf(name, sizeof name, "in%u", leaf);
  } else {
    snprintf(name, sizeof name, "val%u", tsri_fused_place(gen->fused, tsri_plan_number(plan, input->value)));
  }
  if (input->as == input->dtype) tsri_builder_add(builder, "%s", name);
  else tsri_builder_add(builder, "%s(%s)", tsr_dtype_name(input->as), name);
}

static bool is_name_character(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Writes the operator's expression with its placeholders replaced (see tsri_op.expression).
static void put_expression(const tsri_codegen *gen, uint32_t place, int first_scalar, tsri_builder *builder) {
  const tsri_node *node = gen->fused->plan->nodes[gen->fused->plan->members[gen->fused->fusion->first + place]].node;
  char before = ' ';
  for (const char *at = node->op->expression; *at; before = *at++) {
    bool is_alone = !is_name_character(before) && !is_name_character(at[1]);
    if (*at == '$') {
      tsri_codegen_input(gen, place, (uint32_t)(at[1] - '0'), builder);
      at++;
    } else if (*at == '#') {
      tsri_builder_add(builder, "num%d", first_scalar + (at[1] - '0'));
      at++;
    } else if (*at == 'T' && is_alone) {
      tsri_builder_add(builder, "%s", tsri_codegen_type(node->inputs[0].as));
    } else if (*at == 'R' && is_alone) {
      tsri_builder_add(builder, "%s", tsri_codegen_type(node->dtype));
    } else {
      tsri_builder_put(builder, at, 1);
    }
  }
}

// Small integers wrap after every operator. f16 and bf16 are rounded only by operators that convert, and by stores.
static bool needs_conversion(const tsri_node *node) {
  bool is_small = tsri_ir_compute_dtype(node->dtype) != node->dtype && tsr_dtype_kind_of(node->dtype) != TSR_KIND_FLOAT;
  return is_small || node->inputs[0].as != node->dtype;
}

// Whether the node's result is computed in f32 and only stored as f16 or bf16. The store then rounds it, and rounding it before the store as well would take as
// many instructions again.
static bool is_rounded_by_store(const tsri_codegen *gen, uint32_t place, const tsri_node *node) {
  bool is_root = place == gen->fused->fusion->node_count - 1;
  return is_root && (node->dtype == TSR_F16 || node->dtype == TSR_BF16) &&
         tsri_ir_compute_dtype(node->inputs[0].as) == TSR_F32;
}

static void put_node(const tsri_codegen *gen, uint32_t place, int first_scalar, tsri_builder *builder,
                     const char *indent) {
  const tsri_planned *planned = &gen->fused->plan->nodes[gen->fused->plan->members[gen->fused->fusion->first + place]];
  const tsri_node *node = planned->node;
  tsri_builder_add(builder, "%s%s val%u = ", indent, tsri_codegen_type(node->dtype), place);
  bool converts = needs_conversion(node) && !is_rounded_by_store(gen, place, node);
  if (converts) tsri_builder_add(builder, "%s(", tsr_dtype_name(node->dtype));
  put_expression(gen, place, first_scalar, builder);
  tsri_builder_add(builder, "%s;\n", converts ? ")" : "");
}

void tsri_codegen_nodes(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent) {
  const tsri_plan *plan = gen->fused->plan;
  int scalars = 0;
  for (uint32_t i = 0; i < gen->fused->fusion->node_count; i++) {
    const tsri_planned *planned = &plan->nodes[plan->members[gen->fused->fusion->first + i]];
    int first = scalars;
    scalars += (int)tsri_node_scalars(planned->node)->count;
    if (planned->space == space && planned->node != gen->fused->heavy) put_node(gen, i, first, builder, indent);
  }
}

void tsri_codegen_leaves(const tsri_codegen *gen, tsri_space space, tsri_index_fn index, tsri_builder *builder,
                         const char *indent) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    if (leaf->space != space) continue;
    tsri_builder_add(builder, "%s%s in%u = leaf%u[", indent, tsri_codegen_type(leaf->dtype), i, i);
    index(gen, i, builder);
    tsri_builder_add(builder, "];\n");
  }
}

void tsri_codegen_steps(const tsri_extent *extent, uint32_t leaf, char axis, tsri_builder *builder) {
  char step = axis == 'r' ? 'u' : 't';
  for (int i = 0; i < extent->rank; i++) {
    int64_t stride = extent->strides[leaf][i];
    if (stride == 1) tsri_builder_add(builder, " + %c%d", axis, i);
    else if (stride != 0) tsri_builder_add(builder, " + %c%d * %c%u_%d", axis, i, step, leaf, i);
  }
}

void tsri_codegen_unravel(const tsri_extent *extent, char axis, const char *from, tsri_builder *builder,
                          const char *indent) {
  char size = axis == 'r' ? 'e' : 'd';
  if (extent->rank == 0) return;
  if (extent->rank > 1) tsri_builder_add(builder, "%su32 q%c = %s;\n", indent, axis, from);
  for (int i = extent->rank - 1; i > 0; i--) {
    tsri_builder_add(builder, "%su32 %c%d = q%c %% %c%d;\n%sq%c = q%c / %c%d;\n", indent, axis, i, axis, size, i,
                     indent, axis, axis, size, i);
  }
  if (extent->rank > 1) tsri_builder_add(builder, "%su32 %c0 = q%c;\n", indent, axis, axis);
  else tsri_builder_add(builder, "%su32 %c0 = %s;\n", indent, axis, from);
}

// --- Element-wise kernels -------------------------------------------------------------------------------------------

static void put_index(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  if (gen->has_base[leaf]) tsri_builder_add(builder, "at%u", leaf);
  else tsri_builder_add(builder, "0");
  tsri_codegen_steps(&gen->fused->kept, leaf, 'i', builder);
}

void tsri_codegen_helpers(const tsri_codegen *gen, tsri_builder *builder) {
  const tsri_plan *plan = gen->fused->plan;
  const uint32_t *members = plan->members + gen->fused->fusion->first;
  for (uint32_t i = 0; i < gen->fused->fusion->node_count; i++) {
    const char *helper = plan->nodes[members[i]].node->op->helper;
    if (!helper) continue;
    bool is_new = true;
    for (uint32_t j = 0; j < i && is_new; j++) {
      const char *earlier = plan->nodes[members[j]].node->op->helper;
      is_new = !earlier || strcmp(earlier, helper) != 0;
    }
    size_t bytes = 0;
    const char *text = is_new ? tsri_embedded_text(helper, &bytes) : NULL;
    if (text) tsri_builder_put(builder, text, bytes);
  }
}

void tsri_codegen_param_name(const tsri_fused_param *param, tsri_builder *builder) {
  tsri_builder_add(builder, "%s", param->stem);
  if (param->first >= 0) tsri_builder_add(builder, "%d", param->first);
  if (param->second >= 0) tsri_builder_add(builder, "_%d", param->second);
}

// Writes ", u32 n, u32 t0_1, f32 num0": the parameters, as the continuation of a parameter list.
static void put_params(const tsri_codegen *gen, tsri_builder *builder) {
  for (int i = 0; i < gen->param_count; i++) {
    tsri_builder_add(builder, ", %s ", tsr_dtype_name(gen->params[i].dtype));
    tsri_codegen_param_name(&gen->params[i], builder);
  }
}

enum { OUTPUT_NAME_BYTES = 16 };

// The name of the parameter that the results are stored in: "y", or that of the leaf which they replace.
static const char *output_name(const tsri_codegen *gen, char name[OUTPUT_NAME_BYTES]) {
  if (gen->in_place_leaf == TSRI_NONE) return "y";
  snprintf(name, OUTPUT_NAME_BYTES, "leaf%u", gen->in_place_leaf);
  return name;
}

static void put_head(const tsri_codegen *gen, tsri_builder *builder) {
  const tsri_fused *fused = gen->fused;
  char output[OUTPUT_NAME_BYTES];
  tsri_codegen_helpers(gen, builder);
  tsri_builder_add(builder, "kernel fused<WG = %d>(", tsri_codegen_group(gen));
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (!tsri_codegen_reads(gen, i) || i == gen->in_place_leaf) continue;
    tsri_builder_add(builder, "in %s leaf%u[], ", tsr_dtype_name(fused->leaves[i].dtype), i);
  }
  if (gen->stage == TSRI_STAGE_TOTAL)
    tsri_builder_add(builder, "in %s p[], ", tsr_dtype_name(tsri_codegen_part_dtype(gen)));
  tsr_dtype result = gen->stage == TSRI_STAGE_PARTS ? tsri_codegen_part_dtype(gen) : fused->root->dtype;
  tsri_builder_add(builder, "%s %s %s[]", gen->in_place_leaf == TSRI_NONE ? "out" : "inout", tsr_dtype_name(result),
                   output_name(gen, output));
  put_params(gen, builder);
  tsri_builder_add(builder, ") {\n");
}

static void put_body(const tsri_codegen *gen, const char *where, tsri_builder *builder, const char *indent) {
  char output[OUTPUT_NAME_BYTES];
  tsri_codegen_leaves(gen, TSRI_OUTER, put_index, builder, indent);
  tsri_codegen_nodes(gen, TSRI_OUTER, builder, indent);
  tsri_builder_add(builder, "%s%s[%s] = %s(val%u);\n", indent, output_name(gen, output), where,
                   tsr_dtype_name(gen->fused->root->dtype), gen->fused->fusion->node_count - 1);
}

static void put_rows(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_extent outer = gen->fused->kept;  // all axes but the last
  int last = --outer.rank;
  tsri_builder_add(builder,
                   "  u32 i%d = global.x;\n  u32 rows = n / w;\n  for (u32 o = group.y; o < rows; o += groups.y) {\n",
                   last);
  tsri_codegen_unravel(&outer, 'i', "o", builder, "    ");
  tsri_builder_add(builder, "    if (i%d < w) {\n", last);
  char where[24];
  snprintf(where, sizeof where, "o * w + i%d", last);
  put_body(gen, where, builder, "      ");
  tsri_builder_add(builder, "    }\n  }\n");
}

// Writes the reads, operators and stores of all vectors of a work item.
static void put_vectors(const tsri_codegen *gen, tsri_builder *builder) {
  const char *type = tsri_codegen_type(gen->fused->root->dtype);
  uint32_t width = gen->width, count = gen->lanes / width;
  char output[OUTPUT_NAME_BYTES], first[16];
  snprintf(first, sizeof first, "v * %u", width);
  tsri_codegen_parts(gen, TSRI_OUTER, builder, "    ");
  tsri_builder_add(builder, "    unroll for (u32 v = 0; v < %u; v++) {\n      u32 i = start + v * (WG * %uu);\n", count,
                   width);
  if (gen->is_carried) {
    tsri_codegen_carried_leaves(gen, first, put_index, builder, "      ");
  } else {
    tsri_codegen_unravel(&gen->fused->kept, 'i', "i", builder, "      ");
    tsri_codegen_vector_leaves(gen, TSRI_OUTER, first, put_index, builder, "      ");
  }
  tsri_builder_add(builder, "    }\n    %s done[%u];\n    unroll for (u32 lane = 0; lane < %u; lane++) {\n", type,
                   gen->lanes, gen->lanes);
  tsri_codegen_lane_leaves(gen, TSRI_OUTER, builder, "      ");
  tsri_codegen_nodes(gen, TSRI_OUTER, builder, "      ");
  tsri_builder_add(builder, "      done[lane] = val%u;\n    }\n    unroll for (u32 v = 0; v < %u; v++) {\n",
                   gen->fused->fusion->node_count - 1, count);
  if (width == 1) {
    tsri_builder_add(builder, "      %s[start + v * WG] = %s(done[v]);\n    }\n", output_name(gen, output), type);
    return;
  }
  // store4 and store2 convert to the result's dtype.
  tsri_builder_add(builder, "      store%u(%s, start + v * (WG * %uu), %sx%u(", width, output_name(gen, output), width,
                   type, width);
  for (uint32_t j = 0; j < width; j++) tsri_builder_add(builder, "%sdone[%s + %u]", j ? ", " : "", first, j);
  tsri_builder_add(builder, "));\n    }\n");
}

// Several elements per work item. A work item whose vectors are not all inside the result computes its elements one by one, up to element n.
static void put_wide(const tsri_codegen *gen, tsri_builder *builder) {
  uint32_t width = gen->width, count = gen->lanes / width;
  tsri_builder_add(builder,
                   "  u32 start = ((group.y * groups.x + group.x) * (WG * %uu) + local.x) * %uu;\n"
                   "  if (start + WG * %uu + %uu < n) {\n",
                   count, width, (count - 1) * width, width - 1);
  put_vectors(gen, builder);
  tsri_builder_add(builder,
                   "  } else {\n    for (u32 v = 0; v < %u; v++) {\n    u32 first = start + v * (WG * %uu);\n"
                   "    for (u32 i = first; i < min(first + %uu, n); i++) {\n",
                   count, width, width);
  tsri_codegen_unravel(&gen->fused->kept, 'i', "i", builder, "      ");
  put_body(gen, "i", builder, "      ");
  tsri_builder_add(builder, "    }\n    }\n  }\n");
}

void tsri_codegen_text(const tsri_codegen *gen, tsri_builder *builder) {
  put_head(gen, builder);
  if (gen->fused->heavy) {
    tsri_codegen_reduce_text(gen, builder);
  } else if (gen->form == TSRI_FORM_ROWS) {
    put_rows(gen, builder);
  } else if (gen->lanes > 1) {
    put_wide(gen, builder);
  } else {
    // Work-groups beyond the device's limit in x continue in y (fold_groups).
    tsri_builder_add(builder, "  u32 i = group.y * (groups.x * WG) + global.x;\n  if (i < n) {\n");
    tsri_codegen_unravel(&gen->fused->kept, 'i', "i", builder, "    ");
    put_body(gen, "i", builder, "    ");
    tsri_builder_add(builder, "  }\n");
  }
  tsri_builder_add(builder, "}\n");
}
