// SPDX-License-Identifier: MIT
// tsr_capture_save: the trace of a capture as the bytes of a file. Writing the file is write.c's.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "graph/capture.h"
#include "ops/kernel.h"
#include "saved/again.h"
#include "saved/attributes.h"
#include "saved/names.h"
#include "saved/optimisers.h"
#include "saved/write.h"

#include <tessera/version.h>

// Which tensor of which optimiser a leaf is; `optimiser` counts from 1, 0: of none.
typedef struct member {
  uint32_t optimiser, place;
} member;

// A capture on its way to a file.
typedef struct saving {
  const tsri_trace *trace;
  const tsr_save_desc *desc;
  uint32_t *
      numbers;  // for each value of the trace its number in the file, from 1; 0: not needed (1: needed, until number_values)
  bool *is_kept;  // steps
  uint32_t leaf_count, step_count;
  tsri_builder text;
  tsri_saved_data *data;  // one for each leaf whose elements are saved
  uint32_t data_count;
  const tsr_optim **optims;
  uint32_t optim_count;
  member *members;  // of the trace's values
} saving;

static void saving_deinit(saving *s) {
  tsri_free(s->numbers);
  tsri_free(s->is_kept);
  tsri_free(s->data);
  tsri_free(s->optims);
  tsri_free(s->members);
  tsri_builder_deinit(&s->text);
}

static tsr_status no_memory(void) { return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_save: no host memory for it"); }

// --- Which values are needed -------------------------------------------------------------------------------------------

static tsr_status check_name(const tsr_named_tensor *all, int index, const char *what) {
  const char *name = all[index].name;
  size_t bytes = name ? strlen(name) : 0;
  if (bytes == 0 || bytes > TSRI_SAVED_MOST_NAME) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: %s %d: a name has 1 to %d bytes, this one has %zu", what,
                     index, TSRI_SAVED_MOST_NAME, bytes);
  }
  for (int i = 0; i < index; i++) {
    if (strcmp(all[i].name, name) != 0) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: two %ss have the name '%s'", what, name);
  }
  return TSR_OK;
}

static const tsri_traced_leaf *find_leaf(const tsri_trace *trace, uint32_t number) {
  for (uint32_t i = 0; i < trace->leaf_count; i++) {
    if (trace->leaves[i].value == number) return &trace->leaves[i];
  }
  return NULL;
}

static tsr_status mark_port(saving *s, const tsr_named_tensor *port, bool is_input) {
  tsr_status status = tsri_tensor_check("capture_save", port->tensor);
  if (status != TSR_OK) return status;
  uint32_t number = tsri_trace_find(s->trace, port->tensor);
  if (number == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: '%s' is no part of the capture", port->name);
  }
  const tsri_traced_leaf *leaf = find_leaf(s->trace, number);
  if (is_input && (!leaf || leaf->is_filled)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: '%s' is computed by the capture, so it is no input",
                     port->name);
  }
  s->numbers[number] = 1;
  return TSR_OK;
}

static tsr_status mark_ports(saving *s, const tsr_named_tensor *ports, int count, bool is_input) {
  if (count < 0 || (count > 0 && !ports)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: %d %ss, and the list of them is %s", count,
                     is_input ? "input" : "output", ports ? "there" : "NULL");
  }
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) {
    status = check_name(ports, i, is_input ? "input" : "output");
    if (status == TSR_OK) status = mark_port(s, &ports[i], is_input);
  }
  return status;
}

static bool is_step_needed(const saving *s, const tsri_traced_step *step) {
  bool is_needed = step->kind != TSRI_TRACED_OPERATOR;
  for (uint32_t i = 0; i < step->result_count && !is_needed; i++) is_needed = s->numbers[step->first_result + i] != 0;
  return is_needed;
}

// From the last step to the first: what a needed step reads is needed, too.
static void mark_steps(saving *s) {
  for (uint32_t i = s->trace->step_count; i-- > 0;) {
    const tsri_traced_step *step = &s->trace->steps[i];
    s->is_kept[i] = is_step_needed(s, step);
    s->step_count += s->is_kept[i];
    for (uint32_t k = 0; k < step->view_count && s->is_kept[i]; k++) s->numbers[step->views[k].value] = 1;
  }
}

// The optimiser of a step, counted from 1; it is added if it is new.
static uint32_t number_optim(saving *s, const tsr_optim *optim) {
  for (uint32_t i = 0; i < s->optim_count; i++) {
    if (s->optims[i] == optim) return i + 1;
  }
  s->optims[s->optim_count] = optim;
  return ++s->optim_count;
}

// Finds the leaves that optimisers update.
static tsr_status mark_members(saving *s) {
  for (uint32_t i = 0; i < s->trace->step_count; i++) {
    const tsri_traced_step *step = &s->trace->steps[i];
    if (step->kind != TSRI_TRACED_UPDATE) continue;
    uint32_t number = number_optim(s, step->object);
    for (uint32_t k = 0; k < step->view_count; k++) {
      uint32_t value = step->views[k].value;
      const tsri_traced_leaf *leaf = find_leaf(s->trace, value);
      bool is_free = s->members[value].optimiser == 0 || s->members[value].optimiser == number;
      if (!leaf || leaf->is_filled || !is_free) {
        return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                         "capture_save: two optimisers update the same tensors; one for each set can be saved");
      }
      s->members[value] = (member){number, k};
    }
  }
  return TSR_OK;
}

// In the file, leaves come first, then the results of steps in their order.
static void number_values(saving *s) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < s->trace->leaf_count; i++) {
    uint32_t value = s->trace->leaves[i].value;
    if (s->numbers[value]) s->numbers[value] = ++next;
  }
  s->leaf_count = next;
  for (uint32_t i = 0; i < s->trace->step_count; i++) {
    const tsri_traced_step *step = &s->trace->steps[i];
    bool has_results = s->is_kept[i] && step->kind == TSRI_TRACED_OPERATOR;
    for (uint32_t k = 0; has_results && k < step->result_count; k++) s->numbers[step->first_result + k] = ++next;
  }
}

static tsr_status check_steps(const saving *s) {
  for (uint32_t i = 0; i < s->trace->step_count; i++) {
    const tsri_traced_step *step = &s->trace->steps[i];
    if (!s->is_kept[i] || step->kind != TSRI_TRACED_OPERATOR || tsri_again_is_known(step->op)) continue;
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "capture_save: a step of '%s' cannot be saved (docs/captures.md lists which can)", step->op->name);
  }
  return TSR_OK;
}

// --- The description ---------------------------------------------------------------------------------------------------

static void put_view(saving *s, uint32_t value, tsr_dtype dtype, tsr_dtype as, const tsri_layout *layout) {
  tsri_saved_put(&s->text, s->numbers[value] - 1, 4);
  tsri_saved_put(&s->text, (uint64_t)dtype, 1);
  tsri_saved_put(&s->text, (uint64_t)as, 1);
  tsri_saved_put(&s->text, (uint64_t)layout->shape.rank, 1);
  tsri_saved_put(&s->text, 0, 1);
  tsri_saved_put(&s->text, (uint64_t)layout->offset, 8);
  for (int i = 0; i < layout->shape.rank; i++) {
    tsri_saved_put(&s->text, (uint64_t)layout->shape.dims[i], 8);
    tsri_saved_put(&s->text, (uint64_t)layout->strides[i], 8);
  }
}

static void put_views(saving *s, const tsri_traced_step *step) {
  tsri_saved_put(&s->text, step->view_count, 4);
  for (uint32_t i = 0; i < step->view_count; i++) {
    const tsri_traced_view *view = &step->views[i];
    put_view(s, view->value, view->dtype, view->as, &view->layout);
  }
}

static void put_string(saving *s, const char *text) {
  tsri_saved_put_text(&s->text, text ? text : "", text ? strlen(text) : 0);
}

static void put_operator(saving *s, const tsri_traced_step *step) {
  int body = tsri_saved_body_of(step->op);
  put_string(s, tsri_saved_name_of(step->op));
  tsri_saved_put(&s->text, body < 0 ? TSRI_SAVED_EXPRESSION : (uint64_t)body, 1);
  if (body < 0) {
    put_string(s, step->op->expression);
    put_string(s, step->op->helper);
    tsri_saved_put(&s->text, step->op->is_costly, 1);
  }
  tsri_saved_put(&s->text, step->axes, 4);
  tsri_saved_put(&s->text, step->result_count, 1);
  for (uint32_t i = 0; i < step->result_count; i++) {
    const tsri_result *result = &step->results[i];
    tsri_saved_put(&s->text, (uint64_t)result->dtype, 1);
    tsri_saved_put(&s->text, (uint64_t)result->shape.rank, 1);
    for (int k = 0; k < result->shape.rank; k++) tsri_saved_put(&s->text, (uint64_t)result->shape.dims[k], 8);
  }
  put_views(s, step);
  tsri_saved_put_attributes(&s->text, step->op, step->attributes);
}

static void put_argument(saving *s, const tsr_arg *arg) {
  uint64_t word = 0;
  if (arg->kind == TSR_ARG_INT) memcpy(&word, &arg->integer, sizeof word);
  if (arg->kind == TSR_ARG_FLOAT) memcpy(&word, &arg->real, sizeof word);
  tsri_saved_put(&s->text, (uint64_t)arg->kind, 1);
  tsri_saved_put(&s->text, word, 8);
}

static void put_launch(saving *s, const tsri_traced_step *step) {
  const tsri_kernel_launch *launch = step->object;
  const tsri_kernel_text *text = &launch->kernel->text;
  tsri_saved_put_text(&s->text, text->source, text->source_bytes);
  put_string(s, text->fills);
  put_string(s, text->defines);
  put_string(s, launch->kernel->ir->name);
  tsri_saved_put(&s->text, launch->grid.x, 4);
  tsri_saved_put(&s->text, launch->grid.y, 4);
  tsri_saved_put(&s->text, launch->grid.z, 4);
  tsri_saved_put(&s->text, (uint64_t)launch->arg_count, 4);
  for (int i = 0; i < launch->arg_count; i++) put_argument(s, &launch->args[i]);
  put_views(s, step);
}

static void put_steps(saving *s) {
  tsri_saved_put(&s->text, s->step_count, 4);
  for (uint32_t i = 0; i < s->trace->step_count; i++) {
    const tsri_traced_step *step = &s->trace->steps[i];
    if (!s->is_kept[i]) continue;
    tsri_saved_put(&s->text, (uint64_t)step->kind, 1);
    if (step->kind == TSRI_TRACED_OPERATOR) put_operator(s, step);
    if (step->kind == TSRI_TRACED_ASSIGNMENT) put_views(s, step);
    if (step->kind == TSRI_TRACED_LAUNCH) put_launch(s, step);
    if (step->kind == TSRI_TRACED_UPDATE) tsri_saved_put(&s->text, number_optim(s, step->object) - 1, 4);
  }
}

static void put_ports(saving *s, const tsr_named_tensor *ports, int count) {
  tsri_saved_put(&s->text, (uint64_t)count, 4);
  for (int i = 0; i < count; i++) {
    const tsr_tensor *tensor = ports[i].tensor;
    put_string(s, ports[i].name);
    put_view(s, tsri_trace_find(s->trace, tensor), tensor->dtype, tensor->dtype, &tensor->layout);
  }
}

// --- Leaves --------------------------------------------------------------------------------------------------------------

// Whether inputs write all elements of the leaf, so that those it has now are not needed.
static bool is_covered(const saving *s, const tsri_traced_leaf *leaf, size_t bytes) {
  for (int i = 0; i < s->desc->input_count; i++) {
    const tsr_tensor *input = s->desc->inputs[i].tensor;
    bool is_whole = tsri_layout_is_contiguous(&input->layout) && input->layout.offset == 0 &&
                    (size_t)input->layout.count * tsr_dtype_bytes(input->dtype) == bytes;
    if (is_whole && tsri_trace_find(s->trace, input) == leaf->value) return true;
  }
  return false;
}

// Writes the description of a leaf. Runs its value first: a pending assignment changes the leaf's elements.
static tsr_status put_leaf(saving *s, const tsri_traced_leaf *leaf, uint64_t *offset) {
  tsr_status status = tsri_graph_run_value(leaf->is_of);
  if (status != TSR_OK) return status;
  tsr_buffer *buffer = tsri_value_buffer(leaf->is_of);
  size_t bytes = tsr_buffer_bytes(buffer);
  const member *of = &s->members[leaf->value];
  tsri_saved_leaf kind = of->optimiser                ? TSRI_SAVED_MEMBER
                         : leaf->is_filled            ? TSRI_SAVED_FILLED
                         : is_covered(s, leaf, bytes) ? TSRI_SAVED_BLANK
                                                      : TSRI_SAVED_DATA;
  uint64_t word = 0;
  for (int i = 0; i < 8 && kind == TSRI_SAVED_FILLED; i++) word |= (uint64_t)leaf->pattern[i] << 8 * i;
  if (kind == TSRI_SAVED_DATA || kind == TSRI_SAVED_MEMBER) {
    word = *offset;
    s->data[s->data_count++] = (tsri_saved_data){buffer, bytes};
    *offset += (bytes + TSRI_SAVED_ALIGNMENT - 1) / TSRI_SAVED_ALIGNMENT * TSRI_SAVED_ALIGNMENT;
  }
  tsri_saved_put(&s->text, (uint64_t)leaf->dtype, 1);
  tsri_saved_put(&s->text, (uint64_t)kind, 1);
  tsri_saved_put(&s->text, bytes, 8);
  tsri_saved_put(&s->text, word, 8);
  if (kind == TSRI_SAVED_MEMBER) {
    tsri_saved_put(&s->text, of->optimiser - 1, 4);
    tsri_saved_put(&s->text, of->place, 4);
  }
  return TSR_OK;
}

static tsr_status put_leaves(saving *s) {
  uint64_t offset = 0;
  tsr_status status = TSR_OK;
  tsri_saved_put(&s->text, s->leaf_count, 4);
  for (uint32_t i = 0; i < s->trace->leaf_count && status == TSR_OK; i++) {
    const tsri_traced_leaf *leaf = &s->trace->leaves[i];
    if (s->numbers[leaf->value]) status = put_leaf(s, leaf, &offset);
  }
  return status;
}

static tsr_status put_optimisers(saving *s) {
  tsr_status status = TSR_OK;
  tsri_saved_put(&s->text, s->optim_count, 4);
  for (uint32_t i = 0; i < s->optim_count && status == TSR_OK; i++) {
    status = tsri_saved_put_optimiser(&s->text, s->optims[i]);
  }
  return status;
}

static tsr_status describe(saving *s) {
  tsr_status status = mark_ports(s, s->desc->inputs, s->desc->input_count, true);
  if (status == TSR_OK) status = mark_ports(s, s->desc->outputs, s->desc->output_count, false);
  if (status != TSR_OK) return status;
  mark_steps(s);
  status = check_steps(s);
  if (status == TSR_OK) status = mark_members(s);
  if (status != TSR_OK) return status;
  number_values(s);
  put_string(s, tsr_version());
  status = put_optimisers(s);
  if (status == TSR_OK) status = put_leaves(s);
  if (status != TSR_OK) return status;
  put_steps(s);
  put_ports(s, s->desc->inputs, s->desc->input_count);
  put_ports(s, s->desc->outputs, s->desc->output_count);
  return s->text.has_failed ? no_memory() : TSR_OK;
}

static tsr_status check(const tsr_capture *capture, const tsr_save_desc *desc) {
  tsr_status status = tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_save", "capture");
  if (status != TSR_OK) return status;
  if (!desc || !desc->path) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_save: %s is NULL", desc ? "the path" : "desc");
  }
  const tsri_trace *trace = tsri_tape_trace(capture->tape);
  if (!trace || trace->status != TSR_OK) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_save: host memory was out when the operators were captured");
  }
  int unexplained = tsri_tape_unexplained(capture->tape);
  if (unexplained == 0) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture_save: %d of %d steps come from no operator, and cannot be saved",
                   unexplained, tsri_tape_step_count(capture->tape));
}

tsr_status tsr_capture_save(tsr_capture *capture, const tsr_save_desc *desc) {
  tsr_status status = check(capture, desc);
  if (status != TSR_OK) return status;
  saving s = {.trace = tsri_tape_trace(capture->tape), .desc = desc};
  s.numbers = tsri_calloc((size_t)s.trace->value_count + 1, sizeof *s.numbers);
  s.is_kept = tsri_calloc((size_t)s.trace->step_count + 1, sizeof *s.is_kept);
  s.data = tsri_calloc((size_t)s.trace->leaf_count + 1, sizeof *s.data);
  s.optims = tsri_calloc((size_t)s.trace->step_count + 1, sizeof *s.optims);
  s.members = tsri_calloc((size_t)s.trace->value_count + 1, sizeof *s.members);
  status =
      s.numbers && s.is_kept && s.data && s.optims && s.members ? tsri_graph_before_play(capture->tape) : no_memory();
  if (status == TSR_OK) status = describe(&s);
  if (status == TSR_OK) status = tsri_saved_write(desc->path, s.text.text, s.text.bytes, s.data, s.data_count);
  saving_deinit(&s);
  return status;
}
