// SPDX-License-Identifier: MIT
// A device's cache of built kernels. Generated kernels are found by their structure, embedded ones by file, name and
// parameters.
#ifndef TSRI_GRAPH_KERNELS_H
#define TSRI_GRAPH_KERNELS_H

#include "lang/lang.h"
#include "runtime/program.h"

typedef struct tsri_kernel_cache tsri_kernel_cache;
struct tsri_graph_state;

// Creates an empty cache; NULL when host memory is out. `device` must outlive it.
tsri_kernel_cache *tsri_kernel_cache_create(tsr_device *device);
void tsri_kernel_cache_destroy(tsri_kernel_cache *cache);  // takes NULL

// What to build when a key is not in the cache.
typedef struct tsri_kernel_source {
  const char *text;
  size_t bytes;
  const char *file;           // for messages
  const char *kernel;         // NULL: the only kernel in the text
  const tsri_lang_arg *args;  // compile-time parameters
  size_t arg_count;
  bool is_generated;  // may be dropped when it has not been used for long
} tsri_kernel_source;

// Writes the key of an embedded kernel (its file, name and parameters) and returns its length in words; 0 if it has more than `most` words.
size_t tsri_kernel_key(const tsri_kernel_source *source, uint32_t *key, size_t most);

// The kernel with this key, or NULL. A key is a list of words; equal keys mean the same kernel. Any thread. For a
// generated kernel hold the graph's lock as long as the result is used: it may be dropped when the lock is free.
const tsri_built *tsri_kernel_cache_find(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words);

// Builds a kernel and adds it to the cache. If another thread has added the same key meanwhile, returns that thread's
// kernel.
tsr_status tsri_kernel_cache_add(tsri_kernel_cache *cache, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built);

// As tsri_kernel_cache_add, for a generated kernel. Call with the graph's lock held. If the cache is full, it waits for
// the device and drops kernels that have not been used for long. Errors: also those of the wait.
tsr_status tsri_generated_kernel(struct tsri_graph_state *state, const uint32_t *key, size_t key_words,
                                 const tsri_kernel_source *source, const tsri_built **out_built);

// If the calling thread captures, makes its tape hold a reference to this kernel of a cache. Call it when the kernel is
// launched, with the graph's lock held.
void tsri_kernel_hold(const tsri_built *built);

// The number of generated kernels, and an estimate of the host memory they take. Any thread.
size_t tsri_kernel_cache_generated(tsri_kernel_cache *cache);
size_t tsri_kernel_cache_bytes(tsri_kernel_cache *cache);

#endif
