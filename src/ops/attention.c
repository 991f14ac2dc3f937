// SPDX-License-Identifier: MIT
// Attention: shapes, mask and options, and the launch of kernels/op_attention.tk, which reads views where they lie.
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "graph/watch.h"
#include "ops/attention.h"
#include "ops/attention_native.h"
#include "ops/attention_spans.h"
#include "ops/attention_tiles.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum { LARGEST_HEAD = 256 };

// --- Launch ----------------------------------------------------------------------------------------------------------

static void pass_strides(tsri_call *call, const char *stem, const tsri_layout *layout) {
  tsri_call_words(call, stem, 0, layout->strides, 4);
}

// Indices of the inputs that follow q, k and v, in this order: the mask expanded to the shape of the scores, the slopes, and the table of lengths and blocks. 0
// if an input is missing; q is then bound in its place and not read.
typedef struct extras {
  int mask, slopes, table;
} extras;

static extras find_extras(const tsri_attention_attributes *given) {
  int next = 3;
  extras at = {0};
  if (given->mask != TSRI_MASK_NONE) at.mask = next++;
  if (given->has_slopes) at.slopes = next++;
  if (given->has_blocks || given->has_lengths) at.table = next;
  return at;
}

// The compile-time parameters that all kernels of op_attention.tk with q, k and v as inputs have in common.
#define INPUT_PARAMETERS(run, given, at)                                                                              \
  TSRI_TYPE("T", (run)->dtype), TSRI_TYPE("M", (run)->input_dtypes[(at).mask]), TSRI_CONSTANT("MASK", (given)->mask), \
      TSRI_CONSTANT("SLOPES", (given)->has_slopes != 0), TSRI_CONSTANT("CAPPED", (given)->softcap > 0),               \
      TSRI_CONSTANT("PAGED", (given)->has_blocks != 0), TSRI_CONSTANT("LENGTHS", (given)->has_lengths != 0)

// Binds q, k, v and the further inputs, and passes the scalars, for those kernels.
static void pass_inputs(tsri_call *call, const tsri_kernel_run *run) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  const tsri_layout *q = &run->layouts[0], *k = &run->layouts[1], *v = &run->layouts[2];
  extras at = find_extras(given);
  tsri_call_buffer(call, "q", run->inputs[0], run->dtype);
  tsri_call_buffer(call, "k", run->inputs[1], run->dtype);
  tsri_call_buffer(call, "v", run->inputs[2], run->dtype);
  tsri_call_buffer(call, "mask", run->inputs[at.mask], run->input_dtypes[at.mask]);
  tsri_call_buffer(call, "slopes", run->inputs[at.slopes], run->dtype);
  tsri_call_buffer(call, "table", run->inputs[at.table], TSR_I32);
  tsri_call_word(call, "heads", run->shape.dims[1]);
  tsri_call_word(call, "shared_by", run->shape.dims[1] / k->shape.dims[1]);
  tsri_call_word(call, "queries", run->shape.dims[2]);
  tsri_call_word(call, "keys", given->keys);
  tsri_call_word(call, "depth", q->shape.dims[3]);
  tsri_call_word(call, "q_at", q->offset);
  tsri_call_word(call, "k_at", k->offset);
  tsri_call_word(call, "v_at", v->offset);
  tsri_call_word(call, "m_at", run->layouts[at.mask].offset);
  tsri_call_word(call, "s_at", run->layouts[at.slopes].offset);
  tsri_call_word(call, "s_step", run->layouts[at.slopes].strides[0]);
  pass_strides(call, "q", q);
  pass_strides(call, "k", k);
  pass_strides(call, "v", v);
  pass_strides(call, "m", &run->layouts[at.mask]);
  tsri_call_word(call, "is_causal", given->is_causal);
  tsri_call_word(call, "window", given->window);
  tsri_call_word(call, "block_size", k->shape.dims[2]);
  tsri_call_word(call, "block_count", k->shape.dims[0]);
  tsri_call_word(call, "t_at", run->layouts[at.table].offset);
  tsri_call_words(call, "t", 0, run->layouts[at.table].strides, 2);
  tsri_call_real(call, "scale", given->scale);
  tsri_call_real(call, "cap", given->softcap);
}

static tsr_status run_rows(const tsri_kernel_run *run, int64_t rows) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  extras at = find_extras(given);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_attention", "attention",
                 TSRI_WITH(INPUT_PARAMETERS(run, given, at), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("SIZE", run->shape.dims[3])));
  pass_inputs(&call, run);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", rows);
  return tsri_call_items(&call, rows);
}

tsr_status tsri_attention_join(const tsri_kernel_run *run, tsr_buffer *parts, int64_t rows, int64_t spans) {
  tsri_call join;
  tsri_call_init(&join, run->device, "op_attention", "attention_join", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_call_buffer(&join, "parts", parts, TSR_F32);
  tsri_call_buffer(&join, "y", run->output, run->dtype);
  tsri_call_word(&join, "rows", rows);
  tsri_call_word(&join, "splits", spans);
  tsri_call_word(&join, "size", run->shape.dims[3]);
  return tsri_call_many_groups(&join, rows);
}

static tsr_status run_few(const tsri_kernel_run *run, const tsri_attention_spans *s) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  int64_t rows = run->shape.dims[0] * run->shape.dims[1] * run->shape.dims[2], size = run->shape.dims[3];
  extras at = find_extras(given);
  bool is_strict = given->mask != TSRI_MASK_NONE || (given->is_causal && run->shape.dims[2] > 1);
  tsr_buffer *parts = NULL;
  tsr_status status = tsri_call_scratch(run->device, rows * s->splits * (size + 2), TSR_F32, &parts);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_attention", "attention_few",
      TSRI_WITH(INPUT_PARAMETERS(run, given, at), TSRI_CONSTANT("WIDE", s->is_wide), TSRI_CONSTANT("STRICT", is_strict),
                TSRI_CONSTANT("ROWS", s->rows), TSRI_CONSTANT("RUNS", s->runs), TSRI_CONSTANT("TEAM", s->team),
                TSRI_CONSTANT("UNROLL", s->unroll), TSRI_CONSTANT("WG", s->items)));
  pass_inputs(&call, run);
  tsri_call_buffer(&call, "parts", parts, TSR_F32);
  tsri_call_word(&call, "total", s->groups);
  tsri_call_word(&call, "chunks", s->chunks);
  tsri_call_word(&call, "splits", s->splits);
  tsri_call_word(&call, "span", s->span);
  tsri_call_word(&call, "kv_heads", run->layouts[1].shape.dims[1]);
  tsri_call_word(&call, "size", size);
  status = tsri_call_many_groups(&call, s->groups);
  if (status == TSR_OK) status = tsri_attention_join(run, parts, rows, s->splits);
  tsr_buffer_release(parts);
  return status;
}

// Inputs: q, k and v, then the inputs that find_extras numbers.
tsr_status tsri_run_attention(const tsri_kernel_run *run) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  int64_t size = run->shape.dims[3], rows = run->shape.dims[0] * run->shape.dims[1] * run->shape.dims[2];
  if (rows == 0 || size == 0) return TSR_OK;
  if (given->keys == 0 || run->layouts[1].count == 0) return tsri_call_zero(run);
  if (given->is_tiled) return tsri_run_attention_tiles(run);
  tsr_status status = tsri_attention_run_native(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++)
    status = tsri_call_check("attention", &run->layouts[i]);
  if (status != TSR_OK) return status;
  tsri_attention_spans spans;
  return tsri_attention_divide(run, &spans) ? run_few(run, &spans) : run_rows(run, rows);
}

// --- Checks ----------------------------------------------------------------------------------------------------------

static tsr_status check_shapes(const char *caller, const tsri_attention_inputs *in, bool is_paged) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES], c[TSR_SHAPE_TEXT_BYTES];
  tsr_shape q = in->q->layout.shape, k = in->k->layout.shape, v = in->v ? in->v->layout.shape : k;
  bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && (is_paged || q.dims[0] == k.dims[0]) &&
              k.dims[0] == v.dims[0] && k.dims[1] == v.dims[1] && k.dims[2] == v.dims[2] && q.dims[3] == k.dims[3] &&
              (k.dims[1] > 0 ? q.dims[1] % k.dims[1] == 0 : q.dims[1] == 0);
  tsr_shape_format(q, a, sizeof a);
  tsr_shape_format(k, b, sizeof b);
  tsr_shape_format(v, c, sizeof c);
  if (!fits) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "%s: q is %s, k is %s, v is %s; they are [%s, heads, positions, size], and the heads of k and v "
                     "divide those of q",
                     caller, a, b, c, is_paged ? "batch or blocks" : "batch");
  }
  if (q.dims[3] == 0) return TSRI_FAIL(TSR_ERR_SHAPE, "%s: heads of q and k have no elements", caller);
  if (v.dims[3] <= LARGEST_HEAD || !in->v) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: v is %s; a head has at most %d elements", caller, c, LARGEST_HEAD);
}

// Gives the number of keys of a sequence: those of k, or as many as the blocks in a row of the table hold.
static tsr_status count_keys(const char *caller, const tsri_attention_inputs *in, const tsr_tensor *blocks,
                             int64_t *out_keys) {
  const int64_t most = INT32_MAX / 2;
  int64_t keys = in->k->layout.shape.dims[2], queries = in->q->layout.shape.dims[2];
  bool fits = !blocks || tsri_mul_i64(keys, blocks->layout.shape.dims[1], &keys);
  *out_keys = keys;
  if (fits && keys <= most && queries <= most) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld queries, %lld keys; a sequence has at most 2^30 positions", caller,
                   (long long)queries, (long long)keys);
}

static tsr_status check_numbers(const char *caller, const tsr_attention_desc *desc) {
  if (desc->window < 0 || desc->window > INT32_MAX || (desc->window > 0 && !desc->causal)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: a window of %lld; it is 0 or more, and .causal beside it", caller,
                     (long long)desc->window);
  }
  if (desc->softcap >= 0 && isfinite(desc->softcap) && isfinite(desc->scale)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: softcap is %g and scale %g; they are numbers, softcap 0 or more",
                   caller, desc->softcap, desc->scale);
}

// Checks a tensor of `rank` axes whose first axis has `size` elements, one for each of `what`. NULL is allowed.
static tsr_status check_list(const char *caller, const char *list, const tsr_tensor *tensor, int rank, int64_t size,
                             const char *what, bool is_whole) {
  if (!tensor) return TSR_OK;
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, tensor);
  if (status != TSR_OK) return status;
  tsr_shape shape = tensor->layout.shape;
  if (shape.rank != rank || shape.dims[0] != size) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s are %s of %d axes, there are %lld %s", caller, list,
                     tsr_shape_format(shape, text, sizeof text), rank, (long long)size, what);
  }
  tsr_dtype_kind kind = tsr_dtype_kind_of(tensor->dtype);
  if (!is_whole || kind == TSR_KIND_INT || kind == TSR_KIND_UINT) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %s are integers, not %s", caller, list, tsr_dtype_name(tensor->dtype));
}

static tsr_status check_mask(const char *caller, const tsr_tensor *mask, tsr_shape scores) {
  if (!mask) return TSR_OK;
  tsr_status status = tsri_tensor_check(caller, mask);
  if (status != TSR_OK) return status;
  if (mask->dtype != TSR_BOOL && !tsri_dtype_is_float(mask->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: a mask is of bool or floats, not %s", caller, tsr_dtype_name(mask->dtype));
  }
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape both = {0};
  if (tsri_shape_broadcast(caller, scores, mask->layout.shape, &both) == TSR_OK && tsri_shape_equal(both, scores))
    return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the mask is %s, which is not broadcast to the scores, %s", caller,
                   tsr_shape_format(mask->layout.shape, a, sizeof a), tsr_shape_format(scores, b, sizeof b));
}

tsr_status tsri_attention_check(const char *caller, const tsri_attention_inputs *in, const tsr_attention_desc *desc,
                                int64_t *out_keys) {
  *out_keys = 0;
  tsr_status status = tsri_tensor_check(caller, in->q);
  if (status == TSR_OK) status = tsri_tensor_check(caller, in->k);
  if (status == TSR_OK && in->v) status = tsri_tensor_check(caller, in->v);
  if (status == TSR_OK) status = check_shapes(caller, in, desc->blocks != NULL);
  if (status != TSR_OK) return status;
  tsr_shape q = in->q->layout.shape;
  status = check_numbers(caller, desc);
  if (status == TSR_OK) status = check_list(caller, "slopes", desc->slopes, 1, q.dims[1], "heads", false);
  if (status == TSR_OK) status = check_list(caller, "blocks", desc->blocks, 2, q.dims[0], "sequences", true);
  if (status == TSR_OK) status = check_list(caller, "lengths", desc->lengths, 1, q.dims[0], "sequences", true);
  if (status == TSR_OK) status = count_keys(caller, in, desc->blocks, out_keys);
  if (status != TSR_OK) return status;
  return check_mask(caller, in->mask, TSR_SHAPE(q.dims[0], q.dims[1], q.dims[2], *out_keys));
}

double tsri_attention_scale(const tsr_tensor *q, const tsr_attention_desc *desc) {
  return desc->scale != 0 ? desc->scale : 1 / sqrt((double)q->layout.shape.dims[3]);
}

// --- Recording -------------------------------------------------------------------------------------------------------

// The mask expanded to the shape of the scores. A mask of bools is read as u8.
static tsr_tensor *expanded_mask(tsr_tensor *mask, tsr_dtype dtype, tsr_shape scores) {
  tsr_tensor *truth = mask->dtype == TSR_BOOL ? tsr_cast(mask, TSR_U8) : tsr_cast(mask, dtype);
  return tsri_then(tsr_expand(truth, scores), truth);
}

// The table [batch, 1 + blocks]: the length of each sequence, then the numbers of its blocks; or only one of the two,
// if only that is given.
static tsr_tensor *table_of(const tsr_attention_desc *desc) {
  tsr_tensor *blocks = desc->blocks ? tsr_cast(desc->blocks, TSR_I32) : NULL;
  if (!desc->lengths) return blocks;
  tsr_tensor *cast = tsr_cast(desc->lengths, TSR_I32), *lengths = tsri_then(tsr_unsqueeze(cast, 1), cast);
  if (!blocks) return lengths;
  tsr_tensor *parts[2] = {lengths, blocks};
  return tsri_then(tsri_then(tsr_concat(parts, 2, 1), lengths), blocks);
}

// Records the attention. The tiled kernel and the CPU's native operator produce [batch, position, head, element]; the caller gets a view of it in the order
// `shape`. If gradients may be needed, the logarithms of the rows' sums of exponentials are a second result.
static tsr_tensor *record_kernel(tsr_device *device, tsr_dtype dtype, tsr_shape shape, tsr_tensor *const *inputs,
                                 int count, const tsri_attention_attributes *given) {
  const tsri_op *op = TSRI_BODY(attention);
  if (!given->is_tiled) {
    return tsri_record_kernel(op, device, dtype, shape, inputs, count, TSRI_GIVE_ALL(op, attention, given));
  }
  const tsri_result results[2] = {{dtype, TSR_SHAPE(shape.dims[0], shape.dims[2], shape.dims[1], shape.dims[3])},
                                  {TSR_F32, TSR_SHAPE(shape.dims[0], shape.dims[1], shape.dims[2])}};
  bool has_sums = tsri_watching && tsri_attention_gradient_fits_tiles(device, dtype, given, inputs[0]->layout.shape,
                                                                      inputs[2]->layout.shape);
  tsr_tensor *both[2] = {NULL, NULL};
  if (has_sums) {
    tsri_record_kernel_results(op, device, results, 2, inputs, count, TSRI_GIVE_ALL(op, attention, given), both);
  } else {
    both[0] =
        tsri_record_kernel(op, device, dtype, results[0].shape, inputs, count, TSRI_GIVE_ALL(op, attention, given));
  }
  tsr_release(both[1]);
  return tsri_then(tsr_transpose(both[0], 1, 2), both[0]);
}

static tsr_tensor *record(const tsri_attention_inputs *in, const tsr_attention_desc *desc, int64_t keys) {
  const tsri_op *op = TSRI_BODY(attention);
  tsr_shape shape = in->q->layout.shape, scores = shape;
  tsr_dtype dtype = tsri_promote_float(tsri_promote(tsri_promote(in->q->dtype, in->k->dtype), in->v->dtype));
  dtype = tsri_autocast(op, dtype);
  shape.dims[3] = in->v->layout.shape.dims[3];
  scores.dims[3] = keys;
  tsri_attention_attributes attributes = {.scale = tsri_attention_scale(in->q, desc),
                                          .softcap = desc->softcap,
                                          .window = desc->window,
                                          .keys = keys,
                                          .is_causal = desc->causal,
                                          .has_slopes = desc->slopes != NULL,
                                          .has_blocks = desc->blocks != NULL,
                                          .has_lengths = desc->lengths != NULL};
  tsr_tensor *inputs[6] = {tsr_cast(in->q, dtype), tsr_cast(in->k, dtype), tsr_cast(in->v, dtype)};
  int count = 3;
  if (in->mask) {
    attributes.mask = in->mask->dtype == TSR_BOOL ? TSRI_MASK_TRUTH : TSRI_MASK_ADDED;
    inputs[count++] = expanded_mask(in->mask, dtype, scores);
  }
  if (desc->slopes) inputs[count++] = tsr_cast(desc->slopes, dtype);
  if (desc->blocks || desc->lengths) inputs[count++] = table_of(desc);
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  if (status == TSR_OK) {
    attributes.is_tiled =
        tsri_device_is_cpu(device)
            ? tsri_attention_is_native(device, dtype, inputs, count, &attributes)
            : tsri_attention_fits_tiles(device, dtype, &attributes, in->q->layout.shape, in->v->layout.shape);
  }
  tsr_tensor *result =
      status == TSR_OK ? record_kernel(device, dtype, shape, inputs, count, &attributes) : tsri_tensor_fail(status);
  tsri_release_all(inputs, count);
  return tsri_tensor_named(op->name, result);
}

tsr_tensor *tsr_attention(tsr_tensor *q, tsr_tensor *k, tsr_tensor *v, tsr_tensor *mask,
                          const tsr_attention_desc *desc) {
  static const tsr_attention_desc usual;
  if (!desc) desc = &usual;
  tsri_attention_inputs in = {q, k, v, mask};
  int64_t keys = 0;
  tsr_status status = tsri_tensor_check("attention", v);
  if (status == TSR_OK) status = tsri_attention_check("attention", &in, desc, &keys);
  return status == TSR_OK ? record(&in, desc, keys) : tsri_tensor_fail(status);
}
