// SPDX-License-Identifier: MIT
// Code generation: turns a fusion into kernel text, the key of the kernel in the device's cache, and the kernel's
// parameters.
#ifndef TSRI_CODEGEN_H
#define TSRI_CODEGEN_H

#include "core/builder.h"
#include "graph/fused.h"
#include "graph/tuning.h"
#include "lang/ir/ir.h"

// Reductions of fewer elements than this are computed sequentially, by one work item per result, unless a team shares them.
enum { TSRI_SHORT_REDUCTION = 32 };

typedef enum tsri_form {
  TSRI_FORM_FLAT,    // element-wise, one axis: one work item per element
  TSRI_FORM_ROWS,    // element-wise: work items along the last axis, each loops over the other axes
  TSRI_FORM_SPREAD,  // element-wise: one work item per element, which computes its index on every axis
  TSRI_FORM_ROW,     // reduction: one work-group, or a team of its items, per result; they share the reduced axes
  TSRI_FORM_COLUMN,  // reduction: one work item per result
  TSRI_FORM_HOOK     // in the load and store hooks of an operator's own kernel (epilogue.h)
} tsri_form;

// A long reduction with few results runs as two kernels: the first reduces parts (PARTS), the second reduces the parts
// to the results (TOTAL). All others run as one (WHOLE).
typedef enum tsri_reduce_stage { TSRI_STAGE_WHOLE, TSRI_STAGE_PARTS, TSRI_STAGE_TOTAL } tsri_reduce_stage;

enum { TSRI_MAX_KERNEL_PARAMS = 60, TSRI_MAX_KEY_WORDS = 768, TSRI_MAX_LANES = 16 };

// A scalar parameter of the kernel. tsri_codegen.params lists them in the order of the kernel's parameter list.
typedef struct tsri_fused_param {
  // The name consists of `stem`, `first` and `second`, such as "t0_1"; it is formatted only when text is written.
  const char *stem;
  int first, second;  // -1: not part of the name
  tsr_dtype dtype;
  bool is_scalar;  // true: a scalar of a node. false: a size, a stride or an offset, of dtype u32
  uint32_t word;   // the value if is_scalar is false
  double number;   // the value if is_scalar is true; it is converted to `dtype`
} tsri_fused_param;

typedef struct tsri_codegen {
  const tsri_fused *fused;
  const tsri_tuning *tuning;
  tsri_form form;
  tsri_reduce_stage stage;
  // How many parts a reduction in two stages has.
  uint32_t parts;
  // TSRI_FORM_ROW: work items that share a result, a part of a subgroup. 0: the whole work-group.
  uint32_t team;
  // TSRI_FORM_COLUMN: into how many contiguous ranges (slices) the reduced rows of each result are divided; each is reduced by another item of the work-group.
  // 1: one item reduces all rows of a result.
  uint32_t slices;
  // Leaf i begins at element base[i] of its binding; has_base[i] is false if that is 0.
  bool has_base[TSRI_MAX_LEAVES];
  uint32_t base[TSRI_MAX_LEAVES];
  // Index of the first result in the output buffer.
  int64_t output_at;
  // The leaf whose elements the result replaces: the kernel has one `inout` parameter for both. TSRI_NONE: none. Element-wise forms only.
  uint32_t in_place_leaf;
  // Elements per work item, in vectors of `width` neighbours on the last axis (in TSRI_FORM_ROW: the last reduced axis);
  // consecutive vectors of an item are width * WG elements apart. 1: scalar.
  uint32_t lanes;
  // Elements that are loaded and stored at a time where lanes > 1: 4 (a quad), or fewer in element-wise kernels with results of 8 bytes (vector_width).
  uint32_t width;
  // is_shifted: TSRI_FORM_ROW with lanes, where a row may begin at any element: up to three elements are read one by one before the first quad, so that quads
  // are aligned. wide_leaf: the leaf from whose index the kernel computes how many these are. All leaves that are read in quads have the same alignment in
  // each row.
  bool is_shifted;
  uint32_t wide_leaf;
  // TSRI_FORM_COLUMN with four lanes: number of elements of a short row, if rows follow each other without gaps in memory, so that a work item reads its four
  // rows in quads. 0: not such a kernel.
  uint32_t row_length;
  // Element-wise with lanes: a vector is `width` neighbouring elements of the result and may continue in the next row.
  bool is_carried;
  int param_count;
  tsri_fused_param params[TSRI_MAX_KERNEL_PARAMS];
  size_t key_words;
  uint32_t key[TSRI_MAX_KEY_WORDS];
} tsri_codegen;

// Chooses form and stage for `fused` and sets the bases to 0. `tuning` must outlive `*out`.
void tsri_codegen_init(const tsri_fused *fused, const tsri_tuning *tuning, tsri_codegen *out);

// Chooses the lanes, lists the parameters and makes the key. Call it once bases, stage and output_at are set.
//
// Errors: TSR_ERR_UNSUPPORTED (too many parameters; the caller copies strided inputs into row-major order and tries
// again).
tsr_status tsri_codegen_prepare(tsri_codegen *gen);

// Writes the kernel's text. builder->has_failed tells that host memory ran out.
void tsri_codegen_text(const tsri_codegen *gen, tsri_builder *builder);

// Stores the values of gen->params in `block`, the parameter block of `kernel`. gen->params[i] is parameter first + i of the kernel.
void tsri_codegen_fill(const tsri_codegen *gen, const tsri_kernel *kernel, uint32_t first, uint64_t *block);

// Converts a scalar of a node to the dtype of its parameter (tsri_ir_compute_dtype) and stores it at `out`.
void tsri_codegen_store(tsr_dtype dtype, double number, void *out);

// Number of work-groups to launch, before launch.c folds it to the device's limits.
void tsri_codegen_groups(const tsri_codegen *gen, uint64_t *out_x, uint64_t *out_y);

// The dtype in which the parts of a reduction are stored.
tsr_dtype tsri_codegen_part_dtype(const tsri_codegen *codegen);

// --- Shared by the files that write text -----------------------------------------------------------------------------

// Writes a declaration "val3 = …" for each node of one space. The leaves of that space must have been read into in0,
// in1, …
void tsri_codegen_nodes(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

// Writes "val3" or "in1" with the conversion that input `index` of the member at `place` needs.
void tsri_codegen_input(const tsri_codegen *gen, uint32_t place, uint32_t index, tsri_builder *builder);

// Writes a declaration "in1 = leaf1[…]" for each leaf of a space; `index` writes the index expression.
typedef void (*tsri_index_fn)(const tsri_codegen *codegen, uint32_t leaf, tsri_builder *builder);
void tsri_codegen_leaves(const tsri_codegen *gen, tsri_space space, tsri_index_fn index, tsri_builder *builder,
                         const char *indent);

// Writes " + i1 * t0_1" …: the offset of a leaf's element, summed over the axes of an extent. `axis` is the letter of
// the index variables.
void tsri_codegen_steps(const tsri_extent *extent, uint32_t leaf, char axis, tsri_builder *builder);

// Declares i0, i1, … (the letter is `axis`): the indices on the extent's axes of the linear index `from`.
void tsri_codegen_unravel(const tsri_extent *extent, char axis, const char *from, tsri_builder *builder,
                          const char *indent);

// "f32": the type in which values of a dtype are computed.
const char *tsri_codegen_type(tsr_dtype dtype);

// The conversion applied to the result of a heavy node before other operators read it. 8-bit and 16-bit integers wrap
// to their dtype as a store would do ("i16"); f16 and bf16 keep the type they are computed in ("f32").
const char *tsri_codegen_result(tsr_dtype dtype);

// The number of work items in a work-group.
int tsri_codegen_group(const tsri_codegen *gen);

// Sets the number of lanes that strides, bases and the device's tuning allow, is_shifted and wide_leaf (codegen_wide.c).
void tsri_codegen_choose_lanes(tsri_codegen *gen);

// Whether a leaf has different elements in different lanes: its stride on the lanes' axis is 1. Otherwise it is 0.
bool tsri_codegen_is_wide(const tsri_codegen *codegen, uint32_t leaf);

// Whether a leaf of an element-wise kernel has its elements in the order of the result, from a multiple of gen->width on.
bool tsri_codegen_is_in_order(const tsri_codegen *gen, uint32_t leaf);

// As tsri_codegen_vector_leaves, for element-wise kernels with gen->is_carried. The written text changes the index variables i0, i1, …
void tsri_codegen_carried_leaves(const tsri_codegen *gen, const char *first, tsri_index_fn index, tsri_builder *builder,
                                 const char *indent);

// Declares part0[lanes], part1[lanes], …, which hold the elements of the space's leaves.
void tsri_codegen_parts(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

// Writes the reads of gen->width neighbouring elements of each leaf into part0[first …], part1[first …], …; `first` is a constant expression.
void tsri_codegen_vector_leaves(const tsri_codegen *gen, tsri_space space, const char *first, tsri_index_fn index,
                                tsri_builder *builder, const char *indent);

// Inside a loop over `lane`, writes in0 = part0[lane], in1 = part1[lane], …
void tsri_codegen_lane_leaves(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

void tsri_codegen_reduce_text(const tsri_codegen *gen, tsri_builder *builder);

// Writes a parameter's name, such as "t0_1".
void tsri_codegen_param_name(const tsri_fused_param *param, tsri_builder *builder);

// Writes the helper functions that the fusion's operators call.
void tsri_codegen_helpers(const tsri_codegen *gen, tsri_builder *builder);

// Whether a store hook indexes the leaf by one axis (tsri_is_by_axis). The kernel then has the parameters inner<i> and size<i>.
bool tsri_codegen_is_by_axis(const tsri_codegen *gen, uint32_t leaf, tsri_one_axis *out_axis);

// The leaf i whose parameters inner<i> and size<i> this leaf uses: the first leaf with the same axis, so that a compiler sees that both have the same index.
uint32_t tsri_codegen_axis_leaf(const tsri_codegen *gen, uint32_t leaf);

// Whether the reduction is argmax or argmin, whose result is an index.
bool tsri_codegen_is_arg(const tsri_codegen *codegen);

// Changes `codegen` from the first stage of a two-stage reduction (TSRI_STAGE_PARTS) to the second (TSRI_STAGE_TOTAL): sets the form, and how work items share
// the parts of a result.
void tsri_codegen_total(tsri_codegen *codegen);

// Whether the kernel of this stage reads a leaf: TSRI_STAGE_WHOLE reads all, TSRI_STAGE_PARTS the inner ones (before
// the reduction), TSRI_STAGE_TOTAL the outer ones (after it), and all if its parts are indices.
static inline bool tsri_codegen_reads(const tsri_codegen *codegen, uint32_t leaf) {
  bool is_inner = codegen->fused->leaves[leaf].space == TSRI_INNER, is_total = codegen->stage == TSRI_STAGE_TOTAL;
  if (codegen->stage == TSRI_STAGE_WHOLE || (is_total && tsri_codegen_is_arg(codegen))) return true;
  return is_inner == !is_total;
}

#endif
