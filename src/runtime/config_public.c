// SPDX-License-Identifier: MIT
// tsr_config_load: makes the values in force public.
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/config.h"

// One allocation with the public struct first, so the caller's pointer can be cast back to the record.
typedef struct record {
  tsr_config shown;
  tsr_setting settings[TSRI_SETTING_COUNT];
  tsri_config config;  // owns the texts
} record;

static void show(record *r) {
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    const tsri_setting_info *info = &tsri_settings[i];
    const tsri_config_entry *entry = &r->config.entries[i];
    r->settings[i] = (tsr_setting){.name = info->name,
                                   .variable = info->variable,
                                   .value = entry->text,
                                   .source = entry->source,
                                   .place = entry->place,
                                   .allowed = info->allowed,
                                   .help = info->help};
  }
  r->shown = (tsr_config){.setting_count = TSRI_SETTING_COUNT, .settings = r->settings, .file = r->config.file};
}

tsr_status tsr_config_load(tsr_config **out_config) {
  if (!out_config) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "tsr_config_load: out_config is NULL");
  *out_config = NULL;
  record *r = tsri_calloc(1, sizeof *r);
  if (!r) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "config: no host memory for the settings");
  tsr_status status = tsri_config_resolve(&r->config);
  if (status != TSR_OK) {
    tsri_free(r);
    return status;
  }
  show(r);
  *out_config = &r->shown;
  return TSR_OK;
}

void tsr_config_release(tsr_config *config) {
  if (!config) return;
  record *r = (record *)config;
  tsri_config_deinit(&r->config);
  tsri_free(r);
}
