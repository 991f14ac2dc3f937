// SPDX-License-Identifier: MIT
// Scopes: a stack per thread. Each scope holds one reference to every tensor created while it was the innermost one.
//
// A tensor knows its scope and its index there, so removing it needs no search. Invariant: for each item, item->scope
// is this scope and item->scope_index is its index.
#include <tessera/scope.h>

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "platform/platform.h"

struct tsr_scope {
  tsr_scope *parent;
  tsr_device *device;
  tsr_tensor **items;
  size_t item_count, item_capacity;
  void (*at_end)(void *user);  // see tsri_scope_at_end
  void *user;
};

static TSRI_THREAD_LOCAL tsr_scope *innermost;
static TSRI_THREAD_LOCAL bool ends_with_thread;  // end_all is called when the thread ends

static void end_all(void);
static tsri_thread_end end_of_thread = {.release = end_all};

tsr_scope *tsr_scope_begin(tsr_device *device) {
  tsr_scope *scope = tsri_record_alloc(sizeof *scope);
  if (!scope) {
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "scope_begin: no host memory for its record");
    return NULL;
  }
  *scope = (tsr_scope){.device = tsr_device_retain(device), .parent = innermost};
  innermost = scope;
  if (!ends_with_thread) tsri_thread_end_set(&end_of_thread, true);
  ends_with_thread = true;
  return scope;
}

void tsri_scope_at_end(tsr_scope *scope, void (*at_end)(void *user), void *user) {
  scope->at_end = at_end;
  scope->user = user;
}

static void end_innermost(void) {
  tsr_scope *scope = innermost;
  innermost = scope->parent;
  for (size_t i = scope->item_count; i-- > 0;) {
    scope->items[i]->scope = NULL;
    tsr_release(scope->items[i]);
  }
  if (scope->at_end) scope->at_end(scope->user);
  tsr_device_release(scope->device);
  tsri_record_free(scope->items, scope->item_capacity * sizeof *scope->items);
  tsri_record_free(scope, sizeof *scope);
}

static void end_all(void) {
  ends_with_thread = false;
  while (innermost) end_innermost();
}

static bool is_open(const tsr_scope *scope) {
  for (const tsr_scope *at = innermost; at; at = at->parent) {
    if (at == scope) return true;
  }
  return false;
}

tsr_status tsr_scope_end(tsr_scope *scope) {
  if (!scope) return TSR_OK;
  if (!is_open(scope)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "scope_end: not an open scope of this thread (ended already, or begun elsewhere)");
  }
  while (innermost != scope) end_innermost();
  end_innermost();
  return TSR_OK;
}

bool tsri_scope_adopt(tsr_tensor *tensor) {
  tsr_scope *scope = innermost;
  if (!scope) return true;
  if (scope->item_count == scope->item_capacity) {
    size_t used = scope->item_capacity * sizeof *scope->items, capacity = used ? scope->item_capacity * 2 : 16;
    tsr_tensor **items = tsri_record_alloc(capacity * sizeof *items);
    if (!items) return false;
    if (used) memcpy(items, scope->items, used);
    tsri_record_free(scope->items, used);
    scope->items = items;
    scope->item_capacity = capacity;
  }
  tensor->scope = scope;
  tensor->scope_index = scope->item_count;
  scope->items[scope->item_count++] = tensor;
  return true;
}

void tsri_scope_disown(tsr_tensor *tensor) {
  tsr_scope *scope = tensor->scope;
  if (!scope) return;
  tsr_tensor *last = scope->items[--scope->item_count];
  scope->items[tensor->scope_index] = last;
  last->scope_index = tensor->scope_index;
  tensor->scope = NULL;
}

tsr_tensor *tsr_keep(tsr_tensor *tensor) {
  if (tensor && tsri_object_check(tensor, TSRI_OBJECT_TENSOR, "keep", "tensor") == TSR_OK) tsri_scope_disown(tensor);
  return tensor;
}
