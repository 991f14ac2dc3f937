// SPDX-License-Identifier: MIT
// User-defined kernels: building, checking, properties, and one program per device.
#include "ops/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/jit/print.h"
#include "core/alloc.h"
#include "core/builder.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "lang/emit/emit.h"
#include "lang/emit/lanes/lanes.h"
#include "lang/lang.h"

// --- Building -----------------------------------------------------------------------------------------------------

static void destroy_program(tsr_device *device, tsri_late *late) {
  tsri_device_program *program = (tsri_device_program *)late;
  tsri_built_deinit(device, &program->built);
  tsri_free(program);
}

static void destroy(tsr_kernel *kernel) {
  for (int i = 0; i < kernel->program_count; i++) {
    tsri_device_program *program = kernel->programs[i];
    tsr_device *device = program->device;
    tsri_late_destroy(device, &program->late, "kernel_release");
    tsr_device_release(device);
  }
  tsri_free(kernel->programs);
  tsri_free(kernel->params);
  tsri_free(kernel->text.source);
  tsri_free(kernel->text.fills);
  tsri_free(kernel->text.defines);
  tsri_kernel_release(kernel->ir);
  tsri_mutex_deinit(&kernel->lock);
  tsri_object_destroy(&kernel->object, sizeof *kernel);
}

static tsr_access access_of(const tsri_ir_array *array) {
  return array->access == TSRI_ACCESS_IN    ? TSR_ACCESS_IN
         : array->access == TSRI_ACCESS_OUT ? TSR_ACCESS_OUT
                                            : TSR_ACCESS_INOUT;
}

// Lists the parameters in their order. Their names belong to the IR and live as long as the kernel.
static tsr_status list_params(tsr_kernel *kernel, const tsri_lang_kernel_info *info) {
  kernel->params = tsri_calloc(info->argument_count, sizeof *kernel->params);
  if (!kernel->params) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_build: no host memory for its parameters");
  uint32_t buffers = 0, scalars = 0;
  for (uint32_t i = 0; i < info->argument_count; i++) {
    if (info->arguments[i].is_buffer) {
      const tsri_ir_array *array = &kernel->ir->buffers[buffers++];
      kernel->params[i] = (tsr_kernel_param){array->name, access_of(array), (tsr_dtype)array->declared};
    } else {
      const tsri_ir_param *scalar = &kernel->ir->params[scalars++];
      kernel->params[i] = (tsr_kernel_param){scalar->name, TSR_ACCESS_NONE, (tsr_dtype)scalar->declared};
    }
  }
  kernel->param_count = (int)info->argument_count;
  return TSR_OK;
}

enum { MAX_DEFINES = 32, NAME_BYTES = 64 };

static tsr_status parse_defines(const tsr_kernel_desc *desc, char names[][NAME_BYTES], tsri_lang_arg *out_args) {
  if (desc->define_count < 0 || desc->define_count > MAX_DEFINES) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: %d defines; 0 to %d are allowed", desc->define_count,
                     MAX_DEFINES);
  }
  if (desc->define_count > 0 && !desc->defines)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: defines is NULL");
  for (int i = 0; i < desc->define_count; i++) {
    if (!desc->defines[i]) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: define %d is NULL", i);
    tsr_status status = tsri_lang_arg_parse(desc->defines[i], names[i], NAME_BYTES, &out_args[i]);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

// Reads the text from a file. A file that is too long is truncated to a length that the parser still reports as too long.
static tsr_status read_source(const char *path, char **out_text, size_t *out_bytes) {
  errno = 0;
  FILE *stream = fopen(path, "rb");
  if (!stream) return TSRI_FAIL(TSR_ERR_IO, "kernel_build: %s: cannot be opened: %s", path, strerror(errno));
  tsr_status status = tsri_stream_read(stream, path, TSRI_LANG_MAX_BYTES, out_text, out_bytes);
  fclose(stream);
  return status;
}

static tsr_status copy_source(const tsr_kernel_desc *desc, char **out_text, size_t *out_bytes) {
  *out_bytes = desc->source_bytes ? desc->source_bytes : strlen(desc->source);
  *out_text = tsri_malloc(*out_bytes + 1);
  if (!*out_text) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_build: no host memory for its text");
  memcpy(*out_text, desc->source, *out_bytes);
  (*out_text)[*out_bytes] = 0;
  return TSR_OK;
}

// Keeps copies of the texts of the description. Where it fails, `destroy` frees those already made.
static tsr_status keep_text(const tsr_kernel_desc *desc, tsri_kernel_text *out) {
  out->is_checked = desc->is_checked;
  tsr_status status = desc->path ? read_source(desc->path, &out->source, &out->source_bytes)
                                 : copy_source(desc, &out->source, &out->source_bytes);
  if (status != TSR_OK) return status;
  tsri_builder defines = {0};
  for (int i = 0; i < desc->define_count; i++) tsri_builder_add(&defines, "%s\n", desc->defines[i]);
  out->defines = defines.text;
  out->fills = desc->fills ? tsri_strdup(desc->fills) : NULL;
  if (!defines.has_failed && (out->fills || !desc->fills)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_build: no host memory for its text");
}

static tsr_status parse_text(const tsr_kernel_desc *desc, const tsri_kernel_text *text, tsri_module **out_module) {
  const char *name = desc->file_name ? desc->file_name : desc->path ? desc->path : "kernel";
  return tsri_lang_parse_filled(name, text->source, text->source_bytes, text->fills, NULL, out_module);
}

static tsr_status build(tsr_kernel *kernel, const tsr_kernel_desc *desc) {
  tsri_lang_arg args[MAX_DEFINES];
  char names[MAX_DEFINES][NAME_BYTES];
  tsri_module *module = NULL;
  tsr_status status = parse_defines(desc, names, args);
  if (status == TSR_OK) status = keep_text(desc, &kernel->text);
  if (status == TSR_OK) status = parse_text(desc, &kernel->text, &module);
  if (status == TSR_OK) {
    tsri_lang_options options = {.checked = desc->is_checked};
    status = tsri_lang_specialise(module, desc->kernel, args, (size_t)desc->define_count, &options, NULL, &kernel->ir);
  }
  if (status == TSR_OK) status = list_params(kernel, tsri_module_find(module, kernel->ir->name));
  tsri_module_release(module);
  return status;
}

tsr_status tsr_kernel_build(const tsr_kernel_desc *desc, tsr_kernel **out_kernel) {
  if (!out_kernel) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: out_kernel is NULL");
  *out_kernel = NULL;
  if (!desc) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: desc is NULL");
  if (!desc->source == !desc->path) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_build: source and path are both %s; give one of them",
                     desc->source ? "given" : "NULL");
  }
  tsr_kernel *kernel = tsri_object_create(TSRI_OBJECT_KERNEL, sizeof *kernel);
  if (!kernel) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_build: no host memory for its record");
  tsri_mutex_init(&kernel->lock);
  tsr_status status = build(kernel, desc);
  if (status != TSR_OK) {
    destroy(kernel);
    return status;
  }
  *out_kernel = kernel;
  return TSR_OK;
}

static tsr_status check_kernel(const char *caller, const tsr_kernel *kernel) {
  return tsri_object_check(kernel, TSRI_OBJECT_KERNEL, caller, "kernel");
}

tsr_kernel *tsr_kernel_retain(tsr_kernel *kernel) {
  if (kernel && check_kernel("kernel_retain", kernel) == TSR_OK) tsri_object_retain(&kernel->object);
  return kernel;
}

void tsr_kernel_release(tsr_kernel *kernel) {
  if (!kernel) return;
  if (check_kernel("kernel_release", kernel) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (tsri_object_release(&kernel->object)) destroy(kernel);
}

// --- Properties ------------------------------------------------------------------------------------------------------

const char *tsr_kernel_name(const tsr_kernel *kernel) {
  return check_kernel("kernel_name", kernel) == TSR_OK ? kernel->ir->variant : "";
}

void tsr_kernel_group_size(const tsr_kernel *kernel, uint32_t out_size[3]) {
  bool is_good = check_kernel("kernel_group_size", kernel) == TSR_OK;
  for (int i = 0; i < 3 && out_size; i++) out_size[i] = is_good ? kernel->ir->group_size[i] : 0;
}

int tsr_kernel_param_count(const tsr_kernel *kernel) {
  return check_kernel("kernel_param_count", kernel) == TSR_OK ? kernel->param_count : 0;
}

tsr_status tsr_kernel_get_param(const tsr_kernel *kernel, int index, tsr_kernel_param *out_param) {
  tsr_status status = check_kernel("kernel_get_param", kernel);
  if (status != TSR_OK) return status;
  if (!out_param || index < 0 || index >= kernel->param_count) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_get_param: index %d of %d parameters%s", index,
                     kernel->param_count, out_param ? "" : ", and out_param is NULL");
  }
  *out_param = kernel->params[index];
  return TSR_OK;
}

static uint32_t groups_for(uint64_t items, uint32_t size) {
  if (size == 0) return 0;
  uint64_t groups = items / size + (items % size != 0);
  return groups > UINT32_MAX ? UINT32_MAX : (uint32_t)groups;
}

tsr_grid tsr_grid_for(const tsr_kernel *kernel, uint64_t items_x, uint64_t items_y, uint64_t items_z) {
  uint32_t size[3];
  tsr_kernel_group_size(kernel, size);
  return (tsr_grid){groups_for(items_x, size[0]), groups_for(items_y, size[1]), groups_for(items_z, size[2])};
}

tsr_arg tsr_arg_tensor(tsr_tensor *tensor) { return (tsr_arg){.kind = TSR_ARG_TENSOR, .tensor = tensor}; }
tsr_arg tsr_arg_int(int64_t value) { return (tsr_arg){.kind = TSR_ARG_INT, .integer = value}; }
tsr_arg tsr_arg_float(double value) { return (tsr_arg){.kind = TSR_ARG_FLOAT, .real = value}; }

tsr_arg tsr_arg_named(const char *name, tsr_arg arg) {
  arg.name = name;
  return arg;
}

// Copies `from`, truncated to fit, with a terminating 0.
static void copy_text(const char *from, size_t bytes, char *text, size_t text_bytes, size_t *out_bytes) {
  if (out_bytes) *out_bytes = bytes + 1;
  if (!text || text_bytes == 0) return;
  size_t kept = bytes < text_bytes - 1 ? bytes : text_bytes - 1;
  memcpy(text, from, kept);
  text[kept] = 0;
}

tsr_status tsr_kernel_check(const char *source, size_t source_bytes, const char *file_name, char *log, size_t log_bytes,
                            size_t *out_bytes) {
  if (!source) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_check: source is NULL");
  char *parse_log = NULL, *check_log = NULL;
  tsri_module *module = NULL;
  tsr_status status = tsri_lang_parse(file_name ? file_name : "kernel", source,
                                      source_bytes ? source_bytes : strlen(source), &parse_log, &module);
  if (status == TSR_OK) status = tsri_lang_check(module, &check_log);
  const char *text = check_log ? check_log : parse_log ? parse_log : "";
  copy_text(text, strlen(text), log, log_bytes, out_bytes);
  tsri_module_release(module);
  tsri_free(parse_log);
  tsri_free(check_log);
  return status;
}

// Whether a dialect can be shown as text: lane bytecode has a listing, other binary dialects have none.
static bool is_readable(const tsri_emitter *emitter) {
  return emitter->form == TSRI_EMIT_TEXT || strcmp(emitter->name, "lanes") == 0;
}

static tsr_status no_such_dialect(const char *dialect) {
  char names[256] = "ir";
  size_t used = strlen(names);
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name && used < sizeof names; emitter++) {
    if (!is_readable(emitter)) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, " %s", emitter->name);
  }
  for (const char *const *code = tsri_jit_dialects; *code && used < sizeof names; code++) {
    used += (size_t)snprintf(names + used, sizeof names - used, " %s", *code);
  }
  const tsri_emitter *words = tsri_emitter_find(dialect);
  if (words) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_emit: %s is not text; known: %s", words->title, names);
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_emit: there is no dialect '%s'; known: %s", dialect, names);
}

// Whether `dialect` names a processor's instruction set.
static bool is_machine_code(const char *dialect) {
  for (const char *const *code = tsri_jit_dialects; *code; code++) {
    if (strcmp(dialect, *code) == 0) return true;
  }
  return false;
}

// Prints the machine code that the CPU backend generates from its lane bytecode.
static tsr_status emit_machine_code(const tsri_kernel *ir, const char *dialect, char **out_text) {
  tsri_emitted emitted = {0};
  tsr_status status = tsri_emit_kernel(tsri_emitter_find("lanes"), ir, NULL, &emitted);
  if (status == TSR_OK) status = tsri_jit_print(emitted.data, emitted.data_bytes, dialect, out_text);
  tsri_emitted_deinit(&emitted);
  return status;
}

static tsr_status emit_text(const tsri_kernel *ir, const char *dialect, char **out_text) {
  *out_text = NULL;
  if (is_machine_code(dialect)) return emit_machine_code(ir, dialect, out_text);
  tsri_emitted emitted = {0};
  const tsri_emitter *emitter = NULL;
  if (strcmp(dialect, "ir") == 0) {
    *out_text = tsri_ir_print(ir);
  } else {
    emitter = tsri_emitter_find(dialect);
    if (!emitter || !is_readable(emitter)) return no_such_dialect(dialect);
    tsr_status status = tsri_emit_kernel(emitter, ir, NULL, &emitted);
    if (status != TSR_OK) return status;
  }
  if (emitter && emitter->form == TSRI_EMIT_TEXT) {
    *out_text = emitted.data;
    emitted.data = NULL;
  } else if (emitter) {
    *out_text = tsri_lanes_print(emitted.data, emitted.data_bytes);
  }
  tsri_emitted_deinit(&emitted);
  return *out_text ? TSR_OK : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel_emit: no host memory for it");
}

tsr_status tsr_kernel_emit(const tsr_kernel *kernel, const char *dialect, char *text, size_t text_bytes,
                           size_t *out_bytes) {
  tsr_status status = check_kernel("kernel_emit", kernel);
  if (status != TSR_OK) return status;
  if (!dialect) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel_emit: dialect is NULL");
  char *emitted = NULL;
  status = emit_text(kernel->ir, dialect, &emitted);
  if (emitted) copy_text(emitted, strlen(emitted), text, text_bytes, out_bytes);
  tsri_free(emitted);
  return status;
}

// --- Programs -----------------------------------------------------------------------------------------------------

static tsr_status add_program(tsr_kernel *kernel, tsr_device *device, bool wide_unaligned,
                              const tsri_built **out_built) {
  tsri_device_program **grown = tsri_realloc(kernel->programs, ((size_t)kernel->program_count + 1) * sizeof *grown);
  if (grown) kernel->programs = grown;
  tsri_device_program *program = grown ? tsri_calloc(1, sizeof *program) : NULL;
  if (!program) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", kernel->ir->variant);
  tsr_status status = tsri_built_init(device, kernel->ir, wide_unaligned, &program->built);
  if (status != TSR_OK) {
    tsri_free(program);
    return status;
  }
  program->late.destroy = destroy_program;
  program->device = tsr_device_retain(device);
  program->wide_unaligned = wide_unaligned;
  kernel->programs[kernel->program_count++] = program;
  *out_built = &program->built;
  return TSR_OK;
}

tsr_status tsri_kernel_program(tsr_kernel *kernel, tsr_device *device, bool wide_unaligned,
                               const tsri_built **out_built) {
  tsr_status status = TSR_OK;
  *out_built = NULL;
  tsri_mutex_lock(&kernel->lock);
  for (int i = 0; i < kernel->program_count && !*out_built; i++) {
    tsri_device_program *program = kernel->programs[i];
    if (program->device == device && program->wide_unaligned == wide_unaligned) *out_built = &program->built;
  }
  if (!*out_built) status = add_program(kernel, device, wide_unaligned, out_built);
  tsri_mutex_unlock(&kernel->lock);
  return status;
}
