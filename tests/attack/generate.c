// SPDX-License-Identifier: MIT
// Generates random steps.
#include "attack/generate.h"

#include <math.h>
#include <string.h>

static uint64_t below(style *look, uint64_t limit) { return attack_below(&look->random, limit); }

static bool one_in(style *look, uint64_t n) { return below(look, n) == 0; }

// --- Style --------------------------------------------------------------------------------------------------------------

static tsr_dtype random_dtype(style *look, const arena *a) {
  static const tsr_dtype dtypes[] = {TSR_F32,  TSR_F32, TSR_F32, TSR_I32, TSR_I32, TSR_F64, TSR_F16,
                                     TSR_BF16, TSR_I64, TSR_U8,  TSR_I8,  TSR_I16, TSR_U32, TSR_BOOL};
  for (;;) {
    tsr_dtype dtype = dtypes[below(look, sizeof dtypes / sizeof dtypes[0])];
    if (tsr_device_has_dtype(a->devices[0], dtype)) return dtype;
  }
}

// One of `count` operators; with a palette, one of the four in the palette for this family.
static int pick_op(style *look, int family, int count) {
  int chosen = (int)below(look, (uint64_t)count);
  if (look->palette == 0) return chosen;
  uint64_t random = look->palette + (uint64_t)(family * 4 + chosen % 4);
  return (int)attack_below(&random, (uint64_t)count);
}

static void use_palette(style *look, uint64_t seed, const arena *a) {
  look->palette = 1 + seed / 256;
  look->most_steps = 48;
  style colours = {.random = look->palette};
  for (int i = 0; i < 3; i++) look->dtypes[i] = random_dtype(&colours, a);
}

void style_init(style *look, uint64_t seed, const arena *a) {
  static const int64_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 32};
  memset(look, 0, sizeof *look);
  look->random = seed;
  look->most_steps = WORLD_MAX_STEPS;
  bool is_large = one_in(look, 12);
  look->most_elements = is_large ? 40000 : 3000;
  look->base.rank = 1 + (int32_t)below(look, 3);
  for (int i = 0; i < look->base.rank; i++) look->base.dims[i] = sizes[below(look, 11)];
  if (is_large) look->base.dims[below(look, (uint64_t)look->base.rank)] *= 8;
  if (one_in(look, 20)) look->base.dims[below(look, (uint64_t)look->base.rank)] = 0;
  for (int i = 0; i < 3; i++) look->dtypes[i] = random_dtype(look, a);
  look->has_captures = one_in(look, 3);
  look->has_scopes = one_in(look, 4);
  if (strcmp(tsr_device_backend(a->devices[0]), "cpu") != 0) use_palette(look, seed, a);
}

static tsr_dtype pick_dtype(style *look, const arena *a) {
  return !look->palette && one_in(look, 8) ? random_dtype(look, a) : look->dtypes[below(look, 3)];
}

static tsr_shape pick_shape(style *look) {
  tsr_shape shape = look->base;
  for (int i = 0; i < shape.rank; i++) {
    if (one_in(look, 6)) shape.dims[i] = 1;
  }
  if (one_in(look, 6) && shape.rank > 1) {  // without the first axis
    shape.rank--;
    memmove(shape.dims, shape.dims + 1, (size_t)shape.rank * sizeof shape.dims[0]);
  }
  if (one_in(look, 20)) shape.rank = 0;
  return shape;
}

// --- Choosing inputs ------------------------------------------------------------------------------------------------------

// A random live tensor, recent ones more often; -1: there is none.
static int pick_slot(const world *w, style *look) {
  int live[WORLD_MAX_STEPS], count = 0;
  for (int i = 0; i < w->step_count; i++) {
    if (w->slots[i].tensor) live[count++] = i;
  }
  if (count == 0) return -1;
  int recent = count > 6 ? 6 : count;
  return one_in(look, 2) ? live[count - 1 - (int)below(look, (uint64_t)recent)] : live[below(look, (uint64_t)count)];
}

typedef bool (*slot_test)(model_tensor candidate, const model_tensor *with);

// As pick_slot, among those that pass the test; any other if none was found.
static int pick_slot_where(const world *w, style *look, slot_test test, const model_tensor *with) {
  for (int tries = 0; tries < 12; tries++) {
    int at = pick_slot(w, look);
    if (at < 0 || test(w->slots[at].model, with)) return at;
  }
  return pick_slot(w, look);
}

static bool is_index(model_tensor candidate, const model_tensor *with) {
  (void)with;
  return !model_is_float(model_dtype(candidate)) && model_dtype(candidate) != TSR_BOOL;
}

static bool is_writable(model_tensor candidate, const model_tensor *with) {
  (void)with;
  return !candidate.storage->is_constant && !model_repeats(candidate);
}

// Writable memory that another tensor also sees, or that a capture reads: here the order of writes and reads is lost
// most easily.
static bool is_writable_and_watched(model_tensor candidate, const model_tensor *with) {
  return is_writable(candidate, with) && candidate.storage->refs > 1;
}

static bool has_same_shape(model_tensor candidate, const model_tensor *with) {
  return model_shapes_equal(candidate.shape, with->shape);
}

static bool is_like(model_tensor candidate, const model_tensor *with) {
  return has_same_shape(candidate, with) && model_dtype(candidate) == model_dtype(*with);
}

static bool is_list(model_tensor candidate, const model_tensor *with) {
  return is_index(candidate, with) && candidate.shape.rank == 1;
}

static bool broadcasts(model_tensor candidate, const model_tensor *with) {
  tsr_shape shape;
  return model_broadcast((model_tensor[]){candidate, *with}, 2, &shape);
}

static bool can_be_multiplied(model_tensor candidate, const model_tensor *with) {
  int rank = with->shape.rank;
  return rank >= 2 && candidate.shape.rank == rank && candidate.shape.dims[rank - 2] == with->shape.dims[rank - 1];
}

// --- Wording --------------------------------------------------------------------------------------------------------------

static int any_axis(style *look, tsr_shape shape) { return shape.rank ? (int)below(look, (uint64_t)shape.rank) : 0; }

static void word_axes(style *look, step *s, tsr_shape shape) {
  s->axis_count = 0;
  for (int i = 0; i < shape.rank; i++) {
    if (one_in(look, 2)) s->axes[s->axis_count++] = i;
  }
}

// Another shape with the same number of elements.
static tsr_shape word_reshape(style *look, tsr_shape from) {
  int64_t count = model_count(from);
  tsr_shape shape = {.rank = 1, .dims = {count}};
  while (shape.rank < 4 && !one_in(look, 3) && count > 0) {
    int64_t last = shape.dims[shape.rank - 1], divisor = 1 + (int64_t)below(look, 8);
    if (last % divisor != 0) continue;
    shape.dims[shape.rank - 1] = divisor;
    shape.dims[shape.rank++] = last / divisor;
  }
  if (count == 1 && one_in(look, 3)) shape.rank = 0;
  return shape;
}

static void word_slice(style *look, step *s, tsr_shape shape) {
  s->axis_count = 1;
  s->axes[0] = any_axis(look, shape);
  int64_t size = shape.rank ? shape.dims[s->axes[0]] : 0;
  if (size == 0) return;
  int64_t a = (int64_t)below(look, (uint64_t)size), b = (int64_t)below(look, (uint64_t)size + 1);
  int64_t by = 1 + (int64_t)below(look, 3);
  bool is_backward = one_in(look, 4);
  s->numbers[0] = a;
  s->numbers[1] = is_backward ? (b <= a ? b - 1 : -1) : (b > a ? b : size);
  s->numbers[2] = is_backward ? -by : by;
}

static void word_expand(style *look, step *s, tsr_shape shape) {
  s->shape = shape;
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] == 1 && one_in(look, 2)) s->shape.dims[i] = 1 + (int64_t)below(look, 5);
  }
  if (shape.rank < 4 && one_in(look, 2)) {
    memmove(s->shape.dims + 1, s->shape.dims, (size_t)shape.rank * sizeof s->shape.dims[0]);
    s->shape.dims[0] = 1 + (int64_t)below(look, 4);
    s->shape.rank++;
  }
}

static void word_permute(style *look, step *s, tsr_shape shape) {
  s->axis_count = shape.rank;
  for (int i = 0; i < shape.rank; i++) {
    int j = (int)below(look, (uint64_t)i + 1);
    s->axes[i] = s->axes[j];
    s->axes[j] = i;
  }
}

static int squeezable_axis(style *look, tsr_shape shape) {
  int axis = any_axis(look, shape);
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[(axis + i) % shape.rank] == 1) return (axis + i) % shape.rank;
  }
  return axis;
}

static void word_view(style *look, step *s, tsr_shape shape) {
  s->axis_count = 1;
  s->axes[0] = any_axis(look, shape);
  switch (s->kind) {
    case STEP_transpose:
      s->axis_count = 2;
      s->axes[1] = any_axis(look, shape);
      return;
    case STEP_permute:
      word_permute(look, s, shape);
      return;
    case STEP_slice:
      word_slice(look, s, shape);
      return;
    case STEP_squeeze:
      s->axes[0] = squeezable_axis(look, shape);
      return;
    case STEP_unsqueeze:
      s->axes[0] = (int)below(look, (uint64_t)shape.rank + 1);
      return;
    case STEP_expand:
      s->axis_count = 0;
      word_expand(look, s, shape);
      return;
    case STEP_reshape:
      s->axis_count = 0;
      s->shape = word_reshape(look, shape);
      return;
    case STEP_squeeze_all:
    case STEP_contiguous:
      s->axis_count = 0;
      return;
    default:
      return;
  }
}

static double word_number(style *look, tsr_dtype dtype) {
  bool is_unsigned = tsr_dtype_kind_of(dtype) == TSR_KIND_UINT;
  int64_t number = (int64_t)below(look, 7) - 3;
  return (double)(is_unsigned && number < 0 ? -number : number);
}

static void word_joined(style *look, step *s, model_tensor x) {
  int rank = x.shape.rank;
  s->axis_count = 1;
  s->axes[0] = any_axis(look, x.shape);
  s->numbers[0] = (int64_t)below(look, 4);
  if (s->kind == STEP_roll || s->kind == STEP_tril || s->kind == STEP_triu) s->numbers[0] = (int64_t)below(look, 9) - 4;
  if (s->kind == STEP_tril || s->kind == STEP_triu) s->axis_count = 0;
  if (s->kind == STEP_tile) {
    s->axis_count = 0;
    s->shape.rank = rank;
    for (int i = 0; i < rank; i++) s->shape.dims[i] = one_in(look, 2) ? 1 : (int64_t)below(look, 4);
  }
  if (s->kind == STEP_pad) {
    s->axis_count = rank;
    for (int i = 0; i < rank; i++) s->axes[i] = i;
    for (int i = 0; i < 2 * rank; i++) s->numbers[i] = one_in(look, 2) ? 0 : (int64_t)below(look, 3);
    s->real = word_number(look, model_dtype(x));
  }
}

static void word_create(style *look, const arena *a, step *s) {
  s->dtype = pick_dtype(look, a);
  s->shape = pick_shape(look);
  s->seed = attack_random(&look->random) >> 40;
  s->numbers[0] = (int64_t)below(look, 5);
  if (s->kind == STEP_arange) {
    s->numbers[1] = s->numbers[0] + (int64_t)below(look, 40);
    s->numbers[2] = 1 + (int64_t)below(look, 3);
  }
  if (s->kind == STEP_eye) {
    s->numbers[0] = 1 + (int64_t)below(look, 9);
    s->numbers[1] = 1 + (int64_t)below(look, 9);
    s->numbers[2] = (int64_t)below(look, 7) - 3;
  }
}

// The limits of a clamp: integers, sometimes none.
static void word_clamp(style *look, step *s, tsr_dtype dtype) {
  double a = word_number(look, dtype), b = word_number(look, dtype);
  s->real = one_in(look, 5) ? -INFINITY : fmin(a, b);
  s->real2 = one_in(look, 5) ? INFINITY : fmax(a, b);
}

static void add_input(world *w, style *look, step *s, slot_test test, const model_tensor *with) {
  s->inputs[s->input_count++] = test ? pick_slot_where(w, look, test, with) : pick_slot(w, look);
}

// Sets the inputs after the first, and the operator's own arguments.
static void word_operator(world *w, style *look, step *s, const model_tensor *x) {
  tsr_dtype dtype = model_dtype(*x);
  s->axis_count = 1;
  s->axes[0] = any_axis(look, x->shape);
  switch (s->kind) {
    case STEP_unary:
      s->op = pick_op(look, 0, UNARY_OP_COUNT);
      s->axis_count = 0;
      return;
    case STEP_scalar:
      s->op = pick_op(look, 1, SCALAR_OP_COUNT);
      s->real = word_number(look, dtype);
      s->axis_count = 0;
      return;
    case STEP_binary:
      s->op = pick_op(look, 2, one_in(look, 2) ? BINARY_eq : BINARY_OP_COUNT);
      s->axis_count = 0;
      add_input(w, look, s, broadcasts, x);
      return;
    case STEP_where:
    case STEP_fma:
      s->axis_count = 0;
      add_input(w, look, s, broadcasts, x);
      add_input(w, look, s, broadcasts, x);
      return;
    case STEP_clamp:
      s->axis_count = 0;
      word_clamp(look, s, dtype);
      return;
    case STEP_cast:
      s->axis_count = 0;
      s->dtype = pick_dtype(look, w->arena);
      return;
    case STEP_reduce:
      s->op = pick_op(look, 3, REDUCE_OP_COUNT);
      s->flag = one_in(look, 2);
      word_axes(look, s, x->shape);
      return;
    case STEP_sort:
    case STEP_argsort:
      s->flag = one_in(look, 2);
      return;
    case STEP_concat:
    case STEP_stack:
      for (int more = (int)below(look, STEP_MAX_INPUTS); more > 0; more--) add_input(w, look, s, has_same_shape, x);
      if (s->kind == STEP_stack) s->axes[0] = (int)below(look, (uint64_t)x->shape.rank + 1);
      return;
    default:
      return;
  }
}

static void word_indexed(world *w, style *look, step *s, const model_tensor *x) {
  s->axis_count = 1;
  s->axes[0] = any_axis(look, x->shape);
  switch (s->kind) {
    case STEP_gather:
      add_input(w, look, s, is_index, x);
      return;
    case STEP_index_select:
      add_input(w, look, s, is_list, x);
      return;
    case STEP_take:
      s->axis_count = 0;
      add_input(w, look, s, is_index, x);
      return;
    case STEP_scatter:
    case STEP_scatter_add:
      add_input(w, look, s, is_index, x);
      add_input(w, look, s, has_same_shape, &w->slots[s->inputs[1]].model);
      return;
    case STEP_one_hot:
      s->axis_count = 0;
      s->dtype = pick_dtype(look, w->arena);
      s->numbers[0] = (int64_t)below(look, 6);
      return;
    case STEP_dot:
      s->axis_count = 0;
      add_input(w, look, s, has_same_shape, x);
      return;
    default:  // matmul, outer
      s->axis_count = 0;
      add_input(w, look, s, s->kind == STEP_matmul ? can_be_multiplied : NULL, x);
      return;
  }
}

static void word_capture_end(world *w, style *look, step *s) {
  int want = 1 + (int)below(look, 3);
  for (int i = w->step_count - 1; i >= 0 && s->input_count < want; i--) {
    const slot *one = &w->slots[i];
    if (!one->tensor || !one->is_captured || tsr_tensor_device(one->tensor) != w->arena->devices[0]) continue;
    if (s->input_count == 0 || one_in(look, 2)) s->inputs[s->input_count++] = i;
  }
}

static void word_other(world *w, style *look, step *s) {
  s->seed = attack_random(&look->random) >> 40;
  if (s->kind == STEP_scope_begin || s->kind == STEP_scope_end || s->kind == STEP_capture_begin ||
      s->kind == STEP_capture_run)
    return;
  if (s->kind == STEP_capture_end) {
    word_capture_end(w, look, s);
    return;
  }
  slot_test test = one_in(look, 2) ? is_writable_and_watched : is_writable;
  bool writes = s->kind == STEP_write || s->kind == STEP_launch || s->kind == STEP_assign || s->kind == STEP_update;
  add_input(w, look, s, writes ? test : NULL, NULL);
  if (s->inputs[0] < 0) return;
  const model_tensor *first = &w->slots[s->inputs[0]].model;
  if (s->kind == STEP_equal || s->kind == STEP_launch) add_input(w, look, s, is_like, first);
  if (s->kind == STEP_assign || s->kind == STEP_update)
    add_input(w, look, s, one_in(look, 2) ? has_same_shape : broadcasts, first);
}

// --- Choosing the kind ----------------------------------------------------------------------------------------------------

typedef struct weight {
  step_kind kind;
  int parts;
} weight;

static const weight weights[] = {
    {STEP_from_data, 8},   {STEP_full, 3},    {STEP_arange, 1},       {STEP_eye, 1},        {STEP_unary, 14},
    {STEP_binary, 24},     {STEP_scalar, 12}, {STEP_where, 3},        {STEP_fma, 2},        {STEP_clamp, 2},
    {STEP_cast, 6},        {STEP_reduce, 10}, {STEP_cumsum, 2},       {STEP_concat, 3},     {STEP_stack, 2},
    {STEP_repeat, 1},      {STEP_tile, 1},    {STEP_pad, 2},          {STEP_roll, 2},       {STEP_tril, 1},
    {STEP_triu, 1},        {STEP_gather, 2},  {STEP_index_select, 2}, {STEP_take, 2},       {STEP_scatter, 2},
    {STEP_scatter_add, 2}, {STEP_one_hot, 1}, {STEP_sort, 1},         {STEP_argsort, 1},    {STEP_matmul, 4},
    {STEP_outer, 1},       {STEP_dot, 1},     {STEP_assign, 14},      {STEP_update, 10},    {STEP_transpose, 5},
    {STEP_permute, 3},     {STEP_slice, 9},   {STEP_expand, 4},       {STEP_squeeze, 1},    {STEP_unsqueeze, 2},
    {STEP_squeeze_all, 1}, {STEP_flip, 3},    {STEP_reshape, 6},      {STEP_contiguous, 3}, {STEP_to, 3},
    {STEP_dlpack, 3},      {STEP_import, 2},  {STEP_write, 16},       {STEP_read, 6},       {STEP_equal, 1},
    {STEP_evaluate, 2},    {STEP_launch, 4},  {STEP_release, 6}};

static step_kind pick_kind(const world *w, style *look) {
  if (look->has_scopes && one_in(look, 12)) return one_in(look, 2) ? STEP_scope_begin : STEP_scope_end;
  if (look->has_captures && w->is_capturing && one_in(look, 8)) return STEP_capture_end;
  if (look->has_captures && w->capture && one_in(look, 8)) return STEP_capture_run;
  if (look->has_captures && !w->is_capturing && one_in(look, 20)) return STEP_capture_begin;
  int total = 0;
  for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) total += weights[i].parts;
  int at = (int)below(look, (uint64_t)total), i = 0;
  while (at >= weights[i].parts) at -= weights[i++].parts;
  return weights[i].kind;
}

// An upper bound for the size of the result and the work of a step.
static int64_t size_bound(const world *w, const step *s) {
  model_tensor models[STEP_MAX_INPUTS];
  tsr_shape shape = {.rank = 0};
  int64_t most = 0;
  for (int i = 0; i < s->input_count; i++) {
    models[i] = w->slots[s->inputs[i]].model;
    int64_t count = model_count(models[i].shape);
    if (count > most) most = count;
  }
  switch (s->kind) {
    case STEP_binary:
    case STEP_where:
    case STEP_fma:
      return model_broadcast(models, s->input_count, &shape) ? model_count(shape) : 0;
    case STEP_outer:
      return model_count(models[0].shape) * model_count(models[1].shape);
    case STEP_matmul:
      return most * (models[1].shape.rank ? models[1].shape.dims[models[1].shape.rank - 1] : 0) / 16;
    case STEP_expand:
      return model_count(s->shape);
    case STEP_concat:
    case STEP_stack:
    case STEP_repeat:
    case STEP_one_hot:
      return 5 * most;
    case STEP_index_select:
      return most * (models[1].shape.rank == 1 ? models[1].shape.dims[0] : 0);
    case STEP_tile:
      for (int i = 0; i < s->shape.rank; i++) most *= s->shape.dims[i];
      return most;
    case STEP_sort:
    case STEP_argsort:  // insertion sort: quadratic
      return models[0].shape.rank ? most * models[0].shape.dims[s->axes[0]] / 64 : 0;
    default:
      return most;
  }
}

// Repeats an earlier operator exactly: equal operators may be computed once, but must not share elements.
static bool word_again(const world *w, style *look, step *s) {
  int first = w->step_count > 10 ? w->step_count - 10 : 0;
  const step *before = w->step_count ? &w->steps[first + (int)below(look, (uint64_t)(w->step_count - first))] : s;
  if (before == s || before->kind <= STEP_from_data || step_makes_what(before) != STEP_FRESH) return false;
  for (int i = 0; i < before->input_count; i++) {
    if (!w->slots[before->inputs[i]].tensor) return false;
  }
  *s = *before;
  return true;
}

static void word(world *w, style *look, step *s) {
  memset(s, 0, sizeof *s);
  if (one_in(look, 10) && word_again(w, look, s)) return;
  s->kind = pick_kind(w, look);
  if (s->kind <= STEP_eye || s->kind == STEP_import) {
    word_create(look, w->arena, s);
    return;
  }
  if (step_makes_what(s) == STEP_NOTHING) {
    word_other(w, look, s);
    return;
  }
  add_input(w, look, s, s->kind == STEP_one_hot ? is_index : NULL, NULL);
  if (s->inputs[0] < 0) return;
  const model_tensor *x = &w->slots[s->inputs[0]].model;
  if (s->kind == STEP_to) s->numbers[0] = (int64_t)below(look, (uint64_t)w->arena->device_count);
  else if (s->kind == STEP_dlpack) return;
  else if (s->kind <= STEP_stack || s->kind == STEP_sort || s->kind == STEP_argsort) word_operator(w, look, s, x);
  else if (s->kind <= STEP_triu) word_joined(look, s, *x);
  else if (s->kind <= STEP_dot) word_indexed(w, look, s, x);
  else word_view(look, s, x->shape);
}

void generate_step(world *w, style *look, int at) {
  for (;;) {
    step *s = &w->steps[at];
    word(w, look, s);
    bool has_inputs = true;
    for (int i = 0; i < s->input_count; i++) has_inputs = has_inputs && s->inputs[i] >= 0;
    if (has_inputs && size_bound(w, s) <= look->most_elements) return;
  }
}
