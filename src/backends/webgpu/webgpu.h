// SPDX-License-Identifier: MIT
// Declarations shared by the files of the WebGPU backend.
//
// All queues of a device record into one stream. It is submitted in batches, which run in the order of recording, so a
// tsri_queue is little more than the number of its last submission. The parameters of a batch's launches are collected
// on the host and uploaded in one write before the batch is submitted. Writes are ordered with submissions, so one
// small uniform buffer serves all batches.
#ifndef TSRI_WEBGPU_H
#define TSRI_WEBGPU_H

#include <stdbool.h>

#include "backends/common/driver.h"
#include "backends/webgpu/webgpu_api.h"
#include "core/error.h"
#include "platform/platform.h"

enum {
  WEBGPU_BATCH_COMMANDS = 32,     // most commands in a batch
  WEBGPU_FIRST_LAUNCHES = 4,      // after so many commands the first batch after a wait is submitted
  WEBGPU_PARAMS_BYTES = 1 << 16,  // size of the uniform buffer for a batch's parameters
  WEBGPU_MAX_TEMPORARIES = 64,
  WEBGPU_SPARE_READBACKS = 4,
  WEBGPU_ROUND_BYTES = 256,  // buffer sizes are multiples of this
  WEBGPU_BIND_BYTES = 16     // binding sizes are multiples of this, since shaders read whole vectors
};

typedef struct webgpu_buffer {
  tsri_wgpu_buffer *handle;
  size_t bytes;  // size, rounded up
} webgpu_buffer;

typedef struct webgpu_device {
  tsri_wgpu_device *handle;
  tsri_wgpu_adapter adapter;
  char name[TSR_NAME_BYTES];
  uint64_t timeout_ns;
  bool has_times;
  struct webgpu_stamps *stamps;  // of events; NULL: the host's clock is used

  tsri_mutex lock;  // protects the members below and all calls on `handle`
  bool is_lost;
  uint32_t recorded;   // commands since the last submission
  uint32_t enough;     // number of commands at which a launch submits: few while the device is idle; 0: as after a wait
  uint32_t submitted;  // number of the last submission
  tsri_wgpu_buffer *uniform;
  uint32_t *params;                                       // the parameters for the next submission
  size_t params_bytes;                                    // number of bytes used in params
  tsri_wgpu_buffer *temporaries[WEBGPU_MAX_TEMPORARIES];  // used by recorded commands only
  uint32_t temporary_count;
  webgpu_buffer spare[WEBGPU_SPARE_READBACKS];                    // readback buffers for reuse
  tsri_wgpu_program *fill_program, *copy_program, *wide_program;  // copy.c; NULL: not built yet
} webgpu_device;

// A copy to the host that queue_wait finishes.
typedef struct webgpu_readback {
  struct webgpu_readback *next;
  webgpu_buffer buffer;
  size_t offset, bytes;
  void *to;
} webgpu_readback;

typedef struct webgpu_queue {
  webgpu_device *device;
  webgpu_readback *readbacks, **last_readback;
} webgpu_queue;

static inline webgpu_device *webgpu_device_of(tsri_device *device) { return (webgpu_device *)device; }
static inline webgpu_queue *webgpu_queue_of(tsri_queue *queue) { return (webgpu_queue *)queue; }
static inline webgpu_buffer *webgpu_buffer_of(tsri_buffer *buffer) { return (webgpu_buffer *)buffer; }
static inline size_t webgpu_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// --- error.c --------------------------------------------------------------------------------------------------------

// Converts a failed call of tsri_wgpu to a status and sets the message: the device, what was tried and the library's
// description.
tsr_status tsri_webgpu_fail_at(webgpu_device *device, tsr_status status, const char *place, const char *what);
#define WEBGPU_FAIL(device, status, what) tsri_webgpu_fail_at((device), (status), TSRI_PLACE, (what))
tsr_status tsri_webgpu_check_lost(const webgpu_device *device);

// --- device.c, probe.c ----------------------------------------------------------------------------------------------

TSRI_DECLARE_DRIVER(webgpu);
tsr_status tsri_webgpu_start(const tsri_host *host);
void tsri_webgpu_stop(void);

// Properties of the arithmetic that WGSL leaves open; tsri_webgpu_probe tests them.
typedef struct webgpu_arithmetic {
  bool fuses;          // fma rounds once
  bool has_subgroups;  // shuffles, among as many consecutive items as the adapter says
  bool has_half;       // f16 is available, and converts to and from f32 exactly as the CPU does
  int matrix_side;     // rows of square subgroup matrices of f16 (tsri_webgpu_try_matrices); 0: there are none
} webgpu_arithmetic;
tsr_status tsri_webgpu_probe(webgpu_device *device, webgpu_arithmetic *out_arithmetic);

// Runs a kernel named `probe` with one work-group. Binding 0: 256 bytes of zeros, whose first WEBGPU_PROBE_WORDS words are read back; then a uniform buffer
// with the input.
enum { WEBGPU_PROBE_WORDS = 16 };
tsr_status tsri_webgpu_run_probe(webgpu_device *device, const char *text, const uint32_t input[WEBGPU_PROBE_WORDS],
                                 uint32_t out_words[WEBGPU_PROBE_WORDS]);

// Opens device->handle and its uniform buffer, with subgroup matrices if they are wanted and there are any.
tsr_status tsri_webgpu_open_handle(webgpu_device *device, int index, bool wants_matrices);
void tsri_webgpu_close_handle(webgpu_device *device);  // accepts a device without a handle

// --- matrix.c -------------------------------------------------------------------------------------------------------

// For a device with f16 and subgroups: replaces its handle by one that is opened with subgroup matrices and sets matrix_side, if it has
// any and they multiply exactly.
void tsri_webgpu_try_matrices(webgpu_device *device, int index, webgpu_arithmetic *arithmetic);
// Writes the text of a kernel that tests subgroup matrices with `side` rows, in subgroups of `items` items. Returns its length.
size_t tsri_webgpu_matrix_probe(int side, uint32_t items, char *text, size_t text_bytes);

// --- event.c --------------------------------------------------------------------------------------------------------

enum { WEBGPU_STAMPS = 4096 };  // time stamps in use at a time: the most that a WebGPU query set can hold

// Gives events time stamps of the device, if it has them. Call when it is opened for profiling.
void tsri_webgpu_stamps_open(webgpu_device *device);
void tsri_webgpu_stamps_close(webgpu_device *device);

// --- buffer.c -------------------------------------------------------------------------------------------------------

// Call with the lock held.
tsr_status tsri_webgpu_allocate(webgpu_device *device, tsri_wgpu_buffer_kind kind, size_t bytes,
                                webgpu_buffer *out_buffer);

// --- stream.c: with the lock held -----------------------------------------------------------------------------------

// Call before recording a command: reserves `params_bytes` of the uniform buffer, at *out_params on the host. If there
// is no room, it submits first. out_params NULL: the command has no parameters.
tsr_status tsri_webgpu_stream_begin(webgpu_device *device, size_t params_bytes, uint32_t **out_params,
                                    size_t *out_offset);
// Call after recording it.
tsr_status tsri_webgpu_stream_end(webgpu_device *device);
tsr_status tsri_webgpu_stream_submit(webgpu_device *device);  // does nothing if nothing is recorded
// Creates a buffer that lives until the commands recorded so far, and the next one, are submitted.
tsr_status tsri_webgpu_temporary(webgpu_device *device, size_t bytes, tsri_wgpu_buffer **out_buffer);
// Waits for the submission with this number.
tsr_status tsri_webgpu_stream_wait(webgpu_device *device, uint32_t number, uint64_t timeout_ns);
static inline double webgpu_milliseconds(uint64_t ns) { return ns == UINT64_MAX ? 1e18 : (double)ns / 1e6; }

#endif
