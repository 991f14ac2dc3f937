// SPDX-License-Identifier: MIT
// Operators that compute gradients have no public functions. To load such a step, the forward operator is recorded and its gradient is taken again, so that it is
// computed as the device on which it runs does it best.
#include <string.h>

#include "core/error.h"
#include "grad/range.h"
#include "graph/transfer.h"
#include "ops/channel_sums.h"
#include "ops/promote.h"
#include "ops/rows.h"
#include "saved/again_families.h"

#include <tessera/grad.h>
#include <tessera/ops.h>

static tsr_status wrong(const tsri_again *s, const char *what) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %s does not fit", s->op->name, what);
}

enum { MOST_XS = 3 };

// The forward function of a step, and the tensors by which its gradient is taken.
typedef struct gradient_of {
  tsr_tensor *(*function)(const tsri_again *s, tsr_tensor *const *xs);
  tsr_tensor *xs[MOST_XS];  // from the first on; NULL: none
  tsr_tensor *cotangent;
} gradient_of;

// Copies each tensor, because gradients are taken by memory and two tensors may be views of the same memory. The copies are fused into the kernels that read them.
static tsr_status copy_xs(const gradient_of *of, tsr_tensor **xs, int *out_count) {
  tsr_status status = TSR_OK;
  for (*out_count = 0; *out_count < MOST_XS && of->xs[*out_count] && status == TSR_OK; ++*out_count) {
    tsr_tensor *x = of->xs[*out_count];
    tsri_layout packed = tsri_packed_layout(&x->layout);
    status = tsri_tensor_check("capture_load", x);
    xs[*out_count] = status == TSR_OK ? tsri_record_copy(x, &packed) : x;
    if (status == TSR_OK) status = tsr_error(xs[*out_count]);
  }
  return status;
}

static tsr_status take_gradient(const tsri_again *s, const gradient_of *of, tsr_tensor *out_gradients[MOST_XS]) {
  int count = 0;
  tsr_tensor *xs[MOST_XS] = {NULL};
  tsr_status status = copy_xs(of, xs, &count);
  if (status != TSR_OK) return status;
  grad_range *range = tsri_grad_open_inner();
  bool is_good = range != NULL;
  for (int i = 0; i < count && is_good; i++) is_good = tsri_grad_add_watched(range, xs[i]);
  tsr_tensor *y = is_good ? of->function(s, xs) : NULL;
  status = y ? tsr_error(y) : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_load: no host memory for it");
  const tsr_grad_desc desc = {.cotangent = of->cotangent, .zeros_if_unused = true};
  if (status == TSR_OK) status = tsr_grad(y, &desc, xs, count, out_gradients);
  if (range) tsri_grad_close_inner();
  return status;
}

// --- Norms -----------------------------------------------------------------------------------------------------------

static tsr_tensor *norm_of(const tsri_again *s, tsr_tensor *const *xs) {
  const tsri_norm_attributes *g = TSRI_AGAIN_GIVEN(s, norm);
  const tsri_op *op = g->is_centred ? TSRI_BODY(layer_norm) : TSRI_BODY(rms_norm);
  return tsri_norm_to(op, xs[0], xs[1], xs[2], g->eps, tsri_accumulator(xs[0]->dtype));
}

// Gradients by x, weight and bias. A norm without a weight has one of ones here; nobody reads its gradient. What is added to the gradient by x may be the last input.
tsr_status tsri_again_norm_gradient(const tsri_again *s, tsr_tensor **out) {
  const tsri_norm_attributes *g = TSRI_AGAIN_GIVEN(s, norm);
  tsr_tensor *x = s->inputs[0];
  tsr_shape shape = x->layout.shape;
  uint32_t given = 2u + (g->has_weight != 0);
  bool adds = s->input_count == given + 1 && tsri_shape_equal(s->inputs[given]->layout.shape, shape);
  if (s->result_count != 3 || s->input_count != given + adds || shape.rank == 0) return wrong(s, "an input");
  tsr_shape row = TSR_SHAPE(shape.dims[shape.rank - 1]);
  tsr_dtype wide = tsri_accumulator(x->dtype);
  gradient_of of = {.function = norm_of, .xs = {x}, .cotangent = tsr_cast(s->inputs[1], wide)};
  of.xs[1] = g->has_weight ? tsr_cast(s->inputs[2], wide) : tsr_ones(s->device, wide, row);
  if (g->is_centred) of.xs[2] = tsr_zeros(s->device, wide, row);
  tsr_status status = take_gradient(s, &of, out);
  if (status == TSR_OK && adds && out[0]) out[0] = tsr_add(s->inputs[given], out[0]);
  return status;
}

// The row, followed by rows of zeros up to the shape of `wanted`. The original result has partial sums in several rows, as many as its device likes; only their
// total matters.
static tsr_tensor *as_parts(tsr_tensor *row, const tsri_result *wanted) {
  int64_t before[2] = {0}, after[2] = {wanted->shape.dims[0] - 1, 0};
  return tsr_pad(tsr_cast(tsr_unsqueeze(row, 0), wanted->dtype), before, after, 2, 0);
}

tsr_status tsri_again_norm_one_pass(const tsri_again *s, tsr_tensor **out) {
  tsr_status status = tsri_again_norm_gradient(s, out);
  for (int i = 1; i < 3 && status == TSR_OK; i++) {
    bool fits = s->results[i].shape.rank == 2 && s->results[i].shape.dims[0] >= 1;
    if (!fits) status = wrong(s, "a result");
    else if (out[i]) out[i] = as_parts(out[i], &s->results[i]);
  }
  return status;
}

// Rows of a table, one below the other.
static tsr_tensor *table_of(tsr_tensor *const *rows, int count) { return tsr_stack(rows, count, 0); }

tsr_tensor *tsri_again_channel_statistics(const tsri_again *s) {
  if (s->inputs[0]->layout.shape.rank < 2) return tsri_again_wrong(s, "rank");
  tsri_channel_numbers found = tsri_channel_statistics(s->inputs[0], TSRI_AGAIN_GIVEN(s, channels)->eps);
  return table_of((tsr_tensor *[]){found.mean, found.variance, found.scale}, 3);
}

tsr_tensor *tsri_again_channel_slopes(const tsri_again *s) {
  tsr_tensor *g = s->inputs[0], *x = s->inputs[1], *rows[2];
  tsr_shape shape = x->layout.shape, channels = shape.rank >= 2 ? TSR_SHAPE(shape.dims[1]) : (tsr_shape){.rank = 0};
  bool fits = shape.rank >= 2 && tsri_shape_equal(g->layout.shape, shape);
  for (int i = 2; i < 4; i++) {
    fits = fits && tsri_shape_equal(s->inputs[i]->layout.shape, channels) && s->inputs[i]->dtype == s->results[0].dtype;
  }
  if (!fits) return tsri_again_wrong(s, "an input");
  tsri_channel_slopes(g, x, tsr_contiguous(s->inputs[2]), tsr_contiguous(s->inputs[3]), &rows[0], &rows[1]);
  return table_of(rows, 2);
}

// --- Windows ---------------------------------------------------------------------------------------------------------

// A convolution or pooling of which a gradient is taken, with its channels as axis 1: the result has the shape of the cotangent, input 1.
typedef struct windowed {
  tsri_again step;
  tsri_result result;
} windowed;

static void begin_windowed(const tsri_again *s, const tsri_op *op, const void *given, windowed *out) {
  out->result = (tsri_result){s->inputs[0]->dtype, s->inputs[1]->layout.shape};
  out->step = (tsri_again){.op = op, .device = s->device, .given = given, .results = &out->result, .result_count = 1};
}

static tsr_tensor *conv_of(const tsri_again *s, tsr_tensor *const *xs) {
  tsri_conv_attributes given = *TSRI_AGAIN_GIVEN(s, conv);
  windowed conv;
  given.is_last = 0;
  begin_windowed(s, TSRI_BODY(conv), &given, &conv);
  conv.step.inputs = (tsr_tensor *[]){s->inputs[0], xs[0]};
  conv.step.input_count = 2;
  return tsri_again_conv(&conv.step);
}

static tsr_tensor *pool_of(const tsri_again *s, tsr_tensor *const *xs) {
  tsri_pool_attributes given = *TSRI_AGAIN_GIVEN(s, pool);
  windowed pool;
  given.is_last = 0;
  begin_windowed(s, TSRI_BODY(max_pool), &given, &pool);
  pool.step.inputs = xs;
  pool.step.input_count = 1;
  return tsri_again_pool(&pool.step);
}

static tsr_tensor *first_gradient(const tsri_again *s, const gradient_of *of, bool is_last) {
  tsr_tensor *gradients[MOST_XS] = {NULL};
  tsr_status status = take_gradient(s, of, gradients);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return is_last ? tsr_contiguous(tsr_moveaxis(gradients[0], 1, -1)) : gradients[0];
}

tsr_tensor *tsri_again_conv_weight(const tsri_again *s) {
  tsr_shape shape = s->results[0].shape, weight = shape;
  bool is_last = TSRI_AGAIN_GIVEN(s, conv)->is_last != 0;
  if (shape.rank < 3 || s->inputs[1]->layout.shape.rank != shape.rank) return tsri_again_wrong(s, "rank");
  for (int i = 1; i < shape.rank && is_last; i++) weight.dims[i] = shape.dims[i == 1 ? shape.rank - 1 : i - 1];
  gradient_of of = {.function = conv_of, .cotangent = s->inputs[1]};
  of.xs[0] = tsr_zeros(s->device, s->inputs[0]->dtype, weight);
  return first_gradient(s, &of, is_last);
}

tsr_tensor *tsri_again_max_pool_gradient(const tsri_again *s) {
  gradient_of of = {.function = pool_of, .xs = {s->inputs[0]}, .cotangent = s->inputs[1]};
  if (s->inputs[1]->layout.shape.rank != s->inputs[0]->layout.shape.rank) return tsri_again_wrong(s, "rank");
  return first_gradient(s, &of, TSRI_AGAIN_GIVEN(s, pool)->is_last != 0);
}

// --- Attention -------------------------------------------------------------------------------------------------------

// The attention of the step, with `is_tiled` as its cotangent lies: heads inside of rows.
static tsr_tensor *attention(const tsri_again *s, tsr_tensor *const *xs, uint32_t others, bool is_tiled) {
  tsri_attention_attributes given = *TSRI_AGAIN_GIVEN(s, attention);
  tsr_tensor *inputs[8];
  tsri_again forward = *s;
  given.is_tiled = is_tiled;
  forward.op = TSRI_BODY(attention);
  forward.given = &given;
  forward.input_count = s->input_count - others;
  memcpy(inputs, s->inputs, forward.input_count * sizeof *inputs);
  memcpy(inputs, xs, 3 * sizeof *inputs);
  forward.inputs = inputs;
  return tsri_again_attention(&forward);
}

static tsr_tensor *attention_of(const tsri_again *s, tsr_tensor *const *xs) { return attention(s, xs, 1, false); }
static tsr_tensor *tiled_attention_of(const tsri_again *s, tsr_tensor *const *xs) { return attention(s, xs, 3, true); }

// The gradients of q, k and v, which are parts of one tensor, in one tensor with the same parts.
static tsr_tensor *joined(const tsri_again *s, tsr_tensor *const *gradients) {
  tsr_tensor *whole = tsr_zeros(s->device, s->results[0].dtype, s->results[0].shape);
  tsr_status status = tsri_tensor_check("capture_load", whole);
  int64_t low = 0, high = 0;
  for (int i = 0; i < 3 && status == TSR_OK; i++) {
    const tsri_layout *part = &s->inputs[i]->layout;
    if (part->count == 0) continue;
    tsri_layout_span(part, &low, &high);
    if (low < 0 || high >= whole->layout.count) return tsri_again_wrong(s, "an input");
    status = tsr_assign(tsri_tensor_view(whole, part), gradients[i]);
  }
  return status == TSR_OK ? whole : tsri_tensor_fail(status);
}

// The gradients of q, k and v as [batch, row, head, element], or joined. The last input is the cotangent.
static tsr_status attention_gradients(const tsri_again *s, bool is_tiled, tsr_tensor **out) {
  gradient_of of = {.function = is_tiled ? tiled_attention_of : attention_of,
                    .xs = {s->inputs[0], s->inputs[1], s->inputs[2]},
                    .cotangent = s->inputs[s->input_count - 1]};
  for (int i = 0; i < 3; i++) {
    if (s->inputs[i]->layout.shape.rank != 4) return wrong(s, "rank");
  }
  tsr_status status = take_gradient(s, &of, out);
  if (status == TSR_OK && s->result_count == 1) {
    out[0] = joined(s, out);
    return TSR_OK;
  }
  for (int i = 0; i < 3 && status == TSR_OK; i++) out[i] = tsr_contiguous(tsr_transpose(out[i], 1, 2));
  return status;
}

tsr_status tsri_again_attention_gradient(const tsri_again *s, tsr_tensor **out) {
  tsr_tensor *all[3] = {NULL};
  if (s->result_count != 3 && s->result_count != 1) return wrong(s, "number of results");
  tsr_status status = attention_gradients(s, false, all);
  for (uint32_t i = 0; i < s->result_count && status == TSR_OK; i++) out[i] = all[i];
  return status;
}

// Inputs: those of the attention, its two results and the cotangent. Results: the gradient of q, and those of k and v one behind the other; or one.
tsr_status tsri_again_attention_tiles(const tsri_again *s, tsr_tensor **out) {
  tsr_tensor *all[3] = {NULL};
  if (s->result_count != 2 && s->result_count != 1) return wrong(s, "number of results");
  tsr_status status = attention_gradients(s, true, all);
  if (status != TSR_OK) return status;
  if (s->result_count == 1) {
    out[0] = all[0];
    return TSR_OK;
  }
  tsr_tensor *flat[2] = {tsr_reshape(all[1], TSR_SHAPE(-1)), tsr_reshape(all[2], TSR_SHAPE(-1))};
  out[0] = all[0];
  out[1] = tsr_concat(flat, 2, 0);
  return TSR_OK;
}

// --- Cross entropy ---------------------------------------------------------------------------------------------------

static bool are_labels(const tsri_again *s) {
  tsr_shape x = s->inputs[0]->layout.shape, labels = s->inputs[1]->layout.shape;
  bool is_one_of_each = labels.rank + 1 == x.rank && labels.dims[0] == x.dims[0] &&
                        (x.rank == 2 || (x.rank == 3 && labels.dims[1] == x.dims[2]));
  return is_one_of_each && tsri_dtype_is_float(s->inputs[0]->dtype);
}

// The logits in f32, and for each row its number in a column.
static tsr_tensor *wide(tsr_tensor *x) { return tsr_cast(x, TSR_F32); }
static tsr_tensor *column(tsr_tensor *x) { return tsr_unsqueeze(x, 1); }

tsr_status tsri_again_label_entropy(const tsri_again *s, tsr_tensor **out) {
  if (!are_labels(s) || s->result_count != 2) return wrong(s, "an input");
  tsr_tensor *x = wide(s->inputs[0]), *picked = tsr_gather(x, 1, column(s->inputs[1]));
  out[1] = tsr_logsumexp(x, (int[]){1}, 1, false);
  out[0] = tsr_sub(out[1], tsr_squeeze(picked, 1));
  return TSR_OK;
}

// exp(x - lse) * (g + h), less g at the label, with columns of zeros up to the result's.
tsr_tensor *tsri_again_label_gradient(const tsri_again *s) {
  bool has_h = TSRI_AGAIN_GIVEN(s, softmax)->is_log != 0, has_g = s->input_count == 5 || !has_h;
  bool is_matrix = are_labels(s) && s->inputs[0]->layout.shape.rank == 2;
  if (!is_matrix || (s->input_count == 5 && !has_h)) return tsri_again_wrong(s, "an input");
  tsr_tensor *x = wide(s->inputs[0]), *shares = tsr_exp(tsr_sub(x, column(s->inputs[2])));
  tsr_tensor *g = has_g ? column(s->inputs[3]) : NULL, *h = has_h ? column(s->inputs[s->input_count - 1]) : NULL;
  tsr_tensor *dx = tsr_mul(shares, g && h ? tsr_add(g, h) : g ? g : h);
  int64_t n = s->inputs[0]->layout.shape.dims[1];
  if (g) dx = tsr_sub(dx, tsr_mul(tsr_one_hot(s->inputs[1], n, TSR_F32), g));
  int64_t pitch = s->results[0].shape.rank == 2 ? s->results[0].shape.dims[1] : -1;
  if (pitch < n) return tsri_again_wrong(s, "a result");
  return tsr_pad(tsr_cast(dx, s->results[0].dtype), (int64_t[]){0, 0}, (int64_t[]){0, pitch - n}, 2, 0);
}
