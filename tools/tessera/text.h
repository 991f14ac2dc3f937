// SPDX-License-Identifier: MIT
// The width of UTF-8 text in terminal columns. Device names and messages come from drivers and files, so any byte may
// occur.
#ifndef TESSERA_TOOL_TEXT_H
#define TESSERA_TOOL_TEXT_H

#include <stdint.h>
#include <stdio.h>

#define TEXT_INVALID 0xFFFDu

// Lets the compiler check the arguments of a function that formats like printf.
#if defined(__GNUC__)
#define TEXT_FORMAT(at, first) __attribute__((format(printf, at, first)))
#else
#define TEXT_FORMAT(at, first)
#endif

// Decodes the character at `text`, which is not at its end. Returns its length in bytes, 1 to 4. A byte that does not
// begin a valid character has length 1 and the code TEXT_INVALID.
int text_decode(const char *text, uint32_t *out_code);

// The number of columns of a text: 2 for each wide (East Asian, emoji) character, 0 for each combining one.
int text_width(const char *text);
int text_width_of(const char *text, int bytes);  // of its first bytes

// A copy that is safe to print on one line: line breaks and tabs become spaces, other control characters and invalid
// bytes '?'. The caller frees it; NULL if memory is out.
char *text_clean(const char *text);

// The length in bytes of the longest beginning of `text` that takes at most `columns`.
int text_bytes_within(const char *text, int columns);

// Breaks a line: returns how many bytes of `text` go on a line of at most `columns`, without the space at the break.
// `*out_next` is the beginning of the next line, or the final NUL if there is none. A word wider than a line is not
// cut; a newline in `text` breaks the line.
int text_break(const char *text, int columns, const char **out_next);

// Prints `text` broken into lines of at most `columns`, each after `indent` spaces; the caller has already printed the
// first line's indent.
void text_print_wrapped(FILE *out, const char *text, int indent, int columns);

#endif
