// SPDX-License-Identifier: MIT
// Choosing a device: names, indices, priorities, required memory, and error messages.
#include <tessera/device.h>

#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device.h"
#include "support/devices.h"
#include "support/test.h"

static tsr_status try_open(tsr_device_desc desc) {
  tsr_device *device = (tsr_device *)1;
  tsr_status status = tsr_device_open(&desc, &device);
  if (status != TSR_OK) CHECK(device == NULL);
  else tsr_device_release(device);
  return status;
}

TEST(the_best_device_opens_without_being_named) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(NULL, &device));
  CHECK_OK(tsr_device_test(device));
  tsr_device_info info;
  CHECK_OK(tsr_device_get_info(device, &info));
  CHECK(info.name[0] && info.total_bytes >= info.free_bytes && info.free_bytes > 0);
  tsr_device_release(device);
  CHECK_OK(try_open((tsr_device_desc){.backend = "auto"}));
  CHECK_OK(try_open((tsr_device_desc){.backend = ""}));
}

// On any system some backend is missing, and SwiftShader lacks a feature that is tried when a device of WebGPU is opened.
TEST(what_is_tried_on_the_way_is_not_the_last_error_of_a_success) {
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu:7"}), TSR_ERR_UNAVAILABLE);
  CHECK_OK(try_open((tsr_device_desc){0}));
  CHECK_LAST_ERROR_HAS("index 7 was asked for");
  tsr_discovery *found = NULL;
  CHECK_OK(tsr_discover(&found));
  tsr_discovery_release(found);
  CHECK_LAST_ERROR_HAS("index 7 was asked for");
  tsr_clear_error();
  if (!test_use_webgpu()) CHECK_OK(try_open((tsr_device_desc){.backend = "webgpu"}));
  CHECK_STATUS(tsr_last_error_status(), TSR_OK);
}

TEST(a_backend_may_be_named_in_any_case_and_with_an_index) {
  CHECK_OK(try_open((tsr_device_desc){.backend = "CPU"}));
  CHECK_OK(try_open((tsr_device_desc){.backend = "Cpu:0"}));
  CHECK_OK(try_open((tsr_device_desc){.backend = "AUTO"}));
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu:7"}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("cpu has 1 device, index 7 was asked for");
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu:1", .index = 2}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("\"cpu:1\" and index 2 name two devices");
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu:x"}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("allowed: auto, the name of a backend");
  CHECK_OK(tsr_set_priority("CPU, Vulkan"));
  CHECK_OK(tsr_set_priority("auto"));
  CHECK_OK(tsr_config_set("backend", "cpu:3"));
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("index 3 was asked for");
  // The configured index applies only to the backend configured with it.
  CHECK_OK(try_open((tsr_device_desc){.backend = "null"}));
  CHECK_OK(tsr_config_set("backend", NULL));
}

TEST(unknown_names_get_a_suggestion_and_the_list) {
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cdua"}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("no backend is called 'cdua', did you mean 'cuda'?");
  CHECK_LAST_ERROR_HAS("auto, cuda, rocm, metal, vulkan, opencl, webgpu, cpu");
  CHECK_OK(tsr_config_set("backend", "quantum"));
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("code: no backend is called 'quantum'");
  CHECK_OK(tsr_config_set("backend", NULL));
}

#if !defined(__APPLE__)
TEST(a_backend_that_this_system_cannot_have_says_so) {
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "metal"}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("metal: there is no Metal on this system; Metal is Apple's");
}
#endif

TEST(where_several_backends_are_tried_each_reason_is_short) {
  CHECK_OK(tsr_config_set("device", "5"));
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("; rocm: ");
  CHECK_LAST_ERROR_HAS("; metal: there is no Metal on this system; vulkan");
  CHECK_LAST_ERROR_HAS("; cpu has 1 device, index 5 was asked for");
  CHECK_OK(tsr_config_set("device", NULL));
}

TEST(an_index_out_of_range_says_how_many_there_are) {
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu", .index = 3}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("cpu has 1 device, index 3 was asked for");
  CHECK_STATUS(try_open((tsr_device_desc){.index = -1}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_config_set("device", "5"));
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNAVAILABLE);
  CHECK_OK(tsr_config_set("device", NULL));
}

TEST(a_configured_index_is_for_the_configured_backend) {
  CHECK_OK(tsr_config_set("backend", "cuda"));
  CHECK_OK(tsr_config_set("device", "1"));
  CHECK_OK(try_open((tsr_device_desc){.backend = "cpu"}));
  CHECK_OK(tsr_config_set("backend", NULL));
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "cpu"}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("index 1 was asked for");
  CHECK_OK(tsr_config_set("device", NULL));
}

TEST(required_bytes_are_compared_with_what_is_free) {
  CHECK_OK(try_open((tsr_device_desc){.required_bytes = 1 << 20}));
  CHECK_STATUS(try_open((tsr_device_desc){.required_bytes = UINT64_C(1) << 60}), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("no device has the required 1.0 EiB free: ");
  CHECK_LAST_ERROR_HAS("cpu 0 (");
}

TEST(required_bytes_pass_on_to_a_device_that_has_them) {
  CHECK_OK(tsr_config_set("plugin_path", getenv("TSR_TEST_PLUGIN_DIR")));
  CHECK_OK(tsr_set_priority("sample"));
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.required_bytes = UINT64_C(1200) << 20}, &device));
  CHECK_STR(tsr_device_backend(device), "cpu");  // the sample devices are software and have 1 GiB
  tsr_device_release(device);
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "sample", .required_bytes = UINT64_C(2) << 30}),
               TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("sample 0 (Sample device 0) has 1.0 GiB free; sample 1");
  CHECK_OK(tsr_set_priority(NULL));
  CHECK_OK(tsr_config_set("plugin_path", NULL));
}

TEST(priority_orders_discovery_and_names_are_checked) {
  tsr_discovery *found = NULL;
  CHECK_OK(tsr_set_priority("cpu,vulkan"));
  CHECK_OK(tsr_discover(&found));
  CHECK_STR(found->backends[0].name, "cpu");
  CHECK_STR(found->backends[1].name, "vulkan");
  CHECK_STR(found->backends[2].name, "cuda");
  CHECK_EQ_INT(found->best_backend, 0);
  tsr_discovery_release(found);
  CHECK_STATUS(tsr_set_priority("cpu,vulcan"), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("no backend is called 'vulcan'");
  char far_too_long[1000];
  memset(far_too_long, 'x', sizeof far_too_long);
  far_too_long[sizeof far_too_long - 1] = 0;
  CHECK_STATUS(tsr_set_priority(far_too_long), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_set_priority(NULL));
  CHECK_OK(tsr_discover(&found));
  CHECK_STR(found->backends[0].name, "cuda");
  CHECK_EQ_INT(found->backend_count, 7);
  tsr_discovery_release(found);
  tsr_discovery_release(NULL);
}

TEST(bad_settings_stop_opening_with_their_place) {
  CHECK(setenv("TESSERA_PRIORITY", "cpu,quantum", 1) == 0);
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("TESSERA_PRIORITY: no backend is called 'quantum'");
  unsetenv("TESSERA_PRIORITY");
  CHECK_OK(tsr_config_set("faults", "alloc:0"));
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("'alloc:0' is not a fault; allowed are");
  CHECK_OK(tsr_config_set("faults", NULL));
  CHECK_STATUS(try_open((tsr_device_desc){.threads = -2}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(try_open((tsr_device_desc){.tf32 = (tsr_switch)9}), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_device_open(NULL, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_discover(NULL), TSR_ERR_INVALID_ARGUMENT);
}

TEST(memory_limits_hold_and_name_the_figures) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .memory_limit = 8 << 20}, &device));
  tsr_buffer *first = NULL, *second = NULL;
  CHECK_OK(tsr_buffer_create(device, 5 << 20, 0, &first));
  CHECK_STATUS(tsr_buffer_create(device, 5 << 20, 0, &second), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("5.0 MiB asked");
  CHECK_LAST_ERROR_HAS("limit 8.0 MiB");
  tsr_buffer_release(first);
  CHECK_OK(tsr_buffer_create(device, 5 << 20, 0, &second));
  tsr_buffer_release(second);
  tsr_memory_stats stats;
  uint64_t given_back = 0;
  CHECK_OK(tsr_memory_trim(device, &given_back));
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(given_back >= 5 << 20);
  CHECK_EQ_UINT(stats.held_bytes, 0);
  CHECK_EQ_UINT(stats.limit_bytes, 8 << 20);
  tsr_device_release(device);
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .pool_bytes = 32 << 20}, &device));
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(stats.held_bytes >= 32 << 20);
  tsr_device_release(device);
}

// Calls `use` with the name of each of `count` empty files that look like plug-ins.
static void each_file(const char *folder, int count, void (*use)(const char *path)) {
  for (int i = 0; i < count; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/empty%d.so", folder, i);
    use(path);
  }
}

static void make_file(const char *path) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  fclose(file);
}

static void remove_file(const char *path) { CHECK(remove(path) == 0); }

TEST(more_plug_ins_than_allowed_are_a_status) {
  char folder[] = "/tmp/tessera_plugins_XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  each_file(folder, 70, make_file);
  CHECK_OK(tsr_config_set("plugin_path", folder));
  tsr_discovery *found = NULL;
  CHECK_STATUS(tsr_discover(&found), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("78 backends and plug-ins are more than the 64 allowed");
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNSUPPORTED);
  CHECK_STATUS(tsr_set_priority("cpu"), TSR_ERR_UNSUPPORTED);
  CHECK_OK(tsr_config_set("plugin_path", NULL));
  CHECK_OK(try_open((tsr_device_desc){0}));
  each_file(folder, 70, remove_file);
  CHECK(rmdir(folder) == 0);
}

TEST(a_built_in_backend_that_is_named_opens_without_a_look_at_plug_ins) {
  char folder[] = "/tmp/tessera_plugins_XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  each_file(folder, 70, make_file);  // more than allowed: loading plug-ins would fail
  CHECK_OK(tsr_config_set("plugin_path", folder));
  CHECK_OK(try_open((tsr_device_desc){.backend = "cpu"}));
  CHECK_OK(try_open((tsr_device_desc){.backend = "null"}));
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "sample"}), TSR_ERR_UNAVAILABLE);
  CHECK_STATUS(try_open((tsr_device_desc){0}), TSR_ERR_UNSUPPORTED);
  CHECK_OK(tsr_config_set("plugin_path", NULL));
  each_file(folder, 70, remove_file);
  CHECK(rmdir(folder) == 0);
}

// An operator on tensors of two devices runs on the one later in the order, whichever was opened first.
TEST(a_place_in_the_order_is_the_same_with_and_without_a_look_at_plug_ins) {
  CHECK_OK(tsr_config_set("plugin_path", getenv("TSR_TEST_PLUGIN_DIR")));
  CHECK_OK(tsr_config_set("priority", "null,sample,cpu"));
  tsr_device *sample = test_open("sample"), *cpu = test_open("cpu"), *null = test_open("null");
  CHECK(null->priority < sample->priority && sample->priority < cpu->priority);
  tsr_device_release(null);
  tsr_device_release(cpu);
  tsr_device_release(sample);
  CHECK_OK(tsr_config_set("priority", NULL));
  CHECK_OK(tsr_config_set("plugin_path", NULL));
}

static const tsr_backend_report *find_report(const tsr_discovery *found, const char *plugin_path) {
  for (int i = 0; i < found->backend_count; i++) {
    const char *path = found->backends[i].plugin_path;
    if (path && strcmp(path, plugin_path) == 0) return &found->backends[i];
  }
  return NULL;
}

TEST(a_plug_in_folder_that_others_can_write_is_refused_until_they_cannot) {
  char folder[] = "/tmp/tessera_plugins_XXXXXX", file[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(file, sizeof file, "%s/any.so", folder);
  make_file(file);
  CHECK_OK(tsr_config_set("plugin_path", folder));
  CHECK(chmod(folder, 0777) == 0);
  tsr_discovery *found = NULL;
  CHECK_OK(tsr_discover(&found));
  const tsr_backend_report *report = find_report(found, folder);
  CHECK(report != NULL && find_report(found, file) == NULL);
  CHECK_STATUS(report->status, TSR_ERR_UNAVAILABLE);
  CHECK_STR_HAS(report->reason, "is not used: the folder /tmp/tessera_plugins_");
  CHECK_STR_HAS(report->reason, "can be written by others (mode 0777; chmod go-w ends that)");
  tsr_discovery_release(found);

  CHECK(chmod(folder, 0755) == 0 && chmod(file, 0666) == 0);
  CHECK_OK(tsr_discover(&found));
  report = find_report(found, file);
  CHECK(report != NULL && find_report(found, folder) == NULL);
  CHECK_STR_HAS(report->reason, "any.so can be written by others (mode 0666");
  tsr_discovery_release(found);

  CHECK(chmod(file, 0644) == 0);
  CHECK_OK(tsr_discover(&found));
  report = find_report(found, file);
  CHECK(report != NULL);
  CHECK_STR_HAS(report->reason, "could not be loaded");  // the folder has now been searched, and the file is empty
  tsr_discovery_release(found);
  CHECK_OK(tsr_config_set("plugin_path", NULL));
  CHECK(remove(file) == 0 && rmdir(folder) == 0);
}

TEST(plug_ins_are_listed_and_bad_ones_harm_nothing) {
  char folders[4096];
  snprintf(folders, sizeof folders, "%s:%s:/no/such/folder", getenv("TSR_TEST_BAD_PLUGIN_DIR"),
           getenv("TSR_TEST_PLUGIN_DIR"));
  CHECK_OK(tsr_config_set("plugin_path", folders));
  static const struct {
    const char *name, *reason;
  } wanted[] = {{"bad_abi", "ABI 43"},
                {"no_symbol", "does not export tsr_plugin_backend()"},
                {"no_entries", "lacks the entry 'start'"},
                {"half_pair", "lacks the entry 'run_op', which 'native_ops' asks for"},
                {"bad_name", "its name 'Bad, Name' has more than lower-case letters"},
                {"taken_name", "another backend is called 'cpu'"}};
  tsr_discovery *found = NULL;
  CHECK_OK(tsr_discover(&found));
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    bool is_listed = false;
    for (int j = 0; j < found->backend_count; j++) {
      if (strcmp(found->backends[j].name, wanted[i].name) != 0) continue;
      is_listed = true;
      CHECK_STR_HAS(found->backends[j].reason, wanted[i].reason);
      CHECK_STR_HAS(found->backends[j].reason, found->backends[j].plugin_path);
      CHECK_EQ_INT(found->backends[j].device_count, 0);
    }
    CHECK(is_listed);
  }
  tsr_discovery_release(found);
  CHECK_OK(try_open((tsr_device_desc){.backend = "sample", .index = 1}));
  CHECK_OK(try_open((tsr_device_desc){.backend = "cpu"}));
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "no_symbol"}), TSR_ERR_UNAVAILABLE);
  CHECK_LAST_ERROR_HAS("no_symbol.so: does not export");
  CHECK_OK(tsr_config_set("plugin_path", NULL));
  CHECK_STATUS(try_open((tsr_device_desc){.backend = "sample"}), TSR_ERR_UNAVAILABLE);
}
