// SPDX-License-Identifier: MIT
// Steps of a file: operators, assignments, launches of kernels and steps of optimisers are recorded as they are read.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/layout.h"
#include "graph/embedded.h"
#include "ops/kernel.h"
#include "saved/again.h"
#include "saved/attributes.h"
#include "saved/load.h"
#include "saved/names.h"
#include "saved/optimisers.h"

enum { VIEW_BYTES = 16 };  // of the shortest view

// The views of a step, one after the other.
typedef struct step_views {
  tsr_tensor **tensors;
  tsr_dtype *as;  // the same allocation
  uint32_t count;
} step_views;

static tsr_status take_views(tsri_loading *l, step_views *out) {
  uint32_t count = tsri_saved_take_count(&l->text, VIEW_BYTES);
  out->tensors = tsri_malloc(((size_t)count + 1) * (sizeof *out->tensors + sizeof *out->as));
  if (!out->tensors) return tsri_loading_no_memory();
  out->as = (tsr_dtype *)(out->tensors + count + 1);
  tsr_status status = TSR_OK;
  for (out->count = 0; out->count < count && status == TSR_OK; out->count++) {
    tsri_loaded_view view = {0};
    status = tsri_loading_take_view(l, &view);
    out->tensors[out->count] = view.tensor;
    out->as[out->count] = view.as;
  }
  return status;
}

// Makes the tensor an output of the capture, so that the writes to it are part of the capture.
static tsr_status add_written(tsri_loading *l, tsr_tensor *tensor) {
  if (l->written_count == l->written_room) {
    uint32_t room = l->written_room ? 2 * l->written_room : 16;
    tsr_tensor **written = tsri_realloc(l->written, room * sizeof *written);
    if (!written) return tsri_loading_no_memory();
    l->written = written;
    l->written_room = room;
  }
  l->written[l->written_count++] = tensor;
  return TSR_OK;
}

// --- Operators -------------------------------------------------------------------------------------------------------

static tsr_status take_expression(tsri_loading *l, const char *name, const tsri_op **out_op) {
  enum { MOST_EXPRESSION = 4096 };
  char *expression = tsri_saved_take_string(&l->text, MOST_EXPRESSION);
  char *helper = tsri_saved_take_string(&l->text, TSRI_SAVED_MOST_NAME);
  bool is_costly = tsri_saved_take(&l->text, 1) != 0, has_helper = helper && helper[0];
  bool is_known = !has_helper || (strncmp(helper, "fn_", 3) == 0 && tsri_embedded_text(helper, NULL));
  if (expression && helper && is_known) {
    *out_op = tsri_again_expression(name, expression, has_helper ? helper : NULL, is_costly);
  }
  tsri_free(expression);
  tsri_free(helper);
  if (*out_op) return TSR_OK;
  return l->text.is_short ? tsri_loading_fail("it ends too early") : tsri_loading_fail("an expression that is none");
}

static tsr_status take_op(tsri_loading *l, const tsri_op **out_op) {
  char *name = tsri_saved_take_string(&l->text, TSRI_SAVED_MOST_NAME);
  uint32_t body = (uint32_t)tsri_saved_take(&l->text, 1);
  tsr_status status = TSR_OK;
  *out_op = NULL;
  if (!name) {
    status = l->text.is_short ? tsri_loading_fail("it ends too early") : tsri_loading_no_memory();
  } else if (body == TSRI_SAVED_EXPRESSION) {
    status = take_expression(l, name, out_op);
  } else {
    *out_op = tsri_saved_find_op(name, strlen(name), body);
    if (!*out_op || !tsri_again_is_known(*out_op)) {
      status = TSRI_FAIL(
          TSR_ERR_UNSUPPORTED,
          "capture_load: this version has no operator '%s' that can be loaded; a later one may have made the file",
          name);
    }
  }
  tsri_free(name);
  return status;
}

static tsr_status take_results(tsri_loading *l, tsri_result *results, int64_t *counts, uint32_t *out_count) {
  *out_count = (uint32_t)tsri_saved_take(&l->text, 1);
  if (*out_count < 1 || *out_count > TSRI_MAX_RESULTS) return tsri_loading_fail("a number of results");
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < *out_count && status == TSR_OK; i++) {
    status = tsri_loading_take_dtype(l, &results[i].dtype);
    if (status == TSR_OK) status = tsri_loading_take_shape(l, results[i].dtype, &results[i].shape, &counts[i]);
  }
  return status;
}

// Attributes of 8 bytes each: the largest set has less than 64 of them.
typedef union attributes {
  uint64_t words[64];
  tsri_scalars scalars;
} attributes;

static tsr_status take_attributes(tsri_loading *l, const tsri_op *op, attributes *out) {
  char bad[TSRI_SAVED_MOST_NAME + 1];
  *out = (attributes){{0}};
  if (tsri_op_attribute_bytes(op) > sizeof *out) return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: attributes", op->name);
  tsri_saved_take_attributes(&l->text, op, out->words, bad);
  if (l->text.is_short) return tsri_loading_fail("it ends too early");
  if (!bad[0]) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture_load: '%s' has no attribute '%s' of this kind in this version",
                   op->name, bad);
}

static tsr_status record_operator(tsri_loading *l, tsri_again *again, const int64_t *counts) {
  tsr_tensor *results[TSRI_MAX_RESULTS] = {NULL};
  tsr_status status = tsri_again_record(again, results);
  for (uint32_t i = 0; i < again->result_count && status == TSR_OK; i++) {
    status = tsri_loading_add_value(l, results[i], again->results[i].dtype, counts[i]);
  }
  return status;
}

static tsr_status take_operator(tsri_loading *l) {
  tsri_result results[TSRI_MAX_RESULTS];
  int64_t counts[TSRI_MAX_RESULTS] = {0};
  attributes given;
  step_views views = {0};
  tsri_again again = {.device = l->device, .results = results};
  tsr_status status = take_op(l, &again.op);
  again.axes = tsri_saved_take_u32(&l->text);
  if (status == TSR_OK) status = take_results(l, results, counts, &again.result_count);
  if (status == TSR_OK) status = take_views(l, &views);
  if (status == TSR_OK) status = take_attributes(l, again.op, &given);
  if (status == TSR_OK) {
    again.given = tsri_op_attribute_bytes(again.op) ? &given : NULL;
    again.inputs = views.tensors;
    again.as = views.as;
    again.input_count = views.count;
    status = record_operator(l, &again, counts);
  }
  tsri_free(views.tensors);
  return status;
}

// --- Assignments and launches --------------------------------------------------------------------------------------------

static tsr_status take_assignment(tsri_loading *l) {
  step_views views = {0};
  tsr_status status = take_views(l, &views);
  if (status == TSR_OK && views.count != 2) status = tsri_loading_fail("an assignment without source");
  if (status == TSR_OK && (views.tensors[0]->dtype != views.tensors[1]->dtype ||
                           !tsri_shape_equal(views.tensors[0]->layout.shape, views.tensors[1]->layout.shape))) {
    status = tsri_loading_fail("an assignment of another shape");
  }
  if (status == TSR_OK) status = tsr_assign(views.tensors[0], views.tensors[1]);
  if (status == TSR_OK) status = add_written(l, views.tensors[0]);
  tsri_free(views.tensors);
  return status;
}

enum { MOST_ARGUMENTS = TSRI_LANG_MAX_BUFFERS + TSRI_LANG_MAX_PARAMS, MOST_DEFINES = 32 };

typedef struct launch_texts {
  char *source, *fills, *defines, *kernel;
} launch_texts;

static void free_texts(launch_texts *texts) {
  tsri_free(texts->source);
  tsri_free(texts->fills);
  tsri_free(texts->defines);
  tsri_free(texts->kernel);
}

static tsr_status take_texts(tsri_loading *l, launch_texts *out) {
  out->source = tsri_saved_take_string(&l->text, TSRI_LANG_MAX_BYTES);
  out->fills = tsri_saved_take_string(&l->text, TSRI_LANG_MAX_BYTES);
  out->defines = tsri_saved_take_string(&l->text, TSRI_LANG_MAX_BYTES);
  out->kernel = tsri_saved_take_string(&l->text, TSRI_SAVED_MOST_NAME);
  if (out->source && out->fills && out->defines && out->kernel) return TSR_OK;
  return l->text.is_short ? tsri_loading_fail("it ends too early") : tsri_loading_no_memory();
}

// Splits lines in place.
static int split_defines(char *text, const char **defines) {
  int count = 0;
  while (*text && count < MOST_DEFINES) {
    char *end = strchr(text, '\n');
    defines[count++] = text;
    if (!end) break;
    *end = 0;
    text = end + 1;
  }
  return count;
}

static tsr_status build_kernel(launch_texts *texts, tsr_kernel **out_kernel) {
  const char *defines[MOST_DEFINES];
  tsr_kernel_desc desc = {.source = texts->source,
                          .file_name = "saved kernel",
                          .kernel = texts->kernel,
                          .fills = texts->fills[0] ? texts->fills : NULL,
                          .defines = defines,
                          .define_count = split_defines(texts->defines, defines)};
  return tsr_kernel_build(&desc, out_kernel);
}

static tsr_status take_arguments(tsri_loading *l, tsr_arg *args, uint32_t *out_count) {
  *out_count = tsri_saved_take_count(&l->text, 9);
  if (*out_count > MOST_ARGUMENTS) return tsri_loading_fail("a number of arguments");
  for (uint32_t i = 0; i < *out_count; i++) {
    uint64_t kind = tsri_saved_take(&l->text, 1), word = tsri_saved_take(&l->text, 8);
    if (kind > TSR_ARG_FLOAT) return tsri_loading_fail("a kind of argument");
    args[i] = (tsr_arg){.kind = (tsr_arg_kind)kind};
    if (kind == TSR_ARG_INT) memcpy(&args[i].integer, &word, sizeof word);
    if (kind == TSR_ARG_FLOAT) memcpy(&args[i].real, &word, sizeof word);
  }
  return TSR_OK;
}

// Gives the tensors to the arguments that take one, in their order.
static tsr_status place_tensors(const step_views *views, tsr_arg *args, uint32_t arg_count) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < arg_count; i++) {
    if (args[i].kind != TSR_ARG_TENSOR) continue;
    if (at == views->count) return tsri_loading_fail("too few tensors for a kernel");
    args[i].tensor = views->tensors[at++];
  }
  return at == views->count ? TSR_OK : tsri_loading_fail("too many tensors for a kernel");
}

static tsr_status launch(tsri_loading *l, tsr_kernel *kernel, tsr_grid grid, const tsr_arg *args, uint32_t count) {
  tsr_status status = tsr_kernel_launch(kernel, grid, args, (int)count);
  for (int i = 0; i < kernel->param_count && status == TSR_OK; i++) {
    bool is_written = kernel->params[i].access == TSR_ACCESS_OUT || kernel->params[i].access == TSR_ACCESS_INOUT;
    if (is_written) status = add_written(l, args[i].tensor);
  }
  return status;
}

static tsr_status take_launch(tsri_loading *l) {
  if (l->desc->refuses_kernels) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture_load: the file has kernels of its own, which are refused");
  }
  launch_texts texts = {0};
  tsr_arg args[MOST_ARGUMENTS];
  uint32_t arg_count = 0;
  step_views views = {0};
  tsr_kernel *kernel = NULL;
  tsr_status status = take_texts(l, &texts);
  tsr_grid grid = {.x = tsri_saved_take_u32(&l->text)};
  grid.y = tsri_saved_take_u32(&l->text);
  grid.z = tsri_saved_take_u32(&l->text);
  if (status == TSR_OK) status = take_arguments(l, args, &arg_count);
  if (status == TSR_OK) status = take_views(l, &views);
  if (status == TSR_OK) status = place_tensors(&views, args, arg_count);
  if (status == TSR_OK) status = build_kernel(&texts, &kernel);
  if (status == TSR_OK) status = launch(l, kernel, grid, args, arg_count);
  tsr_kernel_release(kernel);
  tsri_free(views.tensors);
  free_texts(&texts);
  return status;
}

static tsr_status take_update(tsri_loading *l) {
  uint32_t number = tsri_saved_take_u32(&l->text);
  if (number >= l->optimiser_count) return tsri_loading_fail("a step of an optimiser that is not there");
  const tsri_loaded_optimiser *of = &l->optimisers[number];
  tsr_status status = tsr_optim_step(of->optim);
  for (int i = 0; i < of->params->count && status == TSR_OK; i++) status = add_written(l, of->tensors[i]);
  return status;
}

tsr_status tsri_loading_take_steps(tsri_loading *l) {
  enum { LEAST_STEP = 5 };
  uint32_t count = tsri_saved_take_count(&l->text, LEAST_STEP);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < count && status == TSR_OK; i++) {
    uint64_t kind = tsri_saved_take(&l->text, 1);
    status = kind == TSRI_TRACED_OPERATOR     ? take_operator(l)
             : kind == TSRI_TRACED_ASSIGNMENT ? take_assignment(l)
             : kind == TSRI_TRACED_LAUNCH     ? take_launch(l)
             : kind == TSRI_TRACED_UPDATE     ? take_update(l)
                                              : tsri_loading_fail("a kind of step");
  }
  return status == TSR_OK && l->text.is_short ? tsri_loading_fail("it ends too early") : status;
}
