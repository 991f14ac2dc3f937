// SPDX-License-Identifier: MIT
// Writes optimisers to files, from their tables on the device, and reads them. Everything that is read is checked.
#include "saved/optimisers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

enum { CLIPS_NORM = 1, SCALES = 2, MOST_GROUPS = 256 };

// --- Writing ---------------------------------------------------------------------------------------------------------

static void put_words(tsri_builder *to, const uint32_t *words, size_t count) {
  for (size_t i = 0; i < count; i++) tsri_saved_put(to, words[i], 4);
}

static void put_members(tsri_builder *to, const tsr_optim *optim, const uint32_t *table) {
  const tsr_params *params = optim->params;
  tsri_saved_put(to, (uint64_t)params->count, 4);
  for (int i = 0; i < params->count; i++) {
    const tsri_param *param = &params->params[i];
    const tsr_shape *shape = &param->layout.shape;
    tsri_saved_put(to, (uint64_t)shape->rank, 1);
    for (int k = 0; k < shape->rank; k++) tsri_saved_put(to, (uint64_t)shape->dims[k], 8);
    bool has_mark = param->layout.count > 0;
    tsri_saved_put(to, has_mark ? table[optim->marks_at + param->at / params->step] : 0, 4);
  }
}

static void put_all(tsri_builder *to, const tsr_optim *optim, const uint32_t *table, const uint32_t state[3]) {
  uint32_t group_words = (uint32_t)optim->marks_at - TSRI_OPTIM_GROUPS;
  tsri_saved_put(to, (uint64_t)optim->params->dtype, 1);
  tsri_saved_put(to, (uint64_t)optim->kind, 1);
  tsri_saved_put(to, (optim->clips_norm ? CLIPS_NORM : 0) | (optim->scales ? SCALES : 0), 1);
  put_words(to, state, 3);
  tsri_saved_put(to, TSRI_OPTIM_GROUPS, 4);
  put_words(to, table, TSRI_OPTIM_GROUPS);
  tsri_saved_put(to, group_words / 2, 4);
  put_words(to, table + TSRI_OPTIM_GROUPS, group_words);
  put_members(to, optim, table);
}

tsr_status tsri_saved_put_optimiser(tsri_builder *to, const tsr_optim *optim) {
  const int64_t places[3] = {0, optim->scales_at, optim->good_at};
  uint32_t state[3] = {0};
  size_t bytes = tsr_buffer_bytes(optim->table);
  uint32_t *table = tsri_malloc(bytes);
  if (!table) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_save: no host memory for the table of an optimiser");
  tsr_status status = tsr_buffer_download(optim->table, 0, table, bytes);
  for (int i = 0; i < 3 && status == TSR_OK; i++) {
    status = tsr_buffer_download(optim->work, (size_t)places[i] * sizeof *state, &state[i], sizeof *state);
  }
  if (status == TSR_OK) put_all(to, optim, table, state);
  tsri_free(table);
  return status;
}

// --- Reading ---------------------------------------------------------------------------------------------------------

static float take_float(tsri_loading *l) {
  uint32_t bits = tsri_saved_take_u32(&l->text);
  float number = 0;
  memcpy(&number, &bits, sizeof number);
  return number;
}

// Logarithms of 0 are infinite.
static tsr_status take_numbers(tsri_loading *l, tsri_optim_form *form) {
  uint32_t count = tsri_saved_take_count(&l->text, sizeof(float));
  if (count > TSRI_OPTIM_GROUPS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture_load: an optimiser has %u settings, and this version knows %d",
                     count, (int)TSRI_OPTIM_GROUPS);
  }
  for (uint32_t i = 0; i < count; i++) {
    form->numbers[i] = take_float(l);
    bool may_be_infinite = i == TSRI_OPTIM_LOG1 || i == TSRI_OPTIM_LOG2;
    if (!isfinite(form->numbers[i]) && !(may_be_infinite && isinf(form->numbers[i]))) {
      return tsri_loading_fail("a setting of an optimiser");
    }
  }
  return TSR_OK;
}

static tsr_status take_groups(tsri_loading *l, tsri_optim_form *form) {
  uint32_t count = tsri_saved_take_count(&l->text, 2 * sizeof(float));
  if (count < 1 || count > MOST_GROUPS) return tsri_loading_fail("a number of groups");
  form->group_count = (int)count;
  form->groups = tsri_calloc(2 * (size_t)count, sizeof *form->groups);
  if (!form->groups) return tsri_loading_no_memory();
  for (uint32_t i = 0; i < 2 * count; i++) {
    form->groups[i] = take_float(l);
    if (!isfinite(form->groups[i])) return tsri_loading_fail("a setting of a group");
  }
  return TSR_OK;
}

enum { NAME_BYTES = 12 };
typedef char member_name[NAME_BYTES];

static tsr_status take_members(tsri_loading *l, tsr_dtype dtype, uint32_t count, tsri_optim_form *form,
                               tsr_param_desc *descs, member_name *names) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < count && status == TSR_OK; i++) {
    int64_t elements = 0;
    status = tsri_loading_take_shape(l, dtype, &descs[i].shape, &elements);
    form->group_of[i] = tsri_saved_take_u32(&l->text);
    snprintf(names[i], NAME_BYTES, "%u", i);
    descs[i].name = names[i];
    if (status == TSR_OK && form->group_of[i] >= (uint32_t)form->group_count) status = tsri_loading_fail("a group");
  }
  return status;
}

// Creates the set of tensors, all zeros.
static tsr_status take_set(tsri_loading *l, tsr_dtype dtype, tsri_optim_form *form, tsr_params **out_params) {
  enum { LEAST_MEMBER = 5 };
  uint32_t count = tsri_saved_take_count(&l->text, LEAST_MEMBER);
  tsr_param_desc *descs = tsri_calloc((size_t)count + 1, sizeof *descs);
  member_name *names = tsri_calloc((size_t)count + 1, sizeof *names);
  form->group_of = tsri_calloc((size_t)count + 1, sizeof *form->group_of);
  tsr_status status =
      descs && names && form->group_of ? take_members(l, dtype, count, form, descs, names) : tsri_loading_no_memory();
  if (status == TSR_OK && (count == 0 || l->text.is_short)) status = tsri_loading_fail("an optimiser");
  if (status == TSR_OK) status = tsr_params_create(l->device, dtype, descs, (int)count, 0, out_params);
  tsri_free(descs);
  tsri_free(names);
  return status;
}

static tsr_status list_tensors(tsri_loaded_optimiser *out) {
  size_t most = tsri_optim_most_tensors(out->optim);
  out->tensors = tsri_calloc(most, sizeof *out->tensors);
  out->is_taken = tsri_calloc(most, sizeof *out->is_taken);
  if (!out->tensors || !out->is_taken) return tsri_loading_no_memory();
  out->tensor_count = (uint32_t)tsri_optim_tensors(out->optim, out->tensors);
  return TSR_OK;
}

static tsr_status take_optimiser(tsri_loading *l, tsri_loaded_optimiser *out) {
  tsr_dtype dtype = TSR_F32;
  tsr_status status = tsri_loading_take_dtype(l, &dtype);
  uint64_t kind = tsri_saved_take(&l->text, 1), flags = tsri_saved_take(&l->text, 1);
  out->step = tsri_saved_take_u32(&l->text);
  out->scale = tsri_saved_take_u32(&l->text);
  out->good = tsri_saved_take_u32(&l->text);
  if (status != TSR_OK) return status;
  if (kind > TSR_LION || flags > (CLIPS_NORM | SCALES)) return tsri_loading_fail("a kind of optimiser");
  tsri_optim_form form = {
      .kind = (tsr_optim_kind)kind, .clips_norm = (flags & CLIPS_NORM) != 0, .scales = (flags & SCALES) != 0};
  form.first_scale = 1;
  status = take_numbers(l, &form);
  if (status == TSR_OK) status = take_groups(l, &form);
  if (status == TSR_OK) status = take_set(l, dtype, &form, &out->params);
  if (status == TSR_OK) status = tsri_optim_create(out->params, &form, &out->optim);
  if (status == TSR_OK) status = list_tensors(out);
  tsri_optim_form_deinit(&form);
  return status;
}

tsr_status tsri_loading_take_optimisers(tsri_loading *l) {
  enum { LEAST_OPTIMISER = 27 };
  uint32_t count = tsri_saved_take_count(&l->text, LEAST_OPTIMISER);
  l->optimisers = tsri_calloc((size_t)count + 1, sizeof *l->optimisers);
  if (!l->optimisers) return tsri_loading_no_memory();
  tsr_status status = TSR_OK;
  while (l->optimiser_count < count && status == TSR_OK) {
    status = take_optimiser(l, &l->optimisers[l->optimiser_count++]);
  }
  return status;
}

void tsri_loading_free_optimisers(tsri_loading *l) {
  for (uint32_t i = 0; i < l->optimiser_count; i++) {
    tsri_loaded_optimiser *one = &l->optimisers[i];
    tsri_free(one->tensors);
    tsri_free(one->is_taken);
    tsr_optim_release(one->optim);
    tsr_params_release(one->params);
  }
  tsri_free(l->optimisers);
}

// --- Members and state ---------------------------------------------------------------------------------------------

tsr_status tsri_loading_make_member(tsri_loading *l, const tsri_loaded_leaf *leaf, tsr_tensor **out_tensor) {
  bool is_there = leaf->optimiser < l->optimiser_count;
  tsri_loaded_optimiser *of = is_there ? &l->optimisers[leaf->optimiser] : NULL;
  if (!of || leaf->place >= of->tensor_count || of->is_taken[leaf->place]) return tsri_loading_fail("a member");
  tsr_tensor *tensor = of->tensors[leaf->place];
  int64_t count = tensor->layout.count;
  bool fits = tensor->dtype == leaf->dtype && (uint64_t)count * tsr_dtype_bytes(leaf->dtype) == leaf->bytes;
  if (!fits) return tsri_loading_fail("a member of another size");
  of->is_taken[leaf->place] = true;
  *out_tensor = tsr_reshape(tensor, TSR_SHAPE(count));
  tsr_status status = tsr_error(*out_tensor);
  return status == TSR_OK ? tsr_write(*out_tensor, l->data + leaf->word, (size_t)leaf->bytes) : status;
}

tsr_status tsri_loading_restore_optimisers(const tsri_loading *l) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < l->optimiser_count && status == TSR_OK; i++) {
    const tsri_loaded_optimiser *one = &l->optimisers[i];
    if (one->optim->group_count == 0) continue;
    status = tsri_optim_fill_work(one->optim, 0, one->step);
    if (status == TSR_OK) status = tsri_optim_fill_work(one->optim, one->optim->scales_at, one->scale);
    if (status == TSR_OK) status = tsri_optim_fill_work(one->optim, one->optim->good_at, one->good);
  }
  return status;
}
