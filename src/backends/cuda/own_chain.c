// SPDX-License-Identifier: MIT
#include "backends/cuda/own_chain.h"

#include <string.h>

#include "core/builder.h"

cuda_chain_arguments tsri_cuda_chain_arguments(const cuda_product_memory *memory) {
  cuda_chain_arguments arguments = {.kept = memory->kept};
  const tsri_product_chain *chain = memory->chain;
  for (int i = 0; chain && i < chain->input_count; i++) {
    arguments.inputs[i].at = memory->chain_inputs[i];
    arguments.inputs[i].by_row = chain->inputs[i].by_row;
    arguments.inputs[i].by_column = chain->inputs[i].by_column;
  }
  if (chain) memcpy(arguments.words, chain->words, sizeof arguments.words);
  return arguments;
}

static void put_chain(const tsri_chain_function *chain, tsri_builder *builder) {
  tsri_builder_string(builder, chain->text);
  tsri_builder_add(builder, "#define CHAIN_INPUTS %d\n#define CHAIN(x, inputs, y) %s(x", chain->input_count,
                   chain->entry);
  for (int i = 0; i < chain->input_count; i++) tsri_builder_add(builder, ", inputs + %d", i);
  tsri_builder_string(builder, ", y");
  if (chain->word_count > 0) tsri_builder_add(builder, ", *(const %s_params *)p.words", chain->entry);
  tsri_builder_string(builder, ")\n");
}

char *tsri_cuda_text_with_chain(const tsri_chain_function *chain, const char *defines, const unsigned char *text) {
  tsri_builder builder = {0};
  tsri_builder_string(&builder, defines);
  if (chain) put_chain(chain, &builder);
  tsri_builder_string(&builder, (const char *)text);
  if (!builder.has_failed) return builder.text;
  tsri_builder_deinit(&builder);
  return NULL;
}
