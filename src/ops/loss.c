// SPDX-License-Identifier: MIT
// Losses, composed of element-wise operators, reductions and gather. f16 and bf16 are computed in f32 until the end.
//
// No intermediate of the input's size is written to memory: cross_entropy uses logsumexp and the label's logit, not the complete log_softmax.
#include <math.h>

#include "core/error.h"
#include "graph/watch.h"
#include "ops/autocast.h"
#include "ops/axes.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/label_entropy.h"
#include "ops/label_loss.h"
#include "ops/operators.h"
#include "ops/promote.h"

// Which fields of the descriptor an operator reads.
enum { READS_IGNORED = 1, READS_SMOOTHING = 2, READS_DELTA = 4, READS_WEIGHT = 8, READS_POSITIVE = 16 };

typedef struct loss {
  const char *caller;
  tsr_loss_desc desc;
  tsr_dtype dtype, wide;  // of the result, and of the computation
  int64_t batch;          // size of axis 0
} loss;

static tsr_status check_desc(const char *caller, const tsr_loss_desc *desc, int reads) {
  const char *extra = NULL;
  if (desc->ignores && !(reads & READS_IGNORED)) extra = "ignores";
  if (desc->smoothing != 0 && !(reads & READS_SMOOTHING)) extra = "smoothing";
  if (desc->delta != 0 && !(reads & READS_DELTA)) extra = "delta";
  if (desc->weight && !(reads & READS_WEIGHT)) extra = "weight";
  if (desc->positive_weight && !(reads & READS_POSITIVE)) extra = "positive_weight";
  if (extra) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .%s of the description", caller, extra);
  if ((unsigned)desc->reduction > TSR_LOSS_BATCH_MEAN) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: there is no reduction %d", caller, (int)desc->reduction);
  }
  if (!(desc->smoothing >= 0 && desc->smoothing <= 1)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: smoothing is %g; it must lie between 0 and 1", caller,
                     desc->smoothing);
  }
  if (!(desc->delta >= 0)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: delta is %g; it must be above 0", caller, desc->delta);
  }
  tsr_status status = desc->weight ? tsri_tensor_check(caller, desc->weight) : TSR_OK;
  if (status == TSR_OK && desc->positive_weight) status = tsri_tensor_check(caller, desc->positive_weight);
  return status;
}

// Checks the inputs and the descriptor, and fills in *l.
static tsr_status start(loss *l, const tsri_op *op, const tsr_tensor *x, const tsr_tensor *target,
                        const tsr_loss_desc *desc, int reads) {
  const char *caller = op->name;
  tsr_status status = tsri_tensor_check(caller, x);
  if (status == TSR_OK) status = tsri_tensor_check(caller, target);
  *l = (loss){.caller = caller};
  if (desc) l->desc = *desc;
  if (status == TSR_OK) status = check_desc(caller, &l->desc, reads);
  if (status != TSR_OK) return status;
  l->dtype = tsri_promote_float(x->dtype);
  if (tsri_dtype_is_float(target->dtype)) l->dtype = tsri_promote(l->dtype, target->dtype);
  l->dtype = tsri_autocast(op, l->dtype);
  l->wide = tsri_accumulator(l->dtype);
  l->batch = x->layout.shape.rank > 0 ? x->layout.shape.dims[0] : 1;
  return TSR_OK;
}

// --- Reducing --------------------------------------------------------------------------------------------------------

// The sum of all elements, divided by `divisor` or, if that is NULL, by `count`.
static tsr_tensor *divided(const loss *l, tsr_tensor *each, tsr_tensor *divisor, double count) {
  tsr_tensor *sum = tsr_sum(each, NULL, 0, false);
  tsr_tensor *result = divisor ? tsri_elementwise_to(TSRI_OPERATOR_div, l->dtype, (tsr_tensor *[]){sum, divisor}, NULL)
                               : tsri_elementwise_to(TSRI_OPERATOR_div_scalar, l->dtype, &sum, &count);
  return tsri_then(result, sum);
}

// Reduces `each`, the losses of the elements, as the descriptor says. A mean divides by `divisor` or, if that is NULL, by the number of elements. Releases
// both.
static tsr_tensor *finish(const loss *l, tsr_tensor *each, tsr_tensor *divisor) {
  tsr_tensor *result = NULL;
  switch (l->desc.reduction) {
    case TSR_LOSS_NONE:
      result = tsr_cast(each, l->dtype);
      break;
    case TSR_LOSS_SUM:
      result = divided(l, each, NULL, 1);
      break;
    case TSR_LOSS_BATCH_MEAN:
      result = divided(l, each, NULL, (double)l->batch);
      break;
    case TSR_LOSS_MEAN:
      result = divided(l, each, divisor, (double)tsr_tensor_count(each));
      break;
  }
  tsr_release(each);
  tsr_release(divisor);
  return tsri_tensor_named(l->caller, result);
}

// --- Element by element ----------------------------------------------------------------------------------------------

// each * weight. Fails if the weight does not broadcast to `each`. Releases `each`.
static tsr_tensor *weighted(const loss *l, tsr_tensor *each, tsr_tensor *weight) {
  if (!weight || tsr_error(each) != TSR_OK) return each;
  tsr_shape shape = tsr_tensor_shape(each), both = shape;
  tsr_status status = tsri_tensor_check(l->caller, weight);
  if (status == TSR_OK) status = tsri_shape_broadcast(l->caller, shape, weight->layout.shape, &both);
  if (status == TSR_OK && !tsri_shape_equal(shape, both)) {
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: the weight is %s, which is not broadcast to %s", l->caller,
                       tsr_shape_format(weight->layout.shape, a, sizeof a), tsr_shape_format(shape, b, sizeof b));
  }
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), each);
  tsr_tensor *factor = tsr_cast(weight, l->wide);
  return tsri_then(tsri_then(tsr_mul(each, factor), factor), each);
}

// Checks x and target, broadcasts them, and gives both in the dtype of the computation in out_pair.
static tsr_status open_pair(loss *l, const tsri_op *op, tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc,
                            int reads, tsr_tensor **out_pair) {
  tsr_status status = start(l, op, x, target, desc, reads);
  if (status != TSR_OK) return status;
  if (!tsri_shape_equal(x->layout.shape, target->layout.shape)) {
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: shapes differ, x is %s, the target is %s", op->name,
                     tsr_shape_format(x->layout.shape, a, sizeof a),
                     tsr_shape_format(target->layout.shape, b, sizeof b));
  }
  out_pair[0] = tsr_cast(x, l->wide);
  out_pair[1] = tsr_cast(target, l->wide);
  return TSR_OK;
}

// Reduces `each` to the loss. Releases `each` and the pair.
static tsr_tensor *close_pair(const loss *l, tsr_tensor **pair, tsr_tensor *each) {
  tsr_release(pair[0]);
  tsr_release(pair[1]);
  return finish(l, weighted(l, each, l->desc.weight), NULL);
}

tsr_tensor *tsr_mse_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc) {
  loss l;
  tsr_tensor *pair[2];
  tsr_status status = open_pair(&l, TSRI_BODY(mse_loss), x, target, desc, READS_WEIGHT, pair);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *difference = tsr_sub(pair[0], pair[1]);
  return close_pair(&l, pair, tsri_then(tsr_square(difference), difference));
}

tsr_tensor *tsr_l1_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc) {
  loss l;
  tsr_tensor *pair[2];
  tsr_status status = open_pair(&l, TSRI_BODY(l1_loss), x, target, desc, READS_WEIGHT, pair);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *difference = tsr_sub(pair[0], pair[1]);
  return close_pair(&l, pair, tsri_then(tsr_abs(difference), difference));
}

// d^2 / 2 for |d| up to delta, else delta * (|d| - delta / 2). Releases the difference.
static tsr_tensor *huber(tsr_tensor *difference, double delta) {
  tsr_tensor *size = tsr_abs(difference), *is_small = tsr_le_scalar(size, delta);
  tsr_tensor *square = tsr_square(difference), *small = tsri_then(tsr_mul_scalar(square, 0.5), square);
  tsr_tensor *rest = tsr_sub_scalar(size, delta / 2), *large = tsri_then(tsr_mul_scalar(rest, delta), rest);
  tsr_tensor *result = tsr_where(is_small, small, large);
  tsr_release(difference);
  tsr_release(size);
  tsr_release(is_small);
  tsr_release(small);
  tsr_release(large);
  return result;
}

tsr_tensor *tsr_huber_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc) {
  loss l;
  tsr_tensor *pair[2];
  tsr_status status = open_pair(&l, TSRI_BODY(huber_loss), x, target, desc, READS_WEIGHT | READS_DELTA, pair);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  double delta = l.desc.delta > 0 ? l.desc.delta : 1;
  return close_pair(&l, pair, huber(tsr_sub(pair[0], pair[1]), delta));
}

// (1 - t) * x + softplus(-x) * (1 + (positive_weight - 1) * t)
tsr_tensor *tsr_bce_with_logits_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc) {
  loss l;
  tsr_tensor *pair[2];
  tsr_status status =
      open_pair(&l, TSRI_BODY(bce_with_logits_loss), x, target, desc, READS_WEIGHT | READS_POSITIVE, pair);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *rest = tsr_rsub_scalar(pair[1], 1), *left = tsri_then(tsr_mul(rest, pair[0]), rest);
  tsr_tensor *negative = tsr_neg(pair[0]), *right = tsri_then(tsr_softplus(negative), negative);
  if (l.desc.positive_weight) {
    tsr_tensor *wide = tsr_cast(l.desc.positive_weight, l.wide), *extra = tsri_then(tsr_sub_scalar(wide, 1), wide);
    tsr_tensor *part = tsri_then(weighted(&l, tsr_retain(pair[1]), extra), extra);
    tsr_tensor *whole = tsri_then(tsr_add_scalar(part, 1), part);
    right = tsri_then(tsri_then(tsr_mul(right, whole), right), whole);
  }
  return close_pair(&l, pair, tsri_then(tsri_then(tsr_add(left, right), left), right));
}

// t * log(t) - t * x, and 0 where t is 0.
tsr_tensor *tsr_kl_div_loss(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc) {
  loss l;
  tsr_tensor *pair[2];
  tsr_status status = open_pair(&l, TSRI_BODY(kl_div_loss), x, target, desc, READS_WEIGHT, pair);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *left = tsr_xlogy(pair[1], pair[1]), *right = tsr_mul(pair[1], pair[0]);
  tsr_tensor *each = tsri_then(tsri_then(tsr_sub(left, right), left), right), *is_zero = tsr_eq_scalar(pair[1], 0);
  each = tsri_then(tsri_then(tsr_masked_fill(each, is_zero, 0), each), is_zero);
  return close_pair(&l, pair, each);
}

// --- Of classes ------------------------------------------------------------------------------------------------------

// The labels and what follows from them. All tensors have the shape of x without the axis of classes.
typedef struct labels {
  tsr_tensor *index;       // the label; on a `checked` device 0 where it is not one
  tsr_tensor *is_wrong;    // whether the label is not a class
  tsr_tensor *is_ignored;  // whether the label is ignored; NULL: none is
  tsr_tensor *weight;      // the weight of the label's class; NULL: 1
} labels;

static void release_labels(labels *l) {
  tsr_release(l->index);
  tsr_release(l->is_wrong);
  tsr_release(l->is_ignored);
  tsr_release(l->weight);
}

// The shape of x without the axis.
static tsr_shape without_axis(tsr_shape shape, int axis) {
  for (int i = axis; i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
  shape.rank--;
  return shape;
}

static tsr_status check_labels(const loss *l, const tsr_tensor *x, const tsr_tensor *target, int axis) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_dtype_kind kind = tsr_dtype_kind_of(target->dtype);
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: labels are integers, not %s", l->caller, tsr_dtype_name(target->dtype));
  }
  tsr_shape wanted = without_axis(x->layout.shape, axis);
  if (tsri_shape_equal(target->layout.shape, wanted)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: labels are %s; without its axis %d of classes x is %s", l->caller,
                   tsr_shape_format(target->layout.shape, b, sizeof b), axis, tsr_shape_format(wanted, a, sizeof a));
}

static tsr_status check_class_weight(const loss *l, int64_t classes) {
  char text[TSR_SHAPE_TEXT_BYTES];
  const tsr_tensor *weight = l->desc.weight;
  if (!weight || (weight->layout.shape.rank == 1 && weight->layout.shape.dims[0] == classes)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the weight is %s, there are %lld classes", l->caller,
                   tsr_shape_format(weight->layout.shape, text, sizeof text), (long long)classes);
}

// The labels as indices. Those that name no class, or are ignored, need not be valid: what is found there is replaced (close_labels). But a `checked` device would
// refuse them.
static tsr_tensor *as_indices(tsr_tensor *target, const labels *of) {
  const tsr_device *device = target->value ? target->value->device : NULL;
  if (!device || !device->is_checked) return tsr_retain(target);
  tsr_tensor *is_none = of->is_ignored ? tsr_logical_or(of->is_wrong, of->is_ignored) : tsr_retain(of->is_wrong);
  return tsri_then(tsr_masked_fill(target, is_none, 0), is_none);
}

// Finds labels that are negative or at least the number of classes. Narrow integer labels are widened first, so that the number of classes is representable.
static labels read_labels(const loss *l, tsr_tensor *target, int64_t classes) {
  bool is_narrow = tsr_dtype_bytes(target->dtype) < 4;
  tsr_tensor *wide = tsr_cast(target, is_narrow ? TSR_I32 : target->dtype);
  tsri_whole_range range = tsri_range_of(tsr_tensor_dtype(wide));
  tsr_tensor *below = tsr_lt_scalar(wide, 0), *above = tsr_ge_scalar(wide, fmin((double)classes, range.most));
  labels found = {.is_wrong = tsri_then(tsri_then(tsr_logical_or(below, above), below), above)};
  double ignored = (double)l->desc.ignored;
  if (l->desc.ignores && ignored >= range.least && ignored <= range.most) {
    found.is_ignored = tsr_eq_scalar(wide, ignored);
  }
  found.index = tsri_then(as_indices(wide, &found), wide);
  if (l->desc.weight) {
    tsr_tensor *taken = tsr_take(l->desc.weight, found.index);
    found.weight = tsri_then(tsr_cast(taken, l->wide), taken);
  }
  return found;
}

// x[label] for each label, in the dtype of the computation.
static tsr_tensor *at_labels(const loss *l, tsr_tensor *x, const labels *of, int axis) {
  tsr_tensor *index = tsr_unsqueeze(of->index, axis);
  tsr_tensor *taken = tsri_then(tsr_gather(x, axis, index), index);
  tsr_tensor *flat = tsri_then(tsr_squeeze(taken, axis), taken);
  return tsri_then(tsr_cast(flat, l->wide), flat);
}

// The divisor of the mean: the sum of the labels' weights, without ignored labels. NULL: every element counts as 1.
static tsr_tensor *divisor_of(const loss *l, const labels *of) {
  if (!of->weight && !of->is_ignored) return NULL;
  tsr_tensor *one = of->weight ? tsr_retain(of->weight) : NULL;
  if (!one) {
    tsr_tensor *counts = tsr_logical_not(of->is_ignored);
    one = tsri_then(tsr_cast(counts, l->wide), counts);
  } else if (of->is_ignored) {
    one = tsri_then(tsr_masked_fill(one, of->is_ignored, 0), one);
  }
  return tsri_then(tsr_sum(one, NULL, 0, false), one);
}

// Sets `each` to NaN where a label is not a class, and to 0 where a label is ignored, and reduces it. Releases `each` and the labels.
static tsr_tensor *close_labels(const loss *l, labels *of, tsr_tensor *each) {
  each = tsri_then(tsr_masked_fill(each, of->is_wrong, NAN), each);
  if (of->is_ignored) each = tsri_then(tsr_masked_fill(each, of->is_ignored, 0), each);
  tsr_tensor *divisor = l->desc.reduction == TSR_LOSS_MEAN ? divisor_of(l, of) : NULL;
  release_labels(of);
  return finish(l, each, divisor);
}

// The loss of a matrix in one launch, if that is possible: no label is ignored or has a weight. NULL: it is not, or gradients need the composed operators.
static tsr_tensor *of_matrix(const loss *l, tsr_tensor *x, tsr_tensor *target) {
  const tsr_loss_desc *desc = &l->desc;
  bool is_plain = !desc->weight && !desc->ignores && desc->reduction != TSR_LOSS_NONE && l->dtype == x->dtype;
  return is_plain && !tsri_watching ? tsri_label_loss(x, target, desc->reduction != TSR_LOSS_SUM) : NULL;
}

tsr_tensor *tsr_nll_loss(tsr_tensor *x, tsr_tensor *target, int axis, const tsr_loss_desc *desc) {
  loss l;
  tsr_status status = start(&l, TSRI_BODY(nll_loss), x, target, desc, READS_WEIGHT | READS_IGNORED);
  if (status == TSR_OK) status = tsri_axis(l.caller, axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK) status = check_labels(&l, x, target, axis);
  if (status == TSR_OK) status = check_class_weight(&l, x->layout.shape.dims[axis]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *whole = axis == 1 ? of_matrix(&l, x, target) : NULL;
  if (whole) return tsri_tensor_named(l.caller, whole);
  labels of = read_labels(&l, target, x->layout.shape.dims[axis]);
  tsr_tensor *taken = at_labels(&l, x, &of, axis);
  return close_labels(&l, &of, weighted(&l, tsri_then(tsr_neg(taken), taken), of.weight));
}

// --- cross_entropy ---------------------------------------------------------------------------------------------------

// Reshapes the weights of the classes to broadcast along the axis; NULL: there are none.
static tsr_tensor *class_weights(const loss *l, int rank, int axis) {
  if (!l->desc.weight) return NULL;
  tsr_shape shape = {.rank = rank};
  for (int i = 0; i < rank; i++) shape.dims[i] = i == axis ? l->desc.weight->layout.shape.dims[0] : 1;
  tsr_tensor *wide = tsr_cast(l->desc.weight, l->wide);
  return tsri_then(tsr_reshape(wide, shape), wide);
}

// Sum over the classes of (logsumexp - x) * factor, where a term with factor 0 is 0. `factor` NULL: 1. Releases `factor`.
static tsr_tensor *sum_of_classes(const loss *l, tsr_tensor *x, tsr_tensor *factor, int axis) {
  tsr_tensor *wide = tsr_cast(x, l->wide), *all = tsr_logsumexp(wide, TSR_AXES(axis), true);
  tsr_tensor *each = tsri_then(tsri_then(tsr_sub(all, wide), wide), all);
  if (factor) {
    tsr_tensor *is_zero = tsr_eq_scalar(factor, 0);
    each = tsri_then(tsri_then(tsr_mul(each, factor), factor), each);
    each = tsri_then(tsri_then(tsr_masked_fill(each, is_zero, 0), is_zero), each);
  }
  return tsri_then(tsr_sum(each, TSR_AXES(axis), false), each);
}

// logsumexp - x[label]
static tsr_tensor *label_entropy(const loss *l, tsr_tensor *x, const labels *of, int axis) {
  tsr_tensor *each = NULL, *all = NULL;
  if (tsri_tensor_check(l->caller, of->index) == TSR_OK && tsri_label_entropy(x, of->index, axis, &each, &all)) {
    return tsri_then(each, all);
  }
  tsri_whole_begin();
  tsr_tensor *wide = tsr_cast(x, l->wide), *taken = at_labels(l, x, of, axis);
  all = tsri_then(tsr_logsumexp(wide, TSR_AXES(axis), false), wide);
  each = tsri_then(tsr_sub(all, taken), taken);
  tsri_softmax_attributes given = {.axis = axis};
  tsri_whole_end(&(tsri_whole){.op = &tsri_op_label_entropy,
                               .attributes = &given,
                               .attribute_bytes = sizeof given,
                               .inputs = (tsr_tensor *const[]){x, of->index},
                               .input_count = 2,
                               .outputs = (tsr_tensor *const[]){each, all},
                               .output_count = 2});
  return tsri_then(each, all);
}

// Cross-entropy with labels: (1 - smoothing) * weight * (logsumexp - x[label]), plus smoothing / classes times the sum of weight * (logsumexp - x) over all
// classes.
static tsr_tensor *entropy_of_labels(const loss *l, tsr_tensor *x, tsr_tensor *target, int axis) {
  int64_t classes = x->layout.shape.dims[axis];
  labels of = read_labels(l, target, classes);
  tsr_tensor *each = weighted(l, label_entropy(l, x, &of, axis), of.weight);
  if (l->desc.smoothing > 0) {
    tsr_tensor *spread = sum_of_classes(l, x, class_weights(l, x->layout.shape.rank, axis), axis);
    spread = tsri_then(tsr_mul_scalar(spread, l->desc.smoothing / (double)classes), spread);
    each = tsri_then(tsr_mul_scalar(each, 1 - l->desc.smoothing), each);
    each = tsri_then(tsri_then(tsr_add(each, spread), spread), each);
  }
  return close_labels(l, &of, each);
}

// Cross-entropy with probabilities p, which are smoothed: p * (1 - smoothing) + smoothing / classes.
static tsr_tensor *entropy_of_probabilities(const loss *l, tsr_tensor *x, tsr_tensor *target, int axis) {
  double part = l->desc.smoothing / (double)x->layout.shape.dims[axis];
  tsr_tensor *p = tsr_cast(target, l->wide), *weight = class_weights(l, x->layout.shape.rank, axis);
  if (l->desc.smoothing > 0) {
    p = tsri_then(tsr_mul_scalar(p, 1 - l->desc.smoothing), p);
    p = tsri_then(tsr_add_scalar(p, part), p);
  }
  if (weight) p = tsri_then(tsri_then(tsr_mul(p, weight), weight), p);
  return finish(l, sum_of_classes(l, x, p, axis), NULL);
}

tsr_tensor *tsr_cross_entropy(tsr_tensor *x, tsr_tensor *target, int axis, const tsr_loss_desc *desc) {
  loss l;
  tsr_status status =
      start(&l, TSRI_BODY(cross_entropy), x, target, desc, READS_WEIGHT | READS_IGNORED | READS_SMOOTHING);
  if (status == TSR_OK) status = tsri_axis(l.caller, axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool has_probabilities = tsri_dtype_is_float(target->dtype);
  if (has_probabilities && !tsri_shape_equal(x->layout.shape, target->layout.shape)) {
    char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
    status =
        TSRI_FAIL(TSR_ERR_SHAPE, "cross_entropy: probabilities are %s, x is %s",
                  tsr_shape_format(target->layout.shape, b, sizeof b), tsr_shape_format(x->layout.shape, a, sizeof a));
  }
  if (status == TSR_OK && has_probabilities && l.desc.ignores) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "cross_entropy: a label can be ignored, a probability cannot");
  }
  if (status == TSR_OK && !has_probabilities) status = check_labels(&l, x, target, axis);
  if (status == TSR_OK) status = check_class_weight(&l, x->layout.shape.dims[axis]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return has_probabilities ? entropy_of_probabilities(&l, x, target, axis) : entropy_of_labels(&l, x, target, axis);
}
