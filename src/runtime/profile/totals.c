// SPDX-License-Identifier: MIT
// Adds up records with the same device, kind, name, operators and label.
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "runtime/profile/recorder.h"

static size_t place_of(const tsri_profile_totals *totals, const tsri_profile_total *key) {
  uint64_t hash = key->name * UINT64_C(0x9E3779B97F4A7C15) ^ key->operators * UINT64_C(0xC2B2AE3D27D4EB4F);
  hash ^= ((uint64_t)key->label << 24 ^ (uint64_t)key->device << 8 ^ key->kind) * UINT64_C(0x165667B19E3779F9);
  return (size_t)(hash ^ hash >> 31) & (totals->capacity - 1);
}

static bool is_same(const tsri_profile_total *a, const tsri_profile_total *b) {
  return a->name == b->name && a->operators == b->operators && a->label == b->label && a->device == b->device &&
         a->kind == b->kind;
}

// The row of the key, or a free one.
static tsri_profile_total *find(const tsri_profile_totals *totals, const tsri_profile_total *key) {
  size_t at = place_of(totals, key);
  while (totals->rows[at].count > 0 && !is_same(&totals->rows[at], key)) at = (at + 1) & (totals->capacity - 1);
  return &totals->rows[at];
}

// Keeps a third of the table free.
static bool grow(tsri_profile_totals *totals) {
  if (3 * (totals->row_count + 1) <= 2 * totals->capacity) return true;
  tsri_profile_totals larger = {.capacity = totals->capacity ? 2 * totals->capacity : 256};
  larger.rows = tsri_calloc(larger.capacity, sizeof *larger.rows);
  if (!larger.rows) return false;
  for (size_t i = 0; i < totals->capacity; i++) {
    if (totals->rows[i].count > 0) *find(&larger, &totals->rows[i]) = totals->rows[i];
  }
  tsri_free(totals->rows);
  totals->rows = larger.rows;
  totals->capacity = larger.capacity;
  return true;
}

static void merge_row(tsri_profile_totals *totals, const tsri_profile_total *row) {
  if (!grow(totals) && totals->row_count + 1 >= totals->capacity) {
    totals->has_failed = true;
    return;
  }
  tsri_profile_total *sum = find(totals, row);
  if (sum->count == 0) {
    if (totals->row_count == TSRI_MOST_TOTALS) {
      totals->has_failed = true;
      return;
    }
    totals->row_count++;
    *sum = *row;
    return;
  }
  sum->count += row->count;
  sum->ns += row->ns;
  if (row->least_ns < sum->least_ns) sum->least_ns = row->least_ns;
  if (row->most_ns > sum->most_ns) sum->most_ns = row->most_ns;
  sum->bytes += row->bytes;
  sum->operations += row->operations;
  sum->share_ns += row->share_ns;
  sum->known_ns += row->known_ns;
}

void tsri_totals_add(tsri_profile_totals *totals, const tsri_profile_entry *entry, double share) {
  double ns = (double)entry->duration_ns;
  merge_row(totals, &(tsri_profile_total){.name = entry->name,
                                          .operators = entry->operators,
                                          .label = entry->label,
                                          .device = entry->device,
                                          .kind = entry->kind,
                                          .count = 1,
                                          .ns = entry->duration_ns,
                                          .least_ns = entry->duration_ns,
                                          .most_ns = entry->duration_ns,
                                          .bytes = entry->bytes,
                                          .operations = entry->operations,
                                          .share_ns = share * ns,
                                          .known_ns = share > 0 ? ns : 0});
}

void tsri_totals_merge(tsri_profile_totals *totals, const tsri_profile_totals *from) {
  for (size_t i = 0; i < from->capacity; i++) {
    if (from->rows[i].count > 0) merge_row(totals, &from->rows[i]);
  }
  totals->has_failed |= from->has_failed;
}

void tsri_totals_deinit(tsri_profile_totals *totals) {
  tsri_free(totals->rows);
  *totals = (tsri_profile_totals){0};
}

static int by_time(const void *a, const void *b) {
  const tsri_profile_total *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return x->count > y->count ? -1 : x->count < y->count;
}

// Moves the rows of a table to its front, sorts them and hands them over.
static void sort_rows(tsri_profile_totals *totals, tsri_profile_total **out_rows, size_t *out_count) {
  size_t count = 0;
  for (size_t i = 0; i < totals->capacity; i++) {
    if (totals->rows[i].count > 0) totals->rows[count++] = totals->rows[i];
  }
  if (count > 0) qsort(totals->rows, count, sizeof *totals->rows, by_time);
  *out_rows = totals->rows;
  *out_count = count;
}

bool tsri_profile_sum(const tsr_profile *profile, tsri_profile_total **out_rows, size_t *out_count) {
  tsri_profile_totals totals = {0};
  for (uint64_t i = 0; i < profile->record_count; i++) {
    tsri_totals_add(&totals, profile->records[i], tsri_profile_share(profile, profile->records[i]));
  }
  tsri_totals_merge(&totals, &profile->dropped);
  bool is_good = !totals.has_failed || totals.row_count == TSRI_MOST_TOTALS;
  if (is_good) sort_rows(&totals, out_rows, out_count);
  else tsri_totals_deinit(&totals);
  return is_good;
}
