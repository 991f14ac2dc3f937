// SPDX-License-Identifier: MIT
// Concatenation of arrays (TSRI_NATIVE_JOIN): an item copies ROUNDS elements of the result. Compiled by join.c with
// UNIT         the type that is copied: the largest one of which all addresses, lengths and distances are multiples
// PARTS        the most arrays there may be
// ITEMS        items of a work-group
// ROUNDS       elements per item, ITEMS apart
// All lengths and distances are counted in units.

struct join_part {
  const UNIT *from;
  long long stride;    // between lines
  unsigned int begin;  // where the part begins in a line of the result; 2^32 - 1 for unused parts
};

struct join_arguments {
  join_part parts[PARTS];
  UNIT *to;
  long long to_stride;
  unsigned int line, count;  // units of a line, and of all lines
};

extern "C" __global__ void __launch_bounds__(ITEMS) tsrk_join(const join_arguments a) {
  unsigned int first = blockIdx.x * (ITEMS * ROUNDS) + threadIdx.x;
  UNIT held[ROUNDS];
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    // Beyond the end the last unit is read again: with a condition, the loads would not overlap.
    unsigned int i = min(first + round * ITEMS, a.count - 1), row = i / a.line, column = i - row * a.line, part = 0;
#pragma unroll
    for (int k = 1; k < PARTS; k++) part += column >= a.parts[k].begin;
    held[round] = a.parts[part].from[row * a.parts[part].stride + (column - a.parts[part].begin)];
  }
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    unsigned int i = first + round * ITEMS, row = i / a.line, column = i - row * a.line;
    if (i < a.count) a.to[row * a.to_stride + column] = held[round];
  }
}
