// SPDX-License-Identifier: MIT
// The kernel cache: a hash table with open addressing, by the words of the key.
//
// Embedded kernels are few and stay while the device is open. Generated ones take from 20 KiB (the CPU backend) to
// megabytes (drivers that compile for the CPU by LLVM), and a program may need new expressions as long as it runs. So
// two bounds apply when the cache is full: kernels that were not used while the last KEPT_BUILDS were built are
// dropped, and of the rest those used longest ago, until the estimate of what is left is at most KEPT_BYTES. Kernels
// are launched and dropped under the graph's lock; captures hold references to theirs.
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
#include "runtime/tape.h"

enum {
  KEPT_BUILDS = 1024,
  // Kernels that were used while the last LEAST_BUILDS were generated are kept however large they are: a program may need them again and again.
  LEAST_BUILDS = 32,
  KEPT_BYTES = 128 << 20
};

typedef struct cache_entry {
  tsri_kernel_cache *cache;
  uint64_t hash;
  uint32_t *key;
  size_t key_words;
  bool is_generated;
  int references;    // guarded by the cache's lock
  uint64_t used_at;  // value of cache->builds when it was last looked up
  tsri_kernel *ir;
  tsri_built built;
} cache_entry;

struct tsri_kernel_cache {
  tsr_device *device;
  tsri_mutex lock;
  cache_entry **slots;  // slot_count is a power of two; at most half of them are used
  size_t slot_count, used;
  size_t generated, most_generated;  // generated kernels in the cache, and the number at which some are dropped
  size_t bytes, most_bytes;          // host memory that these take, and the amount at which some are dropped
  uint64_t builds;                   // kernels generated since the cache was created
};

tsri_kernel_cache *tsri_kernel_cache_create(tsr_device *device) {
  tsri_kernel_cache *cache = tsri_calloc(1, sizeof *cache);
  if (!cache) return NULL;
  cache->device = device;
  cache->most_generated = (size_t)2 * KEPT_BUILDS;
  cache->most_bytes = (size_t)2 * KEPT_BYTES;
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
  if (entry) entry->used_at = cache->builds;
  tsri_mutex_unlock(&cache->lock);
  return entry ? &entry->built : NULL;
}

size_t tsri_kernel_cache_bytes(tsri_kernel_cache *cache) {
  tsri_mutex_lock(&cache->lock);
  size_t bytes = cache->bytes;
  tsri_mutex_unlock(&cache->lock);
  return bytes;
}

size_t tsri_kernel_cache_generated(tsri_kernel_cache *cache) {
  tsri_mutex_lock(&cache->lock);
  size_t count = cache->generated;
  tsri_mutex_unlock(&cache->lock);
  return count;
}

// --- Dropping -----------------------------------------------------------------------------------------------------

static cache_entry *entry_of(const tsri_built *built) {
  return (cache_entry *)((char *)(uintptr_t)built - offsetof(cache_entry, built));
}

static void release_entry(void *object) {
  cache_entry *entry = object;
  tsri_kernel_cache *cache = entry->cache;
  tsri_mutex_lock(&cache->lock);
  bool is_last = --entry->references == 0;
  tsri_mutex_unlock(&cache->lock);
  if (is_last) destroy_entry(cache->device, entry);
}

void tsri_kernel_hold(const tsri_built *built) {
  if (!tsri_tape_now()) return;
  cache_entry *entry = entry_of(built);
  tsri_mutex_lock(&entry->cache->lock);
  entry->references++;
  tsri_mutex_unlock(&entry->cache->lock);
  tsri_tape_holds(entry->cache->device, entry, release_entry);
}

// How many kernels were generated since this one was last used, at most KEPT_BUILDS + 1.
static uint64_t age_of(const tsri_kernel_cache *cache, const cache_entry *entry) {
  uint64_t age = cache->builds - entry->used_at;
  return age <= KEPT_BUILDS ? age : KEPT_BUILDS + 1;
}

// The greatest age of a kernel to keep: all kernels up to this age take at most KEPT_BYTES together, except that the
// age is at least LEAST_BUILDS.
static uint64_t oldest_kept(const tsri_kernel_cache *cache) {
  size_t bytes_of[KEPT_BUILDS + 2] = {0}, bytes = 0;
  for (size_t i = 0; i < cache->slot_count; i++) {
    const cache_entry *entry = cache->slots[i];
    if (entry && entry->is_generated) bytes_of[age_of(cache, entry)] += entry->built.host_bytes;
  }
  for (uint64_t age = 0; age <= KEPT_BUILDS; age++) {
    bytes += bytes_of[age];
    if (bytes > KEPT_BYTES && age > LEAST_BUILDS) return age - 1;
  }
  return KEPT_BUILDS;
}

static size_t next_limit(size_t now, size_t kept) { return (now > kept ? now : kept) + kept; }

// Moves the entries to keep into a new table. Returns the old table, whose first `*out_count` slots are the entries to drop; NULL when host memory is out, and
// then nothing is dropped. Call with the cache's lock held.
static cache_entry **take_old(tsri_kernel_cache *cache, size_t *out_count) {
  *out_count = 0;
  cache_entry **slots = tsri_calloc(cache->slot_count, sizeof *slots), **old = cache->slots;
  if (!slots) return NULL;
  uint64_t oldest = oldest_kept(cache);
  for (size_t i = 0; i < cache->slot_count; i++) {
    cache_entry *entry = old[i];
    if (!entry) continue;
    if (entry->is_generated && age_of(cache, entry) > oldest) {
      cache->bytes -= entry->built.host_bytes;
      old[(*out_count)++] = entry;
    } else {
      put(slots, cache->slot_count, entry);
    }
  }
  cache->slots = slots;
  cache->used -= *out_count;
  cache->generated -= *out_count;
  cache->most_generated = next_limit(cache->generated, KEPT_BUILDS);
  cache->most_bytes = next_limit(cache->bytes, KEPT_BYTES);
  return old;
}

// Drops old generated kernels. Kernels in the launch caches (repeat.h, single.h) are launched without a lookup here, so they count as used now. Call with the
// graph's lock held.
static void drop_old(tsri_graph_state *state) {
  tsri_kernel_cache *cache = state->kernels;
  size_t count = 0;
  tsri_mutex_lock(&cache->lock);
  for (int i = 0; i < TSRI_WAY_PLACES; i++) {
    if (state->repeats.places[i].built) entry_of(state->repeats.places[i].built)->used_at = cache->builds;
  }
  for (int i = 0; i < TSRI_WAY_PLACES; i++) {
    const tsri_single *single = &state->singles.places[i];
    for (uint32_t k = 0; k < single->step_count; k++) {
      if (single->steps[k].built) entry_of(single->steps[k].built)->used_at = cache->builds;
    }
  }
  cache_entry **old = take_old(cache, &count);
  tsri_mutex_unlock(&cache->lock);
  for (size_t i = 0; i < count; i++) release_entry(old[i]);
  tsri_free(old);
  tsri_log(TSR_LOG_DEBUG, "dropped %zu kernels that were not used for long", count);
}

static bool is_full(tsri_kernel_cache *cache) {
  tsri_mutex_lock(&cache->lock);
  bool is_full = cache->generated >= cache->most_generated || cache->bytes >= cache->most_bytes;
  tsri_mutex_unlock(&cache->lock);
  return is_full;
}

tsr_status tsri_generated_kernel(tsri_graph_state *state, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built) {
  tsri_kernel_cache *cache = state->kernels;
  if (is_full(cache)) {
    tsr_status status = tsri_device_wait(cache->device);  // queued work may use the kernels to drop
    if (status != TSR_OK) return status;
    drop_old(state);
  }
  return tsri_kernel_cache_add(cache, key, key_words, source, out_built);
}

// --- Building -----------------------------------------------------------------------------------------------------

static tsr_status compile(tsr_device *device, const tsri_kernel_source *source, cache_entry *entry) {
  tsri_module *module = NULL;
  tsr_status status = tsri_lang_parse(source->file, source->text, source->bytes, NULL, &module);
  if (status == TSR_OK) {
    status = tsri_lang_specialise(module, source->kernel, source->args, source->arg_count, NULL, NULL, &entry->ir);
  }
  tsri_module_release(module);
  if (status == TSR_OK) status = tsri_built_init(device, entry->ir, false, &entry->built);
  if (status == TSR_OK)
    tsri_log(TSR_LOG_DEBUG, "built %s for %s, about %zu KiB", entry->ir->variant, device->backend->name,
             entry->built.host_bytes >> 10);
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
  entry->cache = cache;
  entry->is_generated = source->is_generated;
  entry->references = 1;
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
    if (entry->is_generated) {
      cache->generated++;
      cache->bytes += entry->built.host_bytes;
      cache->builds++;
    }
    entry->used_at = cache->builds;
  }
  tsri_mutex_unlock(&cache->lock);
  if (other || !has_room) destroy_entry(cache->device, entry);
  if (!has_room) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to keep it", source->file);
  *out_built = other ? &other->built : &entry->built;
  return TSR_OK;
}

// --- Embedded kernels ---------------------------------------------------------------------------------------------

// The key: each name with its terminating 0, each compile-time parameter followed by its value.
size_t tsri_kernel_key(const tsri_kernel_source *source, uint32_t *key, size_t most) {
  char *at = (char *)key;
  size_t room = most * sizeof *key, used = 0;
  for (size_t i = 0; i < 2 + source->arg_count; i++) {
    const tsri_lang_arg *arg = i < 2 ? NULL : &source->args[i - 2];
    const char *text = arg ? arg->name : i == 0 ? source->file : source->kernel;
    int32_t value = !arg ? 0 : arg->is_type ? (int32_t)arg->dtype : (int32_t)arg->value;
    size_t length = strlen(text) + 1, bytes = arg ? length + sizeof value : length;
    if (bytes > room - used) return 0;
    memcpy(at + used, text, length);
    if (arg) memcpy(at + used + length, &value, sizeof value);
    used += bytes;
  }
  while (used % sizeof *key != 0) at[used++] = 0;
  return used / sizeof *key;
}

tsr_status tsri_embedded_kernel(tsr_device *device, const char *file, const char *kernel, const tsri_lang_arg *args,
                                size_t arg_count, const tsri_built **out_built) {
  enum { KEY_WORDS = 64 };
  uint32_t key[KEY_WORDS];
  tsri_kernel_source source = {.file = file, .kernel = kernel, .args = args, .arg_count = arg_count};
  size_t key_words = tsri_kernel_key(&source, key, KEY_WORDS);
  if (key_words == 0) return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: its parameters are too long for a key", kernel);
  tsri_graph_state *state = NULL;
  tsr_status status = tsri_graph_state_for(device, &state);
  if (status != TSR_OK) return status;
  *out_built = tsri_kernel_cache_find(state->kernels, key, key_words);
  if (*out_built) return TSR_OK;
  source.text = tsri_embedded_text(file, &source.bytes);
  if (!source.text) return TSRI_FAIL(TSR_ERR_INTERNAL, "no kernel file %s.tk is embedded", file);
  return tsri_kernel_cache_add(state->kernels, key, key_words, &source, out_built);
}
