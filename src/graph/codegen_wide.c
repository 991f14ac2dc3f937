// SPDX-License-Identifier: MIT
// Kernel text for several neighbouring elements per work item (lanes): when it can be used, and how leaves are then
// read.
//
// Lanes are loaded and stored in vectors of gen->width elements: 4 (quads), 2 or 1.
//
// A leaf with stride 1 along the lanes' axis is read by load4 or load2, which needs indices that are multiples of the width: its
// base and its strides on all other axes must be such multiples. A leaf with stride 0 there is read once for all lanes. A
// leaf with a small stride (a slice with a step) is read element by element: its cache lines are read anyway, and
// several loads are in flight together.
//
// If the last axis of an element-wise kernel is not a multiple of the width, a vector may continue in the next row of the result (is_carried).
#include "graph/codegen.h"

// The axis along which lanes are neighbours, which is axis `axis` of the extent `near`. For reductions, `other` is the extent with the remaining axes.
typedef struct lane_axis {
  const tsri_extent *near, *other;  // `other` NULL: none
  int axis;
} lane_axis;

static lane_axis axis_of(const tsri_codegen *gen) {
  const tsri_fused *fused = gen->fused;
  if (gen->form == TSRI_FORM_ROW) return (lane_axis){&fused->reduced, &fused->kept, fused->reduced.rank - 1};
  return (lane_axis){&fused->kept, fused->heavy ? &fused->reduced : NULL, fused->kept.rank - 1};
}

static tsri_space space_of(const tsri_codegen *gen) { return gen->fused->heavy ? TSRI_INNER : TSRI_OUTER; }

bool tsri_codegen_is_wide(const tsri_codegen *gen, uint32_t leaf) {
  lane_axis lanes = axis_of(gen);
  return lanes.near->strides[leaf][lanes.axis] == 1;
}

// gen->width. A GPU loads and stores at most 16 bytes at a time, so quads of 8-byte elements are stored in two halves, and each store of a subgroup writes
// every other half of a sector of 32 bytes. A cast of 81.5 million f16 to i64 takes 361 us so on an H200, and 212 in pairs. Loads suffer less, because the
// first-level cache has the other halves: quads are kept where the result is narrower. Where elements are numbered along one axis, items have single elements:
// remainders of 69 million f64 take 399 us for 466 in pairs, exp2 of 2.9 million 12.6 for 16.5, although cos of 67 million takes 290 for 256. Otherwise an
// index would have to be divided for each element.
static uint32_t vector_width(const tsri_codegen *gen) {
  if (gen->fused->heavy || tsr_dtype_bytes(gen->fused->root->dtype) < 8) return 4;
  return gen->fused->kept.rank <= 1 ? 1 : 2;
}

static bool is_by_width(const tsri_codegen *gen, const tsri_extent *extent, uint32_t leaf, int except) {
  for (int i = 0; i < extent->rank; i++) {
    if (i != except && extent->strides[leaf][i] % gen->width != 0) return false;
  }
  return true;
}

// Whether the leaf's first element in its binding can be that of a vector.
static bool base_allows(const tsri_codegen *gen, uint32_t leaf) {
  return !gen->has_base[leaf] || gen->base[leaf] % gen->width == 0;
}

static bool leaf_allows(const tsri_codegen *gen, const lane_axis *lanes, uint32_t leaf) {
  enum { MOST_STEP = 4 };
  int64_t step = lanes->near->strides[leaf][lanes->axis];
  if (step == 0 || (step > 1 && step <= MOST_STEP)) return true;
  if (step != 1 || !base_allows(gen, leaf)) return false;
  return is_by_width(gen, lanes->near, leaf, lanes->axis) &&
         (!lanes->other || is_by_width(gen, lanes->other, leaf, -1));
}

// Element size of the narrowest array, leaf or result, that has a different element in each lane; 0 if a leaf does not
// allow lanes.
static size_t narrowest(const tsri_codegen *gen, const lane_axis *lanes) {
  const tsri_fused *fused = gen->fused;
  size_t least = fused->heavy ? 0 : tsr_dtype_bytes(fused->root->dtype);
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (fused->leaves[i].space != space_of(gen)) continue;
    if (!leaf_allows(gen, lanes, i)) return 0;
    bool is_apart = fused->heavy && lanes->near->strides[i][lanes->axis] != 0;
    if (!tsri_codegen_is_wide(gen, i) && !is_apart) continue;
    size_t bytes = tsr_dtype_bytes(fused->leaves[i].dtype);
    if (least == 0 || bytes < least) least = bytes;
  }
  return least;
}

static uint32_t elementwise_lanes(const tsri_codegen *gen, size_t bytes) {
  // Limit for operators times lanes: text and registers grow with both.
  enum { MOST_COPIES = 96 };
  uint32_t lanes = (uint32_t)TSRI_TUNED(gen->tuning, fused_bytes) / (uint32_t)bytes,
           nodes = gen->fused->fusion->node_count;
  if (gen->width == 1) return 4;
  if (lanes > TSRI_MAX_LANES) lanes = TSRI_MAX_LANES;
  while (lanes > 4 && lanes * nodes > MOST_COPIES) lanes /= 2;
  return lanes < 4 ? 4 : lanes / 4 * 4;
}

static uint32_t aligned_lanes(const tsri_codegen *gen) {
  bool is_reduction = gen->fused->heavy != NULL;
  bool is_wanted = is_reduction ? TSRI_TUNED(gen->tuning, reduce_wide) != 0 : TSRI_TUNED(gen->tuning, fused_bytes) > 0;
  if (!is_wanted || gen->form == TSRI_FORM_HOOK || gen->stage == TSRI_STAGE_TOTAL) return 1;
  lane_axis axis = axis_of(gen);
  if (axis.axis < 0 || gen->output_at % gen->width != 0) return 1;
  size_t bytes = narrowest(gen, &axis);
  if (bytes == 0) return 1;
  bool has_vectors = axis.near->rank == 1 || axis.near->dims[axis.axis] % gen->width == 0;
  if (!is_reduction) return has_vectors ? elementwise_lanes(gen, bytes) : 1;
  // The generated kernel has a scalar tail loop only for rank-1 rows, so otherwise the axis must be a multiple of 4.
  bool is_whole = axis.near->dims[axis.axis] % 4 == 0 || (gen->form == TSRI_FORM_ROW && axis.near->rank == 1);
  return is_whole ? 4 : 1;
}

bool tsri_codegen_is_in_order(const tsri_codegen *gen, uint32_t leaf) {
  const tsri_extent *kept = &gen->fused->kept;
  int64_t next = 1;
  for (int i = kept->rank - 1; i >= 0; next *= kept->dims[i--]) {
    if (kept->dims[i] != 1 && kept->strides[leaf][i] != next) return false;
  }
  return base_allows(gen, leaf);
}

// The number of lanes of an element-wise kernel whose rows are not multiples of the width, or do not begin at multiples of it: vectors continue from one
// row to the next (is_carried). Leaves in the order of the result are read in vectors, the others element by element. 1: the kernel cannot be of this kind. With
// one element per item, kernels take up to twice as long: 10000 x 777 plus a row takes 17.4 us in f32 on an H200 (35.5 with one element) and 9.8 us in bf16
// (27.0); 8 x 16 x 333 x 333 of f64 plus a row takes 62.5 us (83.6).
static uint32_t carried_lanes(const tsri_codegen *gen) {
  enum { MOST_STEP = 4 };
  const tsri_fused *fused = gen->fused;
  const tsri_extent *kept = &fused->kept;
  bool is_form = gen->form == TSRI_FORM_ROWS || gen->form == TSRI_FORM_SPREAD;
  if (fused->heavy || !is_form || kept->rank == 0 || TSRI_TUNED(gen->tuning, fused_bytes) == 0 ||
      gen->output_at % gen->width != 0)
    return 1;
  size_t least = tsr_dtype_bytes(fused->root->dtype);
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    bool is_in_order = tsri_codegen_is_in_order(gen, i);
    int64_t step = kept->strides[i][kept->rank - 1];
    if (!is_in_order && (step < 0 || step > MOST_STEP)) return 1;
    size_t bytes = tsr_dtype_bytes(fused->leaves[i].dtype);
    if (is_in_order && bytes < least) least = bytes;
  }
  return elementwise_lanes(gen, least);
}

// Whether the element indices of two leaves are equal modulo 4 at the beginning of every row.
static bool begin_alike(const tsri_codegen *gen, uint32_t a, uint32_t b) {
  const tsri_extent *kept = &gen->fused->kept;
  for (int i = 0; i < kept->rank; i++) {
    if ((kept->strides[a][i] - kept->strides[b][i]) % 4 != 0) return false;
  }
  return ((gen->has_base[a] ? gen->base[a] : 0) - (gen->has_base[b] ? gen->base[b] : 0)) % 4 == 0;
}

// Whether a reduction by work-groups, whose rows do not begin at multiples of four elements, can read quads from the first such multiple in each row on.
// `*out_wide_leaf` is set to a leaf from whose index the kernel computes that position.
static bool can_shift(const tsri_codegen *gen, uint32_t *out_wide_leaf) {
  const tsri_fused *fused = gen->fused;
  enum { NONE = TSRI_MAX_LEAVES, MOST_STEP = 4, FOR_PARTS = 2, NARROW_BYTES = 2 };
  int wanted = TSRI_TUNED(gen->tuning, reduce_wide);
  uint32_t wide = NONE;
  bool is_row = fused->heavy && gen->form == TSRI_FORM_ROW && gen->team == 0 && fused->reduced.rank == 1;
  if (!is_row || gen->stage == TSRI_STAGE_TOTAL || wanted == 0) return false;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (fused->leaves[i].space != TSRI_INNER) continue;
    int64_t step = fused->reduced.strides[i][0];
    if (step < 0 || step > MOST_STEP || (step == 1 && wide != NONE && !begin_alike(gen, wide, i))) return false;
    if (step == 1 && wide == NONE) wide = i;
  }
  if (wide == NONE) return false;
  *out_wide_leaf = wide;
  bool is_narrow = tsr_dtype_bytes(fused->leaves[wide].dtype) <= NARROW_BYTES;
  return gen->stage == TSRI_STAGE_WHOLE || is_narrow || wanted == FOR_PARTS;
}

// Whether the rows of a leaf follow each other without gaps, from a multiple of four elements on; or the leaf is a single element.
static bool leaf_is_packed(const tsri_codegen *gen, uint32_t leaf, int64_t length) {
  int64_t along = gen->fused->reduced.strides[leaf][0], across = gen->fused->kept.strides[leaf][0];
  if (along == 0 && across == 0) return true;
  return along == 1 && across == length && (!gen->has_base[leaf] || gen->base[leaf] % 4 == 0);
}

// tsri_codegen.row_length: an item that reduces four short packed rows reads them in quads, as many quads as a row has elements. 0: it reads single elements,
// which takes four times as many accesses. Sums of 3 * 10^7 rows of 3 f32 take 114 us with quads and 126 without, through Vulkan on an H200; sums of 2 * 10^7
// rows of 4 bf16 take 51 and 96. If four rows have more than FEW_BYTES, neighbouring items read different cache lines, and quads are slower: 10^7 rows of 7 f32
// take 89 us with quads and 77 without.
static uint32_t packed_row_length(const tsri_codegen *gen) {
  enum { FEW_BYTES = 64, MOST_QUADS = 8 };
  const tsri_fused *fused = gen->fused;
  bool is_column = fused->heavy && gen->form == TSRI_FORM_COLUMN && gen->stage == TSRI_STAGE_WHOLE && gen->slices == 1;
  if (!is_column || !TSRI_TUNED(gen->tuning, reduce_wide) || fused->kept.rank != 1 || fused->reduced.rank != 1)
    return 0;
  int64_t length = fused->reduced.count, quads = 0;
  if (length < 2 || fused->kept.count % 4 != 0 || gen->output_at % 4 != 0) return 0;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (fused->leaves[i].space != TSRI_INNER) continue;
    if (!leaf_is_packed(gen, i, length)) return 0;
    if (4 * length * (int64_t)tsr_dtype_bytes(fused->leaves[i].dtype) > FEW_BYTES) return 0;
    quads += length;
  }
  return quads <= MOST_QUADS ? (uint32_t)length : 0;
}

void tsri_codegen_choose_lanes(tsri_codegen *gen) {
  gen->width = vector_width(gen);
  gen->row_length = packed_row_length(gen);
  gen->lanes = gen->row_length ? 4 : aligned_lanes(gen);
  gen->is_shifted = gen->lanes == 1 && can_shift(gen, &gen->wide_leaf);
  if (gen->is_shifted) gen->lanes = 4;
  uint32_t carried = gen->lanes == 1 ? carried_lanes(gen) : 1;
  gen->is_carried = carried > 1;
  if (gen->is_carried) gen->lanes = carried;
}

// --- Text -----------------------------------------------------------------------------------------------------------

void tsri_codegen_parts(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    if (leaf->space != space) continue;
    tsri_builder_add(builder, "%s%s part%u[%u];\n", indent, tsri_codegen_type(leaf->dtype), i, gen->lanes);
  }
}

// Writes reads of gen->width single elements of a leaf, whose indices differ by its stride along the lanes' axis.
static void put_apart(const tsri_codegen *gen, uint32_t leaf, const char *first, tsri_index_fn index,
                      tsri_builder *builder, const char *indent) {
  lane_axis lanes = axis_of(gen);
  for (uint32_t j = 0; j < gen->width; j++) {
    tsri_builder_add(builder, "%spart%u[%s + %u] = leaf%u[", indent, leaf, first, j, leaf);
    index(gen, leaf, builder);
    tsri_builder_add(builder, " + %uu * %c%u_%d];\n", j, lanes.near == &gen->fused->reduced ? 'u' : 't', leaf,
                     lanes.axis);
  }
}

// Writes the copy of the variable read<leaf> to part<leaf>[first …]. is_wide: read<leaf> is a vector; otherwise it is one element, which is used for all
// gen->width.
static void put_read(const tsri_codegen *gen, tsri_builder *builder, uint32_t leaf, const char *first, bool is_wide,
                     const char *indent) {
  for (uint32_t j = 0; j < gen->width; j++) {
    tsri_builder_add(builder, "%spart%u[%s + %u] = read%u", indent, leaf, first, j, leaf);
    if (is_wide) tsri_builder_add(builder, ".%c", "xyzw"[j]);
    tsri_builder_add(builder, ";\n");
  }
}

// Writes the beginning of a vector's load, up to the index.
static void put_load(const tsri_codegen *gen, tsri_builder *builder, uint32_t leaf, const char *indent) {
  tsri_builder_add(builder, "%s%sx%u read%u = load%u(leaf%u, ", indent,
                   tsri_codegen_type(gen->fused->leaves[leaf].dtype), gen->width, leaf, gen->width, leaf);
}

void tsri_codegen_vector_leaves(const tsri_codegen *gen, tsri_space space, const char *first, tsri_index_fn index,
                                tsri_builder *builder, const char *indent) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    const char *type = tsri_codegen_type(leaf->dtype);
    if (leaf->space != space) continue;
    bool is_wide = tsri_codegen_is_wide(gen, i) && gen->width > 1;
    if (!is_wide && gen->width > 1 && axis_of(gen).near->strides[i][axis_of(gen).axis] != 0) {
      put_apart(gen, i, first, index, builder, indent);
      continue;
    }
    if (is_wide) put_load(gen, builder, i, indent);
    else tsri_builder_add(builder, "%s%s read%u = leaf%u[", indent, type, i, i);
    index(gen, i, builder);
    tsri_builder_add(builder, is_wide ? ");\n" : "];\n");
    put_read(gen, builder, i, first, is_wide, indent);
  }
}

// Writes the step of the index variables i0, i1, … to the next element of the result.
static void put_next(const tsri_extent *extent, tsri_builder *builder, const char *indent) {
  int last = extent->rank - 1;
  tsri_builder_add(builder, "%si%d++;\n", indent, last);
  for (int i = last; i > 0; i--) {
    tsri_builder_add(builder, "%sif (i%d == d%d) {\n%s  i%d = 0;\n%s  i%d++;\n%s}\n", indent, i, i, indent, i, indent,
                     i - 1, indent);
  }
}

void tsri_codegen_carried_leaves(const tsri_codegen *gen, const char *first, tsri_index_fn index, tsri_builder *builder,
                                 const char *indent) {
  const tsri_fused *fused = gen->fused;
  static const char *const inner = "        ";
  uint32_t apart = 0;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (!tsri_codegen_is_in_order(gen, i)) {
      apart++;
      continue;
    }
    put_load(gen, builder, i, indent);
    tsri_builder_add(builder, gen->has_base[i] ? "i + at%u);\n" : "i);\n", i);
    put_read(gen, builder, i, first, true, indent);
  }
  if (apart == 0) return;
  tsri_codegen_unravel(&fused->kept, 'i', "i", builder, indent);
  tsri_builder_add(builder, "%sunroll for (u32 k = 0; k < %u; k++) {\n", indent, gen->width);
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (tsri_codegen_is_in_order(gen, i)) continue;
    tsri_builder_add(builder, "%spart%u[%s + k] = leaf%u[", inner, i, first, i);
    index(gen, i, builder);
    tsri_builder_add(builder, "];\n");
  }
  put_next(&fused->kept, builder, inner);
  tsri_builder_add(builder, "%s}\n", indent);
}

void tsri_codegen_lane_leaves(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    if (leaf->space != space) continue;
    tsri_builder_add(builder, "%s%s in%u = part%u[lane];\n", indent, tsri_codegen_type(leaf->dtype), i, i);
  }
}
