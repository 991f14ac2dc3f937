// SPDX-License-Identifier: MIT
// Row operators: softmax, log_softmax, layer_norm, rms_norm (kernels/op_rows.tk). Depending on the length of rows, a part of a work-group, a whole work-group
// or several work-groups take a row. Columns take one item each, or one item for each span of them.
#include "ops/rows.h"
#include "core/error.h"
#include "graph/epilogue.h"
#include "graph/node.h"
#include "ops/autocast.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// Work-group size for rows of at most `longest` elements, chosen so that no item is idle.
typedef struct group_choice {
  int64_t longest;
  int items;
} group_choice;

static const group_choice group_choices[] = {{64, 32}, {256, 64}, {1024, 128}, {INT64_MAX, 256}};

static int group_for(int64_t n) {
  const group_choice *choice = group_choices;
  while (n > choice->longest) choice++;
  return choice->items;
}

// How rows are kept in registers. group: items of a work-group; team: items that share a row; held: elements per item, 0 if the device does not keep rows in
// registers. A long row is divided into `spans`, one per work-group.
typedef struct row_shape {
  int group, team, held;
  bool is_wide, is_paired;  // quads, or pairs, are loaded and stored at once
  int64_t spans;
} row_shape;

// The longest row that one item computes. An item's elements are in shared memory, 8 KiB of f32 for SHORT_GROUP of these rows.
enum { LONGEST_SHORT = 16 };

// Work-group sizes. SHORT_GROUP: for several rows. SPAN_GROUP: for a span of a row. LARGEST_GROUP: limit for one row. A GPU's core has room for only one or two
// larger work-groups, whose loads, barriers and stores then do not overlap: rows of 12,544 f32 take 55 to 61 us on an H200 in work-groups of 512 or 256, and 86
// to 105 in work-groups of 1,024.
enum { SHORT_GROUP = 128, SPAN_GROUP = 256, LARGEST_GROUP = 512 };

static int smaller(int a, int b) { return a < b ? a : b; }

// Most elements of a short row per item, before more items share the row. Teams of fewer than four items get fewer elements, so that neighbouring items read
// neighbouring memory. Larger teams should have few items: joining the items' values takes instructions, and items without elements are idle. rms_norm of 10^6
// rows of 40 bf16 takes 50 us on an H200 with teams of 4 and 89 with teams of 16.
static int each_of_short(int team, int held) { return team < 4 ? smaller(held, 8) : held; }

// Chooses a part of a subgroup if it can hold a row; else the smallest work-group that can; else several work-groups. A row that is not divided has more than
// team * (held - 4) elements: the kernels rely on that.
static row_shape choose_row(const tsr_device *device, const tsri_tuning *tuning, int64_t n) {
  int limit = (int)device->limits.max_group_size,
      most = smaller(smaller(TSRI_TUNED(tuning, row_group), LARGEST_GROUP), limit);
  int subgroup = tsr_device_subgroup_size(device), held = TSRI_TUNED(tuning, row_held);
  if (n <= (int64_t)subgroup * held && subgroup <= SHORT_GROUP && SHORT_GROUP <= limit) {
    row_shape row = {.group = SHORT_GROUP, .team = 1, .held = held < 4 ? held : 4, .spans = 1};
    while (row.team < subgroup && (int64_t)row.team * each_of_short(row.team, held) < n) row.team *= 2;
    while ((int64_t)row.team * row.held < n) row.held += 4;
    return row;
  }
  row_shape row = {.group = 32, .held = held, .spans = 1};
  int64_t dense = smaller(TSRI_TUNED(tuning, row_dense), most), whole = (int64_t)most * held;
  if (n > dense * held && n <= dense * held * 2) row.held = held *= 2;
  else if (dense > 0 && n > whole && n <= whole * 4) row.held = held *= 4;  // otherwise it would take two launches
  while ((int64_t)row.group * held < n && row.group * 2 <= most) row.group *= 2;
  if ((int64_t)row.group * held < n) {
    row.group = SPAN_GROUP < most ? SPAN_GROUP : most;
    row.spans = (n + (int64_t)row.group * held - 1) / ((int64_t)row.group * held);
  }
  while (row.held > 4 && row.group * row.spans * (row.held - 4) >= n) row.held -= 4;
  row.team = row.group;
  return row;
}

// `offsets`: offsets of the arrays that would be read in quads.
static row_shape shape_row(const tsri_kernel_run *run, int64_t n, const int64_t *offsets, int count) {
  const tsri_tuning *tuning = tsri_tuning_of(run->device);
  if (TSRI_TUNED(tuning, row_held) == 0) return (row_shape){0};
  row_shape row = choose_row(run->device, tuning, n);
  row.is_wide = TSRI_TUNED(tuning, row_wide) != 0 && row.held % 4 == 0 && n % 4 == 0 && !tsri_epilogue_loads(run);
  for (int i = 0; i < count; i++) row.is_wide = row.is_wide && offsets[i] % 4 == 0;
  row.is_paired = TSRI_TUNED(tuning, row_pairs) != 0 && n >= TSRI_TUNED(tuning, row_pairs) && !row.is_wide &&
                  row.held % 2 == 0 && !run->epilogue && offsets[0] % 2 == 0 && tsr_dtype_bytes(run->dtype) == 2 &&
                  run->input_dtypes[0] == run->dtype;
  return row;
}

#define ROW_CONSTANTS(row) \
  TSRI_CONSTANT("WIDE", (row).is_wide), TSRI_CONSTANT("HELD", (row).held), TSRI_CONSTANT("WG", (row).group)

// Whether an item has a row of its own, which goes through shared memory.
static bool is_short(row_shape row, int64_t n) {
  return n <= LONGEST_SHORT && row.team < row.group && !row.is_wide && !row.is_paired;
}

#define SHORT_ROW_CONSTANTS(n) TSRI_CONSTANT("HELD", ((n) + 3) / 4 * 4), TSRI_CONSTANT("WG", SHORT_GROUP)

#define STORED_ROW_CONSTANTS(row) ROW_CONSTANTS(row), TSRI_CONSTANT("WIDE_Y", (row).is_wide)

// The types of x, of the result and of the computation.
#define ROW_TYPES(run)                                                              \
  TSRI_TYPE("T", (run)->input_dtypes[0]), TSRI_TYPE("Y", tsri_epilogue_dtype(run)), \
      TSRI_TYPE("A", tsri_accumulator((run)->dtype))

static void pass_x_and_y(tsri_call *call, const tsri_kernel_run *run) {
  tsri_call_buffer(call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(call, "y", run->output, tsri_epilogue_dtype(run));
}

// Passes the arguments that both launches over spans (of long rows, or of columns) have in common.
static void pass_spans(tsri_call *call, const tsri_kernel_run *run, int64_t rows, int64_t n, tsr_buffer *parts,
                       int64_t spans) {
  pass_x_and_y(call, run);
  tsri_call_buffer(call, "parts", parts, tsri_accumulator(run->dtype));
  tsri_call_word(call, "rows", rows);
  tsri_call_word(call, "n", n);
  tsri_call_word(call, "x_at", run->layouts[0].offset);
  tsri_call_word(call, "spans", spans);
}

// The most elements of a column that one item keeps in registers; `held` is the limit for items that share a row.
static int64_t longest_column(int held) { return 4 * (int64_t)held; }

// Whether each row is computed by one item instead of a work-group: for rows so short that most of a work-group would be idle, and for columns, where a
// work-group takes neighbouring ones. Not on devices that keep rows in registers: a GPU has enough work-groups, and reads a row with coalesced loads.
static bool are_lines(const tsri_kernel_run *run, int64_t rows, int64_t n, int64_t inner) {
  enum { SHORT_ROW = 64, MANY_ROWS = 256 };
  return TSRI_TUNED(tsri_tuning_of(run->device), row_held) == 0 && rows >= MANY_ROWS && (n <= SHORT_ROW || inner > 1);
}

// x cast to a float dtype and made contiguous. The caller releases it.
static tsr_tensor *packed_float(tsr_tensor *x, tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(x, dtype), *result = tsr_contiguous(cast);
  tsr_release(cast);
  return result;
}

// --- softmax ---------------------------------------------------------------------------------------------------------

// Runs softmax natively. TSR_ERR_UNSUPPORTED, without a message: the device has no operator for it, or operators are fused to the softmax.
static tsr_status softmax_native(const tsri_kernel_run *run, int64_t n, int64_t inner, bool is_log) {
  if (run->epilogue) return TSR_ERR_UNSUPPORTED;
  tsri_native_op op = {.kind = TSRI_NATIVE_SOFTMAX, .dtype = run->dtype, .result = run->dtype};
  op.is.softmax = (tsri_softmax_op){.outer = run->layouts[0].count / n / inner,
                                    .n = n,
                                    .inner = inner,
                                    .is_log = is_log,
                                    .from.offset = (size_t)run->layouts[0].offset * tsr_dtype_bytes(run->dtype)};
  tsri_place_bind(&op.is.softmax.from, run->inputs[0]);
  tsri_place_bind(&op.is.softmax.to, run->output);
  return tsri_device_run_op(run->device, &op, (tsr_buffer *const[]){run->output, run->inputs[0]}, 2);
}

// The lines of a softmax: `rows` lines of `n` elements, which are `inner` apart.
typedef struct softmax_lines {
  const tsri_kernel_run *run;
  int64_t rows, n, inner;
  bool is_log;
} softmax_lines;

static tsr_status softmax_spans(const softmax_lines *s, row_shape row) {
  tsr_dtype wide = tsri_accumulator(s->run->dtype);
  tsr_buffer *parts = NULL;
  tsr_status status = tsri_call_scratch(s->run->device, s->rows * row.spans * 2, wide, &parts);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_row_parts",
                        TSRI_WITH(ROW_TYPES(s->run), ROW_CONSTANTS(row)));
  pass_spans(&call, s->run, s->rows, s->n, parts, row.spans);
  status = tsri_call_many_groups(&call, s->rows * row.spans);
  tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_row_finish",
                        TSRI_WITH(ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log), STORED_ROW_CONSTANTS(row)));
  pass_spans(&call, s->run, s->rows, s->n, parts, row.spans);
  if (status == TSR_OK) status = tsri_call_many_groups(&call, s->rows * row.spans);
  tsr_buffer_release(parts);
  return status;
}

static void pass_columns(tsri_call *call, const softmax_lines *s) {
  tsr_shape shape = s->run->layouts[0].shape;
  tsri_call_word(call, "inner", s->inner);
  tsri_call_word(call, "last", shape.dims[shape.rank - 1]);
}

static tsr_status softmax_held_columns(const softmax_lines *s) {
  int held = (int)(s->n + 3) / 4 * 4;
  tsri_call call;
  tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_columns",
                        TSRI_WITH(ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log), TSRI_CONSTANT("HELD", held),
                                  TSRI_CONSTANT("WG", tsri_call_tuning(s->run->device)->item_group)));
  pass_x_and_y(&call, s->run);
  tsri_call_word(&call, "rows", s->rows);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "x_at", s->run->layouts[0].offset);
  pass_columns(&call, s);
  return tsri_call_items(&call, s->rows);
}

// Columns (lines that are not contiguous) divided into spans, one item for each line and span. `parts` has the largest element and the sum of each span.
typedef struct column_spans {
  int64_t spans, span;
  tsr_buffer *parts;
} column_spans;

static tsr_status column_parts(const softmax_lines *s, const column_spans *c) {
  tsri_call call;
  tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_column_parts", TSRI_WITH(ROW_TYPES(s->run)));
  pass_spans(&call, s->run, s->rows, s->n, c->parts, c->spans);
  pass_columns(&call, s);
  tsri_call_word(&call, "span", c->span);
  return tsri_call_items(&call, s->rows * c->spans);
}

// Launches softmax_column_finish. `parts` has `count` entries for each line: one for each span, or one for the complete line.
static tsr_status column_finish(const softmax_lines *s, const column_spans *c, tsr_buffer *parts, int64_t count) {
  tsri_call call;
  tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_column_finish",
                        TSRI_WITH(ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log)));
  pass_spans(&call, s->run, s->rows, s->n, parts, c->spans);
  pass_columns(&call, s);
  tsri_call_word(&call, "span", c->span);
  tsri_call_word(&call, "parts_count", count);
  return tsri_call_items(&call, s->rows * c->spans);
}

// Joins the largest elements and the sums of each line's spans to those of the line.
static tsr_status join_columns(const softmax_lines *s, const column_spans *c, tsr_buffer *joined) {
  tsr_dtype wide = tsri_accumulator(s->run->dtype);
  tsri_call call;
  tsri_call_init(&call, s->run->device, "op_rows", "softmax_column_join", TSRI_WITH(TSRI_TYPE("A", wide)));
  tsri_call_buffer(&call, "parts", c->parts, wide);
  tsri_call_buffer(&call, "joined", joined, wide);
  tsri_call_word(&call, "rows", s->rows);
  tsri_call_word(&call, "spans", c->spans);
  return tsri_call_many_groups(&call, s->rows);
}

// As softmax_spans, with one item per line and span. There are enough spans to keep the device busy. Each item of the last launch reads the entries of all
// spans of its line; if there are many, a launch before joins them.
static tsr_status softmax_column_spans(const softmax_lines *s) {
  enum { SHORTEST_SPAN = 32 };
  tsr_dtype wide = tsri_accumulator(s->run->dtype);
  const tsri_tuning *tuning = tsri_tuning_of(s->run->device);
  int64_t wanted = (TSRI_TUNED(tuning, column_items) + s->rows - 1) / s->rows;
  int64_t most = (s->n + SHORTEST_SPAN - 1) / SHORTEST_SPAN, spans = wanted < most ? wanted : most;
  column_spans c = {.span = (s->n + spans - 1) / spans};
  c.spans = (s->n + c.span - 1) / c.span;
  bool is_joined = c.spans > TSRI_TUNED(tuning, column_joined);
  tsr_buffer *joined = NULL;
  tsr_status status = tsri_call_scratch(s->run->device, s->rows * c.spans * 2, wide, &c.parts);
  if (status == TSR_OK && is_joined) status = tsri_call_scratch(s->run->device, s->rows * 2, wide, &joined);
  if (status == TSR_OK) status = column_parts(s, &c);
  if (status == TSR_OK && is_joined) status = join_columns(s, &c, joined);
  if (status == TSR_OK) status = column_finish(s, &c, is_joined ? joined : c.parts, is_joined ? 1 : c.spans);
  tsr_buffer_release(c.parts);
  tsr_buffer_release(joined);
  return status;
}

// Softmax of lines that are kept in registers, by a part of a work-group or a whole one each.
static tsr_status softmax_held(const softmax_lines *s, row_shape row) {
  tsri_call call;
  if (is_short(row, s->n)) {
    tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_short",
                          TSRI_WITH(ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log), SHORT_ROW_CONSTANTS(s->n)));
    row.team = 1;
  } else {
    tsri_call_init_hooked(&call, s->run, "op_rows", "softmax_held",
                          TSRI_WITH(ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log), TSRI_CONSTANT("TEAM", row.team),
                                    TSRI_CONSTANT("PAIRED", row.is_paired), STORED_ROW_CONSTANTS(row)));
  }
  pass_x_and_y(&call, s->run);
  tsri_call_word(&call, "rows", s->rows);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "x_at", s->run->layouts[0].offset);
  return tsri_call_items(&call, s->rows * row.team);
}

// Softmax of lines that are read several times, by one item or one work-group each.
static tsr_status softmax_plain(const softmax_lines *s) {
  bool is_line = are_lines(s->run, s->rows, s->n, s->inner);
  const tsri_lang_arg args[] = {ROW_TYPES(s->run), TSRI_CONSTANT("LOG", s->is_log),
                                TSRI_CONSTANT("WG", group_for(s->n))};
  tsri_call call;
  tsri_call_init_hooked(&call, s->run, "op_rows", is_line ? "softmax_lines" : "softmax", args, is_line ? 4 : 5);
  pass_x_and_y(&call, s->run);
  tsri_call_word(&call, "rows", s->rows);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "x_at", s->run->layouts[0].offset);
  pass_columns(&call, s);
  return is_line ? tsri_call_items(&call, s->rows) : tsri_call_many_groups(&call, s->rows);
}

tsr_status tsri_run_softmax(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check("softmax", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  int axis = (int)TSRI_GIVEN(run->node, softmax)->axis;
  softmax_lines s = {.run = run,
                     .n = layout->shape.dims[axis],
                     .rows = layout->count / layout->shape.dims[axis],
                     .inner = 1,
                     .is_log = TSRI_GIVEN(run->node, softmax)->is_log != 0};
  for (int i = axis + 1; i < layout->shape.rank; i++) s.inner *= layout->shape.dims[i];
  status = softmax_native(run, s.n, s.inner, s.is_log);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  row_shape row = shape_row(run, s.n, &layout->offset, 1);
  if (row.held == 0) return softmax_plain(&s);
  // Reading a small tensor again from the cache takes less time than a second launch.
  enum { SMALL = 65536 };
  bool is_held = s.n <= longest_column(row.held);
  if (s.inner > 1 && !is_held && layout->count <= SMALL) return softmax_plain(&s);
  if (s.inner > 1) return is_held ? softmax_held_columns(&s) : softmax_column_spans(&s);
  return row.spans > 1 ? softmax_spans(&s, row) : softmax_held(&s, row);
}

static tsr_tensor *softmax_along(const void *user, tsr_tensor *x, int axis) {
  const tsri_op *op = user;
  tsr_tensor *input = packed_float(x, tsri_autocast(op, tsri_promote_float(x->dtype)));
  tsr_status status = tsri_tensor_check(op->name, input);
  if (status != TSR_OK) return tsri_tensor_named(op->name, input);
  tsr_tensor *result = tsri_record_kernel(op, input->value->device, input->dtype, input->layout.shape, &input, 1,
                                          TSRI_GIVE(op, softmax, .axis = axis, .is_log = op == TSRI_BODY(log_softmax)));
  tsr_release(input);
  return result;
}

// Whether the device computes columns as fast as rows, so that x need not be copied to another order. Few columns do not fill the vectors of a CPU; then x is
// copied first.
static bool may_stay_in_order(const tsri_op *op, const tsr_tensor *x, int axis) {
  enum { FEW_COLUMNS = 32 };
  tsr_dtype dtype = tsri_autocast(op, tsri_promote_float(x->dtype));
  tsri_native_op native = {.kind = TSRI_NATIVE_SOFTMAX, .dtype = dtype, .result = dtype};
  int64_t stride = x->layout.strides[axis] < 0 ? -x->layout.strides[axis] : x->layout.strides[axis];
  if (tsri_device_takes(x->value->device, &native)) return stride == 1 || stride >= FEW_COLUMNS;
  int held = tsri_call_tuning(x->value->device)->row_held;
  return held > 0 && tsri_suits_order(x, axis, longest_column(held));
}

static tsr_tensor *softmax(const tsri_op *op, tsr_tensor *x, int axis) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis(op->name, axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return may_stay_in_order(op, x, axis) ? tsri_along_in_order(x, axis, softmax_along, op) : softmax_along(op, x, axis);
}

tsr_tensor *tsr_softmax(tsr_tensor *x, int axis) { return softmax(TSRI_BODY(softmax), x, axis); }

tsr_tensor *tsr_log_softmax(tsr_tensor *x, int axis) { return softmax(TSRI_BODY(log_softmax), x, axis); }

// --- Norms -----------------------------------------------------------------------------------------------------------

// Runs the norm natively. TSR_ERR_UNSUPPORTED, without a message: the device has no operator for it, or operators are fused to the norm. `weight` and `bias`
// are the indices of their inputs, or 0.
static tsr_status norm_native(const tsri_kernel_run *run, const tsri_norm_attributes *given, int weight, int bias) {
  if (run->epilogue || run->input_dtypes[0] != run->dtype) return TSR_ERR_UNSUPPORTED;
  size_t element = tsr_dtype_bytes(run->dtype);
  const tsri_layout *layout = &run->layouts[0];
  int64_t n = layout->shape.dims[layout->shape.rank - 1];
  tsri_native_op op = {.kind = TSRI_NATIVE_NORM, .dtype = run->dtype, .result = run->dtype};
  op.is.norm = (tsri_norm_op){.rows = layout->count / n,
                              .n = n,
                              .eps = given->eps,
                              .is_centred = given->is_centred != 0,
                              .has_weight = weight != 0,
                              .has_bias = bias != 0,
                              .from.offset = (size_t)layout->offset * element,
                              .weight.offset = (size_t)run->layouts[weight].offset * element,
                              .bias.offset = (size_t)run->layouts[bias].offset * element};
  tsri_place_bind(&op.is.norm.from, run->inputs[0]);
  tsri_place_bind(&op.is.norm.weight, run->inputs[weight]);
  tsri_place_bind(&op.is.norm.bias, run->inputs[bias]);
  tsri_place_bind(&op.is.norm.to, run->output);
  tsr_buffer *const buffers[] = {run->output, run->inputs[0], run->inputs[weight], run->inputs[bias]};
  return tsri_device_run_op(run->device, &op, buffers, 4);
}

// The arguments of a norm. `weight` and `bias` are the indices of their inputs. If one is missing, the other is bound instead and not read; x if both are.
typedef struct norm_rows {
  const tsri_kernel_run *run;
  const tsri_norm_attributes *given;
  int weight, bias;
  int64_t rows, n;
} norm_rows;

#define NORM_CONSTANTS(r)                                                                                         \
  ROW_TYPES((r)->run), TSRI_TYPE("W", (r)->run->input_dtypes[(r)->weight]),                                       \
      TSRI_CONSTANT("CENTRE", (r)->given->is_centred != 0), TSRI_CONSTANT("WEIGHT", (r)->given->has_weight != 0), \
      TSRI_CONSTANT("BIAS", (r)->given->has_bias != 0)

static void pass_norm(tsri_call *call, const norm_rows *r) {
  tsri_call_buffer(call, "weight", r->run->inputs[r->weight], r->run->input_dtypes[r->weight]);
  tsri_call_buffer(call, "bias", r->run->inputs[r->bias], r->run->input_dtypes[r->bias]);
  tsri_call_word(call, "w_at", r->run->layouts[r->weight].offset);
  tsri_call_word(call, "b_at", r->run->layouts[r->bias].offset);
  tsri_call_real(call, "eps", r->given->eps);
}

static tsr_status norm_spans(const norm_rows *r, row_shape row) {
  tsr_dtype wide = tsri_accumulator(r->run->dtype);
  tsr_buffer *parts = NULL;
  tsr_status status = tsri_call_scratch(r->run->device, r->rows * row.spans * 2, wide, &parts);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init_hooked(
      &call, r->run, "op_rows", "normalise_row_parts",
      TSRI_WITH(ROW_TYPES(r->run), TSRI_CONSTANT("CENTRE", r->given->is_centred != 0), ROW_CONSTANTS(row)));
  pass_spans(&call, r->run, r->rows, r->n, parts, row.spans);
  status = tsri_call_many_groups(&call, r->rows * row.spans);
  tsri_call_init_hooked(&call, r->run, "op_rows", "normalise_row_finish",
                        TSRI_WITH(NORM_CONSTANTS(r), STORED_ROW_CONSTANTS(row)));
  pass_spans(&call, r->run, r->rows, r->n, parts, row.spans);
  pass_norm(&call, r);
  if (status == TSR_OK) status = tsri_call_many_groups(&call, r->rows * row.spans);
  tsr_buffer_release(parts);
  return status;
}

// Launches the norm with one item per row; or with several, which keep the row in registers or read it several times.
static tsr_status norm_once(const norm_rows *r, row_shape row) {
  bool is_line = row.held == 0 && are_lines(r->run, r->rows, r->n, 1);
  tsri_call call;
  if (is_line) {
    tsri_call_init_hooked(&call, r->run, "op_rows", "normalise_lines", TSRI_WITH(NORM_CONSTANTS(r)));
  } else if (row.held && is_short(row, r->n)) {
    row.team = 1;
    tsri_call_init_hooked(&call, r->run, "op_rows", "normalise_short",
                          TSRI_WITH(NORM_CONSTANTS(r), SHORT_ROW_CONSTANTS(r->n)));
  } else if (row.held) {
    tsri_call_init_hooked(&call, r->run, "op_rows", "normalise_held",
                          TSRI_WITH(NORM_CONSTANTS(r), TSRI_CONSTANT("TEAM", row.team),
                                    TSRI_CONSTANT("PAIRED", row.is_paired), STORED_ROW_CONSTANTS(row)));
  } else {
    row.team = group_for(r->n);
    tsri_call_init_hooked(&call, r->run, "op_rows", "normalise",
                          TSRI_WITH(NORM_CONSTANTS(r), TSRI_CONSTANT("WG", row.team)));
  }
  pass_x_and_y(&call, r->run);
  tsri_call_word(&call, "rows", r->rows);
  tsri_call_word(&call, "n", r->n);
  tsri_call_word(&call, "x_at", r->run->layouts[0].offset);
  pass_norm(&call, r);
  return tsri_call_items(&call, is_line ? r->rows : r->rows * row.team);
}

// Inputs: x, then weight and bias if given.
tsr_status tsri_run_norm(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check("norm", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  const tsri_norm_attributes *given = TSRI_GIVEN(run->node, norm);
  int weight = given->has_weight ? 1 : 0, bias = given->has_bias ? weight + 1 : 0;
  status = norm_native(run, given, weight, bias);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  norm_rows r = {.run = run,
                 .given = given,
                 .weight = weight ? weight : bias,
                 .bias = bias ? bias : weight,
                 .n = layout->shape.dims[layout->shape.rank - 1]};
  r.rows = layout->count / r.n;
  const int64_t offsets[] = {layout->offset, run->layouts[r.weight].offset, run->layouts[r.bias].offset};
  row_shape row = shape_row(run, r.n, offsets, 3);
  return row.spans > 1 ? norm_spans(&r, row) : norm_once(&r, row);
}

static tsr_status check_row(const tsri_op *op, const char *what, const tsr_tensor *x, const tsr_tensor *row) {
  if (!row) return TSR_OK;
  tsr_status status = tsri_tensor_check(op->name, row);
  if (status != TSR_OK) return status;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  int64_t n = x->layout.shape.dims[x->layout.shape.rank - 1];
  if (row->layout.shape.rank == 1 && row->layout.shape.dims[0] == n) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s, the last axis of %s has %lld", op->name, what,
                   tsr_shape_format(row->layout.shape, b, sizeof b), tsr_shape_format(x->layout.shape, a, sizeof a),
                   (long long)n);
}

static tsr_status check_norm(const tsri_op *op, const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *bias,
                             double eps) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK && x->layout.shape.rank == 0) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: a scalar has no last axis", op->name);
  }
  if (status == TSR_OK && !(eps >= 0)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: eps is %g; it must be 0 or more", op->name, eps);
  }
  if (status == TSR_OK) status = check_row(op, "weight", x, weight);
  if (status == TSR_OK) status = check_row(op, "bias", x, bias);
  return status;
}

// Whether the norm's kernels read x in its own dtype, f16 or bf16, although they compute and store f32. A native operator has one dtype.
static bool reads_narrow(const tsr_tensor *x, tsr_dtype dtype) {
  const tsri_native_op native = {.kind = TSRI_NATIVE_NORM, .dtype = dtype, .result = dtype};
  bool is_narrow = x->dtype == TSR_F16 || x->dtype == TSR_BF16;
  return is_narrow && dtype == TSR_F32 && !tsri_device_takes(x->value->device, &native);
}

tsr_tensor *tsri_norm_to(const tsri_op *op, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps,
                         tsr_dtype dtype) {
  tsr_status status = check_norm(op, x, weight, bias, eps);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *inputs[3] = {reads_narrow(x, dtype) ? tsr_contiguous(x) : packed_float(x, dtype)};
  int count = 1;
  if (weight) inputs[count++] = packed_float(weight, dtype);
  if (bias) inputs[count++] = packed_float(bias, dtype);
  tsr_device *device = NULL;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  tsri_norm_attributes given = {
      .eps = eps, .has_weight = weight != NULL, .has_bias = bias != NULL, .is_centred = op == TSRI_BODY(layer_norm)};
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, device, dtype, x->layout.shape, inputs, count,
                                                             TSRI_GIVE_ALL(op, norm, &given))
                                        : tsri_tensor_fail(status);
  for (int i = 0; i < count; i++) tsr_release(inputs[i]);
  return tsri_tensor_named(op->name, result);
}

static tsr_tensor *norm(const tsri_op *op, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  tsr_status status = check_norm(op, x, weight, bias, eps);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  if (weight) dtype = tsri_promote(dtype, weight->dtype);
  if (bias) dtype = tsri_promote(dtype, bias->dtype);
  return tsri_norm_to(op, x, weight, bias, eps, tsri_autocast(op, dtype));
}

tsr_tensor *tsr_layer_norm(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  return norm(TSRI_BODY(layer_norm), x, weight, bias, eps);
}

tsr_tensor *tsr_rms_norm(tsr_tensor *x, tsr_tensor *weight, double eps) {
  return norm(TSRI_BODY(rms_norm), x, weight, NULL, eps);
}

// --- Norms of a sum --------------------------------------------------------------------------------------------------

// Inputs: x, the residual, then weight and bias if given. Outputs: the sum, and the normalised sum.
tsr_status tsri_run_add_norm(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check(run->node->op->name, layout);
  if (status != TSR_OK || layout->count == 0) return status;
  const tsri_norm_attributes *given = TSRI_GIVEN(run->node, norm);
  int weight = given->has_weight ? 2 : 0, bias = given->has_bias ? (weight ? 3 : 2) : 0;
  int64_t n = layout->shape.dims[layout->shape.rank - 1], rows = layout->count / n;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_add_norm", "add_normalise",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("CENTRE", given->is_centred), TSRI_CONSTANT("WEIGHT", given->has_weight),
                           TSRI_CONSTANT("BIAS", given->has_bias), TSRI_CONSTANT("WG", group_for(n))));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "residual", run->inputs[1], run->dtype);
  tsri_call_buffer(&call, "weight", run->inputs[weight], run->dtype);
  tsri_call_buffer(&call, "bias", run->inputs[bias], run->dtype);
  tsri_call_buffer(&call, "sum", run->outputs[0], run->dtype);
  tsri_call_buffer(&call, "y", run->outputs[1], run->dtype);
  tsri_call_word(&call, "rows", rows);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "x_at", layout->offset);
  tsri_call_word(&call, "r_at", run->layouts[1].offset);
  tsri_call_word(&call, "w_at", run->layouts[weight].offset);
  tsri_call_word(&call, "b_at", run->layouts[bias].offset);
  tsri_call_real(&call, "eps", given->eps);
  return tsri_call_many_groups(&call, rows);
}

static tsr_status check_sum(const tsri_op *op, const tsr_tensor *x, const tsr_tensor *residual) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, residual);
  if (status != TSR_OK || tsri_shape_equal(x->layout.shape, residual->layout.shape)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: x is %s, the residual is %s", op->name,
                   tsr_shape_format(x->layout.shape, a, sizeof a),
                   tsr_shape_format(residual->layout.shape, b, sizeof b));
}

// Records add_layer_norm or add_rms_norm. `given`: x, residual, weight and bias; the last two may be NULL.
static tsr_status add_norm(const tsri_op *op, tsr_tensor *const *given, double eps, tsr_tensor **out_sum,
                           tsr_tensor **out_normed) {
  tsr_tensor **const outs[2] = {out_sum, out_normed};
  tsri_clear_outs(outs, 2);
  tsr_status status = check_sum(op, given[0], given[1]);
  if (status == TSR_OK) status = check_norm(op, given[0], given[2], given[3], eps);
  if (status != TSR_OK) return status;
  tsr_dtype dtype = tsri_promote_float(given[0]->dtype);
  for (int i = 1; i < 4; i++) {
    if (given[i]) dtype = tsri_promote(dtype, given[i]->dtype);
  }
  dtype = tsri_autocast(op, dtype);
  tsr_tensor *inputs[4], *results[2];
  int count = 0;
  for (int i = 0; i < 4; i++) {
    if (given[i]) inputs[count++] = packed_float(given[i], dtype);
  }
  tsr_device *device = NULL;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  if (status == TSR_OK) {
    tsri_norm_attributes attributes = {.eps = eps,
                                       .has_weight = given[2] != NULL,
                                       .has_bias = given[3] != NULL,
                                       .is_centred = op == TSRI_BODY(add_layer_norm)};
    tsri_result both[2] = {{dtype, given[0]->layout.shape}, {dtype, given[0]->layout.shape}};
    tsri_record_kernel_results(op, device, both, 2, inputs, count, TSRI_GIVE_ALL(op, norm, &attributes), results);
    status = tsri_hand_out(op->name, results, outs, 2);
  }
  tsri_release_all(inputs, count);
  return status;
}

tsr_status tsr_add_layer_norm(tsr_tensor *x, tsr_tensor *residual, tsr_tensor *weight, tsr_tensor *bias, double eps,
                              tsr_tensor **out_sum, tsr_tensor **out_normed) {
  tsr_tensor *given[4] = {x, residual, weight, bias};
  return add_norm(TSRI_BODY(add_layer_norm), given, eps, out_sum, out_normed);
}

tsr_status tsr_add_rms_norm(tsr_tensor *x, tsr_tensor *residual, tsr_tensor *weight, double eps, tsr_tensor **out_sum,
                            tsr_tensor **out_normed) {
  tsr_tensor *given[4] = {x, residual, weight, NULL};
  return add_norm(TSRI_BODY(add_rms_norm), given, eps, out_sum, out_normed);
}
