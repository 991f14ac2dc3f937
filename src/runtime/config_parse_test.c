// SPDX-License-Identifier: MIT
// Tests of the parsers of values and of the config file.
#include "core/native.h"
#include "runtime/config.h"

#include <limits.h>

#include "core/error.h"
#include "support/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

// --- The table of settings -------------------------------------------------------------------------------------------

TEST(every_setting_has_a_variable_named_after_it_and_texts) {
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    const tsri_setting_info *info = &tsri_settings[i];
    char variable[64] = "TESSERA_";
    size_t used = strlen(variable);
    for (const char *c = info->name; *c; c++) variable[used++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    variable[used] = 0;
    CHECK_STR(info->variable, variable);
    CHECK(strlen(info->allowed) > 0);
    CHECK(!strchr(info->allowed, '|'));  // the text is shown in a Markdown table
    CHECK_EQ_INT(info->help[strlen(info->help) - 1], '.');
  }
}

TEST(every_default_is_a_value_and_spelt_as_the_parser_leaves_it) {
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    char clean[64], problem[TSRI_CONFIG_PROBLEM_BYTES];
    tsri_setting_value value;
    CHECK(strlen(tsri_settings[i].fallback) < sizeof clean);
    CHECK(tsri_setting_parse((tsri_setting_id)i, tsri_settings[i].fallback, clean, &value, problem));
    CHECK_STR(clean, tsri_settings[i].fallback);
  }
}

TEST(allowed_words_are_listed_from_the_lists_they_come_from) {
  CHECK_STR(tsri_settings[TSRI_SETTING_LOG].allowed, "off, error, warn, info, plan, debug");
  CHECK_STR(tsri_settings[TSRI_SETTING_SIMD].allowed,
            "auto, baseline, avx2, avx512, avx512_vnni, avx512_bf16, amx, neon");
  CHECK_STR(tsri_settings[TSRI_SETTING_MIX].allowed, "move, error");
  CHECK_STR(tsri_settings[TSRI_SETTING_STRICT].allowed, "on, off, yes, no, true, false, 1, 0");
}

TEST(setting_is_found_by_its_exact_name_and_suggested_for_one_near_it) {
  tsri_setting_id id;
  CHECK(tsri_setting_find("memory_limit", &id));
  CHECK_EQ_INT(id, TSRI_SETTING_MEMORY_LIMIT);
  CHECK(!tsri_setting_find("Memory_Limit", &id));
  CHECK_STR(tsri_setting_suggest("memory-limit"), "memory_limit");
  CHECK_STR(tsri_setting_suggest("TESSERA_BACKEND"), "backend");
  CHECK_STR(tsri_setting_suggest("tessera_bakend"), "backend");
  CHECK_STR(tsri_setting_suggest("colour"), NULL);
}

// --- One value ----------------------------------------------------------------------------------------------------

#define KiB (UINT64_C(1) << 10)
#define MiB (UINT64_C(1) << 20)
#define GiB (UINT64_C(1) << 30)
#define TiB (UINT64_C(1) << 40)

// The expected result of parsing a value. `clean` NULL: the same as the text.
static const struct {
  tsri_setting_id id;
  const char *text;
  bool is_set;
  uint64_t number;
  uint32_t millionths;
  const char *clean;
} good[] = {
    {TSRI_SETTING_BACKEND, "auto", false, 0, 0, NULL},
    {TSRI_SETTING_BACKEND, "AUTO", false, 0, 0, "auto"},
    {TSRI_SETTING_BACKEND, " \tCUDA ", true, 0, 0, "cuda"},
    {TSRI_SETTING_BACKEND, "my-plugin_2", true, 0, 0, NULL},
    {TSRI_SETTING_DEVICE, "auto", false, 0, 0, NULL},
    {TSRI_SETTING_DEVICE, "0", true, 0, 0, NULL},
    {TSRI_SETTING_DEVICE, "2147483647", true, INT_MAX, 0, NULL},
    {TSRI_SETTING_PRIORITY, "auto", false, 0, 0, NULL},
    {TSRI_SETTING_PRIORITY, "Vulkan ,\tcpu", true, 0, 0, "vulkan,cpu"},
    {TSRI_SETTING_MEMORY_LIMIT, "None", false, 0, 0, "none"},
    {TSRI_SETTING_MEMORY_LIMIT, "1", true, 1, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "100B", true, 100, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "3k", true, 3 * KiB, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "3KiB", true, 3 * KiB, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "3KB", true, 3000, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "500MB", true, 500000000, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "500MiB", true, 500 * MiB, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "1.5G", true, 3 * GiB / 2, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "2 GiB", true, 2 * GiB, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "0.1GB", true, 100000000, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "0.1K", true, 102, 0, NULL},  // rounded down
    {TSRI_SETTING_MEMORY_LIMIT, "1.999999TiB", true, TiB + 999999 * TiB / 1000000, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "16777215T", true, 16777215 * TiB, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "18446744073709551615", true, UINT64_MAX, 0, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "80%", true, 0, 800000, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "100 %", true, 0, 1000000, NULL},
    {TSRI_SETTING_MEMORY_LIMIT, "33.3333%", true, 0, 333333, NULL},
    {TSRI_SETTING_POOL_BYTES, "0", true, 0, 0, NULL},
    {TSRI_SETTING_REQUIRED_BYTES, "4GiB", true, 4 * GiB, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "none", false, 0, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "500ms", true, 500, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "30s", true, 30000, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "0.5 S", true, 500, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "5min", true, 300000, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "1.5h", true, 5400000, 0, NULL},
    {TSRI_SETTING_TIMEOUT, "4294967295ms", true, UINT32_MAX, 0, NULL},
    {TSRI_SETTING_THREADS, "0", true, 0, 0, NULL},
    {TSRI_SETTING_THREADS, "4096", true, 4096, 0, NULL},
    {TSRI_SETTING_SIMD, "auto", false, 0, 0, NULL},
    {TSRI_SETTING_SIMD, "AVX512", true, 0, 0, "avx512"},
    {TSRI_SETTING_NATIVE, "ALL", true, 0, 0, "all"},
    {TSRI_SETTING_NATIVE, "none", true, 0, 0, NULL},
    {TSRI_SETTING_NATIVE, "cuBLASLt, sleef", true, 0, 0, "cublaslt,sleef"},
    {TSRI_SETTING_NATIVE, "-sleef , -cublaslt", true, 0, 0, "-sleef,-cublaslt"},
    {TSRI_SETTING_NATIVE, "all, -cooperative_matrix", true, 0, 0, "-cooperative_matrix"},
    {TSRI_SETTING_TF32, "on", true, 1, 0, NULL},
    {TSRI_SETTING_TF32, "1", true, 1, 0, NULL},
    {TSRI_SETTING_STRICT, "TRUE", true, 1, 0, "true"},
    {TSRI_SETTING_STRICT, "Yes", true, 1, 0, "yes"},
    {TSRI_SETTING_EAGER, "off", true, 0, 0, NULL},
    {TSRI_SETTING_EAGER, "0", true, 0, 0, NULL},
    {TSRI_SETTING_EAGER, "no", true, 0, 0, NULL},
    {TSRI_SETTING_EAGER, "false", true, 0, 0, NULL},
    {TSRI_SETTING_JIT, "off", true, 0, 0, NULL},
    {TSRI_SETTING_JIT, "Always", true, 2, 0, "always"},
    {TSRI_SETTING_MIX, "move", true, TSRI_MIX_MOVE, 0, NULL},
    {TSRI_SETTING_MIX, "Error", true, TSRI_MIX_ERROR, 0, "error"},
    {TSRI_SETTING_TUNE, "Quick", true, TSRI_TUNE_MODE_QUICK, 0, "quick"},
    {TSRI_SETTING_LOG, "off", true, TSR_LOG_OFF, 0, NULL},
    {TSRI_SETTING_LOG, "DEBUG", true, TSR_LOG_DEBUG, 0, "debug"},
    {TSRI_SETTING_PLUGIN_PATH, "none", false, 0, 0, NULL},
    {TSRI_SETTING_PLUGIN_PATH, " /Opt/my plug-ins:/b ", true, 0, 0, "/Opt/my plug-ins:/b"},
    {TSRI_SETTING_FAULTS, "alloc:3,copy:2", true, 0, 0, NULL},
};

TEST(values_are_read_as_they_are_meant) {
  for (size_t i = 0; i < COUNT_OF(good); i++) {
    char clean[128], problem[TSRI_CONFIG_PROBLEM_BYTES];
    tsri_setting_value value;
    if (!tsri_setting_parse(good[i].id, good[i].text, clean, &value, problem)) {
      test_fail(__FILE__, __LINE__, "%s: \"%s\" %s", tsri_settings[good[i].id].name, good[i].text, problem);
    }
    CHECK_STR(clean, good[i].clean ? good[i].clean : good[i].text);
    CHECK_EQ_INT(value.is_set, good[i].is_set);
    CHECK_EQ_UINT(value.number, good[i].number);
    CHECK_EQ_UINT(value.millionths, good[i].millionths);
  }
}

static const struct {
  tsri_setting_id id;
  const char *text, *problem;
} bad[] = {
    {TSRI_SETTING_BACKEND, "", "is empty"},
    {TSRI_SETTING_BACKEND, " \t ", "is empty"},
    {TSRI_SETTING_BACKEND, "cu da", "is not a name"},
    {TSRI_SETTING_BACKEND, "\"cuda\"", "is not a name"},
    {TSRI_SETTING_BACKEND, "-cuda", "begins with a '-'"},
    {TSRI_SETTING_BACKEND, "Auto:1", "has an index beside auto"},
    {TSRI_SETTING_BACKEND, "cuda,cpu", "is not a name"},
    {TSRI_SETTING_BACKEND, "a\nb", "has a control character in it (0x0A)"},
    {TSRI_SETTING_BACKEND, "a23456789012345678901234567890123456789012345678901234567890abcd", "more than 63 letters"},
    {TSRI_SETTING_DEVICE, "-1", "is negative"},
    {TSRI_SETTING_DEVICE, "1.5", "is not a whole number"},
    {TSRI_SETTING_DEVICE, "gpu0", "is not a whole number"},
    {TSRI_SETTING_DEVICE, "0x1", "is not a whole number"},
    {TSRI_SETTING_DEVICE, "2147483648", "is more than 2147483647"},
    {TSRI_SETTING_DEVICE, "99999999999999999999999", "is more than 2147483647"},
    {TSRI_SETTING_PRIORITY, "cuda,,cpu", "has an empty name in it"},
    {TSRI_SETTING_PRIORITY, "cuda,", "has an empty name in it"},
    {TSRI_SETTING_PRIORITY, ",", "has an empty name in it"},
    {TSRI_SETTING_PRIORITY, "cpu,cuda,CPU", "names cpu twice"},
    {TSRI_SETTING_PRIORITY, "cpu,auto", "has auto beside other names"},
    {TSRI_SETTING_PRIORITY, "-cpu", "begins with a '-'"},
    {TSRI_SETTING_PRIORITY, "cpu cuda", "is not a name"},
    {TSRI_SETTING_MEMORY_LIMIT, "0", "leaves no memory"},
    {TSRI_SETTING_MEMORY_LIMIT, "0%", "leaves no memory"},
    {TSRI_SETTING_MEMORY_LIMIT, "lots", "does not begin with a number"},
    {TSRI_SETTING_MEMORY_LIMIT, ".5G", "does not begin with a number"},
    {TSRI_SETTING_MEMORY_LIMIT, "5.G", "has no digit after the point"},
    {TSRI_SETTING_MEMORY_LIMIT, "-2G", "is negative"},
    {TSRI_SETTING_MEMORY_LIMIT, "2GX", "has the unknown unit \"GX\""},
    {TSRI_SETTING_MEMORY_LIMIT, "2 G B", "has the unknown unit \"G B\""},
    {TSRI_SETTING_MEMORY_LIMIT, "1,5G", "has the unknown unit \",5G\""},
    {TSRI_SETTING_MEMORY_LIMIT, "1.5", "is not a whole number"},
    {TSRI_SETTING_MEMORY_LIMIT, "1.5B", "is not a whole number"},
    {TSRI_SETTING_MEMORY_LIMIT, "1.1234567G", "has more than 6 digits after the point"},
    {TSRI_SETTING_MEMORY_LIMIT, "18446744073709551616", "is too large"},
    {TSRI_SETTING_MEMORY_LIMIT, "16777216T", "is too large"},
    {TSRI_SETTING_MEMORY_LIMIT, "101%", "is more than 100%"},
    {TSRI_SETTING_MEMORY_LIMIT, "100.1%", "is more than 100%"},
    {TSRI_SETTING_MEMORY_LIMIT, "33.33333%", "has more than 4 digits after the point"},
    {TSRI_SETTING_POOL_BYTES, "10%", "has the unknown unit \"%\""},
    {TSRI_SETTING_REQUIRED_BYTES, "none", "does not begin with a number"},
    {TSRI_SETTING_TIMEOUT, "30", "has no unit"},
    {TSRI_SETTING_TIMEOUT, "0s", "is shorter than 1ms"},
    {TSRI_SETTING_TIMEOUT, "0.5ms", "is not a whole number"},
    {TSRI_SETTING_TIMEOUT, "50000000min", "is longer than 49 days"},
    {TSRI_SETTING_TIMEOUT, "10 years", "has the unknown unit \"years\""},
    {TSRI_SETTING_THREADS, "4097", "is more than 4096"},
    {TSRI_SETTING_THREADS, "all", "is not a whole number"},
    {TSRI_SETTING_SIMD, "avx22", "is unknown (did you mean avx2?)"},
    {TSRI_SETTING_SIMD, "sse", "is unknown"},
    {TSRI_SETTING_NATIVE, "sleef,-cublaslt", "mixes names to use with names to leave out"},
    {TSRI_SETTING_NATIVE, "-cublaslt,sleef", "mixes names to use with names to leave out"},
    {TSRI_SETTING_NATIVE, "all,sleef", "has all where only names of libraries can be"},
    {TSRI_SETTING_NATIVE, "sleef,none", "has none where only names of libraries can be"},
    {TSRI_SETTING_NATIVE, "nosuchlib", "names nosuchlib, which is none of the libraries"},
    {TSRI_SETTING_NATIVE, "-sleef,-openblas", "names openblas, which is none of the libraries"},
    {TSRI_SETTING_BACKEND, "cuda:", "has no index after the ':'"},
    {TSRI_SETTING_BACKEND, "cuda:one", "is not a whole number"},
    {TSRI_SETTING_BACKEND, "cuda:-1", "is negative"},
    {TSRI_SETTING_BACKEND, ":1", "has an empty name in it"},
    {TSRI_SETTING_PRIORITY, "cuda:1,cpu", "is not a name"},
    {TSRI_SETTING_NATIVE, "-all", "has -all where only names of libraries can be"},
    {TSRI_SETTING_NATIVE, "-", "has an empty name in it"},
    {TSRI_SETTING_NATIVE, "--x", "begins with a '-'"},
    {TSRI_SETTING_NATIVE, "sleef,sleef", "names sleef twice"},
    {TSRI_SETTING_TF32, "2", "is unknown"},
    {TSRI_SETTING_STRICT, "flase", "is unknown (did you mean false?)"},
    {TSRI_SETTING_MIX, "moev", "is unknown (did you mean move?)"},
    {TSRI_SETTING_LOG, "inof", "is unknown (did you mean info?)"},
    {TSRI_SETTING_LOG, "verbose", "is unknown"},
    {TSRI_SETTING_PLUGIN_PATH, "/a\x7F", "has a control character in it (0x7F)"},
    {TSRI_SETTING_FAULTS, "", "is empty"},
};

TEST(wrong_values_are_refused_with_what_is_wrong) {
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    char clean[128], problem[TSRI_CONFIG_PROBLEM_BYTES];
    tsri_setting_value value;
    if (tsri_setting_parse(bad[i].id, bad[i].text, clean, &value, problem)) {
      test_fail(__FILE__, __LINE__, "%s: \"%s\" is accepted", tsri_settings[bad[i].id].name, bad[i].text);
    }
    CHECK_STR_HAS(problem, bad[i].problem);
  }
}

TEST(value_of_4096_bytes_is_the_longest_allowed) {
  static char text[4098], clean[4098];
  char problem[TSRI_CONFIG_PROBLEM_BYTES];
  tsri_setting_value value;
  memset(text, 'x', 4096);
  CHECK(tsri_setting_parse(TSRI_SETTING_PLUGIN_PATH, text, clean, &value, problem));
  text[4096] = 'x';
  CHECK(!tsri_setting_parse(TSRI_SETTING_PLUGIN_PATH, text, clean, &value, problem));
  CHECK_STR(problem, "is longer than 4096 bytes");
}

TEST(a_backend_may_be_named_with_an_index) {
  char clean[32], problem[TSRI_CONFIG_PROBLEM_BYTES];
  tsri_setting_value value;
  CHECK(tsri_setting_parse(TSRI_SETTING_BACKEND, "Vulkan:12", clean, &value, problem));
  CHECK_STR(clean, "vulkan");
  CHECK(value.is_set && value.has_index);
  CHECK_EQ_UINT(value.number, 12);
  CHECK(tsri_setting_parse(TSRI_SETTING_BACKEND, "vulkan", clean, &value, problem));
  CHECK(value.is_set && !value.has_index);
}

// Library names that backends ask for must be accepted by the setting.
TEST(a_library_that_is_not_known_is_refused_and_the_known_ones_are_named) {
  CHECK_STATUS(tsr_config_set("native", "nosuchlib"), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("nosuchlib");
#define TSRI_X(word, meaning)                           \
  CHECK_LAST_ERROR_HAS(" " #word);                      \
  CHECK(tsri_native_is_known(#word, sizeof #word - 1)); \
  CHECK(!tsri_native_is_known(#word, sizeof #word - 2));
  TSRI_NATIVE_LIBRARIES(TSRI_X)
#undef TSRI_X
}

TEST(native_allows_what_it_names_or_does_not_leave_out) {
  CHECK(tsri_native_allows("all", "sleef"));
  CHECK(!tsri_native_allows("none", "sleef"));
  CHECK(tsri_native_allows("cublaslt,sleef", "sleef"));
  CHECK(!tsri_native_allows("cublaslt,sleef", "sle"));
  CHECK(!tsri_native_allows("cublaslt,sleef", "cooperative_matrix"));
  CHECK(!tsri_native_allows("-cublaslt,-sleef", "sleef"));
  CHECK(tsri_native_allows("-cublaslt,-sleef", "cooperative_matrix"));
}

TEST(quoted_text_is_cut_and_harmless) {
  char out[TSRI_CONFIG_QUOTE_BYTES];
  CHECK_STR(tsri_config_quote("plain", out), "plain");
  CHECK_STR(tsri_config_quote("gr\xC3\xBC\xC3\x9F", out), "grüß");
  CHECK_STR(tsri_config_quote("a\x1b[0m\xFFz", out), "a\\x1B[0m\\xFFz");
  CHECK_STR(tsri_config_quote("\xC3", out), "\\xC3");  // an incomplete UTF-8 character
  char broken[201];
  memset(broken, 0xFF, 200);
  broken[200] = 0;
  tsri_config_quote(broken, out);
  CHECK_EQ_INT(strlen(out), 64 * 4 + 3);
  CHECK_STR(out + 64 * 4, "…");
}

// --- The file -----------------------------------------------------------------------------------------------------

// The settings in a file, as "backend=cpu@1:11;…".
typedef struct heard {
  char text[512];
} heard;

static tsr_status hear(const tsri_config_line *line, void *user) {
  heard *h = user;
  size_t used = strlen(h->text);
  snprintf(h->text + used, sizeof h->text - used, "%s=%.*s@%d:%d;", tsri_settings[line->id].name,
           (int)line->value_bytes, line->value, line->line, line->column);
  return TSR_OK;
}

static const struct {
  const char *text, *heard;
} good_files[] = {
    {"", ""},
    {"\n\n  \n\t\n", ""},
    {"# a comment\n  # another = one\n", ""},
    {"backend = cpu\n", "backend=cpu@1:11;"},
    {"backend=cpu", "backend=cpu@1:9;"},
    {"\tbackend\t=\tcpu\t\nthreads = 4", "backend=cpu@1:12;threads=4@2:11;"},
    {"backend = cpu\r\nthreads = 4\r\n", "backend=cpu@1:11;threads=4@2:11;"},
    {"backend = cpu\r", "backend=cpu@1:11;"},
    {"\xEF\xBB\xBF"
     "backend = cpu\n",
     "backend=cpu@1:11;"},
    {"backend = cpu # the usual\n", "backend=cpu@1:11;"},
    {"plugin_path = /a#b:/c=d # e\n", "plugin_path=/a#b:/c=d@1:15;"},
    {"# grüße\nbackend = cpu", "backend=cpu@2:11;"},
};

TEST(files_are_read_with_comments_blanks_and_either_line_end) {
  for (size_t i = 0; i < COUNT_OF(good_files); i++) {
    heard h = {0};
    CHECK_OK(tsri_config_parse_file("f", good_files[i].text, strlen(good_files[i].text), hear, &h));
    CHECK_STR(h.text, good_files[i].heard);
  }
}

static const struct {
  const char *text;
  size_t bytes;  // 0: the text up to its terminating 0
  const char *message;
} bad_files[] = {
    {"# one\nbakend = cpu\n", 0,
     "f:2:1: there is no setting \"bakend\" (did you mean backend?); allowed: backend, device"},
    {"  TESSERA_THREADS = 2", 0, "f:1:3: there is no setting \"TESSERA_THREADS\" (did you mean threads?)"},
    {"memory limit = 2G", 0, "f:1:1: there is no setting \"memory limit\" (did you mean memory_limit?)"},
    {"colour = red", 0, "f:1:1: there is no setting \"colour\"; allowed: backend, device"},
    {"a23456789012345678901234567890123456789012345678901234567890123456789 = 1", 0,
     "f:1:1: there is no setting \"a23"},
    {"backend = cpu\n\nbackend = cuda\n", 0, "f:3:1: backend is given twice, first in line 1; once is allowed"},
    {"backend cpu\n", 0, "f:1:1: allowed is: name = value, such as backend = cpu"},
    {"[section]\n", 0, "f:1:1: allowed is: name = value"},
    {" = cpu\n", 0, "f:1:2: allowed is: name = value"},
    {"backend # = cpu\n", 0, "f:1:1: allowed is: name = value"},
    {"backend =\n", 0, "f:1:9: backend has no value; allowed: auto, the name of a backend"},
    {"backend = # cpu\n", 0, "f:1:9: backend has no value; allowed: auto, the name of a backend"},
    {"backend = \"cpu\"\n", 0, "f:1:11: backend: a value is written without quotes; allowed: auto, the name"},
    {"log = 'info'\n", 0, "f:1:7: log: a value is written without quotes; allowed: off, error"},
    {"backend = c\0u\n", 14, "f:1:12: a NUL byte; only UTF-8 text is allowed"},
    {"# grüß\x01\n", 0, "f:1:7: a control character (0x01); only UTF-8 text is allowed"},
    {"backend = cpu\rthreads = 4\n", 0, "f:1:14: a control character (0x0D)"},
    {"\xFF\xFE"
     "b\0a\0",
     6, "f:1:1: the file is UTF-16; only UTF-8 text is allowed"},
    {"\xFE\xFF\0b", 4, "f:1:1: the file is UTF-16; only UTF-8 text is allowed"},
};

TEST(wrong_files_are_refused_with_line_column_and_what_is_allowed) {
  for (size_t i = 0; i < COUNT_OF(bad_files); i++) {
    heard h = {0};
    size_t bytes = bad_files[i].bytes ? bad_files[i].bytes : strlen(bad_files[i].text);
    CHECK_STATUS(tsri_config_parse_file("f", bad_files[i].text, bytes, hear, &h), TSR_ERR_CONFIG);
    CHECK_LAST_ERROR_HAS(bad_files[i].message);
  }
}

TEST(line_of_4096_bytes_is_the_longest_allowed) {
  static char text[4200];
  heard h = {0};
  memset(text, '#', sizeof text);
  CHECK_OK(tsri_config_parse_file("f", text, 4096, hear, &h));
  CHECK_STATUS(tsri_config_parse_file("f", text, 4097, hear, &h), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("f:1:1: the line is longer than the 4096 bytes allowed");
}

TEST(file_of_one_mebibyte_is_the_largest_allowed) {
  size_t bytes = ((size_t)1 << 20) + 1;
  char *text = malloc(bytes);
  heard h = {0};
  CHECK(text != NULL);
  memset(text, '\n', bytes);
  tsr_status fits = tsri_config_parse_file("f", text, bytes - 1, hear, &h);
  tsr_status too_large = tsri_config_parse_file("f", text, bytes, hear, &h);
  free(text);
  CHECK_OK(fits);
  CHECK_STATUS(too_large, TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("f: larger than the 1 MiB allowed for a config file");
}

static tsr_status refuse_threads(const tsri_config_line *line, void *user) {
  if (line->id != TSRI_SETTING_THREADS) return hear(line, user);
  return TSRI_FAIL(TSR_ERR_INTERNAL, "no threads");
}

TEST(failure_of_the_visit_ends_the_file) {
  static const char text[] = "backend = cpu\nthreads = 4\nlog = info\nwrong line\n";
  heard h = {0};
  CHECK_STATUS(tsri_config_parse_file("f", text, strlen(text), refuse_threads, &h), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("no threads");
  CHECK_STR(h.text, "backend=cpu@1:11;");
}
