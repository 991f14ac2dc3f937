// SPDX-License-Identifier: MIT
#include "ops/fft_plan.h"

#include <math.h>

#include "graph/tuning.h"

// MOST_RADIX: the largest radix whose butterflies an item computes alone. SLOTS: as in op_fft.tk.
// Items of a work-group: ROW_GROUP is wanted if it takes several lines, LARGEST_GROUP is the limit. Bytes of neighbouring lines that are read together:
// ACROSS_BYTES is wanted, LEAST_BYTES suffices for long lines.
enum {
  MOST_RADIX = 16,
  SLOTS = 4,
  MOST_HELD = 32,
  FEW_HELD = 18,
  ROW_GROUP = 128,
  LARGEST_GROUP = 512,
  ACROSS_BYTES = 128,
  LEAST_BYTES = 32
};

// --- Radices ---------------------------------------------------------------------------------------------------------

// The largest composite radix: 4 for lines of up to 31 elements, 8 below 128. So more items share a line, and neighbouring items read neighbouring elements.
static int most_radix(int64_t n) { return n < 32 ? 4 : n < 128 ? 8 : MOST_RADIX; }

static bool is_prime(int r) {
  for (int d = 2; d * d <= r; d++) {
    if (r % d == 0) return false;
  }
  return r > 1;
}

// The primes up to 13 are radices of butterflies that an item computes alone; larger ones are shared.
static bool is_radix(int r, int64_t n) { return r <= most_radix(n) || (r <= TSRI_FFT_LARGEST_RADIX && is_prime(r)); }

// How many items share a butterfly of radix r, each with SLOTS pairs of results (advance_wide in op_fft.tk).
static int64_t blocks_of(int r) { return r > MOST_RADIX ? r / 2 / SLOTS + 1 : 1; }

// The largest number of complex numbers that an item holds in any stage, or before the first one, if `team` items share a line. INT64_MAX: they are too few.
static int64_t held_by(const tsri_fft_plan *p, int64_t team) {
  int64_t held = p->radices[0] > MOST_RADIX ? (p->n + team - 1) / team : 0;
  for (int i = 0; i < p->stages; i++) {
    int r = p->radices[i];
    int64_t butterflies = p->n / r, beside = team / blocks_of(r);
    if (beside == 0) return INT64_MAX;
    int64_t each = (butterflies + beside - 1) / beside * (r > MOST_RADIX ? 2 * SLOTS : r);
    if (each > held) held = each;
  }
  return held;
}

static void consider_team(tsri_fft_plan *p, int64_t team, int64_t limit, int64_t *best) {
  if (team > limit) return;
  int64_t held = held_by(p, team);
  if (held > MOST_HELD) return;
  int64_t cost = held * team * (held > FEW_HELD ? 2 : 1);
  if (cost >= *best) return;
  *best = cost;
  p->team = (int)team;
  p->held = (int)held;
}

// Chooses how many items share a line, at most `limit`, so that an item has a whole number of butterflies of some radix (or of parts of them) and all items
// together use the fewest registers. If an item holds more than FEW_HELD numbers, the cost counts twice, because a GPU then has too few items in flight. Returns
// the cost. Of teams that cost the same it takes the smaller one for large radices, since an item that has two butterflies reads their factors once.
static int64_t choose_team(tsri_fft_plan *p, int64_t limit) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < p->stages; i++) {
    int r = p->radices[i];
    int64_t butterflies = p->n / r, most = MOST_HELD / (r > MOST_RADIX ? 2 * SLOTS : r);
    if (r > MOST_RADIX) {
      for (int64_t rounds = most; rounds > 0; rounds--) {
        consider_team(p, (butterflies + rounds - 1) / rounds * blocks_of(r), limit, &best);
      }
    } else {
      for (int64_t rounds = 1; rounds <= most; rounds++) {
        consider_team(p, (butterflies + rounds - 1) / rounds, limit, &best);
      }
    }
  }
  return best;
}

// A search over all ways to write n as a product of radices in descending order. `best` becomes the cheapest plan.
typedef struct radix_search {
  tsri_fft_plan trial, best;
  int64_t limit, cost;
} radix_search;

static void search(radix_search *s, int64_t rest, int left, int largest) {
  if (left == 0) {
    int64_t cost = rest == 1 ? choose_team(&s->trial, s->limit) : INT64_MAX;
    if (cost >= s->cost) return;
    s->cost = cost;
    s->best = s->trial;
    return;
  }
  for (int r = 2; r <= largest; r++) {
    int64_t most = r;
    for (int i = 1; i < left; i++) most *= r;
    if (most < rest || rest % r != 0 || !is_radix(r, s->trial.n)) continue;
    s->trial.radices[s->trial.stages - left] = r;
    search(s, rest / r, left - 1, r);
  }
}

static bool find_radices(int64_t n, int64_t limit, tsri_fft_plan *out_plan) {
  radix_search s = {.limit = limit, .cost = INT64_MAX};
  for (int stages = 1; stages <= TSRI_FFT_STAGES && s.cost == INT64_MAX; stages++) {
    s.trial = (tsri_fft_plan){.n = n, .radices = {1, 1, 1, 1, 1}, .stages = stages};
    search(&s, n, stages, TSRI_FFT_LARGEST_RADIX);
  }
  *out_plan = s.best;
  return s.cost < INT64_MAX;
}

// --- Lines per work-group --------------------------------------------------------------------------------------------

// Elements of shared memory that a line and its gaps take when a stage of radix r reads them after stages of the product `done`, as in the kernel.
static int64_t spread_size(int64_t n, int r, int64_t done) {
  enum { BANKS = 32 };
  int64_t block = n / done, rest = block / r, span = block < BANKS && BANKS % block == 0 ? BANKS : block;
  int64_t wanted = (rest + BANKS - span % BANKS) % BANKS, gap = span >= 8 && span % 2 == 0;
  if (8 * wanted <= span) gap = wanted;
  return done == 1 || rest >= BANKS ? n : n + n / span * gap;
}

// Elements of shared memory for a line's real or imaginary parts. An odd number, which spreads accesses to neighbouring lines over the banks.
static int64_t pitch_of(const tsri_fft_plan *p) {
  int64_t most = p->n, done = 1;
  for (int i = 0; i < p->stages; i++) {
    int64_t size = spread_size(p->n, p->radices[i], done);
    if (size > most) most = size;
    done *= p->radices[i];
  }
  return most | 1;
}

// Bytes of shared memory: real or imaginary parts of `lines` lines, the table of roots (64, and each 64-th of twice the line's), and that of the largest radix.
static uint64_t shared_bytes(const tsri_fft_plan *p, int size, int lines) {
  return (uint64_t)(lines * pitch_of(p) + 2 * (65 + p->n / 32) + p->coefs) * (uint64_t)size;
}

// The tuning's limit is for drivers that run kernels with many registers only in smaller work-groups than others.
static int64_t most_items(const tsr_device *device) {
  int64_t limit = device->limits.max_group_size, most = tsri_tuning_of(device)->row_group;
  if (most < limit) limit = most;
  return limit < LARGEST_GROUP ? limit : LARGEST_GROUP;
}

static bool fits(const tsr_device *device, const tsri_fft_plan *p, int size, int lines) {
  return (int64_t)p->team * lines <= most_items(device) && shared_bytes(p, size, lines) <= device->limits.shared_bytes;
}

bool tsri_fft_plan_init(const tsr_device *device, tsr_dtype dtype, int64_t n, bool is_across, tsri_fft_plan *out_plan) {
  int size = (int)tsr_dtype_bytes(dtype), least = is_across ? LEAST_BYTES / (2 * size) : 1;
  if (n < 2 || n > MOST_HELD * LARGEST_GROUP || !find_radices(n, most_items(device) / least, out_plan)) return false;
  tsri_fft_plan *p = out_plan;
  int r = p->radices[0];  // the largest
  p->coefs = r > MOST_RADIX ? (int)(2 * (r / 2) * blocks_of(r) * SLOTS) : 1;
  int wanted = p->team < ROW_GROUP ? ROW_GROUP / p->team : 1;
  if (is_across) wanted = ACROSS_BYTES / (2 * size);
  p->lines = wanted;
  while (p->lines > least && !fits(device, p, size, p->lines)) p->lines /= 2;
  return p->lines >= least && fits(device, p, size, p->lines);
}

bool tsri_fft_plan_split(const tsr_device *device, tsr_dtype dtype, int64_t n, tsri_fft_plan *out_plan) {
  for (uint32_t d = (uint32_t)sqrt((double)n); d > 1; d--) {
    if ((uint32_t)n % d == 0 && tsri_fft_plan_init(device, dtype, d, true, out_plan)) return true;
  }
  return false;
}
