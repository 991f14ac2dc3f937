// SPDX-License-Identifier: MIT
// Finds expansions by function name, for dialects that write each one once as a function.
#include <stdio.h>
#include <string.h>

#include "lang/lower/expand.h"

// The parts of a name such as "tsr_sin_far_f32".
typedef struct name_parts {
  char base[16];              // "sin"
  bool is_far, is_condition;  // "tsr_sin_far_f32", "tsr_sin_is_far_f32"
  tsr_dtype dtype;
} name_parts;

// Whether `text` ends with `end`, which is then taken off.
static bool cut_end(char *text, const char *end) {
  size_t bytes = strlen(text), end_bytes = strlen(end);
  if (bytes < end_bytes || strcmp(text + bytes - end_bytes, end) != 0) return false;
  text[bytes - end_bytes] = '\0';
  return true;
}

static bool take_apart(const char *name, name_parts *out) {
  static const tsr_dtype dtypes[] = {TSR_I32, TSR_U32, TSR_I64, TSR_F32, TSR_F64};
  const char *last = strrchr(name, '_');
  if (strncmp(name, "tsr_", 4) != 0 || last < name + 4 || (size_t)(last - name - 4) >= sizeof out->base) return false;
  snprintf(out->base, sizeof out->base, "%.*s", (int)(last - name - 4), name + 4);
  out->is_condition = cut_end(out->base, "_is_far");
  out->is_far = cut_end(out->base, "_far");
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    out->dtype = dtypes[i];
    if (strcmp(last + 1, tsr_dtype_name(dtypes[i])) == 0) return true;
  }
  return false;
}

// Whether `call` ("tsr_sin_f32($a)") calls the function tsr_<base>_<dtype>.
static bool is_call_of(const char *call, const name_parts *p) {
  size_t bytes = strlen(p->base);
  return call && strncmp(call + 4, p->base, bytes) == 0 && call[4 + bytes] == '_' &&
         strncmp(call + 5 + bytes, tsr_dtype_name(p->dtype), strlen(tsr_dtype_name(p->dtype))) == 0;
}

static bool find_operation(const name_parts *p, tsri_ir_op *out_op) {
  for (int op = 0; op < TSRI_OP_COUNT; op++) {
    if (!is_call_of(tsri_expand_call((tsri_ir_op)op, p->dtype), p)) continue;
    *out_op = (tsri_ir_op)op;
    bool has = tsri_expand_has(*out_op, (tsri_ir_type){(uint8_t)p->dtype, 1});
    return has && (!(p->is_far || p->is_condition) || tsri_expand_has_far(*out_op, p->dtype));
  }
  return false;
}

// Whether the base is a conversion such as "to_i8".
static bool find_conversion(const name_parts *p, tsr_dtype *out_to) {
  if (strncmp(p->base, "to_", 3) != 0) return false;
  for (int to = 0; to < TSR_DTYPE_COUNT; to++) {
    *out_to = (tsr_dtype)to;
    if (strcmp(p->base + 3, tsr_dtype_name(*out_to)) == 0) return tsri_expand_has_convert(*out_to, p->dtype);
  }
  return false;
}

static bool find_storage(const char *name, tsri_expansion *out, tsri_expand_signature *out_signature) {
  static const struct {
    const char *encode, *decode;
    tsr_dtype dtype;
  } names[] = {{"tsr_f32_to_f16", "tsr_f16_to_f32", TSR_F16}, {"tsr_f32_to_bf16", "tsr_bf16_to_f32", TSR_BF16}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool is_encode = strcmp(name, names[i].encode) == 0;
    if (!is_encode && strcmp(name, names[i].decode) != 0) continue;
    *out_signature = (tsri_expand_signature){.operand = {is_encode ? TSR_F32 : TSR_U32, 1}, .arity = 1};
    if (is_encode) tsri_expand_encode(names[i].dtype, 1, (tsri_expand_options){0}, out);
    else tsri_expand_decode(names[i].dtype, 1, out);
    return true;
  }
  return false;
}

bool tsri_expand_named(const char *name, tsri_expand_options options, tsri_expansion *out,
                       tsri_expand_signature *out_signature) {
  name_parts p;
  tsri_ir_op op;
  if (find_storage(name, out, out_signature)) return true;
  if (!take_apart(name, &p)) return false;
  *out_signature = (tsri_expand_signature){.operand = {(uint8_t)p.dtype, 1}, .arity = 1};
  tsr_dtype to;
  if (find_conversion(&p, &to)) {
    tsri_expand_convert(to, out_signature->operand, options, out);
    return true;
  }
  if (!find_operation(&p, &op)) return false;
  out_signature->arity = tsri_ir_op_infos[op].arity;
  if (p.is_condition) {
    tsri_expand_is_far(op, out_signature->operand, out);
    return true;
  }
  options.far = p.is_far;
  tsri_expand(op, out_signature->operand, options, out);
  if (p.is_far || !tsri_expand_has_far(op, p.dtype)) return true;
  const char *type = tsr_dtype_name(p.dtype);
  snprintf(out_signature->far_name, sizeof out_signature->far_name, "tsr_%s_far_%s", p.base, type);
  snprintf(out_signature->is_far_name, sizeof out_signature->is_far_name, "tsr_%s_is_far_%s", p.base, type);
  return true;
}
