// SPDX-License-Identifier: MIT
// Estimates how much memory a transformer needs for inference.
#ifndef TESSERA_ESTIMATE_H
#define TESSERA_ESTIMATE_H

#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

// A decoder with gated feed-forward layers and no biases (Llama, Mistral, …). Fields marked * may be 0.
typedef struct tsr_transformer_desc {
  uint64_t hidden;
  uint64_t intermediate;
  uint64_t layers;
  uint64_t vocabulary;
  uint64_t heads;               // the head size is hidden / heads
  uint64_t kv_heads;            // * 0: as many as heads
  uint64_t sequence_length;     // tokens of one sequence, prompt and answer together
  double bytes_per_weight;      // * 0: 2 (f16); 0.5 for 4-bit weights
  uint64_t batch;               // * 0: 1
  double bytes_per_kv;          // * 0: 2 (f16)
  double bytes_per_activation;  // * 0: 2 (f16)
  int tied_embeddings;          // not 0: the output layer uses the weights of the input embedding
} tsr_transformer_desc;

typedef struct tsr_memory_estimate {
  uint64_t parameters;  // number of weights
  uint64_t weight_bytes;
  uint64_t kv_cache_bytes;
  uint64_t activation_bytes;
  uint64_t total_bytes;  // sum of the three above
} tsr_memory_estimate;

// With kv = kv_heads x hidden / heads, the width of k and of v:
//
// Parameters:  vocabulary x hidden, twice unless the embeddings are tied; per layer hidden x (2 hidden + 2 kv +
//              3 intermediate) for q and o, k and v, gate, up and down, and 2 hidden for two norms; hidden for the
//              last norm.
// KV cache:    2 x layers x batch x sequence_length x kv elements.
// Activations: the largest set alive at once when all tokens are run as one prompt. For each of batch x
//              sequence_length tokens the residual and the norm's output (2 hidden), and the wider of attention (q, k,
//              v and its output: 2 hidden + 2 kv) and feed-forward (gate and up: 2 intermediate); then the logits
//              (vocabulary f32 numbers) of each sequence's last token. Attention scores are not kept (computed in
//              tiles).
//
// The bytes of each kind are its count times bytes_per_…, rounded up. Memory of drivers, program caches and pools is
// not included.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, a size of 0, heads that do not divide hidden, kv_heads that do not divide
//         heads, a bytes_per_… that is negative or not finite, a result of 2^63 or more); the message names the field.
//         Then `*out_estimate` is unchanged.
TSR_API tsr_status tsr_estimate_inference(const tsr_transformer_desc *desc, tsr_memory_estimate *out_estimate);

#endif
