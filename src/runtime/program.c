// SPDX-License-Identifier: MIT
// Builds a checked kernel for a device, and launches it there.
#include "runtime/program.h"

#include <assert.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/bytes_text.h"
#include "runtime/long_loops.h"
#include "runtime/profile.h"
#include "runtime/slices.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

static bool has_dtype(uint32_t bits, tsr_dtype dtype) { return (bits >> dtype & 1u) != 0; }

static tsri_emit_options options_for(const tsr_device *device, const tsri_emitter *emitter, bool wide_unaligned) {
  const tsri_limits *limits = &device->limits;
  tsri_emit_options options = *emitter->defaults;
  options.f64 = has_dtype(limits->dtype_arithmetic, TSR_F64);
  options.f16 = has_dtype(limits->dtype_arithmetic, TSR_F16);
  options.i64 = limits->has_i64;
  options.wide_unaligned = wide_unaligned;
  options.no_alias = true;  // tsr_kernel_launch and the planner ensure this
  options.subgroups = limits->has_subgroups;
  options.subgroup_shuffle = limits->has_subgroup_shuffle;
  if (limits->subgroup_size > 0) options.subgroup_size = limits->subgroup_size;
  options.ptx = limits->has_ptx;
  if (limits->has_ptx) options.flat_barriers = false;  // OpenCL's default, for PoCL
  options.exact_divide = limits->has_exact_divide;
  options.exact_quotient = limits->has_exact_quotient;
  options.near_quotient = limits->has_near_quotient;
  options.near_exp2 = limits->has_near_exp2;
  options.near_root = limits->has_near_root;
  options.exact_products = limits->has_exact_products;
  options.exact_fma = limits->has_exact_fma;
  options.quirks = limits->has_quirks;
  options.storage16 = limits->has_storage16;
  options.storage8 = limits->has_storage8;
  options.i16 = limits->has_i16;
  options.i8 = limits->has_i8;
  options.keeps_denormals = limits->keeps_denormals;
  options.keeps_nan = limits->keeps_nan;
  options.rounds_to_even = limits->rounds_to_even;
  options.fragments = limits->fragments;
  options.fragment_count = limits->fragment_count;
  return options;
}

static tsr_status check_limits(const tsr_device *device, const tsri_kernel *kernel, const tsri_emitted *emitted) {
  const tsri_limits *limits = &device->limits;
  uint64_t items = (uint64_t)kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2];
  if (items > limits->max_group_size) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %llu items per group, %s allows %u; choose a smaller WG",
                     kernel->variant, (unsigned long long)items, device->info.name, limits->max_group_size);
  }
  if (emitted->shared_bytes > limits->shared_bytes) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %u bytes of shared memory per group, %s has %u", kernel->variant,
                     emitted->shared_bytes, device->info.name, limits->shared_bytes);
  }
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    tsr_dtype dtype = (tsr_dtype)kernel->buffers[i].storage;
    if (!has_dtype(limits->dtype_storage, dtype)) {
      return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                       "%s: buffer '%s' has dtype %s, which %s cannot store; use another dtype or the cpu backend",
                       kernel->variant, kernel->buffers[i].name, tsr_dtype_name(dtype), device->info.name);
    }
  }
  return TSR_OK;
}

// Called before the emitter, which could not name the device in its message.
static tsr_status check_needs(const tsr_device *device, const tsri_kernel *kernel) {
  static const struct {
    uint32_t need;
    tsr_dtype dtype, instead;
  } wide[] = {{TSRI_NEEDS_F64, TSR_F64, TSR_F32}, {TSRI_NEEDS_I64, TSR_I64, TSR_I32}};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
    tsr_dtype dtype = wide[i].dtype;
    if (!(kernel->needs & wide[i].need) || has_dtype(device->limits.dtype_arithmetic, dtype)) continue;
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "kernel %s needs %s, which %s cannot compute with; use %s, or move the tensors to the cpu backend",
                     kernel->name, tsr_dtype_name(dtype), device->info.name, tsr_dtype_name(wide[i].instead));
  }
  return TSR_OK;
}

static tsr_status compile(tsr_device *device, tsri_built *built, tsri_code_form form) {
  const tsri_emitted *emitted = &built->emitted;
  tsri_code code = {
      .form = form,
      .name = emitted->entry,
      .data = emitted->data,
      .data_bytes = emitted->data_bytes,
      .buffer_count = emitted->buffer_count,
      .params_bytes = emitted->params_bytes,
      .local = {emitted->local[0], emitted->local[1], emitted->local[2]},
      .options = emitted->build_options,
      .shared_bytes = emitted->shared_bytes,
  };
  return device->backend->program_create(device->handle, &code, &built->program);
}

// Estimates the memory a driver keeps for a program. If the backend does not tell (limits.program_bytes), assumes what
// a GPU driver needs.
static size_t estimate_host_bytes(const tsri_limits *limits, size_t code_bytes) {
  enum { PROGRAM_BYTES = 32 << 10, PER_CODE = 8 };
  if (limits->program_bytes == 0) return PROGRAM_BYTES + PER_CODE * code_bytes;
  return limits->program_bytes + (size_t)limits->program_bytes_per_code * code_bytes;
}

void (*tsri_built_watch)(const tsri_kernel *kernel);

tsr_status tsri_built_compile(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_built *out_built) {
  *out_built = (tsri_built){.kernel = kernel, .name = tsri_command_name_of(kernel->name)};
  const tsri_backend *backend = device->backend;
  const tsri_emitter *emitter = backend->dialect ? tsri_emitter_find(backend->dialect) : NULL;
  if (!emitter) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: the %s backend runs no kernels", kernel->variant, backend->name);
  }
  if (tsri_built_watch) tsri_built_watch(kernel);
  uint64_t start_ns = tsri_profile_clock();
  tsr_status status = check_needs(device, kernel);
  if (status != TSR_OK) return status;
  tsri_emit_options options = options_for(device, emitter, wide_unaligned);
  status = tsri_emit_kernel(emitter, kernel, &options, &out_built->emitted);
  if (status == TSR_OK) status = check_limits(device, kernel, &out_built->emitted);
  if (status == TSR_OK) {
    status = compile(device, out_built, emitter->form == TSRI_EMIT_TEXT ? TSRI_CODE_TEXT : TSRI_CODE_WORDS);
  }
  if (start_ns) {
    tsri_profile_host(device, start_ns, &(tsri_profile_work){.kind = TSR_PROFILE_BUILD, .name = kernel->variant});
  }
  out_built->host_bytes = estimate_host_bytes(&device->limits, out_built->emitted.data_bytes);
  tsri_free(out_built->emitted.data);  // the backend has copied what it needs
  out_built->emitted.data = NULL;
  if (status != TSR_OK) *out_built = (tsri_built){0};
  return status;
}

tsr_status tsri_built_function(tsr_device *device, const tsri_kernel *kernel, tsri_emitted *out_emitted) {
  const char *dialect = device->backend->dialect;
  const tsri_emitter *emitter = dialect ? tsri_emitter_find(dialect) : NULL;
  if (!emitter || emitter->form != TSRI_EMIT_TEXT) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %s has no kernels of text", kernel->name, device->info.name);
  }
  tsri_emit_options options = options_for(device, emitter, false);
  options.as_function = true;
  return tsri_emit_kernel(emitter, kernel, &options, out_emitted);
}

// Lowers what the launcher must know of. Matrix fragments that the device lacks become loops here and not in the emitter, because the launcher counts the
// iterations of all loops (slices.h, long_loops.h).
static tsr_status lower(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                        tsri_kernel **out_lowered) {
  *out_lowered = NULL;
  const tsri_emitter *emitter = device->backend->dialect ? tsri_emitter_find(device->backend->dialect) : NULL;
  if (!emitter) return TSR_OK;
  tsri_emit_options options = options_for(device, emitter, wide_unaligned);
  return tsri_emit_lower(emitter, kernel, &options, out_lowered);
}

// Builds the kernel with loops in place of matrix fragments, for a driver that reports matrix units but refuses to compile their instructions.
static tsr_status compile_as_loops(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                                   tsri_kernel **out_lowered, tsri_built *out_built) {
  tsri_log(TSR_LOG_WARN, "%s: %s runs without matrix units: %s", device->info.name, kernel->name, tsr_last_error());
  uint32_t size = (uint32_t)tsr_device_subgroup_size(device);
  tsr_status status = tsri_kernel_lower_fragments(kernel, size, device->limits.has_exact_fma, out_lowered);
  return status == TSR_OK ? tsri_built_compile(device, *out_lowered, wide_unaligned, out_built) : status;
}

tsr_status tsri_built_init(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned, tsri_built *out_built) {
  *out_built = (tsri_built){0};
  tsri_kernel *lowered = NULL;
  tsr_status status = lower(device, kernel, wide_unaligned, &lowered);
  if (lowered) kernel = lowered;
  if (status == TSR_OK) status = tsri_built_compile(device, kernel, wide_unaligned, out_built);
  if (status == TSR_ERR_BUILD && kernel->fragment_count > 0) {
    status = compile_as_loops(device, kernel, wide_unaligned, &lowered, out_built);
    if (lowered) kernel = lowered;
  }
  out_built->lowered = lowered;
  if (status == TSR_OK) status = tsri_slicer_create(device, kernel, wide_unaligned, &out_built->slicer);
  if (status == TSR_OK) status = tsri_long_loops_create(device, kernel, wide_unaligned, &out_built->long_loops);
  if (status != TSR_OK) tsri_built_deinit(device, out_built);
  return status;
}

void tsri_built_deinit(tsr_device *device, tsri_built *built) {
  tsri_slicer_destroy(device, built->slicer);
  tsri_long_loops_destroy(device, built->long_loops);
  if (built->program) device->backend->program_destroy(device->handle, built->program);
  tsri_kernel_release(built->lowered);
  *built = (tsri_built){0};
}

// --- Launching ----------------------------------------------------------------------------------------------------

// Enough for any kernel, so that a launch allocates nothing.
enum { PARAM_WORDS = 2 * (TSRI_LANG_MAX_PARAMS + TSRI_LANG_MAX_BUFFERS) };

static tsr_status check_groups(const tsr_device *device, const tsri_built *built, const uint32_t groups[3]) {
  for (int i = 0; i < 3; i++) {
    if (groups[i] <= device->limits.max_groups[i]) continue;
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %u groups in %c, %s allows %u; fold them into another direction",
                     built->kernel->variant, groups[i], "xyz"[i], device -> info.name, device->limits.max_groups[i]);
  }
  return TSR_OK;
}

// A kernel that addresses more than the device can bind must be launched in parts, which only its caller can do.
static tsr_status check_bindings(const tsr_device *device, const tsri_built *built, const tsri_binding *bindings) {
  uint64_t most = device->limits.max_binding_bytes;
  for (uint32_t i = 0; most && i < built->kernel->buffer_count; i++) {
    if (bindings[i].bytes <= most) continue;
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "%s: its buffer '%s' has %s, a kernel on %s sees %s at once; split the tensor",
                     built->kernel->name, built->kernel->buffers[i].name, tsri_format_bytes(bindings[i].bytes).text,
                     device->info.name, tsri_format_bytes(most).text);
  }
  return TSR_OK;
}

static void bind(const tsri_built *built, const tsri_argument *arguments, tsri_binding *bindings, uint64_t *counts) {
  const tsri_kernel *kernel = built->kernel;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    const tsri_ir_array *array = &kernel->buffers[i];
    tsr_buffer *buffer = arguments[i].buffer;
    assert((buffer->offset + arguments[i].offset) % tsri_binding_alignment(buffer->device) == 0);
    counts[i] = arguments[i].element_count;
    bindings[i] = (tsri_binding){
        .buffer = buffer->handle,
        .offset = buffer->offset + arguments[i].offset,
        .bytes = (size_t)arguments[i].element_count * tsr_dtype_bytes((tsr_dtype)array->storage),
        .is_written = array->access != TSRI_ACCESS_IN,
    };
  }
}

static void finish_span(tsri_span *span, tsr_device *device, tsri_queue *queue, const char *name,
                        const tsri_launch *launch, tsr_status status) {
  tsri_profile_work work = {
      .kind = TSR_PROFILE_KERNEL, .name = name, .bytes = tsri_launch_bytes(launch), .is_f32 = true};
  tsri_span_finish(span, device, queue, status == TSR_OK ? &work : NULL);
}

// Queues the launch. `arguments` are the kernel's own buffers; `launch` may bind a report buffer after them, which the caller handles.
static tsr_status enqueue(tsr_device *device, const tsri_built *built, const tsri_argument *arguments,
                          const tsri_launch *launch) {
  tsr_status status = TSR_OK;
  tsri_queue *queue = tsri_device_lock(device);
  for (uint32_t i = 0; device->track_count > 1 && i < built->kernel->buffer_count && status == TSR_OK; i++) {
    status = tsri_track_touch(device, arguments[i].buffer, launch->buffers[i].is_written);
  }
  tsri_span span = tsri_span_begin(device, queue, (uint64_t)(uintptr_t)built->program + launch->groups[0]);
  if (status == TSR_OK) status = device->backend->launch(queue, built->program, launch);
  if (span.is_on) finish_span(&span, device, queue, built->kernel->name, launch, status);
  tsri_track_count(device, &built->name);
  tsri_count_queued(&device->counters.launches, 1);
  tsri_device_unlock(device);
  if (status == TSR_OK && tsri_tape_is_any_open()) {
    tsri_tape_launch(device, built->program, launch, built->emitted.params_bytes, built->kernel->name, &span.context);
  }
  return status;
}

// Launches with an additional buffer in which the kernel reports index errors, and reads it back at once.
static tsr_status launch_with_report(tsr_device *device, const tsri_built *built, tsri_launch *launch,
                                     const tsri_argument *arguments, tsri_binding *bindings) {
  enum { BYTES = TSRI_EMIT_REPORT_WORDS * sizeof(uint32_t) };
  tsri_tape_refuses(device, "a kernel in checked mode");
  char text[512];
  tsr_buffer *report = NULL;
  uint32_t *words = tsri_stage_create(BYTES);
  if (!words) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its report", built->kernel->variant);
  memset(words, 0, BYTES);
  tsr_status status = tsr_buffer_create(device, BYTES, 0, &report);
  if (status == TSR_OK) status = tsr_buffer_upload(report, 0, words, BYTES);
  if (status == TSR_OK) {
    bindings[launch->buffer_count++] =
        (tsri_binding){.buffer = report->handle, .offset = report->offset, .bytes = BYTES, .is_written = true};
    status = enqueue(device, built, arguments, launch);
  }
  if (status == TSR_OK) status = tsr_buffer_download(report, 0, words, BYTES);
  tsr_buffer_release(report);
  if (status == TSR_OK && tsri_emit_decode_report(built->kernel, words, text, sizeof text)) {
    status = TSRI_FAIL(TSR_ERR_LAUNCH, "%s", text);
  }
  tsri_stage_release(device, words, status);
  return status;
}

static tsr_status launch_whole(tsr_device *device, const tsri_built *built, const uint32_t groups[3],
                               const tsri_argument *arguments, const void *params) {
  tsri_binding bindings[TSRI_LANG_MAX_BUFFERS + 1];
  uint64_t counts[TSRI_LANG_MAX_BUFFERS];
  uint64_t words[PARAM_WORDS / 2];
  bind(built, arguments, bindings, counts);
  tsr_status status = check_bindings(device, built, bindings);
  if (status != TSR_OK) return status;
  tsri_emit_params(built->kernel, &built->emitted, params, counts, words);
  tsri_launch launch = {
      .groups = {groups[0], groups[1], groups[2]},
      .buffer_count = built->kernel->buffer_count,
      .buffers = bindings,
      .params = words,
  };
  for (uint32_t i = 0; tsri_tape_now() && i < launch.buffer_count; i++) {
    (bindings[i].is_written ? tsri_tape_writes : tsri_tape_uses)(device, arguments[i].buffer);
  }
  if (built->emitted.has_report) return launch_with_report(device, built, &launch, arguments, bindings);
  return enqueue(device, built, arguments, &launch);
}

tsr_status tsri_built_launch(tsr_device *device, const tsri_built *built, const uint32_t groups[3],
                             const tsri_argument *arguments, const void *params) {
  tsr_status status = check_groups(device, built, groups);
  if (status != TSR_OK) return status;
  if (built->long_loops && tsri_long_loops_cuts(built->long_loops, built->kernel, groups, params)) {
    return tsri_long_loops_launch(device, built->long_loops, built->kernel, groups, arguments, params);
  }
  if (built->slicer) {
    double work = tsri_slicer_work(built->slicer, built->kernel, groups, arguments, params);
    if (tsri_slicer_cuts(built->slicer, work)) {
      status = tsri_slicer_launch(device, built->slicer, built->kernel, groups, arguments, params, work);
      if (status != TSR_ERR_UNSUPPORTED) return status;
    }
  }
  return launch_whole(device, built, groups, arguments, params);
}
