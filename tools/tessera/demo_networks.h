// SPDX-License-Identifier: MIT
// The two networks of `tessera demo`: the one that learns to read digits, and a block of a transformer.
#ifndef TESSERA_TOOL_DEMO_NETWORKS_H
#define TESSERA_TOOL_DEMO_NETWORKS_H

#include <tessera/tessera.h>

// Two convolutions of 3 x 3 (16 and 32 channels), each followed by relu and pooling, then 1568 -> 128 -> 10.
tsr_status demo_reader_create(tsr_device *device, uint64_t seed, tsr_params **out_params);

// images: [count, 1, 28, 28]. The result has a number for each digit, [count, 10]; the largest is the answer.
tsr_tensor *demo_reader(const tsr_params *params, tsr_tensor *images);

enum { DEMO_BLOCK_WIDTH = 128 };

// Attention with 4 heads, then a layer of 4 times the width with gelu, each after layer_norm and added to what came in.
tsr_status demo_block_create(tsr_device *device, uint64_t seed, tsr_params **out_params);

// x: [batch, tokens, DEMO_BLOCK_WIDTH], like the result. A token sees itself and those before it.
tsr_tensor *demo_block(const tsr_params *params, tsr_tensor *x);

#endif
