// SPDX-License-Identifier: MIT
// Name patterns, as --op takes them: '*' matches any text, '?' any character; a comma separates several patterns.
#ifndef TESSERA_TOOL_PATTERN_H
#define TESSERA_TOOL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

// Whether one pattern (without commas) matches the whole text.
bool pattern_matches(const char *pattern, const char *text);

// Copies the next pattern of `*list` to `out`, cut to `bytes`, and moves `*list` behind it. False at the end of the
// list. `*list` may be NULL.
bool pattern_next(const char **list, char *out, size_t bytes);

// Whether the text matches one of the patterns of a list, which commas separate. NULL: no list, everything matches.
bool pattern_list_matches(const char *list, const char *text);

#endif
