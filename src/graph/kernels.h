// SPDX-License-Identifier: MIT
// A device's cache of built kernels: generated ones by their structure, embedded ones by file, name and parameters.
#ifndef TSRI_GRAPH_KERNELS_H
#define TSRI_GRAPH_KERNELS_H

#include "lang/lang.h"
#include "runtime/program.h"

typedef struct tsri_kernel_cache tsri_kernel_cache;
struct tsri_graph_state;

// NULL when host memory is out. `device` outlives the cache.
tsri_kernel_cache *tsri_kernel_cache_create(tsr_device *device);
void tsri_kernel_cache_destroy(tsri_kernel_cache *cache);  // takes NULL

// A kernel to build when the key is new.
typedef struct tsri_kernel_source {
  const char *text;
  size_t bytes;
  const char *file;           // for messages
  const char *kernel;         // NULL: the only one
  const tsri_lang_arg *args;  // compile-time parameters
  size_t arg_count;
  bool is_generated;  // may be dropped when it is not used for long
} tsri_kernel_source;

// Writes the key of an embedded kernel, its file, name and parameters, and gives its length in words. 0: it needs more room than `most`.
size_t tsri_kernel_key(const tsri_kernel_source *source, uint32_t *key, size_t most);

// The kernel with this key, or NULL. Keys are words; equal words, equal kernel. Any thread; a generated kernel under the graph's
// lock, and it may be gone once that is open.
const tsri_built *tsri_kernel_cache_find(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words);

// Builds and keeps it. If another thread was faster, its kernel is used.
tsr_status tsri_kernel_cache_add(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built);

// The same for a generated one, under the graph's lock. From time to time it waits for the device and drops kernels that were not used
// for long. Errors: also those of the wait.
tsr_status tsri_generated_kernel(struct tsri_graph_state *state, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built);

// If the thread captures, the capture keeps this kernel of a cache. Call it when it is launched, under the graph's lock.
void tsri_kernel_hold(const tsri_built *built);

// How many generated kernels there are, and about how much memory they take. Any thread.
size_t tsri_kernel_cache_generated(tsri_kernel_cache *cache);
size_t tsri_kernel_cache_bytes(tsri_kernel_cache *cache);

#endif
