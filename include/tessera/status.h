// SPDX-License-Identifier: MIT
// Statuses, and the last error of each thread. See docs/errors-and-ownership.md.
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include <tessera/export.h>

// name, text. TSR_OK is 0 and stays 0; new statuses are added at the end.
#define TSR_STATUSES(X)                                                              \
  X(OK, "no error")                                                                  \
  X(ERR_INVALID_ARGUMENT, "an argument is not one the call can take")                \
  X(ERR_SHAPE, "shapes do not fit together, or a size does not fit the shape")       \
  X(ERR_DTYPE, "an element type does not fit the call")                              \
  X(ERR_OUT_OF_MEMORY, "not enough memory on the host or the device")                \
  X(ERR_UNSUPPORTED, "this device or this build cannot do that")                     \
  X(ERR_UNAVAILABLE, "no such backend or device on this machine")                    \
  X(ERR_NOT_FOUND, "a file, library, symbol or name is not there")                   \
  X(ERR_CONFIG, "a setting has a value that it cannot take")                         \
  X(ERR_IO, "a file or stream could not be read or written")                         \
  X(ERR_BUILD, "a program could not be built")                                       \
  X(ERR_LAUNCH, "a program could not be launched")                                   \
  X(ERR_TIMEOUT, "the work did not finish in the time allowed")                      \
  X(ERR_DEVICE_LOST, "the device stopped working; open it again or use another one") \
  X(ERR_RELEASED, "the object was released before this call")                        \
  X(ERR_INTERNAL, "a defect in Tessera or in a driver")

typedef enum tsr_status {
#define TSRI_X(name, text) TSR_##name,
  TSR_STATUSES(TSRI_X)
#undef TSRI_X
      TSR_STATUS_COUNT
} tsr_status;

// The name, such as "TSR_ERR_SHAPE"; "TSR_ERR_?" for an invalid status. Static text, never NULL.
TSR_API const char *tsr_status_name(tsr_status status);

// A short description of the status. Static text, never NULL.
TSR_API const char *tsr_status_text(tsr_status status);

// The message of the last call on this thread that failed, with the values involved: "matmul: inner sizes differ, a is
// 4x3, b is 5x2". Empty if no call has failed. A successful call does not change it.
//
// Ownership: the library; valid until the next call that fails on this thread.
// Threads:   each thread has its own.
TSR_API const char *tsr_last_error(void);

// The status of that failure; TSR_OK if no call has failed.
TSR_API tsr_status tsr_last_error_status(void);

// The place in the library where it was detected, as "file.c:123", for bug reports. Empty if no call has failed.
TSR_API const char *tsr_last_error_place(void);

// Removes this thread's last error.
TSR_API void tsr_clear_error(void);

#endif
