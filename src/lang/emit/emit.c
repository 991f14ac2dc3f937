// SPDX-License-Identifier: MIT
// Shared by all emitters: finding one, checking options, filling parameters, reading the report.
#include "lang/emit/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/builder.h"
#include "core/error.h"
#include "lang/ir/index_fault.h"
#include "lang/lang.h"
#include "lang/lower/checks.h"
#include "lang/lower/collectives.h"
#include "lang/lower/flat.h"
#include "lang/lower/heights.h"
#include "lang/lower/hide.h"
#include "lang/lower/lacks.h"
#include "lang/lower/lazy.h"
#include "lang/lower/pairs.h"
#include "lang/lower/uniform_conditions.h"

const tsri_emitter *tsri_emitter_find(const char *name) {
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name; emitter++) {
    if (strcmp(emitter->name, name) == 0) return emitter;
  }
  (void)TSRI_FAIL(TSR_ERR_NOT_FOUND, "there is no kernel dialect '%s'; known:%s", name, tsri_emitter_names);
  return NULL;
}

static bool is_power_of_two(uint32_t n) { return n != 0 && (n & (n - 1)) == 0; }

// --- Fragments --------------------------------------------------------------------------------------------------------

static bool offers(const tsri_emit_options *options, const tsri_ir_fragment *f) {
  for (uint32_t i = 0; i < options->fragment_count; i++) {
    const tsr_fragment_size *size = &options->fragments[i];
    bool has_dtype = f->role == TSRI_ROLE_SUM || (tsr_dtype)f->dtype == size->dtype;
    if (has_dtype && f->m == size->m && f->n == size->n && f->k == size->k) return true;
  }
  return false;
}

// Whether the device's matrix units can be used. Not in checked mode, where every index is tested.
static bool has_hardware(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options) {
  tsri_fragment_test can_write = tsri_emit_fragment_test(emitter);
  if (kernel->is_checked || !can_write || !can_write(kernel, options)) return false;
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    if (!offers(options, &kernel->fragments[i])) return false;
  }
  return true;
}

tsr_status tsri_emit_lower(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                           tsri_kernel **out_kernel) {
  *out_kernel = NULL;
  if (kernel->fragment_count == 0) return TSR_OK;
  uint32_t items = kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2];
  if (items % options->subgroup_size != 0) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "kernel %s has fragments: its group of %" PRIu32
                     " items must be a multiple of this device's subgroups of %" PRIu32 "; choose another WG",
                     kernel->name, items, options->subgroup_size);
  }
  if (has_hardware(emitter, kernel, options)) return TSR_OK;
  return tsri_kernel_lower_fragments(kernel, options->subgroup_size, options->exact_fma, out_kernel);
}

// --- Lowering ---------------------------------------------------------------------------------------------------------

// Whether 64-bit integers must be lowered to words.
static bool lacks_i64(const tsri_emitter *emitter, const tsri_emit_options *options) {
  return emitter->emit == tsri_emit_wgsl || (strcmp(emitter->name, "spirv") == 0 && !options->i64);
}

// Options for lowering collectives. If barriers are not allowed under conditions, statements made from collectives must be arranged accordingly.
static tsri_collectives_options collectives_of(const tsri_emitter *emitter, const tsri_emit_options *options) {
  tsri_lacks lacks = tsri_lacks_of(emitter->name);
  bool has_subgroups = options->subgroups && options->subgroup_shuffle && !options->flat_barriers;
  uint32_t most = lacks_i64(emitter, options) ? 4 : lacks.collective_bytes;
  return (tsri_collectives_options){.subgroup_size = options->subgroup_size,
                                    .hardware_bytes = has_subgroups ? most : 0,
                                    .load_for_all = lacks.has_load_for_all,
                                    .has_only_shuffles = lacks.has_only_shuffles};
}

// The element types that the dialect lacks on this device. In WGSL with f16, f16 is an element type.
static tsri_storage_lacks storage_lacks_of(const tsri_emitter *emitter, const tsri_kernel *kernel,
                                           const tsri_emit_options *options) {
  tsri_storage_lacks lacks = tsri_lacks_of(emitter->name).storage;
  if (options->storage8) lacks.in_buffers &= ~TSRI_STORAGE_BYTES;
  if (options->storage16) lacks.in_buffers &= ~TSRI_STORAGE_HALVES;
  if (options->i8) lacks.in_shared &= ~TSRI_STORAGE_BYTES;
  if (options->i16) lacks.in_shared &= ~TSRI_STORAGE_HALVES;
  if (options->f16 && emitter->emit == tsri_emit_wgsl) {
    lacks.in_buffers &= ~(1u << TSR_F16);
    if (kernel->fragment_count > 0) lacks.in_shared &= ~(1u << TSR_F16);  // fragments are loaded from elements of f16
  }
  return lacks;
}

static bool has_small_elements(const tsri_kernel *kernel) {
  const uint32_t small = TSRI_STORAGE_BYTES | TSRI_STORAGE_HALVES;
  uint32_t used = 0;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) used |= 1u << kernel->buffers[i].storage;
  for (uint32_t i = 0; i < kernel->shared_count; i++) used |= 1u << kernel->shared[i].storage;
  for (uint32_t i = 0; i < kernel->local_count; i++) used |= 1u << kernel->locals[i].storage;
  return (used & small) != 0;
}

// Replaces the kernel that an earlier pass has made, if there is one. `made` NULL: this pass has changed nothing.
static void take(tsri_kernel *made, tsri_kernel **lowered) {
  if (!made) return;
  tsri_kernel_release(*lowered);
  *lowered = made;
}

// Removes forms of statements and expressions that the dialect does not have. These passes run last, because the passes
// before them may produce any form.
static tsr_status lower_forms(const tsri_emit_options *options, tsri_lacks lacks, const tsri_kernel *kernel,
                              tsri_kernel **out_lowered) {
  tsri_kernel *made = NULL;
  tsr_status status = TSR_OK;
  if (options->flat_barriers) {
    status = tsri_lower_flat(*out_lowered ? *out_lowered : kernel, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && !lacks.is_lazy) {
    status = tsri_lower_lazy(*out_lowered ? *out_lowered : kernel, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && lacks.is_free_with_floats) {
    status = tsri_lower_hide(*out_lowered ? *out_lowered : kernel, options->exact_fma, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && lacks.expression_height > 0) {
    status = tsri_lower_heights(*out_lowered ? *out_lowered : kernel, lacks.expression_height, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && lacks.has_own_uniformity) {
    status = tsri_lower_uniform_conditions(*out_lowered ? *out_lowered : kernel, &made);
    take(made, out_lowered);
  }
  return status;
}

// Lane bytecode has instructions for checked accesses and for collectives; for all other dialects both become
// statements.
static tsr_status lower(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                        tsri_kernel **out_lowered) {
  tsri_kernel *made = NULL;
  tsr_status status = TSR_OK;
  bool has_collectives = (kernel->needs & (TSRI_NEEDS_GROUP_OPS | TSRI_NEEDS_SUBGROUPS)) != 0;
  if (emitter->emit == tsri_emit_lanes) return TSR_OK;
  if (kernel->is_checked) {
    status = tsri_lower_checks(kernel, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && has_collectives) {
    tsri_collectives_options how = collectives_of(emitter, options);
    status = tsri_lower_collectives(*out_lowered ? *out_lowered : kernel, how, &made);
    take(made, out_lowered);
  }
  if (status == TSR_OK && has_small_elements(kernel)) {
    tsri_storage_lacks lacks = storage_lacks_of(emitter, kernel, options);
    status = tsri_lower_storage(*out_lowered ? *out_lowered : kernel, lacks, &made);
    take(made, out_lowered);
  }
  bool has_i64 = (kernel->needs & TSRI_NEEDS_I64) != 0, has_f64 = (kernel->needs & TSRI_NEEDS_F64) != 0;
  if (status == TSR_OK && has_i64 && !has_f64 && lacks_i64(emitter, options)) {
    status = tsri_lower_pairs(*out_lowered ? *out_lowered : kernel, &made);
    take(made, out_lowered);
  }
  return status == TSR_OK ? lower_forms(options, tsri_lacks_of(emitter->name), kernel, out_lowered) : status;
}

static tsr_status emit_lowered(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                               tsri_emitted *out) {
  tsri_kernel *loops = NULL, *lowered = NULL;
  tsr_status status = tsri_emit_lower(emitter, kernel, options, &loops);
  if (loops) kernel = loops;
  if (status == TSR_OK) status = lower(emitter, kernel, options, &lowered);
  if (lowered) kernel = lowered;
  out->shared_bytes = kernel->shared_bytes;
  if (status == TSR_OK) status = emitter->emit(emitter, kernel, options, out);
  tsri_kernel_release(lowered);
  tsri_kernel_release(loops);
  return status;
}

tsr_status tsri_emit_kernel(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                            tsri_emitted *out) {
  memset(out, 0, sizeof *out);
  if (!options) options = emitter->defaults;
  if (!is_power_of_two(options->subgroup_size) || options->subgroup_size > 128) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: a subgroup size of %" PRIu32 " is not a power of two up to 128",
                     emitter->name, options->subgroup_size);
  }
  if ((kernel->needs & TSRI_NEEDS_F64) && !options->f64) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s needs f64, which this device does not have in %s", kernel->name,
                     emitter->title);
  }
  memcpy(out->local, kernel->group_size, sizeof out->local);
  out->has_report = kernel->is_checked;
  out->buffer_count = kernel->buffer_count + (kernel->is_checked ? 1 : 0);
  out->params_bytes = kernel->params_bytes + (kernel->is_checked ? 8 * kernel->buffer_count : 0);
  tsr_status status = emit_lowered(emitter, kernel, options, out);
  if (status != TSR_OK) tsri_emitted_deinit(out);
  return status;
}

void tsri_emitted_deinit(tsri_emitted *emitted) {
  tsri_free(emitted->data);
  memset(emitted, 0, sizeof *emitted);
}

tsr_status tsri_emit_verdict(const tsri_emitter *emitter, const tsri_kernel *kernel, tsri_emit_trouble trouble) {
  if (trouble.depth) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s: blocks or conditions are nested more than %d deep", kernel->name,
                     trouble.depth);
  }
  if (trouble.is_too_long) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s: more than %u bytes of %s", kernel->name, TSRI_EMIT_MAX_BYTES,
                     emitter->title);
  }
  if (!trouble.is_out_of_memory) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its %s", kernel->name, emitter->title);
}

tsr_status tsri_emit_finish(const tsri_emitter *emitter, const tsri_kernel *kernel, int depth, tsri_builder *text,
                            tsri_emitted *out) {
  tsri_emit_trouble trouble = {depth, text->is_full, text->has_failed};
  tsr_status status = tsri_emit_verdict(emitter, kernel, trouble);
  if (status != TSR_OK) {
    tsri_builder_deinit(text);
    return status;
  }
  out->data = text->text;
  out->data_bytes = text->bytes;
  return TSR_OK;
}

void tsri_emit_params(const tsri_kernel *kernel, const tsri_emitted *emitted, const void *params,
                      const uint64_t *element_counts, void *out_words) {
  if (kernel->params_bytes > 0) memcpy(out_words, params, kernel->params_bytes);
  if (!emitted->has_report) return;
  unsigned char *counts = (unsigned char *)out_words + kernel->params_bytes;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    uint32_t words[2] = {(uint32_t)element_counts[i], (uint32_t)(element_counts[i] >> 32)};
    memcpy(counts + (size_t)8 * i, words, sizeof words);
  }
}

// --- The report -----------------------------------------------------------------------------------------------------

static uint64_t two_words(const uint32_t *words) { return words[0] | (uint64_t)words[1] << 32; }

static const tsri_ir_array *numbered_array(const tsri_kernel *kernel, uint32_t number, const char **out_kind) {
  *out_kind = "buffer";
  if (number < kernel->buffer_count) return &kernel->buffers[number];
  number -= kernel->buffer_count;
  *out_kind = "shared array";
  if (number < kernel->shared_count) return &kernel->shared[number];
  number -= kernel->shared_count;
  *out_kind = "local array";
  return number < kernel->local_count ? &kernel->locals[number] : NULL;
}

bool tsri_emit_decode_report(const tsri_kernel *kernel, const uint32_t words[TSRI_EMIT_REPORT_WORDS], char *text,
                             size_t text_bytes) {
  if (text_bytes > 0) text[0] = '\0';
  if (words[TSRI_EMIT_REPORT_FLAG] == 0) return false;

  const char *kind = NULL;
  const tsri_ir_array *array = numbered_array(kernel, words[TSRI_EMIT_REPORT_ARRAY], &kind);
  tsri_index_fault fault = {.kernel = kernel->name,
                            .file = kernel->file,
                            .kind = kind,
                            .array = array ? array->name : "?",
                            .dim_count = array ? array->dim_count : 0,
                            .dims = array ? array->dims : NULL,
                            .index = (int64_t)two_words(&words[TSRI_EMIT_REPORT_INDEX]),
                            .count = two_words(&words[TSRI_EMIT_REPORT_COUNT]),
                            .lanes = words[TSRI_EMIT_REPORT_LANES],
                            .pos = words[TSRI_EMIT_REPORT_POS]};
  tsri_index_fault_text(&fault, text, text_bytes);
  return true;
}
