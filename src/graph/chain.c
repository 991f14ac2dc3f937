// SPDX-License-Identifier: MIT
// Recognises the chains of products, writes their functions and stores these for each device.
#include "graph/chain.h"

#include <string.h>

#include "core/alloc.h"
#include "core/log.h"
#include "graph/compose.h"
#include "graph/node.h"
#include "lang/lang.h"
#include "runtime/native_op.h"
#include "runtime/program.h"

// A function, found by the key of its code (tsri_codegen.key).
typedef struct chain_entry {
  uint32_t *key;
  size_t key_words;
  tsri_kernel *kernel;  // its parameters: where each scalar is among the words of a chain
  tsri_emitted emitted;
  tsri_chain_function chain;
  bool has_failed;
} chain_entry;

// Functions are kept as long as the device is open, because captures refer to them. A device gets at most MOST_CHAINS functions; the operators of any further
// chain run in a kernel after the product.
enum { MOST_CHAINS = 64 };

struct tsri_chains {
  int count;
  chain_entry entries[MOST_CHAINS];
};

void tsri_chains_destroy(tsri_chains *chains) {
  for (int i = 0; chains && i < chains->count; i++) {
    tsri_free(chains->entries[i].key);
    tsri_kernel_release(chains->entries[i].kernel);
    tsri_emitted_deinit(&chains->entries[i].emitted);
  }
  tsri_free(chains);
}

// --- Describing -----------------------------------------------------------------------------------------------------

// The index of the leaf that reads the value `product`. TSRI_NONE if `product` is NULL: the product is then the fusion's heavy node.
static uint32_t product_leaf(const tsri_fused *fused, const tsri_value *product) {
  for (uint32_t i = 0; product && i < fused->leaf_count; i++) {
    if (fused->leaves[i].value == product) return i;
  }
  return TSRI_NONE;
}

// Describes a leaf as an input of the chain. False unless its dtype is that of the result and it has one element for each element of the product in the same
// order, or one for each column of the product, or a single element.
static bool describe_input(const tsri_leaf *leaf, const tsri_fused *fused, int64_t n, tsri_chain_input *out) {
  const tsri_layout *layout = &leaf->layout;
  const tsr_shape *shape = &fused->root->shape;
  int64_t low = 0, high = 0;
  if (leaf->dtype != fused->root->dtype) return false;
  tsri_layout_span(layout, &low, &high);
  *out = (tsri_chain_input){.at.offset = (size_t)layout->offset * tsr_dtype_bytes(leaf->dtype)};
  if (low == high) return true;
  out->by_column = true;
  out->by_row = tsri_layout_is_contiguous(layout) && layout->count == fused->root->count;
  return out->by_row || (tsri_is_along_last_axis(layout) && tsri_shape_equal(layout->shape, *shape) &&
                         shape->dims[shape->rank - 1] == n);
}

// Whether element i of every node of the chain is computed from element i of the product. `product` is the product's leaf, or TSRI_NONE.
static bool is_in_order(const tsri_fused *fused, uint32_t product) {
  if (product != TSRI_NONE) return tsri_layout_is_identity(&fused->leaves[product].layout, fused->root->count);
  for (uint32_t i = 0; i < fused->fusion->node_count; i++) {
    const tsri_planned *planned = &fused->plan->nodes[fused->plan->members[fused->fusion->first + i]];
    if (planned->space != TSRI_OUTER) return false;
  }
  return true;
}

// Sets op->is.product.chain, except its function and words, and `out_inputs` to the values that the chain reads in addition to the product.
static bool describe_chain(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product,
                           tsri_native_op *op, const tsri_value **out_inputs) {
  tsri_product_op *p = &op->is.product;
  tsri_fused fused;
  p->chain = (tsri_product_chain){.function = NULL};
  if (plan->nodes[fusion->root].node->dtype != op->result || tsri_fused_init(plan, fusion, &fused) != TSR_OK)
    return false;
  uint32_t product_index = product_leaf(&fused, product);
  if ((product && product_index == TSRI_NONE) || !is_in_order(&fused, product_index)) return false;
  for (uint32_t i = 0; i < fused.leaf_count; i++) {
    if (i == product_index) continue;
    int number = p->chain.input_count;
    if (number == TSRI_CHAIN_INPUTS || fused.leaves[i].value == product) return false;
    if (!describe_input(&fused.leaves[i], &fused, p->n, &p->chain.inputs[number])) return false;
    out_inputs[number] = fused.leaves[i].value;
    p->chain.input_count++;
  }
  return true;
}

// --- Functions ------------------------------------------------------------------------------------------------------

static void put_zero(const tsri_codegen *gen, uint32_t leaf, tsri_builder *builder) {
  (void)gen, (void)leaf;
  tsri_builder_string(builder, "0");
}

// Writes the chain's function. All its elements are f32, because the product's kernel converts f16 and bf16.
//
// kernel chain<WG = 1>(in f32 x[], in f32 leaf0[], …, out f32 y[], f32 num0, …) { f32 val0 = x[0]; …; y[0] = val3; }
static void put_text(const tsri_codegen *gen, uint32_t product_index, tsri_builder *builder) {
  const tsri_fused *fused = gen->fused;
  tsri_codegen_helpers(gen, builder);
  tsri_builder_string(builder, "kernel chain<WG = 1>(");
  if (product_index == TSRI_NONE) tsri_builder_string(builder, "in f32 x[], ");
  else tsri_builder_add(builder, "in f32 leaf%u[], ", product_index);
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    if (i != product_index) tsri_builder_add(builder, "in f32 leaf%u[], ", i);
  }
  tsri_builder_string(builder, "out f32 y[]");
  for (int i = 0; i < gen->param_count; i++) {
    tsri_builder_add(builder, ", %s ", tsr_dtype_name(gen->params[i].dtype));
    tsri_codegen_param_name(&gen->params[i], builder);
  }
  tsri_builder_string(builder, ") {\n");
  if (product_index == TSRI_NONE)
    tsri_builder_add(builder, "  f32 val%u = x[0];\n", tsri_fused_place(fused, fused->heavy->slot));
  tsri_codegen_leaves(gen, TSRI_OUTER, put_zero, builder, "  ");
  tsri_codegen_nodes(gen, TSRI_OUTER, builder, "  ");
  tsri_builder_add(builder, "  y[0] = f32(val%u);\n}\n", tsri_fused_place(fused, fused->root->slot));
}

static tsr_status write_function(tsr_device *device, const tsri_codegen *gen, uint32_t product_index,
                                 chain_entry *entry) {
  tsri_builder builder = {0};
  tsri_module *module = NULL;
  put_text(gen, product_index, &builder);
  tsr_status status =
      builder.has_failed ? TSR_ERR_OUT_OF_MEMORY : tsri_lang_parse("chain", builder.text, builder.bytes, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, "chain", NULL, 0, NULL, NULL, &entry->kernel);
  tsri_module_release(module);
  tsri_builder_deinit(&builder);
  if (status == TSR_OK) status = tsri_built_function(device, entry->kernel, &entry->emitted);
  if (status == TSR_OK && entry->emitted.params_bytes > TSRI_CHAIN_WORDS * sizeof(uint32_t)) return TSR_ERR_UNSUPPORTED;
  entry->chain = (tsri_chain_function){.text = entry->emitted.data,
                                       .entry = entry->emitted.entry,
                                       .options = entry->emitted.build_options,
                                       .input_count = (int)gen->fused->leaf_count - (product_index != TSRI_NONE),
                                       .word_count = (int)(entry->emitted.params_bytes / sizeof(uint32_t))};
  return status;
}

static chain_entry *look_up(tsri_chains *chains, const uint32_t *key, size_t key_words) {
  for (int i = 0; i < chains->count; i++) {
    chain_entry *entry = &chains->entries[i];
    if (entry->key_words == key_words && memcmp(entry->key, key, key_words * sizeof *key) == 0) return entry;
  }
  return NULL;
}

// Writes and stores a function. If it cannot be written, the entry is stored with has_failed set, so that it is not tried again.
static chain_entry *add(tsr_device *device, tsri_chains *chains, const tsri_codegen *gen, uint32_t product_index) {
  if (chains->count == MOST_CHAINS) return NULL;
  uint32_t *key = tsri_malloc(gen->key_words * sizeof *key);
  if (!key) return NULL;
  memcpy(key, gen->key, gen->key_words * sizeof *key);
  chain_entry *entry = &chains->entries[chains->count++];
  *entry = (chain_entry){.key = key, .key_words = gen->key_words};
  entry->has_failed = write_function(device, gen, product_index, entry) != TSR_OK;
  if (entry->has_failed) tsri_log(TSR_LOG_DEBUG, "no chain after a product: %s", tsr_last_error());
  return entry;
}

// Sets the function and the words of the chain. Writes the function's text when it is needed for the first time. False: there are too many functions, the
// device cannot compute this one, or host memory is out.
static bool find_function(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product,
                          tsri_product_op *p) {
  tsr_device *device = plan->nodes[fusion->root].node->value.device;
  tsri_graph_state *state = tsri_graph_of(device);
  tsri_fused fused;
  tsri_codegen gen;
  if (!state->chains) state->chains = tsri_calloc(1, sizeof *state->chains);
  if (!state->chains || tsri_fused_init(plan, fusion, &fused) != TSR_OK) return false;
  uint32_t product_index = product_leaf(&fused, product);
  tsri_codegen_init(&fused, &state->tuning, &gen);
  gen.form = TSRI_FORM_HOOK;
  if (tsri_codegen_prepare(&gen) != TSR_OK || gen.key_words == TSRI_MAX_KEY_WORDS) return false;
  gen.key[gen.key_words++] = product_index;  // the function's first parameter
  chain_entry *entry = look_up(state->chains, gen.key, gen.key_words);
  if (!entry) entry = add(device, state->chains, &gen, product_index);
  if (!entry || entry->has_failed) return false;
  uint64_t words[TSRI_CHAIN_WORDS / 2] = {0};
  tsri_codegen_fill(&gen, entry->kernel, 0, words);
  memcpy(p->chain.words, words, sizeof words);
  p->chain.function = &entry->chain;
  return true;
}

// --- Products with chains -------------------------------------------------------------------------------------------

bool tsri_chain_match(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product, tsri_matched *out) {
  const tsr_device *device = plan->nodes[fusion->root].node->value.device;
  tsri_product_op *p = &out->op.is.product;
  if (out->op.kind != TSRI_NATIVE_PRODUCT) return false;
  out->op.parts |= TSRI_PRODUCT_CHAIN;
  p->chain.input_count = 0;
  // Ask the device first, without the chain's inputs: few products can have a chain, and describing a chain takes longer.
  return tsri_device_takes(device, &out->op) &&
         describe_chain(plan, fusion, product, &out->op, &out->values[TSRI_OPERAND_CHAIN]) &&
         tsri_device_takes(device, &out->op) && find_function(plan, fusion, product, p);
}
