// SPDX-License-Identifier: MIT
// Records moves between devices, finds the moves that a run needs, and runs them.
#include "graph/move.h"

#include "core/alloc.h"
#include "core/error.h"
#include "graph/assign.h"
#include "graph/transfer.h"
#include "runtime/tape.h"

const tsri_op tsri_op_move = {.name = "to", .kind = TSRI_OP_KERNEL};

static tsr_status no_memory(void) { return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "to: no host memory for its record"); }

// Records a node with one input whose result is that input in row-major order. Takes over the reference to `value`.
static tsr_status record_step(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsri_value *value,
                              const tsri_layout *layout, tsri_value **out_value) {
  tsri_layout packed = tsri_packed_layout(layout);
  tsri_node *node = tsri_node_create(op, device, dtype, 1, NULL);
  if (!node) {
    tsri_value_release(value);
    return no_memory();
  }
  node->inputs[0] = (tsri_input){.value = value, .layout = *layout, .dtype = dtype, .as = dtype};
  tsr_status status = tsri_node_enter(node, &packed);
  if (status == TSR_OK) *out_value = &node->value;
  return status;
}

tsr_status tsri_move_record(tsr_tensor *tensor, tsr_device *device, tsri_value **out_value) {
  tsri_value *copy = NULL;
  tsr_status status = record_step(&tsri_op_copy, tensor->value->device, tensor->dtype, tsri_value_now(tensor->value),
                                  &tensor->layout, &copy);
  if (status != TSR_OK) return status;
  tsri_layout packed = tsri_packed_layout(&tensor->layout);
  return record_step(&tsri_op_move, device, tensor->dtype, copy, &packed, out_value);
}

tsr_tensor *tsri_record_move(tsr_tensor *input, tsr_device *device) {
  tsri_value *value = NULL;
  tsr_status status = tsri_move_record(input, device, &value);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = tsri_packed_layout(&input->layout);
  return tsri_tensor_of(value, input->dtype, &packed);
}

// --- Finding ----------------------------------------------------------------------------------------------------------

typedef struct move_search {
  tsri_graph_state *state;
  tsri_node **nodes;  // visited nodes, without the moves
  size_t count, room;
  size_t move_room;
  tsri_needed_moves *found;
} move_search;

static bool add_move(move_search *walk, tsri_node *node) {
  if (walk->found->count == walk->move_room) {
    size_t room = walk->move_room ? 2 * walk->move_room : 4;
    tsri_needed_move *moves = tsri_realloc(walk->found->moves, room * sizeof *moves);
    if (!moves) return false;
    walk->found->moves = moves;
    walk->move_room = room;
  }
  tsri_needed_move *move = &walk->found->moves[walk->found->count++];
  *move = (tsri_needed_move){.node = node, .source = tsri_value_retain(node->inputs[0].value), .tape = node->tape};
  tsri_value_retain(&node->value);
  return true;
}

static bool add_node(move_search *walk, tsri_node *node) {
  if (!node || node->mark == walk->state->run_mark) return true;
  node->mark = walk->state->run_mark;
  if (node->op == &tsri_op_move) return add_move(walk, node);
  if (walk->count == walk->room) {
    size_t room = walk->room ? 2 * walk->room : 64;
    tsri_node **nodes = tsri_realloc(walk->nodes, room * sizeof *nodes);
    if (!nodes) return false;
    walk->nodes = nodes;
    walk->room = room;
  }
  walk->nodes[walk->count++] = node;
  return true;
}

// Adds the nodes that must run before the assignment `node` overwrites the elements they read.
static bool add_readers(move_search *walk, const tsri_readers *readers, const tsri_node *node) {
  bool is_good = true;
  for (uint32_t at = tsri_readers_first(node); at && is_good; at = readers->all[at - 1].next) {
    is_good = add_node(walk, readers->all[at - 1].node);
  }
  return is_good;
}

tsr_status tsri_moves_find(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                           tsri_garbage *garbage, tsri_needed_moves *out) {
  *out = (tsri_needed_moves){0};
  move_search walk = {.state = state, .found = out};
  tsri_readers readers;
  bool is_good = tsri_readers_init(state, garbage, &readers);
  state->run_mark++;
  for (uint32_t i = 0; i < target_count && is_good; i++)
    is_good = add_node(&walk, tsri_pending_node(&targets[i]->value));
  for (size_t i = 0; i < walk.count && is_good; i++) {
    const tsri_node *node = walk.nodes[i];
    for (uint32_t j = 0; j < node->input_count && is_good; j++) {
      is_good = add_node(&walk, tsri_pending_node(node->inputs[j].value));
    }
    is_good = is_good && add_readers(&walk, &readers, node);
  }
  tsri_free(walk.nodes);
  tsri_free(readers.all);
  return is_good ? TSR_OK : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to find the moves that a run needs");
}

void tsri_moves_release(tsri_needed_moves *moves) {
  for (uint32_t i = 0; i < moves->count; i++) {
    tsri_value_release(&moves->moves[i].node->value);
    tsri_value_release(moves->moves[i].source);
  }
  tsri_free(moves->moves);
  *moves = (tsri_needed_moves){0};
}

// --- Running ----------------------------------------------------------------------------------------------------------

// The value that must run before the elements of `copy` can be transferred: the input of `copy` if that is contiguous,
// else `copy` itself. Returns a reference, or NULL if nothing has to run. Takes the lock.
static tsri_value *find_unready(tsri_graph_state *state, tsri_value *copy) {
  tsri_value *unready = NULL;
  tsri_mutex_lock(&state->lock);
  tsri_node *node = tsri_pending_node(copy);
  if (node) {
    const tsri_input *input = &node->inputs[0];
    bool is_in_place = tsri_layout_is_contiguous(&input->layout);
    if (!is_in_place) unready = copy;
    else if (!tsri_value_buffer(input->value)) unready = input->value;
  }
  if (unready) tsri_value_retain(unready);
  tsri_mutex_unlock(&state->lock);
  return unready;
}

// Transfers the elements to `to`. Holds the lock of the source's graph meanwhile, so nobody can overwrite the source: a
// write first runs `copy`, which needs the lock.
static tsr_status transfer(tsri_graph_state *state, const tsri_value *copy, const tsri_node *move, tsr_buffer *to) {
  size_t element = tsr_dtype_bytes(move->dtype), bytes = (size_t)move->count * element;
  if (bytes == 0) return TSR_OK;
  tsri_mutex_lock(&state->lock);
  tsr_buffer *from = tsri_value_buffer(copy);
  size_t offset = 0;
  if (!from) {  // the copy was not made: its input is contiguous
    const tsri_input *input = &tsri_pending_node(copy)->inputs[0];
    from = tsri_value_buffer(input->value);
    offset = (size_t)input->layout.offset * element;
  }
  tsr_status status = tsri_buffer_copy(to, 0, from, offset, bytes);
  tsri_mutex_unlock(&state->lock);
  return status;
}

// Publishes the move's result, unless another thread has done so already.
static void publish(tsri_node *node, tsr_buffer *buffer) {
  tsri_graph_state *state = tsri_graph_of(node->value.device);
  tsri_garbage garbage = {0};
  tsri_mutex_lock(&state->lock);
  bool is_first = tsri_value_buffer(&node->value) == NULL;
  if (is_first) tsri_node_finish(state, node, buffer, &garbage);
  tsri_mutex_unlock(&state->lock);
  tsri_garbage_drop(&garbage);
  if (!is_first) tsr_buffer_release(buffer);
}

static tsr_status run_move(const tsri_needed_move *move) {
  tsri_node *node = move->node;
  tsri_graph_state *from = tsri_graph_of(move->source->device);
  tsri_value *unready = find_unready(from, move->source);
  tsr_status status = unready ? tsri_graph_run_value(unready) : TSR_OK;
  tsri_value_release(unready);
  tsr_buffer *to = NULL;
  if (status == TSR_OK) {
    status = tsr_buffer_create(node->value.device, (size_t)node->count * tsr_dtype_bytes(node->dtype), 0, &to);
  }
  if (status == TSR_OK) status = transfer(from, move->source, node, to);
  if (status == TSR_OK) publish(node, to);
  else tsr_buffer_release(to);
  return status;
}

// Runs a move on the tape on which it was recorded. Moves cannot be captured, so a move recorded during a capture makes that capture fail, whichever thread
// runs the move. A move recorded before a capture is one of its inputs and runs without a tape.
static tsr_status run_on_its_tape(const tsri_needed_move *move) {
  if (move->tape == tsri_tape_id()) return run_move(move);
  tsri_tape_refuses_on(move->tape, move->node->value.device, TSRI_TAPE_MOVING);
  tsri_tape_refuses_on(move->tape, move->source->device, TSRI_TAPE_MOVING);
  tsri_taping before = tsri_tape_enter(0);
  tsr_status status = run_move(move);
  tsri_tape_leave(before);
  return status;
}

tsr_status tsri_moves_run(const tsri_needed_moves *moves) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < moves->count && status == TSR_OK; i++) status = run_on_its_tape(&moves->moves[i]);
  return status;
}
