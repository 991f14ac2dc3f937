// SPDX-License-Identifier: MIT
// Scopes: results made on a thread belong to its innermost open scope and go with it.
#ifndef TESSERA_SCOPE_H
#define TESSERA_SCOPE_H

#include <tessera/device.h>
#include <tessera/tensor.h>

typedef struct tsr_scope tsr_scope;

// Opens a scope on this thread, inside the one already open. `device` (may be NULL) is kept alive by it.
//
// Returns NULL when host memory is out: results are then the caller's, as without a scope.
// Threads: a scope belongs to the thread that opened it. A thread that ends with scopes open ends them.
TSR_API tsr_scope *tsr_scope_begin(tsr_device *device);

// Releases what belongs to the scope, and ends scopes still open inside it. NULL is ignored.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (not an open scope of this thread). Then nothing happens.
TSR_API tsr_status tsr_scope_end(tsr_scope *scope);

// Moves `tensor` out of the scope it belongs to: it is now the caller's to release. Returns `tensor`; one that
// belongs to no scope is returned as it is.
//
// Threads: the one that opened the scope.
TSR_API tsr_tensor *tsr_keep(tsr_tensor *tensor);

#endif
