// SPDX-License-Identifier: MIT
// einsum: cases, and a reference that goes through all values of all labels.
#include <math.h>
#include <string.h>

#include "check.h"
#include "check_reference.h"

enum { MOST_OPERANDS = 5 };

typedef struct sum_case {
  const char *name, *equation;
  const char *full;  // the same without "...", and with "->"
  check_weight weight;
  tsr_shape shapes[MOST_OPERANDS];
  int count;
} sum_case;

static const sum_case sum_cases[] = {
    {"matmul", "ij,jk->ik", "ij,jk->ik", CHECK_ALWAYS, {{2, {7, 5}}, {2, {5, 11}}}, 2},
    {"implied", "kj,ik", "kj,ik->ij", CHECK_ALWAYS, {{2, {7, 5}}, {2, {3, 7}}}, 2},
    {"batch", "...ij,...jk", "bij,bjk->bik", CHECK_ALWAYS, {{3, {3, 4, 5}}, {3, {3, 5, 2}}}, 2},
    {"dots-broadcast", "...ij,jk->...ik", "abij,jk->abik", CHECK_OFTEN, {{4, {2, 3, 4, 5}}, {2, {5, 2}}}, 2},
    {"dots-both", "i...,...", "ab,b->ba", CHECK_OFTEN, {{2, {4, 3}}, {1, {3}}}, 2},
    {"ones", "ij,ij->ij", "ij,ij->ij", CHECK_OFTEN, {{2, {1, 5}}, {2, {4, 1}}}, 2},
    {"trace", "ii", "ii->", CHECK_ALWAYS, {{2, {7, 7}}}, 1},
    {"diagonal", "ii->i", "ii->i", CHECK_OFTEN, {{2, {7, 7}}}, 1},
    {"twice-twice", "iijj->ij", "iijj->ij", CHECK_OFTEN, {{4, {3, 3, 5, 5}}}, 1},
    {"thrice", "iii->i", "iii->i", CHECK_OFTEN, {{3, {5, 5, 5}}}, 1},
    {"transposed", "ijk->kij", "ijk->kij", CHECK_OFTEN, {{3, {3, 4, 5}}}, 1},
    {"sum", "ijk->j", "ijk->j", CHECK_OFTEN, {{3, {3, 4, 5}}}, 1},
    {"spaces", " i j , j -> i ", "ij,j->i", CHECK_OFTEN, {{2, {3, 4}}, {1, {4}}}, 2},
    {"outer", "i,jk->kij", "i,jk->kij", CHECK_OFTEN, {{1, {3}}, {2, {4, 5}}}, 2},
    {"elements", "ij,ij->ij", "ij,ij->ij", CHECK_OFTEN, {{2, {3, 4}}, {2, {3, 4}}}, 2},
    {"sum-alone", "ij,kl->jk", "ij,kl->jk", CHECK_OFTEN, {{2, {3, 4}}, {2, {5, 2}}}, 2},
    {"scalar", ",ij->ji", ",ij->ji", CHECK_OFTEN, {{0, {0}}, {2, {3, 4}}}, 2},
    {"capitals", "aB,Bc", "aB,Bc->ac", CHECK_OFTEN, {{2, {3, 4}}, {2, {4, 2}}}, 2},
    {"chain", "ij,jk,kl->il", "ij,jk,kl->il", CHECK_ALWAYS, {{2, {2, 9}}, {2, {9, 9}}, {2, {9, 3}}}, 3},
    {"star", "ai,bi,ci->abc", "ai,bi,ci->abc", CHECK_OFTEN, {{2, {2, 5}}, {2, {3, 5}}, {2, {4, 5}}}, 3},
    {"network",
     "ab,bc,cd,de,ea",
     "ab,bc,cd,de,ea->",
     CHECK_OFTEN,
     {{2, {2, 3}}, {2, {3, 4}}, {2, {4, 3}}, {2, {3, 2}}, {2, {2, 2}}},
     5},
    {"empty", "ij,jk->ik", "ij,jk->ik", CHECK_OFTEN, {{2, {3, 0}}, {2, {0, 2}}}, 2},
    {"large", "bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", CHECK_HEAVY, {{4, {2, 3, 33, 17}}, {4, {2, 3, 31, 17}}}, 2},
};

static int64_t size_of_label(const sum_case *c, char label) {
  int64_t size = 1;
  const char *at = c->full;
  for (int i = 0; i < c->count; i++, at++) {
    for (int axis = 0; axis < c->shapes[i].rank; axis++, at++) {
      if (*at == label && c->shapes[i].dims[axis] != 1) size = c->shapes[i].dims[axis];
    }
  }
  return size;
}

// Lists all labels: first those of the result, then the summed ones.
static void order_labels(const sum_case *c, char *out_labels) {
  const char *result = strstr(c->full, "->") + 2;
  memcpy(out_labels, result, strlen(result) + 1);
  for (const char *at = c->full; *at != '-'; at++) {
    size_t used = strlen(out_labels);
    if (*at != ',' && !strchr(out_labels, *at)) memcpy(out_labels + used, (char[]){*at, 0}, 2);
  }
}

static int64_t element_at(const sum_case *c, int operand, const char *labels, const int64_t *index) {
  const char *at = c->full;
  for (int i = 0; i < operand; i++) at = strchr(at, ',') + 1;
  int64_t place[TSR_MAX_RANK];
  for (int axis = 0; axis < c->shapes[operand].rank; axis++)
    place[axis] = c->shapes[operand].dims[axis] == 1 ? 0 : index[strchr(labels, at[axis]) - labels];
  return check_ravel(c->shapes[operand], place);
}

// Adds the product of one element of each operand (element places[i] of x[i]) to element `to` of the result.
static void add_product(check_expected *wanted, ref_sum *sum, int64_t to, check_tensor *const *x, const int64_t *places,
                        int count) {
  double product = 1;
  int64_t whole = 1;
  for (int i = 0; i < count; i++) {
    if (check_is_float(wanted->dtype)) product *= x[i]->values[places[i]].real;
    else whole = times(whole, x[i]->values[places[i]].whole);
  }
  if (check_is_float(wanted->dtype)) {
    ref_sum_add(sum, product);
    wanted->magnitudes[to] += fabs(product);
    wanted->values[to].real = ref_sum_value(sum);
  } else {
    wanted->values[to].whole = check_wrap(wanted->dtype, plus(wanted->values[to].whole, whole));
  }
}

static check_expected *expect_sums(check_run *run, tsr_dtype dtype, const sum_case *c, check_tensor *const *x) {
  char labels[64];
  int64_t index[64] = {0}, all = 1;
  order_labels(c, labels);
  int label_count = (int)strlen(labels), kept = (int)strlen(strstr(c->full, "->") + 2);
  tsr_shape shape = {.rank = kept};
  for (int i = 0; i < label_count; i++) all *= size_of_label(c, labels[i]);
  for (int i = 0; i < kept; i++) shape.dims[i] = size_of_label(c, labels[i]);
  check_expected *wanted = check_expect(run, dtype, shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = wanted->count ? all / wanted->count + c->count : 1;
  ref_sum sum = {0};
  for (int64_t number = 0; number < all; number++) {
    int64_t rest = number, places[MOST_OPERANDS], to = all / wanted->count;
    for (int i = label_count - 1; i >= 0; rest /= size_of_label(c, labels[i]), i--)
      index[i] = rest % size_of_label(c, labels[i]);
    if (number % to == 0) sum = (ref_sum){0};
    for (int i = 0; i < c->count; i++) places[i] = element_at(c, i, labels, index);
    add_product(wanted, &sum, number / to, x, places, c->count);
  }
  return wanted;
}

void check_einsum(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  for (size_t i = 0; i < sizeof sum_cases / sizeof sum_cases[0] && is_taken; i++) {
    const sum_case *c = &sum_cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x[MOST_OPERANDS];
    tsr_tensor *tensors[MOST_OPERANDS];
    for (int k = 0; k < c->count; k++) {
      check_view view = (check_view)((i + (size_t)k) % CHECK_VIEW_COUNT);
      x[k] = check_input(run, dtype, c->shapes[k], view, check_is_float(dtype) ? CHECK_TAME : CHECK_ANY);
      tensors[k] = x[k]->tensor;
    }
    check_result(run, tsr_einsum(c->equation, tensors, c->count), expect_sums(run, dtype, c, x));
  }
  if (is_taken || !check_begin(run, CHECK_OFTEN, "refused")) return;
  check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_ANY);
  check_refused(run, tsr_einsum("i,i", (tsr_tensor *[]){x->tensor, x->tensor}, 2), TSR_ERR_DTYPE);
}
