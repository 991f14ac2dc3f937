// SPDX-License-Identifier: MIT
// In place of the profiler in the browser, which has a profiler itself, and web/times.js for the times of kernels. Labels are ignored; all other functions fail
// with a message that says so.
#include "core/error.h"
#include "runtime/profile.h"

static tsr_status refuse(const char *caller) {
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: web pages have tessera.profile instead, and the browser's profiler",
                   caller);
}

tsr_status tsr_profile_begin(const tsr_profile_desc *desc) {
  (void)desc;
  return refuse("profile_begin");
}

tsr_status tsr_profile_end(tsr_profile **out_profile) {
  if (out_profile) *out_profile = NULL;
  return refuse("profile_end");
}

bool tsr_profile_is_on(void) { return false; }

tsr_status tsr_profile_get_summary(const tsr_profile *profile, tsr_profile_summary *out_summary) {
  (void)profile;
  (void)out_summary;
  return refuse("profile_get_summary");
}

tsr_status tsr_profile_get_record(const tsr_profile *profile, int index, tsr_profile_record *out_record) {
  (void)profile;
  (void)index;
  (void)out_record;
  return refuse("profile_get_record");
}

tsr_status tsr_profile_get_device(const tsr_profile *profile, int index, tsr_profile_device *out_device) {
  (void)profile;
  (void)index;
  (void)out_device;
  return refuse("profile_get_device");
}

tsr_status tsr_profile_write(const tsr_profile *profile, const char *path) {
  (void)profile;
  (void)path;
  return refuse("profile_write");
}

void tsr_profile_release(tsr_profile *profile) { (void)profile; }
void tsr_label_begin(const char *label) { (void)label; }
void tsr_label_end(void) {}

void tsri_profile_configure(const char *setting, bool is_full) {
  (void)setting;
  (void)is_full;
}

void tsri_profile_opened(tsr_device *device, const char *rejected) {
  (void)device;
  (void)rejected;
}

void tsri_profile_closing(tsr_device *device) { (void)device; }

// One name for all kinds: in the browser it appears only in messages of failed waits.
const char *tsri_native_kind_name(tsri_native_kind kind) {
  (void)kind;
  return "a native operator";
}
