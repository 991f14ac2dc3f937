// SPDX-License-Identifier: MIT
// Arrays side by side (TSRI_NATIVE_JOIN): an item copies ROUNDS elements of the result. Compiled by join.c with
//   UNIT         the type that is copied: the largest one that all addresses, lengths and distances are multiples of
//   PARTS        how many arrays there may be
//   ITEMS        of a work-group
//   ROUNDS       elements per item, ITEMS apart
// Everything is counted in units.

struct join_part {
  const UNIT *from;
  long long stride;    // between lines
  unsigned int begin;  // of the part in a line of the result; beyond the last part 2^32 - 1
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
    // Beyond the end the last unit is read again: a condition would keep the loads apart.
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
