// SPDX-License-Identifier: MIT
// tsr_capture_load: checks a file, records what it describes on a device, and captures that.
#include "saved/load.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "graph/watch.h"
#include "ops/autocast.h"
#include "ops/create.h"
#include "runtime/device.h"
#include "saved/optimisers.h"
#include "saved/place.h"

#include <tessera/scope.h>
#include <tessera/version.h>

// --- The header ----------------------------------------------------------------------------------------------------------

static tsr_status check_version(uint32_t version) {
  if (version >= 1 && version <= TSRI_SAVED_VERSION) return TSR_OK;
  if (version == 0) return tsri_loading_fail("its version is 0");
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                   "capture_load: the file has version %u of the format, and this library (%s) reads up to %d", version,
                   tsr_version(), TSRI_SAVED_VERSION);
}

static uint64_t checksum_of(const unsigned char *data, size_t bytes) {
  uint64_t sum = tsri_saved_checksum(TSRI_SAVED_CHECKSUM_START, data, 32);
  return tsri_saved_checksum(sum, data + TSRI_SAVED_HEADER_BYTES, bytes - TSRI_SAVED_HEADER_BYTES);
}

static tsr_status open_bytes(tsri_loading *l, const unsigned char *data, size_t bytes) {
  tsri_saved_reader header = {.at = data, .end = data + bytes};
  if (bytes < TSRI_SAVED_HEADER_BYTES || memcmp(data, tsri_saved_magic, sizeof tsri_saved_magic) != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: this is not the file of a capture");
  }
  header.at += sizeof tsri_saved_magic;
  l->version = tsri_saved_take_u32(&header);
  tsr_status status = check_version(l->version);
  if (status != TSR_OK) return status;
  (void)tsri_saved_take_u32(&header);
  uint64_t file_bytes = tsri_saved_take(&header, 8), description = tsri_saved_take(&header, 8);
  uint64_t checksum = tsri_saved_take(&header, 8);
  if (file_bytes != bytes) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: the file has %zu bytes, and should have %llu", bytes,
                     (unsigned long long)file_bytes);
  }
  if (description > bytes - TSRI_SAVED_HEADER_BYTES) return tsri_loading_fail("the size of its description");
  if (checksum_of(data, bytes) != checksum) return tsri_loading_fail("its checksum is another one");
  const unsigned char *start = data + TSRI_SAVED_HEADER_BYTES;
  size_t aligned = (size_t)((description + TSRI_SAVED_ALIGNMENT - 1) / TSRI_SAVED_ALIGNMENT * TSRI_SAVED_ALIGNMENT);
  size_t left = bytes - TSRI_SAVED_HEADER_BYTES;
  l->text = (tsri_saved_reader){.at = start, .end = start + description};
  l->data = start + (aligned < left ? aligned : left);
  l->data_bytes = left > aligned ? left - aligned : 0;
  return TSR_OK;
}

// --- Leaves ----------------------------------------------------------------------------------------------------------

static bool has_data(const tsri_loaded_leaf *leaf) {
  return leaf->kind == TSRI_SAVED_DATA || leaf->kind == TSRI_SAVED_MEMBER;
}

static tsr_status take_leaf(tsri_loading *l, tsri_loaded_leaf *out) {
  tsr_status status = tsri_loading_take_dtype(l, &out->dtype);
  uint64_t kind = tsri_saved_take(&l->text, 1);
  out->kind = (tsri_saved_leaf)kind;
  out->bytes = tsri_saved_take(&l->text, 8);
  out->word = tsri_saved_take(&l->text, 8);
  if (kind == TSRI_SAVED_MEMBER) {
    out->optimiser = tsri_saved_take_u32(&l->text);
    out->place = tsri_saved_take_u32(&l->text);
  }
  if (status != TSR_OK) return status;
  bool fits = !l->text.is_short && kind <= TSRI_SAVED_MEMBER && out->bytes <= INT64_MAX &&
              out->bytes % tsr_dtype_bytes(out->dtype) == 0;
  if (!fits) return tsri_loading_fail("a leaf");
  if (has_data(out) && (out->word > l->data_bytes || out->bytes > l->data_bytes - out->word)) {
    return tsri_loading_fail("elements outside of the file");
  }
  return tsri_loading_check_size(l, out->bytes);
}

// Makes a leaf's tensor, a list. A capture repeats fills but not uploads: so leaves that it fills are made while it is open, and others before.
static tsr_status make_leaf(tsri_loading *l, tsri_loaded_leaf *leaf, tsri_loaded_value *value) {
  if (leaf->kind == TSRI_SAVED_MEMBER) return tsri_loading_make_member(l, leaf, &value->tensor);
  tsr_shape shape = TSR_SHAPE(value->count);
  unsigned char pattern[8] = {0};
  for (int i = 0; i < 8 && leaf->kind == TSRI_SAVED_FILLED; i++) pattern[i] = (unsigned char)(leaf->word >> 8 * i);
  value->tensor = leaf->kind == TSRI_SAVED_DATA
                      ? tsr_from_data(l->device, leaf->dtype, shape, l->data + leaf->word, (size_t)leaf->bytes)
                      : tsri_full_of("capture_load", l->device, leaf->dtype, shape, pattern);
  return tsr_error(value->tensor);
}

static tsr_status take_leaves(tsri_loading *l) {
  enum { LEAF_BYTES = 18 };
  l->leaf_count = tsri_saved_take_count(&l->text, LEAF_BYTES);
  l->leaves = tsri_calloc((size_t)l->leaf_count + 1, sizeof *l->leaves);
  if (!l->leaves) return tsri_loading_no_memory();
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < l->leaf_count && status == TSR_OK; i++) {
    tsri_loaded_leaf *leaf = &l->leaves[i];
    status = take_leaf(l, leaf);
    if (status != TSR_OK) return status;
    int64_t count = (int64_t)leaf->bytes / (int64_t)tsr_dtype_bytes(leaf->dtype);
    status = tsri_loading_add_value(l, NULL, leaf->dtype, count);
  }
  return status;
}

static tsr_status make_leaves(tsri_loading *l, bool are_filled) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < l->leaf_count && status == TSR_OK; i++) {
    if (are_filled == (l->leaves[i].kind == TSRI_SAVED_FILLED)) status = make_leaf(l, &l->leaves[i], &l->values[i]);
  }
  return status;
}

// Restores the leaves that assignments and kernels write to: the run during loading has changed them, but a loaded capture must start with the elements in the file.
static tsr_status restore_leaves(const tsri_loading *l) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < l->leaf_count && l->written_count > 0 && status == TSR_OK; i++) {
    const tsri_loaded_leaf *leaf = &l->leaves[i];
    if (!has_data(leaf)) continue;
    status = tsr_write(l->values[i].tensor, l->data + leaf->word, (size_t)leaf->bytes);
  }
  return status == TSR_OK ? tsri_loading_restore_optimisers(l) : status;
}

// --- Inputs and outputs --------------------------------------------------------------------------------------------------

static bool has_name(const tsri_capture_ports *ports, const char *name) {
  for (int i = 0; i < ports->count; i++) {
    if (strcmp(ports->ports[i].name, name) == 0) return true;
  }
  return false;
}

static tsr_status take_port(tsri_loading *l, tsri_capture_ports *out) {
  char *name = tsri_saved_take_string(&l->text, TSRI_SAVED_MOST_NAME);
  tsri_loaded_view view = {0};
  tsr_status status = name               ? tsri_loading_take_view(l, &view)
                      : l->text.is_short ? tsri_loading_fail("it ends too early")
                                         : tsri_loading_no_memory();
  if (status == TSR_OK && (!name[0] || has_name(out, name))) status = tsri_loading_fail("a name");
  if (status != TSR_OK) {
    tsri_free(name);
    return status;
  }
  out->ports[out->count++] = (tsri_capture_port){name, tsr_retain(view.tensor)};
  return TSR_OK;
}

static tsr_status take_ports(tsri_loading *l, tsri_capture_ports *out) {
  enum { LEAST_PORT = 4 + 16 };
  uint32_t count = tsri_saved_take_count(&l->text, LEAST_PORT);
  out->ports = tsri_calloc((size_t)count + 1, sizeof *out->ports);
  if (!out->ports) return tsri_loading_no_memory();
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < count && status == TSR_OK; i++) status = take_port(l, out);
  return status == TSR_OK && l->text.is_short ? tsri_loading_fail("it ends too early") : status;
}

// --- Recording -------------------------------------------------------------------------------------------------------

// All tensors that the capture computes: outputs, and what is written to.
static tsr_status end_capture(tsri_loading *l, const tsri_capture_ports *outputs, tsr_capture **out_capture) {
  uint32_t count = (uint32_t)outputs->count + l->written_count;
  tsr_tensor **all = tsri_malloc(((size_t)count + 1) * sizeof *all);
  if (!all) {
    (void)tsr_capture_end(NULL, 0, NULL);
    return tsri_loading_no_memory();
  }
  for (uint32_t i = 0; i < count; i++) {
    all[i] = i < l->written_count ? l->written[i] : outputs->ports[i - l->written_count].tensor;
  }
  tsr_status status = tsr_capture_end(all, (int)count, out_capture);
  tsri_free(all);
  return status;
}

static tsr_status record_steps(tsri_loading *l, tsri_capture_ports *inputs, tsri_capture_ports *outputs,
                               tsr_capture **out_capture) {
  tsr_status status = tsr_capture_begin(l->device);
  if (status != TSR_OK) return status;
  status = make_leaves(l, true);
  if (status == TSR_OK) status = tsri_loading_take_steps(l);
  if (status == TSR_OK) status = take_ports(l, inputs);
  if (status == TSR_OK) status = take_ports(l, outputs);
  if (status == TSR_OK) return end_capture(l, outputs, out_capture);
  (void)tsr_capture_end(NULL, 0, NULL);
  return status;
}

static tsr_status load(tsri_loading *l, tsr_capture **out_capture) {
  tsri_capture_ports inputs = {0}, outputs = {0};
  size_t version_bytes = 0;
  (void)tsri_saved_take_text(&l->text, TSRI_SAVED_MOST_NAME, &version_bytes);
  tsr_status status = l->version >= 2 ? tsri_loading_take_optimisers(l) : TSR_OK;
  if (status == TSR_OK) status = take_leaves(l);
  if (status == TSR_OK) status = make_leaves(l, false);
  if (status == TSR_OK) status = record_steps(l, &inputs, &outputs, out_capture);
  if (status == TSR_OK) status = restore_leaves(l);
  if (status == TSR_OK) {
    (*out_capture)->inputs = inputs;
    (*out_capture)->outputs = outputs;
    return TSR_OK;
  }
  tsr_capture_release(*out_capture);
  *out_capture = NULL;
  tsri_capture_ports_deinit(&inputs);
  tsri_capture_ports_deinit(&outputs);
  return status;
}

// Loads in a scope of its own, with autocast and gradients of the calling thread switched off.
static tsr_status load_apart(tsri_loading *l, tsr_capture **out_capture) {
  tsr_scope *scope = tsr_scope_begin(l->device);
  if (!scope) return tsri_loading_no_memory();
  tsri_watcher *watching = tsri_watching;
  tsr_dtype autocast = tsri_autocast_pause();
  tsri_watching = NULL;
  tsr_status status = load(l, out_capture);
  tsri_watching = watching;
  tsri_autocast_resume(autocast);
  tsr_status ended = tsr_scope_end(scope);
  tsri_loading_free_optimisers(l);
  tsri_free(l->values);
  tsri_free(l->leaves);
  tsri_free(l->written);
  return status == TSR_OK ? ended : status;
}

static tsr_status check(tsr_device *device, const tsr_load_desc *desc, tsr_capture *const *out_capture) {
  tsr_status status = tsri_device_check("capture_load", device);
  if (status != TSR_OK) return status;
  if (!out_capture || !desc) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: %s is NULL", desc ? "out_capture" : "desc");
  }
  if (!desc->path == !desc->data) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: path and data are both %s; give one of them",
                     desc->data ? "given" : "NULL");
  }
  if (!tsri_tape_now()) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: this thread is capturing; end that capture first");
}

static tsr_status load_on(tsr_device *device, const tsr_load_desc *desc, const void *data, size_t bytes,
                          tsr_capture **out_capture) {
  tsri_loading l = {.device = device, .desc = desc};
  tsr_status status = open_bytes(&l, data, bytes);
  return status == TSR_OK ? load_apart(&l, out_capture) : status;
}

// If the CPU is estimated to be faster, loads the file on the CPU as well and replaces `*capture`, which was loaded on the device. If that fails, the capture stays on
// the device.
static void place(const tsr_load_desc *desc, const void *data, size_t bytes, tsr_capture **capture) {
  tsr_device *cpu = tsri_place_of_capture(*capture);
  tsr_capture *there = NULL;
  if (!cpu || load_on(cpu, desc, data, bytes, &there) != TSR_OK) return;
  tsr_capture_release(*capture);
  *capture = there;
}

// Puts the path into the message of the last error: "capture_load: net.tsr: this is not the file of a capture".
static tsr_status fail_of_file(const char *path, tsr_status status) {
  static const char caller[] = "capture_load: ";
  const char *text = tsr_last_error();
  char place[64];
  snprintf(place, sizeof place, "%s", tsr_last_error_place());
  if (strncmp(text, caller, strlen(caller)) == 0) text += strlen(caller);
  return tsri_fail(status, place, "%s%s: %s", caller, path, text);
}

tsr_status tsr_capture_load(tsr_device *device, const tsr_load_desc *desc, tsr_capture **out_capture) {
  if (out_capture) *out_capture = NULL;
  tsr_status status = check(device, desc, out_capture);
  if (status != TSR_OK) return status;
  void *read = NULL;
  size_t bytes = desc->data_bytes;
  if (desc->path) status = tsri_file_read("capture_load", desc->path, &read, &bytes);
  const void *data = desc->path ? read : desc->data;
  if (status == TSR_OK) {
    status = load_on(device, desc, data, bytes, out_capture);
    if (status != TSR_OK && desc->path) status = fail_of_file(desc->path, status);
  }
  if (status == TSR_OK) place(desc, data, bytes, out_capture);
  tsri_free(read);
  return status;
}
