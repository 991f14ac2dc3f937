// SPDX-License-Identifier: MIT
// Fills the hooks of an operator's own kernel with the element-wise operators before and after it.
#include "graph/epilogue.h"

#include <string.h>

#include "core/error.h"
#include "graph/embedded.h"
#include "graph/kernels.h"
#include "graph/node.h"

// Writes the index of a leaf's element, computed from the hook's parameters `index` and `column`. `first` is the expression for the index of the first element
// that the hook stores.
static void put_leaf_index(const tsri_codegen *gen, uint32_t leaf, const char *first, tsri_builder *builder) {
  const tsri_layout *layout = &gen->fused->leaves[leaf].layout;
  int64_t low = 0, high = 0;
  tsri_one_axis axis;
  tsri_layout_span(layout, &low, &high);
  tsri_builder_add(builder, gen->has_base[leaf] ? "at%u" : "0u", leaf);
  if (low == high) return;
  if (tsri_codegen_is_by_axis(gen, leaf, &axis)) {
    uint32_t named = tsri_codegen_axis_leaf(gen, leaf);
    tsri_builder_add(builder, " + %s / inner%u %% size%u", axis.inner % 4 == 0 ? first : "index", named, named);
  } else {
    tsri_builder_add(builder, tsri_layout_is_contiguous(layout) ? " + index" : " + column");
  }
}

static void leaf_index(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  put_leaf_index(gen, leaf, "index", builder);
}

// As leaf_index, inside store_quad's loop over four elements. The first one has the index `at`, a multiple of four.
static void quad_leaf_index(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  put_leaf_index(gen, leaf, "at", builder);
}

static bool has_space(const tsri_codegen *gen, tsri_space space) {
  const tsri_fused *fused = gen->fused;
  for (uint32_t i = 0; i < fused->fusion->node_count; i++) {
    const tsri_planned *planned = &fused->plan->nodes[fused->plan->members[fused->fusion->first + i]];
    if (planned->space == space && planned->node != fused->heavy) return true;
  }
  return false;
}

// The parameters that the `fill` declarations of the hooks add to the kernel. The first `fill` declares them, and both hooks can use them.
static void put_params(const tsri_codegen *gen, tsri_builder *builder) {
  for (uint32_t i = 0; i < gen->fused->leaf_count; i++) {
    tsri_builder_add(builder, "%sin %s leaf%u[]", i ? ", " : "", tsr_dtype_name(gen->fused->leaves[i].dtype), i);
  }
  for (int i = 0; i < gen->param_count; i++) {
    tsri_builder_add(builder, "%s%s ", i || gen->fused->leaf_count ? ", " : "", tsr_dtype_name(gen->params[i].dtype));
    tsri_codegen_param_name(&gen->params[i], builder);
  }
}

// Writes the operators before the heavy one: fill softmax.load(…) { …; return A(val1); }
static void put_load(const tsri_codegen *gen, const char *kernel, bool has_params, tsri_builder *builder) {
  uint32_t input = tsri_plan_number(gen->fused->plan, gen->fused->heavy->inputs[0].value);
  tsri_builder_add(builder, "fill %s.load(", kernel);
  if (has_params) put_params(gen, builder);
  tsri_builder_add(builder, ") {\n");
  tsri_codegen_leaves(gen, TSRI_INNER, leaf_index, builder, "  ");
  tsri_codegen_nodes(gen, TSRI_INNER, builder, "  ");
  tsri_builder_add(builder, "  return A(val%u);\n}\n", tsri_fused_place(gen->fused, input));
}

// Writes the operators after the heavy one for one element of its result, which is `value`: f32 val0 = f32(value); … val3 = …
static void put_outer(const tsri_codegen *gen, tsri_index_fn index, tsri_builder *builder, const char *indent) {
  const tsri_node *heavy = gen->fused->heavy;
  tsri_builder_add(builder, "%s%s val%u = %s(value);\n", indent, tsri_codegen_type(heavy->dtype),
                   tsri_fused_place(gen->fused, heavy->slot), tsri_codegen_result(heavy->dtype));
  tsri_codegen_leaves(gen, TSRI_OUTER, index, builder, indent);
  tsri_codegen_nodes(gen, TSRI_OUTER, builder, indent);
}

// Writes the operators after the heavy one in the store hook: fill matmul_long.store(…) { …; store(A(val3), index, column); }
static void put_store(const tsri_codegen *gen, const char *kernel, bool has_params, tsri_builder *builder) {
  tsri_builder_add(builder, "fill %s.store(", kernel);
  if (has_params) put_params(gen, builder);
  tsri_builder_add(builder, ") {\n");
  put_outer(gen, leaf_index, builder, "  ");
  tsri_builder_add(builder, "  store(A(val%u), index, column);\n}\n",
                   tsri_fused_place(gen->fused, gen->fused->root->slot));
}

// As put_store, for store_quad: `values` are four neighbouring elements of the result from index `at` on, in the columns from `from` on.
static void put_store_quad(const tsri_codegen *gen, const char *kernel, bool has_params, tsri_builder *builder) {
  tsri_builder_add(builder, "fill %s.store_quad(", kernel);
  if (has_params) put_params(gen, builder);
  tsri_builder_add(builder,
                   ") {\n  A results[4];\n  unroll for (u32 i = 0; i < 4; i++) {\n"
                   "    A value = i == 0 ? values.x : i == 1 ? values.y : i == 2 ? values.z : values.w;\n"
                   "    u32 index = at + i, column = from + i;\n");
  put_outer(gen, quad_leaf_index, builder, "    ");
  tsri_builder_add(builder,
                   "    results[i] = A(val%u);\n  }\n"
                   "  store_quad(Ax4(results[0], results[1], results[2], results[3]), at, from);\n}\n",
                   tsri_fused_place(gen->fused, gen->fused->root->slot));
}

// Whether the kernel stores four results at a time: then its parameter WIDE_Y is 1, and it calls the hook store_quad.
static bool stores_quads(const tsri_kernel_source *source) {
  for (size_t i = 0; i < source->arg_count; i++) {
    const tsri_lang_arg *arg = &source->args[i];
    if (!arg->is_type && strcmp(arg->name, "WIDE_Y") == 0) return arg->value != 0;
  }
  return false;
}

static tsr_status put_text(const tsri_codegen *gen, const char *text, const tsri_kernel_source *source,
                           tsri_builder *builder) {
  const char *kernel = source->kernel;
  tsri_codegen_helpers(gen, builder);
  tsri_builder_put(builder, text, strlen(text));
  bool has_load = has_space(gen, TSRI_INNER), has_store = has_space(gen, TSRI_OUTER);
  if (has_load) put_load(gen, kernel, true, builder);
  bool has_quads = has_store && stores_quads(source);
  if (has_quads) put_store_quad(gen, kernel, !has_load, builder);
  if (has_store) put_store(gen, kernel, !has_load && !has_quads, builder);  // with quads, for what is left at the end
  return builder->has_failed ? TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the text of %s", kernel) : TSR_OK;
}

static tsr_status build(tsri_graph_state *state, const tsri_codegen *gen, const uint32_t *key, size_t key_words,
                        tsri_kernel_source *source, const tsri_built **out_built) {
  tsri_builder builder = {0};
  const char *text = tsri_embedded_text(source->file, NULL);
  if (!text) return TSRI_FAIL(TSR_ERR_INTERNAL, "no kernel file %s.tk is embedded", source->file);
  tsr_status status = put_text(gen, text, source, &builder);
  source->text = builder.text;
  source->bytes = builder.bytes;
  if (status == TSR_OK) status = tsri_generated_kernel(state, key, key_words, source, out_built);
  tsri_builder_deinit(&builder);
  return status;
}

bool tsri_epilogue_loads(const tsri_kernel_run *run) {
  return run->epilogue && has_space(run->epilogue->codegen, TSRI_INNER);
}

bool tsri_epilogue_reads_columns(const tsri_kernel_run *run) {
  const tsri_codegen *gen = run->epilogue ? run->epilogue->codegen : NULL;
  for (uint32_t i = 0; gen && i < gen->fused->leaf_count; i++) {
    const tsri_leaf *leaf = &gen->fused->leaves[i];
    int64_t low = 0, high = 0;
    tsri_one_axis axis;
    tsri_layout_span(&leaf->layout, &low, &high);
    bool is_by_column =
        low != high && !tsri_layout_is_contiguous(&leaf->layout) && !tsri_codegen_is_by_axis(gen, i, &axis);
    if (leaf->space == TSRI_OUTER && is_by_column) return true;
  }
  return false;
}

tsr_dtype tsri_epilogue_dtype(const tsri_kernel_run *run) {
  return run->epilogue ? run->epilogue->codegen->fused->root->dtype : run->dtype;
}

tsr_status tsri_hooked_kernel(const tsri_kernel_run *run, const char *file, const char *kernel,
                              const tsri_lang_arg *args, size_t arg_count, const tsri_built **out_built) {
  if (!run->epilogue) return tsri_embedded_kernel(run->device, file, kernel, args, arg_count, out_built);
  const tsri_codegen *gen = run->epilogue->codegen;
  enum { NAME_WORDS = 64 };
  uint32_t key[TSRI_MAX_KEY_WORDS + NAME_WORDS];
  tsri_kernel_source source = {
      .file = file, .kernel = kernel, .args = args, .arg_count = arg_count, .is_generated = true};
  memcpy(key, gen->key, gen->key_words * sizeof *key);
  size_t name_words = tsri_kernel_key(&source, key + gen->key_words, NAME_WORDS);
  if (name_words == 0) return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: its parameters are too long for a key", kernel);
  size_t key_words = gen->key_words + name_words;
  tsri_graph_state *state = tsri_graph_of(run->device);
  *out_built = tsri_kernel_cache_find(state->kernels, key, key_words);
  tsr_status status = *out_built ? TSR_OK : build(state, gen, key, key_words, &source, out_built);
  if (status == TSR_OK) tsri_kernel_hold(*out_built);
  return status;
}

uint32_t tsri_epilogue_pass(const tsri_kernel_run *run, tsri_arguments *args) {
  if (!run->epilogue) return 0;
  const tsri_codegen *gen = run->epilogue->codegen;
  const tsri_kernel *kernel = args->kernel;
  uint32_t leaf_count = gen->fused->leaf_count, param_count = (uint32_t)gen->param_count;
  for (uint32_t i = 0; i < leaf_count; i++) {
    args->buffers[kernel->buffer_count - leaf_count + i] = run->epilogue->leaves[i];
  }
  tsri_codegen_fill(gen, kernel, kernel->param_count - param_count, args->params);
  tsri_arguments_give_last(args, leaf_count, param_count);
  return leaf_count;
}
