// SPDX-License-Identifier: MIT
// Selecting a device on the command line, the same for every command.
#include "device_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/config.h>

#include "commands.h"
#include "report.h"
#include "suggest.h"

enum { MAX_INDEX = 9999, MAX_NAMES = 64 };

char *device_format(const char *backend, int index, char *text) {
  snprintf(text, DEVICE_TEXT_BYTES, "%s:%d", backend, index);
  return text;
}

// --- Reading ----------------------------------------------------------------------------------------------------------

// Reads an index such as "7". False for anything else.
static bool read_index(const char *text, int *out_index) {
  char *end = NULL;
  long index = strtol(text, &end, 10);
  bool is_index = isdigit((unsigned char)text[0]) && *end == '\0' && index <= MAX_INDEX;
  if (is_index) *out_index = (int)index;
  return is_index;
}

// Reads "cuda" or "cuda:1". False for anything else.
static bool read_name(const char *text, char *backend, int *out_index) {
  size_t length = strcspn(text, ":");
  if (length >= TSR_NAME_BYTES || !isalpha((unsigned char)text[0])) return false;
  for (size_t i = 0; i < length; i++) backend[i] = (char)tolower((unsigned char)text[i]);
  backend[length] = '\0';
  return text[length] == '\0' || read_index(text + length + 1, out_index);
}

int device_choice_read(device_choice *choice, const char *command) {
  const char *backend = choice->backend_text, *device = choice->device_text;
  char other[TSR_NAME_BYTES] = "";
  choice->backend[0] = '\0';
  choice->index = -1;
  if (backend && (!read_name(backend, choice->backend, &choice->index) || choice->index >= 0)) {
    return report_usage(command, "--backend takes the name of a backend, such as cpu or cuda, not '%s'", backend);
  }
  if (!device || read_index(device, &choice->index)) return EXIT_DONE;
  if (!read_name(device, other, &choice->index)) {
    return report_usage(command, "--device takes a backend, a number or both, such as cpu, 1 or cuda:1, not '%s'",
                        device);
  }
  if (backend && strcmp(other, choice->backend) != 0) {
    return report_usage(command, "--backend %s and --device %s name two backends", backend, device);
  }
  memcpy(choice->backend, other, sizeof other);
  return EXIT_DONE;
}

// --- Comparing with what is there -------------------------------------------------------------------------------------

bool device_choice_is_made(const device_choice *choice) { return choice->backend[0] != '\0' || choice->index >= 0; }

bool device_choice_takes(const device_choice *choice, const tsr_backend_report *backend,
                         const tsr_device_info *device) {
  if (choice->backend[0] && strcmp(choice->backend, backend->name) != 0) return false;
  return choice->index < 0 || choice->index == device->index;
}

static const tsr_backend_report *find_backend(const device_choice *choice, const tsr_discovery *found) {
  for (int b = 0; b < found->backend_count; b++) {
    if (strcmp(found->backends[b].name, choice->backend) == 0) return &found->backends[b];
  }
  return NULL;
}

static bool takes_any(const device_choice *choice, const tsr_discovery *found) {
  for (int b = 0; b < found->backend_count; b++) {
    for (int d = 0; d < found->backends[b].device_count; d++) {
      if (device_choice_takes(choice, &found->backends[b], &found->backends[b].devices[d])) return true;
    }
  }
  return false;
}

bool device_choice_is_unlisted(const device_choice *choice, const tsr_discovery *found) {
  tsr_device *device = NULL;
  if (!choice->backend[0] || find_backend(choice, found)) return false;
  bool is_open = device_open_exactly(choice->backend, choice->index < 0 ? 0 : choice->index, &device) == TSR_OK;
  tsr_device_release(device);
  return is_open;
}

// --- Saying that it is not there --------------------------------------------------------------------------------------

// The selection as a person would type it: "cuda:1", "cuda", or "1".
static void format_choice(const device_choice *choice, char *text) {
  if (!choice->backend[0]) snprintf(text, DEVICE_TEXT_BYTES, "%d", choice->index);
  else if (choice->index < 0) snprintf(text, DEVICE_TEXT_BYTES, "%s", choice->backend);
  else device_format(choice->backend, choice->index, text);
}

static void print_unknown_backend(const char *backend, const tsr_discovery *found) {
  const char *names[MAX_NAMES];
  int count = found->backend_count < MAX_NAMES ? found->backend_count : MAX_NAMES;
  for (int b = 0; b < count; b++) names[b] = found->backends[b].name;
  const char *nearest = tsri_text_nearest(backend, names, (size_t)count);
  fprintf(stderr, "no backend is called '%s'%s%s%s; there are", backend, nearest ? ", did you mean '" : "",
          nearest ? nearest : "", nearest ? "'?" : "");
  for (int b = 0; b < count; b++) fprintf(stderr, "%s %s", b ? "," : "", names[b]);
}

// Prints "tessera: there is no device 'cuda:1': cuda has 1 device, numbered from 0".
static int report_absent(const device_choice *choice, const tsr_discovery *found) {
  char text[DEVICE_TEXT_BYTES];
  const tsr_backend_report *backend = find_backend(choice, found);
  format_choice(choice, text);
  fprintf(stderr, "tessera: there is no device '%s': ", text);
  if (choice->backend[0] && !backend) {
    print_unknown_backend(choice->backend, found);
  } else if (backend && backend->device_count == 0) {
    fputs(*backend->reason ? backend->reason : "the backend finds none", stderr);
  } else if (backend) {
    fprintf(stderr, "%s has %d device%s, numbered from 0", backend->name, backend->device_count,
            backend->device_count == 1 ? "" : "s");
  } else {
    fputs("no backend has as many; 'tessera devices' lists them", stderr);
  }
  fputc('\n', stderr);
  return EXIT_NO_DEVICE;
}

int device_choice_check(const device_choice *choice, const tsr_discovery *found) {
  if (!device_choice_is_made(choice) || takes_any(choice, found)) return EXIT_DONE;
  return device_choice_is_unlisted(choice, found) ? EXIT_DONE : report_absent(choice, found);
}

// --- Opening ----------------------------------------------------------------------------------------------------------

tsr_status device_open_exactly(const char *backend, int index, tsr_device **out_device) {
  char text[16];
  snprintf(text, sizeof text, "%d", index);
  tsr_status status = tsr_config_set("device", text);
  if (status == TSR_OK) status = tsr_config_set("required_bytes", "0");
  if (status == TSR_OK) status = tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, out_device);
  tsr_config_set("device", NULL);
  tsr_config_set("required_bytes", NULL);
  return status;
}

// The descriptor cannot express "any index", so the selection is passed through the settings.
static tsr_status open_chosen(const device_choice *choice, tsr_device **out_device) {
  char index[16];
  snprintf(index, sizeof index, "%d", choice->index);
  tsr_status status = choice->backend[0] ? tsr_config_set("backend", choice->backend) : TSR_OK;
  if (status == TSR_OK && choice->index >= 0) status = tsr_config_set("device", index);
  return status == TSR_OK ? tsr_device_open(NULL, out_device) : status;
}

int device_choice_open(const device_choice *choice, tsr_device **out_device) {
  tsr_discovery *found = NULL;
  tsr_status status = open_chosen(choice, out_device);
  if (status == TSR_OK) return EXIT_DONE;
  if (status != TSR_ERR_UNAVAILABLE) return report_error();
  char message[1024];  // a copy, since discovery may replace the message
  snprintf(message, sizeof message, "%s", tsr_last_error());
  if (device_choice_is_made(choice) && tsr_discover(&found) == TSR_OK && !takes_any(choice, found)) {
    report_absent(choice, found);
  } else {
    fprintf(stderr, "tessera: %s\n", message);
  }
  tsr_discovery_release(found);
  return EXIT_NO_DEVICE;
}
