// SPDX-License-Identifier: MIT
// Attention and its gradient as graphs of cuDNN, which computes each by a kernel that stores no scores, or by a few. Plans are kept in a table.
//
// cuDNN has two graphs for the gradient. The one used here gives the same bits each time: it stores the gradients of the scores, in 16 bits, and
// multiplies them by k and q. The other one adds up the gradient of q with atomic operations, in an order that varies.
#include "backends/cuda/dnn_attention.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/dnn_graph.h"
#include "backends/cuda/dnn_plan.h"
#include "core/alloc.h"
#include "core/log.h"

// In multiplications. With fewer, our own kernels are about as fast, and making a plan takes longer than the attention.
int64_t tsri_cuda_least_attention = 1 << 24;

// --- Describing ------------------------------------------------------------------------------------------------------

// Limits of what is given to cuDNN: elements of a head, and the alignment of rows in bytes (ALIGNMENT) and in 16-bit elements (ALIGNED).
enum { LARGEST_HEAD = 256, LARGEST_GRADIENT_HEAD = 128, ALIGNMENT = 16, ALIGNED = 8 };

// Attentions with 2 to LEAST_QUERIES - 1 queries are left to our own kernel, which divides the keys among work-groups. A single query is given to cuDNN.
enum { LEAST_QUERIES = 8 };

static bool is_aligned(tsri_place place) {
  return ((place.buffer ? cuda_address_of(place.buffer, place.offset) : place.offset) % ALIGNMENT) == 0;
}

// Copies the strides of [batch, head, row] to `out`. False: rows do not begin at multiples of 16 bytes, or several indices share a row.
static bool take_strides(const int64_t *strides, const int64_t *dims, int64_t *out) {
  for (int i = 0; i < 3; i++) {
    if (dims[i] > 1 && (strides[i] <= 0 || strides[i] % ALIGNED != 0)) return false;
    out[i] = dims[i] > 1 ? strides[i] : ALIGNED;
  }
  return true;
}

static bool has_plain_scores(const tsri_attention_op *a) {
  return !a->has_slopes && !a->has_lengths && a->softcap == 0 && a->window == 0;
}

bool tsri_cuda_attention_is_plain(const tsri_attention_op *a) {
  return a->mask_kind == TSRI_ATTENTION_UNMASKED && has_plain_scores(a);
}

// Whether the attention has only parts that our graphs can express: that of the gradient has no mask. A causal mask changes nothing for a single query: it is at the position of
// the last key, so it attends to all keys.
static bool has_only_known_parts(const tsri_attention_op *a, bool is_gradient) {
  return (is_gradient ? tsri_cuda_attention_is_plain(a) : has_plain_scores(a)) &&
         (a->queries == 1 || a->queries >= LEAST_QUERIES) &&
         (!a->is_causal || a->queries == 1 || a->queries == a->keys);
}

bool tsri_cuda_describe_attention(const tsri_native_op *op, cuda_attention *out) {
  const tsri_attention_op *a = &op->is.attention;
  bool is_gradient = op->kind == TSRI_NATIVE_ATTENTION_GRADIENT;
  int64_t most = is_gradient ? LARGEST_GRADIENT_HEAD : LARGEST_HEAD;
  double work = (double)a->batch * (double)a->heads * (double)a->queries * (double)a->keys * (double)a->size;
  if (!has_only_known_parts(a, is_gradient) || work < (double)tsri_cuda_least_attention || (is_gradient && !a->has_lse))
    return false;
  if (a->size % ALIGNED != 0 || a->value_size % ALIGNED != 0 || a->size > most || a->value_size > most) return false;
  if (!is_aligned(a->q) || !is_aligned(a->k) || !is_aligned(a->v) || !is_aligned(a->y) || !is_aligned(a->g) ||
      !is_aligned(a->dq) || !is_aligned(a->dk) || !is_aligned(a->dv))
    return false;
  *out = (cuda_attention){.batch = a->batch,
                          .heads = a->heads,
                          .kv_heads = a->kv_heads,
                          .queries = a->queries,
                          .keys = a->keys,
                          .size = a->size,
                          .value_size = a->value_size,
                          .scratch_bytes = is_gradient ? a->scratch_bytes : 0,
                          .dtype = (int32_t)op->dtype,
                          .is_causal = a->is_causal && a->queries > 1,
                          .has_lse = a->has_lse,
                          .is_gradient = is_gradient};
  const int64_t rows[3] = {a->batch, a->heads, a->queries}, lines[3] = {a->batch, a->kv_heads, a->keys};
  return a->q_strides[3] == 1 && a->k_strides[3] == 1 && a->v_strides[3] == 1 &&
         take_strides(a->q_strides, rows, out->q) && take_strides(a->k_strides, lines, out->k) &&
         take_strides(a->v_strides, lines, out->v) && tsri_cuda_describe_mask(a, out) &&
         take_strides(a->y_strides, rows, out->y) &&
         (!is_gradient || (a->g_strides[3] == 1 && take_strides(a->g_strides, rows, out->g) &&
                           take_strides(a->dq_strides, rows, out->dq) && take_strides(a->dk_strides, lines, out->dk) &&
                           take_strides(a->dv_strides, lines, out->dv)));
}

// --- Graphs ----------------------------------------------------------------------------------------------------------

enum { ID_Q = 1, ID_K, ID_V, ID_Y, ID_LSE, ID_G, ID_DQ, ID_DK, ID_DV, ID_SUMS, ID_SCALE, ID_HIDDEN, ID_ONE, ID_MASK };

// The graph under construction and the shapes of its tensors; for attentions and for gradients.
typedef struct attention_graph {
  const cuda_attention *a;
  dnn_graph *graph;
  int type;
  dnn_shape scores, row_sums;  // [batch, heads, queries, keys], [batch, heads, queries, 1]
} attention_graph;

static dnn_shape rows_of(int64_t batch, int64_t heads, int64_t rows, int64_t size, const int64_t *strides) {
  return (dnn_shape){{batch, heads, rows, size}, {strides[0], strides[1], strides[2], 1}, DNN_RANK};
}

static dnn_shape turned(dnn_shape s) {
  return (dnn_shape){
      {s.dims[0], s.dims[1], s.dims[3], s.dims[2]}, {s.strides[0], s.strides[1], s.strides[3], s.strides[2]}, DNN_RANK};
}

static dnn_node score_like(const attention_graph *g) { return tsri_dnn_between(g->graph, DNN_FLOAT, &g->scores); }

static dnn_node on_scores(const attention_graph *g, dnn_pointwise mode, dnn_node x, dnn_node b) {
  return tsri_dnn_binary(g->graph, mode, x, b, score_like(g));
}

static dnn_node hide_later_keys(const attention_graph *g, dnn_node scores) {
  if (!g->a->is_causal) return scores;
  return tsri_dnn_lower_triangle(g->graph, scores, tsri_dnn_passed(g->graph, ID_HIDDEN), &g->scores);
}

// Adds the mask. Its tensor has one element along an axis whose indices share elements.
static dnn_node add_mask(const attention_graph *g, dnn_node scores) {
  const int64_t *strides = g->a->mask;
  if (!g->a->has_mask) return scores;
  dnn_shape shape = g->scores;
  int64_t next = 1;
  for (int i = DNN_RANK - 1; i >= 0; i--) {
    if (strides[i] == 0) shape.dims[i] = 1;
    shape.strides[i] = strides[i] == 0 ? next : strides[i];
    next = shape.dims[i] * shape.strides[i];
  }
  return on_scores(g, DNN_ADD, scores, tsri_dnn_stored(g->graph, ID_MASK, g->type, &shape));
}

static void build_forward(const attention_graph *g) {
  const cuda_attention *a = g->a;
  dnn_graph *graph = g->graph;
  dnn_shape q_shape = rows_of(a->batch, a->heads, a->queries, a->size, a->q),
            k_shape = turned(rows_of(a->batch, a->kv_heads, a->keys, a->size, a->k)),
            v_shape = rows_of(a->batch, a->kv_heads, a->keys, a->value_size, a->v),
            y_shape = rows_of(a->batch, a->heads, a->queries, a->value_size, a->y);
  dnn_node q = tsri_dnn_stored(graph, ID_Q, g->type, &q_shape), k = tsri_dnn_stored(graph, ID_K, g->type, &k_shape),
           v = tsri_dnn_stored(graph, ID_V, g->type, &v_shape), y = tsri_dnn_stored(graph, ID_Y, g->type, &y_shape);
  dnn_node scores = tsri_dnn_multiply(graph, q, k, score_like(g));
  scores = add_mask(g, on_scores(g, DNN_MUL, scores, tsri_dnn_passed(graph, ID_SCALE)));
  scores = hide_later_keys(g, scores);
  dnn_node most = tsri_dnn_reduce(graph, DNN_REDUCE_MAX, scores, tsri_dnn_between(graph, DNN_FLOAT, &g->row_sums));
  dnn_node shares = tsri_dnn_unary(graph, DNN_EXP, on_scores(g, DNN_SUB, scores, most), score_like(g));
  dnn_node sum = tsri_dnn_reduce(graph, DNN_REDUCE_ADD, shares, tsri_dnn_between(graph, DNN_FLOAT, &g->row_sums));
  dnn_node log = tsri_dnn_unary(graph, DNN_LOG, sum, tsri_dnn_between(graph, DNN_FLOAT, &g->row_sums));
  dnn_node lse = a->has_lse ? tsri_dnn_stored(graph, ID_LSE, DNN_FLOAT, &g->row_sums)
                            : tsri_dnn_between(graph, DNN_FLOAT, &g->row_sums);
  tsri_dnn_binary(graph, DNN_ADD, most, log, lse);
  dnn_node weights = tsri_dnn_binary(graph, DNN_DIV, shares, sum, tsri_dnn_between(graph, g->type, &g->scores));
  tsri_dnn_multiply(graph, weights, v, y);
}

// Stores the gradient of k or v, whose strides are given, as tensor `id`: x^T y of each head, added up over the query heads that share a key head.
static void build_key_gradient(const attention_graph *g, dnn_node x, dnn_node y, int64_t id, int64_t size,
                               const int64_t *strides) {
  const cuda_attention *a = g->a;
  dnn_shape columns = turned(g->scores), of_heads = tsri_dnn_packed(a->batch, a->heads, a->keys, size),
            result = rows_of(a->batch, a->kv_heads, a->keys, size, strides);
  columns.strides[2] = 1, columns.strides[3] = a->keys;
  dnn_node by_columns = tsri_dnn_reshape(g->graph, x, tsri_dnn_between(g->graph, g->type, &columns));
  dnn_node stored = tsri_dnn_stored(g->graph, id, g->type, &result);
  if (a->heads == a->kv_heads) {
    tsri_dnn_multiply(g->graph, by_columns, y, stored);
    return;
  }
  dnn_node each = tsri_dnn_multiply(g->graph, by_columns, y, tsri_dnn_between(g->graph, g->type, &of_heads));
  tsri_dnn_reduce(g->graph, DNN_REDUCE_ADD, each, stored);
}

// Sums of y * dy along each row. cuDNN requires that they are stored in memory (ID_SUMS).
static dnn_node build_sums(const attention_graph *g, dnn_node y, dnn_node dy) {
  const cuda_attention *a = g->a;
  dnn_shape shape = rows_of(
      a->batch, a->heads, a->queries, a->value_size,
      (const int64_t[]){a->heads * a->queries * a->value_size, a->queries * a->value_size, a->heads * a->value_size});
  dnn_node products = tsri_dnn_binary(g->graph, DNN_MUL, dy, y, tsri_dnn_between(g->graph, DNN_FLOAT, &shape));
  dnn_node sums =
      tsri_dnn_reduce(g->graph, DNN_REDUCE_ADD, products, tsri_dnn_between(g->graph, DNN_FLOAT, &g->row_sums));
  return tsri_dnn_binary(g->graph, DNN_MUL, sums, tsri_dnn_passed(g->graph, ID_ONE),
                         tsri_dnn_stored(g->graph, ID_SUMS, DNN_FLOAT, &g->row_sums));
}

static void build_gradient(const attention_graph *g) {
  const cuda_attention *a = g->a;
  dnn_graph *graph = g->graph;
  dnn_shape q_shape = rows_of(a->batch, a->heads, a->queries, a->size, a->q),
            k_shape = rows_of(a->batch, a->kv_heads, a->keys, a->size, a->k), k_turned = turned(k_shape),
            v_shape = turned(rows_of(a->batch, a->kv_heads, a->keys, a->value_size, a->v)),
            y_shape = rows_of(a->batch, a->heads, a->queries, a->value_size, a->y),
            g_shape = rows_of(a->batch, a->heads, a->queries, a->value_size, a->g),
            dq_shape = rows_of(a->batch, a->heads, a->queries, a->size, a->dq);
  dnn_node q = tsri_dnn_stored(graph, ID_Q, g->type, &q_shape), k = tsri_dnn_stored(graph, ID_K, g->type, &k_turned),
           v = tsri_dnn_stored(graph, ID_V, g->type, &v_shape), y = tsri_dnn_stored(graph, ID_Y, g->type, &y_shape),
           dy = tsri_dnn_stored(graph, ID_G, g->type, &g_shape), scale = tsri_dnn_passed(graph, ID_SCALE);
  dnn_node sums = build_sums(g, y, dy), lse = tsri_dnn_stored(graph, ID_LSE, DNN_FLOAT, &g->row_sums);
  dnn_node scores = on_scores(g, DNN_MUL, tsri_dnn_multiply(graph, q, k, score_like(g)), scale);
  scores = hide_later_keys(g, on_scores(g, DNN_SUB, scores, lse));
  dnn_node weights = tsri_dnn_unary(graph, DNN_EXP, scores, score_like(g));
  build_key_gradient(g, weights, dy, ID_DV, a->value_size, a->dv);
  dnn_node slopes = on_scores(g, DNN_SUB, tsri_dnn_multiply(graph, dy, v, score_like(g)), sums);
  slopes = on_scores(g, DNN_MUL, on_scores(g, DNN_MUL, slopes, weights), scale);
  build_key_gradient(g, slopes, q, ID_DK, a->size, a->dk);
  dnn_node rows = tsri_dnn_reshape(graph, k, tsri_dnn_between(graph, g->type, &k_shape));
  tsri_dnn_multiply(graph, slopes, rows, tsri_dnn_stored(graph, ID_DQ, g->type, &dq_shape));
}

// --- Plans -----------------------------------------------------------------------------------------------------------

static int64_t sums_bytes(const cuda_attention *a) {
  int64_t bytes = a->batch * a->heads * a->queries * (int64_t)sizeof(float);
  return (bytes + 255) / 256 * 256;
}

struct dnn_attention_plan {
  cuda_attention attention;
  bool is_made, is_impossible;
  double lost_ns;  // estimated time that attentions took longer because there was no plan yet
  dnn_graph graph;
};

// Estimates the time that cuDNN saves compared with our kernels. On an H200 that is about 1 ns per 10^5 operations, or, for a single query, 1 ns per 4 kB of
// keys and values. Our tiles round the number of keys up to whole steps, and have a fixed cost of about two steps.
//
// With few queries and heads there are fewer tiles than multiprocessors, and a tile goes through all keys alone, at 26 ns for each step and element of a head:
// 206 us for 21 queries of 2048 keys with 4 x 16 heads of 128, and 59 us for 47 of 1024 with 16 heads of 64. cuDNN divides the keys, and saves at least half.
static double gain_ns(const cuda_attention *a) {
  enum { STEP = 64, STEPS_BESIDES = 2, ALONE_SAVED_NS = 13 };
  double sizes = (double)(a->size + a->value_size), batch = (double)a->batch;
  if (a->queries == 1) return batch * (double)a->keys * (double)a->kv_heads * sizes * 2 / 4000;
  int64_t seen = a->is_causal ? a->keys / 2 : a->keys;
  int64_t steps = (seen + STEP - 1) / STEP + STEPS_BESIDES;
  double keys = (double)(steps * STEP);
  double operations = 2 * batch * (double)a->heads * (double)a->queries * keys * sizes;
  double saved = operations / 1e5;
  double saved_alone = (double)steps * sizes * ALONE_SAVED_NS;
  return (saved > saved_alone ? saved : saved_alone) * (a->is_gradient ? 2.5 : 1);
}

void tsri_cuda_dnn_destroy_attention(dnn_attention_plan *plan) {
  if (plan && plan->is_made) tsri_dnn_graph_deinit(&plan->graph);
  tsri_free(plan);
}

static void make_plan(const cuda_device *device, cuda_dnn *dnn, dnn_attention_plan *plan) {
  const cuda_attention *a = &plan->attention;
  const attention_graph g = {.a = a,
                             .graph = &plan->graph,
                             .type = a->dtype == TSR_F16 ? DNN_HALF : DNN_BFLOAT16,
                             .scores = tsri_dnn_packed(a->batch, a->heads, a->queries, a->keys),
                             .row_sums = tsri_dnn_packed(a->batch, a->heads, a->queries, 1)};
  int64_t most = a->is_gradient ? a->scratch_bytes - sums_bytes(a) : CUDA_WORKSPACE_BYTES - tsri_cuda_mask_bytes(a);
  tsri_dnn_graph_init(&plan->graph, dnn);
  plan->is_made = true;
  if (a->is_gradient) build_gradient(&g);
  else build_forward(&g);
  plan->is_impossible =
      (a->has_mask && !tsri_cuda_masks_build(device, a, &dnn->masks)) || !tsri_dnn_graph_plan(&plan->graph, most);
  if (plan->is_impossible) {
    tsri_log(TSR_LOG_DEBUG, "cuda: cuDNN has nothing for an attention (code %d)", plan->graph.code);
  }
}

// Returns the table's entry for this attention; a new entry has no plan yet. NULL: out of host memory. Call with the lock held.
static dnn_attention_plan *entry_of(cuda_dnn *dnn, const cuda_attention *a) {
  dnn_attention_plan **slot = &dnn->attentions[dnn_slot_of(a, sizeof *a, DNN_ATTENTION_SLOTS)];
  if (*slot && memcmp(&(*slot)->attention, a, sizeof *a) == 0) return *slot;
  tsri_cuda_dnn_destroy_attention(*slot);
  *slot = tsri_calloc(1, sizeof **slot);
  if (*slot) (*slot)->attention = *a;
  return *slot;
}

// Makes the plan once the time lost without it reaches plan_after_ns. False: there is none yet, or none can be made.
static bool plan_if_due(const cuda_device *device, cuda_dnn *dnn, dnn_attention_plan *entry, int64_t plan_after_ns) {
  if (!entry->is_made) {
    entry->lost_ns += gain_ns(&entry->attention);
    if (entry->lost_ns < (double)plan_after_ns) return false;
    make_plan(device, dnn, entry);
  }
  return !entry->is_impossible;
}

bool tsri_cuda_has_attention(cuda_device *device, const cuda_attention *attention, int64_t plan_after_ns) {
  bool was_pushed = tsri_cuda_enter(device), has_it = false;
  cuda_dnn *dnn = tsri_cuda_dnn_of(device);
  if (dnn) {
    tsri_mutex_lock(&dnn->lock);
    dnn_attention_plan *entry = entry_of(dnn, attention);
    has_it = entry && plan_if_due(device, dnn, entry, plan_after_ns);
    tsri_mutex_unlock(&dnn->lock);
  }
  tsri_cuda_leave(device, was_pushed);
  return has_it;
}

// --- Running ---------------------------------------------------------------------------------------------------------

static const void *pointer(cu_address address) { return (const void *)(uintptr_t)address; }

static int run_plan(cuda_queue *queue, dnn_attention_plan *plan, const cuda_attention_memory *m, cu_address workspace) {
  static const float hidden = -INFINITY, one = 1;
  const cuda_attention *a = &plan->attention;
  dnn_call call = {.graph = &plan->graph,
                   .plan = plan->graph.plan,
                   .bindings = {{.id = ID_Q, .at = pointer(m->q)},
                                {.id = ID_K, .at = pointer(m->k)},
                                {.id = ID_V, .at = pointer(m->v)},
                                {.id = ID_Y, .at = pointer(m->y)},
                                {.id = ID_SCALE, .at = &m->scale, .is_passed = true}},
                   .count = 5,
                   .workspace = workspace};
  if (a->has_mask) call.bindings[call.count++] = (dnn_binding){.id = ID_MASK, .at = pointer(m->mask)};
  if (a->is_causal) call.bindings[call.count++] = (dnn_binding){.id = ID_HIDDEN, .at = &hidden, .is_passed = true};
  if (a->has_lse) call.bindings[call.count++] = (dnn_binding){.id = ID_LSE, .at = pointer(m->lse)};
  if (a->is_gradient) {
    const dnn_binding more[] = {
        {.id = ID_G, .at = pointer(m->g)},          {.id = ID_DQ, .at = pointer(m->dq)},
        {.id = ID_DK, .at = pointer(m->dk)},        {.id = ID_DV, .at = pointer(m->dv)},
        {.id = ID_SUMS, .at = pointer(m->scratch)}, {.id = ID_ONE, .at = &one, .is_passed = true}};
    memcpy(call.bindings + call.count, more, sizeof more);
    call.count += (int)(sizeof more / sizeof *more);
  }
  return tsri_dnn_graph_run(queue, &call);
}

// As run_plan, for an attention with a mask: copies the mask before, if cuDNN does not read it in place, and sets the results of queries that attend
// to no key to 0 after.
static int run_masked(cuda_queue *queue, dnn_attention_plan *plan, const cuda_masks *masks,
                      const cuda_attention_memory *given, cu_address workspace) {
  const cuda_attention *a = &plan->attention;
  cuda_attention_memory m = *given;
  if (a->copies_mask) m.mask = workspace;
  cu_result code = tsri_cuda_copy_mask(queue, masks, a, given->mask, m.mask);
  int dnn_code = run_plan(queue, plan, &m, workspace + (cu_address)tsri_cuda_mask_bytes(a));
  if (code == CU_SUCCESS) code = tsri_cuda_clear_unseen(queue, masks, a, &m);
  if (code != CU_SUCCESS) tsri_log(TSR_LOG_WARN, "%s: the mask of an attention: code %d", queue->device->name, code);
  return code == CU_SUCCESS ? dnn_code : code;
}

tsr_status tsri_cuda_attend(cuda_queue *queue, const cuda_attention *attention, const cuda_attention_memory *memory) {
  cuda_dnn *dnn = tsri_cuda_dnn_of(queue->device);
  if (!dnn || (!attention->is_gradient && tsri_cuda_workspace(queue) != CU_SUCCESS)) return TSR_ERR_UNSUPPORTED;
  tsri_mutex_lock(&dnn->lock);
  dnn_attention_plan *plan = entry_of(dnn, attention);
  bool is_good =
      plan && plan_if_due(queue->device, dnn, plan, 0) && tsri_cuda_dnn_use_stream(dnn, queue->stream) == DNN_SUCCESS;
  if (is_good) {
    int64_t bytes = plan->graph.workspace_bytes + tsri_cuda_mask_bytes(attention);
    cu_address workspace = attention->is_gradient ? memory->scratch + (cu_address)sums_bytes(attention)
                                                  : tsri_cuda_take_workspace(queue, (size_t)bytes);
    int code = attention->has_mask ? run_masked(queue, plan, &dnn->masks, memory, workspace)
                                   : run_plan(queue, plan, memory, workspace);
    if (code != DNN_SUCCESS) tsri_log(TSR_LOG_DEBUG, "cuda: an attention by cuDNN failed (code %d)", code);
    is_good = code == DNN_SUCCESS;
    plan->is_impossible = !is_good;
  }
  tsri_mutex_unlock(&dnn->lock);
  return is_good ? TSR_OK : TSR_ERR_UNSUPPORTED;
}
