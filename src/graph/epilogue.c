// SPDX-License-Identifier: MIT
// Putting an epilogue into a kernel's text.
#include "graph/epilogue.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "graph/embedded.h"
#include "graph/kernels.h"
#include "graph/node.h"

#define PARAMS_MARK "/*+params*/"
#define STORE_MARK  "//+store "
#define LOAD_MARK   "//+load "

// A mark of a store or load, taken apart.
typedef struct hook_mark {
  char value[64], index[96], column[64];
} hook_mark;

// The index and column of the hook being written; index functions take no more than the codegen.
static TSRI_THREAD_LOCAL const hook_mark *writing;

static void leaf_index(const tsri_codegen *own, uint32_t leaf, tsri_builder *builder) {
  const tsri_layout *layout = &own->fused->leaves[leaf].layout;
  int64_t low = 0, high = 0;
  tsri_layout_span(layout, &low, &high);
  tsri_builder_add(builder, own->has_base[leaf] ? "at%u" : "0u", leaf);
  if (low == high) return;
  bool is_ordered = tsri_layout_is_contiguous(layout);
  tsri_builder_add(builder, " + (%s)", is_ordered ? writing->index : writing->column);
}

static const char *copy_field(const char *from, const char *end, char *to, size_t room) {
  while (from < end && (*from == ' ' || *from == '|')) from++;
  const char *stop = from;
  while (stop < end && *stop != '|') stop++;
  size_t length = (size_t)(stop - from);
  while (length > 0 && from[length - 1] == ' ') length--;
  snprintf(to, room, "%.*s", (int)length, from);
  return stop;
}

static void read_mark(const char *mark, const char *end, hook_mark *out) {
  const char *at = copy_field(mark, end, out->value, sizeof out->value);
  at = copy_field(at, end, out->index, sizeof out->index);
  copy_field(at, end, out->column, sizeof out->column);
}

static void put_values(const tsri_codegen *own, tsri_space space, const hook_mark *mark, tsri_builder *builder) {
  writing = mark;
  tsri_codegen_leaves(own, space, leaf_index, builder, "");
  tsri_codegen_nodes(own, space, builder, "");
  writing = NULL;
}

static void put_store(const tsri_codegen *own, const char *text, const char *end, tsri_builder *builder) {
  hook_mark mark;
  read_mark(text, end, &mark);
  const tsri_node *heavy = own->fused->heavy, *root = own->fused->root;
  tsri_builder_add(builder, "%s val%u = %s(%s);\n", tsri_codegen_type(heavy->dtype),
                   tsri_fused_place(own->fused, heavy->slot), tsri_codegen_result(heavy->dtype), mark.value);
  put_values(own, TSRI_OUTER, &mark, builder);
  tsri_builder_add(builder, "y[%s] = %s(val%u);\n", mark.index, tsr_dtype_name(root->dtype),
                   tsri_fused_place(own->fused, root->slot));
}

// In a block of its own: a kernel may load in several places of one scope.
static void put_load(const tsri_codegen *own, const char *text, const char *end, tsri_builder *builder) {
  hook_mark mark;
  read_mark(text, end, &mark);
  const tsri_plan *plan = own->fused->plan;
  uint32_t input = tsri_plan_number(plan, own->fused->heavy->inputs[0].value);
  int type_length = (int)strcspn(mark.value, " ");
  const char *name = mark.value + type_length + 1;
  tsri_builder_add(builder, "%s;\n{\n", mark.value);
  put_values(own, TSRI_INNER, &mark, builder);
  tsri_builder_add(builder, "%s = %.*s(val%u);\n}\n", name, type_length, mark.value,
                   tsri_fused_place(own->fused, input));
}

static bool has_space(const tsri_codegen *own, tsri_space space) {
  const tsri_fused *fused = own->fused;
  for (uint32_t i = 0; i < fused->fusion->node_count; i++) {
    const tsri_planned *planned = &fused->plan->nodes[fused->plan->members[fused->fusion->first + i]];
    if (planned->space == space && planned->node != fused->heavy) return true;
  }
  return false;
}

static void put_params(const tsri_codegen *own, tsri_builder *builder) {
  for (uint32_t i = 0; i < own->fused->leaf_count; i++) {
    tsri_builder_add(builder, ", in %s leaf%u[]", tsr_dtype_name(own->fused->leaves[i].dtype), i);
  }
  tsri_codegen_params(own, builder);
}

// Where the kernel of that name begins: "kernel name<" or "kernel name(".
static const char *find_kernel(const char *text, const char *kernel) {
  size_t length = strlen(kernel);
  for (const char *at = text; (at = strstr(at, "kernel ")) != NULL; at += 7) {
    if (strncmp(at + 7, kernel, length) == 0 && strchr("<( \n", at[7 + length])) return at;
  }
  return NULL;
}

// Copies one line of the kernel, with its mark carried out.
static void put_line(const tsri_codegen *own, const char *line, const char *end, tsri_builder *builder) {
  const char *params = strstr(line, PARAMS_MARK), *store = strstr(line, STORE_MARK), *load = strstr(line, LOAD_MARK);
  if (store && store < end && has_space(own, TSRI_OUTER)) {
    put_store(own, store + strlen(STORE_MARK), end, builder);
  } else if (load && load < end && has_space(own, TSRI_INNER)) {
    put_load(own, load + strlen(LOAD_MARK), end, builder);
  } else if (params && params < end) {
    tsri_builder_put(builder, line, (size_t)(params - line));
    put_params(own, builder);
    tsri_builder_put(builder, params, (size_t)(end - params));
    tsri_builder_put(builder, "\n", 1);
  } else {
    tsri_builder_put(builder, line, (size_t)(end - line));
    tsri_builder_put(builder, "\n", 1);
  }
}

static tsr_status put_text(const tsri_codegen *own, const char *text, const char *kernel, tsri_builder *builder) {
  const char *start = find_kernel(text, kernel);
  if (!start) return TSRI_FAIL(TSR_ERR_INTERNAL, "no kernel %s to put an epilogue into", kernel);
  tsri_codegen_helpers(own, builder);
  tsri_builder_put(builder, text, (size_t)(start - text));
  const char *line = start;
  while (*line && !(line > start && strncmp(line, "kernel ", 7) == 0)) {
    const char *end = strchr(line, '\n');
    if (!end) end = line + strlen(line);
    put_line(own, line, end, builder);
    line = *end ? end + 1 : end;
  }
  tsri_builder_put(builder, line, strlen(line));
  return builder->has_failed ? TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the text of %s", kernel) : TSR_OK;
}

static tsr_status build(tsri_graph_state *state, const tsri_codegen *own, const uint32_t *key, size_t key_words,
                        tsri_kernel_source *source, const tsri_built **out_built) {
  tsri_builder builder = {0};
  const char *text = tsri_embedded_text(source->file, NULL);
  if (!text) return TSRI_FAIL(TSR_ERR_INTERNAL, "no kernel file %s.tk is embedded", source->file);
  tsr_status status = put_text(own, text, source->kernel, &builder);
  source->text = builder.text;
  source->bytes = builder.bytes;
  if (status == TSR_OK) status = tsri_generated_kernel(state, key, key_words, source, out_built);
  tsri_builder_deinit(&builder);
  return status;
}

tsr_status tsri_hooked_kernel(const tsri_kernel_run *run, const char *file, const char *kernel, const char *defines,
                              const tsri_built **out_built) {
  if (!run->epilogue) return tsri_embedded_kernel(run->device, file, kernel, defines, out_built);
  const tsri_codegen *own = run->epilogue->codegen;
  enum { NAME_WORDS = 64 };
  uint32_t key[TSRI_MAX_KEY_WORDS + NAME_WORDS] = {0};
  memcpy(key, own->key, own->key_words * sizeof *key);
  char *name = (char *)(key + own->key_words);
  int length = snprintf(name, NAME_WORDS * sizeof *key, "%s\n%s\n%s", file, kernel, defines ? defines : "");
  if (length < 0 || (size_t)length >= NAME_WORDS * sizeof *key) {
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: key of %d characters", file, length);
  }
  size_t key_words = own->key_words + (size_t)length / sizeof *key + 1;
  tsri_graph_state *state = tsri_graph_of(run->device);
  *out_built = tsri_kernel_cache_find(state->kernels, key, key_words);
  tsri_kernel_source source = {.file = file, .kernel = kernel, .defines = defines, .is_generated = true};
  tsr_status status = *out_built ? TSR_OK : build(state, own, key, key_words, &source, out_built);
  if (status == TSR_OK) tsri_kernel_hold(*out_built);
  return status;
}

void tsri_epilogue_pass(const tsri_kernel_run *run, const tsri_built *built, tsri_argument *arguments,
                        uint32_t *buffer_count, uint64_t *params, uint32_t *param_count) {
  if (!run->epilogue) return;
  const tsri_codegen *own = run->epilogue->codegen;
  for (uint32_t i = 0; i < own->fused->leaf_count; i++) arguments[(*buffer_count)++] = run->epilogue->leaves[i];
  tsri_codegen_fill(own, built->kernel, *param_count, params);
  *param_count += (uint32_t)own->param_count;
}
