// SPDX-License-Identifier: MIT
// The kernel cache: open addressing by a hash of the key's words. Entries are never removed while the device is open: a
// program has few structures and each costs a few kilobytes.
#include "graph/kernels.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "graph/embedded.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "lang/lang.h"

typedef struct cache_entry {
  uint64_t hash;
  uint32_t *key;
  size_t key_words;
  tsri_kernel *ir;
  tsri_built built;
} cache_entry;

struct tsri_kernel_cache {
  tsr_device *device;
  tsri_mutex lock;
  cache_entry **slots;  // a power of two of them, at most half used
  size_t slot_count, used;
};

tsri_kernel_cache *tsri_kernel_cache_create(tsr_device *device) {
  tsri_kernel_cache *cache = tsri_calloc(1, sizeof *cache);
  if (!cache) return NULL;
  cache->device = device;
  tsri_mutex_init(&cache->lock);
  return cache;
}

static void destroy_entry(tsr_device *device, cache_entry *entry) {
  if (!entry) return;
  tsri_built_deinit(device, &entry->built);
  tsri_kernel_release(entry->ir);
  tsri_free(entry->key);
  tsri_free(entry);
}

void tsri_kernel_cache_destroy(tsri_kernel_cache *cache) {
  if (!cache) return;
  for (size_t i = 0; i < cache->slot_count; i++) destroy_entry(cache->device, cache->slots[i]);
  tsri_free(cache->slots);
  tsri_mutex_deinit(&cache->lock);
  tsri_free(cache);
}

static uint64_t hash_words(const uint32_t *words, size_t count) {
  uint64_t hash = UINT64_C(0x9E3779B97F4A7C15) ^ count;
  for (size_t i = 0; i < count; i++) {
    hash = (hash ^ words[i]) * UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 32;
  }
  return hash;
}

static cache_entry *look_up(const tsri_kernel_cache *cache, uint64_t hash, const uint32_t *key, size_t key_words) {
  for (size_t i = 0; i < cache->slot_count; i++) {
    cache_entry *entry = cache->slots[(hash + i) & (cache->slot_count - 1)];
    if (!entry) return NULL;
    if (entry->hash == hash && entry->key_words == key_words && memcmp(entry->key, key, key_words * sizeof *key) == 0) {
      return entry;
    }
  }
  return NULL;
}

static void put(cache_entry **slots, size_t slot_count, cache_entry *entry) {
  size_t at = entry->hash & (slot_count - 1);
  while (slots[at]) at = (at + 1) & (slot_count - 1);
  slots[at] = entry;
}

static bool grow(tsri_kernel_cache *cache) {
  if ((cache->used + 1) * 2 <= cache->slot_count) return true;
  size_t count = cache->slot_count ? cache->slot_count * 2 : 64;
  cache_entry **slots = tsri_calloc(count, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < cache->slot_count; i++) {
    if (cache->slots[i]) put(slots, count, cache->slots[i]);
  }
  tsri_free(cache->slots);
  cache->slots = slots;
  cache->slot_count = count;
  return true;
}

const tsri_built *tsri_kernel_cache_find(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words) {
  tsri_mutex_lock(&cache->lock);
  cache_entry *entry = look_up(cache, hash_words(key, key_words), key, key_words);
  tsri_mutex_unlock(&cache->lock);
  return entry ? &entry->built : NULL;
}

// --- Building -----------------------------------------------------------------------------------------------------

enum { MAX_DEFINES = 16, DEFINE_BYTES = 48 };

static tsr_status parse_defines(const char *defines, char names[][DEFINE_BYTES], tsri_lang_arg *args,
                                size_t *out_count) {
  *out_count = 0;
  for (const char *at = defines; at && *at;) {
    char define[2 * DEFINE_BYTES];
    size_t length = strcspn(at, " ");
    if (*out_count == MAX_DEFINES || length >= sizeof define) {
      return TSRI_FAIL(TSR_ERR_INTERNAL, "too many or too long defines: %s", defines);
    }
    memcpy(define, at, length);
    define[length] = 0;
    tsr_status status = tsri_lang_arg_parse(define, names[*out_count], DEFINE_BYTES, &args[*out_count]);
    if (status != TSR_OK) return status;
    ++*out_count;
    at += length + (at[length] == ' ');
  }
  return TSR_OK;
}

static tsr_status compile(tsr_device *device, const tsri_kernel_source *source, cache_entry *entry) {
  char names[MAX_DEFINES][DEFINE_BYTES];
  tsri_lang_arg args[MAX_DEFINES];
  size_t arg_count = 0;
  tsri_module *module = NULL;
  tsr_status status = parse_defines(source->defines, names, args, &arg_count);
  if (status == TSR_OK) status = tsri_lang_parse(source->file, source->text, source->bytes, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, source->kernel, args, arg_count, NULL, NULL, &entry->ir);
  tsri_module_release(module);
  if (status == TSR_OK) status = tsri_built_init(device, entry->ir, false, &entry->built);
  if (status == TSR_OK) tsri_log(TSR_LOG_DEBUG, "built %s for %s", entry->ir->variant, device->backend->name);
  else tsri_log(TSR_LOG_DEBUG, "kernel text that failed to build:\n%.*s", (int)source->bytes, source->text);
  return status;
}

static tsr_status create_entry(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words,
                               const tsri_kernel_source *source, cache_entry **out_entry) {
  cache_entry *entry = tsri_calloc(1, sizeof *entry);
  uint32_t *copy = tsri_malloc(key_words * sizeof *key);
  if (!entry || !copy) {
    tsri_free(entry);
    tsri_free(copy);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its record", source->file);
  }
  memcpy(copy, key, key_words * sizeof *key);
  entry->key = copy;
  entry->key_words = key_words;
  entry->hash = hash_words(key, key_words);
  tsr_status status = compile(cache->device, source, entry);
  if (status != TSR_OK) {
    destroy_entry(cache->device, entry);
    return status;
  }
  *out_entry = entry;
  return TSR_OK;
}

tsr_status tsri_kernel_cache_add(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built) {
  cache_entry *entry = NULL;
  tsr_status status = create_entry(cache, key, key_words, source, &entry);
  if (status != TSR_OK) return status;
  tsri_mutex_lock(&cache->lock);
  cache_entry *other = look_up(cache, entry->hash, key, key_words);
  bool has_room = other || grow(cache);
  if (!other && has_room) {
    put(cache->slots, cache->slot_count, entry);
    cache->used++;
  }
  tsri_mutex_unlock(&cache->lock);
  if (other || !has_room) destroy_entry(cache->device, entry);
  if (!has_room) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to keep it", source->file);
  *out_built = other ? &other->built : &entry->built;
  return TSR_OK;
}

// --- Embedded kernels ---------------------------------------------------------------------------------------------

enum { KEY_WORDS = 64 };

tsr_status tsri_embedded_kernel(tsr_device *device, const char *file, const char *kernel, const char *defines,
                                const tsri_built **out_built) {
  uint32_t key[KEY_WORDS] = {0};
  int length = snprintf((char *)key, sizeof key, "%s\n%s\n%s", file, kernel, defines ? defines : "");
  if (length < 0 || (size_t)length >= sizeof key)
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: key of %d characters", file, length);
  size_t key_words = (size_t)length / sizeof(uint32_t) + 1;
  tsri_graph_state *state = NULL;
  tsr_status status = tsri_graph_state_for(device, &state);
  if (status != TSR_OK) return status;
  *out_built = tsri_kernel_cache_find(state->kernels, key, key_words);
  if (*out_built) return TSR_OK;
  tsri_kernel_source source = {.file = file, .kernel = kernel, .defines = defines};
  source.text = tsri_embedded_text(file, &source.bytes);
  if (!source.text) return TSRI_FAIL(TSR_ERR_INTERNAL, "no kernel file %s.tk is embedded", file);
  return tsri_kernel_cache_add(state->kernels, key, key_words, &source, out_built);
}
