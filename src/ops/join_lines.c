// SPDX-License-Identifier: MIT
#include "ops/join_lines.h"
#include "core/error.h"
#include "runtime/native_op.h"

// --- By a native operator ---------------------------------------------------------------------------------------------

// Adds the input to the operator as its next part. False if its lines are not contiguous, or not at a constant distance.
static bool add_part(tsri_join_op *join, const tsri_kernel_run *run, int index) {
  const tsri_layout *x = &run->layouts[index];
  int64_t length = x->count / join->lines;
  tsri_layout view;
  bool is_view = false;
  if (tsri_layout_reshape(x, TSR_SHAPE(join->lines, length), &view, &is_view) != TSR_OK || !is_view) return false;
  if (length > 1 && view.strides[1] != 1) return false;
  tsri_join_part *part = &join->parts[join->part_count++];
  *part = (tsri_join_part){.length = length, .stride = view.strides[0]};
  part->from.offset = (size_t)x->offset * tsr_dtype_bytes(run->dtype);
  tsri_place_bind(&part->from, run->inputs[index]);
  return true;
}

// As tsri_join_lines, by the device's native operator, TSRI_JOIN_PARTS inputs at a time. A line is all that the result has for one index of the axes before `axis`.
static tsr_status join_native(const tsri_kernel_run *run, int axis) {
  tsri_native_op op = {.kind = TSRI_NATIVE_JOIN, .dtype = run->dtype, .result = run->dtype};
  tsri_join_op *join = &op.is.join;
  join->lines = join->to_stride = 1;
  for (int i = 0; i < run->shape.rank; i++) *(i < axis ? &join->lines : &join->to_stride) *= run->shape.dims[i];
  size_t at = 0;  // bytes of a line that the inputs so far have written
  for (int i = 0; i < run->input_count;) {
    tsr_buffer *buffers[TSRI_JOIN_PARTS + 1] = {run->output};
    join->part_count = 0;
    join->to = (tsri_place){.offset = at};
    tsri_place_bind(&join->to, run->output);
    for (; i < run->input_count && join->part_count < TSRI_JOIN_PARTS; i++) {
      if (run->layouts[i].count == 0) continue;
      if (!add_part(join, run, i)) return TSR_ERR_UNSUPPORTED;
      buffers[join->part_count] = run->inputs[i];
      at += (size_t)join->parts[join->part_count - 1].length * tsr_dtype_bytes(run->dtype);
    }
    if (join->part_count == 0) continue;
    tsr_status status = tsri_device_run_op(run->device, &op, buffers, join->part_count + 1);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

// --- By a kernel ------------------------------------------------------------------------------------------------------

// MOST_JOINED: inputs of one launch. MOST_STEP: largest step with which neighbouring items still read from few cache
// lines.
enum { MOST_JOINED = 4, MOST_STEP = 4 };

// Input i of join_lines as lines of the result: `line` elements, `step` apart, in lines that are `row` apart.
typedef struct joined_lines {
  int64_t end;  // of its part in a line of the result
  int64_t row, step;
} joined_lines;

// Finds the lines of all inputs, and how many neighbours an item can take: 4 or 1. False: some input is empty or has no such lines, or its elements are far apart.
static bool find_lines(const tsri_kernel_run *run, int axis, joined_lines lines[MOST_JOINED], int *out_each) {
  int64_t outer = 1, inner = 1, line = 0;
  for (int i = 0; i < run->shape.rank; i++) {
    if (i != axis) *(i < axis ? &outer : &inner) *= run->shape.dims[i];
  }
  *out_each = 4;
  for (int i = 0; i < run->input_count; i++) {
    const tsri_layout *x = &run->layouts[i];
    tsri_layout view;
    bool is_view = false;
    int64_t length = x->shape.dims[axis] * inner;
    int64_t low = 0, high = 0;
    tsri_layout_span(x, &low, &high);
    if (x->count == 0 || high >= TSRI_CALL_MAX_ELEMENTS) return false;
    if (tsri_layout_reshape(x, TSR_SHAPE(outer, length), &view, &is_view) != TSR_OK || !is_view) return false;
    line += length;
    lines[i] = (joined_lines){line, view.strides[0], length > 1 ? view.strides[1] : 1};
    if (lines[i].step < 0 || lines[i].step > MOST_STEP) return false;
    bool is_aligned = lines[i].step != 1 || (x->offset % 4 == 0 && (outer == 1 || lines[i].row % 4 == 0));
    if (line % 4 != 0 || !is_aligned) *out_each = 1;
  }
  return true;
}

static tsr_status join_kernel(const tsri_kernel_run *run, int axis) {
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  joined_lines lines[MOST_JOINED];
  int each = 4;
  if (run->input_count > MOST_JOINED || !tuning->reduce_wide || !find_lines(run, axis, lines, &each))
    return TSR_ERR_UNSUPPORTED;
  tsri_layout y;
  tsr_status status = tsri_layout_init("concat", run->shape, run->dtype, &y, NULL);
  if (status != TSR_OK || y.count >= TSRI_CALL_MAX_ELEMENTS) return status == TSR_OK ? TSR_ERR_UNSUPPORTED : status;
  bool is_stepped = false;
  for (int i = 0; i < run->input_count; i++) is_stepped = is_stepped || lines[i].step != 1;
  tsr_dtype unit = tsri_call_carrier(run->device, run->dtype);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_join", "join_lines",
                 TSRI_WITH(TSRI_TYPE("T", unit), TSRI_CONSTANT("EACH", each), TSRI_CONSTANT("STEPPED", is_stepped),
                           TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  static const char *const names[MOST_JOINED][5] = {{"a", "a_at", "a_row", "a_step", "a_end"},
                                                    {"b", "b_at", "b_row", "b_step", "b_end"},
                                                    {"c", "c_at", "c_row", "c_step", "c_end"},
                                                    {"d", "d_at", "d_row", "d_step", NULL}};
  int64_t line = lines[run->input_count - 1].end;
  for (int i = 0; i < MOST_JOINED; i++) {
    int from = i < run->input_count ? i : 0;
    tsri_call_buffer(&call, names[i][0], run->inputs[from], unit);
    tsri_call_word(&call, names[i][1], run->layouts[from].offset);
    tsri_call_word(&call, names[i][2], lines[from].row);
    tsri_call_word(&call, names[i][3], lines[from].step);
    if (names[i][4]) tsri_call_word(&call, names[i][4], i < run->input_count ? lines[i].end : line);
  }
  tsri_call_buffer(&call, "y", run->output, unit);
  tsri_call_word(&call, "n", y.count);
  tsri_call_word(&call, "line", line);
  return tsri_call_rounds(&call, y.count / each);
}

tsr_status tsri_join_lines(const tsri_kernel_run *run, int axis) {
  tsr_status status = join_native(run, axis);
  return status == TSR_ERR_UNSUPPORTED ? join_kernel(run, axis) : status;
}
