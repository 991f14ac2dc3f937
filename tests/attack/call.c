// SPDX-License-Identifier: MIT
// Calls the public function for a step.
#include "attack/world.h"

typedef tsr_tensor *(*unary_fn)(tsr_tensor *);
typedef tsr_tensor *(*binary_fn)(tsr_tensor *, tsr_tensor *);
typedef tsr_tensor *(*scalar_fn)(tsr_tensor *, double);
typedef tsr_tensor *(*reduce_fn)(tsr_tensor *, const int *, int, bool);

#define STEP_X(name) tsr_##name,
static const unary_fn unary_calls[] = {UNARY_OPS(STEP_X)};
static const binary_fn binary_calls[] = {BINARY_OPS(STEP_X)};
static const reduce_fn reduce_calls[] = {REDUCE_OPS(STEP_X)};
#undef STEP_X
#define STEP_X(name) tsr_##name##_scalar,
static const scalar_fn scalar_calls[] = {SCALAR_OPS(STEP_X)};
#undef STEP_X

static tsr_tensor *call_create(tsr_device *device, const step *s, const void *data, size_t bytes) {
  const int64_t *n = s->numbers;
  switch (s->kind) {
    case STEP_from_data:
      return tsr_from_data(device, s->dtype, s->shape, data, bytes);
    case STEP_full:
      if (n[0] == 0) return tsr_zeros(device, s->dtype, s->shape);
      if (n[0] == 1) return tsr_ones(device, s->dtype, s->shape);
      return tsr_full_int(device, s->dtype, s->shape, n[0]);
    case STEP_arange:
      return tsr_arange(device, s->dtype, (double)n[0], (double)n[1], (double)n[2]);
    default:
      return tsr_eye(device, s->dtype, n[0], n[1], n[2]);
  }
}

// By tsr_slice, or by a key of which the last item is the slice. For a stop of -1 ("before the first element") both take TSR_END.
static tsr_tensor *call_slice(const step *s, tsr_tensor *x) {
  int axis = s->axes[0], rank = tsr_tensor_shape(x).rank, at = axis < 0 ? axis + rank : axis;
  int64_t start = s->numbers[0], stop = s->numbers[1] < 0 ? TSR_END : s->numbers[1], stride = s->numbers[2];
  if (start % 2 == 0 || at < 0 || at >= rank) return tsr_slice(x, axis, start, stop, stride);
  tsr_key key[TSR_MAX_RANK];
  for (int i = 0; i < at; i++) key[i] = TSR_RANGE(0, TSR_END);
  key[at] = (tsr_key){.kind = TSR_KEY_RANGE, .start = start, .stop = stop, .step = stride};
  return tsr_view(x, key, at + 1);
}

static tsr_tensor *call_view(const step *s, tsr_tensor *x) {
  switch (s->kind) {
    case STEP_reshape:
      return tsr_reshape(x, s->shape);
    case STEP_expand:
      return tsr_expand(x, s->shape);
    case STEP_transpose:
      return tsr_transpose(x, s->axes[0], s->axes[1]);
    case STEP_permute:
      return tsr_permute(x, s->axes, s->axis_count);
    case STEP_slice:
      return call_slice(s, x);
    case STEP_squeeze:
      return tsr_squeeze(x, s->axes[0]);
    case STEP_unsqueeze:
      return tsr_unsqueeze(x, s->axes[0]);
    case STEP_squeeze_all:
      return tsr_squeeze_all(x);
    case STEP_flip:
      return tsr_flip(x, s->axes[0]);
    default:
      return tsr_contiguous(x);
  }
}

static tsr_tensor *call_joined(const step *s, tsr_tensor *const *inputs) {
  tsr_tensor *x = inputs[0];
  switch (s->kind) {
    case STEP_concat:
      return tsr_concat(inputs, s->input_count, s->axes[0]);
    case STEP_stack:
      return tsr_stack(inputs, s->input_count, s->axes[0]);
    case STEP_repeat:
      return tsr_repeat(x, s->numbers[0], s->axes[0]);
    case STEP_tile:
      return tsr_tile(x, s->shape);
    case STEP_pad:
      return tsr_pad(x, s->numbers, s->numbers + s->axis_count, s->axis_count, s->real);
    case STEP_roll:
      return tsr_roll(x, s->numbers[0], s->axes[0]);
    case STEP_tril:
      return tsr_tril(x, s->numbers[0]);
    default:
      return tsr_triu(x, s->numbers[0]);
  }
}

static tsr_tensor *call_indexed(const step *s, tsr_tensor *const *inputs) {
  tsr_tensor *x = inputs[0];
  switch (s->kind) {
    case STEP_gather:
      return tsr_gather(x, s->axes[0], inputs[1]);
    case STEP_index_select:
      return tsr_index_select(x, s->axes[0], inputs[1]);
    case STEP_take:
      return tsr_take(x, inputs[1]);
    case STEP_scatter:
      return tsr_scatter(x, s->axes[0], inputs[1], inputs[2]);
    case STEP_scatter_add:
      return tsr_scatter_add(x, s->axes[0], inputs[1], inputs[2]);
    case STEP_one_hot:
      return tsr_one_hot(x, s->numbers[0], s->dtype);
    case STEP_sort:
      return tsr_sort(x, s->axes[0], s->flag);
    case STEP_argsort:
      return tsr_argsort(x, s->axes[0], s->flag);
    case STEP_matmul:
      return tsr_matmul(x, inputs[1]);
    case STEP_dot:
      return tsr_dot(x, inputs[1]);
    default:
      return tsr_outer(x, inputs[1]);
  }
}

// A round trip through DLPack: on the CPU the result is a second tensor over the same memory.
static tsr_tensor *call_dlpack(tsr_tensor *x) {
  struct DLManagedTensorVersioned *managed = NULL;
  tsr_tensor *result = NULL;
  if (tsr_to_dlpack_versioned(x, &managed) != TSR_OK) return NULL;
  return tsr_from_dlpack_versioned(tsr_tensor_device(x), managed, &result) == TSR_OK ? result : NULL;
}

tsr_tensor *world_call(const arena *a, const step *s, tsr_tensor *const *inputs, const void *data, size_t bytes) {
  switch (s->kind) {
    case STEP_unary:
      return unary_calls[s->op](inputs[0]);
    case STEP_binary:
      return binary_calls[s->op](inputs[0], inputs[1]);
    case STEP_scalar:
      return scalar_calls[s->op](inputs[0], s->real);
    case STEP_where:
      return tsr_where(inputs[0], inputs[1], inputs[2]);
    case STEP_fma:
      return tsr_fma(inputs[0], inputs[1], inputs[2]);
    case STEP_clamp:
      return tsr_clamp(inputs[0], s->real, s->real2);
    case STEP_cast:
      return tsr_cast(inputs[0], s->dtype);
    case STEP_reduce:
      return reduce_calls[s->op](inputs[0], s->axis_count ? s->axes : NULL, s->axis_count, s->flag);
    case STEP_cumsum:
      return tsr_cumsum(inputs[0], s->axes[0]);
    case STEP_to:
      return tsr_to(inputs[0], a->devices[s->numbers[0]]);
    case STEP_dlpack:
      return call_dlpack(inputs[0]);
    default:
      break;
  }
  if (s->kind <= STEP_eye) return call_create(a->devices[0], s, data, bytes);
  if (s->kind <= STEP_triu) return call_joined(s, inputs);
  return s->kind <= STEP_dot ? call_indexed(s, inputs) : call_view(s, inputs[0]);
}
