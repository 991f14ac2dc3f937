// SPDX-License-Identifier: MIT
// The steps of rnn, lstm and gru by kernels/op_recurrent.tk.
//
// If the recurrent weights are few, a work-group computes all units of a few rows of the batch in all steps, and keeps the states in shared memory: one launch.
// More weights than that take longer to read by one core than a launch takes, so each step is a launch then, whose work-groups divide the units.
#include "core/error.h"
#include "graph/node.h"
#include "graph/watch.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/recurrent.h"

// How a launch is divided into work-groups; the members are the kernel's parameters.
typedef struct steps_shape {
  bool is_whole;
  int64_t units, slices, rows, kept;
} steps_shape;

static int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t cores_of(const tsr_device *device) {
  enum { MANY_CORES = 128 };
  return device->info.compute_units > 0 ? device->info.compute_units : MANY_CORES;
}

// Blocks of four states that an item multiplies.
static int64_t blocks_of(const tsri_recurrence *r, int64_t slices) { return quotient_up(r->hidden, slices * 4); }

// Blocks whose weights fit in the registers of an item beside its other values.
static int64_t most_kept(const tsri_recurrence *r) {
  enum { KEPT_BYTES = 256 };
  return KEPT_BYTES / (4 * r->gates * (int64_t)tsr_dtype_bytes(r->wide));
}

// Bytes of shared memory: the sums of all items, four for each row unless there is one gate, and the states.
static int64_t shared_bytes(const tsri_recurrence *r, const steps_shape *s) {
  int64_t sums = s->units * s->slices * (r->gates == 1 ? 1 : 4);
  int64_t states = s->is_whole ? blocks_of(r, s->slices) * s->slices * 4 : 4;
  return s->rows * (sums + states) * (int64_t)tsr_dtype_bytes(r->wide);
}

// Divides the batch into equal blocks of at most `most` rows, as many as fit in shared memory. False: not even one row fits.
static bool choose_rows(const tsri_recurrence *r, const tsr_device *device, int64_t most, steps_shape *s) {
  for (; most > 0; most--) {
    s->rows = quotient_up(r->batch, quotient_up(r->batch, most));
    if (shared_bytes(r, s) <= (int64_t)device->limits.shared_bytes) return true;
  }
  return false;
}

// Work-groups for all units, about one for each core, if the batch has as many rows. Groups of one or two items for gru make PoCL's compiler fail, so there are
// four at least.
static bool shape_whole(const tsri_recurrence *r, const tsr_device *device, steps_shape *s) {
  enum { LEAST_ITEMS = 4, MOST_ITEMS = 512, MOST_SLICES = 8, MOST_ROWS = 4, WEIGHT_BYTES = 512 << 10 };
  int64_t items =
      least_of(device->limits.max_group_size, least_of(TSRI_TUNED(tsri_tuning_of(device), row_group), MOST_ITEMS));
  int64_t element = (int64_t)tsr_dtype_bytes(r->wide);
  if (r->hidden > items || r->gates * r->hidden * r->hidden * element > WEIGHT_BYTES) return false;
  *s = (steps_shape){.is_whole = true, .units = r->hidden};
  int64_t wanted = r->hidden < LEAST_ITEMS ? quotient_up(LEAST_ITEMS, r->hidden) : quotient_up(r->hidden, 4);
  s->slices = least_of(least_of(items / r->hidden, MOST_SLICES), wanted);
  s->kept = least_of(blocks_of(r, s->slices), most_kept(r));
  return choose_rows(r, device, least_of(quotient_up(r->batch, cores_of(device)), MOST_ROWS), s);
}

// Work-groups for some of the units each: about two for each core. Two units at least, so that a group reads 32 neighbouring bytes of weights at a time.
static bool shape_parts(const tsri_recurrence *r, const tsr_device *device, steps_shape *s) {
  enum { LEAST_UNITS = 2, MOST_UNITS = 8, MOST_SLICES = 32, MOST_ROWS = 16, MANY_ROWS = 8, GROUPS_PER_CORE = 2 };
  *s = (steps_shape){.units = LEAST_UNITS};
  s->slices = least_of(MOST_SLICES, quotient_up(r->hidden, 4));
  int64_t most_groups = GROUPS_PER_CORE * cores_of(device);
  for (;; s->units *= 2) {
    if (s->units * s->slices > device->limits.max_group_size || !choose_rows(r, device, MOST_ROWS, s)) return false;
    int64_t groups = quotient_up(r->hidden, s->units) * quotient_up(r->batch, s->rows);
    if (groups <= most_groups || s->units >= MOST_UNITS) break;
  }
  int64_t blocks = blocks_of(r, s->slices), most_blocks = s->rows > MANY_ROWS ? most_kept(r) / 2 : most_kept(r);
  s->kept = quotient_up(blocks, quotient_up(blocks, most_blocks));
  return true;
}

static bool choose_shape(const tsri_recurrence *r, const tsr_device *device, steps_shape *s) {
  return shape_whole(r, device, s) || shape_parts(r, device, s);
}

// Large products are faster by the kernels of matmul, whose launches they hide. Not while gradients are recorded: they are those of the composed steps.
bool tsri_recurrent_has_kernel(const tsri_recurrence *r, const tsr_device *device) {
  enum { CORE_PRODUCTS = 1 << 20 };
  steps_shape shape;
  if (tsri_watching || tsri_device_is_cpu(device) || !device->backend->dialect) return false;
  if (r->steps == 0 || r->batch == 0 || r->hidden == 0) return false;
  bool is_wide = r->wide == TSR_F32 || (device->limits.dtype_arithmetic >> TSR_F64 & 1u);
  double weights = (double)r->gates * (double)r->hidden * (double)r->hidden;
  double inputs = (double)r->steps * (double)r->batch * (double)r->gates * (double)r->hidden;
  double most = (double)TSRI_CALL_MAX_ELEMENTS;
  if (!is_wide || inputs >= most || weights >= most) return false;
  return weights * (double)r->batch <= (double)cores_of(device) * CORE_PRODUCTS && choose_shape(r, device, &shape);
}

// --- Running ---------------------------------------------------------------------------------------------------------

typedef struct steps_run {
  const tsri_kernel_run *run;
  tsri_recurrence r;
  steps_shape shape;
  tsr_buffer *spare;  // states between two launches, if there are several
  tsr_buffer *cell;   // for lstm outputs[2], else one element, since the kernel's parameter needs a buffer
} steps_run;

static const tsri_recurrent_attributes *given_of(const steps_run *s) { return TSRI_GIVEN(s->run->node, recurrent); }

// Launches `count` steps from step `first` on. `h` holds the states before them, which begin at element `h_at`; the states after them go to `last`.
static tsr_status launch(const steps_run *s, int64_t first, int64_t count, tsr_buffer *h, int64_t h_at,
                         tsr_buffer *last) {
  const tsri_kernel_run *run = s->run;
  const tsri_recurrence *r = &s->r;
  const steps_shape *shape = &s->shape;
  const tsri_recurrent_attributes *given = given_of(s);
  int bias = given->has_bias ? run->input_count - 1 : 0;
  int64_t w_at = run->layouts[1].offset;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_recurrent", "recurrent",
      TSRI_WITH(TSRI_TYPE("A", r->wide), TSRI_CONSTANT("GATES", r->gates), TSRI_CONSTANT("HIDDEN", r->hidden),
                TSRI_CONSTANT("UNITS", shape->units), TSRI_CONSTANT("SLICES", shape->slices),
                TSRI_CONSTANT("ROWS", shape->rows), TSRI_CONSTANT("KEPT", shape->kept),
                TSRI_CONSTANT("WHOLE", shape->is_whole), TSRI_CONSTANT("RELU", given->relu != 0),
                TSRI_CONSTANT("BIAS", given->has_bias != 0), TSRI_CONSTANT("WIDE", r->hidden % 4 == 0 && h_at % 4 == 0),
                TSRI_CONSTANT("QUADS", r->hidden % 4 == 0 && w_at % 4 == 0),
                TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma)));
  tsri_call_buffer(&call, "x", run->inputs[0], r->wide);
  tsri_call_buffer(&call, "w", run->inputs[1], r->wide);
  tsri_call_buffer(&call, "bias", run->inputs[bias], r->wide);
  tsri_call_buffer(&call, "h", h, r->wide);
  tsri_call_buffer(&call, "states", run->outputs[0], r->wide);
  tsri_call_buffer(&call, "last", last, r->wide);
  tsri_call_buffer(&call, "cell", s->cell, r->wide);
  tsri_call_word(&call, "batch", r->batch);
  tsri_call_word(&call, "first", first);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "steps", r->steps);
  tsri_call_word(&call, "reverse", given->reverse != 0);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_call_word(&call, "w_at", w_at);
  tsri_call_word(&call, "b_at", run->layouts[bias].offset);
  tsri_call_word(&call, "h_at", h_at);
  return tsri_call_many_groups(&call, quotient_up(r->hidden, shape->units) * quotient_up(r->batch, shape->rows));
}

// Launches all steps. Launches write their last states to outputs[1] and the spare buffer in turn, so that none writes what it reads, and the last to outputs[1].
static tsr_status launch_all(const steps_run *s, int64_t each) {
  const tsri_kernel_run *run = s->run;
  int64_t launches = quotient_up(s->r.steps, each), h_at = run->layouts[2].offset;
  tsr_buffer *h = run->inputs[2];
  tsr_status status = TSR_OK;
  for (int64_t i = 0; i < launches && status == TSR_OK; i++) {
    tsr_buffer *last = (launches - i) % 2 ? run->outputs[1] : s->spare;
    status = launch(s, i * each, least_of(each, s->r.steps - i * each), h, h_at, last);
    h = last;
    h_at = 0;
  }
  return status;
}

// Steps of a launch, so that none takes too long.
static int64_t steps_of_launch(const steps_shape *shape) {
  enum { MOST_STEPS = 1024 };
  return shape->is_whole ? MOST_STEPS : 1;
}

// Gets the buffers beside those of the run; the caller releases them also after a failure. The cells are computed in place, so the first ones are copied.
static tsr_status find_buffers(steps_run *s, int64_t each) {
  const tsri_kernel_run *run = s->run;
  int64_t count = s->r.batch * s->r.hidden, element = (int64_t)tsr_dtype_bytes(s->r.wide);
  tsr_status status = TSR_OK;
  if (s->r.steps > each) status = tsri_call_scratch(run->device, count, s->r.wide, &s->spare);
  if (status != TSR_OK) return status;
  if (s->r.gates != 4) return tsri_call_scratch(run->device, 4, s->r.wide, &s->cell);
  s->cell = tsr_buffer_retain(run->outputs[2]);
  return tsri_buffer_copy(s->cell, 0, run->inputs[3], (size_t)(run->layouts[3].offset * element),
                          (size_t)(count * element));
}

static tsr_status run_steps(const tsri_kernel_run *run) {
  const tsr_shape *shape = &run->shape;
  steps_run s = {.run = run,
                 .r = {.name = run->node->op->name,
                       .gates = (int)TSRI_GIVEN(run->node, recurrent)->gates,
                       .steps = shape->dims[0],
                       .batch = shape->dims[1],
                       .hidden = shape->dims[2],
                       .wide = run->dtype}};
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++) status = tsri_call_check(s.r.name, &run->layouts[i]);
  if (status != TSR_OK) return status;
  if (!choose_shape(&s.r, run->device, &s.shape)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld states do not fit in the device's shared memory", s.r.name,
                     (long long)s.r.hidden);
  }
  int64_t each = steps_of_launch(&s.shape);
  status = find_buffers(&s, each);
  if (status == TSR_OK) status = launch_all(&s, each);
  tsr_buffer_release(s.cell);
  tsr_buffer_release(s.spare);
  return status;
}

const tsri_op tsri_op_recurrent_steps = {.name = "recurrent",
                                         .kind = TSRI_OP_KERNEL,
                                         .is_for_device = true,
                                         .run = run_steps,
                                         .attribute_set = TSRI_SET_recurrent,
                                         .attribute_bytes = sizeof(tsri_recurrent_attributes)};

// --- Recording -------------------------------------------------------------------------------------------------------

// x in r->wide and contiguous.
static tsr_tensor *packed(const tsri_recurrence *r, tsr_tensor *x) {
  tsr_tensor *cast = tsr_cast(x, r->wide);
  return tsri_then(tsr_contiguous(cast), cast);
}

// The given first state, or zeros.
static tsr_tensor *packed_state(const tsri_recurrence *r, tsr_device *device, tsr_tensor *x) {
  return x ? packed(r, x) : tsri_record_zeros(device, r->wide, TSR_SHAPE(r->batch, r->hidden));
}

// [gates * hidden, hidden] as [hidden / depth, gates, hidden, depth], contiguous.
static tsr_tensor *packed_weight(const tsri_recurrence *r, tsr_tensor *weight) {
  int64_t depth = tsri_recurrent_depth(r);
  tsr_tensor *parts = tsr_reshape(weight, TSR_SHAPE(r->gates, r->hidden, r->hidden / depth, depth));
  tsr_tensor *turned = tsri_then(tsr_permute(parts, (const int[]){2, 0, 1, 3}, 4), parts);
  return tsri_then(packed(r, turned), turned);
}

void tsri_recurrent_record(const tsri_recurrence *r, tsr_device *device, tsr_tensor *inputs, tsr_tensor *weight,
                           tsr_tensor **out_results) {
  const tsri_op *op = &tsri_op_recurrent_steps;
  const tsr_recurrent_desc *d = r->desc;
  tsr_tensor *given[5] = {packed(r, inputs), packed_weight(r, weight), packed_state(r, device, d->hidden)};
  int count = 3, result_count = r->gates == 4 ? 3 : 2;
  if (r->gates == 4) given[count++] = packed_state(r, device, d->cell);
  if (d->bias_hidden) given[count++] = packed(r, d->bias_hidden);
  tsr_shape state = TSR_SHAPE(r->batch, r->hidden);
  const tsri_result shapes[3] = {
      {r->wide, TSR_SHAPE(r->steps, r->batch, r->hidden)}, {r->wide, state}, {r->wide, state}};
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(r->name, given[i]);
  if (status == TSR_OK) {
    tsri_record_kernel_results(op, device, shapes, result_count, given, count,
                               TSRI_GIVE(op, recurrent, .gates = r->gates, .relu = d->relu, .reverse = d->reverse,
                                         .has_bias = d->bias_hidden != NULL),
                               out_results);
  }
  for (int i = 0; i < result_count && status != TSR_OK; i++) out_results[i] = tsri_tensor_fail(status);
  tsri_release_all(given, count);
}
