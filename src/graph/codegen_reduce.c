// SPDX-License-Identifier: MIT
// Kernel text of reductions. A result is computed by a work-group, by a team of items of a subgroup, or by one work item, in one stage or in two.
#include "graph/codegen.h"
#include "lang/lower/lacks.h"

// How a reduction combines values: the statement that adds x to acc, and the operation that combines the results of a
// work-group's items (NULL: there is none).
typedef struct combination {
  const char *step, *group;
} combination;

static const combination combinations[] = {
    [TSRI_REDUCE_SUM] = {"acc = acc + x;", "group_sum(acc)"},
    [TSRI_REDUCE_PROD] = {"acc = acc * x;", NULL},
    [TSRI_REDUCE_MAX] = {"acc = max(acc, x);", "group_max(acc)"},
    [TSRI_REDUCE_MIN] = {"acc = min(acc, x);", "group_min(acc)"},
    [TSRI_REDUCE_ANY] = {"acc = acc | x;", "group_any(acc)"},
    [TSRI_REDUCE_ALL] = {"acc = acc & x;", "group_all(acc)"},
};

static bool is_arg(const tsri_codegen *gen) {
  tsri_reduce reduce = gen->fused->heavy->op->reduce;
  return reduce == TSRI_REDUCE_ARGMAX || reduce == TSRI_REDUCE_ARGMIN;
}

// The dtype in which the reduction is computed.
static tsr_dtype work_dtype(const tsri_codegen *gen) {
  const tsri_node *heavy = gen->fused->heavy;
  tsri_reduce reduce = heavy->op->reduce;
  if (reduce == TSRI_REDUCE_ANY || reduce == TSRI_REDUCE_ALL) return TSR_BOOL;
  return tsri_ir_compute_dtype(is_arg(gen) ? heavy->inputs[0].as : heavy->dtype);
}

// The least or greatest value of a type, written as bits where the language has no literal for it.
static const char *extreme(tsr_dtype dtype, bool is_least) {
  switch (dtype) {
    case TSR_F32:
      return is_least ? "bitcast<f32>(0xff800000u)" : "bitcast<f32>(0x7f800000u)";
    case TSR_F64:
      return is_least ? "-(1.0 / f64(0.0f))" : "1.0 / f64(0.0f)";
    case TSR_F16:
    case TSR_BF16:
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      return extreme(TSR_F32, is_least);
    case TSR_I8:
      return is_least ? "-128" : "127";
    case TSR_I16:
      return is_least ? "-32768" : "32767";
    case TSR_U8:
      return is_least ? "0u" : "255u";
    case TSR_U16:
      return is_least ? "0u" : "65535u";
    case TSR_U64:
      return is_least ? "u64(0)" : "~u64(0)";
    case TSR_I32:
      return is_least ? "bitcast<i32>(0x80000000u)" : "bitcast<i32>(0x7fffffffu)";
    case TSR_I64:
      return is_least ? "(i64(1) << 63u)" : "~(i64(1) << 63u)";
    case TSR_U32:
      return is_least ? "0u" : "0xffffffffu";
    default:
      return is_least ? "false" : "true";
  }
}

static const char *identity(tsri_reduce reduce, tsr_dtype dtype) {
  switch (reduce) {
    case TSRI_REDUCE_MAX:
    case TSRI_REDUCE_ARGMAX:
      return extreme(dtype, true);
    case TSRI_REDUCE_MIN:
    case TSRI_REDUCE_ARGMIN:
      return extreme(dtype, false);
    case TSRI_REDUCE_ANY:
      return "false";
    case TSRI_REDUCE_ALL:
      return "true";
    case TSRI_REDUCE_PROD:
      return "1";
    default:
      return "0";
  }
}

// --- Indices --------------------------------------------------------------------------------------------------------

// Index of an element of an inner leaf (before the reduction). c0, c1, … are the indices at which the elements of this result begin, for each leaf; the offset
// along the reduced axes is added.
static void inner_index(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  tsri_builder_add(builder, "c%u", leaf);
  tsri_codegen_steps(&gen->fused->reduced, leaf, 'r', builder);
}

// Index of an element of an outer leaf (after the reduction): the index o of the result, or no index if the leaf is a single element.
static void outer_index(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  const tsri_layout *layout = &gen->fused->leaves[leaf].layout;
  int64_t low = 0, high = 0;
  tsri_layout_span(layout, &low, &high);
  if (gen->has_base[leaf]) tsri_builder_add(builder, "at%u%s", leaf, low == high ? "" : " + o");
  else tsri_builder_add(builder, "%s", low == high ? "0" : "o");
}

static void put_row_starts(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_codegen_unravel(&gen->fused->kept, 'i', "o", builder, "    ");
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    if (gen->fused->leaves[i].space != TSRI_INNER) continue;
    tsri_builder_add(builder, "    u32 c%u = ", i);
    if (gen->has_base[i]) tsri_builder_add(builder, "at%u", i);
    else tsri_builder_add(builder, "0u");
    tsri_codegen_steps(&gen->fused->kept, i, 'i', builder);
    tsri_builder_add(builder, ";\n");
  }
}

// --- Parts of the text ----------------------------------------------------------------------------------------------

// Declares x, the input of the reduction, computed from the leaves that have been read.
static void put_input(const tsri_codegen *gen, tsri_builder *builder, const char *indent) {
  tsri_codegen_nodes(gen, TSRI_INNER, builder, indent);
  tsri_builder_add(builder, "%s%s x = ", indent, tsri_codegen_type(work_dtype(gen)));
  tsri_codegen_input(gen, tsri_fused_place(gen->fused, gen->fused->heavy->slot), 0, builder);
  tsri_builder_add(builder, ";\n");
}

// Whether this is the second stage of argmax or argmin. Its parts are indices, so it reads the elements at these indices again.
static bool is_arg_total(const tsri_codegen *gen) { return gen->stage == TSRI_STAGE_TOTAL && is_arg(gen); }

// The variable that holds the index, along the reduced axes, of the element that put_value declares.
static const char *value_index(const tsri_codegen *gen) { return is_arg_total(gen) ? "place" : "r"; }

// Declares x, the value at index r of the reduced axes; in TSRI_STAGE_TOTAL, part r.
static void put_value(const tsri_codegen *gen, tsri_builder *builder, const char *indent) {
  if (is_arg_total(gen)) {  // the index of a part without a result is -1; reading element 0 instead changes nothing
    tsri_builder_add(builder, "%su32 place = u32(max(p[r * n + o], 0));\n", indent);
  } else if (gen->stage == TSRI_STAGE_TOTAL) {
    tsri_builder_add(builder, "%s%s x = p[r * n + o];\n", indent, tsri_codegen_type(work_dtype(gen)));
    return;
  }
  tsri_codegen_unravel(&gen->fused->reduced, 'r', value_index(gen), builder, indent);
  tsri_codegen_leaves(gen, TSRI_INNER, inner_index, builder, indent);
  put_input(gen, builder, indent);
}

// Whether argmax and argmin run a first pass that compares numbers as if there were no NaN, and sets `has_nan` if there is one; only then a second pass, which
// respects NaN, reads the elements again (put_wide_pass). It takes fewer instructions where the dialect (WGSL) needs a test for NaN in each comparison: argmax
// of 10^6 rows of 40 f32 takes 50.7 us with it on an H200 and 57.6 without. On Vulkan it would take 51.1 us instead of 48.6.
static bool is_loose(const tsri_codegen *gen) {
  tsr_dtype dtype = work_dtype(gen);
  if (!is_arg(gen) || tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT) return false;
  tsri_lacks lacks = tsri_lacks_of(gen->fused->root->value.device->backend->dialect);
  return tsri_lacks_op(&lacks, TSRI_OP_LT, dtype);
}

static void put_loose_step(const tsri_codegen *gen, const char *r, tsri_builder *builder, const char *indent) {
  bool is_max = gen->fused->heavy->op->reduce == TSRI_REDUCE_ARGMAX;
  tsri_builder_add(builder, "%shas_nan = has_nan | isnan(x);\n%sif (loose_less(%s)) { acc = x; at = %s; }\n", indent,
                   indent, is_max ? "acc, x" : "x, acc", r);
}

// Adds x to acc. `r` is the index of x, which argmax and argmin store in `at`.
static void put_step(const tsri_codegen *gen, const char *r, tsri_builder *builder, const char *indent) {
  if (!is_arg(gen)) {
    tsri_builder_add(builder, "%s%s\n", indent, combinations[gen->fused->heavy->op->reduce].step);
    return;
  }
  // !(x <= acc): x is larger, or one of the two is NaN. The first NaN is kept. A value that is not larger than the initial one does not set `at`; put_operators
  // handles results without an index.
  bool is_float = tsr_dtype_kind_of(work_dtype(gen)) == TSR_KIND_FLOAT;
  tsri_builder_add(builder, "%sif (!(x %s acc)%s) { acc = x; at = %s; }\n", indent,
                   gen->fused->heavy->op->reduce == TSRI_REDUCE_ARGMAX ? "<=" : ">=", is_float ? " && !isnan(acc)" : "",
                   r);
}

// The initial value of acc, which is also the result over zero elements. i8 and i16 are computed in i32 but start with
// the limits of their own dtype.
static const char *start_of(const tsri_codegen *gen) {
  tsr_dtype dtype = work_dtype(gen);
  tsr_dtype limits = is_arg(gen) || dtype == TSR_BOOL ? dtype : gen->fused->heavy->dtype;
  return identity(gen->fused->heavy->op->reduce, limits);
}

static void put_start(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_builder_add(builder, "    %s acc = %s;\n", tsri_codegen_type(work_dtype(gen)), start_of(gen));
  if (is_arg(gen)) tsri_builder_add(builder, "    u32 at = 0xffffffffu;\n");
}

// Writes the declaration of the reduction's value and the operators after it; the final result is the variable val<number of the last member>. If argmax or
// argmin found no index, all elements equal the initial value, such as -infinity, and the result is index 0. (In the first stage, put_result then stores the
// index -1 for the part.)
static void put_operators(const tsri_codegen *gen, const char *value, tsri_builder *builder, const char *indent) {
  const tsri_node *heavy = gen->fused->heavy;
  uint32_t place = tsri_fused_place(gen->fused, heavy->slot);
  tsri_builder_add(builder, "%s%s val%u = %s(", indent, tsri_codegen_type(heavy->dtype), place,
                   tsri_codegen_result(heavy->dtype));
  if (is_arg(gen)) tsri_builder_add(builder, "select(%s == 0xffffffffu, 0u, %s));\n", value, value);
  else tsri_builder_add(builder, "%s);\n", value);
  if (heavy != gen->fused->root) {
    tsri_codegen_leaves(gen, TSRI_OUTER, outer_index, builder, indent);
    tsri_codegen_nodes(gen, TSRI_OUTER, builder, indent);
  }
}

// Writes the reduction's value, the operators after it, and the store.
static void put_result(const tsri_codegen *gen, const char *value, tsri_builder *builder, const char *indent) {
  if (gen->stage == TSRI_STAGE_PARTS) {
    tsri_builder_add(builder, "%sy[slice * n + o] = %s(%s);\n", indent, tsr_dtype_name(tsri_codegen_part_dtype(gen)),
                     value);
    return;
  }
  put_operators(gen, value, builder, indent);
  tsri_builder_add(builder, "%sy[o] = %s(val%u);\n", indent, tsr_dtype_name(gen->fused->root->dtype),
                   gen->fused->fusion->node_count - 1);
}

// The dtype of what a kernel of this stage stores.
static tsr_dtype stored_dtype(const tsri_codegen *gen) {
  return gen->stage == TSRI_STAGE_PARTS ? tsri_codegen_part_dtype(gen) : gen->fused->root->dtype;
}

// Begins a loop over the four results from index o on. put_quad_end ends the loop and stores the results.
static void put_quad_start(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_builder_add(builder,
                   "    u32 start = o;\n    %s done[4];\n    unroll for (u32 lane = 0; lane < 4; lane++) {\n"
                   "    u32 o = start + lane;\n",
                   tsri_codegen_type(stored_dtype(gen)));
}

// store4 converts to the dtype of what it stores.
static void put_quad_end(const tsri_codegen *gen, const char *value, tsri_builder *builder) {
  bool is_part = gen->stage == TSRI_STAGE_PARTS;
  if (is_part) {
    tsri_builder_add(builder, "    done[lane] = %s(%s);\n", tsri_codegen_type(stored_dtype(gen)), value);
  } else {
    put_operators(gen, value, builder, "    ");
    tsri_builder_add(builder, "    done[lane] = val%u;\n", gen->fused->fusion->node_count - 1);
  }
  tsri_builder_add(builder, "    }\n    store4(y, %sstart, %sx4(done[0], done[1], done[2], done[3]));\n",
                   is_part ? "slice * n + " : "", tsri_codegen_type(stored_dtype(gen)));
}

// --- Forms ----------------------------------------------------------------------------------------------------------

static bool has_slices(const tsri_codegen *gen) { return gen->form == TSRI_FORM_COLUMN && gen->slices > 1; }

// Declares first and last: the loop reduces r from first to last - 1 to one value. That is the whole range of r, or the part or slice number `slice` of it.
static void put_range(const tsri_codegen *gen, tsri_builder *builder) {
  if (has_slices(gen)) tsri_builder_add(builder, "    u32 c = (m + %uu) / %uu;\n", gen->slices - 1, gen->slices);
  if (gen->stage == TSRI_STAGE_PARTS || has_slices(gen)) {
    tsri_builder_add(builder, "    u32 first = min(slice * c, m);\n    u32 last = min(first + c, m);\n");
  } else {
    tsri_builder_add(builder, "    u32 first = 0u;\n    u32 last = m;\n");
  }
}

// There is no work-group operation for products: the items store theirs in shared memory, and each step multiplies one half of them by the other half.
static void put_group_product(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_builder_add(builder,
                   "    products[local.x] = acc;\n    barrier();\n"
                   "    for (u32 half = WG / 2u; half > 0u; half = half / 2u) {\n"
                   "      if (local.x < half) { products[local.x] = products[local.x] * products[local.x + half]; }\n"
                   "      barrier();\n    }\n    %s whole = products[0];\n",
                   tsri_codegen_type(work_dtype(gen)));
}

// Combines the values of a team's items. All of them get the result.
static void put_team_value(const tsri_codegen *gen, tsri_builder *builder) {
  tsr_dtype dtype = work_dtype(gen);
  const char *type = tsri_codegen_type(dtype), *each = "unroll for (u32 step = 1; step < TEAM; step *= 2)";
  tsri_reduce reduce = gen->fused->heavy->op->reduce;
  if (is_arg(gen)) {
    const char *pick = reduce == TSRI_REDUCE_ARGMAX ? "max" : "min";
    bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
    tsri_builder_add(builder,
                     "    %s best = acc;\n    %s best = %s(best, subgroup_shuffle_xor(best, step));\n"
                     "    bool has = acc == best%s;\n    u32 whole = select(has, at, 0xffffffffu);\n"
                     "    %s whole = min(whole, subgroup_shuffle_xor(whole, step));\n",
                     type, each, pick, is_float ? " || (isnan(acc) && isnan(best))" : "", each);
    return;
  }
  tsri_builder_add(builder, "    %s {\n      %s x = %s;\n      %s\n    }\n    %s whole = acc;\n", each, type,
                   dtype == TSR_BOOL ? "subgroup_shuffle_xor(u32(acc), step) != 0u" : "subgroup_shuffle_xor(acc, step)",
                   combinations[reduce].step, type);
}

static void put_group_value(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_reduce reduce = gen->fused->heavy->op->reduce;
  const char *type = tsri_codegen_type(work_dtype(gen));
  if (reduce == TSRI_REDUCE_PROD) {
    put_group_product(gen, builder);
  } else if (is_arg(gen)) {
    bool is_float = tsr_dtype_kind_of(work_dtype(gen)) == TSR_KIND_FLOAT;
    tsri_builder_add(builder,
                     "    %s best = %s(acc);\n    bool has = acc == best%s;\n"
                     "    u32 whole = group_min(select(has, at, 0xffffffffu));\n",
                     type, reduce == TSRI_REDUCE_ARGMAX ? "group_max" : "group_min",
                     is_float ? " || (isnan(acc) && isnan(best))" : "");
  } else {
    tsri_builder_add(builder, "    %s whole = %s;\n", type, combinations[reduce].group);
  }
}

// --- Four elements at a time -----------------------------------------------------------------------------------------

// The index in accs of a lane's accumulator. argmax and argmin of teams have one accumulator for all lanes: an item of a team has few elements, so joining the
// lanes' indices would take about as long as comparing the elements.
static const char *lane_of(const tsri_codegen *gen) { return is_arg(gen) && gen->team ? "0" : "lane"; }

// Declares accs[4], one accumulator per lane, and ats[4], their indices, for argmax and argmin.
static void put_wide_start(const tsri_codegen *gen, tsri_builder *builder) {
  if (is_loose(gen)) tsri_builder_add(builder, "    bool has_nan = false;\n");
  tsri_builder_add(builder, "    %s accs[4];\n", tsri_codegen_type(work_dtype(gen)));
  if (is_arg(gen)) tsri_builder_add(builder, "    u32 ats[4];\n");
}

static void put_wide_reset(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_builder_add(builder, "    unroll for (u32 lane = 0; lane < 4; lane++) { accs[lane] = %s; %s}\n", start_of(gen),
                   is_arg(gen) ? "ats[lane] = 0xffffffffu; " : "");
}

typedef void (*step_writer)(const tsri_codegen *gen, const char *r, tsri_builder *builder, const char *indent);

// Adds the four values at r to accs. `r` is the expression for the index of a lane's value.
static void put_wide_steps(const tsri_codegen *gen, const char *r, step_writer put_one, tsri_builder *builder) {
  const char *type = tsri_codegen_type(work_dtype(gen)), *indent = "        ";
  tsri_codegen_unravel(&gen->fused->reduced, 'r', "r", builder, "      ");
  tsri_codegen_parts(gen, TSRI_INNER, builder, "      ");
  tsri_codegen_vector_leaves(gen, TSRI_INNER, "0", inner_index, builder, "      ");
  tsri_builder_add(builder, "      unroll for (u32 lane = 0; lane < 4; lane++) {\n");
  tsri_codegen_lane_leaves(gen, TSRI_INNER, builder, indent);
  put_input(gen, builder, indent);
  const char *lane = lane_of(gen);
  tsri_builder_add(builder, "%s%s acc = accs[%s];\n", indent, type, lane);
  if (is_arg(gen)) tsri_builder_add(builder, "%su32 at = ats[%s];\n", indent, lane);
  put_one(gen, r, builder, indent);
  tsri_builder_add(builder, "%saccs[%s] = acc;\n", indent, lane);
  if (is_arg(gen)) tsri_builder_add(builder, "%sats[%s] = at;\n", indent, lane);
  tsri_builder_add(builder, "      }\n");
}

// A loop from `from` up to `stop` in steps of `step`; `r` is as in put_wide_steps.
typedef struct wide_loop {
  const char *from, *step, *r;
} wide_loop;

// Writes the loop. It is unrolled `rounds` times while enough is left, so that several loads are in flight together.
static void put_wide_loop(const tsri_codegen *gen, wide_loop loop, int rounds, step_writer put_one,
                          tsri_builder *builder) {
  const char *from = loop.from, *step = loop.step, *r = loop.r;
  tsri_builder_add(builder, "    u32 next = %s;\n", from);
  if (rounds > 1) {
    tsri_builder_add(
        builder,
        "    for (; next + %s * %du < stop; next += %s * %du) {\n    unroll for (u32 k = 0; k < %d; k++) {\n"
        "      u32 r = next + k * (%s);\n",
        step, rounds - 1, step, rounds, rounds, step);
    put_wide_steps(gen, r, put_one, builder);
    tsri_builder_add(builder, "    }\n    }\n");
  }
  tsri_builder_add(builder, "    for (; next < stop; next += %s) {\n      u32 r = next;\n", step);
  put_wide_steps(gen, r, put_one, builder);
  tsri_builder_add(builder, "    }\n");
}

// Combines the lanes' accumulators. argmax and argmin: of equal values the one with the lowest index wins, and NaN
// counts as equal to NaN.
static void put_join_lanes(const tsri_codegen *gen, tsri_builder *builder) {
  const char *type = tsri_codegen_type(work_dtype(gen));
  if (is_arg(gen) && gen->team) {
    tsri_builder_add(builder, "    %s acc = accs[0];\n    u32 at = ats[0];\n", type);
    return;
  }
  put_start(gen, builder);
  tsri_builder_add(builder, "    unroll for (u32 lane = 0; lane < 4; lane++) {\n      %s x = accs[lane];\n", type);
  if (is_arg(gen)) {
    bool is_float = tsr_dtype_kind_of(work_dtype(gen)) == TSR_KIND_FLOAT;
    tsri_builder_add(builder, "      u32 r = ats[lane];\n      if (x == acc%s) { at = min(at, r); } else {\n",
                     is_float ? " || (isnan(x) && isnan(acc))" : "");
    put_step(gen, "r", builder, "      ");
    tsri_builder_add(builder, "      }\n");
  } else {
    put_step(gen, "r", builder, "      ");
  }
  tsri_builder_add(builder, "    }\n");
}

// Writes the code for the up to three elements before the first aligned quad (is_shifted). Each of the first items takes at most one of them into the
// accumulator of lane 0, where they come first, so that the indices of lane 0 stay in ascending order.
static void put_head(const tsri_codegen *gen, step_writer put_one, tsri_builder *builder) {
  tsri_builder_add(builder, "    if (member < begin - first) {\n      u32 r = first + member;\n");
  put_value(gen, builder, "      ");
  tsri_builder_add(builder, "      %s acc = accs[0];\n%s", tsri_codegen_type(work_dtype(gen)),
                   is_arg(gen) ? "      u32 at = ats[0];\n" : "");
  put_one(gen, "r", builder, "      ");
  tsri_builder_add(builder, "      accs[0] = acc;\n%s    }\n", is_arg(gen) ? "      ats[0] = at;\n" : "");
}

static void put_wide_once(const tsri_codegen *gen, wide_loop loop, int rounds, step_writer put_one,
                          tsri_builder *builder) {
  put_wide_reset(gen, builder);
  if (gen->form == TSRI_FORM_ROW && gen->is_shifted) put_head(gen, put_one, builder);
  put_wide_loop(gen, loop, rounds, put_one, builder);
}

// Adds all values of the item to accs.
static void put_wide_pass(const tsri_codegen *gen, wide_loop loop, tsri_builder *builder) {
  int rounds = TSRI_TUNED(gen->tuning, reduce_unroll);
  if (!is_loose(gen)) {
    put_wide_once(gen, loop, rounds, put_step, builder);
    return;
  }
  put_wide_once(gen, loop, rounds, put_loose_step, builder);
  tsri_builder_add(builder, "    if (has_nan) {\n");
  put_wide_once(gen, loop, 1, put_step, builder);
  tsri_builder_add(builder, "    }\n");
}

static void put_wide_row(const tsri_codegen *gen, tsri_builder *builder) {
  if (gen->is_shifted)
    tsri_builder_add(builder, "    u32 begin = min(first + (0u - c%u - first) %% 4u, last);\n", gen->wide_leaf);
  else tsri_builder_add(builder, "    u32 begin = first;\n");
  tsri_builder_add(builder, "    u32 stop = begin + (last - begin) / 4u * 4u;\n");
  put_wide_start(gen, builder);
  put_wide_pass(gen, (wide_loop){"begin + member * 4u", "TEAM * 4u", "r + lane"}, builder);
  put_join_lanes(gen, builder);
  if (gen->fused->reduced.rank != 1) return;
  tsri_builder_add(builder, "    for (u32 r = stop + member; r < last; r += TEAM) {\n");
  put_value(gen, builder, "      ");
  put_step(gen, "r", builder, "      ");
  tsri_builder_add(builder, "    }\n");
}

// Declares o, the index of the result; TEAM, the number of items that share it; and member, the item's index among these. Returns a condition in the kernel
// language: the item stores the result. Teams beyond the last result compute the last result as well and store nothing, because all items of a subgroup must
// take part when a team joins its values.
static const char *put_row_start(const tsri_codegen *gen, tsri_builder *builder) {
  if (gen->team) {
    tsri_builder_add(builder,
                     "  const u32 TEAM = %u;\n  u32 number = ((group.y * groups.x + group.x) * WG + local.x) / TEAM;\n"
                     "  u32 o = min(number, n - 1u);\n  u32 member = local.x %% TEAM;\n  {\n",
                     gen->team);
    return "member == 0u && number < n";
  }
  tsri_builder_add(builder, "  const u32 TEAM = WG;\n  u32 member = local.x;\n%s  if (o < n) {\n",
                   gen->stage == TSRI_STAGE_PARTS ? "  u32 o = group.x;\n  u32 slice = group.y;\n"
                                                  : "  u32 o = group.y * groups.x + group.x;\n");
  return "member == 0u";
}

// Writes the loop over the values of an item one element at a time, for rows that cannot be read in quads (see put_wide_loop).
static void put_narrow_loop(const tsri_codegen *gen, tsri_builder *builder) {
  int rounds = TSRI_TUNED(gen->tuning, reduce_unroll);
  tsri_builder_add(builder, "    u32 next = first + member;\n");
  if (rounds > 1) {
    tsri_builder_add(
        builder,
        "    for (; next + TEAM * %du < last; next += TEAM * %du) {\n    unroll for (u32 k = 0; k < %d; k++) {\n"
        "      u32 r = next + k * TEAM;\n",
        rounds - 1, rounds, rounds);
    put_value(gen, builder, "      ");
    put_step(gen, value_index(gen), builder, "      ");
    tsri_builder_add(builder, "    }\n    }\n");
  }
  tsri_builder_add(builder, "    for (u32 r = next; r < last; r += TEAM) {\n");
  put_value(gen, builder, "      ");
  put_step(gen, value_index(gen), builder, "      ");
  tsri_builder_add(builder, "    }\n");
}

// Whether two neighbouring teams store their results together, as one 32-bit word: for 16-bit floats on devices without 16-bit storage, where storing a single
// one would read and change its word. Sums of 10^6 rows of 40 bf16 take 27.4 us with it and 31.2 us without on an H200 through WebGPU.
static bool joins_results(const tsri_codegen *gen) {
  const tsri_node *root = gen->fused->root;
  bool is_half = root->dtype == TSR_F16 || root->dtype == TSR_BF16;
  return is_half && !root->value.device->limits.has_storage16 && gen->team > 0 &&
         gen->team * 2 <= (uint32_t)TSRI_TUNED(gen->tuning, reduce_team);
}

// As put_result, for teams whose results are stored in pairs (joins_results). The team with the even result also stores the result after it.
static void put_joined_results(const tsri_codegen *gen, tsri_builder *builder) {
  uint32_t last = gen->fused->fusion->node_count - 1;
  const char *type = tsr_dtype_name(gen->fused->root->dtype);
  put_operators(gen, "whole", builder, "    ");
  tsri_builder_add(
      builder,
      "    f32 after = subgroup_shuffle_xor(val%u, TEAM);\n"
      "    if (member == 0u && number < n && number %% 2u == 0u) {\n"
      "      if (number + 1u < n) { store2(y, o, f32x2(val%u, after)); } else { y[o] = %s(val%u); }\n    }\n  }\n",
      last, last, type, last);
}

static void put_row(const tsri_codegen *gen, tsri_builder *builder) {
  bool is_product = gen->fused->heavy->op->reduce == TSRI_REDUCE_PROD && !gen->team;
  if (is_product) tsri_builder_add(builder, "  shared %s products[WG];\n", tsri_codegen_type(work_dtype(gen)));
  const char *stores = put_row_start(gen, builder);
  if (gen->stage != TSRI_STAGE_TOTAL || is_arg(gen)) put_row_starts(gen, builder);
  put_range(gen, builder);
  if (gen->lanes > 1) {
    put_wide_row(gen, builder);
  } else {
    put_start(gen, builder);
    put_narrow_loop(gen, builder);
  }
  if (gen->team) put_team_value(gen, builder);
  else put_group_value(gen, builder);
  if (joins_results(gen)) {
    put_joined_results(gen, builder);
    return;
  }
  tsri_builder_add(builder, "    if (%s) {\n", stores);
  put_result(gen, "whole", builder, "      ");
  tsri_builder_add(builder, "    }\n  }\n");
}

// put_column_start for kernels with slices. Items that share a result are WG / slices apart in the work-group. Items beyond the last result compute the last
// result as well and store nothing, because all items must reach the barrier before the slices are joined.
static void put_sliced_start(const tsri_codegen *gen, tsri_builder *builder) {
  const char *type = tsri_codegen_type(work_dtype(gen));
  tsri_builder_add(builder, "  const u32 ACROSS = WG / %uu;\n  shared %s others[WG * %uu];\n", gen->slices, type,
                   gen->lanes);
  if (is_arg(gen)) tsri_builder_add(builder, "  shared u32 others_at[WG * %uu];\n", gen->lanes);
  tsri_builder_add(builder,
                   "  u32 number = (group.y * groups.x + group.x) * ACROSS + local.x %% ACROSS;\n"
                   "  u32 slice = local.x / ACROSS;\n  u32 o = min(number, n / %uu - 1u) * %uu;\n  {\n",
                   gen->lanes, gen->lanes);
}

// Declares o, the index of the first of the item's `lanes` results, and opens the block of items that have results. Items are numbered through all parts, so
// that work-groups are full even if there are few results.
static void put_column_start(const tsri_codegen *gen, tsri_builder *builder) {
  if (has_slices(gen)) {
    put_sliced_start(gen, builder);
    return;
  }
  tsri_builder_add(builder, "  u32 number = group.y * (groups.x * WG) + global.x;\n");
  if (gen->stage == TSRI_STAGE_PARTS) {
    tsri_builder_add(builder,
                     "  u32 cells = n / %uu;\n  u32 slice = number / cells;\n  u32 o = number %% cells * %uu;\n"
                     "  if (slice < slices) {\n",
                     gen->lanes, gen->lanes);
  } else {
    tsri_builder_add(builder, "  u32 o = number * %uu;\n  if (o < n) {\n", gen->lanes);
  }
}

// Combines the values of the slices in ascending order. `values` and `places` name the variables with an item's value and, for argmax and argmin, its index.
// With lanes they are arrays, indexed by `lane`. The item with slice 0 then has the combined value of its result in them. Opens the block of these items.
static void put_join_slices(const tsri_codegen *gen, const char *values, const char *places, tsri_builder *builder) {
  const char *lane = gen->lanes > 1 ? "[lane]" : "", *type = tsri_codegen_type(work_dtype(gen));
  if (!has_slices(gen)) return;
  const char *each = gen->lanes > 1 ? "unroll for (u32 lane = 0; lane < 4; lane++)" : "";
  const char *at = gen->lanes > 1 ? "lane * WG + " : "";
  tsri_builder_add(builder, "    %s {\n      others[%slocal.x] = %s%s;\n", each, at, values, lane);
  if (is_arg(gen)) tsri_builder_add(builder, "      others_at[%slocal.x] = %s%s;\n", at, places, lane);
  tsri_builder_add(builder,
                   "    }\n    barrier();\n    if (slice == 0u && number < n / %uu) {\n"
                   "    for (u32 s = 1u; s < %uu; s += 1u) {\n    %s {\n"
                   "      u32 from = %ss * ACROSS + local.x;\n      %s x = others[from];\n      %s joined = %s%s;\n",
                   gen->lanes, gen->slices, each, at, type, type, values, lane);
  if (is_arg(gen)) tsri_builder_add(builder, "      u32 joined_at = %s%s;\n", places, lane);
  tsri_builder_add(builder, "      {\n      %s acc = joined;\n", type);
  if (is_arg(gen)) tsri_builder_add(builder, "      u32 at = joined_at;\n");
  put_step(gen, "others_at[from]", builder, "      ");
  tsri_builder_add(builder, "      joined = acc;\n%s      }\n      %s%s = joined;\n",
                   is_arg(gen) ? "      joined_at = at;\n" : "", values, lane);
  if (is_arg(gen)) tsri_builder_add(builder, "      %s%s = joined_at;\n", places, lane);
  tsri_builder_add(builder, "    }\n    }\n");
}

static void put_column_end(const tsri_codegen *gen, tsri_builder *builder) {
  tsri_builder_add(builder, has_slices(gen) ? "  }\n  }\n" : "  }\n");
}

static const char *column_result(const tsri_codegen *gen, bool is_sum) {
  return is_arg(gen) ? "at" : is_sum ? "total" : "acc";
}

// Four neighbouring results per work item.
static void put_wide_column(const tsri_codegen *gen, tsri_builder *builder) {
  bool is_sum = gen->fused->heavy->op->reduce == TSRI_REDUCE_SUM;
  const char *type = tsri_codegen_type(work_dtype(gen));
  put_column_start(gen, builder);
  put_row_starts(gen, builder);
  put_range(gen, builder);
  put_wide_start(gen, builder);
  if (is_sum) {
    tsri_builder_add(builder,
                     "    %s totals[4];\n    for (u32 part = first; part < last; part += 64u) {\n"
                     "    u32 stop = min(part + 64u, last);\n",
                     type);
    put_wide_pass(gen, (wide_loop){"part", "1u", "r"}, builder);
    tsri_builder_add(
        builder,
        "    unroll for (u32 lane = 0; lane < 4; lane++) { totals[lane] = totals[lane] + accs[lane]; }\n    }\n");
  } else {
    tsri_builder_add(builder, "    u32 stop = last;\n");
    put_wide_pass(gen, (wide_loop){"first", "1u", "r"}, builder);
  }
  put_join_slices(gen, is_sum ? "totals" : "accs", "ats", builder);
  put_quad_start(gen, builder);
  tsri_builder_add(builder, "    %s %s = %s[lane];\n", is_arg(gen) ? "u32" : type, column_result(gen, is_sum),
                   is_arg(gen) ? "ats"
                   : is_sum    ? "totals"
                               : "accs");
  put_quad_end(gen, column_result(gen, is_sum), builder);
  put_column_end(gen, builder);
}

// Reads the elements of the four rows from o on into part0, part1, …: row_length quads of each leaf.
static void put_row_quads(const tsri_codegen *gen, tsri_builder *builder) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    if (leaf->space != TSRI_INNER) continue;
    const char *type = tsri_codegen_type(leaf->dtype);
    bool is_one = gen->fused->reduced.strides[i][0] == 0;
    tsri_builder_add(builder, "    %s part%u[%u];\n    unroll for (u32 j = 0; j < %u; j++) {\n", type, i,
                     4 * gen->row_length, gen->row_length);
    tsri_builder_add(builder, is_one ? "      %s one = leaf%u[" : "      %sx4 quad = load4(leaf%u, ", type, i);
    if (gen->has_base[i]) tsri_builder_add(builder, "at%u", i);
    else tsri_builder_add(builder, "0u");
    if (is_one) tsri_builder_add(builder, "];\n");
    else tsri_builder_add(builder, " + o * %uu + j * 4u);\n", gen->row_length);
    for (uint32_t k = 0; k < 4; k++) {
      if (is_one) tsri_builder_add(builder, "      part%u[j * 4 + %u] = one;\n", i, k);
      else tsri_builder_add(builder, "      part%u[j * 4 + %u] = quad.%c;\n", i, k, "xyzw"[k]);
    }
    tsri_builder_add(builder, "    }\n");
  }
}

// Four short rows per work item, which follow each other without gaps in memory (tsri_codegen.row_length).
static void put_packed_rows(const tsri_codegen *gen, tsri_builder *builder) {
  put_column_start(gen, builder);
  put_row_quads(gen, builder);
  put_quad_start(gen, builder);
  put_start(gen, builder);
  tsri_builder_add(builder, "    unroll for (u32 r = 0; r < %u; r++) {\n", gen->row_length);
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    if (gen->fused->leaves[i].space != TSRI_INNER) continue;
    tsri_builder_add(builder, "      %s in%u = part%u[lane * %u + r];\n",
                     tsri_codegen_type(gen->fused->leaves[i].dtype), i, i, gen->row_length);
  }
  put_input(gen, builder, "      ");
  put_step(gen, "r", builder, "      ");
  tsri_builder_add(builder, "    }\n");
  put_quad_end(gen, is_arg(gen) ? "at" : "acc", builder);
  put_column_end(gen, builder);
}

// One result per work item. A sum is computed as the sum of partial sums of 64 elements each: so the rounding error grows with 64 plus the number of partial
// sums, and not with the number of elements.
static void put_column(const tsri_codegen *gen, tsri_builder *builder) {
  bool is_sum = gen->fused->heavy->op->reduce == TSRI_REDUCE_SUM;
  put_column_start(gen, builder);
  if (gen->stage != TSRI_STAGE_TOTAL || is_arg(gen)) put_row_starts(gen, builder);
  put_range(gen, builder);
  if (is_sum) {
    const char *type = tsri_codegen_type(work_dtype(gen));
    tsri_builder_add(builder,
                     "    %s total = 0;\n    for (u32 part = first; part < last; part += 64u) {\n"
                     "    u32 stop = min(part + 64u, last);\n",
                     type);
    put_start(gen, builder);
    tsri_builder_add(builder, "    for (u32 r = part; r < stop; r += 1u) {\n");
  } else {
    put_start(gen, builder);
    tsri_builder_add(builder, "    for (u32 r = first; r < last; r += 1u) {\n");
  }
  put_value(gen, builder, "      ");
  put_step(gen, value_index(gen), builder, "      ");
  tsri_builder_add(builder, "    }\n");
  if (is_sum) tsri_builder_add(builder, "    total = total + acc;\n    }\n");
  put_join_slices(gen, is_sum ? "total" : "acc", "at", builder);
  put_result(gen, column_result(gen, is_sum), builder, "    ");
  put_column_end(gen, builder);
}

void tsri_codegen_reduce_text(const tsri_codegen *gen, tsri_builder *builder) {
  if (gen->row_length) put_packed_rows(gen, builder);
  else if (gen->form == TSRI_FORM_ROW) put_row(gen, builder);
  else if (gen->lanes > 1) put_wide_column(gen, builder);
  else put_column(gen, builder);
}
