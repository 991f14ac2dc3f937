// SPDX-License-Identifier: MIT
// Generates random kernels. All choices come from one stream of random numbers, so a seed determines the kernel.
#include "lang/random_kernel.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/emit_device.h"
#include "support/test.h"

// --- Numbers --------------------------------------------------------------------------------------------------------

uint32_t random_below(uint64_t *state, uint32_t limit) {
  *state += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return (uint32_t)((z >> 32) * limit >> 32);
}

static uint64_t any_bits(uint64_t *state) {
  return (uint64_t)random_below(state, UINT32_MAX) << 32 | random_below(state, UINT32_MAX);
}

static double any_number(uint64_t *state) {
  static const double special[] = {0.0,           -0.0,         1.0,     -1.0,    0.5,     2.0,
                                   1e30,          -1e30,        65504.0, 65520.0, 1e-7,    2147483648.0,
                                   -2147483648.0, 4294967296.0, 127.5,   -129.0,  3.0e-39, 9.3e18};
  switch (random_below(state, 6)) {
    case 0:
      return special[random_below(state, sizeof special / sizeof *special)];
    case 1:
      return (double)random_below(state, 1000) - 500;
    default:
      return ((double)random_below(state, 1u << 30) / (1u << 29) - 1) * (1 << random_below(state, 8));
  }
}

void random_fill(uint64_t *state, tsr_dtype dtype, void *memory, uint32_t count) {
  size_t bytes = tsr_dtype_bytes(dtype);
  for (uint32_t i = 0; i < count; i++) {
    unsigned char *element = (unsigned char *)memory + i * bytes;
    uint64_t bits = any_bits(state);
    if (dtype == TSR_BOOL) {
      *element = bits & 1;
    } else if (tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT && random_below(state, 12) != 0) {
      double number = any_number(state);
      if (tsr_convert(dtype, element, TSR_F64, &number, 1) != TSR_OK) abort();
    } else {
      if (tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT && random_below(state, 3) == 0) bits = random_below(state, 16);
      memcpy(element, &bits, bytes);
    }
  }
}

// --- The generator --------------------------------------------------------------------------------------------------

enum { BOOL, I32, U32, I64, U64, F32, F64, TYPE_COUNT };
static const char *const type_names[TYPE_COUNT] = {"bool", "i32", "u32", "i64", "u64", "f32", "f64"};
static const tsr_dtype storages[] = {TSR_I8,  TSR_U8,  TSR_I16, TSR_F16, TSR_BF16,    TSR_BOOL,
                                     TSR_F32, TSR_I32, TSR_U16, TSR_U64, TSR_F8_E4M3, TSR_F8_E5M2};

#define MAX_VARS 60

typedef struct generator {
  uint64_t state;
  random_kernel *kernel;
  uint32_t features;
  emit_text text;
  int indent;
  struct {
    int type;
    bool is_fixed;  // a loop counter
  } vars[MAX_VARS];
  int var_count;
  tsr_dtype in_storage[2], out_storage, local_storage, shared_storage;
  bool has_local;
  int loops;  // number of enclosing loops
} generator;

static uint32_t below(generator *g, uint32_t limit) { return random_below(&g->state, limit); }

static void put(generator *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(generator *g, const char *format, ...) {
  char part[512];
  va_list args;
  va_start(args, format);
  vsnprintf(part, sizeof part, format, args);
  va_end(args);
  emit_add_text(&g->text, part);
}

static void begin_line(generator *g) {
  for (int i = 0; i < g->indent; i++) put(g, "    ");
}

static int any_type(generator *g) {
  for (;;) {
    int type = (int)below(g, TYPE_COUNT);
    if (type != F64 || (g->features & RANDOM_F64)) return type;
  }
}

static int compute_type(tsr_dtype storage) {
  switch (storage) {
    case TSR_BOOL:
      return BOOL;
    case TSR_I8:
    case TSR_I16:
    case TSR_I32:
      return I32;
    case TSR_U8:
    case TSR_U16:
    case TSR_U32:
      return U32;
    case TSR_U64:
      return U64;
    case TSR_I64:
      return I64;
    case TSR_F64:
      return F64;
    default:
      return F32;
  }
}

static void put_expr(generator *g, int type, int depth);

static void put_index(generator *g, uint32_t count, int depth) {
  put(g, "(");
  put_expr(g, U32, depth);
  put(g, ") %% %u", count);
}

static void put_literal(generator *g, int type) {
  static const char *const integers[] = {"0", "1", "2", "7", "31", "33", "100", "65535", "2147483647"};
  // No -0.0: LLVM 15 compiles max(-0.0, x) to x86's own max, which returns -0 if x is +0. Inputs do contain -0.
  static const char *const floats[] = {"0.25", "1.0", "0.5", "-2.0", "3.25", "1.0e10", "0.1", "-1.5", "1e-20"};
  switch (type) {
    case BOOL:
      put(g, below(g, 2) ? "true" : "false");
      break;
    case I32:
      put(g, "i32(%s%s)", below(g, 3) ? "" : "-", integers[below(g, 9)]);
      break;
    case U32:
      put(g, "u32(%s)", integers[below(g, 9)]);
      break;
    case I64:
    case U64:
      put(g, "(%s(%s) << %u)", type_names[type], integers[below(g, 9)], below(g, 3) ? 0 : below(g, 60));
      break;
    default:
      put(g, "%s(%s)", type_names[type], floats[below(g, 9)]);
      break;
  }
}

static bool put_var(generator *g, int type) {
  int first = g->var_count ? (int)below(g, (uint32_t)g->var_count) : 0;
  for (int i = 0; i < g->var_count; i++) {
    int var = (first + i) % g->var_count;
    if (g->vars[var].type != type) continue;
    put(g, "v%d", var);
    return true;
  }
  return false;
}

static void put_leaf(generator *g, int type) {
  static const char *const params[TYPE_COUNT] = {"pb", "pi", "pu", "pl", "u64(pl)", "pf", "pd"};
  static const char *const ids[] = {"global.x", "local.x", "group.x", "groups.x"};
  switch (below(g, 8)) {
    case 0:
      put_literal(g, type);
      break;
    case 1:
      put(g, "%s", params[type]);
      break;
    case 2:
      if (type == U32) {
        put(g, "%s", ids[below(g, 4)]);
        break;
      }  // fall through
    default:
      if (!put_var(g, type)) put_literal(g, type);
      break;
  }
}

// Writes an element of some array whose value type is `type`.
static void put_load(generator *g, int type, int depth) {
  static const char *const buffers[TYPE_COUNT] = {"ab", "ai", "au", "al", "bitcast<u64>(al", "af", "ad"};
  uint32_t count = g->kernel->groups * g->kernel->items;
  for (int i = 0; i < 2; i++) {
    if (compute_type(g->in_storage[i]) != type || below(g, 2)) continue;
    put(g, "%s(s%d[", type_names[type], i);
    put_index(g, count, depth);
    put(g, "])");
    return;
  }
  if (g->has_local && compute_type(g->local_storage) == type && below(g, 3) != 0) {
    put(g, "%s(mem[", type_names[type]);
    put_index(g, 8, depth);
    put(g, "])");
    return;
  }
  put(g, "%s[", buffers[type]);
  put_index(g, count, depth);
  put(g, type == U64 ? "])" : "]");
}

// Writes an operator with operands of the given types.
static void put_binary(generator *g, int type, const char *op, int left, int right, int depth) {
  (void)type;
  put(g, "(");
  put_expr(g, left, depth - 1);
  put(g, " %s ", op);
  put_expr(g, right, depth - 1);
  put(g, ")");
}

static void put_call1(generator *g, const char *name, int operand, int depth) {
  put(g, "%s(", name);
  put_expr(g, operand, depth - 1);
  put(g, ")");
}

static void put_call2(generator *g, const char *name, int operand, int depth) {
  put(g, "%s(", name);
  put_expr(g, operand, depth - 1);
  put(g, ", ");
  put_expr(g, operand, depth - 1);
  put(g, ")");
}

static void put_select(generator *g, int type, int depth) {
  bool is_lazy = below(g, 2);
  put(g, is_lazy ? "(" : "select(");
  put_expr(g, BOOL, depth - 1);
  put(g, is_lazy ? " ? " : ", ");
  put_expr(g, type, depth - 1);
  put(g, is_lazy ? " : " : ", ");
  put_expr(g, type, depth - 1);
  put(g, ")");
}

// Writes one lane of a small vector expression.
static void put_vector(generator *g, int type, int depth) {
  static const char *const integer_ops[] = {"+", "-", "*", "/", "&", "^"}, *const float_ops[] = {"+", "-", "*", "/"};
  int lanes = below(g, 2) ? 4 : 2;
  bool is_float = type == F32 || type == F64;
  put(g, "(%sx%d(", type_names[type], lanes);
  for (int i = 0; i < lanes; i++) {
    if (i) put(g, ", ");
    put_leaf(g, type);
  }
  put(g, ") %s %sx%d(", is_float ? float_ops[below(g, 4)] : integer_ops[below(g, 6)], type_names[type], lanes);
  put_expr(g, type, depth - 1);
  put(g, ")).%c", "xyzw"[below(g, (uint32_t)lanes)]);
}

static void put_wide_load(generator *g, int depth) {
  uint32_t quads = g->kernel->groups * g->kernel->items / 4;
  put(g, below(g, 2) ? "load4(af, ((" : "load4_once(af, ((");
  put_expr(g, U32, depth - 1);
  put(g, ") %% %u) * 4).%c", quads, "xyzw"[below(g, 4)]);
}

static void put_integer(generator *g, int type, int depth) {
  static const char *const operators[] = {"+", "-", "*", "/", "%", "&", "|", "^"};
  static const char *const signed_calls[] = {"abs", "sign", "popcount", "clz", "ctz"};
  bool is_unsigned = type == U32 || type == U64;
  switch (below(g, 14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      put_binary(g, type, operators[below(g, 8)], type, type, depth);
      break;
    case 4:
      put_binary(g, type, below(g, 2) ? "<<" : ">>", type, U32, depth);
      break;
    case 5:
      put_call2(g, below(g, 2) ? "min" : "max", type, depth);
      break;
    case 6:
      put_call1(g, signed_calls[is_unsigned ? 2 + below(g, 3) : below(g, 5)], type, depth);
      break;
    case 7:
      put_call1(g, is_unsigned || below(g, 2) ? "~" : "-", type, depth);
      break;
    case 8:
      put_call1(g, type_names[type], any_type(g), depth);
      break;
    case 9:
      put_select(g, type, depth);
      break;
    case 10:
      put_vector(g, type, depth);
      break;
    case 11:
      if (type == U32) {
        put_call2(g, "mulhi", U32, depth);
      } else if (type == I32) {  // NaN has many bit patterns, so its bits are not compared
        put(g, "bitcast<i32>(f32(");
        put_expr(g, below(g, 2) ? I32 : I64, depth - 1);
        put(g, "))");
      } else {
        put_leaf(g, type);
      }
      break;
    default:
      put_load(g, type, depth - 1);
      break;
  }
}

// loose_max and loose_less promise nothing for NaN, the first not which zero it returns either: their operands come from integers.
static void put_loose(generator *g, const char *function, int type, int depth) {
  put(g, "%s(%s(", function, type_names[type]);
  put_expr(g, I32, depth - 1);
  put(g, "), %s(", type_names[type]);
  put_expr(g, I32, depth - 1);
  put(g, "))");
}

static void put_float(generator *g, int type, int depth) {
  static const char *const operators[] = {"+", "-", "*", "/"};
  static const char *const calls[] = {"floor", "ceil", "round", "trunc", "abs", "sign", "sqrt", "-"};
  static const char *const narrow[] = {"f16", "bf16", "f8_e4m3", "f8_e5m2"};
  switch (below(g, 13)) {
    case 0:
    case 1:
    case 2:
    case 3:
      put_binary(g, type, operators[below(g, 4)], type, type, depth);
      break;
    case 4:
      put_call1(g, calls[below(g, 8)], type, depth);
      break;
    case 5:
      if (below(g, 3) == 0) put_loose(g, "loose_max", type, depth);
      else put_call2(g, below(g, 2) ? "min" : "max", type, depth);
      break;
    case 6:
      put_call1(g, type_names[type], any_type(g), depth);
      break;
    case 7:
      put_select(g, type, depth);
      break;
    case 8:
      put_vector(g, type, depth);
      break;
    case 9:
      put(g, "fma(");
      put_expr(g, type, depth - 1);
      put(g, ", ");
      put_expr(g, type, depth - 2);
      put(g, ", ");
      put_expr(g, type, depth - 2);
      put(g, ")");
      break;
    case 10:
      if (type == F32 && below(g, 2)) {
        put_wide_load(g, depth);
      } else {  // a conversion to a narrow float and back: a rounding
        put(g, "%s(%s(", type_names[type], narrow[below(g, 4)]);
        put_expr(g, type, depth - 1);
        put(g, "))");
      }
      break;
    default:
      put_load(g, type, depth - 1);
      break;
  }
}

static void put_bool(generator *g, int depth) {
  static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  static const char *const tests[] = {"isnan", "isinf", "isfinite"}, *const logic[] = {"&&", "||", "&", "|",
                                                                                       "^",  "==", "!="};
  int type = any_type(g);
  switch (below(g, 7)) {
    case 0:
    case 1:
      if (type == BOOL) type = I32;
      put_binary(g, BOOL, comparisons[below(g, 6)], type, type, depth);
      break;
    case 2:
    case 3:
      put_binary(g, BOOL, logic[below(g, 7)], BOOL, BOOL, depth);
      break;
    case 4:
      if (below(g, 4) == 0) put_loose(g, "loose_less", F32, depth);
      else put_call1(g, tests[below(g, 3)], F32, depth);
      break;
    case 5:
      put_call1(g, below(g, 2) ? "!" : "bool", BOOL, depth);
      break;
    default:
      put_load(g, BOOL, depth - 1);
      break;
  }
}

static void put_expr(generator *g, int type, int depth) {
  if (depth <= 0) {
    put_leaf(g, type);
  } else if (type == BOOL) {
    put_bool(g, depth);
  } else if (type == F32 || type == F64) {
    put_float(g, type, depth);
  } else {
    put_integer(g, type, depth);
  }
}

// --- Statements -----------------------------------------------------------------------------------------------------

static void put_block(generator *g, int statements, int depth);

static void add_var(generator *g, int type, bool is_fixed) {
  g->vars[g->var_count].type = type;
  g->vars[g->var_count++].is_fixed = is_fixed;
}

static void put_declaration(generator *g) {
  int type = any_type(g);
  if (g->var_count >= MAX_VARS) return;
  begin_line(g);
  put(g, "%s v%d = ", type_names[type], g->var_count);
  put_expr(g, type, 1 + (int)below(g, 4));
  put(g, ";\n");
  add_var(g, type, false);
}

static void put_assignment(generator *g) {
  if (g->var_count == 0) return;
  int var = (int)below(g, (uint32_t)g->var_count), type = g->vars[var].type;
  if (g->vars[var].is_fixed) return;
  begin_line(g);
  put(g, "v%d %s ", var, type != BOOL && below(g, 3) == 0 ? "+=" : "=");
  put_expr(g, type, 1 + (int)below(g, 4));
  put(g, ";\n");
}

static void put_if(generator *g, int depth) {
  begin_line(g);
  put(g, "if (");
  put_expr(g, BOOL, 2);
  put(g, ") {\n");
  put_block(g, 2, depth - 1);
  begin_line(g);
  if (below(g, 2)) {
    put(g, "} else {\n");
    put_block(g, 2, depth - 1);
    begin_line(g);
  }
  put(g, "}\n");
}

static void put_jump(generator *g) {
  if (g->loops == 0) return;
  begin_line(g);
  put(g, "if (");
  put_expr(g, BOOL, 1);
  put(g, ") %s;\n", below(g, 2) ? "break" : "continue");
}

static void put_for(generator *g, int depth) {
  if (g->var_count >= MAX_VARS) return;
  int counter = g->var_count;
  begin_line(g);
  put(g, "for (u32 v%d = 0; v%d < %u; v%d++) {\n", counter, counter, 1 + below(g, 6), counter);
  add_var(g, U32, true);
  g->loops++;
  put_block(g, 3, depth - 1);
  g->loops--;
  g->var_count = counter;
  begin_line(g);
  put(g, "}\n");
}

static void put_while(generator *g, int depth) {
  if (g->var_count >= MAX_VARS) return;
  int counter = g->var_count;
  begin_line(g);
  put(g, "u32 v%d = 0;\n", counter);
  begin_line(g);
  put(g, "while (v%d < %u && ", counter, 1 + below(g, 5));
  put_expr(g, BOOL, 2);
  put(g, ") {\n");
  add_var(g, U32, true);
  g->indent++;
  begin_line(g);
  put(g, "v%d++;\n", counter);
  g->indent--;
  g->loops++;
  put_block(g, 3, depth - 1);
  g->loops--;
  begin_line(g);
  put(g, "}\n");
}

static void put_memory(generator *g) {
  if (!g->has_local) return;
  begin_line(g);
  put(g, "mem[");
  put_index(g, 8, 2);
  put(g, "] = %s(", tsr_dtype_name(g->local_storage));
  put_expr(g, below(g, 2) ? compute_type(g->local_storage) : any_type(g), 2);
  put(g, ");\n");
}

static void put_atomic(generator *g) {
  uint32_t count = g->kernel->groups * g->kernel->items;
  static const char *const forms[] = {"atomic_add(sum, ", "atomic_xor(mix, ", "atomic_max(top, ", "atomic_sub(sum, "};
  uint32_t form = below(g, 4);
  begin_line(g);
  put(g, "%s", forms[form]);
  put_index(g, count, 1);
  put(g, ", ");
  put_expr(g, form == 2 ? I32 : U32, 2);
  put(g, ");\n");
}

static void put_statement(generator *g, int depth) {
  switch (below(g, depth > 0 ? 11 : 7)) {
    case 0:
    case 1:
      put_declaration(g);
      break;
    case 2:
    case 3:
      put_assignment(g);
      break;
    case 4:
      put_memory(g);
      break;
    case 5:
      put_atomic(g);
      break;
    case 6:
      put_jump(g);
      break;
    case 7:
    case 8:
      put_if(g, depth);
      break;
    case 9:
      put_for(g, depth);
      break;
    default:
      put_while(g, depth);
      break;
  }
}

static void put_block(generator *g, int statements, int depth) {
  int vars = g->var_count;
  g->indent++;
  for (int i = 0; i < statements; i++) put_statement(g, depth);
  g->indent--;
  g->var_count = vars;  // variables declared inside are no longer visible
}

// --- Where the whole group takes part -------------------------------------------------------------------------------

static void put_exchange(generator *g) {
  if (g->var_count >= MAX_VARS) return;
  int type = compute_type(g->shared_storage);
  begin_line(g);
  put(g, "tile[local.x] = %s(", tsr_dtype_name(g->shared_storage));
  put_expr(g, type, 2);
  put(g, ");\n");
  begin_line(g);
  put(g, "barrier();\n");
  begin_line(g);
  put(g, "%s v%d = %s(tile[(local.x + %u) %% %u]);\n", type_names[type], g->var_count, type_names[type], below(g, 50),
      g->kernel->items);
  begin_line(g);
  put(g, "barrier();\n");
  add_var(g, type, false);
}

static void put_collective(generator *g) {
  static const char *const any_order[] = {"sum", "min", "max"}, *const truths[] = {"any", "all"};
  if (g->var_count >= MAX_VARS) return;
  int type = any_type(g);
  bool is_float = type == F32 || type == F64, is_shuffle = false;
  const char *scope = (g->features & RANDOM_SUBGROUPS) && below(g, 2) ? "subgroup" : "group";
  const char *what = type == BOOL ? truths[below(g, 2)] : any_order[is_float ? 1 + below(g, 2) : below(g, 3)];
  if (type != BOOL && scope[0] == 's' && below(g, 3) == 0) {
    what = below(g, 2) ? "shuffle" : "shuffle_xor";
    is_shuffle = true;
  }
  begin_line(g);
  put(g, "%s v%d = %s_%s(", type_names[type], g->var_count, scope, what);
  // min and max of -0 and +0 may return either
  if (is_float && !is_shuffle) put(g, "%s(1.0) + abs(", type_names[type]);
  put_expr(g, type, 2);
  if (is_float && !is_shuffle) put(g, ")");
  if (is_shuffle) {
    put(g, ", ");
    put_expr(g, U32, 1);
  }
  put(g, ");\n");
  add_var(g, type, false);
}

// Writes a loop with barriers, with or without an early exit by a condition that is the same for all items.
static void put_group_loop(generator *g) {
  if (g->var_count + 3 >= MAX_VARS) return;
  int counter = g->var_count;
  begin_line(g);
  put(g, "for (u32 v%d = 0; v%d < %u; v%d++) {\n", counter, counter, 2 + below(g, 3), counter);
  add_var(g, U32, true);
  g->indent++;
  put_exchange(g);
  begin_line(g);
  put(g, "if ((pu + v%d) %% 3 == %u) %s;\n", counter, below(g, 3), below(g, 2) ? "break" : "continue");
  put_collective(g);
  int loops = g->loops;
  g->loops = 0;  // a jump out of here must not depend on the item
  put_statement(g, 1);
  put_assignment(g);
  g->loops = loops;
  g->indent--;
  g->var_count = counter;
  begin_line(g);
  put(g, "}\n");
}

static void put_top(generator *g) {
  switch (below(g, 10)) {
    case 0:
      put_exchange(g);
      break;
    case 1:
      put_collective(g);
      break;
    case 2:
      put_group_loop(g);
      break;
    default:
      put_statement(g, 3);
      break;
  }
}

// --- Outputs --------------------------------------------------------------------------------------------------------

typedef struct math_function {
  const char *name;
  int arity;
  uint32_t bound;  // in ULP: OpenCL's guarantee, but at least 4
} math_function;

static const math_function functions[] = {
    {"exp", 1, 4},  {"exp2", 1, 4}, {"expm1", 1, 4}, {"log", 1, 4},  {"log2", 1, 4}, {"log10", 1, 4}, {"log1p", 1, 4},
    {"sin", 1, 4},  {"cos", 1, 4},  {"tan", 1, 6},   {"asin", 1, 4}, {"acos", 1, 4}, {"atan", 1, 5},  {"atan2", 2, 6},
    {"sinh", 1, 5}, {"cosh", 1, 5}, {"tanh", 1, 6},  {"erf", 1, 16}, {"pow", 2, 16}, {"rsqrt", 1, 4}};

// Writes an argument in the range for which the functions have guarantees.
static void put_tame(generator *g, int type) {
  put(g, "clamp(");
  put_expr(g, type, 2);
  put(g, ", %s(-20.0), %s(20.0))", type_names[type], type_names[type]);
}

static void put_maths(generator *g, int type, const char *target, uint32_t *bounds) {
  for (int slot = 0; slot < RANDOM_MATH_SLOTS; slot++) {
    const math_function *f = &functions[below(g, sizeof functions / sizeof *functions)];
    bounds[slot] = f->bound;
    put(g, "    %s[global.x * %d + %d] = %s(", target, RANDOM_MATH_SLOTS, slot, f->name);
    put_tame(g, type);
    if (f->arity == 2) {
      put(g, ", ");
      put_tame(g, type);
    }
    put(g, ");\n");
  }
}

static void put_outputs(generator *g) {
  static const char *const targets[TYPE_COUNT] = {"rb", "ri", "ru", "rl", NULL, "rf", "rd"};
  for (int type = 0; type < TYPE_COUNT; type++) {
    if (!targets[type] || (type == F64 && !(g->features & RANDOM_F64))) continue;
    int slots = type == F32 || type == F64 ? RANDOM_FLOAT_SLOTS : 1, var = g->var_count;
    for (int slot = 0; slot < slots; slot++) {
      put(g, "    %s[global.x * %d + %d] = ", targets[type], slots, slot);
      while (var > 0 && g->vars[var - 1].type != type) var--;
      if (slots == 1 || var == 0) {
        put_expr(g, type, 2);
        for (int i = 0; slots == 1 && i < g->var_count; i++) {
          if (g->vars[i].type == type) put(g, " ^ v%d", i);
          if (g->vars[i].type == U64 && type == I64) put(g, " ^ bitcast<i64>(v%d)", i);
        }
      } else {
        put(g, "v%d", --var);
      }
      put(g, ";\n");
    }
  }
  put(g, "    rs[global.x] = %s(", tsr_dtype_name(g->out_storage));
  put_expr(g, any_type(g), 2);
  put(g, ");\n    store4(rw, global.x * 4, load4(sw, (");
  put_index(g, g->kernel->groups * g->kernel->items, 1);
  put(g, ") * 4) * f32x4(");
  put_expr(g, F32, 1);
  put(g, "));\n");
  put_maths(g, F32, "mf", g->kernel->math_bounds[0]);
  if (g->features & RANDOM_F64) put_maths(g, F64, "md", g->kernel->math_bounds[1]);
}

// --- The kernel -----------------------------------------------------------------------------------------------------

static void add_buffer(generator *g, const char *name, tsr_dtype dtype, uint32_t per_item, random_compare compare) {
  random_kernel *kernel = g->kernel;
  kernel->buffers[kernel->buffer_count++] =
      (random_buffer){name, dtype, kernel->groups * kernel->items * per_item, compare};
}

static void add_buffers(generator *g) {
  bool has_f64 = (g->features & RANDOM_F64) != 0;
  add_buffer(g, "ab", TSR_BOOL, 1, RANDOM_INPUT);
  add_buffer(g, "ai", TSR_I32, 1, RANDOM_INPUT);
  add_buffer(g, "au", TSR_U32, 1, RANDOM_INPUT);
  add_buffer(g, "al", TSR_I64, 1, RANDOM_INPUT);
  add_buffer(g, "af", TSR_F32, 1, RANDOM_INPUT);
  if (has_f64) add_buffer(g, "ad", TSR_F64, 1, RANDOM_INPUT);
  add_buffer(g, "s0", g->in_storage[0], 1, RANDOM_INPUT);
  add_buffer(g, "s1", g->in_storage[1], 1, RANDOM_INPUT);
  add_buffer(g, "sw", TSR_F16, 4, RANDOM_INPUT);
  add_buffer(g, "rb", TSR_BOOL, 1, RANDOM_EXACT);
  add_buffer(g, "ri", TSR_I32, 1, RANDOM_EXACT);
  add_buffer(g, "ru", TSR_U32, 1, RANDOM_EXACT);
  add_buffer(g, "rl", TSR_I64, 1, RANDOM_EXACT);
  add_buffer(g, "rf", TSR_F32, RANDOM_FLOAT_SLOTS, RANDOM_EXACT);
  if (has_f64) add_buffer(g, "rd", TSR_F64, RANDOM_FLOAT_SLOTS, RANDOM_EXACT);
  add_buffer(g, "rs", g->out_storage, 1, RANDOM_EXACT);
  add_buffer(g, "rw", TSR_BF16, 4, RANDOM_EXACT);
  add_buffer(g, "mf", TSR_F32, RANDOM_MATH_SLOTS, RANDOM_MATH);
  if (has_f64) add_buffer(g, "md", TSR_F64, RANDOM_MATH_SLOTS, RANDOM_MATH);
  add_buffer(g, "sum", TSR_U32, 1, RANDOM_EXACT);
  add_buffer(g, "mix", TSR_U32, 1, RANDOM_EXACT);
  add_buffer(g, "top", TSR_I32, 1, RANDOM_EXACT);
}

// Declares one variable of each type, initialised from the inputs.
static void put_first_vars(generator *g) {
  static const char *const sources[TYPE_COUNT] = {"ab", "ai", "au", "al", "al", "af", "ad"};
  for (int type = 0; type < TYPE_COUNT; type++) {
    if (type == F64 && !(g->features & RANDOM_F64)) continue;
    const char *as = type == U64 ? "u64" : "";
    put(g, "    %s v%d = %s(%s[global.x]);\n", type_names[type], g->var_count, as, sources[type]);
    add_var(g, type, false);
  }
}

static void put_head(generator *g) {
  random_kernel *kernel = g->kernel;
  put(g, "kernel %s<WG = %u>(", kernel->name, kernel->items);
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    const random_buffer *buffer = &kernel->buffers[i];
    bool is_atomic = buffer->dtype != TSR_BOOL && i + 3 >= kernel->buffer_count;
    const char *access = buffer->compare == RANDOM_INPUT ? "in" : is_atomic ? "inout" : "out";
    put(g, "%s %s %s[], ", access, tsr_dtype_name(buffer->dtype), buffer->name);
  }
  put(g, "bool pb, i32 pi, u32 pu, i64 pl, f32 pf%s) {\n", g->features & RANDOM_F64 ? ", f64 pd" : "");
}

void random_kernel_init(random_kernel *kernel, uint64_t seed, uint32_t features) {
  static const uint32_t sizes[] = {1, 4, 8, 24, 32, 64, 96};
  generator g = {.state = seed, .kernel = kernel, .features = features};
  memset(kernel, 0, sizeof *kernel);
  kernel->seed = seed;
  kernel->groups = 4;
  kernel->items = sizes[below(&g, sizeof sizes / sizeof *sizes)];
  snprintf(kernel->name, sizeof kernel->name, "random_%llu", (unsigned long long)seed);
  uint32_t storage_count = sizeof storages / sizeof *storages;
  g.in_storage[0] = storages[below(&g, storage_count)];
  g.in_storage[1] = storages[below(&g, storage_count)];
  g.out_storage = storages[below(&g, storage_count)];
  g.local_storage = storages[below(&g, storage_count)];
  g.shared_storage = storages[below(&g, storage_count)];
  add_buffers(&g);
  put_head(&g);
  put(&g, "    shared %s tile[%u];\n", tsr_dtype_name(g.shared_storage), kernel->items);
  put(&g, "    %s mem[8];\n", tsr_dtype_name(g.local_storage));
  g.has_local = true;
  g.indent = 1;
  put_first_vars(&g);
  uint32_t statements = 5 + below(&g, 8);
  for (uint32_t i = 0; i < statements; i++) put_top(&g);
  put_outputs(&g);
  put(&g, "}\n");
  kernel->text = g.text.data;
}

void random_kernel_deinit(random_kernel *kernel) {
  free(kernel->text);
  memset(kernel, 0, sizeof *kernel);
}

// --- Comparing ------------------------------------------------------------------------------------------------------

static double number_of(tsr_dtype dtype, const void *element) {
  double value = 0;
  CHECK_OK(tsr_convert(TSR_F64, &value, dtype, element, 1));
  return value;
}

// The distance in units of the last place: the number of representable values in between.
static uint64_t ulp_distance(tsr_dtype dtype, const void *a, const void *b) {
  int64_t place[2];
  const void *elements[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    uint64_t bits = 0, sign = dtype == TSR_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    memcpy(&bits, elements[i], tsr_dtype_bytes(dtype));
    place[i] = bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
  }
  return place[0] > place[1] ? (uint64_t)place[0] - (uint64_t)place[1] : (uint64_t)place[1] - (uint64_t)place[0];
}

static bool is_same(const random_buffer *buffer, const void *is, const void *wanted, uint32_t math_bound) {
  if (memcmp(is, wanted, tsr_dtype_bytes(buffer->dtype)) == 0) return true;
  if (tsr_dtype_kind_of(buffer->dtype) != TSR_KIND_FLOAT) return false;
  double a = number_of(buffer->dtype, is), b = number_of(buffer->dtype, wanted);
  if (a != a && b != b) return true;  // NaN has many bit patterns
  if (buffer->compare != RANDOM_MATH || a != a || b != b) return false;
  return ulp_distance(buffer->dtype, is, wanted) <= math_bound;
}

void random_compare_buffer(const random_kernel *kernel, uint32_t index, const char *who, const void *is,
                           const void *wanted, uint32_t slack) {
  const random_buffer *buffer = &kernel->buffers[index];
  size_t bytes = tsr_dtype_bytes(buffer->dtype);
  for (uint32_t k = 0; k < buffer->count; k++) {
    const void *a = (const char *)is + k * bytes, *b = (const char *)wanted + k * bytes;
    uint32_t bound = slack * kernel->math_bounds[buffer->dtype == TSR_F64][k % RANDOM_MATH_SLOTS];
    if (is_same(buffer, a, b, bound)) continue;
    uint64_t bits[2] = {0, 0};
    memcpy(&bits[0], a, bytes);
    memcpy(&bits[1], b, bytes);
    test_fail(__FILE__, __LINE__,
              "seed %" PRIu64 ": %s has %s %s[%u] = %.17g (0x%" PRIx64 "), plain C %.17g (0x%" PRIx64 ")\n%s",
              kernel->seed, who, tsr_dtype_name(buffer->dtype), buffer->name, (unsigned)k, number_of(buffer->dtype, a),
              bits[0], number_of(buffer->dtype, b), bits[1], kernel->text);
  }
}
