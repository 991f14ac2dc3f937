// SPDX-License-Identifier: MIT
// Any words as lane bytecode: what is taken is run in checked mode on small buffers, and made shorter as without it. Nothing
// may crash, leak, touch memory that is not its own, or run on past its time.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/lanes.h"
#include "lang/emit/lanes/code.h"

enum { MAX_BUFFERS = 32, MOST_PARAMS = 4096 };

static void run(const tsri_lanes_program *program, const uint32_t *words, uint8_t choice) {
  static const char *const levels[] = {"baseline", "avx2", "avx512"};
  uint32_t params_bytes = words[TSRI_LANE_H_PARAMS_BYTES];
  if (params_bytes > MOST_PARAMS) return;
  void *params = calloc(1, params_bytes + 8u);
  char *memory[MAX_BUFFERS];  // each a block of its own, so that the sanitizer sees its end
  tsri_lanes_buffer buffers[MAX_BUFFERS];
  uint32_t count = words[TSRI_LANE_H_BUFFERS];
  for (uint32_t i = 0; i < count; i++) {
    size_t bytes = (size_t)8 << (i + choice) % 5;
    memory[i] = calloc(1, bytes);
    for (size_t k = 0; memory[i] && k < bytes; k++) memory[i][k] = (char)(k * 7 + i);
    buffers[i] = (tsri_lanes_buffer){.memory = memory[i], .bytes = memory[i] ? bytes : 0};
  }
  if (params) {
    (void)tsri_lanes_run(program, &(tsri_lanes_launch){.buffers = buffers,
                                                       .buffer_count = count,
                                                       .params = params,
                                                       .params_bytes = params_bytes,
                                                       .groups = {1u + choice % 3, 1u + choice % 2, 1},
                                                       .threads = 1,
                                                       .simd = tsri_cpu_simd_level(levels[choice % 3]),
                                                       .timeout_ns = 3000000});
  }
  for (uint32_t i = 0; i < count; i++) free(memory[i]);
  free(params);
}

// Programs that are not checked are made shorter; running them is safe only for kernels that keep their indices in range.
static void prepare_unchecked(uint32_t *words, size_t bytes) {
  if (bytes / 4 <= TSRI_LANE_H_FLAGS) return;
  tsri_lanes_program *program = NULL;
  words[TSRI_LANE_H_FLAGS] &= ~(uint32_t)TSRI_LANE_CHECKED;
  (void)tsri_lanes_prepare(words, bytes, &program);
  tsri_lanes_release(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t bytes = size / 4 * 4;
  uint32_t *words = malloc(bytes + 4);
  if (!words) return 0;
  memcpy(words, data, bytes);
  if (bytes / 4 > TSRI_LANE_H_FLAGS && size > 0 && data[size - 1] % 8 != 0) {  // mostly past the first checks
    words[TSRI_LANE_H_MAGIC] = TSRI_LANE_MAGIC;
    words[TSRI_LANE_H_VERSION] = TSRI_LANE_VERSION;
    words[TSRI_LANE_H_WORDS] = (uint32_t)(bytes / 4);
    words[TSRI_LANE_H_FLAGS] |= TSRI_LANE_CHECKED;
  }
  tsri_lanes_program *program = NULL;
  if (tsri_lanes_prepare(words, bytes, &program) == TSR_OK && (words[TSRI_LANE_H_FLAGS] & TSRI_LANE_CHECKED)) {
    run(program, words, data[size / 2]);
  }
  tsri_lanes_release(program);
  prepare_unchecked(words, bytes);
  free(words);
  return 0;
}
