// SPDX-License-Identifier: MIT
// `tessera estimate`: estimates how much memory a transformer needs for inference, and which devices have it.
#include <inttypes.h>
#include <stdio.h>
#include <tessera/device.h>
#include <tessera/estimate.h>

#include "commands.h"
#include "device_choice.h"
#include "json.h"
#include "report.h"
#include "size.h"

static tsr_transformer_desc model = {
    .sequence_length = 4096,
    .bytes_per_weight = 2,
    .batch = 1,
    .bytes_per_kv = 2,
    .bytes_per_activation = 2,
};
static bool as_json, has_tied_embeddings;
static device_choice wanted;

#define REQUIRED(option, field, text) \
  { .name = option, .value_name = "N", .help = text, .is_required = true, .count = &model.field }

static const option_spec options[] = {
    REQUIRED("hidden", hidden, "width of the model"),
    REQUIRED("intermediate", intermediate, "width inside the feed-forward layers"),
    REQUIRED("layers", layers, "number of layers"),
    REQUIRED("vocabulary", vocabulary, "number of tokens it knows"),
    REQUIRED("heads", heads, "attention heads; divides the width"),
    {.name = "kv-heads",
     .value_name = "N",
     .help = "heads of keys and values; divides the heads",
     .standard = "as many as heads",
     .count = &model.kv_heads},
    {.name = "sequence",
     .value_name = "N",
     .help = "longest sequence, in tokens",
     .standard = "4096",
     .count = &model.sequence_length},
    {.name = "batch", .value_name = "N", .help = "sequences at once", .standard = "1", .count = &model.batch},
    {.name = "bytes-per-weight",
     .value_name = "X",
     .help = "4 for f32, 2 for f16, 1 for 8-bit, 0.5 for 4-bit weights",
     .standard = "2",
     .real = &model.bytes_per_weight},
    {.name = "bytes-per-kv",
     .value_name = "X",
     .help = "the same for the KV cache",
     .standard = "2",
     .real = &model.bytes_per_kv},
    {.name = "bytes-per-activation",
     .value_name = "X",
     .help = "the same for activations",
     .standard = "2",
     .real = &model.bytes_per_activation},
    {.name = "tied-embeddings",
     .help = "the output layer shares the input embedding's weights",
     .flag = &has_tied_embeddings},
    OPTION_DEVICE(wanted, "every device found"),
    OPTION_BACKEND(wanted),
    {.name = "json", .help = "print JSON", .flag = &as_json},
};

static void write_devices(json_writer *json, const tsr_discovery *found, uint64_t needed) {
  json_begin_array(json, "devices");
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count; d++) {
      const tsr_device_info *device = &backend->devices[d];
      if (!device_choice_takes(&wanted, backend, device)) continue;
      json_begin_object(json, NULL);
      json_text(json, "backend", backend->name);
      json_int(json, "index", device->index);
      json_text(json, "name", device->name);
      json_uint(json, "free_bytes", device->free_bytes);
      if (device->free_bytes > 0) {
        json_bool(json, "enough", device->free_bytes >= needed);
      } else {
        json_null(json, "enough");  // free memory is not known
      }
      json_end_object(json);
    }
  }
  json_end_array(json);
}

static void write_json(const tsr_memory_estimate *estimate, const tsr_discovery *found) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_begin_object(&json, "model");
  json_uint(&json, "hidden", model.hidden);
  json_uint(&json, "intermediate", model.intermediate);
  json_uint(&json, "layers", model.layers);
  json_uint(&json, "vocabulary", model.vocabulary);
  json_uint(&json, "heads", model.heads);
  json_uint(&json, "kv_heads", model.kv_heads);
  json_uint(&json, "sequence", model.sequence_length);
  json_uint(&json, "batch", model.batch);
  json_real(&json, "bytes_per_weight", model.bytes_per_weight);
  json_real(&json, "bytes_per_kv", model.bytes_per_kv);
  json_real(&json, "bytes_per_activation", model.bytes_per_activation);
  json_bool(&json, "tied_embeddings", has_tied_embeddings);
  json_end_object(&json);
  json_uint(&json, "parameters", estimate->parameters);
  json_uint(&json, "weight_bytes", estimate->weight_bytes);
  json_uint(&json, "kv_cache_bytes", estimate->kv_cache_bytes);
  json_uint(&json, "activation_bytes", estimate->activation_bytes);
  json_uint(&json, "total_bytes", estimate->total_bytes);
  write_devices(&json, found, estimate->total_bytes);
  json_end_object(&json);
  json_finish(&json);
}

static void add_part(table *t, const char *name, uint64_t bytes, term_style style) {
  table_cell(t, style, "%s", name);
  table_cell(t, style, "%.2f GiB", (double)bytes / (double)(UINT64_C(1) << 30));
  table_cell(t, style, "%" PRIu64, bytes);
}

static int print_parts(const tsr_memory_estimate *estimate) {
  static const table_column columns[] = {
      {.heading = "Part", .gap = 2},
      {.heading = "Memory", .gap = 2, .is_right = true},
      {.heading = "Bytes", .is_right = true},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  add_part(&t, "Weights", estimate->weight_bytes, TERM_PLAIN);
  add_part(&t, "KV cache", estimate->kv_cache_bytes, TERM_PLAIN);
  add_part(&t, "Activations", estimate->activation_bytes, TERM_PLAIN);
  add_part(&t, "Total", estimate->total_bytes, TERM_BOLD);
  return report_table(&t);
}

static void add_device(table *t, const char *backend, const tsr_device_info *device, uint64_t needed) {
  char size[SIZE_TEXT_BYTES], place[DEVICE_TEXT_BYTES];
  bool is_enough = device->free_bytes >= needed, is_known = device->free_bytes > 0;
  table_cell(t, TERM_PLAIN, "%s", device_format(backend, device->index, place));
  table_cell(t, TERM_PLAIN, "%s%s", device->name, device->is_software ? " (software)" : "");
  table_cell(t, TERM_PLAIN, "%s", is_known ? size_format(device->free_bytes, size) : "-");
  table_cell(t, is_enough ? TERM_GOOD : TERM_BAD, "%s", is_enough ? "yes" : is_known ? "no" : "unknown");
}

static int print_devices(const tsr_discovery *found, uint64_t needed) {
  static const table_column columns[] = {
      {.heading = "Backend", .gap = 2},
      {.heading = "Device", .gap = 2, .narrowest = 16},
      {.heading = "Free", .gap = 2, .is_right = true},
      {.heading = "Enough"},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count; d++) {
      if (device_choice_takes(&wanted, backend, &backend->devices[d])) {
        add_device(&t, backend->name, &backend->devices[d], needed);
      }
    }
  }
  return report_table(&t);
}

static int print_tables(const tsr_memory_estimate *estimate, const tsr_discovery *found) {
  printf("Parameters: %" PRIu64 "\n\n", estimate->parameters);
  int exit_code = print_parts(estimate);
  if (exit_code != EXIT_DONE) return exit_code;
  printf("\n");
  return print_devices(found, estimate->total_bytes);
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  int exit_code = device_choice_read(&wanted, "estimate");
  if (exit_code != EXIT_DONE) return exit_code;
  model.tied_embeddings = has_tied_embeddings;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  tsr_memory_estimate estimate;
  tsr_status status = tsr_estimate_inference(&model, &estimate);
  if (status == TSR_ERR_INVALID_ARGUMENT) return report_usage(NULL, "%s", tsr_last_error());
  if (status != TSR_OK) return report_error();

  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) return report_error();
  exit_code = device_choice_check(&wanted, found);
  if (exit_code == EXIT_DONE && as_json) write_json(&estimate, found);
  else if (exit_code == EXIT_DONE) exit_code = print_tables(&estimate, found);
  tsr_discovery_release(found);
  return exit_code;
}

const tool_command command_estimate = {
    .spec = {.name = "estimate",
             .summary = "tell how much memory a transformer needs for inference",
             .description = "For a decoder with gated feed-forward layers (Llama, Mistral, Qwen): the memory "
                            "for its weights, its cache of keys and values, and its activations while a whole "
                            "prompt is read. Then each device here, with whether its free memory is enough.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .example = "A 7B model with grouped heads:\n"
                        "tessera estimate --hidden 4096 --intermediate 14336 --layers 32 \\\n"
                        "    --vocabulary 32000 --heads 32 --kv-heads 8"},
    .run = run,
};
