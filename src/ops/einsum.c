// SPDX-License-Identifier: MIT
// einsum. Operands are multiplied in pairs, in the order that takes the fewest multiplications: by matmul if labels are summed, otherwise element by element.
#include "ops/einsum.h"

#include "core/error.h"
#include "core/tensor.h"
#include "ops/autocast.h"
#include "ops/axes.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

typedef uint64_t label_set;

// A tensor with the labels of its axes, each once.
typedef struct labelled {
  tsr_tensor *tensor;
  tsri_einsum_term term;
} labelled;

static label_set bit_of(int label) { return UINT64_C(1) << label; }

static label_set set_of(const tsri_einsum_term *term) {
  label_set set = 0;
  for (int i = 0; i < term->rank; i++) set |= bit_of(term->labels[i]);
  return set;
}

static int size_of_set(label_set set) {
  int count = 0;
  for (; set; set &= set - 1) count++;
  return count;
}

static void remove_axis(tsri_einsum_term *term, int axis) {
  term->rank--;
  for (int i = axis; i < term->rank; i++) term->labels[i] = term->labels[i + 1];
}

// --- One operand -----------------------------------------------------------------------------------------------------

static void replace(labelled *x, tsr_tensor *with) {
  tsr_release(x->tensor);
  x->tensor = with;
}

// Replaces axes with the same label by one axis, their diagonal. tsr_diagonal puts it last.
static void take_diagonals(labelled *x) {
  for (int i = 0; i < x->term.rank; i++) {
    for (int k = i + 1; k < x->term.rank; k++) {
      int label = x->term.labels[i];
      if (label != x->term.labels[k]) continue;
      replace(x, tsr_diagonal(x->tensor, 0, i, k));
      remove_axis(&x->term, k);
      remove_axis(&x->term, i);
      x->term.labels[x->term.rank++] = label;
      i = -1;  // axes have moved: start again
      break;
    }
  }
}

// Drops axes of size 1 whose label has a larger size in another operand: the multiplication will broadcast.
static void drop_broadcast(labelled *x, const int64_t *sizes) {
  for (int i = x->term.rank - 1; i >= 0; i--) {
    if (tsr_tensor_shape(x->tensor).dims[i] != 1 || sizes[x->term.labels[i]] == 1) continue;
    replace(x, tsr_squeeze(x->tensor, i));
    remove_axis(&x->term, i);
  }
}

// Sums x over its labels that are not in `kept`, in x's dtype.
static void sum_others(labelled *x, label_set kept) {
  int axes[TSR_MAX_RANK], count = 0;
  for (int i = 0; i < x->term.rank; i++) {
    if (!(bit_of(x->term.labels[i]) & kept)) axes[count++] = i;
  }
  if (count == 0) return;
  tsr_dtype dtype = tsr_tensor_dtype(x->tensor);
  tsr_tensor *sum = tsr_sum(x->tensor, axes, count, false);
  replace(x, tsri_then(tsr_cast(sum, dtype), sum));
  for (int i = count - 1; i >= 0; i--) remove_axis(&x->term, axes[i]);
}

// Permutes the axes to the order of `labels`, which lists all labels of x.
static tsr_tensor *in_order(const labelled *x, const int *labels, int count) {
  int axes[TSR_MAX_RANK] = {0};
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < x->term.rank; k++) {
      if (x->term.labels[k] == labels[i]) axes[i] = k;
    }
  }
  return tsr_permute(x->tensor, axes, count);
}

// --- Two operands ----------------------------------------------------------------------------------------------------

// The labels of a pair of operands, in four sets: labels of both operands and the result (batch), of the left or the right operand only, and summed labels.
typedef struct pairing {
  label_set batch, left, right, summed;
  const int64_t *sizes;
} pairing;

static int list_labels(label_set set, int *out) {
  int count = 0;
  for (int label = 0; label < TSRI_EINSUM_LABELS; label++) {
    if (set & bit_of(label)) out[count++] = label;
  }
  return count;
}

static int64_t elements(label_set set, const int64_t *sizes) {
  int64_t count = 1;
  for (int label = 0; label < TSRI_EINSUM_LABELS; label++) {
    if (set & bit_of(label)) count *= sizes[label];
  }
  return count;
}

// Permutes and reshapes an operand to three axes, one for each of the three label sets.
static tsr_tensor *as_matrices(const labelled *x, label_set first, label_set second, label_set third,
                               const int64_t *sizes) {
  int labels[TSRI_EINSUM_LABELS], count = list_labels(first, labels);
  count += list_labels(second, labels + count);
  count += list_labels(third, labels + count);
  tsr_shape shape = TSR_SHAPE(elements(first, sizes), elements(second, sizes), elements(third, sizes));
  if (!first) shape = TSR_SHAPE(shape.dims[1], shape.dims[2]);
  tsr_tensor *turned = in_order(x, labels, count);
  return tsri_then(tsr_reshape(turned, shape), turned);
}

// Reshapes an operand to an axis for each label of `over`, of size 1 for labels that it lacks.
static tsr_tensor *spread(const labelled *x, const tsri_einsum_term *over, const int64_t *sizes) {
  int labels[TSR_MAX_RANK], count = 0;
  tsr_shape shape = {.rank = over->rank};
  label_set has_labels = set_of(&x->term);
  for (int i = 0; i < over->rank; i++) {
    bool has = has_labels & bit_of(over->labels[i]);
    shape.dims[i] = has ? sizes[over->labels[i]] : 1;
    if (has) labels[count++] = over->labels[i];
  }
  tsr_tensor *turned = in_order(x, labels, count);
  return tsri_then(tsr_reshape(turned, shape), turned);
}

static tsr_tensor *multiply_pair(const labelled *a, const labelled *b, const pairing *p,
                                 const tsri_einsum_term *result) {
  if (!p->summed) {
    tsr_tensor *left = spread(a, result, p->sizes), *right = spread(b, result, p->sizes);
    return tsri_then(tsri_then(tsr_mul(left, right), left), right);
  }
  tsr_tensor *left = as_matrices(a, p->batch, p->left, p->summed, p->sizes);
  tsr_tensor *right = as_matrices(b, p->batch, p->summed, p->right, p->sizes);
  tsr_tensor *product = tsri_then(tsri_then(tsr_matmul(left, right), left), right);
  tsr_shape shape = {.rank = result->rank};
  for (int i = 0; i < shape.rank; i++) shape.dims[i] = p->sizes[result->labels[i]];
  return tsri_then(tsr_reshape(product, shape), product);
}

// The product of two operands, reduced to the labels in `kept`. Releases both.
static labelled multiply(labelled a, labelled b, label_set kept, const int64_t *sizes) {
  label_set in_a = set_of(&a.term), in_b = set_of(&b.term);
  pairing p = {in_a & in_b & kept, in_a & ~in_b, in_b & ~in_a, in_a & in_b & ~kept, sizes};
  labelled result = {.tensor = NULL};
  int rank = size_of_set(p.batch | p.left | p.right);
  if (rank > TSR_MAX_RANK) {
    result.tensor = tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_UNSUPPORTED, "einsum: a product on the way would have %d axes, at most %d are possible", rank,
                  TSR_MAX_RANK));
  } else {
    result.term.rank = list_labels(p.batch, result.term.labels);
    result.term.rank += list_labels(p.left, result.term.labels + result.term.rank);
    result.term.rank += list_labels(p.right, result.term.labels + result.term.rank);
    result.tensor = multiply_pair(&a, &b, &p, &result.term);
  }
  tsr_release(a.tensor);
  tsr_release(b.tensor);
  return result;
}

// --- All operands ----------------------------------------------------------------------------------------------------

enum { SUBSETS = 1 << TSRI_EINSUM_OPERANDS };

// The cheapest way to multiply each subset of the operands. A subset is a bit set, which is the index of the arrays.
typedef struct plan {
  const tsri_einsum *equation;
  labelled *operands;
  label_set kept[SUBSETS];  // labels that the subset's product keeps: those of the result and of other operands
  double cost[SUBSETS];     // number of multiplications
  uint16_t split[SUBSETS];  // one of the two parts whose product is computed last
} plan;

static void find_kept(plan *p, unsigned subset) {
  label_set inside = 0, outside = set_of(&p->equation->output);
  for (int i = 0; i < p->equation->count; i++) {
    label_set labels = set_of(&p->operands[i].term);
    if (subset >> i & 1u) inside |= labels;
    else outside |= labels;
  }
  p->kept[subset] = inside & outside;
}

static double count_multiplications(const plan *p, label_set labels) {
  double count = 1;
  for (int label = 0; label < TSRI_EINSUM_LABELS; label++) {
    if (labels & bit_of(label)) count *= (double)p->equation->sizes[label];
  }
  return count;
}

// Tries every division of every subset in two, smaller subsets first. Of equally cheap divisions the first found is kept, so that the order is deterministic.
static void choose_order(plan *p) {
  for (unsigned subset = 1; subset < 1u << p->equation->count; subset++) {
    find_kept(p, subset);
    p->cost[subset] = 0;
    p->split[subset] = 0;
    for (unsigned part = (subset - 1) & subset; part > subset / 2; part = (part - 1) & subset) {
      unsigned rest = subset & ~part;
      double cost = p->cost[part] + p->cost[rest] + count_multiplications(p, p->kept[part] | p->kept[rest]);
      if (p->split[subset] && cost >= p->cost[subset]) continue;
      p->cost[subset] = cost;
      p->split[subset] = (uint16_t)part;
    }
  }
}

// Multiplies the operands of the subset, which are removed from the plan.
static labelled contract(plan *p, unsigned subset) {
  unsigned part = p->split[subset];
  if (!part) {
    int i = 0;
    while (!(subset >> i & 1u)) i++;
    labelled x = p->operands[i];
    p->operands[i].tensor = NULL;
    return x;
  }
  labelled a = contract(p, part), b = contract(p, subset & ~part);
  if (tsr_error(a.tensor) == TSR_OK && tsr_error(b.tensor) == TSR_OK)
    return multiply(a, b, p->kept[subset], p->equation->sizes);
  bool is_a = tsr_error(a.tensor) != TSR_OK;
  tsr_release(is_a ? b.tensor : a.tensor);
  return is_a ? a : b;
}

// --- The operator ----------------------------------------------------------------------------------------------------

static tsr_status check_operands(const char *equation, tsr_tensor *const *tensors, int count, tsr_dtype *out_dtype,
                                 tsri_einsum *out) {
  tsr_shape shapes[TSRI_EINSUM_OPERANDS];
  if (!equation || !tensors || count < 1) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "einsum: %d operands, and the equation or the list may be NULL", count);
  }
  if (count > TSRI_EINSUM_OPERANDS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "einsum: takes up to %d operands, not %d", TSRI_EINSUM_OPERANDS, count);
  }
  for (int i = 0; i < count; i++) {
    tsr_status status = tsri_tensor_check("einsum", tensors[i]);
    if (status != TSR_OK) return status;
    shapes[i] = tensors[i]->layout.shape;
    *out_dtype = i ? tsri_promote(*out_dtype, tensors[i]->dtype) : tensors[i]->dtype;
  }
  *out_dtype = tsri_autocast(TSRI_BODY(einsum), *out_dtype);
  if (*out_dtype == TSR_BOOL) return TSRI_FAIL(TSR_ERR_DTYPE, "einsum: takes numbers, not bool");
  return tsri_einsum_read(equation, shapes, count, out);
}

// Whether there are intermediate results: products before the last one, or sums before a product.
static bool has_steps(const plan *p) {
  int count = p->equation->count;
  for (int i = 0; i < count && count == 2; i++) {
    label_set others = set_of(&p->equation->operands[1 - i]) | set_of(&p->equation->output);
    if (set_of(&p->equation->operands[i]) & ~others) return true;
  }
  return count > 2;
}

static void prepare(plan *p, tsr_tensor *const *tensors, tsr_dtype dtype) {
  int count = p->equation->count;
  for (int i = 0; i < count; i++) {
    labelled *x = &p->operands[i];
    *x = (labelled){tsr_cast(tensors[i], dtype), p->equation->operands[i]};
    take_diagonals(x);
    drop_broadcast(x, p->equation->sizes);
  }
  for (int i = 0; i < count; i++) {
    find_kept(p, 1u << i);
    sum_others(&p->operands[i], p->kept[1u << i]);
  }
}

tsr_tensor *tsr_einsum(const char *equation, tsr_tensor *const *tensors, int count) {
  tsri_einsum e;
  labelled operands[TSRI_EINSUM_OPERANDS];
  plan p = {.equation = &e, .operands = operands};
  tsr_dtype dtype = TSR_F32;
  tsr_status status = check_operands(equation, tensors, count, &dtype, &e);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  prepare(&p, tensors, has_steps(&p) ? tsri_accumulator(dtype) : dtype);
  choose_order(&p);
  labelled product = contract(&p, (1u << count) - 1);
  for (int i = 0; i < count; i++) tsr_release(operands[i].tensor);
  tsr_tensor *result = product.tensor;
  if (tsr_error(result) == TSR_OK) result = tsri_then(in_order(&product, e.output.labels, e.output.rank), result);
  return tsri_tensor_named("einsum", tsri_then(tsr_cast(result, dtype), result));
}
