// SPDX-License-Identifier: MIT
// rnn, lstm and gru. The product with the inputs is one product for all steps. The steps then are one operator on GPUs (recurrent_steps.c), unless gradients are
// recorded; elsewhere they are composed: each takes one product and a few fused element-wise kernels. f16 and bf16 are computed in f32 until the end.
#include "ops/recurrent.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/promote.h"

// --- Checks ----------------------------------------------------------------------------------------------------------

static tsr_status check_shape(const tsri_recurrence *r, const char *what, const tsr_tensor *tensor, tsr_shape wanted) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  if (!tensor) return TSR_OK;
  tsr_status status = tsri_tensor_check(r->name, tensor);
  if (status != TSR_OK || tsri_shape_equal(tensor->layout.shape, wanted)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s, it must be %s", r->name, what,
                   tsr_shape_format(tensor->layout.shape, a, sizeof a), tsr_shape_format(wanted, b, sizeof b));
}

// Checks the shapes and fills in *r and the dtype of the results. x is [steps, batch, inputs], the weights are [gates * hidden, inputs] and [gates * hidden, hidden].
static tsr_status measure(tsri_recurrence *r, const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *hidden,
                          tsr_dtype *out_dtype) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(r->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(r->name, weight);
  if (status == TSR_OK) status = tsri_tensor_check(r->name, hidden);
  if (status != TSR_OK) return status;
  tsr_shape input = x->layout.shape, w = hidden->layout.shape;
  if (input.rank != 3 || w.rank != 2 || w.dims[1] > INT32_MAX || w.dims[0] != r->gates * w.dims[1]) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "%s: x is %s, weight_hidden is %s; they are [steps, batch, inputs] and [%d * hidden, hidden]",
                     r->name, tsr_shape_format(input, a, sizeof a), tsr_shape_format(w, b, sizeof b), r->gates);
  }
  r->steps = input.dims[0];
  r->batch = input.dims[1];
  r->hidden = w.dims[1];
  const tsr_recurrent_desc *d = r->desc;
  tsr_shape gates = TSR_SHAPE(w.dims[0]), state = TSR_SHAPE(r->batch, r->hidden);
  status = check_shape(r, "weight_input", weight, TSR_SHAPE(w.dims[0], input.dims[2]));
  if (status == TSR_OK) status = check_shape(r, "bias_input", d->bias_input, gates);
  if (status == TSR_OK) status = check_shape(r, "bias_hidden", d->bias_hidden, gates);
  if (status == TSR_OK) status = check_shape(r, "hidden", d->hidden, state);
  if (status == TSR_OK) status = check_shape(r, "cell", d->cell, state);
  if (status == TSR_OK && d->cell && r->gates != 4) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .cell of the description", r->name);
  }
  if (status == TSR_OK && d->relu && r->gates != 1) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .relu of the description", r->name);
  }
  *out_dtype = tsri_promote_float(tsri_promote(tsri_promote(x->dtype, weight->dtype), hidden->dtype));
  r->wide = tsri_accumulator(*out_dtype);
  return status;
}

// --- Steps -----------------------------------------------------------------------------------------------------------

// The first state: the given one in the wide dtype, or zeros.
static tsr_tensor *start_state(const tsri_recurrence *r, tsr_tensor *given, tsr_tensor *like) {
  if (given) return tsr_cast(given, r->wide);
  return tsri_record_zeros(like->value->device, r->wide, TSR_SHAPE(r->batch, r->hidden));
}

// Gate i of `all`, [batch, gates * hidden]: a view of [batch, hidden].
static tsr_tensor *gate(const tsri_recurrence *r, tsr_tensor *all, int i) {
  return tsr_slice(all, 1, i * r->hidden, (i + 1) * r->hidden, 1);
}

// function(gate i).
static tsr_tensor *opened(const tsri_recurrence *r, tsr_tensor *all, int i, tsr_tensor *(*function)(tsr_tensor *)) {
  tsr_tensor *part = gate(r, all, i);
  return tsri_then(function(part), part);
}

// The next state of rnn: tanh or relu of the sum. Releases `state`.
static tsr_tensor *next_plain(const tsri_recurrence *r, tsr_tensor *input, tsr_tensor *inner, tsr_tensor *state) {
  tsr_tensor *sum = tsr_add(input, inner), *next = r->desc->relu ? tsr_relu(sum) : tsr_tanh(sum);
  return tsri_then(tsri_then(next, sum), state);
}

// The next state and cell of lstm, whose gates are in, forget, cell and out. Releases `state` and *cell.
static tsr_tensor *next_lstm(const tsri_recurrence *r, tsr_tensor *input, tsr_tensor *inner, tsr_tensor *state,
                             tsr_tensor **cell) {
  tsr_tensor *sum = tsr_add(input, inner);
  tsr_tensor *in = opened(r, sum, 0, tsr_sigmoid), *kept = opened(r, sum, 1, tsr_sigmoid);
  tsr_tensor *offered = opened(r, sum, 2, tsr_tanh), *out = opened(r, sum, 3, tsr_sigmoid);
  tsr_tensor *added = tsr_mul(in, offered), *next = tsr_fma(kept, *cell, added);
  tsr_tensor *shown = tsr_tanh(next), *result = tsr_mul(out, shown);
  tsr_tensor *const done[] = {sum, in, kept, offered, out, added, *cell, shown, state};
  tsri_release_all(done, 9);
  *cell = next;
  return result;
}

// The next state of gru, whose gates are reset, update and new: offered + update * (state - offered), where `offered` is the value of gate new. Releases
// `state`.
static tsr_tensor *next_gru(const tsri_recurrence *r, tsr_tensor *input, tsr_tensor *inner, tsr_tensor *state) {
  tsr_tensor *sum = tsr_add(input, inner);
  tsr_tensor *reset = opened(r, sum, 0, tsr_sigmoid), *update = opened(r, sum, 1, tsr_sigmoid);
  tsr_tensor *from_input = gate(r, input, 2), *from_state = gate(r, inner, 2);
  tsr_tensor *both = tsr_fma(reset, from_state, from_input), *offered = tsr_tanh(both);
  tsr_tensor *away = tsr_sub(state, offered);
  tsr_tensor *result = tsr_fma(update, away, offered);
  tsr_tensor *const done[] = {sum, reset, update, from_input, from_state, both, offered, away, state};
  tsri_release_all(done, 9);
  return result;
}

// Puts the state after each step into `states`, and the last states into out_state[0] and, for lstm, out_state[1].
static void run_steps(const tsri_recurrence *r, tsr_tensor *inputs, tsr_tensor *weight, tsr_tensor **states,
                      tsr_tensor **out_state) {
  const tsr_recurrent_desc *d = r->desc;
  tsr_tensor *state = start_state(r, d->hidden, inputs), *cell = r->gates == 4 ? start_state(r, d->cell, inputs) : NULL;
  tsr_tensor *bias = d->bias_hidden ? tsr_cast(d->bias_hidden, r->wide) : NULL;
  for (int64_t i = 0; i < r->steps; i++) {
    int64_t at = d->reverse ? r->steps - 1 - i : i;
    tsr_tensor *slice = tsr_slice(inputs, 0, at, at + 1, 1), *input = tsri_then(tsr_squeeze(slice, 0), slice);
    tsr_tensor *inner = tsr_linear(state, weight, bias, NULL);
    state = r->gates == 1   ? next_plain(r, input, inner, state)
            : r->gates == 3 ? next_gru(r, input, inner, state)
                            : next_lstm(r, input, inner, state, &cell);
    states[at] = tsr_retain(state);
    tsr_release(input);
    tsr_release(inner);
  }
  tsr_release(bias);
  out_state[0] = state;
  out_state[1] = cell;
}

// The composed steps.
static tsr_status compose(const tsri_recurrence *r, tsr_tensor *inputs, tsr_tensor *weight, tsr_tensor **out_results) {
  tsr_tensor **states = tsri_calloc((size_t)r->steps + 1, sizeof *states), *last[2] = {NULL, NULL};
  if (!states || r->steps > INT32_MAX) {
    tsri_free(states);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for %lld steps", r->name, (long long)r->steps);
  }
  run_steps(r, inputs, weight, states, last);
  tsr_shape nothing = TSR_SHAPE(0, r->batch, r->hidden);
  out_results[0] =
      r->steps > 0 ? tsr_stack(states, (int)r->steps, 0) : tsri_record_zeros(inputs->value->device, r->wide, nothing);
  out_results[1] = last[0];
  if (last[1]) out_results[2] = last[1];
  tsri_release_all(states, (int)r->steps);
  tsri_free(states);
  return TSR_OK;
}

tsr_status tsri_recurrent_states(const tsri_recurrence *r, tsr_tensor *inputs, tsr_tensor *weight,
                                 tsr_tensor **out_results) {
  tsr_tensor *given[5] = {inputs, weight};
  tsr_tensor *const optional[] = {r->desc->hidden, r->desc->cell, r->desc->bias_hidden};
  tsr_device *device = NULL;
  int count = 2;
  for (int i = 0; i < 3; i++) {
    if (optional[i]) given[count++] = optional[i];
  }
  tsr_status status = tsri_record_device(r->name, given, count, &device);
  if (status != TSR_OK || !tsri_recurrent_has_kernel(r, device)) return compose(r, inputs, weight, out_results);
  tsri_recurrent_record(r, device, inputs, weight, out_results);
  return TSR_OK;
}

// Computes the results: the states of all steps, the last state, and the last cell (lstm).
static tsr_status compute(const tsri_recurrence *r, tsr_dtype dtype, tsr_tensor *x, tsr_tensor *weight,
                          tsr_tensor *hidden, tsr_tensor **out_results) {
  tsr_tensor *bias = r->desc->bias_input ? tsr_cast(r->desc->bias_input, r->wide) : NULL;
  tsr_tensor *wide = tsr_cast(x, r->wide), *into = tsr_cast(weight, r->wide), *inner = tsr_cast(hidden, r->wide);
  tsr_tensor *inputs = tsr_linear(wide, into, bias, NULL), *results[3] = {NULL, NULL, NULL};
  tsr_status status = tsri_tensor_check(r->name, inputs);
  if (status == TSR_OK) status = tsri_tensor_check(r->name, inner);
  if (status == TSR_OK) status = tsri_recurrent_states(r, inputs, inner, results);
  for (int i = 0; i < 3 && status == TSR_OK; i++) {
    if (results[i]) out_results[i] = tsri_then(tsr_cast(results[i], dtype), results[i]);
  }
  tsr_tensor *const done[] = {bias, wide, into, inner, inputs};
  tsri_release_all(done, 5);
  return status;
}

static tsr_status run(const char *name, int gates, tsr_tensor *const *given, const tsr_recurrent_desc *desc,
                      tsr_tensor **const *outs) {
  static const tsr_recurrent_desc usual;
  tsri_recurrence r = {.name = name, .gates = gates, .desc = desc ? desc : &usual};
  int count = gates == 4 ? 3 : 2;
  tsr_dtype dtype = TSR_F32;
  tsr_tensor *results[3] = {NULL, NULL, NULL};
  tsri_clear_outs(outs, count);
  tsr_status status = measure(&r, given[0], given[1], given[2], &dtype);
  if (status == TSR_OK) status = compute(&r, dtype, given[0], given[1], given[2], results);
  return status == TSR_OK ? tsri_hand_out(name, results, outs, count) : status;
}

// --- The operators ---------------------------------------------------------------------------------------------------

tsr_status tsr_rnn(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden, const tsr_recurrent_desc *desc,
                   tsr_tensor **out_states, tsr_tensor **out_hidden) {
  tsr_tensor *given[3] = {x, weight_input, weight_hidden}, **const outs[2] = {out_states, out_hidden};
  return run("rnn", 1, given, desc, outs);
}

tsr_status tsr_lstm(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden, const tsr_recurrent_desc *desc,
                    tsr_tensor **out_states, tsr_tensor **out_hidden, tsr_tensor **out_cell) {
  tsr_tensor *given[3] = {x, weight_input, weight_hidden}, **const outs[3] = {out_states, out_hidden, out_cell};
  return run("lstm", 4, given, desc, outs);
}

tsr_status tsr_gru(tsr_tensor *x, tsr_tensor *weight_input, tsr_tensor *weight_hidden, const tsr_recurrent_desc *desc,
                   tsr_tensor **out_states, tsr_tensor **out_hidden) {
  tsr_tensor *given[3] = {x, weight_input, weight_hidden}, **const outs[2] = {out_states, out_hidden};
  return run("gru", 3, given, desc, outs);
}
