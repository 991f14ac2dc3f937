// SPDX-License-Identifier: MIT
// Generates correct and wrong arguments for public functions.
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "attack/garbage.h"
#include "attack/model_ops.h"
#include "ops/dlpack_abi.h"

static uint64_t below(garbage *g, uint64_t limit) { return attack_below(&g->random, limit); }

// True once in `n` calls; always if all arguments are to be NULL or 0.
static bool is_nothing(garbage *g, uint64_t n) { return g->is_plain || below(g, n) == 0; }

static bool is_call(const garbage *g, const char *name) { return strcmp(g->function, name) == 0; }

static void note(garbage *g, const char *parameter, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void note(garbage *g, const char *parameter, const char *format, ...) {
  size_t used = strlen(g->text);
  int length = snprintf(g->text + used, sizeof g->text - used, "%s%s=", used ? ", " : "", parameter);
  used += length > 0 ? (size_t)length : 0;
  if (used >= sizeof g->text) return;
  va_list values;
  va_start(values, format);
  vsnprintf(g->text + used, sizeof g->text - used, format, values);
  va_end(values);
}

// --- Numbers ----------------------------------------------------------------------------------------------------------------

#define PICK(g, list) ((list)[below((g), sizeof(list) / sizeof((list)[0]))])

static bool is_length(const char *parameter) {
  size_t length = strlen(parameter);
  return length >= 5 && strcmp(parameter + length - 5, "count") == 0;
}

int give_int(garbage *g, const char *parameter) {
  static const int lengths[] = {-1, INT_MIN, 0, 1, 1, 2, 2, 3, 4, 8, 9, GARBAGE_LIST};
  static const int numbers[] = {-9, -8, -2, -1, -1, 0, 0, 0, 1, 1, 2, 3, 8, 9, INT_MIN, INT_MAX};
  int number = g->is_plain ? 0 : is_length(parameter) ? PICK(g, lengths) : PICK(g, numbers);
  note(g, parameter, "%d", number);
  return number;
}

bool give_bool(garbage *g, const char *parameter) {
  bool truth = !g->is_plain && below(g, 2);
  note(g, parameter, "%d", truth);
  return truth;
}

// Lengths of memory that the call must trust are correct: they fit `text`, `log`, `source`, `dst` and `src`.
size_t give_size_t(garbage *g, const char *parameter) {
  static const size_t honest[] = {0, 1, 2, 7, 64, 500};
  static const size_t sizes[] = {0,           1, 2, 3, 4, 8, 12, 16, 64, 4096, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1,
                                 SIZE_MAX - 7};
  bool is_trusted = strcmp(parameter, "text_bytes") == 0 || strcmp(parameter, "log_bytes") == 0 ||
                    strcmp(parameter, "source_bytes") == 0 || strcmp(parameter, "count") == 0;
  size_t size = g->is_plain || strcmp(parameter, "source_bytes") == 0 ? 0
                : is_trusted                                          ? PICK(g, honest)
                                                                      : PICK(g, sizes);
  note(g, parameter, "%zu", size);
  return size;
}

static int64_t any_size(garbage *g) {
  static const int64_t sizes[] = {0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 7};
  static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 62, INT64_C(1) << 40, INT32_MAX, -7};
  return g->is_plain ? 0 : below(g, 10) == 0 ? PICK(g, wrong) : PICK(g, sizes);
}

int64_t give_int64_t(garbage *g, const char *parameter) {
  int64_t number = any_size(g);
  if (below(g, 3) == 0) number = -(number / 2);
  note(g, parameter, "%lld", (long long)number);
  return number;
}

uint64_t give_uint64_t(garbage *g, const char *parameter) {
  static const uint64_t numbers[] = {0, 1, 2, 100, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2 + 1};
  uint64_t number = g->is_plain ? 0 : PICK(g, numbers);
  if (is_call(g, "tsr_cache_trim")) number = UINT64_MAX;  // trims nothing, because other tests use the cache
  note(g, parameter, "%llu", (unsigned long long)number);
  return number;
}

double give_double(garbage *g, const char *parameter) {
  static const double numbers[] = {
      0,         1,   -1,    2,      0.5,    3,      -3,      255, -0.0,         INFINITY,
      -INFINITY, NAN, 1e300, -1e300, 5e-324, 9.3e18, -9.3e18, 1e6, 2147483648.0, -2147483649.0};
  double number = g->is_plain ? 0 : PICK(g, numbers);
  note(g, parameter, "%g", number);
  return number;
}

static int wrong_enum(garbage *g, int count) {
  static const int wrong[] = {-1, 77, INT_MAX, INT_MIN};
  return g->is_plain ? 0 : below(g, 8) ? (int)below(g, (uint64_t)count + 1) : PICK(g, wrong);
}

tsr_dtype give_tsr_dtype(garbage *g, const char *parameter) {
  int number = wrong_enum(g, TSR_DTYPE_COUNT);
  note(g, parameter, "%d", number);
  return (tsr_dtype)number;
}

tsr_quant_format give_tsr_quant_format(garbage *g, const char *parameter) {
  int number = wrong_enum(g, TSR_QUANT_FORMAT_COUNT);
  note(g, parameter, "%d", number);
  return (tsr_quant_format)number;
}

tsr_status give_tsr_status(garbage *g, const char *parameter) {
  int number = wrong_enum(g, TSR_STATUS_COUNT);
  note(g, parameter, "%d", number);
  return (tsr_status)number;
}

tsr_log_level give_tsr_log_level(garbage *g, const char *parameter) {
  int number = wrong_enum(g, TSR_LOG_LEVEL_COUNT);
  note(g, parameter, "%d", number);
  return (tsr_log_level)number;
}

static void swallow(tsr_log_level level, const char *line, void *user) {
  (void)level;
  (void)line;
  (void)user;
}

tsr_log_fn give_tsr_log_fn(garbage *g, const char *parameter) {  // never NULL, which would print
  (void)g;
  (void)parameter;
  return swallow;
}

static bool go_on(void *user) {
  (void)user;
  return false;
}

tsr_interrupt_fn give_tsr_interrupt_fn(garbage *g, const char *parameter) {
  (void)g;
  (void)parameter;
  return go_on;
}

static tsr_status negate_first(void *context, tsr_tensor *const *inputs, int input_count, tsr_tensor **outputs,
                               int output_count) {
  (void)context;
  for (int i = 0; i < output_count && input_count > 0; i++) outputs[i] = tsr_neg(inputs[0]);
  return TSR_OK;
}

tsr_checkpoint_function give_tsr_checkpoint_function(garbage *g, const char *parameter) {
  bool is_null = below(g, 8) == 0;
  note(g, parameter, "%s", is_null ? "NULL" : "negates its first input");
  return is_null ? NULL : negate_first;
}

static void ignore_tuned(void *context, const tsr_tuned *tuned) { (void)context, (void)tuned; }

tsr_tuned_function give_tsr_tuned_function(garbage *g, const char *parameter) {
  bool is_null = below(g, 8) == 0;
  note(g, parameter, "%s", is_null ? "NULL" : "does nothing");
  return is_null ? NULL : ignore_tuned;
}

tsr_shape give_tsr_shape(garbage *g, const char *parameter) {
  static const int32_t wrong[] = {-1, 9, INT32_MIN, INT32_MAX};
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = {.rank = g->is_plain ? 0 : below(g, 10) ? (int32_t)below(g, 4) : PICK(g, wrong)};
  if (!g->is_plain && below(g, 12) == 0) shape.rank = TSR_MAX_RANK;
  for (int i = 0; i < TSR_MAX_RANK; i++) shape.dims[i] = any_size(g);
  note(g, parameter, "rank %d: %s", (int)shape.rank, tsr_shape_format(shape, text, sizeof text));
  return shape;
}

// Huge grids would be a valid request and run for ever, so they are used only without a kernel.
tsr_grid give_tsr_grid(garbage *g, const char *parameter) {
  static const uint32_t sizes[] = {0, 1, 2, 3};
  tsr_grid grid = {PICK(g, sizes), PICK(g, sizes), PICK(g, sizes)};
  if (g->is_null_kernel) grid = (tsr_grid){UINT32_MAX, UINT32_MAX, UINT32_MAX};
  note(g, parameter, "%ux%ux%u", grid.x, grid.y, grid.z);
  return grid;
}

// --- Objects ----------------------------------------------------------------------------------------------------------------

tsr_device *give_tsr_device_p(garbage *g, const char *parameter) {
  tsr_device *device = is_nothing(g, 8) ? NULL : g->devices[below(g, 6) == 0];
  note(g, parameter, "%s", device ? tsr_device_backend(device) : "NULL");
  return is_call(g, "tsr_device_release") ? tsr_device_retain(device) : device;
}

const tsr_device *give_const_tsr_device_p(garbage *g, const char *parameter) { return give_tsr_device_p(g, parameter); }

tsr_tensor *give_tsr_tensor_p(garbage *g, const char *parameter) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_tensor *tensor = is_nothing(g, 10) ? NULL : g->tensors[below(g, GARBAGE_TENSORS)];
  if (!tensor) note(g, parameter, "NULL");
  else if (tsr_error(tensor) != TSR_OK) note(g, parameter, "failed");
  else {
    note(g, parameter, "%s %s", tsr_dtype_name(tsr_tensor_dtype(tensor)),
         tsr_shape_format(tsr_tensor_shape(tensor), text, sizeof text));
  }
  return is_call(g, "tsr_release") ? tsr_retain(tensor) : tensor;
}

const tsr_tensor *give_const_tsr_tensor_p(garbage *g, const char *parameter) { return give_tsr_tensor_p(g, parameter); }

tsr_tensor *const *give_tsr_tensor_p_const_p(garbage *g, const char *parameter) {
  if (is_nothing(g, 8)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++)
    g->list[i] = below(g, 12) ? g->tensors[below(g, 6)] : give_tsr_tensor_p(g, "one");
  note(g, parameter, "a list");
  return g->list;
}

tsr_buffer *give_tsr_buffer_p(garbage *g, const char *parameter) {
  tsr_buffer *buffer = is_nothing(g, 6) ? NULL : g->buffers[below(g, 2)];
  note(g, parameter, "%s", buffer ? "a buffer" : "NULL");
  return is_call(g, "tsr_buffer_release") ? tsr_buffer_retain(buffer) : buffer;
}

const tsr_buffer *give_const_tsr_buffer_p(garbage *g, const char *parameter) { return give_tsr_buffer_p(g, parameter); }

tsr_kernel *give_tsr_kernel_p(garbage *g, const char *parameter) {
  tsr_kernel *kernel = is_nothing(g, 5) ? NULL : g->kernel;
  g->is_null_kernel = !kernel;
  note(g, parameter, "%s", kernel ? "a kernel" : "NULL");
  return is_call(g, "tsr_kernel_release") ? tsr_kernel_retain(kernel) : kernel;
}

const tsr_kernel *give_const_tsr_kernel_p(garbage *g, const char *parameter) { return give_tsr_kernel_p(g, parameter); }

tsr_capture *give_tsr_capture_p(garbage *g, const char *parameter) {
  tsr_capture *capture = is_nothing(g, 5) ? NULL : g->capture;
  note(g, parameter, "%s", capture ? "a capture" : "NULL");
  return is_call(g, "tsr_capture_release") ? tsr_capture_retain(capture) : capture;
}

// Profiles are not reference-counted: a profile that the call will release is created for the call.
tsr_profile *give_tsr_profile_p(garbage *g, const char *parameter) {
  tsr_profile *profile = is_nothing(g, 5) ? NULL : g->profile;
  if (profile && is_call(g, "tsr_profile_release")) {
    (void)tsr_profile_begin(NULL);
    (void)tsr_profile_end(&profile);
  }
  note(g, parameter, "%s", profile ? "a profile" : "NULL");
  return profile;
}

const tsr_profile *give_const_tsr_profile_p(garbage *g, const char *parameter) {
  return give_tsr_profile_p(g, parameter);
}

const tsr_profile_desc *give_const_tsr_profile_desc_p(garbage *g, const char *parameter) {
  static const uint64_t limits[] = {0, 1, 1024, 5000, UINT64_MAX};
  static tsr_profile_desc desc;
  desc = (tsr_profile_desc){.record_limit = PICK(g, limits), .is_full = below(g, 2) != 0};
  bool is_null = is_nothing(g, 4);
  note(g, parameter, "%s", is_null ? "NULL" : "{…}");
  return is_null ? NULL : &desc;
}

const tsr_capture *give_const_tsr_capture_p(garbage *g, const char *parameter) {
  return give_tsr_capture_p(g, parameter);
}

tsr_params *give_tsr_params_p(garbage *g, const char *parameter) {
  tsr_params *params = is_nothing(g, 5) ? NULL : g->params;
  note(g, parameter, "%s", params ? "params" : "NULL");
  return is_call(g, "tsr_params_release") ? tsr_params_retain(params) : params;
}

const tsr_params *give_const_tsr_params_p(garbage *g, const char *parameter) { return give_tsr_params_p(g, parameter); }

tsr_optim *give_tsr_optim_p(garbage *g, const char *parameter) {
  tsr_optim *optim = is_nothing(g, 5) ? NULL : g->optim;
  note(g, parameter, "%s", optim ? "an optimiser" : "NULL");
  return is_call(g, "tsr_optim_release") ? tsr_optim_retain(optim) : optim;
}

const tsr_optim *give_const_tsr_optim_p(garbage *g, const char *parameter) { return give_tsr_optim_p(g, parameter); }

tsr_queue *give_tsr_queue_p(garbage *g, const char *parameter) {
  tsr_queue *queue = is_nothing(g, 5) ? NULL : g->queue;
  note(g, parameter, "%s", queue ? "a queue" : "NULL");
  return is_call(g, "tsr_queue_release") ? tsr_queue_retain(queue) : queue;
}

const tsr_queue *give_const_tsr_queue_p(garbage *g, const char *parameter) { return give_tsr_queue_p(g, parameter); }

tsr_event *give_tsr_event_p(garbage *g, const char *parameter) {
  tsr_event *event = is_nothing(g, 5) ? NULL : g->event;
  note(g, parameter, "%s", event ? "an event" : "NULL");
  return is_call(g, "tsr_event_release") ? tsr_event_retain(event) : event;
}

static void ignore_event(tsr_status status, void *user) {
  (void)status;
  (void)user;
}

tsr_event_callback give_tsr_event_callback(garbage *g, const char *parameter) {
  bool is_null = is_nothing(g, 8);
  note(g, parameter, "%s", is_null ? "NULL" : "does nothing");
  return is_null ? NULL : ignore_event;
}

static tsr_tensor *negate_part(tsr_tensor *part, tsr_device *device, int index, void *user) {
  (void)device;
  (void)index;
  (void)user;
  return tsr_neg(part);
}

static tsr_tensor *sum_part(tsr_tensor *part, tsr_device *device, int index, void *user) {
  (void)device;
  (void)index;
  (void)user;
  return tsr_sum(part, NULL, 0, false);
}

tsr_part_fn give_tsr_part_fn(garbage *g, const char *parameter) {
  bool is_null = is_nothing(g, 8), is_sum = below(g, 4) == 0;
  note(g, parameter, "%s", is_null ? "NULL" : is_sum ? "sums" : "negates");
  return is_null ? NULL : is_sum ? sum_part : negate_part;
}

tsr_device *const *give_tsr_device_p_const_p(garbage *g, const char *parameter) {
  static tsr_device *list[GARBAGE_LIST];
  if (is_nothing(g, 8)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) list[i] = below(g, 12) ? g->devices[below(g, 8) == 0] : NULL;
  note(g, parameter, "a list");
  return list;
}

const double *give_const_double_p(garbage *g, const char *parameter) {
  static double list[GARBAGE_LIST];
  if (is_nothing(g, 3)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) list[i] = give_double(g, "one");
  return list;
}

// Any pointer may be passed: one that is not an open scope is refused without being dereferenced.
tsr_scope *give_tsr_scope_p(garbage *g, const char *parameter) {
  tsr_scope *scope = is_nothing(g, 3) ? NULL : below(g, 2) ? (tsr_scope *)(void *)g : tsr_scope_begin(g->devices[0]);
  note(g, parameter, "%s", scope == (void *)g ? "no scope" : scope ? "a scope" : "NULL");
  return scope;
}

tsr_config *give_tsr_config_p(garbage *g, const char *parameter) {
  tsr_config *config = NULL;
  if (!is_nothing(g, 2)) (void)tsr_config_load(&config);
  note(g, parameter, "%s", config ? "a config" : "NULL");
  return config;
}

tsr_cache_list *give_tsr_cache_list_p(garbage *g, const char *parameter) {
  tsr_cache_list *list = NULL;
  if (!is_nothing(g, 3)) tsr_cache_list_load(&list);
  note(g, parameter, list ? "a list" : "NULL");
  return list;
}

tsr_discovery *give_tsr_discovery_p(garbage *g, const char *parameter) {
  tsr_discovery *discovery = NULL;
  if (!is_nothing(g, 20)) (void)tsr_discover(&discovery);
  note(g, parameter, "%s", discovery ? "a discovery" : "NULL");
  return discovery;
}

FILE *give_FILE_p(garbage *g, const char *parameter) {  // never NULL, which would print
  (void)parameter;
  return g->file;
}

// --- Memory -----------------------------------------------------------------------------------------------------------------

static void *any_memory(garbage *g, const char *parameter, uint64_t one_in) {
  if (is_nothing(g, one_in) || g->memory_count == GARBAGE_OUTS) {
    note(g, parameter, "NULL");
    return NULL;
  }
  note(g, parameter, "memory");
  return g->memory[g->memory_count++];
}

const void *give_const_void_p(garbage *g, const char *parameter) { return any_memory(g, parameter, 6); }
void *give_void_p(garbage *g, const char *parameter) { return any_memory(g, parameter, 6); }
char *give_char_p(garbage *g, const char *parameter) { return any_memory(g, parameter, 6); }

#define GIVE_OUT(type, name) \
  type *give_##name(garbage *g, const char *parameter) { return any_memory(g, parameter, 6); }
GIVE_OUT(bool, bool_p)
GIVE_OUT(int, int_p)
GIVE_OUT(size_t, size_t_p)
GIVE_OUT(int64_t, int64_t_p)
GIVE_OUT(double, double_p)
GIVE_OUT(uint32_t, uint32_t_p)
GIVE_OUT(uint64_t, uint64_t_p)
GIVE_OUT(tsr_shape, tsr_shape_p)
GIVE_OUT(tsr_dtype, tsr_dtype_p)
GIVE_OUT(tsr_device_info, tsr_device_info_p)
GIVE_OUT(tsr_device_counters, tsr_device_counters_p)
GIVE_OUT(tsr_fragment_size, tsr_fragment_size_p)
GIVE_OUT(tsr_memory_stats, tsr_memory_stats_p)
GIVE_OUT(tsr_grad_memory, tsr_grad_memory_p)
GIVE_OUT(tsr_capture_memory, tsr_capture_memory_p)
GIVE_OUT(tsr_device_speed, tsr_device_speed_p)
GIVE_OUT(tsr_memory_estimate, tsr_memory_estimate_p)
GIVE_OUT(tsr_profile_summary, tsr_profile_summary_p)
GIVE_OUT(tsr_profile_record, tsr_profile_record_p)
GIVE_OUT(tsr_profile_device, tsr_profile_device_p)
GIVE_OUT(tsr_kernel_param, tsr_kernel_param_p)

const int *give_const_int_p(garbage *g, const char *parameter) {
  static const int axes[] = {-9, -2, -1, 0, 0, 1, 1, 2, 3, 8, INT_MIN, INT_MAX};
  if (is_nothing(g, 8)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) g->ints[i] = PICK(g, axes);
  note(g, parameter, "{%d, %d, …}", g->ints[0], g->ints[1]);
  return g->ints;
}

const int64_t *give_const_int64_t_p(garbage *g, const char *parameter) {
  if (is_nothing(g, 8) || g->sizes_count == 2) {
    note(g, parameter, "NULL");
    return NULL;
  }
  int64_t *sizes = g->sizes[g->sizes_count++];
  for (int i = 0; i < GARBAGE_LIST; i++) sizes[i] = any_size(g);
  note(g, parameter, "{%lld, %lld, …}", (long long)sizes[0], (long long)sizes[1]);
  return sizes;
}

const char *give_const_char_p(garbage *g, const char *parameter) {
  static char vast[20000];
  static const char *const texts[] = {"",
                                      "x",
                                      "cpu",
                                      "cpu,null",
                                      "f32",
                                      "c",
                                      "opencl",
                                      "memory_limit",
                                      "eager",
                                      "-1",
                                      "99999999999999999999999999",
                                      "%s%n%s%n",
                                      "\xFF\xFE\x80",
                                      "kernel k(out f32 y[]) { y[0] = 1; }",
                                      "kernel k(out f32 y[]) { y[0 = 1; }",
                                      "kernel",
                                      vast};
  memset(vast, '(', sizeof vast - 1);
  const char *text = is_nothing(g, 8) ? NULL : PICK(g, texts);
  // Any other name would be a new file, and NULL prints.
  static const char *const places[] = {"", "/", "no/such.json", "no/such.html", "/proc/no_such_%p"};
  if (is_call(g, "tsr_profile_write")) text = PICK(g, places);
  note(g, parameter, "%.40s", text ? text : "NULL");
  return text;
}

tsr_arg give_tsr_arg(garbage *g, const char *parameter) {
  return (tsr_arg){.kind = (tsr_arg_kind)wrong_enum(g, 2),
                   .tensor = give_tsr_tensor_p(g, parameter),
                   .integer = any_size(g),
                   .real = NAN,
                   .name = below(g, 3)   ? NULL
                           : below(g, 2) ? "x"
                                         : give_const_char_p(g, "name")};
}

const tsr_arg *give_const_tsr_arg_p(garbage *g, const char *parameter) {
  if (is_nothing(g, 8)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) g->args[i] = give_tsr_arg(g, "argument");
  note(g, parameter, "a list");
  return g->args;
}

const tsr_key *give_const_tsr_key_p(garbage *g, const char *parameter) {
  static tsr_key items[GARBAGE_LIST];
  if (is_nothing(g, 8)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) {
    items[i] = (tsr_key){.kind = (tsr_key_kind)(below(g, 12) ? below(g, 3) : below(g, 1000)),
                         .start = any_size(g),
                         .stop = any_size(g),
                         .step = any_size(g)};
  }
  note(g, parameter, "{kind %d from %lld, …}", (int)items[0].kind, (long long)items[0].start);
  return items;
}

// --- Descriptions -----------------------------------------------------------------------------------------------------------

const tsr_device_desc *give_const_tsr_device_desc_p(garbage *g, const char *parameter) {
  static tsr_device_desc desc;
  static const int threads[] = {0, 1, 2, -1, INT_MIN, INT_MAX};
  if (is_nothing(g, 12)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_device_desc){.backend = below(g, 2) ? "cpu" : give_const_char_p(g, "backend"),
                           .index = below(g, 3) ? 0 : give_int(g, "index"),
                           .memory_limit = below(g, 2) ? 0 : give_uint64_t(g, "memory_limit"),
                           .pool_bytes = below(g, 2) ? 0 : give_uint64_t(g, "pool_bytes"),
                           .required_bytes = below(g, 2) ? 0 : give_uint64_t(g, "required_bytes"),
                           .timeout_ms = (uint32_t)give_uint64_t(g, "timeout_ms"),
                           .threads = PICK(g, threads),
                           .tf32 = (tsr_switch)wrong_enum(g, 2),
                           .strict = (tsr_switch)wrong_enum(g, 2)};
  note(g, "threads", "%d", desc.threads);
  return &desc;
}

const tsr_kernel_desc *give_const_tsr_kernel_desc_p(garbage *g, const char *parameter) {
  static const char *const paths[] = {"", "/", "/dev/null", "no/such.tk"};
  static tsr_kernel_desc desc;
  static const char *defines[GARBAGE_LIST];
  if (is_nothing(g, 12)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) defines[i] = below(g, 3) ? "T=f32" : give_const_char_p(g, "define");
  desc = (tsr_kernel_desc){.source = give_const_char_p(g, "source"),
                           .path = below(g, 4) ? NULL : PICK(g, paths),
                           .file_name = give_const_char_p(g, "file_name"),
                           .kernel = below(g, 2) ? NULL : give_const_char_p(g, "kernel"),
                           .fills = below(g, 2) ? NULL : give_const_char_p(g, "fills"),
                           .defines = is_nothing(g, 4) ? NULL : defines,
                           .define_count = below(g, 2) ? 0 : give_int(g, "define_count"),
                           .is_checked = give_bool(g, "is_checked")};
  return &desc;
}

// Paths of files to write and read are in /dev, which has no file of this name. The call must only return a status.
static const char *any_file(garbage *g) {
  static const char *const paths[] = {"", "/", "/dev/null", "/dev/no/such.tsr", "no/such.tsr"};
  return below(g, 4) == 0 ? NULL : PICK(g, paths);
}

const tsr_save_desc *give_const_tsr_save_desc_p(garbage *g, const char *parameter) {
  static tsr_save_desc desc;
  static tsr_named_tensor named[2][GARBAGE_LIST];
  if (is_nothing(g, 6)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < 2 * GARBAGE_LIST; i++) {
    named[i % 2][i / 2] = (tsr_named_tensor){give_const_char_p(g, "name"), give_tsr_tensor_p(g, "tensor")};
  }
  desc = (tsr_save_desc){.path = any_file(g),
                         .inputs = is_nothing(g, 4) ? NULL : named[0],
                         .input_count = give_int(g, "input_count"),
                         .outputs = is_nothing(g, 4) ? NULL : named[1],
                         .output_count = give_int(g, "output_count")};
  return &desc;
}

const tsr_load_desc *give_const_tsr_load_desc_p(garbage *g, const char *parameter) {
  static tsr_load_desc desc;
  static char data[256];
  if (is_nothing(g, 6)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  memcpy(data, "TSRCAP\n\x1a\1", 9);
  for (size_t i = 12; i < sizeof data; i++) data[i] = (char)below(g, 256);
  desc = (tsr_load_desc){.path = any_file(g),
                         .data = below(g, 2) ? NULL : data,
                         .data_bytes = below(g, sizeof data + 1),
                         .most_bytes = below(g, 2) * 4096,
                         .refuses_kernels = give_bool(g, "refuses_kernels")};
  return &desc;
}

const tsr_loss_desc *give_const_tsr_loss_desc_p(garbage *g, const char *parameter) {
  static tsr_loss_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_loss_desc){.reduction = (tsr_loss_reduction)wrong_enum(g, TSR_LOSS_BATCH_MEAN),
                         .ignores = below(g, 3) == 0,
                         .ignored = give_int64_t(g, "ignored"),
                         .smoothing = below(g, 3) ? 0 : give_double(g, "smoothing"),
                         .delta = below(g, 3) ? 0 : give_double(g, "delta"),
                         .weight = below(g, 3) ? NULL : give_tsr_tensor_p(g, "weight"),
                         .positive_weight = below(g, 4) ? NULL : give_tsr_tensor_p(g, "positive_weight")};
  note(g, "reduction", "%d", (int)desc.reduction);
  return &desc;
}

const tsr_grad_desc *give_const_tsr_grad_desc_p(garbage *g, const char *parameter) {
  static tsr_grad_desc desc;
  if (is_nothing(g, 2)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_grad_desc){.cotangent = below(g, 3) ? NULL : give_tsr_tensor_p(g, "cotangent"),
                         .keep = give_bool(g, "keep"),
                         .zeros_if_unused = give_bool(g, "zeros_if_unused")};
  return &desc;
}

// A list with as many elements as the largest count that the next argument may be.
const tsr_param_desc *give_const_tsr_param_desc_p(garbage *g, const char *parameter) {
  static tsr_param_desc list[GARBAGE_LIST];
  static const char *const names[] = {"w", "b", "layer.weight", "layer.bias", "", NULL};
  static char numbered[GARBAGE_LIST][16];
  if (is_nothing(g, 6)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  for (int i = 0; i < GARBAGE_LIST; i++) {
    snprintf(numbered[i], sizeof numbered[i], "p%d", i);
    list[i] = (tsr_param_desc){.name = below(g, 8) ? numbered[i] : PICK(g, names),
                               .shape = {.rank = (int32_t)below(g, 4)},
                               .init = (tsr_init)wrong_enum(g, TSR_INIT_HE_NORMAL),
                               .value = below(g, 2) ? 0 : give_double(g, "value"),
                               .is_inputs_first = below(g, 2)};
    for (int j = 0; j < list[i].shape.rank; j++) list[i].shape.dims[j] = any_size(g);
  }
  return list;
}

const tsr_optim_desc *give_const_tsr_optim_desc_p(garbage *g, const char *parameter) {
  static tsr_optim_desc desc;
  static const tsr_optim_group groups[] = {{"*", 0.1, 0}, {"*w*", -1, NAN}, {NULL, 0, 0}};
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_optim_desc){.kind = (tsr_optim_kind)wrong_enum(g, TSR_LION),
                          .rate = below(g, 2) ? 0 : give_double(g, "rate"),
                          .momentum = below(g, 2) ? 0.5 : give_double(g, "momentum"),
                          .nesterov = below(g, 2),
                          .beta1 = below(g, 2) ? 0 : give_double(g, "beta1"),
                          .beta2 = below(g, 2) ? 0 : give_double(g, "beta2"),
                          .eps = below(g, 2) ? 0 : give_double(g, "eps"),
                          .weight_decay = below(g, 2) ? 0 : give_double(g, "weight_decay"),
                          .groups = below(g, 3) ? groups : NULL,
                          .group_count = below(g, 3) ? 0 : (int)below(g, 4),
                          .schedule = {.kind = (tsr_schedule_kind)wrong_enum(g, TSR_SCHEDULE_LINEAR),
                                       .warmup = give_int64_t(g, "warmup"),
                                       .period = give_int64_t(g, "period")},
                          .clip_norm = below(g, 2) ? 0 : give_double(g, "clip_norm"),
                          .loss_scale = {.first = below(g, 2) ? 0 : give_double(g, "first"),
                                         .growth = below(g, 2) ? 0 : give_double(g, "growth"),
                                         .interval = below(g, 2) ? 0 : give_int64_t(g, "interval")}};
  if (!desc.groups && desc.group_count > 0) note(g, "groups", "NULL");
  return &desc;
}

const tsr_scatter_desc *give_const_tsr_scatter_desc_p(garbage *g, const char *parameter) {
  static tsr_scatter_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_scatter_desc){.combine = (tsr_combine)wrong_enum(g, TSR_COMBINE_MIN)};
  note(g, "combine", "%d", (int)desc.combine);
  return &desc;
}

// A number that is mostly 0, which stands for the default.
static void give_spatial(garbage *g, const char *name, int64_t *out_sizes) {
  for (int i = 0; i < TSR_MAX_SPATIAL; i++) out_sizes[i] = below(g, 3) ? 0 : give_int64_t(g, name);
}

const tsr_conv_desc *give_const_tsr_conv_desc_p(garbage *g, const char *parameter) {
  static tsr_conv_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_conv_desc){.groups = below(g, 3) ? 0 : give_int64_t(g, "groups"),
                         .padding = (tsr_padding)wrong_enum(g, TSR_PADDING_SAME_BEFORE),
                         .channels_last = give_bool(g, "channels_last")};
  give_spatial(g, "stride", desc.stride);
  give_spatial(g, "dilation", desc.dilation);
  give_spatial(g, "before", desc.before);
  give_spatial(g, "after", desc.after);
  give_spatial(g, "output_padding", desc.output_padding);
  return &desc;
}

const tsr_pool_desc *give_const_tsr_pool_desc_p(garbage *g, const char *parameter) {
  static tsr_pool_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_pool_desc){.power = below(g, 3) ? 0 : give_double(g, "power"),
                         .rounds_up = give_bool(g, "rounds_up"),
                         .counts_padding = below(g, 4) == 0,
                         .channels_last = give_bool(g, "channels_last")};
  give_spatial(g, "size", desc.size);
  give_spatial(g, "stride", desc.stride);
  give_spatial(g, "dilation", desc.dilation);
  give_spatial(g, "before", desc.before);
  give_spatial(g, "after", desc.after);
  if (below(g, 4) == 0) give_spatial(g, "output", desc.output);
  return &desc;
}

const tsr_attention_desc *give_const_tsr_attention_desc_p(garbage *g, const char *parameter) {
  static tsr_attention_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_attention_desc){.scale = below(g, 2) ? 0 : give_double(g, "scale"),
                              .softcap = below(g, 2) ? 0 : give_double(g, "softcap"),
                              .window = below(g, 2) ? 0 : give_int64_t(g, "window"),
                              .slopes = below(g, 3) ? NULL : give_tsr_tensor_p(g, "slopes"),
                              .blocks = below(g, 4) ? NULL : give_tsr_tensor_p(g, "blocks"),
                              .lengths = below(g, 3) ? NULL : give_tsr_tensor_p(g, "lengths"),
                              .causal = give_bool(g, "causal")};
  return &desc;
}

static void give_numbers(garbage *g, const char *name, double *out_numbers) {
  for (int i = 0; i < TSR_MAX_SPATIAL; i++) out_numbers[i] = below(g, 3) ? 0 : give_double(g, name);
}

const tsr_resize_desc *give_const_tsr_resize_desc_p(garbage *g, const char *parameter) {
  static tsr_resize_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_resize_desc){.mode = (tsr_resize_mode)wrong_enum(g, TSR_RESIZE_CUBIC),
                           .coordinates = (tsr_resize_coordinates)wrong_enum(g, TSR_RESIZE_CROP),
                           .rounding = (tsr_resize_rounding)wrong_enum(g, TSR_RESIZE_CEIL),
                           .outside = give_double(g, "outside"),
                           .cubic = below(g, 3) ? 0 : give_double(g, "cubic"),
                           .excludes_outside = give_bool(g, "excludes_outside")};
  give_numbers(g, "scale", desc.scale);
  give_numbers(g, "start", desc.start);
  give_numbers(g, "stop", desc.stop);
  return &desc;
}

const tsr_grid_desc *give_const_tsr_grid_desc_p(garbage *g, const char *parameter) {
  static tsr_grid_desc desc;
  desc = (tsr_grid_desc){.mode = (tsr_grid_mode)wrong_enum(g, TSR_GRID_CUBIC),
                         .padding = (tsr_grid_padding)wrong_enum(g, TSR_GRID_REFLECTION),
                         .align_corners = give_bool(g, "align_corners")};
  note(g, parameter, "mode %d, padding %d", (int)desc.mode, (int)desc.padding);
  return is_nothing(g, 4) ? NULL : &desc;
}

const tsr_roi_desc *give_const_tsr_roi_desc_p(garbage *g, const char *parameter) {
  static tsr_roi_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_roi_desc){.rows = below(g, 2) ? 0 : give_int64_t(g, "rows"),
                        .columns = below(g, 2) ? 0 : give_int64_t(g, "columns"),
                        .points = below(g, 2) ? 0 : give_int64_t(g, "points"),
                        .scale = below(g, 3) ? 0 : give_double(g, "scale"),
                        .takes_max = give_bool(g, "takes_max"),
                        .not_aligned = give_bool(g, "not_aligned")};
  return &desc;
}

const tsr_bag_desc *give_const_tsr_bag_desc_p(garbage *g, const char *parameter) {
  static tsr_bag_desc desc;
  desc = (tsr_bag_desc){.mode = (tsr_bag_mode)wrong_enum(g, TSR_BAG_MAX),
                        .ignores = give_bool(g, "ignores"),
                        .ignored = give_int64_t(g, "ignored"),
                        .weights = below(g, 3) ? NULL : give_tsr_tensor_p(g, "weights")};
  note(g, parameter, "mode %d", (int)desc.mode);
  return is_nothing(g, 4) ? NULL : &desc;
}

const tsr_sample_desc *give_const_tsr_sample_desc_p(garbage *g, const char *parameter) {
  static tsr_sample_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_sample_desc){.temperature = below(g, 2) ? 0 : give_double(g, "temperature"),
                           .top_k = below(g, 2) ? 0 : give_int64_t(g, "top_k"),
                           .top_p = below(g, 2) ? 0 : give_double(g, "top_p"),
                           .min_p = below(g, 2) ? 0 : give_double(g, "min_p")};
  return &desc;
}

const tsr_nms_desc *give_const_tsr_nms_desc_p(garbage *g, const char *parameter) {
  static tsr_nms_desc desc;
  desc = (tsr_nms_desc){.overlap = below(g, 2) ? 0 : give_double(g, "overlap"),
                        .most = below(g, 2) ? 0 : give_int64_t(g, "most"),
                        .least = give_double(g, "least"),
                        .drops_low = give_bool(g, "drops_low"),
                        .is_centre = give_bool(g, "is_centre")};
  note(g, parameter, "given");
  return is_nothing(g, 4) ? NULL : &desc;
}

const tsr_recurrent_desc *give_const_tsr_recurrent_desc_p(garbage *g, const char *parameter) {
  static tsr_recurrent_desc desc;
  if (is_nothing(g, 3)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_recurrent_desc){.bias_input = below(g, 3) ? NULL : give_tsr_tensor_p(g, "bias_input"),
                              .bias_hidden = below(g, 3) ? NULL : give_tsr_tensor_p(g, "bias_hidden"),
                              .hidden = below(g, 3) ? NULL : give_tsr_tensor_p(g, "hidden"),
                              .cell = below(g, 3) ? NULL : give_tsr_tensor_p(g, "cell"),
                              .reverse = give_bool(g, "reverse"),
                              .relu = below(g, 4) == 0};
  return &desc;
}

const tsr_rope_desc *give_const_tsr_rope_desc_p(garbage *g, const char *parameter) {
  static tsr_rope_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_rope_desc){.base = below(g, 2) ? 0 : give_double(g, "base"),
                         .scale = below(g, 2) ? 0 : give_double(g, "scale"),
                         .size = below(g, 2) ? 0 : give_int64_t(g, "size"),
                         .frequencies = below(g, 3) ? NULL : give_tsr_tensor_p(g, "frequencies"),
                         .interleaved = give_bool(g, "interleaved")};
  return &desc;
}

const tsr_linear_desc *give_const_tsr_linear_desc_p(garbage *g, const char *parameter) {
  static tsr_linear_desc desc;
  if (is_nothing(g, 4)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_linear_desc){.activation = (tsr_activation)wrong_enum(g, TSR_ACTIVATION_TANH),
                           .residual = below(g, 3) ? NULL : give_tsr_tensor_p(g, "residual")};
  note(g, "activation", "%d", (int)desc.activation);
  return &desc;
}

const tsr_transformer_desc *give_const_tsr_transformer_desc_p(garbage *g, const char *parameter) {
  static tsr_transformer_desc desc;
  if (is_nothing(g, 12)) {
    note(g, parameter, "NULL");
    return NULL;
  }
  desc = (tsr_transformer_desc){.hidden = give_uint64_t(g, "hidden"),
                                .intermediate = give_uint64_t(g, "intermediate"),
                                .layers = give_uint64_t(g, "layers"),
                                .vocabulary = give_uint64_t(g, "vocabulary"),
                                .heads = give_uint64_t(g, "heads"),
                                .kv_heads = give_uint64_t(g, "kv_heads"),
                                .sequence_length = give_uint64_t(g, "sequence_length"),
                                .bytes_per_weight = give_double(g, "bytes_per_weight"),
                                .batch = give_uint64_t(g, "batch"),
                                .bytes_per_kv = give_double(g, "bytes_per_kv"),
                                .bytes_per_activation = give_double(g, "bytes_per_activation"),
                                .tied_embeddings = give_int(g, "tied")};
  return &desc;
}

// --- DLPack -----------------------------------------------------------------------------------------------------------------

// A DLPack struct of either kind, with the memory it points to.
typedef struct dl_block {
  struct DLManagedTensor plain;
  struct DLManagedTensorVersioned versioned;
  int64_t shape[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  unsigned char data[2 * GARBAGE_BYTES];  // the tensor begins in the middle
} dl_block;

static void free_plain(struct DLManagedTensor *self) { free(self->manager); }
static void free_versioned(struct DLManagedTensorVersioned *self) { free(self->manager); }

// Shapes and strides stay within the data, or describe a tensor that no memory could hold.
static void fill_tensor(garbage *g, dl_block *block, dl_tensor *tensor) {
  static const int32_t ranks[] = {0, 1, 1, 2, 2, 3, 8, 9, -1, INT32_MAX, INT32_MIN};
  static const int64_t sizes[] = {0, 1, 2, 2, 2, -1, INT64_MIN}, strides[] = {0, 1, 2, -1, 3};
  static const uint8_t bits[] = {8, 16, 32, 32, 64, 0, 1, 4, 128, 255}, codes[] = {0, 1, 2, 2, 4, 6, 5, 99};
  static const int32_t device_types[] = {DL_CPU, DL_CPU, DL_CPU, DL_CPU, DL_CUDA, DL_CUDA_HOST, 99, -1};
  for (int i = 0; i < TSR_MAX_RANK; i++) {
    block->shape[i] = below(g, 3) ? 2 : PICK(g, sizes);
    block->strides[i] = PICK(g, strides);
  }
  *tensor = (dl_tensor){.data = is_nothing(g, 10) ? NULL : block->data + GARBAGE_BYTES,
                        .device = {PICK(g, device_types), below(g, 6) ? 0 : -1},
                        .ndim = PICK(g, ranks),
                        .dtype = {PICK(g, codes), PICK(g, bits), below(g, 8) ? 1 : (uint16_t)below(g, 5)},
                        .shape = is_nothing(g, 10) ? NULL : block->shape,
                        .strides = is_nothing(g, 3) ? NULL : block->strides,
                        .byte_offset = below(g, 3) ? 0 : below(g, 9)};
  note(g, "managed", "rank %d, code %d, %d bits, lanes %d", (int)tensor->ndim, tensor->dtype.code, tensor->dtype.bits,
       tensor->dtype.lanes);
}

static dl_block *new_block(garbage *g) {
  if (is_nothing(g, 12)) {
    note(g, "managed", "NULL");
    return NULL;
  }
  dl_block *block = calloc(1, sizeof *block);
  if (!block) abort();
  g->given_block = block;
  g->give_back = free;
  return block;
}

struct DLManagedTensor *give_struct_DLManagedTensor_p(garbage *g, const char *parameter) {
  (void)parameter;
  dl_block *block = new_block(g);
  if (!block) return NULL;
  block->plain = (struct DLManagedTensor){.manager = block, .deleter = free_plain};
  fill_tensor(g, block, &block->plain.tensor);
  return &block->plain;
}

struct DLManagedTensorVersioned *give_struct_DLManagedTensorVersioned_p(garbage *g, const char *parameter) {
  (void)parameter;
  dl_block *block = new_block(g);
  if (!block) return NULL;
  block->versioned =
      (struct DLManagedTensorVersioned){.version = {below(g, 5) ? 1 : (uint32_t)below(g, 4), (uint32_t)below(g, 3)},
                                        .manager = block,
                                        .deleter = free_versioned,
                                        .flags = below(g, 4)};
  fill_tensor(g, block, &block->versioned.tensor);
  return &block->versioned;
}

// --- Places for objects -----------------------------------------------------------------------------------------------------

static void *any_out(garbage *g, const char *parameter, void (*release)(void *)) {
  if (is_nothing(g, 6) || g->out_count == GARBAGE_OUTS) {
    note(g, parameter, "NULL");
    return NULL;
  }
  garbage_out *out = &g->outs[g->out_count++];
  memset(out->objects, 0, sizeof out->objects);
  out->release = release;
  note(g, parameter, "out");
  return out->objects;
}

static void release_dlpack(void *managed) { ((struct DLManagedTensor *)managed)->deleter(managed); }
static void release_dlpack_versioned(void *managed) { ((struct DLManagedTensorVersioned *)managed)->deleter(managed); }

#define GIVE_OBJECTS(type, name, release)                       \
  static void release_##name(void *object) { release(object); } \
  type **give_##name(garbage *g, const char *parameter) { return any_out(g, parameter, release_##name); }
GIVE_OBJECTS(tsr_tensor, tsr_tensor_p_p, tsr_release)
GIVE_OBJECTS(tsr_buffer, tsr_buffer_p_p, tsr_buffer_release)
GIVE_OBJECTS(tsr_device, tsr_device_p_p, tsr_device_release)
GIVE_OBJECTS(tsr_kernel, tsr_kernel_p_p, tsr_kernel_release)
GIVE_OBJECTS(tsr_capture, tsr_capture_p_p, tsr_capture_release)
GIVE_OBJECTS(tsr_profile, tsr_profile_p_p, tsr_profile_release)
GIVE_OBJECTS(tsr_queue, tsr_queue_p_p, tsr_queue_release)
GIVE_OBJECTS(tsr_event, tsr_event_p_p, tsr_event_release)
GIVE_OBJECTS(tsr_params, tsr_params_p_p, tsr_params_release)
GIVE_OBJECTS(tsr_optim, tsr_optim_p_p, tsr_optim_release)
GIVE_OBJECTS(tsr_config, tsr_config_p_p, tsr_config_release)
GIVE_OBJECTS(tsr_discovery, tsr_discovery_p_p, tsr_discovery_release)
GIVE_OBJECTS(tsr_cache_list, tsr_cache_list_p_p, tsr_cache_list_release)
static void release_host(void *memory) { (void)tsr_host_free(memory); }
void **give_void_p_p(garbage *g, const char *parameter) { return any_out(g, parameter, release_host); }
GIVE_OBJECTS(struct DLManagedTensor, struct_DLManagedTensor_p_p, release_dlpack)
GIVE_OBJECTS(struct DLManagedTensorVersioned, struct_DLManagedTensorVersioned_p_p, release_dlpack_versioned)
