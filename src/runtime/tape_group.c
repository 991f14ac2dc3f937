// SPDX-License-Identifier: MIT
// Forms groups of operators in the order in which they become ready, and lists the launches of a tape.
#include "runtime/tape_group.h"

#include <limits.h>
#include <stdlib.h>

#include "core/alloc.h"

// When a step can begin, and when others wait for it.
typedef struct step_time {
  int depth;         // the length of the longest chain of steps that it depends on
  int needed_depth;  // the least depth of the steps that depend on it
  int needed_at;     // the first of the steps with that depth
  int place;   // the step at whose position it is launched: itself, or the last step of its group; -1: not known yet
  int listed;  // for a launch: number of its steps; later, the list index of its next step
} step_time;

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

static void find_times(const tsri_tape_order *order, int count, step_time *times) {
  for (int i = 0; i < count; i++) times[i] = (step_time){.needed_depth = INT_MAX, .needed_at = INT_MAX, .place = -1};
  for (int i = 0; i < count; i++) {
    for (int j = order->first[i]; j < order->first[i + 1]; j++)
      times[i].depth = most(times[i].depth, times[order->after[j]].depth + 1);
    for (int j = order->first[i]; j < order->first[i + 1]; j++) {
      step_time *before = &times[order->after[j]];
      before->needed_depth = least(before->needed_depth, times[i].depth);
      before->needed_at = least(before->needed_at, i);
    }
  }
}

// Operators that share a launch, which is recorded at the position of the last one. `time` is that of the launch.
typedef struct step_group {
  step_time time;
  uint32_t share;
  int members[TSRI_MOST_GROUPED], count;
} step_group;

static void add_member(step_group *group, const step_time *time, int step, uint32_t share) {
  group->members[group->count++] = step;
  group->share += share;
  group->time.depth = most(group->time.depth, time->depth);
  group->time.needed_depth = least(group->time.needed_depth, time->needed_depth);
  group->time.needed_at = least(group->time.needed_at, time->needed_at);
  group->time.place = most(group->time.place, step);
}

// Whether the step can join the group: no step may depend on one of them before both can begin. Since everything that depends on a member is deeper than all
// members, no member depends on another one, and two groups never wait for each other.
static bool can_join(const step_group *group, const step_time *time, int step) {
  int needed_at = least(group->time.needed_at, time->needed_at), place = most(group->time.place, step);
  int needed_depth = least(group->time.needed_depth, time->needed_depth), depth = most(group->time.depth, time->depth);
  return place < needed_at && depth < needed_depth;
}

// A step that can share a launch.
typedef struct candidate {
  int depth, step;
} candidate;

static int compare(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  return x->depth != y->depth ? (x->depth > y->depth) - (x->depth < y->depth) : x->step - y->step;
}

// Puts the first candidate, and those after it of the same kind, into one group, until it is full or one of them cannot join.
static void form_group(step_time *times, const tsri_op_group *groups, const candidate *candidates, int count) {
  step_group group = {.time = {.needed_depth = INT_MAX, .needed_at = INT_MAX, .place = -1}};
  uint32_t kind = groups[candidates[0].step].kind;
  for (int i = 0; i < count && group.count < TSRI_MOST_GROUPED; i++) {
    int step = candidates[i].step;
    if (groups[step].kind != kind) continue;
    bool has_room = group.share + groups[step].share <= TSRI_FULL_SHARE;
    if (group.count > 0 && !(has_room && can_join(&group, &times[step], step))) break;
    add_member(&group, &times[step], step, groups[step].share);
  }
  for (int i = 0; i < group.count; i++) times[group.members[i]].place = group.time.place;
}

// Forms groups of steps in the order in which they become ready. Steps that are not candidates are launched at their own position.
static bool form_groups(step_time *times, const tsri_op_group *groups, int count) {
  candidate *candidates = tsri_calloc((size_t)count, sizeof *candidates);
  int found = 0;
  if (!candidates) return false;
  for (int i = 0; i < count; i++) {
    if (groups[i].kind == 0) times[i].place = i;
    else candidates[found++] = (candidate){times[i].depth, i};
  }
  qsort(candidates, (size_t)found, sizeof *candidates, compare);
  for (int i = 0; i < found; i++) {
    if (times[candidates[i].step].place < 0) form_group(times, groups, candidates + i, found - i);
  }
  tsri_free(candidates);
  return true;
}

static void list_launches(tsri_tape_launches *launches, step_time *times, int count) {
  int listed = 0;
  for (int i = 0; i < count; i++) times[times[i].place].listed++;
  for (int i = 0; i < count; i++) {
    if (times[i].place != i) continue;
    int steps = times[i].listed;
    launches->first[launches->count++] = times[i].listed = listed;
    listed += steps;
  }
  for (int i = 0; i < count; i++) launches->steps[times[times[i].place].listed++] = i;
  launches->first[launches->count] = listed;
}

bool tsri_tape_launches_init(tsri_tape_launches *launches, const tsri_tape_order *order, const tsri_op_group *groups,
                             int count) {
  step_time *times = tsri_calloc((size_t)count, sizeof *times);
  *launches = (tsri_tape_launches){.steps = tsri_calloc((size_t)count, sizeof *launches->steps),
                                   .first = tsri_calloc((size_t)count + 1, sizeof *launches->first)};
  bool works = times && launches->steps && launches->first;
  if (works) find_times(order, count, times);
  works = works && form_groups(times, groups, count);
  if (works) list_launches(launches, times, count);
  else tsri_tape_launches_deinit(launches);
  tsri_free(times);
  return works;
}

void tsri_tape_launches_deinit(tsri_tape_launches *launches) {
  tsri_free(launches->steps);
  tsri_free(launches->first);
  *launches = (tsri_tape_launches){0};
}
