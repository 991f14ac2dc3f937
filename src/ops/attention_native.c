// SPDX-License-Identifier: MIT
// Attention and its gradient as native operators of a device.
#include "ops/attention_native.h"

#include <string.h>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "runtime/native_op.h"
#include "runtime/tape.h"

enum { MOST_INPUTS = 6 };  // most inputs of an attention

// Gradients whose scratch buffer for scores would be larger than this are left to the tiled kernels, which need none.
static const int64_t MOST_SCRATCH = (int64_t)1 << 30;

// Indices of the inputs of a recorded attention that are the mask, the slopes and the table of lengths; 0: not given.
typedef struct further_inputs {
  int mask, slopes, lengths;
} further_inputs;

static further_inputs find_inputs(const tsri_attention_attributes *given) {
  int next = 3;
  further_inputs at = {0};
  if (given->mask) at.mask = next++;
  if (given->has_slopes) at.slopes = next++;
  if (given->has_lengths) at.lengths = next;
  return at;
}

static void copy_strides(int64_t *to, const tsri_layout *layout) { memcpy(to, layout->strides, 4 * sizeof *to); }

static tsri_place place_of(const tsri_layout *layout, tsr_dtype dtype) {
  return (tsri_place){.offset = (size_t)layout->offset * tsr_dtype_bytes(dtype)};
}

// Fills in *native. Returns false if no native operator can express this attention. `layouts` are the layouts of all inputs; buffers are not bound yet.
static bool describe(tsri_native_kind kind, const tsri_attention_attributes *given, tsr_dtype dtype,
                     const tsri_layout *const *layouts, tsri_native_op *out) {
  const tsri_layout *q = layouts[0], *k = layouts[1], *v = layouts[2];
  further_inputs at = find_inputs(given);
  if (given->has_blocks || q->count == 0 || k->count == 0 || v->count == 0) return false;
  *out = (tsri_native_op){.kind = kind, .dtype = dtype, .result = dtype};
  tsri_attention_op *op = &out->is.attention;
  *op = (tsri_attention_op){.batch = q->shape.dims[0],
                            .heads = q->shape.dims[1],
                            .kv_heads = k->shape.dims[1],
                            .queries = q->shape.dims[2],
                            .keys = given->keys,
                            .size = q->shape.dims[3],
                            .value_size = v->shape.dims[3],
                            .scale = given->scale,
                            .softcap = given->softcap,
                            .window = given->window,
                            .is_causal = given->is_causal != 0,
                            .has_slopes = at.slopes != 0,
                            .has_lengths = at.lengths != 0,
                            .mask_kind = (tsri_attention_mask)given->mask,
                            .q = place_of(q, dtype),
                            .k = place_of(k, dtype),
                            .v = place_of(v, dtype)};
  copy_strides(op->q_strides, q);
  copy_strides(op->k_strides, k);
  copy_strides(op->v_strides, v);
  if (at.mask) {
    op->mask = place_of(layouts[at.mask], op->mask_kind == TSRI_ATTENTION_HIDES ? TSR_U8 : dtype);
    copy_strides(op->mask_strides, layouts[at.mask]);
  }
  if (at.slopes) {
    op->slopes = place_of(layouts[at.slopes], dtype);
    op->slopes_step = layouts[at.slopes]->strides[0];
  }
  if (at.lengths) {
    op->lengths = place_of(layouts[at.lengths], TSR_I32);
    op->lengths_step = layouts[at.lengths]->strides[0];
  }
  return true;
}

static void bind_inputs(tsri_native_op *native, const tsri_attention_attributes *given, tsr_buffer *const *inputs) {
  tsri_attention_op *op = &native->is.attention;
  further_inputs at = find_inputs(given);
  tsri_place_bind(&op->q, inputs[0]);
  tsri_place_bind(&op->k, inputs[1]);
  tsri_place_bind(&op->v, inputs[2]);
  if (at.mask) tsri_place_bind(&op->mask, inputs[at.mask]);
  if (at.slopes) tsri_place_bind(&op->slopes, inputs[at.slopes]);
  if (at.lengths) tsri_place_bind(&op->lengths, inputs[at.lengths]);
}

static bool describe_run(const tsri_kernel_run *run, tsri_native_kind kind, int count, tsri_native_op *out) {
  const tsri_layout *layouts[MOST_INPUTS];
  for (int i = 0; i < count; i++) layouts[i] = &run->layouts[i];
  if (!describe(kind, TSRI_GIVEN(run->node, attention), run->dtype, layouts, out)) return false;
  // A capture will run this attention many times, so the native operator builds its plan at the first run.
  int64_t plan_us = tsri_tape_now() ? 0 : TSRI_TUNED(tsri_tuning_of(run->device), attention_plan_us);
  out->is.attention.plan_after_ns = plan_us * 1000;
  return true;
}

bool tsri_attention_is_native(const tsr_device *device, tsr_dtype dtype, tsr_tensor *const *inputs, int count,
                              const tsri_attention_attributes *given) {
  const tsri_layout *layouts[MOST_INPUTS];
  tsri_native_op native;
  for (int i = 0; i < count; i++) layouts[i] = &inputs[i]->layout;
  return describe(TSRI_NATIVE_ATTENTION, given, dtype, layouts, &native) && tsri_device_takes(device, &native);
}

tsr_status tsri_attention_run_native(const tsri_kernel_run *run) {
  tsri_native_op native;
  tsri_attention_op *op = &native.is.attention;
  if (!describe_run(run, TSRI_NATIVE_ATTENTION, run->input_count, &native)) return TSR_ERR_UNSUPPORTED;
  bind_inputs(&native, TSRI_GIVEN(run->node, attention), run->inputs);
  op->y_strides[2] = op->value_size;
  op->y_strides[1] = op->queries * op->y_strides[2];
  op->y_strides[0] = op->heads * op->y_strides[1];
  tsri_place_bind(&op->y, run->output);
  tsr_buffer *buffers[1 + MOST_INPUTS] = {run->output};
  memcpy(buffers + 1, run->inputs, (size_t)run->input_count * sizeof *buffers);
  return tsri_device_run_op(run->device, &native, buffers, 1 + run->input_count);
}

static void bind_gradients(const tsri_kernel_run *run, tsri_attention_op *op) {
  tsri_place *places[3] = {&op->dq, &op->dk, &op->dv};
  int64_t *strides[3] = {op->dq_strides, op->dk_strides, op->dv_strides};
  for (int i = 0; i < 3; i++) {
    tsri_gradient_place place = tsri_attention_gradient_place(run, i);
    places[i]->offset = (size_t)place.offset * tsr_dtype_bytes(run->dtype);
    tsri_place_bind(places[i], run->outputs[place.output]);
    memcpy(strides[i], place.strides, sizeof place.strides);
  }
}

// --- With logarithms of sums -------------------------------------------------------------------------------------------------

// Strides of y, in the order batch, head, position, for memory in the order [batch, position, head, element].
static void set_y_strides(tsri_attention_op *op) {
  op->y_strides[1] = op->value_size;
  op->y_strides[2] = op->heads * op->y_strides[1];
  op->y_strides[0] = op->queries * op->y_strides[2];
}

tsr_status tsri_attention_run_native_tiles(const tsri_kernel_run *run) {
  tsri_native_op native;
  tsri_attention_op *op = &native.is.attention;
  if (!describe_run(run, TSRI_NATIVE_ATTENTION, run->input_count, &native)) return TSR_ERR_UNSUPPORTED;
  bind_inputs(&native, TSRI_GIVEN(run->node, attention), run->inputs);
  set_y_strides(op);
  tsr_buffer *buffers[2 + MOST_INPUTS] = {run->output};
  int written = 1;
  tsri_place_bind(&op->y, run->output);
  op->has_lse = run->output_count > 1;
  if (op->has_lse) {
    tsri_place_bind(&op->lse, run->outputs[1]);
    buffers[written++] = run->outputs[1];
  }
  memcpy(buffers + written, run->inputs, (size_t)run->input_count * sizeof *buffers);
  return tsri_device_run_op_writing(run->device, &native, buffers, written, written + run->input_count);
}

// Scratch bytes of the native gradient: 16-bit gradients of all scores, rounded up to blocks, and one f32 sum for each query.
static int64_t scratch_bytes(const tsri_attention_op *op) {
  enum { ROWS = 128, COLUMNS = 128, SPARE = 1 << 20 };
  int64_t rows = (op->queries + ROWS - 1) / ROWS * ROWS, columns = (op->keys + COLUMNS - 1) / COLUMNS * COLUMNS;
  return op->batch * op->heads * rows * (columns * 2 + (int64_t)sizeof(float)) + SPARE;
}

static void bind_tiled(const tsri_kernel_run *run, tsri_attention_op *op) {
  int y = run->input_count - 3, lse = y + 1, g = y + 2;
  tsri_layout turned;
  tsri_layout_permute(&run->layouts[g], (const int[]){0, 2, 1, 3}, 4, &turned);
  set_y_strides(op);
  copy_strides(op->g_strides, &turned);
  op->y = place_of(&run->layouts[y], run->dtype);
  op->lse = place_of(&run->layouts[lse], TSR_F32);
  op->g = place_of(&run->layouts[g], run->dtype);
  tsri_place_bind(&op->y, run->inputs[y]);
  tsri_place_bind(&op->lse, run->inputs[lse]);
  tsri_place_bind(&op->g, run->inputs[g]);
  bind_gradients(run, op);
}

tsr_status tsri_attention_run_native_gradient(const tsri_kernel_run *run) {
  tsri_native_op native;
  tsri_attention_op *op = &native.is.attention;
  int count = run->input_count - 3;
  if (!describe_run(run, TSRI_NATIVE_ATTENTION_GRADIENT, count, &native)) return TSR_ERR_UNSUPPORTED;
  bind_inputs(&native, TSRI_GIVEN(run->node, attention), run->inputs);
  bind_tiled(run, op);
  op->has_lse = true;
  op->scratch_bytes = scratch_bytes(op);
  if (op->scratch_bytes > MOST_SCRATCH || !tsri_device_takes(run->device, &native)) return TSR_ERR_UNSUPPORTED;
  tsr_buffer *buffers[3 + MOST_INPUTS + 3];
  int written = run->output_count;
  memcpy(buffers, run->outputs, (size_t)written * sizeof *buffers);
  tsr_buffer **scratch = &buffers[written++];
  tsr_status status = tsri_buffer_create_temporary(run->device, (size_t)op->scratch_bytes, scratch);
  if (status != TSR_OK) return TSR_ERR_UNSUPPORTED;
  tsri_place_bind(&op->scratch, *scratch);
  memcpy(buffers + written, run->inputs, (size_t)run->input_count * sizeof *buffers);
  status = tsri_device_run_op_writing(run->device, &native, buffers, written, written + run->input_count);
  tsr_buffer_release(*scratch);
  return status;
}

// --- Gradient ------------------------------------------------------------------------------------------------------------

// Inputs: q, k and v with the further inputs of the attention, then the gradient of its result. Outputs: the gradients of q, k and v, or one for all three.
static tsr_status run_gradient(const tsri_kernel_run *run) {
  const tsri_attention_attributes *given = TSRI_GIVEN(run->node, attention);
  int count = run->input_count - 1;
  const tsri_layout *g = &run->layouts[count];
  tsri_native_op native;
  tsri_attention_op *op = &native.is.attention;
  tsr_status status = TSR_ERR_UNSUPPORTED;
  if (describe_run(run, TSRI_NATIVE_ATTENTION_GRADIENT, count, &native)) {
    bind_inputs(&native, given, run->inputs);
    copy_strides(op->g_strides, g);
    op->g = place_of(g, run->dtype);
    tsri_place_bind(&op->g, run->inputs[count]);
    bind_gradients(run, op);
    tsr_buffer *buffers[3 + MOST_INPUTS + 1];
    int written = run->output_count;
    memcpy(buffers, run->outputs, (size_t)written * sizeof *buffers);
    memcpy(buffers + written, run->inputs, (size_t)run->input_count * sizeof *buffers);
    status = tsri_device_run_op_writing(run->device, &native, buffers, written, written + run->input_count);
  }
  if (status != TSR_ERR_UNSUPPORTED) return status;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "attention: its gradient is native on one device and came to run on another");
}

const tsri_op tsri_op_native_attention_gradient = {.name = "attention",
                                                   .kind = TSRI_OP_KERNEL,
                                                   .is_for_device = true,
                                                   .run = run_gradient,
                                                   .attribute_set = TSRI_SET_attention,
                                                   .attribute_bytes = sizeof(tsri_attention_attributes)};

bool tsri_attention_has_gradient(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                                 const tsri_attention_attributes *given) {
  const tsri_layout *layouts[MOST_INPUTS];
  tsri_native_op native;
  const tsr_device *device = g->value->device;
  for (int i = 0; i < count; i++) {
    layouts[i] = &inputs[i]->layout;
    if (inputs[i]->value->device != device) return false;
  }
  return g->layout.count > 0 && g->dtype == inputs[0]->dtype &&
         describe(TSRI_NATIVE_ATTENTION_GRADIENT, given, g->dtype, layouts, &native) &&
         tsri_device_takes(device, &native);
}

void tsri_attention_gradients(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                              const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]) {
  tsr_tensor *all[MOST_INPUTS + 1];
  memcpy(all, inputs, (size_t)count * sizeof *all);
  all[count] = g;
  tsri_attention_record_gradient(&tsri_op_native_attention_gradient, all, count + 1, given, is_joined, false,
                                 out_gradients);
}
