// SPDX-License-Identifier: MIT
// Performs steps in the library and in the model.
#include "attack/world.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "attack/import.h"

static outcome fail(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static outcome fail(world *w, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(w->failure, sizeof w->failure, format, values);
  va_end(values);
  return OUTCOME_FAILED;
}

void world_init(world *w, const arena *a) {
  memset(w, 0, sizeof *w);
  w->arena = a;
}

static void *must_have(void *memory) {
  if (!memory) abort();
  return memory;
}

static size_t bytes_of(model_tensor tensor) {
  return (size_t)model_count(tensor.shape) * tsr_dtype_bytes(model_dtype(tensor));
}

// --- Slots --------------------------------------------------------------------------------------------------------------

static void put_slot(world *w, int at, tsr_tensor *tensor, model_tensor model) {
  w->slots[at] =
      (slot){.tensor = tensor, .model = model, .scope_depth = w->scope_depth, .is_captured = w->is_capturing};
}

static void forget_slot(slot *s) {
  model_release(&s->model);
  *s = (slot){.tensor = NULL};
}

// An assignment whose tensor is released is never executed, although a capture would read the elements: so it is
// evaluated before.
static void let_capture_see(const world *w, const slot *s) {
  for (int i = 0; i < w->captured_count && s->tensor; i++) {
    for (int k = 0; k < w->captured[i].what.input_count; k++) {
      if (w->captured[i].inputs[k].storage == s->model.storage) (void)tsr_evaluate(s->tensor);
    }
  }
}

static void release_slot(const world *w, slot *s) {
  let_capture_see(w, s);
  tsr_release(s->tensor);
  forget_slot(s);
}

void world_adopt(world *w, int at, const slot *from) {
  model_tensor model = model_copy(from->model);
  model.storage->is_constant = true;
  put_slot(w, at, tsr_retain(from->tensor), model);
}

// --- Comparing ----------------------------------------------------------------------------------------------------------

static outcome check_facts(world *w, int at, const tsr_tensor *tensor, tsr_dtype dtype, tsr_shape shape) {
  char is[TSR_SHAPE_TEXT_BYTES], wanted[TSR_SHAPE_TEXT_BYTES];
  if (!tensor || tsr_error(tensor) != TSR_OK) return fail(w, "t%d failed: %s", at, tsr_last_error());
  if (tsr_tensor_dtype(tensor) == dtype && model_shapes_equal(tsr_tensor_shape(tensor), shape)) return OUTCOME_DONE;
  return fail(w, "t%d is %s %s, should be %s %s", at, tsr_dtype_name(tsr_tensor_dtype(tensor)),
              tsr_shape_format(tsr_tensor_shape(tensor), is, sizeof is), tsr_dtype_name(dtype),
              tsr_shape_format(shape, wanted, sizeof wanted));
}

static void number_text(tsr_dtype dtype, model_number number, char text[32]) {
  if (model_is_float(dtype)) snprintf(text, 32, "%.17g", number.real);
  else snprintf(text, 32, "%lld", (long long)number.whole);
}

static outcome compare(world *w, int at) {
  slot *s = &w->slots[at];
  size_t bytes = bytes_of(s->model);
  unsigned char *data = must_have(calloc(1, bytes + 1));
  model_tensor read = model_create(model_dtype(s->model), s->model.shape);
  outcome result = OUTCOME_DONE;
  if (tsr_read(s->tensor, data, bytes) != TSR_OK) {
    result = fail(w, "reading t%d: %s", at, tsr_last_error());
  } else {
    model_read_bytes(read, data);
  }
  for (int64_t i = 0; i < read.storage->count && result == OUTCOME_DONE; i++) {
    model_number is = read.storage->numbers[i], wanted = *model_at(s->model, i);
    if (model_equal(read.storage->dtype, is, wanted)) continue;
    char a[32], b[32];
    number_text(read.storage->dtype, is, a);
    number_text(read.storage->dtype, wanted, b);
    result = fail(w, "element %lld of t%d is %s, should be %s", (long long)i, at, a, b);
  }
  model_release(&read);
  free(data);
  return result;
}

outcome world_compare_all(world *w) {
  outcome result = OUTCOME_DONE;
  for (int i = w->step_count - 1; i >= 0 && result == OUTCOME_DONE; i--) {
    if (w->slots[i].tensor) result = compare(w, i);
  }
  return result;
}

// --- Steps that make tensors --------------------------------------------------------------------------------------------

static void remember_captured(world *w, const step *s, const model_tensor *inputs, model_tensor result) {
  if (!w->is_capturing || s->kind == STEP_from_data) return;
  captured_step *c = &w->captured[w->captured_count++];
  *c = (captured_step){.what = *s, .result = model_retain(result)};
  for (int i = 0; i < s->input_count; i++) c->inputs[i] = model_retain(inputs[i]);
}

static bool same_elements(model_tensor a, model_tensor b) {
  if (model_dtype(a) != model_dtype(b) || !model_shapes_equal(a.shape, b.shape)) return false;
  int64_t count = model_count(a.shape);
  for (int64_t i = 0; i < count; i++) {
    if (!model_equal(model_dtype(a), *model_at(a, i), *model_at(b, i))) return false;
  }
  return true;
}

// The layout that `tensor` reports, beginning at `offset` of a storage. out_low and out_high are its lowest and
// highest offset.
static model_tensor layout_of(const tsr_tensor *tensor, tsr_shape shape, int64_t offset, int64_t *out_low,
                              int64_t *out_high) {
  model_tensor view = {.shape = shape, .offset = offset};
  *out_low = *out_high = offset;
  for (int axis = 0; axis < shape.rank; axis++) {
    int64_t reach = shape.dims[axis] > 1 ? (shape.dims[axis] - 1) * tsr_tensor_stride(tensor, axis) : 0;
    view.strides[axis] = tsr_tensor_stride(tensor, axis);
    *(reach < 0 ? out_low : out_high) += reach;
  }
  return view;
}

// The view of x's elements that `tensor` reports, which begins where x does. False: it would exceed the storage.
static bool view_by_strides(const tsr_tensor *tensor, model_tensor x, tsr_shape shape, model_tensor *out) {
  int64_t low, high;
  *out = layout_of(tensor, shape, x.offset, &low, &high);
  out->storage = x.storage;
  return model_count(shape) == 0 || (low >= 0 && high < x.storage->count);
}

// A result may be stored in another order than row-major, or have repeated elements, and its views depend on that. The
// model's elements are arranged in the same order.
static void take_layout(const tsr_tensor *tensor, model_tensor *result) {
  int64_t low, high, count = model_count(result->shape);
  if (count == 0) return;
  (void)layout_of(tensor, result->shape, 0, &low, &high);
  model_tensor placed = layout_of(tensor, result->shape, -low, &low, &high),
               list = model_create(model_dtype(*result), TSR_SHAPE(high + 1));
  placed.storage = list.storage;
  for (int64_t i = 0; i < count; i++) *model_at(placed, i) = *model_at(*result, i);
  model_release(result);
  *result = placed;
}

// If nothing has to be computed, the result may be a view of an input (also for a repeated axis of size 1). Then the
// model's result becomes a view as well, provided that it has the right elements.
static outcome follow_sharing(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models,
                              model_tensor *result, bool *out_is_view) {
  const step *s = &w->steps[at];
  for (int i = 0; i < s->input_count; i++) {
    if (!tsr_tensor_shares_memory(w->slots[at].tensor, inputs[i])) continue;
    model_tensor view;
    bool is_good = model_dtype(*result) == model_dtype(models[i]) &&
                   view_by_strides(w->slots[at].tensor, models[i], result->shape, &view) &&
                   same_elements(*result, view);
    if (!is_good) return fail(w, "t%d shares the memory of t%d", at, s->inputs[i]);
    model_release(result);
    *result = model_retain(view);
    *out_is_view = true;
    return OUTCOME_DONE;
  }
  bool must_be_view = s->kind == STEP_cast && s->dtype == model_dtype(models[0]) && model_count(result->shape) > 0;
  return must_be_view ? fail(w, "t%d, a cast to the same dtype, is no view", at) : OUTCOME_DONE;
}

static bool is_supported(const world *w, tsr_dtype dtype) {
  for (int i = 0; i < w->arena->device_count; i++) {
    if (!tsr_device_has_dtype(w->arena->devices[i], dtype)) return false;
  }
  return true;
}

static outcome do_fresh(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  const step *s = &w->steps[at];
  model_tensor result;
  bool can_be = model_compute(s, models, &result);
  if (!can_be || !is_supported(w, model_dtype(result))) {
    model_release(&result);
    return OUTCOME_LEFT_OUT;
  }
  void *data = NULL;
  if (s->kind == STEP_from_data) {
    data = must_have(malloc(bytes_of(result) + 1));
    model_write_bytes(result, data);
  }
  tsr_tensor *tensor = world_call(w->arena, s, inputs, data, bytes_of(result));
  free(data);
  put_slot(w, at, tensor, result);
  bool is_view = false;
  outcome answer = check_facts(w, at, tensor, model_dtype(result), result.shape);
  if (answer == OUTCOME_DONE) answer = follow_sharing(w, at, inputs, models, &w->slots[at].model, &is_view);
  if (answer != OUTCOME_DONE || is_view) return answer;
  take_layout(tensor, &w->slots[at].model);
  remember_captured(w, s, models, w->slots[at].model);
  return OUTCOME_DONE;
}

static outcome do_view(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  model_tensor view;
  if (!model_view(&w->steps[at], models[0], &view)) return OUTCOME_LEFT_OUT;
  tsr_tensor *tensor = world_call(w->arena, &w->steps[at], inputs, NULL, 0);
  put_slot(w, at, tensor, view);
  outcome answer = check_facts(w, at, tensor, model_dtype(view), view.shape);
  if (answer == OUTCOME_DONE && !tsr_tensor_shares_memory(tensor, inputs[0])) answer = fail(w, "t%d is no view", at);
  return answer;
}

// The elements of x in row-major order with another shape, without a copy. False if the strides do not allow it.
static bool reshape_view(model_tensor x, tsr_shape shape, model_tensor *out) {
  model_tensor view = {.storage = x.storage, .shape = shape, .offset = x.offset};
  int64_t count = model_count(shape), step_by = 1;
  for (int axis = shape.rank - 1; axis >= 0; axis--) {
    bool moves = count > 0 && shape.dims[axis] > 1;
    view.strides[axis] = moves ? model_at(x, step_by) - model_at(x, 0) : 0;
    step_by *= shape.dims[axis];
  }
  for (int64_t i = 0; i < count; i++) {
    if (model_at(view, i) != model_at(x, i)) return false;
  }
  *out = model_retain(view);
  return true;
}

static bool on_cpu(const tsr_tensor *tensor) {
  return strcmp(tsr_device_backend(tsr_tensor_device(tensor)), "cpu") == 0;
}

// Whether reshape, contiguous, to or dlpack must return a view (1), must not (0), or may (-1).
static int must_share(const world *w, const step *s, const tsr_tensor *input, model_tensor x) {
  if (model_count(x.shape) == 0) return -1;
  if (s->kind == STEP_to) return tsr_tensor_device(input) == w->arena->devices[s->numbers[0]];
  if (s->kind == STEP_dlpack) return on_cpu(input);
  return model_is_contiguous(x) ? 1 : s->kind == STEP_contiguous ? 0 : -1;
}

static outcome do_either(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  const step *s = &w->steps[at];
  tsr_shape shape = s->kind == STEP_reshape ? s->shape : models[0].shape;
  if (model_count(shape) != model_count(models[0].shape)) return OUTCOME_LEFT_OUT;
  int wanted = must_share(w, s, inputs[0], models[0]);
  tsr_tensor *tensor = world_call(w->arena, s, inputs, NULL, 0);
  model_tensor result = models[0];
  result.storage = NULL;
  put_slot(w, at, tensor, result);
  outcome answer = check_facts(w, at, tensor, model_dtype(models[0]), shape);
  if (answer != OUTCOME_DONE) return answer;
  bool is_view = tsr_tensor_shares_memory(tensor, inputs[0]);
  if (s->kind == STEP_dlpack) is_view = wanted != 0;
  else if (wanted >= 0 && is_view != wanted) return fail(w, "t%d is %s", at, is_view ? "a view" : "no view");
  if (is_view && !reshape_view(models[0], shape, &result)) return fail(w, "t%d cannot be a view", at);
  if (!is_view) {
    result = model_copy(models[0]);
    model_tensor shaped;
    reshape_view(result, shape, &shaped);
    model_release(&result);
    result = shaped;
  }
  w->slots[at].model = result;
  if (!is_view) remember_captured(w, s, models, result);
  return OUTCOME_DONE;
}

// --- Other steps --------------------------------------------------------------------------------------------------------

static outcome check_status(world *w, int at, tsr_status status) {
  char text[256];
  if (status == TSR_OK) return OUTCOME_DONE;
  step_print(&w->steps[at], at, text, sizeof text);
  return fail(w, "%s %s", text, tsr_last_error());
}

static outcome do_write(world *w, int at, slot *target) {
  if (target->model.storage->is_constant || model_count(target->model.shape) == 0) return OUTCOME_LEFT_OUT;
  model_tensor elements = model_create(model_dtype(target->model), target->model.shape);
  model_fill(elements, w->steps[at].seed);
  void *data = must_have(malloc(bytes_of(elements) + 1));
  model_write_bytes(elements, data);
  tsr_status status = tsr_write(target->tensor, data, bytes_of(elements));
  outcome answer = OUTCOME_DONE;
  if (model_repeats(target->model)) {
    if (status != TSR_ERR_INVALID_ARGUMENT)
      answer = fail(w, "writing t%d, which repeats elements, is not refused", w->steps[at].inputs[0]);
  } else {
    answer = check_status(w, at, status);
    for (int64_t i = 0; i < elements.storage->count; i++) *model_at(target->model, i) = elements.storage->numbers[i];
  }
  model_release(&elements);
  free(data);
  return answer;
}

// Assigns the elements of `source`, as they were before, broadcast to the target's shape and converted. False if that
// is not possible.
static bool assign_model(model_tensor target, model_tensor source) {
  tsr_shape shape;
  if (!model_broadcast((model_tensor[]){target, source}, 2, &shape) || !model_shapes_equal(shape, target.shape))
    return false;
  model_tensor elements = model_create(model_dtype(target), shape);
  bool can_be = true;
  for (int64_t i = 0; i < elements.storage->count && can_be; i++) {
    can_be = model_operand(source, shape, i, model_dtype(target), &elements.storage->numbers[i]);
  }
  for (int64_t i = 0; i < elements.storage->count && can_be; i++) *model_at(target, i) = elements.storage->numbers[i];
  model_release(&elements);
  return can_be;
}

static outcome do_assign(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  model_tensor target = models[0];
  if (target.storage->is_constant || model_count(target.shape) == 0 || model_repeats(target)) return OUTCOME_LEFT_OUT;
  if (!assign_model(target, models[1])) return OUTCOME_LEFT_OUT;
  outcome answer = check_status(w, at, tsr_assign(inputs[0], inputs[1]));
  if (answer == OUTCOME_DONE) remember_captured(w, &w->steps[at], models, target);
  return answer;
}

// target += other.
static bool update_model(model_tensor target, model_tensor other) {
  step add = {.kind = STEP_binary, .op = BINARY_add};
  model_tensor sum;
  bool can_be = model_compute(&add, (model_tensor[]){target, other}, &sum) && assign_model(target, sum);
  model_release(&sum);
  return can_be;
}

// Outside of a scope nobody holds the sum, so that it may be computed in place.
static tsr_status update(const world *w, tsr_tensor *target, tsr_tensor *other) {
  tsr_tensor *sum = tsr_add(target, other);
  tsr_status status = tsr_assign(target, sum);
  if (w->scope_depth == 0) tsr_release(sum);
  return status;
}

static outcome do_update(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  model_tensor target = models[0];
  if (target.storage->is_constant || model_count(target.shape) == 0 || model_repeats(target)) return OUTCOME_LEFT_OUT;
  if (!update_model(target, models[1])) return OUTCOME_LEFT_OUT;
  outcome answer = check_status(w, at, update(w, inputs[0], inputs[1]));
  if (answer == OUTCOME_DONE) remember_captured(w, &w->steps[at], models, target);
  return answer;
}

static outcome do_equal(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  bool is_equal = false, wanted = same_elements(models[0], models[1]);
  tsr_dtype dtype = model_dtype(models[0]);
  for (int64_t i = 0; wanted && model_is_float(dtype) && i < model_count(models[0].shape); i++) {
    if (isnan(model_at(models[0], i)->real)) wanted = false;
  }
  outcome answer = check_status(w, at, tsr_equal(inputs[0], inputs[1], &is_equal));
  if (answer != OUTCOME_DONE || is_equal == wanted) return answer;
  return fail(w, "tsr_equal(t%d, t%d) is %s", w->steps[at].inputs[0], w->steps[at].inputs[1],
              is_equal ? "true" : "false");
}

// y += x in place, element by element; x is read before anything is written. False if the sums are not exact.
static bool launch_model(model_tensor y, model_tensor x) {
  step add = {.kind = STEP_binary, .op = BINARY_add};
  model_tensor sum;
  bool can_be = model_compute(&add, (model_tensor[]){y, x}, &sum);
  int64_t count = can_be ? sum.storage->count : 0;
  for (int64_t i = 0; i < count; i++) *model_at(y, i) = sum.storage->numbers[i];
  model_release(&sum);
  return can_be;
}

static outcome do_launch(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  model_tensor y = models[0], x = models[1];
  tsr_dtype dtype = model_dtype(y);
  bool fits = (dtype == TSR_F32 || dtype == TSR_I32) && model_dtype(x) == dtype && model_shapes_equal(y.shape, x.shape);
  if (!fits || model_count(y.shape) == 0 || !model_is_contiguous(y) || model_repeats(y) || y.storage->is_constant)
    return OUTCOME_LEFT_OUT;
  if (!launch_model(y, x)) return OUTCOME_LEFT_OUT;
  tsr_kernel *kernel = w->arena->kernels[dtype == TSR_I32];
  uint64_t count = (uint64_t)model_count(y.shape);
  const tsr_arg args[] = {tsr_arg_tensor(inputs[0]), tsr_arg_tensor(inputs[1]), tsr_arg_int((int64_t)count)};
  outcome answer = check_status(w, at, tsr_kernel_launch(kernel, tsr_grid_for(kernel, count, 1, 1), args, 3));
  if (answer == OUTCOME_DONE) remember_captured(w, &w->steps[at], models, y);
  return answer;
}

static outcome do_import(world *w, int at) {
  model_tensor model;
  if (!attack_can_import(w->arena, &w->steps[at])) return OUTCOME_LEFT_OUT;
  tsr_tensor *tensor = attack_import(w->arena, &w->steps[at], &model);
  put_slot(w, at, tensor, model);
  return check_facts(w, at, tensor, model_dtype(model), model.shape);
}

// --- Scopes -------------------------------------------------------------------------------------------------------------

static outcome begin_scope(world *w) {
  if (w->scope_depth == WORLD_MAX_SCOPES) return OUTCOME_LEFT_OUT;
  w->scopes[w->scope_depth++] = tsr_scope_begin(w->arena->devices[0]);
  return OUTCOME_DONE;
}

// Keeps every third tensor of the scope, selected by the step's seed.
static outcome end_scope(world *w, int at) {
  if (w->scope_depth == 0) return OUTCOME_LEFT_OUT;
  for (int i = 0; i < w->step_count; i++) {
    slot *s = &w->slots[i];
    if (!s->tensor || s->scope_depth != w->scope_depth) continue;
    if ((w->steps[at].seed + (uint64_t)i) % 3 == 0) {
      tsr_keep(s->tensor);
      s->scope_depth = 0;
    } else {
      let_capture_see(w, s);
      forget_slot(s);
    }
  }
  return check_status(w, at, tsr_scope_end(w->scopes[--w->scope_depth]));
}

// --- Captures -----------------------------------------------------------------------------------------------------------

static void forget_capture(world *w) {
  for (int i = 0; i < w->captured_count; i++) {
    captured_step *c = &w->captured[i];
    for (int k = 0; k < c->what.input_count; k++) model_release(&c->inputs[k]);
    model_release(&c->result);
  }
  w->captured_count = 0;
  tsr_capture_release(w->capture);
  w->capture = NULL;
}

static outcome begin_capture(world *w, int at) {
  if (w->is_capturing) return OUTCOME_LEFT_OUT;
  forget_capture(w);
  for (int i = 0; i < w->step_count; i++) w->slots[i].is_captured = false;
  w->is_capturing = true;
  return check_status(w, at, tsr_capture_begin(w->arena->devices[0]));
}

// Whether the step records an assignment to its first input.
static bool assigns(step_kind kind) { return kind == STEP_assign || kind == STEP_update; }

static bool is_computed_in_capture(const world *w, const model_storage *storage) {
  for (int i = 0; i < w->captured_count; i++) {
    step_kind kind = w->captured[i].what.kind;
    if (w->captured[i].result.storage == storage && kind != STEP_launch && !assigns(kind)) return true;
  }
  return false;
}

// Intermediate results of a capture need not exist after a run, so they are released.
static void drop_intermediates(world *w, const step *s) {
  for (int i = 0; i < w->step_count; i++) {
    slot *one = &w->slots[i];
    if (!one->tensor || !is_computed_in_capture(w, one->model.storage)) continue;
    bool is_output = false;
    for (int k = 0; k < s->input_count; k++) {
      is_output = is_output || one->model.storage == w->slots[s->inputs[k]].model.storage;
    }
    if (!is_output) release_slot(w, one);
  }
}

// Assignments are recorded: one belongs to a capture if the tensor it writes is among the outputs. Adds these tensors
// and returns the new count.
static int add_assigned(const world *w, tsr_tensor **outputs, int count) {
  for (int i = 0; i < w->step_count; i++) {
    bool is_assigned = false;
    for (int k = 0; k < w->captured_count && w->slots[i].tensor; k++) {
      const captured_step *c = &w->captured[k];
      is_assigned = is_assigned || (assigns(c->what.kind) && c->result.storage == w->slots[i].model.storage);
    }
    if (is_assigned && tsr_tensor_device(w->slots[i].tensor) == w->arena->devices[0])
      outputs[count++] = w->slots[i].tensor;
  }
  return count;
}

static outcome end_capture(world *w, int at, tsr_tensor *const *inputs) {
  const step *s = &w->steps[at];
  if (!w->is_capturing) return OUTCOME_LEFT_OUT;
  w->is_capturing = false;
  if (s->input_count == 0) {  // the capture is abandoned: operators recorded in it count as if there had been no
                              // capture
    forget_capture(w);
    return check_status(w, at, tsr_capture_end(NULL, 0, NULL));
  }
  tsr_tensor *outputs[STEP_MAX_INPUTS + WORLD_MAX_STEPS];
  int count = add_assigned(w, outputs, 0);
  for (int i = 0; i < s->input_count; i++) outputs[count++] = inputs[i];
  outcome answer = check_status(w, at, tsr_capture_end(outputs, count, &w->capture));
  if (answer == OUTCOME_DONE) drop_intermediates(w, s);
  return answer;
}

// Computes one captured step again and stores the elements in its result.
static bool replay(const captured_step *c) {
  if (c->what.kind == STEP_launch) return launch_model(c->inputs[0], c->inputs[1]);
  if (c->what.kind == STEP_assign) return assign_model(c->inputs[0], c->inputs[1]);
  if (c->what.kind == STEP_update) return update_model(c->inputs[0], c->inputs[1]);
  model_tensor again;
  bool can_be = true;
  if (step_makes_what(&c->what) == STEP_EITHER) again = model_copy(c->inputs[0]);
  else can_be = model_compute(&c->what, c->inputs, &again);
  for (int64_t i = 0; can_be && i < again.storage->count; i++) *model_at(c->result, i) = again.storage->numbers[i];
  model_release(&again);
  return can_be;
}

// Replays all steps. If a result would not be exact, everything is restored and false is returned.
static bool replay_all(world *w) {
  model_number **before = must_have(calloc((size_t)w->captured_count + 1, sizeof *before));
  for (int i = 0; i < w->captured_count; i++) {
    const model_storage *storage = w->captured[i].result.storage;
    before[i] = must_have(malloc((size_t)(storage->count + 1) * sizeof(model_number)));
    memcpy(before[i], storage->numbers, (size_t)storage->count * sizeof(model_number));
  }
  bool can_be = true;
  for (int i = 0; i < w->captured_count && can_be; i++) can_be = replay(&w->captured[i]);
  for (int i = 0; i < w->captured_count; i++) {
    const model_storage *storage = w->captured[i].result.storage;
    if (!can_be) memcpy(storage->numbers, before[i], (size_t)storage->count * sizeof(model_number));
    free(before[i]);
  }
  free(before);
  return can_be;
}

static outcome run_capture(world *w, int at) {
  if (w->is_capturing || !w->capture || !replay_all(w)) return OUTCOME_LEFT_OUT;
  return check_status(w, at, tsr_capture_run(w->capture));
}

// --- All ----------------------------------------------------------------------------------------------------------------

// Whether the step is allowed in a capture, and whether a capture guarantees to repeat it.
static bool fits_capture(const world *w, const step *s, tsr_tensor *const *inputs) {
  if (!w->is_capturing) return true;
  for (int i = 0; i < s->input_count; i++) {
    if (tsr_tensor_device(inputs[i]) != w->arena->devices[0]) return false;
  }
  switch (s->kind) {
    case STEP_assign:
    case STEP_update:
      return !is_computed_in_capture(w, w->slots[s->inputs[0]].model.storage);
    case STEP_full:
    case STEP_arange:
    case STEP_eye:
    case STEP_to:
    case STEP_dlpack:
    case STEP_import:
    case STEP_scope_begin:
    case STEP_scope_end:
      return false;
    default:
      return true;
  }
}

static outcome do_nothing_made(world *w, int at, tsr_tensor *const *inputs, const model_tensor *models) {
  const step *s = &w->steps[at];
  switch (s->kind) {
    case STEP_import:
      return do_import(w, at);
    case STEP_write:
      return do_write(w, at, &w->slots[s->inputs[0]]);
    case STEP_assign:
      return do_assign(w, at, inputs, models);
    case STEP_update:
      return do_update(w, at, inputs, models);
    case STEP_read:
      return compare(w, s->inputs[0]);
    case STEP_equal:
      return do_equal(w, at, inputs, models);
    case STEP_evaluate:
      return check_status(w, at, tsr_evaluate(inputs[0]));
    case STEP_launch:
      return do_launch(w, at, inputs, models);
    case STEP_release:
      release_slot(w, &w->slots[s->inputs[0]]);
      return OUTCOME_DONE;
    case STEP_scope_begin:
      return begin_scope(w);
    case STEP_scope_end:
      return end_scope(w, at);
    case STEP_capture_begin:
      return begin_capture(w, at);
    case STEP_capture_end:
      return end_capture(w, at, inputs);
    default:
      return run_capture(w, at);
  }
}

outcome world_do(world *w, int at) {
  const step *s = &w->steps[at];
  tsr_tensor *inputs[STEP_MAX_INPUTS];
  model_tensor models[STEP_MAX_INPUTS];
  if (s->is_removed) return OUTCOME_LEFT_OUT;
  for (int i = 0; i < s->input_count; i++) {
    const slot *from = &w->slots[s->inputs[i]];
    if (!from->tensor) return OUTCOME_LEFT_OUT;
    inputs[i] = from->tensor;
    models[i] = from->model;
  }
  if (!fits_capture(w, s, inputs)) return OUTCOME_LEFT_OUT;
  switch (step_makes_what(s)) {
    case STEP_FRESH:
      return do_fresh(w, at, inputs, models);
    case STEP_VIEW:
      return do_view(w, at, inputs, models);
    case STEP_EITHER:
      return do_either(w, at, inputs, models);
    default:
      return do_nothing_made(w, at, inputs, models);
  }
}

void world_deinit(world *w) {
  if (w->is_capturing) (void)tsr_capture_end(NULL, 0, NULL);
  w->is_capturing = false;
  forget_capture(w);
  for (int i = 0; i < WORLD_MAX_STEPS; i++) {
    if (w->slots[i].tensor && w->slots[i].scope_depth == 0) release_slot(w, &w->slots[i]);
    else forget_slot(&w->slots[i]);
  }
  if (w->scope_depth > 0) (void)tsr_scope_end(w->scopes[0]);
  w->scope_depth = 0;
}
