// SPDX-License-Identifier: MIT
// Planning: collects the nodes that are needed, merges equal ones, and lets each node join the fusion of its consumers
// where that is possible.
//
// Takes time linear in nodes and edges and does not recurse: a graph may be a hundred thousand nodes deep.
#include "graph/plan.h"

#include <stddef.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "graph/assign.h"
#include "graph/compose.h"
#include "graph/native.h"
#include "graph/paired.h"
#include "runtime/tape.h"

// --- Collecting -----------------------------------------------------------------------------------------------------

typedef struct visit {
  tsri_node *node;
  uint32_t next_input, next_reader;
} visit;

typedef struct collector {
  tsri_graph_state *state;
  tsri_plan *plan;
  uint32_t node_capacity;
  visit *stack;
  uint32_t depth, stack_capacity;
  visit few[TSRI_FEW];
} collector;

// Grows an array that starts in the fixed storage `few`, which is never freed.
static bool grow(void **items, const void *few, uint32_t *capacity, uint32_t wanted, size_t item_bytes) {
  if (wanted <= *capacity) return true;
  uint32_t larger = *capacity * 4;
  void *grown = tsri_realloc(*items == few ? NULL : *items, larger * item_bytes);
  if (!grown) return false;
  if (*items == few) memcpy(grown, few, *capacity * item_bytes);
  *items = grown;
  *capacity = larger;
  return true;
}

static bool push(collector *collected, tsri_node *node) {
  if (!grow((void **)&collected->stack, collected->few, &collected->stack_capacity, collected->depth + 1,
            sizeof *collected->stack))
    return false;
  node->mark = collected->state->run_mark;
  node->slot = TSRI_NONE;
  collected->stack[collected->depth++] = (visit){node, 0, tsri_readers_first(node)};
  return true;
}

// A kernel belongs to one tape or to none. So an input that was recorded on another tape than the node is written to
// memory, to its own buffer (is_unmerged). Playing the node's tape then reads what that buffer holds at that time, and
// does not compute the input again.
static void keep_tapes_apart(tsri_plan *plan, tsri_node *node) {
  if (node->tape && !tsri_tape_is_open(node->tape)) node->tape = 0;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_node *input = tsri_pending_node(node->inputs[i].value);
    if (!input || input->tape == node->tape) continue;
    plan->nodes[input->slot].is_target = plan->nodes[input->slot].is_unmerged = true;
  }
}

// `reader` reads elements that an assignment overwrites, so it must not be computed after that assignment. A node that two assignments
// overwrite is written to memory.
static void set_overwriter(tsri_planned *reader, uint32_t assignment) {
  if (reader->overwriter != TSRI_NONE && reader->overwriter != assignment) reader->is_target = true;
  reader->overwriter = assignment;
}

static bool number(collector *collected, tsri_node *node) {
  tsri_plan *plan = collected->plan;
  if (!grow((void **)&plan->nodes, plan->few_nodes, &collected->node_capacity, plan->node_count + 1,
            sizeof *plan->nodes))
    return false;
  node->slot = plan->node_count;
  tsri_planned *planned = &plan->nodes[plan->node_count++];
  memset(planned, 0, offsetof(tsri_planned, seen));
  planned->node = node;
  planned->same_as = node->slot;
  planned->fusion = planned->overwriter = TSRI_NONE;
  plan->input_count += node->input_count;
  if (node->results)
    // Room for the inputs of the other results, and for a reference to each while they are published.
    plan->input_count += (size_t)2 * node->result_count;
  for (uint32_t at = tsri_readers_first(node); at; at = plan->readers.all[at - 1].next) {
    set_overwriter(&plan->nodes[plan->readers.all[at - 1].node->slot], node->slot);
  }
  keep_tapes_apart(plan, node);
  return true;
}

// Depth-first search with an explicit stack. A node is numbered after its inputs and after the readers of the elements
// it overwrites.
static bool collect_from(collector *collected, tsri_node *target) {
  if (target->mark == collected->state->run_mark) return true;
  if (!push(collected, target)) return false;
  while (collected->depth > 0) {
    visit *top = &collected->stack[collected->depth - 1];
    tsri_node *input = NULL;
    if (top->next_input < top->node->input_count) {
      input = tsri_pending_node(top->node->inputs[top->next_input++].value);
    } else if (top->next_reader) {
      const tsri_reader *reader = &collected->plan->readers.all[top->next_reader - 1];
      input = reader->node;
      top->next_reader = reader->next;
    } else {
      if (!number(collected, top->node)) return false;
      collected->depth--;
    }
    if (input && input->mark != collected->state->run_mark && !push(collected, input)) return false;
  }
  return true;
}

uint32_t tsri_plan_number(const tsri_plan *plan, const tsri_value *value) {
  const tsri_node *node = tsri_pending_node(value);
  return node ? plan->nodes[node->slot].same_as : TSRI_NONE;
}

// --- Equal nodes ----------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

// The value that an input reads after merging: if it is the value of one of several equal nodes, the value of the first of these.
static const tsri_value *stands_for(const tsri_plan *plan, const tsri_value *value) {
  uint32_t number_of = tsri_plan_number(plan, value);
  return number_of == TSRI_NONE ? value : &plan->nodes[number_of].node->value;
}

static uint64_t hash_node(const tsri_plan *plan, const tsri_node *node) {
  uint64_t hash = mix((uint64_t)(uintptr_t)node->op, (uint64_t)node->count << 8 | (uint64_t)node->dtype);
  for (uint32_t i = 0; i < node->input_count; i++) {
    hash = mix(hash,
               (uint64_t)(uintptr_t)stands_for(plan, node->inputs[i].value) + (uint64_t)node->inputs[i].layout.offset);
  }
  return hash;
}

static bool same_node(const tsri_plan *plan, const tsri_node *a, const tsri_node *b) {
  if (a->op != b->op || a->dtype != b->dtype || a->axes != b->axes || a->input_count != b->input_count) return false;
  if (a->tape != b->tape) return false;
  if (!tsri_shape_equal(a->shape, b->shape)) return false;
  if (!a->attributes != !b->attributes) return false;
  // Compare the bits: 0 and -0 are different numbers. All attributes are 8 bytes wide, so there is no padding.
  if (a->attributes && memcmp(a->attributes, b->attributes, tsri_op_attribute_bytes(a->op)) != 0) return false;
  for (uint32_t i = 0; i < a->input_count; i++) {
    const tsri_input *left = &a->inputs[i], *right = &b->inputs[i];
    if (left->as != right->as || stands_for(plan, left->value) != stands_for(plan, right->value)) return false;
    if (!tsri_layout_equal(&left->layout, &right->layout)) return false;
  }
  return true;
}

static bool merge_equal(tsri_plan *plan) {
  if (plan->node_count < 2) return true;
  size_t slots = 4;
  while (slots < (size_t)plan->node_count * 2) slots *= 2;
  uint32_t few[2 * TSRI_FEW] = {0};
  bool is_few = slots <= sizeof few / sizeof few[0];
  uint32_t *table = is_few ? few : tsri_calloc(slots, sizeof *table);  // number of a node plus 1; 0: empty
  if (!table) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    tsri_planned *planned = &plan->nodes[i];
    // Assignments are not merged. Nor are nodes that an assignment will overwrite: a duplicate becomes a copy of the
    // first node, and could copy after the overwrite.
    if (planned->node->value.storage || planned->node->value.successor || planned->is_unmerged) continue;
    // run_equal can copy the single result of an operator only.
    if (planned->node->results || planned->node->op == &tsri_op_result) continue;
    size_t at = hash_node(plan, planned->node) & (slots - 1);
    while (table[at] && !same_node(plan, plan->nodes[table[at] - 1].node, planned->node)) at = (at + 1) & (slots - 1);
    if (table[at]) {
      planned->same_as = table[at] - 1;
      plan->nodes[planned->same_as].equals_left++;
      // A duplicate that must be computed before an assignment becomes a copy of the first node, which therefore has to be in memory.
      if (planned->is_target || planned->overwriter != TSRI_NONE) plan->nodes[planned->same_as].is_target = true;
    } else {
      table[at] = i + 1;
    }
  }
  if (!is_few) tsri_free(table);
  return true;
}

// --- Fusions --------------------------------------------------------------------------------------------------------

bool tsri_plan_input_layout(const tsri_plan *plan, const tsri_planned *planned, uint32_t index,
                            tsri_layout *out_layout) {
  const tsri_input *input = &planned->node->inputs[index];
  const tsri_fusion *fusion = &plan->fusions[planned->fusion];
  uint32_t uint32 = planned->node->slot;
  if (uint32 == fusion->root || uint32 == fusion->heavy) {  // its index space is the node's own shape
    *out_layout = input->layout;
    return true;
  }
  return tsri_compose(&planned->seen, &planned->node->shape, &input->layout, out_layout);
}

static bool is_strided_copy(const tsri_node *node) {
  return node->op == &tsri_op_copy && !tsri_layout_is_contiguous(&node->inputs[0].layout);
}

// Whether the kernel of `node` can inline the node that computes input `index`. An operator with its own kernel needs a
// load hook, and then inlines its first input if that is read in order. It does not inline a strided copy: the copy
// gets a kernel, into which the nodes before it can be fused.
static bool takes_input(const tsri_node *node, uint32_t index) {
  if (node->op->kind != TSRI_OP_KERNEL) return true;
  const tsri_input *input = &node->inputs[index];
  const tsri_node *from = tsri_pending_node(input->value);
  if (node->op == &tsri_op_assign) return tsri_assign_takes(node, index, from);
  if (is_strided_copy(from)) return false;
  return index == 0 && node->op->has_load_hook && tsri_layout_is_identity(&input->layout, from->count) &&
         tsri_shape_equal(input->layout.shape, from->shape) && input->dtype == from->dtype;
}

// Whether the members of the fusion are computed into the target of an assignment.
static bool is_assigned(const tsri_plan *plan, const tsri_fusion *fusion) {
  return plan->nodes[fusion->root].node->op == &tsri_op_assign;
}

// Called when `planned` has its fusion: marks each of its inputs as wanted by this fusion, or as refused.
static void ask_inputs(tsri_plan *plan, const tsri_planned *planned) {
  const tsri_node *node = planned->node;
  const tsri_fusion *fusion = &plan->fusions[planned->fusion];
  bool uses_up = is_assigned(plan, fusion) && (fusion->root == node->slot || planned->is_used_up);
  tsri_space space = fusion->heavy == node->slot ? TSRI_INNER : planned->space;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t number_of = tsri_plan_number(plan, node->inputs[i].value);
    if (number_of == TSRI_NONE) continue;
    tsri_planned *input = &plan->nodes[number_of];
    tsri_layout seen;
    bool can = takes_input(node, i) && tsri_plan_input_layout(plan, planned, i, &seen);
    if (!can || (input->is_wanted && (input->wanting != planned->fusion || input->space != space ||
                                      !tsri_layout_equal(&input->seen, &seen)))) {
      input->is_refused = true;
      continue;
    }
    // The input refers to this very node, not to the equal node that stands for it (number_of).
    if (uses_up) plan->nodes[tsri_pending_node(node->inputs[i].value)->slot].used_up_refs++;
    input->is_wanted = true;
    input->wanting = planned->fusion;
    input->space = space;
    input->seen = seen;
  }
}

static bool inputs_compose(const tsri_planned *planned) {
  for (uint32_t i = 0; i < planned->node->input_count; i++) {
    if (!tsri_compose(&planned->seen, &planned->node->shape, &planned->node->inputs[i].layout, NULL)) return false;
  }
  return true;
}

// Whether computing the node inside the fusion may give other bits than computing it in a separate kernel. In a fusion, a reduction or an operator with its own
// kernel may use another kernel, which adds in another order; and f16 and bf16 are not rounded between fused operators. A node that is computed alone into the
// target of an assignment has the same bits.
static bool changes_bits(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_node *node) {
  bool is_alone = fusion->node_count == 1 && is_assigned(plan, fusion);
  bool is_rounded = node->dtype == TSR_F16 || node->dtype == TSR_BF16;
  return !is_alone && (fusion->heavy != TSRI_NONE || node->op->kind != TSRI_OP_ELEMENTWISE || is_rounded);
}

// The index of the input in fusion->plain; plain_count if it is not listed.
static uint32_t find_plain(const tsri_fusion *fusion, const tsri_value *value, tsr_dtype dtype) {
  uint32_t i = 0;
  while (i < fusion->plain_count && (fusion->plain[i].value != value || fusion->plain[i].dtype != dtype)) i++;
  return i;
}

// Whether the node, as a member of the fusion, reads input `index` in row-major order. All members that do so share one leaf.
static bool is_plain(const tsri_fusion *fusion, const tsri_planned *planned, uint32_t index) {
  const tsri_node *node = planned->node;
  if (node->op->kind != TSRI_OP_ELEMENTWISE || planned->space != TSRI_OUTER) return false;
  bool is_seen_whole = node->slot == fusion->root || tsri_layout_is_identity(&planned->seen, node->count);
  return is_seen_whole && tsri_layout_is_identity(&node->inputs[index].layout, node->count);
}

// The edges that the node's inputs add to the fusion.
static uint32_t count_edges(const tsri_fusion *fusion, const tsri_planned *planned) {
  uint32_t edges = 0;
  for (uint32_t i = 0; i < planned->node->input_count; i++) {
    const tsri_input *input = &planned->node->inputs[i];
    edges += find_plain(fusion, input->value, input->dtype) == fusion->plain_count || !is_plain(fusion, planned, i);
  }
  return edges;
}

static void add_edges(tsri_fusion *fusion, const tsri_planned *planned) {
  for (uint32_t i = 0; i < planned->node->input_count; i++) {
    const tsri_input *input = &planned->node->inputs[i];
    bool is_known = find_plain(fusion, input->value, input->dtype) < fusion->plain_count;
    if (is_plain(fusion, planned, i) && is_known) continue;
    fusion->edges++;
    if (!is_plain(fusion, planned, i) || is_known || fusion->plain_count == TSRI_MAX_LEAVES) continue;
    fusion->plain[fusion->plain_count++] = (struct tsri_plain_input){input->value, input->dtype};
  }
}

// Removes the node from the fusion's inputs, because it becomes a member.
static void remove_edge(tsri_fusion *fusion, const tsri_node *node) {
  uint32_t at = find_plain(fusion, &node->value, node->dtype);
  fusion->edges--;
  if (at < fusion->plain_count) fusion->plain[at] = fusion->plain[--fusion->plain_count];
}

// Whether input `index` of the node, seen from the index space of its fusion, is the element that the assignment overwrites at the same index.
static bool is_overwritten_in_order(const tsri_planned *planned, uint32_t index, const tsri_node *assignment) {
  const tsri_input *input = &planned->node->inputs[index], *target = &assignment->inputs[0];
  tsri_layout layout;
  return input->dtype == target->dtype &&
         tsri_compose(&planned->seen, &planned->node->shape, &input->layout, &layout) &&
         layout.offset == target->layout.offset && layout.count == target->layout.count &&
         tsri_layout_is_contiguous(&layout);
}

// Whether all references to the node come from members of its fusion that are themselves used up, so that nobody can read the node's elements after the
// assignment has run. tsri_readers_init holds one more reference to each reader of overwritten elements.
static bool is_used_up(const tsri_planned *planned) {
  uint32_t held = planned->overwriter != TSRI_NONE;
  return tsri_value_refs(&planned->node->value) == planned->used_up_refs + held;
}

// Whether a node that reads elements which an assignment overwrites can be computed by the kernel that overwrites them, in place.
static bool can_join_in_place(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_planned *planned) {
  bool is_same = fusion->root == planned->overwriter && planned->node->op->kind == TSRI_OP_ELEMENTWISE;
  if (!is_same || fusion->heavy != TSRI_NONE || !is_used_up(planned)) return false;
  const tsri_node *assignment = plan->nodes[fusion->root].node;
  for (uint32_t i = 0; i < planned->node->input_count; i++) {
    bool is_read = tsri_readers_overwriter(planned->node, i) == assignment;
    if (is_read && !is_overwritten_in_order(planned, i, assignment)) return false;
  }
  return true;
}

static bool is_small_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16; }

// Whether the kernel of `node` can compute the nodes after it, of which `root` is the last, where it stores its result.
static bool has_hook_for(const tsri_node *node, const tsri_node *root) {
  if (node->op->has_store_hook && node->dtype == root->dtype) return true;
  bool can_cast = node->op->has_cast_hook && is_small_float(node->dtype) && is_small_float(root->dtype);
  return (can_cast || node->op->has_wide_hook) && tsri_tuning_of(root->value.device)->fused_bytes > 0;
}

static bool can_join(const tsri_plan *plan, const tsri_planned *planned) {
  const tsri_node *node = planned->node;
  if (planned->is_target || planned->is_refused || !planned->is_wanted) return false;
  const tsri_fusion *fusion = &plan->fusions[planned->wanting];
  bool has_room =
      fusion->node_count < TSRI_MAX_FUSION_NODES && fusion->edges + count_edges(fusion, planned) <= TSRI_MAX_LEAVES + 1;
  const tsri_node *root = plan->nodes[fusion->root].node;
  if (!has_room || root->value.device->is_eager) return false;
  if (planned->overwriter != TSRI_NONE && !can_join_in_place(plan, fusion, planned)) return false;
  if (root->value.device->is_deterministic && changes_bits(plan, fusion, node)) return false;
  if (node->op->kind == TSRI_OP_ELEMENTWISE) {
    // An element would be computed more than once if the node is broadcast, or if the heavy node's kernel reads its input in several passes.
    bool is_passed = planned->space == TSRI_INNER && plan->nodes[fusion->heavy].node->op->kind == TSRI_OP_KERNEL;
    bool is_repeated = planned->seen.count > node->count || is_passed;
    return !(is_repeated && node->op->is_costly) && inputs_compose(planned);
  }
  // A reduction, or an operator whose kernel has a store hook, can join if the nodes after it read its result once and in order. If the fusion is only an
  // assignment, which has no kernel, any operator with one result can join.
  bool has_assignment = is_assigned(plan, fusion);
  if (fusion->is_in_place || (has_assignment && !tsri_assign_takes_heavy(root))) return false;
  bool has_hook = has_hook_for(node, root);
  bool can_lead = node->op->kind == TSRI_OP_REDUCE || (has_hook && !node->results) ||
                  (has_assignment && fusion->node_count == 1 && node->op->run && !node->results);
  return can_lead && fusion->heavy == TSRI_NONE && planned->space == TSRI_OUTER &&
         tsri_layout_is_identity(&planned->seen, node->count);
}

static void start_fusion(tsri_plan *plan, tsri_planned *planned) {
  const tsri_node *node = planned->node;
  bool is_assignment = node->op == &tsri_op_assign;
  planned->fusion = plan->fusion_count;
  planned->space = TSRI_OUTER;
  tsri_fusion *fusion = &plan->fusions[plan->fusion_count++];
  *fusion = (tsri_fusion){
      .root = node->slot,
      .heavy = node->op->kind == TSRI_OP_ELEMENTWISE || is_assignment ? TSRI_NONE : node->slot,
      .edges = is_assignment,
      .assignment = TSRI_NONE,
      .paired = TSRI_NONE,
      .node_count = 1,
  };
  if (!is_assignment) add_edges(fusion, planned);
}

static void join_fusion(tsri_plan *plan, tsri_planned *planned) {
  tsri_fusion *fusion = &plan->fusions[planned->wanting];
  // The fusion has the shape of the node that it computes, which may differ from that of the assignment (tsri_assign_takes).
  bool has_assignment = is_assigned(plan, fusion), is_source = fusion->node_count == 1 && has_assignment;
  if (is_source)
    (void)tsri_layout_init(planned->node->op->name, planned->node->shape, planned->node->dtype, &planned->seen, NULL);
  planned->fusion = planned->wanting;
  planned->is_used_up = has_assignment && is_used_up(planned);
  fusion->is_in_place = fusion->is_in_place || planned->overwriter != TSRI_NONE;
  fusion->node_count++;
  remove_edge(fusion, planned->node);
  add_edges(fusion, planned);
  if (planned->node->op->kind != TSRI_OP_ELEMENTWISE) fusion->heavy = planned->node->slot;
}

bool tsri_is_along_last_axis(const tsri_layout *layout) {
  int last = layout->shape.rank - 1;
  for (int i = 0; i < last; i++) {
    if (layout->shape.dims[i] > 1 && layout->strides[i] != 0) return false;
  }
  return last >= 0 && layout->strides[last] == 1;
}

bool tsri_is_along_one_axis(const tsri_layout *layout, tsri_one_axis *out_axis) {
  *out_axis = (tsri_one_axis){.inner = 1, .size = 1};
  bool has_ended = false;
  for (int i = layout->shape.rank - 1; i >= 0; i--) {
    int64_t size = layout->shape.dims[i], stride = layout->strides[i];
    if (size == 1) continue;
    if (stride == 0) {
      has_ended = out_axis->size > 1;
      if (!has_ended) out_axis->inner *= size;
    } else {
      if (has_ended || stride != out_axis->size) return false;
      out_axis->size *= size;
    }
  }
  return out_axis->size > 1;
}

bool tsri_is_by_axis(const tsri_node *heavy, const tsri_layout *layout, tsri_one_axis *out_axis) {
  bool is_last = tsri_is_along_last_axis(layout) && tsri_shape_equal(layout->shape, heavy->shape);
  return heavy->op->has_axis_hook && !is_last && !tsri_layout_is_contiguous(layout) &&
         tsri_is_along_one_axis(layout, out_axis);
}

// The indices that a heavy node's kernel has for the operators fused into it. The linear index of the element is always known.
typedef struct known_indices {
  tsr_shape shape;        // what is indexed: the heavy node's result or, for operators before it, its input
  bool column;            // whether the index on the last axis is known
  const tsri_node *axes;  // the heavy node, if the index on each axis is known; else NULL
} known_indices;

// Whether an input can be indexed by the known indices: it is read in row-major order (linear index), or is a single element, or has one element for each index
// on the last axis (where the column is known) or on any one axis (where the index on each axis is known).
static bool is_simple_input(const tsri_plan *plan, const tsri_planned *planned, uint32_t index,
                            const known_indices *known) {
  uint32_t number_of = tsri_plan_number(plan, planned->node->inputs[index].value);
  if (number_of != TSRI_NONE && plan->nodes[number_of].fusion == planned->fusion) return true;
  tsri_layout layout;
  if (!tsri_plan_input_layout(plan, planned, index, &layout)) return false;
  int64_t low = 0, high = 0, count = 1;
  tsri_layout_span(&layout, &low, &high);
  for (int i = 0; i < known->shape.rank; i++) count *= known->shape.dims[i];
  if (low == high || (tsri_layout_is_contiguous(&layout) && layout.count == count)) return true;
  if (known->column && tsri_is_along_last_axis(&layout) && tsri_shape_equal(layout.shape, known->shape)) return true;
  tsri_one_axis axis;
  return known->axes && layout.count == count && tsri_is_by_axis(known->axes, &layout, &axis);
}

// Whether all inputs that the fusion reads in one space are simple (is_simple_input).
static bool is_simple_space(const tsri_plan *plan, const tsri_fusion *fusion, tsri_space space) {
  const tsri_node *heavy = plan->nodes[fusion->heavy].node;
  // Hooks know the column of an element, reductions do not.
  bool is_outer = space == TSRI_OUTER;
  bool keeps_rows = tsri_tuning_of(heavy->value.device)->row_held > 0;
  known_indices known = {.shape = is_outer ? heavy->shape : heavy->inputs[0].layout.shape,
                         .column = heavy->op->kind == TSRI_OP_KERNEL,
                         .axes = is_outer && keeps_rows ? heavy : NULL};
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    uint32_t number_of = plan->members[fusion->first + i];
    const tsri_planned *planned = &plan->nodes[number_of];
    if (planned->space != space || number_of == fusion->heavy) continue;
    for (uint32_t j = 0; j < planned->node->input_count; j++) {
      if (!is_simple_input(plan, planned, j, &known)) return false;
    }
  }
  return true;
}

// Moves the members for which `moves` returns true to a new fusion with this root and heavy node. Its members come before the remaining ones in plan->members.
static void split_fusion(tsri_plan *plan, uint32_t fusion_number, uint32_t root, uint32_t heavy,
                         bool (*moves)(const tsri_plan *plan, const tsri_fusion *fusion, uint32_t number)) {
  tsri_fusion *fusion = &plan->fusions[fusion_number];
  uint32_t fresh = plan->fusion_count++, moved = 0;
  uint32_t *members = plan->members + fusion->first;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    uint32_t number_of = members[i];
    if (!moves(plan, fusion, number_of)) continue;
    plan->nodes[number_of].fusion = fresh;
    memmove(members + moved + 1, members + moved, (i - moved) * sizeof *members);
    members[moved++] = number_of;
  }
  plan->fusions[fresh] = (tsri_fusion){.root = root,
                                       .heavy = heavy,
                                       .node_count = moved,
                                       .first = fusion->first,
                                       .assignment = TSRI_NONE,
                                       .paired = TSRI_NONE};
  fusion->first += moved;
  fusion->node_count -= moved;
}

static bool is_up_to_heavy(const tsri_plan *plan, const tsri_fusion *fusion, uint32_t number_of) {
  return plan->nodes[number_of].space == TSRI_INNER || number_of == fusion->heavy;
}

static bool is_before_heavy(const tsri_plan *plan, const tsri_fusion *fusion, uint32_t number_of) {
  return plan->nodes[number_of].space == TSRI_INNER && number_of != fusion->heavy;
}

static void assign_fusions(tsri_plan *plan) {
  for (uint32_t i = plan->node_count; i-- > 0;) {
    tsri_planned *planned = &plan->nodes[i];
    if (planned->same_as != i) continue;
    if (can_join(plan, planned)) join_fusion(plan, planned);
    else start_fusion(plan, planned);
    ask_inputs(plan, planned);
  }
}

// Sorts the members by fusion, each in topological order.
static void list_members(tsri_plan *plan) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < plan->fusion_count; i++) {
    plan->fusions[i].first = at;
    at += plan->fusions[i].node_count;
    plan->fusions[i].node_count = 0;
  }
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].same_as != i) continue;
    tsri_fusion *fusion = &plan->fusions[plan->nodes[i].fusion];
    plan->members[fusion->first + fusion->node_count++] = i;
  }
}

// An assignment that inlined its source is removed from the members of that fusion: the fusion computes the source, and
// the assignment only says when it runs (its place in the order) and where it writes.
static void set_assignments_apart(tsri_plan *plan) {
  for (uint32_t i = 0; i < plan->fusion_count; i++) {
    tsri_fusion *fusion = &plan->fusions[i];
    if (fusion->node_count == 1 || !is_assigned(plan, fusion)) continue;
    fusion->assignment = fusion->root;
    fusion->node_count--;
    fusion->root = plan->members[fusion->first + fusion->node_count - 1];
  }
}

// Splits off the nodes after a heavy node if they read an input that its store cannot index, or if the device runs the
// heavy node natively but not together with them; and the nodes before a kernel if they read an input that its load
// cannot index.
static void split_fusions(tsri_plan *plan) {
  uint32_t count = plan->fusion_count;
  for (uint32_t i = 0; i < count; i++) {
    tsri_fusion *fusion = &plan->fusions[i];
    uint32_t heavy = fusion->heavy;
    if (heavy == TSRI_NONE || fusion->node_count == 1) continue;
    const tsri_node *node = plan->nodes[heavy].node;
    uint32_t home = i;
    if (heavy != fusion->root && (tsri_native_is_alone(plan, fusion) || !is_simple_space(plan, fusion, TSRI_OUTER))) {
      split_fusion(plan, i, heavy, heavy, is_up_to_heavy);
      fusion->heavy = TSRI_NONE;
      home = plan->fusion_count - 1;
    }
    if (node->op->kind != TSRI_OP_KERNEL || is_simple_space(plan, &plan->fusions[home], TSRI_INNER)) continue;
    uint32_t input = tsri_plan_number(plan, node->inputs[0].value);
    plan->nodes[input].space = TSRI_INNER;
    split_fusion(plan, home, input, TSRI_NONE, is_before_heavy);
    const tsri_fusion *fresh = &plan->fusions[plan->fusion_count - 1];
    for (uint32_t j = 0; j < fresh->node_count; j++) plan->nodes[plan->members[fresh->first + j]].space = TSRI_OUTER;
  }
}

// A split makes one fusion more and leaves no fusion empty, so there are never more fusions than nodes.
static bool make_room_for_fusions(tsri_plan *plan) {
  plan->fusions = plan->few_fusions;
  plan->members = plan->few_members;
  if (plan->node_count <= TSRI_FEW) return true;
  plan->fusions = tsri_malloc(plan->node_count * sizeof *plan->fusions);
  plan->members = tsri_malloc(plan->node_count * sizeof *plan->members);
  return plan->fusions && plan->members;
}

static bool collect(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count, tsri_plan *plan) {
  collector collected = {.state = state, .plan = plan, .node_capacity = TSRI_FEW, .stack_capacity = TSRI_FEW};
  collected.stack = collected.few;
  bool is_good = true;
  for (uint32_t i = 0; i < target_count && is_good; i++) {
    if (tsri_value_buffer(&targets[i]->value)) continue;
    is_good = collect_from(&collected, targets[i]);
    if (is_good) plan->nodes[targets[i]->slot].is_target = true;
  }
  if (collected.stack != collected.few) tsri_free(collected.stack);
  return is_good;
}

tsr_status tsri_plan_init(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                          tsri_garbage *garbage, tsri_plan *out_plan) {
  out_plan->nodes = out_plan->few_nodes;
  out_plan->fusions = NULL;
  out_plan->members = NULL;
  out_plan->node_count = out_plan->fusion_count = 0;
  out_plan->input_count = 0;
  state->run_mark++;
  bool is_good = tsri_readers_init(state, garbage, &out_plan->readers) &&
                 collect(state, targets, target_count, out_plan) && merge_equal(out_plan) &&
                 make_room_for_fusions(out_plan);
  if (!is_good) {
    uint32_t count = out_plan->node_count;
    tsri_plan_deinit(out_plan);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to plan %u operators", count);
  }
  assign_fusions(out_plan);
  list_members(out_plan);
  set_assignments_apart(out_plan);
  split_fusions(out_plan);
  tsri_paired_find(out_plan);
  return TSR_OK;
}

void tsri_plan_deinit(tsri_plan *plan) {
  if (plan->nodes != plan->few_nodes) tsri_free(plan->nodes);
  if (plan->fusions != plan->few_fusions) tsri_free(plan->fusions);
  if (plan->members != plan->few_members) tsri_free(plan->members);
  tsri_free(plan->readers.all);
}
