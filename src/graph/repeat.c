// SPDX-License-Identifier: MIT
// The launch cache: keys of nodes, and launching from an entry.
#include "graph/repeat.h"

#include <string.h>

#include "core/log.h"
#include "graph/compose.h"
#include "graph/kernels.h"
#include "graph/node.h"

// False if launches of this node are not cached. Contiguous inputs form one axis whatever their shape is, so the
// element count is enough.
static bool make_key(const tsri_node *node, tsri_repeat_key *out) {
  if (node->op->kind != TSRI_OP_ELEMENTWISE || node->input_count == 0 || node->count == 0) return false;
  memset(out, 0, sizeof *out);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_input *input = &node->inputs[i];
    if (!tsri_value_buffer(input->value) || !tsri_layout_is_identity(&input->layout, node->count)) return false;
    uint32_t first = 0;
    while (node->inputs[first].value != input->value || node->inputs[first].dtype != input->dtype) first++;
    out->dtypes[i] = (uint8_t)input->dtype;
    out->as[i] = (uint8_t)input->as;
    out->same_as[i] = (uint8_t)first;
  }
  out->op = node->op;
  out->count = node->count;
  out->dtype = (uint8_t)node->dtype;
  out->input_count = (uint8_t)node->input_count;
  const tsri_scalars *scalars = tsri_node_scalars(node);
  out->scalar_count = (uint8_t)scalars->count;
  memcpy(out->scalars, scalars->values, sizeof out->scalars);
  return true;
}

static size_t place_of(const tsri_repeat_key *key) {
  uint64_t hash =
      (uint64_t)(uintptr_t)key->op ^ key->scalars[0] ^ (uint64_t)key->count << 20 ^ (uint64_t)key->dtypes[0] << 4;
  hash = (hash ^ hash >> 29) * UINT64_C(0x9FB21C651E98DF25);
  return (size_t)(hash >> 58);
}

_Static_assert(TSRI_REPEATS == 1 << 6, "place_of gives six bits");

const tsri_repeat *tsri_repeat_find(const tsri_repeats *repeats, const tsri_node *node) {
  tsri_repeat_key key;
  if (!make_key(node, &key)) return NULL;
  const tsri_repeat *repeat = &repeats->places[place_of(&key)];
  if (!repeat->built || memcmp(&repeat->key, &key, sizeof key) != 0) return NULL;
  return tsri_log_wants(TSR_LOG_PLAN) ? NULL : repeat;  // plans are logged when they are made, so make one
}

tsr_status tsri_repeat_launch(const tsri_repeat *repeat, const tsri_node *node, tsr_buffer *output) {
  tsri_argument arguments[TSRI_MAX_LEAVES + 1];
  uint64_t count = (uint64_t)node->count;
  for (uint32_t i = 0; i < repeat->leaf_count; i++) {
    tsr_buffer *buffer = tsri_value_buffer(node->inputs[repeat->input_of[i]].value);
    arguments[i] = (tsri_argument){.buffer = buffer, .element_count = count};
  }
  arguments[repeat->leaf_count] = (tsri_argument){.buffer = output, .element_count = count};
  tsri_kernel_hold(repeat->built);
  return tsri_built_launch(node->value.device, repeat->built, repeat->groups, arguments, repeat->block);
}

void tsri_repeat_keep(tsri_repeats *repeats, const tsri_node *node, const uint8_t *leaf_of, uint32_t leaf_count,
                      const tsri_built *built, const uint32_t groups[3], const uint64_t *block) {
  tsri_repeat_key key;
  if (!make_key(node, &key) || built->kernel->params_bytes > sizeof repeats->places[0].block) return;
  tsri_repeat *repeat = &repeats->places[place_of(&key)];
  *repeat = (tsri_repeat){.key = key, .built = built, .leaf_count = leaf_count};
  memcpy(repeat->groups, groups, sizeof repeat->groups);
  memcpy(repeat->block, block, built->kernel->params_bytes);
  for (uint32_t i = node->input_count; i-- > 0;) repeat->input_of[leaf_of[i]] = (uint8_t)i;
}
