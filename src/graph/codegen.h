// SPDX-License-Identifier: MIT
// From a fusion to kernel text, its cache key and its parameters.
#ifndef TSRI_CODEGEN_H
#define TSRI_CODEGEN_H

#include "core/builder.h"
#include "graph/fused.h"
#include "graph/tuning.h"
#include "lang/ir/ir.h"

// Reductions of fewer elements are made by one item for each result, element after element.
enum { TSRI_SHORT_REDUCTION = 32 };

typedef enum tsri_form {
  TSRI_FORM_FLAT,    // element-wise: one axis; an item per element
  TSRI_FORM_ROWS,    // element-wise: items along the last axis, a uniform loop over the others
  TSRI_FORM_SPREAD,  // element-wise: an item per element, which works out its own index on every axis
  TSRI_FORM_ROW,     // reduction: a work-group per result, its items along the reduced axes
  TSRI_FORM_COLUMN,  // reduction: an item per result
  TSRI_FORM_HOOK     // in the store of an operator's own kernel (epilogue.h)
} tsri_form;

// A long reduction with few results runs in two kernels: parts first, then the parts' sum.
typedef enum tsri_reduce_stage { TSRI_STAGE_WHOLE, TSRI_STAGE_PARTS, TSRI_STAGE_TOTAL } tsri_reduce_stage;

enum { TSRI_MAX_KERNEL_PARAMS = 60, TSRI_MAX_KEY_WORDS = 768, TSRI_MAX_LANES = 16 };

// A scalar parameter of the kernel, in the order of its parameter list.
typedef struct tsri_fused_param {
  const char *stem;   // the name is made of these only when text is written
  int first, second;  // -1: none
  tsr_dtype dtype;
  uint32_t word;  // dtype is u32
  double real;    // else: converted to dtype
} tsri_fused_param;

typedef struct tsri_codegen {
  const tsri_fused *fused;
  const tsri_tuning *tuning;
  tsri_form form;
  tsri_reduce_stage stage;
  uint32_t parts;                  // of a reduction in two stages
  bool has_base[TSRI_MAX_LEAVES];  // the leaf's first element is not at the start of its binding
  uint32_t base[TSRI_MAX_LEAVES];
  int64_t output_at;  // of the first result in what is bound
  // Elements per work item, in quads of 4 neighbours on the last axis (of the reduced ones in TSRI_FORM_ROW); consecutive quads of an
  // item are 4 * WG elements apart. 1: scalar.
  uint32_t lanes;
  int param_count;
  tsri_fused_param params[TSRI_MAX_KERNEL_PARAMS];
  size_t key_words;
  uint32_t key[TSRI_MAX_KEY_WORDS];
} tsri_codegen;

// Chooses form and stage for `fused`; bases are zero. `tuning` outlives the result.
void tsri_codegen_init(const tsri_fused *fused, const tsri_tuning *tuning, tsri_codegen *out);

// Chooses lanes, lists parameters and makes the key, once bases, stage and output_at are set.
//
// Errors: TSR_ERR_UNSUPPORTED (too many parameters: the caller packs the inputs and tries again; sizes beyond 32 bits).
tsr_status tsri_codegen_prepare(tsri_codegen *gen);

// The kernel's text. builder->has_failed: no memory.
void tsri_codegen_text(const tsri_codegen *gen, tsri_builder *builder);

// Puts the parameters' values into a kernel's parameter block; the first of them is the kernel's parameter number `first`.
void tsri_codegen_fill(const tsri_codegen *gen, const tsri_kernel *kernel, uint32_t first, uint64_t *block);

// Groups to launch, before folding to the device's limits.
void tsri_codegen_groups(const tsri_codegen *gen, uint64_t *out_x, uint64_t *out_y);

// The dtype in which parts are kept.
tsr_dtype tsri_codegen_part_dtype(const tsri_codegen *codegen);

// --- Shared by the writers of text ------------------------------------------------------------------------------------

// Declares and computes the fusion's nodes of one space; leaves of the space have been read into in0, in1, …
void tsri_codegen_nodes(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

// "val3" or "in1", converted as that input of the member at `place` asks.
void tsri_codegen_input(const tsri_codegen *gen, uint32_t place, uint32_t index, tsri_builder *builder);

// Reads the leaves of a space: `index` writes the index of a leaf.
typedef void (*tsri_index_fn)(const tsri_codegen *codegen, uint32_t leaf, tsri_builder *builder);
void tsri_codegen_leaves(const tsri_codegen *gen, tsri_space space, tsri_index_fn index, tsri_builder *builder,
                         const char *indent);

// " + i1 * t0_1": what the axes of an extent add to a leaf's index; `axis` is the letter of the index variables.
void tsri_codegen_steps(const tsri_extent *extent, uint32_t leaf, char axis, tsri_builder *builder);

// Works out i0, i1, … (by `axis`) from the number `from` over dims of the extent; declares them.
void tsri_codegen_unravel(const tsri_extent *extent, char axis, const char *from, tsri_builder *builder,
                          const char *indent);

// "f32": the type values of a dtype are computed in.
const char *tsri_codegen_type(tsr_dtype dtype);

// What the result of a heavy node is converted with before other operators read it: integers of 8 and 16 bits wrap to their
// dtype as they would when stored ("i16"); f16 and bf16 stay in the type they are computed in ("f32").
const char *tsri_codegen_result(tsr_dtype dtype);

// Work items of a work-group.
int tsri_codegen_group(const tsri_codegen *gen);

// How many lanes the strides and bases allow, and the device likes (codegen_wide.c).
uint32_t tsri_codegen_lanes(const tsri_codegen *gen);

// Whether a leaf differs from lane to lane: its step on the axis of the lanes is 1, else it is 0.
bool tsri_codegen_is_wide(const tsri_codegen *codegen, uint32_t leaf);

// Declares part0[lanes], … for the leaves of a space.
void tsri_codegen_parts(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

// Reads four neighbours of each leaf into its part, from element `first` of that on; a constant expression.
void tsri_codegen_quad_leaves(const tsri_codegen *gen, tsri_space space, const char *first, tsri_index_fn index,
                              tsri_builder *builder, const char *indent);

// Inside a loop over `lane`: in0 = part0[lane], …
void tsri_codegen_lane_leaves(const tsri_codegen *gen, tsri_space space, tsri_builder *builder, const char *indent);

void tsri_codegen_reduce_text(const tsri_codegen *gen, tsri_builder *builder);

// "t0_1": a parameter's name in the text.
void tsri_codegen_param_name(const tsri_fused_param *param, tsri_builder *builder);

// Functions that the fusion's operators call.
void tsri_codegen_helpers(const tsri_codegen *gen, tsri_builder *builder);

// Whether a leaf is read in this stage: all in TSRI_STAGE_WHOLE, the inner ones (before the reduction) in TSRI_STAGE_PARTS, the outer ones
// (after it) in TSRI_STAGE_TOTAL.
static inline bool tsri_codegen_reads(const tsri_codegen *codegen, uint32_t leaf) {
  bool is_inner = codegen->fused->leaves[leaf].space == TSRI_INNER;
  return codegen->stage == TSRI_STAGE_WHOLE || is_inner == (codegen->stage == TSRI_STAGE_PARTS);
}

#endif
