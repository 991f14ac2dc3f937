// SPDX-License-Identifier: MIT
// What web/training.js calls beside the public functions: gradients, parameters and optimisers, with flat arguments and text in the place of structs.
//
// Texts that are given are lists: records end with RECORD, their fields with FIELD. They are cut in place. An option of an optimiser is "name=value".
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

enum { FIELD = '\x1f', RECORD = '\x1e' };

// Cuts the next part off a text, up to `end`.
static char *cut(char **text, char end) {
  char *start = *text, *at = strchr(start, end);
  *text = at ? at + 1 : start + strlen(start);
  if (at) *at = 0;
  return start;
}

static int count_of(const char *text, char end) {
  int count = 0;
  for (; *text; text++) count += *text == end;
  return count;
}

// The number of a name in a list that ends with NULL; -1, which no enum has, if it is not there: the library says so.
static int number_of(const char *name, const char *const *names) {
  for (int i = 0; names[i]; i++) {
    if (strcmp(name, names[i]) == 0) return i;
  }
  return -1;
}

// --- Gradients -------------------------------------------------------------------------------------------------------------

TSR_API tsr_status tsrw_grad(tsr_tensor *y, tsr_tensor *cotangent, bool zeros_if_unused, tsr_tensor *const *xs,
                             int count, tsr_tensor **out_gradients);
tsr_status tsrw_grad(tsr_tensor *y, tsr_tensor *cotangent, bool zeros_if_unused, tsr_tensor *const *xs, int count,
                     tsr_tensor **out_gradients) {
  const tsr_grad_desc desc = {.cotangent = cotangent, .zeros_if_unused = zeros_if_unused};
  return tsr_grad(y, &desc, xs, count, out_gradients);
}

// `optim` NULL: the loss is not scaled.
TSR_API tsr_status tsrw_params_grad(tsr_params *params, tsr_tensor *y, tsr_optim *optim, bool adds);
tsr_status tsrw_params_grad(tsr_params *params, tsr_tensor *y, tsr_optim *optim, bool adds) {
  const tsr_grad_desc desc = {.cotangent = optim ? tsr_optim_scale(optim) : NULL};
  tsr_status status = (adds ? tsr_params_grad_add : tsr_params_grad)(params, y, &desc);
  tsr_release(desc.cotangent);
  return status;
}

// --- Parameters ------------------------------------------------------------------------------------------------------------

static const char *const inits[] = {"zeros",   "ones",           "constant",      "normal",     "truncated_normal",
                                    "uniform", "xavier_uniform", "xavier_normal", "he_uniform", "he_normal",
                                    NULL};

// Fields: name, initialiser, value, "1" if inputs come first, sizes.
static tsr_param_desc read_param(char *text) {
  tsr_param_desc desc = {.name = cut(&text, FIELD)};
  desc.init = (tsr_init)number_of(cut(&text, FIELD), inits);
  desc.value = strtod(cut(&text, FIELD), NULL);
  desc.is_inputs_first = *cut(&text, FIELD) == '1';
  while (*text && desc.shape.rank < TSR_MAX_RANK) {
    desc.shape.dims[desc.shape.rank++] = strtoll(cut(&text, FIELD), NULL, 10);
  }
  return desc;
}

// NULL: see tsr_last_error.
TSR_API tsr_params *tsrw_params_create(tsr_device *device, int dtype, char *text, double seed);
tsr_params *tsrw_params_create(tsr_device *device, int dtype, char *text, double seed) {
  int count = count_of(text, RECORD);
  tsr_param_desc *tensors = calloc((size_t)count + 1, sizeof *tensors);
  tsr_params *params = NULL;
  for (int i = 0; i < count && tensors; i++) tensors[i] = read_param(cut(&text, RECORD));
  tsr_params_create(device, (tsr_dtype)dtype, tensors, count, (uint64_t)seed, &params);
  free(tensors);
  return params;
}

// --- Optimisers ------------------------------------------------------------------------------------------------------------

static const char *const kinds[] = {"sgd", "adam", "adamw", "rmsprop", "lion", NULL};
static const char *const schedules[] = {"constant", "step", "cosine", "linear", NULL};

typedef enum option_kind { OPTION_NUMBER, OPTION_WHOLE, OPTION_SWITCH } option_kind;
static const struct option {
  const char *name;
  size_t at;
  option_kind kind;
} options[] = {
    {"rate", offsetof(tsr_optim_desc, rate), OPTION_NUMBER},
    {"momentum", offsetof(tsr_optim_desc, momentum), OPTION_NUMBER},
    {"nesterov", offsetof(tsr_optim_desc, nesterov), OPTION_SWITCH},
    {"beta1", offsetof(tsr_optim_desc, beta1), OPTION_NUMBER},
    {"beta2", offsetof(tsr_optim_desc, beta2), OPTION_NUMBER},
    {"eps", offsetof(tsr_optim_desc, eps), OPTION_NUMBER},
    {"weightDecay", offsetof(tsr_optim_desc, weight_decay), OPTION_NUMBER},
    {"decaysVectors", offsetof(tsr_optim_desc, decays_vectors), OPTION_SWITCH},
    {"clipValue", offsetof(tsr_optim_desc, clip_value), OPTION_NUMBER},
    {"clipNorm", offsetof(tsr_optim_desc, clip_norm), OPTION_NUMBER},
    {"schedule.warmup", offsetof(tsr_optim_desc, schedule.warmup), OPTION_WHOLE},
    {"schedule.period", offsetof(tsr_optim_desc, schedule.period), OPTION_WHOLE},
    {"schedule.gamma", offsetof(tsr_optim_desc, schedule.gamma), OPTION_NUMBER},
    {"schedule.least", offsetof(tsr_optim_desc, schedule.least), OPTION_NUMBER},
    {"lossScale.first", offsetof(tsr_optim_desc, loss_scale.first), OPTION_NUMBER},
    {"lossScale.growth", offsetof(tsr_optim_desc, loss_scale.growth), OPTION_NUMBER},
    {"lossScale.backoff", offsetof(tsr_optim_desc, loss_scale.backoff), OPTION_NUMBER},
    {"lossScale.interval", offsetof(tsr_optim_desc, loss_scale.interval), OPTION_WHOLE},
};

// Options that the list does not have were refused by the caller.
static void read_option(char *text, tsr_optim_desc *out) {
  const char *name = cut(&text, '=');
  if (strcmp(name, "kind") == 0) out->kind = (tsr_optim_kind)number_of(text, kinds);
  if (strcmp(name, "schedule.kind") == 0) out->schedule.kind = (tsr_schedule_kind)number_of(text, schedules);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    void *at = (char *)out + options[i].at;
    if (strcmp(name, options[i].name) != 0) continue;
    if (options[i].kind == OPTION_NUMBER) *(double *)at = strtod(text, NULL);
    else if (options[i].kind == OPTION_WHOLE) *(int64_t *)at = strtoll(text, NULL, 10);
    else *(bool *)at = strcmp(text, "true") == 0;
  }
}

// `groups` has records of pattern, weight decay and factor of the rate. NULL: see tsr_last_error.
TSR_API tsr_optim *tsrw_optim_create(tsr_params *params, char *text, char *groups);
tsr_optim *tsrw_optim_create(tsr_params *params, char *text, char *groups) {
  tsr_optim_desc desc = {.group_count = count_of(groups, RECORD)};
  tsr_optim *optim = NULL;
  tsr_optim_group *list = calloc((size_t)desc.group_count + 1, sizeof *list);
  while (*text) read_option(cut(&text, FIELD), &desc);
  for (int i = 0; i < desc.group_count && list; i++) {
    char *record = cut(&groups, RECORD);
    list[i].pattern = cut(&record, FIELD);
    list[i].weight_decay = strtod(cut(&record, FIELD), NULL);
    list[i].rate_factor = strtod(cut(&record, FIELD), NULL);
  }
  desc.groups = list;
  tsr_optim_create(params, &desc, &optim);
  free(list);
  return optim;
}
