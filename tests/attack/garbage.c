// SPDX-License-Identifier: MIT
// Checks the results of public functions for correct and wrong arguments, and restores the state between calls.
#include "attack/garbage.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "attack/model_ops.h"

static void complain(garbage *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(garbage *g, const char *format, ...) {
  va_list values;
  va_start(values, format);
  if (!g->complaint[0]) vsnprintf(g->complaint, sizeof g->complaint, format, values);
  va_end(values);
}

static bool is_retain(const garbage *g) { return strstr(g->function, "retain") != NULL; }

// --- Answers ----------------------------------------------------------------------------------------------------------------

static void check_failure(garbage *g, tsr_status status) {
  if ((unsigned)status >= TSR_STATUS_COUNT) complain(g, "the status %d is none", (int)status);
  if (status == TSR_OK) return;
  if (status == TSR_ERR_INTERNAL) complain(g, "TSR_ERR_INTERNAL: %s", tsr_last_error());
  if (tsr_last_error()[0] == 0) complain(g, "status %s comes without a message", tsr_status_name(status));
}

// Releases the objects that a call returned; a call that failed must not return any.
void take_tsr_status(garbage *g, tsr_status answer) {
  bool is_question = strcmp(g->function, "tsr_last_error_status") == 0 || strcmp(g->function, "tsr_error") == 0;
  if (!is_question) check_failure(g, answer);
  for (int i = 0; i < g->out_count; i++) {
    for (int k = 0; k < GARBAGE_LIST; k++) {
      void *object = g->outs[i].objects[k];
      if (!object) continue;
      if (answer != TSR_OK) complain(g, "it fails (%s) and yet gives an object", tsr_status_name(answer));
      g->outs[i].release(object);
    }
  }
  // Memory of this call is used by the next ones.
  if (strstr(g->function, "_async")) (void)tsr_queue_wait(g->queue);
  if (strcmp(g->function, "tsr_host_register") == 0 && answer == TSR_OK)
    check_failure(g, tsr_host_unregister(g->memory[0]));
  bool is_consumed = answer == TSR_OK;
  if (g->given_block && !is_consumed) g->give_back(g->given_block);
}

// A result replaces one of the tensors, so that later calls use it. Large results are not kept, since they would be
// computed.
void take_tsr_tensor_p(garbage *g, tsr_tensor *answer) {
  enum { KEPT_FROM = 16 };
  if (strcmp(g->function, "tsr_keep") == 0) return;
  if (!answer) {
    if (!is_retain(g)) complain(g, "a tensor is NULL");
    return;
  }
  check_failure(g, is_retain(g) ? TSR_OK : tsr_error(answer));
  bool is_small = tsr_error(answer) == TSR_OK && tsr_tensor_count(answer) <= 512;
  if (!is_small || is_retain(g)) {
    tsr_release(answer);
    return;
  }
  if (attack_below(&g->random, 4) == 0) {
    unsigned char data[512 * 8];
    check_failure(g,
                  tsr_read(answer, data, (size_t)tsr_tensor_count(answer) * tsr_dtype_bytes(tsr_tensor_dtype(answer))));
  }
  int at = KEPT_FROM + (int)attack_below(&g->random, GARBAGE_TENSORS - KEPT_FROM);
  tsr_release(g->tensors[at]);
  g->tensors[at] = answer;
}

void take_tsr_buffer_p(garbage *g, tsr_buffer *answer) {
  (void)g;
  tsr_buffer_release(answer);
}

void take_tsr_device_p(garbage *g, tsr_device *answer) {  // only retain returns a reference
  if (is_retain(g)) tsr_device_release(answer);
}

void take_tsr_kernel_p(garbage *g, tsr_kernel *answer) {
  (void)g;
  tsr_kernel_release(answer);
}

void take_tsr_capture_p(garbage *g, tsr_capture *answer) {
  (void)g;
  tsr_capture_release(answer);
}

void take_tsr_queue_p(garbage *g, tsr_queue *answer) {
  (void)g;
  tsr_queue_release(answer);
}

void take_tsr_event_p(garbage *g, tsr_event *answer) {
  (void)g;
  tsr_event_release(answer);
}

void take_tsr_params_p(garbage *g, tsr_params *answer) {  // only retain returns a reference
  if (is_retain(g)) tsr_params_release(answer);
}

void take_tsr_optim_p(garbage *g, tsr_optim *answer) {
  (void)g;
  tsr_optim_release(answer);
}

void take_tsr_scope_p(garbage *g, tsr_scope *answer) {
  bool may_be_none = strcmp(g->function, "tsr_scope_begin_on") == 0;  // without a queue
  if (!answer && !may_be_none) complain(g, "no scope");
  (void)tsr_scope_end(answer);
}

void take_const_char_p(garbage *g, const char *answer) {
  if (!answer) complain(g, "the text is NULL");
  else if (strlen(answer) > 100000) complain(g, "the text does not end");
}

void take_char_p(garbage *g, char *answer) {
  if (answer && strlen(answer) > GARBAGE_BYTES) complain(g, "the text does not end");
}

#define TAKE_ANY(type, name)                  \
  void take_##name(garbage *g, type answer) { \
    (void)g;                                  \
    (void)answer;                             \
  }
TAKE_ANY(void *, void_p)
TAKE_ANY(int, int)
TAKE_ANY(bool, bool)
TAKE_ANY(size_t, size_t)
TAKE_ANY(int64_t, int64_t)
TAKE_ANY(uint64_t, uint64_t)
TAKE_ANY(tsr_dtype, tsr_dtype)
TAKE_ANY(tsr_dtype_kind, tsr_dtype_kind)
TAKE_ANY(tsr_shape, tsr_shape)
TAKE_ANY(tsr_grid, tsr_grid)
TAKE_ANY(tsr_arg, tsr_arg)
TAKE_ANY(tsr_host_function, tsr_host_function)

// --- Between calls ----------------------------------------------------------------------------------------------------------

// Restores settings that a call may have changed.
static void restore(garbage *g) {
  static const char *const settings[] = {"memory_limit", "eager", NULL};
  if (strcmp(g->function, "tsr_config_set") == 0) {
    for (int i = 0; settings[i]; i++) (void)tsr_config_set(settings[i], NULL);
  }
  if (strcmp(g->function, "tsr_set_priority") == 0) (void)tsr_set_priority(NULL);
  if (strcmp(g->function, "tsr_set_log") == 0) tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  if (strcmp(g->function, "tsr_profile_begin") != 0 && tsr_profile_is_on()) (void)tsr_profile_end(NULL);
  bool stays_open = attack_below(&g->random, 30) != 0;
  if (!stays_open) (void)tsr_capture_end(NULL, 0, NULL);
}

bool garbage_do(garbage *g, const garbage_call *call) {
  g->function = call->name;
  g->text[0] = g->complaint[0] = 0;
  g->out_count = g->memory_count = g->sizes_count = 0;
  g->given_block = NULL;
  tsr_clear_error();
  call->call(g);
  restore(g);
  return g->complaint[0] == 0;
}

static bool make_tensors(garbage *g) {
  tsr_device *d = g->devices[0];
  tsr_tensor **t = g->tensors;
  t[0] = tsr_arange(d, TSR_F32, 0, 6, 1);
  t[1] = tsr_ones(d, TSR_F32, TSR_SHAPE(2, 3));
  t[2] = tsr_full_int(d, TSR_I32, TSR_SHAPE(2, 3), -1);
  t[3] = tsr_transpose(t[1], 0, 1);
  t[4] = tsr_add(t[1], t[2]);  // recorded, not run
  t[5] = tsr_zeros(d, TSR_BOOL, TSR_SHAPE(3));
  t[6] = tsr_ones(d, TSR_F16, TSR_SHAPE(1, 1, 1, 1, 1, 1, 1, 2));
  t[7] = tsr_zeros(d, TSR_I64, TSR_SHAPE(2, 0, 3));
  t[8] = tsr_expand(t[0], TSR_SHAPE(5, 6));
  t[9] = tsr_flip(t[0], 0);
  t[10] = tsr_full(d, TSR_F64, TSR_SCALAR, 2.5);
  t[11] = tsr_reshape(t[0], TSR_SHAPE(4));  // a failed tensor
  t[12] = tsr_eye(d, TSR_U8, 3, 3, 0);
  t[13] = tsr_ones(g->devices[1], TSR_F32, TSR_SHAPE(2, 3));  // on a device that cannot compute
  t[14] = tsr_expand(t[10], TSR_SHAPE(INT64_C(1) << 40));     // larger than the memory
  t[15] = tsr_full(d, TSR_BF16, TSR_SHAPE(3, 2), 7);
  t[16] = tsr_full_int(d, TSR_I4, TSR_SHAPE(3, 5), -3);
  for (int i = 17; i < GARBAGE_TENSORS; i++) t[i] = tsr_full_int(d, (tsr_dtype)(i % TSR_DTYPE_COUNT), TSR_SHAPE(2), i);
  for (int i = 0; i < GARBAGE_TENSORS; i++) {
    if (i != 11 && tsr_error(t[i]) != TSR_OK) return false;
  }
  return true;
}

static bool make_capture(garbage *g) {
  if (tsr_capture_begin(g->devices[0]) != TSR_OK) return false;
  tsr_tensor *output = tsr_neg(g->tensors[1]);
  tsr_status status = tsr_capture_end(&output, 1, &g->capture);
  tsr_release(output);
  return status == TSR_OK;
}

static bool make_profile(garbage *g) {
  if (tsr_profile_begin(NULL) != TSR_OK) return false;
  (void)tsr_evaluate(g->tensors[0]);
  return tsr_profile_end(&g->profile) == TSR_OK;
}

static bool make_params(garbage *g) {
  const tsr_param_desc tensors[] = {{.name = "w", .shape = TSR_SHAPE(2, 3), .init = TSR_INIT_NORMAL},
                                    {.name = "b", .shape = TSR_SHAPE(3), .init = TSR_INIT_ZEROS}};
  return tsr_params_create(g->devices[0], TSR_F32, tensors, 2, 1, &g->params) == TSR_OK &&
         tsr_optim_create(g->params, &(tsr_optim_desc){.kind = TSR_ADAMW}, &g->optim) == TSR_OK;
}

bool garbage_init(garbage *g, uint64_t seed) {
  memset(g, 0, sizeof *g);
  g->random = seed;
  tsr_device_desc desc = {.backend = "cpu", .memory_limit = 32u << 20, .threads = 2};
  if (tsr_device_open(&desc, &g->devices[0]) != TSR_OK) return false;
  desc.backend = "null";
  if (tsr_device_open(&desc, &g->devices[1]) != TSR_OK) return false;
  if (tsr_buffer_create(g->devices[0], 64, 0, &g->buffers[0]) != TSR_OK) return false;
  if (tsr_buffer_create(g->devices[0], 0, 0, &g->buffers[1]) != TSR_OK) return false;
  tsr_kernel_desc kernel = {
      .source = "kernel k(inout f32 y[], in i32 x[], u32 n, f32 s) { if (global.x < n && n < 2) y[0] = s; }"};
  if (tsr_kernel_build(&kernel, &g->kernel) != TSR_OK) return false;
  g->file = tmpfile();
  bool has_queue =
      tsr_queue_create(g->devices[0], &g->queue) == TSR_OK && tsr_queue_record(g->queue, &g->event) == TSR_OK;
  return has_queue && g->file && make_tensors(g) && make_capture(g) && make_params(g) && make_profile(g);
}

void garbage_deinit(garbage *g) {
  (void)tsr_capture_end(NULL, 0, NULL);
  tsr_event_release(g->event);
  tsr_queue_release(g->queue);
  tsr_optim_release(g->optim);
  tsr_params_release(g->params);
  tsr_capture_release(g->capture);
  tsr_profile_release(g->profile);
  tsr_kernel_release(g->kernel);
  for (int i = 0; i < 2; i++) tsr_buffer_release(g->buffers[i]);
  for (int i = 0; i < GARBAGE_TENSORS; i++) tsr_release(g->tensors[i]);
  for (int i = 0; i < 2; i++) tsr_device_release(g->devices[i]);
  if (g->file) fclose(g->file);
}
