// SPDX-License-Identifier: MIT
// Makes the table of an optimiser's settings, which the kernel reads.
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "train/optim.h"

enum { MOST_STEPS = 1 << 24 };  // f32 represents all step numbers up to this one exactly
enum { MOST_GROUPS = 63, DECAYED = 0, NOT_DECAYED = 1, FIRST_GROUP = 2 };

// The value of a setting: `usual` if `given` is 0, and 0 if `given` is negative.
static double value_or(double given, double usual) { return given == 0 ? usual : given < 0 ? 0 : given; }

typedef struct optim_range {
  const char *name;
  double value, most;
} optim_range;

static tsr_status check_ranges(const tsr_optim_desc *desc) {
  const optim_range ranges[] = {
      {"rate", desc->rate, INFINITY},
      {"momentum", desc->momentum, 1},
      {"beta1", desc->beta1, 1},
      {"beta2", desc->beta2, 1},
      {"eps", desc->eps, INFINITY},
      {"weight_decay", desc->weight_decay, INFINITY},
      {"clip_value", desc->clip_value, INFINITY},
      {"clip_norm", desc->clip_norm, INFINITY},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (ranges[i].value >= 0 && ranges[i].value < ranges[i].most) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_create: %s is %g; it must be %s", ranges[i].name, ranges[i].value,
                     ranges[i].most == 1 ? "below 1" : "a finite number");
  }
  return TSR_OK;
}

static tsr_status check_schedule(const tsr_schedule *schedule) {
  if ((unsigned)schedule->kind > TSR_SCHEDULE_LINEAR) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_create: schedule %d does not exist", (int)schedule->kind);
  }
  int64_t least = schedule->kind == TSR_SCHEDULE_CONSTANT ? 0 : 1;
  if (schedule->warmup < 0 || schedule->warmup > MOST_STEPS || schedule->period < least ||
      schedule->period > MOST_STEPS) {
    return TSRI_FAIL(
        TSR_ERR_INVALID_ARGUMENT,
        "optim_create: a schedule with a warm-up of %lld steps (0 to %d are possible) and a period of %lld "
        "(%lld to %d)",
        (long long)schedule->warmup, (int)MOST_STEPS, (long long)schedule->period, (long long)least, (int)MOST_STEPS);
  }
  if (!(schedule->gamma >= 0 && schedule->gamma <= 1 && schedule->least >= 0 && schedule->least <= 1)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "optim_create: the schedule's gamma is %g and least %g; 0 to 1 are possible", schedule->gamma,
                     schedule->least);
  }
  return TSR_OK;
}

static tsr_status check_scale(const tsr_loss_scale *scale) {
  bool is_right = scale->first >= 0 && scale->first <= 0x1p64 && scale->growth >= 1 && scale->growth <= 0x1p32 &&
                  scale->backoff > 0 && scale->backoff <= 1 && scale->interval >= 1 && scale->interval <= MOST_STEPS;
  if (is_right) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                   "optim_create: a loss scale of %g that grows by %g every %lld steps, or shrinks by %g", scale->first,
                   scale->growth, (long long)scale->interval, scale->backoff);
}

static tsr_status check_groups(const tsr_optim_desc *desc) {
  if (desc->group_count < 0 || desc->group_count > MOST_GROUPS || (desc->group_count > 0 && !desc->groups)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "optim_create: %d groups, and the list of them is %s; 0 to %d are possible", desc->group_count,
                     desc->groups ? "there" : "NULL", (int)MOST_GROUPS);
  }
  for (int i = 0; i < desc->group_count; i++) {
    const tsr_optim_group *group = &desc->groups[i];
    if (group->pattern && group->weight_decay >= 0 && isfinite(group->weight_decay) && isfinite(group->rate_factor))
      continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "optim_create: group %d has the pattern '%s', decay %g and rate factor %g", i,
                     group->pattern ? group->pattern : "NULL", group->weight_decay, group->rate_factor);
  }
  return TSR_OK;
}

static tsr_status settle(const tsr_optim_desc *desc, tsr_optim_desc *out_desc) {
  static const tsr_optim_desc standard;
  static const double rates[] = {
      [TSR_SGD] = 0.01, [TSR_ADAM] = 1e-3, [TSR_ADAMW] = 1e-3, [TSR_RMSPROP] = 0.01, [TSR_LION] = 1e-4};
  *out_desc = desc ? *desc : standard;
  tsr_optim_desc *d = out_desc;
  if ((unsigned)d->kind > TSR_LION) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_create: kind %d does not exist", (int)d->kind);
  }
  bool is_adam = d->kind == TSR_ADAM || d->kind == TSR_ADAMW;
  d->rate = value_or(d->rate, rates[d->kind]);
  d->momentum = value_or(d->momentum, 0);
  d->beta1 = value_or(d->beta1, 0.9);
  d->beta2 = value_or(d->beta2, is_adam ? 0.999 : 0.99);
  d->eps = value_or(d->eps, 1e-8);
  d->weight_decay = value_or(d->weight_decay, d->kind == TSR_ADAMW ? 0.01 : 0);
  d->clip_value = value_or(d->clip_value, 0);
  d->clip_norm = value_or(d->clip_norm, 0);
  d->schedule.gamma = value_or(d->schedule.gamma, 0.1);
  d->loss_scale.growth = value_or(d->loss_scale.growth, 2);
  d->loss_scale.backoff = value_or(d->loss_scale.backoff, 0.5);
  if (d->loss_scale.interval == 0) d->loss_scale.interval = 2000;
  if (d->kind == TSR_SGD && d->nesterov && d->momentum == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "optim_create: nesterov needs a momentum, such as 0.9; there is none");
  }
  tsr_status status = check_ranges(d);
  if (status == TSR_OK) status = check_schedule(&d->schedule);
  if (status == TSR_OK) status = check_scale(&d->loss_scale);
  return status == TSR_OK ? check_groups(d) : status;
}

// Whether the name matches a pattern in which * stands for any characters.
static bool matches(const char *pattern, const char *name) {
  const char *star = NULL, *tried = NULL;
  while (*name) {
    if (*pattern == '*') {
      star = pattern++;
      tried = name;
    } else if (*pattern == *name) {
      pattern++;
      name++;
    } else if (star) {
      pattern = star + 1;
      name = ++tried;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == 0;
}

static uint32_t group_of(const tsr_optim_desc *desc, const tsri_param *param) {
  for (int i = 0; i < desc->group_count; i++) {
    if (matches(desc->groups[i].pattern, param->name)) return (uint32_t)(FIRST_GROUP + i);
  }
  return desc->decays_vectors || param->layout.shape.rank >= 2 ? DECAYED : NOT_DECAYED;
}

static void fill_numbers(const tsr_optim_desc *desc, float *numbers) {
  const tsr_schedule *schedule = &desc->schedule;
  bool is_falling = schedule->kind == TSR_SCHEDULE_COSINE || schedule->kind == TSR_SCHEDULE_LINEAR;
  const double entries[TSRI_OPTIM_GROUPS] = {
      [TSRI_OPTIM_RATE] = desc->rate,
      [TSRI_OPTIM_BETA1] = desc->beta1,
      [TSRI_OPTIM_REST1] = 1 - desc->beta1,
      [TSRI_OPTIM_LOG1] = log(desc->beta1),
      [TSRI_OPTIM_BETA2] = desc->beta2,
      [TSRI_OPTIM_REST2] = 1 - desc->beta2,
      [TSRI_OPTIM_LOG2] = log(desc->beta2),
      [TSRI_OPTIM_EPS] = desc->eps,
      [TSRI_OPTIM_MOMENTUM] = desc->momentum,
      [TSRI_OPTIM_NESTEROV] = desc->nesterov,
      [TSRI_OPTIM_SCHEDULE] = schedule->kind,
      [TSRI_OPTIM_WARMUP] = (double)schedule->warmup,
      [TSRI_OPTIM_PERIOD] = (double)schedule->period,
      [TSRI_OPTIM_GAMMA] = is_falling ? schedule->least : schedule->gamma,
      [TSRI_OPTIM_CLIP_VALUE] = desc->clip_value,
      [TSRI_OPTIM_CLIP_NORM] = desc->clip_norm,
      [TSRI_OPTIM_GROWTH] = desc->loss_scale.growth,
      [TSRI_OPTIM_BACKOFF] = desc->loss_scale.backoff,
      [TSRI_OPTIM_INTERVAL] = (double)desc->loss_scale.interval,
  };
  for (int i = 0; i < TSRI_OPTIM_GROUPS; i++) numbers[i] = (float)entries[i];
}

static void fill_groups(const tsr_optim_desc *desc, float *groups) {
  groups[2 * DECAYED] = (float)desc->weight_decay;
  groups[2 * NOT_DECAYED] = 0;
  groups[2 * DECAYED + 1] = groups[2 * NOT_DECAYED + 1] = 1;
  for (int i = 0; i < desc->group_count; i++) {
    groups[2 * (FIRST_GROUP + i)] = (float)desc->groups[i].weight_decay;
    groups[2 * (FIRST_GROUP + i) + 1] = (float)value_or(desc->groups[i].rate_factor, 1);
  }
}

void tsri_optim_form_deinit(tsri_optim_form *form) {
  tsri_free(form->groups);
  tsri_free(form->group_of);
  *form = (tsri_optim_form){0};
}

tsr_status tsri_optim_settle(const tsr_params *params, const tsr_optim_desc *given, tsri_optim_form *out_form) {
  tsr_optim_desc desc;
  *out_form = (tsri_optim_form){0};
  tsr_status status = settle(given, &desc);
  if (status != TSR_OK) return status;
  *out_form = (tsri_optim_form){.kind = desc.kind,
                                .clips_norm = desc.clip_norm > 0,
                                .scales = desc.loss_scale.first > 0,
                                .first_scale = (float)desc.loss_scale.first,
                                .group_count = FIRST_GROUP + desc.group_count};
  out_form->groups = tsri_calloc(2 * (size_t)out_form->group_count, sizeof *out_form->groups);
  out_form->group_of = tsri_calloc((size_t)params->count + 1, sizeof *out_form->group_of);
  if (!out_form->groups || !out_form->group_of) {
    tsri_optim_form_deinit(out_form);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "optim_create: no host memory for its groups");
  }
  fill_numbers(&desc, out_form->numbers);
  fill_groups(&desc, out_form->groups);
  for (int i = 0; i < params->count; i++) out_form->group_of[i] = group_of(&desc, &params->params[i]);
  return TSR_OK;
}

static void put_marks(uint32_t *marks, const tsr_params *params, const tsri_optim_form *form) {
  for (int i = 0; i < params->count; i++) {
    const tsri_param *param = &params->params[i];
    int64_t end = i + 1 < params->count ? params->params[i + 1].at : params->flat_count;
    for (int64_t at = param->at; at < end; at += params->step) marks[at / params->step] = form->group_of[i];
  }
}

tsr_status tsri_optim_make_table(tsr_optim *optim, const tsri_optim_form *form) {
  const tsr_params *params = optim->params;
  size_t group_words = 2 * (size_t)form->group_count;
  optim->marks_at = TSRI_OPTIM_GROUPS + (int64_t)group_words;
  size_t words = (size_t)(optim->marks_at + params->flat_count / params->step), bytes = words * sizeof(uint32_t);
  uint32_t *table = tsri_calloc(words, sizeof *table);
  if (!table) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "optim_create: no host memory for its table");
  memcpy(table, form->numbers, sizeof form->numbers);
  memcpy(table + TSRI_OPTIM_GROUPS, form->groups, group_words * sizeof *form->groups);
  put_marks(table + optim->marks_at, params, form);
  tsr_status status = tsr_buffer_create(params->device, bytes, 0, &optim->table);
  if (status == TSR_OK) status = tsr_buffer_upload(optim->table, 0, table, bytes);
  tsri_free(table);
  return status;
}
