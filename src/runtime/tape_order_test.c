// SPDX-License-Identifier: MIT
// The order of a tape's steps: whatever shares memory that is written is ordered, and nothing else is.
#include "runtime/tape_order.h"

#include "support/test.h"

enum { STEPS = 60, RANGES = 3, BUFFERS = 2, BYTES = 40 };

static tsri_buffer *buffer_number(int number) { return (tsri_buffer *)(uintptr_t)(number + 1); }

static tsri_binding range(int buffer, size_t offset, size_t bytes, bool is_written) {
  return (tsri_binding){buffer_number(buffer), offset, bytes, is_written};
}

static bool is_listed(const tsri_tape_order *order, int step, int earlier) {
  for (int i = order->first[step]; i < order->first[step + 1]; i++) {
    if (order->after[i] == earlier) return true;
  }
  return false;
}

TEST(readers_wait_for_the_writer_and_the_next_writer_for_the_readers_alone) {
  const tsri_binding write = range(0, 0, 8, true), read = range(0, 4, 2, false), beside = range(0, 8, 8, true);
  const tsri_step_memory steps[] = {{&write, 1}, {&read, 1}, {&beside, 1}, {&read, 1}, {&write, 1}};
  tsri_tape_order order;
  CHECK(tsri_tape_order_init(&order, steps, 5));
  CHECK_EQ_INT(order.first[1], 0);
  CHECK(is_listed(&order, 1, 0) && order.first[2] == 1);
  CHECK_EQ_INT(order.first[3], 1);  // bytes beside those of the others: nothing to wait for
  CHECK(is_listed(&order, 3, 0) && order.first[4] == 2);
  CHECK(is_listed(&order, 4, 1) && is_listed(&order, 4, 3) && !is_listed(&order, 4, 0));
  CHECK_EQ_INT(order.first[5], 4);
  tsri_tape_order_deinit(&order);
}

// --- Random steps against a plain search -------------------------------------------------------------------------------

static bool bytes_conflict(const tsri_step_memory *a, const tsri_step_memory *b) {
  for (uint32_t i = 0; i < a->count * b->count; i++) {
    const tsri_binding *x = &a->ranges[i / b->count], *y = &b->ranges[i % b->count];
    for (size_t byte = 0; byte < BYTES; byte++) {
      bool is_in_both = byte - x->offset < x->bytes && byte - y->offset < y->bytes;
      if (x->buffer == y->buffer && is_in_both && (x->is_written || y->is_written)) return true;
    }
  }
  return false;
}

// Whether the lists lead from a step back to an earlier one.
static bool leads_to(const tsri_tape_order *order, int step, int earlier) {
  bool is_reached[STEPS] = {false};
  is_reached[step] = true;
  for (int i = step; i > earlier; i--) {
    for (int j = order->first[i]; is_reached[i] && j < order->first[i + 1]; j++) is_reached[order->after[j]] = true;
  }
  return is_reached[earlier];
}

TEST(steps_that_share_written_memory_are_ordered_and_each_entry_of_a_list_has_that_reason) {
  tsri_binding ranges[STEPS][RANGES];
  tsri_step_memory steps[STEPS];
  uint32_t random = 1;
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < STEPS; i++) {
      for (int j = 0; j < RANGES; j++) {
        random = random * 1664525u + 1013904223u;
        ranges[i][j] = range((int)(random >> 28) % BUFFERS, random >> 8 & 31, (random >> 16 & 7) + 1, j == 0);
      }
      steps[i] = (tsri_step_memory){ranges[i], RANGES};
    }
    tsri_tape_order order;
    CHECK(tsri_tape_order_init(&order, steps, STEPS));
    for (int i = 0; i < STEPS; i++) {
      for (int j = 0; j < i; j++) {
        if (bytes_conflict(&steps[i], &steps[j])) CHECK(leads_to(&order, i, j));
        if (is_listed(&order, i, j)) CHECK(bytes_conflict(&steps[i], &steps[j]));
      }
    }
    tsri_tape_order_deinit(&order);
  }
}

TEST(no_order_is_found_for_too_many_steps) {
  static tsri_step_memory steps[TSRI_MOST_ORDERED + 1];
  tsri_tape_order order;
  CHECK(!tsri_tape_order_init(&order, steps, TSRI_MOST_ORDERED + 1));
  CHECK(!order.after && !order.first);
}
