// SPDX-License-Identifier: MIT
#include "ops/join_lines.h"
#include "core/error.h"
#include "runtime/native_op.h"

// --- By a native operator ---------------------------------------------------------------------------------------------

// Adds input `index` to the operator as its next part. False if its lines are not contiguous, or are not at a constant distance.
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

// As tsri_join_lines, by the device's native operator, which takes at most TSRI_JOIN_PARTS inputs; more inputs are distributed evenly over several calls. A
// line of the result is what it has for one index of the axes before `axis`.
static tsr_status join_native(const tsri_kernel_run *run, int axis) {
  tsri_native_op op = {.kind = TSRI_NATIVE_JOIN, .dtype = run->dtype, .result = run->dtype};
  tsri_join_op *join = &op.is.join;
  join->lines = join->to_stride = 1;
  for (int i = 0; i < run->shape.rank; i++) *(i < axis ? &join->lines : &join->to_stride) *= run->shape.dims[i];
  int times = (run->input_count + TSRI_JOIN_PARTS - 1) / TSRI_JOIN_PARTS;
  int most = times > 0 ? (run->input_count + times - 1) / times : 0;
  size_t at = 0;  // bytes of each line that are already written
  for (int i = 0; i < run->input_count;) {
    tsr_buffer *buffers[TSRI_JOIN_PARTS + 1] = {run->output};
    join->part_count = 0;
    join->to = (tsri_place){.offset = at};
    tsri_place_bind(&join->to, run->output);
    for (; i < run->input_count && join->part_count < most; i++) {
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

// MOST_JOINED: inputs of one launch. With the result, and the buffer for reports in checked mode, these are eight buffers, which every device can bind. FEW:
// inputs of the kernel's variant without MANY. MOST_STEP: largest step with which neighbouring items still read from few cache lines.
enum { MOST_JOINED = 6, FEW = 4, MOST_STEP = 4 };

// The inputs of a launch, as parts of the result's lines. The elements of input i are `step` apart and its lines `row` apart; its part of each line ends at
// `end`.
typedef struct joined_lines {
  int count, inputs[MOST_JOINED];  // indices among the run's inputs
  int64_t end[MOST_JOINED], row[MOST_JOINED], step[MOST_JOINED];
  int64_t outer, line, at, pitch;  // of the result: lines, elements of a line, first element, line stride
  int each;                        // neighbouring elements per item: 4, 2 of 8 bytes, or 1
  bool is_stepped;
} joined_lines;

// Limit for indices of elements: those of units (launch_lines) have 32 bits.
static int64_t most_elements(const tsri_kernel_run *run) {
  return tsr_dtype_bytes(run->dtype) == 8 ? TSRI_CALL_MAX_ELEMENTS / 2 : TSRI_CALL_MAX_ELEMENTS;
}

// Adds an input to the launch. False: it does not consist of lines with a constant step, or its step is too large.
static bool add_lines(joined_lines *lines, const tsri_kernel_run *run, int input) {
  const tsri_layout *x = &run->layouts[input];
  int64_t length = x->count / lines->outer, low = 0, high = 0;
  tsri_layout view;
  bool is_view = false;
  tsri_layout_span(x, &low, &high);
  if (high >= most_elements(run)) return false;
  if (tsri_layout_reshape(x, TSR_SHAPE(lines->outer, length), &view, &is_view) != TSR_OK || !is_view) return false;
  int i = lines->count++;
  lines->line += length;
  lines->inputs[i] = input;
  lines->end[i] = lines->line;
  lines->row[i] = view.strides[0];
  lines->step[i] = length > 1 ? view.strides[1] : 1;
  if (lines->step[i] < 0 || lines->step[i] > MOST_STEP) return false;
  int64_t each = lines->each;
  bool is_aligned = lines->step[i] != 1 || (x->offset % each == 0 && (lines->outer == 1 || lines->row[i] % each == 0));
  if (lines->line % each != 0 || !is_aligned) lines->each = 1;
  lines->is_stepped = lines->is_stepped || lines->step[i] != 1;
  return true;
}

// Elements that an item copies at a time.
static int each_of(const tsri_kernel_run *run, const joined_lines *lines) {
  bool is_pitched = lines->line != lines->pitch, is_double = tsr_dtype_bytes(run->dtype) == 8;
  bool is_aligned = lines->at % lines->each == 0 && lines->pitch % lines->each == 0;
  return (is_pitched && !is_aligned) || (is_double && lines->is_stepped) ? 1 : lines->each;
}

// Two elements of 8 bytes are copied as four units of 4 bytes.
static tsr_status launch_lines(const tsri_kernel_run *run, const joined_lines *lines) {
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  int each = each_of(run, lines), scale = each == 2 ? 2 : 1;
  bool is_pitched = lines->line != lines->pitch;
  tsr_dtype unit = scale == 2 ? TSR_U32 : tsri_call_carrier(run->device, run->dtype);
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_join", "join_lines",
      TSRI_WITH(TSRI_TYPE("T", unit), TSRI_CONSTANT("EACH", each * scale), TSRI_CONSTANT("STEPPED", lines->is_stepped),
                TSRI_CONSTANT("MANY", lines->count > FEW), TSRI_CONSTANT("PITCHED", is_pitched),
                TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  static const char *const names[MOST_JOINED][5] = {
      {"a", "a_at", "a_row", "a_step", "a_end"}, {"b", "b_at", "b_row", "b_step", "b_end"},
      {"c", "c_at", "c_row", "c_step", "c_end"}, {"d", "d_at", "d_row", "d_step", "d_end"},
      {"e", "e_at", "e_row", "e_step", "e_end"}, {"f", "f_at", "f_row", "f_step", NULL}};
  for (int i = 0; i < MOST_JOINED; i++) {
    int from = i < lines->count ? i : 0, input = lines->inputs[from];
    tsri_call_buffer(&call, names[i][0], run->inputs[input], unit);
    tsri_call_word(&call, names[i][1], run->layouts[input].offset * scale);
    tsri_call_word(&call, names[i][2], lines->row[from] * scale);
    tsri_call_word(&call, names[i][3], lines->step[from]);
    if (names[i][4]) tsri_call_word(&call, names[i][4], (i < lines->count ? lines->end[i] : lines->line) * scale);
  }
  tsri_call_buffer(&call, "y", run->output, unit);
  tsri_call_word(&call, "n", lines->outer * lines->line * scale);
  tsri_call_word(&call, "line", lines->line * scale);
  tsri_call_word(&call, "y_at", lines->at * scale);
  tsri_call_word(&call, "y_row", lines->pitch * scale);
  return tsri_call_rounds(&call, lines->outer * lines->line / each);
}

// As tsri_join_lines, by the kernel, MOST_JOINED inputs at a time. All inputs are checked before the first launch.
static tsr_status join_kernel(const tsri_kernel_run *run, int axis) {
  // Loads and stores have at most 16 bytes: what neighbouring items store is then contiguous.
  joined_lines first = {.outer = 1, .pitch = 1, .each = tsr_dtype_bytes(run->dtype) == 8 ? 2 : 4};
  for (int i = 0; i < run->shape.rank; i++) *(i < axis ? &first.outer : &first.pitch) *= run->shape.dims[i];
  if (!tsri_call_tuning(run->device)->reduce_wide || first.outer * first.pitch >= most_elements(run))
    return TSR_ERR_UNSUPPORTED;
  for (int pass = 0; pass < 2; pass++) {
    joined_lines lines = first;
    for (int i = 0; i < run->input_count; i++) {
      if (run->layouts[i].count > 0 && !add_lines(&lines, run, i)) return TSR_ERR_UNSUPPORTED;
      if (lines.count == 0 || (lines.count < MOST_JOINED && i + 1 < run->input_count)) continue;
      tsr_status status = pass == 1 ? launch_lines(run, &lines) : TSR_OK;
      if (status != TSR_OK) return status;
      int64_t at = lines.at + lines.line;
      lines = first;
      lines.at = at;
    }
  }
  return TSR_OK;
}

tsr_status tsri_join_lines(const tsri_kernel_run *run, int axis) {
  tsr_status status = join_native(run, axis);
  return status == TSR_ERR_UNSUPPORTED ? join_kernel(run, axis) : status;
}
