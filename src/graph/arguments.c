// SPDX-License-Identifier: MIT
// Binds arguments by name.
#include "graph/arguments.h"

#include <string.h>

#include "core/error.h"

void tsri_arguments_init(tsri_arguments *args, const tsri_kernel *kernel) {
  args->kernel = kernel;
  args->status = TSR_OK;
  args->next_buffer = args->next_param = 0;
  args->buffers_given = args->params_given = 0;
}

// Sets bit `index` of `*given`. False, with a failure, if it was set already.
static bool take(tsri_arguments *args, uint64_t *given, uint32_t index, const char *name) {
  uint64_t bit = 1ull << index;
  if (*given & bit) {
    args->status = TSRI_FAIL(TSR_ERR_INTERNAL, "%s: parameter '%s' is given twice", args->kernel->variant, name);
    return false;
  }
  *given |= bit;
  return true;
}

static void no_such_name(tsri_arguments *args, const char *what, const char *name) {
  args->status = TSRI_FAIL(TSR_ERR_INTERNAL, "%s has no %s '%s'", args->kernel->variant, what, name);
}

void tsri_arguments_buffer(tsri_arguments *args, const char *name, tsri_argument buffer) {
  uint32_t count = args->kernel ? args->kernel->buffer_count : 0;
  for (uint32_t i = 0; i < count && args->status == TSR_OK; i++) {
    uint32_t index = (args->next_buffer + i) % count;
    if (strcmp(args->kernel->buffers[index].name, name) != 0) continue;
    if (!take(args, &args->buffers_given, index, name)) return;
    args->buffers[index] = buffer;
    args->next_buffer = index + 1;
    return;
  }
  if (args->status == TSR_OK) no_such_name(args, "buffer", name);
}

// The scalar parameter with this name; NULL after a failure.
static const tsri_ir_param *find_param(tsri_arguments *args, const char *name) {
  uint32_t count = args->kernel ? args->kernel->param_count : 0;
  for (uint32_t i = 0; i < count && args->status == TSR_OK; i++) {
    uint32_t index = (args->next_param + i) % count;
    const tsri_ir_param *param = &args->kernel->params[index];
    if (strcmp(param->name, name) != 0) continue;
    args->next_param = index + 1;
    return take(args, &args->params_given, index, name) ? param : NULL;
  }
  if (args->status == TSR_OK) no_such_name(args, "parameter", name);
  return NULL;
}

static void store(tsri_arguments *args, const tsri_ir_param *param, const void *value, size_t bytes) {
  memcpy((char *)args->params + param->offset, value, bytes);
}

void tsri_arguments_word(tsri_arguments *args, const char *name, int64_t value) {
  const tsri_ir_param *param = find_param(args, name);
  if (!param) return;
  uint32_t word = (uint32_t)(uint64_t)value;
  switch (param->type.dtype) {
    case TSR_I64:
      store(args, param, &value, sizeof value);
      break;
    case TSR_F32:
      store(args, param, &(float){(float)value}, sizeof(float));
      break;
    case TSR_F64:
      store(args, param, &(double){(double)value}, sizeof(double));
      break;
    default:
      store(args, param, &word, sizeof word);
  }
}

void tsri_arguments_real(tsri_arguments *args, const char *name, double value) {
  const tsri_ir_param *param = find_param(args, name);
  if (!param) return;
  switch (param->type.dtype) {
    case TSR_F32:
      store(args, param, &(float){(float)value}, sizeof(float));
      break;
    case TSR_F64:
      store(args, param, &value, sizeof value);
      break;
    case TSR_I64:
      store(args, param, &(int64_t){(int64_t)value}, sizeof(int64_t));
      break;
    default:
      store(args, param, &(uint32_t){(uint32_t)(int64_t)value}, sizeof(uint32_t));
  }
}

void tsri_arguments_words(tsri_arguments *args, const char *stem, int first, const int64_t *values, int count) {
  char name[16];
  size_t length = strlen(stem);
  if (length + 2 > sizeof name || first + count > 10) {
    args->status = TSRI_FAIL(TSR_ERR_INTERNAL, "names %s%d and so on are too long", stem, first);
    return;
  }
  memcpy(name, stem, length);
  name[length + 1] = 0;
  for (int i = 0; i < count; i++) {
    name[length] = (char)('0' + first + i);
    tsri_arguments_word(args, name, values[i]);
  }
}

static uint64_t lowest_bits(uint32_t count) { return count >= 64 ? UINT64_MAX : (1ull << count) - 1; }

void tsri_arguments_give_last(tsri_arguments *args, uint32_t buffer_count, uint32_t param_count) {
  if (args->status != TSR_OK) return;
  const tsri_kernel *kernel = args->kernel;
  args->buffers_given |= lowest_bits(buffer_count) << (kernel->buffer_count - buffer_count);
  if (param_count) args->params_given |= lowest_bits(param_count) << (kernel->param_count - param_count);
}

tsr_status tsri_arguments_check(const tsri_arguments *args) {
  if (args->status != TSR_OK) return args->status;
  const tsri_kernel *kernel = args->kernel;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    if (args->buffers_given >> i & 1u) continue;
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: buffer '%s' is not given", kernel->variant, kernel->buffers[i].name);
  }
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    if (args->params_given >> i & 1u) continue;
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: parameter '%s' is not given", kernel->variant, kernel->params[i].name);
  }
  return TSR_OK;
}
