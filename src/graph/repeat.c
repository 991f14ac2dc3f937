// SPDX-License-Identifier: MIT
// The launch cache: forms of pending nodes, and launching from an entry.
#include "graph/repeat.h"

#include <string.h>

#include "core/log.h"
#include "graph/codegen.h"
#include "graph/compose.h"
#include "graph/kernels.h"
#include "graph/node.h"
#include "graph/plan.h"

// --- Forms ------------------------------------------------------------------------------------------------------------

static void put_word(tsri_repeat_form *form, uint64_t word) {
  uint64_t hash = (form->hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  form->hash = hash ^ hash >> 29;
  form->words[form->word_count++] = word;
}

// The index of the leaf in form->leaves; leaf_count if the form has no such leaf.
static uint32_t find_leaf(const tsri_repeat_form *form, const tsri_value *value, tsr_dtype dtype) {
  uint32_t i = 0;
  while (i < form->leaf_count && (form->leaves[i].value != value || form->leaves[i].dtype != dtype)) i++;
  return i;
}

// Adds a leaf, unless the form has it, and returns its index in form->leaves; TSRI_MAX_LEAVES if there are too many.
static uint32_t number_leaf(tsri_repeat_form *form, const tsri_value *value, tsr_dtype dtype) {
  uint32_t number = find_leaf(form, value, dtype);
  if (number == form->leaf_count && number < TSRI_MAX_LEAVES) {
    form->leaves[form->leaf_count++] = (struct tsri_repeat_leaf){value, dtype};
  }
  return number;
}

// Adds a node, unless the form has it, and returns its index in form->nodes; TSRI_REPEAT_NODES if there are too many. Most nodes are new.
static uint32_t number_node(tsri_repeat_form *form, const tsri_node *node) {
  uint32_t i = form->node_count;
  while (i-- > 0) {
    if (form->nodes[i] == node) return i;
  }
  if (form->node_count == TSRI_REPEAT_NODES) return TSRI_REPEAT_NODES;
  form->nodes[form->node_count] = node;
  return form->node_count++;
}

// Adds the words of one node. False if launches of it are not cached. Contiguous inputs form one axis whatever their
// shape is, so the element count, which is a word of the form, is enough.
static bool put_node(tsri_repeat_form *form, const tsri_node *node, int64_t count) {
  enum { IS_LEAF = 0x80 };
  if (node->op->kind != TSRI_OP_ELEMENTWISE || node->tape || node->count != count) return false;
  if (form->word_count + 2 + node->input_count > TSRI_REPEAT_WORDS) return false;
  put_word(form, (uint64_t)(uintptr_t)node->op);
  put_word(form, (uint64_t)node->dtype | (uint64_t)node->input_count << 8);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_input *input = &node->inputs[i];
    if (!tsri_layout_is_identity(&input->layout, count)) return false;
    const tsri_node *pending = tsri_pending_node(input->value);
    uint32_t from = pending ? number_node(form, pending) : number_leaf(form, input->value, input->dtype);
    if (from == (pending ? (uint32_t)TSRI_REPEAT_NODES : (uint32_t)TSRI_MAX_LEAVES)) return false;
    put_word(form, (pending ? from : from | IS_LEAF) | (uint64_t)input->dtype << 8 | (uint64_t)input->as << 16);
  }
  return true;
}

// Lists the pending nodes from the root on. False if their launch is not cached.
static bool make_form(const tsri_node *root, tsri_repeat_form *out) {
  if (root->op->kind != TSRI_OP_ELEMENTWISE || root->input_count == 0 || root->count == 0) return false;
  out->nodes[0] = root;
  out->node_count = 1;
  out->leaf_count = out->word_count = 0;
  out->hash = 0;
  put_word(out, (uint64_t)root->count);
  bool is_simple = true;
  for (uint32_t i = 0; i < out->node_count && is_simple; i++) is_simple = put_node(out, out->nodes[i], root->count);
  return is_simple;
}

// --- Long chains ------------------------------------------------------------------------------------------------------

// The only input of the node that is pending. NULL if no input is pending, or several are, or if the node is not element-wise or was recorded on a tape.
static tsri_node *only_pending(const tsri_node *node) {
  tsri_node *found = NULL;
  if (node->op->kind != TSRI_OP_ELEMENTWISE || node->tape) return NULL;
  for (uint32_t i = 0; i < node->input_count; i++) {
    tsri_node *pending = tsri_pending_node(node->inputs[i].value);
    if (pending && found && pending != found) return NULL;
    if (pending) found = pending;
  }
  return found;
}

// Cutting every TSRI_REPEAT_NODES nodes, counted from the end of the chain, gives the planner's fusions: a fusion has at most as many nodes as a form.
_Static_assert((int)TSRI_REPEAT_NODES == (int)TSRI_MAX_FUSION_NODES, "chains are cut where the planner cuts them");

uint32_t tsri_repeat_cut(tsri_node *root, tsri_node **out_roots, uint32_t limit) {
  uint32_t count = 1, length = 1;
  out_roots[0] = root;
  if (root->depth <= TSRI_REPEAT_NODES) return 1;
  for (tsri_node *node = only_pending(root); node; node = only_pending(node), length++) {
    if (length % TSRI_REPEAT_NODES != 0) continue;
    if (count == limit) return 1;
    memmove(out_roots + 1, out_roots, count++ * sizeof *out_roots);
    out_roots[0] = node;
  }
  return count;
}

// --- Launching --------------------------------------------------------------------------------------------------------

const tsri_repeat *tsri_repeat_find(const tsri_repeats *repeats, const tsri_node *root, tsri_repeat_form *out_form) {
  if (!make_form(root, out_form)) return NULL;
  uint32_t place = tsri_ways_find(&repeats->ways, out_form->hash);
  if (place == TSRI_WAY_PLACES) return NULL;
  const tsri_repeat *repeat = &repeats->places[place];
  if (!repeat->built || repeat->word_count != out_form->word_count) return NULL;
  if (memcmp(repeat->words, out_form->words, repeat->word_count * sizeof repeat->words[0]) != 0) return NULL;
  return tsri_log_wants(TSR_LOG_PLAN) ? NULL : repeat;  // plans are logged when they are made, so make one
}

tsr_status tsri_repeat_launch(const tsri_repeat *repeat, const tsri_repeat_form *form, tsr_buffer *output) {
  tsri_argument arguments[TSRI_MAX_LEAVES + 1];
  uint64_t block[TSRI_REPEAT_PARAMS], count = (uint64_t)form->nodes[0]->count;
  for (uint32_t i = 0; i < repeat->leaf_count; i++) {
    tsr_buffer *buffer = tsri_value_buffer(form->leaves[repeat->leaf_of[i]].value);
    arguments[i] = (tsri_argument){.buffer = buffer, .element_count = count};
  }
  arguments[repeat->leaf_count] = (tsri_argument){.buffer = output, .element_count = count};
  const tsri_ir_param *params = repeat->built->kernel->params;
  memcpy((char *)block + params[0].offset, &(uint32_t){(uint32_t)count}, sizeof(uint32_t));
  for (uint32_t i = 0; i < repeat->scalar_count; i++) {
    double number = tsri_node_scalars(form->nodes[repeat->scalars[i].node])->values[repeat->scalars[i].index];
    tsri_codegen_store((tsr_dtype)params[i + 1].declared, number, (char *)block + params[i + 1].offset);
  }
  tsri_kernel_hold(repeat->built);
  return tsri_built_launch(form->nodes[0]->value.device, repeat->built, repeat->groups, arguments, block);
}

// --- Keeping ----------------------------------------------------------------------------------------------------------

// Sets repeat->leaf_of: which leaf of the form the kernel binds at each index. False if the form and the fusion have different leaves.
static bool map_leaves(const tsri_repeat_form *form, const tsri_fused *fused, tsri_repeat *repeat) {
  if (fused->leaf_count != form->leaf_count) return false;
  repeat->leaf_count = fused->leaf_count;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    uint32_t at = find_leaf(form, fused->leaves[i].value, fused->leaves[i].dtype);
    if (at == form->leaf_count) return false;
    repeat->leaf_of[i] = (uint8_t)at;
  }
  return true;
}

// Sets repeat->scalars in the order of the kernel's parameters, which is the order of the fusion's members. False if there are too many.
static bool map_scalars(tsri_repeat_form *form, const tsri_fused *fused, tsri_repeat *repeat) {
  for (uint32_t i = 0; i < fused->fusion->node_count; i++) {
    const tsri_node *node = fused->plan->nodes[fused->plan->members[fused->fusion->first + i]].node;
    uint32_t place = number_node(form, node), count = (uint32_t)tsri_node_scalars(node)->count;
    if (repeat->scalar_count + count > TSRI_REPEAT_PARAMS - 1) return false;
    for (uint32_t j = 0; j < count; j++, repeat->scalar_count++) {
      repeat->scalars[repeat->scalar_count].node = (uint8_t)place;
      repeat->scalars[repeat->scalar_count].index = (uint8_t)j;
    }
  }
  return true;
}

void tsri_repeat_keep(tsri_repeats *repeats, const tsri_fused *fused, const tsri_built *built,
                      const uint32_t groups[3]) {
  tsri_repeat_form form;
  if (!make_form(fused->root, &form) || form.node_count != fused->fusion->node_count) return;
  tsri_repeat repeat = {.built = built, .word_count = form.word_count};
  memcpy(repeat.groups, groups, sizeof repeat.groups);
  memcpy(repeat.words, form.words, form.word_count * sizeof form.words[0]);
  if (!map_leaves(&form, fused, &repeat) || !map_scalars(&form, fused, &repeat)) return;
  if (built->kernel->param_count != 1 + repeat.scalar_count) return;
  repeats->places[tsri_ways_put(&repeats->ways, form.hash)] = repeat;
}
