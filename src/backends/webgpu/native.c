// SPDX-License-Identifier: MIT
// A webgpu.h library, opened at run time: choosing it, its entry points and peculiarities, its adapters.
#include "backends/webgpu/native.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/poll.h"
#include "backends/common/trail.h"
#include "core/log.h"
#include "platform/platform.h"
#include "platform/trust.h"

tsri_wgpu_entries tsri_wgpu_lib;
void (*tsri_wgpu_free_matrix_configs)(wgpu_matrix_configs configs);

tsri_wgpu_api tsri_wgpu = {
    .start = tsri_wgpu_native_start,
    .stop = tsri_wgpu_native_stop,
    .error_text = tsri_wgpu_native_error_text,
    .adapter_count = tsri_wgpu_native_adapter_count,
    .adapter_info = tsri_wgpu_native_adapter_info,
    .device_open = tsri_wgpu_native_device_open,
    .device_close = tsri_wgpu_native_device_close,
    .device_check = tsri_wgpu_native_device_check,
    .buffer_create = tsri_wgpu_native_buffer_create,
    .buffer_destroy = tsri_wgpu_native_buffer_destroy,
    .program_create = tsri_wgpu_native_program_create,
    .program_destroy = tsri_wgpu_native_program_destroy,
    .write = tsri_wgpu_native_write,
    .copy = tsri_wgpu_native_copy,
    .dispatch = tsri_wgpu_native_dispatch,
    .submit = tsri_wgpu_native_submit,
    .wait = tsri_wgpu_native_wait,
    .read = tsri_wgpu_native_read,
    .times_open = tsri_wgpu_native_times_open,
    .time_write = tsri_wgpu_native_time_write,
    .times_read = tsri_wgpu_native_times_read,
    .matrices = tsri_wgpu_native_matrices,
};

// --- Differences between libraries ----------------------------------------------------------------------------------

// All of them get NULL as the instance descriptor: its layout changed more often than any other, and the defaults
// suffice.
static const tsri_wgpu_library libraries[] = {
    {.title = "Dawn",
     .symbol = "wgpuDeviceTick",
     .toggles_type = 0x0005000a,
     .f16_features = {10, 11},
     .subgroup_features = {17, 18},
     .matrix_features = {0x50037, 0x50034},
     .matrix_configs_type = 0x0005003b},
    {.title = "wgpu-native",
     .symbol = "wgpuDevicePoll",
     .f16_features = {11, 10},
     .array_sizes_since = 29u << 24},  // version 29.0.0.0
    {.title = "WebGPU library", .f16_features = {11, 10}, .subgroup_features = {18, 17}},
};

static const tsri_wgpu_library *current;
const tsri_wgpu_library *tsri_wgpu_current(void) { return current; }

static uint32_t current_version;
uint32_t tsri_wgpu_version(void) { return current_version; }

bool tsri_wgpu_has_array_sizes(const tsri_wgpu_library *library, uint32_t version) {
  return version >= library->array_sizes_since;
}

#if defined(_WIN32)
static const char *const usual_names[] = {"wgpu_native.dll", "webgpu_dawn.dll", NULL};
#elif defined(__APPLE__)
static const char *const usual_names[] = {"libwgpu_native.dylib", "libwebgpu_dawn.dylib", NULL};
#else
static const char *const usual_names[] = {"libwgpu_native.so", "libwebgpu_dawn.so", NULL};
#endif

// --- Text -----------------------------------------------------------------------------------------------------------

static TSRI_THREAD_LOCAL char last_text[1500];

tsr_status tsri_wgpu_fail(tsr_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last_text, sizeof last_text, format, args);
  va_end(args);
  return status;
}

void tsri_wgpu_native_error_text(char *text, size_t text_bytes) { snprintf(text, text_bytes, "%s", last_text); }

void tsri_wgpu_copy_text(wgpu_text from, char *to, size_t to_bytes) {
  size_t length = !from.data ? 0 : from.length == WGPU_STRLEN ? strlen(from.data) : from.length;
  if (length >= to_bytes) length = to_bytes - 1;
  if (length > 0) memcpy(to, from.data, length);
  to[length] = '\0';
}

// --- Opening --------------------------------------------------------------------------------------------------------

static bool find_entry_points(tsri_library *library, tsri_wgpu_entries *entries, char *reason, size_t reason_bytes) {
#define TSRI_X(result, name, arguments)                                                            \
  void *name = tsri_library_symbol(library, "wgpu" #name);                                         \
  if (!name) {                                                                                     \
    snprintf(reason, reason_bytes, "has no wgpu" #name ", so it is no webgpu.h of 2025 or newer"); \
    return false;                                                                                  \
  }                                                                                                \
  memcpy(&entries->name, &name, sizeof name);
  WGPU_ENTRY_POINTS(TSRI_X)
#undef TSRI_X
  return true;
}

static const tsri_wgpu_library *recognise(tsri_library *library) {
  const tsri_wgpu_library *kind = libraries;
  while (kind->symbol && !tsri_library_symbol(library, kind->symbol)) kind++;
  return kind;
}

static uint32_t ask_version(tsri_library *library) {
  uint32_t (*get)(void) = NULL;
  void *symbol = tsri_library_symbol(library, "wgpuGetVersion");
  if (!symbol) return 0;
  memcpy(&get, &symbol, sizeof get);
  return get();
}

// A library given with its folder must be a file that no other user can change, as for plug-ins. A bare name is
// searched by the system's loader in its own folders.
static tsri_library *open_trusted(const char *name, char *reason, size_t reason_bytes) {
  char resolved[TSRI_PATH_BYTES];
  if (!strchr(name, '/')) return tsri_library_open(name, reason, reason_bytes);
  if (!tsri_path_is_trusted(name, resolved, reason, reason_bytes)) return NULL;
  return tsri_library_open(resolved, reason, reason_bytes);
}

static bool open_one(const char *name, char *trail, size_t trail_bytes) {
  char reason[300] = "";
  tsri_wgpu_entries entries;
  tsri_library *library = open_trusted(name, reason, sizeof reason);
  if (library && find_entry_points(library, &entries, reason, sizeof reason)) {
    tsri_wgpu_lib = entries;
    current = recognise(library);
    current_version = ask_version(library);
    void *free_configs = tsri_library_symbol(library, "wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers");
    memcpy(&tsri_wgpu_free_matrix_configs, &free_configs, sizeof free_configs);
    tsri_log(TSR_LOG_INFO, "webgpu: %s in %s", current->title, name);
    return true;
  }
  tsri_library_close(library);
  tsri_trail_add(trail, trail_bytes, name, reason);
  return false;
}

tsr_status tsri_wgpu_native_start(const char *library) {
  char trail[800] = "";
  const char *const named[] = {library, NULL};
  if (current) return TSR_OK;
  for (const char *const *name = library ? named : usual_names; *name; name++) {
    if (open_one(*name, trail, sizeof trail)) return TSR_OK;
  }
  if (library) {
    return tsri_wgpu_fail(TSR_ERR_NOT_FOUND, "the library that TESSERA_WEBGPU_LIB names cannot be used (%s)", trail);
  }
  return tsri_wgpu_fail(TSR_ERR_NOT_FOUND,
                        "no WebGPU library here (%s); install wgpu-native or Dawn, or name the file in "
                        "TESSERA_WEBGPU_LIB",
                        trail);
}

// Nothing to do: the library stays open, and adapters are requested again each time.
void tsri_wgpu_native_stop(void) {}

// --- Waiting for answers --------------------------------------------------------------------------------------------

bool tsri_wgpu_pump(wgpu_object instance, const bool *is_there, double timeout_ms) {
  double timeout_ns = timeout_ms * 1e6;
  tsri_poll poll = tsri_poll_begin(timeout_ns < 1e18 ? (uint64_t)timeout_ns : UINT64_MAX);
  do {
    tsri_wgpu_lib.InstanceProcessEvents(instance);
  } while (!*is_there && tsri_poll_again(&poll));
  return *is_there;
}

static void on_object(uint32_t status, wgpu_object object, wgpu_text message, void *user1, void *user2) {
  wgpu_answer *answer = user1;
  (void)user2;
  answer->status = status;
  answer->object = object;
  tsri_wgpu_copy_text(message, answer->text, sizeof answer->text);
  answer->is_there = true;
}

static void on_status(uint32_t status, wgpu_text message, void *user1, void *user2) {
  on_object(status, NULL, message, user1, user2);
}

static void on_scope(uint32_t status, uint32_t type, wgpu_text message, void *user1, void *user2) {
  ((wgpu_answer *)user1)->type = type;
  on_object(status, NULL, message, user1, user2);
}

static wgpu_callback_info make_info(void (*callback)(void), wgpu_answer *answer) {
  *answer = (wgpu_answer){0};
  return (wgpu_callback_info){.mode = WGPU_MODE_PROCESS_EVENTS, .callback = callback, .user1 = answer};
}

wgpu_callback_info tsri_wgpu_object_answer(wgpu_answer *a) { return make_info((void (*)(void))on_object, a); }
wgpu_callback_info tsri_wgpu_status_answer(wgpu_answer *a) { return make_info((void (*)(void))on_status, a); }
wgpu_callback_info tsri_wgpu_scope_answer(wgpu_answer *a) { return make_info((void (*)(void))on_scope, a); }

// --- Adapters -------------------------------------------------------------------------------------------------------

enum { ADAPTER_TIMEOUT_MS = 20000 };

#if defined(_WIN32)
#define USUAL_BACKEND WGPU_BACKEND_D3D12
#elif defined(__APPLE__)
#define USUAL_BACKEND WGPU_BACKEND_METAL
#else
#define USUAL_BACKEND WGPU_BACKEND_VULKAN
#endif

// How an adapter is requested. has_experiments: with Dawn's experimental features.
typedef struct adapter_request {
  wgpu_object instance;
  bool has_experiments;
  double timeout_ms;
} adapter_request;

static wgpu_object request_adapter(const adapter_request *request, uint32_t backend, wgpu_answer *answer) {
  static const char *const allowing[] = {"allow_unsafe_apis"};
  wgpu_toggles toggles = {.chain = {.type = current->toggles_type}, .enabled_count = 1, .enabled = allowing};
  wgpu_adapter_options options = {.next = request->has_experiments && current->toggles_type ? &toggles.chain : NULL,
                                  .level = WGPU_LEVEL_CORE,
                                  .power = WGPU_POWER_HIGH,
                                  .backend = backend};
  wgpu_callback_info info = tsri_wgpu_object_answer(answer);
  (void)tsri_wgpu_lib.InstanceRequestAdapter(request->instance, &options, info);
  if (!tsri_wgpu_pump(request->instance, &answer->is_there, request->timeout_ms)) {
    snprintf(answer->text, sizeof answer->text, "no answer within %.0f ms", request->timeout_ms);
  }
  return answer->status == WGPU_SUCCESS ? answer->object : NULL;
}

// Whether this is Dawn's null backend, which it offers if no driver works: it accepts every command and runs nothing.
static bool runs_nothing(wgpu_object adapter) {
  wgpu_adapter_info info = {0};
  (void)tsri_wgpu_lib.AdapterGetInfo(adapter, &info);
  bool is_null = info.backend == WGPU_BACKEND_NULL;
  tsri_wgpu_lib.AdapterInfoFreeMembers(info);
  return is_null;
}

// WebGPU returns a single adapter, the fastest one. The platform's usual interface is requested first: if asked for
// any, Dawn also tries those of window systems, which print complaints on standard error.
static wgpu_object request_usual_adapter(const adapter_request *request, wgpu_answer *answer) {
  wgpu_answer any;
  wgpu_object adapter = request_adapter(request, USUAL_BACKEND, answer);
  if (!adapter) adapter = request_adapter(request, 0, &any);
  if (!adapter || !runs_nothing(adapter)) return adapter;
  tsri_wgpu_lib.AdapterRelease(adapter);
  return NULL;
}

tsr_status tsri_wgpu_find_adapter(uint32_t index, bool has_experiments, double timeout_ms, wgpu_object *out_instance,
                                  wgpu_object *out_adapter) {
  wgpu_answer answer = {0};
  wgpu_object instance = tsri_wgpu_lib.CreateInstance(NULL);
  if (!instance) return tsri_wgpu_fail(TSR_ERR_INTERNAL, "%s gave no instance", current->title);
  adapter_request request = {instance, has_experiments, timeout_ms};
  wgpu_object adapter = index == 0 ? request_usual_adapter(&request, &answer) : NULL;
  if (index == WGPU_NULL_INDEX) adapter = request_adapter(&request, WGPU_BACKEND_NULL, &answer);
  if (!adapter) {
    tsri_wgpu_lib.InstanceRelease(instance);
    return tsri_wgpu_fail(TSR_ERR_NOT_FOUND, "%s has no adapter here: %s", current->title, answer.text);
  }
  *out_instance = instance;
  *out_adapter = adapter;
  return TSR_OK;
}

uint32_t tsri_wgpu_native_adapter_count(void) {
  wgpu_object instance = NULL, adapter = NULL;
  if (!current || tsri_wgpu_find_adapter(0, false, ADAPTER_TIMEOUT_MS, &instance, &adapter) != TSR_OK) return 0;
  tsri_wgpu_lib.AdapterRelease(adapter);
  tsri_wgpu_lib.InstanceRelease(instance);
  return 1;
}

static uint32_t find_features(wgpu_object adapter, const uint32_t numbers[2], uint32_t out_numbers[2]) {
  uint32_t count = 0;
  for (int i = 0; i < 2; i++) {
    uint32_t number = numbers[i];
    if (number != 0 && tsri_wgpu_lib.AdapterHasFeature(adapter, number)) out_numbers[count++] = number;
  }
  return count;
}

uint32_t tsri_wgpu_f16_features(wgpu_object adapter, uint32_t out_numbers[2]) {
  return find_features(adapter, current->f16_features, out_numbers);
}

uint32_t tsri_wgpu_subgroup_features(wgpu_object adapter, uint32_t out_numbers[2]) {
  return find_features(adapter, current->subgroup_features, out_numbers);
}

uint32_t tsri_wgpu_matrix_features(wgpu_object adapter, uint32_t out_numbers[2]) {
  return find_features(adapter, current->matrix_features, out_numbers);
}

static uint32_t pages(uint64_t bytes) {
  uint64_t count = bytes / 256;
  return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

static void describe_limits(wgpu_object handle, tsri_wgpu_adapter *out) {
  wgpu_limits limits = {0};
  (void)tsri_wgpu_lib.AdapterGetLimits(handle, &limits);
  out->max_buffer_pages = pages(limits.buffer_bytes);
  out->max_binding_pages = pages(limits.storage_binding_bytes);
  out->max_storage_buffers = limits.storage_buffers;
  out->max_group_items = limits.group_items;
  memcpy(out->max_group_size, limits.group_size, sizeof out->max_group_size);
  out->max_groups = limits.groups;
  out->shared_bytes = limits.group_storage_bytes;
  out->storage_alignment = limits.storage_alignment;
  out->uniform_alignment = limits.uniform_alignment;
}

static const char *backend_name(uint32_t backend) {
  static const char *const names[] = {"?",     "nothing", "WebGPU", "D3D11",    "D3D12",
                                      "Metal", "Vulkan",  "OpenGL", "OpenGL ES"};
  return backend < sizeof names / sizeof *names ? names[backend] : "?";
}

tsr_status tsri_wgpu_native_adapter_info(uint32_t index, tsri_wgpu_adapter *out_adapter) {
  wgpu_object instance = NULL, adapter = NULL;
  tsr_status status = tsri_wgpu_find_adapter(index, false, ADAPTER_TIMEOUT_MS, &instance, &adapter);
  if (status != TSR_OK) return status;
  memset(out_adapter, 0, sizeof *out_adapter);
  wgpu_adapter_info info = {0};
  (void)tsri_wgpu_lib.AdapterGetInfo(adapter, &info);
  out_adapter->kind = info.type == WGPU_ADAPTER_CPU          ? TSRI_WGPU_SOFTWARE
                      : info.type == WGPU_ADAPTER_INTEGRATED ? TSRI_WGPU_INTEGRATED
                                                             : TSRI_WGPU_GPU;
  out_adapter->subgroup_min = info.subgroup_min;
  out_adapter->subgroup_max = info.subgroup_max;
  wgpu_text name = info.device.data && info.device.length ? info.device : info.description;
  char driver[80];
  tsri_wgpu_copy_text(name, out_adapter->name, sizeof out_adapter->name);
  tsri_wgpu_copy_text(info.vendor, out_adapter->vendor, sizeof out_adapter->vendor);
  tsri_wgpu_copy_text(info.description, driver, sizeof driver);
  snprintf(out_adapter->driver, sizeof out_adapter->driver, "%s on %s%s%s", current->title, backend_name(info.backend),
           driver[0] ? ", " : "", driver);
  tsri_wgpu_lib.AdapterInfoFreeMembers(info);
  describe_limits(adapter, out_adapter);
  uint32_t numbers[2];
  if (tsri_wgpu_f16_features(adapter, numbers) > 0) out_adapter->features |= TSRI_WGPU_F16;
  if (tsri_wgpu_subgroup_features(adapter, numbers) > 0) out_adapter->features |= TSRI_WGPU_SUBGROUPS;
  tsri_wgpu_lib.AdapterRelease(adapter);
  tsri_wgpu_lib.InstanceRelease(instance);
  return TSR_OK;
}
